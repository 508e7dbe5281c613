"""Repeated tests of a candidate: planned looks with alpha spending, and records of earlier looks."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .._common import EARLIER_NAME
from .._common.lazy import scipy, special
from .._common.typing import Floats
from .._common.validation import validate_integer, validate_ordered

MIN_SHARE = 0.9
"""The first look must have at least this share of its planned number of queries."""

MIN_GROWTH = 1.01
"""A segment has at least this ratio of queries at successive looks in the calculation of its levels."""


def read_looks(
    looks: Sequence[int] | None, earlier: Any, queries: int, settings: Mapping[str, Any]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the planned looks, and those before this one.

    Without the record of an `earlier` look, all looks that are planned before this one count as made, which is
    conservative if one was skipped. This look is the planned one that is nearest by the ratio of queries. `settings`
    must be those of the record, unless it has neither looks nor bounds by betting.
    """
    record = None if earlier is None else read_record(earlier)
    planned = tuple(record["looks"] if record else ())
    if looks is not None:
        validate_ordered("looks", looks)
        planned = tuple(validate_integer("looks", number) for number in np.atleast_1d(np.asarray(looks, dtype=object)))
        if not planned or any(first >= second for first, second in itertools.pairwise(planned)):
            raise ValueError(
                f"looks must be increasing numbers of queries, got {list(planned)}. Pass for example 5000, 10000."
            )
    if record is not None:
        names = settings if is_repeatable(record) else ("bounds",)
        for name, value in {"looks": list(planned), **{name: settings[name] for name in names}}.items():
            if record.get(name) != value:
                raise ValueError(
                    f"{name} must be {record.get(name)!r} as in the earlier look, got {value!r}. Repeat the settings "
                    "of the first look, or start a new experiment with new queries."
                )
        if not is_repeatable(record):
            return (), ()
        return planned, _find_earlier_looks(planned, queries, (*record["earlier"], record["queries"]))
    if planned and queries < MIN_SHARE * planned[0]:
        raise ValueError(
            f"looks must start at {queries:,} queries or fewer, which is the size of this sample, got {planned[0]:,}. "
            "Wait for the first planned look."
        )
    place = min(range(len(planned)), key=lambda look: abs(math.log(queries / planned[look])), default=0)
    return planned, planned[:place]


def _find_earlier_looks(looks: tuple[int, ...], queries: int, recorded: tuple[int, ...]) -> tuple[int, ...]:
    """Return the recorded looks before this one, or raise if this one cannot follow them."""
    if queries < max(recorded):
        raise ValueError(
            f"earlier contains a look at {max(recorded):,} queries, but this sample has {queries:,}. Include the "
            "queries of all earlier looks."
        )
    earlier = tuple(number for number in recorded if number < queries)
    if looks and earlier and earlier[-1] >= looks[-1]:
        raise ValueError(
            f"earlier contains the last planned look, at {earlier[-1]:,} queries. Start a new experiment with new "
            "queries."
        )
    return earlier


def compute_spending(time: float, level: float) -> float:
    """Return the error probability that is spent up to a share `time` of the last look (O'Brien-Fleming type).

    α*(t) = 2 (1 − Φ(z / √t)), with z the upper level/2 quantile.

    References
    ----------
    Lan & DeMets (1983), "Discrete sequential boundaries for clinical trials", Biometrika 70(3).

    >>> round(compute_spending(0.5, 0.025), 5), compute_spending(1.0, 0.025)
    (0.00153, 0.025)
    """
    return level if time >= 1 else 2 * float(special.ndtr(special.ndtri(level / 2) / math.sqrt(time)))


def compute_boundaries(times: Sequence[float], level: float, sizes: Sequence[float] | None = None) -> Floats:
    """Return the critical values of z-statistics at increasing shares of the last look.

    The boundaries c solve P(Z₁ < c₁, …, Zₖ₋₁ < cₖ₋₁, Zₖ ≥ cₖ) = α*(tₖ) − α*(tₖ₋₁), with corr(Zᵢ, Zⱼ) = √(nᵢ/nⱼ). The
    density of the sums S = Z√n below the boundaries is carried from look to look on a grid (Armitage, McPherson & Rowe
    1969). The `sizes` n of the samples, by default t, are those of a segment of the queries, which may grow at another
    rate. The error is spent by the times t.

    >>> compute_boundaries([1 / 3, 2 / 3, 1], 0.025).round(3)
    array([3.71 , 2.511, 1.993])
    """
    boundaries, sizes = np.zeros(len(times)), times if sizes is None else sizes
    spent, grid, density = 0.0, np.zeros(1), np.ones(1)
    for look, (time, size) in enumerate(zip(times, sizes, strict=True)):
        scale, step = math.sqrt(size), math.sqrt(size - (sizes[look - 1] if look else 0.0))
        increment = compute_spending(time, level) - spent
        spent += increment
        if look == 0:
            boundaries[0] = -special.ndtri(increment)
        else:
            arguments = (scale, step, grid, density, increment)
            boundaries[look] = scipy.optimize.brentq(_exceed_increment, -8.0, 50.0, arguments, xtol=1e-10)
        points = scale * np.linspace(-8, min(boundaries[look], 8.0), 1001)
        kernel = np.exp(-(((points[:, None] - grid) / step) ** 2) / 2) / (step * math.sqrt(2 * math.pi)) * density
        density = kernel[:, 0] if look == 0 else scipy.integrate.simpson(kernel, x=grid, axis=1)
        grid = points
    return boundaries


def _exceed_increment(z: float, scale: float, step: float, grid: Floats, density: Floats, increment: float) -> float:
    """Return by how much the probability to cross the boundary z first at this look exceeds the increment."""
    return float(scipy.integrate.simpson(special.ndtr((grid - z * scale) / step) * density, x=grid)) - increment


@lru_cache(maxsize=256)
def find_look_level(
    level: float, queries: int, looks: tuple[int, ...], earlier: tuple[int, ...], sizes: tuple[int, ...] = ()
) -> float:
    """Return the one-sided level of a single test, or of a planned look.

    `sizes` are the numbers of queries of a segment at the earlier looks and at this one.
    """
    if not looks:
        return level
    times = [min(number / looks[-1], 1.0) for number in (*earlier, queries)]
    if not sizes:
        return float(special.ndtr(-compute_boundaries(times, level)[-1]))
    grown: list[float] = []
    for number in sizes:  # Less growth than that would be more correlation, so this is conservative.
        grown.append(max(number, MIN_GROWTH * grown[-1] if grown else 1))
    return float(special.ndtr(-compute_boundaries(times, level, [number / grown[-1] for number in grown])[-1]))


def read_record(earlier: Any) -> dict[str, Any]:
    """Return the record of an earlier look from a dictionary or a JSON file of `gainwise gate` or a report."""
    if not isinstance(earlier, Mapping):
        if not isinstance(earlier, str | PathLike):
            raise TypeError(
                f"earlier must be a mapping or a path, got {type(earlier).__name__}. Pass the result of to_dict(), or "
                "the JSON of `gainwise gate`."
            )
        try:
            earlier = json.loads(Path(earlier).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ValueError(
                f"earlier must be a JSON file of an earlier look, got {str(earlier)!r} ({error})."
            ) from None
    if isinstance(earlier, Mapping) and EARLIER_NAME in earlier:
        name = f"{EARLIER_NAME}, the earlier name of gainwise"
        raise ValueError(f"earlier must be a decision of gainwise, got one of {name}. Repeat the earlier look.")
    record = earlier.get("against") or earlier if isinstance(earlier, Mapping) else None
    if not isinstance(record, Mapping) or not {"looks", "earlier", "queries", "bounds", "metrics"} <= set(record):
        raise ValueError("earlier must be a decision. Pass the JSON of `gainwise gate`, or the result of to_dict().")
    candidates = record.get("candidates") or {record["candidate"]: record}
    decisions = {name: details.get("decision") for name, details in candidates.items()}
    parts = record.get("segments", [])
    return {
        **record, "candidates": list(candidates), "metrics": list(record["metrics"]), "decisions": decisions,
        "parts": parts, "segments": [name_segment(part["column"], part["label"]) for part in parts],
    }  # fmt: skip


def name_segment(column: str, label: str) -> str:
    """Return a segment in words."""
    return f"{column} is {label}"


def is_repeatable(record: Mapping[str, Any]) -> bool:
    """Return whether tests on more queries may follow, because looks are planned or bounds are those of betting."""
    return bool(record["looks"]) or record["bounds"] == "betting"


def find_repeatable(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record that this test continues. A test without looks and betting only counts, so it is empty."""
    return record if is_repeatable(record) else {}


def read_history(earlier: Any, queries: int) -> tuple[dict[str, Any], ...]:
    """Return the number of queries and the decisions of each recorded test before this one, the first one first.

    A look that is repeated at the same number of queries is the same test.
    """
    if earlier is None:
        return ()
    record = read_record(earlier)
    tests = [*record.get("history", ()), {"queries": record["queries"], "decisions": record["decisions"]}]
    return tuple(test for test in tests if test["queries"] < queries or not is_repeatable(record))
