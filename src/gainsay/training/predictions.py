"""Scores from anywhere: arrays, score files, or models that predict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.arrays import nearest, numbers, refuse_unready
from .._common.checks import check_whole
from .._common.names import check_name
from .._common.shown import printables
from .iterations import predict

if TYPE_CHECKING:
    from .._common.typing import Features, Floats, Frame, Scores
    from .iterations import Iteration


def read_predictions(
    models: Mapping[str, Scores] | Frame,
    documents: int,
    features: Features | None = None,
    iteration: int | Mapping[str, int] | None = None,
    in_row_order: Callable[[str, Any], Any] | None = None,
) -> tuple[dict[str, Floats], dict[str, Iteration]]:
    """Return one array of scores per model, and after which boosting round each booster predicted.

    `models` maps names to scores, paths (read with `gainsay.data.read_scores`) or anything with a `predict` method, or
    is a DataFrame with one column per model. Boosters predict from `features`, one row per document, with the rounds up
    to their best iteration, where they have one, or with those that `iteration` says. `in_row_order` is that of the
    judgments: it matches scores of pandas with the labels. Errors name the model.
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
    for name in models:
        if not isinstance(name, str):
            raise TypeError(f"names of models must be strings, got {name!r}")
        check_name("the name of a model", name)
    rounds = _rounds_by_name(iteration, list(models))
    found, used = {}, {}
    for name, source in models.items():
        try:
            values, after = _scores(source, features, rounds.get(name))
            if in_row_order is not None:
                values = in_row_order("scores", values)
            scores = numbers("scores", values).astype(np.float64)
        except (ValueError, TypeError, OSError) as error:
            raise type(error)(f"model {name!r}: {error}") from None
        if len(scores) != documents:
            raise ValueError(f"model {name!r} has {len(scores)} scores, but there are {documents} documents")
        found[name] = scores
        if after is not None:
            used[name] = after
    return found, used


def _rounds_by_name(iteration: Any, names: list[str]) -> dict[str, int]:
    if iteration is None:
        return {}
    if not isinstance(iteration, Mapping):
        rounds = check_whole("iteration", iteration, unit="boosting rounds")
        return dict.fromkeys(names, rounds)
    for name in iteration:
        if name not in names:
            raise ValueError(
                f"iteration names {name!r}, which is not among the models{nearest(str(name), names)} "
                f"(there are {', '.join(printables(names))})"
            )
    return {
        name: check_whole(f"iteration[{name!r}]", rounds, unit="boosting rounds") for name, rounds in iteration.items()
    }


def _scores(source: Any, features: Any, rounds: int | None) -> tuple[Any, Iteration | None]:
    """Return scores as they come, and after which round where a booster made them."""
    path = isinstance(source, str | PathLike)
    if not path:
        refuse_unready("scores", source)
    if hasattr(source, "predict"):
        if features is None:
            raise ValueError("it is a model, which predicts from features: pass features=, one row per document")
        return predict(source, features, rounds)
    if not path and np.ndim(source) == 0:
        raise TypeError(
            f"it is neither scores nor a path nor a model with a predict method, but {type(source).__name__}"
        )
    if rounds is not None:
        what = f"the scores in {fspath(source)}" if path else "scores"
        raise ValueError(
            f"it is {what}, from which no boosting round can be chosen; name the boosters that iteration is for, "
            "as iteration={'name': rounds}"
        )
    if not path:
        return source, None
    from ..data import read_scores

    return read_scores(fspath(source)), None
