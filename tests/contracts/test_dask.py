"""What the two libraries report over a Dask cluster: why our metrics are not logged through LightGBM there."""

from __future__ import annotations

import numpy as np
import pytest

import gainsay as gs

lgb = pytest.importorskip("lightgbm")
xgb = pytest.importorskip("xgboost")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dxgb = pytest.importorskip("xgboost.dask")

SIZES = np.full(40, 10)
ROWS = int(SIZES.sum())
QID = np.repeat(np.arange(len(SIZES)), SIZES)
FEATURES = np.random.default_rng(5).normal(size=(ROWS, 3))
NOISE = np.random.default_rng(6).normal(size=ROWS) * np.where(np.arange(ROWS) < 100, 0, 3)
LABELS = np.clip(np.round(FEATURES[:, 0] + NOISE), 0, 4)  # easy queries on the first worker, hard ones on the second


@pytest.fixture(scope="module")
def client(cluster_of):
    with cluster_of(2) as client:
        yield client


def placed(client, values, cuts):
    """A Dask array of two partitions, one on each worker."""
    workers = sorted(client.nthreads())
    arrays = []
    for part, worker in zip(np.split(values, cuts), workers, strict=True):
        (future,) = client.scatter([part], workers=[worker], hash=False)
        arrays.append(da.from_delayed(dask.delayed(future), shape=part.shape, dtype=part.dtype))
    return client.persist(da.concatenate(arrays))


def ndcg(convention, rows, sizes, scores):
    metrics = gs.parse_metrics("ndcg@5", convention=convention)
    (value,) = gs.evaluate(metrics, gs.Judgments(LABELS[rows], group=sizes), scores[rows]).mean.values()
    return value


@pytest.mark.filterwarnings("ignore:Parameter n_jobs will be ignored:UserWarning")
@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated:FutureWarning")
def test_metrics_that_lightgbm_reports_are_those_of_one_worker(client):
    features, labels = (placed(client, values, [100]) for values in (FEATURES, LABELS))
    group = placed(client, SIZES, [10])
    ranker = lgb.DaskLGBMRanker(client=client, n_estimators=1, num_leaves=3, min_child_samples=5, verbose=-1)
    options = {"eval_set": [(features, labels)], "eval_group": [group], "eval_metric": "ndcg", "eval_at": [5]}
    ranker.fit(features, labels, group=group, **options)
    (reported,) = ranker.evals_result_["valid_0"]["ndcg@5"]
    scores = ranker.to_local().predict(FEATURES)
    by_worker = [
        ndcg("lightgbm", slice(0, 100), SIZES[:10], scores),
        ndcg("lightgbm", slice(100, None), SIZES[10:], scores),
    ]
    assert abs(reported - ndcg("lightgbm", slice(None), SIZES, scores)) > 0.05
    assert reported in [pytest.approx(value, rel=1e-12) for value in by_worker]


class TestXGBoost:
    @pytest.fixture(scope="class")
    @staticmethod
    def trained(client):
        def own(predt, data):
            return [("documents", float(data.num_row())), ("one", 1.0)]

        parts = [placed(client, values, [100]) for values in (FEATURES, LABELS, QID)]
        data = dxgb.DaskDMatrix(client, *parts[:2], qid=parts[2])
        params = {"objective": "rank:ndcg", "eval_metric": "ndcg@5", "nthread": 1, "base_score": 0.5}
        return dxgb.train(client, params, data, 1, evals=[(data, "valid")], custom_metric=own)

    def test_builtin_metrics_are_exact(self, trained):
        scores = trained["booster"].predict(xgb.DMatrix(FEATURES))
        expected = ndcg("xgboost", slice(None), SIZES, scores)
        assert trained["history"]["valid"]["ndcg@5"] == [pytest.approx(expected, rel=1e-12)]

    def test_custom_metrics_are_the_unweighted_mean_of_the_workers_values(self, trained):
        assert trained["history"]["valid"]["documents"] == [np.mean([100, 300])]
