"""Metrics of the user's in an experiment: another process must be able to import them, and a later run to find them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ..metrics.names import parse_metrics
from ..metrics.registry import origin_of

if TYPE_CHECKING:
    from ..metrics.base import Metric

_OURS = __name__.partition(".")[0]


class UndefinedMetricError(ValueError):
    """A metric of an earlier experiment is not defined now, or elsewhere; the message says which module to import."""


def origins(metrics: Sequence[Metric]) -> dict[str, list[list[str]]]:
    """Return for each metric that is not gainsay's own where it and the functions that it is made with are defined.

    Examples
    --------
    >>> import gainsay as gs
    >>> origins([*gs.parse_metrics("mrr"), gs.NDCG(gain=abs, name="by_abs")])
    {'by_abs': [['builtins', 'abs']]}
    """
    found = {str(metric): _origins(metric) for metric in metrics}
    return {name: places for name, places in found.items() if places}


def _origins(metric: Metric) -> list[list[str]]:
    values = (getattr(metric, field.name) for field in fields(metric))
    places = [origin_of(type(metric)), *(origin_of(value) for value in values if callable(value))]
    return [list(place) for place in places if place[0].partition(".")[0] != _OURS]


def check_lasting(metrics: Sequence[Metric], why: str) -> None:
    """Raise `ValueError` where a metric cannot be sent to another process or be found by its name in a later one.

    The message ends its sentence with `why` that is needed.
    """
    for metric in metrics:
        for module, name in _origins(metric):
            if module == "__main__" or "<" in name:  # <lambda>, <locals>
                raise ValueError(
                    f"{metric} is made with {module}.{name}, which cannot be imported elsewhere, {why}: "
                    "define it with class or def at the top level of a module, and import that"
                )
        if parse_metrics(str(metric)) != (metric,):
            raise ValueError(f"{metric} has been defined anew since it was made, {why}: make the metric again")


def named_again(names: Sequence[str], places: Mapping[str, Any]) -> tuple[Metric, ...]:
    """Return the metrics of an earlier experiment by their names, `places` being what `origins` said of them then.

    Raises
    ------
    UndefinedMetricError
        Where one is not defined now, or stems from elsewhere.
    ValueError, TypeError, LookupError
        Where `origins` cannot have said so.
    """
    if not isinstance(places, Mapping):
        raise TypeError(f"origins must map names of metrics to places, got {type(places).__name__}")
    found: list[Metric] = []
    for name in names:
        earlier = places.get(name, [])
        try:
            metrics = parse_metrics(name)
        except ValueError as error:
            if not earlier:
                raise
            modules = dict.fromkeys(str(place[0]) for place in earlier)
            raise UndefinedMetricError(
                f"the metric {name!r} is not defined now: it was {_listed(earlier)}; import {' and '.join(modules)} "
                f"first (in a shell: {' '.join(f'--import {module}' for module in modules)})"
            ) from error
        now = _origins(metrics[0])
        if now != earlier:
            raise UndefinedMetricError(
                f"the metric {name!r} was {_listed(earlier)}, and is now {_listed(now)}: import the former, or take "
                "another directory"
            )
        found += metrics
    return parse_metrics(found)


def _listed(places: Sequence[Sequence[str]]) -> str:
    return " and ".join(".".join(map(str, place)) for place in places) or "one of gainsay's own"
