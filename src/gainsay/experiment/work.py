"""Doing the work: in this process, or wherever an executor does it."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
    wait,
)
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .folds import Parts
from .plan import Plan, Unit
from .shared import PartsOnDisk
from .store import Store
from .training import train_candidate

if TYPE_CHECKING:
    from ..data import RankingData

__all__ = ["CalledOffError", "Outcome", "Task", "in_other_processes", "perform", "perform_all", "processes"]


class CalledOffError(Exception):
    """The run that asked for a training has ended meanwhile."""


@dataclass(frozen=True)
class Task:
    """One unit with all that is needed to do it elsewhere; small to pickle where `parts` lie on disk."""

    directory: Path
    plan: Plan
    unit: Unit
    parts: Parts


@dataclass(frozen=True)
class Outcome:
    """What is told of a unit; everything else is in the directory."""

    unit: Unit
    seconds: float
    rounds: int = 0
    failure: str | None = None


def perform(task: Task) -> Outcome:
    """Train a unit and write what came of it to the directory.

    An error in training becomes part of the outcome, for it concerns this candidate alone. One in writing (a full disk)
    is raised: the others would meet it too.

    Raises
    ------
    CalledOffError
        In another process, where the run has ended: nothing has been written.
    """
    store, unit = Store(task.directory), task.unit
    shared = task.parts if isinstance(task.parts, PartsOnDisk) else None
    if shared is not None and not shared.are_open:
        raise CalledOffError(unit)
    started = time.perf_counter()
    try:
        trained = train_candidate(unit.candidate, unit.fold, task.plan.metrics, task.parts)
    except Exception:
        if shared is not None and not shared.are_open:
            raise CalledOffError(unit) from None  # perhaps for want of the data
        text = traceback.format_exc()
        store.save_failure(unit, text)
        return Outcome(unit, time.perf_counter() - started, failure=text)
    seconds = time.perf_counter() - started
    if shared is not None and not shared.are_there:
        raise CalledOffError(unit)
    store.save(task.plan, unit, trained, seconds)
    store.place_models(task.plan, unit, trained.model, trained.curves)
    return Outcome(unit, seconds, rounds=len(trained.curves))


def in_other_processes(executor: Executor | None) -> bool:
    """Return whether an executor trains elsewhere than in this process; raise `TypeError` where it is none."""
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(
            f"executor must be a concurrent.futures.Executor or None, got {type(executor).__name__}; "
            "for Dask take client.get_executor()"
        )
    return executor is not None and not isinstance(executor, ThreadPoolExecutor)


def perform_all(
    store: Store,
    plan: Plan,
    units: Sequence[Unit],
    parts: Mapping[str, RankingData],
    executor: Executor | None,
    report: Callable[[Outcome], None],
) -> None:
    """Do all units, telling `report` of each as it ends.

    Threads share the data in memory. To any other executor they go by way of the disk, once, and tasks name the files.
    However it ends, no training that it began writes anything afterwards.
    """
    if not units:
        return
    if executor is None:
        for unit in units:
            report(perform(Task(store.directory, plan, unit, parts)))
        return
    shared = store.share_data(parts) if in_other_processes(executor) else None
    try:
        tasks = [Task(store.directory, plan, unit, parts if shared is None else shared) for unit in units]
        _work_off(executor, tasks, report, (lambda: None) if shared is None else shared.close)
    finally:
        if shared is not None:
            shared.remove()


def _work_off(
    executor: Executor, tasks: Sequence[Task], report: Callable[[Outcome], None], close: Callable[[], None]
) -> None:
    """Tell of outcomes as they come; at the end, early or not, begin no more and wait for what has begun."""
    waiting: set[Future[Outcome]] = set()
    try:
        for task in tasks:
            waiting.add(executor.submit(perform, task))
        for future in as_completed(list(waiting)):
            waiting.remove(future)
            report(future.result())
    except Exception as error:
        # Dask tries a task again elsewhere; the error that it raises after some deaths is not a BrokenExecutor
        if not isinstance(error, BrokenExecutor) and type(error).__name__ != "KilledWorker":
            raise
        raise RuntimeError(
            "the executor lost a worker process (killed, or out of memory?): give it fewer workers"
        ) from error
    finally:
        close()  # some executors hand out more than they have workers for, and do not take it back
        begun = [future for future in waiting if not future.cancel()]
        for future in wait(begun).done:
            if future.exception() is None:
                report(future.result())


def processes(jobs: int) -> AbstractContextManager[Executor | None]:
    """Return an executor of so many processes, to be closed after use; None, which means this process, for one.

    They are spawned: OpenMP, which both libraries use, does not survive a fork. They end when this process does,
    however it ends.
    """
    if jobs == 1:
        return nullcontext()
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent)


def _end_with_parent() -> None:
    """End this process as soon as its parent has ended, which a killed one cannot ask for."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
