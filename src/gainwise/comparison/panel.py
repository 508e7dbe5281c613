"""Per-query values, validated once and in one canonical order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._common.arrays import index_of, number_table
from .._common.text import natural_order, pluralize
from .._common.typing import Floats, Ids, Integers
from .._common.validation import validate_choice, validate_distinct, validate_integer, validate_number, validate_text
from .query_labels import read_clusters

MIN_REPEATS = 3
"""With fewer repeats, the variance of a configuration cannot be estimated."""

FEW_REPEATS = 5
"""Configurations with fewer repeats are flagged."""

Vary: TypeAlias = Literal["seed", "queries"]
Values: TypeAlias = ArrayLike | Sequence[ArrayLike]
"""Values of a metric: an array (queries, models) or (queries, models, repeats), or a list with one array per model."""

Repeats: TypeAlias = Mapping[int, Mapping[str, Floats]]
"""Repeats (queries, R) of the configurations by column and metric."""


@dataclass(frozen=True)
class Panel:
    """Per-query values of several models under several metrics, validated and in canonical order.

    Attributes
    ----------
    metrics : tuple of str
        Names of the metrics.
    models : tuple of str
        Names of the models in natural order (``m2`` before ``m10``), so that results do not depend on the order of the
        caller's columns.
    values : ndarray, shape (metrics, models, queries)
        Values on queries of positive weight. Larger is better, because the sign of losses is reversed. If a metric
        skips a query, it is NaN for all models.
    weights : ndarray, shape (queries,), or None
        Positive weights that sum to 1. None if all queries have the same weight.
    lower_is_better : frozenset of str
        Metrics that are losses.
    repeats : tuple of ndarray, shape (metrics, queries, R), or None
        Values of the repeats of each model. `values` contains their means. A fixed model has one repeat. None if all
        models are fixed.
    clusters : ndarray of int, shape (queries,), or None
        Cluster of each query, 0 to G − 1. None if queries are independent.
    vary : {"seed", "queries"} or None
        What differs between repeats.
    """

    metrics: tuple[str, ...]
    models: tuple[str, ...]
    values: Floats
    weights: Floats | None
    lower_is_better: frozenset[str] = frozenset()
    repeats: tuple[Floats, ...] | None = None
    clusters: Integers | None = None
    vary: Vary | None = None
    raw_weights: Floats | None = None
    """`weights` before normalization, so that means equal those of an evaluation in every bit."""

    @property
    def queries(self) -> int:
        """Number of queries of positive weight."""
        return int(self.values.shape[2])

    @property
    def units(self) -> int:
        """Number of independent units: clusters, or queries if these are independent."""
        return self.queries if self.clusters is None else int(self.clusters.max()) + 1

    @property
    def shares(self) -> Floats:
        """Share of each query in the weight of all."""
        return np.full(self.queries, 1 / self.queries) if self.weights is None else self.weights

    @property
    def repeat_counts(self) -> tuple[int, ...]:
        """Number of repeats of each model, 0 for a fixed one."""
        if self.repeats is None:
            return (0,) * len(self.models)
        return tuple(0 if repeats.shape[2] == 1 else repeats.shape[2] for repeats in self.repeats)

    @property
    def evidence(self) -> dict[str, Any]:
        """Attributes of results: metrics whose lower values are better, and the numbers of clusters and repeats."""
        return {
            "lower_is_better": tuple(metric for metric in self.metrics if metric in self.lower_is_better),
            "clusters": None if self.clusters is None else self.units,
            "repeats": {} if self.repeats is None else dict(zip(self.models, self.repeat_counts, strict=True)),
            "vary": self.vary,
        }

    def in_unit(self, metric: str, numbers: Floats) -> Floats:
        """Return values, means or differences in the unit of the metric, with the sign of losses restored."""
        return 0.0 - numbers if metric in self.lower_is_better else numbers  # Not -numbers, which has negative zeros.

    def select(self, metrics: Sequence[str]) -> Panel:
        """Return these metrics in this order, with the queries that have a value under all of them."""
        places = [self.metrics.index(metric) for metric in metrics]
        first, *others = places
        rows: Any = places
        if others == list(range(first + 1, first + len(places))):  # A slice does not copy the values.
            rows = slice(first, first + len(places))
        counted = self.find_common_queries(metrics)
        repeats = self.repeats and tuple(array[rows] for array in self.repeats)
        selected = replace(self, metrics=tuple(metrics), values=self.values[rows], repeats=repeats)
        return selected if counted.all() else selected.subset(counted)

    def find_common_queries(self, metrics: Sequence[str]) -> NDArray[np.bool_]:
        """Return which queries have a value under all of these metrics, or raise `ValueError` if none has."""
        rows = [self.metrics.index(metric) for metric in metrics]
        common = np.asarray(~np.isnan(self.values[rows, 0]).any(axis=0))
        if not common.any():
            names = metrics[0] if len(metrics) == 1 else f"all of {', '.join(metrics)}"
            raise ValueError(f"No query of positive weight has a value under {names}.")
        return common

    def subset(self, mask: NDArray[np.bool_]) -> Panel:
        """Return the queries of a mask."""
        weights = None if self.weights is None else self.weights[mask]
        if weights is not None and mask.any():
            weights = _simplify_weights(weights / weights.sum())
        return replace(
            self,
            values=np.ascontiguousarray(self.values[:, :, mask]),
            weights=weights,
            raw_weights=None if self.raw_weights is None else self.raw_weights[mask],
            repeats=self.repeats and tuple(np.ascontiguousarray(array[:, mask]) for array in self.repeats),
            clusters=None if self.clusters is None else np.unique(self.clusters[mask], return_inverse=True)[1],
        )

    def counts(self, metrics: Sequence[str] | None = None) -> QueryCounts:
        """Count the queries of each metric, and those of all metrics."""
        names = self.metrics if metrics is None else tuple(metrics)
        counted = ~np.isnan(self.values[[self.metrics.index(metric) for metric in names], 0])
        by_metric = dict(zip(names, counted.sum(axis=1).tolist(), strict=True))
        return QueryCounts(int(counted.any(axis=0).sum()), by_metric, int(counted.all(axis=0).sum()))


class QueryCounts(NamedTuple):
    """Number of queries of positive weight with a value under any metric, under each, and under all of them."""

    any: int
    by_metric: dict[str, int]
    common: int

    @property
    def left_out(self) -> dict[str, int]:
        """Number of queries of each metric without a value under another metric."""
        return {metric: number - self.common for metric, number in self.by_metric.items()}

    @property
    def same(self) -> bool:
        """Whether all metrics have the same queries."""
        return self.any == self.common


def validate_alpha(alpha: float) -> float:
    """Return `alpha` as a float, or raise `ValueError` unless it is between 0 and 0.5."""
    level = validate_number("alpha", alpha)
    if not 0 < level < 0.5:
        raise ValueError(f"alpha must be between 0 and 0.5, both excluded, got {alpha!r}.")
    return level


def validate_margin(margin: float, name: str = "margin") -> float:
    """Return `margin` as a float, or raise `ValueError` if it is negative or not finite."""
    width = validate_number(name, margin)
    if not 0 <= width < math.inf:
        raise ValueError(f"{name} must be finite and 0 or more, got {margin!r}.")
    return width


def validate_seed(seed: int, draws: int, alpha: float) -> tuple[int, int]:
    """Return `seed` and `draws` as integers, or raise.

    At least ``10 / alpha`` draws are required, because the test uses their ``1 - alpha/10`` quantile.
    """
    seed, draws = validate_integer("seed", seed, 0), validate_integer("draws", draws)
    least = max(100, math.ceil(10 / alpha - 1e-9))
    if draws < least:
        raise ValueError(f"draws must be at least {least} for alpha={alpha:g}, got {draws}.")
    return seed, draws


def validate_primary(primary: Sequence[str] | None, metrics: Sequence[str]) -> tuple[str, str]:
    """Return the two primary metrics, by default the first two, or raise `ValueError`."""
    pair = tuple(metrics[:2]) if primary is None else tuple(primary)
    if len(pair) != 2 or pair[0] == pair[1]:
        raise ValueError(f"primary must name two different metrics, got {pair!r}.")
    for metric in pair:
        validate_choice("each metric of primary", metric, metrics)
    return pair[0], pair[1]


def validate_repeat_count(model: str, number: int, fix: str) -> None:
    """Raise `ValueError` if a configuration has too few repeats. `fix` is how to pass a fixed model."""
    if number < MIN_REPEATS:
        raise ValueError(
            f"model {model!r} has {pluralize(number, 'repeat')}, but a configuration requires at least {MIN_REPEATS}, "
            f"better {FEW_REPEATS}. For a fixed model, {fix}."
        )


def validate_model_names(models: Sequence[str], columns: int) -> tuple[str, ...]:
    """Return one distinct name per column, or raise."""
    if len(models) != columns:
        raise ValueError(f"models must have one name per column, got {len(models)} names for {columns} columns.")
    for place, name in enumerate(models):
        if not isinstance(name, str):
            raise TypeError(f"models[{place}] must be a string, got {name!r} of type {type(name).__name__}.")
    validate_distinct("models", models, when_printed=True)
    return tuple(validate_text(f"models[{place}]", str(name)) for place, name in enumerate(models))


def build_panel(
    tables: Mapping[str, Floats],
    repeats: Repeats,
    models: Sequence[str],
    weights: Floats | None = None,
    lower_is_better: Iterable[str] = (),
    clusters: Ids | None = None,
    vary: Vary | None = None,
) -> Panel:
    """Validate the values that `read_tables` returned and return them in canonical order.

    Only the ratios of weights count, and queries of weight zero are left out. `Comparison` describes the arguments.
    """
    if vary is not None:
        validate_choice("vary", vary, get_args(Vary))
    first, *_ = tables
    queries, columns = tables[first].shape
    names = validate_model_names(models, columns)
    for metric, table in tables.items():
        if table.shape != (queries, columns):
            raise ValueError(
                f"{_name_table(metric)} must have the shape of {_name_table(first)}, {(queries, columns)}, got "
                f"{table.shape}."
            )
        _validate_values(_name_table(metric), table, names)
    if weights is not None:
        _validate_weights(weights, queries)
    codes = None if clusters is None else read_clusters(clusters, queries)
    order, losses = [names.index(name) for name in natural_order(names)], frozenset(lower_is_better)
    # Not -table, which has negative zeros.
    rows = [0.0 - table.T[order] if metric in losses else table.T[order] for metric, table in tables.items()]
    panel = Panel(
        tuple(tables), tuple(names[column] for column in order), np.stack(rows), None, losses, None, codes,
        vary if repeats else None,
    )  # fmt: skip
    if repeats:
        panel = _add_repeats(panel, [repeats.get(column) for column in order])
    if weights is None:
        return panel
    shares = weights / weights.max()  # The sum of huge weights could overflow.
    shares /= shares.sum()
    positive = shares > 0
    return replace(
        panel if positive.all() else panel.subset(positive),
        weights=_simplify_weights(shares[positive]),
        raw_weights=weights[positive],
    )


def _add_repeats(panel: Panel, repeats: Sequence[Mapping[str, Floats] | None]) -> Panel:
    """Return the panel with the repeats of configurations, shape (metrics, queries, R)."""
    parts = [
        panel.values[:, place, :, None]
        if by_metric is None
        else np.stack([panel.in_unit(metric, by_metric[metric]) for metric in panel.metrics])
        for place, by_metric in enumerate(repeats)
    ]
    return replace(panel, repeats=tuple(parts))


def _name_table(metric: str) -> str:
    """Return the name of the values of a metric in messages."""
    return f"values[{metric!r}]"


def read_tables(
    values: Mapping[str, Any], models: Sequence[str], **by_query: Any
) -> tuple[dict[str, Floats], dict[int, dict[str, Floats]]]:
    """Return values by metric as arrays (queries, models), with the means of configurations, and the repeats of these.

    Frames must have the same order of models and queries as each other, as `models`, and as the arguments `by_query`.
    """
    if not values:
        raise ValueError("values has no metric. Pass at least one array of shape (queries, models).")
    _validate_order({_name_table(metric): table for metric, table in values.items()} | by_query, models)
    tables: dict[str, Floats] = {}
    repeats: dict[int, dict[str, Floats]] = {}
    for metric, table in values.items():
        tables[metric], by_column = _read_table(_name_table(metric), table, models)
        for column, array in by_column.items():
            repeats.setdefault(column, {})[metric] = array
    for column, by_metric in repeats.items():
        counts = {metric: by_metric[metric].shape[1] if metric in by_metric else 0 for metric in tables}
        if len(set(counts.values())) > 1:
            each = ", ".join(f"{number} in {_name_table(metric)}" for metric, number in counts.items())
            raise ValueError(f"{models[column]!r} must have the same repeats for all metrics, got {each}.")
    return tables, repeats


def _validate_order(tables: Mapping[str, Any], models: Sequence[str]) -> None:
    """Raise `ValueError` if frames have the same labels in different orders. All are read by position."""
    indexes = {label: index_of(table) for label, table in tables.items() if type(table) is not np.ndarray}
    rows = {label: index.tolist() for label, index in indexes.items() if index is not None}
    columns = {label: list(table.columns) for label, table in tables.items() if hasattr(table, "columns")}
    columns = {"models": list(models), **columns}
    for kind, orders in (("columns", columns), ("rows", rows)):
        (first, expected), *others = orders.items() or [("", [])]
        for label, order in others:
            if order != expected and len(order) == len(expected) and set(order) == set(expected):
                place = next(place for place, (a, b) in enumerate(zip(order, expected, strict=True)) if a != b)
                raise ValueError(
                    f"{label} must have its {kind} in the order of {first}, got {order[place]!r} at place {place} "
                    f"instead of {expected[place]!r}. Reorder them, or pass {label}.to_numpy()."
                )


def _read_table(label: str, values: Any, models: Sequence[str]) -> tuple[Floats, dict[int, Floats]]:
    """Return the values of one metric, shape (queries, models), and repeats (queries, R) of configurations by column.

    A list with an array of two dimensions contains one array per model: (queries, R) for a configuration and (queries,)
    for a fixed model. Arrays of three dimensions have the shape (queries, models, R).
    """
    repeats: dict[int, Floats] = {}
    if isinstance(values, list | tuple) and any(getattr(part, "ndim", 0) == 2 for part in values):
        arrays = [number_table(f"{label}[{place}]", part) for place, part in enumerate(values)]
        table, repeats = _average_repeats(label, arrays, models)
    else:
        table = number_table(label, values)
    if table.ndim == 3 and 0 not in table.shape:
        table, repeats = _average_repeats(label, list(np.moveaxis(table, 1, 0)), models)
    if table.ndim != 2:
        raise ValueError(f"{label} must have two dimensions, (queries, models), got shape {table.shape}.")
    if 0 in table.shape:
        raise ValueError(f"{label} must have at least one query and one model, got shape {table.shape}.")
    return table, repeats


def _average_repeats(label: str, arrays: list[Floats], models: Sequence[str]) -> tuple[Floats, dict[int, Floats]]:
    repeats: dict[int, Floats] = {}
    names = validate_model_names(models, len(arrays))
    for column, (name, array) in enumerate(zip(names, arrays, strict=True)):
        if array.ndim not in (1, 2):
            raise ValueError(
                f"{label} must contain arrays of shape (queries, repeats) or (queries,), got {array.shape} for "
                f"{name!r}."
            )
        if len(array) != len(arrays[0]):
            raise ValueError(
                f"{label} must have the same queries for every model, got {len(array)} queries for {name!r} and "
                f"{len(arrays[0])} for {names[0]!r}."
            )
        if array.ndim == 1:
            continue
        validate_repeat_count(name, array.shape[1], "pass its values without an axis of repeats")
        partial = np.isnan(array).any(axis=1) & ~np.isnan(array).all(axis=1)
        if partial.any():
            raise ValueError(
                f"{label} is NaN for some repeats of {name!r} at query {int(np.argmax(partial))} (counted from 0). A "
                "query that a metric skips must be NaN for every repeat."
            )
        repeats[column] = np.ascontiguousarray(array)
    means = [repeats[column].mean(axis=1) if column in repeats else array for column, array in enumerate(arrays)]
    return np.stack(means, axis=1), repeats


def _validate_values(label: str, array: Floats, names: tuple[str, ...]) -> None:
    """Raise `ValueError` for infinite values, and for NaN on a query that only some models skip."""
    missing = np.isnan(array)
    skipped = missing.all(axis=1, keepdims=True)
    if skipped.all():
        raise ValueError(f"{label} contains only NaN, so no query has a value.")
    invalid = np.isinf(array) | (missing & ~skipped)
    if invalid.any():
        query, column = (int(place) for place in np.argwhere(invalid)[0])
        raise ValueError(
            f"{label} must be finite, got {array[query, column]} at query {query} of model {names[column]!r} (queries "
            "counted from 0). If the metric skips this query, pass NaN for every model, or give it a value, as in "
            "judged(empty=1)."
        )


def _simplify_weights(weights: Floats) -> Floats | None:
    """Return weights, or None if all are the same."""
    return None if np.all(weights == weights[0]) else weights


def _validate_weights(weights: Floats, queries: int) -> None:
    if weights.shape != (queries,):
        raise ValueError(f"weights must have one number per query, shape ({queries},), got shape {weights.shape}.")
    invalid = ~(np.isfinite(weights) & (weights >= 0))
    if invalid.any():
        query = int(np.argmax(invalid))
        raise ValueError(f"weights must be finite and 0 or more, got weights[{query}] = {weights[query]}.")
    if not weights.any():
        raise ValueError("weights are all zero. At least one query must count.")


def sum_by_cluster(rows: Floats, codes: Integers) -> Floats:
    """Sum each row, one number per query, within clusters.

    >>> sum_by_cluster(np.array([[1.0, 2.0, 4.0]]), np.array([0, 1, 0]))
    array([[5., 2.]])
    """
    return np.stack([np.bincount(codes, row) for row in rows])
