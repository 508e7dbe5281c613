"""Two metrics over the rounds of training, and the round that each would stop at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._common.shown import short_names
from ..numbers import difference, mean
from ..rounds import best_rounds, curve_of, most_torn
from .style import finish, legend_below, start

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["plot_curves"]


def plot_curves(
    curves: pd.DataFrame,
    metrics: tuple[str, str],
    ax: Axes | None = None,
    theme: str = "light",
    *,
    candidate: str | None = None,
    names: Mapping[str, str] | None = None,
    lower_is_better: Container[str] = (),
) -> Axes:
    """Draw one candidate's curves under both metrics, each as its distance from its own best, with both best rounds.

    Distances from the best make the two comparable on one axis: a curve touches 0 at its own best round (filled
    marker), and what it has there at the other's best round (hollow marker) is what stopping there loses. Folds are
    drawn as lines of their own.

    Parameters
    ----------
    curves : DataFrame
        Columns `candidate`, `round`, `metric`, `value`, `fold` where there are several, and maybe `compared`: a grey
        line stands where the candidate is compared.
    metrics : two metric names
        Circles and full lines are the first, squares and broken lines the second.
    ax, theme
        As for `plot_conflict`.
    candidate : str, optional
        By default the one that loses most by the other metric's best round.
    names : mapping of candidate to str, optional
        What to call the candidates, such as `Comparison.short_names`.
    lower_is_better : names of metrics, optional
        Those of which a lower value is better: their curves are drawn turned, below 0 is worse.

    Returns
    -------
    Axes

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
    lowest = []
    for row in rows:
        part = own[own["fold"] == row["fold"]] if "fold" in own.columns else own
        for metric, other, colour, style, marker in (
            (*metrics, colours.first, "-", "o"),
            (*metrics[::-1], colours.second, (0, (5, 2)), "s"),
        ):
            line = curve_of(part, metric)
            behind = row[f"best {metric}"] - line if metric in lower_is_better else line - row[f"best {metric}"]
            ax.plot(
                behind.index,
                behind,
                color=colour,
                linestyle=style,
                linewidth=1.8 if len(rows) == 1 else 1.1,
                label=metric if row is rows[0] else None,
            )
            stopped = row[f"round {other}"]
            ax.plot([row[f"round {metric}"]], [0.0], marker, color=colour, markersize=7, zorder=4, clip_on=False)
            ax.plot([stopped], [-row[f"loss {metric}"]], marker, color=colour, fillstyle="none", markersize=7, zorder=4)
            if len(rows) == 1:
                ax.axvline(row[f"round {metric}"], color=colour, linewidth=0.8, linestyle=":", zorder=0)
            lowest += [2.5 * row[f"loss {metric}"], -float(behind.iloc[len(behind) // 5])]
    for place, number in enumerate(rows[0].get("compared", []) if len(rows) == 1 else []):
        ax.axvline(number, color=colours.muted, linewidth=1.2, zorder=0, label=None if place else "compared here")
    bottom = max(*lowest, 1e-6)
    ax.set_ylim(-1.1 * bottom, 0.08 * bottom)
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
    )


def _finding(rows: list[dict[Any, Any]], metrics: tuple[str, str]) -> str:
    same = [row for row in rows if row[f"round {metrics[0]}"] == row[f"round {metrics[1]}"]]
    if len(rows) > 1:
        return f"the best rounds differ in {len(rows) - len(same)} of {len(rows)} folds"
    (row,) = rows
    rounds = [int(row[f"round {metric}"]) for metric in metrics]
    if same:
        return f"both metrics are best at round {rounds[0]}"
    return (
        f"best at round {rounds[0]} by {metrics[0]}, at {rounds[1]} by {metrics[1]}; stopping by the other loses "
        f"{mean(row[f'loss {metrics[0]}'])} and {mean(row[f'loss {metrics[1]}'])}"
    )


def _fold_in_words(row: dict[Any, Any], metrics: tuple[str, str], lower_is_better: Container[str]) -> str:
    where = f"Fold {row['fold']}: " if row["fold"] != "" else ""
    parts = [
        f"{metric} is best at round {int(row[f'round {metric}'])} ({mean(row[f'best {metric}'])}) and at the other's "
        f"best round {difference(row[f'loss {metric}'] * (1 if metric in lower_is_better else -1))} from that"
        for metric in metrics
    ]
    rounds = " and ".join(map(str, row.get("compared", [])))
    compared = f" Compared at round {rounds}." if rounds else ""
    return f"{where}{'; '.join(parts)}.{compared}"
