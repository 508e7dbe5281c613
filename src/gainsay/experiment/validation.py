"""Strict pydantic models whose errors fit in one line per mistake."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, TypeVar, get_args

import numpy as np

from .._common.arrays import nearest

try:
    import filelock  # noqa: F401 - `storage` uses it
    from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
except ImportError as error:  # pragma: no cover - needs an environment without pydantic
    raise ImportError(
        "Experiments require pydantic and filelock. Run pip install 'gainsay-ltr[experiment]'."
    ) from error


MAX_MISTAKES = 10
"""An error lists so many mistakes."""


class StrictModel(BaseModel):
    """A model that takes types literally and rejects unknown keys."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


Model = TypeVar("Model", bound=StrictModel)


def _convert_number(value: Any) -> Any:
    """Return a NumPy scalar as Python's, and a float without a fraction as an integer."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


Integer = Annotated[int, BeforeValidator(_convert_number)]
Real = Annotated[float, BeforeValidator(_convert_number)]


def validate_model(model: type[Model], values: Any) -> Model:
    """Return the values as a model.

    Raises
    ------
    ValueError, TypeError
        One line for each mistake, with the argument, the value and the nearest valid name.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        mistakes = error.errors(include_url=False)
        lines = list(dict.fromkeys(_format_mistake(model, mistake) for mistake in mistakes))
        if len(lines) > MAX_MISTAKES:
            lines[MAX_MISTAKES:] = [f"{len(lines) - MAX_MISTAKES} more mistakes."]
    wrong_type = mistakes[0]["type"].endswith("_type") and not isinstance(mistakes[0]["input"], float)
    raise (TypeError if wrong_type else ValueError)("\n".join(lines))


def _format_mistake(model: type[StrictModel], mistake: Any) -> str:
    path, kind, value = mistake["loc"], mistake["type"], repr(mistake["input"])
    place = _format_path(path)
    value = value if len(value) <= 80 else f"{value[:77]}…"
    if kind == "missing":
        return f"{place} is missing."
    if kind == "extra_forbidden":
        names = list(_find_model(model, path[:-1]).model_fields)
        return f"{place} is not a known key{nearest(str(path[-1]), names)} (known: {', '.join(names)})"
    if kind == "literal_error":
        names = mistake["ctx"]["expected"].replace("'", "").split(" or ")
        return f"{place} must be {mistake['ctx']['expected']}, got {value}{nearest(str(mistake['input']), names)}"
    if kind == "value_error":
        return join_path(path, str(mistake["ctx"]["error"]))
    if mistake["msg"].startswith("Input should be "):
        return f"{place} must be {mistake['msg'].removeprefix('Input should be ')}, got {value}"
    return f"{place}: {mistake['msg']}, got {value}"


def join_path(path: Sequence[str | int], message: str) -> str:
    """Return a message with the path of the argument. The message may begin with the last name of the path.

    Examples
    --------
    >>> join_path(("candidates", 2, "params"), "params.eta must be finite")
    'candidates[2].params.eta must be finite'
    """
    if path and message.startswith(str(path[-1])):
        path = path[:-1]
        return f"{_format_path(path)}.{message}" if path else message
    separator = " " if message.startswith("must ") else ": "
    return f"{_format_path(path)}{separator}{message}" if path else message


def _format_path(path: Sequence[str | int]) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".").replace("repeats.count", "repeats")


def _find_model(model: type[StrictModel], path: Sequence[str | int]) -> type[StrictModel]:
    """Return the model of a nested table."""
    for step in path:
        if isinstance(step, str):
            model = _nested_model(model.model_fields[step].annotation) or model
    return model


def _nested_model(annotation: Any) -> type[StrictModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, StrictModel):
        return annotation
    return next(filter(None, map(_nested_model, get_args(annotation))), None)


@contextmanager
def prefix_errors(prefix: str) -> Iterator[None]:
    """Put a prefix before the message of a `ValueError` or `TypeError`, which becomes a `ValueError`."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ValueError(f"{prefix}{error}") from None
