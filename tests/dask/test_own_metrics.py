"""Metrics of the user's own over a cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest

import gainsay as gs
from gainsay.data import simulate

dask = pytest.importorskip("dask")

import dask.array as da  # noqa: E402

from gainsay import dask as over_cluster  # noqa: E402


def top_label_missed(labels, scores):
    """Whether the first document is not one of the best."""
    return float(labels[scores.argmax()] < labels.max())


def cubed(labels):
    return labels**3


MISSED = gs.metric("top_label_missed", top_label_missed, higher_is_better=False)
METRICS = [MISSED, gs.NDCG(gain=cubed, discount=(1, 0.5, 0.25), k=3), "mrr"]


@pytest.fixture(scope="module")
def data():
    return simulate(40, seed=4, mean_length=15)


@pytest.fixture(scope="module")
def scores(data):
    return np.random.default_rng(0).normal(size=len(data.labels))


def chunked(data, *columns):
    ends = np.cumsum(data.group)[[9, 24]].tolist()
    rows = ((ends[0], ends[1] - ends[0], len(data.labels) - ends[1]),)
    return [da.from_array(column, chunks=rows) for column in columns]


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_means_are_those_of_all_data(data, scores, scheduler):
    labels, predicted, qid = chunked(data, data.labels, scores, data.qid)
    with dask.config.set(scheduler=scheduler):
        found = over_cluster.evaluate(METRICS, labels, predicted, qid=qid)
        per_query = found.per_query.compute()
    expected = gs.evaluate(METRICS, data.judgments(), scores)
    assert found.mean == pytest.approx(expected.mean, rel=1e-14)
    np.testing.assert_array_equal(per_query, expected.per_query)


def test_best_round_of_a_loss_is_the_lowest(data):
    booster = lgb.train(
        {"objective": "lambdarank", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5},
        lgb.Dataset(data.features, data.labels, group=data.group), num_boost_round=12,
    )  # fmt: skip
    curves = over_cluster.evaluate_rounds(METRICS, booster, [data.features], [data.labels], group=[data.group])
    values = curves.values[:, 0]
    assert values.min() < values.max()
    assert curves.best(MISSED) == curves.best("top_label_missed") == (int(values.argmin()) + 1, values.min())
    assert curves.best("mrr") == (int(curves.values[:, 2].argmax()) + 1, curves.values[:, 2].max())


def test_an_error_says_partition_and_query(data, scores):
    metric = gs.metric("fails_on_20", lambda labels, scores: 1 / (len(labels) - int(data.group[20])))
    labels, predicted, qid = chunked(data, data.labels, scores, data.qid)
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(ValueError, match=r"in partition \d: .* failed on query .*ZeroDivision"),
    ):
        over_cluster.evaluate(metric, labels, predicted, qid=qid)


NOTEBOOK = """
import logging

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import gainsay as gs
from gainsay import dask as over_cluster


def missed(labels, scores):
    return float(labels.max() - labels[scores.argmax()])


def cubed(labels):
    return labels**3


class Lost(gs.NDCG):
    names = {"lost": {}}
    higher_is_better = False

    def score(self, rows, facts, cutoffs):
        return 1 - super().score(rows, facts, cutoffs)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    labels, scores, qid = rng.integers(0, 4, 60), rng.normal(size=60), np.repeat(np.arange(12), 5)
    arrays = [da.from_array(column, chunks=((20, 30, 10),)) for column in (labels, scores, qid)]
    metrics = [gs.metric("missed", missed), gs.NDCG(gain=cubed, k=3), Lost(gain="linear", k=2)]
    of_lambda = gs.metric("of_lambda", lambda labels, scores: 1.0)
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        found = over_cluster.evaluate(metrics, *arrays[:2], qid=arrays[2])
        expected = gs.evaluate(metrics, gs.Judgments(labels, qid=qid), scores).mean
        assert all(abs(found.mean[name] - value) < 1e-14 for name, value in expected.items())
        logging.disable()
        try:
            over_cluster.evaluate(of_lambda, *arrays[:2], qid=arrays[2])
        except Exception as error:
            print(type(error).__name__, error)
"""


def test_what_a_script_defines_travels_to_workers_and_a_lambda_does_not(tmp_path):
    """As from a notebook: what stands in __main__ is sent by value."""
    (tmp_path / "notebook.py").write_text(NOTEBOOK)
    source = str(Path(gs.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "notebook.py"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": source},
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "UnpicklableError of_lambda cannot be pickled: its function, __main__.<lambda>, is not"
    )


def test_a_lambda_cannot_be_sent_to_other_processes(data, scores):
    metric = gs.metric("sent", lambda labels, scores: 1.0)
    labels, predicted, qid = chunked(data, data.labels, scores, data.qid)
    with dask.config.set(scheduler="threads"):
        assert over_cluster.evaluate(metric, labels, predicted, qid=qid).mean == {"sent": 1.0}
    with (
        dask.config.set(scheduler="processes"),
        pytest.raises(TypeError, match=r"sent cannot be pickled: .*Define it with def"),
    ):
        over_cluster.evaluate(metric, labels, predicted, qid=qid)
