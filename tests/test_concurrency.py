"""One metric for many threads and processes, and trainings at the same time.

The oracle is scikit-learn, query by query. Code that could wait forever runs in a separate process with a time limit.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.metrics import ndcg_score
from tests.adapters.drivers import LightGBMTrain, XGBoostFullPrecision, make_part

pytestmark = pytest.mark.slow

NAMES = ["ndcg_linear@10", "ndcg_exp@10"]
LIMIT = 600
"""Seconds after which a process that hangs fails. A busy machine takes long."""


def by_scikit_learn(labels, scores, sizes):
    """Return the means of both NDCGs at 10. Queries without a relevant document are 0, those of one document 1."""
    sizes = np.asarray(sizes)
    starts = np.cumsum(sizes) - sizes
    sums = np.zeros(2)
    for size in np.unique(sizes):  # One call for all queries of one size takes little more time than one query.
        rows = starts[sizes == size][:, None] + np.arange(size)
        rows = rows[labels[rows].any(axis=1)]
        if size == 1 or len(rows) == 0:
            sums += len(rows)
        else:
            sums += [len(rows) * ndcg_score(gain[rows], scores[rows], k=10) for gain in (labels, 2.0**labels - 1)]
    return sums / len(sizes)


class TestProcesses:
    @pytest.mark.posix
    @pytest.mark.parametrize("how", ["while", "pools"])
    def test_forked(self, how):
        """A fork while threads of gainwise work, and pools of forked processes."""
        names = {}
        exec(DATA, names)
        expected = float(ndcg_score(names["labels"], names["scores"], k=10))
        ended = subprocess.run(
            [sys.executable, "-W", "ignore::DeprecationWarning", "-c", DATA + FORKED, repr(expected), how],
            capture_output=True, text=True, timeout=LIMIT, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout == "right\n"


DATA = """
import numpy as np

rng = np.random.default_rng(0)
labels = rng.integers(0, 4, (300, 12))
labels[:, 0] = 3
scores = rng.normal(size=labels.shape)
"""

FORKED = """
import os, sys, threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
import gainwise as gw
from gainwise.evaluation import groups

groups.DOCUMENTS_PER_THREAD = groups.COMPILED_PER_THREAD = 10  # Even small data then use several threads.
expected = float(sys.argv[1])
evaluator = gw.Evaluator("ndcg_linear@10", gw.Judgments(labels.ravel(), group=[12] * 300), n_jobs=4)
end = threading.Event()

def right(n=0):
    return abs(evaluator(scores.ravel()).mean["ndcg_linear@10"] - expected) < 1e-12

def keep_on():
    while not end.is_set():
        assert right()

assert right()
if sys.argv[2] == "pools":
    with get_context("fork").Pool(2) as pool:
        assert all(pool.map(right, range(20)))
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
        assert all(pool.map(right, range(20)))
else:
    others = [threading.Thread(target=keep_on, daemon=True) for _ in range(3)]
    for thread in others:
        thread.start()
    for _ in range(20):
        child = os.fork()
        if child == 0:
            os._exit(0 if all(right() for _ in range(3)) else 1)
        assert os.waitpid(child, 0)[1] == 0
    end.set()
    for thread in others:
        thread.join()
print("right" if right() else "wrong")
"""


class TestTrainings:
    """Concurrent trainings with different gains log both NDCGs of their own model."""

    TRAIN, VALID = make_part(1, 50), make_part(6)
    GAINS = {
        "lightgbm": [{"label_gain": [0, 1, 2, 3, 4]}, {"label_gain": [0, 1, 3, 7, 15]}],
        "xgboost": [{"ndcg_exp_gain": False}, {"ndcg_exp_gain": True}],
    }

    @pytest.mark.parametrize("driver", [LightGBMTrain(), XGBoostFullPrecision()])
    def test_with_different_gains(self, driver):
        def train(params):
            return driver.train(self.TRAIN, {"valid": self.VALID}, NAMES, 15, params=params)

        with ThreadPoolExecutor(2) as pool:
            runs = list(pool.map(train, self.GAINS["lightgbm" if isinstance(driver, LightGBMTrain) else "xgboost"]))
        for run in runs:
            curves = run.curves["valid"]
            assert {name: len(curve) for name, curve in curves.items()} == dict.fromkeys(NAMES, 15)
            for number in (1, 15):
                scores = driver.predict(run.model, self.VALID.features, number).astype(float)
                expected = by_scikit_learn(self.VALID.labels.astype(float), scores, self.VALID.group)
                np.testing.assert_allclose([curves[name][number - 1] for name in NAMES], expected, rtol=1e-12)
