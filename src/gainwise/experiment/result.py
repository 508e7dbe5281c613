"""The result of an experiment: its comparison, and the models to load, to predict with and to train on all data."""

from __future__ import annotations

import itertools
from collections import UserDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from .._common import cached_property
from .._common.arrays import nearest
from .._common.lazy import pandas as pd
from .._common.text import as_text, describe_missing, join_names, natural_order, pluralize, printables
from .._common.typing import Bools, Features, Floats, TrainedModel
from .._common.validation import validate_integer
from ..comparison.comparison import Comparison
from ..comparison.ranked_models import Rankings
from ..comparison.verdict import Verdict
from ..data import RankingData
from ..judgments import Judgments
from ..metrics.names import MetricLike
from .config import BALANCED, StrictModel, validate_stop_by
from .execution import get_last_line
from .plan import ExperimentPlan, FeatureColumns, Unit, compute_fingerprint, find_balanced_round, orient, validate_data
from .storage import DamagedError, Storage, Training
from .trainers import get_trainer, get_versions, predict_rounds

RepeatedTrainings = Sequence[Sequence[Training]]
"""The trainings of a candidate: for each repeat, one training per fold."""

MAX_NAMES, MAX_SHOWN_ROUNDS = 4, 6
"""Limits on the names and rounds in a sentence."""


class Refit(StrictModel):
    """How a model was trained on all data.

    Attributes
    ----------
    candidate : dict
        The candidate.
    rounds : int
        Number of rounds.
    compared_rounds : list of int
        Rounds of the compared trainings, of which `rounds` is the mean unless you passed it.
    data : str
        Fingerprint of the data.
    queries, documents : int
        Size of the data.
    features : FeatureColumns
        Columns of the features.
    versions : dict of str to str
        Versions of the packages that the training may depend on.
    """

    candidate: dict[str, Any]
    rounds: int
    compared_rounds: list[int]
    data: str
    queries: int
    documents: int
    features: FeatureColumns
    versions: dict[str, str]


class Selection(StrictModel):
    """The record of the candidate that an experiment selected.

    Attributes
    ----------
    candidate : str
        Name of the candidate.
    rounds : list of int
        Rounds of its compared trainings.
    models : dict of str to str
        SHA-256 of the model file of each of these trainings.
    data : dict of str to str
        Fingerprints of the data.
    missing : dict of str to str
        The candidates that did not take part, with the reason.
    """

    candidate: str
    rounds: list[int]
    models: dict[str, str]
    data: dict[str, str]
    missing: dict[str, str]


@dataclass(eq=False, repr=False)
class ExperimentResult:
    """The result of an experiment, returned by `Experiment.run` and `Experiment.load`.

    Candidates are compared at one round each, chosen on the validation set (see `compared`), or as configurations with
    several repeats (`repeat_values`). `selected` is the candidate to deploy. `load_model`, `predict` and `refit` use it
    by default.

    Parameters
    ----------
    plan : ExperimentPlan
        The candidates, data and settings of the experiment.
    trainings : mapping of candidate to list of list of Training
        Trainings of the candidates that are finished on all folds: for each repeat, one training per fold.
    failures : mapping of candidate to str, optional
        Reasons why the others are not finished.
    directory : Path, optional
        Directory of the models.
    first : mapping of candidate to ndarray, optional
        Curves of the trainings that chose finalists.
    model_files : mapping of slug to bytes, optional
        Models in memory, if there is no directory.
    selection : Selection, optional
        The record of the selected candidate. By default, it is selected among `trainings`.
    unselected : str, optional
        Why no candidate is selected.

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

    plan: ExperimentPlan
    trainings: Mapping[str, RepeatedTrainings]
    failures: Mapping[str, str] = field(default_factory=dict)
    directory: Path | None = None
    first: Mapping[str, Floats] = field(default_factory=dict)
    model_files: Mapping[str, bytes] = field(default_factory=dict)
    selection: Selection | None = None
    unselected: str = ""

    def __post_init__(self) -> None:
        self.identical = tuple(name for name, repeats in self.trainings.items() if _are_identical(repeats))
        self.trainings = {
            name: repeats[:1] if name in self.identical else repeats for name, repeats in self.trainings.items()
        }
        self.candidates, self.metrics = tuple(self.trainings), self.plan.names
        self._by_name = {candidate.name: candidate for candidate in self.plan.candidates}
        self._refits: dict[str, tuple[bytes, Refit]] = {}
        self._boosters: dict[tuple[str, str | None, bool], tuple[Any, int, FeatureColumns]] = {}

    @property
    def selected(self) -> str:
        """Name of the candidate that the validation set selects, which `load_model`, `predict` and `refit` use.

        The shortfall of a candidate under a metric is the gap to the best value of any candidate on the validation set.
        The selected one has the smallest larger shortfall under the two primary metrics, or the best value of the only
        metric. The test set is not used, so the results of the selected candidate on it are unbiased. A `RuntimeError`
        is raised if the experiment is not complete.
        """
        if self.unselected:
            raise RuntimeError(f"No candidate is selected: {self.unselected}")
        return self._choice if self.selection is None else self.selection.candidate

    @cached_property
    def _choice(self) -> str:
        table = self.compared.loc[natural_order(self.compared.index)]
        return str(table.index[self._select(table)])

    @property
    def _searched(self) -> int | None:
        """Number of candidates that took part in the selection, or None if none is selected."""
        if self.unselected:
            return None
        missing = self.missing if self.selection is None else self.selection.missing
        searched = len(self.plan.candidates) - len(missing)
        # A run that was interrupted after the selection may have finished further candidates.
        return searched if searched >= len(self.candidates) else None

    def record_selection(self, candidate: str) -> Selection:
        """Return the record of a candidate as the selected one."""
        units = self.plan.list_units([candidate])
        trainings = itertools.chain(*self.trainings[candidate])  # Of identical repeats, only the first.
        return Selection(
            candidate=candidate,
            rounds=list(self.compared["rounds"][candidate]),
            models={unit.slug: training.model for unit, training in zip(units, trainings, strict=False)},
            data=self.plan.data,
            missing=self.missing,
        )

    def find_mismatch(self, selection: Selection) -> str:
        """Return why the record of a selection does not apply to these trainings, or an empty string."""
        name = selection.candidate
        if name not in self.trainings:
            reason = self.missing.get(name, "it is not among the finalists of the other trainings")
            return f"{name!r} was selected, but cannot be loaded: {reason}"
        now = self.record_selection(name)
        if now != selection.model_copy(update={"missing": now.missing}):
            return f"the trainings of {name!r} are not those that were selected"
        return ""

    def _select(self, table: pd.DataFrame) -> int:
        """Return the row with the smallest larger shortfall on the validation set, the first of equal rows."""
        names = self.plan.primary_metrics
        metrics = [self.plan.metrics[self.plan.names.index(name)] for name in names]
        values = orient(table[[f"valid {name}" for name in names]].to_numpy(dtype=np.float64), metrics)
        return find_balanced_round(values, range(len(names))) - 1

    @cached_property
    def compared(self) -> pd.DataFrame:
        """The compared candidates: `rounds`, chosen by `stop_by`, and `valid M` for each metric M.

        There is one round per training: repeat after repeat, with the folds of each. `valid M` is the mean on the
        validation set over repeats and folds, at these rounds.
        """
        rows = []
        for name, repeats in self.trainings.items():
            rounds = tuple(self.plan.choose_round(training.curves) for folds in repeats for training in folds)
            rows.append({"candidate": name, "rounds": rounds, **self._average_valid(self._collect("valid", name))})
        return pd.DataFrame(rows).set_index("candidate")

    def _collect(self, part: str, name: str) -> Floats:
        """Return all metrics at the compared rounds.

        The shape is (queries, metrics, repeats) for the part "test", and (folds, metrics, repeats) for "valid".
        """

        def read(training: Training) -> Any:
            number = self.plan.choose_round(training.curves)
            return training.test[training.rounds == number][0] if part == "test" else training.curves[[number - 1]]

        return np.stack([np.concatenate(list(map(read, repeat))) for repeat in self.trainings[name]], axis=2)

    def _average_valid(self, values: Floats) -> dict[str, float]:
        """Return the means over repeats and folds, weighted by the validation queries of each fold."""
        means, weights = values.mean(axis=2), np.stack([fold.valid_weight for fold in self._folds])
        return {
            f"valid {name}": float(np.average(means[:, place], weights=weights[:, place]))
            for place, name in enumerate(self.plan.names)
        }

    @property
    def _folds(self) -> Sequence[Training]:
        """One training for each fold."""
        return next(iter(self.trainings.values()))[0]

    def _iterate_trainings(self) -> Iterator[tuple[str, int, Training]]:
        """Yield candidate, number of the repeat (0 if there is only one) and training."""
        for name, repeats in self.trainings.items():
            for number, folds in enumerate(repeats, 1 if len(repeats) > 1 else 0):
                yield from ((name, number, training) for training in folds)

    @property
    def finalists(self) -> pd.DataFrame:
        """Validation results of the candidates that were trained once to choose finalists.

        One row per candidate: `valid M` for each primary metric M, and `finalist`. Empty without finalists.
        """
        return self.plan.create_finalist_table(self.first)

    @cached_property
    def curves(self) -> pd.DataFrame:
        """Every metric after every round on the validation set, for every compared training.

        Columns `candidate`, `fold`, `repeat` (0 if there is only one), `round`, `metric`, `value`, and `compared`:
        whether the candidate is compared at this round.
        """
        frames = []
        for name, repeat, training in self._iterate_trainings():
            rounds, metrics = training.curves.shape
            numbers = np.tile(np.arange(1, rounds + 1), metrics)
            columns = {
                "candidate": name,
                "fold": training.fold,
                "repeat": repeat,
                "round": numbers,
                "metric": np.repeat(np.array(self.plan.names, dtype=object), rounds),
                "value": training.curves.ravel(order="F"),
                "compared": numbers == self.plan.choose_round(training.curves),
            }
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def best_rounds(self) -> pd.DataFrame:
        """Round, counted from 1, with the best value of each metric (column) on the validation set.

        One row per candidate, or with repeats or folds per candidate, repeat and fold.
        """
        rows = {
            (name, repeat, training.fold): [
                self.plan.choose_round(training.curves, metric) for metric in self.plan.names
            ]
            for name, repeat, training in self._iterate_trainings()
        }
        index = pd.MultiIndex.from_tuples(rows, names=["candidate", "repeat", "fold"])
        frame = pd.DataFrame(list(rows.values()), index, list(self.plan.names))
        levels = {"repeat": self.plan.repeats.number > 1, "fold": len(self.plan.folds) > 1}
        return frame.droplevel([level for level, is_needed in levels.items() if not is_needed])

    @cached_property
    def repeat_values(self) -> pd.DataFrame:
        """Results of every repeat of every candidate: one row per candidate and repeat.

        `rounds` (one per fold), and for each metric M `valid M` and `test M`, the means at these rounds. The test
        results show how much repeats differ. Do not choose a repeat by them.
        """
        rows = []
        for name, rounds in zip(self.trainings, self.compared["rounds"], strict=True):
            tests, valid, folds = self._collect("test", name), self._collect("valid", name), len(self.plan.folds)
            for repeat in range(len(self.trainings[name])):
                averages = self._average_valid(valid[:, :, [repeat]])
                row = {"candidate": name, "repeat": repeat + 1, "rounds": rounds[repeat * folds : (repeat + 1) * folds]}
                for place, metric in enumerate(self.plan.names):
                    row[f"valid {metric}"] = averages[f"valid {metric}"]
                    row[f"test {metric}"] = self._average(tests[:, place, repeat])
                rows.append(row)
        return pd.DataFrame(rows).set_index(["candidate", "repeat"])

    @cached_property
    def _weights(self) -> Floats:
        """Weight of each test query, folds one after the other."""
        return np.concatenate([fold.weights for fold in self._folds])

    def _average(self, values: Floats) -> float:
        """Return the weighted mean over the queries with a value."""
        has_value = ~np.isnan(values)
        return float(np.average(values[has_value], weights=self._weights[has_value]))

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on finalists, repeats and folds, which the comparison and its reports contain too."""
        notes = [f"No candidate is selected: {self.unselected.removesuffix('.')}"] if self.unselected else []
        repeats, folds = self.plan.repeats, len(self.plan.folds)
        if not self.finalists.empty:
            notes.append(self._describe_finalists())
        if self.identical:
            notes.append(
                f"All repeats of {join_names(self.identical, MAX_NAMES)} are identical, because another seed changes "
                "nothing. Each is compared as a fixed model. Sample documents or features, or use vary='queries'"
            )
        if self.plan.vary == "queries":
            share = "each with 63 % of the distinct queries"
            notes.append(f"Repeats are trained on resampled queries, {share}. No model of all queries is compared")
        if folds > 1:
            notes.append(
                f"The {folds} folds are pooled. Statements on a candidate are about the average of {folds} models"
                f"{' in each repeat' if repeats.number > 1 else ''}, trained on overlapping queries (Bayle et al. 2020)"
            )
        return tuple(notes)

    def _describe_finalists(self) -> str:
        table, repeats = self.finalists["finalist"], self.plan.repeats
        rejected = [str(name) for name in table.index[~table]]
        baseline = "" if repeats.baseline is None else f", and the baseline {repeats.baseline}"
        verb = "was" if len(rejected) == 1 else "were"
        once = f". {join_names(rejected, MAX_NAMES)} {verb} trained once" if rejected else ""
        best = "best" if repeats.keep == 1 else f"best {repeats.keep}"
        return (
            f"The compared finalists are the {best} on the validation set by {' or '.join(self.plan.primary_metrics)}"
            f"{baseline}, trained {repeats.number} times anew. The training that chose them is not counted{once}"
        )

    @cached_property
    def comparison(self) -> Comparison:
        """Comparison of all models on the test set, each the same under every metric.

        With folds, each query is tested by the model of its fold. With repeats, the models are training configurations.
        """
        tests = {name: self._collect("test", name) for name in self.trainings}
        # A query that every metric skips does not take part.
        has_value: Bools = np.logical_not(np.isnan(next(iter(tests.values()))[:, :, 0]).all(axis=1))
        has_repeats = any(test.shape[2] > 1 for test in tests.values())
        values: dict[str, Any] = {}
        for place, metric in enumerate(self.metrics):
            tables = [test[has_value, place] for test in tests.values()]
            columns = [table if table.shape[1] > 1 else table[:, 0] for table in tables]
            values[metric] = columns if has_repeats else np.stack(columns, axis=1)
        weights, plan = self._weights[has_value], self.plan
        segments = {name: np.array(labels)[has_value] for name, labels in (plan.segments or {}).items()}
        return Comparison(
            values,
            list(tests),
            clusters=None if plan.clusters is None else np.array(plan.clusters)[has_value],
            segments=segments or None,
            weights=None if (weights == weights[0]).all() else weights,
            metrics=dict(zip(self.metrics, plan.metrics, strict=True)),
            rankings=self._create_rankings(has_value),
            curves=self._name_curves(),
            missing=self.missing,
            notes=self.notes,
            selected=None if self.unselected else self.selected,
            searched=self._searched,
            **plan.model_dump(include={"primary", "alpha", "margin", "draws", "seed", "vary"}),
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
    def missing(self) -> dict[str, str]:
        """The candidates that are not compared, each with the reason in one line."""
        return {name: get_last_line(text) for name, text in self.failures.items()}

    def _name_curves(self) -> pd.DataFrame:
        """Return the curves with each training as a fold, because charts draw one line per fold."""
        pairs = zip(self.curves["fold"], self.curves["repeat"], strict=True)
        folds = [", ".join(filter(None, (fold, repeat and f"repeat {repeat}"))) for fold, repeat in pairs]
        return self.curves.assign(fold=folds).drop(columns="repeat")

    def _create_rankings(self, has_value: Bools) -> Rankings:
        """Return the rankings of the candidates on the queries with a value."""
        folds = self._folds
        labels = np.concatenate([fold.documents["label"] for fold in folds])
        starts = np.cumsum([0, *(len(fold.weights) for fold in folds)])
        queries = np.concatenate([fold.documents["query"] + start for fold, start in zip(folds, starts, strict=False)])
        ids = np.concatenate([fold.query_ids for fold in folds]).astype(str)
        # Queries of several folds may have the same id. Their names contain the position.
        _, places, counts = np.unique(ids, return_inverse=True, return_counts=True)
        numbered = [f"{name} (number {place})" for place, name in enumerate(ids.tolist(), 1)]
        names = np.where(counts[places] > 1, numbered, ids)
        scores = _Scores(self.trainings, self.compared["rounds"].to_dict())
        columns = np.concatenate([fold.documents["columns"] for fold in folds], axis=1)
        judgments = Judgments(labels, qid=names[queries], columns=dict(zip(self.plan.columns, columns, strict=True)))
        judgments.gains_are_known = True  # The experiment has warned of them.
        return Rankings(judgments, scores, has_value, self._weights)

    def load_model(
        self,
        candidate: str | None = None,
        stop_by: MetricLike | int | None = None,
        *,
        repeat: int | None = None,
        fold: str | None = None,
        refit: bool = False,
    ) -> TrainedModel:
        """Return a trained model as a `lightgbm.Booster` or `xgboost.Booster`, cut at one round.

        By default, this is the compared model. Its `predict` returns the scores behind all test results, to
        the last bit. The directory contains the same model as `model.txt` (LightGBM) or `model.ubj`
        (XGBoost).

        Parameters
        ----------
        candidate : str, optional
            Name of a candidate. Defaults to `selected`.
        stop_by : "balanced", metric or int, optional
            Rule or number of rounds to cut the model at. Defaults to the compared round.
        repeat : int, optional
            Repeat, counted from 1, if there are several. Defaults to the best one on the validation set, by the rule of
            `selected`.
        fold : str, optional
            Fold, required if there are several.
        refit : bool, default False
            Return the model that `refit` has trained on all data.

        Returns
        -------
        lightgbm.Booster or xgboost.Booster
            Its `best_iteration` is its last round. For type checkers, it has the members that both classes share.
            Narrow the type with `isinstance` to use others.

        Raises
        ------
        KeyError
            If the candidate does not exist.
        ValueError
            If there are several folds, or the model, repeat, fold or round is ambiguous or does not exist.
        RuntimeError
            If the model is missing or damaged.
        """
        name = self._validate_candidate(candidate)
        trainer = get_trainer(self._by_name[name].library)
        content, rounds, _ = self._read_model(name, stop_by, repeat, fold, refit)
        model: TrainedModel = trainer.load(trainer.cut(content, rounds))
        return model

    def predict(
        self,
        X: Features | RankingData,  # noqa: N803 - the name that scikit-learn uses
        candidate: str | None = None,
        *,
        fold: str | None = None,
        refit: bool = False,
    ) -> Floats:
        """Return the score of each row, from the model that `load_model` returns.

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
        >>> from gainwise.data import simulate
        >>> from gainwise.experiment import Experiment, grid
        >>> train, valid, test = simulate(60, seed=1, mean_length=20).split_queries(0.5, 0.25, 0.25, seed=1)
        >>> candidates = grid("lgb", "lightgbm", {"num_leaves": [4, 8]})
        >>> result = Experiment(candidates, train, valid, test, num_boost_round=5).run(progress=False)
        >>> result.predict(test.features).shape == test.labels.shape
        True
        """
        own = self._by_name[self._validate_candidate(candidate)]
        key = own.name, fold, refit
        if key not in self._boosters:
            content, *others = self._read_model(own.name, None, None, fold, refit)
            self._boosters[key] = get_trainer(own.library).load(content), *others
        booster, rounds, columns = self._boosters[key]
        if X is None:
            raise TypeError("X must be an array, a DataFrame or RankingData with one row per document, got None")
        if not isinstance(X, RankingData):
            table: Any = X
            rows = table.shape[0] if hasattr(table, "shape") else len(table)
            if not rows:
                return np.zeros(0)
            X = RankingData(table, np.zeros(rows), group=[rows])  # noqa: N806
        scores: Floats = predict_rounds(own.library, booster, columns.align("X", X), [rounds], own.threads or 1)[rounds]
        return scores

    def refit(self, data: RankingData, candidate: str | None = None, rounds: int | None = None) -> TrainedModel:
        """Train a candidate on all data, without a validation set, and store the model next to the others.

        Use this to deploy one model after cross-validation or repeats. `load_model(refit=True)` and
        `predict(X, refit=True)` read it again, and `refits` contains how it was trained.

        Parameters
        ----------
        data : RankingData
            Data to train on, with the features of the experiment. It may contain new categories.
        candidate : str, optional
            Name of a candidate. Defaults to `selected`.
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
        >>> from gainwise.data import simulate
        >>> from gainwise.experiment import Experiment, grid, k_folds
        >>> data = simulate(60, seed=1, mean_length=20)
        >>> candidates = grid("lgb", "lightgbm", {"num_leaves": [4, 8]})
        >>> result = Experiment(candidates, folds=k_folds(data, 3), num_boost_round=5).run(progress=False)
        >>> model = result.refit(data)
        >>> rounds = result.compared.loc[result.selected, "rounds"]
        >>> model.current_iteration() == round(sum(rounds) / len(rounds))
        True
        """
        validate_data("data", data)
        own = self._by_name[self._validate_candidate(candidate)]
        compared_rounds = list(self.compared["rounds"][own.name])
        rounds = round(fmean(compared_rounds)) if rounds is None else validate_integer("rounds", rounds)
        data = replace(self.plan.features.align("data", data, new_categories=True).contiguous(), document_ids=None)
        trainer, trained = get_trainer(own.library), replace(own, num_boost_round=rounds)
        model = trainer.cut(trainer.train(trained, trainer.bin_data(trained, data, None), None), rounds)
        record = Refit(
            candidate=asdict(trained),
            rounds=rounds,
            compared_rounds=compared_rounds,
            data=compute_fingerprint(data),
            queries=len(data.query_ids),
            documents=len(data.labels),
            features=FeatureColumns.from_data(data),
            versions=get_versions(own.library),
        )
        if self.directory is None:
            self._refits[own.name] = model, record
        else:
            storage = Storage(self.directory)
            with storage.lock():
                storage.save_refit(own, model, record.model_dump(mode="json"))
        self._boosters.pop((own.name, None, True), None)
        booster: TrainedModel = trainer.load(model)
        return booster

    @property
    def refits(self) -> dict[str, Refit]:
        """How each model that `refit` has trained was made, by name: candidate, rounds, data, features and versions."""
        refits = {name: self._find_refit(name) for name in self.candidates}
        return {name: refit[1] for name, refit in refits.items() if refit is not None}

    def summary(self) -> str:
        """Return the result in words, one statement per line."""
        comparison = self.comparison
        standing = comparison.content.standing
        lines = [] if len(comparison.models) == 1 else [as_text(f"{standing.headline} {standing.advice}").rstrip()]
        lines.append(self._describe_rounds())
        for metric in comparison.primary or self.metrics[:1]:
            name = comparison.winners[metric]
            rounds, means = self.compared["rounds"][name], comparison.leaderboard[metric].to_dict()
            text = f"round{'s' if len(rounds) > 1 else ''} {join_rounds(rounds)}"
            lines.append(f"Best on the test set by {metric}: {name} at {text} ({means[name]:.4f}).")
        verdict = [self.verdict.text] if len(self.metrics) > 1 else []
        return "\n".join([*lines, *verdict, *(f"{note}." for note in self.notes), *describe_missing(self.missing)])

    def _describe_rounds(self) -> str:
        subject = "Each repeat of a candidate" if self.plan.repeats.number > 1 else "Each candidate"
        rule, metrics = self.plan.stop_by, self.plan.primary_metrics
        if rule == BALANCED and len(metrics) == 2:
            gap = f"the larger gap of {' and '.join(metrics)} to their best values on the validation set is smallest"
            return f"{subject} is compared at the balanced round, where {gap}."
        metric = metrics[0] if rule == BALANCED else rule
        return f"{subject} is compared at its best round on the validation set by {metric}."

    def _validate_candidate(self, name: str | None) -> str:
        """Return the name of a compared candidate, by default the selected one, or raise `KeyError`."""
        name = self.selected if name is None else name
        if name in self.trainings:
            return name
        models = ", ".join(printables(self.candidates))
        if name in self.first:
            raise KeyError(f"{name!r} was trained once and is not a finalist. Finalists: {models}")
        if name in self.failures:
            raise KeyError(f"{name!r} is not finished: {get_last_line(self.failures[name])}")
        raise KeyError(f"no model {name!r}{nearest(str(name), self.candidates)} (models: {models})")

    def _read_model(
        self, name: str, stop_by: MetricLike | int | None, repeat: int | None, fold: str | None, refit: bool
    ) -> tuple[bytes, int, FeatureColumns]:
        """Return the model file, rounds and features of a compared model or, with `refit`, one trained on all data."""
        if refit:
            if not (stop_by is None and repeat is None and fold is None):
                raise ValueError("refit=True must not be combined with stop_by, repeat or fold.")
            stored = self._find_refit(name)
            if stored is None:
                raise ValueError(f"{name!r} was not trained on all data. Call refit(data) first.")
            content, record = stored
            return content, record.rounds, record.features
        unit, training = self._find_training(name, repeat, fold)
        if not isinstance(stop_by, int | np.integer):
            rule = None if stop_by is None else validate_stop_by(stop_by, self.plan.metrics)
            stop_by = self.plan.choose_round(training.curves, rule)
        elif stop_by not in range(1, len(training.curves) + 1):
            raise ValueError(f"stop_by must be from 1 to {len(training.curves)}, the rounds of {unit}, got {stop_by}")
        try:
            content = Storage(self.directory).read_model(unit) if self.directory else self.model_files[unit.slug]
        except DamagedError as error:
            raise RuntimeError(f"{unit}: {error}. Run the experiment again.") from error
        return content, int(stop_by), self.plan.features

    def _find_training(self, name: str, repeat: int | None, fold: str | None) -> tuple[Unit, Training]:
        """Return one training of a candidate."""
        folds = [fold.name for fold in self.plan.folds]
        if fold is None and len(folds) > 1:
            fix = f"Pass fold={folds[0]!r}, or train one model on all data with refit(data)."
            raise ValueError(f"{name!r} has one model per fold ({len(folds)} folds). {fix}")
        if fold is not None and fold not in folds:
            names = f"one of {', '.join(folds)}" if len(folds) > 1 else "None without folds"
            raise ValueError(f"fold must be {names}, got {fold!r}")
        repeats = self.trainings[name]
        if repeat is None:
            repeat = 1 if len(repeats) == 1 else 1 + self._select(self.repeat_values.loc[[name]])
        if repeat not in range(1, len(repeats) + 1):
            raise ValueError(f"repeat of {name!r} must be from 1 to {len(repeats)}, got {repeat!r}")
        place = folds.index(fold or folds[0])
        unit = self.plan.list_units([name])[(repeat - 1) * len(folds) + place]
        return unit, repeats[repeat - 1][place]

    def _find_refit(self, name: str) -> tuple[bytes, Refit] | None:
        """Return the model file and the record of a candidate trained on all data, or None."""
        if self.directory is None:
            return self._refits.get(name)
        try:
            refit = Storage(self.directory).load_refit(self._by_name[name])
            return None if refit is None else (refit[0], Refit(**refit[1]))
        except (DamagedError, ValueError) as error:
            raise RuntimeError(f"The refit of {name!r}: {error}. Call refit(data) again.") from error

    def _repr_html_(self) -> str:
        return self.comparison._repr_html_()

    def __str__(self) -> str:
        *sentences, _ = str(self.comparison).split("\n")  # without the sizes of the comparison
        return "\n".join([*sentences, repr(self)])

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        size = f"{pluralize(len(self.candidates), 'candidate')}{failed}, {pluralize(len(self._weights), 'query')}"
        return f"ExperimentResult({size}, metrics {', '.join(self.metrics)})"


class _Scores(UserDict[str, Any]):
    """The scores of every candidate, folds one after the other, read on access. Repeats have one array each."""

    def __init__(self, trainings: Mapping[str, RepeatedTrainings], rounds: Mapping[Any, Sequence[int]]) -> None:
        super().__init__(trainings)
        self._rounds = rounds

    def __getitem__(self, name: str) -> Any:
        rounds = iter(self._rounds[name])
        repeats = [
            np.concatenate([np.asarray(fold.documents[f"score {next(rounds)}"], dtype=np.float64) for fold in folds])
            for folds in self.data[name]
        ]
        return repeats if len(repeats) > 1 else repeats[0]


def _are_identical(repeats: RepeatedTrainings) -> bool:
    """Return whether several repeats have equal results, because another seed changes nothing."""
    results = [[(training.curves.tobytes(), training.test.tobytes()) for training in folds] for folds in repeats]
    return len(results) > 1 and all(result == results[0] for result in results)


def join_rounds(rounds: Sequence[int]) -> str:
    """Return the rounds of the trainings of a model, or the range of many.

    Examples
    --------
    >>> join_rounds([70, 83]), join_rounds([12, 40, 7, 31, 25, 18, 90])
    ('70, 83', '7 to 90, median 25')
    """
    if len(rounds) <= MAX_SHOWN_ROUNDS:
        return ", ".join(map(str, rounds))
    return f"{min(rounds)} to {max(rounds)}, median {median(rounds):g}"
