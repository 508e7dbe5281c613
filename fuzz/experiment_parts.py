"""What is stored of a candidate: manifest, curves and values on test.

The first byte of the fuzzer's bytes says which file the others replace; checksums are made to fit.
"""

from __future__ import annotations

import atexit
import json
import shutil
import warnings
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from gainsay.experiment import Experiment
from gainsay.experiment.files import sealed, sha256
from gainsay.experiment.rounds import kept_rounds
from gainsay.experiment.store import Store
from gainsay.experiment.training import Trained

from .experiment_plan import PLAN, resealed
from .oracle import attempt

FILES = ("manifest.json", "curves.parquet", "test.parquet", "scores.parquet")
_PLAN = replace(PLAN, candidates=PLAN.candidates[:1])
_RNG = np.random.default_rng(1)
_QID = np.repeat(np.arange(4), 3)


def _written() -> Path:
    """Return a directory with one finished candidate, nothing of it trained."""
    directory = Path(mkdtemp(prefix="gainsay-fuzz-"))
    atexit.register(shutil.rmtree, directory)
    trained = Trained(
        b"tree\n",
        _RNG.random((3, 2)),
        {1: _RNG.random((4, 2)), 2: _RNG.random((4, 2)), 3: _RNG.random((4, 2))},
        np.array(["p", "q", "r", "s"]),
        None,
        [4.0, 4.0],
        qid=_QID,
        labels=_RNG.integers(0, 3, 12).astype(np.float64),
        scores={number: _RNG.random(12) for number in (1, 2, 3)},
    )
    chosen = set(kept_rounds(trained.curves))
    trained = replace(
        trained,
        test={number: trained.test[number] for number in sorted(chosen)},
        scores={number: trained.scores[number] for number in sorted(chosen)},
    )
    store = Store(directory)
    store.write_plan(_PLAN)
    store.save(_PLAN, next(_PLAN.units()), trained, 1.0)
    return directory


_WHOLE = _written()
_UNIT = Store(_WHOLE).folder(next(_PLAN.units())).relative_to(_WHOLE)
SEEDS = tuple(bytes([place]) + (_WHOLE / _UNIT / name).read_bytes() for place, name in enumerate(FILES))
TOKENS = (
    *b'"files" "identity" "valid_weight" "versions" "bytes" "../model.txt" "/etc/passwd" null NaN 1e999 [] {}'.split(),
    *(b"PAR1", b"round", b"query_id", b"weight", b"ARROW:schema", b"pandas", b"\xff\xff\xff\xff\x0f", b"mrr"),
)


def check(content: bytes, folder: Path) -> None:
    """Load: a result that can be shown, or a warning that the candidate has to be trained again."""
    directory = folder / "run"
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(_WHOLE, directory)
    name = FILES[content[0] % len(FILES)] if content else FILES[0]
    _replace(directory / _UNIT, name, content[1:])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* has to be trained again", category=UserWarning)
        try:
            result = attempt(lambda: Experiment.load(directory), directory, lines=False)
        except RuntimeError as error:
            if "no candidate is finished" not in str(error):
                raise
            return
    if not isinstance(result, str):
        for shown in (result.leaderboard, result.best_rounds, result.chosen, result.verdict.text):
            str(shown)


def _replace(unit: Path, name: str, content: bytes) -> None:
    if name == "manifest.json":
        (unit / name).write_bytes(resealed(content))
        return
    (unit / name).write_bytes(content)
    manifest = json.loads((unit / "manifest.json").read_bytes())
    del manifest["sha256"]
    manifest["files"][name] = {"bytes": len(content), "sha256": sha256(content)}
    (unit / "manifest.json").write_bytes(sealed(manifest))
