"""Two metrics over the rounds of training, and the round that each would stop at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._common.shown import short_names
from ..numbers import difference, mean
from ..rounds import best_rounds, curve_of, most_torn
from .style import finish, legend_below, short_metrics, start

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    import pandas as pd
    from matplotlib.axes import Axes

    from .picture import Picture

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

    Returns
    -------
    Picture

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
    lowest = []
    kinds = (
        (*metrics, colours.first, colours.first_text, "-", "o"),
        (*metrics[::-1], colours.second, colours.second_text, (0, (5, 1.5)), "D"),
    )
    for row in rows:
        part = own[own["fold"] == row["fold"]] if "fold" in own.columns else own
        for metric, other, colour, text, style, marker in kinds:
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
            stopped, best, loss = row[f"round {other}"], row[f"round {metric}"], row[f"loss {metric}"]
            if loss > 0:
                ax.vlines(stopped, -loss, 0, color=colour, linewidth=4, alpha=0.45, zorder=3)
            ax.plot([stopped], [-loss], marker, color=colour, markerfacecolor=colours.face, markersize=6.5, zorder=4)
            ax.plot([best], [0.0], marker, color=colour, markersize=6.5, zorder=5, clip_on=False)
            if len(rows) == 1:
                later = best > stopped or (best == stopped and metric == metrics[1])
                _best_round(ax, f"{called[metric]}: round {best}", best, later, text)
            lowest += [2.5 * loss, -float(behind.iloc[len(behind) // 5])]
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
        pad=22 if len(rows) == 1 else 10,
    )


def _best_round(ax: Axes, words: str, number: int, to_the_right: bool, colour: str) -> None:
    """Write above a best round which one it is, away from the other metric's."""
    ax.annotate(words, (number, 1), xycoords=("data", "axes fraction"), xytext=(2 if to_the_right else -2, 3),
                textcoords="offset points", ha="left" if to_the_right else "right", fontsize=8.5, weight="bold",
                color=colour, parse_math=False)  # fmt: skip


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
