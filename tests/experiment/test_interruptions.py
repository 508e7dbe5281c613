"""A run that is killed, interrupted or out of disk space resumes and ends with the same files and the same result."""

from __future__ import annotations

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from tests.experiment import faults
from tests.experiment.helpers import ByPickle, contents, facts, run

from gainsay.experiment import Experiment, work
from gainsay.experiment.shared import PartsOnDisk
from gainsay.experiment.storage import Storage

TIMEOUT = 900
EXPECTED_STATUS = {"kill": {-9}, "full once": {0, faults.REJECTED}, "full": {faults.REJECTED}, "read-only": {3}}
"""An error that happens once may hit a step that is allowed to fail, such as removing old files."""


@pytest.mark.posix
@pytest.mark.slow
@pytest.mark.parametrize(
    ("executor", "every"),
    [(1, 15), *(pytest.param(*case, marks=pytest.mark.repeated) for case in [(1, 1), (2, 4), ("pickle", 4)])],
)
def test_survives_a_fault_at_every_system_call(tmp_path, processes, executor, every):
    """Threads make their calls in another order each time, so the last calls are not always reached."""
    process = processes.Process(target=faults.inject_everywhere, args=(tmp_path, executor, every))
    process.start()
    process.join(TIMEOUT)
    assert process.exitcode == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["status"], report["unchanged"]) == (0, True)
    assert len(report["calls"]) > 60
    assert len(report["attempts"]) >= len(faults.FAULTS) * (len(report["calls"]) // every)
    for outcome in report["attempts"]:
        fault, status = outcome.pop("fault"), outcome.pop("status")
        assert status in EXPECTED_STATUS[fault.partition(" at ")[0]] or (executor == 2 and status == 0), fault
        expected = {"partial": [], "resumed": 0, "same result": True, "differing files": [], "trained twice": []}
        assert outcome == expected, fault


TOML = """
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


def run_command(output, *arguments):
    """Run the command line in this process, which has imported everything already."""
    import runpy
    import sys

    for descriptor in (1, 2):
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
    sys.argv = ["gainsay", *arguments]
    runpy.run_module("gainsay", run_name="__main__")


@pytest.mark.posix
@pytest.mark.slow
def test_command_line_is_locked_interrupted_killed_and_resumed(tmp_path, processes):
    toml, directory, output = (tmp_path / name for name in ("experiment.toml", "run", "output"))
    toml.write_text(TOML)

    def start_and_stop(count):
        command = (output, "run", str(toml), "--directory", str(directory), "--jobs", "2")
        process = processes.Process(target=run_command, args=command)
        process.start()
        ends = time.monotonic() + TIMEOUT
        while len(list(directory.glob("candidates/*/manifest.json"))) < count:
            assert process.is_alive(), output.read_text()
            assert time.monotonic() < ends
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGSTOP)
        return process

    first = start_and_stop(1)
    assert psutil.Process(first.pid).children(recursive=True) == []  # a terminal would interrupt them as well
    with pytest.raises(RuntimeError, match="in use by"):
        run(Experiment.from_toml(toml, directory))
    os.kill(first.pid, signal.SIGINT)
    os.kill(first.pid, signal.SIGCONT)
    first.join(TIMEOUT)
    finished = len(Experiment.load(directory).candidates)
    assert first.exitcode == 130
    assert f"{directory}. Run the same again" in output.read_text()
    assert not list(directory.glob("failures/*"))

    second = start_and_stop(finished + 1)
    os.kill(second.pid, signal.SIGKILL)
    second.join(TIMEOUT)
    resumed, whole = (run(Experiment.from_toml(toml, place)) for place in (directory, tmp_path / "whole"))
    assert facts(resumed) == facts(whole)
    assert contents(directory) == contents(tmp_path / "whole")


@pytest.mark.parametrize("threads", [False, True])
def test_interrupted_training_leaves_a_usable_directory(done, make, tmp_path, monkeypatch, threads):
    train, started = work.train_candidate, []

    def interrupted(candidate, *rest):
        started.append(candidate)
        if len(started) == 3:
            raise KeyboardInterrupt
        return train(candidate, *rest)

    directory = tmp_path / "run"
    with monkeypatch.context() as patch, ThreadPoolExecutor(1) as executor:
        patch.setattr(work, "train_candidate", interrupted)
        with pytest.raises(KeyboardInterrupt) as caught:
            run(make(directory), executor if threads else None, jobs=None if threads else 1)
    (note,) = caught.value.__notes__
    assert note.split()[0] in (["2", "1"] if threads else ["2"])  # a thread may have started the last training
    assert str(directory) in note
    assert len(Experiment.load(directory).candidates) >= 2
    assert facts(run(make(directory))) == facts(done.result)


class TestWorkerOutlivesItsRun:
    """Such a worker starts no training and writes nothing."""

    @pytest.fixture
    def task(self, done, parts, tmp_path):
        storage = Storage(tmp_path / "run")
        unit = next(done.result.plan.units())
        return storage, work.Task(storage.directory, done.result.plan, unit, storage.share_data(parts._asdict()))

    def test_starts_nothing(self, task, trained):
        storage, task = task
        task.data.close()
        with pytest.raises(work.CalledOffError):
            work.perform(task)
        assert trained == []
        assert not (storage.directory / "candidates").exists()

    @pytest.mark.parametrize("fails", [True, False])
    def test_writes_nothing(self, task, monkeypatch, fails):
        storage, task = task
        train = work.train_candidate

        def train_slowly(*arguments):
            outcome = train(*arguments)
            storage.tidy()  # as the next run does
            if fails:
                raise ValueError
            return outcome

        monkeypatch.setattr(work, "train_candidate", train_slowly)
        with pytest.raises(work.CalledOffError):
            work.perform(task)
        assert not (storage.directory / "candidates").exists()
        assert not (storage.directory / "failures").exists()

    def test_may_finish_its_training_while_the_run_waits(self, task, monkeypatch):
        storage, task = task
        train = work.train_candidate
        monkeypatch.setattr(work, "train_candidate", lambda *arguments: (task.data.close(), train(*arguments))[1])
        work.perform(task)
        assert storage.load(task.plan, task.unit) is not None


class TestSharedData:
    def test_two_copies_are_independent(self, parts, tmp_path):
        storage = Storage(tmp_path / "run")
        first, second = storage.share_data(parts._asdict()), storage.share_data(parts._asdict())
        first.remove()
        assert (first.are_there, second.are_there, second.are_open) == (False, True, True)
        second.remove()
        assert list(storage.directory.iterdir()) == []

    def test_full_disk_leaves_no_copy(self, parts, tmp_path, monkeypatch):
        def full(self, parts):
            self._folder.mkdir(parents=True)
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(PartsOnDisk, "write", full)
        with pytest.raises(OSError, match="No space left"):
            Storage(tmp_path).share_data(parts._asdict())
        assert list(tmp_path.iterdir()) == []

    def test_user_files_next_to_the_experiment_stay(self, done, make, tmp_path):
        files = [tmp_path / "data" / "train.txt", tmp_path / "train.txt"]
        files[0].parent.mkdir()
        for path in files:
            path.write_text("1 qid:1 1:0.5\n")
        assert facts(run(make(tmp_path), ByPickle())) == facts(done.result)
        assert [path.read_text() for path in files] == ["1 qid:1 1:0.5\n"] * 2


class TestLock:
    def test_missing_library_is_named(self, make, tmp_path, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "filelock", None)
        with pytest.raises(ImportError, match=r"gainsay\[experiment\]"):
            run(make(tmp_path))

    @pytest.mark.posix
    def test_is_not_kept_by_a_forked_child(self, processes, tmp_path):
        """Otherwise a worker that outlives a killed run would lock the directory forever."""
        process = processes.Process(target=fork_and_die, args=(tmp_path,))
        process.start()
        process.join(TIMEOUT)
        assert process.exitcode == -signal.SIGKILL
        child = int((tmp_path / "child").read_text())
        try:
            with Storage(tmp_path).lock():
                os.kill(child, 0)  # The child is alive.
        finally:
            os.kill(child, signal.SIGKILL)


def fork_and_die(directory):
    """Lock a directory, fork a child that sleeps, and kill the parent."""
    with Storage(directory).lock():
        child = os.fork()
        if child == 0:
            time.sleep(60)
        (directory / "child").write_text(str(child))
        os.kill(os.getpid(), signal.SIGKILL)
