"""Queries on which two metrics prefer different models, as strips of grades in ranked order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._common.shown import short_names
from ..._common.words import amount, count
from ..numbers import difference
from .style import finish, grade_colours, plain, start, without_frame

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

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

    Returns
    -------
    Picture
    """
    (one, other), metrics = strips_of(queries)
    rows = queries.head(most).to_dict("records")
    found = {grade for row in queries.to_dict("records") for model in (one, other) for grade in row[f"labels {model}"]}
    levels = sorted(found if grades is None else {*grades, *found})
    longest = max([10, *(min(len(row[f"labels {model}"]), MOST_RANKS) for row in rows for model in (one, other))])
    ax, colours = start(ax, theme, (4.6 + 0.33 * longest, 1.5 + 0.8 * max(len(rows), 1)))
    shades = dict(zip(levels, grade_colours(len(levels), colours), strict=True))
    short = short_names((one, other)) if names is None else names
    middle, widest = longest + 1.0 + BARS / 2, _widest(rows, metrics)
    for number, row in enumerate(rows):
        top = STEP * number
        for line, model in enumerate((one, other)):
            draw_strip(ax, row[f"labels {model}"], top + line, shades, colours)
            ax.text(-0.2, top + line + 0.5, short[model], ha="right", va="center", fontsize=9, color=colours.ink,
                    parse_math=False)  # fmt: skip
        words = f"query {plain(row['query'])[:32]}"
        ax.text(0, top - 0.1, words, fontsize=8.5, weight="bold", va="bottom", color=colours.ink, parse_math=False)
        for line, (metric, colour) in enumerate(zip(metrics, (colours.first, colours.second), strict=True)):
            # above 0 favours the model that the metric prefers, of a loss too
            leads = (row["pull"] > 0) == (line == 0)
            size = abs(float(row[f"difference {metric}"]))
            _draw_bar(ax, colours, top + line + 0.5, middle, size / widest if leads else -size / widest, size, colour)
    if rows:
        bottom = STEP * len(rows) - 0.75
        ax.plot([middle, middle], [-0.1, bottom], color=colours.ink, linewidth=1.2, zorder=4)
        for words, side in ((f"◂ {short[other]} ", "right"), (f" {short[one]} ▸", "left")):
            ax.text(middle, -0.25, words, ha=side, va="bottom", fontsize=8.5, color=colours.muted, parse_math=False)
        for metric, colour in zip(metrics, (colours.first, colours.second), strict=True):
            ax.plot([], [], color=colour, linewidth=5, label=metric)
        ax.legend(loc="upper center", bbox_to_anchor=(middle / (longest + 1.0 + BARS), 0.0), ncols=2, frameon=False,
                  fontsize=8, labelcolor=colours.ink, handlelength=1.2, handletextpad=0.4)  # fmt: skip
    ax.set_xlim(0, longest + (1.0 + BARS if rows else 0))
    ax.set_ylim(max(STEP * len(rows), 1) - 0.6, -0.8)
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
    picture = finish(ax, colours, title, " ".join(alt), x="rank; cells hold the grade" if rows else "", wide=0.7)
    ax.xaxis.label.set_horizontalalignment("left")
    ax.xaxis.set_label_coords(0, -0.05 - 0.12 / max(len(rows), 1))
    return picture


def _widest(rows: Sequence[Mapping[Hashable, Any]], metrics: tuple[str, str]) -> float:
    return max((abs(float(row[f"difference {metric}"])) for row in rows for metric in metrics), default=0.0) or 1.0


def _draw_bar(ax: Axes, colours: Theme, y: float, middle: float, share: float, size: float, colour: str) -> None:
    """Draw by how much a metric prefers a model, the number at the end of the bar."""
    reach = share * (BARS / 2 - 1.6)
    ax.barh(y, reach, 0.56, middle, color=colour, zorder=3)
    ax.annotate(amount(size), (middle + reach, y), xytext=(4 if reach >= 0 else -4, 0), textcoords="offset points",
                ha="left" if reach >= 0 else "right", va="center", fontsize=8, color=colours.ink)  # fmt: skip


def draw_strip(ax: Axes, labels: Any, top: float, shades: dict[Any, tuple[str, str]], colours: Theme) -> None:
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


def _graded(labels: Any) -> str:
    more = f" and {len(labels) - MOST_RANKS} more" if len(labels) > MOST_RANKS else ""
    return " ".join(f"{grade:g}" for grade in labels[:MOST_RANKS]) + more
