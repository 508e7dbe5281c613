"""Train the candidates and the production model of the release, and store their values per test query.

Each model is evaluated after every fifth round. It stops at the best round of the validation set, once by NDCG@10, once
by MAP and once by MRR.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from movies import FEATURES
from numpy.typing import NDArray

import gainwise as gw

Floats = NDArray[np.floating[Any]]
Predict = Callable[[Floats, int, int], Floats]
"""Scores of rows by the trees of some rounds: from a start, from 0, to an end."""

STEP = 5
"""Rounds between two evaluations of the validation set."""

METRICS = ("ndcg_linear@10", "map", "mrr")
"""Metrics of the test set, and the metrics that stop a training. Labels are 0 and 1, so both NDCGs are equal."""

PRODUCTION = "production"
PRODUCTION_FEATURES = ("bm25_title", "bm25_overview", "title_equals_query", "share_of_title", "year", "log_votes")


@dataclass(frozen=True)
class Candidate:
    """One training configuration. Library, objective and size are its name."""

    library: str
    objective: str
    size: str
    options: dict[str, Any] = field(hash=False)
    features: tuple[str, ...] = FEATURES

    @property
    def name(self) -> str:
        """Name in the results."""
        return f"{self.library}, {self.objective}, {self.size}"


def _list_candidates() -> tuple[Candidate, ...]:
    lightgbm = {
        "lambdarank, top 5": {"objective": "lambdarank", "lambdarank_truncation_level": 5},
        "lambdarank, top 20": {"objective": "lambdarank", "lambdarank_truncation_level": 20},
        "rank_xendcg": {"objective": "rank_xendcg"},
    }
    xgboost = ("rank:ndcg", "rank:map", "rank:pairwise")
    return (
        *(
            Candidate("LightGBM", name, size, {**options, "num_leaves": leaves, "learning_rate": rate})
            for name, options in lightgbm.items()
            for size, leaves, rate in (("small", 7, 0.3), ("large", 31, 0.15))
        ),
        *(
            Candidate("XGBoost", name, size, {"objective": name, "max_depth": depth, "eta": rate})
            for name in xgboost
            for size, depth, rate in (("small", 3, 0.3), ("large", 6, 0.15))
        ),
    )


CANDIDATES = _list_candidates()
BASELINE = Candidate("LightGBM", "lambdarank, top 5", PRODUCTION, CANDIDATES[0].options, PRODUCTION_FEATURES)
"""The production model: small trees on six features."""


class Trained(NamedTuple):
    """Outcome of a training for each stop: validation mean, round, and test values (stops, metrics, queries)."""

    validation: Floats
    rounds: NDArray[np.int64]
    values: Floats


def train_candidate(
    candidate: Candidate, data: dict[str, gw.RankingData], seed: int, rounds: int, threads: int
) -> Trained:
    """Train one candidate with one seed, and stop it by each metric."""
    columns = [FEATURES.index(name) for name in candidate.features]
    train, validation, test = (
        np.ascontiguousarray(data[name].features[:, columns]) for name in ("train", "validation", "test")
    )
    library = _train_lightgbm if candidate.library == "LightGBM" else _train_xgboost
    predict = library(candidate, train, data["train"], seed, rounds, threads)
    evaluators = [gw.Evaluator(METRICS, data[name].judgments(), n_jobs=threads) for name in ("validation", "test")]
    best, stops = np.full(len(METRICS), -np.inf), np.zeros(len(METRICS), dtype=np.int64)
    scores = np.zeros(len(validation))
    for start in range(0, rounds, STEP):
        scores += predict(validation, start, start + STEP)
        means = np.array(list(evaluators[0](scores).mean.values()))
        improved = means > best
        best[improved], stops[improved] = means[improved], start + STEP
    values = {stop: evaluators[1](predict(test, 0, stop)).per_query.T for stop in set(stops.tolist())}
    return Trained(best, stops, np.stack([values[stop] for stop in stops.tolist()]))


def _train_lightgbm(
    candidate: Candidate, features: Floats, train: gw.RankingData, seed: int, rounds: int, threads: int
) -> Predict:
    import lightgbm as lgb

    params = {
        **candidate.options,
        "metric": "none",
        "min_data_in_leaf": 50,
        "bagging_fraction": 0.8,
        "bagging_freq": 1,
        "feature_fraction": 0.7,
        "seed": seed,
        "num_threads": threads,
        "deterministic": True,
        "force_row_wise": True,
        "verbose": -1,
    }
    booster = lgb.train(params, lgb.Dataset(features, train.labels, group=train.group), rounds)

    def predict(rows: Floats, start: int, end: int) -> Floats:
        stage: dict[str, Any] = {"start_iteration": start, "num_iteration": end - start, "num_threads": threads}
        return np.asarray(booster.predict(rows, raw_score=True, **stage))

    return predict


def _train_xgboost(
    candidate: Candidate, features: Floats, train: gw.RankingData, seed: int, rounds: int, threads: int
) -> Predict:
    import xgboost as xgb

    params = {
        **candidate.options,
        "min_child_weight": 1,
        "subsample": 0.8,
        "colsample_bytree": 0.7,
        "seed": seed,
        "nthread": threads,
        "verbosity": 0,
    }
    booster = xgb.train(params, xgb.QuantileDMatrix(features, train.labels, qid=train.qid, nthread=threads), rounds)

    def predict(rows: Floats, start: int, end: int) -> Floats:
        # The base score is added in every stage. It is the same for all documents.
        return np.asarray(booster.inplace_predict(rows, iteration_range=(start, end), predict_type="margin"))

    return predict


class Values(NamedTuple):
    """Outcome of all trainings.

    `test` has shape (candidates, seeds, stops, metrics, queries), `validation` and `rounds` (candidates, seeds, stops),
    and the arrays of production lack the first two dimensions.
    """

    test: Floats
    validation: Floats
    rounds: NDArray[np.int64]
    production: Floats
    production_rounds: NDArray[np.int64]


def train_all(
    data: dict[str, gw.RankingData], seeds: int, rounds: int, threads: int, cache: Path, candidates: int
) -> Values:
    """Train the first candidates with every seed. A later call continues after the trainings stored in `cache`."""
    cache.mkdir(parents=True, exist_ok=True)
    chosen = CANDIDATES[:candidates] if candidates < len(CANDIDATES) else CANDIDATES
    size = "-".join(str(len(part.query_ids)) for part in data.values())
    start, total = time.perf_counter(), len(chosen) * seeds + 1

    def train(candidate: Candidate, seed: int, number: int) -> Trained:
        name = "".join(letter if letter.isalnum() else "_" for letter in candidate.name)
        path = cache / f"{name}-{seed}-{rounds}-{threads}-{size}.npz"
        if not path.exists():
            trained = train_candidate(candidate, data, seed, rounds, threads)
            np.savez_compressed(path, **trained._asdict())
            seconds = time.perf_counter() - start
            print(f"{number} of {total} trainings, {seconds:.0f} s: {candidate.name}", file=sys.stderr, flush=True)
        with np.load(path) as stored:
            return Trained(**stored)

    production = train(BASELINE, 1, 1)
    outcomes = [[train(c, 1 + s, 2 + i * seeds + s) for s in range(seeds)] for i, c in enumerate(chosen)]
    test, validation, stops = (
        np.array([[getattr(outcome, name) for outcome in row] for row in outcomes])
        for name in ("values", "validation", "rounds")
    )
    return Values(test, validation, stops, production.values, production.rounds)
