"""Why two models differ, the most contradictory queries, and the documents behind one number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._common.arrays import numbers
from ..._common.shown import short_names
from ..._common.validation import validate_integer
from ..._common.words import MINUS, format_amount, format_difference, format_mean, pluralize
from ...evaluation.evaluator import evaluate
from ...judgments import Judgments
from .style import (
    beside,
    column_width,
    finish,
    grade_colors,
    legend_below,
    looks,
    mixed,
    only_across,
    plain,
    start,
    two_sides,
    without_frame,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ..._common.palette import Theme
    from ..._common.typing import Floats, Numbers
    from ...comparison.explanations import Attribution
    from .picture import Picture
    from .style import Look


LANES = (-0.2, 0.2)
HEIGHT = 0.34
"""Positions of the bars of the two metrics in the row of a grade, and their height."""

STRENGTHS = (1.0, 0.72, 0.48, 0.28)
"""Strength of the color of each band of ranks."""


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
        As for `plot_conflict`.
    names : mapping of model to str, optional
        Labels of the models, such as `Comparison.short_names`.
    """
    metrics = attribution.metrics[:2]
    blocks = {metric: _get_block(attribution, metric) for metric in metrics}
    grades, bands = (list(map(str, axis)) for axis in (blocks[metrics[0]].index, blocks[metrics[0]].columns))
    ax, colors = start(ax, theme, (7.4, 1.9 + 0.44 * (len(grades) + 1)))
    total = len(grades) + 0.25
    for block, lane, look in zip(blocks.values(), LANES, looks(colors), strict=False):
        cells = block.to_numpy(float)
        for row, pieces in enumerate(cells):
            _stack(ax, colors, row + lane, pieces, look)
        _stack(ax, colors, total + lane, np.array([cells.sum()]), look, weight="bold")
    ax.axvline(0, color=colors.ink, linewidth=1.2, zorder=4)
    ax.axhline(len(grades) - 0.38, color=colors.rule, linewidth=1, zorder=0)
    ax.margins(x=0.16)
    ax.set_ylim(total + 0.55, -0.95)
    ax.set_yticks([*range(len(grades)), total], [*(f"grade {grade}" for grade in grades), "total"])
    ax.get_yticklabels()[-1].set(weight="bold", color=colors.ink)
    only_across(ax, colors, 7)
    short = short_names(attribution.models) if names is None else names
    first, second = (short[name] for name in attribution.models)
    two_sides(ax, colors, (0, -0.66), second, first, size=9)
    _legend(ax, colors, metrics, bands)
    note = f"contribution of a grade to {first} {MINUS} {second}"
    if attribution.lower_is_better:
        note += " (reversed for a loss)"
    totals = [f"{format_difference(float(block.to_numpy().sum()))} under {name}" for name, block in blocks.items()]
    title = f"{first} {MINUS} {second}: {', '.join(totals)}"
    return finish(ax, colors, title, _describe_cells(blocks, first, second), x=note, wide=0.85)


def _get_block(attribution: Attribution, metric: str) -> pd.DataFrame:
    """Return the grades that matter by bands of ranks, the highest first. Values above 0 favor the first model."""
    cells = attribution.grades_by_ranks
    matters = cells.abs().groupby(level=1).sum().sum(axis=1) > 0
    block = cells.loc[cells.index.get_level_values(0) == metric].droplevel(0).iloc[::-1]
    block = block[matters.loc[block.index].to_numpy()] if matters.any() else block
    return -1.0 * block if metric in attribution.lower_is_better else block


def _stack(ax: Axes, colors: Theme, y: float, pieces: Floats, look: Look, weight: str = "normal") -> None:
    """Draw segments outwards from 0, the first ranks nearest to it, and write their sum at the longer side."""
    ends = {True: 0.0, False: 0.0}
    for place, piece in enumerate(pieces.tolist()):
        if piece:
            shade = mixed(colors.face, look.color if piece > 0 else colors.muted, STRENGTHS[min(place, 3)])
            ax.barh(y, piece, HEIGHT, ends[piece > 0], color=shade, edgecolor=colors.face, linewidth=0.5, zorder=3)
            ends[piece > 0] += piece
    net = float(pieces.sum())
    is_right = net >= 0
    beside(ax, format_difference(net), (ends[is_right], y), (4 if is_right else -4, 0), color=look.text, size=8,
           weight=weight)  # fmt: skip


def _legend(ax: Axes, colors: Theme, metrics: Sequence[str], bands: Sequence[str]) -> None:
    from matplotlib.legend_handler import HandlerTuple
    from matplotlib.patches import Patch

    metric_colors = [look.color for look in looks(colors)[: len(metrics)]]
    entries: list[tuple[Artist | tuple[Artist, ...], str]] = [
        (Patch(facecolor=color), metric) for color, metric in zip(metric_colors, metrics, strict=True)
    ]
    for place, (band, strength) in enumerate(zip(bands, STRENGTHS, strict=False), 1):
        shades = [mixed(colors.face, color, strength) for color in (*metric_colors, colors.muted)]
        more = " and beyond" if len(bands) > len(STRENGTHS) == place else ""
        entries.append((tuple(Patch(facecolor=shade) for shade in shades), f"rank {band}{more}"))
    columns = 6 if column_width(ax) > 6.5 else 3
    legend_below(ax, colors, entries, below=0.42 / (0.44 * len(ax.get_yticks())), ncols=columns, handlelength=1.4,
                 handletextpad=0.4, columnspacing=1.1, handler_map={tuple: HandlerTuple(None, pad=0)})  # fmt: skip


def _describe_cells(blocks: Mapping[str, pd.DataFrame], first: str, second: str) -> str:
    alt = [f"Bars: contributions of documents of each grade at each rank to {first} minus {second}."]
    for metric, block in blocks.items():
        cells = [
            (f"grade {grade} at rank {band}", value)
            for grade, row in zip(block.index, block.to_numpy(float).tolist(), strict=True)
            for band, value in zip(block.columns, row, strict=True)
        ]
        cells.sort(key=lambda cell: -abs(cell[1]))
        parts = ", ".join(f"{cell} {format_difference(value)}" for cell, value in cells[:12])
        alt.append(f"{metric}: {format_difference(float(block.to_numpy().sum()))} in total. {parts}.")
    return " ".join(alt)


MAX_RANKS = 20
"""Ranks of a query that are drawn."""

STEP = 2.75
"""Distance from one query to the next, in rows of cells."""

BARS = 9.0
"""Width of the bars next to the strips, in cells."""


def _read_columns(queries: pd.DataFrame) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the models and the metrics of a table of `Comparison.queries`."""
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

    Higher grades have darker cells, and grade 0 is a dot. Bars to the right show the difference under each metric.

    Parameters
    ----------
    queries : DataFrame
        Result of `Comparison.queries`.
    ax, theme
        As for `plot_conflict`.
    most : int
        Number of queries.
    grades : sequence of numbers, optional
        All grades of the data in ascending order, so that colors do not depend on the selected queries. By default the
        grades of `queries`.
    names : mapping of model to str, optional
        Labels of the models, such as `Comparison.short_names`.

    Raises
    ------
    ValueError
        If the table has no rows, because the metrics contradict each other on no query.
    """
    models, metrics = _read_columns(queries)
    if not len(queries):
        raise ValueError(f"queries has no rows: {metrics[0]} and {metrics[1]} contradict each other on no query.")
    rows = queries.head(validate_integer("most", most)).to_dict("records")
    drawn_grades = {grade for model in models for labels in queries[f"labels {model}"] for grade in labels}
    levels = sorted(drawn_grades | set(grades or ()))
    depth = max([10, *(min(len(row[f"labels {model}"]), MAX_RANKS) for row in rows for model in models)])
    ax, colors = start(ax, theme, (4.6 + 0.33 * depth, 1.5 + 0.8 * len(rows)))
    shades = dict(zip(levels, grade_colors(len(levels), colors), strict=True))
    short = short_names(models) if names is None else names
    width = depth + 1.0 + BARS
    middle = width - BARS / 2
    differences = np.array([[row[f"difference {metric}"] for metric in metrics] for row in rows], dtype=float)
    scale = (BARS / 2 - 1.6) / (np.abs(differences).max() or 1.0)
    for number, row in enumerate(rows):
        top = STEP * number
        ax.text(0, top - 0.1, f"query {plain(row['query'])[:32]}", fontsize=8.5, weight="bold", va="bottom",
                color=colors.ink, parse_math=False)  # fmt: skip
        for line, (model, look) in enumerate(zip(models, looks(colors), strict=True)):
            draw_strip(ax, row[f"labels {model}"], top + line, shades, colors)
            y, size = top + line + 0.5, abs(differences[number, line])
            ax.text(-0.2, y, short[model], ha="right", va="center", fontsize=9, color=colors.ink, parse_math=False)
            # The first metric prefers the first model, and the second metric the other one, or the reverse.
            side = 1 if (row["contradiction strength"] > 0) == (line == 0) else -1
            ax.barh(y, side * size * scale, 0.56, middle, color=look.color, zorder=3)
            beside(ax, format_amount(size), (middle + side * size * scale, y), (4 * side, 0), color=colors.ink, size=8)
    ax.plot([middle, middle], [-0.1, STEP * len(rows) - 0.75], color=colors.ink, linewidth=1.2, zorder=4)
    two_sides(ax, colors, (middle, -0.25), short[models[1]], short[models[0]], va="bottom")
    for metric, look in zip(metrics, looks(colors), strict=True):
        ax.plot([], [], color=look.color, linewidth=5, label=metric)
    legend_below(ax, colors, bbox_to_anchor=(middle / width, 0.0), ncols=2, handlelength=1.2, handletextpad=0.4)
    ax.set_xlim(0, width)
    ax.set_ylim(STEP * len(rows) - 0.6, -0.8)
    ax.set_xticks(np.arange(depth) + 0.5, [str(rank) for rank in range(1, depth + 1)])
    ax.set_yticks([])
    ax.tick_params(length=0, labelsize=8)
    without_frame(ax)
    title = f"{pluralize(len(rows), 'query')} with the strongest contradiction of {metrics[0]} and {metrics[1]}"
    alt = _describe_strips(rows, models, metrics, short)
    picture = finish(ax, colors, title, alt, x="rank (cells: grade of the document)", wide=0.7)
    ax.xaxis.label.set_horizontalalignment("left")
    ax.xaxis.set_label_coords(0, -0.05 - 0.12 / len(rows))
    return picture


def _describe_strips(
    rows: Sequence[Mapping[Hashable, Any]], models: Sequence[str], metrics: Sequence[str], short: Mapping[str, str]
) -> str:
    first, second = (short[model] for model in models)
    alt = [f"Strips of grades from rank 1 on, {first} above {second}. Differences are the first minus the second."]
    for row in rows:
        strips = ", ".join(f"{short[model]} {_format_grades(row[f'labels {model}'])}" for model in models)
        signs = ", ".join(f"{metric} {format_difference(row[f'difference {metric}'])}" for metric in metrics)
        alt.append(f"Query {row['query']}: {strips}. {signs}.")
    return " ".join(alt)


def draw_strip(
    ax: Axes, labels: Sequence[float], top: float, shades: Mapping[float, tuple[str, str]], colors: Theme
) -> None:
    """Draw one row of colored cells that contain their grades."""
    from matplotlib.patches import Rectangle

    for place, grade in enumerate(labels[:MAX_RANKS]):
        shade, ink = shades[grade]
        edge = colors.rule if shade == colors.face else shade
        cell = Rectangle((place + 0.05, top + 0.07), 0.9, 0.86, facecolor=shade, edgecolor=edge, linewidth=0.8)
        ax.add_patch(cell)
        words, ink = ("·", colors.muted) if grade == 0 else (f"{grade:g}", ink)
        ax.text(place + 0.5, top + 0.5, words, ha="center", va="center_baseline", fontsize=8, color=ink)
    if len(labels) > MAX_RANKS:
        ax.text(MAX_RANKS + 0.05, top + 0.5, "…", va="center", fontsize=9, color=colors.ink)


def _format_grades(labels: Sequence[float]) -> str:
    more = f" and {len(labels) - MAX_RANKS} more" if len(labels) > MAX_RANKS else ""
    return " ".join(f"{grade:g}" for grade in labels[:MAX_RANKS]) + more


FAMILIES = ("jk", "linear", "exp")


def compute_rank_contributions(labels: Numbers, scores: Numbers, k: int = 10) -> dict[str, Floats]:
    """Return the contributions of ranks 1 to k to each of the three NDCGs. Tied documents share their ranks.

    Examples
    --------
    >>> parts = compute_rank_contributions([1, 3, 0], [3, 2, 1], k=3)
    >>> parts["ndcg_exp@3"].round(3).tolist()
    [0.131, 0.579, 0.0]
    """
    k = validate_integer("k", k)
    judgments = Judgments(labels, group=[len(numbers("labels", labels))])
    cutoffs, parts = range(1, min(k, judgments.documents) + 1), {}
    for family in FAMILIES:
        metrics = [f"dcg_{family}@{cutoff}" for cutoff in cutoffs]
        sums, ideal = (list(evaluate(metrics, judgments, order).mean.values()) for order in (scores, labels))
        parts[f"ndcg_{family}@{k}"] = np.diff([0.0, *sums]) / (ideal[-1] or 1.0)
    return parts


def plot_explain(
    labels: Numbers, scores: Numbers, k: int = 10, ax: Axes | None = None, theme: str = "light"
) -> Picture:
    """Draw the contribution of each rank to the three NDCGs, above the grades in ranked order.

    Parameters
    ----------
    labels, scores : array-like, shape (documents,)
        Relevance labels and scores of one query.
    k : int
        Cutoff.
    ax, theme
        As for `plot_conflict`.
    """
    parts = compute_rank_contributions(labels, scores, k)
    depth = len(next(iter(parts.values())))
    ax, colors = start(ax, theme, (max(5.6, 2.2 + 0.52 * depth), 4.2))
    kinds = ((colors.third, "//"), (colors.first, ""), (colors.second, "xx"))
    places = np.arange(depth) + 0.5
    totals = {name: format_mean(float(values.sum())) for name, values in parts.items()}
    for number, ((name, values), (color, hatch)) in enumerate(zip(parts.items(), kinds, strict=True)):
        ax.bar(
            places + 0.27 * (number - 1), values, 0.25, color=color, edgecolor=colors.face, hatch=hatch,
            linewidth=0.6, label=f"{name} = {totals[name]}",
        )  # fmt: skip
    by_label = np.asarray(labels, dtype=float)
    strip = by_label[np.argsort(-np.asarray(scores, dtype=float), kind="stable")[:depth]].tolist()
    levels = sorted(set(by_label.tolist()))
    below = ax.inset_axes((0, -0.2, 1, 0.11))
    below.set_xlim(0, depth)
    below.set_ylim(1, 0)
    below.axis("off")
    draw_strip(below, strip, 0, dict(zip(levels, grade_colors(len(levels), colors), strict=True)), colors)
    ax.set_xlim(0, depth)
    ax.set_ylim(0, 1.08 * max(1e-6, *(float(values.max()) for values in parts.values())))
    ax.set_xticks(places, [str(rank) for rank in range(1, depth + 1)])
    ax.tick_params(axis="x", length=0)
    ax.grid(axis="y", color=colors.grid, linewidth=0.6)
    ax.legend(frameon=False, fontsize=9, labelcolor=colors.ink)
    added = " ".join(
        f"{name} is {totals[name]}: {', '.join(format_mean(float(value)) for value in values)}."
        for name, values in parts.items()
    )
    alt = f"Bars: contribution of each rank. Grades from rank 1: {' '.join(f'{grade:g}' for grade in strip)}. {added}"
    title = f"One ranking, three NDCGs: {', '.join(totals.values())}"
    below_axis = "rank (cells: grade of the document)"
    picture = finish(ax, colors, title, alt, x=below_axis, y="contribution of the rank")
    ax.xaxis.labelpad = 36
    return picture
