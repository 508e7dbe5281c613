"""Queries on which two metrics prefer different models, as strips of grades in ranked order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._common.checks import check_whole
from ..._common.shown import short_names
from ..._common.words import amount, count
from ..numbers import difference
from .style import beside, finish, grade_colours, legend_below, looks, plain, start, two_sides, without_frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from ...drawing.palette import Theme
    from .picture import Picture

__all__ = ["draw_strip", "plot_queries", "strips_of"]

MOST_RANKS = 20
"""So many ranks of a query are drawn."""

STEP = 2.75
"""From one query to the next, in rows of cells."""

BARS = 9.0
"""Width of the bars beside the strips, in cells."""


class _Strips(NamedTuple):
    """A query: the grades under both models, the differences under both metrics, and whom the first one prefers."""

    query: str
    labels: list[Sequence[float]]
    differences: list[float]
    first_leads: bool


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
    grades: Iterable[float] | None = None,
    names: Mapping[str, str] | None = None,
) -> Picture:
    """Draw the most contradictory queries as pairs of strips: the grades of the documents from rank 1 on.

    The higher the grade the darker the cell, and grade 0 is a dot. Bars to the right say by how much either metric
    prefers which model.

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
    """
    models, metrics = strips_of(queries)
    most = check_whole("most", most)
    rows = [
        _Strips(plain(row["query"]), [row[f"labels {model}"] for model in models],
                [float(row[f"difference {metric}"]) for metric in metrics], row["pull"] > 0)
        for row in queries.head(most).to_dict("records")
    ]  # fmt: skip
    found = {grade for model in models for labels in queries[f"labels {model}"] for grade in labels}
    levels = sorted(found if grades is None else {*grades, *found})
    longest = max([10, *(min(len(labels), MOST_RANKS) for row in rows for labels in row.labels)])
    ax, colours = start(ax, theme, (4.6 + 0.33 * longest, 1.5 + 0.8 * max(len(rows), 1)))
    shades = dict(zip(levels, grade_colours(len(levels), colours), strict=True))
    short = short_names(models) if names is None else names
    one, other = called = [short[model] for model in models]
    wide = longest + 1.0 + BARS
    middle = wide - BARS / 2
    scale = (BARS / 2 - 1.6) / (max((abs(value) for row in rows for value in row.differences), default=0.0) or 1.0)
    for number, row in enumerate(rows):
        top = STEP * number
        for line, (name, labels) in enumerate(zip(called, row.labels, strict=True)):
            draw_strip(ax, labels, top + line, shades, colours)
            ax.text(-0.2, top + line + 0.5, name, ha="right", va="center", fontsize=9, color=colours.ink,
                    parse_math=False)  # fmt: skip
        ax.text(0, top - 0.1, f"query {row.query[:32]}", fontsize=8.5, weight="bold", va="bottom", color=colours.ink,
                parse_math=False)  # fmt: skip
        for line, (value, look) in enumerate(zip(row.differences, looks(colours), strict=True)):
            # above 0 favours the model that the metric prefers, of a loss too
            reach = abs(value) * scale if row.first_leads == (line == 0) else -abs(value) * scale
            y = top + line + 0.5
            ax.barh(y, reach, 0.56, middle, color=look.colour, zorder=3)
            beside(
                ax, amount(abs(value)), (middle + reach, y), (4 if reach >= 0 else -4, 0), colour=colours.ink, size=8
            )
    if rows:
        ax.plot([middle, middle], [-0.1, STEP * len(rows) - 0.75], color=colours.ink, linewidth=1.2, zorder=4)
        two_sides(ax, colours, (middle, -0.25), other, one, va="bottom")
        for metric, look in zip(metrics, looks(colours), strict=True):
            ax.plot([], [], color=look.colour, linewidth=5, label=metric)
        legend_below(ax, colours, bbox_to_anchor=(middle / wide, 0.0), ncols=2, handlelength=1.2, handletextpad=0.4)
    ax.set_xlim(0, wide if rows else longest)
    ax.set_ylim(max(STEP * len(rows), 1) - 0.6, -0.8)
    ax.set_xticks(np.arange(longest) + 0.5, [str(rank) for rank in range(1, longest + 1)])
    ax.set_yticks([])
    ax.tick_params(length=0, labelsize=8)
    without_frame(ax)
    title = (
        f"{count(len(rows), 'query')} on which {metrics[0]} and {metrics[1]} pull hardest in opposite directions"
        if rows
        else f"{metrics[0]} and {metrics[1]} pull in opposite directions on no query"
    )
    alt = [f"Strips of grades from rank 1 on, {one} above {other}; differences are the first minus the second."]
    for row in rows:
        strips = ", ".join(f"{name} {_graded(labels)}" for name, labels in zip(called, row.labels, strict=True))
        signs = (f"{metric} {difference(value)}" for metric, value in zip(metrics, row.differences, strict=True))
        alt.append(f"Query {row.query}: {strips}; {', '.join(signs)}.")
    picture = finish(ax, colours, title, " ".join(alt), x="rank; cells hold the grade" if rows else "", wide=0.7)
    ax.xaxis.label.set_horizontalalignment("left")
    ax.xaxis.set_label_coords(0, -0.05 - 0.12 / max(len(rows), 1))
    return picture


def draw_strip(
    ax: Axes, labels: Sequence[float], top: float, shades: Mapping[float, tuple[str, str]], colours: Theme
) -> None:
    """Draw one row of coloured cells, each with its grade written in it."""
    from matplotlib.patches import Rectangle

    for place, grade in enumerate(labels[:MOST_RANKS]):
        shade, ink = shades[grade]
        edge = colours.rule if shade == colours.face else shade
        cell = Rectangle((place + 0.05, top + 0.07), 0.9, 0.86, facecolor=shade, edgecolor=edge, linewidth=0.8)
        ax.add_patch(cell)
        words, ink = ("·", colours.muted) if grade == 0 else (f"{grade:g}", ink)
        ax.text(place + 0.5, top + 0.5, words, ha="center", va="center_baseline", fontsize=8, color=ink)
    if len(labels) > MOST_RANKS:
        ax.text(MOST_RANKS + 0.05, top + 0.5, "…", va="center", fontsize=9, color=colours.ink)


def _graded(labels: Sequence[float]) -> str:
    more = f" and {len(labels) - MOST_RANKS} more" if len(labels) > MOST_RANKS else ""
    return " ".join(f"{grade:g}" for grade in labels[:MOST_RANKS]) + more
