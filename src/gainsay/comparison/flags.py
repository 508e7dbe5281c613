"""What a reader should know before trusting a verdict: ties, thin evidence, models that never differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._common.words import confidence, listed
from .inequalities import FEWEST
from .inputs import FloatArray, Panel, Queries
from .resampling import ROUNDING, Estimate

__all__ = ["FEW", "Flag", "find_flags", "left_out_flags"]

FEW = 100
"""Pairs that differ on fewer queries than this are flagged."""

LOPSIDED = 0.15
"""Skewness of a mean difference from which pairs are flagged: a one-sided test at level .05 then errs in about .07."""


@dataclass(frozen=True)
class Flag:
    """One reservation about a verdict.

    Attributes
    ----------
    code : str
        ``"left-out queries"``, ``"one model"``, ``"few queries"``, ``"uneven weights"``, ``"tied winners"``,
        ``"identical models"``, ``"ignored pairs"``, ``"thin pairs"``, ``"lopsided pairs"`` or ``"uneven judging"``.
    message : str
        One sentence, with numbers.
    models : tuple of str
        The models concerned, where there are any.
    pairs : tuple of (str, str)
        The pairs of models concerned, where there are any.
    """

    code: str
    message: str
    models: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.message

    def to_dict(self) -> dict[str, Any]:
        """Return the flag as plain lists and strings."""
        return {
            "code": self.code,
            "message": self.message,
            "models": list(self.models),
            "pairs": [list(pair) for pair in self.pairs],
        }


def left_out_flags(counts: Queries) -> tuple[Flag, ...]:
    """Say how many queries of each metric are left out of what is said of both together.

    >>> print(*left_out_flags(Queries(any=30, own={"a": 30, "b": 18}, common=18)))
    The verdict is on the 18 queries on which both metrics have a value; left out are 12 more of a.
    """
    left_out = [f"{number:,} more of {metric}" for metric, number in counts.left_out.items() if number]
    if not left_out:
        return ()
    size = "one query" if counts.common == 1 else f"{counts.common:,} queries"
    text = f"The verdict is on the {size} on which both metrics have a value; left out are {listed(left_out)}."
    return (Flag("left-out queries", text),)


def find_flags(panel: Panel, estimated: Estimate, tied: dict[str, tuple[str, ...]], alpha: float) -> tuple[Flag, ...]:
    """Collect the reservations, the gravest first.

    Parameters
    ----------
    panel : Panel
        The values.
    estimated : Estimate
        Made from `panel`.
    tied : dict of metric name to tuple of str
        The models with the best mean under each metric.
    alpha : float
        Level, for what cannot be seen in the sample.

    Returns
    -------
    tuple of Flag
    """
    flags = []
    if len(panel.models) == 1:
        flags.append(Flag("one model", "There is one model only, so nothing is compared.", panel.models))
    elif panel.queries < FEWEST:
        size = "1 query" if panel.queries == 1 else f"{panel.queries} queries"
        flags.append(Flag("few queries", f"There is evidence from {size} only: below {FEWEST} nothing is decided."))
    if estimated.effective < panel.queries / 2:
        uneven = f"The weights are so uneven that {panel.queries} queries are worth about {estimated.effective:.0f}."
        flags.append(Flag("uneven weights", uneven))
    for metric, names in tied.items():
        if len(names) > 1:
            best = "lowest" if metric in panel.lower_is_better else "highest"
            tie = f"{listed(names)} share the {best} mean {metric}; {names[0]} stands for them, by name."
            flags.append(Flag("tied winners", tie, names))
    flags.extend(_pair_flags(panel, estimated, alpha))
    return tuple(flags)


def _pair_flags(panel: Panel, estimated: Estimate, alpha: float) -> list[Flag]:
    # On a share of queries larger than this, none would be among these with a probability below alpha.
    unseen = 1 - alpha ** (1 / estimated.effective)
    support = estimated.support.min(axis=0)
    same = estimated.support.max(axis=0) == 0
    first, second = np.triu_indices(len(panel.models), 1)
    found = []
    for code, chosen, says in (
        (
            "identical models",
            same,
            "never differ: what holds for the one holds for the other, though they may differ on up to "
            f"{100 * unseen:.2g} % of all queries ({confidence(alpha)} confidence)",
        ),
        (
            "ignored pairs",
            ~same & (support < FEWEST),
            f"differ on fewer than {FEWEST} queries under a metric, which then decides nothing between them",
        ),
        (
            "thin pairs",
            (support >= FEWEST) & (support < FEW),
            f"differ on fewer than {FEW} queries under a metric: what it says of them is rough",
        ),
        (
            "lopsided pairs",
            (support >= FEW) & (lopsidedness(panel) > LOPSIDED),
            "owe their difference under a metric to few queries with large ones: what it says of them is rough",
        ),
    ):
        here = chosen[first, second]
        pairs = tuple((panel.models[k], panel.models[j]) for k, j in zip(first[here], second[here], strict=True))
        if pairs:
            named = listed([f"{a} and {b}" for a, b in pairs], word="as well as")
            if len(pairs) > 3:
                named = f"{len(pairs)} of {len(first)} pairs of models"
            found.append(Flag(code, f"{named} {says}.", _unique(pairs), pairs))
    return found


def lopsidedness(panel: Panel) -> FloatArray:
    """Return for each pair of models how skewed the mean of their differences is, the larger one of the metrics.

    That is |Σ e³| / (Σ e²)^1.5 of e = w (d − mean), the differences d from their weighted mean. With equal weights it
    is the skewness of d over √n, the leading term of how far the normal limit is off (Edgeworth).

    Returns
    -------
    ndarray, shape (models, models)
        Symmetric; 0 where a difference does not vary.
    """
    metrics, models, queries = panel.values.shape
    weights = np.full(queries, 1 / queries) if panel.weights is None else panel.weights
    rounding = ROUNDING * np.abs(panel.values).max()
    found = np.zeros((models, models))
    for k in range(models - 1):
        for j in range(k + 1, models):
            difference = panel.values[:, j] - panel.values[:, k]
            difference -= (difference @ weights)[:, None]
            difference[np.abs(difference) <= rounding] = 0.0
            difference *= weights
            squares = difference * difference
            spread = squares.sum(axis=1) ** 1.5
            third = np.abs(np.einsum("mq,mq->m", squares, difference))
            skewness = np.divide(third, spread, out=np.zeros(metrics), where=spread > 0)
            found[k, j] = found[j, k] = skewness.max()
    return found


def _unique(pairs: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for pair in pairs for name in pair))
