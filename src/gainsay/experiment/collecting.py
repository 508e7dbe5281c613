"""From the directory of an experiment to its result; the only way there is, whether it was run now or long ago."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..evaluation.evaluator import Evaluator
from ..judgments import Judgments
from .own_metrics import origins
from .plan import Plan, Unit
from .progress import last_line
from .result import ExperimentResult
from .storage import DamagedError, Storage
from .trainings import CandidateTrainings, Training, finalists_of, screening_of


class NothingFinishedError(RuntimeError):
    """No candidate of an experiment is finished; `failures` holds for each why, with its traceback."""

    def __init__(self, message: str, failures: Mapping[str, str]) -> None:
        super().__init__(message)
        self.failures = dict(failures)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.failures)


def collect(
    storage: Storage, plan: Plan, units: Iterable[Unit], current: Mapping[str, str] | None = None
) -> dict[str, Training]:
    """Return by slug what is finished of these units. What is damaged counts as not finished, with a warning.

    A run that goes on gives the `current` versions of libraries: then there is a warning where a unit stems from
    another one, and the models that the plan compares are put where they belong.
    """
    found = {}
    for unit in units:
        try:
            training = storage.load(plan, unit)
        except DamagedError as error:
            warnings.warn(f"{storage.folder(unit)}: {error}; {unit} has to be trained again", stacklevel=4)
            continue
        if training is None:
            continue
        found[unit.slug] = training
        if current is not None:
            library = unit.candidate.library
            if training.versions.get(library) != current[library]:
                warnings.warn(
                    f"{unit} was trained by {library} {training.versions.get(library)}, this is {current[library]}; "
                    "for a result of one version take another directory",
                    stacklevel=4,
                )
            storage.place_models(plan, unit, training.curves)
    return found


def check_unchanged(plan: Plan, found: Mapping[str, Training]) -> None:
    """Raise `ValueError` where a metric of the user's has other values than it had, so that two would go by one name.

    One candidate tells: what is kept of it at one round is evaluated again.
    """
    own = [metric for metric in plan.metrics if origins([metric])]
    training = next((found[unit.slug] for unit in plan.units() if unit.slug in found), None)
    if not own or training is None:
        return
    number, values = next(iter(training.test.items()))
    judgments = Judgments(training.documents["label"], qid=training.documents["query"])
    now = Evaluator(own, judgments)(training.documents[f"score {number}"]).per_query
    for metric, after in zip(own, now.T, strict=True):
        before = values[:, plan.metrics.index(metric)]
        changed = np.flatnonzero(~np.isclose(before, after, rtol=1e-9, atol=1e-12, equal_nan=True))
        if len(changed):
            at = changed[0]
            raise ValueError(
                f"{metric} was {before[at]:.6g} on query {training.query_ids[at]} and is now {after[at]:.6g}: it has "
                "changed since candidates were trained, or is another each time; define it as it was, or take another "
                "directory"
            )


def result_of(storage: Storage, plan: Plan, found: Mapping[str, Training], directory: Path | None) -> ExperimentResult:
    """Return what the candidates show together of which every training is finished; raise where there is none."""
    if directory is None:  # of a run without one nothing stays on disk
        found = {slug: replace(training, documents=dict(training.documents)) for slug, training in found.items()}
    candidates: dict[str, CandidateTrainings] = {}
    full: dict[str, CandidateTrainings] = {}
    failures: dict[str, str] = {}
    first = screening_of(plan, found)
    finalists = finalists_of(plan, first)
    for candidate in plan.candidates:
        if candidate.name in first and candidate.name not in finalists:
            continue
        units, whole = plan.compared_units(candidate), plan.full_units(candidate)
        missing = [unit for unit in (*units, *whole) if unit.slug not in found]
        if plan.runs.finalists and candidate.name not in first:
            missing = [unit for unit in plan.first_units() if unit.candidate == candidate]
        if missing:
            failures[candidate.name] = "\n".join(f"{unit}: {_reason(storage, unit)}" for unit in missing)
            continue
        runs = len(plan.runs_of(candidate))
        candidates[candidate.name] = CandidateTrainings([found[unit.slug] for unit in units], runs)
        if whole:
            full[candidate.name] = CandidateTrainings([found[unit.slug] for unit in whole])
    if not candidates:
        reasons = "; ".join(f"{name}: {last_line(text)}" for name, text in failures.items())
        raise NothingFinishedError(f"no candidate is finished: {reasons}", failures)
    return ExperimentResult(plan, candidates, failures, directory, full=full, first=first)


def _reason(storage: Storage, unit: Unit) -> str:
    return (storage.failure(unit) or "not trained yet; run the experiment to go on").strip()
