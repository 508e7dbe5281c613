"""Where the work is done makes no difference; one that fails does not sink the others; a kill loses nothing."""

from __future__ import annotations

import pickle
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

from gainsay.data import RankingData
from gainsay.experiment import Candidate, Experiment, grid

BROKEN = Candidate("broken", "lightgbm", {"objective": "nosuch"})


class Elsewhere(Executor):
    """Does the last task first, and sees what is handed to it only as a process would: pickled."""

    def __init__(self):
        self.sizes = []
        self.tasks = []

    def submit(self, function, /, *arguments, **options):
        self.tasks.append((function, arguments, Future()))
        if len(self.tasks) == 4:
            self.work()
        return self.tasks[-1][2]

    def work(self):
        for function, arguments, future in reversed(self.tasks):
            pickled = pickle.dumps((function, arguments))
            self.sizes.append(len(pickled))
            function, arguments = pickle.loads(pickled)
            future.set_running_or_notify_cancel()
            future.set_result(function(*arguments))


class TestExecutors:
    def test_processes(self, done, make, tmp_path, facts, processes):
        with ProcessPoolExecutor(2, processes) as executor:
            result = make(tmp_path / "run").run(executor, progress=False)
        assert facts(result) == facts(done.result)
        assert not (tmp_path / "run" / ".shared").exists()

    def test_threads(self, done, make, tmp_path, facts):
        with ThreadPoolExecutor(4) as executor:
            result = make(tmp_path / "run").run(executor, progress=False)
        assert facts(result) == facts(done.result)

    def test_any_other(self, done, make, tmp_path, facts):
        executor = Elsewhere()
        assert facts(make(tmp_path / "run").run(executor, progress=False)) == facts(done.result)
        assert max(executor.sizes) < 10_000  # the data go by way of the disk

    def test_any_other_without_a_directory(self, done, make, facts):
        assert facts(make().run(Elsewhere(), progress=False)) == facts(done.result)

    def test_not_an_executor(self, make):
        with pytest.raises(TypeError, match=r"executor must be a concurrent.futures.Executor or None, got int"):
            make().run(3, progress=False)

    def test_a_lost_worker_ends_the_run_and_says_so(self, make, tmp_path):
        class Lost(Elsewhere):
            def work(self):
                for _, _, future in self.tasks:
                    future.set_exception(BrokenProcessPool("a process was terminated abruptly"))

        with pytest.raises(RuntimeError, match="lost a worker process") as caught:
            make(tmp_path / "run").run(Lost(), progress=False)
        assert "4 trainings are left" in caught.value.__notes__[0]


class TestGainsInThreads:
    def test_trainings_on_different_gains_do_not_spoil_each_other(self, tmp_path):
        """LightGBM's table of gains belongs to the process, and is read once per query while a booster is set up."""
        rng = np.random.default_rng(0)
        queries, length = 60_000, 5
        train = RankingData(
            rng.normal(size=(queries * length, 1)),
            rng.integers(0, 5, queries * length),
            group=np.full(queries, length),
        )
        others = [train.take_queries(range(10)), train.take_queries(range(10, 20))]
        many = grid("a", "lightgbm", {"max_bin": 15}, training_gain=["linear", "exponential"], seed=[1, 2, 3, 4])
        with ThreadPoolExecutor(8) as executor:
            runs = [
                Experiment(many, train, *others, "mrr", tmp_path / name, num_boost_round=1).run(where, progress=False)
                for name, where in (("alone", None), ("threads", executor))
            ]
        for name in runs[0].candidates:
            assert len({run.load_model(name).model_to_string() for run in runs}) == 1


class TestFailures:
    def test_are_reported_and_sink_nobody(self, done, make, candidates, tmp_path):
        result = make(tmp_path / "run", candidates=[BROKEN, *candidates]).run(progress=False, jobs=3)
        assert result.candidates == done.result.candidates
        assert list(result.failures) == ["broken"]
        assert "Traceback" in result.failures["broken"]
        assert "nosuch" in result.failures["broken"]
        assert "Not compared: broken (" in result.summary()
        (on_disk,) = (tmp_path / "run" / "failures").iterdir()
        assert on_disk.read_text().strip() in result.failures["broken"]
        assert Experiment.load(tmp_path / "run").failures == result.failures

    @pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
    def test_all(self, make, library):
        broken = Candidate("broken", library, {"objective": "nosuch"})
        with pytest.raises(RuntimeError, match=r"^no candidate is finished: broken: .*nosuch.*$") as caught:
            make(candidates=[broken]).run(progress=False)
        assert list(caught.value.failures) == ["broken"]
        assert "Traceback" in caught.value.failures["broken"]

    def test_is_tried_again_and_forgotten_once_it_succeeds(self, make, tmp_path, monkeypatch):
        only = [Candidate("a", "lightgbm"), Candidate("b", "lightgbm", {"num_leaves": 5})]
        with monkeypatch.context() as patch:
            patch.setattr("gainsay.experiment.lightgbm_training.train", fail_for("a"))
            assert list(make(tmp_path / "run", candidates=only).run(progress=False).failures) == ["a"]
        assert make(tmp_path / "run", candidates=only).run(progress=False).failures == {}
        assert list((tmp_path / "run" / "failures").iterdir()) == []

    def test_on_one_fold_takes_the_candidate_out(self, make, parts, monkeypatch):
        monkeypatch.setattr("gainsay.experiment.lightgbm_training.train", fail_for("a", after=1))
        only = [Candidate("a", "lightgbm"), Candidate("b", "xgboost")]
        result = make(candidates=only, train=None, valid=None, test=None, folds=list(parts)).run(progress=False, jobs=1)
        assert result.candidates == ("b",)
        assert result.failures["a"].startswith("a (fold 2): Traceback")


def fail_for(name, after=0):
    from gainsay.experiment.lightgbm_training import train

    calls = []

    def training(candidate, *rest):
        if candidate.name == name:
            calls.append(name)
            if len(calls) > after:
                raise ArithmeticError("as if it diverged")
        return train(candidate, *rest)

    return training


class TestInterrupt:
    @pytest.mark.parametrize("threads", [False, True])
    def test_says_how_to_go_on_and_leaves_a_usable_directory(self, done, make, tmp_path, monkeypatch, facts, threads):
        from gainsay.experiment import work

        original = work.train_candidate
        seen = []

        def interrupted(candidate, *rest):
            seen.append(candidate)
            if len(seen) == 3:
                raise KeyboardInterrupt
            return original(candidate, *rest)

        with monkeypatch.context() as patch, ThreadPoolExecutor(1) as executor:
            patch.setattr(work, "train_candidate", interrupted)
            with pytest.raises(KeyboardInterrupt) as caught:
                make(tmp_path / "run").run(executor if threads else None, False, jobs=None if threads else 1)
        left = ["2 trainings are", *(["1 training is"] if threads else [])]  # a thread may have begun the last one
        directory = tmp_path / "run"
        assert caught.value.__notes__ in [
            [f"{some} left; the others are in {directory}. Run the same again to go on."] for some in left
        ]
        assert len(Experiment.load(tmp_path / "run").candidates) >= 2
        assert facts(make(tmp_path / "run").run(progress=False)) == facts(done.result)
