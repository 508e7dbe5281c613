"""Pairs of models under one metric against the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._common.words import MINUS, format_difference, format_p_value, pluralize
from ...comparison.pairs import compute_advantages
from .style import beside, finish, legend_below, mixed, start

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from ..._common.theme import Theme
    from ..._common.typing import Bools, Floats
    from ...comparison.comparison import Comparison
    from .picture import Picture


MAX_INTERVALS = 45
"""Up to so many pairs have their intervals drawn."""


def plot_conflict(comparison: Comparison, ax: Axes | None = None, theme: str = "light") -> Picture:
    """Draw one point per pair of models: its difference under the first metric against that under the second.

    Every pair is ordered so that the first metric prefers its first model, so no point is left of 0. In the shaded
    half, below 0, the second metric prefers the other model. Diamonds are such conflicts, filled if significant after
    Holm's adjustment over all pairs. Circles are pairs without a conflict. With 45 pairs or fewer, lines show
    the simultaneous confidence intervals of both differences.

    Parameters
    ----------
    comparison : Comparison
        Two models or more under two metrics or more.
    ax : Axes, optional
        The axes to draw on, by default those of a new figure that pyplot does not manage.
    theme : {"light", "dark"}
        Colors.

    Returns
    -------
    Picture
    """
    ax, colors = start(ax, theme, (6.4, 5.4))
    metrics, pairs, losses = comparison.verdict.metrics, comparison.pairs, comparison.lower_is_better
    leads = np.array([compute_advantages(pairs, metric, losses) for metric in metrics], dtype=np.float64)
    turned = (leads[0] < 0) | ((leads[0] == 0) & (leads[1] < 0))
    sign = np.where(turned, -1.0, 1.0)
    x, y = leads = 0.0 + sign * leads
    conflict, p_values = pairs["conflict"].to_numpy(bool), pairs["p_holm"].to_numpy(float)
    proven = conflict & (p_values <= comparison.alpha)
    intervals = _intervals(pairs, metrics, losses, sign) if len(pairs) <= MAX_INTERVALS else []
    if intervals:
        faint = mixed(colors.face, colors.muted, 0.4)
        ax.hlines(y, *intervals[0], color=faint, linewidth=1, zorder=2)
        ax.vlines(x, *intervals[1], color=faint, linewidth=1, zorder=2)
    _scatter_pairs(ax, colors, leads, conflict, proven)
    _draw_halves(ax, colors, [x, *intervals[:1]], [y, *intervals[1:]], comparison.margin)
    ax.text(0.985, 0.02, f"opposite order: {metrics[1]} prefers the other one", transform=ax.transAxes, fontsize=8.5,
            style="italic", color=colors.muted, ha="right", va="bottom", parse_math=False)  # fmt: skip
    short = [[comparison.short_names[model] for model in pairs[side]] for side in ("model_x", "model_y")]
    names = [(second, first) if flip else (first, second) for first, second, flip in zip(*short, turned, strict=True)]
    strength = np.minimum(np.abs(x), np.abs(y))
    order = [place for place in np.lexsort((-strength, ~proven)).tolist() if conflict[place]]  # the proven ones first
    for place in order[:1]:
        is_left = x[place] > 0.7 * ax.get_xlim()[1]
        beside(ax, f"\n{MINUS} ".join(names[place]), (x[place], y[place]), (-9 if is_left else 9, 0),
               color=colors.ink, size=8.5)  # fmt: skip
    sentences = [
        f"{f' {MINUS} '.join(names[place])}: {format_difference(x[place])} and {format_difference(y[place])}, "
        f"{format_p_value(p_values[place])}."
        for place in order[:12]
    ]
    pair = " and ".join(side[0] for side in short) if len(pairs) == 1 else ""
    title = _state_conflicts(pair, p_values, conflict, proven)
    return finish(
        ax, colors, title, _describe_conflicts(sentences, len(pairs), len(order), int(proven.sum()), metrics),
        x=f"lead under {metrics[0]}", x_color=colors.first_text,
        y=f"lead under {metrics[1]}", y_color=colors.second_text,
    )  # fmt: skip


def _draw_halves(ax: Axes, colors: Theme, x: list[Floats], y: list[Floats], margin: float) -> None:
    """Draw the axes at 0, the shaded half of opposite order, and the margin around 0, with space for all points."""
    from matplotlib.patches import Rectangle

    x_values, y_values = (np.concatenate([np.ravel(part) for part in parts]) for parts in (x, y))
    right, height = (max(float(np.abs(values).max(initial=0.0)), 1e-6) for values in (x_values, y_values))
    low, high = min(y_values.min(initial=0.0), -0.08 * height), max(y_values.max(initial=0.0), 0.08 * height)
    low, high, right = 1.14 * low, 1.14 * high, 1.1 * right
    ax.set_xlim(1.08 * min(x_values.min(initial=0.0), -0.03 * right), right)
    ax.set_ylim(low, high)
    ax.locator_params(axis="x", nbins=7)
    ax.add_patch(Rectangle((0, low), right, -low, color=colors.shade, linewidth=0, zorder=0))
    ax.axhline(0, color=colors.ink, linewidth=1, zorder=1)
    ax.axvline(0, color=colors.ink, linewidth=1, zorder=1)
    if margin > 0:
        box = Rectangle((-margin, -margin), 2 * margin, 2 * margin, fill=False, linestyle=":", zorder=1)
        box.set_edgecolor(colors.muted)
        ax.add_patch(box)


def _scatter_pairs(ax: Axes, colors: Theme, leads: Floats, conflict: Bools, proven: Bools) -> None:
    """Draw the points, diamonds for conflicts, filled for significant ones, and the legend."""
    for label, here, marker, edge, fill, size in (
        ("same order", ~conflict, "o", colors.muted, colors.face, 22),
        ("opposite order", conflict & ~proven, "D", colors.ink, colors.face, 32),
        ("opposite order, significant (Holm)", proven, "D", colors.ink, colors.ink, 36),
    ):
        ax.scatter(leads[0][here], leads[1][here], s=size, marker=marker, facecolor=fill, edgecolor=edge, zorder=3,
                   label=f"{label} ({here.sum()})")  # fmt: skip
    legend_below(ax, colors, handletextpad=0.2, columnspacing=1.0)


def _intervals(pairs: pd.DataFrame, metrics: tuple[str, str], losses: Sequence[str], sign: Floats) -> list[Floats]:
    """Return both ends of the intervals under both metrics, or None if one of them is infinite."""
    ends = [
        sign * np.array([compute_advantages(pairs, metric, losses, of=end) for end in ("lower", "upper")], dtype=float)
        for metric in metrics
    ]
    return ends if len(pairs) and all(np.isfinite(end).all() for end in ends) else []


def _state_conflicts(pair: str, p_values: Floats, conflict: Bools, proven: Bools) -> str:
    conflicts, pairs = int(conflict.sum()), pluralize(len(conflict), "pair")
    if pair and conflicts:
        return f"The two metrics put {pair} in opposite order ({format_p_value(p_values[0])})"
    if pair:
        return f"The two metrics do not put {pair} in opposite order"
    if not conflicts:
        return f"None of {pairs} of models is in opposite order under the two metrics"
    verb, significant = "is" if conflicts == 1 else "are", int(proven.sum()) or "none"
    return f"{conflicts} of {pairs} of models {verb} in opposite order, {significant} significantly"


def _describe_conflicts(sentences: list[str], pairs: int, conflicts: int, proven: int, metrics: tuple[str, str]) -> str:
    first, second = metrics
    opening = (
        f"Scatter plot of {pluralize(pairs, 'pair')} of models, lead under {first} across, under {second} up. "
        f"{pluralize(conflicts, 'pair')} in opposite order, {proven} of them significantly."
    )
    more = [f"{conflicts - 12} more are in the table of pairs."] if conflicts > 12 else []
    return " ".join([opening, *sentences, *more])
