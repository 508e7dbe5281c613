"""Every pair of models under both metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._common.words import count, p_value
from ...comparison.pairs import advantages, common_column
from ..numbers import MINUS, difference
from .labels import label_points
from .style import finish, legend_below, start

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from ...comparison.findings import Findings

__all__ = ["plot_conflict"]

MOST_INTERVALS = 45
"""Up to so many pairs have their intervals drawn."""

MOST_NAMED = 3


def plot_conflict(comparison: Findings, ax: Axes | None = None, theme: str = "light") -> Axes:
    """Draw one point per pair of models: its difference under the first metric against that under the second.

    Differences of a loss are turned round, so that above 0 the first model is better. In the shaded quadrants the
    metrics prefer different models. Diamonds are such conflicts, filled where significant
    after Holm's correction over all pairs; circles are pairs on which the metrics agree. With 45 pairs or fewer, lines
    show the simultaneous confidence intervals of both differences.

    Parameters
    ----------
    comparison : Findings
        Two models or more under two metrics or more.
    ax : Axes, optional
        Where to draw; by default a new figure that is not known to pyplot.
    theme : {"light", "dark"}
        Colours.

    Returns
    -------
    Axes
        With its text alternative: see `alt_text`.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    ax, colours = start(ax, theme, (6.4, 5.4))
    first, second = comparison.verdict.metrics
    pairs = comparison.pairs
    columns = [common_column(pairs, f"difference {metric}") for metric in (first, second)]
    losses = comparison.lower_is_better
    x, y = (advantages(pairs, metric, losses).to_numpy(float) for metric in (first, second))
    conflict = pairs["conflict"].to_numpy(bool)
    proven = conflict & (pairs["p_holm"].to_numpy(float) <= comparison.alpha)
    reach = [1.12 * max(float(np.abs(values).max(initial=0.0)), 1e-6) for values in (x, y)]
    intervals = _intervals(pairs, (first, second), losses) if len(pairs) <= MOST_INTERVALS else []
    if intervals:
        reach = [max(known, 1.08 * float(np.abs(ends).max())) for known, ends in zip(reach, intervals, strict=True)]
    ax.set_xlim(-reach[0], reach[0])
    ax.set_ylim(-reach[1], reach[1])
    ax.locator_params(axis="x", nbins=7)
    for corner in ((0.0, -reach[1]), (-reach[0], 0.0)):
        ax.add_patch(Rectangle(corner, *reach, color=colours.shade, linewidth=0, zorder=0))
    ax.axhline(0, color=colours.muted, linewidth=0.8, zorder=1)
    ax.axvline(0, color=colours.muted, linewidth=0.8, zorder=1)
    if comparison.rope > 0:
        box = (-comparison.rope, -comparison.rope)
        side = 2 * comparison.rope
        ax.add_patch(Rectangle(box, side, side, fill=False, edgecolor=colours.muted, linestyle=":", zorder=1))
    for ends, across in zip(intervals, (True, False), strict=False):
        draw = ax.hlines if across else ax.vlines
        draw(y if across else x, ends[0], ends[1], color=colours.grid, linewidth=1.1, zorder=2)
    kinds = [
        ("same order under both", ~conflict, "o", colours.first, "none", 26),
        ("opposite order", conflict & ~proven, "D", colours.second, colours.face, 34),
        ("opposite order, significant (Holm)", proven, "D", colours.second, colours.second, 40),
    ]
    handles = []
    for _, here, marker, edge, fill, size in kinds:
        ax.scatter(x[here], y[here], s=size, marker=marker, facecolor=fill, edgecolor=edge, zorder=3)
        handles.append(Line2D([], [], marker=marker, color=edge, markerfacecolor=fill, linestyle="", markersize=5.5))
    labels = [f"{label} ({here.sum()})" for label, here, *_ in kinds]
    legend_below(ax, colours, handles, labels, handletextpad=0.2, columnspacing=1.0)
    for place, where in {"x": (0.985, 0.02), "y": (0.015, 0.98)}.items():
        ax.text(
            *where,
            "opposite order",
            transform=ax.transAxes,
            fontsize=8.5,
            style="italic",
            color=colours.muted,
            ha="right" if place == "x" else "left",
            va="bottom" if place == "x" else "top",
        )
    short = comparison.short_names
    rows = pairs.to_dict("records")
    order = _strongest(conflict, proven, x, y)
    names = [f"{short[rows[place]['model_x']]} {MINUS} {short[rows[place]['model_y']]}" for place in order]
    points = list(zip(x.tolist(), y.tolist(), strict=True))
    named = {points[place]: name for place, name in reversed(list(zip(order, names, strict=True)))}  # one name a point
    chosen = list(dict.fromkeys(points[place] for place in order))[:MOST_NAMED]
    texts = [named[point].replace(f" {MINUS} ", f"\n{MINUS} ") for point in chosen]
    axes = [[(-reach[0], 0.0), (reach[0], 0.0)], [(0.0, -reach[1]), (0.0, reach[1])]]
    label_points(ax, chosen, texts, colours.ink, around=points, lines=axes)
    return finish(
        ax,
        colours,
        _finding(rows, conflict, proven, short),
        _in_words(rows, (first, second), columns, order, names, proven),
        x=f"difference under {first}, {'second model − first' if first in losses else 'first model − second'}",
        y=f"difference under {second}{_turned(first, second, losses)}",
    )


def _turned(first: str, second: str, losses: Sequence[str]) -> str:
    """Return how to read the differences of the second metric where they are not to be read as the first's are."""
    if (first in losses) == (second in losses):
        return ""
    return f", {'second model − first' if second in losses else 'first model − second'}"


def _intervals(pairs: pd.DataFrame, metrics: tuple[str, str], losses: Sequence[str]) -> list[Any]:
    """Return both ends of the intervals under both metrics; nothing where one of them is infinite."""
    ends = [
        np.array([advantages(pairs, metric, losses, of=end) for end in ("lower", "upper")], dtype=float)
        for metric in metrics
    ]
    return ends if len(pairs) and all(np.isfinite(end).all() for end in ends) else []


def _strongest(conflict: Any, proven: Any, x: Any, y: Any) -> list[int]:
    """Return the places of the conflicts: the proven ones first, then by the smaller of the two differences."""
    strength = np.minimum(np.abs(x), np.abs(y))
    return [int(place) for place in np.lexsort((-strength, ~proven)) if conflict[place]]


def _finding(pairs: list[dict[Any, Any]], conflict: Any, proven: Any, short: dict[str, str]) -> str:
    found = int(conflict.sum())
    if len(pairs) == 1:
        pair = f"{short[pairs[0]['model_x']]} and {short[pairs[0]['model_y']]}"
        if found:
            return f"The two metrics put {pair} in opposite order ({p_value(pairs[0]['p_holm'])})"
        return f"The two metrics do not put {pair} in opposite order"
    if not found:
        return f"None of {count(len(pairs), 'pair')} of models is in opposite order under the two metrics"
    sure = int(proven.sum())
    return (
        f"{found} of {count(len(pairs), 'pair')} of models {'is' if found == 1 else 'are'} in opposite order, "
        f"{sure if sure else 'none'} significantly"
    )


def _in_words(
    pairs: list[dict[Any, Any]],
    metrics: tuple[str, str],
    columns: list[str],
    order: list[int],
    names: list[str],
    proven: Any,
) -> str:
    first, second = metrics
    text = [
        f"Scatter plot of {count(len(pairs), 'pair')} of models, difference under {first} across, under {second} up. "
        f"{count(len(order), 'pair')} in opposite order, {int(proven.sum())} of them significantly."
    ]
    for place, name in list(zip(order, names, strict=True))[:12]:
        one, other = (difference(pairs[place][column]) for column in columns)
        text.append(f"{name}: {one} and {other}, {p_value(pairs[place]['p_holm'])}.")
    if len(order) > 12:
        text.append(f"{len(order) - 12} more are in the table of pairs.")
    return " ".join(text)
