"""Training libraries: the functions that an experiment uses of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ..._common import __version__
from ...data import RankingData
from ..config import Candidate

DOCUMENTS_PER_PREDICTION = 65_536
"""Both libraries copy the features they predict on, XGBoost into twice the memory."""

Watch = Callable[[Any], bool]
"""Evaluates the validation scores of a round, and returns whether training should stop."""

RESERVED = {
    "seed": "Use seed instead",
    **dict.fromkeys(("num_threads", "nthread"), "Use threads instead"),
    **dict.fromkeys(("num_iterations", "num_boost_round"), "Use num_boost_round instead"),
    **dict.fromkeys(("early_stopping_round", "early_stopping_rounds"), "Use early_stopping_rounds instead"),
    **dict.fromkeys(("metric", "eval_metric"), "The experiment sets the metrics"),
    **dict.fromkeys(("label_gain", "ndcg_exp_gain"), "Use training_gain instead"),
}
"""The remedy for parameters that are set outside `params`, by their main name in LightGBM or XGBoost."""

CHANGES_ROUNDS = "because later rounds change earlier ones, so no round could be chosen."
"""Why some boosters are rejected."""


def get_trainer(library: str) -> Any:
    """Return the module that trains with a library, which has these functions.

    - `validate_parameters(candidate)` raises `ValueError` for a parameter that is unknown, set elsewhere, or prevents
      the choice of a round.
    - `get_bin_settings(candidate, documents)` returns all settings of a candidate that may change the result of
      `bin_data`. Candidates with equal settings train on the same object. None requires a separate object.
    - `bin_data(candidate, train, valid)` returns training and validation data in the form of the library, without a
      reference to the arguments.
    - `train(candidate, data, watch)` trains, passes the validation scores of every round to `watch`, and returns the
      model file.
    - `cut(model, rounds)` returns the model file with the first rounds only, whose predictions are those of the whole
      model at this round, to the last bit.
    - `load(model)` returns the booster in a model file, which predicts with all its rounds.
    - `predict(booster, data, rows, rounds, threads)` returns the scores of these documents after each number of rounds.

    Raises
    ------
    ImportError
        If the library is not installed. The message names the extra to install.
    """
    return import_module(f".{library}", __name__)


def predict_rounds(
    library: str, booster: Any, data: RankingData, rounds: Sequence[int], threads: int
) -> dict[int, Any]:
    """Return the scores of all documents after each of these rounds."""
    predict, starts = get_trainer(library).predict, range(0, len(data.labels), DOCUMENTS_PER_PREDICTION)
    slices = [slice(start, start + DOCUMENTS_PER_PREDICTION) for start in starts]
    pieces = [predict(booster, data, rows, rounds, threads) for rows in slices]
    return {number: np.concatenate(scores) for number, scores in zip(rounds, zip(*pieces, strict=True), strict=True)}


def get_versions(library: str) -> dict[str, str]:
    """Return the versions of the packages that a training may depend on."""
    return {"gainwise": __version__, "numpy": np.__version__, library: str(import_module(library).__version__)}


def validate_parameter_names(library: str, candidate: Candidate, main_names: Mapping[str, str]) -> None:
    """Raise `ValueError` if a parameter is set outside `params`, or has two of its names.

    `main_names` contains the main name of aliases.
    """
    names: dict[str, str] = {}
    for name in candidate.params:
        main_name = main_names.get(name, name)
        remedy = RESERVED.get(main_name)
        if main_name in ("objective", "boosting") and name != main_name:
            remedy = f"Write {main_name}"
        if remedy:
            raise ValueError(f"params must not contain {name!r}. {remedy}.")
        first = names.setdefault(main_name, name)
        if first != name:
            raise ValueError(f"params.{first} and params.{name} are one parameter of {library}. Remove one of them.")
