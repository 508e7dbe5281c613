"""A run that is killed, interrupted or out of disk space resumes and ends with the same files and the same result."""

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.experiment import faults
from tests.experiment.helpers import ByPickle, facts, run, write_toml
from typer.testing import CliRunner

from gainwise.cli import app
from gainwise.experiment import Experiment, execution
from gainwise.experiment.storage import SharedParts, Storage

pytestmark = pytest.mark.slow

TIMEOUT = 900
EXPECTED_STATUS = {"kill": {-9}, "full once": {0, faults.REJECTED}, "full": {faults.REJECTED}, "read-only": {3}}
"""An error that happens once may hit a step that is allowed to fail, such as removing old files."""


@pytest.mark.posix
@pytest.mark.parametrize(
    ("executor", "every"),
    [(1, 40), *(pytest.param(*case, marks=pytest.mark.nightly) for case in [(1, 1), (2, 4), ("pickle", 4)])],
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
        may_succeed = executor == 2 or ": os.r" in fault  # A full disk allows the last removals.
        assert status in EXPECTED_STATUS[fault.partition(" at ")[0]] or (may_succeed and status == 0), fault
        expected = {"partial": [], "resumed": 0, "same result": True, "differing files": [], "trained twice": []}
        assert outcome == expected, fault


@pytest.mark.parametrize("way", ["jobs", "threads", "command line"])
def test_interrupted_training_leaves_a_usable_directory(done, make, tmp_path, monkeypatch, way):
    train, started, directory = execution.train_candidate, [], tmp_path / "run"

    def interrupt(candidate, *rest):
        started.append(candidate)
        if len(started) == 3:
            raise KeyboardInterrupt
        return train(candidate, *rest)

    with monkeypatch.context() as patch, ThreadPoolExecutor(1) as executor:
        patch.setattr(execution, "train_candidate", interrupt)
        if way == "command line":
            patch.setattr(Experiment, "from_toml", lambda *_, **__: make(directory))
            answer = CliRunner().invoke(app, ["run", str(write_toml(tmp_path, "")), "--jobs", "1"])
            note = answer.output.split("interrupted\n")[1]
            assert answer.exit_code == 130
        else:
            with pytest.raises(KeyboardInterrupt) as caught:
                run(make(directory), executor if way == "threads" else None, jobs=1 if way == "jobs" else None)
            (note,) = caught.value.__notes__
    assert note.split()[0] in (["2", "1"] if way == "threads" else ["2"])  # A thread may have started the last one.
    assert str(directory) in note.replace("\n", "")
    rest = Experiment.load(directory, allow_incomplete=True)
    assert len(rest.candidates) >= 2
    with pytest.raises(RuntimeError, match="the run was not completed"):
        rest.load_model()
    assert facts(run(make(directory))) == facts(done.result)


class TestWorkerOutlivesItsRun:
    """Such a worker starts no training and writes nothing."""

    @pytest.fixture
    def task(self, done, parts, tmp_path):
        storage = Storage(tmp_path / "run")
        unit = done.result.plan.list_units()[0]
        with storage.share_data(parts._asdict()) as shared:
            yield storage, done.result.plan, unit, shared

    @pytest.mark.parametrize("fails", [True, False])
    def test_writes_nothing(self, task, monkeypatch, fails):
        storage, train = task[0], execution.train_candidate

        def train_slowly(*arguments):
            outcome = train(*arguments)
            storage.remove_leftovers()  # as the next run does
            if fails:
                raise ValueError
            return outcome

        monkeypatch.setattr(execution, "train_candidate", train_slowly)
        with pytest.raises(execution.CalledOffError):
            execution.perform(*task)
        assert not (storage.directory / "candidates").exists()
        assert not (storage.directory / "failures").exists()

    def test_the_data_disappear_while_they_are_read(self, task, monkeypatch):
        storage = task[0]

        def read(shared, name):
            storage.remove_leftovers()
            raise FileNotFoundError(name)

        monkeypatch.setattr(SharedParts, "read", read)
        with pytest.raises(execution.CalledOffError):
            execution.perform(*task)
        assert not (storage.directory / "failures").exists()


def test_user_files_next_to_the_experiment_stay(done, make, tmp_path):
    files = [tmp_path / "data" / "train.txt", tmp_path / "train.txt"]
    files[0].parent.mkdir()
    for path in files:
        path.write_text("1 qid:1 1:0.5\n")
    assert facts(run(make(tmp_path), ByPickle())) == facts(done.result)
    assert [path.read_text() for path in files] == ["1 qid:1 1:0.5\n"] * 2


class TestLock:
    def test_rejects_a_second_run(self, make, tmp_path):
        with Storage(tmp_path).lock(), pytest.raises(RuntimeError, match="in use by"):
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
