"""The result of an experiment: its comparison, and the models to load, to predict with and to train on all data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.arrays import nearest
from .._common.cached import cached_property
from .._common.checks import check_whole
from .._common.shown import printable, printables
from .._common.words import count
from ..comparison.comparison import Comparison
from ..comparison.verdict import Verdict
from .candidate import Candidate
from .folds import validate_data
from .models import Refit, TrainedModel, train_on_all_data
from .progress import get_last_line
from .repeats import FULL
from .rounds import EACH, validate_stop_by
from .storage import SUFFIXES, DamagedError, Storage
from .summary import create_notes, summarize
from .tables import ResultTables
from .trainings import CandidateTrainings, ComparedModel, create_rankings, list_finalists, select_screening

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Features, Floats
    from ..data import RankingData
    from ..metrics.names import MetricLike
    from .plan import Plan, Unit
    from .trainings import Training


class NothingFinishedError(RuntimeError):
    """No candidate of an experiment is finished. `failures` contains the traceback of each."""

    def __init__(self, message: str, failures: Mapping[str, str]) -> None:
        super().__init__(message)
        self.failures = dict(failures)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.failures)


class ExperimentResult(ResultTables):
    """The result of an experiment, returned by `Experiment.run` and `Experiment.load`.

    The compared models are candidates at one round each, chosen on the validation set (see `compared`), or recipes with
    several repeats (`repeat_values`). `selected` is the model to deploy. `load_model`, `predict` and `refit` use it by
    default. `choice_loss` and `stopping_loss` contain the cost of other choices.

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
    model_files : mapping of slug to bytes, optional
        Models in memory, if there is no directory.

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
        model_files: Mapping[str, bytes] | None = None,
    ) -> None:
        super().__init__(plan, trainings, full, first)
        self.candidates = tuple(trainings)
        self.metrics = plan.names
        self.failures = dict(failures or {})
        self.directory = directory
        self._model_files = dict(model_files or {})
        self._refits: dict[str, tuple[bytes, Refit]] = {}

    @cached_property
    def comparison(self) -> Comparison:
        """Comparison of all models on the test set, each the same under every metric.

        With folds, each query is tested by the model of its fold. With repeats, the models are recipes.
        """
        repeat_values, has_value = self._collect_compared_values()
        models = list(repeat_values)
        values: dict[str, Any] = {}
        for metric in self.plan.names:
            tables = [repeat_values[model][metric] for model in models]
            columns = [table if table.shape[1] > 1 else table[:, 0] for table in tables]
            values[metric] = columns if any(column.ndim > 1 for column in columns) else np.stack(columns, axis=1)
        weights = self._weights[has_value]
        options: dict[str, Any] = {"vary": self.plan.vary}
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
            selected=self.selected,
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
        candidate: str | None = None,
        stop_by: MetricLike | int | None = None,
        *,
        repeat: int | str | None = None,
        fold: str | None = None,
        refit: bool = False,
    ) -> Any:
        """Return a trained model as a `lightgbm.Booster` or `xgboost.Booster`, cut at one round.

        By default, this is the compared model. Its `predict` returns the scores behind all test results, to
        the last bit. The directory contains the same model as `model.txt` (LightGBM) or `model.ubj`
        (XGBoost).

        Parameters
        ----------
        candidate : str, optional
            Name of a candidate or model (see `compared`). Defaults to `selected`.
        stop_by : "balanced", metric or int, optional
            Rule or number of rounds to cut the model at. Defaults to the compared round.
        repeat : int or "full", optional
            Repeat, counted from 1, if there are several. Defaults to the best one on the validation set, by the rule of
            `selected`. "full" is the training on all training queries, if repeats use resampled queries.
        fold : str, optional
            Fold, required if there are several.
        refit : bool, default False
            Return the model that `refit` has trained on all data.

        Returns
        -------
        lightgbm.Booster or xgboost.Booster
            Its `best_iteration` is its last round.

        Raises
        ------
        KeyError
            If the candidate does not exist.
        ValueError
            If there are several folds, or the model, repeat, fold or round is ambiguous or does not exist.
        RuntimeError
            If the model is missing or damaged.
        """
        return self._get_model(candidate, stop_by, repeat, fold, refit).load()

    def predict(
        self,
        X: Features | RankingData,  # noqa: N803 - the name that scikit-learn uses
        candidate: str | None = None,
        *,
        fold: str | None = None,
        refit: bool = False,
    ) -> Floats:
        """Return the score of each row, from the model that `load_model` returns.

        Each call reads the model. To score many small batches, use `load_model`.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or RankingData, shape (rows, features)
            Features in the order of the training data. If both have names, they must be the same. Categories of a
            DataFrame are matched by value.
        candidate, fold, refit : optional
            See `load_model`.

        Returns
        -------
        ndarray, shape (rows,)

        Raises
        ------
        ValueError
            If the number, names or kind of the features differ from the training data, or a category is new.

        Examples
        --------
        >>> from gainsay.data import simulate
        >>> from gainsay.experiment import Experiment, grid
        >>> train, valid, test = simulate(60, seed=1, mean_length=20).split_queries(0.5, 0.25, 0.25, seed=1)
        >>> candidates = grid("lgb", "lightgbm", {"num_leaves": [4, 8]})
        >>> result = Experiment(candidates, train, valid, test, num_boost_round=5).run(progress=False)
        >>> result.predict(test.features).shape == test.labels.shape
        True
        """
        return self._get_model(candidate, None, None, fold, refit).predict(X)

    def refit(self, data: RankingData, candidate: str | None = None, rounds: int | None = None) -> Any:
        """Train a candidate on all data, without a validation set, and store the model next to the others.

        Use this to deploy one model after cross-validation or repeats. `load_model(refit=True)` and
        `predict(X, refit=True)` read it again, and `refits` contains how it was trained.

        Parameters
        ----------
        data : RankingData
            Data to train on, with the features of the experiment. It may contain new categories.
        candidate : str, optional
            Name of a candidate or model (see `compared`). Defaults to `selected`.
        rounds : int, optional
            Number of boosting rounds. Defaults to the mean of the compared rounds over folds and repeats, rounded.

        Returns
        -------
        lightgbm.Booster or xgboost.Booster

        Raises
        ------
        KeyError
            If the candidate does not exist.
        TypeError, ValueError
            If `data` is not a dataset with the same features, or `rounds` is invalid.
        RuntimeError
            If the directory is in use.

        Notes
        -----
        The seed is that of the candidate. The test results do not apply to the new model, which has seen other data.

        Examples
        --------
        >>> from gainsay.data import simulate
        >>> from gainsay.experiment import Experiment, grid, k_folds
        >>> data = simulate(60, seed=1, mean_length=20)
        >>> candidates = grid("lgb", "lightgbm", {"num_leaves": [4, 8]})
        >>> result = Experiment(candidates, folds=k_folds(data, 3), num_boost_round=5).run(progress=False)
        >>> model = result.refit(data)
        >>> rounds = result.compared.loc[result.selected, "rounds"]
        >>> model.current_iteration() == round(sum(rounds) / len(rounds))
        True
        """
        validate_data("data", data)
        if rounds is not None:
            check_whole("rounds", rounds)
        model = self._find_model(candidate)
        own = self._get_candidate(model)
        content, record = train_on_all_data(own, data, self.plan.features, model.rounds, rounds)
        if self.directory is None:
            self._refits[model.name] = content, record
        else:
            storage = Storage(self.directory)
            with storage.lock():
                storage.save_refit(model.name, SUFFIXES[own.library], content, record.model_dump(mode="json"))
        return TrainedModel(own, content, record.rounds, record.features).load()

    @property
    def refits(self) -> dict[str, Refit]:
        """How each model that `refit` has trained was made, by name: rounds, data, features, versions."""
        refits = {model.name: self._find_refit(model) for model in self.models}
        return {name: refit[1] for name, refit in refits.items() if refit is not None}

    def summary(self) -> str:
        """Return the result in words, one statement per line."""
        verdict = [self.verdict.text] if len(self.metrics) > 1 else []
        notes = [f"{note}." for note in self.notes]
        return "\n".join([*summarize(self, self.comparison), *verdict, *notes, *self.missing])

    def _find_models(self, name: str | None) -> list[ComparedModel]:
        """Return the compared model of this name, or the compared models of a candidate."""
        name = self.selected if name is None else name
        models = {model.name: model for model in self.models}
        of_candidate = [model for model in self.models if model.candidate == name]
        if name in models or of_candidate:
            return [models[name]] if name in models else of_candidate
        if name in self._first:
            finalists = ", ".join(printables(self.candidates))
            raise KeyError(f"{name!r} was trained once and is not a finalist. Finalists: {finalists}")
        if name in self.failures:
            raise KeyError(f"{name!r} is not finished: {get_last_line(self.failures[name])}")
        raise KeyError(f"no model {name!r}{nearest(str(name), models)} (models: {', '.join(printables(models))})")

    def _find_model(self, name: str | None) -> ComparedModel:
        """Return the compared model of this name, or the only one of a candidate."""
        models = self._find_models(name)
        self._validate_unambiguous(models, [model.rounds for model in models])
        return models[0]

    def _validate_unambiguous(self, models: Sequence[ComparedModel], rounds: Iterable[Any]) -> None:
        if len(set(rounds)) > 1:
            names = " and ".join(repr(model.name) for model in models)
            raise ValueError(
                f"{models[0].candidate!r} was compared at two rounds, as {names}. Pass one of these names, or stop_by."
            )

    def _read_model(
        self, name: str | None, stop_by: MetricLike | int | None, repeat: int | str | None, fold: str | None
    ) -> TrainedModel:
        """Return a compared model, or another round, repeat or fold of its candidate."""
        models = self._find_models(name)
        unit, training = self._find_training(models[0], repeat, fold)
        choices = [self._choose_round(unit, training, model, stop_by) for model in models]
        self._validate_unambiguous(models, choices)
        rounds = choices[0]
        if self.directory is None:
            return TrainedModel(unit.candidate, self._model_files[unit.slug], rounds, self.plan.features)
        storage = Storage(self.directory)
        try:
            if storage.load(self.plan, unit) is None:
                raise DamagedError(f"it is missing in {self.directory}")
            return TrainedModel(unit.candidate, storage.read_model(unit), rounds, self.plan.features)
        except DamagedError as error:
            raise RuntimeError(f"{unit}: {error}. Run the experiment again.") from error

    def _find_training(self, model: ComparedModel, repeat: int | str | None, fold: str | None) -> tuple[Unit, Training]:
        """Return one training of the candidate of a model."""
        candidate = self._get_candidate(model)
        folds = [it.name for it in self.plan.folds]
        if fold is None and len(folds) > 1:
            raise ValueError(
                f"{candidate.name!r} has one model per fold ({len(folds)} folds). Pass fold={folds[0]!r}, or train one "
                "model on all data with refit(data)."
            )
        if fold is not None and fold not in folds:
            raise ValueError(f"fold must be one of {', '.join(filter(None, folds)) or 'no folds'}, got {fold!r}")
        place = 0 if fold is None else folds.index(fold)
        number = self._validate_repeat(model, repeat)
        if number == 0:
            return self.plan.list_full_units(candidate)[place], self.full[candidate.name].trainings[place]
        place += len(folds) * (number - 1)
        return self.plan.list_compared_units(candidate)[place], self.trainings[candidate.name].trainings[place]

    def _choose_round(
        self, unit: Unit, training: Training, model: ComparedModel, stop_by: MetricLike | int | None
    ) -> int:
        if stop_by is None:
            return self.plan.choose_round(training.curves, model.stop_by.split(" and ")[0])
        if isinstance(stop_by, int | np.integer):
            if check_whole("stop_by", stop_by, 1) > len(training.curves):
                raise ValueError(f"stop_by must be at most {len(training.curves)}, the rounds of {unit}, got {stop_by}")
            return int(stop_by)
        rule = validate_stop_by(stop_by, self.plan.metrics)
        if rule == EACH:
            raise ValueError("stop_by must be 'balanced', a metric or a number of rounds, got stop_by='each'")
        return self.plan.choose_round(training.curves, rule)

    def _validate_repeat(self, model: ComparedModel, repeat: int | str | None) -> int:
        """Return the number of a repeat, counted from 1, or 0 for the training on all training queries."""
        repeats, has_full = self.trainings[model.candidate].repeats, model.candidate in self.full
        if repeat == FULL and has_full:
            return 0
        if repeat is None:
            return 1 if repeats == 1 else 1 + self._select(self.repeat_values.loc[[model.name]])
        if isinstance(repeat, str):
            allowed = f" or {FULL!r}" if has_full else ""
            raise ValueError(f"repeat must be a number from 1 to {repeats}{allowed}, got {repeat!r}")
        if check_whole("repeat", repeat, 1) > repeats:
            raise ValueError(f"repeat must be at most {repeats}, the repeats of {model.candidate!r}, got {repeat}")
        return int(repeat)

    def _find_refit(self, model: ComparedModel) -> tuple[bytes, Refit] | None:
        """Return the model file and the record of a model trained on all data, or None."""
        if self.directory is None:
            return self._refits.get(model.name)
        library = self._get_candidate(model).library
        try:
            refit = Storage(self.directory).load_refit(model.name, SUFFIXES[library])
            return None if refit is None else (refit[0], Refit(**refit[1]))
        except (DamagedError, ValueError) as error:
            raise RuntimeError(f"The refit of {model.name!r}: {error}. Call refit(data) again.") from error

    def _get_candidate(self, model: ComparedModel) -> Candidate:
        by_name: dict[str, Candidate] = {candidate.name: candidate for candidate in self.plan.candidates}
        return by_name[model.candidate]

    def _get_model(
        self,
        name: str | None,
        stop_by: MetricLike | int | None,
        repeat: int | str | None,
        fold: str | None,
        refit: bool,
    ) -> TrainedModel:
        """Return a compared model or, with `refit`, a model trained on all data."""
        if not refit:
            return self._read_model(name, stop_by, repeat, fold)
        if not (stop_by is None and repeat is None and fold is None):
            raise ValueError("refit=True must not be combined with stop_by, repeat or fold: there is one such model.")
        model = self._find_model(name)
        stored = self._find_refit(model)
        if stored is None:
            raise ValueError(f"{model.name!r} was not trained on all data. Call refit(data) first.")
        content, record = stored
        return TrainedModel(Candidate(**record.candidate), content, record.rounds, record.features)

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
        Directory that remains. None for a temporary one, whose scores and models are read now.
    """
    models: dict[str, bytes] = {}
    if directory is None:
        trainings = {
            slug: replace(training, documents=dict(training.documents)) for slug, training in trainings.items()
        }
        models = {unit.slug: storage.read_model(unit) for unit in plan.iterate_units() if unit.slug in trainings}
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
    return ExperimentResult(plan, candidates, failures, directory, full=full, first=first, model_files=models)
