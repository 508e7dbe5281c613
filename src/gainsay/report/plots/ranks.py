"""How the order of the models changes from one metric to the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..._common.words import count
from ...comparison.pairs import compute_common_ranks
from ..numbers import GAP, LEFT_TO_RIGHT, MINUS
from .labels import beside
from .style import Look, finish, looks, start, without_frame

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from ...comparison.comparison import Comparison
    from .picture import Picture

__all__ = ["plot_ranks"]


class Line(NamedTuple):
    """One model: its ranks, its places from the top, and whether a change of its rank is proven."""

    model: str
    ranks: tuple[int, int]
    shared: tuple[bool, bool]
    places: tuple[int, int]
    broken: bool


def plot_ranks(comparison: Comparison, ax: Axes | None = None, theme: str = "light") -> Picture:
    """Draw a bump chart: every model's rank under the first metric, joined to its rank under the second.

    A line is broken where a model changes places only with models that the queries do not tell from it (no conflict of
    signs with any of them is significant after Holm's correction), or shares its rank; a full line that crosses
    another is a proven change, or one that is not a change at all. Models of equal mean share a rank, marked "=", and
    are drawn one below the other. The number in brackets says how many ranks a model gains or loses. Parameters and
    result are those of `plot_conflict`.
    """
    lines = rank_lines(comparison)
    ax, colours = start(ax, theme, (6.8, max(2.4, 1.4 + 0.24 * len(lines))))
    metrics, short = comparison.verdict.metrics, comparison.short_names
    one, other = (comparison.verdict.winners[metric] for metric in metrics)
    both = Look("o", 0, colours.ink, colours.ink)
    notable = {one: both} if one == other else dict(zip((one, other), looks(colours), strict=True))
    for line in lines:
        look, width, weight = Look("o", 0, colours.muted, colours.ink), 1.0, "normal"
        if line.model in notable:
            look, width, weight = notable[line.model], 2.6, "bold"
        ax.plot(
            [0, 1], line.places, color=look.colour, linewidth=width, linestyle=(0, (4, 2.5)) if line.broken else "-",
            marker=look.marker, markersize=5, zorder=3 if width > 2 else 2, clip_on=False,
        )  # fmt: skip
        texts = (_left(line, short), _right(line, short))
        for x, place, words, side in zip((-0.035, 1.035), line.places, texts, ("right", "left"), strict=True):
            ax.text(x, place, words, ha=side, va="center", fontsize=9, weight=weight, color=look.text, parse_math=False)
    for x, (metric, look) in enumerate(zip(metrics, looks(colours), strict=True)):
        ax.axvline(x, color=look.colour, linewidth=1.2, zorder=1)
        beside(
            ax, metric, (x, 1), (0, 4), xycoords=("data", "axes fraction"), colour=look.text, size=9.5, weight="bold"
        )
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(len(lines) + 0.6, 0.4)
    ax.set_xticks([])
    ax.set_yticks([])
    without_frame(ax)
    note = "broken line: no change of this model's place is beyond chance" if any(line.broken for line in lines) else ""
    return finish(ax, colours, _finding(lines), _in_words(lines, metrics, short), x=note, pad=22, wide=0.62)


def rank_lines(comparison: Comparison) -> list[Line]:
    """Return what the bump chart draws, the best under the first metric first."""
    models, pairs, losses = comparison.verdict.models, comparison.pairs, comparison.lower_is_better
    both = [compute_common_ranks(pairs, comparison.models, metric, losses) for metric in comparison.verdict.metrics]
    places = [
        {name: place for place, name in enumerate(sorted(models, key=lambda name: (own[name], last[name])), 1)}
        for own, last in (both, both[::-1])
    ]
    taken = [list(ranks.values()) for ranks in both]
    swaps = pairs[pairs["conflict"]]
    proven = swaps[swaps["p_holm"] <= comparison.alpha]
    sure, moved = ({*table["model_x"], *table["model_y"]} for table in (proven, swaps))
    lines = []
    for name in models:
        one, other = (ranks[name] for ranks in both)
        shared = (taken[0].count(one) > 1, taken[1].count(other) > 1)
        broken = name not in sure and (name in moved or one != other or any(shared))
        lines.append(Line(name, (one, other), shared, (places[0][name], places[1][name]), broken))
    return sorted(lines, key=lambda line: line.places)


def _left(line: Line, short: Mapping[str, str]) -> str:
    return f"{short[line.model]}{GAP}{line.ranks[0]}{'=' if line.shared[0] else ''}"


def _right(line: Line, short: Mapping[str, str]) -> str:
    gained = line.ranks[0] - line.ranks[1]
    change = f"{LEFT_TO_RIGHT} ({gained:+})".replace("-", MINUS) if gained else ""
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


def _in_words(lines: list[Line], metrics: tuple[str, str], short: Mapping[str, str]) -> str:
    parts = [
        f"{short[line.model]}: {line.ranks[0]} to {line.ranks[1]}{' (may be chance)' if line.broken else ''}."
        for line in lines
    ]
    return " ".join([f"Bump chart of ranks, from {metrics[0]} to {metrics[1]}.", *parts])
