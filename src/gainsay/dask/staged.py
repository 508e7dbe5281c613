"""What a boosted model predicts after its first rounds, growing tree by tree."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, eq=False)
class Staged:
    """A booster of LightGBM or XGBoost and the numbers of rounds after which its predictions are wanted, ascending.

    Scores are added up tree by tree in the order and precision of the library, so they equal what it predicts with the
    first n rounds to the last bit. They are raw scores: before any transformation, which would not change a ranking.
    """

    booster: Any
    rounds: Sequence[int]

    def __call__(self, features: Any) -> Iterator[np.ndarray[Any, Any]]:
        """Return the scores of each document after the wanted numbers of rounds, one array after the other."""
        if features.shape[0] == 0:
            yield from (np.zeros(0) for _ in self.rounds)
            return
        steps = (
            _lightgbm(self.booster, features)
            if _library(self.booster) == "lightgbm"
            else _xgboost(self.booster, features)
        )
        wanted = set(self.rounds)
        for number, scores in zip(range(1, self.rounds[-1] + 1), steps, strict=False):
            if number in wanted:
                yield scores


def booster_of(model: Any) -> Any:
    """Return the booster of a model of LightGBM or XGBoost, or of the dict that `xgboost.dask.train` returns."""
    if isinstance(model, dict) and "booster" in model:
        return model["booster"]
    if hasattr(model, "get_booster"):
        return model.get_booster()
    if hasattr(model, "booster_"):
        return model.booster_
    if type(model).__name__ == "Booster" and _library(model) in ("lightgbm", "xgboost"):
        return model
    raise TypeError(
        f"model must be a model of LightGBM or XGBoost, or what xgboost.dask.train returned, got {type(model).__name__}"
    )


def rounds_of(booster: Any) -> int:
    """Return how many rounds a booster was trained for."""
    return int(booster.current_iteration() if _library(booster) == "lightgbm" else booster.num_boosted_rounds())


def _library(booster: Any) -> str:
    return type(booster).__module__.partition(".")[0]


def _lightgbm(booster: Any, features: Any) -> Iterator[np.ndarray[Any, Any]]:
    booster = copy.deepcopy(booster)  # threads that predict with other rounds would change each other's
    if hasattr(features, "dtypes") and all(dtype.kind in "fiub" for dtype in features.dtypes):
        features = features.to_numpy(np.result_type(np.float32, *features.dtypes))  # once, not for every tree
    scores = 0.0
    for number in range(booster.current_iteration()):
        scores = scores + booster.predict(
            features, start_iteration=number, num_iteration=1, raw_score=True, num_threads=1
        )
        yield scores


def _xgboost(booster: Any, features: Any) -> Iterator[np.ndarray[Any, Any]]:
    import xgboost as xgb

    booster = booster.copy()  # its number of threads is to change here only
    booster.set_param({"nthread": 1})
    data = xgb.DMatrix(features, enable_categorical=True, nthread=1)
    for number in range(booster.num_boosted_rounds()):
        scores = booster.predict(data, iteration_range=(number, number + 1), output_margin=True)
        yield scores
        data.set_base_margin(scores)
