"""CatBoost's ranking metrics against `convention="catboost"`, on random queries, without training."""

import numpy as np
import pytest
from hypothesis import given
from tests.differential.random_queries import FINITE, NOT_0, WHOLE, examples, queries

utils = pytest.importorskip("catboost.utils", reason="CatBoost has a convention to compare with")

CUTOFFS = (1, 2, 5, 31, 5000)
TYPES = {"Base": "linear", "Exp": "exp"}
DENOMINATORS = {"LogPosition": "log2", "Position": "reciprocal"}
BINARY = {"MAP": "map", "MRR": "mrr", "PrecisionAt": "precision", "RecallAt": "recall"}


def theirs(data, names, labels=None):
    query = np.repeat(np.arange(len(data.sizes)), data.sizes)
    weights = None if data.weights is None else data.weights[query]
    labels = data.labels if labels is None else labels
    scores = data.scores.astype(np.float64)
    return [utils.eval_metric(labels, scores, name, group_id=query, group_weight=weights)[0] for name in names]


def compare(data, names, labels=None):
    """Compare metrics of the library (keys) with those of gainwise (values)."""
    found = list(data.evaluate(list(names.values()), convention="catboost").mean.values())
    np.testing.assert_allclose(found, theirs(data, names, labels), rtol=1e-12, atol=1e-16)


@pytest.mark.parametrize("name", ["NDCG", "DCG"])
@examples(12)
@given(data=queries(labels=[*WHOLE, "fractions"], scores=FINITE, lengths=NOT_0))
def test_ndcg_and_dcg(name, data):
    names = {
        f"{name}:top={k};type={kind};denominator={denominator}": f"{name.lower()}_{gain}(discount={discount})@{k}"
        for k in CUTOFFS
        for kind, gain in TYPES.items()
        for denominator, discount in DENOMINATORS.items()
    }
    compare(data, names)


@examples(12)
@given(data=queries(labels=[*WHOLE, "fractions"], scores=FINITE, lengths=NOT_0))
def test_by_relevance(data):
    borders = {"": "", ";border=1.9": "(min_label=2)"} if data.label_kind != "fractions" else {"": ""}
    names = {
        f"{name}:top={k}{border}": f"{ours}{lowest}@{k}"
        for name, ours in BINARY.items()
        for k in CUTOFFS
        for border, lowest in borders.items()
    }
    compare(data, names)


@examples(12)
@given(data=queries(labels=["binary", "grades", "rarely relevant"], scores=FINITE, lengths=NOT_0))
def test_err(data):
    """The labels of the library are probabilities to stop."""
    compare(data, {f"ERR:top={k}": f"err(max_label=4)@{k}" for k in CUTOFFS}, labels=(2.0**data.labels - 1) / 16)
