"""Levels of repeated tests: planned looks with alpha spending, and bounds that are valid at any number of queries."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from .._common.arrays import nearest
from .._common.typing import Floats
from .._common.validation import validate_integer, validate_ordered

Requirement: TypeAlias = Literal["gain", "no_loss"]

GRID = 1001
"""Points of the grid of each look."""

MIN_SHARE = 0.9
"""The first look must have at least this share of its planned number of queries."""

ANYTIME_QUERIES = 1000
"""Default sample size for the tuning of bounds that are valid at any time."""


class ErrorLevel(NamedTuple):
    """One-sided level of a test of one candidate.

    Attributes
    ----------
    total : float
        Probability of a false decision in all looks together.
    marginal : float
        Level of this test.
    by_metric : float or None
        Level of each of several simultaneous bounds that are valid at any number of queries (Bonferroni). None for a
        single test or a planned look, whose simultaneous bounds have the level `marginal` together.
    """

    total: float
    marginal: float
    by_metric: float | None = None


def validate_requirement(require: Requirement, margin: float) -> None:
    """Raise `ValueError` unless the requirement is known and has the margin that it needs."""
    names = get_args(Requirement)
    if require not in names:
        raise ValueError(
            f"require must be {' or '.join(map(repr, names))}, got {require!r}{nearest(str(require), names)}."
        )
    if require == "no_loss" and margin == 0:
        raise ValueError("margin must be above 0 for require='no_loss', got 0. Pass the largest acceptable loss.")


def validate_looks(looks: Sequence[int]) -> tuple[int, ...]:
    """Return the planned numbers of queries, or raise unless they are increasing whole numbers."""
    validate_ordered("looks", looks)
    planned = tuple(validate_integer("looks", number) for number in np.atleast_1d(np.asarray(looks, dtype=object)))
    if not planned or any(first >= second for first, second in itertools.pairwise(planned)):
        raise ValueError(
            f"looks must be increasing numbers of queries, got {list(planned)}. Pass for example 5000, 10000."
        )
    return planned


def read_looks(
    looks: Sequence[int] | None, anytime: bool | int, earlier: Any, queries: int, settings: Mapping[str, Any]
) -> tuple[tuple[int, ...], tuple[int, ...], int | None]:
    """Return the planned looks, those before this one, and the sample size that bounds at any time are tuned to.

    Without the record of an `earlier` look, all looks that are planned before this one count as made, which is
    conservative if one was skipped. This look is the planned one that is nearest by the ratio of queries. `settings`
    must be those of the record.
    """
    tuned = None if anytime is False else ANYTIME_QUERIES if anytime is True else validate_integer("anytime", anytime)
    record = None if earlier is None else read_record(earlier)
    planned = () if looks is None else validate_looks(looks)
    planned = planned or tuple(record["looks"] if record else ())
    if planned and tuned is not None:
        raise ValueError("looks and anytime must not be combined. Pass only one of them.")
    if record is not None:
        validate_record(record, {"looks": list(planned), **settings})
        return planned, _find_earlier_looks(planned, queries, (*record["earlier"], record["queries"])), None
    if planned and queries < MIN_SHARE * planned[0]:
        raise ValueError(
            f"looks must start at {queries:,} queries or fewer, which is the size of this sample, got {planned[0]:,}. "
            "Wait for the first planned look."
        )
    place = min(range(len(planned)), key=lambda look: abs(math.log(queries / planned[look])), default=0)
    return planned, planned[:place], tuned


def _find_earlier_looks(looks: tuple[int, ...], queries: int, recorded: tuple[int, ...]) -> tuple[int, ...]:
    """Return the recorded looks before this one, or raise if this one cannot follow them."""
    if queries < max(recorded):
        raise ValueError(
            f"earlier contains a look at {max(recorded):,} queries, but this sample has {queries:,}. Include the "
            "queries of all earlier looks."
        )
    earlier = tuple(number for number in recorded if number < queries)
    if earlier and earlier[-1] >= looks[-1]:
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
    from scipy.special import ndtr, ndtri

    return level if time >= 1 else 2 * float(ndtr(ndtri(level / 2) / math.sqrt(time)))


def compute_boundaries(times: Sequence[float], level: float) -> Floats:
    """Return the critical values of z-statistics at increasing shares of the last look.

    The boundaries c solve P(Z₁ < c₁, …, Zₖ₋₁ < cₖ₋₁, Zₖ ≥ cₖ) = α*(tₖ) − α*(tₖ₋₁), with corr(Zᵢ, Zⱼ) = √(tᵢ/tⱼ). The
    density of the sums S = Z√t below the boundaries is carried from look to look on a grid (Armitage, McPherson & Rowe
    1969).

    >>> compute_boundaries([1 / 3, 2 / 3, 1], 0.025).round(3)
    array([3.71 , 2.511, 1.993])
    """
    from scipy.integrate import simpson
    from scipy.optimize import brentq
    from scipy.special import ndtri

    boundaries = np.zeros(len(times))
    spent, grid, density = 0.0, np.zeros(1), np.ones(1)
    for look, time in enumerate(times):
        scale, step = math.sqrt(time), math.sqrt(time - (times[look - 1] if look else 0.0))
        increment = compute_spending(time, level) - spent
        spent += increment
        if look == 0:
            boundaries[0] = -ndtri(increment)
        else:
            arguments = (scale, step, grid, density, increment)
            boundaries[look] = brentq(_exceed_increment, -8.0, 50.0, arguments, xtol=1e-10)
        points = scale * np.linspace(-8, min(boundaries[look], 8.0), GRID)
        kernel = np.exp(-(((points[:, None] - grid) / step) ** 2) / 2) / (step * math.sqrt(2 * math.pi)) * density
        density = kernel[:, 0] if look == 0 else simpson(kernel, x=grid, axis=1)
        grid = points
    return boundaries


def _exceed_increment(z: float, scale: float, step: float, grid: Floats, density: Floats, increment: float) -> float:
    """Return by how much the probability to cross the boundary z first at this look exceeds the increment."""
    from scipy.integrate import simpson
    from scipy.special import ndtr

    return float(simpson(ndtr((grid - z * scale) / step) * density, x=grid)) - increment


def compute_anytime_level(level: float, queries: int, tuned: int) -> float:
    """Return the level of a one-sided normal bound that is valid at all numbers of queries, simultaneously.

    The bound uses k(n) = √(2 (nρ² + 1)/(nρ²) · ln(1 + √(nρ² + 1)/(2γ))) standard errors, and ρ makes it narrowest near
    `tuned` queries. It is an asymptotic confidence sequence.

    References
    ----------
    Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas (2021), "Time-uniform central limit theory and asymptotic confidence
    sequences", arXiv:2103.06476.

    >>> from statistics import NormalDist
    >>> round(-NormalDist().inv_cdf(compute_anytime_level(0.025, 1000, 1000)), 2)
    3.04
    """
    from scipy.special import ndtr

    shrinkage = -2 * math.log(2 * level) + math.log(1 - 2 * math.log(2 * level))
    size = queries * shrinkage / tuned
    k = math.sqrt(2 * (size + 1) / size * math.log(1 + math.sqrt(size + 1) / (2 * level)))
    return float(ndtr(-k))


@lru_cache(maxsize=256)
def find_test_level(
    level: float, queries: int, metrics: int, looks: tuple[int, ...], earlier: tuple[int, ...], anytime: int | None
) -> ErrorLevel:
    """Return the one-sided level of a single test, of a planned look, or of bounds that are valid at any time."""
    from scipy.special import ndtr

    if anytime is not None:
        by_metric = compute_anytime_level(level / metrics, queries, anytime)
        return ErrorLevel(level, compute_anytime_level(level, queries, anytime), by_metric)
    if not looks:
        return ErrorLevel(level, level)
    times = [min(number / looks[-1], 1.0) for number in (*earlier, queries)]
    return ErrorLevel(level, float(ndtr(-compute_boundaries(times, level)[-1])))


def bound_share(count: int, size: int, level: ErrorLevel) -> float:
    """Return an upper confidence bound of a share, if `count` of `size` units have the property.

    It is the exact bound of Clopper & Pearson (1934). At any time, it is the largest share p with a likelihood ratio
    of a uniform mixture to p below 1/level (Robbins 1970).

    >>> round(bound_share(0, 368, ErrorLevel(0.025, 0.025)), 4), round(bound_share(3, 100, ErrorLevel(0.025, 0.025)), 4)
    (0.01, 0.0852)
    """
    from scipy.optimize import brentq
    from scipy.special import betaincinv, betaln, xlog1py, xlogy

    if count == size:
        return 1.0
    if level.by_metric is None:
        return float(betaincinv(count + 1, size - count, 1 - level.marginal))
    limit = betaln(count + 1, size - count + 1) + math.log(level.total)

    def compute_excess(share: float) -> float:
        return float(limit - xlogy(count, share) - xlog1py(size - count, -share))

    return float(brentq(compute_excess, count / size, 1 - 1e-12))


def read_record(earlier: Any) -> dict[str, Any]:
    """Return the record of an earlier look from a dictionary or a JSON file of `gainsay gate` or a report."""
    if not isinstance(earlier, Mapping):
        try:
            earlier = json.loads(Path(earlier).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ValueError(
                f"earlier must be a JSON file of an earlier look, got {str(earlier)!r} ({error})."
            ) from None
    record = earlier.get("against") or earlier if isinstance(earlier, Mapping) else None
    if not isinstance(record, Mapping) or not record.get("looks"):
        raise ValueError("earlier must be a decision with planned looks. Pass the JSON of such a decision.")
    candidates = record.get("candidates") or [record["candidate"]]
    return {**record, "candidates": list(candidates), "metrics": list(record["metrics"])}


def validate_record(record: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Raise `ValueError` if a setting differs from the record of an earlier look."""
    for name, value in settings.items():
        if record.get(name) != value:
            raise ValueError(
                f"{name} must be {record.get(name)!r} as in the earlier look, got {value!r}. Repeat the settings of "
                "the first look, or start a new experiment with new queries."
            )
