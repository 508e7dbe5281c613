"""Scores from anywhere: arrays, score files, or models that predict."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.arrays import numbers
from .._common.names import check_name

if TYPE_CHECKING:
    from .._common.typing import Floats


def read_predictions(models: Any, documents: int, features: Any = None) -> dict[str, Floats]:
    """Return one array of scores per model.

    Parameters
    ----------
    models : mapping of name to scores, path or model; or a DataFrame with one column per model
        A path is read with `gainsay.data.read_scores`; anything with a `predict` method is given `features`.
    documents : int
        How many scores each must have.
    features : array-like, optional
        What models predict from, one row per document.

    Raises
    ------
    ValueError
        Where there is no model, the number of scores is wrong, or a model has no features to predict from; the message
        names the model.
    """
    if hasattr(models, "columns") and not isinstance(models, Mapping):
        names = list(map(str, models.columns))
        twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
        if twice is not None:
            raise ValueError(f"models has two columns named {twice!r}: the names of models must be distinct")
        models = {str(name): models[name] for name in models.columns}
    if not isinstance(models, Mapping):
        raise TypeError(
            f"models must be a mapping of name to scores, or a DataFrame with a column per model, got "
            f"{type(models).__name__}"
        )
    if not models:
        raise ValueError("models is empty: give at least one, as {'name': scores}")
    found = {}
    for name, source in models.items():
        if not isinstance(name, str):
            raise TypeError(f"names of models must be strings, got {name!r}")
        check_name("the name of a model", name)
        try:
            scores = numbers("scores", _scores(source, features)).astype(np.float64)
        except (ValueError, TypeError, OSError) as error:
            raise type(error)(f"model {name!r}: {error}") from None
        if len(scores) != documents:
            raise ValueError(f"model {name!r} has {len(scores)} scores, but there are {documents} documents")
        found[name] = scores
    return found


def _scores(source: Any, features: Any) -> Any:
    if isinstance(source, str | PathLike):
        from ..data import read_scores

        return read_scores(fspath(source))
    if not hasattr(source, "predict"):
        if np.ndim(source) == 0:
            raise TypeError(
                f"it is neither scores nor a path nor a model with a predict method, but {type(source).__name__}"
            )
        return source
    if features is None:
        raise ValueError("it is a model, which predicts from features: pass features=, one row per document")
    return source.predict(_as_input(source, features))


def _as_input(model: Any, features: Any) -> Any:
    """Return features as the model takes them: XGBoost's own boosters want a DMatrix."""
    if type(model).__module__.partition(".")[0] == "xgboost" and type(model).__name__ == "Booster":
        import xgboost

        return features if isinstance(features, xgboost.DMatrix) else xgboost.DMatrix(features)
    return features
