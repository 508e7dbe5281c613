"""Doing the work: in this process, or wherever an executor does it."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor, as_completed, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .._common.cpus import cpus
from .plan import Plan, Unit
from .progress import Outcome, lines_of
from .shared import PartsOnDisk
from .storage import Storage
from .training import CalledOffError, Workbench, train_candidate

if TYPE_CHECKING:
    from .folds import Parts
    from .progress import Follow


@dataclass(frozen=True)
class Task:
    """One unit with all that is needed to do it, here or elsewhere; small to pickle where `data` lie on disk."""

    directory: Path
    plan: Plan
    unit: Unit
    data: Workbench | PartsOnDisk


def perform(task: Task) -> Outcome:
    """Train a unit and write what came of it to the directory.

    An error in training becomes part of the outcome, for it concerns this candidate alone. One in writing (a full disk)
    is raised: the others would meet it too.

    Raises
    ------
    CalledOffError
        Where the run has ended: nothing has been written.
    """
    storage, unit = Storage(task.directory), task.unit
    shared = task.data if isinstance(task.data, PartsOnDisk) else None
    if shared is not None and not shared.are_open:
        raise CalledOffError(unit)
    bench = Workbench(task.data) if isinstance(task.data, PartsOnDisk) else task.data
    started = time.perf_counter()
    try:
        model, training = train_candidate(unit.trained, unit, task.plan.metrics, bench)
    except CalledOffError:
        raise
    except Exception:
        if shared is not None and not shared.are_open:
            raise CalledOffError(unit) from None  # perhaps for want of the data
        text = traceback.format_exc()
        storage.save_failure(unit, text)
        return Outcome(unit, time.perf_counter() - started, failure=text)
    seconds = time.perf_counter() - started
    if shared is not None and not shared.are_there:
        raise CalledOffError(unit)
    storage.save(task.plan, unit, model, training)
    storage.place_models(task.plan, unit, training.curves)
    return Outcome(unit, seconds, rounds=len(training.curves), lines=lines_of(task.plan, training.curves))


def in_other_processes(executor: Executor | None) -> bool:
    """Return whether an executor trains elsewhere than in this process; raise `TypeError` where it is none."""
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(
            f"executor must be a concurrent.futures.Executor or None, got {type(executor).__name__}; "
            "for Dask take client.get_executor()"
        )
    return executor is not None and not isinstance(executor, ThreadPoolExecutor)


def perform_all(
    storage: Storage,
    plan: Plan,
    units: Sequence[Unit],
    parts: Parts,
    report: Callable[[Outcome], None],
    executor: Executor | None,
    jobs: int | None,
    follow: Follow,
) -> None:
    """Do all units, telling `report` of each as it ends, and `follow` of what goes on in this process.

    Threads share the data in memory. To any other executor they go by way of the disk, once, and tasks name the files.
    Without executor there are `jobs` trainings at a time, by default as many as the CPUs have threads for. However it
    ends, no training that it began writes anything afterwards.
    """
    if not units:
        return
    if executor is not None and in_other_processes(executor):
        shared = storage.share_data(parts)
        try:
            _work_off(executor, [Task(storage.directory, plan, unit, shared) for unit in units], report, shared.close)
        finally:
            shared.remove()
        return
    bench = Workbench(parts, units, follow)
    # One number of threads at a time: LightGBM has one for the whole process, and trees may depend on it.
    for threads in sorted({unit.candidate.threads or 1 for unit in units}):
        alike = [unit for unit in units if (unit.candidate.threads or 1) == threads]
        tasks = [Task(storage.directory, plan, unit, bench) for unit in bench.ordered(alike)]
        many = jobs or max(1, cpus() // threads)
        if executor is not None:
            _work_off(executor, tasks, report, bench.call_off)
        elif many == 1 or len(tasks) == 1:
            for task in tasks:
                report(perform(task))
        else:
            with ThreadPoolExecutor(many, "gainsay-training") as pool:
                _work_off(pool, tasks, report, bench.call_off)


def _work_off(
    executor: Executor, tasks: Sequence[Task], report: Callable[[Outcome], None], close: Callable[[], None]
) -> None:
    """Tell of outcomes as they come. Where it ends early, `close`, begin no more and wait for what has begun."""
    waiting: set[Future[Outcome]] = set()
    try:
        for task in tasks:
            waiting.add(executor.submit(perform, task))
        for future in as_completed(list(waiting)):
            waiting.remove(future)
            report(future.result())
    except BaseException as error:
        close()  # some executors hand out more than they have workers for, and do not take it back
        # Dask tries a task again elsewhere; the error that it raises after some deaths is not a BrokenExecutor
        if not isinstance(error, BrokenExecutor) and type(error).__name__ != "KilledWorker":
            raise
        raise RuntimeError(
            "the executor lost a worker process (killed, or out of memory?): give it fewer workers"
        ) from error
    finally:
        begun = [future for future in waiting if not future.cancel()]
        for future in wait(begun).done:
            if future.exception() is None:
                report(future.result())
