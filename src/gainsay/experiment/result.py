"""The result of an experiment: its comparison, the selected model, tables, and the models themselves."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.arrays import nearest
from .._common.cached import cached_property
from .._common.checks import check_whole
from .._common.names import natural_order
from .._common.shown import printable, printables
from .._common.words import count
from ..comparison.comparison import Comparison
from ..comparison.verdict import Verdict
from ..judgments import scaled_weights
from .candidate import Candidate
from .folds import validate_data
from .models import Refit, TrainedModel, train_on_all_data
from .progress import get_last_line
from .repeats import FULL
from .rounds import BALANCED, EACH, find_balanced_round, orient, validate_stop_by
from .storage import SUFFIXES, DamagedError, Storage
from .summary import create_notes, summarize
from .trainings import (
    CandidateTrainings,
    ComparedModel,
    create_finalist_table,
    create_rankings,
    list_finalists,
    select_screening,
)

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Bools, Features, Floats
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


class ExperimentResult:
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
        self.plan = plan
        self.identical = tuple(name for name, repeats in trainings.items() if repeats.are_identical)
        self.trainings = {
            name: CandidateTrainings(repeats.folds) if name in self.identical else repeats
            for name, repeats in trainings.items()
        }
        self.full = dict(full or {})
        self.candidates = tuple(trainings)
        self.metrics = plan.names
        self.failures = dict(failures or {})
        self.directory = directory
        self._first = dict(first or {})
        self._model_files = dict(model_files or {})
        self._refits: dict[str, tuple[bytes, Refit]] = {}

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

    @cached_property
    def models(self) -> tuple[ComparedModel, ...]:
        """The compared models: candidates at one round each."""
        return tuple(itertools.chain.from_iterable(map(self._list_models, self.trainings)))

    @cached_property
    def selected(self) -> str:
        """Name of the model that the validation set selects, which `load_model`, `predict` and `refit` use.

        The shortfall of a model under a metric is the gap to the best value of any model on the validation set. The
        selected model has the smallest larger shortfall under the two primary metrics, or the best value of the only
        metric. The test set is not used, so the results of the selected model on it are unbiased.
        """
        table = self.compared.loc[natural_order(self.compared.index)]
        return str(table.index[self._select(table)])

    def _select(self, table: pd.DataFrame) -> int:
        """Return the row with the smallest larger shortfall on the validation set, the first of equal rows."""
        names = self.plan.primary_metrics
        metrics = [self.plan.metrics[self.plan.names.index(name)] for name in names]
        values = orient(table[[f"valid {name}" for name in names]].to_numpy(dtype=np.float64), metrics)
        return find_balanced_round(values, range(len(names))) - 1

    @cached_property
    def compared(self) -> pd.DataFrame:
        """The compared models by name: `candidate`, `stop_by` (the rule that chose the rounds), `rounds`, `valid M`.

        There is one round per training: repeat after repeat, with the folds of each. For each metric M, `valid M` is
        the mean on the validation set over repeats and folds. A model has the name of its candidate, unless the two
        primary metrics have separate models.
        """
        import pandas as pd

        rows = []
        for model in self.models:
            row = {"model": model.name, "candidate": model.candidate, "stop_by": model.stop_by, "rounds": model.rounds}
            rows.append({**row, **self._average_on_valid(self.trainings[model.candidate], model.rounds)})
        return pd.DataFrame(rows).set_index("model")

    def _average_on_valid(self, trainings: CandidateTrainings, rounds: Sequence[int]) -> dict[str, float]:
        names = enumerate(self.plan.names)
        return {f"valid {name}": trainings.average_curves(rounds, place) for place, name in names}

    @property
    def finalists(self) -> pd.DataFrame:
        """Validation results of the candidates that were trained once to choose finalists.

        One row per candidate: `valid M` for each primary metric M, and `finalist`. Empty without finalists.
        """
        return create_finalist_table(self.plan, self._first)

    @cached_property
    def curves(self) -> pd.DataFrame:
        """Every metric after every round on the validation set, for every compared training.

        Columns `candidate`, `fold`, `repeat` (0 if there is only one), `round`, `metric`, `value`, and `compared`:
        whether a compared model ends with this round.
        """
        import pandas as pd

        frames = []
        for name, repeats in self.trainings.items():
            models = [model for model in self.models if model.candidate == name]
            for place, training in enumerate(repeats.trainings):
                rounds, metrics = training.curves.shape
                numbers = np.arange(1, rounds + 1)
                columns = {
                    "candidate": name,
                    "fold": training.fold,
                    "repeat": repeats.get_repeat(place),
                    "round": np.tile(numbers, metrics),
                    "metric": np.repeat(np.array(self.plan.names, dtype=object), rounds),
                    "value": training.curves.T.ravel(),
                    "compared": np.tile(np.isin(numbers, [model.rounds[place] for model in models]), metrics),
                }
                frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def best_rounds(self) -> pd.DataFrame:
        """Round, counted from 1, with the best value of each metric (column) on the validation set.

        One row per candidate, or with repeats or folds per candidate, repeat and fold.
        """
        import pandas as pd

        trainings = [
            (name, repeats.get_repeat(place), training.fold)
            for name, repeats in self.trainings.items()
            for place, training in enumerate(repeats.trainings)
        ]
        rounds = {
            metric: [number for candidate in self.trainings for number in self._choose_rounds(candidate, metric)]
            for metric in self.plan.names
        }
        frame = pd.DataFrame(rounds, index=pd.MultiIndex.from_tuples(trainings, names=["candidate", "repeat", "fold"]))
        levels = {"repeat": self.plan.repeats.number > 1, "fold": len(self.plan.folds) > 1}
        return frame.droplevel([level for level, is_needed in levels.items() if not is_needed])

    @cached_property
    def choice_loss(self) -> pd.DataFrame:
        """Loss on the test set if another metric chooses candidate and round on the validation set.

        One row per ordered pair of metrics. `candidate` is the choice of `metric`, and `other` the choice of
        `chosen_by`: the candidate with the best value at its own best round. With folds, each fold has its own
        candidate (LETOR's protocol, Qin et al. 2010), and these are tuples. `loss` is the mean of `metric` for the
        first minus the second (reversed if `metric` is a loss), with a paired confidence interval from `lower` to
        `upper` at level 1 − alpha. The interval covers other queries, not other repeats.
        """
        import pandas as pd

        rows = []
        choices = {metric: self._choose_candidates(place, metric) for place, metric in enumerate(self.plan.names)}
        for metric, chooser in itertools.permutations(self.plan.names, 2):
            own, other = choices[metric], choices[chooser]
            names = [names[0] if len(names) == 1 else names for names in (own, other)]
            columns = {"metric": metric, "chosen_by": chooser, "candidate": names[0], "other": names[1]}
            rows.append({**columns, **self._compute_loss(metric, own, other, chooser)})
        return pd.DataFrame(rows, columns=["metric", "chosen_by", "candidate", "other", "loss", "lower", "upper"])

    @cached_property
    def stopping_loss(self) -> pd.DataFrame:
        """Loss on the test set if training stops at another round than a metric's own best, for each candidate.

        `stopped_by` is the rule that chose the round: another metric or "balanced". See `choice_loss` for the columns.
        """
        import pandas as pd

        rows = []
        for name, metric in itertools.product(self.trainings, self.plan.names):
            candidates = (name,) * len(self.plan.folds)
            for rule in (*self.plan.names, BALANCED):
                if rule != metric and len(self.plan.names) > 1:
                    columns = {"candidate": name, "metric": metric, "stopped_by": rule}
                    rows.append({**columns, **self._compute_loss(metric, candidates, candidates, rule)})
        return pd.DataFrame(rows, columns=["candidate", "metric", "stopped_by", "loss", "lower", "upper"])

    @cached_property
    def repeat_values(self) -> pd.DataFrame:
        """Results of every repeat of every compared model: one row per model and repeat.

        `rounds` (one per fold), and for each metric M `valid M` and `test M`, the means at these rounds. The test
        results show how much repeats differ. Do not choose a repeat by them.
        """
        import pandas as pd

        rows = []
        for model in self.models:
            trainings = self.trainings[model.candidate]
            folds, tests = len(trainings.folds), trainings.collect_values(model.rounds)
            for repeat in range(trainings.repeats):
                part = slice(repeat * folds, (repeat + 1) * folds)
                row: dict[str, Any] = {"model": model.name, "repeat": repeat + 1, "rounds": model.rounds[part]}
                valid = self._average_on_valid(CandidateTrainings(trainings.trainings[part]), model.rounds[part])
                for place, metric in enumerate(self.plan.names):
                    row[f"valid {metric}"] = valid[f"valid {metric}"]
                    row[f"test {metric}"] = self._average(tests[:, place, repeat])
                rows.append(row)
        return pd.DataFrame(rows).set_index(["model", "repeat"])

    @cached_property
    def shift(self) -> pd.DataFrame:
        """Gain from training on all queries instead of resampled ones: one row per candidate and metric.

        `full` is the test mean of one training on all training queries, `resampled` the mean over repeats, and `shift`
        the difference, each at the round that `stop_by` chooses (for "each", the metric). A bootstrap sample contains
        63 % of the distinct queries, so models trained on it are mostly worse. Empty if repeats use all queries.
        """
        import pandas as pd

        rows = []
        for name, full in self.full.items():
            for place, metric in enumerate(self.plan.names):
                rule = metric if self.plan.stop_by == EACH else self.plan.stop_by
                means = []
                for repeats in (full, self.trainings[name]):
                    rounds = tuple(self.plan.choose_round(training.curves, rule) for training in repeats.trainings)
                    means.append(self._average(repeats.collect_values(rounds).mean(axis=2)[:, place]))
                rows.append((name, metric, *means, means[0] - means[1]))
        return pd.DataFrame(rows, columns=["candidate", "metric", "full", "resampled", "shift"])

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
        if refit and not (stop_by is None and repeat is None and fold is None):
            raise ValueError("refit=True must not be combined with stop_by, repeat or fold: there is one such model.")
        model = self._read_refit(candidate) if refit else self._read_model(candidate, stop_by, repeat, fold)
        return model.load()

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
        >>> result.selected, len(result.predict(test.features)) == len(test.labels)
        ('lgb num_leaves=8', True)
        """
        model = self._read_refit(candidate) if refit else self._read_model(candidate, None, None, fold)
        return model.predict(X)

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
        >>> result.compared.loc[result.selected, "rounds"], model.current_iteration()
        ((3, 5, 5), 4)
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
        return "\n".join([*summarize(self), *verdict, *notes, *self.missing])

    @cached_property
    def _weights(self) -> Floats:
        """Weight of each test query, folds one after the other."""
        return next(iter(self.trainings.values())).weights

    def _choose_rounds(self, candidate: str, rule: str) -> tuple[int, ...]:
        """Return for each training the round that "balanced" or a metric chooses."""
        return tuple(self.plan.choose_round(training.curves, rule) for training in self.trainings[candidate].trainings)

    def _list_models(self, candidate: str) -> list[ComparedModel]:
        stop_by = self.plan.stop_by
        if stop_by != EACH:
            return [ComparedModel(candidate, candidate, stop_by, self._choose_rounds(candidate, stop_by))]
        rounds = {metric: self._choose_rounds(candidate, metric) for metric in self.plan.primary_metrics}
        if len(set(rounds.values())) == 1:
            return [ComparedModel(candidate, candidate, " and ".join(rounds), next(iter(rounds.values())))]
        return [
            ComparedModel(
                f"{candidate} @{numbers[0]}" if len(numbers) == 1 else f"{candidate} by {metric}",
                candidate,
                metric,
                numbers,
            )
            for metric, numbers in rounds.items()
        ]

    def _collect_compared_values(self) -> tuple[dict[str, dict[str, Floats]], Bools]:
        """Return values by model and metric, shape (queries, repeats), and a mask of their queries.

        A query that a metric skips is NaN under it. The values contain no query that every metric skips.
        """
        tests = {model.name: self.trainings[model.candidate].collect_values(model.rounds) for model in self.models}
        has_value: Bools = np.logical_not(np.isnan(next(iter(tests.values()))[:, :, 0]).all(axis=1))
        values = {
            model: {metric: test[has_value, place] for place, metric in enumerate(self.plan.names)}
            for model, test in tests.items()
        }
        return values, has_value

    def _choose_candidates(self, column: int, metric: str) -> tuple[str, ...]:
        """Return the best candidate on the validation set of each fold, the first by name if several are equal."""
        names = natural_order(self.trainings)
        rounds = {name: self._choose_rounds(name, metric) for name in names}
        best = max if self.plan.metrics[column].higher_is_better else min
        return tuple(
            best(names, key=lambda name: self.trainings[name].average_fold_curves(fold, rounds[name], column))
            for fold in range(len(self.plan.folds))
        )

    def _average(self, values: Floats) -> float:
        """Return the weighted mean over the queries with a value."""
        has_value = ~np.isnan(values)
        return float(np.average(values[has_value], weights=self._weights[has_value]))

    def _compute_loss(self, metric: str, own: Sequence[str], other: Sequence[str], rule: str) -> dict[str, float]:
        """Return the loss of a metric if its own candidates and rounds are replaced by other candidates and a rule."""
        column = self.plan.names.index(metric)

        def collect(candidates: Sequence[str], by: str) -> Floats:
            pieces = [
                self.trainings[name].collect_fold_values(fold, self._choose_rounds(name, by)).mean(axis=2)
                for fold, name in enumerate(candidates)
            ]
            return np.concatenate(pieces)[:, column]

        difference = collect(own, metric) - collect(other, rule)
        if not self.plan.metrics[column].higher_is_better:
            difference = -difference
        loss, lower, upper = compute_paired_loss(difference, self._weights, self.plan.alpha)
        return {"loss": loss, "lower": lower, "upper": upper}

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

    def _find_model(self, name: str | None, *, any_round: bool = False) -> ComparedModel:
        """Return a compared model by its name, or by the name of a candidate with one compared model or `any_round`."""
        name = self.selected if name is None else name
        models = {model.name: model for model in self.models}
        if name in models:
            return models[name]
        of_candidate = [model for model in self.models if model.candidate == name]
        if of_candidate and any_round:
            return of_candidate[0]
        if of_candidate:
            names = " and ".join(repr(model.name) for model in of_candidate)
            raise ValueError(f"{name!r} was compared at two rounds, as {names}. Pass one of these names.")
        if name in self._first:
            raise KeyError(
                f"{name!r} was trained once and is not a finalist. Finalists: {', '.join(printables(self.candidates))}"
            )
        if name in self.failures:
            raise KeyError(f"{name!r} is not finished: {get_last_line(self.failures[name])}")
        raise KeyError(f"no model {name!r}{nearest(str(name), models)}. Models: {', '.join(printables(models))}")

    def _read_model(
        self, name: str | None, stop_by: MetricLike | int | None, repeat: int | str | None, fold: str | None
    ) -> TrainedModel:
        """Return a compared model, or another round, repeat or fold of its candidate."""
        model = self._find_model(name, any_round=stop_by is not None)
        unit, training = self._find_training(model, repeat, fold)
        rounds = self._choose_round(unit, training, model, stop_by)
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

    def _read_refit(self, name: str | None) -> TrainedModel:
        model = self._find_model(name)
        refit = self._find_refit(model)
        if refit is None:
            raise ValueError(f"{model.name!r} was not trained on all data. Call refit(data) first.")
        content, record = refit
        return TrainedModel(Candidate(**record.candidate), content, record.rounds, record.features)

    def _repr_html_(self) -> str:
        return self.comparison._repr_html_()

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        size = f"{count(len(self.candidates), 'candidate')}{failed}, {count(len(self._weights), 'query')}"
        return f"ExperimentResult({size}, metrics {', '.join(self.metrics)})"


def compute_paired_loss(difference: Floats, weights: Floats, alpha: float) -> tuple[float, float, float]:
    """Return the weighted mean of per-query differences, and its t-interval at level 1 − `alpha`.

    Queries without a difference (NaN) are ignored. The standard error is that of a ratio of sums, which is s/√n for
    equal weights. The degrees of freedom are one less than the effective number of queries (Σw)²/Σw².

    Examples
    --------
    >>> loss, lower, upper = compute_paired_loss(np.array([0.1, 0.3, 0.2, 0.2]), np.ones(4), alpha=0.05)
    >>> round(lower, 4), round(upper, 4)
    (0.0701, 0.3299)
    """
    from scipy.special import stdtrit

    has_value = (weights > 0) & ~np.isnan(difference)
    difference, weights = difference[has_value], scaled_weights(weights[has_value])[0]
    weights = weights / weights.sum()
    mean = float((weights * difference).sum())
    if not difference.any():
        return 0.0, 0.0, 0.0
    queries, freedom = len(difference), 1 / (weights**2).sum() - 1
    if not freedom > 0:
        return mean, -np.inf, np.inf
    error = np.sqrt((weights**2 * (difference - mean) ** 2).sum() * queries / (queries - 1))
    half = float(stdtrit(freedom, 1 - alpha / 2) * error)
    return mean, mean - half, mean + half


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
