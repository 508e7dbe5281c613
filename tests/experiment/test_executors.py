"""Threads, processes, clusters and any other executor give the same files and results, and failures stay separate."""

import contextlib
import os
import signal
import threading
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np
import pytest
from tests.experiment.helpers import ByPickle, contents, facts, run

from gainwise.data import RankingData, simulate
from gainwise.experiment import Candidate, Experiment, execution, grid
from gainwise.experiment.storage import Storage
from gainwise.experiment.trainers import get_trainer

pytestmark = pytest.mark.slow

BROKEN = Candidate("broken", "lightgbm", {"objective": "nosuch"})


class TestSameFiles:
    @pytest.mark.parametrize("jobs", [1, 5])
    def test_for_any_number_of_jobs(self, done, make, tmp_path, jobs):
        assert facts(run(make(tmp_path / "run"), jobs=jobs)) == facts(done.result)
        assert contents(tmp_path / "run") == contents(done.directory)

    @pytest.mark.parametrize("kind", ["threads", "processes", "pickled"])
    def test_in_any_executor(self, done, make, tmp_path, processes, kind):
        pools = {
            "threads": lambda: ThreadPoolExecutor(4),
            "processes": lambda: ProcessPoolExecutor(2, processes),
            "pickled": ByPickle,
        }
        with pools[kind]() as executor:
            assert facts(run(make(tmp_path / "run"), executor)) == facts(done.result)
        assert contents(tmp_path / "run") == contents(done.directory)
        if kind == "pickled":
            assert max(executor.sizes) < 10_000  # The data are passed on disk.
            assert facts(run(make(), ByPickle())) == facts(done.result)

    def test_lost_worker_ends_the_run(self, make, tmp_path):
        class Lost(ByPickle):
            def submit(self, function, /, *arguments, **options):
                return super().submit(lose)

        for directory in (None, tmp_path / "run"):
            with pytest.raises(BrokenProcessPool) as caught:
                run(make(directory), Lost())
            notes = getattr(caught.value, "__notes__", [])
            assert [note.split()[0] for note in notes] == (["4"] if directory else [])


def lose():
    raise BrokenProcessPool("a process was terminated abruptly")


class Through(Executor):
    """Passes tasks to another executor through a function."""

    def __init__(self, executor, function, *arguments):
        self.executor, self.through = executor, (function, *arguments)

    def submit(self, function, /, *arguments, **options):
        return self.executor.submit(*self.through, function, *arguments, **options)


def die(death, perform, *task):
    """Train a unit. If the file `death` does not exist yet, end the process just before the result is saved."""
    with contextlib.suppress(FileExistsError):
        Path(death).touch(exist_ok=False)
        Storage.save = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    return perform(*task)


def note_process(folder, perform, *task):
    outcome = perform(*task)
    (Path(folder) / f"{os.getpid()}.pid").touch()
    return outcome


@pytest.mark.posix
def test_dask_cluster_and_a_worker_that_dies(done, make, tmp_path, cluster_of):
    """A task may lose one worker."""
    pytest.importorskip("distributed")
    with cluster_of(2, **{"distributed.scheduler.allowed-failures": 1}) as client, client.get_executor() as executor:
        pids = set(client.run(os.getpid).values())
        result = run(make(tmp_path / "run"), Through(executor, note_process, str(tmp_path)))
        assert facts(result) == facts(done.result)
        assert {int(path.stem) for path in tmp_path.glob("*.pid")} == pids
        assert len(pids) == 2
        assert contents(tmp_path / "run") == contents(done.directory)
        death = tmp_path / "death"
        assert facts(run(make(tmp_path / "one"), Through(executor, die, str(death)))) == facts(done.result)
        assert death.exists()


class TestThreads:
    def test_number_of_trainings_at_a_time_on_four_cpus(self, make, monkeypatch):
        counts, most = {1: 5, 2: 3, 8: 1}, {1: 4, 2: 2, 8: 1}
        running, seen, changed, perform = [], [], threading.Condition(), execution.perform

        def watch(storage, plan, unit, data):
            own = unit.candidate.threads
            with changed:
                running.append(own)
                seen.append(tuple(running))
                changed.notify_all()
                changed.wait_for(
                    lambda: len(running) >= most[own] or sum(it[-1] == own for it in seen) == counts[own], timeout=10
                )
            outcome = perform(storage, plan, unit, data)
            with changed:
                running.remove(own)
            return outcome

        monkeypatch.setattr(execution, "cpus", lambda: 4)
        monkeypatch.setattr(execution, "perform", watch)
        many = [
            Candidate(f"{threads} {number}", "lightgbm", {"num_leaves": 3 + number}, threads=threads)
            for threads, count in counts.items()
            for number in range(count)
        ]
        run(make(candidates=many, num_boost_round=1))
        assert all(len(set(it)) == 1 for it in seen)  # LightGBM has one number of threads per process.
        assert {threads: max(len(it) for it in seen if it[0] == threads) for threads in counts} == most

    @pytest.mark.posix
    def test_ctrl_c_ends_all_trainings_at_their_next_round(self, done, make, candidates, tmp_path, monkeypatch):
        train, started, has_ended = execution.train_candidate, threading.Barrier(3, timeout=900), threading.Event()

        def interrupt():
            """Press Ctrl-C again if 20 seconds later the trainings still run."""
            while not has_ended.is_set():
                os.kill(os.getpid(), signal.SIGINT)
                has_ended.wait(20)

        def wait(candidate, *rest):
            if started.wait() == 0:
                threading.Thread(target=interrupt, daemon=True).start()
            return train(candidate, *rest)

        endless = [
            Candidate(f"long {leaves}", "lightgbm", {"num_leaves": leaves}, num_boost_round=10_000_000)
            for leaves in (3, 4, 5)
        ]
        directory = tmp_path / "run"
        run(make(directory, candidates=candidates[:2]))
        more = make(directory, candidates=[*candidates[:2], *endless])
        previous = signal.signal(signal.SIGINT, signal.default_int_handler)  # Background processes ignore SIGINT.
        try:
            with monkeypatch.context() as patch:
                patch.setattr(execution, "train_candidate", wait)
                with pytest.raises(KeyboardInterrupt) as caught:
                    run(more, jobs=3)
        finally:
            has_ended.set()
            signal.signal(signal.SIGINT, previous)
        assert caught.value.__notes__[0].startswith("3 trainings")
        assert not list(directory.glob("failures/*"))
        assert facts(run(make(directory))) == facts(done.result)

    def test_trainings_with_different_gains_are_independent(self, tmp_path):
        """LightGBM's table of gains belongs to the process. It is read once per query while a booster is set up."""
        rng = np.random.default_rng(0)
        queries, length = 30_000, 5
        labels = rng.integers(0, 5, queries * length)
        data = RankingData(rng.normal(size=(len(labels), 1)), labels, group=np.full(queries, length))
        others = [data.take_queries(range(10)), data.take_queries(range(10, 20))]
        train = data.take_queries(range(20, queries))
        many = grid("a", "lightgbm", {"max_bin": 15}, training_gain=["linear", "exponential"], seed=[1, 2, 3, 4])
        models = []
        with ThreadPoolExecutor(8) as executor:
            for name, where in (("alone", None), ("threads", executor)):
                made = Experiment(many, train, *others, "mrr", tmp_path / name, num_boost_round=1)
                result = run(made, where)
                models.append([result.load_model(name).model_to_string() for name in result.candidates])
        assert models[0] == models[1]


def fail_for(name, after=0):
    from gainwise.experiment.trainers.lightgbm import train

    calls = []

    def training(candidate, *rest):
        if candidate.name == name:
            calls.append(name)
            if len(calls) > after:
                raise ArithmeticError("as if it diverged")
        return train(candidate, *rest)

    return training


class TestFailures:
    def test_are_reported_and_affect_no_other_candidate(self, done, make, candidates, tmp_path):
        with pytest.raises(RuntimeError, match="Not compared: broken") as caught:
            run(make(tmp_path / "run", candidates=[BROKEN, *candidates]), jobs=3)
        assert list(caught.value.failures) == ["broken"]
        assert facts(caught.value.result) == {**facts(done.result), "failed": ["broken"]}
        result = run(make(tmp_path / "run", candidates=[BROKEN, *candidates]), jobs=3, allow_incomplete=True)
        assert result.candidates == done.result.candidates
        assert list(result.failures) == ["broken"]
        assert all(word in result.failures["broken"] for word in ("Traceback", "nosuch"))
        assert "Not compared: broken" in result.summary()
        with pytest.raises(KeyError, match=r"'broken' is not finished: .*nosuch"):
            result.load_model("broken")
        (on_disk,) = (tmp_path / "run" / "failures").iterdir()
        assert on_disk.read_text().strip() in result.failures["broken"]
        assert Experiment.load(tmp_path / "run", allow_incomplete=True).failures == result.failures
        assert result.selection.missing == result.missing

    def test_of_all_candidates(self, make):
        with pytest.raises(RuntimeError, match="candidate is finished") as caught:
            run(make(candidates=[BROKEN]))
        assert "nosuch" in str(caught.value)
        assert "\n" not in str(caught.value)
        assert list(caught.value.failures) == ["broken"]
        assert "Traceback" in caught.value.failures["broken"]

    def test_are_forgotten_once_the_candidate_succeeds(self, make, tmp_path, monkeypatch):
        only = [Candidate("a", "lightgbm"), Candidate("b", "lightgbm", {"num_leaves": 5})]
        with monkeypatch.context() as patch:
            patch.setattr("gainwise.experiment.trainers.lightgbm.train", fail_for("a"))
            assert list(run(make(tmp_path / "run", candidates=only), allow_incomplete=True).failures) == ["a"]
        assert run(make(tmp_path / "run", candidates=only)).failures == {}
        assert list((tmp_path / "run" / "failures").iterdir()) == []

    def test_on_one_fold_remove_the_candidate(self, make, parts, monkeypatch):
        monkeypatch.setattr("gainwise.experiment.trainers.lightgbm.train", fail_for("a", after=1))
        only = [Candidate("a", "lightgbm"), Candidate("b", "xgboost")]
        result = run(
            make(candidates=only, train=None, valid=None, test=None, folds=list(parts)), jobs=1, allow_incomplete=True
        )
        assert result.candidates == ("b",)
        assert result.failures["a"].startswith("a (fold 2): Traceback")


@pytest.fixture(scope="module")
def many_valued():
    """Data with bins and unused features that depend on parameters: one column is nearly constant."""
    data = simulate(60, seed=3, mean_length=15, features=6)
    rare = (np.arange(len(data.labels)) % 40 == 0).astype(np.float32)
    features = np.column_stack([data.features, rare])
    return RankingData(features, data.labels, qid=data.qid).split_queries(0.5, 0.25, 0.25, seed=1)


SEPARATE = {
    "lightgbm": [
        {"max_bin": 15}, {"min_data_in_bin": 30}, {"min_data_in_leaf": 40}, {"enable_bundle": False},
        {"bin_construct_sample_cnt": 300}, {"bin_construct_sample_cnt": 300, "data_random_seed": 3},
        {"max_bin_by_feature": [3, 255, 255, 255, 255, 255, 255]}, {"linear_tree": True}, {"zero_as_missing": True},
    ],
    "xgboost": [{"max_bin": 16}, {"tree_method": "exact"}, {"tree_method": "approx"}],
}  # fmt: skip
SHARED = {
    "lightgbm": [
        {"num_leaves": 4}, {"learning_rate": 0.3}, {"bagging_freq": 1, "bagging_fraction": 0.5}, {"extra_trees": True},
        {"feature_fraction": 0.5}, {"objective": "rank_xendcg"}, {"lambda_l2": 3.0}, {"subsample_freq": 1},
        {"boosting": "goss"},
    ],
    "xgboost": [{"max_depth": 2}, {"eta": 0.1}, {"subsample": 0.5}, {"objective": "rank:pairwise"},
                {"tree_method": "hist"}],
}  # fmt: skip


class TestSharedBins:
    """Models are those of trainings on separate datasets, and data are binned as rarely as possible."""

    @pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
    def test_models(self, library, tmp_path, many_valued, monkeypatch):
        params = [{}, *SHARED[library], *SEPARATE[library]]
        candidates = [Candidate(f"{number}", library, its) for number, its in enumerate(params)]
        sampled = {"feature_fraction": 0.5} if library == "lightgbm" else {"subsample": 0.5}
        candidates += grid("seeds", library, sampled, seed=[7, 8])
        module, binned, models = get_trainer(library), [], []
        original = module.bin_data
        monkeypatch.setattr(module, "bin_data", lambda *given: binned.append(given[0].name) or original(*given))
        for name in ("shared", "alone"):
            made = Experiment(candidates, *many_valued, ["ndcg_exp@5", "mrr"], tmp_path / name, num_boost_round=3)
            run(made, jobs=2)
            models.append({path.parent.name: path.read_bytes() for path in (tmp_path / name).rglob("all-rounds.*")})
            assert len(binned) == (1 + len(SEPARATE[library]) if name == "shared" else len(candidates))
            binned.clear()
            monkeypatch.setattr(module, "get_bin_settings", lambda candidate, documents: {"alone": candidate.name})
        assert models[0] == models[1]
        assert len(models[0]) == len(candidates)
