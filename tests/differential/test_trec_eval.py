"""trec_eval itself, by pytrec_eval, against `evaluate_run` under `convention="trec_eval"`, on random runs and qrels.

Runs contain unjudged documents, and qrels contain documents that the run did not retrieve. Ties use the document id.
"""

import numpy as np
import pytest
from hypothesis import given
from tests.differential.random_queries import examples, queries

import gainwise as gw

pytrec_eval = pytest.importorskip("pytrec_eval")

CUTOFFS = (1, 2, 3, 5, 10, 31, 100, 5000)
WITH_CUTOFF = {"ndcg_cut": "ndcg_linear", "map_cut": "map", "P": "precision", "recall": "recall", "success": "hit"}
NAMES = {
    "ndcg": "ndcg_linear", "map": "map", "recip_rank": "mrr", "Rprec": "rprec",
    **{f"{theirs}_{k}": f"{ours}@{k}" for theirs, ours in WITH_CUTOFF.items() for k in CUTOFFS},
}  # fmt: skip
MEASURES = {
    "ndcg", "map", "recip_rank", "Rprec", *(f"{name}.{','.join(map(str, CUTOFFS))}" for name in WITH_CUTOFF),
}  # fmt: skip


def run_and_qrels(data):
    """Return scored and judged documents by query, which overlap only partly."""
    rng = np.random.default_rng(data.seed)
    run, qrels = {}, {}
    for at, (labels, scores) in enumerate(data.arrays()):
        if len(labels) < 3:
            continue
        ids = [f"d{document}" for document in rng.permutation(10 * len(labels))[: len(labels)]]
        judged, found = rng.random(len(ids)) < 0.8, rng.random(len(ids)) < 0.8
        judged[0] = found[0] = True
        run[f"q{at}"] = {name: float(score) for name, score, kept in zip(ids, scores, found, strict=True) if kept}
        qrels[f"q{at}"] = {name: int(label) for name, label, kept in zip(ids, labels, judged, strict=True) if kept}
    return run, qrels


@examples(25)
@given(
    data=queries(
        labels=["binary", "grades", "rarely relevant", "to 30"], scores=["distinct", "few", "equal"],
        dtypes=["float32"], weighted=[False],
    ).filter(lambda data: max(data.sizes) > 2)
)  # fmt: skip
def test_each_query(data):
    run, qrels = run_and_qrels(data)
    result = gw.evaluate_run(list(NAMES.values()), run, qrels, convention="trec_eval")
    found = dict(zip(map(str, result.judgments.query_ids), result.per_query, strict=True))
    expected = pytrec_eval.RelevanceEvaluator(qrels, MEASURES).evaluate(run)
    assert set(found) == set(expected)
    for query, values in expected.items():
        np.testing.assert_allclose(found[query], [values[name] for name in NAMES], rtol=1e-12, atol=1e-16)
