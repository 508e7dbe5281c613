"""Experiments on a Dask cluster: the same result as one after the other here, with workers that die too."""

from __future__ import annotations

import os
import signal
from concurrent.futures import Executor
from pathlib import Path

import pytest

from gainsay.experiment.storage import Storage

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster(cluster_of):
    """Two workers and their client; a task may lose one of them, not two."""
    with cluster_of(2, **{"distributed.scheduler.allowed-failures": 1}) as client:
        yield client


@pytest.fixture
def executor(cluster):
    with cluster.get_executor() as made:
        yield made


def dying(deaths, perform, task):
    """Do a task; where one of `deaths` is left to die, end the process just before the result is saved."""

    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    for death in deaths:
        try:
            os.close(os.open(death, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        Storage.save = die
        break
    return perform(task)


def told(perform, task):
    """Do a task and say where."""
    outcome = perform(task)
    (task.directory / f"{task.unit.slug}.pid").write_text(str(os.getpid()))
    return outcome


class Through(Executor):
    """Sends what it is given to another executor by way of a function."""

    def __init__(self, executor, function, *arguments):
        self.executor, self.by_way_of = executor, (function, *arguments)

    def submit(self, function, /, *arguments, **options):
        return self.executor.submit(*self.by_way_of, function, *arguments, **options)


def test_candidates_train_over_the_workers(done, make, tmp_path, facts, cluster, executor):
    pids = set(cluster.run(os.getpid).values())
    assert len(pids) == 2
    result = make(tmp_path / "run").run(Through(executor, told), progress=False)
    assert facts(result) == facts(done.result)
    assert {int(path.read_text()) for path in (tmp_path / "run").glob("*.pid")} == pids
    assert not (tmp_path / "run" / ".shared").exists()


@pytest.mark.posix
def test_a_worker_that_is_killed_changes_nothing(done, make, tmp_path, facts, executor):
    death = tmp_path / "death"
    result = make(tmp_path / "run").run(Through(executor, dying, [str(death)]), progress=False)
    assert death.exists()
    assert facts(result) == facts(done.result)


@pytest.mark.posix
def test_a_candidate_that_kills_each_worker_ends_the_run_which_can_go_on(
    done, make, candidates, tmp_path, facts, executor
):
    deaths = [str(tmp_path / f"death {number}") for number in range(100)]
    with pytest.raises(RuntimeError, match="lost a worker process") as caught:
        make(tmp_path / "run", candidates=candidates[:1]).run(Through(executor, dying, deaths), progress=False)
    assert caught.value.__notes__[0].startswith("1 training is left")
    assert not Path(deaths[-1]).exists()
    assert facts(make(tmp_path / "run").run(progress=False)) == facts(done.result)
