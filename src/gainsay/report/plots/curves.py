"""Two metrics over the rounds of a training, and the best round of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._common.text import format_difference, format_mean, printable, short_names
from ...comparison.wording import label_metrics
from ..content import best_rounds, choose_candidate, select_curve
from .style import annotate_beside, draw_legend_below, finish, looks, remove_frame, start

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from ..._common.theme import Theme
    from ..._common.typing import Floats
    from .style import Picture

MAX_CANDIDATES = 40
"""The maximum number of candidates in the picture of best rounds. The table has all of them."""

ROLES = {"first": ("o", "-"), "second": ("D", (0, (5, 1.5))), "third": ("^", ":"), "fourth": ("s", "-.")}
"""Marker and line of each color of a theme."""


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
    ax, colors = start(ax, theme, (6.8, 4.2))
    candidate_curves = curves[curves["candidate"] == candidate]
    lines = []
    for row in rows:
        part = candidate_curves
        if "fold" in part.columns:
            part = part[part["fold"] == row["fold"]]
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
    name = (names or {}).get(candidate) or short_names(map(str, curves["candidate"].unique()))[str(candidate)]
    title = f"{name}: {_describe_rounds(rows, metrics)}"
    alt = " ".join(_describe_fold(row, metrics, lower_is_better) for row in rows)
    alt = f"Curves of {name} over rounds, as distance from the best. {alt}"
    return finish(ax, colors, title, alt, "round", "distance from its own best", pad=22 if len(rows) == 1 else 10)


class DistanceCurve(NamedTuple):
    """A curve to draw as distances from its best value, which are 0 at `best_round`.

    `text` is written above the best round. `loss` is the distance at round `at`, the best round of another metric.
    """

    label: str
    text: str
    role: str
    rounds: Any
    losses: Floats
    best_round: int
    loss: float
    at: int


def draw_curves(ax: Axes, colors: Theme, curves: Sequence[DistanceCurve]) -> None:
    """Draw curves as distances from their best values, with a filled mark at 0 and a hollow one at `at`."""
    if not curves:
        raise ValueError("curves must have a value other than NaN, got none. Check the values of the metrics.")
    rightmost = max(reversed(curves), key=lambda curve: curve.best_round)
    for curve in curves:
        color, (marker, style) = getattr(colors, curve.role), ROLES[curve.role]
        mark: dict[str, Any] = {"marker": marker, "linestyle": "", "color": color, "markersize": 6.5}
        width = 1.8 if curve.text else 1.1
        ax.plot(curve.rounds, -curve.losses, color=color, linestyle=style, linewidth=width, label=curve.label or None)
        if curve.loss > 0:
            ax.vlines(curve.at, -curve.loss, 0, color=color, linewidth=4, alpha=0.45, zorder=3)
        ax.plot([curve.at], [-curve.loss], markerfacecolor=ax.get_facecolor(), zorder=4, **mark)
        ax.plot([curve.best_round], [0.0], zorder=5, clip_on=False, **mark)
        text_color = getattr(colors, f"{curve.role}_text", color)
        annotate_beside(ax, curve.text, (curve.best_round, 1), 2 if curve is rightmost else -2, 3, color=text_color,
                        size=8.5, xycoords=("data", "axes fraction"), va="baseline", weight="bold")  # fmt: skip
    lowest = max(1e-6, *(max(2.5 * np.nan_to_num(c.loss), np.nanquantile(c.losses, 0.8)) for c in curves))
    ax.set_ylim(-1.1 * lowest, 0.08 * lowest)
    if max(np.nanmax(curve.losses) for curve in curves) > 1.1 * lowest:
        note = f"values below {format_difference(-1.1 * lowest)} are not shown"
        ax.text(0.99, 0.02, note, transform=ax.transAxes, fontsize=8, color=colors.muted, ha="right")
    ax.grid(axis="y", color=colors.grid, linewidth=0.6)
    draw_legend_below(ax, colors, 0.14, fontsize=9)


def _select_rows(
    best: pd.DataFrame, metrics: tuple[str, str], candidate: str | None
) -> tuple[str, list[dict[Any, Any]]]:
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
    ax, colors = start(ax, theme, (6.8, 1.2 + 0.25 * len(candidates)))
    rows = best[best["candidate"].isin(candidates)]
    y = rows["candidate"].map(candidates.index)
    rounds = [rows[f"round {metric}"] for metric in metrics]
    same = (rounds[0] == rounds[1]).to_numpy()
    ax.hlines(y, rounds[0], rounds[1], color=colors.muted, linewidth=1)
    for metric, x, look in zip(metrics, rounds, looks(colors), strict=True):
        ax.scatter(x[~same], y[~same], s=0.62 * look.size, color=look.color, marker=look.marker, label=metric, zorder=3)
    ax.scatter(rounds[0][same], y[same], color=colors.muted, s=28, zorder=3, label="both")
    ax.set_yticks(range(len(candidates)), [printable(names[str(name)]) for name in candidates], parse_math=False)
    ax.set_ylim(len(candidates) - 0.4, -0.6)
    ax.set_xlim(left=0)
    remove_frame(ax, colors, 6)
    draw_legend_below(ax, colors, 0.5 / (0.25 * len(candidates) + 0.4))
    title = f"Both metrics choose the same round {int(same.sum())} times of {len(same)}"
    texts = (f"{names[str(name)]}: {a} and {b}." for name, a, b in zip(rows["candidate"], *rounds, strict=True))
    return finish(ax, colors, title, f"Best rounds of every candidate. {' '.join(texts)}", "best round")


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
    return f"{text} (stopping by the other loses {format_mean(losses[0])} and {format_mean(losses[1])})"


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
