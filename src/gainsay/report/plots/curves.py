"""Two metrics over the rounds of a training, and the best round of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._common.shown import short_names
from ..._common.words import format_difference, format_mean
from ..rounds import best_rounds, choose_candidate, select_curve
from .style import beside, finish, legend_below, looks, only_across, plain, short_metrics, start

if TYPE_CHECKING:
    from collections.abc import Container, Hashable, Mapping, Sequence
    from typing import TypeAlias

    import pandas as pd
    from matplotlib.axes import Axes

    from .picture import Picture
    from .style import Look

    Fold: TypeAlias = Mapping[Hashable, Any]  # a row of `best_rounds`

__all__ = ["plot_best_rounds", "plot_curves"]

MAX_CANDIDATES = 40
"""The maximum number of candidates in the picture of best rounds. The table has all of them."""


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
        As for `plot_conflict`.
    candidate : str, optional
        The candidate to draw. Defaults to the one with the largest loss at the best round of the other metric.
    names : mapping of candidate to str, optional
        Names to display, such as `Comparison.short_names`.
    lower_is_better : container of str, optional
        The names of metrics with better lower values. Their curves are negated, so that worse values are below 0.

    Raises
    ------
    ValueError
        If the candidate lacks a curve under one of the metrics.
    """
    best = best_rounds(curves, metrics, lower_is_better)
    candidate, rows = _select_rows(best, metrics, candidate)
    ax, colours = start(ax, theme, (6.8, 4.2))
    own = curves[curves["candidate"] == candidate]
    labels = short_metrics(metrics)
    lowest, one_fold, deepest = [1e-6], len(rows) == 1, 0.0
    styles = ("-", (0, (5, 1.5)))
    kinds = list(zip(metrics, metrics[::-1], looks(colours), styles, strict=True))
    for row in rows:
        part = own[own["fold"] == row["fold"]] if "fold" in own.columns else own
        for metric, other, look, style in kinds:
            behind = _draw_curve(ax, part, row, (metric, other), look, style, metric in lower_is_better, one_fold)
            if row is rows[0]:
                ax.lines[-3].set_label(metric)
            peak, stopped, loss = row[f"round {metric}"], row[f"round {other}"], row[f"loss {metric}"]
            if one_fold:
                later = peak > stopped or (peak == stopped and metric == metrics[1])
                beside(ax, f"{labels[metric]}: round {peak}", (peak, 1), (2 if later else -2, 3),
                       xycoords=("data", "axes fraction"), colour=look.text, size=8.5, va="baseline",
                       weight="bold")  # fmt: skip
            deepest = min(deepest, float(behind.min()))
            lowest += [2.5 * loss, -float(behind.iloc[len(behind) // 5])]
    for place, number in enumerate(rows[0].get("compared", []) if one_fold else []):
        ax.axvline(number, color=colours.muted, linewidth=1.2, zorder=0, label=None if place else "compared here")
    bottom = 1.1 * max(lowest)
    ax.set_ylim(-bottom, 0.08 * max(lowest))
    if deepest < -bottom:
        note = f"values below {format_difference(-bottom)} are not shown"
        ax.text(0.99, 0.02, note, transform=ax.transAxes, fontsize=8, color=colours.muted, ha="right")
    ax.grid(axis="y", color=colours.grid, linewidth=0.6)
    legend_below(ax, colours, below=0.14, fontsize=9)
    name = (names or {}).get(candidate)
    short = short_names(map(str, curves["candidate"].unique()))[candidate] if name is None else name
    is_negated = any(metric in lower_is_better for metric in metrics)
    return finish(
        ax,
        colours,
        f"{short}: {_finding(rows, metrics)}",
        f"Curves of {short} over rounds, as distance from the best. "
        + " ".join(_fold_in_words(row, metrics, lower_is_better) for row in rows),
        x="round",
        y="distance from its own best" if is_negated else "metric − its own best",
        pad=22 if one_fold else 10,
    )


def _select_rows(
    best: pd.DataFrame, metrics: tuple[str, str], candidate: str | None
) -> tuple[str, list[dict[Hashable, Any]]]:
    """Return the candidate to draw and its best rounds, one row per fold."""
    if best.empty:
        raise ValueError(
            f"curves must have a candidate with both metrics, got no curves under {metrics[0]} and {metrics[1]}"
        )
    candidate = choose_candidate(best, metrics) if candidate is None else candidate
    rows = best[best["candidate"] == candidate].to_dict("records")
    if not rows:
        names = ", ".join(dict.fromkeys(map(str, best["candidate"])))
        raise ValueError(f"candidate must be one of {names}, got {candidate!r}, which has no curves under both metrics")
    return candidate, rows


def _draw_curve(
    ax: Axes, part: pd.DataFrame, row: Fold, names: tuple[str, str], look: Look, style: Any, loss: bool, one_fold: bool
) -> pd.Series[float]:
    """Draw the distances of one curve from its best value, with marks at both best rounds, and return them."""
    metric, other = names
    line = select_curve(part, metric)
    behind: pd.Series[float] = row[f"best {metric}"] - line if loss else line - row[f"best {metric}"]
    width = 1.8 if one_fold else 1.1
    lost, stopped = row[f"loss {metric}"], row[f"round {other}"]
    ax.plot(behind.index, behind, color=look.colour, linestyle=style, linewidth=width)
    if lost > 0:
        ax.vlines(stopped, -lost, 0, color=look.colour, linewidth=4, alpha=0.45, zorder=3)
    mark: dict[str, Any] = {"marker": look.marker, "linestyle": "", "color": look.colour, "markersize": 6.5}
    ax.plot([stopped], [-lost], markerfacecolor=ax.get_facecolor(), zorder=4, **mark)
    ax.plot([row[f"round {metric}"]], [0.0], zorder=5, clip_on=False, **mark)
    return behind


def plot_best_rounds(
    best: pd.DataFrame,
    metrics: tuple[str, str],
    ax: Axes | None = None,
    theme: str = "light",
    *,
    names: Mapping[str, str],
) -> Picture:
    """Draw two marks per candidate at its best rounds under both metrics, or one gray mark if the rounds are equal."""
    candidates = list(dict.fromkeys(best["candidate"]))[:MAX_CANDIDATES]
    ax, colours = start(ax, theme, (6.8, 1.2 + 0.25 * len(candidates)))
    rows = best[best["candidate"].isin(candidates)]
    y = rows["candidate"].map(candidates.index)
    one, other = rounds = [rows[f"round {metric}"] for metric in metrics]
    same = (one == other).to_numpy()
    ax.hlines(y, one, other, color=colours.muted, linewidth=1)
    for metric, at, look in zip(metrics, rounds, looks(colours), strict=True):
        ax.scatter(
            at[~same], y[~same], s=0.62 * look.size, color=look.colour, marker=look.marker, label=metric, zorder=3
        )
    ax.scatter(one[same], y[same], color=colours.muted, s=28, zorder=3, label="both")
    ax.set_yticks(range(len(candidates)), [plain(names[str(name)]) for name in candidates])
    ax.set_ylim(len(candidates) - 0.4, -0.6)
    ax.set_xlim(left=0)
    only_across(ax, colours, 6)
    legend_below(ax, colours, below=0.5 / (0.25 * len(candidates) + 0.4))
    title = f"Both metrics choose the same round {int(same.sum())} times of {len(same)}"
    said = (f"{names[str(it)]}: {a} and {b}." for it, a, b in zip(rows["candidate"], one, other, strict=True))
    return finish(ax, colours, title, f"Best rounds of every candidate. {' '.join(said)}", x="best round")


def _finding(rows: Sequence[Fold], metrics: tuple[str, str]) -> str:
    equal = [row for row in rows if row[f"round {metrics[0]}"] == row[f"round {metrics[1]}"]]
    if len(rows) > 1:
        return f"the best rounds differ in {len(rows) - len(equal)} of {len(rows)} folds"
    (row,) = rows
    rounds = [row[f"round {metric}"] for metric in metrics]
    if equal:
        return f"both metrics are best at round {rounds[0]}"
    losses = [row[f"loss {metric}"] for metric in metrics]
    text = f"best at round {rounds[0]} by {metrics[0]}, at {rounds[1]} by {metrics[1]}"
    if not np.isfinite(losses).all():  # a metric has no value at the best round of the other one
        return text
    return f"{text} (stopping by the other loses {format_mean(losses[0])} and {format_mean(losses[1])})"


def _fold_in_words(row: Fold, metrics: tuple[str, str], lower_is_better: Container[str]) -> str:
    fold = f"Fold {row['fold']}: " if row["fold"] != "" else ""
    parts = []
    for metric in metrics:
        behind = row[f"loss {metric}"] * (1 if metric in lower_is_better else -1)
        loss = f"differs by {format_difference(behind)} at the other's best round"
        loss = loss if np.isfinite(behind) else "has no value at the other's best round"
        parts.append(
            f"{metric} is best at round {row[f'round {metric}']} ({format_mean(row[f'best {metric}'])}) and {loss}"
        )
    rounds = " and ".join(map(str, row.get("compared", [])))
    compared = f" Compared at round {rounds}." if rounds else ""
    return f"{fold}{', '.join(parts)}.{compared}"
