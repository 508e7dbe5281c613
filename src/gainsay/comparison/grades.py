"""What rankings are worth under any gain: how many documents of each grade they show, discounted by rank.

DCG is a sum over documents of gain(label) · discount(rank), and so a sum over grades of gain(grade) times the discounts
of the ranks at which that grade stands. These sums, by query and grade, are all that a ranking is to any gain: they are
worked out once, and every base of the power gain then costs one product of small tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.cpus import cpus
from ..evaluation.groups import AlignedScores, Family, Group
from ..metrics.dcg import DCG, NDCG
from ..metrics.discounts import discounts
from ..metrics.gains import LARGEST_EXPONENT, at_bases, magnitude, power, raised
from ..metrics.names import MetricLike, parse_metrics
from ..ranking.rows import table_of

if TYPE_CHECKING:
    from .._common.typing import Bools, Floats
    from ..judgments import Judgments
    from ..metrics.base import Metric


def lender(metric: MetricLike) -> DCG:
    """Return a metric that is to lend cutoff, discount and all options but the gain.

    Raises
    ------
    ValueError
        Where it is no sum of gains over documents.
    """
    (chosen,) = parse_metrics(metric)
    if not isinstance(chosen, DCG) or not chosen.is_sum_over_documents:
        raise ValueError(
            f"metric names {chosen}, which is no sum of gains over documents; take one of the NDCG and DCG family, "
            "such as metric='ndcg_linear@10'"
        )
    return chosen


def family_of(compared: Mapping[str, Metric], primary: Iterable[str], metric: MetricLike | None = None) -> DCG:
    """Return the metric that lends a path of gains its options: `metric`, else one of the compared ones, primary first.

    Raises
    ------
    ValueError
        Where the metric is no sum of gains over documents, none of the compared ones is, or the two primary ones differ
        in more than their gain.
    """
    if metric is not None:
        return lender(compared.get(metric, metric) if isinstance(metric, str) else metric)
    asked = [compared[name] for name in primary if name in compared]
    for metrics in (asked, compared.values()):
        found = [one for one in metrics if isinstance(one, DCG) and one.is_sum_over_documents]
        if metrics is asked and len(found) == 2 and _lent(found[0]) != _lent(found[1]):
            raise ValueError(
                f"{found[0]} and {found[1]} differ in more than their gain, so there is no path from one to the other; "
                f"name the one whose cutoff and discount are to be kept, gains(metric='{found[0]}')"
            )
        if found:
            return found[0]
    raise ValueError(
        f"gains needs a metric of the NDCG and DCG family, and the compared ones ({', '.join(compared)}) are none; "
        "name one whose cutoff and discount are meant, gains(metric='ndcg_linear@10')"
    )


def settled(family: DCG, longest: int) -> DCG:
    """Return the metric with linear gain, and its discounts as a table where they are a function.

    So no name is given anew to a function that bears one already.
    """
    discount: Any = family.discount
    if callable(discount):
        discount = tuple(discounts(discount, family.base, longest).tolist())
    kind, options = _lent(family)
    return kind(gain="linear", **options | {"discount": discount})


def at_base(family: DCG, base: float) -> DCG:
    """Return the metric with the power gain of a base in place of its own gain."""
    kind, options = _lent(family)
    return kind(gain="power", gain_base=base, **options)


def _lent(family: DCG) -> tuple[type[DCG], dict[str, Any]]:
    """Return what a metric lends: whether it is divided by the ideal, and all options but the gain."""
    options = ("discount", "base", "k", "ties", "empty", "scores", "weights")
    return NDCG if family.is_ratio else DCG, {option: getattr(family, option) for option in options}


def path_name(family: DCG) -> str:
    """Return the name of the metric as a function of the base b."""
    if callable(family.discount):
        return f"{family} with gain_base=b"
    return str(at_base(family, 1.5)).replace("gain_base=1.5", "gain_base=b")


class GradeCounts:
    """Discounted counts of documents by grade, and what they are worth under the power gain of any base.

    A `settled` metric says cutoff, discount, ties, and what a query without relevant documents is worth; labels must
    not be negative. `levels` are those above 0, ascending; `ideal`, (grades, queries), the counts of the ideal ranking,
    which is the same for every base; `empty` marks queries without relevant documents.
    """

    def __init__(self, family: DCG, judgments: Judgments) -> None:
        self.family, self.judgments, self._threads = family, judgments, cpus()
        if judgments.levels[0] < 0:
            raise ValueError(
                f"a path of gains cannot take negative labels (the lowest is {judgments.levels[0]:g}): "
                "(b^l - 1)/(b - 1) has no use for them; pass negative_labels='zero' with the labels"
            )
        self.levels: Floats = judgments.levels[judgments.levels > 0]
        options = {option: getattr(family, option) for option in ("discount", "base", "k", "scores")}
        relevant = {label: float(label > 0) for label in judgments.levels.tolist()}
        counting = DCG(gain=relevant, ties=family.ties, **options)
        facts = counting.bind(judgments, (family.k,))
        tables = [table_of((judgments.levels == level).astype(np.float64)) for level in self.levels.tolist()]
        of_grade = [replace(facts, gains=replace(facts.gains, table=table)) for table in tables]
        families = [Family(counting, own, (family.k,), slice(place, place + 1)) for place, own in enumerate(of_grade)]
        self._group = Group(counting, "irrelevant", families, list(range(len(families))))
        in_order = replace(self._group, like=replace(counting, ties="order"))
        self.ideal: Floats = self._counts(in_order, judgments.labels)
        self.empty: Bools = np.logical_not(self.ideal.any(axis=0)) if family.is_ratio else facts.empty[:, 0]

    def of(self, scores: Floats) -> Floats:
        """Return the counts of one ranking of every query, shape (grades, queries)."""
        return self._counts(self._group, scores)

    def _counts(self, group: Group, scores: Floats) -> Floats:
        aligned = AlignedScores.of(self.judgments, scores)
        return np.ascontiguousarray(group.evaluate(self.judgments, aligned, self._threads).T)

    def values(self, counts: Floats, bases: Sequence[float], queries: Any = slice(None)) -> Floats:
        """Return the metric of every query under the power gain of each base, shape (bases, …, queries).

        `counts`, (grades, …, queries), are of one or several rankings; `queries` says which its last axis holds. What
        the metric skips is NaN.
        """
        ideal, empty = self.ideal[:, queries], self.empty[queries]
        found = np.empty((len(bases), *counts.shape[1:]))
        for place, (base, gains) in enumerate(zip(bases, at_bases(self.levels, bases), strict=True)):
            if gains is None:  # each query has its own
                gains = self._scaled(base)[:, queries]
                worth, best = np.einsum("g...q,gq->...q", counts, gains), (ideal * gains).sum(axis=0)
            else:
                worth, best = np.tensordot(gains, counts, axes=(0, 0)), gains @ ideal
            found[place] = worth / np.where(empty, 1.0, best) if self.family.is_ratio else worth
        if empty.any():
            found[..., empty] = np.nan if self.family.empty == "skip" else self.family.empty
        return found

    def _scaled(self, base: float) -> Floats:
        """Return the gain of each grade where some overflow: each query's divided by about the largest of its own."""
        check_overflow(self.family, base, self.judgments)
        return scaled_gains(self.levels, self.ideal, base)


def check_overflow(family: DCG, base: float, judgments: Judgments) -> None:
    """Raise for a sum of gains that overflow, which no ideal brings back into range."""
    if not family.is_ratio:
        at_base(family, base).bind(judgments, (family.k,))  # which refuses them


def scaled_gains(levels: Floats, ideal: Floats, base: float) -> Floats:
    """Return the gain of each grade where some overflow: each query's divided by about the largest of its own.

    `levels` ascend above 0; `ideal`, (grades, queries), says which of them a query has.
    """
    top = (levels[:, None] * (ideal > 0)).max(axis=0)
    labels = np.minimum(levels[:, None], top)
    large = magnitude(top, base) > LARGEST_EXPONENT
    with np.errstate(under="ignore"):
        scaled = raised(base, labels - top) - raised(base, -top)
    return np.where(large, scaled, power(np.where(large, 0.0, labels), base))
