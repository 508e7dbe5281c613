"""Why two models differ: what documents of every grade add to the difference, by rank, under both metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._common.shown import short_names
from ..._common.words import listed
from ..numbers import MINUS, difference
from .style import finish, legend_below, mixed, start, without_frame

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from ..._common.typing import Floats
    from ...comparison.attribution import Attribution
    from ...drawing.palette import Theme
    from .picture import Picture

__all__ = ["plot_attribution"]

LANES = (-0.2, 0.2)
TALL = 0.34
"""Where the bars of the two metrics stand in the row of a grade, and how tall they are."""

STRENGTHS = (1.0, 0.72, 0.48, 0.28)
"""How much colour the bands of ranks have, the first ones most."""


def plot_attribution(
    attribution: Attribution, ax: Axes | None = None, theme: str = "light", *, names: Mapping[str, str] | None = None
) -> Picture:
    """Draw where the difference between two models comes from: a row a grade, a bar a metric, a piece a band of ranks.

    Pieces to the right favour the first model and have the colour of their metric, pieces to the left the second model
    and are grey; the stronger, the higher the ranks. The number is what the grade adds in all; the last row is the
    difference, the sum of all pieces. Grades that no metric sees are left out.

    Parameters
    ----------
    attribution : Attribution
        Made by `Comparison.attribution`; its first two metrics are drawn.
    ax, theme
        As for `plot_conflict`.
    names : mapping of model to str, optional
        What to call the models, such as `Comparison.short_names`.

    Returns
    -------
    Picture
    """
    metrics = list(attribution.metrics[:2])
    blocks = {metric: _block(attribution, metric) for metric in metrics}
    grades, bands = (list(axis) for axis in (blocks[metrics[0]].index, blocks[metrics[0]].columns))
    ax, colours = start(ax, theme, (7.4, 1.9 + 0.44 * (len(grades) + 1)))
    total = len(grades) + 0.25
    for metric, lane, colour, text in zip(
        metrics, LANES, (colours.first, colours.second), (colours.first_text, colours.second_text), strict=False
    ):
        cells = blocks[metric].to_numpy(float)
        for row, pieces in enumerate(cells):
            _stack(ax, colours, row + lane, pieces, colour)
            _number(ax, row + lane, pieces, float(pieces.sum()), text)
        whole = np.array([cells.sum()])
        _stack(ax, colours, total + lane, whole, colour)
        _number(ax, total + lane, whole, float(whole[0]), text, bold=True)
    ax.axvline(0, color=colours.ink, linewidth=1.2, zorder=4)
    ax.axhline(len(grades) - 0.38, color=colours.rule, linewidth=1, zorder=0)
    ax.margins(x=0.16)
    ax.set_ylim(total + 0.55, -0.95)
    ax.set_yticks([*range(len(grades)), total], [*(f"grade {grade}" for grade in grades), "total"])
    ax.get_yticklabels()[-1].set(weight="bold", color=colours.ink)
    ax.tick_params(length=0)
    ax.locator_params(axis="x", nbins=7)
    ax.grid(axis="x", color=colours.grid, linewidth=0.8)
    without_frame(ax)
    short = short_names(attribution.models) if names is None else names
    first, second = (short[name] for name in attribution.models)
    for words, side in ((f"◂ {second} ", "right"), (f" {first} ▸", "left")):
        ax.text(0, -0.66, words, ha=side, va="center", fontsize=9, color=colours.muted, parse_math=False)
    _legend(ax, colours, metrics, bands)
    note = f"what documents of a grade add to {first} {MINUS} {second}"
    if attribution.lower_is_better:
        note += " (of a loss the other way round)"
    return finish(ax, colours, _finding(blocks, first), _in_words(blocks, first, second), x=note, wide=0.85)


def _block(attribution: Attribution, metric: str) -> pd.DataFrame:
    """Return the grades that matter, the highest first, by bands of ranks; above 0 favours the first model."""
    cells = attribution.grades_by_ranks
    of = cells.loc[cells.index.get_level_values(0) == metric].droplevel(0).iloc[::-1]
    matter = cells.abs().groupby(level=1).sum().sum(axis=1)
    of = of[[bool(matter[grade]) for grade in of.index]] if matter.any() else of
    return -1.0 * of if metric in attribution.lower_is_better else of


def _stack(ax: Axes, colours: Theme, y: float, pieces: Floats, colour: str) -> None:
    """Draw pieces outwards from 0, those of the first ranks nearest to it."""
    ends = {True: 0.0, False: 0.0}
    for place, piece in enumerate(pieces.tolist()):
        if piece:
            shade = mixed(colours.face, colour if piece > 0 else colours.muted, STRENGTHS[min(place, 3)])
            ax.barh(y, piece, TALL, ends[piece > 0], color=shade, edgecolor=colours.face, linewidth=0.5, zorder=3)
            ends[piece > 0] += piece


def _number(ax: Axes, y: float, pieces: Floats, net: float, colour: str, bold: bool = False) -> None:
    """Write the sum at the end of the side that has more."""
    right = net >= 0
    end = float(pieces[pieces > 0].sum() if right else pieces[pieces < 0].sum())
    ax.annotate(difference(net), (end, y), xytext=(4 if right else -4, 0), textcoords="offset points", fontsize=8,
                ha="left" if right else "right", va="center", color=colour,
                weight="bold" if bold else "normal")  # fmt: skip


def _legend(ax: Axes, colours: Theme, metrics: Sequence[str], bands: Sequence[str]) -> None:
    from matplotlib.legend_handler import HandlerTuple
    from matplotlib.patches import Patch

    marks = (colours.first, colours.second)[: len(metrics)]
    handles: list[Any] = [Patch(facecolor=colour) for colour in marks]
    words = list(metrics)
    for place, band in enumerate(bands[: len(STRENGTHS)]):
        shades = [mixed(colours.face, colour, STRENGTHS[place]) for colour in (*marks, colours.muted)]
        handles.append(tuple(Patch(facecolor=shade) for shade in shades))
        words.append(f"rank {band}{' and beyond' if len(bands) > len(STRENGTHS) == place + 1 else ''}")
    legend_below(ax, colours, handles, words, below=0.42 / (0.44 * len(ax.get_yticks())), ncols=6, handlelength=1.4,
                 handletextpad=0.4, columnspacing=1.1, handler_map={tuple: HandlerTuple(None, pad=0)})  # fmt: skip


def _finding(blocks: Mapping[str, pd.DataFrame], first: str) -> str:
    """Say on which grades the first model gains and loses how much under either metric."""
    said = {}
    for metric, block in blocks.items():
        by_grade = block.sum(axis=1)
        gains, losses = by_grade[by_grade > 0], by_grade[by_grade < 0]
        said[metric] = [
            (f"{verb} {abs(part.sum()):.3f}", _grades(part.index))
            for verb, part in (("gains", gains), ("loses", losses))
            if len(part)
        ]
    if not any(said.values()):
        return f"No grade makes a difference to {first}"
    parts = list(said.items())
    same = len(parts) == 2 and [on for _, on in parts[0][1]] == [on for _, on in parts[1][1]]
    text = f"{first} {' and '.join(f'{much} on {on}' for much, on in parts[0][1])} under {parts[0][0]}"
    if same:
        return f"{text}, {' and '.join(much for much, _ in parts[1][1])} under {parts[1][0]}"
    more = [f"{' and '.join(f'{much} on {on}' for much, on in about)} under {metric}" for metric, about in parts[1:]]
    return "; ".join([text, *more])


def _grades(grades: pd.Index[Any]) -> str:
    """Write grades, given from the highest down, as a list, or those in a row as a range.

    >>> import pandas as pd
    >>> _grades(pd.Index([3, 2, 1])), _grades(pd.Index([4])), _grades(pd.Index([4, 0]))
    ('grades 1–3', 'grade 4', 'grades 0 and 4')
    """
    found = [str(grade) for grade in grades[::-1]]
    numbers = [int(grade) for grade in found if grade.isdigit()]
    if len(found) > 1 and numbers == list(range(numbers[0], numbers[0] + len(found))):
        return f"grades {found[0]}–{found[-1]}"
    return f"grade{'s' if len(found) > 1 else ''} {listed(found)}"


def _in_words(blocks: Mapping[str, pd.DataFrame], first: str, second: str) -> str:
    alt = [f"Bars of what documents of each grade at each rank add to the difference {first} minus {second}."]
    for metric, block in blocks.items():
        values = block.to_numpy(float).tolist()
        cells = [
            (grade, band, value)
            for grade, row in zip(block.index, values, strict=True)
            for band, value in zip(block.columns, row, strict=True)
        ]
        cells.sort(key=lambda cell: -abs(cell[2]))
        parts = ", ".join(f"grade {grade} at rank {band} {difference(value)}" for grade, band, value in cells[:12])
        alt.append(f"{metric}: {difference(float(block.to_numpy().sum()))} in all; {parts}.")
    return " ".join(alt)
