"""Reading per-query values: checked once, in one canonical order, so that nothing below has to ask again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._common.alignment import index_of
from .._common.arrays import nearest, number_table
from .._common.checks import check_number, check_whole, refuse_unordered
from .._common.names import check_text, natural_order
from .._common.typing import Floats, Ids, Integers
from .labels import read_clusters

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .._common.typing import Floats


@dataclass(frozen=True)
class Panel:
    """Per-query values of several models under several metrics, checked and in canonical order.

    Attributes
    ----------
    metrics : tuple of str
        In the order given.
    models : tuple of str
        In natural order of their names (``m2`` before ``m10``), whatever order they were given in. All results are
        computed in this order, so they are the same to the last digit however the caller arranged the columns.
    values : ndarray, shape (metrics, models, queries)
        Only the queries of positive weight, larger is better: what a loss gives stands with its sign turned. NaN where
        a metric skips a query, alike for all models.
    weights : ndarray, shape (queries,), or None
        One positive weight a query, summing to 1; None where all queries weigh the same.
    lower_is_better : frozenset of str
        The metrics that are losses.
    repeats : tuple of ndarray, shape (metrics, queries, R), or None
        For each model its repeats, of which `values` are the means: a recipe was trained R times, a fixed model has one
        repeat. None where all models are fixed.
    clusters : ndarray of int, shape (queries,), or None
        The cluster of each query, 0 to G − 1; None where queries are independent.
    vary : {"seed", "queries"} or None
        What differs between the repeats of a recipe, where that was said.
    """

    metrics: tuple[str, ...]
    models: tuple[str, ...]
    values: Floats
    weights: Floats | None
    lower_is_better: frozenset[str] = frozenset()
    repeats: tuple[Floats, ...] | None = None
    clusters: Integers | None = None
    vary: Vary | None = None

    @property
    def queries(self) -> int:
        """How many queries count, those of weight zero left out."""
        return int(self.values.shape[2])

    @property
    def units(self) -> int:
        """How many independent pieces of evidence there are: clusters, or queries where these are independent."""
        return self.queries if self.clusters is None else int(self.clusters.max()) + 1

    @property
    def repeat_counts(self) -> tuple[int, ...]:
        """How often each model was trained; 0 for a fixed one."""
        if self.repeats is None:
            return (0,) * len(self.models)
        return tuple(0 if repeats.shape[2] == 1 else repeats.shape[2] for repeats in self.repeats)

    def in_unit(self, metric: str, numbers: Floats) -> Floats:
        """Return values, means or differences of a metric as it gives them: those of a loss are turned back."""
        return 0.0 - numbers if metric in self.lower_is_better else numbers  # 0.0 - 0.0 is no -0.0

    def select(self, metrics: Sequence[str]) -> Panel:
        """Keep these metrics only, in this order, and the queries that have a value under all of them: one or more."""
        rows = [self.metrics.index(metric) for metric in metrics]
        self.validate_common_queries(metrics)
        counted: NDArray[np.bool_] = np.logical_not(np.isnan(self.values[rows, 0]).any(axis=0))
        repeats = self.repeats and tuple(array[rows] for array in self.repeats)
        chosen = replace(self, metrics=tuple(metrics), values=self.values[rows], repeats=repeats)
        return chosen if counted.all() else chosen.subset(counted)

    def subset(self, kept: NDArray[np.bool_]) -> Panel:
        """Keep these queries only, a mask of shape (queries,), and the clusters that they are in."""
        weights = None if self.weights is None else self.weights[kept]
        if weights is not None and kept.any():
            weights = _even_out(weights / weights.sum())
        return replace(
            self,
            values=np.ascontiguousarray(self.values[:, :, kept]),
            weights=weights,
            repeats=self.repeats and tuple(np.ascontiguousarray(array[:, kept]) for array in self.repeats),
            clusters=None if self.clusters is None else np.unique(self.clusters[kept], return_inverse=True)[1],
        )

    def validate_common_queries(self, metrics: Sequence[str]) -> None:
        """Raise `ValueError` unless some query has a value under all of these metrics."""
        if not self.counts(metrics).common:
            named = metrics[0] if len(metrics) == 1 else f"all of {', '.join(metrics)}"
            raise ValueError(f"no query of positive weight has a value under {named}")

    def counts(self, metrics: Sequence[str] | None = None) -> Queries:
        """Count the queries of each metric, and those that all of them have in common."""
        chosen = self.metrics if metrics is None else tuple(metrics)
        counted = ~np.isnan(self.values[[self.metrics.index(metric) for metric in chosen], 0])
        own = dict(zip(chosen, counted.sum(axis=1).tolist(), strict=True))
        return Queries(int(counted.any(axis=0).sum()), own, int(counted.all(axis=0).sum()))


class Queries(NamedTuple):
    """How many queries of positive weight have a value under any metric, under each, and under all in common."""

    any: int
    own: dict[str, int]
    common: int

    @property
    def left_out(self) -> dict[str, int]:
        """For each metric its queries on which another one has no value."""
        return {metric: count - self.common for metric, count in self.own.items()}

    @property
    def alike(self) -> bool:
        """Whether all metrics have the same queries."""
        return self.any == self.common


def model_names(models: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Give one distinct name for each of `count` columns; ``model 1``, ``model 2``, … where none are given."""
    if models is None:
        return tuple(f"model {number}" for number in range(1, count + 1))
    if isinstance(models, str):
        raise TypeError(f"models must be a sequence of names, not one string: got {models!r}")
    refuse_unordered("models", models)
    names = []
    for place, name in enumerate(models):
        if not isinstance(name, str):
            raise TypeError(f"models[{place}] must be a string, got {name!r} of type {type(name).__name__}")
        names.append(check_text(f"models[{place}]", str(name)))
    if len(names) != count:
        raise ValueError(f"models has {len(names)} names, but the values have {count} columns: one name per column")
    first: dict[str, int] = {}
    for place, name in enumerate(names):
        if name in first:
            raise ValueError(f"models holds {name!r} twice, at {first[name]} and {place}: names must be distinct")
        first[name] = place
    return tuple(names)


def validate_alpha(alpha: float) -> float:
    """Return `alpha` as a float, or raise `ValueError` where it is outside (0, 0.5)."""
    level = check_number("alpha", alpha)
    if not 0 < level < 0.5:
        raise ValueError(f"alpha must lie between 0 and 0.5, both excluded: got {alpha!r}")
    return level


def validate_margin(margin: float) -> float:
    """Return `margin` as a float, or raise `ValueError` where it is negative or not finite."""
    width = check_number("margin", margin)
    if not 0 <= width < math.inf:
        raise ValueError(f"margin must be a finite difference of means, 0 or more: got {margin!r}")
    return width


def validate_seed(seed: int, draws: int, alpha: float) -> tuple[int, int]:
    """Return `seed` and `draws` as integers, or raise.

    There must be ``10 / alpha`` draws: the test reads their ``1 - alpha/10`` quantile, which fewer cannot show.
    """
    seed, draws = check_whole("seed", seed, 0), check_whole("draws", draws)
    least = max(100, math.ceil(10 / alpha - 1e-9))
    if draws < least:
        raise ValueError(f"draws must be at least {least} where alpha is {alpha:g}: got {draws}")
    return seed, draws


def validate_primary(primary: Sequence[str] | None, metrics: Sequence[str]) -> tuple[str, str]:
    """Return the two different metrics that are set against each other: `primary`, or the first two."""
    pair = tuple(metrics[:2]) if primary is None else tuple(primary)
    if len(pair) != 2 or pair[0] == pair[1]:
        raise ValueError(f"primary must name two different metrics: got {pair!r}")
    for metric in pair:
        if metric not in metrics:
            raise ValueError(f"primary names {metric!r}, which is not among the metrics: {', '.join(metrics)}")
    return pair[0], pair[1]


def read_panel(
    values: Mapping[str, ArrayLike],
    models: Sequence[str] | None = None,
    weights: ArrayLike | None = None,
    labels: Mapping[str, str] | None = None,
    lower_is_better: Iterable[str] = (),
    repeats: Repeats | None = None,
    clusters: Ids | None = None,
    vary: Vary | None = None,
) -> Panel:
    """Check per-query values and put them into canonical order: see `Comparison` for the arguments.

    Values are copied, never changed. Only the ratios of weights count, and a query of weight zero counts as absent.
    `labels` are what messages call each array; ``values['metric']`` by default.
    """
    if not values:
        raise ValueError("values holds no metric: at least one array (queries, models) is needed")
    label = {metric: (labels or {}).get(metric, f"values[{metric!r}]") for metric in values}
    models = models if models is None or isinstance(models, str | set | frozenset) else tuple(models)
    arrays = read_tables(values, label, models, weights=weights, clusters=clusters)
    first = next(iter(arrays))
    shape = arrays[first].shape
    for metric, array in arrays.items():
        if array.shape != shape:
            raise ValueError(
                f"{label[metric]} has shape {array.shape}, but {label[first]} has {shape}: "
                "every metric needs the same queries and models"
            )
    names = model_names(models, shape[1])
    for metric, array in arrays.items():
        _validate_values(label[metric], array, names)
    weight = None if weights is None else _read_weights(weights, shape[0])
    codes = None if clusters is None else read_clusters(clusters, shape[0])
    trained = read_repeats(repeats, arrays, names)
    order = [names.index(name) for name in natural_order(names)]
    table, losses = np.empty((len(arrays), len(names), shape[0])), frozenset(lower_is_better)
    for row, (metric, array) in enumerate(arrays.items()):
        table[row] = 0.0 - array.T[order] if metric in losses else array.T[order]
    panel = Panel(tuple(arrays), tuple(names[column] for column in order), table, weight, losses, None, codes)
    vary = validate_vary(vary)
    if trained:
        panel = _with_repeats(panel, trained, vary)
    if weight is None:
        return panel
    keep = weight > 0
    return replace(panel if keep.all() else panel.subset(keep), weights=_even_out(weight[keep]))


def _with_repeats(panel: Panel, trained: Mapping[str, Floats], vary: Vary | None) -> Panel:
    """Return the same with the repeats of its recipes, shape (metrics, queries, R) each; values become their means."""
    turned = np.array([-1.0 if metric in panel.lower_is_better else 1.0 for metric in panel.metrics])
    repeats = []
    for place, model in enumerate(panel.models):
        if model in trained:
            repeats.append(0.0 + turned[:, None, None] * trained[model])
            panel.values[:, place] = repeats[-1].mean(axis=2)
        else:
            repeats.append(panel.values[:, place, :, None])
    return replace(panel, repeats=tuple(repeats), vary=vary)


def _validate_order(given: Mapping[str, Any], models: Sequence[str] | None) -> None:
    """Raise where frames say by their labels that they have models or queries in different orders.

    All are read by position; labels that have nothing to do with each other say nothing.
    """
    indexes = {label: index_of(one) for label, one in given.items() if type(one) is not np.ndarray}
    rows = {label: index.tolist() for label, index in indexes.items() if index is not None}
    columns = {label: list(one.columns) for label, one in given.items() if hasattr(one, "columns")}
    if models is not None:
        columns = {"models": list(models), **columns}
    for what, orders in (("columns", columns), ("rows", rows)):
        (first, order), *others = orders.items() or [("", [])]
        for label, other in others:
            if other != order and len(other) == len(order) and set(other) == set(order):
                at = next(place for place, (a, b) in enumerate(zip(order, other, strict=True)) if a != b)
                raise ValueError(
                    f"{label} has its {what} in another order than {first}: {other[at]!r} at place {at} (counted from "
                    f"0), where {first} has {order[at]!r}; bring both into one order, or pass {label}.to_numpy()"
                )


def read_tables(
    values: Mapping[str, Any], labels: Mapping[str, str], models: Sequence[str] | None, **by_query: Any
) -> dict[str, Floats]:
    """Return values by metric as arrays (queries, models), which messages call by their `labels`.

    What else there is `by_query` is not read: only that its rows are in the same order.
    """
    _validate_order({labels[metric]: one for metric, one in values.items()} | by_query, models)
    return {metric: _matrix(labels[metric], one) for metric, one in values.items()}


def _matrix(label: str, values: ArrayLike) -> Floats:
    read = type(values) is np.ndarray and values.dtype == np.float64
    array: Floats = values if read else number_table(label, values)  # type: ignore[assignment]
    if array.ndim != 2:
        raise ValueError(f"{label} must have two dimensions, (queries, models): got shape {array.shape}")
    if 0 in array.shape:
        raise ValueError(f"{label} must hold at least one query and one model: got shape {array.shape}")
    return array


def _validate_values(label: str, array: Floats, names: tuple[str, ...]) -> None:
    """Refuse infinite values, and NaN that not all models have: a query that a metric skips, it skips for all."""
    missing = np.isnan(array)
    skipped = missing.all(axis=1)
    if skipped.all():
        raise ValueError(f"{label} holds NaN only: no query has a value")
    bad = np.isinf(array)
    if bad.any():
        query, column = (int(place) for place in np.argwhere(bad)[0])
        raise ValueError(
            f"{label} holds {np.count_nonzero(bad)} value(s) that are not finite, the first "
            f"{array[query, column]} at query {query} of model {names[column]!r} (queries counted from 0)"
        )
    missing[skipped] = False
    if missing.any():
        query, column = (int(place) for place in np.argwhere(missing)[0])
        other = int(np.argmin(np.isnan(array[query])))
        raise ValueError(
            f"{label} is NaN at query {query} of model {names[column]!r}, but {array[query, other]} for model "
            f"{names[other]!r} (queries counted from 0): a query that a metric skips must be NaN for every model"
        )


def _even_out(weights: Floats) -> Floats | None:
    """Return weights, None where all are the same."""
    return None if np.all(weights == weights[0]) else weights


def _read_weights(weights: ArrayLike, queries: int) -> Floats:
    array = number_table("weights", weights)
    if array.shape != (queries,):
        raise ValueError(f"weights must be one number per query, shape ({queries},): got shape {array.shape}")
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        query = int(np.argmax(bad))
        raise ValueError(f"weights must be finite and 0 or more: weights[{query}] is {array[query]}")
    if not array.any():
        raise ValueError("weights are all zero: at least one query must count")
    array = array / array.max()  # first by the largest, so that the sum of huge weights does not overflow
    normalised: Floats = array / array.sum()
    return normalised


MIN_REPEATS = 3
"""Fewer repeats of a recipe say too little of how much another repeat would differ."""

FEW_REPEATS = 5
"""Recipes with fewer repeats than this are flagged."""

Vary: TypeAlias = Literal["seed", "queries"]
Repeats: TypeAlias = "Mapping[str, Mapping[str, ArrayLike]]"

ROUNDING = 1e-9
"""By so much, relative to the largest value, may means over repeats differ from those that were given."""


def validate_vary(vary: Any) -> Vary | None:
    """Return what differs between repeats, or raise `ValueError` for anything but "seed", "queries" and None."""
    if vary not in (None, "seed", "queries"):
        raise ValueError(f"vary must be 'seed' or 'queries', or None where it is not known: got {vary!r}")
    found: Vary | None = vary
    return found


def validate_repeat_count(model: str, count: int, fixed: str) -> None:
    """Raise `ValueError` where a recipe has fewer than `MIN_REPEATS` repeats; `fixed` says how a fixed model is given."""
    if count < MIN_REPEATS:
        size = {0: "no repeat", 1: "1 repeat"}.get(count, f"{count} repeats")
        raise ValueError(
            f"model {model!r} has {size}: how much another repeat would differ takes at least {MIN_REPEATS} "
            f"({FEW_REPEATS} or more are better); for a fixed model, of which no other repeat is in question, {fixed}"
        )


def read_repeats(repeats: Repeats | None, values: Mapping[str, Floats], models: Sequence[str]) -> dict[str, Floats]:
    """Check the repeats of recipes, (queries, R) by model and metric, against values, which are their means.

    There are repeats of every metric in `values`, tables (queries, models), and they are NaN where, and only where, the
    values are; else the error names model, metric, repeat and query. Returns them by model, shape (metrics, queries, R).
    """
    found: dict[str, Floats] = {}
    for model, by_metric in (repeats or {}).items():
        if model not in models:
            hint = nearest(str(model), models)
            known = ", ".join(models)
            raise ValueError(f"repeats names {model!r}, which is not among the models{hint} (there are {known})")
        tables, column = [], models.index(model)
        for metric, table in values.items():
            if metric not in by_metric:
                raise ValueError(f"repeats[{model!r}] has no {metric!r}: every metric needs the same repeats")
            tables.append(_read(f"repeats[{model!r}][{metric!r}]", by_metric[metric], table[:, column], model))
        counts = {metric: table.shape[1] for metric, table in zip(values, tables, strict=True)}
        if len(set(counts.values())) > 1:
            raise ValueError(f"repeats[{model!r}] has {counts} repeats: every metric needs the same repeats")
        found[model] = np.ascontiguousarray(np.stack(tables))
    return found


def _read(label: str, repeats: ArrayLike, means: Floats, model: str) -> Floats:
    array = number_table(label, repeats)
    if array.ndim != 2 or len(array) != len(means):
        raise ValueError(f"{label} must have shape ({len(means)}, repeats): got shape {array.shape}")
    validate_repeat_count(model, array.shape[1], "leave it out of repeats")
    missing = np.isnan(array)
    wrong = np.isinf(array) | (missing != np.isnan(means)[:, None])
    if wrong.any():
        query, repeat = (int(place) for place in np.argwhere(wrong)[0])
        raise ValueError(
            f"{label} is {array[query, repeat]} at query {query} of repeat {repeat + 1} (queries counted from 0): a repeat has a "
            "finite value on every query, but on those that a metric skips for all models"
        )
    off = np.abs(array.mean(axis=1) - means) > ROUNDING * max(1.0, float(np.nanmax(np.abs(means))))
    if off.any():
        query = int(np.argmax(off))
        raise ValueError(
            f"values of {model!r} must be the means over its repeats: at query {query} (counted from 0) they are "
            f"{means[query]:g}, and the mean of {label} is {array[query].mean():g}"
        )
    return array


def split_repeats(
    values: Mapping[str, Any], labels: Mapping[str, str], models: Sequence[str] | None
) -> tuple[dict[str, Any], dict[str, dict[str, Floats]]]:
    """Split values by metric that may hold repeats into values (queries, models) and the repeats of recipes, by name.

    Raises `ValueError` where a recipe has too few repeats, models have different numbers of queries, or a model has repeats
    under one metric and none under another.
    """
    found, repeats = {}, {}
    for metric, given in values.items():
        found[metric], repeats[metric] = _split(labels[metric], given, models)
    (one, first), *others = repeats.items()
    for metric, other in others:
        if first.keys() != other.keys():
            column = min(first.keys() ^ other.keys())
            have, lack = (one, metric) if column in first else (metric, one)
            raise ValueError(
                f"{labels[have]} has repeats of {_named(column, models)} and {labels[lack]} has none: give the same repeats"
            )
    names = models if models is not None and not isinstance(models, str) else None
    return found, {
        _named(column, names): {metric: by_column[column] for metric, by_column in repeats.items()} for column in first
    }


def _named(column: int, models: Sequence[str] | None) -> str:
    return f"model {column + 1}" if models is None or column >= len(models) else str(models[column])


def _split(label: str, values: Any, models: Sequence[str] | None) -> tuple[Any, dict[int, Floats]]:
    """Split what may hold repeats into values (queries, models) and, by column, the repeats (queries, R) of recipes.

    Arrays of three dimensions are (queries, models, repeats). A list that holds an array of two dimensions has one array a
    model: (queries, R) for a recipe, (queries,) for a fixed model. Anything else has no repeats and comes back as it is.
    """
    if isinstance(values, list | tuple):
        parts = [part if isinstance(part, list | tuple) else np.asarray(part) for part in values]
        if any(isinstance(part, np.ndarray) and part.ndim == 2 for part in parts):
            arrays = [number_table(f"{label}[{place}]", part) for place, part in enumerate(values)]
            return _split_columns(label, arrays, models, "give its values in one dimension")
    try:
        array = np.asarray(values)
    except ValueError:  # ragged: refused, and named, where values are read
        return values, {}
    if array.ndim != 3 or 0 in array.shape:
        return values, {}
    whole = number_table(label, values)
    columns = [np.ascontiguousarray(whole[:, column]) for column in range(whole.shape[1])]
    return _split_columns(label, columns, models, "give its values without an axis of repeats")


def _split_columns(
    label: str, parts: list[Floats], models: Sequence[str] | None, fixed: str
) -> tuple[Floats, dict[int, Floats]]:
    repeats: dict[int, Floats] = {}
    for column, part in enumerate(parts):
        if part.ndim not in (1, 2):
            raise ValueError(
                f"{label} must hold one array per model, (queries, repeats) for a recipe or (queries,) for a fixed model: "
                f"that of {_named(column, models)} has shape {part.shape}"
            )
        if len(part) != len(parts[0]):
            raise ValueError(
                f"{label} has {len(part)} queries for {_named(column, models)}, but {len(parts[0])} for "
                f"{_named(0, models)}: every model needs the same queries"
            )
        if part.ndim == 2:
            validate_repeat_count(_named(column, models), part.shape[1], fixed)
            repeats[column] = np.ascontiguousarray(part)
    return np.stack([part.mean(axis=1) if part.ndim == 2 else part for part in parts], axis=1), repeats


def expand_recipes(models: Any) -> tuple[Any, dict[str, list[str]]]:
    """Return models with every repeat of a recipe as a model of its own, and what these are called, by recipe.

    A recipe is a list of several arrays of scores, paths, mappings or models; a list of numbers is scores.

    >>> expand_recipes({"A": ["a1.csv", "a2.csv", "a3.csv"], "B": [0.5, 0.2]})[1]
    {'A': ['A, repeat 1', 'A, repeat 2', 'A, repeat 3']}
    """
    if not isinstance(models, Mapping):
        return models, {}
    flat: dict[Any, Any] = {}
    recipes: dict[str, list[str]] = {}
    for name, given in models.items():
        if isinstance(given, np.ndarray) and given.ndim == 2 and 1 not in given.shape:
            raise ValueError(
                f"model {name!r}: scores must be one-dimensional, got shape {given.shape}; for a recipe of several "
                "repeats give a list of arrays, one for each repeat"
            )
        if not isinstance(name, str) or not _are_repeats(given):
            flat[name] = given
            continue
        validate_repeat_count(name, len(given), "give it alone, not in a list")
        recipes[name] = [f"{name}, repeat {number}" for number in range(1, len(given) + 1)]
        flat |= dict(zip(recipes[name], given, strict=True))
    taken = [name for names in recipes.values() for name in names if name in models]
    if taken:
        raise ValueError(f"a model is named {taken[0]!r}, as a repeat of another one is: name it otherwise")
    return flat, recipes


def _are_repeats(given: Any) -> bool:
    """Whether this is a list of what are scores, or what scores come from; not of numbers."""
    if not isinstance(given, list | tuple) or not given:
        return False
    first = given[0]
    return isinstance(first, str | PathLike | Mapping) or hasattr(first, "predict") or np.ndim(first) > 0
