"""The result of an experiment: compared models, the choices on the validation set, and their cost on the test set."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.cached import cached_property
from .._common.checks import check_whole
from .._common.names import natural_order
from .._common.shown import printable
from .._common.words import count
from ..comparison.verdict import Verdict
from ..harness import Comparison
from ..judgments import scaled_weights
from .progress import get_last_line
from .repeats import FULL
from .rounds import BALANCED, EACH, SelectedModel, validate_stop_by
from .storage import DamagedError, Storage
from .summary import create_notes, summarize
from .trainers import get_trainer
from .trainings import (
    CandidateTrainings,
    create_finalist_table,
    create_rankings,
    list_finalists,
    select_screening,
)

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Bools, Floats
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


class ExperimentResult:
    """The result of an experiment, returned by `Experiment.run` and `Experiment.load`.

    The compared models are candidates at one round each, chosen on the validation set (see `compared`), or recipes with
    several repeats (`repeat_values`). `best_rounds` and `chosen` contain what each metric would choose alone, and
    `choice_loss` and `stopping_loss` what another choice costs.

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
        self.plan = plan
        self.identical = tuple(name for name, repeats in trainings.items() if repeats.are_identical)
        self.trainings = {
            name: CandidateTrainings(repeats.folds) if name in self.identical else repeats
            for name, repeats in trainings.items()
        }
        self.full = dict(full or {})
        self._first = dict(first or {})
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
        options: dict[str, Any] = {"runs": recipes, "vary": self.plan.vary} if recipes else {}
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
    def finalists(self) -> pd.DataFrame:
        """Validation results of the candidates that were trained once to choose finalists.

        One row per candidate: `valid M` for each primary metric M, and `finalist`. Empty without finalists.
        """
        return create_finalist_table(self.plan, self._first)

    @property
    def missing(self) -> list[str]:
        """One line for each candidate that is not compared, with the reason."""
        return [printable(f"Not compared: {name} ({get_last_line(text)})") for name, text in self.failures.items()]

    @cached_property
    def models(self) -> tuple[SelectedModel, ...]:
        """The compared models: candidates at one round each."""
        return tuple(itertools.chain.from_iterable(map(self._select_models, self.trainings)))

    @cached_property
    def compared(self) -> pd.DataFrame:
        """The compared models by name: `candidate`, `stop_by` (the rule that chose the rounds), `rounds`.

        There is one round per training: repeat after repeat, with the folds of each. A model has the name of its
        candidate, unless the two primary metrics have models of their own.
        """
        import pandas as pd

        rows = [(model.name, model.candidate, model.stop_by, model.rounds) for model in self.models]
        return pd.DataFrame(rows, columns=["model", "candidate", "stop_by", "rounds"]).set_index("model")

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

        One row per candidate; with repeats or folds one row per candidate, repeat and fold.
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
    def chosen(self) -> pd.DataFrame:
        """Candidate and round that each metric (row) alone would choose on the validation set, with test results.

        `candidate` has the best value on the validation set at the metric's own best round. `rounds` contains its
        rounds, one per training, and `valid` its value. For each metric M, `test M` is the mean over the test queries
        with a value. With folds, each fold has a candidate of its own (LETOR's protocol, Qin et al. 2010), and
        `candidate` is a tuple. With repeats, values are means over repeats.
        """
        import pandas as pd

        rows = []
        for metric, choice in self._choices.items():
            rounds = tuple(
                number
                for fold, name in enumerate(choice.candidates)
                for number in self._choose_rounds(name, metric)[fold :: len(choice.candidates)]
            )
            columns = {"metric": metric, "candidate": choice.label, "rounds": rounds, "valid": choice.valid}
            test = zip(self.plan.names, self._collect_choice_values(choice.candidates, metric).T, strict=True)
            rows.append({**columns, **{f"test {name}": self._average(values) for name, values in test}})
        return pd.DataFrame(rows).set_index("metric")

    @cached_property
    def choice_loss(self) -> pd.DataFrame:
        """Loss on the test set if another metric chooses candidate and round on the validation set.

        One row per ordered pair of metrics. `candidate` is the choice of `metric`, and `other` the choice of
        `chosen_by`. `loss` is the mean of `metric` for the first minus the second (reversed if `metric` is a loss),
        with a paired confidence interval from `lower` to `upper` at level 1 − alpha. The interval covers other queries,
        not other repeats.
        """
        import pandas as pd

        rows = []
        for metric, chooser in itertools.permutations(self.plan.names, 2):
            own, other = self._choices[metric], self._choices[chooser]
            columns = {"metric": metric, "chosen_by": chooser, "candidate": own.label, "other": other.label}
            rows.append({**columns, **self._compute_loss(metric, own.candidates, (other.candidates, chooser))})
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
                    rows.append({**columns, **self._compute_loss(metric, candidates, (candidates, rule))})
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
                single = CandidateTrainings(trainings.trainings[part])
                row: dict[str, Any] = {"model": model.name, "repeat": repeat + 1, "rounds": model.rounds[part]}
                for place, metric in enumerate(self.plan.names):
                    row[f"valid {metric}"] = single.average_curves(model.rounds[part], place)
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
        candidate: str,
        stop_by: MetricLike | int | None = None,
        *,
        repeat: int | str | None = None,
        fold: str | None = None,
    ) -> Any:
        """Return a trained model as a `lightgbm.Booster` or `xgboost.Booster`, cut at one round.

        By default, this is the compared model. Its `predict` returns the scores from which all test results were
        computed, to the last bit. The directory contains the same model as `model.txt` (LightGBM) or `model.ubj`
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
            If there is no such candidate or fold.
        ValueError
            If the experiment had no directory, the model, repeat or round is ambiguous, or there is no such repeat or
            round.

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
        return "\n".join([*verdict, *summarize(self), *notes, *self.missing])

    @cached_property
    def _weights(self) -> Floats:
        """Weight of each test query, folds one after the other."""
        return next(iter(self.trainings.values())).weights

    def _choose_rounds(self, candidate: str, rule: str) -> tuple[int, ...]:
        """Return for each training the round that "balanced" or a metric chooses."""
        return tuple(self.plan.choose_round(training.curves, rule) for training in self.trainings[candidate].trainings)

    def _select_models(self, candidate: str) -> list[SelectedModel]:
        stop_by = self.plan.stop_by
        if stop_by != EACH:
            return [SelectedModel(candidate, candidate, stop_by, self._choose_rounds(candidate, stop_by))]
        rounds = {metric: self._choose_rounds(candidate, metric) for metric in self.plan.primary_metrics}
        if len(set(rounds.values())) == 1:
            return [SelectedModel(candidate, candidate, " and ".join(rounds), next(iter(rounds.values())))]
        return [
            SelectedModel(
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

    @cached_property
    def _choices(self) -> dict[str, Choice]:
        """By metric, the best candidate on the validation set of each fold; of equal ones the first by name."""
        return {metric: self._choose_candidates(place, metric) for place, metric in enumerate(self.plan.names)}

    def _choose_candidates(self, column: int, metric: str) -> Choice:
        names = natural_order(self.trainings)
        rounds = {name: self._choose_rounds(name, metric) for name in names}
        best = max if self.plan.metrics[column].higher_is_better else min
        candidates, values, weights = [], [], []
        for fold, training in enumerate(next(iter(self.trainings.values())).folds):
            on_valid = {name: self.trainings[name].average_fold_curves(fold, rounds[name], column) for name in names}
            candidates.append(best(names, key=on_valid.__getitem__))
            values.append(on_valid[candidates[-1]])
            weights.append(training.valid_weight[column])
        return Choice(tuple(candidates), float(np.average(values, weights=weights)))

    def _collect_choice_values(self, candidates: Sequence[str], rule: str) -> Floats:
        """Return all metrics on the test set for one candidate per fold, averaged over repeats."""
        pieces = [
            self.trainings[name].collect_fold_values(fold, self._choose_rounds(name, rule)).mean(axis=2)
            for fold, name in enumerate(candidates)
        ]
        return np.concatenate(pieces)

    def _average(self, values: Floats) -> float:
        """Return the weighted mean over the queries with a value."""
        has_value = ~np.isnan(values)
        return float(np.average(values[has_value], weights=self._weights[has_value]))

    def _compute_loss(self, metric: str, own: Sequence[str], other: tuple[Sequence[str], str]) -> dict[str, float]:
        """Return the loss of a metric if its own candidates and rounds are replaced by other candidates and a rule."""
        place = self.plan.names.index(metric)
        first, second = (self._collect_choice_values(*choice)[:, place] for choice in ((own, metric), other))
        difference = first - second if self.plan.metrics[place].higher_is_better else second - first
        return asdict(compute_paired_loss(difference, self._weights, self.plan.alpha))

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
        finished: dict[str, Candidate] = {it.name: it for it in self.plan.candidates if it.name in self.trainings}
        if not models or not places:
            units = ", ".join(f"{unit}" for it in finished.values() for unit in self.plan.list_compared_units(it))
            raise KeyError(f"no model of candidate {name!r}, fold {fold!r}. Models: {units}")
        candidate, place = finished[models[0].candidate], places[0]
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
        """Return the number of a repeat, counted from 1; 0 is the training on all training queries."""
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


@dataclass(frozen=True)
class Choice:
    """The choice of a metric on the validation set: a candidate for each fold, and their value."""

    candidates: tuple[str, ...]
    valid: float

    @property
    def label(self) -> str | tuple[str, ...]:
        """The candidate, or with folds all of them."""
        return self.candidates[0] if len(self.candidates) == 1 else self.candidates


@dataclass(frozen=True)
class Loss:
    """A mean difference with its confidence interval."""

    loss: float
    lower: float
    upper: float


def compute_paired_loss(difference: Floats, weights: Floats, alpha: float) -> Loss:
    """Return the weighted mean of per-query differences with its t-interval at level 1 − `alpha`.

    Queries without a difference (NaN) are ignored. The standard error is that of a ratio of sums, which is s/√n for
    equal weights. The degrees of freedom are one less than the effective number of queries (Σw)²/Σw².

    Examples
    --------
    >>> loss = compute_paired_loss(np.array([0.1, 0.3, 0.2, 0.2]), np.ones(4), alpha=0.05)
    >>> round(loss.lower, 4), round(loss.upper, 4)
    (0.0701, 0.3299)
    """
    from scipy.special import stdtrit

    has_value = (weights > 0) & ~np.isnan(difference)
    difference, weights = difference[has_value], scaled_weights(weights[has_value])[0]
    weights = weights / weights.sum()
    mean = float((weights * difference).sum())
    if not difference.any():
        return Loss(0.0, 0.0, 0.0)
    queries, freedom = len(difference), 1 / (weights**2).sum() - 1
    if not freedom > 0:
        return Loss(mean, -np.inf, np.inf)
    error = np.sqrt((weights**2 * (difference - mean) ** 2).sum() * queries / (queries - 1))
    half = float(stdtrit(freedom, 1 - alpha / 2) * error)
    return Loss(mean, mean - half, mean + half)


def create_result(
    storage: Storage, plan: Plan, trainings: Mapping[str, Training], directory: Path | None
) -> ExperimentResult:
    """Return the result of the candidates whose trainings are all finished; raise if there is none.

    Parameters
    ----------
    storage, plan : Storage, Plan
        Directory and plan.
    trainings : mapping of slug to Training
        Finished trainings.
    directory : Path or None
        Directory that remains. None for a temporary one, from which the scores are read now.
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
                (storage.read_failure(unit) or "not trained yet; run the experiment").strip() for unit in missing
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
