"""On a cluster: values over all workers, trainings with XGBoost and LightGBM, and a worker that dies."""

import inspect
import os
import signal
from itertools import pairwise
from pathlib import Path

import dask
import dask.array as da
import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from tests.adapters.drivers import XGB, make_part, xgb_arrays, xgb_matrix
from xgboost import dask as dxgb
from xgboost.tracker import RabitTracker

import gainwise as gw
from gainwise.dask import evaluate, evaluate_rounds
from gainwise.xgboost import EvaluateRanking, custom_metric, early_stopping, full_precision

pytestmark = pytest.mark.slow

PANEL = ["ndcg_linear@10", "ndcg_exp@10", "mrr", "precision(empty=skip)@5"]
TRAIN, DATA = make_part(8, 40), make_part(5, 60)
SCORES = np.round(np.random.default_rng(1).normal(DATA.labels / 3), 1)
QUIET = {"verbose_eval": False}


def ends(shares, part=DATA):
    """Return the query and row numbers at the ends of partitions with these shares of the queries."""
    queries = np.round(np.cumsum([0, *shares]) / sum(shares) * len(part.group)).astype(int)
    return queries, np.concatenate(([0], np.cumsum(part.group)))[queries]


def placed(client, part=DATA, shares=(1, 1), workers=2):
    """Features, labels and qid as Dask arrays with a partition per share, one after the other on the workers."""
    names, (_, rows) = sorted(client.nthreads())[:workers], ends(shares, part)
    collections = []
    for values in (part.features, part.labels, part.qid):
        chunks = []
        for number, (first, last) in enumerate(pairwise(rows)):
            if last > first:
                (future,) = client.scatter([values[first:last]], workers=[names[number % workers]], hash=False)
                shape = (last - first, *values.shape[1:])
                chunks.append(da.from_delayed(dask.delayed(future), shape=shape, dtype=values.dtype))
        collections.append(da.concatenate(chunks))
    return client.persist(collections)


def dmatrix(client, part=DATA, shares=(1, 1), workers=2):
    features, labels, qid = placed(client, part, shares, workers)
    return dxgb.DaskDMatrix(client, features, labels, qid=qid)


def by_query(values, shares=(1, 2, 1)):
    """Values by row in a list with a partition per share."""
    return np.split(values, ends(shares)[1][1:-1])


def expected(booster, rounds, part=DATA):
    scores = booster.predict(xgb.DMatrix(part.features), iteration_range=(0, rounds))
    return gw.evaluate(PANEL, part.judgments, scores).mean


def last_values(history):
    return {name: history[name][-1] for name in PANEL}


class TestEvaluation:
    def test_the_same_sums_and_values_as_in_one_process(self, client):
        parts = [by_query(values) for values in (DATA.labels, SCORES)]
        result = evaluate(PANEL, *parts, qid=by_query(DATA.qid))
        values = result.per_query.compute()
        with dask.config.set(scheduler="synchronous"):
            assert result.sums == evaluate(PANEL, *parts, qid=by_query(DATA.qid)).sums
        np.testing.assert_array_equal(values, gw.evaluate(PANEL, DATA.judgments, SCORES).per_query)

    def test_metrics_of_a_notebook(self, client):
        """Objects of `__main__` are sent by value."""
        names = {"__name__": "__main__", "gw": gw}
        exec(NOTEBOOK, names)
        metrics = [
            gw.metric("missed_in_notebook", names["missed"]),
            gw.NDCG(gain=names["cubed"], k=3),
            names["Lost"](gain="linear", k=2),
        ]
        parts = [by_query(values) for values in (DATA.labels, SCORES)]
        means = evaluate(metrics, *parts, qid=by_query(DATA.qid)).mean
        assert means == pytest.approx(gw.evaluate(metrics, DATA.judgments, SCORES).mean, rel=1e-14)

    @pytest.mark.posix
    def test_a_worker_that_is_killed(self, client, tmp_path):
        marker, shares = tmp_path / "died", (1, 1, 1, 1)
        labels, scores, qid = (by_query(values, shares) for values in (DATA.labels, SCORES, DATA.qid))
        lazy = [*scores[:3], dask.delayed(die_once, pure=False)(scores[3], str(marker))]
        sums = evaluate(PANEL, labels, lazy, qid=qid).sums
        assert marker.exists()
        with dask.config.set(scheduler="synchronous"):
            assert sums == evaluate(PANEL, labels, scores, qid=qid).sums
        client.wait_for_workers(2)


NOTEBOOK = """
def missed(labels, scores):
    return float(labels.max() - labels[scores.argmax()])


def cubed(labels):
    return labels**3


class Lost(gw.NDCG):
    names = {"lost_in_notebook": {"gain": "linear"}}
    higher_is_better = False

    def score(self, rows, facts, cutoffs):
        return 1 - super().score(rows, facts, cutoffs)
"""


def die_once(values, marker):
    """End this worker's process the first time, and return the values after that."""
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return values


def train_on_share(tracker, share):
    """Train on a worker with its own documents, and evaluate with a callback created here."""
    features, labels, qid = share
    curves = {}
    with xgb.collective.CommunicatorContext(**tracker):
        dtrain = xgb.DMatrix(features, label=labels, qid=qid)
        log = EvaluateRanking({"share": dtrain}, PANEL)
        booster = xgb.train(XGB, dtrain, 3, callbacks=[log], evals_result=curves, **QUIET)
    return curves["share"], booster


class TestXGBoost:
    """Distributed trainings log the means over the queries of all workers."""

    @pytest.mark.parametrize("workers", [1, 2])
    @pytest.mark.parametrize("shares", [(1, 1), (7, 2, 1), (0, 1)], ids=["even", "uneven", "one without data"])
    def test_values_and_stop(self, client, workers, shares):
        dtrain, log = dmatrix(client, TRAIN, workers=workers), custom_metric(PANEL)
        evals = [(dtrain, "train"), (dmatrix(client, DATA, shares, workers), "valid")]
        stop = early_stopping("mrr", rounds=4, dataset="valid", verbose=False)
        options = {"evals": evals, "custom_metric": log, "callbacks": [full_precision(log), stop], **QUIET}
        result = dxgb.train(client, XGB, dtrain, 20, **options)
        history, booster = result["history"], result["booster"]
        rounds = len(history["valid"]["mrr"])
        assert last_values(history["valid"]) == pytest.approx(expected(booster, rounds), rel=1e-12)
        assert last_values(history["train"]) == pytest.approx(expected(booster, rounds, TRAIN), rel=1e-12)
        assert booster.best_iteration == int(np.argmax(history["valid"]["mrr"]))
        assert rounds == min(20, booster.best_iteration + 5)

    @pytest.mark.parametrize("workers", [1, 2])
    def test_callbacks_that_workers_make_themselves(self, client, workers):
        tracker = RabitTracker(n_workers=workers, host_ip="127.0.0.1")
        tracker.start()
        rows = ends([1] if workers == 1 else [1, 0])[1]  # the last of several workers has no data
        shares = [tuple(v[a:b] for v in (DATA.features, DATA.labels, DATA.qid)) for a, b in pairwise(rows)]
        names = sorted(client.nthreads())
        jobs = [
            client.submit(train_on_share, tracker.worker_args(), share, workers=[name], pure=False)
            for name, share in zip(names, shares, strict=False)
        ]
        (history, booster), *others = client.gather(jobs)
        assert all(other[0] == history for other in others)
        assert last_values(history) == pytest.approx(expected(booster, 3), rel=1e-12)

    @pytest.mark.parametrize("workers", [1, 2])
    def test_an_error_on_one_worker_ends_the_training_on_all(self, client, workers):
        labels = np.where(np.arange(len(DATA.labels)) == 0, -1, DATA.labels)
        dtrain = dmatrix(client, DATA._replace(labels=labels), workers=workers)
        params = {**XGB, "objective": "reg:squarederror"}
        with pytest.raises(ValueError, match="labels must not"):
            dxgb.train(client, params, dtrain, 3, evals=[(dtrain, "t")], custom_metric=custom_metric("mrr"))

    def test_continued_training_and_rounds_of_its_result(self, client):
        features, labels, qid = placed(client, shares=(1, 2, 3))
        dtrain, log = dxgb.DaskDMatrix(client, features, labels, qid=qid), custom_metric(PANEL)
        result = dxgb.train(client, XGB, dtrain, 15)
        curves = evaluate_rounds(PANEL, result, features, labels, qid=qid)
        scores = evaluate(PANEL, labels, dxgb.predict(client, result, features), qid=qid)
        before = expected(result["booster"], 15)
        assert scores.mean == pytest.approx(dict(zip(PANEL, curves.values[-1], strict=True)), rel=1e-14)
        assert scores.mean == pytest.approx(before, rel=1e-12)
        stop = early_stopping("ndcg_exp@10", rounds=2, verbose=False)
        options = {"evals": [(dtrain, "train")], "custom_metric": log, "callbacks": [full_precision(log), stop]}
        booster = dxgb.train(client, {**XGB, "eta": 30.0}, dtrain, 5, xgb_model=result["booster"], **options, **QUIET)[
            "booster"
        ]
        assert booster.best_iteration == 14
        assert booster.best_score == pytest.approx(before["ndcg_exp@10"], rel=1e-12)


class TestDaskXGBRanker:
    """It accepts callbacks, which are pickled for every worker, but not gainwise's metrics."""

    def fit(self, client, evaluated=False, **options):
        features, labels, qid = placed(client, TRAIN)
        if "allow_group_split" in inspect.signature(dxgb.DaskXGBRanker).parameters:  # since XGBoost 3
            options["allow_group_split"] = True
        ranker = dxgb.DaskXGBRanker(n_estimators=12, max_depth=3, n_jobs=1, **options)
        ranker.client = client
        sets = {"eval_set": [(features, labels)], "eval_qid": [qid]} if evaluated else {}
        return ranker.fit(features, labels, qid=qid, **sets)

    def test_arrays_are_evaluated_on_every_worker(self, client):
        log = EvaluateRanking({"valid": xgb_arrays(DATA)}, PANEL)
        ranker = self.fit(client, callbacks=[log, early_stopping("mrr", 4, save_best=True, verbose=False)])
        booster, history = ranker.get_booster(), ranker.evals_result()["valid"]
        best = int(np.argmax(history["mrr"]))
        assert ranker.best_iteration == best == booster.num_boosted_rounds() - 1
        values = {name: history[name][best] for name in PANEL}
        assert values == pytest.approx(expected(booster, best + 1), rel=1e-12)

    def test_other_forms_are_rejected(self, client):
        with pytest.raises(ValueError, match="EvaluateRanking"):
            self.fit(client, callbacks=[EvaluateRanking({"valid": xgb_matrix(DATA)}, PANEL)])
        with pytest.raises(TypeError, match="EvaluateRanking"):
            self.fit(client, evaluated=True, eval_metric=custom_metric(PANEL))


SIZES = np.full(40, 10)
FEATURES = np.random.default_rng(5).normal(size=(400, 3))
NOISE = np.random.default_rng(6).normal(size=400) * np.where(np.arange(400) < 100, 0, 3)
HARD = make_part(1)._replace(features=FEATURES, labels=np.clip(np.round(FEATURES[:, 0] + NOISE), 0, 4), group=SIZES)
"""Easy queries on the first worker, hard ones on the second."""


@pytest.mark.filterwarnings("ignore:Parameter n_jobs will be ignored:UserWarning")
@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated:FutureWarning")
def test_lightgbm_reports_the_metric_of_one_worker(client):
    """gainwise's metrics are not logged there. Values of the trained model use all workers."""
    features, labels, _ = placed(client, HARD, (1, 3))
    group = client.persist(da.from_array(SIZES, chunks=((10, 30),)))
    ranker = lgb.DaskLGBMRanker(client=client, n_estimators=2, num_leaves=3, min_child_samples=5, verbose=-1)
    sets = {"eval_set": [(features, labels)], "eval_group": [group], "eval_metric": "ndcg", "eval_at": [5]}
    ranker.fit(features, labels, group=group, **sets)
    scores = ranker.to_local().predict(FEATURES)

    def ndcg(rows, queries):
        judgments = gw.Judgments(HARD.labels[rows], group=SIZES[queries])
        return gw.evaluate("ndcg@5", judgments, scores[rows], convention="lightgbm").mean.popitem()[1]

    reported = ranker.evals_result_["valid_0"]["ndcg@5"][-1]
    assert abs(reported - ndcg(slice(None), slice(None))) > 0.05
    workers = ndcg(slice(100), slice(10)), ndcg(slice(100, None), slice(10, None))
    assert reported in [pytest.approx(value, rel=1e-12) for value in workers]
    expected = gw.evaluate(PANEL, HARD.judgments, scores).mean
    curves = evaluate_rounds(PANEL, ranker, features, labels, group=group)
    assert dict(zip(PANEL, curves.values[-1], strict=True)) == pytest.approx(expected, rel=1e-13)
    assert evaluate(PANEL, labels, ranker.predict(features), group=group).mean == pytest.approx(expected, rel=1e-13)
