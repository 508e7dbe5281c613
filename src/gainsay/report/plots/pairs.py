"""Pairs of models under two metrics, the choices that reverse pairs, and the largest conflict that labels allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Rectangle

from ..._common.text import MINUS, format_difference, format_p_value, pluralize
from ...comparison.pairs import compute_advantages
from .style import annotate_beside, draw_legend_below, finish, mix_colors, remove_frame, start

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..._common.theme import Theme
    from ..._common.typing import Bools, Floats
    from ...comparison.comparison import Comparison
    from ...comparison.disagreement import DisagreementBound
    from ...comparison.sensitivity import Sensitivity
    from .style import Picture

MAX_INTERVALS = 45
"""Up to so many pairs have their intervals drawn."""

MAX_DESCRIBED = 12
"""Conflicts in the text alternative."""

PUBLIC = {
    "TREC Deep Learning 2019": 0.127,
    "TREC Deep Learning 2020": 0.122,
    "ClueWeb09 (4 folds)": 0.105,
    "LightGBM's example": 0.089,
}
"""Bounds of two rankings for linear and exponential NDCG@10 on public datasets.

They are `labels.two_rankings` in the files of the folder studies/results.
"""


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
    leads, lower, upper = (
        np.array([compute_advantages(pairs, metric, losses, of=column) for metric in metrics], dtype=np.float64)
        for column in ("difference", "lower", "upper")
    )
    turned = (leads[0] < 0) | ((leads[0] == 0) & (leads[1] < 0))
    sign = np.where(turned, -1.0, 1.0)
    x, y = leads = 0.0 + sign * leads
    conflict, p_values = pairs["conflict"].to_numpy(bool), pairs["p_holm"].to_numpy(float)
    proven = conflict & (p_values <= comparison.alpha)
    ends = np.stack([leads, sign * lower, sign * upper], axis=1)
    if 0 < len(pairs) <= MAX_INTERVALS and np.isfinite(ends).all():
        faint = mix_colors(colors.face, colors.muted, 0.4)
        ax.hlines(y, *ends[0, 1:], color=faint, linewidth=1, zorder=2)
        ax.vlines(x, *ends[1, 1:], color=faint, linewidth=1, zorder=2)
    else:
        ends = ends[:, :1]
    _scatter_pairs(ax, colors, leads, conflict, proven)
    _draw_halves(ax, colors, ends[0], ends[1], comparison.margin)
    ax.text(0.985, 0.02, f"opposite order: {metrics[1]} prefers the other one", transform=ax.transAxes, fontsize=8.5,
            style="italic", color=colors.muted, ha="right", va="bottom", parse_math=False)  # fmt: skip
    short = [[comparison.short_names[model] for model in pairs[side]] for side in ("model_x", "model_y")]
    names = [(second, first) if flip else (first, second) for first, second, flip in zip(*short, turned, strict=True)]
    strength = np.minimum(np.abs(x), np.abs(y))
    order = [place for place in np.lexsort((-strength, ~proven)).tolist() if conflict[place]]  # the proven ones first
    for place in order[:1]:
        right = -9 if x[place] > 0.7 * ax.get_xlim()[1] else 9
        label = f"\n{MINUS} ".join(names[place])
        annotate_beside(ax, label, (x[place], y[place]), right, color=colors.ink, size=8.5)
    alt = [
        f"Scatter plot of {pluralize(len(pairs), 'pair')} of models, lead under {metrics[0]} across, under "
        f"{metrics[1]} up. {pluralize(len(order), 'pair')} in opposite order, {proven.sum()} of them significantly."
    ]
    alt += [
        f"{f' {MINUS} '.join(names[place])}: {format_difference(x[place])} and {format_difference(y[place])}, "
        f"{format_p_value(p_values[place])}."
        for place in order[:MAX_DESCRIBED]
    ]
    alt += [f"{len(order) - MAX_DESCRIBED} more are in the table of pairs."] if len(order) > MAX_DESCRIBED else []
    pair = " and ".join(side[0] for side in short) if len(pairs) == 1 else ""
    title = _state_conflicts(pair, p_values, conflict, proven)
    picture = finish(ax, colors, title, " ".join(alt), *(f"lead under {metric}" for metric in metrics))
    ax.xaxis.label.set_color(colors.first_text)
    ax.yaxis.label.set_color(colors.second_text)
    return picture


def _draw_halves(ax: Axes, colors: Theme, x: Floats, y: Floats, margin: float) -> None:
    """Draw the axes at 0, the shaded half of opposite order, and the margin around 0, with space for all points."""
    right, height = (max(float(np.abs(values).max(initial=0.0)), 1e-6) for values in (x, y))
    low, high = 1.14 * min(y.min(initial=0.0), -0.08 * height), 1.14 * max(y.max(initial=0.0), 0.08 * height)
    right *= 1.1
    ax.set_xlim(1.08 * min(x.min(initial=0.0), -0.03 * right), right)
    ax.set_ylim(low, high)
    ax.locator_params(axis="x", nbins=7)
    ax.add_patch(Rectangle((0, low), right, -low, color=colors.shade, linewidth=0, zorder=0))
    ax.axhline(0, color=colors.ink, linewidth=1, zorder=1)
    ax.axvline(0, color=colors.ink, linewidth=1, zorder=1)
    if margin > 0:
        box = (-margin, -margin), 2 * margin, 2 * margin
        ax.add_patch(Rectangle(*box, fill=False, linestyle=":", zorder=1, edgecolor=colors.muted))


def _scatter_pairs(ax: Axes, colors: Theme, leads: Floats, conflict: Bools, proven: Bools) -> None:
    """Draw the points, diamonds for conflicts, filled for significant ones, and the legend."""
    for label, here, marker, edge, fill, size in (
        ("same order", ~conflict, "o", colors.muted, colors.face, 22),
        ("opposite order", conflict & ~proven, "D", colors.ink, colors.face, 32),
        ("opposite order, significant (Holm)", proven, "D", colors.ink, colors.ink, 36),
    ):
        x, y = leads[:, here]
        label = f"{label} ({here.sum()})"
        ax.scatter(x, y, s=size, marker=marker, facecolor=fill, edgecolor=edge, zorder=3, label=label)
    draw_legend_below(ax, colors, handletextpad=0.2, columnspacing=1.0)


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


def plot_sensitivity(sensitivity: Sensitivity, ax: Axes | None = None, theme: str = "light") -> Picture:
    """Draw the share of reversed pairs for each choice, with its interval.

    Parameters
    ----------
    sensitivity : Sensitivity
        From `Comparison.sensitivity`.
    ax : Axes, optional
        Axes to draw on, by default those of a new figure that pyplot does not manage.
    theme : {"light", "dark"}

    Raises
    ------
    ValueError
        If the comparison has no other choice.

    Examples
    --------
    >>> import gainsay as gs
    >>> judgments = gs.Judgments([2, 1, 1, 0] * 40, group=[4] * 40)
    >>> orders = [[3, 1, 2, 4], [1, 4, 3, 2], [4, 1, 3, 2], [1, 2, 4, 3], [2, 4, 3, 1]]
    >>> scores = {f"model {number}": order * 40 for number, order in enumerate(orders)}
    >>> gs.compare(scores, judgments, ["ndcg_linear@2", "ndcg_exp@2"]).plot.sensitivity()
    <Picture: Of 7 choices, the gain reverses most pairs.>
    """
    table = sensitivity.table.iloc[::-1]
    if not len(table):
        raise ValueError("The comparison has no other choice to draw. Compare models with scores.")
    ax, colors = start(ax, theme, (7.6, 1.3 + 0.32 * len(table)))
    remove_frame(ax, colors, 7)
    ax.set_yticks(range(len(table)), table["choice"], parse_math=False)
    for row, (choice, label) in enumerate(zip(table.to_dict("records"), ax.get_yticklabels(), strict=True)):
        color = colors.first if choice["kind"] == "gain" else colors.ink
        label.set_color(color)
        if np.isfinite(choice["lower"]):
            ends = [100 * choice["lower"], 100 * choice["upper"]]
            ax.plot(ends, [row, row], color=color, lw=2.4, alpha=0.45, solid_capstyle="round")
        ax.plot([100 * choice["reversed"]], [row], marker="o", markersize=6.5, color=color)
    ax.set_xlim(left=0)
    x = f"reversed pairs of models in the order of {sensitivity.reference}, in percent"
    return finish(ax, colors, sensitivity.headline, sensitivity.text, x, left=0.4)


def plot_bound(bound: DisagreementBound, ax: Axes | None = None, theme: str = "light") -> Picture:
    """Draw the bound of two rankings, next to public datasets if the metrics are the usual two NDCG@10.

    Parameters
    ----------
    bound : DisagreementBound
        From `gainsay.disagreement_bound`.
    ax : Axes, optional
        Axes to draw on, by default those of a new figure that pyplot does not manage.
    theme : {"light", "dark"}

    Examples
    --------
    >>> import gainsay as gs
    >>> plot_bound(gs.disagreement_bound(gs.Judgments([3, 1, 1, 1, 0, 0], group=[6]), k=3))
    <Picture: Two rankings can be in conflict by 0.16 at most>
    """
    public = PUBLIC if bound.metrics == ("ndcg_linear@10", "ndcg_exp@10") else {}
    values = sorted([(bound.two_rankings, "these labels"), *((value, name) for name, value in public.items())])
    ax, colors = start(ax, theme, (7.0, 1.4 + 0.35 * len(values)))
    remove_frame(ax, colors, 6)
    for row, (value, name) in enumerate(values):
        ax.barh(row, value, height=0.55, color=colors.muted if name in PUBLIC else colors.first)
        style: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 9, "color": colors.ink}
        ax.annotate(f"{value:.3f}", (value, row), (4, 0), **style)
    ax.set_yticks(range(len(values)), [name for _, name in values])
    title = f"Two rankings can be in conflict by {bound.two_rankings:.2g} at most"
    first, second = bound.metrics
    return finish(ax, colors, title, bound.text, f"largest conflict between {first} and {second}", left=0.3)
