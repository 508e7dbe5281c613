"""ranx against `convention="ranx"`, on random queries. It sorts unstably, so only scores without ties compare."""

import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from tests.differential.random_queries import examples, queries

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # warnings of its dependencies
    ranx = pytest.importorskip("ranx", reason="ranx has a convention to compare with")

CUTOFFS = (1, 2, 3, 5, 10, 31, 100, 5000)
NAMES = {
    "ndcg": "ndcg_linear", "ndcg_burges": "ndcg_exp", "map": "map", "mrr": "mrr", "precision": "precision",
    "recall": "recall", "hit_rate": "hit",
}  # fmt: skip
lengths = st.one_of(st.integers(1, 12), st.integers(1, 60), st.sampled_from([127, 128, 129, 1000]))


@pytest.mark.filterwarnings("ignore::Warning")
@examples(40)
@given(
    data=queries(
        labels=["binary", "grades", "rarely relevant", "to 30"], scores=["distinct"], lengths=lengths,
        dtypes=["float64"], weighted=[False], no_empty=[True],
    )
)  # fmt: skip
def test_each_query(data):
    names = {f"{theirs}@{k}": f"{ours}@{k}" for theirs, ours in NAMES.items() for k in CUTOFFS}
    names["r-precision"] = "rprec"
    found = data.evaluate(list(names.values()), convention="ranx").per_query
    ids = [[f"d{row:04}" for row in range(size)] for size in data.sizes]
    columns = list(zip(ids, data.arrays(), strict=True))
    qrels = {
        f"q{at:03}": dict(zip(names, map(int, labels), strict=True)) for at, (names, (labels, _)) in enumerate(columns)
    }
    run = {
        f"q{at:03}": dict(zip(names, map(float, scores), strict=True))
        for at, (names, (_, scores)) in enumerate(columns)
    }
    values = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), list(names), return_mean=False)
    np.testing.assert_allclose(found.T, [values[name] for name in names], rtol=1e-12, atol=1e-16)
