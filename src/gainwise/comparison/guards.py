"""What a candidate must not lose: margins of metrics, and their bounds on all queries and in segments of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._common import cached_property
from .._common.arrays import nearest
from .._common.text import join_names
from .._common.typing import Bools, Floats, Integers
from .betting import bound_mean
from .bounds import DifferenceBounds
from .estimates import MIN_QUERIES, Estimate, estimate
from .inference import JointEstimate, Sample
from .looks import find_look_level, name_segment
from .one_sided import PairErrors, Requirement, find_joint_criticals
from .panel import Panel, validate_margin
from .query_labels import Labels, list_labels

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
        _validate_compared("margin", metric, metrics)
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
            _validate_compared("gain", metric, list(margins))
        if not leading:
            raise ValueError("gain is empty. Pass at least one metric, or require='no_loss'.")
    guards = [metric for metric in metrics if metric in margins and metric not in leading]
    return Family({metric: margins[metric] for metric in (*leading, *guards)}, leading if require == "gain" else ())


def _validate_compared(argument: str, metric: Any, metrics: Sequence[str]) -> None:
    if metric not in metrics:
        kind = "compared metrics" if argument == "margin" else "metrics with a margin"
        hint = nearest(str(metric), metrics)
        raise ValueError(f"{argument} must name {kind}, got {metric!r}{hint} (metrics: {', '.join(metrics)}).")


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


class Betting(NamedTuple):
    """Order of the queries for bounds by betting, and the number of queries that these are tuned to, 0 for others."""

    places: Integers | None = None
    size: int = 0


class Look(NamedTuple):
    """Present test: its planned looks and those before it, and the record of the previous one.

    `level` is the one-sided level of each candidate, before it is spent on looks.
    """

    level: float
    looks: tuple[int, ...]
    earlier: tuple[int, ...]
    record: Mapping[str, Any]

    def share_level(self, count: int) -> float:
        """Return the level of one of so many tests without correction for looks."""
        return self.level / count

    def spend_level(self, count: int, queries: int, sizes: tuple[int, ...] = ()) -> float:
        """Return the level of one of so many tests at this look. `sizes` are those of a segment at all looks."""
        return find_look_level(self.level / count, queries, self.looks, self.earlier, sizes)


@dataclass(frozen=True, eq=False)
class Part:
    """All queries, or those of a segment, in which no metric may lose more than its margin.

    Attributes
    ----------
    panel, estimated : Panel, Estimate or None
        Values, and their estimate. None without queries.
    find_level : function
        Return the one-sided level of one of so many tests that share the level.
    column, label : str
        Name of the segment. Empty for all queries.
    sizes : tuple of int
        Numbers of queries at the earlier looks and at this one.
    places, size : ndarray of int or None, int
        Order of the queries for bounds by betting, and the number of queries that these are tuned to. None and 0 for
        asymptotic bounds.
    """

    panel: Panel
    estimated: Estimate | None
    find_level: Callable[[int], float]
    column: str = ""
    label: str = ""
    sizes: tuple[int, ...] = ()
    places: Integers | None = field(default=None, repr=False)
    size: int = 0

    @property
    def level(self) -> float:
        """One-sided level of a single test."""
        return self.find_level(1)

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

    def bound(self, b: int, c: int, gains: int, parts: int) -> OneSided:
        """Return the bounds of model c minus model b. One of the first `gains` metrics must improve."""
        if self.estimated is None:
            unknown = np.full(len(self.panel.metrics), np.inf)
            return OneSided(-unknown, unknown, -unknown[:gains])
        if self.places is not None:
            return self._bound_by_betting(b, c, gains, parts)
        change, errors = self.bounds.select(b, c), self.find_errors(b, c)

        def bound_jointly(bounds: DifferenceBounds, errors: PairErrors, families: int) -> Floats:
            correlation, count = errors.correlation, len(bounds.error)
            # Three or more metrics share the level equally. Each of them spends its own share on looks.
            level = self.find_level(families) if count < 3 else count * self.find_level(families * count)
            return bounds.bound_jointly(
                level, count, lambda part: find_joint_criticals(bounds.freedom, correlation, part)
            )

        leading = slice(gains)
        return OneSided(
            change.bound_singly(self.level),
            -bound_jointly(change.reverse(), errors, parts),
            bound_jointly(change.take(leading), errors.take(leading), 1) if gains else np.empty(0),
        )

    def _bound_by_betting(self, b: int, c: int, gains: int, parts: int) -> OneSided:
        assert self.estimated is not None
        values, widths = self.panel.values, self.estimated.widths.tolist()
        change = (values[:, c] - values[:, b])[:, self.places]

        def bound(change: Floats, level: float) -> Floats:
            rows = zip(change, widths, strict=False)
            return np.array([bound_mean(row, width, level, self.size) for row, width in rows])

        upper = -bound(-change, self.find_level(parts * len(change)))
        return OneSided(bound(change, self.level), upper, bound(change[:gains], self.find_level(max(gains, 1))))


def build_parts(sample: Sample, joint: JointEstimate, labels: Labels, look: Look, betting: Betting) -> Iterator[Part]:
    """Yield all queries, then each segment. `labels` are those of the queries of the sample.

    Each segment has its own numbers of queries at the looks. Without a record, it had a constant share of all.
    """
    queries = joint.panel.queries
    find_level = look.share_level if betting.size else partial(look.spend_level, queries=queries)
    whole = Part(joint.panel, joint.estimated, find_level, sizes=(*look.earlier, queries), **betting._asdict())
    yield whole
    rows = [sample.panel.metrics.index(metric) for metric in joint.panel.metrics]
    counted = ~np.isnan(sample.panel.values[rows, 0]).any(axis=0)
    recorded = {(part["column"], part["label"]): part for part in look.record.get("parts", ())}
    for column, by_query in labels.items():
        for label in list_labels(by_query):
            mask = np.asarray(by_query[counted] == label, dtype=bool)
            record = recorded.get((column, label), {})
            yield _build_segment(whole, mask, (column, label), look, record)


def list_segments(labels: Labels) -> list[str]:
    """Return the names of all segments."""
    return [name_segment(column, label) for column, by_query in labels.items() for label in list_labels(by_query)]


def _build_segment(whole: Part, mask: Bools, name: tuple[str, str], look: Look, record: Mapping[str, Any]) -> Part:
    panel, queries = whole.panel.subset(mask), whole.panel.queries
    number = panel.queries
    made = (*look.record.get("earlier", ()), look.record.get("queries"))
    past = dict(zip(made, record.get("sizes", ()), strict=False))
    sizes = (*(past.get(size, round(size * number / queries)) for size in look.earlier), number)
    estimated = None
    if number:
        assert whole.estimated is not None
        estimated = estimate(panel, whole.estimated.widths)
    if whole.places is None:
        return Part(panel, estimated, partial(look.spend_level, queries=queries, sizes=sizes), *name, sizes)
    inside = whole.places[mask[whole.places]]
    size = record.get("size") or max(1, round(whole.size * number / queries))
    return Part(panel, estimated, whole.find_level, *name, sizes, (np.cumsum(mask) - 1)[inside], size)


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
