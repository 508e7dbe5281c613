"""What an experiment shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.cached import cached_property
from .._common.checks import check_whole
from .._common.words import count
from ..comparison.comparison import Comparison
from ..comparison.verdict import Verdict
from .choices import Choices
from .libraries import library_of
from .progress import last_line
from .rounds import EACH, check_stop_by
from .runs import FULL
from .storage import DamagedError, Storage
from .trainings import rankings_of, screened
from .wording import notes_of, summary

if TYPE_CHECKING:
    import pandas as pd

    from ..metrics.names import MetricLike
    from .plan import Plan, Unit
    from .rounds import Artefact
    from .trainings import CandidateTrainings, Training


class ExperimentResult(Choices):
    """What an experiment shows; made by `Experiment.run` and `Experiment.load`.

    Compared on test, and given by `load_model`, are models: candidates at one round each, which valid chose (see
    `compared`); or recipes, of which each run is such a model (`run_values`). Beside that stands what each
    metric would choose by itself: `best_rounds`, `chosen`, and what differs by it, `choice_loss` and `stopping_loss`.

    Parameters
    ----------
    plan : Plan
        What the experiment consists of.
    measured : mapping of candidate to CandidateTrainings
        What was measured of the candidates that are finished on all folds.
    failures : mapping of candidate to str
        Why the others are not.
    directory : Path, optional
        Where the models are.
    full : mapping of candidate to CandidateTrainings, optional
        The trainings on all training queries, where those that are compared are on resampled ones.
    first : mapping of candidate to Training, optional
        The trainings that chose finalists.

    Attributes
    ----------
    candidates : tuple of str
        Those that are finished.
    metrics : tuple of str
        Their names.
    failures : dict of candidate to str
        Candidates without a result, each with the traceback.
    directory : Path or None
        Where everything lies.
    """

    def __init__(
        self,
        plan: Plan,
        measured: Mapping[str, CandidateTrainings],
        failures: Mapping[str, str] | None = None,
        directory: Path | None = None,
        *,
        full: Mapping[str, CandidateTrainings] | None = None,
        first: Mapping[str, Training] | None = None,
    ) -> None:
        super().__init__(plan, measured, full)
        self._first = dict(first or {})
        self.candidates = tuple(measured)
        self.metrics = plan.names
        self.failures = dict(failures or {})
        self.directory = directory

    @cached_property
    def comparison(self) -> Comparison:
        """All models on test, each the same under every metric: see `compared`.

        With folds each query is in it once, from the fold in which it is tested. With runs it is of recipes: candidates
        trained again and again, each run at a round of its own.
        """
        of_runs, counted = self._compared_values()
        models = list(of_runs)
        values = {
            metric: np.stack([of_runs[model][metric].mean(axis=1) for model in models], axis=1)
            for metric in self.plan.names
        }
        recipes = {model: tables for model, tables in of_runs.items() if next(iter(tables.values())).shape[1] > 1}
        weights = self._weights[counted]
        about: dict[str, Any] = {"repeats": recipes, "vary": self.plan.runs.vary} if recipes else {}
        if self.plan.clusters is not None:
            about["clusters"] = np.array(self.plan.clusters)[counted]
        if self.plan.segments is not None:
            about["segments"] = {name: np.array(its)[counted] for name, its in self.plan.segments.items()}
        return Comparison(
            values,
            models,
            **about,
            weights=None if (weights == weights[0]).all() else weights,
            primary=self.plan.primary,
            metrics=dict(zip(self.plan.names, self.plan.metrics, strict=True)),
            rankings=rankings_of(self.measured, self.artefacts, counted),
            curves=self._lines(),
            missing=self.missing,
            notes=self.notes,
            alpha=self.plan.alpha,
            margin=self.plan.margin,
            draws=self.plan.draws,
            seed=self.plan.seed,
        )

    def _lines(self) -> pd.DataFrame:
        """Return the curves with each training as a fold, which is how pictures draw a line of its own for each."""
        curves = self.curves
        if self.plan.runs.count == 1:
            return curves.drop(columns="run")
        names = {
            (fold, run): ", ".join(filter(None, (fold, f"run {run}" if run else "")))
            for fold, run in set(zip(curves["fold"], curves["run"], strict=True))
        }
        folds = [names[key] for key in zip(curves["fold"], curves["run"], strict=True)]
        return curves.assign(fold=folds).drop(columns="run")

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known of folds, runs and finalists, in words; the comparison and its reports have them too."""
        return notes_of(self, self.finalists)

    @property
    def finalists(self) -> pd.DataFrame:
        """How the candidates did on valid that were trained once to choose finalists: see `runs` of `Experiment`.

        One row per candidate: `valid M` for each primary metric M, and `finalist`. Empty where all are repeated.
        """
        return screened(self.plan, self._first)

    @property
    def verdict(self) -> Verdict:
        """That of the comparison."""
        return self.comparison.verdict

    @property
    def leaderboard(self) -> pd.DataFrame:
        """That of the comparison."""
        return self.comparison.leaderboard

    @property
    def pairs(self) -> pd.DataFrame:
        """Those of the comparison."""
        return self.comparison.pairs

    @property
    def winners(self) -> dict[str, str]:
        """Those of the comparison: best on test."""
        return self.comparison.winners

    def load_model(
        self,
        candidate: str,
        stop_by: MetricLike | int | None = None,
        *,
        run: int | str | None = None,
        fold: str | None = None,
    ) -> Any:
        """Return a trained model as a `lightgbm.Booster` or `xgboost.Booster`, cut at one round.

        By default it is the very model that was compared: its `predict`, without being told of rounds, gives the scores
        from which every number on test was computed, to the last bit. The same model lies in the directory as
        `model.txt` (of LightGBM) or `model.ubj` (of XGBoost).

        Parameters
        ----------
        candidate : str
            Its name, or that of a model (see `compared`).
        stop_by : "balanced", metric or int, optional
            Cut where this would have stopped instead, or after so many rounds.
        run : int or "full", optional
            Of which run, counted from 1, where there are several. Which one to ship is not for test to say: any that is
            chosen without it will do as well as the verdict says of the recipe, run 1 or the one that is best on valid
            (`run_values`). "full" is the training on all training queries, where runs are trained on resampled ones:
            the model to ship then, though it is not the one that was compared.
        fold : str, optional
            Of which fold, where there are several.

        Returns
        -------
        lightgbm.Booster or xgboost.Booster
            Its `best_iteration` is its last round.

        Raises
        ------
        KeyError
            Where there is no such candidate or fold.
        ValueError
            Where the experiment was run without a directory, two models of the candidate were compared and neither is
            named, there are several runs and none is named, or there is no such run or round.
        """
        if self.directory is None:
            raise ValueError("the models were not kept: give the experiment a directory")
        unit, rounds = self._cut(candidate, stop_by, run, fold)
        storage, library = Storage(self.directory), library_of(unit.candidate.library)
        try:
            if storage.load(self.plan, unit) is None:
                raise DamagedError(f"it is no longer in {self.directory}")
            return library.load(library.cut(storage.model(unit), rounds))
        except DamagedError as error:
            raise RuntimeError(f"{unit}: {error}; run the experiment again") from error

    def _cut(
        self, name: str, stop_by: MetricLike | int | None, run: int | str | None, fold: str | None
    ) -> tuple[Unit, int]:
        """Return which training a model is of, and after how many rounds it is cut."""
        named = [model for model in self.artefacts if model.name == name]
        models = named or [model for model in self.artefacts if model.candidate == name]
        folds = self.plan.folds
        places = [at for at, it in enumerate(folds) if it.name == fold or (not fold and len(folds) == 1)]
        if name in self._first and not models:
            raise KeyError(
                f"{name!r} was trained once to choose finalists and is none; these are: {', '.join(self.candidates)}"
            )
        finished = {it.name: it for it in self.plan.candidates if it.name in self.measured}
        if not models or not places:
            known = ", ".join(f"{unit}" for it in finished.values() for unit in self.plan.compared_units(it))
            raise KeyError(f"no model of candidate {name!r}, fold {fold!r}; there are: {known}")
        candidate, place = finished[models[0].candidate], places[0]
        measured, units = self.measured[candidate.name], self.plan.compared_units(candidate)
        at = place + len(folds) * (self._run(models[0], run) - 1)
        if at < 0:
            measured, units, at = self.full[candidate.name], self.plan.full_units(candidate), place
        unit, training = units[at], measured.trainings[at]
        if stop_by is None:
            rounds = [self.plan.round_by(training.curves, model.stop_by.split(" and ")[0]) for model in models]
            if len(set(rounds)) > 1:
                names = " and ".join(repr(model.name) for model in models)
                raise ValueError(f"{name!r} was compared at two rounds, as {names}: name one of them, or give stop_by")
            return unit, rounds[0]
        if isinstance(stop_by, int | np.integer):
            most = len(training.curves)
            if check_whole("stop_by", stop_by, 1) > most:
                raise ValueError(f"stop_by must be at most {most}, the rounds of {unit}: got {stop_by}")
            return unit, int(stop_by)
        chooser = check_stop_by(stop_by, self.plan.metrics)
        if chooser == EACH:
            raise ValueError("stop_by='each' names no round: give 'balanced', a metric, or a number of rounds")
        return unit, self.plan.round_by(training.curves, chooser)

    def _run(self, model: Artefact, run: int | str | None) -> int:
        """Return the number of a run, counted from 1; 0 is the training on all training queries."""
        runs = self.measured[model.candidate].runs
        full = model.candidate in self.full
        if run == FULL and full:
            return 0
        if run is None and runs == 1:
            return 1
        if run is None:
            valid = self.run_values.loc[model.name][f"valid {self.plan.judges[0]}"]
            rising = self.plan.metrics[self.plan.names.index(self.plan.judges[0])].higher_is_better
            best = valid.idxmax() if rising else valid.idxmin()
            ship = ", or run='full', trained on all training queries but not compared" if full else ""
            raise ValueError(
                f"{model.candidate!r} was trained {runs} times: say which run. Any will do that is chosen without a "
                f"look at test: {'' if best == 1 else 'run=1, or '}run={best}, the best on valid by "
                f"{self.plan.judges[0]}{ship}"
            )
        if isinstance(run, str):
            there = "" if full else ", and there is no training beside them"
            raise ValueError(
                f"run must be a number from 1 to {runs}{' or ' + repr(FULL) if full else there}, got {run!r}"
            )
        if check_whole("run", run, 1) > runs:
            raise ValueError(f"run must be at most {runs}, the runs of {model.candidate!r}: got {run}")
        return int(run)

    @property
    def missing(self) -> list[str]:
        """One line for each candidate that is not compared, with why."""
        from .._common.shown import printable

        return [printable(f"Not compared: {name} ({last_line(text)})") for name, text in self.failures.items()]

    def summary(self) -> str:
        """Return the outcome in words, one finding a line."""
        head = [self.verdict.text] if len(self.metrics) > 1 else []
        notes = [f"{note}." for note in self.notes]
        return "\n".join([*head, *summary(self, self.comparison), *notes, *self.missing])

    def _repr_html_(self) -> str:
        return self.comparison._repr_html_()

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        size = f"{count(len(self.candidates), 'candidate')}{failed}, {count(len(self._weights), 'query')}"
        return f"ExperimentResult({size}, metrics {', '.join(self.metrics)})"
