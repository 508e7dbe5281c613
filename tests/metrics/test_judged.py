"""The share of judged documents: against all orders of tied documents, and against trec_eval."""

from statistics import mean

import numpy as np
import pytest
import pytrec_eval

import gainwise as gw

NEVER = float("-inf")
CUTOFFS = (1, 2, 3, 5, 8, None)


def share(order, k):
    """Return the share of judged documents among the first k, or 1 if nothing was retrieved."""
    first = order[:k]
    return sum(first) / len(first) if first else 1.0


@pytest.mark.parametrize("seed", range(10))
def test_against_all_orders(seed, definitions):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 8))
    judged = rng.random(size) < 0.6
    judged[0] = True
    scores = rng.choice([NEVER, 0.0, 1.0, 2.0], size, p=[0.2, 0.3, 0.3, 0.2])
    judgments = gw.Judgments(np.where(judged, np.arange(size) % 2, np.nan), group=[size], judged=judged)
    rankings = definitions.rankings_with_multiplicity(judged.tolist(), scores.tolist())
    every = [ranking for ranking, count in rankings for _ in range(count)]
    for ties, settle, rtol in (("average", mean, 1e-12), ("worst", min, 1e-15), ("best", max, 1e-15)):
        found = gw.evaluate([gw.Judged(k=k, ties=ties) for k in CUTOFFS], judgments, scores).per_query[0]
        np.testing.assert_allclose(found, [settle([share(order, k) for order in every]) for k in CUTOFFS], rtol=rtol)


def test_is_the_precision_of_trec_eval_if_every_judgment_counts():
    """With grades increased by one, every judged document is relevant. trec_eval divides short lists by k."""
    rng = np.random.default_rng(0)
    qrels, run = {}, {}
    for query in range(100):
        ids = [f"d{at}" for at in rng.permutation(200)[:40]]
        qrels[f"q{query}"] = {name: int(rng.integers(0, 4)) for name in ids[: rng.integers(1, 40)]}
        run[f"q{query}"] = {name: float(rng.integers(0, 12)) for name in ids[rng.integers(0, 39) :]}
    relevant = {query: {name: label + 1 for name, label in labels.items()} for query, labels in qrels.items()}
    theirs = pytrec_eval.RelevanceEvaluator(relevant, {"P.5,10"}).evaluate(run)
    found = gw.evaluate_run(["judged@5", "judged@10"], run, qrels, convention="trec_eval").frame()
    for query, expected in theirs.items():
        for k in (5, 10):
            length = min(k, len(run[query]))
            assert found.loc[query, f"judged(ties=order)@{k}"] * length == pytest.approx(expected[f"P_{k}"] * k)


def test_condensed_lists_have_no_unjudged_document_of_label_0():
    judgments = gw.Judgments([0, np.nan], group=[2], judged=[True, False])
    condensed = gw.evaluate("precision(min_label=0)@1", judgments, [1, 2], unjudged="drop")
    assert condensed.mean == {"precision(min_label=0)@1": 1.0}
