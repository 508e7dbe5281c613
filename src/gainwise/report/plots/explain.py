"""Why two models differ, and the most contradictory queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.legend_handler import HandlerTuple
from matplotlib.patches import Patch, Rectangle
from matplotlib.transforms import ScaledTranslation

from ..._common.names import split_names
from ..._common.text import MINUS, format_difference, format_size, pluralize, printable
from ..._common.theme import LIGHT
from ..._common.validation import validate_integer
from ...drawing.style import (
    annotate_beside,
    column_width,
    draw_legend_below,
    finish,
    looks,
    mix_colors,
    number_long_names,
    remove_frame,
    start,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from ..._common.theme import Theme
    from ..._common.typing import Floats
    from ...comparison.attribution import Attribution
    from ...drawing.style import Look, Picture

LANES = (-0.2, 0.2)
HEIGHT = 0.34
"""Positions of the bars of the two metrics in the row of a grade, and their height."""

STRENGTHS = (1.0, 0.72, 0.48, 0.28)
"""Strength of the color of each band of ranks."""

MAX_DESCRIBED = 12
"""Parts of each metric in the text alternative."""


def plot_attribution(
    attribution: Attribution, ax: Axes | None = None, theme: str = "light", *, names: Mapping[str, str] | None = None
) -> Picture:
    """Draw the parts of the difference between two models by grade, metric and band of ranks.

    Each grade has a row, each metric a bar, each band of ranks a segment of the bar. Segments to the right favor the
    first model and have the color of their metric. Segments to the left favor the second model and are gray. Higher
    ranks have stronger colors. The number is the sum of the grade, the last row the whole difference. Grades without
    any effect are left out.

    Parameters
    ----------
    attribution : Attribution
        Result of `Comparison.attribution`. Its first two metrics are drawn.
    ax, theme
        As for `plot_leaderboard`.
    names : mapping of model to str, optional
        Labels of the models, by default their names.
    """
    metrics = attribution.metrics[:2]
    blocks = {metric: _get_block(attribution, metric) for metric in metrics}
    grades = list(map(str, blocks[metrics[0]].index))
    ax, colors = start(ax, theme, (7.4, 1.9 + 0.44 * (len(grades) + 1)))
    bottom = len(grades) + 0.25
    for block, lane, look in zip(blocks.values(), LANES, looks(colors), strict=False):
        cells = block.to_numpy(float)
        for row, pieces in enumerate(cells):
            _stack_pieces(ax, colors, row + lane, pieces, look)
        _stack_pieces(ax, colors, bottom + lane, np.array([cells.sum()]), look, weight="bold")
    ax.axvline(0, color=colors.ink, linewidth=1.2, zorder=4)
    ax.axhline(len(grades) - 0.38, color=colors.rule, linewidth=1, zorder=0)
    ax.margins(x=0.16)
    ax.set_ylim(bottom + 0.55, -0.95)
    ax.set_yticks([*range(len(grades)), bottom], [*(f"grade {grade}" for grade in grades), "total"])
    ax.get_yticklabels()[-1].set(weight="bold", color=colors.ink)
    remove_frame(ax, colors, 7)
    labels = split_names(attribution.models).labels if names is None else names
    first, second = (labels[name] for name in attribution.models)
    numbers, key = number_long_names(labels, attribution.models, 72 * column_width(ax))
    _label_sides(ax, colors, (0, -0.66), *(numbers[name] for name in attribution.models[::-1]), size=9, va="center")
    _draw_band_legend(ax, colors, metrics, list(map(str, blocks[metrics[0]].columns)), 0.42 + 0.17 * key.count("\n"))
    note = f"contribution of a grade to {f' {MINUS} '.join(numbers[name] for name in attribution.models)}"
    note += f" (reversed for a loss){key}" if attribution.lower_is_better else key
    totals = {metric: format_difference(float(block.to_numpy().sum())) for metric, block in blocks.items()}
    title = f"{first} {MINUS} {second}: {', '.join(f'{total} under {metric}' for metric, total in totals.items())}"
    alt = [f"Bars: contributions of documents of each grade at each rank to {first} minus {second}."]
    for metric, block in blocks.items():
        parts = [(value, grade, band) for grade, row in block.iterrows() for band, value in row.items()]
        largest = sorted(parts, key=lambda cell: -abs(cell[0]))[:MAX_DESCRIBED]
        texts = (f"grade {grade} at rank {band} {format_difference(value)}" for value, grade, band in largest)
        alt.append(f"{metric}: {totals[metric]} in total. {', '.join(texts)}.")
    return finish(ax, colors, title, " ".join(alt), note, wide=0.85)


def _get_block(attribution: Attribution, metric: str) -> pd.DataFrame:
    """Return the grades that matter by bands of ranks, the highest first. Values above 0 favor the first model."""
    cells = attribution.grades_by_ranks
    matters = cells.abs().groupby(level=1).sum().sum(axis=1) > 0
    block = cells.loc[cells.index.get_level_values(0) == metric].droplevel(0).iloc[::-1]
    block = block[matters.loc[block.index].to_numpy()] if matters.any() else block
    return -1.0 * block if metric in attribution.lower_is_better else block


def _stack_pieces(ax: Axes, colors: Theme, y: float, pieces: Floats, look: Look, weight: str = "normal") -> None:
    """Draw segments outwards from 0, the first ranks nearest to it, and write their sum at the longer side."""
    ends = {True: 0.0, False: 0.0}
    for piece, strength in zip(pieces.tolist(), [*STRENGTHS, *[STRENGTHS[-1]] * len(pieces)], strict=False):
        if piece:
            shade = mix_colors(colors.face, look.color if piece > 0 else colors.muted, strength)
            ax.barh(y, piece, HEIGHT, ends[piece > 0], color=shade, edgecolor=colors.face, linewidth=0.5, zorder=3)
            ends[piece > 0] += piece
    net = float(pieces.sum())
    annotate_beside(ax, format_difference(net), (ends[net >= 0], y), 4 if net >= 0 else -4, color=look.text, size=8,
                    weight=weight)  # fmt: skip


def _draw_band_legend(ax: Axes, colors: Theme, metrics: Sequence[str], bands: Sequence[str], below: float) -> None:
    """Draw the legend of metrics and ranks some inches below the axes."""
    metric_colors = [look.color for look in looks(colors)[: len(metrics)]]
    handles: list[Any] = [Patch(facecolor=color) for color in metric_colors]
    labels = [*metrics]
    for place, (band, strength) in enumerate(zip(bands, STRENGTHS, strict=False), 1):
        shades = [mix_colors(colors.face, color, strength) for color in (*metric_colors, colors.muted)]
        handles.append(tuple(Patch(facecolor=shade) for shade in shades))
        labels.append(f"rank {band}{' and beyond' if len(bands) > len(STRENGTHS) == place else ''}")
    columns = 6 if column_width(ax) > 6.5 else 3
    shifted = ax.transAxes + ScaledTranslation(0, -below, ax.figure.dpi_scale_trans)
    draw_legend_below(ax, colors, bbox_to_anchor=(0.5, 0), bbox_transform=shifted, handles=handles, labels=labels,
                      ncols=columns, handlelength=1.4, handletextpad=0.4, columnspacing=1.1,
                      handler_map={tuple: HandlerTuple(None, pad=0)})  # fmt: skip


def _label_sides(ax: Axes, theme: Theme, at: tuple[float, float], left: str, right: str, **look: Any) -> None:
    """Label the left and the right side of a line."""
    for words, ha in ((f"◂ {left}\u00a0", "right"), (f"\u00a0{right} ▸", "left")):
        ax.text(*at, words, ha=ha, color=theme.muted, parse_math=False, **look)


MAX_RANKS = 20
"""Ranks of a query that are drawn."""

STEP = 2.75
"""Distance from one query to the next, in rows of cells."""

BARS = 9.0
"""Width of the bars next to the strips, in cells."""

GRADE_STRENGTHS = (0.0, 0.11, 0.27, 0.64, 1.0)
"""Strength of the cell of a document for five grades."""


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

    Cells of higher grades have stronger shades, and grade 0 is a dot. Bars to the right show the difference under each
    metric.

    Parameters
    ----------
    queries : DataFrame
        Result of `Comparison.queries`.
    ax, theme
        As for `plot_leaderboard`.
    most : int
        Number of queries.
    grades : sequence of numbers, optional
        All grades of the data in ascending order, so that colors do not depend on the selected queries. By default the
        grades of `queries`.
    names : mapping of model to str, optional
        Labels of the models, by default their names.

    Raises
    ------
    ValueError
        If the table has no rows, because the metrics contradict each other on no query.
    """
    columns = [str(column) for column in queries.columns]
    models, metrics = (
        [column.removeprefix(prefix) for column in columns if column.startswith(prefix)]
        for prefix in ("labels ", "difference ")
    )
    if len(models) != 2 or len(metrics) != 2:
        raise ValueError(f"queries must be a table made by Comparison.queries: got columns {', '.join(columns)}")
    if not len(queries):
        raise ValueError(f"queries has no rows: {metrics[0]} and {metrics[1]} contradict each other on no query.")
    rows = queries.head(validate_integer("most", most)).to_dict("records")
    drawn_grades = {grade for model in models for labels in queries[f"labels {model}"] for grade in labels}
    levels = sorted(drawn_grades | set(grades or ()))
    depth = max([10, *(min(len(row[f"labels {model}"]), MAX_RANKS) for row in rows for model in models)])
    ax, colors = start(ax, theme, (4.6 + 0.33 * depth, 1.5 + 0.8 * len(rows)))
    shades = dict(zip(levels, choose_grade_colors(len(levels), colors), strict=True))
    labels = split_names(models).labels if names is None else names
    short, key = number_long_names(labels, models, 72 * column_width(ax))
    width = depth + 1.0 + BARS
    middle = width - BARS / 2
    scale = (BARS / 2 - 1.6) / (max(abs(row[f"difference {metric}"]) for row in rows for metric in metrics) or 1.0)
    for number, row in enumerate(rows):
        top = STEP * number
        ax.text(0, top - 0.1, f"query {printable(str(row['query']))[:32]}", fontsize=8.5, weight="bold", va="bottom",
                color=colors.ink, parse_math=False)  # fmt: skip
        for line, (model, metric, look) in enumerate(zip(models, metrics, looks(colors), strict=True)):
            _draw_strip(ax, row[f"labels {model}"], top + line, shades, colors)
            y, size = top + line + 0.5, abs(row[f"difference {metric}"])
            ax.text(-0.2, y, short[model], ha="right", va="center", fontsize=9, color=colors.ink, parse_math=False)
            # The first metric prefers the first model, and the second metric the other one, or the reverse.
            side = 1 if (row["contradiction strength"] > 0) == (line == 0) else -1
            end = middle + side * size * scale
            ax.barh(y, end - middle, 0.56, middle, color=look.color, zorder=3, label=None if number else metric)
            annotate_beside(ax, format_size(size), (end, y), 4 * side, color=colors.ink, size=8)
    ax.plot([middle, middle], [-0.1, STEP * len(rows) - 0.75], color=colors.ink, linewidth=1.2, zorder=4)
    _label_sides(ax, colors, (middle, -0.25), short[models[1]], short[models[0]], size=8.5, va="bottom")
    draw_legend_below(ax, colors, bbox_to_anchor=(middle / width, 0.0), ncols=2, handlelength=1.2, handletextpad=0.4)
    ax.set(xlim=(0, width), ylim=(STEP * len(rows) - 0.6, -0.8), yticks=[])
    ax.set_xticks(np.arange(depth) + 0.5, [str(rank) for rank in range(1, depth + 1)])
    ax.tick_params(length=0, labelsize=8)
    ax.spines[:].set_visible(False)
    title = f"{pluralize(len(rows), 'query')} with the strongest contradiction of {metrics[0]} and {metrics[1]}"
    alt = _describe_strips(rows, models, metrics, labels)
    picture = finish(ax, colors, title, alt, f"rank (cells: grade of the document){key}", wide=0.7)
    ax.xaxis.label.set_multialignment("left")
    ax.xaxis.label.set_horizontalalignment("left")
    ax.xaxis.set_label_coords(0, -0.05 - 0.12 / len(rows))
    return picture


def _describe_strips(
    rows: Sequence[Mapping[Hashable, Any]], models: Sequence[str], metrics: Sequence[str], short: Mapping[str, str]
) -> str:
    first, second = (short[model] for model in models)
    alt = [f"Strips of grades from rank 1 on, {first} above {second}. Differences are the first minus the second."]
    for row in rows:
        strips = (f"{short[model]} {_join_grades(row[f'labels {model}'])}" for model in models)
        signs = ", ".join(f"{metric} {format_difference(row[f'difference {metric}'])}" for metric in metrics)
        alt.append(f"Query {row['query']}: {', '.join(strips)}. {signs}.")
    return " ".join(alt)


def _join_grades(labels: Sequence[float]) -> str:
    more = f" and {len(labels) - MAX_RANKS} more" if len(labels) > MAX_RANKS else ""
    return " ".join(f"{grade:g}" for grade in labels[:MAX_RANKS]) + more


def _draw_strip(
    ax: Axes, labels: Sequence[float], top: float, shades: Mapping[float, tuple[str, str]], colors: Theme
) -> None:
    """Draw one row of colored cells that contain their grades."""
    for place, grade in enumerate(labels[:MAX_RANKS]):
        shade, ink = shades[grade] if grade else (shades[grade][0], colors.muted)
        edge = colors.rule if shade == colors.face else shade
        cell = Rectangle((place + 0.05, top + 0.07), 0.9, 0.86, facecolor=shade, edgecolor=edge, linewidth=0.8)
        ax.add_patch(cell)
        text = f"{grade:g}" if grade else "·"
        ax.text(place + 0.5, top + 0.5, text, ha="center", va="center_baseline", fontsize=8, color=ink)
    if len(labels) > MAX_RANKS:
        ax.text(MAX_RANKS + 0.05, top + 0.5, "…", va="center", fontsize=9, color=colors.ink)


def choose_grade_colors(count: int, theme: Theme = LIGHT) -> list[tuple[str, str]]:
    """Return the color of the cell and of its text for `count` grades, lowest first.

    >>> choose_grade_colors(2)
    [('#ffffff', '#1a1e24'), ('#1a1e24', '#ffffff')]
    """
    shares = np.interp(np.linspace(0, 1, max(count, 2))[:count], np.linspace(0, 1, 5), GRADE_STRENGTHS).tolist()
    return [(mix_colors(theme.face, theme.ink, share), theme.ink if share < 0.5 else theme.face) for share in shares]
