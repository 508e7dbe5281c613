"""Fuzz the stored files of a candidate: manifest, curves and values on the test set.

The first byte selects the file that the other bytes replace. Checksums are updated.
"""

from __future__ import annotations

import atexit
import json
import shutil
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from gainwise.experiment import Experiment
from gainwise.experiment.plan import find_stored_rounds
from gainwise.experiment.storage import Storage, Training, compute_sha256, seal

from .experiment_plan import PLAN, reseal
from .oracle import attempt

FILES = ("manifest.json", "arrays.npz")
_PLAN = PLAN.model_copy(update={"candidates": PLAN.candidates[:1]})
_RNG = np.random.default_rng(1)
_QID = np.repeat(np.arange(4), 3)


def _write_experiment() -> Path:
    """Return a directory with one finished candidate, without training."""
    directory = Path(mkdtemp(prefix="gainwise-fuzz-"))
    atexit.register(shutil.rmtree, directory)
    curves = _RNG.random((3, 2))
    rounds = np.array(find_stored_rounds(curves))
    scores = {f"score {number}": _RNG.random(12) for number in rounds}
    training = Training(
        fold="",
        curves=curves,
        rounds=rounds,
        test=_RNG.random((len(rounds), 4, 2)),
        weights=np.ones(4),
        valid_weight=np.array([4.0, 4.0]),
        query_ids=np.array(["p", "q", "r", "s"]),
        documents={"label": _RNG.integers(0, 3, 12).astype(np.float64), "query": _QID, **scores},
    )
    storage = Storage(directory)
    storage.write_plan(_PLAN)
    storage.save(_PLAN, _PLAN.list_units()[0], b"tree\n", training)
    result = Experiment.load(directory, allow_incomplete=True)
    storage.write_selection(result.record_selection(result.candidates[0]).model_dump(mode="json"))
    return directory


_COMPLETE = _write_experiment()
_UNIT = Storage(_COMPLETE).get_folder(_PLAN.list_units()[0]).relative_to(_COMPLETE)
SEEDS = tuple(bytes([place]) + (_COMPLETE / _UNIT / name).read_bytes() for place, name in enumerate(FILES))
TOKENS = (
    *b'"files" "unit" "valid_weight" "versions" "bytes" "../model.txt" "/etc/passwd" null NaN 1e999 [] {}'.split(),
    *(b"PK\x03\x04", b"curves.npy", b"rounds.npy", b"weights.npy", b"\x93NUMPY", b"mrr"),
)


def check(content: bytes, folder: Path) -> None:
    """Load an experiment: return a complete result, or raise because a candidate has to be trained again."""
    directory = folder / "run"
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(_COMPLETE, directory)
    name = FILES[content[0] % len(FILES)] if content else FILES[0]
    _replace(directory / _UNIT, name, content[1:])
    try:
        result = attempt(lambda: Experiment.load(directory), directory, lines=False)
    except RuntimeError as error:
        if "no candidate is finished" not in str(error) and "is not complete" not in str(error):
            raise
        return
    if not isinstance(result, str):
        for value in (result.leaderboard, result.best_rounds, result.selected, result.verdict.text):
            str(value)


def _replace(unit: Path, name: str, content: bytes) -> None:
    if name == "manifest.json":
        (unit / name).write_bytes(reseal(content))
        return
    (unit / name).write_bytes(content)
    manifest = json.loads((unit / "manifest.json").read_bytes())
    del manifest["sha256"]
    manifest["files"][name] = compute_sha256(content)
    (unit / "manifest.json").write_bytes(seal(manifest))
