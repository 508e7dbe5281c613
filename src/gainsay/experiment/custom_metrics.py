"""Custom metrics in an experiment, which other processes and later runs must be able to import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ..metrics.names import parse_metrics
from ..metrics.registry import origin_of

if TYPE_CHECKING:
    from ..metrics.base import Metric


class UndefinedMetricError(ValueError):
    """A metric of an earlier experiment is not defined now, or elsewhere. The message names the module to import."""


def find_import_paths(metrics: Sequence[Metric]) -> dict[str, list[list[str]]]:
    """Return for each custom metric where the metric and its functions are defined.

    Examples
    --------
    >>> import gainsay as gs
    >>> find_import_paths([*gs.parse_metrics("mrr"), gs.NDCG(gain=abs, name="by_abs")])
    {'by_abs': [['builtins', 'abs']]}
    """
    paths = {str(metric): _find_paths(metric) for metric in metrics}
    return {name: places for name, places in paths.items() if places}


def _find_paths(metric: Metric) -> list[list[str]]:
    values = (getattr(metric, field.name) for field in fields(metric))
    places = [origin_of(type(metric)), *(origin_of(value) for value in values if callable(value))]
    return [list(place) for place in places if place[0].partition(".")[0] != "gainsay"]


def validate_importable(metrics: Sequence[Metric], user: str) -> None:
    """Raise `ValueError` if a metric cannot be imported by its `user`, which is another process or a later run."""
    for metric in metrics:
        for module, name in _find_paths(metric):
            if module == "__main__" or "<" in name:  # <lambda>, <locals>
                raise ValueError(
                    f"{metric} must be importable by {user}, but uses {module}.{name}. Define it with class or def at "
                    "the top level of a module, and import the module."
                )
        if parse_metrics(str(metric)) != (metric,):
            raise ValueError(f"{metric} was defined again, so {user} would use another one. Create the metric again.")


def restore_metrics(names: Sequence[str], paths: Mapping[str, Any]) -> tuple[Metric, ...]:
    """Return the metrics of an earlier experiment.

    Parameters
    ----------
    names : sequence of str
        Names of the metrics.
    paths : mapping of name to list
        Result of `find_import_paths` for the metrics of the experiment.

    Raises
    ------
    UndefinedMetricError
        If a metric is not defined now, or in another module.
    ValueError, TypeError, LookupError
        If the paths are damaged.
    """
    if not isinstance(paths, Mapping):
        raise TypeError(f"import_paths must be a mapping, got {type(paths).__name__}")
    restored: list[Metric] = []
    for name in names:
        earlier = paths.get(name, [])
        try:
            metrics = parse_metrics(name)
        except ValueError as error:
            if not earlier:
                raise
            modules = dict.fromkeys(str(place[0]) for place in earlier)
            raise UndefinedMetricError(
                f"The metric {name!r} is not defined. It was {_format_paths(earlier)}. Import {' and '.join(modules)} "
                f"(on the command line: {' '.join(f'--import {module}' for module in modules)})."
            ) from error
        now = _find_paths(metrics[0])
        if now != earlier:
            raise UndefinedMetricError(
                f"The metric {name!r} was {_format_paths(earlier)} and is now {_format_paths(now)}. Import the former, "
                "or use another directory."
            )
        restored += metrics
    return parse_metrics(restored)


def _format_paths(places: Sequence[Sequence[str]]) -> str:
    return " and ".join(".".join(map(str, place)) for place in places) or "a metric of gainsay"
