"""Small experiments that the tests of a module share."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from gainsay.data import RankingData, simulate
from gainsay.experiment import Candidate, Experiment, ExperimentResult, grid, work

if TYPE_CHECKING:
    from collections.abc import Iterator

METRICS = ("ndcg_linear@10", "ndcg_exp@10", "mrr")


class Parts(NamedTuple):
    train: RankingData
    valid: RankingData
    test: RankingData


@pytest.fixture(scope="module", autouse=True)
def _no_waiting_for_disks() -> Iterator[None]:
    """What is written outlives a killed process without `fsync`, which takes long; `faulty.py` counts the calls."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session")
def metrics() -> tuple[str, ...]:
    return METRICS


@pytest.fixture(scope="session")
def parts() -> Parts:
    return Parts(*simulate(100, seed=5, mean_length=20).split_queries(0.5, 0.25, 0.25, seed=5))


@pytest.fixture(scope="session")
def candidates() -> list[Candidate]:
    """Two of each library; different gains, so that what is chosen differs."""
    return [
        *grid("lgb", "lightgbm", {"num_leaves": 7}, training_gain=["linear", "exponential"]),
        *grid("xgb", "xgboost", {"max_depth": 3, "subsample": 0.8}, training_gain=["linear", "exponential"]),
    ]


@pytest.fixture(scope="session")
def make(parts: Parts, candidates: list[Candidate]) -> Any:
    """Return a function that makes the experiment of these tests, with some things changed."""

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


class Done(NamedTuple):
    result: ExperimentResult
    directory: Any


@pytest.fixture(scope="session")
def done(make: Any, tmp_path_factory: pytest.TempPathFactory) -> Done:
    """The experiment, run once without a break; not to be changed."""
    directory = tmp_path_factory.mktemp("whole") / "run"
    return Done(make(directory).run(progress=False), directory)


@pytest.fixture
def copy(done: Done, tmp_path: Path) -> Path:
    """A copy of the directory of the experiment, which may be spoilt."""
    return shutil.copytree(done.directory, tmp_path / "copy")


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which units are trained from now on."""
    noted: list[str] = []
    original = work.train_candidate

    def note(candidate: Candidate, unit: Any, *rest: Any) -> Any:
        noted.append(str(unit))
        return original(candidate, unit, *rest)

    monkeypatch.setattr(work, "train_candidate", note)
    return noted


@pytest.fixture(scope="session")
def facts() -> Any:
    """Return a function that writes a result out to the last digit."""

    def of(result: ExperimentResult) -> dict[str, str]:
        frames = {
            name: getattr(result, name)
            for name in ("leaderboard", "curves", "best_rounds", "chosen", "choice_loss", "stopping_loss", "pairs")
        }
        return {name: frame.to_csv(float_format="%.17g") for name, frame in frames.items()} | {
            "verdict": json.dumps(result.verdict.to_dict()),
            "summary": result.summary(),
        }

    return of


@pytest.fixture(scope="session")
def balanced() -> Any:
    """Return a function that finds the balanced round of a candidate, in plain Python."""

    def found(curves: Any, name: str, metrics: tuple[str, ...] = METRICS[:2]) -> int:
        """The first round whose worst shortfall under the two metrics is smallest, in plain Python."""
        lines = [curves[(curves["candidate"] == name) & (curves["metric"] == metric)] for metric in metrics]
        lines = [dict(zip(line["round"], line["value"], strict=True)) for line in lines]
        worst = {number: max(max(line.values()) - line[number] for line in lines) for number in lines[0]}
        return min(worst, key=lambda number: (worst[number], number))

    return found
