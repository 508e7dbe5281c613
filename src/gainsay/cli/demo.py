"""What there is to see before anything is trained, and the main job end to end on one data set."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from ..data.simulate import simulate, simulate_rankers
from ..experiment import Candidate, Experiment
from ..experiment.candidates import Gain, Library
from ..harness import compare
from ..report.content import Also, Content

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

RANKED = 10_000
"""Queries of the three rankers: so many that the disagreement is proven whatever the seed (with each from 0 to 149)."""


def compared_rankers(seed: int) -> Comparison:
    """Compare three simulated rankers about which the two NDCGs disagree."""
    data = simulate(RANKED, seed, mean_length=40, features=1)
    return compare(simulate_rankers(data, seed), data.judgments(), ["ndcg_linear@10", "ndcg_exp@10"], seed=seed)


def introduction(seed: int) -> str:
    """Say what is compared, and that it is simulated."""
    return (
        f"Three simulated rankers on {RANKED:,} simulated queries, seed {seed}, built to differ: 'fair' finds fair "
        "documents, 'excellent' the few excellent ones, 'blend' some of both."
    )


def why(comparison: Comparison) -> str | None:
    """Say by which grades the two winners differ; None where one model wins under both metrics."""
    first, second = comparison.metrics
    winner, other = comparison.winners[first], comparison.winners[second]
    if winner == other:
        return None
    cells = comparison.attribution(winner, other).grades_by_ranks
    grades = cells.index.get_level_values("grade").unique()
    gained, lost = (cells.loc[[metric]].to_numpy().sum(axis=1) for metric in (first, second))
    return (
        f"Why: {winner} ranks documents of grade {grades[gained.argmax()]} higher ({gained.max():.3f} of {first}), "
        f"{other} those of grade {grades[lost.argmin()]} ({-lost.min():.3f} of {second})."
    )


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


def reported(trained: Comparison, first: Comparison | None, about: str) -> Content:
    """Return the content of the report: the three rankers if they were compared, then the trained candidates."""
    trained.notes = (*trained.notes, f"Data: {about}")
    if first is None:
        return trained.content
    return Content(first, also=[Also("candidates", "Eight trained candidates", f"Data: {about}", trained.content)])


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
