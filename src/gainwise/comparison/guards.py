"""Tests of a candidate against a baseline: margins, planned looks, and bounds on all queries and in segments."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from .._common import cached_property
from .._common.lazy import scipy, special
from .._common.text import join_names
from .._common.typing import Bools, Floats, Integers
from .._common.validation import validate_choice, validate_integer, validate_ordered
from .bounds import DifferenceBounds, PairErrors, bound_mean, find_joint_criticals
from .estimates import MIN_QUERIES, Estimate, estimate
from .inference import Sample
from .panel import Panel, validate_margin
from .query_labels import Labels, list_segments

MIN_SHARE = 0.9
"""The first look must have at least this share of its planned number of queries."""

MIN_GROWTH = 1.01
"""A segment has at least this ratio of queries at successive looks in the calculation of its levels."""

Decision: TypeAlias = Literal["ship", "undecided", "do not ship"]
Requirement: TypeAlias = Literal["gain", "no_loss"]

Margin: TypeAlias = float | str
"""A largest acceptable loss: a number in the unit of the metric, or a share of the mean of the baseline ("1%")."""


class Family(NamedTuple):
    """Metrics that decide, with their margins as passed, and those of which one must improve.

    The latter come first. There are none if no gain is required.
    """

    margins: Mapping[str, Margin]
    gain: tuple[str, ...]

    @property
    def shares(self) -> dict[str, str]:
        """Margins that are shares of the baseline's mean."""
        return {metric: margin for metric, margin in self.margins.items() if isinstance(margin, str)}


def validate_requirement(require: Requirement, margin: float) -> None:
    """Raise `ValueError` unless the requirement is known and has the margin that it needs."""
    validate_choice("require", require, get_args(Requirement))
    if require == "no_loss" and margin == 0:
        raise ValueError("margin must be above 0 for require='no_loss', got 0. Pass the largest acceptable loss.")


def read_family(
    margin: Margin | Mapping[str, Margin],
    gain: str | Sequence[str] | None,
    require: Requirement,
    primary: tuple[str, ...],
    metrics: Sequence[str],
) -> Family:
    """Return the metrics that decide: those of the margins, or with a single margin the primary ones."""
    margins = dict(margin) if isinstance(margin, Mapping) else dict.fromkeys(primary, margin)
    if not margins:
        raise ValueError("margin has no metric. Pass for example {'ndcg_linear@10': 0.002, 'revenue@10': '1%'}.")
    for metric, stated in margins.items():
        validate_choice("each metric of margin", metric, metrics)
        if _read_amount(metric, stated) == 0 and (isinstance(margin, Mapping) or isinstance(stated, str)):
            raise ValueError(f"margin of {metric} must be above 0, got {stated!r}. Pass the largest acceptable loss.")
    if require == "no_loss" and gain is not None:
        raise ValueError(f"gain has no effect with require='no_loss', got {gain!r}. Leave it out.")
    if gain is None:
        leading = tuple(metric for metric in primary if metric in margins)
        if require == "gain" and not leading:
            raise ValueError(
                f"gain must name the metrics of which one must improve, because margin has no primary metric "
                f"({join_names(primary)}). Pass gain= (--gain on the command line), or require='no_loss'."
            )
    else:
        if not isinstance(gain, Sequence):
            raise TypeError(f"gain must be the name of a metric or a list of names, got {gain!r}.")
        leading = (gain,) if isinstance(gain, str) else tuple(dict.fromkeys(gain))
        for metric in leading:
            validate_choice("each metric of gain (with a margin)", metric, list(margins))
        if not leading:
            raise ValueError("gain is empty. Pass at least one metric, or require='no_loss'.")
    guards = [metric for metric in metrics if metric in margins and metric not in leading]
    return Family({metric: margins[metric] for metric in (*leading, *guards)}, leading if require == "gain" else ())


def _read_amount(metric: str, margin: Margin) -> float:
    """Return a margin as a number, or the share of the baseline's mean.

    >>> _read_amount("ndcg", 0.005), _read_amount("revenue", "1 %")
    (0.005, 0.01)
    """
    if not isinstance(margin, str):
        return validate_margin(margin, f"margin of {metric}")
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*%\s*", margin)
    if match is None:
        raise ValueError(f"margin of {metric} must be a number or a percentage, such as '1%', got {margin!r}.")
    return float(match[1]) / 100


def resolve_margins(
    margins: Mapping[str, Margin], baseline: str, means: Mapping[str, float], record: Mapping[str, Any] | None = None
) -> dict[str, float]:
    """Return all margins as numbers. Shares are those of the absolute value of the baseline's mean.

    A share that an earlier test has resolved keeps its value.

    >>> resolve_margins({"ndcg": 0.005, "revenue": "1%"}, "production", {"ndcg": 0.4, "revenue": 20.0})
    {'ndcg': 0.005, 'revenue': 0.2}
    """
    resolved, record = {}, record or {}
    for metric, margin in margins.items():
        if isinstance(margin, str) and record.get("shares", {}).get(metric) == margin:
            resolved[metric] = float(record["margins"][metric])
            continue
        amount = _read_amount(metric, margin)
        if isinstance(margin, str) and means[metric] == 0:
            raise ValueError(
                f"margin of {metric} must be a number, got {margin!r}, because the mean of {baseline} is 0. Pass the "
                "largest acceptable loss in the unit of the metric."
            )
        resolved[metric] = amount * abs(means[metric]) if isinstance(margin, str) else amount
    return resolved


class OneSided(NamedTuple):
    """Bounds of the change of a candidate by metric, as improvements.

    Attributes
    ----------
    at_least, at_most : ndarray, shape (metrics,)
        Marginal lower bounds, and upper bounds that are simultaneous over metrics and parts of the queries. All
        hypotheses of a loss must be rejected, so the lower ones need no correction (intersection-union test).
    gain : ndarray, shape (number of metrics of which one must improve,)
        Simultaneous lower bounds of these metrics.
    """

    at_least: Floats
    at_most: Floats
    gain: Floats


@dataclass(frozen=True, eq=False)
class Gate:
    """Settings of the tests of all candidates.

    Attributes
    ----------
    margins : dict of metric name to float
        Largest acceptable losses. The first `gains` metrics are those of which one must improve.
    level : float
        One-sided level of each candidate, before it is spent on looks.
    queries, parts : int
        Number of queries, and of the parts of them in which no metric may lose: all queries, and each segment.
    looks, earlier : tuple of int
        Planned numbers of queries, and those of the looks before this one.
    record : mapping
        Record of the previous test that this one continues, or empty.
    """

    margins: dict[str, float]
    gains: int
    level: float
    queries: int
    parts: int
    looks: tuple[int, ...]
    earlier: tuple[int, ...]
    record: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Part:
    """All queries, or those of a segment, in which no metric may lose more than its margin.

    Attributes
    ----------
    gate : Gate
        Settings.
    panel, estimated : Panel, Estimate or None
        Values, and their estimate. None without queries.
    sizes : tuple of int
        Numbers of queries at the earlier looks and at this one.
    places, size : ndarray of int or None, int
        Order of the queries for bounds by betting, and the number of queries that these are tuned to. None and 0 for
        asymptotic bounds.
    column, label : str
        Name of the segment. Empty for all queries.
    """

    gate: Gate
    panel: Panel
    estimated: Estimate | None
    sizes: tuple[int, ...]
    places: Integers | None = None
    size: int = 0
    column: str = ""
    label: str = ""

    def find_level(self, tests: int = 1) -> float:
        """Return the one-sided level of one of so many tests that share the level of the candidate."""
        gate, level = self.gate, self.gate.level / tests
        if self.places is not None:
            return level
        return find_look_level(level, gate.queries, gate.looks, gate.earlier, self.sizes if self.column else ())

    @cached_property
    def bounds(self) -> DifferenceBounds:
        """Bounds of all pairs of models. There must be queries."""
        assert self.estimated is not None
        return DifferenceBounds.from_estimate(self.estimated)

    def find_errors(self, b: int, c: int) -> PairErrors:
        """Return the errors of model c minus model b. There must be queries."""
        assert self.estimated is not None
        return PairErrors.from_estimate(self.estimated, b, c)

    @property
    def decides(self) -> bool:
        """Whether there are enough queries, or clusters of queries, for asymptotic bounds."""
        return self.estimated is not None and self.estimated.decides

    @property
    def shortage(self) -> str:
        """Sentence about why asymptotic bounds have no value, or an empty text."""
        if self.places is not None or self.estimated is None:
            return ""
        text = self.estimated.shortage
        return text.replace("The sample", "The segment") if self.column else text

    @property
    def name(self) -> str:
        """Name of the segment, such as "device is tablet", or an empty text."""
        return name_segment(self.column, self.label) if self.column else ""

    @property
    def record(self) -> dict[str, Any]:
        """Values for a later look."""
        return {"column": self.column, "label": self.label, "sizes": self.sizes, "size": self.size}

    def bound(self, b: int, c: int) -> OneSided:
        """Return the bounds of model c minus model b."""
        gains, parts = self.gate.gains, self.gate.parts
        if self.estimated is None:
            unknown = np.full(len(self.panel.metrics), np.inf)
            return OneSided(-unknown, unknown, -unknown[:gains])
        if self.places is not None:
            values, widths = self.panel.values, self.estimated.widths.tolist()
            moves = (values[:, c] - values[:, b])[:, self.places]

            def bet(moves: Floats, tests: int) -> Floats:
                rows, level = zip(moves, widths, strict=False), self.find_level(tests)
                return np.array([bound_mean(row, width, level, self.size) for row, width in rows])

            return OneSided(bet(moves, 1), -bet(-moves, parts * len(moves)), bet(moves[:gains], max(gains, 1)))
        change, errors = self.bounds.select(b, c), self.find_errors(b, c)

        def bound_jointly(bounds: DifferenceBounds, errors: PairErrors, tests: int) -> Floats:
            correlation, count = errors.correlation, len(bounds.error)
            # Three or more metrics share the level equally. Each of them spends its own share on looks.
            level = self.find_level(tests) if count < 3 else count * self.find_level(tests * count)
            return bounds.bound_jointly(
                level, count, lambda part: find_joint_criticals(bounds.freedom, correlation, part)
            )

        leading = slice(gains)
        return OneSided(
            change.bound_singly(self.find_level()),
            -bound_jointly(change.reverse(), errors, parts),
            bound_jointly(change.take(leading), errors.take(leading), 1) if gains else np.empty(0),
        )


def build_segments(whole: Part, sample: Sample, labels: Labels) -> Iterator[Part]:
    """Yield each segment. `whole` is the part of all queries, and `labels` are those of the queries of the sample."""
    counted = sample.panel.find_common_queries(whole.panel.metrics)
    for column, label in list_segments(labels):
        yield _build_segment(whole, np.asarray(labels[column][counted] == label, dtype=bool), (column, label))


def _build_segment(whole: Part, mask: Bools, name: tuple[str, str]) -> Part:
    """Return one segment, with its own numbers of queries at the looks. Without a record, its share was constant."""
    assert whole.estimated is not None
    gate, record, panel = whole.gate, whole.gate.record, whole.panel.subset(mask)
    number = panel.queries
    own: dict[str, Any] = next(
        (part for part in record.get("parts", ()) if (part["column"], part["label"]) == name), {}
    )
    made = (*record.get("earlier", ()), record.get("queries"))
    past = dict(zip(made, own.get("sizes", ()), strict=False))
    sizes = (*(past.get(size, round(size * number / gate.queries)) for size in gate.earlier), number)
    estimated = estimate(panel, whole.estimated.widths) if number else None
    places, size = None, 0
    if whole.places is not None:
        places = (np.cumsum(mask) - 1)[whole.places[mask[whole.places]]]
        size = own.get("size") or max(1, round(whole.size * number / gate.queries))
    return Part(gate, panel, estimated, sizes, places, size, *name)


def find_size_without_losses(bounds: DifferenceBounds, level: float, margins: Floats) -> int | None:
    """Return the number of units that exclude such losses if still no query gets worse, or None if some does.

    With range B, the bound −B(1 − γ^(1/n)) exceeds −Δ if n ≥ ln γ / ln(1 − Δ/B).
    """
    widest = bounds.widths * bounds.largest
    is_equal = bounds.is_rare.all() and not (bounds.below > 0).any() and not bounds.modal.any()
    if not (is_equal and margins.all() and np.isfinite(widest).all()):
        return None
    shares = margins[margins < widest] / widest[margins < widest]
    return max([MIN_QUERIES, *(math.ceil(math.log(level) / math.log1p(-share)) for share in shares)])


def read_looks(
    looks: Sequence[int] | None, record: Mapping[str, Any] | None, queries: int, settings: Mapping[str, Any]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the planned looks, and those before this one.

    Without the `record` of an earlier look, all looks that are planned before this one count as made, which is
    conservative if one was skipped. This look is the planned one that is nearest by the ratio of queries. `settings`
    must be those of the record, unless it has neither looks nor bounds by betting.
    """
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
        recorded = (*record["earlier"], record["queries"])
        if queries < max(recorded):
            raise ValueError(
                f"earlier contains a look at {max(recorded):,} queries, but this sample has {queries:,}. Include the "
                "queries of all earlier looks."
            )
        previous = tuple(number for number in recorded if number < queries)
        if planned and previous and previous[-1] >= planned[-1]:
            raise ValueError(
                f"earlier contains the last planned look, at {previous[-1]:,} queries. Start a new experiment with new "
                "queries."
            )
        return planned, previous
    if planned and queries < MIN_SHARE * planned[0]:
        raise ValueError(
            f"looks must start at {queries:,} queries or fewer, which is the size of this sample, got {planned[0]:,}. "
            "Wait for the first planned look."
        )
    place = min(range(len(planned)), key=lambda look: abs(math.log(queries / planned[look])), default=0)
    return planned, planned[:place]


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
    """Return the record of an earlier look from a dictionary or a JSON file of `gainwise gate` or a report.

    Its `history` are the numbers of queries and the decisions of all recorded tests, this one last.
    """
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
    record = earlier.get("against") or earlier if isinstance(earlier, Mapping) else None
    if not isinstance(record, Mapping) or not {"looks", "earlier", "queries", "bounds", "metrics"} <= set(record):
        raise ValueError("earlier must be a decision. Pass the JSON of `gainwise gate`, or the result of to_dict().")
    candidates = record.get("candidates") or {record["candidate"]: record}
    decisions = {name: details.get("decision") for name, details in candidates.items()}
    for name, decision in decisions.items():
        validate_choice(f"earlier: the decision about {name!r}", decision, get_args(Decision))
    parts, test = record.get("segments", []), {"queries": record["queries"], "decisions": decisions}
    return {
        **record, "candidates": list(candidates), "metrics": list(record["metrics"]),
        "history": [*record.get("history", ()), test], "parts": parts,
        "segments": [name_segment(part["column"], part["label"]) for part in parts],
    }  # fmt: skip


def name_segment(column: str, label: str) -> str:
    """Return a segment in words."""
    return f"{column} is {label}"


def is_repeatable(record: Mapping[str, Any]) -> bool:
    """Return whether tests on more queries may follow, because looks are planned or bounds are those of betting."""
    return bool(record["looks"]) or record["bounds"] == "betting"
