"""Candidates trained by XGBoost."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import xgboost as adapter
from ..data._features import is_sparse
from ..xgboost.cutting import first_rounds

# After the adapter, which says what to install where there is no XGBoost.
import xgboost as xgb  # isort: skip
from xgboost.callback import TrainingCallback  # isort: skip

if TYPE_CHECKING:
    from ..data import RankingData
    from .candidates import Candidate
    from .training import Watch

_VALID = "valid"
_NOT_USED = re.compile(r"Parameters: \{([^}]*)\} are not used")


def version() -> str:
    """Return the version of XGBoost."""
    return str(xgb.__version__)


def check(candidate: Candidate) -> None:
    """Do nothing: XGBoost has no list of its parameters; `unused` asks it for those that it passes over."""


def uses_seed(candidate: Candidate, documents: int) -> bool:
    """Return whether another seed can give another model: pairs are sampled by a seed that XGBoost fixes itself."""
    sampled = ("subsample", "colsample_bytree", "colsample_bylevel", "colsample_bynode")
    values = [candidate.params.get(name, 1) for name in sampled]
    return any(isinstance(value, int | float) and value < 1 for value in values)


def unused(candidate: Candidate, features: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the parameters that XGBoost passes over, and those that it knows.

    It tells when it trains, here on two documents. What runs elsewhere than on the CPU is left to XGBoost itself, which
    tells in every training.
    """
    params = {**parameters(candidate), "verbosity": 1}
    if params.get("device", "cpu") != "cpu":
        return (), ()
    return _unused(json.dumps(params, sort_keys=True), features)


@lru_cache(maxsize=1024)
def _unused(params: str, features: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    matrix = xgb.DMatrix(np.zeros((2, features)), label=np.array([0, 1]), qid=np.array([0, 0]), nthread=1)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            booster = xgb.train(json.loads(params), matrix, 1)
        except xgb.core.XGBoostError:  # a wrong value, which training will tell of
            return (), ()
    listed = [found[1] for warning in said if (found := _NOT_USED.search(str(warning.message)))]
    names = dict.fromkeys(name for text in listed for name in re.findall(r'"([^"]+)"', text))
    return tuple(names), tuple(dict.fromkeys(_keys(json.loads(booster.save_config()))))


def _keys(document: Any) -> Iterator[str]:
    """Yield the keys of nested objects."""
    if isinstance(document, dict):
        yield from document
        for value in document.values():
            yield from _keys(value)


def check_features(names: tuple[str, ...]) -> None:
    """Raise `ValueError` for names of features that XGBoost does not take."""
    for name in names:
        if any(character in "[]<" for character in name):
            raise ValueError(
                f"the feature {name!r} has one of [, ] and < in its name, which XGBoost refuses; rename it"
            )


def train(candidate: Candidate, train: RankingData, valid: RankingData, watch: Watch) -> bytes:
    """Train, telling `watch` of every round; return the model as UBJSON."""
    # Those without effect have been warned of; XGBoost would do so again for every candidate and fold.
    passed_over, _ = unused(candidate, train.features.shape[1])
    params = {name: value for name, value in parameters(candidate).items() if name not in passed_over}
    matrix = xgb.DMatrix(
        _features(train),
        label=train.labels,
        qid=train.qid,
        weight=train.judgments().weights,
        nthread=params["nthread"],
        enable_categorical=True,
    )
    weights = valid.judgments().weights
    judged = (_features(valid), valid.labels, valid.qid) + (() if weights is None else (weights,))
    log = adapter.EvaluateRanking({_VALID: judged}, watch.metrics, n_jobs=params["nthread"])
    booster = xgb.train(
        params, matrix, candidate.num_boost_round or 0, callbacks=[_Tell(watch, log)], verbose_eval=False
    )
    if train.feature_names is not None:
        booster.feature_names = list(train.feature_names)  # which a sparse matrix does not have
    return bytes(booster.save_raw("ubj"))


def _features(data: RankingData) -> Any:
    """Return features as XGBoost takes them: it knows names and categories by the columns of a DataFrame."""
    if data.feature_names is None or is_sparse(data.features):
        return data.features
    return data.feature_frame()


class _Tell(TrainingCallback):
    """Tells a watch what `EvaluateRanking` logs, and stops training when it says so.

    One callback rather than two: XGBoost 2.1 calls several in no particular order.
    """

    def __init__(self, watch: Watch, log: TrainingCallback) -> None:
        super().__init__()
        self._watch = watch
        self._log = log

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Evaluate, and return whether to stop."""
        self._log.after_iteration(model, epoch, evals_log)
        self._watch.record([float(evals_log[_VALID][str(metric)][-1]) for metric in self._watch.metrics])
        return self._watch.exhausted


def cut(model: bytes, rounds: int) -> bytes:
    """Return the first rounds of a model as UBJSON, the last of them as `best_iteration`.

    `Booster.predict` takes all rounds unless told, `XGBRanker.predict` those up to the best: both take these.
    """
    booster = first_rounds(load(model), rounds)
    booster.set_attr(best_iteration=str(rounds - 1))
    return bytes(booster.save_raw("ubj"))


def load(model: bytes) -> xgb.Booster:
    """Return the booster that the bytes hold."""
    return xgb.Booster(model_file=bytearray(model))


def predictor(model: bytes, data: RankingData, threads: int) -> Callable[[int], Any]:
    """Return a function from a number of rounds to the scores of the documents."""
    booster = load(model)
    booster.set_param({"nthread": threads})
    matrix = xgb.DMatrix(_features(data), nthread=threads, enable_categorical=True)
    if data.feature_names is not None:
        matrix.feature_names = list(data.feature_names)
    return lambda rounds: booster.predict(matrix, iteration_range=(0, rounds))


def parameters(candidate: Candidate) -> dict[str, Any]:
    """Return what XGBoost is given.

    XGBoost repeats a training to the last digit for the same seed, parameters and number of threads.
    """
    params: dict[str, Any] = {
        "objective": candidate.objective,
        "disable_default_eval_metric": True,
        "seed": candidate.seed,
        "nthread": candidate.threads,
    }
    if candidate.training_gain is not None:
        params["ndcg_exp_gain"] = candidate.training_gain == "exponential"
    return {**params, **candidate.params}
