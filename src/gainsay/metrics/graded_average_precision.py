"""Graded average precision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from .._common.words import number_text
from ..ranking.rows import ideal_rows, sums_at, table_of
from .base import Facts, Metric, choice, depth_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .._common.typing import Floats
    from ..judgments import Judgments
    from ..ranking.rows import RankedRows


@dataclass(frozen=True, eq=False)
class GradedFacts(Facts):
    """How likely a document is relevant, by label code, and the sum of this over the first ranks of the ideal order."""

    likely: Floats
    ideal: Floats


@dataclass(frozen=True, kw_only=True)
class GAP(Metric):
    """Graded average precision: GAP@k = sum over ranks r <= k of 1/r * sum over i <= r of G(min(l_i, l_r)) / D.

    A user calls documents relevant from some grade on; G(l) is the probability that this threshold is at most l. GAP is
    the expected sum of precisions at relevant ranks over the expected number of relevant documents. With one threshold
    it is AP, so with labels 0 and 1 too.

    Parameters
    ----------
    thresholds : "equal" or sequence of float
        How likely each of the grades 1, 2, 3, … is to be the threshold: all alike (then the highest grade need not be
        said: it cancels), or as listed; only the ratios matter. A label above the last grade listed counts as that
        grade, one between two grades as the lower. In a name: `gap(thresholds=0.2/0.8)`.
    denominator : {"min_R_k", "R"}
        D: the same sum in the ideal order, which is that of G over its first k documents; or over all (cut nowhere).
    k, ties, empty, scores, weights
        See `Metric`. A query is empty where no document reaches a possible threshold. With ties averaged, every
        threshold contributes its probability times what it contributes to `AP`. The cost grows with the number of
        different grades of a query.

    References
    ----------
    Robertson, Kanoulas & Yilmaz 2010, Extending average precision to graded relevance judgments, SIGIR.

    Examples
    --------
    Grades 1, 0, 2: ranks 1 and 3 have the sums 1 and 1 + 2, and D is 1 + 2.

    >>> import gainsay as gs
    >>> gs.evaluate(["gap"], gs.Judgments([1, 0, 2], group=[3]), [3, 2, 1]).mean == {"gap": (1 / 1 + 3 / 3) / 3}
    True
    """

    thresholds: Any = "equal"
    denominator: Literal["min_R_k", "R"] = "min_R_k"

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"gap": {}}

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("denominator", self.denominator, ("min_R_k", "R"))
        self._set(thresholds=_probabilities(self.thresholds))

    def option_text(self, option: str) -> str:
        """Return how the value of an option is written in the metric's name."""
        listed = option == "thresholds" and self.thresholds != "equal"
        return "/".join(map(number_text, self.thresholds)) if listed else super().option_text(option)

    def bind(self, judgments: Judgments, cutoffs: Sequence[int | None]) -> GradedFacts:
        """Work out how likely each label is relevant; in the ideal order this is what each rank adds."""
        grades = np.maximum(np.floor(judgments.levels), 0.0)
        if self.thresholds != "equal":
            reached = np.append(0.0, np.cumsum(self.thresholds))
            grades = reached[np.minimum(grades, len(reached) - 1).astype(np.int64)]
        among = [None] * len(cutoffs) if self.denominator == "R" else cutoffs
        likely, ideal = table_of(grades), np.zeros((judgments.queries, len(cutoffs)))
        for block in judgments.layout.blocks:
            best = ideal_rows(block, len(grades))
            ideal[best.queries] = sums_at(np.take(likely, best.codes), among)
        return GradedFacts(empty=ideal[:, :1] <= 0, likely=likely, ideal=ideal)

    def score(self, rows: RankedRows, facts: GradedFacts, cutoffs: Sequence[int | None]) -> Floats:
        """Return GAP at each cutoff."""
        depth = depth_of(cutoffs, rows.width)
        likely = np.take(facts.likely, rows.codes if rows.runs is not None else rows.codes[:, :depth])
        shared = np.zeros((len(likely), depth))  # by rank: how likely it and one up to it are relevant, added up
        runs = None if rows.runs is None else rows.runs.reaching(depth)
        first, more = np.zeros((2, 0 if runs is None else len(runs)))
        for lowest, share in _thresholds(likely):
            relevant = likely >= lowest
            hits = np.add.accumulate(relevant, axis=1, dtype=np.float64)
            shared += share * (hits * relevant)[:, :depth]
            if runs is not None:  # r of t documents are relevant: the one at place i has i (r - 1)/(t - 1) before it
                r, of_run = runs.totals(relevant.ravel()[runs.positions]), share[runs.starts // rows.width, 0]
                first += of_run * r * (hits.ravel()[runs.starts] - relevant.ravel()[runs.starts] + 1)
                more += of_run * r * (r - 1)
        if runs is not None:
            per_place = more / (runs.lengths * (runs.lengths - 1))
            row, rank = np.divmod(runs.positions, rows.width)
            inside = rank < depth
            expected = runs.spread(first / runs.lengths) + runs.spread(per_place) * runs.places
            shared[row[inside], rank[inside]] = expected[inside]
        shared /= np.arange(1, depth + 1)
        return sums_at(shared, cutoffs) / np.where(facts.empty, 1.0, facts.ideal)[rows.queries]


def _thresholds(likely: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Yield, lowest first, a threshold of each row and its probability, both of shape (rows, 1).

    A row has as many as it has different values above 0: between two of these any threshold is the same. Where others
    have more, it gets infinity.
    """
    ordered = np.sort(likely, axis=1)
    steps = np.diff(ordered, axis=1, prepend=0.0)
    row, column = np.nonzero(steps)
    number = np.cumsum(steps > 0, axis=1)
    shape = (int(number.max(initial=0)), len(likely), 1)
    lowest, share = np.full(shape, np.inf), np.zeros(shape)
    at = number[row, column] - 1
    lowest[at, row, 0], share[at, row, 0] = ordered[row, column], steps[row, column]
    yield from zip(lowest, share, strict=True)


def _probabilities(thresholds: Any) -> Literal["equal"] | tuple[float, ...]:
    """Return the probabilities of thresholds, given as numbers or as they stand in a name, or raise `ValueError`."""
    if isinstance(thresholds, str) and thresholds == "equal":
        return "equal"
    try:
        parts = thresholds.split("/") if isinstance(thresholds, str) else np.atleast_1d(thresholds)
        found = tuple(float(part) for part in parts)
    except (TypeError, ValueError):
        found = ()
    if not found or not np.isfinite(found).all() or min(found) < 0 or not any(found):
        raise ValueError(
            "thresholds must be 'equal' or the probabilities of grades 1, 2, …, such as (0.2, 0.8) or '0.2/0.8', "
            f"finite, not negative and not all 0; got {thresholds!r}"
        )
    return found
