"""Tables of a result: the compared rounds, the selected candidate, and the cost of other choices on the test set."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from .._common.cached import cached_property
from .._common.sums import scale_weights
from .._common.typing import Floats
from .._common.words import join_names, natural_order
from .config import BALANCED
from .plan import Plan, find_balanced_round, orient
from .storage import Training

Repeats = Sequence[Sequence[Training]]
"""The trainings of a candidate: for each repeat, one training per fold."""

MAX_NAMES, MAX_ROUNDS = 4, 6
"""Limits on the names and rounds in a sentence."""


class ResultTables:
    """Tables of the candidates. See `ExperimentResult` for the attributes."""

    plan: Plan
    trainings: Mapping[str, Repeats]
    identical: tuple[str, ...]
    first: Mapping[str, Floats]

    @cached_property
    def selected(self) -> str:
        """Name of the candidate that the validation set selects, which `load_model`, `predict` and `refit` use.

        The shortfall of a candidate under a metric is the gap to the best value of any candidate on the validation set.
        The selected one has the smallest larger shortfall under the two primary metrics, or the best value of the only
        metric. The test set is not used, so the results of the selected candidate on it are unbiased.
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
        """The compared candidates: `rounds`, chosen by `stop_by`, and `valid M` for each metric M.

        There is one round per training: repeat after repeat, with the folds of each. `valid M` is the mean on the
        validation set over repeats and folds, at these rounds.
        """
        rows = []
        for name, repeats in self.trainings.items():
            rounds = tuple(self.plan.choose_round(training.curves) for folds in repeats for training in folds)
            rows.append({"candidate": name, "rounds": rounds, **self._average_valid(self._collect("valid", name))})
        return pd.DataFrame(rows).set_index("candidate")

    def _collect(self, part: str, name: str, rule: str | None = None, folds: slice = slice(None)) -> Floats:
        """Return all metrics at the rounds that "balanced" or a metric chooses, by default the rule of the plan.

        The shape is (queries, metrics, repeats) for the part "test", and (folds, metrics, repeats) for "valid".
        """

        def read(training: Training) -> Any:
            number = self.plan.choose_round(training.curves, rule)
            return training.test[training.rounds == number][0] if part == "test" else training.curves[[number - 1]]

        return np.stack([np.concatenate(list(map(read, repeat[folds]))) for repeat in self.trainings[name]], axis=2)

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
    def choice_loss(self) -> pd.DataFrame:
        """Loss on the test set if another metric chooses candidate and round on the validation set.

        One row per ordered pair of metrics. `candidate` is the choice of `metric`, and `other` the choice of
        `chosen_by`: the candidate with the best value at its own best round. With folds, each fold has its own
        candidate (LETOR's protocol, Qin et al. 2010), and these are tuples. `loss` is the mean of `metric` for the
        first minus the second (reversed if `metric` is a loss), with a paired confidence interval from `lower` to
        `upper` at level 1 − alpha. With repeats, the interval covers other queries and other repeats.
        """
        rows = []
        choices = {metric: self._choose_candidates(place, metric) for place, metric in enumerate(self.plan.names)}
        for metric, chooser in itertools.permutations(self.plan.names, 2):
            pair = choices[metric], choices[chooser]
            names = [names[0] if len(names) == 1 else names for names in pair]
            columns = {"metric": metric, "chosen_by": chooser, "candidate": names[0], "other": names[1]}
            rows.append({**columns, **self._compute_loss(metric, *pair, chooser)})
        return pd.DataFrame(rows, columns=["metric", "chosen_by", "candidate", "other", "loss", "lower", "upper"])

    @cached_property
    def stopping_loss(self) -> pd.DataFrame:
        """Loss on the test set if training stops at another round than a metric's own best, for each candidate.

        `stopped_by` is the rule that chose the round: another metric or "balanced". See `choice_loss` for the columns.
        The intervals of all candidates under one rule are simultaneous (Bonferroni). You can select the largest loss.
        """
        rows = []
        rules = (*self.plan.names, BALANCED) if len(self.plan.names) > 1 else ()
        for name, metric, rule in itertools.product(self.trainings, self.plan.names, rules):
            if rule != metric:
                names = (name,) * len(self.plan.folds)
                loss = self._compute_loss(metric, names, names, rule, len(self.trainings))
                rows.append({"candidate": name, "metric": metric, "stopped_by": rule, **loss})
        return pd.DataFrame(rows, columns=["candidate", "metric", "stopped_by", "loss", "lower", "upper"])

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

    def _choose_candidates(self, column: int, metric: str) -> tuple[str, ...]:
        """Return the best candidate on the validation set of each fold, the first by name if several are equal."""
        best = np.argmax if self.plan.metrics[column].higher_is_better else np.argmin
        names = natural_order(self.trainings)
        means = np.stack([self._collect("valid", name, metric)[:, column].mean(axis=1) for name in names])
        return tuple(names[place] for place in best(means, axis=0))

    def _average(self, values: Floats) -> float:
        """Return the weighted mean over the queries with a value."""
        has_value = ~np.isnan(values)
        return float(np.average(values[has_value], weights=self._weights[has_value]))

    def _compute_loss(
        self, metric: str, chosen: Sequence[str], substitutes: Sequence[str], rule: str, intervals: int = 1
    ) -> dict[str, float]:
        """Return the loss of a metric if its own candidates, one per fold, and rounds are replaced by others.

        The interval is one of several simultaneous `intervals`.
        """
        column = self.plan.names.index(metric)
        tests = [
            self._collect("test", name, stop_by, slice(fold, fold + 1))[:, column]
            for names, stop_by in ((chosen, metric), (substitutes, rule))
            for fold, name in enumerate(names)
        ]
        if len({values.shape[1] for values in tests}) > 1:  # A candidate with identical repeats has one.
            tests = [values.mean(axis=1, keepdims=True) for values in tests]
        difference = np.concatenate(tests[: len(chosen)]) - np.concatenate(tests[len(chosen) :])
        if not self.plan.metrics[column].higher_is_better:
            difference = -difference
        loss, lower, upper = compute_paired_loss(difference, self._weights, self.plan.alpha / intervals)
        return {"loss": loss, "lower": lower, "upper": upper}

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on finalists, repeats and folds, which the comparison and its reports contain too."""
        notes = []
        repeats, folds = self.plan.repeats, len(self.plan.folds)
        if not self.finalists.empty:
            notes.append(self._describe_finalists())
        if self.identical:
            notes.append(
                f"All repeats of {join_names(self.identical, MAX_NAMES)} are identical, because another seed changes "
                "nothing. Each is compared as a fixed model. Sample documents or features, or use vary='queries'"
            )
        if self.plan.vary == "queries":
            notes.append(
                "Repeats are trained on resampled queries, each with 63 % of the distinct queries. No model of all "
                "queries is compared"
            )
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
        return (
            f"The compared finalists are the best {repeats.keep} on valid by {' or '.join(self.plan.primary_metrics)}"
            f"{baseline}, trained {repeats.number} times anew. The training that chose them is not counted{once}"
        )


def join_rounds(rounds: Sequence[int]) -> str:
    """Return the rounds of the trainings of a model, or the range of many.

    Examples
    --------
    >>> join_rounds([70, 83]), join_rounds([12, 40, 7, 31, 25, 18, 90])
    ('70, 83', '7 to 90, median 25')
    """
    if len(rounds) <= MAX_ROUNDS:
        return ", ".join(map(str, rounds))
    return f"{min(rounds)} to {max(rounds)}, median {median(rounds):g}"


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
