"""Training and evaluation of units, in this process or in the workers of an executor, with the progress."""

from __future__ import annotations

import re
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._kernel.config import cpus
from ..evaluation.evaluator import Evaluator, shared_weights
from ..metrics.base import Metric, list_metric_columns
from ..training.logged_metrics import in_round
from .config import Candidate
from .plan import ExperimentPlan, Parts, Unit, find_best_rounds, find_stored_rounds, orient
from .storage import SharedParts, Storage, Training, create_canonical_json
from .trainers import get_trainer, get_versions, predict_rounds

if TYPE_CHECKING:
    from .progress import Progress

Follow = Callable[[Unit], Callable[[Sequence[float]], None] | None]
"""Called at the start of a training in this process. Returns a function for the values of each round, or None."""


def get_last_line(text: str) -> str:
    """Return the line of the last error in a traceback, or the last line of another text.

    XGBoost appends a list of valid values and the stack of its library to its message.
    """
    errors = re.findall(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)*(\S.*)", text)
    return str(errors[-1]) if errors else text.strip().splitlines()[-1]


class CalledOffError(Exception):
    """The run that started a training has ended."""


class TrainingContext:
    """Data that trainings in this process share.

    Each dataset is binned once for all `units` with the same bins, and released after the last of them.

    Parameters
    ----------
    parts : mapping of str to RankingData
        Parts of the data.
    units : sequence of Unit
        Units to train. Those that share bins are adjacent in `sorted_units`.
    follow : callable, optional
        Called at the start of every training. Returns a function for the values of every round, or None.
    """

    def __init__(self, parts: Parts, units: Sequence[Unit], follow: Follow | None = None) -> None:
        self.parts = parts
        self.follow: Follow = follow or (lambda unit: None)
        self.are_open = self.exist = True
        # Metrics are bound once to each of these objects.
        evaluated = {name for unit in units for name in (unit.fold.valid, unit.fold.test)}
        self.judgments = {name: parts[name].judgments() for name in evaluated}
        for judgments in self.judgments.values():
            judgments.gains_are_known = True  # The experiment has warned of them.
        groups: defaultdict[bytes, _Bins] = defaultdict(_Bins)
        for unit in units:
            groups[self._create_key(unit)].units.append(unit)
        self._bins = {unit.slug: bins for bins in groups.values() for unit in bins.units}
        self.sorted_units = [unit for bins in groups.values() for unit in bins.units]

    def close(self) -> None:
        """End every training at its next round with an error."""
        self.are_open = False

    def check(self) -> None:
        """Raise `CalledOffError` if trainings are called off."""
        if not self.are_open:
            raise CalledOffError

    @contextmanager
    def bin_data(self, unit: Unit) -> Iterator[Any]:
        """Provide training and validation data in the form of the unit's library."""
        bins = self._bins[unit.slug]
        try:
            with bins.lock:
                self.check()
                if bins.data is None:
                    trainer = get_trainer(unit.candidate.library)
                    bins.data = trainer.bin_data(unit.seeded_candidate, *unit.select_data(self.parts))
            yield bins.data
        finally:
            with bins.lock:
                bins.units.remove(unit)
                if not bins.units:
                    bins.data = None

    def _create_key(self, unit: Unit) -> bytes:
        """Return a key that is equal for units with the same bins."""
        documents = sum(len(self.parts[name].labels) for name in unit.fold.train)
        settings = get_trainer(unit.candidate.library).get_bin_settings(unit.seeded_candidate, documents)
        separate = settings is None or unit.resampled
        return create_canonical_json([unit.candidate.library, unit.fold.name, unit.slug if separate else settings])


@dataclass
class _Bins:
    """Bins that the first of several units creates while the others wait, released after the last of them."""

    units: list[Unit] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    data: Any = None


@dataclass
class RoundWatch:
    """Evaluate the scores of every round, and return whether training should stop.

    Training stops if *every* metric has had `patience` rounds without a new best value. So the best round of each
    metric is the same as if it had stopped training alone. A patience of 0 never stops training.

    Attributes
    ----------
    evaluator : Evaluator
        Metrics on the validation set.
    patience : int
        Number of rounds without an improvement.
    check : callable
        Called in every round. Raises an error if training was called off.
    report : callable, optional
        Called with the values of every round.
    rounds : list of list of float
        Values of all rounds.
    """

    evaluator: Evaluator
    patience: int
    check: Callable[[], None] = lambda: None
    report: Callable[[Sequence[float]], None] | None = None
    rounds: list[list[float]] = field(default_factory=list)

    def __call__(self, scores: Any) -> bool:
        """Evaluate the scores of one round, and return whether training should stop. A `ValueError` names the round."""
        self.check()
        with in_round(len(self.rounds) + 1, " on valid"):
            values = list(self.evaluator.mean(scores).values())
        if self.report is not None:
            self.report(values)
        return self.record(values)

    def record(self, values: Sequence[float]) -> bool:
        """Append the values of one round, and return whether training should stop."""
        self.rounds.append(list(values))
        if not self.patience:
            return False
        best_rounds = find_best_rounds(orient(np.array(self.rounds), self.evaluator.metrics))
        return len(self.rounds) - max(best_rounds) >= self.patience


def train_candidate(
    candidate: Candidate, unit: Unit, metrics: Sequence[Metric], context: TrainingContext
) -> tuple[bytes, Training]:
    """Train a candidate once and evaluate all stored rounds.

    Returns the model file and the results. The test scores come from the file, not from the booster in memory.
    """
    trainer, threads = get_trainer(candidate.library), candidate.threads or 1
    on_valid = Evaluator(metrics, context.judgments[unit.fold.valid], threads)
    on_test = Evaluator(metrics, context.judgments[unit.fold.test], threads)
    watch = RoundWatch(on_valid, candidate.early_stopping_rounds or 0, context.check, context.follow(unit))
    with context.bin_data(unit) as data:
        model = trainer.train(candidate, data, watch)
    curves = np.array(watch.rounds, dtype=np.float64)
    test = context.parts[unit.fold.test]
    rounds = find_stored_rounds(orient(curves, metrics))
    scores = predict_rounds(candidate.library, trainer.load(model), test, rounds, threads)
    weights = shared_weights(on_test.metrics, on_test.judgments)
    documents = {f"score {number}": values for number, values in scores.items()}
    columns = np.array([test.columns[name] for name in list_metric_columns(metrics)]).reshape(-1, len(test.labels))
    return model, Training(
        fold=unit.fold.name,
        curves=curves,
        rounds=np.array(rounds),
        test=np.stack([on_test(values).per_query for values in scores.values()]),
        weights=np.ones(len(test.query_ids)) if weights is None else weights,
        valid_weight=np.array(compute_total_weights(on_valid)),
        query_ids=test.query_ids,
        documents={"label": test.labels, "query": test.qid.astype(np.int32), "columns": columns, **documents},
        versions=get_versions(candidate.library),
    )


def compute_total_weights(evaluator: Evaluator) -> list[float]:
    """Return for each metric the total weight of the queries with a value.

    Raises
    ------
    ValueError
        If no query has a value under a metric.
    """
    values = evaluator(np.zeros(evaluator.judgments.documents)).per_query
    query_weights, totals = evaluator.judgments.weights, []
    for metric, has_value in zip(evaluator.metrics, ~np.isnan(values.T), strict=True):
        weights = None if metric.weights == "ignore" else query_weights
        total = float((has_value if weights is None else weights[has_value]).sum())
        if not total > 0:
            raise ValueError(f"No query has a value under {metric}, because all lack relevant documents.")
        totals.append(total)
    return totals


def perform(storage: Storage, plan: ExperimentPlan, unit: Unit, data: TrainingContext | SharedParts) -> list[str]:
    """Train a unit, write the result, and return words on it: the best values of the metrics that choose rounds.

    An error in training is written too, because it affects this candidate only. An error in writing (a full disk) is
    raised, because it affects all candidates.

    Raises
    ------
    CalledOffError
        If the run has ended. Nothing was written.
    """
    if not data.are_open:
        raise CalledOffError(unit)
    started = time.perf_counter()
    try:
        context = data
        if isinstance(context, SharedParts):
            context = TrainingContext({name: context.read(name) for name in unit.fold.parts}, [unit])
        model, training = train_candidate(unit.seeded_candidate, unit, plan.metrics, context)
    except Exception:
        if not data.are_open:  # The error is a `CalledOffError`, or the data have been removed.
            raise CalledOffError(unit) from None
        text = traceback.format_exc()
        storage.save_failure(unit, text)
        return [f"failed, {get_last_line(text)}"]
    seconds = time.perf_counter() - started
    if not data.exist:
        raise CalledOffError(unit)
    storage.save(plan, unit, model, training)
    curves = training.curves
    storage.write_compared_model(plan, unit, curves)
    rounds = {name: plan.choose_round(curves, name) for name in plan.primary_metrics}
    best = [f"{name} {curves[number - 1, plan.names.index(name)]:.4f} @{number}" for name, number in rounds.items()]
    return [*best, f"{seconds:.1f} s"]


def uses_other_processes(executor: Executor | None) -> bool:
    """Return whether an executor trains in other processes. Raise `TypeError` if it is not an executor."""
    if executor is not None and not callable(getattr(executor, "submit", None)):
        fix = "For Dask, pass client.get_executor()."
        raise TypeError(f"executor must be a concurrent.futures.Executor, got {type(executor).__name__}. {fix}")
    return executor is not None and not isinstance(executor, ThreadPoolExecutor)


def perform_all(
    storage: Storage,
    plan: ExperimentPlan,
    units: Sequence[Unit],
    parts: Parts,
    progress: Progress,
    executor: Executor | None,
    jobs: int | None,
) -> None:
    """Train all units. After the end, no training writes anything.

    Parameters
    ----------
    storage, plan, units, parts
        Directory, plan, units and data.
    progress : Progress
        Reports the rounds of trainings in this process, and all finished units.
    executor : Executor, optional
        Threads share the data in memory. Other executors read them from the disk.
    jobs : int, optional
        Number of simultaneous trainings without an executor. Defaults to CPUs divided by threads.
    """

    def submit_all(executor: Executor, units: Sequence[Unit], data: TrainingContext | SharedParts) -> None:
        """Report outcomes as they come. After an error, start nothing and wait for the running trainings."""
        waiting: dict[Future[list[str]], Unit] = {}
        try:
            for unit in units:
                waiting[executor.submit(perform, storage, plan, unit, data)] = unit
            for future in as_completed(list(waiting)):
                progress.report(waiting.pop(future), future.result())
        except BaseException:
            data.close()  # Some executors assign more tasks than they have workers, and cannot cancel them.
            raise
        finally:
            running = [future for future in waiting if not future.cancel()]
            for future in wait(running).done:
                if future.exception() is None:
                    progress.report(waiting[future], future.result())

    if not units:
        return
    if executor is not None and uses_other_processes(executor):
        with storage.share_data(parts) as shared:
            submit_all(executor, units, shared)
        return
    context = TrainingContext(parts, units, progress.follow)
    # LightGBM has one number of threads per process, and trees may depend on it.
    for threads in sorted({unit.candidate.threads or 1 for unit in units}):
        same_threads = [unit for unit in context.sorted_units if (unit.candidate.threads or 1) == threads]
        workers = jobs or max(1, cpus() // threads)
        if executor is not None:
            submit_all(executor, same_threads, context)
        elif workers == 1 or len(same_threads) == 1:
            for unit in same_threads:
                progress.report(unit, perform(storage, plan, unit, context))
        else:
            with ThreadPoolExecutor(workers, "gainwise-training") as pool:
                submit_all(pool, same_threads, context)
