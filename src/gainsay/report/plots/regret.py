"""What every model loses under either metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._common.shown import listed_short
from ..._common.words import amount, count
from ..numbers import mean
from .style import finish, legend_below, looks, name_points, start

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from ...comparison.findings import Findings
    from ...comparison.verdict import Verdict
    from ...drawing.palette import Theme
    from .picture import Picture
    from .style import Point

__all__ = ["pareto_front", "plot_regret"]

MOST_NAMED = 10
"""Up to so many models all have their names beside them, beyond that only those that matter."""

FEW = 4
"""A confidence set of so many models is named whole, however many models there are."""


def pareto_front(verdict: Verdict) -> tuple[str, ...]:
    """Return the models that no other beats under both metrics, the best under the first metric first.

    A model is left out where another one is at least as good under both metrics and better under one.
    """
    first, second = (verdict.regrets[metric] for metric in verdict.metrics)
    at = {name: (first[name], second[name]) for name in verdict.models}
    front = [
        name for name, (x, y) in at.items() if not any((a <= x and b <= y) and (a < x or b < y) for a, b in at.values())
    ]
    return tuple(sorted(front, key=lambda name: at[name]))


def plot_regret(comparison: Findings, ax: Axes | None = None, theme: str = "light") -> Picture:
    """Draw one point per model: what it loses under the first metric against what it loses under the second.

    The corner at 0 | 0 is best under both. Filled marks may be best under both (the confidence set), hollow ones are
    ruled out; a star marks the safe choice, a blue circle and an orange diamond the winners under the first and the
    second metric where they are two; a line joins the Pareto front, the models that no other beats under both
    metrics; a dotted box shows the margin. Models far from all of these are drawn as triangles at the edge. Beyond ten
    models, only those on the front, the winners, the safe choice and a small confidence set have their names.
    Parameters and result are those of `plot_conflict`.
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
        ax, colours, _finding(verdict, short), _in_words(verdict, at, front, short),
        x=f"behind the best under {first}", x_colour=colours.first_text,
        y=f"behind the best under {second}", y_colour=colours.second_text,
    )  # fmt: skip


def _named(verdict: Verdict, front: tuple[str, ...], away: list[str]) -> list[str]:
    """Return the models that get their names, the most important first."""
    order = [verdict.safe_choice, *verdict.winners.values(), *front]
    if len(verdict.models) <= MOST_NAMED or len(verdict.common_best) <= FEW:
        order += verdict.common_best
    if len(verdict.models) <= MOST_NAMED:
        order += [name for name in verdict.models if name not in away]
    return list(dict.fromkeys(order))[:MOST_NAMED]


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


def _finding(verdict: Verdict, short: Mapping[str, str]) -> str:
    safe = short[verdict.safe_choice]
    if verdict.safe_regret == 0:
        return f"{safe} is behind no other model under either metric"
    return f"{safe} is the safe choice: {mean(verdict.safe_regret)} behind under the metric that likes it less"


def _in_words(verdict: Verdict, at: Mapping[str, Point], front: tuple[str, ...], short: Mapping[str, str]) -> str:
    first, second = verdict.metrics
    order = sorted(verdict.models, key=lambda name: max(at[name]))
    points = [f"{short[name]}: {mean(at[name][0])} and {mean(at[name][1])}." for name in order[:12]]
    more = [f"{len(order) - 12} more are in the leaderboard."] if len(order) > 12 else []
    opening = (
        f"Scatter plot of {count(len(order), 'model')}, how far behind the best under {first} across, "
        f"under {second} up. "
        f"Safe choice: {short[verdict.safe_choice]}. Pareto front: {listed_short(front, short)}. "
        f"May be best under both: {listed_short(verdict.common_best, short)}."
    )
    return " ".join([opening, *points, *more])
