"""Tables of a result: the compared models, the selected one, and the cost of other choices on the test set."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.cached import cached_property
from .._common.names import natural_order
from .._common.sums import scale_weights
from .rounds import BALANCED, EACH, find_balanced_round, orient
from .trainings import CandidateTrainings, ComparedModel, create_finalist_table

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Bools, Floats
    from .plan import Plan
    from .trainings import Training


class ResultTables:
    """Tables of the compared models. See `ExperimentResult` for the arguments."""

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
        `upper` at level 1 − alpha. With repeats, the interval covers other queries and other repeats.
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
        The intervals of all candidates under one rule are simultaneous (Bonferroni). You can select the largest loss.
        """
        import pandas as pd

        rows = []
        for name, metric in itertools.product(self.trainings, self.plan.names):
            candidates = (name,) * len(self.plan.folds)
            for rule in (*self.plan.names, BALANCED):
                if rule != metric and len(self.plan.names) > 1:
                    columns = {"candidate": name, "metric": metric, "stopped_by": rule}
                    loss = self._compute_loss(metric, candidates, candidates, rule, len(self.trainings))
                    rows.append({**columns, **loss})
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

    def _compute_loss(
        self, metric: str, own: Sequence[str], other: Sequence[str], rule: str, intervals: int = 1
    ) -> dict[str, float]:
        """Return the loss of a metric if its own candidates and rounds are replaced by other candidates and a rule.

        The interval is one of several simultaneous `intervals`.
        """
        column = self.plan.names.index(metric)

        def collect(candidates: Sequence[str], by: str) -> Floats:
            pieces = [
                self.trainings[name].collect_fold_values(fold, self._choose_rounds(name, by))[:, column]
                for fold, name in enumerate(candidates)
            ]
            least = min(piece.shape[1] for piece in pieces)  # A candidate with identical repeats has one.
            if max(piece.shape[1] for piece in pieces) > least:
                pieces = [piece.mean(axis=1, keepdims=True) for piece in pieces]
            return np.concatenate(pieces)

        first, second = collect(own, metric), collect(other, rule)
        if first.shape != second.shape:
            first, second = (values.mean(axis=1, keepdims=True) for values in (first, second))
        difference = first - second
        if not self.plan.metrics[column].higher_is_better:
            difference = -difference
        loss, lower, upper = compute_paired_loss(difference, self._weights, self.plan.alpha / intervals)
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


def compute_paired_loss(difference: Floats, weights: Floats, alpha: float) -> tuple[float, float, float]:
    """Return the weighted mean of per-query differences, and its t-interval at level 1 − `alpha`.

    `difference` has shape (queries,) or (queries, repeats). Queries without a difference (NaN) are ignored. The
    standard error is that of a ratio of sums, which is s/√n for equal weights. The degrees of freedom are one less than
    the effective number of queries (Σw)²/Σw². With two or more repeats, the variance of the mean over repeats is added,
    and the formula of Welch and Satterthwaite combines the degrees of freedom.

    Examples
    --------
    >>> loss, lower, upper = compute_paired_loss(np.array([0.1, 0.3, 0.2, 0.2]), np.ones(4), alpha=0.05)
    >>> round(lower, 4), round(upper, 4)
    (0.0701, 0.3299)
    """
    from scipy.special import stdtrit

    by_repeat = difference.reshape(len(weights), -1)
    difference = by_repeat.mean(axis=1)
    has_value = (weights > 0) & ~np.isnan(difference)
    by_repeat, difference = by_repeat[has_value], difference[has_value]
    weights = scale_weights(weights[has_value])[0]
    weights = weights / weights.sum()
    mean = float((weights * difference).sum())
    if not by_repeat.any():
        return 0.0, 0.0, 0.0
    queries, freedom = len(difference), float(1 / (weights**2).sum() - 1)
    if not freedom > 0:
        return mean, -np.inf, np.inf
    variance = float((weights**2 * (difference - mean) ** 2).sum() * queries / (queries - 1))
    repeats = by_repeat.shape[1]
    if repeats > 1:
        of_repeats = float(np.var(weights @ by_repeat, ddof=1) / repeats)
        whole = variance + of_repeats
        if whole > 0:
            freedom = whole**2 / (variance**2 / freedom + of_repeats**2 / (repeats - 1))
        variance = whole
    half = float(stdtrit(freedom, 1 - alpha / 2) * np.sqrt(variance))
    return mean, mean - half, mean + half
