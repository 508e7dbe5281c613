"""One metric for many threads and processes, and trainings side by side: values right, and nothing waits for ever.

The oracles are scikit-learn, query by query, and the definitions in plain Python. What could wait for ever runs in a
process of its own with a limit.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context

import dask
import joblib
import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn.metrics import ndcg_score

import gainsay as gs
from gainsay.data import simulate
from gainsay.evaluation import blocks, plan
from gainsay.lightgbm import feval
from gainsay.xgboost import EvaluateRanking, custom_metric

NAMES = ["ndcg_linear@10", "ndcg_exp@10"]
LIMIT = 600
"""Seconds after which what hangs fails; machines that are busy take long."""
SCORES = 24


def by_scikit_learn(labels, scores, sizes):
    """Return the means of both NDCGs at 10; queries without a relevant document or of one document count 0 and 1."""
    sizes = np.asarray(sizes)
    starts = np.cumsum(sizes) - sizes
    sums = np.zeros(2)
    for size in np.unique(sizes):  # all queries of one size in one call, which costs little more than one query
        rows = starts[sizes == size][:, None] + np.arange(size)
        rows = rows[labels[rows].any(axis=1)]
        if size == 1 or len(rows) == 0:
            sums += len(rows)
        else:
            sums += [len(rows) * ndcg_score(gain[rows], scores[rows], k=10) for gain in (labels, 2.0**labels - 1)]
    return sums / len(sizes)


@pytest.fixture(scope="module")
def task():
    """Labels, group sizes, many score arrays, and the right values of each."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 30, 120)
    labels = rng.integers(0, 5, sizes.sum()).astype(float)
    scores = [rng.integers(0, 9, len(labels)).astype(float) for _ in range(SCORES)]
    return labels, sizes, scores, [by_scikit_learn(labels, one, sizes) for one in scores]


@pytest.fixture
def evaluator(task):
    labels, sizes, _, _ = task
    return gs.Evaluator(NAMES, gs.Judgments(labels, group=sizes), n_jobs=2)


@pytest.fixture
def many_threads(monkeypatch):
    """Have even small data evaluated by several threads of ours."""
    monkeypatch.setattr(blocks, "DOCUMENTS_PER_THREAD", 10)
    monkeypatch.setattr(plan, "COMPILED_PER_THREAD", 10)


def means(evaluator, scores):
    return list(evaluator(scores).mean.values())


class TestThreads:
    def test_one_evaluator(self, task, evaluator, many_threads):
        *_, scores, expected = task
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda one: means(evaluator, one), scores * 5))
        np.testing.assert_allclose(found, expected * 5, rtol=1e-12)

    def test_one_metric_for_many_judgments(self, task):
        """Threads that bind and evaluate for the first time, all at once."""
        labels, sizes, scores, expected = task
        metrics = gs.parse_metrics(NAMES)

        def work(one):
            return list(gs.evaluate(metrics, gs.Judgments(labels, group=sizes), one).mean.values())

        with ThreadPoolExecutor(8) as pool:
            np.testing.assert_allclose(list(pool.map(work, scores)), expected, rtol=1e-12)

    @pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
    def test_dask(self, task, evaluator, scheduler):
        *_, scores, expected = task
        found = dask.compute(*(dask.delayed(means)(evaluator, one) for one in scores), scheduler=scheduler)
        np.testing.assert_allclose(found, expected, rtol=1e-12)

    @pytest.mark.parametrize("backend", ["threading", "loky"])
    def test_joblib(self, task, evaluator, backend):
        *_, scores, expected = task
        with joblib.parallel_config(backend=backend, n_jobs=2):
            found = joblib.Parallel()(joblib.delayed(evaluator)(one) for one in scores)
        np.testing.assert_allclose([list(result.mean.values()) for result in found], expected, rtol=1e-12)

    def test_one_feval_for_many_data_sets(self, task):
        """Each thread has its own Dataset; the function keeps them apart."""
        labels, sizes, scores, expected = task
        ours = feval(NAMES)

        def work(one):
            data = lgb.Dataset(np.zeros((len(labels), 1)), labels, group=sizes, params={"verbose": -1}).construct()
            return [[value for _, value, _ in ours(buffer, data)] for buffer in (one, -one, one)]

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(work, scores))
        np.testing.assert_allclose([rounds[0] for rounds in found], expected, rtol=1e-12)
        np.testing.assert_allclose([rounds[2] for rounds in found], expected, rtol=1e-12)
        reversed_ = [by_scikit_learn(labels, -one, sizes) for one in scores[:3]]
        np.testing.assert_allclose([rounds[1] for rounds in found[:3]], reversed_, rtol=1e-12)

    def test_one_custom_metric_for_many_matrices(self, task):
        labels, sizes, scores, expected = task
        ours = custom_metric(NAMES)

        def work(one):
            matrix = xgb.DMatrix(np.zeros((len(labels), 1)), label=labels, nthread=1)
            matrix.set_group(sizes)
            return [value for _, value in ours(one, matrix)]

        with ThreadPoolExecutor(8) as pool:
            np.testing.assert_allclose(list(pool.map(work, scores)), expected, rtol=1e-12)


@pytest.mark.slow
class TestProcesses:
    def test_spawned(self, task):
        """What a process runs is ours alone: this module would have it import every library that is tested here."""
        labels, sizes, scores, expected = task
        judgments = gs.Judgments(labels, group=sizes)
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
            found = list(pool.map(partial(gs.evaluate, NAMES, judgments), scores[:6]))
        np.testing.assert_allclose([list(result.mean.values()) for result in found], expected[:6], rtol=1e-12)

    @pytest.mark.posix
    @pytest.mark.parametrize("how", ["while", "after"])
    def test_forked(self, how):
        """A fork after threads of ours have worked, and one while they do."""
        assert run_alone(FORKED, how) == "right"

    @pytest.mark.posix
    def test_forked_pools(self):
        assert run_alone(FORKED_POOLS) == "right"


def run_alone(program, *arguments):
    """Run a program in a process of its own, on data of which it is told the right value; return what it prints."""
    names = {}
    exec(DATA, names)
    expected = ndcg_score(names["labels"], names["scores"], k=10)
    arguments = ["-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(program), repr(float(expected)), *arguments]
    ended = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True, text=True, timeout=LIMIT, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


DATA = """
import numpy as np

rng = np.random.default_rng(0)
labels = rng.integers(0, 4, (300, 12))
labels[:, 0] = 3
scores = rng.normal(size=labels.shape)
"""

COMMON = (
    DATA
    + """
import os, sys, threading
import gainsay as gs
from gainsay.evaluation import blocks, plan

blocks.DOCUMENTS_PER_THREAD = plan.COMPILED_PER_THREAD = 10  # so that even small data are evaluated by several threads
expected = float(sys.argv[1])
evaluator = gs.Evaluator("ndcg_linear@10", gs.Judgments(labels.ravel(), group=[12] * 300), n_jobs=4)

def right():
    return abs(evaluator(scores.ravel()).mean["ndcg_linear@10"] - expected) < 1e-12
"""
)

FORKED = (
    COMMON
    + """
assert right()
end = threading.Event()

def keep_on():
    while not end.is_set():
        assert right()

others = [threading.Thread(target=keep_on, daemon=True) for _ in range(3 if sys.argv[2] == "while" else 0)]
for thread in others:
    thread.start()
for _ in range(40):
    child = os.fork()
    if child == 0:
        os._exit(0 if all(right() for _ in range(3)) else 1)
    assert os.waitpid(child, 0)[1] == 0
end.set()
for thread in others:
    thread.join()
print("right" if right() else "wrong")
"""
)

FORKED_POOLS = (
    COMMON
    + """
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import Pool, get_context

def work(n):
    return right()

assert right()
with get_context("fork").Pool(2) as pool:
    assert all(pool.map(work, range(20)))
with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
    assert all(pool.map(work, range(20)))
print("right")
"""
)


@pytest.fixture(scope="module")
def parts():
    return simulate(80, seed=4, mean_length=15).split_queries(0.6, 0.4, seed=4)


class TestTrainings:
    """Two at once with different gains to train on; each logs both NDCGs of its own model."""

    ROUNDS = 15

    def check(self, part, curves, predict):
        sizes = np.asarray(part.group)
        for number in (1, self.ROUNDS // 2, self.ROUNDS):
            expected = by_scikit_learn(part.labels.astype(float), np.asarray(predict(number), dtype=float), sizes)
            found = [curves[name][number - 1] for name in curves]
            np.testing.assert_allclose(found, expected, rtol=1e-12)

    def side_by_side(self, train):
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(train, ["linear", "exponential"]))

    def test_lightgbm(self, parts):
        """LightGBM's gains belong to the process; what the boosters are trained on is up to it, ours is not."""
        valid = parts[1]
        ours = feval(NAMES)

        def train(gain):
            sets = [lgb.Dataset(part.features, part.labels, group=part.group) for part in parts]
            params = {
                "objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5,
                "label_gain": list(range(5)) if gain == "linear" else [2**label - 1 for label in range(5)],
            }  # fmt: skip
            curves = {}
            booster = lgb.train(
                params, sets[0], self.ROUNDS, valid_sets=[sets[1]], feval=ours,
                callbacks=[lgb.record_evaluation(curves)],
            )  # fmt: skip
            return booster, curves["valid_0"]

        for booster, curves in self.side_by_side(train):
            assert list(curves) == NAMES
            self.check(valid, curves, lambda n, booster=booster: booster.predict(valid.features, num_iteration=n))

    @pytest.mark.parametrize("form", ["custom_metric", "EvaluateRanking"])
    def test_xgboost(self, parts, form):
        shared = custom_metric(NAMES)
        valid = parts[1]

        def train(gain):
            dtrain, dvalid = (xgb.DMatrix(part.features, label=part.labels, qid=part.qid, nthread=1) for part in parts)
            params = {
                "objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1,
                "ndcg_exp_gain": gain == "exponential",
            }  # fmt: skip
            curves = {}
            options = {"evals": [(dvalid, "valid")], "custom_metric": shared}
            if form == "EvaluateRanking":
                options = {"callbacks": [EvaluateRanking({"valid": dvalid}, NAMES)]}
            booster = xgb.train(params, dtrain, self.ROUNDS, evals_result=curves, verbose_eval=False, **options)
            return booster, curves["valid"]

        for booster, curves in self.side_by_side(train):
            assert list(curves) == NAMES
            rows = xgb.DMatrix(valid.features)
            if form == "custom_metric":  # XGBoost keeps six digits
                for number in (1, self.ROUNDS):
                    scores = booster.predict(rows, iteration_range=(0, number)).astype(float)
                    expected = by_scikit_learn(valid.labels.astype(float), scores, valid.group)
                    np.testing.assert_allclose([curves[name][number - 1] for name in NAMES], expected, atol=5.1e-7)
                continue
            self.check(
                valid,
                curves,
                lambda n, booster=booster, rows=rows: booster.predict(rows, iteration_range=(0, n)).astype(float),
            )

    def test_long_runs_in_small(self, parts):
        """A long run in small: nothing is lost or logged twice over 300 rounds, and it stays right."""
        rounds, valid = 300, parts[1]
        sets = [lgb.Dataset(part.features, part.labels, group=part.group) for part in parts]
        params = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1, "num_leaves": 3}
        curves, logged = {}, {}
        booster = lgb.train(
            params, sets[0], rounds, valid_sets=[sets[1]], feval=feval(NAMES),
            callbacks=[lgb.record_evaluation(curves)],
        )  # fmt: skip
        dtrain, dvalid = (xgb.DMatrix(part.features, label=part.labels, qid=part.qid, nthread=1) for part in parts)
        params = {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1, "max_depth": 1}
        model = xgb.train(
            params, dtrain, rounds, evals_result=logged, verbose_eval=False,
            callbacks=[EvaluateRanking({"valid": dvalid}, NAMES)],
        )  # fmt: skip
        predictions = {
            "lightgbm": (curves["valid_0"], lambda n: booster.predict(valid.features, num_iteration=n)),
            "xgboost": (logged["valid"], lambda n: model.predict(dvalid, iteration_range=(0, n)).astype(float)),
        }
        for curve, predict in predictions.values():
            assert {name: len(values) for name, values in curve.items()} == dict.fromkeys(NAMES, rounds)
            for number in (1, 150, 299, 300):
                expected = by_scikit_learn(valid.labels.astype(float), predict(number), valid.group)
                np.testing.assert_allclose([curve[name][number - 1] for name in NAMES], expected, rtol=1e-12)
