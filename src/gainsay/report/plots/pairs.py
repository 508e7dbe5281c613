"""Models and pairs of models under one metric against the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._common.shown import listed_short
from ..._common.words import MINUS, amount, count, format_difference, format_mean, p_value
from ...comparison.pairs import compute_advantages
from .style import finish, key, legend_below, looks, mixed, name_points, start

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from ..._common.palette import Theme
    from ..._common.typing import Bools, Floats
    from ...comparison.comparison import Comparison
    from ...comparison.verdict import Verdict
    from .picture import Picture
    from .style import Point


MAX_NAMED_MODELS = 10
"""Up to so many models all have their names beside them, beyond that only those that matter."""

FEW = 4
"""A confidence set of so many models is named whole, however many models there are."""


def pareto_front(verdict: Verdict) -> tuple[str, ...]:
    """Return the models that no other beats under both metrics, the best under the first metric first.

    A model is left out if another one is at least as good under both metrics and better under one.
    """
    first, second = (verdict.regrets[metric] for metric in verdict.metrics)
    at = {name: (first[name], second[name]) for name in verdict.models}
    front = [
        name for name, (x, y) in at.items() if not any((a <= x and b <= y) and (a < x or b < y) for a, b in at.values())
    ]
    return tuple(sorted(front, key=lambda name: at[name]))


def plot_regret(comparison: Comparison, ax: Axes | None = None, theme: str = "light") -> Picture:
    """Draw one point per model: its regret under the first metric against its regret under the second.

    The corner at 0 | 0 is best under both. Filled marks may be best under both (the confidence set), hollow ones are
    ruled out. A star marks the safe choice. A blue circle and an orange diamond mark two different winners. A line
    joins the Pareto front, the models that no other beats under both metrics. A dotted box shows the margin. Models far
    from all of these are triangles at the edge. Beyond ten models, only those on the front, the winners, the safe
    choice and a small confidence set have names. Parameters and result are those of `plot_conflict`.
    """
    from matplotlib.patches import Rectangle

    ax, colours = start(ax, theme, (6.4, 5.4))
    verdict, short = comparison.verdict, comparison.short_names
    first, second = verdict.metrics
    front = pareto_front(verdict)
    at = {name: (verdict.regrets[first][name], verdict.regrets[second][name]) for name in verdict.models}
    furthest = max(max(at[name]) for name in {*front, *verdict.winners.values(), verdict.safe_choice})
    everyone = max(max(point) for point in at.values())
    limit = max(
        1.15 * everyone if everyone <= 4 * furthest or not furthest else 3 * furthest, 1.6 * verdict.margin, 1e-6
    )
    drawn = {name: (min(x, limit), min(y, limit)) for name, (x, y) in at.items()}
    away = [name for name in verdict.models if max(at[name]) > limit]
    ax.set_xlim(-0.06 * limit, 1.03 * limit)
    ax.set_ylim(-0.06 * limit, 1.03 * limit)
    ax.axhline(0, color=colours.ink, linewidth=1, zorder=0)
    ax.axvline(0, color=colours.ink, linewidth=1, zorder=0)
    if verdict.margin > 0:
        label = f"negligible (margin {amount(verdict.margin)})"
        box = Rectangle((0, 0), verdict.margin, verdict.margin, facecolor="none", edgecolor=colours.muted)
        box.set(linestyle=":", linewidth=1.4, label=label)
        ax.add_patch(box)
    if len(front) > 1:
        steps = [drawn[name] for name in front]
        ax.plot(*zip(*steps, strict=True), color=colours.muted, linewidth=1.2, zorder=1, label="Pareto front")
    _scatter(ax, colours, verdict, drawn, away)
    legend_below(ax, colours, handletextpad=0.4, columnspacing=1.2)
    named = _named(verdict, front, away)
    points, texts = [drawn[name] for name in named], [short[name] for name in named]
    name_points(ax, points, texts, colours.ink, list(drawn.values()))
    return finish(
        ax, colours, _state_regret(verdict, short), _describe_regrets(verdict, at, front, short),
        x=f"behind the best under {first}", x_colour=colours.first_text,
        y=f"behind the best under {second}", y_colour=colours.second_text,
    )  # fmt: skip


def _named(verdict: Verdict, front: tuple[str, ...], away: list[str]) -> list[str]:
    """Return the models that get their names, the most important first."""
    order = [verdict.safe_choice, *verdict.winners.values(), *front]
    if len(verdict.models) <= MAX_NAMED_MODELS or len(verdict.common_best) <= FEW:
        order += verdict.common_best
    if len(verdict.models) <= MAX_NAMED_MODELS:
        order += [name for name in verdict.models if name not in away]
    return list(dict.fromkeys(order))[:MAX_NAMED_MODELS]


def _scatter(ax: Axes, colours: Theme, verdict: Verdict, drawn: Mapping[str, Point], away: list[str]) -> None:
    """Draw the models: a winner has the mark and the colour of its metric, the others are ink."""
    safe, winners = verdict.safe_choice, verdict.winners
    alone = winners if len(set(winners.values())) > 1 else {}
    special = {safe, *alone.values()}
    common = [name for name in verdict.models if name in verdict.common_best and name not in special]
    others = [name for name in verdict.models if name not in {*common, *away, *special}]
    beyond = [name for name in away if name not in special]
    kinds = [
        (f"ruled out as best under both ({len(others)})", others, "o", colours.muted, 32, 3),
        (f"may be best under both ({len(common)})", common, "o", colours.ink, 36, 4),
        (f"further out ({len(beyond)})", beyond, "^", colours.muted, 30, 3),
    ]
    kinds += [
        (f"best by {metric}", [alone[metric]], look.marker, look.colour, size, 5)
        for metric, look, size in zip(verdict.metrics, looks(colours), (60, 46), strict=True)
        if alone.get(metric, safe) != safe
    ]
    kinds.append(("safe choice", [safe], "*", colours.ink, 190, 6))
    for label, names, marker, edge, size, above in kinds:
        if names:
            x, y = zip(*(drawn[name] for name in names), strict=True)
            filled = marker != "^" and names[0] in verdict.common_best
            ax.scatter(x, y, s=size, marker=marker, facecolor=edge if filled else colours.face, edgecolor=edge,
                       linewidth=1.3, zorder=above, label=label, clip_on=False)  # fmt: skip


def _state_regret(verdict: Verdict, short: Mapping[str, str]) -> str:
    safe = short[verdict.safe_choice]
    if verdict.safe_regret == 0:
        return f"{safe} is behind no other model under either metric"
    return f"{safe} is the safe choice: {format_mean(verdict.safe_regret)} behind under the metric that likes it less"


def _describe_regrets(
    verdict: Verdict, at: Mapping[str, Point], front: tuple[str, ...], short: Mapping[str, str]
) -> str:
    first, second = verdict.metrics
    order = sorted(verdict.models, key=lambda name: max(at[name]))
    points = [f"{short[name]}: {format_mean(at[name][0])} and {format_mean(at[name][1])}." for name in order[:12]]
    more = [f"{len(order) - 12} more are in the leaderboard."] if len(order) > 12 else []
    opening = (
        f"Scatter plot of {count(len(order), 'model')}, how far behind the best under {first} across, "
        f"under {second} up. "
        f"Safe choice: {short[verdict.safe_choice]}. Pareto front: {listed_short(front, short)}. "
        f"May be best under both: {listed_short(verdict.common_best, short)}."
    )
    return " ".join([opening, *points, *more])


MAX_INTERVALS = 45
"""Up to so many pairs have their intervals drawn."""

MAX_NAMED_PAIRS = 3


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
    from matplotlib.patches import Rectangle

    ax, colours = start(ax, theme, (6.4, 5.4))
    metrics, pairs, losses = comparison.verdict.metrics, comparison.pairs, comparison.lower_is_better
    leads = np.array([compute_advantages(pairs, metric, losses) for metric in metrics], dtype=np.float64)
    turned = (leads[0] < 0) | ((leads[0] == 0) & (leads[1] < 0))
    sign = np.where(turned, -1.0, 1.0)
    x, y = leads = 0.0 + sign * leads
    conflict, p_values = pairs["conflict"].to_numpy(bool), pairs["p_holm"].to_numpy(float)
    proven = conflict & (p_values <= comparison.alpha)
    intervals = _intervals(pairs, metrics, losses, sign) if len(pairs) <= MAX_INTERVALS else []
    right, reach = (max(float(np.abs(values).max(initial=0.0)), 1e-6) for values in (x, y))
    low, high = (max(float((side * y).max(initial=0.0)), 0.08 * reach) for side in (-1, 1))
    left = 0.03 * right
    if intervals:
        left, right = max(left, -float(intervals[0].min())), max(right, float(intervals[0].max()))
        low, high = max(low, -float(intervals[1].min())), max(high, float(intervals[1].max()))
    left, right, low, high = -1.08 * left, 1.1 * right, -1.14 * low, 1.14 * high
    ax.set_xlim(left, right)
    ax.set_ylim(low, high)
    ax.locator_params(axis="x", nbins=7)
    ax.add_patch(Rectangle((0, low), right, -low, color=colours.shade, linewidth=0, zorder=0))
    ax.axhline(0, color=colours.ink, linewidth=1, zorder=1)
    ax.axvline(0, color=colours.ink, linewidth=1, zorder=1)
    if comparison.margin > 0:
        box, width = (-comparison.margin, -comparison.margin), 2 * comparison.margin
        ax.add_patch(Rectangle(box, width, width, fill=False, edgecolor=colours.muted, linestyle=":", zorder=1))
    if intervals:
        faint = mixed(colours.face, colours.muted, 0.4)
        ax.hlines(y, *intervals[0], color=faint, linewidth=1, zorder=2)
        ax.vlines(x, *intervals[1], color=faint, linewidth=1, zorder=2)
    _scatter_pairs(ax, colours, leads, conflict, proven)
    ax.text(0.985, 0.02, f"opposite order: {metrics[1]} prefers the other one", transform=ax.transAxes, fontsize=8.5,
            style="italic", color=colours.muted, ha="right", va="bottom", parse_math=False)  # fmt: skip
    called = [[comparison.short_names[model] for model in pairs[side]] for side in ("model_x", "model_y")]
    names = [
        f" {MINUS} ".join((two, one) if flip else (one, two)) for one, two, flip in zip(*called, turned, strict=True)
    ]
    points = list(zip(x.tolist(), y.tolist(), strict=True))
    named: dict[Point, str] = {}
    strength = np.minimum(np.abs(x), np.abs(y))
    order = [place for place in np.lexsort((-strength, ~proven)).tolist() if conflict[place]]  # the proven ones first
    for place in order:
        named.setdefault(points[place], names[place].replace(f" {MINUS} ", f"\n{MINUS} "))  # one name a point
    chosen = list(named)[:MAX_NAMED_PAIRS]
    name_points(ax, chosen, [named[point] for point in chosen], colours.ink, points)
    said = [
        f"{names[place]}: {format_difference(x[place])} and {format_difference(y[place])}, {p_value(p_values[place])}."
        for place in order[:12]
    ]
    pair = " and ".join(side[0] for side in called) if len(pairs) == 1 else ""
    title = _state_conflicts(pair, p_values, conflict, proven)
    return finish(
        ax, colours, title, _describe_conflicts(said, len(pairs), len(order), int(proven.sum()), metrics),
        x=f"lead under {metrics[0]}", x_colour=colours.first_text,
        y=f"lead under {metrics[1]}", y_colour=colours.second_text,
    )  # fmt: skip


def _scatter_pairs(ax: Axes, colours: Theme, leads: Floats, conflict: Bools, proven: Bools) -> None:
    """Draw the points, diamonds for conflicts, filled for significant ones, and the legend."""
    entries = []
    for label, here, marker, edge, fill, size in (
        ("same order", ~conflict, "o", colours.muted, colours.face, 22),
        ("opposite order", conflict & ~proven, "D", colours.ink, colours.face, 32),
        ("opposite order, significant (Holm)", proven, "D", colours.ink, colours.ink, 36),
    ):
        ax.scatter(leads[0][here], leads[1][here], s=size, marker=marker, facecolor=fill, edgecolor=edge, zorder=3)
        entries.append((key(marker, edge, fill), f"{label} ({here.sum()})"))
    legend_below(ax, colours, entries, handletextpad=0.2, columnspacing=1.0)


def _intervals(pairs: pd.DataFrame, metrics: tuple[str, str], losses: Sequence[str], sign: Floats) -> list[Floats]:
    """Return both ends of the intervals under both metrics, or None if one of them is infinite."""
    ends = [
        sign * np.array([compute_advantages(pairs, metric, losses, of=end) for end in ("lower", "upper")], dtype=float)
        for metric in metrics
    ]
    return ends if len(pairs) and all(np.isfinite(end).all() for end in ends) else []


def _state_conflicts(pair: str, p_values: Floats, conflict: Bools, proven: Bools) -> str:
    found, sure, pairs = int(conflict.sum()), int(proven.sum()), count(len(conflict), "pair")
    if pair:
        if found:
            return f"The two metrics put {pair} in opposite order ({p_value(p_values[0])})"
        return f"The two metrics do not put {pair} in opposite order"
    if not found:
        return f"None of {pairs} of models is in opposite order under the two metrics"
    verb = "is" if found == 1 else "are"
    return f"{found} of {pairs} of models {verb} in opposite order, {sure or 'none'} significantly"


def _describe_conflicts(said: list[str], pairs: int, found: int, proven: int, metrics: tuple[str, str]) -> str:
    first, second = metrics
    opening = (
        f"Scatter plot of {count(pairs, 'pair')} of models, lead under {first} across, under {second} up. "
        f"{count(found, 'pair')} in opposite order, {proven} of them significantly."
    )
    more = [f"{found - 12} more are in the table of pairs."] if found > 12 else []
    return " ".join([opening, *said, *more])
