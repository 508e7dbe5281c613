"""After which boosting round a model predicts: its best one where it has one, in every library alike.

LightGBM's boosters predict at their best iteration by themselves, XGBoost's with all rounds unless told otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ..data import RankingData
from ..data.features import as_matrix, is_sparse
from .categories import refuse_unknown_categories

if TYPE_CHECKING:
    from .._common.typing import Features, Predictor

__all__ = ["Iteration", "predict"]


class Iteration(NamedTuple):
    """After which boosting round a model predicted.

    Attributes
    ----------
    used : int
        With so many rounds.
    held : int
        So many the model has.
    reason : {"best", "all", "given"}
        Since this is the model's best iteration, since it has none (or is linear and cannot go back to it), or since
        the caller said so.
    """

    used: int
    held: int
    reason: Literal["best", "all", "given"]

    @property
    def size(self) -> str:
        """How many rounds of how many.

        >>> Iteration(41, 95, "best").size, Iteration(95, 95, "all").size
        ('41 of 95 rounds', 'all 95 rounds')
        """
        return f"{self.used:,} of {self.held:,} rounds" if self.used < self.held else f"all {self.held:,} rounds"

    def __str__(self) -> str:
        why = {"best": " (its best iteration)", "all": "", "given": " (as told)"}
        return f"{self.size}{why[self.reason]}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON knows it."""
        return self._asdict()


@dataclass(frozen=True)
class _Booster:
    """A model that was boosted.

    `held` is its number of rounds, `best` the number of rounds up to its best iteration, `predict` scores with so many
    rounds, and `whole` says why it cannot predict with some of them, if it cannot.
    """

    held: int
    best: int | None
    predict: Callable[[int], Any]
    whole: str = ""


def predict(model: Predictor, features: Features, rounds: int | None = None) -> tuple[Any, Iteration | None]:
    """Return the scores of a model, and after which boosting round; None where it is no booster.

    Boosters of LightGBM, XGBoost and CatBoost, and their estimators, are known as such. They predict with `rounds`, by
    default those up to the model's best iteration, or all.
    """
    known = {"lightgbm": _lightgbm, "xgboost": _xgboost, "catboost": _catboost}
    features = _as_input(model, features)
    library = next((name for kind in type(model).__mro__ if (name := kind.__module__.partition(".")[0]) in known), None)
    booster = None if library is None else known[library](model, features)
    if booster is None:
        if rounds is not None:
            raise ValueError(
                f"it is a {type(model).__name__}, no booster of LightGBM, XGBoost or CatBoost, so that iteration means "
                "nothing to it; give the booster itself, or its scores after the round that you want"
            )
        return model.predict(features), None
    if rounds is not None:
        if rounds > booster.held:
            raise ValueError(f"iteration={rounds}, but it has {booster.held} boosting rounds: give at most so many")
        if booster.whole and rounds < booster.held:
            raise ValueError(f"iteration={rounds} of its {booster.held} rounds cannot be had: {booster.whole}")
        return booster.predict(rounds), Iteration(rounds, booster.held, "given")
    if booster.best is None or booster.best > booster.held or booster.whole:
        return booster.predict(booster.held), Iteration(booster.held, booster.held, "all")
    return booster.predict(booster.best), Iteration(booster.best, booster.held, "best")


def _as_input(model: Any, features: Any) -> Any:
    """Return features as the model takes them: XGBoost's own boosters want a DMatrix, ranking data know their names."""
    names = None
    if is_sparse(features):
        features = as_matrix(features)  # LightGBM knows no csr_array
    if isinstance(features, RankingData):
        names = features.feature_names
        named = names is not None and not is_sparse(features.features)
        features = features.feature_frame() if named else features.features
    if hasattr(type(model), "num_boosted_rounds"):
        import xgboost

        if isinstance(features, xgboost.DMatrix):
            return features
        if not hasattr(features, "columns"):  # an array has no names that could differ from the model's
            known = {"feature_names": names or model.feature_names, "feature_types": model.feature_types}
            return xgboost.DMatrix(features, **known, enable_categorical=True)
        refuse_unknown_categories(model, features)
        return xgboost.DMatrix(features, enable_categorical=True)
    if hasattr(type(model), "get_booster"):
        refuse_unknown_categories(model.get_booster(), features)
    return features


def _lightgbm(model: Any, features: Any) -> _Booster | None:
    if hasattr(type(model), "current_iteration"):
        booster = model
    elif hasattr(type(model), "booster_"):
        booster = model.booster_  # which says if it is not fitted
    else:
        return None
    best = booster.best_iteration if (booster.best_iteration or 0) > 0 else None
    return _Booster(booster.current_iteration(), best, lambda rounds: model.predict(features, num_iteration=rounds))


def _xgboost(model: Any, features: Any) -> _Booster | None:
    if hasattr(type(model), "num_boosted_rounds"):
        booster = model
    elif hasattr(type(model), "get_booster"):
        booster = model.get_booster()  # which says if it is not fitted
    else:
        return None
    held, best = booster.num_boosted_rounds(), booster.attr("best_iteration")
    if json.loads(booster.save_config())["learner"]["gradient_booster"]["name"] == "gblinear":
        why = "a linear booster keeps its last state only"
        return _Booster(held, None, lambda rounds: model.predict(features), why)
    best = None if best is None else int(best) + 1
    return _Booster(held, best, lambda rounds: model.predict(features, iteration_range=(0, rounds)))


def _catboost(model: Any, features: Any) -> _Booster | None:
    if not hasattr(model, "tree_count_") or model.tree_count_ is None:
        return None
    best = _best_of_catboost(model)
    return _Booster(model.tree_count_, best, lambda rounds: model.predict(features, ntree_end=rounds))


def _best_of_catboost(model: Any) -> int | None:
    """Return the number of rounds up to the best one; None where there is none.

    CatBoost counts the rounds of the last training, which may have continued a model (`init_model`).
    """
    best = model.get_best_iteration()
    if best is None:
        return None
    held, params = model.tree_count_, model.get_all_params()
    if params.get("use_best_model"):  # cut there already, with all rounds of the model that was continued
        return int(held)
    logged = max((len(curve) for curves in model.get_evals_result().values() for curve in curves.values()), default=0)
    thinned = params.get("metric_period", 1) != 1
    trained = min(held, params.get("iterations", held)) if thinned or not logged else logged
    return int(held - trained + best + 1)
