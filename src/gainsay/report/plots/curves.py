"""Two metrics over the rounds of training, and the round that each would stop at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._common.shown import short_names
from ..numbers import difference, mean
from ..rounds import best_rounds, curve_of, most_torn
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

MOST_CANDIDATES = 40
"""So many candidates have a line in the picture of best rounds; all are in the table."""


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
    """Draw one candidate's curves under both metrics, each as its distance from its own best, with both best rounds.

    Distances from the best make the two comparable on one axis: a curve touches 0 at its own best round (filled
    marker), and how far it is below 0 at the other's best round (thick line down to a hollow marker) is what stopping
    there loses. Folds are drawn as lines of their own.

    Parameters
    ----------
    curves : DataFrame
        Columns `candidate`, `round`, `metric`, `value`, `fold` where there are several, and maybe `compared`: a grey
        line stands where the candidate is compared.
    metrics : two metric names
        Blue circles and full lines are the first, orange diamonds and broken lines the second.
    ax, theme
        As for `plot_conflict`.
    candidate : str, optional
        By default the one that loses most by the other metric's best round.
    names : mapping of candidate to str, optional
        What to call the candidates, such as `Comparison.short_names`.
    lower_is_better : names of metrics, optional
        Those of which a lower value is better: their curves are drawn turned, below 0 is worse.

    Raises
    ------
    ValueError
        If there are no curves of this candidate under both metrics.
    """
    best = best_rounds(curves, metrics, lower_is_better)
    if best.empty:
        raise ValueError(f"there are no curves under both {metrics[0]} and {metrics[1]}")
    candidate = most_torn(best, metrics) if candidate is None else candidate
    rows = best[best["candidate"] == candidate].to_dict("records")
    if not rows:
        known = ", ".join(dict.fromkeys(map(str, best["candidate"])))
        raise ValueError(f"there are no curves of {candidate!r} under both metrics (known: {known})")
    ax, colours = start(ax, theme, (6.8, 4.2))
    own = curves[curves["candidate"] == candidate]
    called = short_metrics(metrics)
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
                beside(ax, f"{called[metric]}: round {peak}", (peak, 1), (2 if later else -2, 3),
                       xycoords=("data", "axes fraction"), colour=look.text, size=8.5, va="baseline",
                       weight="bold")  # fmt: skip
            deepest = min(deepest, float(behind.min()))
            lowest += [2.5 * loss, -float(behind.iloc[len(behind) // 5])]
    for place, number in enumerate(rows[0].get("compared", []) if one_fold else []):
        ax.axvline(number, color=colours.muted, linewidth=1.2, zorder=0, label=None if place else "compared here")
    bottom = max(lowest)
    ax.set_ylim(-1.1 * bottom, 0.08 * bottom)
    if deepest < -1.1 * bottom:
        words = f"values below {difference(-1.1 * bottom)} are not shown"
        ax.text(0.99, 0.02, words, transform=ax.transAxes, fontsize=8, color=colours.muted, ha="right")
    ax.grid(axis="y", color=colours.grid, linewidth=0.6)
    legend_below(ax, colours, below=0.14, fontsize=9)
    given = (names or {}).get(candidate)
    short = short_names(map(str, curves["candidate"].unique()))[candidate] if given is None else given
    turned = any(metric in lower_is_better for metric in metrics)
    return finish(
        ax,
        colours,
        f"{short}: {_finding(rows, metrics)}",
        f"Curves of {short} over rounds, as distance from the best. "
        + " ".join(_fold_in_words(row, metrics, lower_is_better) for row in rows),
        x="round",
        y="how far from its own best" if turned else "metric − its own best",
        pad=22 if one_fold else 10,
    )


def _draw_curve(
    ax: Axes, part: pd.DataFrame, row: Fold, names: tuple[str, str], look: Look, style: Any, loss: bool, one_fold: bool
) -> pd.Series[float]:
    """Draw one curve as distance from its best, with marks at both best rounds, and return the distances."""
    metric, other = names
    line = curve_of(part, metric)
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
    """Draw the best rounds of every candidate under both metrics as two marks, a grey one where both are the same."""
    candidates = list(dict.fromkeys(best["candidate"]))[:MOST_CANDIDATES]
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
    same = [row for row in rows if row[f"round {metrics[0]}"] == row[f"round {metrics[1]}"]]
    if len(rows) > 1:
        return f"the best rounds differ in {len(rows) - len(same)} of {len(rows)} folds"
    (row,) = rows
    rounds = [row[f"round {metric}"] for metric in metrics]
    if same:
        return f"both metrics are best at round {rounds[0]}"
    losses = [row[f"loss {metric}"] for metric in metrics]
    found = f"best at round {rounds[0]} by {metrics[0]}, at {rounds[1]} by {metrics[1]}"
    if not np.isfinite(losses).all():  # one was not measured at the other's best round
        return found
    return f"{found}; stopping by the other loses {mean(losses[0])} and {mean(losses[1])}"


def _fold_in_words(row: Fold, metrics: tuple[str, str], lower_is_better: Container[str]) -> str:
    where = f"Fold {row['fold']}: " if row["fold"] != "" else ""
    parts = []
    for metric in metrics:
        behind = row[f"loss {metric}"] * (1 if metric in lower_is_better else -1)
        there = f"at the other's best round {difference(behind)} from that"
        there = there if np.isfinite(behind) else "has no value at the other's best round"
        parts.append(f"{metric} is best at round {row[f'round {metric}']} ({mean(row[f'best {metric}'])}) and {there}")
    rounds = " and ".join(map(str, row.get("compared", [])))
    compared = f" Compared at round {rounds}." if rounds else ""
    return f"{where}{'; '.join(parts)}.{compared}"
