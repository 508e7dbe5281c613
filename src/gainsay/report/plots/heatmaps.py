"""Two tables of differences as colours: every pair of models, and grade by rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._common.shown import short_names
from ..._common.words import count
from ...comparison.pairs import advantages, common_column, common_ranks
from ...drawing.palette import SHADES
from ..numbers import GAP, MINUS, difference
from .labels import ems
from .style import finish, start, without_frame

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from ...comparison.attribution import Attribution
    from ...comparison.findings import Findings
    from ...drawing.palette import Theme

__all__ = ["plot_attribution", "plot_pairs"]

MOST_NUMBERS = 8
"""Up to so many models, cells show their numbers."""


def plot_pairs(comparison: Findings, ax: Axes | None = None, theme: str = "light") -> Axes:
    """Draw every pair of models as two cells: above the diagonal the first metric, below it the second.

    Models stand in the order of the first metric. Every cell is the difference "model higher in the list minus model
    lower in the list" (of a loss the other way round), so that a pair has the same sign on both sides of the diagonal
    where the metrics agree: above it no cell is negative, and below it every negative one (minus sign) is a conflict.
    Numbers, or signs where there are many models, are bold where the difference is significant after Holm's correction.
    Shades go by the root of the size.

    Parameters
    ----------
    comparison, ax, theme
        As for `plot_conflict`.

    Returns
    -------
    Axes
    """
    metrics = comparison.verdict.metrics
    losses = comparison.lower_is_better
    ranks = [common_ranks(comparison.pairs, comparison.models, metric, losses) for metric in metrics]
    labels = [f"{metric}{' (turned: lower is better)' if metric in losses else ''}" for metric in metrics]
    names = sorted(comparison.verdict.models, key=lambda name: [rank[name] for rank in ranks])
    side = len(names) * (0.56 if len(names) <= MOST_NUMBERS else max(0.19, 0.36 - 0.007 * len(names)))
    short = comparison.short_names
    beside = max(3.0, 1.8 + 0.125 * max(map(ems, short.values())))
    ax, colours = start(ax, theme, (max(5.6, side + beside), max(2.9, side + 1.4)))
    table, proven = _pair_cells(comparison, names, metrics)
    mesh = _cells(ax, table, colours)
    write = _signs if len(names) > MOST_NUMBERS else _numbers
    write(ax, table, proven, colours)
    places = np.arange(len(names)) + 0.5
    ax.set_xticks(places, [str(place) for place in range(1, len(names) + 1)])
    ax.set_yticks([])
    size = 9 if len(names) <= 20 else 7.5
    ax.tick_params(length=0, labelsize=size)
    for place, name in enumerate(names, 1):
        ax.annotate(
            f"{short[name]}{GAP}{place}",
            (0, place - 0.5),
            xytext=(-5, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=size,
            color=colours.ink,
            parse_math=False,
        )
    ax.plot([0, len(names)], [0, len(names)], color=colours.muted, linewidth=0.8)
    _scale(ax, mesh, colours, f"higher {MINUS} lower in the list")
    above = f"above the diagonal: {labels[0]}"
    ax.text(1, 1.01, above, transform=ax.transAxes, ha="right", va="bottom", fontsize=9.5, color=colours.ink)
    ax.set_aspect("equal")
    below = [table[row, column] for row in range(len(names)) for column in range(row)]
    against = sum(cell < 0 for cell in below)
    words = (
        "The pair is in opposite order: it turns negative below the diagonal"
        if len(below) == against == 1
        else f"{count(against, 'pair')} of {len(below)} turn{'s' if against == 1 else ''} negative below the diagonal: "
        "in opposite order"
        if against
        else "No cell is negative on either side of the diagonal: no pair is in opposite order"
    )
    cells = [(row, column) for row in range(len(names)) for column in range(row)]
    strongest = sorted(
        ((table[cell], names[cell[1]], names[cell[0]], proven[cell]) for cell in cells), key=lambda found: found[0]
    )
    listed = " ".join(
        f"{short[high]} minus {short[low]}: {difference(value)} under {metrics[1]}{', significant' if sure else ''}."
        for value, high, low, sure in strongest[:12]
        if value < 0
    )
    alt = (
        f"Heat map of differences between {count(len(names), 'model')}: above the diagonal under {labels[0]}, "
        f"below it under {labels[1]}. {words}. {listed}"
    )
    return finish(ax, colours, words, alt.strip(), x=f"below the diagonal: {labels[1]}", pad=24, wide=0.5)


def plot_attribution(
    attribution: Attribution, ax: Axes | None = None, theme: str = "light", *, names: Mapping[str, str] | None = None
) -> Axes:
    """Draw where the difference between two models comes from: grade by rank, one block per metric.

    Every cell is what documents of this grade at these ranks add to the difference, first model minus second; a block
    sums to the difference, which stands above it.

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
    Axes
    """
    blocks = [(metric, attribution.grades_by_ranks.loc[metric].iloc[::-1]) for metric in attribution.metrics[:2]]
    grades, bands = list(blocks[0][1].index), list(blocks[0][1].columns)
    width = len(bands)
    ax, colours = start(ax, theme, (max(5.0, 1.6 + 0.78 * len(blocks) * width), 1.9 + 0.4 * len(grades)))
    table = np.full((len(grades), len(blocks) * width + (len(blocks) - 1)), np.nan)
    for number, (_, cells) in enumerate(blocks):
        table[:, number * (width + 1) : number * (width + 1) + width] = cells.to_numpy(float)
    mesh = _cells(ax, table, colours)
    _numbers(ax, table, np.zeros_like(table, dtype=bool), colours)
    ax.set_yticks(np.arange(len(grades)) + 0.5, [f"grade {grade}" for grade in grades])
    ticks = [number * (width + 1) + place + 0.5 for number in range(len(blocks)) for place in range(width)]
    ax.set_xticks(ticks, bands * len(blocks))
    ax.tick_params(length=0)
    for number, (metric, _) in enumerate(blocks):
        ax.text(
            number * (width + 1) + width / 2,
            -0.12,
            f"{metric}: {difference(attribution.difference[metric])}",
            ha="center",
            va="bottom",
            fontsize=9.5,
            weight="bold",
            color=colours.ink,
            parse_math=False,
        )
    short = short_names(attribution.models) if names is None else names
    first, second = (short[name] for name in attribution.models)
    _scale(ax, mesh, colours)
    largest = {metric: _largest(block) for metric, block in blocks}
    alt = [f"Heat map of what documents of each grade at each rank add to the difference {first} minus {second}."]
    for metric, found in largest.items():
        parts = ", ".join(f"grade {grade} at rank {band} {difference(value)}" for grade, band, value in found[:12])
        alt.append(f"{metric}: {difference(attribution.difference[metric])} in all; {parts}.")
    note = f"rank (+ favours {first}, {MINUS} favours {second})"
    if attribution.lower_is_better:
        note = f"rank ({first} {MINUS} {second})"
    return finish(ax, colours, _extremes(largest, first), " ".join(alt), x=note, pad=24, wide=0.72)


def _extremes(largest: dict[str, list[tuple[Any, str, float]]], first: str) -> str:
    cells = [(value, grade, band, metric) for metric, found in largest.items() for grade, band, value in found]
    parts = []
    for word, (value, grade, band, metric) in (
        ("for", max(cells, key=lambda cell: cell[0])),
        ("against", min(cells, key=lambda cell: cell[0])),
    ):
        if (value > 0) == (word == "for") and value != 0:
            parts.append(f"{word} {first}: grade {grade} at rank {band} ({difference(value)} of {metric})")
    return f"Most {'; most '.join(parts)}" if parts else "No grade at any rank makes a difference"


def _largest(cells: Any) -> list[tuple[Any, str, float]]:
    """Return grade, band and contribution of all cells, the largest first."""
    found = [(grade, band, float(cells.at[grade, band])) for grade in cells.index for band in cells.columns]
    return sorted(found, key=lambda cell: -abs(cell[2]))


def _pair_cells(comparison: Findings, names: list[str], metrics: tuple[str, str]) -> tuple[Any, Any]:
    table = np.full((len(names), len(names)), np.nan)
    proven = np.zeros(table.shape, dtype=bool)
    place = {name: number for number, name in enumerate(names)}
    pairs, losses = comparison.pairs, comparison.lower_is_better
    gained = [advantages(pairs, metric, losses).to_numpy(float) for metric in metrics]
    for number, pair in enumerate(pairs.to_dict("records")):
        one, other = place[pair["model_x"]], place[pair["model_y"]]
        sign = 1 if one < other else -1
        high, low = min(one, other), max(one, other)
        for metric, gain, cell in zip(metrics, gained, ((high, low), (low, high)), strict=True):
            table[cell] = sign * gain[number]
            proven[cell] = pair[common_column(pairs, f"p_holm {metric}")] <= comparison.alpha
    return table, proven


def _cells(ax: Axes, table: Any, colours: Theme) -> Any:
    from matplotlib.colors import BoundaryNorm, ListedColormap

    largest = float(np.nanmax(np.abs(table))) if np.isfinite(table).any() else 0.0
    edges = np.linspace(-1, 1, 2 * SHADES + 2)
    edges = np.sign(edges) * edges**2 * (largest or 1.0)
    edges[[0, -1]] *= 1 + 1e-9
    shades = ListedColormap(colours.diverging())
    mesh = ax.pcolormesh(
        np.ma.masked_invalid(table),
        cmap=shades,
        norm=BoundaryNorm(edges, shades.N),
        edgecolors=colours.face,
        linewidth=1.2 if len(table) <= 20 else 0.6,
    )
    ax.set_xlim(0, table.shape[1])
    ax.set_ylim(table.shape[0], 0)
    without_frame(ax)
    return mesh


def _numbers(ax: Axes, table: Any, proven: Any, colours: Theme) -> None:
    """Write the numbers into their cells, the proven ones bold."""
    cells = np.argwhere(np.isfinite(table))
    texts = map(difference, table[tuple(cells.T)].tolist())
    for (row, column), text in zip(cells.tolist(), texts, strict=True):
        weight = "bold" if proven[row, column] else "normal"
        ax.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=8, weight=weight, color=colours.ink)


def _signs(ax: Axes, table: Any, proven: Any, colours: Theme) -> None:
    """Draw the signs of the cells, the proven ones bold."""
    rows, columns = np.nonzero(np.nan_to_num(table))
    positive, sure = table[rows, columns] > 0, proven[rows, columns]
    for marker, sign in (("+", positive), ("_", ~positive)):
        for width, size, chosen in ((1.8, 30, sure), (0.7, 16, ~sure)):
            here = sign & chosen
            places = (columns[here] + 0.5, rows[here] + 0.5)
            ax.scatter(*places, s=size, marker=marker, color=colours.ink, linewidth=width)


def _scale(ax: Axes, mesh: Any, colours: Theme, label: str = "") -> None:
    bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.85, aspect=28, pad=0.02, spacing="uniform")
    edges = mesh.norm.boundaries
    ticks = [edges[0], edges[3], 0.0, edges[-4], edges[-1]]
    bar.set_ticks(ticks, labels=[difference(value) for value in ticks])
    bar.ax.minorticks_off()
    bar.ax.tick_params(colors=colours.muted, labelcolor=colours.ink, labelsize=8, length=0)
    bar.set_label(label, color=colours.ink, fontsize=8.5)
    bar.outline.set_visible(False)
