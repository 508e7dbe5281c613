"""One or two models: a row for every metric, with the mean or the difference of the two."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ..._common.words import confidence, count
from ...comparison.headline import finding
from ...comparison.pairs import select_common_column
from ..numbers import difference, mean
from .labels import beside, ems
from .style import MARGIN, Look, column_width, finish, looks, mixed, only_across, start, two_sides

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...comparison.comparison import Comparison
    from .picture import Picture

__all__ = ["plot_metrics"]


class Row(NamedTuple):
    """A metric: a value with its interval, and what is written beside it."""

    metric: str
    value: float
    lower: float
    upper: float
    beside: str


def plot_metrics(comparison: Comparison, ax: Axes | None, theme: str) -> Picture:
    """Draw a row for every metric: the difference of two models, or the mean of one, with its interval.

    The two primary metrics have their colours, further ones, the witnesses, are grey.
    """
    two = len(comparison.models) == 2
    rows = _differences(comparison) if two else _means(comparison)
    ax, colours = start(ax, theme, (8.6, 1.5 + 0.34 * len(rows)))
    primary = dict(zip(comparison.verdict.metrics, looks(colours), strict=True))
    witness = Look("o", 32.2, colours.muted, colours.muted)
    left = 9.5 * (1.5 + max(ems(row.metric) for row in rows))
    aside = left / max(72 * (column_width(ax) - 2 * MARGIN) - left - 8.5 * max(ems(row.beside) for row in rows), 72)
    for place, row in enumerate(rows):
        look = primary.get(row.metric, witness)
        if math.isfinite(row.lower) and math.isfinite(row.upper):
            pale = mixed(colours.face, look.text, 0.7)
            ends = ([row.lower, row.upper], [place, place])
            ax.plot(*ends, color=pale, linewidth=2.8, solid_capstyle="round", zorder=3)
        ax.scatter([row.value], [place], s=look.size, marker=look.marker, color=look.colour, zorder=4)
        words: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "colour": look.text, "ha": "left"}
        weight = "bold" if row.metric in primary else "normal"
        beside(ax, row.metric, (0, place), (-left, 0), size=9.5, weight=weight, annotation_clip=False, **words)
        beside(ax, row.beside, (1, place), (8, 0), size=8.5, annotation_clip=False, **words)
    ax.set_ylim(len(rows) - 0.4, -0.7)
    ax.set_yticks([])
    only_across(ax, colours, 5)
    level = f"simultaneous {confidence(comparison.alpha)} intervals"
    said = " ".join(f"{row.metric}: {row.beside}." for row in rows)
    if not two:
        (name,) = comparison.short_names.values()
        title = f"{name}: the only model, over {count(comparison.query_count, 'query')}"
        alt = f"Means of {name}, one row a metric. {said}"
        return finish(ax, colours, title, alt, x=f"mean, with {level}", wide=0.95, left=aside)
    ax.axvline(0, color=colours.ink, linewidth=1.2, zorder=2)
    new, old = (comparison.short_names[name] for name in _order(comparison))
    two_sides(ax, colours, (0, -0.62), f"{old} better ", f" {new} better")
    title = finding(comparison.verdict, comparison.names.said, comparison.models[0])
    alt = f"Differences, {new} minus {old}, one row a metric. {said}"
    return finish(ax, colours, title, alt, x=f"difference, with {level}", wide=0.95, left=aside)


def _order(comparison: Comparison) -> tuple[str, str]:
    """Return the two models, the one that the first metric prefers first."""
    verdict = comparison.verdict
    new = verdict.winners[verdict.metrics[0]]
    return new, next(name for name in verdict.models if name != new)


def _differences(comparison: Comparison) -> list[Row]:
    new, _ = _order(comparison)
    pairs = comparison.pairs
    sign = 1.0 if pairs["model_x"].iloc[0] == new else -1.0
    rows = []
    for metric in _metrics(comparison):
        value, *ends = (
            0.0 + sign * float(pairs[select_common_column(pairs, f"{what} {metric}")].iloc[0])
            for what in ("difference", "lower", "upper")
        )
        lower, upper = sorted(ends)
        beside = f"{difference(value)}   {_between(lower, upper)}"
        if metric in comparison.lower_is_better:  # drawn to the side that is better
            value, lower, upper, beside = 0.0 - value, -upper, -lower, f"{beside}   lower is better"
        rows.append(Row(metric, value, lower, upper, beside))
    return rows


def _means(comparison: Comparison) -> list[Row]:
    (row,) = comparison.leaderboard.to_dict("records")
    rows = []
    for metric in _metrics(comparison):
        value, lower, upper = (float(row[column]) for column in (metric, f"{metric} lower", f"{metric} upper"))
        rows.append(Row(metric, value, lower, upper, f"{mean(value)}   {mean(lower)} to {mean(upper)}"))
    return rows


def _metrics(comparison: Comparison) -> list[str]:
    return list(dict.fromkeys([*comparison.verdict.metrics, *comparison.metrics]))


def _between(lower: float, upper: float) -> str:
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return "unbounded"
    return f"{difference(lower)} to {difference(upper)}"
