"""The result of an experiment: the comparison of its models, and the models themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.cached import cached_property
from .._common.checks import check_whole
from .._common.shown import printable
from .._common.words import count
from ..comparison.comparison import Comparison
from ..comparison.verdict import Verdict
from .choices import Choices
from .progress import get_last_line
from .repeats import FULL
from .rounds import EACH, SelectedModel, validate_stop_by
from .storage import DamagedError, Storage
from .summary import create_notes, summarize
from .trainers import get_trainer
from .trainings import CandidateTrainings, create_rankings, list_finalists, select_screening

if TYPE_CHECKING:
    import pandas as pd

    from ..metrics.names import MetricLike
    from .candidate import Candidate
    from .plan import Plan, Unit
    from .trainings import Training


class NothingFinishedError(RuntimeError):
    """No candidate of an experiment is finished. `failures` contains the traceback of each."""

    def __init__(self, message: str, failures: Mapping[str, str]) -> None:
        super().__init__(message)
        self.failures = dict(failures)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.failures)


class ExperimentResult(Choices):
    """The result of an experiment, returned by `Experiment.run` and `Experiment.load`.

    The compared models are candidates at one round each, chosen on the validation set (see `compared`), or recipes with
    several repeats (`repeat_values`). `best_rounds` and `chosen` contain the choices of each metric alone, and
    `choice_loss` and `stopping_loss` the cost of other choices.

    Parameters
    ----------
    plan : Plan
        Plan of the experiment.
    trainings : mapping of candidate to CandidateTrainings
        Trainings of the candidates that are finished on all folds.
    failures : mapping of candidate to str, optional
        Reasons why the others are not finished.
    directory : Path, optional
        Directory of the models.
    full : mapping of candidate to CandidateTrainings, optional
        Trainings on all training queries, if the compared ones are on resampled queries.
    first : mapping of candidate to Training, optional
        Trainings that chose finalists.

    Attributes
    ----------
    candidates : tuple of str
        Names of the finished candidates.
    identical : tuple of str
        Names of the candidates whose repeats are identical, because another seed changes nothing. Each is compared as
        one fixed model.
    metrics : tuple of str
        Names of the metrics.
    failures : dict of candidate to str
        Candidates without a result, each with the traceback.
    directory : Path or None
        Directory of the experiment.
    """

    def __init__(
        self,
        plan: Plan,
        trainings: Mapping[str, CandidateTrainings],
        failures: Mapping[str, str] | None = None,
        directory: Path | None = None,
        *,
        full: Mapping[str, CandidateTrainings] | None = None,
        first: Mapping[str, Training] | None = None,
    ) -> None:
        super().__init__(plan, trainings, full, first)
        self.candidates = tuple(trainings)
        self.metrics = plan.names
        self.failures = dict(failures or {})
        self.directory = directory

    @cached_property
    def comparison(self) -> Comparison:
        """Comparison of all models on the test set, each the same under every metric.

        With folds, each query is tested by the model of its fold. With repeats, the models are recipes.
        """
        repeat_values, has_value = self._collect_compared_values()
        models = list(repeat_values)
        values = {
            metric: np.stack([repeat_values[model][metric].mean(axis=1) for model in models], axis=1)
            for metric in self.plan.names
        }
        recipes = {model: tables for model, tables in repeat_values.items() if next(iter(tables.values())).shape[1] > 1}
        weights = self._weights[has_value]
        options: dict[str, Any] = {"repeats": recipes, "vary": self.plan.vary} if recipes else {}
        if self.plan.clusters is not None:
            options["clusters"] = np.array(self.plan.clusters)[has_value]
        if self.plan.segments is not None:
            options["segments"] = {name: np.array(labels)[has_value] for name, labels in self.plan.segments.items()}
        return Comparison(
            values,
            models,
            **options,
            weights=None if (weights == weights[0]).all() else weights,
            primary=self.plan.primary,
            metrics=dict(zip(self.plan.names, self.plan.metrics, strict=True)),
            rankings=create_rankings(self.trainings, self.models, has_value),
            curves=self._name_curves(),
            missing=self.missing,
            notes=self.notes,
            alpha=self.plan.alpha,
            margin=self.plan.margin,
            draws=self.plan.draws,
            seed=self.plan.seed,
        )

    @property
    def verdict(self) -> Verdict:
        """Verdict of the comparison."""
        return self.comparison.verdict

    @property
    def leaderboard(self) -> pd.DataFrame:
        """Leaderboard of the comparison."""
        return self.comparison.leaderboard

    @property
    def pairs(self) -> pd.DataFrame:
        """Pairs of the comparison."""
        return self.comparison.pairs

    @property
    def winners(self) -> dict[str, str]:
        """Best model on the test set under each metric."""
        return self.comparison.winners

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on folds, repeats and finalists, which the comparison and its reports contain too."""
        return create_notes(self)

    @property
    def missing(self) -> list[str]:
        """One line for each candidate that is not compared, with the reason."""
        return [printable(f"Not compared: {name} ({get_last_line(text)})") for name, text in self.failures.items()]

    def load_model(
        self,
        candidate: str,
        stop_by: MetricLike | int | None = None,
        *,
        repeat: int | str | None = None,
        fold: str | None = None,
    ) -> Any:
        """Return a trained model as a `lightgbm.Booster` or `xgboost.Booster`, cut at one round.

        By default, this is the compared model. Its `predict` returns the scores behind all test results, to
        the last bit. The directory contains the same model as `model.txt` (LightGBM) or `model.ubj`
        (XGBoost).

        Parameters
        ----------
        candidate : str
            Name of a candidate or model (see `compared`).
        stop_by : "balanced", metric or int, optional
            Rule or number of rounds to cut the model at. Defaults to the compared round.
        repeat : int or "full", optional
            Repeat, counted from 1, if there are several. "full" is the training on all training queries, if repeats use
            resampled queries.
        fold : str, optional
            Fold, if there are several.

        Returns
        -------
        lightgbm.Booster or xgboost.Booster
            Its `best_iteration` is its last round.

        Raises
        ------
        KeyError
            If the candidate or fold does not exist.
        ValueError
            If the experiment had no directory, or the model, repeat or round is ambiguous or does not exist.

        Notes
        -----
        Choose a repeat without the test set: repeat 1, or the best one on the validation set (`repeat_values`).
        """
        if self.directory is None:
            raise ValueError("The models were not kept. Pass directory= to Experiment.")
        unit, rounds = self._find_model(candidate, stop_by, repeat, fold)
        storage, trainer = Storage(self.directory), get_trainer(unit.candidate.library)
        try:
            if storage.load(self.plan, unit) is None:
                raise DamagedError(f"it is missing in {self.directory}")
            return trainer.load(trainer.cut(storage.read_model(unit), rounds))
        except DamagedError as error:
            raise RuntimeError(f"{unit}: {error}. Run the experiment again.") from error

    def summary(self) -> str:
        """Return the result in words, one statement per line."""
        verdict = [self.verdict.text] if len(self.metrics) > 1 else []
        notes = [f"{note}." for note in self.notes]
        return "\n".join([*verdict, *summarize(self, self.comparison), *notes, *self.missing])

    def _name_curves(self) -> pd.DataFrame:
        """Return the curves with each training as a fold, because charts draw one line per fold."""
        curves = self.curves
        if self.plan.repeats.number == 1:
            return curves.drop(columns="repeat")
        names = {
            (fold, repeat): ", ".join(filter(None, (fold, f"repeat {repeat}" if repeat else "")))
            for fold, repeat in set(zip(curves["fold"], curves["repeat"], strict=True))
        }
        folds = [names[key] for key in zip(curves["fold"], curves["repeat"], strict=True)]
        return curves.assign(fold=folds).drop(columns="repeat")

    def _find_model(
        self, name: str, stop_by: MetricLike | int | None, repeat: int | str | None, fold: str | None
    ) -> tuple[Unit, int]:
        """Return the training of a model and the number of its rounds."""
        exact = [model for model in self.models if model.name == name]
        models = exact or [model for model in self.models if model.candidate == name]
        folds = self.plan.folds
        places = [at for at, part in enumerate(folds) if part.name == fold or (not fold and len(folds) == 1)]
        if name in self._first and not models:
            raise KeyError(f"{name!r} was trained once and is not a finalist. Finalists: {', '.join(self.candidates)}")
        finished = {candidate.name: candidate for candidate in self.plan.candidates if candidate.name in self.trainings}
        if not models or not places:
            units = ", ".join(str(unit) for it in finished.values() for unit in self.plan.list_compared_units(it))
            raise KeyError(f"no model of candidate {name!r}, fold {fold!r}. Models: {units}")
        candidate: Candidate = finished[models[0].candidate]
        place = places[0]
        number = self._validate_repeat(models[0], repeat)
        if number == 0:
            trainings, units_of = self.full[candidate.name], self.plan.list_full_units(candidate)
        else:
            trainings, units_of = self.trainings[candidate.name], self.plan.list_compared_units(candidate)
            place += len(folds) * (number - 1)
        unit, training = units_of[place], trainings.trainings[place]
        if stop_by is None:
            rounds = [self.plan.choose_round(training.curves, model.stop_by.split(" and ")[0]) for model in models]
            if len(set(rounds)) > 1:
                names = " and ".join(repr(model.name) for model in models)
                raise ValueError(
                    f"{name!r} was compared at two rounds, as {names}. Pass one of these names, or stop_by."
                )
            return unit, rounds[0]
        if isinstance(stop_by, int | np.integer):
            if check_whole("stop_by", stop_by, 1) > len(training.curves):
                raise ValueError(f"stop_by must be at most {len(training.curves)}, the rounds of {unit}, got {stop_by}")
            return unit, int(stop_by)
        rule = validate_stop_by(stop_by, self.plan.metrics)
        if rule == EACH:
            raise ValueError("stop_by must be 'balanced', a metric or a number of rounds, got stop_by='each'")
        return unit, self.plan.choose_round(training.curves, rule)

    def _validate_repeat(self, model: SelectedModel, repeat: int | str | None) -> int:
        """Return the number of a repeat, counted from 1, or 0 for the training on all training queries."""
        repeats, has_full = self.trainings[model.candidate].repeats, model.candidate in self.full
        if repeat == FULL and has_full:
            return 0
        if repeat is None and repeats == 1:
            return 1
        if repeat is None:
            metric = self.plan.primary_metrics[0]
            valid = self.repeat_values.loc[model.name][f"valid {metric}"]
            higher = self.plan.metrics[self.plan.names.index(metric)].higher_is_better
            best = valid.idxmax() if higher else valid.idxmin()
            full = ", or repeat='full', which is trained on all training queries but not compared" if has_full else ""
            raise ValueError(
                f"{model.candidate!r} was trained {repeats} times. Pass repeat=1, or repeat={best}, the best on the "
                f"validation set by {metric}{full}."
            )
        if isinstance(repeat, str):
            allowed = f" or {FULL!r}" if has_full else ""
            raise ValueError(f"repeat must be a number from 1 to {repeats}{allowed}, got {repeat!r}")
        if check_whole("repeat", repeat, 1) > repeats:
            raise ValueError(f"repeat must be at most {repeats}, the repeats of {model.candidate!r}, got {repeat}")
        return int(repeat)

    def _repr_html_(self) -> str:
        return self.comparison._repr_html_()

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        size = f"{count(len(self.candidates), 'candidate')}{failed}, {count(len(self._weights), 'query')}"
        return f"ExperimentResult({size}, metrics {', '.join(self.metrics)})"


def create_result(
    storage: Storage, plan: Plan, trainings: Mapping[str, Training], directory: Path | None
) -> ExperimentResult:
    """Return the result of the candidates whose trainings are all finished, or raise.

    Parameters
    ----------
    storage, plan : Storage, Plan
        Directory and plan.
    trainings : mapping of slug to Training
        Finished trainings.
    directory : Path or None
        Directory that remains. None for a temporary one, whose scores are read now.
    """
    if directory is None:
        trainings = {
            slug: replace(training, documents=dict(training.documents)) for slug, training in trainings.items()
        }
    candidates: dict[str, CandidateTrainings] = {}
    full: dict[str, CandidateTrainings] = {}
    failures: dict[str, str] = {}
    first = select_screening(plan, trainings)
    finalists = list_finalists(plan, first)
    for candidate in plan.candidates:
        if candidate.name in first and candidate.name not in finalists:
            continue
        units, full_units = plan.list_compared_units(candidate), plan.list_full_units(candidate)
        missing = [unit for unit in (*units, *full_units) if unit.slug not in trainings]
        if plan.repeats.finalists and candidate.name not in first:
            missing = [unit for unit in plan.list_first_units() if unit.candidate == candidate]
        if missing:
            reasons = [
                (storage.read_failure(unit) or "not trained yet, run the experiment").strip() for unit in missing
            ]
            pairs = zip(missing, reasons, strict=True)
            failures[candidate.name] = "\n".join(f"{unit}: {reason}" for unit, reason in pairs)
            continue
        candidates[candidate.name] = CandidateTrainings([trainings[unit.slug] for unit in units], plan.repeats.number)
        if full_units:
            full[candidate.name] = CandidateTrainings([trainings[unit.slug] for unit in full_units])
    if not candidates:
        reason = "; ".join(f"{name}: {get_last_line(text)}" for name, text in failures.items())
        raise NothingFinishedError(f"no candidate is finished: {reason}", failures)
    return ExperimentResult(plan, candidates, failures, directory, full=full, first=first)
