"""Choices on the validation set and their cost on the test set: tables of a result."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.cached import cached_property
from .._common.names import natural_order
from .._common.sums import scale_weights
from .rounds import BALANCED, EACH, SelectedModel
from .trainings import CandidateTrainings, create_finalist_table

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Bools, Floats
    from .plan import Plan
    from .trainings import Training


class Choices:
    """Tables of the compared models and the choices of each metric. See `ExperimentResult` for the arguments."""

    def __init__(
        self,
        plan: Plan,
        trainings: Mapping[str, CandidateTrainings],
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

    @property
    def finalists(self) -> pd.DataFrame:
        """Validation results of the candidates that were trained once to choose finalists.

        One row per candidate: `valid M` for each primary metric M, and `finalist`. Empty without finalists.
        """
        return create_finalist_table(self.plan, self._first)

    @cached_property
    def models(self) -> tuple[SelectedModel, ...]:
        """The compared models: candidates at one round each."""
        return tuple(itertools.chain.from_iterable(map(self._select_models, self.trainings)))

    @cached_property
    def compared(self) -> pd.DataFrame:
        """The compared models by name: `candidate`, `stop_by` (the rule that chose the rounds), `rounds`.

        There is one round per training: repeat after repeat, with the folds of each. A model has the name of its
        candidate, unless the two primary metrics have separate models.
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
    def chosen(self) -> pd.DataFrame:
        """Candidate and round that each metric (row) alone would choose on the validation set, with test results.

        `candidate` has the best value on the validation set at the metric's own best round. `rounds` contains its
        rounds, one per training, and `valid` its value. For each metric M, `test M` is the mean over the test queries
        with a value. With folds, each fold has its own candidate (LETOR's protocol, Qin et al. 2010), and
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

    @cached_property
    def _choices(self) -> dict[str, Choice]:
        """Best candidate by metric on the validation set of each fold, the first by name if several are equal."""
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
    difference, weights = difference[has_value], scale_weights(weights[has_value])[0]
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
