"""Doing the work: in this process, or wherever an executor does it."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .folds import Parts
from .plan import Plan, Unit
from .store import Store
from .training import train_candidate

if TYPE_CHECKING:
    from ..data import RankingData

__all__ = ["Outcome", "Task", "perform", "perform_all"]


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
    """
    store, unit = Store(task.directory), task.unit
    started = time.perf_counter()
    try:
        trained = train_candidate(unit.candidate, unit.fold, task.plan.metrics, task.parts)
    except Exception:
        text = traceback.format_exc()
        store.save_failure(unit, text)
        return Outcome(unit, time.perf_counter() - started, failure=text)
    seconds = time.perf_counter() - started
    store.save(task.plan, unit, trained, seconds)
    return Outcome(unit, seconds, rounds=len(trained.curves))


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
    """
    if not units:
        return
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(
            f"executor must be a concurrent.futures.Executor or None, got {type(executor).__name__}; "
            "for Dask take client.get_executor()"
        )
    elsewhere = executor is not None and not isinstance(executor, ThreadPoolExecutor)
    try:
        source: Parts = store.share_data(parts) if elsewhere else parts
        tasks = [Task(store.directory, plan, unit, source) for unit in units]
        for outcome in map(perform, tasks) if executor is None else _outcomes(executor, tasks):
            report(outcome)
    finally:
        if elsewhere:
            store.forget_data()


def _outcomes(executor: Executor, tasks: Sequence[Task]) -> Iterator[Outcome]:
    futures: list[Future[Any]] = []
    try:
        futures += [executor.submit(perform, task) for task in tasks]
        for future in as_completed(futures):
            yield future.result()
    except BrokenExecutor as error:
        raise RuntimeError(
            "the executor lost a worker process (killed, or out of memory?): give it fewer workers"
        ) from error
    finally:
        for future in futures:
            future.cancel()
