"""Training with XGBoost."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import xgboost as _adapter  # noqa: F401
from ..._common.arrays import nearest
from ...data import RankingData
from ...data.ranking_data import is_sparse
from ...metrics.dcg import power
from ...xgboost.callbacks import cut_booster
from ..config import Candidate
from . import CHANGES_ROUNDS, Watch, validate_parameter_names

# After the adapter, whose error names the extra to install.
import xgboost as xgb  # isort: skip


_MAIN_NAMES = {
    "eta": "learning_rate", "gamma": "min_split_loss", "lambda": "reg_lambda", "alpha": "reg_alpha",
    "random_state": "seed", "n_jobs": "nthread", "disable_default_eval_metric": "eval_metric",
    "n_estimators": "num_boost_round", "num_round": "num_boost_round",
}  # fmt: skip


Binned = tuple[xgb.DMatrix, xgb.DMatrix | None]
"""Training and validation data."""


def validate_parameters(candidate: Candidate) -> None:
    """Raise `ValueError` for a parameter that is set elsewhere, or that XGBoost would ignore.

    XGBoost compares parameters with its own list when it configures a booster. Nothing is trained. Other devices than
    the CPU are left to XGBoost, which warns in every training.
    """
    validate_parameter_names("XGBoost", candidate, _MAIN_NAMES)
    for name, value in candidate.params.items():
        if (name == "booster" and value in ("dart", "gblinear")) or (name in ("rate_drop", "one_drop") and value):
            raise ValueError(f"params.{name} must not be {value!r}, {CHANGES_ROUNDS}")
    params = {**create_parameters(candidate), "verbosity": 1, "validate_parameters": True}
    if params.get("device", "cpu") == "cpu":
        unused, names = _find_unused(params)
        for name in unused:
            raise ValueError(f"params.{name} is not used by XGBoost with the other parameters{nearest(name, names)}.")


def _find_unused(params: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the parameters that XGBoost does not use, and the names of those in its configuration."""
    matrix = xgb.DMatrix(np.zeros((1, 1)), label=np.zeros(1), qid=np.zeros(1), nthread=1)
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        try:
            config = xgb.Booster(params, cache=[matrix]).save_config()
        except (xgb.core.XGBoostError, ValueError):  # Training reports invalid values.
            return [], []
    lists = [re.search(r"Parameters: \{([^}]*)\} are not used", str(warning.message)) for warning in messages]
    unused = [name for match in lists if match for name in re.findall(r'"([^"]+)"', match[1])]
    return unused, list(dict.fromkeys(re.findall(r'"(\w+)":', config)))


def get_bin_settings(candidate: Candidate, documents: int) -> dict[str, Any] | None:
    """Return all settings of a candidate that change its bins, or None if every training bins its own data."""
    if not _uses_bins_only(candidate):
        return None
    gain = None if isinstance(candidate.training_gain, str) else candidate.training_gain  # The labels are the gains.
    return {"max_bin": candidate.params.get("max_bin"), "threads": candidate.threads, "gain": gain}


def _uses_bins_only(candidate: Candidate) -> bool:
    """Return whether XGBoost trains on bins only, which require an eighth of the memory."""
    get = candidate.params.get
    return (
        get("tree_method", "auto") in ("auto", "hist")
        and get("booster", "gbtree") == "gbtree"
        and get("device", "cpu") == "cpu"
        and not {"sparse_threshold", "updater", "process_type"} & set(candidate.params)
    )


def bin_data(candidate: Candidate, train: RankingData, valid: RankingData | None) -> Binned:
    """Return training and validation data in the form of XGBoost. Boosters do not change them.

    The labels are the gains if XGBoost has no parameter for them. Without `ndcg_exp_gain`, XGBoost uses a label as its
    gain, and nothing else of a label but the order.
    """
    options: dict[str, Any] = {"nthread": candidate.threads}
    kind: Any = xgb.DMatrix
    if _uses_bins_only(candidate):
        kind, options["max_bin"] = xgb.QuantileDMatrix, candidate.params.get("max_bin", 256)
    gain, labels = candidate.training_gain, train.labels
    if gain is not None and not isinstance(gain, str):
        labels = power(np.asarray(labels, dtype=np.float64), gain)
    weight = train.judgments().weights
    matrix = _create_matrix(kind, train, label=labels, qid=train.qid, weight=weight, **options)
    if valid is None:
        return matrix, None
    # QuantileDMatrix would bin a category without training data as another one.
    if kind is xgb.QuantileDMatrix and not valid.categories:
        return matrix, _create_matrix(kind, valid, ref=matrix, **options)
    return matrix, _create_matrix(xgb.DMatrix, valid, nthread=candidate.threads)


def _create_matrix(kind: Any, data: RankingData, rows: slice = slice(None), **options: Any) -> Any:
    """Return rows in the form of XGBoost, which reads names and categories from a DataFrame."""
    names, features = data.feature_names, data.features[rows]
    if names is not None and not is_sparse(data.features):
        features = data.feature_frame(rows)
    matrix = kind(features, enable_categorical=True, **options)
    if names is not None:
        matrix.feature_names = list(names)  # A sparse matrix has no names.
    return matrix


def train(candidate: Candidate, data: Binned, watch: Watch | None) -> bytes:
    """Train, pass the scores of every round to `watch`, and return the model file."""
    train_matrix, valid_matrix = data
    booster = xgb.Booster(create_parameters(candidate), [train_matrix])
    for number in range(candidate.num_boost_round or 0):
        booster.update(train_matrix, number)
        if watch is not None and watch(booster.predict(valid_matrix)):
            break
    return bytes(booster.save_raw("ubj"))


def cut(model: bytes, rounds: int) -> bytes:
    """Return the model file with the first rounds only, and the last one as `best_iteration`.

    By default, `Booster.predict` uses all rounds and `XGBRanker.predict` the rounds up to the best one.
    """
    booster = cut_booster(load(model), rounds)
    booster.set_attr(best_iteration=str(rounds - 1))
    return bytes(booster.save_raw("ubj"))


def load(model: bytes) -> xgb.Booster:
    """Return the booster in a model file."""
    return xgb.Booster(model_file=bytearray(model))


def predict(booster: xgb.Booster, data: RankingData, rows: slice, rounds: Sequence[int], threads: int) -> list[Any]:
    """Return the scores of these documents after each number of rounds."""
    booster.set_param({"nthread": threads})
    matrix = _create_matrix(xgb.DMatrix, data, rows, nthread=threads)
    return [booster.predict(matrix, iteration_range=(0, number)) for number in rounds]


def create_parameters(candidate: Candidate) -> dict[str, Any]:
    """Return the parameters for XGBoost, which repeats a training exactly for the same seed and number of threads."""
    params: dict[str, Any] = {
        "objective": candidate.objective,
        "disable_default_eval_metric": True,
        "seed": candidate.seed,
        "nthread": candidate.threads,
    }
    if candidate.training_gain is not None:
        params["ndcg_exp_gain"] = candidate.training_gain == "exponential"
    return {**params, **candidate.params}
