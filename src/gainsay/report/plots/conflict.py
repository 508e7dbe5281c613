"""Every pair of models under both metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._common.words import count, p_value
from ...comparison.pairs import advantages
from ..numbers import MINUS, difference
from .labels import label_points
from .style import finish, legend_below, mixed, start

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from ..._common.typing import Bools, Floats
    from ...comparison.findings import Findings
    from .picture import Picture

__all__ = ["plot_conflict"]

MOST_INTERVALS = 45
"""Up to so many pairs have their intervals drawn."""

MOST_NAMED = 3


def plot_conflict(comparison: Findings, ax: Axes | None = None, theme: str = "light") -> Picture:
    """Draw one point per pair of models: its lead under the first metric against its lead under the second.

    Every pair is put so that the first metric prefers its first model (of a loss the lower mean leads), so no point
    stands left of 0; in the shaded half, below 0, the second metric prefers the other one. Diamonds are such conflicts,
    filled where significant after Holm's correction over all pairs; circles are pairs on which the metrics agree. With
    45 pairs or fewer, lines show the simultaneous confidence intervals of both leads.

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
    Picture
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    ax, colours = start(ax, theme, (6.4, 5.4))
    first, second = comparison.verdict.metrics
    pairs = comparison.pairs
    losses = comparison.lower_is_better
    leads = np.array([advantages(pairs, metric, losses) for metric in (first, second)], dtype=np.float64)
    turned = (leads[0] < 0) | ((leads[0] == 0) & (leads[1] < 0))
    sign = np.where(turned, -1.0, 1.0)
    x, y = leads = 0.0 + sign * leads
    conflict = pairs["conflict"].to_numpy(bool)
    proven = conflict & (pairs["p_holm"].to_numpy(float) <= comparison.alpha)
    intervals = _intervals(pairs, (first, second), losses, sign) if len(pairs) <= MOST_INTERVALS else []
    right, reach = (max(float(np.abs(values).max(initial=0.0)), 1e-6) for values in (x, y))
    low, high = (max(float((side * y).max(initial=0.0)), 0.08 * reach) for side in (-1, 1))
    left = 0.03 * right
    if intervals:
        left, right = max(left, -float(intervals[0].min())), max(right, float(intervals[0].max()))
        low, high = max(low, -float(intervals[1].min())), max(high, float(intervals[1].max()))
    corners = (-1.08 * left, 1.1 * right, -1.14 * low, 1.14 * high)
    ax.set_xlim(*corners[:2])
    ax.set_ylim(*corners[2:])
    ax.locator_params(axis="x", nbins=7)
    ax.add_patch(Rectangle((0, corners[2]), corners[1], -corners[2], color=colours.shade, linewidth=0, zorder=0))
    ax.axhline(0, color=colours.ink, linewidth=1, zorder=1)
    ax.axvline(0, color=colours.ink, linewidth=1, zorder=1)
    if comparison.rope > 0:
        box = (-comparison.rope, -comparison.rope)
        width = 2 * comparison.rope
        ax.add_patch(Rectangle(box, width, width, fill=False, edgecolor=colours.muted, linestyle=":", zorder=1))
    for ends, across in zip(intervals, (True, False), strict=False):
        draw = ax.hlines if across else ax.vlines
        draw(y if across else x, ends[0], ends[1], color=mixed(colours.face, colours.muted, 0.4), linewidth=1, zorder=2)
    kinds = [
        ("same order", ~conflict, "o", colours.muted, colours.face, 22),
        ("opposite order", conflict & ~proven, "D", colours.ink, colours.face, 32),
        ("opposite order, significant (Holm)", proven, "D", colours.ink, colours.ink, 36),
    ]
    handles = []
    for _, here, marker, edge, fill, size in kinds:
        ax.scatter(x[here], y[here], s=size, marker=marker, facecolor=fill, edgecolor=edge, zorder=3)
        handles.append(Line2D([], [], marker=marker, color=edge, markerfacecolor=fill, linestyle="", markersize=5.5))
    labels = [f"{label} ({here.sum()})" for label, here, *_ in kinds]
    legend_below(ax, colours, handles, labels, handletextpad=0.2, columnspacing=1.0)
    ax.text(0.985, 0.02, f"opposite order: {second} prefers the other one", transform=ax.transAxes, fontsize=8.5,
            style="italic", color=colours.muted, ha="right", va="bottom", parse_math=False)  # fmt: skip
    short = comparison.short_names
    rows = pairs.to_dict("records")
    order = _strongest(conflict, proven, x, y)
    sides = [("model_y", "model_x") if flip else ("model_x", "model_y") for flip in turned]
    names = [f" {MINUS} ".join(short[rows[place][side]] for side in sides[place]) for place in order]
    points = list(zip(x.tolist(), y.tolist(), strict=True))
    named = {points[place]: name for place, name in reversed(list(zip(order, names, strict=True)))}  # one name a point
    chosen = list(dict.fromkeys(points[place] for place in order))[:MOST_NAMED]
    texts = [named[point].replace(f" {MINUS} ", f"\n{MINUS} ") for point in chosen]
    axes = [[(corners[0], 0.0), (corners[1], 0.0)], [(0.0, corners[2]), (0.0, corners[3])]]
    label_points(ax, chosen, texts, colours.ink, around=points, lines=axes)
    return finish(
        ax,
        colours,
        _finding(rows, conflict, proven, short),
        _in_words(rows, (first, second), leads, order, names, proven),
        x=f"lead under {first}",
        y=f"lead under {second}",
        x_colour=colours.first_text,
        y_colour=colours.second_text,
    )


def _intervals(pairs: pd.DataFrame, metrics: tuple[str, str], losses: Sequence[str], sign: Floats) -> list[Floats]:
    """Return both ends of the intervals under both metrics; nothing where one of them is infinite."""
    ends = [
        sign * np.array([advantages(pairs, metric, losses, of=end) for end in ("lower", "upper")], dtype=float)
        for metric in metrics
    ]
    return ends if len(pairs) and all(np.isfinite(end).all() for end in ends) else []


def _strongest(conflict: Bools, proven: Bools, x: Floats, y: Floats) -> list[int]:
    """Return the places of the conflicts: the proven ones first, then by the smaller of the two differences."""
    strength = np.minimum(np.abs(x), np.abs(y))
    return [int(place) for place in np.lexsort((-strength, ~proven)) if conflict[place]]


def _finding(pairs: list[dict[Any, Any]], conflict: Bools, proven: Bools, short: dict[str, str]) -> str:
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
    leads: Floats,
    order: list[int],
    names: list[str],
    proven: Bools,
) -> str:
    first, second = metrics
    text = [
        f"Scatter plot of {count(len(pairs), 'pair')} of models, lead under {first} across, under {second} up. "
        f"{count(len(order), 'pair')} in opposite order, {int(proven.sum())} of them significantly."
    ]
    for place, name in list(zip(order, names, strict=True))[:12]:
        one, other = (difference(float(lead[place])) for lead in leads)
        text.append(f"{name}: {one} and {other}, {p_value(pairs[place]['p_holm'])}.")
    if len(order) > 12:
        text.append(f"{len(order) - 12} more are in the table of pairs.")
    return " ".join(text)
