"""Candidates trained by XGBoost."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import xgboost as adapter
from ..data._features import is_sparse
from .folds import query_weights

# After the adapter, which says what to install where there is no XGBoost.
import xgboost as xgb  # isort: skip
from xgboost.callback import TrainingCallback  # isort: skip

if TYPE_CHECKING:
    from ..data import RankingData
    from .candidates import Candidate
    from .training import Watch

_VALID = "valid"


def version() -> str:
    """Return the version of XGBoost."""
    return str(xgb.__version__)


def check(candidate: Candidate) -> None:
    """Do nothing: XGBoost has no list of its parameters, and warns of unknown ones itself when it trains."""


def check_features(names: tuple[str, ...]) -> None:
    """Raise `ValueError` for names of features that XGBoost does not take."""
    for name in names:
        if any(character in "[]<" for character in name):
            raise ValueError(
                f"the feature {name!r} has one of [, ] and < in its name, which XGBoost refuses; rename it"
            )


def train(candidate: Candidate, train: RankingData, valid: RankingData, watch: Watch) -> bytes:
    """Train, telling `watch` of every round; return the model as UBJSON."""
    params = parameters(candidate)
    matrix = xgb.DMatrix(
        _features(train),
        label=train.labels,
        qid=train.qid,
        weight=query_weights(train),
        nthread=params["nthread"],
        enable_categorical=True,
    )
    weights = query_weights(valid)
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
        self._watch.record([float(evals_log[_VALID][name][-1]) for name in self._watch.metrics])
        return self._watch.exhausted


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
