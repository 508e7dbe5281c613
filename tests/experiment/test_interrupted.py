"""Runs that are interrupted, killed or doubled, and workers that outlive them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import psutil
import pytest
from tests.experiment.faulty import Elsewhere

from gainsay.experiment import Experiment, work
from gainsay.experiment.shared import PartsOnDisk
from gainsay.experiment.storage import Storage

LIMIT = 900
"""Seconds after which a process that hangs fails the test; machines that are busy take long."""


LONG = """
metrics = ["ndcg_linear@10", "ndcg_exp@10"]
num_boost_round = 60
draws = 1000
[data]
simulate = {queries = 60, mean_length = 10, seed = 5, split = [0.5, 0.25, 0.25]}
[[candidates]]
name = "lgb"
library = "lightgbm"
seed = [1, 2, 3]
params = {num_leaves = 7, feature_fraction = 0.8}
[[candidates]]
name = "xgb"
library = "xgboost"
seed = [1, 2, 3]
params = {subsample = 0.8}
"""


@pytest.fixture(scope="module")
def toml(tmp_path_factory):
    file = tmp_path_factory.mktemp("toml") / "experiment.toml"
    file.write_text(LONG)
    return file


@pytest.fixture(scope="module")
def whole(toml, tmp_path_factory):
    """What comes of it without a break."""
    return Experiment.from_toml(toml, tmp_path_factory.mktemp("whole")).run(progress=False)


@pytest.fixture(scope="module")
def expected(whole, facts):
    return facts(whole)


class Forked:
    """The command line in a process that has imported everything, with what a `Popen` has."""

    CODE = """
import os, runpy, sys
os.setsid()
for descriptor in (1, 2):
    os.dup2(os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
sys.argv = ["gainsay", *arguments]
runpy.run_module("gainsay", run_name="__main__")
"""

    def __init__(self, processes, arguments, told):
        self.told = told
        self.process = processes.Process(target=exec, args=(self.CODE, {"arguments": arguments, "told": str(told)}))
        self.process.start()
        self.pid = self.process.pid

    def poll(self):
        return self.process.exitcode

    returncode = property(poll)

    def communicate(self, timeout=None):
        self.process.join(timeout)
        return None, self.told.read_text()


@pytest.mark.posix
@pytest.mark.slow
class TestProcesses:
    """The command line, in processes of its own."""

    @pytest.fixture
    def start(self, toml, processes, tmp_path):
        started = []

        def begin(directory, jobs=1, anew=False):
            arguments = ["run", str(toml), "--directory", str(directory), "--jobs", str(jobs)]
            if anew:
                process = subprocess.Popen(
                    [sys.executable, "-m", "gainsay", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                    text=True, start_new_session=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
                )  # fmt: skip
            else:
                process = Forked(processes, arguments, tmp_path / f"told {len(started)}")
            started.append(process)
            return process

        yield begin
        for process in started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()

    @staticmethod
    def until(found, process):
        """Wait until something is found, while a process runs."""
        ends = time.monotonic() + LIMIT
        while not found():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < ends
            time.sleep(0.01)

    @staticmethod
    def finished(directory):
        return lambda: list(directory.glob("candidates/*/manifest.json"))

    @pytest.mark.parametrize(("jobs", "anew"), [(1, False), (2, True)])
    def test_ctrl_c(self, start, toml, tmp_path, facts, expected, jobs, anew):
        directory = tmp_path / "run"
        process = start(directory, jobs, anew)
        self.until(self.finished(directory), process)
        assert psutil.Process(process.pid).children(recursive=True) == []  # all that a terminal would interrupt
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=LIMIT)
        assert process.returncode == 130, errors
        there = len(self.finished(directory)())
        said = re.search(
            rf"gainsay: interrupted\n(\d) trainings? (is|are) left; the others are in {directory}. Run the same again",
            errors,
        )
        assert said, errors
        assert 0 <= int(said[1]) - (6 - there) <= jobs  # one that was about to be told of counts as left
        assert not (directory / ".shared").exists()
        assert not list(directory.glob("failures/*"))
        assert len(Experiment.load(directory).candidates) == there
        assert facts(Experiment.from_toml(toml, directory).run(progress=False)) == expected

    def test_killed(self, start, toml, tmp_path, facts, whole, expected):
        directory = tmp_path / "run"
        process = start(directory, 2)
        self.until(self.finished(directory), process)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=LIMIT)
        assert facts(Experiment.from_toml(toml, directory).run(progress=False)) == expected
        assert not (directory / ".shared").exists()
        assert not list(directory.rglob("*.partial"))
        for pattern in ("*.npz", "all-rounds.*", "model.*"):
            for path in whole.directory.rglob(pattern):
                assert (directory / path.relative_to(whole.directory)).read_bytes() == path.read_bytes()

    def test_two_at_once(self, start, toml, tmp_path, facts, expected):
        directory = tmp_path / "run"
        first = start(directory)
        self.until((directory / "experiment.json").exists, first)
        os.kill(first.pid, signal.SIGSTOP)  # or it might be done
        with pytest.raises(RuntimeError, match=f"{directory} is in use by another process: wait until"):
            Experiment.from_toml(toml, directory).run(progress=False)
        os.kill(first.pid, signal.SIGCONT)
        _, errors = first.communicate(timeout=LIMIT)
        assert first.returncode == 0, errors
        assert facts(Experiment.load(directory)) == expected


class TestOutlived:
    """A worker that outlives its run begins nothing and writes nothing."""

    @pytest.fixture
    def task(self, done, parts, tmp_path):
        store = Storage(tmp_path / "run")
        shared = store.share_data(parts._asdict())
        return store, work.Task(store.directory, done.result.plan, next(done.result.plan.units()), shared)

    def test_begins_nothing(self, task, trained):
        store, task = task
        task.data.close()
        with pytest.raises(work.CalledOffError):
            work.perform(task)
        assert trained == []
        assert not (store.directory / "candidates").exists()

    @pytest.mark.parametrize("fails", [True, False])
    def test_writes_nothing(self, task, monkeypatch, fails):
        store, task = task
        original = work.train_candidate

        def taken_over(*arguments):
            trained = original(*arguments)
            store.tidy()
            if fails:
                raise ValueError
            return trained

        monkeypatch.setattr(work, "train_candidate", taken_over)
        with pytest.raises(work.CalledOffError):
            work.perform(task)
        assert not (store.directory / "candidates").exists()
        assert not (store.directory / "failures").exists()

    def test_may_end_what_it_has_begun_while_the_run_waits(self, task, monkeypatch):
        store, task = task
        original = work.train_candidate

        def closed(*arguments):
            task.data.close()
            return original(*arguments)

        monkeypatch.setattr(work, "train_candidate", closed)
        work.perform(task)
        assert store.load(task.plan, task.unit) is not None

    def test_two_copies_do_not_meet(self, parts, tmp_path):
        store = Storage(tmp_path / "run")
        first, second = store.share_data(parts._asdict()), store.share_data(parts._asdict())
        first.remove()
        assert (first.are_there, second.are_there, second.are_open) == (False, True, True)
        second.remove()
        assert list(store.directory.iterdir()) == []

    def test_a_disk_full_of_data_is_left_as_it_was(self, parts, tmp_path, monkeypatch):
        def full(self, parts):
            self._folder.mkdir(parents=True)
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(PartsOnDisk, "write", full)
        with pytest.raises(OSError, match="No space left"):
            Storage(tmp_path).share_data(parts._asdict())
        assert list(tmp_path.iterdir()) == []

    def test_data_of_the_user_beside_the_experiment_are_left_alone(self, done, make, tmp_path, facts):
        mine = [tmp_path / "data" / "train.txt", tmp_path / "train.txt"]
        mine[0].parent.mkdir()
        for path in mine:
            path.write_text("1 qid:1 1:0.5\n")
        assert facts(make(tmp_path).run(Elsewhere(), progress=False)) == facts(done.result)
        assert [path.read_text() for path in mine] == ["1 qid:1 1:0.5\n"] * 2


class TestLock:
    def test_a_missing_library_is_named(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "filelock", None)
        with (
            pytest.raises(ImportError, match=r"needs filelock: pip install 'gainsay\[experiment\]'"),
            Storage(tmp_path).lock(),
        ):
            pass
