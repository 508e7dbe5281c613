"""Candidates trained by XGBoost."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import xgboost as _adapter  # noqa: F401
from ..data.features import is_sparse
from ..metrics.gains import power
from ..xgboost.cutting import first_rounds
from .candidates import check_given_once
from .libraries import as_number

# After the adapter, which says what to install where there is no XGBoost.
import xgboost as xgb  # isort: skip
from xgboost.callback import TrainingCallback  # isort: skip

if TYPE_CHECKING:
    from .._common.typing import Floats
    from ..data import RankingData
    from .candidates import Candidate
    from .libraries import Predict
    from .rounds import Watch

_ALL = slice(None)
_MAIN_NAMES = {"eta": "learning_rate", "gamma": "min_split_loss", "lambda": "reg_lambda", "alpha": "reg_alpha"}
_NOT_USED = re.compile(r"Parameters: \{([^}]*)\} are not used")


class Binned(NamedTuple):
    """Data as XGBoost trains on them."""

    train: xgb.DMatrix
    valid: xgb.DMatrix
    feature_names: tuple[str, ...] | None


def version() -> str:
    """Return the version of XGBoost."""
    return str(xgb.__version__)


def check(candidate: Candidate) -> None:
    """Raise `ValueError` for a parameter given by two names; `unused` asks XGBoost for those that it does not know."""
    check_given_once("XGBoost", candidate, _MAIN_NAMES)


def uses_seed(candidate: Candidate, documents: int) -> bool:
    """Return whether another seed can give another model: pairs are sampled by a seed that XGBoost fixes itself."""
    sampled = ("subsample", "colsample_bytree", "colsample_bylevel", "colsample_bynode")
    return any(as_number(candidate.params.get(name), 1) < 1 for name in sampled)


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


def binning(candidate: Candidate, documents: int) -> dict[str, Any] | None:
    """Return all of a candidate that decides how XGBoost bins data; None where it does so in each training anew."""
    if not _binned_at_once(candidate):
        return None
    gain = None if isinstance(candidate.training_gain, str) else candidate.training_gain  # which the labels hold
    return {"max_bin": candidate.params.get("max_bin"), "threads": candidate.threads, "gain": gain}


def _binned_at_once(candidate: Candidate) -> bool:
    """Return whether XGBoost trains on nothing but bins, which then need an eighth of the memory."""
    given = candidate.params.get
    return (
        given("tree_method", "auto") in ("auto", "hist")
        and given("booster", "gbtree") == "gbtree"
        and given("device", "cpu") == "cpu"
        and not {"sparse_threshold", "updater", "process_type"} & set(candidate.params)
    )


def binned(candidate: Candidate, train: RankingData, valid: RankingData) -> Binned:
    """Return training and validation data as XGBoost takes them; boosters only read these."""
    options: dict[str, Any] = {"nthread": candidate.threads, "enable_categorical": True}
    judged = {"label": _worth(candidate, train.labels), "qid": train.qid, "weight": train.judgments().weights}
    if not _binned_at_once(candidate):
        matrix, held_out = xgb.DMatrix(_features(train), **judged, **options), xgb.DMatrix(_features(valid), **options)
        return Binned(matrix, held_out, train.feature_names)
    options["max_bin"] = candidate.params.get("max_bin", 256)
    matrix = xgb.QuantileDMatrix(_features(train), **judged, **options)
    if valid.categories:  # one that is not in the training data would be binned as another
        held_out = xgb.DMatrix(_features(valid), nthread=candidate.threads, enable_categorical=True)
    else:
        held_out = xgb.QuantileDMatrix(_features(valid), ref=matrix, **options)
    return Binned(matrix, held_out, train.feature_names)


def train(candidate: Candidate, data: Binned, watch: Watch) -> bytes:
    """Train, showing `watch` the scores of every round; return the model as UBJSON."""
    # Those without effect have been warned of; XGBoost would do so again for every candidate and fold.
    passed_over, _ = unused(candidate, data.train.num_col())
    params = {name: value for name, value in parameters(candidate).items() if name not in passed_over}
    booster = xgb.train(
        params, data.train, candidate.num_boost_round or 0, callbacks=[_Look(watch, data.valid)], verbose_eval=False
    )
    if data.feature_names is not None:
        booster.feature_names = list(data.feature_names)  # which a sparse matrix does not have
    return bytes(booster.save_raw("ubj"))


def _worth(candidate: Candidate, labels: Floats) -> Floats:
    """Return what XGBoost takes for labels in training: the labels, or the gains for which it has no parameter.

    With `ndcg_exp_gain` off it takes a label for its own gain, and nothing else about a label matters to it but order.
    """
    gain = candidate.training_gain
    return labels if gain is None or isinstance(gain, str) else power(np.asarray(labels, dtype=np.float64), gain)


def _features(data: RankingData, rows: slice = _ALL) -> Any:
    """Return features as XGBoost takes them: it knows names and categories by the columns of a DataFrame."""
    if data.feature_names is None or is_sparse(data.features):
        return data.features[rows]
    return data.feature_frame(rows)


class _Look(TrainingCallback):
    """Shows a watch the scores on a data set, and stops training when it says so."""

    def __init__(self, watch: Watch, data: xgb.DMatrix) -> None:
        super().__init__()
        self._watch = watch
        self._data = data

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Evaluate, and return whether to stop."""
        self._watch.look(model.predict(self._data))
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


def predictor(model: bytes, data: RankingData, threads: int) -> Predict:
    """Return a function from some rows and numbers of rounds to the scores of these documents after each."""
    booster = load(model)
    booster.set_param({"nthread": threads})

    def predict(rows: slice, rounds: Sequence[int]) -> list[Any]:
        matrix = xgb.DMatrix(_features(data, rows), nthread=threads, enable_categorical=True)
        if data.feature_names is not None:
            matrix.feature_names = list(data.feature_names)
        return [booster.predict(matrix, iteration_range=(0, number)) for number in rounds]

    return predict


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
