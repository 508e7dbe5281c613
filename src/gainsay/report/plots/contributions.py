"""One ranking: what each rank adds to the three NDCGs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._common.arrays import numbers
from ..._common.checks import check_whole
from ...comparison.contributions import Split, grades_of, rank_bands, split_model
from ...comparison.rankings import Rankings
from ...evaluation.groups import AlignedScores
from ...judgments import Judgments
from ...metrics.dcg import DCG
from ...metrics.names import parse_metrics
from ..numbers import mean
from .strips import draw_strip
from .style import finish, grade_colours, start

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..._common.typing import Floats, Numbers
    from .picture import Picture

__all__ = ["plot_explain", "rank_contributions"]

NAMES = ("ndcg_jk", "ndcg_linear", "ndcg_exp")


def rank_contributions(labels: Numbers, scores: Numbers, k: int = 10) -> dict[str, Floats]:
    """Return for each of the three NDCGs what ranks 1 to k add to it; tied documents share their ranks.

    Examples
    --------
    >>> parts = rank_contributions([1, 3, 0], [3, 2, 1], k=3)
    >>> parts["ndcg_exp@3"].round(3).tolist()
    [0.131, 0.579, 0.0]
    """
    k = check_whole("k", k)
    judgments = Judgments(labels, group=[len(numbers("labels", labels))])
    given = AlignedScores.of(judgments, scores)
    given.check()
    rankings = Rankings(judgments, {"ranking": given.by_row.astype(np.float64)}, np.ones(1, dtype=bool))
    depth = min(k, judgments.documents)
    metrics = [metric for metric in parse_metrics([f"{name}@{k}" for name in NAMES]) if isinstance(metric, DCG)]
    bands = rank_bands(range(1, depth + 1), [depth], longest=depth)
    splits = [Split(metric, rankings, grades_of(judgments.levels), bands) for metric in metrics]
    found = split_model(rankings, "ranking", splits)
    return {str(metric): cells.sum(axis=0) for metric, (_, cells) in zip(metrics, found, strict=True)}


def plot_explain(
    labels: Numbers, scores: Numbers, k: int = 10, ax: Axes | None = None, theme: str = "light"
) -> Picture:
    """Draw what each rank of one ranking adds to the three NDCGs, above the grades in ranked order.

    Parameters
    ----------
    labels, scores : array-like, shape (documents,)
        Relevance labels and scores of one query.
    k : int
        Cutoff.
    ax, theme
        As for `plot_conflict`.
    """
    parts = rank_contributions(labels, scores, k)
    depth = len(next(iter(parts.values())))
    ax, colours = start(ax, theme, (max(5.6, 2.2 + 0.52 * depth), 4.2))
    kinds = ((colours.third, "//"), (colours.first, ""), (colours.second, "xx"))
    places = np.arange(depth) + 0.5
    totals = {name: mean(float(values.sum())) for name, values in parts.items()}
    for number, ((name, values), (colour, hatch)) in enumerate(zip(parts.items(), kinds, strict=True)):
        ax.bar(
            places + 0.27 * (number - 1), values, 0.25, color=colour, edgecolor=colours.face, hatch=hatch,
            linewidth=0.6, label=f"{name} = {totals[name]}",
        )  # fmt: skip
    by_label = np.asarray(labels, dtype=float)
    strip = by_label[np.argsort(-np.asarray(scores, dtype=float), kind="stable")[:depth]].tolist()
    levels = sorted(set(by_label.tolist()))
    below = ax.inset_axes((0, -0.2, 1, 0.11))
    below.set_xlim(0, depth)
    below.set_ylim(1, 0)
    below.axis("off")
    draw_strip(below, strip, 0, dict(zip(levels, grade_colours(len(levels), colours), strict=True)), colours)
    ax.set_xlim(0, depth)
    ax.set_ylim(0, 1.08 * max(1e-6, *(float(values.max()) for values in parts.values())))
    ax.set_xticks(places, [str(rank) for rank in range(1, depth + 1)])
    ax.tick_params(axis="x", length=0)
    ax.grid(axis="y", color=colours.grid, linewidth=0.6)
    ax.legend(frameon=False, fontsize=9, labelcolor=colours.ink)
    added = " ".join(
        f"{name} is {totals[name]}: {', '.join(mean(float(value)) for value in values)}."
        for name, values in parts.items()
    )
    alt = f"Bars of what each rank adds. Grades from rank 1: {' '.join(f'{grade:g}' for grade in strip)}. {added}"
    title = f"One ranking, three NDCGs: {', '.join(totals.values())}"
    below_axis = "rank; cells hold the grade of the document there"
    picture = finish(ax, colours, title, alt, x=below_axis, y="added by the rank")
    ax.xaxis.labelpad = 36
    return picture
