"""Every pair of models as two cells of a table, one for each metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import to_rgb

from ..._common.words import count
from ...comparison.pairs import compute_advantages, compute_common_ranks, select_common_column
from ..numbers import GAP, difference
from .labels import beside, ems
from .style import finish, legend_below, mixed, start, without_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..._common.typing import Bools, Floats
    from ...comparison.comparison import Comparison
    from ...drawing.palette import Theme
    from .picture import Picture

__all__ = ["plot_pairs"]

MOST_NUMBERS = 8
"""Up to so many models, cells show their numbers."""

STRONGEST = {"light": 0.7, "dark": 0.5}
"""How much colour the strongest cell has; ink is legible on it."""


def plot_pairs(comparison: Comparison, ax: Axes | None = None, theme: str = "light") -> Picture:
    """Draw every pair of models as two cells: above the diagonal the first metric, below it the second.

    Models stand in the order of the first metric. Every cell is the difference "model higher in the list minus model
    lower in the list" (of a loss the other way round), so that a pair has the same sign on both sides of the diagonal
    where the metrics agree: above it no cell is negative, and below it every negative one (grey, with a minus sign) is
    a conflict. Cells above the diagonal are blue, those below it orange. Numbers, or signs where there are many models,
    are bold where the difference is significant after Holm's correction. Shades go by the root of the size. Parameters
    and result are those of `plot_conflict`.
    """
    metrics, short = comparison.verdict.metrics, comparison.short_names
    losses = comparison.lower_is_better
    ranks = [compute_common_ranks(comparison.pairs, comparison.models, metric, losses) for metric in metrics]
    labels = [f"{metric}{' (turned: lower is better)' if metric in losses else ''}" for metric in metrics]
    names = sorted(comparison.verdict.models, key=lambda name: [rank[name] for rank in ranks])
    few = len(names) <= MOST_NUMBERS
    side = len(names) * (0.56 if few else max(0.19, 0.36 - 0.007 * len(names)))
    room = 1.5 + 0.125 * max(map(ems, short.values()))
    ax, colours = start(ax, theme, (max(5.6, side + room), max(2.9, side + 1.7)))
    table, proven = _pair_cells(comparison, names, metrics)
    _cells(ax, table, colours)
    write = _numbers if few else _signs
    write(ax, table, proven, colours)
    size = 9 if len(names) <= 20 else 7.5
    ax.set_xticks(np.arange(len(names)) + 0.5, [str(place) for place in range(1, len(names) + 1)])
    ax.set_yticks([])
    ax.tick_params(length=0, labelsize=size)
    for place, name in enumerate(names, 1):
        beside(ax, f"{short[name]}{GAP}{place}", (0, place - 0.5), (-5, 0), colour=colours.ink, size=size)
    ax.plot([0, len(names)], [0, len(names)], color=colours.muted, linewidth=0.8)
    ax.text(1, 1.01, f"above the diagonal: {labels[0]}", transform=ax.transAxes, ha="right", va="bottom", fontsize=9.5,
            color=colours.first_text, parse_math=False)  # fmt: skip
    ax.set_aspect("equal")
    if not few:
        _legend(ax, colours, table, labels, below=0.55 / side)
    below = [(row, column) for row in range(len(names)) for column in range(row)]
    against = sorted((cell for cell in below if table[cell] < 0), key=lambda cell: float(table[cell]))
    words = (
        "The pair is in opposite order: it turns negative below the diagonal"
        if len(below) == len(against) == 1
        else f"{count(len(against), 'pair')} of {len(below)} turn{'s' if len(against) == 1 else ''} negative below the "
        "diagonal: in opposite order"
        if against
        else "No cell is negative on either side of the diagonal: no pair is in opposite order"
    )
    listed = " ".join(
        f"{short[names[column]]} minus {short[names[row]]}: {difference(table[row, column])} under {metrics[1]}"
        f"{', significant' if proven[row, column] else ''}."
        for row, column in against[:12]
    )
    alt = (
        f"Heat map of differences between {count(len(names), 'model')}: above the diagonal under {labels[0]}, "
        f"below it under {labels[1]}. {words}. {listed}"
    )
    label = f"below the diagonal: {labels[1]}"
    return finish(ax, colours, words, alt.strip(), x=label, x_colour=colours.second_text, pad=24, wide=0.6)


def _pair_cells(comparison: Comparison, names: list[str], metrics: tuple[str, str]) -> tuple[Floats, Bools]:
    table = np.full((len(names), len(names)), np.nan)
    proven = np.zeros(table.shape, dtype=bool)
    place = {name: number for number, name in enumerate(names)}
    pairs, losses = comparison.pairs, comparison.lower_is_better
    one, other = (pairs[side].map(place).to_numpy(int) for side in ("model_x", "model_y"))
    low, high = np.minimum(one, other), np.maximum(one, other)
    for metric, cells in zip(metrics, ((low, high), (high, low)), strict=True):
        table[cells] = np.where(one < other, 1, -1) * compute_advantages(pairs, metric, losses).to_numpy(float)
        proven[cells] = pairs[select_common_column(pairs, f"p_holm {metric}")].to_numpy(float) <= comparison.alpha
    return table, proven


def _cells(ax: Axes, table: Floats, colours: Theme) -> None:
    """Draw the cells: the hue says which metric, grey that the difference is negative, the strength how large it is."""
    largest = float(np.nanmax(np.abs(table), initial=0.0)) or 1.0
    strengths = STRONGEST[colours.name] * np.sqrt(np.abs(np.nan_to_num(table)) / largest)
    shades = np.full((*table.shape, 3), to_rgb(colours.face))
    for row, column in np.argwhere(np.isfinite(table)).tolist():
        hue = colours.muted if table[row, column] < 0 else colours.first if row < column else colours.second
        shades[row, column] = to_rgb(mixed(colours.face, hue, float(strengths[row, column])))
    edges = np.arange(len(table) + 1)
    ax.pcolormesh(edges, edges, shades, edgecolors=colours.face, linewidth=1.2 if len(table) <= 20 else 0.6)
    ax.set_xlim(0, len(table))
    ax.set_ylim(len(table), 0)
    without_frame(ax)


def _numbers(ax: Axes, table: Floats, proven: Bools, colours: Theme) -> None:
    """Write the numbers into their cells, the proven ones bold."""
    for row, column in np.argwhere(np.isfinite(table)).tolist():
        weight, text = "bold" if proven[row, column] else "normal", difference(float(table[row, column]))
        ax.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=8, weight=weight, color=colours.ink)


def _signs(ax: Axes, table: Floats, proven: Bools, colours: Theme) -> None:
    """Draw the signs of the cells, the proven ones bold."""
    rows, columns = np.nonzero(np.nan_to_num(table))
    positive, sure = table[rows, columns] > 0, proven[rows, columns]
    for marker, sign in (("+", positive), ("_", ~positive)):
        for width, size, chosen in ((1.8, 30, sure), (0.7, 16, ~sure)):
            here = sign & chosen
            places = (columns[here] + 0.5, rows[here] + 0.5)
            ax.scatter(*places, s=size, marker=marker, color=colours.ink, linewidth=width)


def _legend(ax: Axes, colours: Theme, table: Floats, labels: list[str], below: float) -> None:
    """Say what hues mean, and how large the largest difference of each is."""
    from matplotlib.patches import Patch

    upper, lower = table[np.triu_indices(len(table), 1)], table[np.tril_indices(len(table), -1)]
    kinds = [
        (labels[0], colours.first, upper[upper > 0]),
        (labels[1], colours.second, lower[lower > 0]),
        ("opposite order", colours.muted, lower[lower < 0]),
    ]
    entries = [
        (
            Patch(facecolor=mixed(colours.face, hue, STRONGEST[colours.name])),
            f"{words}: to {difference(float(found[np.abs(found).argmax()]))}",
        )
        for words, hue, found in kinds
        if len(found)
    ]
    if entries:
        legend_below(ax, colours, entries, below=below, handletextpad=0.4, columnspacing=1.2)
