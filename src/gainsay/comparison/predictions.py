"""Scores from anywhere: arrays, score files, or models that predict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import numbers, refuse_unready
from .._names import check_name
from ..data import RankingData
from ..data._features import as_matrix, is_sparse

if TYPE_CHECKING:
    from .._typing import Floats


def read_predictions(
    models: Any, documents: int, features: Any = None, in_row_order: Callable[[str, Any], Any] | None = None
) -> dict[str, Floats]:
    """Return one array of scores per model.

    Parameters
    ----------
    models : mapping of name to scores, path or model; or a DataFrame with one column per model
        A path is read with `gainsay.data.read_scores`; anything with a `predict` method is given `features`.
    documents : int
        How many scores each must have.
    features : array-like, sparse matrix or RankingData, optional
        What models predict from, one row per document.
    in_row_order : function, optional
        `Judgments.in_row_order`: matches scores of pandas with the labels.

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
            predicted = _scores(source, features)
            if in_row_order is not None:
                predicted = in_row_order("scores", predicted)
            scores = numbers("scores", predicted).astype(np.float64)
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
    refuse_unready("scores", source)
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
    """Return features as the model takes them: XGBoost's own boosters want a DMatrix, ranking data know their names."""
    names = None
    if is_sparse(features):
        features = as_matrix(features)  # LightGBM knows no csr_array
    if isinstance(features, RankingData):
        names = features.feature_names
        named = names is not None and not is_sparse(features.features)
        features = features.feature_frame() if named else features.features
    if type(model).__module__.partition(".")[0] == "xgboost" and type(model).__name__ == "Booster":
        import xgboost

        if isinstance(features, xgboost.DMatrix):
            return features
        if not hasattr(features, "columns"):  # an array has no names that could differ from the model's
            known = {"feature_names": names or model.feature_names, "feature_types": model.feature_types}
            return xgboost.DMatrix(features, **known, enable_categorical=True)
        return xgboost.DMatrix(features, enable_categorical=True)
    return features
