"""Regrets over the base of the gain, and two metrics over the rounds of a training with the best round of each."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from ..._common.names import split_names
from ..._common.text import format_difference, format_mean, format_size
from ...comparison.choice import label_metrics
from ...comparison.gain_path import select_labelled_bases
from ...drawing.style import (
    ROLES,
    DistanceCurve,
    annotate_beside,
    column_width,
    draw_curves,
    finish,
    looks,
    measure_text,
    number_long_names,
    start,
)
from ..content import best_rounds, select_curve

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from ..._common.theme import Theme
    from ...comparison.gain_path import GainPath
    from ...drawing.style import Picture

MAX_NAMES = 12
"""Maximum number of names next to the lines, those of the leaders first."""

CROWD = 6
"""Maximum number of models with thick lines."""

ROW = 0.055
"""Height of the band of leaders, as a share of the scale."""


def plot_gains(
    gains: GainPath, ax: Axes | None = None, theme: str = "light", *, names: Mapping[str, str] | None = None
) -> Picture:
    """Draw the regret of each model along the base of the gain.

    Down is worse. The line at the top is the highest mean at each base, and the band above it names the leading model.
    A line is thick if the model may be best at this base (simultaneously over all bases). Models that
    neither lead nor may be best are thin lines. The linear gain is b = 1, the exponential one b = 2.

    Parameters
    ----------
    gains : GainPath
        From `Comparison.gains`.
    ax, theme
        As for `plot_leaderboard`.
    names : mapping of model to str, optional
        Names to display, by default the names themselves.

    Raises
    ------
    ValueError
        If the path has a single base.

    Examples
    --------
    >>> import gainwise as gw
    >>> judgments = gw.Judgments([2, 1, 1, 0] * 40, group=[4] * 40)
    >>> scores = {"top": [3, 1, 2, 4] * 40, "broad": [1, 4, 3, 2] * 40}
    >>> comparison = gw.compare(scores, judgments, ["ndcg_linear@2", "ndcg_exp@2"])
    >>> plot_gains(comparison.gains()).ax.get_xscale()
    'log'
    """
    if len(gains.bases) < 2:
        raise ValueError("A plot of gains requires two bases, got 1. Pass more to gains(bases).")
    ax, colors = start(ax, theme, (7.6, 4.2))
    # Models that lead somewhere, then those that may be best somewhere.
    notable = list(dict.fromkeys([*gains.winners["model"], *gains.best_ranges["model"]]))
    largest = dict(zip(gains.models, gains.regret.max(axis=0).tolist(), strict=True))
    scale = 1.05 * max(1e-9, *sorted(largest.values())[:2], *(largest[model] for model in notable))
    split = split_names(gains.models)
    labels = split.labels if names is None else names
    labels, key = number_long_names(labels, notable[:MAX_NAMES], 72 * column_width(ax))
    _draw_lines(ax, colors, gains, notable, labels, scale)
    _draw_leaders(ax, colors, gains, labels, scale)
    _draw_axes(ax, colors, gains, scale)
    base = f"gain base b, gain of grade l = (bˡ − 1)/(b − 1){key}"
    title = split.rewrite(gains.headline)
    return finish(ax, colors, title, f"{title}. {gains.text}", base, "regret")


def _draw_lines(
    ax: Axes, theme: Theme, gains: GainPath, notable: list[str], labels: Mapping[str, str], scale: float
) -> None:
    """Draw the lines, thick where the model may be best, with names at their ends."""
    bases, ranges = np.array(gains.bases), gains.best_ranges
    regrets = dict(zip(gains.models, gains.regret.T, strict=True))
    width = 4.5 if ranges["model"].nunique() <= CROWD else 2.8
    for model in sorted(gains.models, key=notable.__contains__):
        regret, color = regrets[model], theme.ink
        thin: dict[str, Any] = {"color": theme.muted, "lw": 0.6, "alpha": 0.5}
        look = {"color": color, "lw": 1.4} if model in notable else thin
        ax.plot(bases, np.where(regret <= scale, regret, np.nan), **look)
        for low, high in ranges.loc[ranges["model"] == model, ["from", "to"]].to_numpy(float).tolist():
            x = np.array([low, *bases[(bases > low) & (bases < high)], high])
            ax.plot(x, np.interp(x, bases, regret), color=color, lw=width, solid_capstyle="round")
    named = sorted(notable[:MAX_NAMES], key=lambda model: min(regrets[model][-1], scale))
    texts = [labels[model] for model in named]
    ends = _spread([min(regrets[model][-1], scale) for model in named], 1.15 * ROW * scale, scale)
    for text, y in zip(texts, ends, strict=True):
        annotate_beside(ax, text, (1.01, y), 0, color=theme.ink, size=9, weight="bold",
                        xycoords=("axes fraction", "data"))  # fmt: skip


def _spread(places: Sequence[float], gap: float, bottom: float) -> list[float]:
    """Move ascending positions until they are `gap` apart, and those beyond the bottom back again.

    >>> [round(place, 1) for place in _spread([1, 1.1, 5, 9.5, 9.6], 1, 10)]
    [1, 2, 5, 9, 10]
    """
    moved = accumulate(places, lambda before, place: max(place, before + gap))
    return [min(place, bottom - gap * (len(places) - 1 - index)) for index, place in enumerate(moved)]


def _draw_leaders(ax: Axes, theme: Theme, gains: GainPath, labels: Mapping[str, str], scale: float) -> None:
    """Draw the leading models as a band above the best, with their names if they fit."""
    width, row = np.log(gains.bases[-1] / gains.bases[0]), ROW * scale
    points = 72 * 0.7 * column_width(ax)  # about the width of the axes
    for place, (model, low, high) in enumerate(gains.winners.itertuples(index=False)):
        ax.fill_between([low, high], -1.7 * row, -0.4 * row, color=theme.third if place % 2 else theme.ink, lw=0)
        if place:
            ax.axvline(low, color=theme.muted, lw=0.8, ls=":")
        if points * np.log(high / low) / width > measure_text([labels[model]], 8, bold=True) + 4:
            ax.text(np.sqrt(low * high), -1.05 * row, labels[model], ha="center", va="center", fontsize=8,
                    weight="bold", color=theme.face, parse_math=False)  # fmt: skip


def _draw_axes(ax: Axes, theme: Theme, gains: GainPath, scale: float) -> None:
    first, last = gains.bases[0], gains.bases[-1]
    ax.set_xscale("log")
    ax.set_xlim(first, last)
    ax.set_ylim(1.02 * scale, -1.9 * ROW * scale)
    room = 0.14 if column_width(ax) > 6.5 else 0.28
    bases, named = select_labelled_bases(gains.bases, room), {1.0: "1: linear", 2.0: "2: exponential"}
    grade_gains = [" ".join(format_gain(base, grade) for grade in gains.grades[:5]) for base in bases]
    labels = [f"{named.get(base, f'{base:g}')}\n{text}" for base, text in zip(bases, grade_gains, strict=True)]
    ax.set_xticks(bases, labels)
    ax.minorticks_off()
    ax.yaxis.set_major_locator(MaxNLocator(6))
    ax.yaxis.grid(True, color=theme.grid, lw=0.8)
    ax.axhline(0, color=theme.ink, lw=1)
    for base, look in zip((1.0, 2.0), looks(theme), strict=True):
        if first <= base <= last:
            ax.vlines(base, 0, 1.02 * scale, color=look.color, lw=1.2)


def format_gain(base: float, grade: float) -> str:
    """Return the gain of a grade with three digits, "inf" beyond the range of floats."""
    with np.errstate(over="ignore"):
        return f"{grade if base == 1 else (np.float64(base) ** grade - 1) / (base - 1):.3g}"


def plot_curves(
    curves: pd.DataFrame,
    metrics: tuple[str, str],
    ax: Axes | None = None,
    theme: str = "light",
    *,
    candidate: str | None = None,
    names: Mapping[str, str] | None = None,
    lower_is_better: Container[str] = (),
) -> Picture:
    """Draw the curves of one candidate under two metrics, as distances from their best values.

    Distances make two metrics comparable on one axis. Each curve is 0 at its best round, which has a filled marker. A
    hollow marker shows its value at the best round of the other metric. The thick line between 0 and the hollow marker
    is the loss from stopping at that round. Each fold has separate lines.

    Parameters
    ----------
    curves : DataFrame
        Columns `candidate`, `round`, `metric` and `value`. Optional columns are `fold`, the name of the fold, and
        `compared`, which is True at the rounds of the models in the comparison. Gray lines show these rounds.
    metrics : tuple of two str
        The first metric has blue circles and solid lines, the second has orange diamonds and dashed lines.
    ax, theme
        As for `plot_leaderboard`.
    candidate : str, optional
        The candidate to draw. Defaults to the one with the largest loss at the best round of the other metric.
    names : mapping of candidate to str, optional
        Names to display, by default the names themselves.
    lower_is_better : container of str, optional
        The names of metrics with better lower values. Their curves are negated, so that worse values are below 0.

    Raises
    ------
    ValueError
        If the candidate lacks a curve under one of the metrics.
    """
    best = best_rounds(curves, metrics, lower_is_better)
    curves = curves.assign(candidate=curves["candidate"].astype(str), fold=curves.get("fold", ""))
    if best.empty:
        raise ValueError(
            f"curves must have a candidate with both metrics, got no curves under {metrics[0]} and {metrics[1]}"
        )
    if candidate is None:
        losses = best.groupby("candidate", sort=False)[[f"loss {metric}" for metric in metrics]].mean().max(axis=1)
        # A loss is missing if the metric has no value at the best round of the other metric.
        candidate = str(losses.fillna(0.0).idxmax())
    rows = best[best["candidate"] == str(candidate)].to_dict("records")
    if not rows:
        valid = ", ".join(best["candidate"].unique())
        raise ValueError(f"candidate must be one of {valid}, got {candidate!r}, which has no curves under both metrics")
    ax, colors = start(ax, theme, (6.8, 4.2))
    lines = []
    for row in rows:
        part = curves[(curves["candidate"] == row["candidate"]) & (curves["fold"] == row["fold"])]
        for role, label, other in zip(ROLES, label_metrics(metrics), metrics[::-1], strict=False):
            line, number = select_curve(part, label.name), row[f"round {label.name}"]
            losses = np.abs(line.to_numpy(float) - row[f"best {label.name}"])
            name = label.name if row is rows[0] else ""
            text = f"{label.short}: round {number}" if len(rows) == 1 else ""
            loss, at = row[f"loss {label.name}"], row[f"round {other}"]
            lines.append(DistanceCurve(name, text, role, line.index, losses, number, loss, at))
    for place, number in enumerate(rows[0].get("compared", []) if len(rows) == 1 else []):
        ax.axvline(number, color=colors.muted, linewidth=1.2, zorder=0, label=None if place else "compared here")
    draw_curves(ax, colors, lines)
    name = (split_names(curves["candidate"].unique()).labels if names is None else names)[rows[0]["candidate"]]
    title = f"{name}: {_describe_rounds(rows, metrics)}"
    alt = " ".join(_describe_fold(row, metrics, lower_is_better) for row in rows)
    alt = f"Curves of {name} over rounds, as distance from the best. {alt}"
    return finish(ax, colors, title, alt, "round", "distance from its own best", pad=22 if len(rows) == 1 else 10)


def _describe_rounds(rows: Sequence[Mapping[Any, Any]], metrics: tuple[str, str]) -> str:
    differing = sum(row[f"round {metrics[0]}"] != row[f"round {metrics[1]}"] for row in rows)
    if len(rows) > 1:
        return f"the best rounds differ in {differing} of {len(rows)} folds"
    rounds, losses = ([rows[0][f"{column} {metric}"] for metric in metrics] for column in ("round", "loss"))
    if not differing:
        return f"both metrics are best at round {rounds[0]}"
    text = f"best at round {rounds[0]} by {metrics[0]}, at {rounds[1]} by {metrics[1]}"
    if not np.isfinite(losses).all():  # a metric has no value at the best round of the other one
        return text
    sizes = [format_size(loss) for loss in losses]
    return f"{text} (stopping by the other loses {sizes[0]} and {sizes[1]})"


def _describe_fold(row: Mapping[Any, Any], metrics: tuple[str, str], lower_is_better: Container[str]) -> str:
    parts = []
    for metric in metrics:
        difference = row[f"loss {metric}"] * (1 if metric in lower_is_better else -1)
        loss = f"differs by {format_difference(difference)}" if np.isfinite(difference) else "has no value"
        best = f"{metric} is best at round {row[f'round {metric}']} ({format_mean(row[f'best {metric}'])})"
        parts.append(f"{best} and {loss} at the other's best round")
    fold = f"Fold {row['fold']}: " if row["fold"] != "" else ""
    rounds = " and ".join(map(str, row.get("compared", [])))
    return f"{fold}{', '.join(parts)}.{f' Compared at round {rounds}.' if rounds else ''}"
