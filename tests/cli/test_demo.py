"""The first act of the demo: a disagreement that is there with any seed, and why."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gainsay.cli import demo
from gainsay.data import simulate, simulate_rankers


@pytest.mark.parametrize("seed", [0, 5, 6, 2**31 - 1])
def test_genuine_with_any_seed(seed):
    verdict = demo.compared_rankers(seed).verdict
    assert (verdict.kind, verdict.safe_choice) == ("genuine", "blend")


def by_grade(labels, qid, scores, other, gain):
    """How much each grade adds to the difference of two rankers' NDCG@10, one query at a time."""
    added, queries = np.zeros(5), np.unique(qid)
    for query in queries:
        own = labels[qid == query]
        ideal = sum(gain(label) / np.log2(rank + 2) for rank, label in enumerate(sorted(own)[::-1][:10]))
        for ranker, sign in ((scores, 1), (other, -1)):
            best = own[np.argsort(-ranker[qid == query])][:10]
            for rank, label in enumerate(best):
                added[int(label)] += sign * gain(label) / np.log2(rank + 2) / ideal if ideal else 0
    return added / len(queries)


def test_why_by_hand(monkeypatch):
    monkeypatch.setattr(demo, "RANKED", 400)
    data = simulate(400, 2, mean_length=40, features=1)
    scores = simulate_rankers(data, 2)
    said = demo.why(demo.compared_rankers(2))
    linear, exp = (
        by_grade(data.labels, data.qid, scores["fair"], scores["excellent"], gain)
        for gain in (lambda label: label, lambda label: 2**label - 1)
    )
    expected = [linear.argmax(), linear.max(), exp.argmin(), -exp.min()]
    found = re.search(r"grade (\d) higher \(([\d.]+) of .* grade (\d) \(([\d.]+) of", said).groups()
    assert [float(number) for number in found] == pytest.approx(expected, abs=0.0005)


def test_nothing_to_say_where_one_wins_both(monkeypatch):
    comparison = demo.compared_rankers(1)
    monkeypatch.setattr(type(comparison), "winners", {"ndcg_linear@10": "fair", "ndcg_exp@10": "fair"})
    assert demo.why(comparison) is None
