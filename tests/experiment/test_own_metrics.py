"""Metrics of the user's own in experiments: losses are minimised, other processes import them, later runs find them."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.experiment import homemade

import gainsay as gs
from gainsay.experiment import Candidate, Experiment
from gainsay.experiment.rounds import Watch, balanced_round, best_rounds, rising
from gainsay.experiment.storage import sealed
from gainsay.experiment.wording import _costs

ROOT = Path(__file__).parents[2]
MODULE = homemade.__name__
OWN = (homemade.Missed(gain="exponential", k=10), homemade.GAP, homemade.SQUARED)
NAMES = ("missed_exp@10", "first_gap", "ndcg_squared@5")


@pytest.fixture(scope="module")
def kept(make, candidates, tmp_path_factory):
    directory = tmp_path_factory.mktemp("own") / "run"
    return make(directory, metrics=OWN, candidates=candidates[1:3]).run(progress=False), directory


@pytest.fixture(scope="module")
def both(make):
    """An experiment under two NDCGs, and the same under what they miss."""
    changes = {"num_boost_round": 30, "early_stopping_rounds": 4}
    gained = ["ndcg_linear@10", "ndcg_exp@2"]  # which choose different rounds with all versions of the libraries
    missed = [homemade.Missed(gain=gain, k=k) for gain, k in (("linear", 10), ("exponential", 2))]
    return [make(metrics=metrics, **changes).run(progress=False) for metrics in (gained, missed)]


class TestLosses:
    """1 - NDCG is chosen by exactly as NDCG is, and costs the same."""

    def test_rounds(self, both):
        """Of each metric alone, of both together, and after which training stops."""
        gained, missed = both
        assert missed.metrics == ("missed_linear@10", "missed_exp@2")
        np.testing.assert_array_equal(missed.best_rounds, gained.best_rounds)
        assert list(missed.compared["rounds"]) == list(gained.compared["rounds"])
        lengths = [result.curves.groupby("candidate")["round"].max() for result in both]
        pd.testing.assert_series_equal(*lengths)
        assert (lengths[0] < 30).any()  # some stopped early

    def test_chosen(self, both):
        gained, missed = both
        for column in ("candidate", "rounds"):
            assert list(missed.chosen[column]) == list(gained.chosen[column])
        numbers = [result.chosen.drop(columns=["candidate", "rounds"]).to_numpy(dtype=float) for result in both]
        np.testing.assert_allclose(numbers[1], 1 - numbers[0], rtol=1e-12)

    @pytest.mark.parametrize("table", ["choice_loss", "stopping_loss"])
    def test_what_is_lost(self, both, table):
        columns = ["loss", "lower", "upper"]
        gained, missed = (getattr(result, table)[columns].to_numpy() for result in both)
        np.testing.assert_allclose(missed, gained, atol=1e-14)
        assert (gained[:, 0] != 0).any()

    def test_words(self, both):
        missed = both[1]
        assert [_costs(missed, "missed_exp@2", loss) for loss in (0.2, -0.00126, 0.00001)] == [
            "adds 0.2000 to",
            "takes 0.0013 off",
            "costs nothing of",
        ]
        lost = [line for line in missed.summary().split("\n") if line.startswith(("Choosing", "Stopping"))]
        assert lost
        assert all(re.search(r"adds 0\.\d{4} to|takes 0\.\d{4} off|costs nothing of", line) for line in lost)

    def test_curves_of_metrics_and_losses_together(self):
        metrics = gs.parse_metrics("mrr", "first_gap")
        curves = np.array([[0.50, 0.20], [0.49, 0.15], [0.40, 0.14]])
        assert best_rounds(rising(curves, metrics)) == [1, 3]
        assert balanced_round(rising(curves, metrics), [0, 1]) == 2

    def test_watch(self):
        """In test_training's terms: the loss improves last in round 4."""
        watch = Watch(gs.Evaluator(["mrr", "first_gap"], gs.Judgments([1, 0], group=[2])), patience=2)
        for number, values in enumerate([(0.5, 0.9), (0.4, 0.8), (0.3, 0.8), (0.3, 0.7), (0.3, 0.7), (0.2, 0.9)], 1):
            assert not watch.exhausted, number
            watch.record(values)
        assert watch.exhausted


class TestEverywhere:
    def test_values_are_those_of_evaluate(self, kept, parts):
        result, _ = kept
        assert result.metrics == NAMES
        for name in result.candidates:
            model = result.load_model(name)
            features = parts.test.features
            if name.startswith("xgb"):
                import xgboost as xgb

                features = xgb.DMatrix(features)
            evaluated = gs.evaluate(OWN, parts.test.judgments(), model.predict(features))
            for metric in NAMES:
                at = result.comparison.models.index(name)
                mean = result.comparison.values[metric][:, at].mean()
                assert mean == pytest.approx(evaluated.mean[metric], rel=1e-12)

    def test_stopped_by_one(self, make, kept):
        result, directory = kept
        again = make(directory, metrics=OWN, candidates=result.plan.candidates, stop_by=homemade.GAP)
        rounds = again.run(progress=False).compared["rounds"]
        assert list(rounds) == [(int(number),) for number in result.best_rounds["first_gap"]]
        make(directory, metrics=OWN, candidates=result.plan.candidates).run(progress=False)

    @pytest.mark.parametrize("kind", ["threads", "processes"])
    def test_executors(self, make, kept, facts, kind):
        result, _ = kept
        context = multiprocessing.get_context("spawn")
        executors = {"threads": lambda: ThreadPoolExecutor(2), "processes": lambda: ProcessPoolExecutor(1, context)}
        with executors[kind]() as executor:
            found = make(metrics=OWN, candidates=result.plan.candidates).run(executor, progress=False)
        assert facts(found) == facts(result)

    def test_a_lambda_does_here(self, make, candidates):
        first = gs.metric("first_label", lambda labels, scores: float(labels[scores.argmax()]))
        result = make(metrics=[first, "mrr"], candidates=candidates[:1]).run(progress=False)
        assert result.metrics == ("first_label", "mrr")


class TestRefusals:
    """What no other process could import is refused before anything is trained."""

    def local(self):
        def inner(labels, scores):
            return 0.0

        return gs.metric("inner", inner)

    def in_main(self):
        def flat(labels, scores):
            return 0.0

        flat.__module__, flat.__qualname__ = "__main__", "flat"
        return gs.metric("flat", flat)

    def by_lambda(self):
        return gs.NDCG(gain=lambda labels: labels, name="by_lambda")

    @pytest.mark.parametrize("kind", ["local", "in_main", "by_lambda"])
    def test_directory(self, make, tmp_path, kind):
        metric = getattr(self, kind)()
        with pytest.raises(ValueError, match=rf"{metric} is made with .*no later run.*top level of a module"):
            make(tmp_path / "run", metrics=[metric, "mrr"])
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize("kind", ["local", "in_main", "by_lambda"])
    def test_processes(self, make, kind):
        metric = getattr(self, kind)()
        said = rf"{metric} is made with .*no other process.*top level of a module"
        with (
            ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor,
            pytest.raises(ValueError, match=said),
        ):
            make(metrics=[metric, "mrr"]).run(executor, progress=False)

    def test_defined_anew(self, make, tmp_path):
        first = gs.metric("anew", homemade.gap)
        gs.metric("anew", homemade.gap, higher_is_better=False)
        with pytest.raises(ValueError, match=r"anew has been defined anew since it was made.*: make the metric again"):
            make(tmp_path / "run", metrics=[first, "mrr"])

    @pytest.mark.parametrize("name", ["balanced", "each"])
    def test_names_that_are_taken(self, make, name):
        with pytest.raises(ValueError, match=f"an experiment calls something else '{name}'"):
            make(metrics=[gs.metric(name, homemade.gap), "mrr"])


def python(*arguments, folder=ROOT):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, cwd=folder)


LATER = f"""
import sys
from gainsay.experiment import Experiment
try:
    Experiment.load(sys.argv[1])
except ValueError as error:
    print(error)
import {MODULE}
print(*Experiment.load(sys.argv[1]).metrics)
"""


class TestLater:
    def test_with_the_module_imported_and_without(self, kept):
        done = python("-c", LATER, str(kept[1]))
        assert done.stdout.splitlines() == [
            f"{kept[1]}: the metric 'missed_exp@10' is not defined now: it was {MODULE}.Missed; "
            f"import {MODULE} first (in a shell: --import {MODULE})",
            " ".join(NAMES),
        ], done.stderr

    def test_on_the_command_line(self, kept, tmp_path):
        page = tmp_path / "page.html"
        command = ["-m", "gainsay", "report", str(kept[1]), "--output", str(page)]
        refused = python(*command)
        assert refused.returncode != 0
        assert f"(in a shell: --import {MODULE})" in " ".join(refused.stderr.split())

    def test_runs_from_a_file_on_the_command_line(self, tmp_path):
        """A module that is not on the path, named as a file."""
        (tmp_path / "mine.py").write_text((Path(homemade.__file__)).read_text())
        (tmp_path / "small.toml").write_text(
            'metrics = ["missed_exp@10", "first_gap"]\nnum_boost_round = 4\n'
            "[data]\nsimulate = {queries = 60, mean_length = 15, seed = 1, split = [0.5, 0.25, 0.25]}\n"
            '[[candidates]]\nname = "a"\nlibrary = "lightgbm"\nparams = {num_leaves = [3, 7]}\n'
        )
        done = python("-m", "gainsay", "run", "small.toml", "--json", "--import", "mine.py", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert '"first_gap"' in done.stdout

    def test_defined_elsewhere(self, make, kept, tmp_path):
        folder = tmp_path / "run"
        folder.mkdir()
        document = json.loads((kept[1] / "experiment.json").read_bytes())
        del document["sha256"]
        assert document["origins"]["ndcg_squared@5"] == [[MODULE, "squared"]]
        document["origins"]["first_gap"] = [["theirs", "gap"]]
        (folder / "experiment.json").write_bytes(sealed(document))
        for attempt in (lambda: Experiment.load(folder), lambda: make(folder, metrics=OWN).run(progress=False)):
            with pytest.raises(ValueError, match=f"'first_gap' was theirs.gap, and is now {MODULE}.gap: import"):
                attempt()

    def test_another_metric_in_its_place(self, make, kept):
        with pytest.raises(ValueError, match="holds another experiment: metrics was"):
            make(kept[1], metrics=["mrr", "map"]).run(progress=False)

    def test_changed_since(self, make, kept, monkeypatch):
        """Values of before and after must not stand in one report: what was kept is evaluated again."""
        result, directory = kept
        monkeypatch.setattr(homemade.Missed, "score", lambda *arguments: 1 - gs.NDCG.score(*arguments) ** 2)
        more = [*result.plan.candidates, Candidate("more", "lightgbm")]
        for attempt in (lambda: Experiment.load(directory), make(directory, metrics=OWN, candidates=more).run):
            with pytest.raises(ValueError, match=r"missed_exp@10 .* query .*: it has changed since.*another directory"):
                attempt()

    @pytest.mark.parametrize("places", [5, [], {"first_gap": 5}, {"first_gap": [[]], "mrr": None}])
    def test_a_damaged_file(self, kept, tmp_path, places):
        document = json.loads((kept[1] / "experiment.json").read_bytes())
        del document["sha256"]
        (tmp_path / "experiment.json").write_bytes(sealed({**document, "origins": places}))
        with pytest.raises(ValueError, match=r"experiment\.json cannot be read|is not defined now|, and is now"):
            Experiment.load(tmp_path)
