"""The main chart: how far every model is behind the best under both metrics, and who may be best."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ..._common.words import confidence, count
from ...comparison.headline import finding
from ..numbers import mean
from .differences import plot_metrics
from .labels import ems
from .style import (
    CIRCLE,
    DIAMOND,
    MARGIN,
    column_width,
    finish,
    legend_below,
    mixed,
    short_metrics,
    start,
    without_frame,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from ...comparison.findings import Findings
    from ...comparison.verdict import Verdict
    from ...drawing.palette import Theme
    from .picture import Picture

__all__ = ["Mark", "chart_rows", "plot_leaderboard"]

MOST_ROWS = 16
"""Up to so many models have a row each; of more, the first `FIRST`, the winners and the safe choice."""

FIRST = 12

TALL, MIDDLE = 4, 8
"""Up to so many models, rows show the regrets and join the two marks; up to so many, rows are of middle height."""

LANES = (0.31, 0.69)
"""Where in its row, from above, the mark of either metric stands."""

SIZE = 9.0
"""Points of letters."""


class Mark(NamedTuple):
    """One model under one metric: its distance to the best, between which bounds that is, and whether it is ruled out.

    The bounds hold together for all models and both metrics.
    """

    regret: float
    lower: float
    upper: float
    ruled_out: bool


def plot_leaderboard(comparison: Findings, ax: Axes | None = None, theme: str = "light") -> Picture:
    """Draw how far every model is behind the best under both metrics, best under the first metric first.

    Circles are the first metric, diamonds the second: how far the mean is behind the best mean, with intervals that
    hold together for all models and both metrics. Filled marks may be best under that metric, hollow ones are ruled
    out; shaded rows may be best under both. Of a recipe every run has a faint tick. A star marks the safe choice, tags
    the winners. In a genuine disagreement a dashed line marks its price, which every model has a mark at or beyond;
    where nothing is decided, a ruler shows the smallest lead that so many queries would show. Of more than 16 models
    the first 12 have a row, the winners and the safe choice too, and one row has ticks for the others. Of one or two
    models the rows are metrics: means, or differences.

    Parameters
    ----------
    comparison, ax, theme
        As for `plot_conflict`.

    Returns
    -------
    Picture
    """
    from matplotlib.patches import Rectangle

    if len(comparison.models) <= 2:
        return plot_metrics(comparison, ax, theme)
    verdict, short = comparison.verdict, comparison.short_names
    marks = chart_rows(verdict)
    names, others = _shown(verdict, list(marks))
    height = 0.6 if len(names) <= TALL else 0.36 if len(names) <= MIDDLE else 0.27
    rows = len(names) + bool(others)
    ax, colours = start(ax, theme, (9.2, 1.75 + height * rows))
    runs = [comparison.run_distances[metric] for metric in verdict.metrics] if comparison.runs else [{}, {}]
    spread = [run for by_model in runs for name in names for run in by_model.get(name, ())]
    ends = [end for name in names for mark in marks[name] for end in (mark.upper, mark.regret) if math.isfinite(end)]
    limit = 1.02 * max([*ends, *spread], default=0.0) or 1e-6
    ax.set_xlim(min([-0.022 * limit, *spread]), limit)
    ax.set_ylim(rows + (0.28 if height > 0.5 else 0.62), 0)
    left, right = _name_rows(ax, colours, comparison, names, len(others))
    for row, name in enumerate(names):
        if name in verdict.common_best:
            whole = Rectangle((-left, row), 1 + left + right, 1, transform=ax.get_yaxis_transform(), clip_on=False,
                              color=colours.shade, linewidth=0, zorder=0)  # fmt: skip
            whole.set_in_layout(False)
            ax.add_patch(whole)
        _draw_row(ax, colours, row, marks[name], tall=len(names) <= TALL, limit=limit)
        for lane, by_model, colour in zip(LANES, runs, (colours.first, colours.second), strict=True):
            if name not in by_model:
                continue
            reach = 0.08 if len(names) <= TALL else 0.16
            low, high = row + lane - reach, row + lane + reach
            ax.vlines(by_model[name], low, high, color=colour, linewidth=0.9, alpha=0.55, zorder=3)
    if others:
        _rug(ax, colours, len(names), [marks[name] for name in others], limit)
    if verdict.kind == "genuine":
        ax.axvline(verdict.price, color=colours.ink, linewidth=1, linestyle=(0, (3, 2.5)), zorder=2)
        words = f"price of disagreement {mean(verdict.price)} "
        ax.text(verdict.price, rows + 0.1, words, ha="center" if verdict.price > 0.2 * limit else "left", va="top",
                fontsize=8, color=colours.ink, backgroundcolor=colours.face)  # fmt: skip
    elif verdict.kind == "unresolved" and verdict.detectable < 0.9 * limit:
        _ruler(ax, colours, rows, verdict, limit)
    _axes(ax, colours, limit)
    _legend(ax, colours, verdict, below=0.42 / (height * rows))
    title = finding(verdict, comparison.names.said, comparison.models[0])
    label = f"how far behind the best (left is better), with simultaneous {confidence(verdict.alpha)} intervals"
    alt = _in_words(verdict, names, others, marks, short)
    return finish(ax, colours, title, alt, x=label, pad=22, wide=0.95, left=left)


def chart_rows(verdict: Verdict) -> dict[str, tuple[Mark, Mark]]:
    """Return the marks of every model under both metrics, the model that is best under the first one first."""
    first, second = verdict.metrics

    def mark(metric: str, name: str) -> Mark:
        ruled_out = name not in verdict.best_sets[metric] and name not in verdict.common_best
        lower = verdict.regrets_lower[metric][name] if ruled_out else 0.0
        return Mark(verdict.regrets[metric][name], lower, verdict.regrets_upper[metric][name], ruled_out)

    order = sorted(verdict.models, key=lambda name: (verdict.regrets[first][name], verdict.regrets[second][name]))
    return {name: (mark(first, name), mark(second, name)) for name in order}


def _shown(verdict: Verdict, order: list[str]) -> tuple[list[str], list[str]]:
    """Return the models that have a row each, and those that share one."""
    if len(order) <= MOST_ROWS:
        return order, []
    kept = {*order[:FIRST], *verdict.winners.values(), verdict.safe_choice}
    return [name for name in order if name in kept], [name for name in order if name not in kept]


def _draw_row(ax: Axes, colours: Theme, row: int, marks: tuple[Mark, Mark], *, tall: bool, limit: float) -> None:
    face = ax.get_facecolor()
    if tall:
        places = [row + lane for lane in LANES]
        ax.plot([mark.regret for mark in marks], places, color=colours.muted, linewidth=0.7, alpha=0.6, zorder=2)
    kinds = (
        ("o", CIRCLE, colours.first, colours.first_text),
        ("D", DIAMOND, colours.second, colours.second_text),
    )
    for mark, lane, (marker, size, colour, text) in zip(marks, LANES, kinds, strict=True):
        y = row + lane
        if math.isfinite(mark.upper):
            pale = mixed(colours.face, text, 0.7)
            ax.plot([mark.lower, mark.upper], [y, y], color=pale, linewidth=2.6, solid_capstyle="round", zorder=3)
        ax.scatter(
            [mark.regret], [y], s=size if tall else 0.62 * size, marker=marker, zorder=4, linewidth=1.5,
            facecolor=face if mark.ruled_out else colour, edgecolor=colour, clip_on=False,
        )  # fmt: skip
        if tall and mark.regret > 0:
            end = mark.upper if math.isfinite(mark.upper) else mark.regret
            beside = end < 0.9 * limit
            ax.annotate(
                mean(mark.regret), (end if beside else mark.regret, y), xytext=(5, 0) if beside else (0, -6),
                textcoords="offset points", ha="left" if beside else "center", va="center" if beside else "top",
                fontsize=8.5, color=text,
            )  # fmt: skip


def _name_rows(ax: Axes, colours: Theme, comparison: Findings, names: list[str], others: int) -> tuple[float, float]:
    """Write the names and what they are best by to the left of the rows, the means to their right.

    Returns how much room they take on either side, in widths of the axes.
    """
    verdict, short = comparison.verdict, comparison.short_names
    called = short_metrics(verdict.metrics)
    tags = {name: _tags(verdict, name, called, colours) for name in names}
    tagged = SIZE * 0.86 * max(sum(ems(text) + 1 for text, _ in parts) for parts in tags.values())
    left = tagged + SIZE * (1 + max(ems(short[name]) for name in names))
    wide = SIZE * max(5.5, 1 + max(map(ems, called.values())))

    def write(text: str, row: float, points: float, colour: str, *, bold: bool = False, size: float = SIZE) -> None:
        """Write to the left of the axes, or to the right where the points are above 0."""
        ax.annotate(text, (points > 0, row), xycoords=("axes fraction", "data"), xytext=(points, 0), va="center",
                    textcoords="offset points", ha="right" if points > 0 else "left", fontsize=size, color=colour,
                    weight="bold" if bold else "normal", parse_math=False, annotation_clip=False)  # fmt: skip

    for row, name in enumerate(names):
        write(short[name], row + 0.5, -left, colours.ink, bold=name in verdict.winners.values())
        at = -tagged
        for text, colour in tags[name]:
            write(text, row + 0.5, at, colour, bold=True, size=0.86 * SIZE)
            at += 0.86 * SIZE * (ems(text) + 1)
    columns = zip(verdict.metrics, (colours.first_text, colours.second_text), strict=True)
    for number, (metric, colour) in enumerate(columns, 1):
        write(called[metric], -0.25 if len(names) > TALL else -0.12, number * wide, colour, bold=True, size=8.5)
        for row, name in enumerate(names):
            best = name == verdict.winners[metric]
            write(mean(verdict.means[metric][name]), row + 0.5, number * wide, colour, bold=best)
    if others:
        write(f"{others} more", len(names) + 0.5, -left, colours.muted)
    between = max(72 * (column_width(ax) - 2 * MARGIN) - left - 2 * wide, 72.0)
    return (left + 4) / between, (2 * wide + 4) / between


def _tags(verdict: Verdict, name: str, called: Mapping[str, str], colours: Theme) -> list[tuple[str, str]]:
    """Return what stands beside the name of a model: by which metric it is best, and whether it is the safe choice."""
    by = [metric for metric in verdict.metrics if verdict.winners[metric] == name]
    tags = []
    if len(by) == 2:
        tags.append(("best by both", colours.ink))
    elif by:
        colour = colours.first_text if by[0] == verdict.metrics[0] else colours.second_text
        tags.append((f"best by {called[by[0]]}", colour))
    return tags + ([("★ safe", colours.ink)] if name == verdict.safe_choice else [])


def _rug(ax: Axes, colours: Theme, row: int, marks: list[tuple[Mark, Mark]], limit: float) -> None:
    """Draw a tick for each of the models that have no row, and how many are off the scale."""
    for place, (lane, colour) in enumerate(zip(LANES, (colours.first, colours.second), strict=True)):
        inside = [pair[place].regret for pair in marks if pair[place].regret <= limit]
        ax.vlines(inside, row + lane - 0.17, row + lane + 0.17, color=colour, linewidth=1.2)
    off = sum(max(mark.regret for mark in pair) > limit for pair in marks)
    if off:
        words = f"{off} off scale ▸"
        ax.annotate(words, (1, row + 0.5), xycoords=("axes fraction", "data"), xytext=(6, 0), va="center",
                    textcoords="offset points", fontsize=8, color=colours.muted)  # fmt: skip


def _ruler(ax: Axes, colours: Theme, rows: int, verdict: Verdict, limit: float) -> None:
    end, y = 0.985 * limit, rows + 0.25
    ax.errorbar([end - verdict.detectable / 2], [y], xerr=verdict.detectable / 2, fmt="none", ecolor=colours.ink,
                elinewidth=1.2, capsize=3)  # fmt: skip
    words = f"smallest lead that {count(verdict.queries, 'query')} show: {mean(verdict.detectable)} "
    beside = ax.text(end - verdict.detectable, y, f"{words} ", ha="right", va="center", fontsize=8, color=colours.ink)
    beside.set_backgroundcolor(colours.face)


def _axes(ax: Axes, colours: Theme, limit: float) -> None:
    without_frame(ax)
    ax.axvline(0, color=colours.ink, linewidth=1.2, zorder=2)
    ax.locator_params(axis="x", nbins=6)
    ticks = [float(tick) for tick in ax.get_xticks() if 0 <= tick <= limit]
    ax.set_xticks(ticks, ["best", *(f"{tick:.12g}" for tick in ticks[1:])])
    ax.get_xticklabels()[0].set(weight="bold", color=colours.ink)
    ax.grid(axis="x", color=colours.grid, linewidth=0.8)
    ax.tick_params(axis="x", length=0)
    ax.set_yticks([])


def _legend(ax: Axes, colours: Theme, verdict: Verdict, below: float) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    first, second = verdict.metrics
    common = len(verdict.common_best)

    def key(marker: str, edge: str, fill: str) -> Line2D:
        return Line2D([], [], linestyle="", marker=marker, color=edge, markerfacecolor=fill, markersize=5.5)

    entries: list[tuple[Line2D | Patch, str]] = [
        (key("o", colours.first, colours.first), first),
        (key("D", colours.second, colours.second), second),
        (key("o", colours.muted, colours.muted), "may be best"),
        (key("o", colours.muted, colours.face), "ruled out as best"),
    ]
    if common:
        words = "best under both, proven" if verdict.kind == "agree" else "may be best under both"
        shade = Patch(facecolor=colours.shade, edgecolor=colours.rule)
        entries.append((shade, f"{words} ({common} of {len(verdict.models)})"))
    legend_below(ax, colours, *zip(*entries, strict=True), below=below, ncols=5, handletextpad=0.3, columnspacing=1.3)


def _in_words(
    verdict: Verdict,
    names: list[str],
    others: list[str],
    marks: Mapping[str, tuple[Mark, Mark]],
    short: Mapping[str, str],
) -> str:
    first, second = verdict.metrics
    text = [
        f"How far {count(len(verdict.models), 'model')} are behind the best under {first} and under {second}. "
        f"Safe choice: {short[verdict.safe_choice]}."
    ]
    if verdict.kind == "genuine":
        text.append(f"Price of disagreement: {mean(verdict.price)}.")
    for name in names:
        one, other = (f"{mean(mark.regret)}{' (ruled out)' if mark.ruled_out else ''}" for mark in marks[name])
        text.append(f"{short[name]}: {one} and {other}.")
    if others:
        text.append(f"{len(others)} more are in the leaderboard.")
    return " ".join(text)
