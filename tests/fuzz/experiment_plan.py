"""Fuzz `experiment.json`, the plan of an experiment. The bytes are JSON, to which a checksum is added."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from gainwise import parse_metrics
from gainwise.experiment import Experiment
from gainwise.experiment.config import Candidate
from gainwise.experiment.plan import ExperimentPlan, FeatureColumns, Fold
from gainwise.experiment.storage import seal

from .oracle import attempt

_OPTIONS = {"num_boost_round": 3, "early_stopping_rounds": 0, "seed": 1, "threads": 1}
PLAN = ExperimentPlan(
    candidates=(Candidate("a", "lightgbm", {"num_leaves": 7}, **_OPTIONS), Candidate("b", "xgboost", **_OPTIONS)),
    folds=(Fold(name="", train=("train",), valid="valid", test="test"),),
    data={"train": "1", "valid": "2", "test": "3"},
    features=FeatureColumns(number=2, sparse=False, names=None, categories=None),
    metrics=parse_metrics("ndcg_linear@10", "mrr"),
    primary=("ndcg_linear@10", "mrr"),
    alpha=0.05,
    margin=0.0,
    draws=200,
    seed=1,
)
SEEDS = (json.dumps(PLAN.to_document()).encode(), b"{", b"[" * 3000, b'{"format": 6, "candidates": []}')
TOKENS = (
    *b'"candidates" "folds" "data" "metrics" "primary" null true -1 1e999 NaN "..", "/etc/passwd" "\\ud800"'.split(),
    *b'"name" "library" "params" "import_paths" "format" "train" "seed" "draws" "margin" "alpha" [] {} ,'.split(),
)


def check(content: bytes, folder: Path) -> None:
    """Load an experiment: raise a RuntimeError because no candidate is finished, or a ValueError."""
    directory = folder / "run"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    path = directory / "experiment.json"
    path.write_bytes(reseal(content))
    try:
        attempt(lambda: Experiment.load(directory), directory, lines=False)
    except RuntimeError as error:
        if "no candidate is finished" not in str(error):
            raise


def reseal(content: bytes) -> bytes:
    """Return a document with the right checksum, which protects only against accidental changes."""
    try:
        document = json.loads(content)
        document.pop("sha256", None)
        return seal(document)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return content
