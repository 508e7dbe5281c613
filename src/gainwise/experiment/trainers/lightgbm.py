"""Training with LightGBM."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lightgbm as _adapter  # noqa: F401
from ..._common.arrays import nearest
from ...data import RankingData
from ...metrics.dcg import power
from ..config import Candidate, Gain
from . import CHANGES_ROUNDS, Watch, validate_parameter_names

# After the adapter, whose error names the extra to install.
import lightgbm as lgb  # isort: skip


_SETUP_LOCK = threading.Lock()
"""Locked while a booster is created. LightGBM then writes its gains into a table of the process, and computes the ideal
DCG of every query from it, so two threads with different gains would change each other's trees."""


Binned = tuple[lgb.Dataset, lgb.Dataset | None]
"""Training and validation data."""


def validate_parameters(candidate: Candidate) -> None:
    """Raise `ValueError` for a parameter that is set elsewhere, or that LightGBM would silently ignore."""
    main_names = _get_main_names()
    validate_parameter_names("LightGBM", candidate, main_names)
    for name in candidate.params:
        if main_names and name not in main_names:
            suggestion = nearest(name, main_names.values()) or nearest(name, main_names)
            raise ValueError(f"params.{name} is not a parameter of LightGBM{suggestion}.")
    if str(candidate.params.get("boosting")).lower() == "dart":
        raise ValueError(f"params.boosting must not be 'dart', {CHANGES_ROUNDS}")


def get_bin_settings(candidate: Candidate, documents: int) -> dict[str, Any]:
    """Return all settings of a candidate that change its bins.

    These are the parameters in LightGBM's own list for datasets, and those of the device. With `feature_pre_filter`,
    LightGBM drops features that no leaf could split, so `min_data_in_leaf` counts. The sample of many documents depends
    on the seed.
    """
    main_names = _get_main_names()
    params = {main_names.get(name, name): value for name, value in candidate.params.items()}
    names = {*lgb.Dataset(np.zeros((1, 1)), params=params).get_params(), "device_type", "gpu_use_dp"}
    if params.get("feature_pre_filter", True) is not False:
        names.add("min_data_in_leaf")
    settings = {name: params[name] for name in names & params.keys()}
    sample = params.get("bin_construct_sample_cnt", 200_000)
    if isinstance(sample, str) or documents >= sample:
        settings["seed"] = candidate.seed
    return {"params": settings, "threads": candidate.threads}


def bin_data(candidate: Candidate, train: RankingData, valid: RankingData | None) -> Binned:
    """Return training and validation data in bins. Boosters do not change them."""
    params = create_parameters(candidate, 1)
    train_set = _create_dataset(train, params).construct()
    valid_set = None if valid is None else _create_dataset(valid, params, reference=train_set).construct()
    return train_set, valid_set


def train(candidate: Candidate, data: Binned, watch: Watch | None) -> bytes:
    """Train, pass the scores of every round to `watch`, and return the model file.

    The loop is that of `lightgbm.train`, except that the booster is created under a lock.
    """
    train_set, valid_set = data
    labels: list[Any] = [part.get_field("label") for part in data if part is not None]
    params = create_parameters(candidate, max(map(np.max, labels)))

    def evaluate(scores: Any, _: Any) -> Any:
        return "should stop", watch is not None and watch(scores), True

    with _SETUP_LOCK:
        booster = lgb.Booster(params, train_set)
    if valid_set is not None:
        booster.add_valid(valid_set, "valid")
    for _ in range(params["num_iterations"]):
        booster.update()
        if watch is not None and booster.eval_valid(evaluate)[0][2]:
            break
    return booster.model_to_string(num_iteration=-1).encode()


def cut(model: bytes, rounds: int) -> bytes:
    """Return the model file with the first rounds only."""
    return lgb.Booster(model_str=model.decode()).model_to_string(num_iteration=rounds).encode()


def load(model: bytes) -> lgb.Booster:
    """Return the booster in a model file, with its last round as `best_iteration`, which the file does not contain."""
    booster = lgb.Booster(model_str=model.decode())
    booster.best_iteration = booster.current_iteration()
    return booster


def predict(booster: lgb.Booster, data: RankingData, rows: slice, rounds: Sequence[int], threads: int) -> list[Any]:
    """Return the scores of these documents after each number of rounds."""
    features = data.feature_frame(rows) if data.categories else data.features[rows]
    return [booster.predict(features, num_iteration=number, num_threads=threads) for number in rounds]


def create_parameters(candidate: Candidate, max_label: float) -> dict[str, Any]:
    """Return the parameters for LightGBM.

    `deterministic` gives the same trees for any number of threads if LightGBM does not choose between row-wise and
    column-wise histograms by their speed, so one of them is fixed.
    """
    params: dict[str, Any] = {
        "objective": candidate.objective,
        "metric": "None",
        "verbosity": -1,
        "seed": candidate.seed,
        "num_threads": candidate.threads,
        "num_iterations": candidate.num_boost_round,
        "deterministic": True,
    }
    if not candidate.params.get("force_col_wise"):
        params["force_row_wise"] = True
    if candidate.training_gain is not None:
        params["label_gain"] = _create_gain_table(candidate.training_gain, range(max(int(max_label), 1) + 1))
    return {**params, **candidate.params}


def _create_gain_table(gain: Gain, levels: range) -> list[float]:
    if isinstance(gain, str):
        return [level if gain == "linear" else 2**level - 1 for level in levels]
    return [float(value) for value in power(np.array(levels, dtype=np.float64), float(gain))]


def _create_dataset(data: RankingData, params: dict[str, Any], reference: lgb.Dataset | None = None) -> lgb.Dataset:
    weight = data.weight
    if weight is not None and len(weight) != len(data.labels):
        weight = weight[data.qid]  # LightGBM requires one per document.
    return lgb.Dataset(
        data.feature_frame() if data.categories else data.features,
        data.labels,
        group=data.group,
        weight=weight,
        reference=reference,
        params=params,
        feature_name="auto" if data.categories or data.feature_names is None else list(data.feature_names),
    )


def _get_main_names() -> dict[str, str]:
    """Return the main name for every name of a parameter in LightGBM's private list, or nothing without it."""
    aliases = getattr(lgb.basic, "_ConfigAliases", None)
    if aliases is None:
        return {}
    aliases.get("objective")  # LightGBM fills the list at the first access.
    return {name: main for main, names in (aliases.aliases or {}).items() for name in (main, *names)}
