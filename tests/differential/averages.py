"""Expectations over the orders of tied documents in closed form, in plain Python, for runs of any length.

`runs` are the labels of documents with equal scores, highest score first. `judged` are all labels of the query. `k` is
a cutoff or None. Short runs are compared with the mean over all orders.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from tests.oracles.definitions import by_jk, by_log2, exponential

Runs = Sequence[Sequence[float]]
Labels = Sequence[float]
Average = Callable[[Runs, Labels, int | None], float]


def places(runs: Runs, k: int | None) -> Iterator[tuple[int, Sequence[float], int]]:
    """Yield runs that begin within the cutoff: documents before it, its labels, and its ranks within the cutoff."""
    before = 0
    for run in runs:
        within = len(run) if k is None else min(len(run), k - before)
        if within <= 0:
            return
        yield before, run, within
        before += len(run)


def expected_sum(runs: Runs, k: int | None, worth: Callable[[float], float], at: Callable[[int], float]) -> float:
    """The expectation of the sum over ranks of `worth(label) * at(rank)`: each rank of a run has the mean worth."""
    terms = []
    for before, run, within in places(runs, k):
        mean = math.fsum(map(worth, run)) / len(run)
        terms += [mean * at(before + i) for i in range(1, within + 1)]
    return math.fsum(terms)


def dcg(runs: Runs, judged: Labels, k: int | None, *, gain, discount) -> float:
    return expected_sum(runs, k, gain, discount)


def ndcg(runs: Runs, judged: Labels, k: int | None, *, gain, discount) -> float:
    ideal = math.fsum(
        gain(label) * discount(rank) for rank, label in enumerate(sorted(judged, reverse=True)[:k], start=1)
    )
    return expected_sum(runs, k, gain, discount) / ideal if ideal > 0 else 0.0


def relevant(label: float) -> float:
    return float(label >= 1)


def once(rank: int) -> float:
    return 1.0


def precision(runs: Runs, judged: Labels, k: int | None) -> float:
    return expected_sum(runs, k, relevant, once) / (k or len(judged) or 1)


def recall(runs: Runs, judged: Labels, k: int | None) -> float:
    total = sum(map(relevant, judged))
    return expected_sum(runs, k, relevant, once) / total if total else 0.0


def rank_biased_precision(runs: Runs, judged: Labels, k: int | None, *, p: float) -> float:
    return (1.0 - p) * expected_sum(runs, k, relevant, lambda rank: p ** (rank - 1))


def average_precision(runs: Runs, judged: Labels, k: int | None, *, denominator: str) -> float:
    total = int(sum(map(relevant, judged)))
    hits, terms = 0, []
    for before, run, within in places(runs, k):
        t, r = len(run), int(sum(map(relevant, run)))
        for i in range(1, within + 1):
            others = (i - 1) * (r - 1) / (t - 1) if t > 1 else 0.0
            terms.append(r / t * (hits + 1 + others) / (before + i))
        hits += r
    divisor = min(total, k) if denominator == "min_R_k" and k is not None else total
    return math.fsum(terms) / divisor if divisor else 0.0


def r_precision(runs: Runs, judged: Labels, k: int | None) -> float:
    total = int(sum(map(relevant, judged)))
    return expected_sum(runs, total if k is None else min(k, total), relevant, once) / total if total else 0.0


def reciprocal_rank(runs: Runs, judged: Labels, k: int | None) -> float:
    for before, run, within in places(runs, k):
        t, r = len(run), int(sum(map(relevant, run)))
        if r:
            terms, none_so_far = [], 1.0
            for i in range(1, min(within, t - r + 1) + 1):
                terms.append(none_so_far * r / (t - i + 1) / (before + i))
                none_so_far *= (t - r - i + 1) / (t - i + 1)
            return math.fsum(terms)
    return 0.0


def hit(runs: Runs, judged: Labels, k: int | None) -> float:
    for _, run, within in places(runs, k):
        t, r = len(run), int(sum(map(relevant, run)))
        if r:
            return 1.0 - math.prod((t - r - i) / (t - i) for i in range(within))
    return 0.0


def expected_reciprocal_rank(runs: Runs, judged: Labels, k: int | None, *, max_label: int) -> float:
    """Use the mean product of i factors `1 - stop` of a run: an elementary symmetric polynomial over C(t, i)."""
    terms, reaches = [], 1.0
    for before, run, within in places(runs, k):
        t = len(run)
        means = [1.0] + [0.0] * t  # means[i]: the mean of all products of i factors
        for count, label in enumerate(run, start=1):
            goes_on = 1.0 - (2.0**label - 1.0) / 2.0**max_label
            for i in range(count, 0, -1):
                means[i] = (means[i] * (count - i) + means[i - 1] * goes_on * i) / count
        terms += [reaches * (means[i - 1] - means[i]) / (before + i) for i in range(1, within + 1)]
        reaches *= means[t]
    return math.fsum(terms)


AVERAGES: dict[str, Average] = {
    "ndcg_linear": partial(ndcg, gain=float, discount=by_log2),
    "ndcg_exp": partial(ndcg, gain=exponential, discount=by_log2),
    "ndcg_jk": partial(ndcg, gain=float, discount=by_jk),
    "dcg_linear": partial(dcg, gain=float, discount=by_log2),
    "cg": partial(dcg, gain=float, discount=once),
    "precision": precision,
    "recall": recall,
    "hit": hit,
    "mrr": reciprocal_rank,
    "map": partial(average_precision, denominator="min_R_k"),
    "map(denominator=R)": partial(average_precision, denominator="R"),
    "rprec": r_precision,
    "rbp": partial(rank_biased_precision, p=0.8),
}
