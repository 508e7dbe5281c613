"""Custom metrics in experiments: losses are minimized, other processes import them, later runs find them."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests import custom_metrics
from tests.experiment.helpers import facts, run

import gainwise as gw
from gainwise.experiment import Candidate, Experiment

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MODULE = custom_metrics.__name__
CUSTOM = (custom_metrics.Missed(gain="exponential", k=10), custom_metrics.GAP, custom_metrics.SQUARED)
NAMES = ("missed_exp@10", "first_gap", "ndcg_squared@5")


@pytest.fixture(scope="module")
def kept(make_done, candidates):
    return make_done(metrics=CUSTOM, candidates=candidates[1:3])


@pytest.fixture
def copied(kept, make, tmp_path):
    """A function that makes the experiment again in a copy of its directory."""
    directory = shutil.copytree(kept.directory, tmp_path / "copy")
    arguments = {"metrics": CUSTOM, "candidates": kept.result.plan.candidates}
    return lambda **changes: make(directory, **{**arguments, **changes})


@pytest.fixture(scope="module")
def both(make):
    """The same experiment with NDCG and with 1 - NDCG."""
    changes = {"num_boost_round": 30, "early_stopping_rounds": 4}
    gained = ["ndcg_linear@10", "ndcg_exp@2"]  # They choose different rounds with all versions of the libraries.
    missed = [custom_metrics.Missed(gain=gain, k=k) for gain, k in (("linear", 10), ("exponential", 2))]
    return [run(make(metrics=metrics, **changes)) for metrics in (gained, missed)]


class TestLosses:
    """1 - NDCG chooses exactly as NDCG does."""

    def test_rounds_and_choices(self, both):
        gained, missed = both
        assert missed.metrics == ("missed_linear@10", "missed_exp@2")
        np.testing.assert_array_equal(missed.best_rounds, gained.best_rounds)
        assert list(missed.compared["rounds"]) == list(gained.compared["rounds"])
        lengths = [result.curves.groupby("candidate")["round"].max() for result in both]
        pd.testing.assert_series_equal(*lengths)
        assert (lengths[0] < 30).any()  # Some stopped early.
        assert missed.selected == gained.selected
        columns = [[f"valid {metric}" for metric in result.metrics] for result in both]
        np.testing.assert_allclose(missed.compared[columns[1]], 1 - gained.compared[columns[0]].to_numpy(), rtol=1e-12)


class TestExecutors:
    def test_stopped_by_a_custom_metric(self, kept, copied):
        rounds = run(copied(stop_by=custom_metrics.GAP)).compared["rounds"]
        assert list(rounds) == [(int(number),) for number in kept.result.best_rounds["first_gap"]]

    def test_other_processes_give_the_same_result(self, make, kept, processes):
        with ProcessPoolExecutor(1, processes) as executor:
            result = run(make(metrics=CUSTOM, candidates=kept.result.plan.candidates), executor)
        assert facts(result) == facts(kept.result)


def python(*arguments, folder=ROOT):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, cwd=folder)


LATER = f"""
import sys
from gainwise.experiment import Experiment
try:
    Experiment.load(sys.argv[1])
except ValueError as error:
    print(error)
import {MODULE}
print(*Experiment.load(sys.argv[1]).metrics)
"""


class TestLaterRuns:
    def test_need_the_module(self, kept):
        done = python("-c", LATER, str(kept.directory))
        error, names = done.stdout.splitlines()
        assert all(text in error for text in (str(kept.directory), "'missed_exp@10'", f"--import {MODULE}"))
        assert names == " ".join(NAMES)

    def test_reject_a_metric_that_changed(self, kept, copied, monkeypatch):
        """Values of before and after must not appear in one report: stored scores are evaluated again."""
        monkeypatch.setattr(custom_metrics.Missed, "score", lambda *given: 1 - gw.NDCG.score(*given) ** 2)
        more = copied(candidates=[*kept.result.plan.candidates, Candidate("more", "lightgbm")])
        for attempt in (lambda: Experiment.load(kept.directory), lambda: run(more)):
            with pytest.raises(ValueError, match="changed since") as caught:
                attempt()
            assert "missed_exp@10" in str(caught.value)
