"""Experiments on a Dask cluster: the same result as one after the other here, with workers that die too."""

from __future__ import annotations

import os
import signal
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path

import pytest

from gainsay.experiment.store import Store

distributed = pytest.importorskip("distributed")

import dask  # noqa: E402


@contextmanager
def cluster_executor(workers=2):
    with (
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
    ):
        yield client, executor


def dying(deaths, perform, task):
    """Do a task; where one of `deaths` is left to die, end the process just before the result is saved."""

    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    for death in deaths:
        try:
            os.close(os.open(death, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        Store.save = die
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


def test_candidates_train_over_the_workers(done, make, tmp_path, facts):
    with cluster_executor() as (client, executor):
        pids = set(client.run(os.getpid).values())
        assert len(pids) == 2
        result = make(tmp_path / "run").run(Through(executor, told), progress=False)
    assert facts(result) == facts(done.result)
    assert {int(path.read_text()) for path in (tmp_path / "run").glob("*.pid")} == pids
    assert not (tmp_path / "run" / ".shared").exists()


@pytest.mark.posix
def test_a_worker_that_is_killed_changes_nothing(done, make, tmp_path, facts):
    death = tmp_path / "death"
    with cluster_executor() as (_, executor):
        result = make(tmp_path / "run").run(Through(executor, dying, [str(death)]), progress=False)
    assert death.exists()
    assert facts(result) == facts(done.result)


@pytest.mark.posix
def test_a_candidate_that_kills_each_worker_ends_the_run_which_can_go_on(done, make, tmp_path, facts):
    deaths = [str(tmp_path / f"death {number}") for number in range(100)]
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        cluster_executor() as (_, executor),
        pytest.raises(RuntimeError, match="lost a worker process") as caught,
    ):
        make(tmp_path / "run").run(Through(executor, dying, deaths), progress=False)
    assert "trainings are left" in caught.value.__notes__[0]
    assert not Path(deaths[-1]).exists()
    assert facts(make(tmp_path / "run").run(progress=False)) == facts(done.result)
