"""From the directory of an experiment to its result; the only way there is, whether it was run now or long ago."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..evaluation.evaluator import Evaluator
from ..judgments import Judgments
from .files import DamagedError, from_parquet
from .finished import Finished, score_column
from .measured import Measured, OnFold, Read, finalists_of, first_of
from .own_metrics import origins
from .plan import Plan, Unit
from .progress import last_line
from .result import ExperimentResult
from .store import Store


class NothingFinishedError(RuntimeError):
    """No candidate of an experiment is finished; `failures` holds for each why, with its traceback."""

    def __init__(self, message: str, failures: Mapping[str, str]) -> None:
        super().__init__(message)
        self.failures = dict(failures)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.failures)


def collect(
    store: Store, plan: Plan, units: Iterable[Unit], current: Mapping[str, str] | None = None
) -> dict[str, OnFold]:
    """Return by slug what is finished of these units. What is damaged counts as not finished, with a warning.

    A run that goes on gives the `current` versions of libraries: then there is a warning where a unit stems from
    another one, and the models that the plan compares are put where they belong.
    """
    found = {}
    for unit in units:
        try:
            finished = store.load(plan, unit)
            if finished is not None:
                found[unit.slug] = OnFold.from_finished(unit.fold.name, finished, plan.names)
        except DamagedError as error:
            warnings.warn(f"{store.folder(unit)}: {error}; {unit} has to be trained again", stacklevel=4)
            continue
        if finished is not None and current is not None:
            _warn_of_version(unit, finished, current[unit.candidate.library])
            store.place_models(plan, unit, finished.model, found[unit.slug].curves)
    return found


def check_unchanged(store: Store, plan: Plan, found: Mapping[str, OnFold]) -> None:
    """Raise `ValueError` where a metric of the user's has other values than it had, so that two would go by one name.

    One candidate tells: what is kept of it at one round is evaluated again.
    """
    own = [metric for metric in plan.metrics if origins([metric])]
    unit = next((unit for unit in plan.units() if unit.slug in found), None)
    if not own or unit is None:
        return
    kept = found[unit.slug]
    number, values = next(iter(kept.test.items()))
    frame = from_parquet(store.scores(unit), ["query", "label", score_column(number)])
    judgments = Judgments(frame["label"].to_numpy(), qid=frame["query"].to_numpy())
    now = Evaluator(own, judgments)(frame[score_column(number)].to_numpy()).per_query
    for metric, after in zip(own, now.T, strict=True):
        before = values[:, plan.metrics.index(metric)]
        changed = np.flatnonzero(~np.isclose(before, after, rtol=1e-9, atol=1e-12, equal_nan=True))
        if len(changed):
            at = changed[0]
            raise ValueError(
                f"{metric} was {before[at]:.6g} on query {kept.query_ids[at]} and is now {after[at]:.6g}: it has "
                "changed since candidates were trained, or is another each time; define it as it was, or take another "
                "directory"
            )


def _warn_of_version(unit: Unit, finished: Finished, now: str) -> None:
    before = finished.manifest["versions"].get(unit.candidate.library)
    if before != now:
        warnings.warn(
            f"{unit} was trained by {unit.candidate.library} {before}, this is {now}; for a result of one version take "
            "another directory",
            stacklevel=5,
        )


def result_of(store: Store, plan: Plan, found: Mapping[str, OnFold], directory: Path | None) -> ExperimentResult:
    """Return what the candidates show together of which every training is finished; raise where there is none."""
    measured: dict[str, Measured] = {}
    full: dict[str, Measured] = {}
    failures: dict[str, str] = {}
    first = first_of(plan, found)
    finalists = finalists_of(plan, first)
    for candidate in plan.candidates:
        if candidate.name in first and candidate.name not in finalists:
            continue
        units, whole = plan.compared_units(candidate), plan.full_units(candidate)
        missing = [unit for unit in (*units, *whole) if unit.slug not in found]
        if plan.runs.finalists and candidate.name not in first:
            missing = [unit for unit in plan.first_units() if unit.candidate == candidate]
        if missing:
            failures[candidate.name] = "\n".join(f"{unit}: {_reason(store, unit)}" for unit in missing)
            continue
        measured[candidate.name] = Measured([found[unit.slug] for unit in units], len(plan.runs_of(candidate)))
        if whole:
            full[candidate.name] = Measured([found[unit.slug] for unit in whole])
    if not measured:
        reasons = "; ".join(f"{name}: {last_line(text)}" for name, text in failures.items())
        raise NothingFinishedError(f"no candidate is finished: {reasons}", failures)
    scores = _scores(store, plan, measured, directory)
    return ExperimentResult(plan, measured, failures, directory, scores, full=full, first=first)


def _scores(store: Store, plan: Plan, measured: Mapping[str, Measured], directory: Path | None) -> Read:
    """Return what reads the scores of a candidate.

    They are read when asked for, but for a run without directory, of which nothing stays on disk.
    """
    units = {it.name: plan.compared_units(it) for it in plan.candidates if it.name in measured}
    if directory is not None:
        return partial(_from_disk, store, units)
    return partial(_from_memory, {name: [store.scores(unit) for unit in its] for name, its in units.items()})


def _from_disk(store: Store, units: Mapping[str, Sequence[Unit]], candidate: str, training: int) -> bytes:
    return store.scores(units[candidate][training])


def _from_memory(files: Mapping[str, Sequence[bytes]], candidate: str, training: int) -> bytes:
    return files[candidate][training]


def _reason(store: Store, unit: Unit) -> str:
    return (store.failure(unit) or "not trained yet; run the experiment to go on").strip()
