"""One or two models: a row for every metric, with the mean or the difference of the two."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ..._common.words import confidence, count
from ...comparison.headline import finding
from ...comparison.pairs import advantages
from ..numbers import difference, mean
from .labels import ems
from .style import CIRCLE, DIAMOND, MARGIN, column_width, finish, mixed, start, without_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...comparison.findings import Findings
    from .picture import Picture

__all__ = ["plot_metrics"]


class Row(NamedTuple):
    """A metric: a value with its interval, and what is written beside it."""

    metric: str
    value: float
    lower: float
    upper: float
    beside: str


def plot_metrics(comparison: Findings, ax: Axes | None, theme: str) -> Picture:
    """Draw a row for every metric: the difference of two models, or the mean of one, with its interval.

    The two primary metrics have their colours, further ones, the witnesses, are grey.
    """
    two = len(comparison.models) == 2
    rows = _differences(comparison) if two else _means(comparison)
    ax, colours = start(ax, theme, (8.6, 1.5 + 0.34 * len(rows)))
    primary = comparison.verdict.metrics
    kinds = {
        primary[0]: ("o", CIRCLE, colours.first, colours.first_text),
        primary[1]: ("D", DIAMOND, colours.second, colours.second_text),
    }
    left = 9.5 * (1.5 + max(ems(row.metric) for row in rows))
    aside = left / max(72 * (column_width(ax) - 2 * MARGIN) - left - 8.5 * max(ems(row.beside) for row in rows), 72)
    for place, row in enumerate(rows):
        marker, size, colour, text = kinds.get(row.metric, ("o", CIRCLE * 0.7, colours.muted, colours.muted))
        if math.isfinite(row.lower) and math.isfinite(row.upper):
            pale = mixed(colours.face, text, 0.7)
            ends = ([row.lower, row.upper], [place, place])
            ax.plot(*ends, color=pale, linewidth=2.8, solid_capstyle="round", zorder=3)
        ax.scatter([row.value], [place], s=size, marker=marker, color=colour, zorder=4)
        for edge, points, words, ha in ((0, -left, row.metric, "left"), (1, 8, row.beside, "left")):
            ax.annotate(words, (edge, place), xycoords=("axes fraction", "data"), xytext=(points, 0), va="center",
                        textcoords="offset points", ha=ha, fontsize=9.5 if edge == 0 else 8.5, parse_math=False,
                        weight="bold" if row.metric in kinds and edge == 0 else "normal",
                        color=text, annotation_clip=False)  # fmt: skip
    ax.set_ylim(len(rows) - 0.4, -0.7)
    without_frame(ax)
    ax.set_yticks([])
    ax.tick_params(axis="x", length=0)
    ax.locator_params(axis="x", nbins=5)
    ax.grid(axis="x", color=colours.grid, linewidth=0.8)
    level = f"simultaneous {confidence(comparison.alpha)} intervals"
    names = [comparison.short_names[name] for name in comparison.verdict.models]
    if not two:
        text = f"Means of {names[0]}, one row a metric. " + " ".join(f"{row.metric}: {row.beside}." for row in rows)
        title = f"{names[0]}: the only model, over {count(comparison.query_count, 'query')}"
        return finish(ax, colours, title, text, x=f"mean, with {level}", wide=0.95, left=aside)
    ax.axvline(0, color=colours.ink, linewidth=1.2, zorder=2)
    new, old = (comparison.short_names[name] for name in _order(comparison))
    ax.text(0, -0.62, f"◂ {old} better  ", ha="right", va="center", fontsize=8.5, color=colours.muted, parse_math=False)
    ax.text(0, -0.62, f"  {new} better ▸", ha="left", va="center", fontsize=8.5, color=colours.muted, parse_math=False)
    text = f"Differences, {new} minus {old}, one row a metric. " + " ".join(f"{it.metric}: {it.beside}." for it in rows)
    return finish(
        ax,
        colours,
        finding(comparison.verdict, comparison.names.said, comparison.models[0]),
        text,
        x=f"difference, with {level}",
        wide=0.95,
        left=aside,
    )


def _order(comparison: Findings) -> tuple[str, str]:
    """Return the two models, the one that the first metric prefers first."""
    verdict = comparison.verdict
    new = verdict.winners[verdict.metrics[0]]
    return new, next(name for name in verdict.models if name != new)


def _differences(comparison: Findings) -> list[Row]:
    new, _ = _order(comparison)
    pairs = comparison.pairs
    sign = 1.0 if pairs["model_x"].iloc[0] == new else -1.0
    rows = []
    for metric in _metrics(comparison):
        losses = comparison.lower_is_better
        value, one, other = (
            0.0 + sign * float(advantages(pairs, metric, losses, of=end).iloc[0])
            for end in ("difference", "lower", "upper")
        )
        lower, upper = sorted((one, other))
        rows.append(Row(metric, value, lower, upper, f"{difference(value)}   {_between(lower, upper)}"))
    return rows


def _means(comparison: Findings) -> list[Row]:
    (row,) = comparison.leaderboard.to_dict("records")
    rows = []
    for metric in _metrics(comparison):
        value, lower, upper = (float(row[column]) for column in (metric, f"{metric} lower", f"{metric} upper"))
        rows.append(Row(metric, value, lower, upper, f"{mean(value)}   {mean(lower)} to {mean(upper)}"))
    return rows


def _metrics(comparison: Findings) -> list[str]:
    return list(dict.fromkeys([*comparison.verdict.metrics, *comparison.metrics]))


def _between(lower: float, upper: float) -> str:
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return "unbounded"
    return f"{difference(lower)} to {difference(upper)}"
