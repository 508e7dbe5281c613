"""Runs of a recipe: the same candidate trained several times, of which another training would give another model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from .._common.arrays import nearest, number_table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .._common.typing import Floats

__all__ = ["FEW_RUNS", "LEAST_RUNS", "Runs", "Vary", "check_vary", "one_by_one", "read_runs", "recipes_of"]

LEAST_RUNS = 3
"""Fewer runs of a recipe say too little of how much another run would differ."""

FEW_RUNS = 5
"""Recipes with fewer runs than this are flagged."""

Vary: TypeAlias = Literal["seed", "queries"]
Runs: TypeAlias = "Mapping[str, Mapping[str, ArrayLike]]"

ROUNDING = 1e-9
"""By so much, relative to the largest value, may means over runs differ from those that were given."""


def check_vary(vary: Any) -> Vary | None:
    """Return what differs between runs, or raise `ValueError` for anything but "seed", "queries" and None."""
    if vary not in (None, "seed", "queries"):
        raise ValueError(f"vary must be 'seed' or 'queries', or None where it is not known: got {vary!r}")
    found: Vary | None = vary
    return found


def check_run_count(model: str, count: int, fixed: str) -> None:
    """Raise `ValueError` where a recipe has fewer than `LEAST_RUNS` runs; `fixed` says how a fixed model is given."""
    if count < LEAST_RUNS:
        size = {0: "no run", 1: "1 run"}.get(count, f"{count} runs")
        raise ValueError(
            f"model {model!r} has {size}: how much another run would differ takes at least {LEAST_RUNS} "
            f"({FEW_RUNS} or more are better); for a fixed model, of which no other run is in question, {fixed}"
        )


def read_runs(runs: Runs | None, values: Mapping[str, Floats], models: Sequence[str]) -> dict[str, Floats]:
    """Check the runs of recipes, (queries, R) by model and metric, against values, which are their means.

    There are runs of every metric in `values`, tables (queries, models), and they are NaN where, and only where, the
    values are; else the error names model, metric, run and query. Returns them by model, shape (metrics, queries, R).
    """
    found: dict[str, Floats] = {}
    for model, by_metric in (runs or {}).items():
        if model not in models:
            hint = nearest(str(model), models)
            known = ", ".join(models)
            raise ValueError(f"runs names {model!r}, which is not among the models{hint} (there are {known})")
        tables, column = [], models.index(model)
        for metric, table in values.items():
            if metric not in by_metric:
                raise ValueError(f"runs[{model!r}] has no {metric!r}: every metric needs the same runs")
            tables.append(_read(f"runs[{model!r}][{metric!r}]", by_metric[metric], table[:, column], model))
        counts = {metric: table.shape[1] for metric, table in zip(values, tables, strict=True)}
        if len(set(counts.values())) > 1:
            raise ValueError(f"runs[{model!r}] has {counts} runs: every metric needs the same runs")
        found[model] = np.ascontiguousarray(np.stack(tables))
    return found


def _read(label: str, runs: ArrayLike, means: Floats, model: str) -> Floats:
    array = number_table(label, runs)
    if array.ndim != 2 or len(array) != len(means):
        raise ValueError(f"{label} must have shape ({len(means)}, runs): got shape {array.shape}")
    check_run_count(model, array.shape[1], "leave it out of runs")
    missing = np.isnan(array)
    wrong = np.isinf(array) | (missing != np.isnan(means)[:, None])
    if wrong.any():
        query, run = (int(place) for place in np.argwhere(wrong)[0])
        raise ValueError(
            f"{label} is {array[query, run]} at query {query} of run {run + 1} (queries counted from 0): a run has a "
            "finite value on every query, but on those that a metric skips for all models"
        )
    off = np.abs(array.mean(axis=1) - means) > ROUNDING * max(1.0, float(np.nanmax(np.abs(means))))
    if off.any():
        query = int(np.argmax(off))
        raise ValueError(
            f"values of {model!r} must be the means over its runs: at query {query} (counted from 0) they are "
            f"{means[query]:g}, and the mean of {label} is {array[query].mean():g}"
        )
    return array


def recipes_of(
    values: Mapping[str, Any], labels: Mapping[str, str], models: Sequence[str] | None
) -> tuple[dict[str, Any], dict[str, dict[str, Floats]]]:
    """Split values by metric that may hold runs into values (queries, models) and the runs of recipes, by name.

    Raises `ValueError` where a recipe has too few runs, models have different numbers of queries, or a model has runs
    under one metric and none under another.
    """
    found, runs = {}, {}
    for metric, given in values.items():
        found[metric], runs[metric] = _split(labels[metric], given, models)
    (one, first), *others = runs.items()
    for metric, other in others:
        if first.keys() != other.keys():
            column = min(first.keys() ^ other.keys())
            have, lack = (one, metric) if column in first else (metric, one)
            raise ValueError(
                f"{labels[have]} has runs of {_named(column, models)} and {labels[lack]} has none: give the same runs"
            )
    names = models if models is not None and not isinstance(models, str) else None
    return found, {
        _named(column, names): {metric: by_column[column] for metric, by_column in runs.items()} for column in first
    }


def _named(column: int, models: Sequence[str] | None) -> str:
    return f"model {column + 1}" if models is None or column >= len(models) else str(models[column])


def _split(label: str, values: Any, models: Sequence[str] | None) -> tuple[Any, dict[int, Floats]]:
    """Split what may hold runs into values (queries, models) and, by column, the runs (queries, R) of recipes.

    Arrays of three dimensions are (queries, models, runs). A list that holds an array of two dimensions has one array a
    model: (queries, R) for a recipe, (queries,) for a fixed model. Anything else has no runs and comes back as it is.
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
    return _split_columns(label, columns, models, "give its values without an axis of runs")


def _split_columns(
    label: str, parts: list[Floats], models: Sequence[str] | None, fixed: str
) -> tuple[Floats, dict[int, Floats]]:
    runs: dict[int, Floats] = {}
    for column, part in enumerate(parts):
        if part.ndim not in (1, 2):
            raise ValueError(
                f"{label} must hold one array per model, (queries, runs) for a recipe or (queries,) for a fixed model: "
                f"that of {_named(column, models)} has shape {part.shape}"
            )
        if len(part) != len(parts[0]):
            raise ValueError(
                f"{label} has {len(part)} queries for {_named(column, models)}, but {len(parts[0])} for "
                f"{_named(0, models)}: every model needs the same queries"
            )
        if part.ndim == 2:
            check_run_count(_named(column, models), part.shape[1], fixed)
            runs[column] = np.ascontiguousarray(part)
    return np.stack([part.mean(axis=1) if part.ndim == 2 else part for part in parts], axis=1), runs


def one_by_one(models: Any) -> tuple[Any, dict[str, list[str]]]:
    """Return models with every run of a recipe as a model of its own, and what these are called, by recipe.

    A recipe is a list of several arrays of scores, paths, mappings or models; a list of numbers is scores.

    >>> one_by_one({"A": ["a1.csv", "a2.csv", "a3.csv"], "B": [0.5, 0.2]})[1]
    {'A': ['A, run 1', 'A, run 2', 'A, run 3']}
    """
    if not isinstance(models, Mapping):
        return models, {}
    flat: dict[Any, Any] = {}
    recipes: dict[str, list[str]] = {}
    for name, given in models.items():
        if isinstance(given, np.ndarray) and given.ndim == 2 and 1 not in given.shape:
            raise ValueError(
                f"model {name!r}: scores must be one-dimensional, got shape {given.shape}; for a recipe of several "
                "runs give a list of arrays, one for each run"
            )
        if not isinstance(name, str) or not _are_runs(given):
            flat[name] = given
            continue
        check_run_count(name, len(given), "give it alone, not in a list")
        recipes[name] = [f"{name}, run {number}" for number in range(1, len(given) + 1)]
        flat |= dict(zip(recipes[name], given, strict=True))
    taken = [name for names in recipes.values() for name in names if name in models]
    if taken:
        raise ValueError(f"a model is named {taken[0]!r}, as a run of another one is: name it otherwise")
    return flat, recipes


def _are_runs(given: Any) -> bool:
    """Whether this is a list of what are scores, or what scores come from; not of numbers."""
    if not isinstance(given, list | tuple) or not given:
        return False
    first = given[0]
    return isinstance(first, str | PathLike | Mapping) or hasattr(first, "predict") or np.ndim(first) > 0
