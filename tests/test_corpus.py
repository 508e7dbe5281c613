"""Replays the files that fuzzing found, and every seed, through the `check` of its harness in `tests/fuzz`."""

import importlib
from pathlib import Path

import pytest
from tests.fuzz.oracle import ViolationError, attempt

pytest.importorskip("pyarrow")

CORPUS = Path(__file__).parent / "corpus"
FUZZ = CORPUS.parent / "fuzz"
TRIALS = {"experiments", "identify", "metrics", "trainings"}
HARNESSES = sorted({path.stem for path in FUZZ.glob("[a-z]*.py")} - {"oracle", "trials"} - TRIALS)
ENTRIES = sorted(path for path in CORPUS.glob("*/*") if path.is_file())
NOT_OF_THE_FORMAT = (
    *(b"", b"\0", b"\n", b"\xff\xfe", b"\x1f\x8b", b"PK\x05\x06" + bytes(18), b"{}", b"[[", b"1" * 5000),
)


def harness(name):
    return importlib.import_module(f"tests.fuzz.{name}")


def test_every_harness_has_a_corpus_and_every_corpus_a_harness():
    assert {path.parent.name for path in ENTRIES} == set(HARNESSES)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_files_that_fuzzing_found(entry, tmp_path):
    """The compiled core takes the bytes of every format as labels and scores."""
    harness(entry.parent.name).check(entry.read_bytes(), tmp_path)
    harness("core").check(entry.read_bytes()[:20_000], tmp_path)


@pytest.mark.parametrize("name", HARNESSES)
def test_seeds_and_files_of_other_formats(name, tmp_path):
    for content in (*harness(name).SEEDS, *NOT_OF_THE_FORMAT):
        harness(name).check(content, tmp_path)
    for seed in harness(name).SEEDS:
        harness("core").check(seed[:20_000], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TRIALS - {"identify"}))  # A trial takes minutes.
def test_trials(name):
    for seed in range(5):
        harness(name).check(seed)


def raise_error(error):
    raise error


@pytest.mark.parametrize(
    "message",
    [
        "line 3: wrong",
        "{path}: something is wrong",
        "{path}, line 0: wrong",
        "{path}, line 1: \x1b[31mwrong",
        "{path}, line 1: " + "x" * 5000,
    ],
)
def test_oracle_rejects_messages_without_a_place_and_long_ones(tmp_path, message):
    path = tmp_path / "file"
    with pytest.raises(ViolationError):
        attempt(lambda: raise_error(ValueError(message.format(path=path))), path, lines=True)


@pytest.mark.parametrize("error", [KeyError, MemoryError, RecursionError, UnicodeWarning, OSError])
def test_oracle_passes_other_exceptions_on(tmp_path, error):
    with pytest.raises(error):
        attempt(lambda: raise_error(error(str(tmp_path))), tmp_path, lines=False)
    message = attempt(lambda: raise_error(error(f"no {tmp_path}")), tmp_path, lines=False, permitted=(error,))
    assert str(tmp_path) in message
    assert attempt(lambda: 3, tmp_path, lines=True) == 3
