"""The main chart: how far every model is behind the best under both metrics, and who may be best."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..._common.words import confidence, count
from ...comparison.headline import finding
from ..content import Content
from ..numbers import mean
from .differences import plot_metrics
from .labels import beside, ems
from .style import MARGIN, column_width, finish, key, legend_below, looks, mixed, only_across, short_metrics, start

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ...comparison.comparison import Comparison
    from ...comparison.verdict import Verdict
    from ...drawing.lanes import Row
    from ...drawing.palette import Theme
    from .picture import Picture

__all__ = ["plot_leaderboard"]

MOST_ROWS = 16
"""Up to so many models have a row each; of more, the first `FIRST`, the winners and the safe choice."""

FIRST = 12

TALL, MIDDLE = 4, 8
"""Up to so many models, rows show the regrets and join the two marks; up to so many, rows are of middle height."""

LANES = (0.31, 0.69)
"""Where in its row, from above, the mark of either metric stands."""

SIZE = 9.0
"""Points of letters."""


def plot_leaderboard(comparison: Comparison, ax: Axes | None = None, theme: str = "light") -> Picture:
    """Draw how far every model is behind the best under both metrics, best under the first metric first.

    Circles are the first metric, diamonds the second: how far the mean is behind the best mean, with intervals that
    hold together for all models and both metrics. Filled marks may be best under that metric, hollow ones are ruled
    out; shaded rows may be best under both. Of a recipe every run has a faint tick. A star marks the safe choice, tags
    the winners. In a genuine disagreement a dashed line marks its price, which every model has a mark at or beyond;
    where nothing is decided, a ruler shows the smallest lead that so many queries would show. Of more than 16 models
    the first 12 have a row, the winners and the safe choice too, and one row has ticks for the others. Of one or two
    models the rows are metrics: means, or differences. Parameters and result are those of `plot_conflict`.
    """
    from matplotlib.patches import Rectangle

    if len(comparison.models) <= 2:
        return plot_metrics(comparison, ax, theme)
    verdict, chart = comparison.verdict, Content(comparison).chart
    rows = chart.rows if len(chart.rows) <= MOST_ROWS else chart.shown(FIRST)
    others = [row for row in chart.rows if row not in rows]
    tall = len(rows) <= TALL
    height = 0.6 if tall else 0.36 if len(rows) <= MIDDLE else 0.27
    lines = len(rows) + bool(others)
    ax, colours = start(ax, theme, (9.2, 1.75 + height * lines))
    marks = [mark for row in rows for mark in row.marks]
    ends = [end for mark in marks for end in (mark.high, mark.value, *mark.runs) if math.isfinite(end)]
    limit = 1.02 * max(ends, default=0.0) or 1e-6
    ax.set_xlim(min([-0.022 * limit, *ends]), limit)
    ax.set_ylim(lines + (0.28 if tall else 0.62), 0)
    left, right = _name_rows(ax, colours, comparison, rows, len(others))
    for place, row in enumerate(rows):
        if row.shaded:
            whole = Rectangle((-left, place), 1 + left + right, 1, transform=ax.get_yaxis_transform(), clip_on=False,
                              color=colours.shade, linewidth=0, zorder=0)  # fmt: skip
            whole.set_in_layout(False)
            ax.add_patch(whole)
        _draw_row(ax, colours, place, row, tall=tall, limit=limit)
    if others:
        _rug(ax, colours, len(rows), others, limit)
    if verdict.kind == "genuine":
        ax.axvline(verdict.price, color=colours.ink, linewidth=1, linestyle=(0, (3, 2.5)), zorder=2)
        words = f"price of disagreement {mean(verdict.price)} "
        ax.text(verdict.price, lines + 0.1, words, ha="center" if verdict.price > 0.2 * limit else "left", va="top",
                fontsize=8, color=colours.ink, backgroundcolor=colours.face)  # fmt: skip
    elif verdict.kind == "unresolved" and verdict.detectable < 0.9 * limit:
        _ruler(ax, colours, lines + (0.06 if tall else 0.25), verdict, limit)
    _axes(ax, colours, limit)
    _legend(ax, colours, verdict, below=0.42 / (height * lines))
    title = finding(verdict, comparison.names.said, comparison.models[0])
    label = f"how far behind the best (left is better), with simultaneous {confidence(verdict.alpha)} intervals"
    alt = _in_words(verdict, rows, len(others), comparison.short_names)
    return finish(ax, colours, title, alt, x=label, pad=22, wide=0.95, left=left)


def _draw_row(ax: Axes, colours: Theme, place: int, row: Row, *, tall: bool, limit: float) -> None:
    if tall:
        ys = [place + lane for lane in LANES]
        ax.plot([mark.value for mark in row.marks], ys, color=colours.muted, linewidth=0.7, alpha=0.6, zorder=2)
    for mark, lane, look in zip(row.marks, LANES, looks(colours), strict=True):
        y, reach = place + lane, 0.08 if tall else 0.16
        if math.isfinite(mark.high):
            pale = mixed(colours.face, look.text, 0.7)
            ax.plot([mark.low, mark.high], [y, y], color=pale, linewidth=2.6, solid_capstyle="round", zorder=3)
        ax.scatter(
            [mark.value], [y], s=look.size if tall else 0.62 * look.size, marker=look.marker, zorder=4, linewidth=1.5,
            facecolor=look.colour if mark.filled else ax.get_facecolor(), edgecolor=look.colour, clip_on=False,
        )  # fmt: skip
        if mark.runs:
            ax.vlines(mark.runs, y - reach, y + reach, color=look.colour, linewidth=0.9, alpha=0.55, zorder=3)
        if tall and mark.value > 0:
            end = mark.high if math.isfinite(mark.high) else mark.value
            at, offset = (end, (5, 0)) if end < 0.9 * limit else (mark.value, (0, -6))
            beside(ax, mean(mark.value), (at, y), offset, colour=look.text, size=8.5)


def _name_rows(
    ax: Axes, colours: Theme, comparison: Comparison, rows: Sequence[Row], others: int
) -> tuple[float, float]:
    """Write the names and what they are best by to the left of the rows, the means to their right.

    Returns how much room they take on either side, in widths of the axes.
    """
    verdict, short = comparison.verdict, comparison.short_names
    called = list(short_metrics(verdict.metrics).values())
    tags = [_tags(row, called, row.key == verdict.safe_choice, colours) for row in rows]
    tagged = SIZE * 0.86 * max(sum(ems(text) + 1 for text, _ in parts) for parts in tags)
    left = tagged + SIZE * (1 + max(ems(short[row.key]) for row in rows))
    wide = SIZE * max(5.5, 1 + max(map(ems, called)))

    def write(text: str, y: float, points: float, colour: str, *, bold: bool = False, size: float = SIZE) -> None:
        """Write to the left of the axes, or to the right where the points are above 0."""
        beside(ax, text, (points > 0, y), (points, 0), xycoords=("axes fraction", "data"), colour=colour, size=size,
               ha="right" if points > 0 else "left", weight="bold" if bold else "normal",
               annotation_clip=False)  # fmt: skip

    for place, (row, parts) in enumerate(zip(rows, tags, strict=True)):
        write(short[row.key], place + 0.5, -left, colours.ink, bold=any(row.best))
        at = -tagged
        for text, colour in parts:
            write(text, place + 0.5, at, colour, bold=True, size=0.86 * SIZE)
            at += 0.86 * SIZE * (ems(text) + 1)
    for lane, (head, look) in enumerate(zip(called, looks(colours), strict=True)):
        column = (lane + 1) * wide
        write(head, -0.25 if len(rows) > TALL else -0.12, column, look.text, bold=True, size=8.5)
        for place, row in enumerate(rows):
            write(mean(row.marks[lane].mean), place + 0.5, column, look.text, bold=row.best[lane])
    if others:
        write(f"{others} more", len(rows) + 0.5, -left, colours.muted)
    between = max(72 * (column_width(ax) - 2 * MARGIN) - left - 2 * wide, 72.0)
    return (left + 4) / between, (2 * wide + 4) / between


def _tags(row: Row, called: Sequence[str], safe: bool, colours: Theme) -> list[tuple[str, str]]:
    """Return what stands beside the name of a model: by which metric it is best, and whether it is the safe choice."""
    columns = zip(called, looks(colours), row.best, strict=True)
    tags = [(f"best by {head}", look.text) for head, look, best in columns if best]
    tags = [("best by both", colours.ink)] if all(row.best) else tags
    return [*tags, ("★ safe", colours.ink)] if safe else tags


def _rug(ax: Axes, colours: Theme, y: int, rows: Sequence[Row], limit: float) -> None:
    """Draw a tick for each of the models that have no row, and how many are off the scale."""
    for number, (lane, look) in enumerate(zip(LANES, looks(colours), strict=True)):
        inside = [row.marks[number].value for row in rows if row.marks[number].value <= limit]
        ax.vlines(inside, y + lane - 0.17, y + lane + 0.17, color=look.colour, linewidth=1.2)
    off = sum(row.worst > limit for row in rows)
    if off:
        beside(ax, f"{off} off scale ▸", (1, y + 0.5), (6, 0), xycoords=("axes fraction", "data"), colour=colours.muted,
               size=8)  # fmt: skip


def _ruler(ax: Axes, colours: Theme, y: float, verdict: Verdict, limit: float) -> None:
    end = 0.985 * limit
    ax.errorbar([end - verdict.detectable / 2], [y], xerr=verdict.detectable / 2, fmt="none", ecolor=colours.ink,
                elinewidth=1.2, capsize=3)  # fmt: skip
    words = f"smallest lead that {count(verdict.queries, 'query')} show: {mean(verdict.detectable)}  "
    ax.text(end - verdict.detectable, y, words, ha="right", va="center", fontsize=8, color=colours.ink,
            backgroundcolor=colours.face)  # fmt: skip


def _axes(ax: Axes, colours: Theme, limit: float) -> None:
    ax.axvline(0, color=colours.ink, linewidth=1.2, zorder=2)
    only_across(ax, colours, 6)
    ticks = [float(tick) for tick in ax.get_xticks() if 0 <= tick <= limit]
    ax.set_xticks(ticks, ["best", *(f"{tick:.12g}" for tick in ticks[1:])])
    ax.get_xticklabels()[0].set(weight="bold", color=colours.ink)
    ax.set_yticks([])


def _legend(ax: Axes, colours: Theme, verdict: Verdict, below: float) -> None:
    from matplotlib.patches import Patch

    entries: list[tuple[Artist, str]] = [
        (key(look.marker, look.colour, look.colour), metric)
        for look, metric in zip(looks(colours), verdict.metrics, strict=True)
    ]
    entries.append((key("o", colours.muted, colours.muted), "may be best"))
    entries.append((key("o", colours.muted, colours.face), "ruled out as best"))
    common = len(verdict.common_best)
    if common:
        words = "best under both, proven" if verdict.kind == "agree" else "may be best under both"
        shade = Patch(facecolor=colours.shade, edgecolor=colours.rule)
        entries.append((shade, f"{words} ({common} of {len(verdict.models)})"))
    legend_below(ax, colours, entries, below=below, ncols=5, handletextpad=0.3, columnspacing=1.3)


def _in_words(verdict: Verdict, rows: Sequence[Row], others: int, short: Mapping[str, str]) -> str:
    first, second = verdict.metrics
    text = [
        f"How far {count(len(verdict.models), 'model')} are behind the best under {first} and under {second}. "
        f"Safe choice: {short[verdict.safe_choice]}."
    ]
    if verdict.kind == "genuine":
        text.append(f"Price of disagreement: {mean(verdict.price)}.")
    for row in rows:
        one, other = (f"{mean(mark.value)}{'' if mark.filled else ' (ruled out)'}" for mark in row.marks)
        text.append(f"{short[row.key]}: {one} and {other}.")
    if others:
        text.append(f"{others} more are in the leaderboard.")
    return " ".join(text)
