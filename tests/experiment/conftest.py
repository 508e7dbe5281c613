"""Small experiments that are trained once per session; tests copy the directory before they change it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from tests.experiment.helpers import METRICS, run

from gainwise.data import RankingData, simulate
from gainwise.experiment import Candidate, Experiment, ExperimentResult, execution, grid, k_folds

if TYPE_CHECKING:
    from collections.abc import Iterator


class Parts(NamedTuple):
    train: RankingData
    valid: RankingData
    test: RankingData


class Done(NamedTuple):
    result: ExperimentResult
    directory: Path


@pytest.fixture(scope="module", autouse=True)
def _no_fsync() -> Iterator[None]:
    """Skip `fsync`, which is slow: only a crash of the system needs it, and `faults.py` counts the calls."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session")
def parts() -> Parts:
    return Parts(*simulate(100, seed=5, mean_length=20).split_queries(0.5, 0.25, 0.25, seed=5))


@pytest.fixture(scope="session")
def candidates() -> list[Candidate]:
    """Two candidates of each library with different gains, so that the metrics choose differently."""
    return [
        *grid("lgb", "lightgbm", {"num_leaves": 7}, training_gain=["linear", "exponential"]),
        *grid("xgb", "xgboost", {"max_depth": 3, "subsample": 0.8}, training_gain=["linear", "exponential"]),
    ]


@pytest.fixture(scope="session")
def recipes() -> list[Candidate]:
    """Two candidates whose training is random."""
    return [
        Candidate("A", "lightgbm", {"num_leaves": 7, "feature_fraction": 0.6}, "linear"),
        Candidate("B", "xgboost", {"max_depth": 3, "subsample": 0.7}, "exponential"),
    ]


@pytest.fixture(scope="session")
def make(parts: Parts, candidates: list[Candidate]) -> Any:
    """Return a function that makes the experiment of these tests with some arguments changed."""

    def experiment(directory: Any = None, **changes: Any) -> Experiment:
        arguments: dict[str, Any] = {
            "candidates": candidates,
            **parts._asdict(),
            "metrics": METRICS,
            "num_boost_round": 12,
            "seed": 3,
            "draws": 1000,
        }
        return Experiment(**{**arguments, "directory": directory, **changes})

    return experiment


@pytest.fixture(scope="session")
def make_done(make: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a function that runs an experiment in a directory of its own."""

    def finish(**changes: Any) -> Done:
        directory = tmp_path_factory.mktemp("done") / "run"
        return Done(run(make(directory, **changes)), directory)

    return finish


@pytest.fixture(scope="session")
def done(make_done: Any) -> Done:
    return make_done()


@pytest.fixture(scope="session")
def repeated(make_done: Any, recipes: list[Candidate]) -> Done:
    """Two candidates, three repeats each."""
    return make_done(candidates=recipes, repeats=3)


@pytest.fixture(scope="session")
def resampled(make_done: Any, recipes: list[Candidate]) -> Done:
    """Two candidates, three repeats each on resampled queries."""
    return make_done(candidates=recipes, repeats=3, vary="queries")


@pytest.fixture(scope="session")
def folds() -> list[RankingData]:
    """Four folds of different sizes with weights."""
    data = simulate(42, seed=2, mean_length=15)
    weight = np.random.default_rng(3).integers(1, 4, len(data.query_ids)).astype(float)
    return k_folds(RankingData(data.features, data.labels, qid=data.qid, weight=weight), 4, seed=1)


@pytest.fixture(scope="session")
def on_folds(folds: list[RankingData]) -> dict[str, Any]:
    """Arguments of an experiment on folds."""
    chosen = [*grid("lgb", "lightgbm", {"num_leaves": [4, 8]}), Candidate("xgb", "xgboost", {"max_depth": 2})]
    return {"train": None, "valid": None, "test": None, "folds": folds, "candidates": chosen}


@pytest.fixture(scope="session")
def folded(make_done: Any, on_folds: dict[str, Any]) -> Done:
    return make_done(**on_folds)


@pytest.fixture
def copy(done: Done, tmp_path: Path) -> Path:
    """A copy of the directory of the experiment."""
    return shutil.copytree(done.directory, tmp_path / "copy")


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The units that are trained from now on."""
    units: list[str] = []
    train = execution.train_candidate

    def note(candidate: Candidate, unit: Any, *rest: Any) -> Any:
        units.append(str(unit))
        return train(candidate, unit, *rest)

    monkeypatch.setattr(execution, "train_candidate", note)
    return units
