"""How the order of the models changes from one metric to the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..._common.words import count
from ...comparison.pairs import common_ranks
from ..numbers import GAP, LEFT_TO_RIGHT, MINUS
from .style import finish, start, without_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...comparison.findings import Findings
    from .picture import Picture

__all__ = ["plot_ranks"]


class Line(NamedTuple):
    """One model: its ranks, its places from the top, and whether a change of its rank is proven."""

    model: str
    ranks: tuple[int, int]
    shared: tuple[bool, bool]
    places: tuple[int, int]
    broken: bool


def plot_ranks(comparison: Findings, ax: Axes | None = None, theme: str = "light") -> Picture:
    """Draw a bump chart: every model's rank under the first metric, joined to its rank under the second.

    A line is broken where a model changes places only with models that the queries do not tell from it (no conflict of
    signs with any of them is significant after Holm's correction), or shares its rank; a full line that crosses
    another is a proven change, or one that is not a change at all. Models of equal mean share a rank, marked "=", and
    are drawn one below the other. The number in brackets says how many ranks a model gains or loses.

    Parameters
    ----------
    comparison, ax, theme
        As for `plot_conflict`.

    Returns
    -------
    Picture
    """
    lines = rank_lines(comparison)
    ax, colours = start(ax, theme, (6.8, max(2.4, 1.4 + 0.24 * len(lines))))
    first, second = comparison.verdict.metrics
    winners = comparison.verdict.winners
    short = comparison.short_names
    for line in lines:
        colour, text, width = colours.muted, colours.ink, 1.0
        if winners[first] == winners[second] == line.model:
            colour, width = colours.ink, 2.6
        elif line.model == winners[first]:
            colour, text, width = colours.first, colours.first_text, 2.6
        elif line.model == winners[second]:
            colour, text, width = colours.second, colours.second_text, 2.6
        ax.plot(
            [0, 1],
            line.places,
            color=colour,
            linewidth=width,
            linestyle=(0, (4, 2.5)) if line.broken else "-",
            marker="D" if colour == colours.second else "o",
            markersize=5,
            zorder=3 if width > 2 else 2,
            clip_on=False,
        )
        texts = (_left(line, short), _right(line, short))
        for x, place, words, side in zip((-0.035, 1.035), line.places, texts, ("right", "left"), strict=True):
            weight = "bold" if width > 2 else "normal"
            ax.text(x, place, words, ha=side, va="center", fontsize=9, weight=weight, color=text, parse_math=False)
    heads = ((0, first, colours.first, colours.first_text), (1, second, colours.second, colours.second_text))
    for x, metric, colour, text in heads:
        ax.axvline(x, color=colour, linewidth=1.2, zorder=1)
        ax.annotate(
            metric,
            (x, 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=9.5,
            weight="bold",
            color=text,
            parse_math=False,
        )
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(len(lines) + 0.6, 0.4)
    ax.set_xticks([])
    ax.set_yticks([])
    without_frame(ax)
    note = "broken line: no change of this model's place is beyond chance" if any(line.broken for line in lines) else ""
    alt = _in_words(lines, (first, second), short)
    return finish(ax, colours, _finding(lines), alt, x=note, pad=22, wide=0.62)


def rank_lines(comparison: Findings) -> list[Line]:
    """Return what the bump chart draws, the best under the first metric first."""
    metrics = comparison.verdict.metrics
    pairs = comparison.pairs
    one, other = (common_ranks(pairs, comparison.models, metric, comparison.lower_is_better) for metric in metrics)
    ranks = {name: (one[name], other[name]) for name in comparison.verdict.models}
    places = [
        {name: place for place, name in enumerate(sorted(ranks, key=lambda name: _order(ranks[name], side)), 1)}
        for side in (0, 1)
    ]
    sizes = [[own[side] for own in ranks.values()] for side in (0, 1)]
    swaps = pairs[pairs["conflict"]]
    proven = swaps[swaps["p_holm"] <= comparison.alpha]
    sure, moved = (set(table["model_x"]) | set(table["model_y"]) for table in (proven, swaps))
    lines = []
    for name, own in ranks.items():
        shared = (sizes[0].count(own[0]) > 1, sizes[1].count(own[1]) > 1)
        broken = name not in sure and (name in moved or own[0] != own[1] or any(shared))
        lines.append(Line(name, own, shared, (places[0][name], places[1][name]), broken))
    return sorted(lines, key=lambda line: line.places)


def _order(ranks: tuple[int, int], side: int) -> tuple[int, int]:
    return ranks[side], ranks[1 - side]


def _left(line: Line, short: dict[str, str]) -> str:
    return f"{short[line.model]}{GAP}{line.ranks[0]}{'=' if line.shared[0] else ''}"


def _right(line: Line, short: dict[str, str]) -> str:
    gained = line.ranks[0] - line.ranks[1]
    change = (
        f"{LEFT_TO_RIGHT} (+{gained})" if gained > 0 else f"{LEFT_TO_RIGHT} ({MINUS}{-gained})" if gained < 0 else ""
    )
    return f"{line.ranks[1]}{'=' if line.shared[1] else ''}{GAP}{short[line.model]}{change}"


def _finding(lines: list[Line]) -> str:
    moved = [line for line in lines if line.ranks[0] != line.ranks[1]]
    if not moved:
        everyone = "Both models" if len(lines) == 2 else f"All {count(len(lines), 'model')}"
        return f"{everyone} keep their rank" if len(lines) > 1 else "There is one model only"
    sure = sum(not line.broken for line in moved)
    proven = "all" if sure == len(moved) else f"{sure}" if sure else "none"
    subject = "Both models change" if len(moved) == len(lines) == 2 else f"{len(moved)} of {len(lines)} models change"
    return f"{subject} rank, {proven} beyond chance"


def _in_words(lines: list[Line], metrics: tuple[str, str], short: dict[str, str]) -> str:
    parts: list[Any] = [f"Bump chart of ranks, from {metrics[0]} to {metrics[1]}."]
    parts += [
        f"{short[line.model]}: {line.ranks[0]} to {line.ranks[1]}{' (may be chance)' if line.broken else ''}."
        for line in lines
    ]
    return " ".join(parts)
