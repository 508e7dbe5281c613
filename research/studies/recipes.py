"""Training recipes of three libraries, and the scores of their models after each few rounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gainwise as gw

Floats = NDArray[np.floating[Any]]
STEP = 5
"""Rounds between two evaluations."""


@dataclass(frozen=True)
class Recipe:
    """One training configuration. Recipes that differ only in `gain` are compared with each other."""

    library: str
    size: str
    gain: str

    @property
    def name(self) -> str:
        """Name in the results."""
        return f"{self.library}, {self.size}, {self.gain} gain"


RECIPES = (
    *(Recipe("lightgbm", size, gain) for size in ("small", "large") for gain in ("linear", "power", "exponential")),
    *(Recipe("xgboost", size, gain) for size in ("small", "large") for gain in ("linear", "exponential")),
    *(Recipe("catboost", "small", gain) for gain in ("linear", "exponential")),
)
SIZES = {"small": (7, 3, 0.15), "large": (31, 5, 0.1)}
"""Leaves, depth and learning rate."""
POWER = 1.5


def make_trainers(train: gw.RankingData, libraries: set[str], threads: int) -> dict[str, Any]:
    """Prepare the training data once for each library."""
    makers = {"lightgbm": LightGBM, "xgboost": XGBoost, "catboost": CatBoost}
    return {library: makers[library](train, threads) for library in sorted(libraries)}


class LightGBM:
    """Train LambdaRank models with tables of gains."""

    def __init__(self, train: gw.RankingData, threads: int) -> None:
        import lightgbm as lgb

        self.threads, self.largest = threads, int(train.labels.max())
        self.data = lgb.Dataset(train.features, train.labels, group=train.group, params=self._common()).construct()

    def _common(self) -> dict[str, Any]:
        return {"verbose": -1, "num_threads": self.threads, "deterministic": True, "feature_pre_filter": False}

    def stage_scores(self, recipe: Recipe, seed: int, rounds: int, parts: list[Floats]) -> Iterator[list[Floats]]:
        """Yield the scores of all parts after every `STEP` rounds."""
        import lightgbm as lgb

        labels = np.arange(self.largest + 1, dtype=float)
        gains = {"linear": labels, "power": (POWER**labels - 1) / (POWER - 1), "exponential": np.exp2(labels) - 1}
        leaves, _, rate = SIZES[recipe.size]
        params = {
            **self._common(),
            "objective": "lambdarank",
            "metric": "none",
            "label_gain": gains[recipe.gain].tolist(),
            "lambdarank_truncation_level": 15,
            "num_leaves": leaves,
            "learning_rate": rate,
            "min_data_in_leaf": 20,
            "bagging_fraction": 0.8,
            "bagging_freq": 1,
            "feature_fraction": 0.7,
            "seed": seed,
        }
        booster = lgb.train(params, self.data, rounds)
        scores = [np.zeros(len(part)) for part in parts]
        for start in range(0, rounds, STEP):
            for total, part in zip(scores, parts, strict=True):
                total += booster.predict(
                    part, start_iteration=start, num_iteration=STEP, raw_score=True, num_threads=self.threads
                )
            yield scores


class XGBoost:
    """Train `rank:ndcg` models with linear or exponential gain."""

    def __init__(self, train: gw.RankingData, threads: int) -> None:
        import xgboost as xgb

        self.threads = threads
        self.data = xgb.QuantileDMatrix(train.features, train.labels, qid=train.qid, nthread=threads)

    def stage_scores(self, recipe: Recipe, seed: int, rounds: int, parts: list[Floats]) -> Iterator[list[Floats]]:
        """Yield the scores of all parts after every `STEP` rounds."""
        import xgboost as xgb

        _, depth, rate = SIZES[recipe.size]
        params = {
            "objective": "rank:ndcg",
            "ndcg_exp_gain": recipe.gain == "exponential",
            "lambdarank_pair_method": "topk",
            "lambdarank_num_pair_per_sample": 15,
            "max_depth": depth,
            "eta": rate,
            "min_child_weight": 0.1,
            "subsample": 0.8,
            "colsample_bytree": 0.7,
            "seed": seed,
            "nthread": self.threads,
            "verbosity": 0,
        }
        booster = xgb.train(params, self.data, rounds)
        scores = [np.zeros(len(part)) for part in parts]
        for start in range(0, rounds, STEP):
            for total, part in zip(scores, parts, strict=True):
                # The base score is added in every step. It is the same for all documents.
                total += booster.inplace_predict(part, iteration_range=(start, start + STEP), predict_type="margin")
            yield scores


class CatBoost:
    """Train LambdaMART models for NDCG with linear or exponential gain."""

    def __init__(self, train: gw.RankingData, threads: int) -> None:
        import catboost

        self.threads = threads
        self.data = catboost.Pool(train.features, train.labels, group_id=train.qid, thread_count=threads)

    def stage_scores(self, recipe: Recipe, seed: int, rounds: int, parts: list[Floats]) -> Iterator[list[Floats]]:
        """Yield the scores of all parts after every `STEP` rounds."""
        import catboost

        kind = "Exp" if recipe.gain == "exponential" else "Base"
        model = catboost.CatBoost(
            {
                "loss_function": f"LambdaMart:metric=NDCG;type={kind};top=15",
                "iterations": rounds,
                "depth": 4,
                "learning_rate": 0.15,
                "random_seed": seed,
                "thread_count": self.threads,
                "allow_writing_files": False,
                "verbose": False,
            }
        )
        model.fit(self.data)
        stages = [model.staged_predict(part, eval_period=STEP, thread_count=self.threads) for part in parts]
        yield from map(list, zip(*stages, strict=True))
