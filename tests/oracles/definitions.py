"""Every metric in plain Python, one ranking at a time, close to its definition.

A ranking is the list of labels from rank 1. `judged` contains the labels of all documents of the query, including those
that were not retrieved. `k` is a cutoff or None. A query without relevant documents has the value 0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations, product

Labels = Sequence[float]
Definition = Callable[[Labels, Labels, int | None], float]


def linear(label: float) -> float:
    return label


def exponential(label: float) -> float:
    return 2.0**label - 1.0


def power(label: float, base: float) -> float:
    return (base**label - 1.0) / (base - 1.0)


def by_log2(rank: int) -> float:
    return 1.0 / math.log2(rank + 1)


def by_log10(rank: int) -> float:
    return 1.0 / math.log10(rank + 1)


def by_jk(rank: int, base: float = 2.0) -> float:
    return 1.0 / max(1.0, math.log(rank) / math.log(base))


def by_rank(rank: int) -> float:
    return 1.0 / rank


def by_nothing(rank: int) -> float:
    return 1.0


def dcg(ranking: Labels, judged: Labels, k: int | None, *, gain=linear, discount=by_log2) -> float:
    return math.fsum(gain(label) * discount(rank) for rank, label in enumerate(ranking[:k], start=1))


def ndcg(ranking: Labels, judged: Labels, k: int | None, *, gain=linear, discount=by_log2) -> float:
    ideal_ranking = sorted(judged, key=gain, reverse=True)
    ideal = dcg(ideal_ranking, judged, k, gain=gain, discount=discount)
    return dcg(ranking, judged, k, gain=gain, discount=discount) / ideal if ideal > 0 else 0.0


def average_precision(
    ranking: Labels, judged: Labels, k: int | None, *, denominator: str = "min_R_k", min_label: float = 1
) -> float:
    relevant = sum(label >= min_label for label in judged)
    hits, total = 0, 0.0
    for rank, label in enumerate(ranking[:k], start=1):
        if label >= min_label:
            hits += 1
            total += hits / rank
    divisors = {"min_R_k": relevant if k is None else min(relevant, k), "R": relevant, "hits": hits}
    return total / divisors[denominator] if divisors[denominator] else 0.0


def reciprocal_rank(ranking: Labels, judged: Labels, k: int | None, *, min_label: float = 1) -> float:
    for rank, label in enumerate(ranking[:k], start=1):
        if label >= min_label:
            return 1.0 / rank
    return 0.0


def precision(ranking: Labels, judged: Labels, k: int | None, *, denominator: str = "k", min_label: float = 1) -> float:
    hits = sum(label >= min_label for label in ranking[:k])
    if k is None:
        return hits / len(judged)
    return hits / (min(k, len(judged)) if denominator == "min_k_n" else k)


def r_precision(ranking: Labels, judged: Labels, k: int | None, *, min_label: float = 1) -> float:
    relevant = sum(label >= min_label for label in judged)
    return sum(label >= min_label for label in ranking[:k][:relevant]) / relevant if relevant else 0.0


def recall(ranking: Labels, judged: Labels, k: int | None, *, min_label: float = 1) -> float:
    relevant = sum(label >= min_label for label in judged)
    return sum(label >= min_label for label in ranking[:k]) / relevant if relevant else 0.0


def hit(ranking: Labels, judged: Labels, k: int | None, *, min_label: float = 1) -> float:
    return 1.0 if any(label >= min_label for label in ranking[:k]) else 0.0


def rank_biased_precision(
    ranking: Labels, judged: Labels, k: int | None, *, p: float, graded: bool = False, min_label: float = 1
) -> float:
    highest = max(judged)
    total = 0.0
    for rank, label in enumerate(ranking[:k], start=1):
        gain = (label / highest if highest else 0.0) if graded else float(label >= min_label)
        total += gain * p ** (rank - 1)
    return (1.0 - p) * total


def expected_reciprocal_rank(ranking: Labels, judged: Labels, k: int | None, *, max_label: int) -> float:
    total, reaches = 0.0, 1.0
    for rank, label in enumerate(ranking[:k], start=1):
        stops = (2.0**label - 1.0) / 2.0**max_label
        total += reaches * stops / rank
        reaches *= 1.0 - stops
    return total


TABLE = (0.0, 1.0, 3.0, 7.0, 20.0)
"""Gains of labels 0 to 4, growing as tables usually do."""

ZIGZAG = {0: 2.0, 1: 5.0, 2: 1.0, 3: 0.0, 4: 9.0}
"""Gains that do not grow with the label, the lowest of them not that of label 0."""

METRICS: dict[str, Definition] = {
    "ndcg_linear": ndcg,
    "ndcg_exp": partial(ndcg, gain=exponential),
    "ndcg_jk": partial(ndcg, discount=by_jk),
    "ndcg_jk(base=3)": partial(ndcg, discount=partial(by_jk, base=3.0)),
    "ndcg_exp(discount=jk)": partial(ndcg, gain=exponential, discount=by_jk),
    "ndcg(gain=0/1/3/7/20)": partial(ndcg, gain=lambda label: TABLE[int(label)]),
    "ndcg(gain=0>2/1>5/2>1/3>0/4>9)": partial(ndcg, gain=lambda label: ZIGZAG[int(label)]),
    "ndcg_power(gain_base=1.5)": partial(ndcg, gain=partial(power, base=1.5)),
    "ndcg_power(gain_base=1.75,discount=jk)": partial(ndcg, gain=partial(power, base=1.75), discount=by_jk),
    "ndcg_linear(discount=reciprocal)": partial(ndcg, discount=by_rank),
    "ndcg_exp(discount=none)": partial(ndcg, gain=exponential, discount=by_nothing),
    "dcg_linear": dcg,
    "dcg_exp": partial(dcg, gain=exponential),
    "dcg_jk": partial(dcg, discount=by_jk),
    "dcg_power(gain_base=1.25)": partial(dcg, gain=partial(power, base=1.25)),
    "dcg_exp(discount=log,base=10)": partial(dcg, gain=exponential, discount=by_log10),
    "dcg(gain=0/1/3/7/20)": partial(dcg, gain=lambda label: TABLE[int(label)]),
    "cg": partial(dcg, discount=by_nothing),
    "cg_exp": partial(dcg, gain=exponential, discount=by_nothing),
    "map": average_precision,
    "map(min_label=2)": partial(average_precision, min_label=2),
    "map(denominator=R)": partial(average_precision, denominator="R"),
    "map(ties=order,denominator=hits)": partial(average_precision, denominator="hits"),
    "mrr": reciprocal_rank,
    "mrr(min_label=3)": partial(reciprocal_rank, min_label=3),
    "precision": precision,
    "precision(denominator=min_k_n)": partial(precision, denominator="min_k_n"),
    "precision(min_label=2)": partial(precision, min_label=2),
    "rprec": r_precision,
    "rprec(min_label=2)": partial(r_precision, min_label=2),
    "recall": recall,
    "recall(min_label=3)": partial(recall, min_label=3),
    "hit": hit,
    "hit(min_label=2)": partial(hit, min_label=2),
    "rbp": partial(rank_biased_precision, p=0.8),
    "rbp(p=0.5,min_label=2)": partial(rank_biased_precision, p=0.5, min_label=2),
    "rbp(p=0.9,gain=graded)": partial(rank_biased_precision, p=0.9, graded=True),
    "err(max_label=4)": partial(expected_reciprocal_rank, max_label=4),
}
"""A definition for each name; labels are whole numbers from 0 to 4."""


def runs(labels: Labels, scores: Sequence[float]) -> list[list[float]]:
    """Return the labels of documents with equal scores, highest score first. A score of -inf is not retrieved."""
    retrieved = sorted({score for score in scores if score != -math.inf}, reverse=True)
    return [[label for label, own in zip(labels, scores, strict=True) if own == score] for score in retrieved]


def in_input_order(labels: Labels, scores: Sequence[float]) -> list[float]:
    return [label for run in runs(labels, scores) for label in run]


def worst_first(labels: Labels, scores: Sequence[float]) -> list[float]:
    return [label for run in runs(labels, scores) for label in sorted(run)]


def best_first(labels: Labels, scores: Sequence[float]) -> list[float]:
    return [label for run in runs(labels, scores) for label in sorted(run, reverse=True)]


RANKINGS = {"order": in_input_order, "worst": worst_first, "best": best_first}


def rankings_with_multiplicity(labels: Labels, scores: Sequence[float]) -> Iterator[tuple[list[float], int]]:
    """Yield every ranking of the tied documents, and its number of orders."""
    orders = [Counter(permutations(run)).items() for run in runs(labels, scores)]
    for choice in product(*orders):
        yield [label for run, _ in choice for label in run], math.prod(count for _, count in choice)


def expectation(definition: Definition, labels: Labels, scores: Sequence[float], k: int | None) -> float:
    """Return the mean of the metric over all orders of the tied documents."""
    return mean_over_orders(definition, labels, list(rankings_with_multiplicity(labels, scores)), k)


def mean_over_orders(
    definition: Definition, labels: Labels, rankings: Sequence[tuple[list[float], int]], k: int | None
) -> float:
    """Return the mean of the metric over rankings with their numbers of orders."""
    weighted = [(definition(ranking, labels, k), count) for ranking, count in rankings]
    return math.fsum(value * count for value, count in weighted) / sum(count for _, count in weighted)
