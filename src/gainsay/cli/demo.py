"""The main job end to end: candidates of both libraries, trained on one data set and compared under every metric."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from ..data import simulate
from ..experiment import Candidate, Experiment
from ..experiment.candidates import Gain, Library
from ..report.content import Also, Content
from . import rankers

if TYPE_CHECKING:
    from pathlib import Path

    from ..data import RankingData
    from ..experiment import ExperimentResult
    from ..harness import Comparison

TREES: dict[tuple[Library, str], dict[str, int]] = {
    ("lightgbm", "small"): {"num_leaves": 7},
    ("lightgbm", "large"): {"num_leaves": 63},
    ("xgboost", "small"): {"max_depth": 3},
    ("xgboost", "large"): {"max_depth": 7},
}
"""Parameters of small and large trees."""

GAINS: dict[Gain, str] = {"linear": "linear", "exponential": "exp"}
LIBRARIES: dict[Library, str] = {"lightgbm": "lgb", "xgboost": "xgb"}
"""Short forms for the candidates' names, which pictures show whole up to 24 letters."""

NOW_YOURS = """Now yours:
  gainsay demo --train a.txt --valid b.txt --test c.txt   the same candidates
  gainsay compare --data c.txt old=model.txt new=s.csv    models that you have
  callbacks=[gainsay.lightgbm.Curves()]                   curves while you train"""
"""What to run next."""

SPLIT = (0.5, 0.2, 0.3)
"""Shares of the queries to train on, to choose rounds on, and to compare on."""


def candidates(rounds: int) -> list[Candidate]:
    """Return eight candidates: both libraries, both training gains, small and large trees."""
    return [
        Candidate(
            f"{LIBRARIES[library]} {short} ({size} trees)",
            library,
            {"learning_rate": 0.1, **trees},
            training_gain=gain,
            num_boost_round=rounds,
        )
        for (library, size), trees in TREES.items()
        for gain, short in GAINS.items()
    ]


def simulated(queries: int, seed: int) -> tuple[RankingData, RankingData, RankingData]:
    """Return simulated data to train on, to choose rounds on and to compare on."""
    train, valid, test = simulate(queries, seed).split_queries(*SPLIT, seed=seed)
    return train, valid, test


def reported(trained: Comparison, first: Comparison | None, about: str, seed: int) -> Content:
    """Return what the report shows: the candidates, on which data, and the three rankers where they were compared."""
    trained.notes = (*trained.notes, f"Data: {about}")
    if first is None:
        return trained.content
    also = Also("rankers", "Three rankers that disagree", rankers.introduction(seed), first.content)
    return Content(trained, also=[also])


def run(
    train: RankingData,
    valid: RankingData,
    test: RankingData,
    *,
    seed: int = 0,
    rounds: int = 100,
    directory: Path | None = None,
    progress: bool = True,
) -> ExperimentResult:
    """Train the candidates, one per CPU at a time, and return what they show."""
    with warnings.catch_warnings():
        if test is valid:  # the caller knows
            warnings.filterwarnings("ignore", message="valid and test are the same data")
        experiment = Experiment(
            candidates(rounds), train, valid, test, directory=directory, seed=seed, num_boost_round=rounds
        )
    return experiment.run(progress=progress)
