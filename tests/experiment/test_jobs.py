"""Trainings side by side in threads of one process: the same files as one after the other, and data binned once."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

from gainsay.data import RankingData, simulate
from gainsay.experiment import Candidate, Experiment, grid, work
from gainsay.experiment.libraries import library_of
from gainsay.experiment.training import Workbench


def contents(directory):
    """Every file, manifests without the seconds that a training took."""
    found = {}
    for path in sorted(directory.rglob("*")):
        if path.is_dir() or path.name == ".lock":
            continue
        content = path.read_bytes()
        if path.name == "manifest.json":
            content = {name: it for name, it in json.loads(content).items() if name not in ("seconds", "sha256")}
        found[str(path.relative_to(directory))] = content
    return found


class TestFiles:
    @pytest.mark.parametrize("jobs", [1, 2, 5])
    def test_are_the_same_for_any_number(self, done, make, tmp_path, facts, jobs):
        result = make(tmp_path / "run").run(progress=False, jobs=jobs)
        assert facts(result) == facts(done.result)
        assert contents(tmp_path / "run") == contents(done.directory)

    @pytest.mark.parametrize("wrong", [0, -1, 1.5, "2"])
    def test_wrong_numbers(self, make, wrong):
        with pytest.raises((ValueError, TypeError), match="jobs must be"):
            make().run(progress=False, jobs=wrong)

    def test_beside_an_executor(self, make):
        with ThreadPoolExecutor(1) as executor, pytest.raises(ValueError, match="jobs=2 is for trainings in this proc"):
            make().run(executor, progress=False, jobs=2)


class TestThreads:
    """How many trainings there are at a time, on a machine of four CPUs."""

    @pytest.mark.parametrize(("jobs", "most"), [(None, {1: 4, 2: 2, 8: 1}), (3, {1: 3, 2: 3, 8: 1})])
    def test_as_many_as_there_are_cpus_for(self, make, monkeypatch, jobs, most):
        counts = {1: 5, 2: 3, 8: 1}
        running, seen, changed, original = [], [], threading.Condition(), work.perform

        def watched(task):
            own = task.unit.candidate.threads
            with changed:
                running.append(own)
                seen.append(tuple(running))
                changed.notify_all()
                changed.wait_for(
                    lambda: len(running) >= most[own] or sum(it[-1] == own for it in seen) == counts[own], timeout=10
                )
            time.sleep(0.05)  # one too many would begin now
            outcome = original(task)
            with changed:
                running.remove(own)
            return outcome

        monkeypatch.setattr(work, "cpus", lambda: 4)
        monkeypatch.setattr(work, "perform", watched)
        many = [
            Candidate(f"{threads} {number}", "lightgbm", {"num_leaves": 3}, threads=threads)
            for threads, count in counts.items()
            for number in range(count)
        ]
        with pytest.warns(UserWarning, match="the same model"):
            experiment = make(candidates=many, num_boost_round=1)
        experiment.run(progress=False, jobs=jobs)
        assert all(len(set(it)) == 1 for it in seen)  # LightGBM has one number of threads for the process
        assert {threads: max(len(it) for it in seen if it[0] == threads) for threads in counts} == most


class TestInterrupt:
    def test_ends_the_others_at_their_next_round(self, done, make, candidates, tmp_path, monkeypatch, facts):
        """One of three is interrupted while the others are in the middle of very long trainings."""
        original, started = work.train_candidate, threading.Barrier(3, timeout=900)

        def training(candidate, *rest):
            started.wait()
            if candidate.name == "stop":
                raise KeyboardInterrupt
            return original(candidate, *rest)

        endless = [Candidate(name, "lightgbm", {"num_leaves": 3}, num_boost_round=10_000_000, seed=number)
                   for number, name in enumerate(["long", "longer"])]  # fmt: skip
        directory = tmp_path / "run"
        make(directory, candidates=candidates[:2]).run(progress=False)
        with pytest.warns(UserWarning, match="the same model"):
            more = make(directory, candidates=[*candidates[:2], *endless, Candidate("stop", "xgboost")])
        with monkeypatch.context() as patch:
            patch.setattr(work, "train_candidate", training)
            with pytest.raises(KeyboardInterrupt) as caught:
                more.run(progress=False, jobs=3)
        assert caught.value.__notes__[0].startswith("3 trainings are left; the others are in")
        assert not list(directory.glob("failures/*"))
        assert facts(make(directory).run(progress=False)) == facts(done.result)


@pytest.fixture(scope="module")
def many_valued():
    """Data of which bins, and features without any split, depend on parameters: one column is all but constant."""
    data = simulate(60, seed=3, mean_length=15, features=6)
    rare = (np.arange(len(data.labels)) % 40 == 0).astype(np.float32)
    features = np.column_stack([data.features, rare])
    return RankingData(features, data.labels, qid=data.qid).split_queries(0.5, 0.25, 0.25, seed=1)


APART = {
    "lightgbm": [
        {"max_bin": 15}, {"min_data_in_bin": 30}, {"min_data_in_leaf": 40}, {"enable_bundle": False},
        {"bin_construct_sample_cnt": 300}, {"bin_construct_sample_cnt": 300, "data_random_seed": 3},
        {"max_bin_by_feature": [3, 255, 255, 255, 255, 255, 255]}, {"linear_tree": True}, {"zero_as_missing": True},
    ],
    "xgboost": [{"max_bin": 16}, {"tree_method": "exact"}, {"tree_method": "approx"}],
}  # fmt: skip
TOGETHER = {
    "lightgbm": [
        {"num_leaves": 4}, {"learning_rate": 0.3}, {"bagging_freq": 1, "bagging_fraction": 0.5}, {"extra_trees": True},
        {"feature_fraction": 0.5}, {"objective": "rank_xendcg"}, {"lambda_l2": 3.0}, {"subsample_freq": 1},
        {"boosting": "goss"},
    ],
    "xgboost": [{"max_depth": 2}, {"eta": 0.1}, {"subsample": 0.5}, {"objective": "rank:pairwise"},
                {"tree_method": "hist"}],
}  # fmt: skip


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
class TestSharedData:
    """Models are those of trainings on data sets of their own, and data are binned as often as they have to be."""

    def run(self, tmp_path, many_valued, candidates, monkeypatch, alone):
        made, module = [], library_of(candidates[0].library)
        with monkeypatch.context() as patch:
            original = module.binned
            patch.setattr(module, "binned", lambda *arguments: made.append(arguments[0].name) or original(*arguments))
            if alone:
                patch.setattr(module, "binning", lambda candidate, documents: {"alone": candidate.name})
            directory = tmp_path / ("alone" if alone else "shared")
            Experiment(candidates, *many_valued, ["ndcg_exp@5", "mrr"], directory, num_boost_round=6, draws=1000).run(
                progress=False, jobs=2
            )
        return made, {path.relative_to(directory): path.read_bytes() for path in directory.rglob("all-rounds.*")}

    def test_models(self, library, tmp_path, many_valued, monkeypatch):
        params = [{}, *TOGETHER[library], *APART[library]]
        candidates = [Candidate(f"{number}", library, dict(it)) for number, it in enumerate(params)]
        binned, shared = self.run(tmp_path, many_valued, candidates, monkeypatch, alone=False)
        each, alone = self.run(tmp_path, many_valued, candidates, monkeypatch, alone=True)
        assert len(shared) == len(alone) == len(candidates) == len(each)
        assert shared == alone
        assert len(binned) == 1 + len(APART[library])

    def test_seeds_of_which_bins_do_not_depend(self, library, tmp_path, many_valued, monkeypatch):
        sampled = {"feature_fraction": 0.5} if library == "lightgbm" else {"subsample": 0.5}
        candidates = grid("a", library, sampled, seed=[1, 2, 3])
        binned, shared = self.run(tmp_path, many_valued, candidates, monkeypatch, alone=False)
        assert len(binned) == 1
        assert len(set(shared.values())) == 3


class TestKeys:
    def test_without_the_filter_leaves_make_no_difference(self):
        """LightGBM leaves out features that no leaf of `min_data_in_leaf` could split, unless told not to."""
        module, params = library_of("lightgbm"), {"feature_pre_filter": False}
        first, second, filtered = (
            module.binning(Candidate("a", "lightgbm", it), 1000)
            for it in ({**params, "min_data_in_leaf": 5}, {**params, "min_child_samples": 9}, {"min_data_in_leaf": 5})
        )
        assert first == second != filtered

    def test_parameters_that_nobody_has_listed_keep_data_apart(self):
        plain, unknown = (
            library_of("lightgbm").binning(Candidate("a", "lightgbm", it), 1000) for it in ({}, {"some_day": 1})
        )
        assert plain != unknown

    @pytest.mark.parametrize("name", ["max_bin", "min_data_in_leaf", "linear_tree", "feature_pre_filter", "max_bins"])
    def test_lightgbms_own_list_of_parameters_of_data_sets(self, name):
        """All that its `Dataset` counts among its parameters keeps data apart."""
        training_only = library_of("lightgbm")._TRAINING_ONLY
        of_data_sets = set(lgb.Dataset(None, params={name: 1}).get_params()) if name != "min_data_in_leaf" else {name}
        assert of_data_sets == {name}
        assert name not in training_only

    def test_xgboost_trains_on_bins_alone(self, many_valued):
        train, valid, _ = many_valued
        data = library_of("xgboost").binned(Candidate("a", "xgboost", threads=1), train, valid)
        assert isinstance(data.train, xgb.QuantileDMatrix)
        exact = library_of("xgboost").binned(
            Candidate("a", "xgboost", {"tree_method": "exact"}, threads=1), train, valid
        )
        assert not isinstance(exact.train, xgb.QuantileDMatrix)

    def test_are_let_go_after_the_last(self, make, parts):
        plan = make().plan
        bench = Workbench(parts._asdict(), units := list(plan.units()))
        held = []
        for unit in bench.ordered(units):
            with bench.binned(unit):
                held.append(len(bench._binned))
            held.append(len(bench._binned))
        assert held == [1, 1, 1, 0, 1, 1, 1, 0]
