"""Why two models differ: what documents of every grade add to the difference, by rank, under both metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._common.shown import short_names
from ..._common.words import listed
from ..numbers import MINUS, difference
from .style import beside, finish, legend_below, looks, mixed, only_across, start, two_sides

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ..._common.typing import Floats
    from ...comparison.attribution import Attribution
    from ...drawing.palette import Theme
    from .picture import Picture
    from .style import Look

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
    """
    metrics = attribution.metrics[:2]
    blocks = {metric: _block(attribution, metric) for metric in metrics}
    grades, bands = (list(map(str, axis)) for axis in (blocks[metrics[0]].index, blocks[metrics[0]].columns))
    ax, colours = start(ax, theme, (7.4, 1.9 + 0.44 * (len(grades) + 1)))
    total = len(grades) + 0.25
    for block, lane, look in zip(blocks.values(), LANES, looks(colours), strict=False):
        cells = block.to_numpy(float)
        for row, pieces in enumerate(cells):
            _stack(ax, colours, row + lane, pieces, look)
        _stack(ax, colours, total + lane, np.array([cells.sum()]), look, weight="bold")
    ax.axvline(0, color=colours.ink, linewidth=1.2, zorder=4)
    ax.axhline(len(grades) - 0.38, color=colours.rule, linewidth=1, zorder=0)
    ax.margins(x=0.16)
    ax.set_ylim(total + 0.55, -0.95)
    ax.set_yticks([*range(len(grades)), total], [*(f"grade {grade}" for grade in grades), "total"])
    ax.get_yticklabels()[-1].set(weight="bold", color=colours.ink)
    only_across(ax, colours, 7)
    short = short_names(attribution.models) if names is None else names
    first, second = (short[name] for name in attribution.models)
    two_sides(ax, colours, (0, -0.66), second, first, size=9)
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


def _stack(ax: Axes, colours: Theme, y: float, pieces: Floats, look: Look, weight: str = "normal") -> None:
    """Draw pieces outwards from 0, those of the first ranks nearest to it; their sum ends the side that has more."""
    ends = {True: 0.0, False: 0.0}
    for place, piece in enumerate(pieces.tolist()):
        if piece:
            shade = mixed(colours.face, look.colour if piece > 0 else colours.muted, STRENGTHS[min(place, 3)])
            ax.barh(y, piece, TALL, ends[piece > 0], color=shade, edgecolor=colours.face, linewidth=0.5, zorder=3)
            ends[piece > 0] += piece
    net = float(pieces.sum())
    beside(
        ax, difference(net), (ends[net >= 0], y), (4 if net >= 0 else -4, 0), colour=look.text, size=8, weight=weight
    )


def _legend(ax: Axes, colours: Theme, metrics: Sequence[str], bands: Sequence[str]) -> None:
    from matplotlib.legend_handler import HandlerTuple
    from matplotlib.patches import Patch

    marks = [look.colour for look, _ in zip(looks(colours), metrics, strict=False)]
    entries: list[tuple[Artist | tuple[Artist, ...], str]] = [
        (Patch(facecolor=colour), metric) for colour, metric in zip(marks, metrics, strict=True)
    ]
    for place, (band, strength) in enumerate(zip(bands, STRENGTHS, strict=False), 1):
        shades = [mixed(colours.face, colour, strength) for colour in (*marks, colours.muted)]
        more = " and beyond" if len(bands) > len(STRENGTHS) == place else ""
        entries.append((tuple(Patch(facecolor=shade) for shade in shades), f"rank {band}{more}"))
    legend_below(ax, colours, entries, below=0.42 / (0.44 * len(ax.get_yticks())), ncols=6, handlelength=1.4,
                 handletextpad=0.4, columnspacing=1.1, handler_map={tuple: HandlerTuple(None, pad=0)})  # fmt: skip


def _finding(blocks: Mapping[str, pd.DataFrame], first: str) -> str:
    """Say on which grades the first model gains and loses how much under either metric."""
    said = {}
    for metric, block in blocks.items():
        by_grade = block.sum(axis=1)
        said[metric] = [
            (f"{verb} {abs(part.sum()):.3f}", _grades(list(map(str, part.index))))
            for verb, part in (("gains", by_grade[by_grade > 0]), ("loses", by_grade[by_grade < 0]))
            if len(part)
        ]
    said = {metric: about for metric, about in said.items() if about}
    if not said:
        return f"No grade makes a difference to {first}"
    texts = [
        f"{' and '.join(f'{much} on {on}' for much, on in about)} under {metric}" for metric, about in said.items()
    ]
    (_, one), *others = said.items()
    for metric, about in others:
        if [on for _, on in about] == [on for _, on in one]:
            return f"{first} {texts[0]}, {' and '.join(much for much, _ in about)} under {metric}"
    return f"{first} {'; '.join(texts)}"


def _grades(grades: Sequence[str]) -> str:
    """Write grades, given from the highest down, as a list, or those in a row as a range.

    >>> _grades(["3", "2", "1"]), _grades(["4"]), _grades(["4", "0"])
    ('grades 1–3', 'grade 4', 'grades 0 and 4')
    """
    found = grades[::-1]
    numbers = [int(grade) for grade in found if grade.isdigit()]
    if 1 < len(found) == len(numbers) == numbers[-1] - numbers[0] + 1:
        return f"grades {found[0]}–{found[-1]}"
    return f"grade{'s' if len(found) > 1 else ''} {listed(found)}"


def _in_words(blocks: Mapping[str, pd.DataFrame], first: str, second: str) -> str:
    alt = [f"Bars of what documents of each grade at each rank add to the difference {first} minus {second}."]
    for metric, block in blocks.items():
        cells = [
            (f"grade {grade} at rank {band}", value)
            for grade, row in zip(block.index, block.to_numpy(float).tolist(), strict=True)
            for band, value in zip(block.columns, row, strict=True)
        ]
        cells.sort(key=lambda cell: -abs(cell[1]))
        parts = ", ".join(f"{cell} {difference(value)}" for cell, value in cells[:12])
        alt.append(f"{metric}: {difference(float(block.to_numpy().sum()))} in all; {parts}.")
    return " ".join(alt)
