"""Queries on which two metrics prefer different models, as strips of grades in ranked order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._common.shown import short_names
from ..._common.words import amount, count
from ..numbers import difference
from .style import finish, grade_colours, plain, start, without_frame

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.axes import Axes

    from ...drawing.palette import Theme

__all__ = ["draw_strip", "plot_queries", "strips_of"]

MOST_RANKS = 20
"""So many ranks of a query are drawn."""


def strips_of(queries: pd.DataFrame) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the models and the metrics that a table of `Comparison.queries` is about."""
    names = [str(column) for column in queries.columns]
    models = [name.removeprefix("labels ") for name in names if name.startswith("labels ")]
    metrics = [name.removeprefix("difference ") for name in names if name.startswith("difference ")]
    if len(models) != 2 or len(metrics) != 2:
        raise ValueError(f"queries must be a table made by Comparison.queries: got columns {', '.join(names)}")
    return (models[0], models[1]), (metrics[0], metrics[1])


def plot_queries(
    queries: pd.DataFrame,
    ax: Axes | None = None,
    theme: str = "light",
    *,
    most: int = 6,
    grades: Any = None,
    names: Mapping[str, str] | None = None,
) -> Axes:
    """Draw the most contradictory queries as pairs of strips: the grades of the documents from rank 1 on.

    Parameters
    ----------
    queries : DataFrame
        Made by `Comparison.queries`.
    ax, theme
        As for `plot_conflict`.
    most : int
        How many queries.
    grades : sequence of numbers, optional
        All grades there are, ascending, so that colours do not depend on which queries are drawn; by default those of
        `queries`.
    names : mapping of model to str, optional
        What to call the models, such as `Comparison.short_names`.

    Returns
    -------
    Axes
    """
    (one, other), metrics = strips_of(queries)
    rows = queries.head(most).to_dict("records")
    found = {grade for row in queries.to_dict("records") for model in (one, other) for grade in row[f"labels {model}"]}
    levels = sorted(found if grades is None else {*grades, *found})
    shades = dict(zip(levels, grade_colours(len(levels)), strict=True))
    longest = max([10, *(min(len(row[f"labels {model}"]), MOST_RANKS) for row in rows for model in (one, other))])
    ax, colours = start(ax, theme, (5.4 + 0.33 * longest, 1.3 + 0.92 * max(len(rows), 1)))
    short = short_names((one, other)) if names is None else names
    for number, row in enumerate(rows):
        top = 2.9 * number
        for line, model in enumerate((one, other)):
            draw_strip(ax, row[f"labels {model}"], top + line, shades, colours)
            ax.text(-0.2, top + line + 0.5, short[model], ha="right", va="center", fontsize=9, color=colours.ink)
        words = f"query {plain(row['query'])[:32]}"
        ax.text(0, top - 0.12, words, fontsize=8.5, weight="bold", va="bottom", color=colours.ink, parse_math=False)
        preferred = (one, other) if row["pull"] > 0 else (other, one)
        for line, (metric, model) in enumerate(zip(metrics, preferred, strict=True)):
            ax.text(
                longest + 0.25,
                top + line + 0.5,
                f"{metric} prefers {short[model]} by {amount(abs(row[f'difference {metric}']))}",
                va="center",
                fontsize=8.5,
                color=colours.ink,
                parse_math=False,
            )
    ax.set_xlim(0, longest)
    ax.set_ylim(max(2.9 * len(rows), 1) - 0.7, -0.8)
    ax.set_xticks([place + 0.5 for place in range(0, longest, 1)], [str(place + 1) for place in range(longest)])
    ax.set_yticks([])
    ax.tick_params(length=0, labelsize=8)
    without_frame(ax)
    title = (
        f"{count(len(rows), 'query')} on which {metrics[0]} and {metrics[1]} pull hardest in opposite directions"
        if rows
        else f"{metrics[0]} and {metrics[1]} pull in opposite directions on no query"
    )
    alt = [
        f"Strips of grades from rank 1 on, {short[one]} above {short[other]}; "
        "differences are the first minus the second."
    ]
    for row in rows:
        strips = ", ".join(f"{short[model]} {_graded(row[f'labels {model}'])}" for model in (one, other))
        signs = ", ".join(f"{metric} {difference(row[f'difference {metric}'])}" for metric in metrics)
        alt.append(f"Query {plain(row['query'])}: {strips}; {signs}.")
    note = "rank (cells hold the grade of the document)" if rows else ""
    return finish(ax, colours, title, " ".join(alt), x=note, wide=0.62)


def draw_strip(ax: Axes, labels: Any, top: float, shades: dict[Any, tuple[str, str]], colours: Theme) -> None:
    """Draw one row of coloured cells, each with its grade written in it."""
    from matplotlib.patches import Rectangle

    for place, grade in enumerate(labels[:MOST_RANKS]):
        shade, ink = shades[grade]
        cell = Rectangle((place + 0.03, top + 0.04), 0.94, 0.9, facecolor=shade, edgecolor=colours.muted, linewidth=0.5)
        ax.add_patch(cell)
        ax.text(place + 0.5, top + 0.5, f"{grade:g}", ha="center", va="center", fontsize=8, color=ink)
    if len(labels) > MOST_RANKS:
        ax.text(MOST_RANKS + 0.05, top + 0.5, "…", va="center", fontsize=9, color=colours.ink)


def _graded(labels: Any) -> str:
    more = f" and {len(labels) - MOST_RANKS} more" if len(labels) > MOST_RANKS else ""
    return " ".join(f"{grade:g}" for grade in labels[:MOST_RANKS]) + more
