"""Replays what fuzzing found: every file of `corpus` and every seed, through the `check` of its harness in `fuzz`."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from fuzz.oracle import ViolationError, attempt

from gainsay.ranking import compiled

pytest.importorskip("pyarrow")

CORPUS = Path(__file__).parent / "corpus"
HARNESSES = sorted(
    path.stem
    for path in (CORPUS.parents[1] / "fuzz").glob("*.py")
    if path.stem not in ("__init__", "__main__", "oracle")
)
ENTRIES = sorted(path for path in CORPUS.glob("*/*") if path.is_file())


def harness(name):
    return importlib.import_module(f"fuzz.{name}")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_was_found_stays_fixed(entry, tmp_path):
    harness(entry.parent.name).check(entry.read_bytes(), tmp_path)


@pytest.mark.parametrize("name", HARNESSES)
def test_seeds_pass(name, tmp_path):
    for seed in harness(name).SEEDS:
        harness(name).check(seed, tmp_path)


@pytest.mark.parametrize("name", HARNESSES)
def test_anything_passes_that_is_no_file_of_the_format(name, tmp_path):
    for content in (b"", b"\0", b"\n", b"\xff\xfe", b"\x1f\x8b", b"PK\x05\x06" + bytes(18), b"{}", b"[[", b"1" * 5000):
        harness(name).check(content, tmp_path)


def test_every_harness_has_a_corpus_and_every_corpus_a_harness():
    assert {path.parent.name for path in ENTRIES} == set(HARNESSES)


@pytest.mark.skipif(compiled.core() is None, reason="there is no compiled core")
@pytest.mark.parametrize("name", HARNESSES)
def test_core_and_numpy_agree_on_the_bytes_of_every_corpus(name, tmp_path):
    others = [entry.read_bytes() for entry in ENTRIES if entry.parent.name == name]
    for content in (*harness(name).SEEDS, *others):
        harness("core").check(content[:20_000], tmp_path)


class TestOracle:
    """What the oracle must find; else all the replays would mean nothing."""

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
    def test_messages_that_say_too_little_or_too_much(self, tmp_path, message):
        path = tmp_path / "file"

        def read():
            raise ValueError(message.format(path=path))

        with pytest.raises(ViolationError):
            attempt(read, path, lines=True)

    @pytest.mark.parametrize("error", [KeyError, MemoryError, RecursionError, UnicodeWarning, OSError])
    def test_other_exceptions(self, tmp_path, error):
        def read():
            raise error(str(tmp_path))

        with pytest.raises(error):
            attempt(read, tmp_path, lines=False)

    def test_what_is_permitted(self, tmp_path):
        def read():
            raise FileNotFoundError(f"there is no file {tmp_path}")

        assert attempt(read, tmp_path, lines=False, permitted=(OSError,)) == f"there is no file {tmp_path}"
        assert attempt(lambda: 3, tmp_path, lines=True) == 3
