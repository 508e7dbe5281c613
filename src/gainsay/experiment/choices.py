"""The models that are compared, what each metric would choose by itself, and what that costs on test: tables."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.cached import cached_property
from .._common.names import natural_order
from ..judgments import scaled_weights
from .rounds import BALANCED, EACH, Artefact
from .trainings import CandidateTrainings

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Bools, Floats
    from .plan import Plan


class Choices:
    """What valid chooses, and how that does on test; see `ExperimentResult` for what it is made of."""

    def __init__(
        self,
        plan: Plan,
        measured: Mapping[str, CandidateTrainings],
        full: Mapping[str, CandidateTrainings] | None = None,
    ) -> None:
        self.plan = plan
        self.measured = dict(measured)
        self.full = dict(full or {})

    @cached_property
    def _weights(self) -> Floats:
        """The weight of each query of test, folds one after the other."""
        return next(iter(self.measured.values())).weights

    def _rounds(self, candidate: str, stop_by: str) -> tuple[int, ...]:
        """Return for each training the round that "balanced" or a metric chooses on its valid."""
        return tuple(self.plan.round_by(training.curves, stop_by) for training in self.measured[candidate].trainings)

    @cached_property
    def artefacts(self) -> tuple[Artefact, ...]:
        """The models that are compared: candidates at one round each."""
        return tuple(itertools.chain.from_iterable(map(self._models, self.measured)))

    def _models(self, candidate: str) -> list[Artefact]:
        stop_by = self.plan.stop_by
        if stop_by != EACH:
            return [Artefact(candidate, candidate, stop_by, self._rounds(candidate, stop_by))]
        own = {metric: self._rounds(candidate, metric) for metric in self.plan.judges}
        if len(set(own.values())) == 1:
            return [Artefact(candidate, candidate, " and ".join(own), own[self.plan.judges[0]])]
        names = [
            f"{candidate} @{rounds[0]}" if len(rounds) == 1 else f"{candidate} by {metric}"
            for metric, rounds in own.items()
        ]
        return [Artefact(name, candidate, *chosen) for name, chosen in zip(names, own.items(), strict=True)]

    @cached_property
    def compared(self) -> pd.DataFrame:
        """The models that are compared, by name: `candidate`, `stop_by` (what chose), `rounds` (one per training).

        There is one training per fold, in each run: run after run, in each the folds.

        What chose is "balanced" (the first round with the smallest worst shortfall of the two primary metrics from
        their own best rounds on valid) or a metric, as the experiment says. A model is called like its candidate,
        unless the two metrics have models of their own.
        """
        import pandas as pd

        rows = [(model.name, model.candidate, model.stop_by, model.rounds) for model in self.artefacts]
        return pd.DataFrame(rows, columns=["model", "candidate", "stop_by", "rounds"]).set_index("model")

    def _compared_values(self) -> tuple[dict[str, dict[str, Floats]], Bools]:
        """Return by model and metric its values, shape (queries, runs), and of which queries these are.

        A query that a metric skips is NaN under it. Those that every metric skips are left out.
        """
        tests = {model.name: self.measured[model.candidate].test_at(model.rounds) for model in self.artefacts}
        counted: Bools = np.logical_not(np.isnan(next(iter(tests.values()))[:, :, 0]).all(axis=1))
        values = {
            model: {metric: test[counted, place] for place, metric in enumerate(self.plan.names)}
            for model, test in tests.items()
        }
        return values, counted

    @cached_property
    def curves(self) -> pd.DataFrame:
        """Every metric after every round on valid, of every training that is compared.

        Columns `candidate`, `fold`, `run` (0 where there is but one), `round`, `metric`, `value`, and `compared`:
        whether a model that is compared is as of this round.
        """
        import pandas as pd

        frames = []
        for name, measured in self.measured.items():
            models = [model for model in self.artefacts if model.candidate == name]
            for place, fold in enumerate(measured.trainings):
                rounds, metrics = fold.curves.shape
                compared = np.isin(np.arange(1, rounds + 1), [model.rounds[place] for model in models])
                frames.append(
                    pd.DataFrame(
                        {
                            "candidate": name,
                            "fold": fold.fold,
                            "run": measured.run_of(place),
                            "round": np.tile(np.arange(1, rounds + 1), metrics),
                            "metric": np.repeat(np.array(self.plan.names, dtype=object), rounds),
                            "value": fold.curves.T.ravel(),
                            "compared": np.tile(compared, metrics),
                        }
                    )
                )
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def best_rounds(self) -> pd.DataFrame:
        """The round, counted from 1, that each metric (column) chooses on valid: the first one with its best value.

        One row per candidate; with runs or folds one per candidate, run and fold.
        """
        import pandas as pd

        trainings = [
            (name, measured.run_of(place), training.fold)
            for name, measured in self.measured.items()
            for place, training in enumerate(measured.trainings)
        ]
        rounds = {
            metric: [number for candidate in self.measured for number in self._rounds(candidate, metric)]
            for metric in self.plan.names
        }
        frame = pd.DataFrame(rounds, index=pd.MultiIndex.from_tuples(trainings, names=["candidate", "run", "fold"]))
        several = {"run": self.plan.runs.count > 1, "fold": len(self.plan.folds) > 1}
        return frame.droplevel([level for level, there in several.items() if not there])

    @cached_property
    def _choices(self) -> dict[str, Choice]:
        """By metric, for each fold the candidate that is best on its valid; of equal ones the first by name."""
        return {metric: self._choice(place, metric) for place, metric in enumerate(self.plan.names)}

    def _choice(self, metric: int, chooser: str) -> Choice:
        names = natural_order(self.measured)
        rounds = {name: self._rounds(name, chooser) for name in names}
        best = max if self.plan.metrics[metric].higher_is_better else min
        candidates, values, weights = [], [], []
        for fold, measured in enumerate(next(iter(self.measured.values())).folds):
            on_valid = {name: self.measured[name].valid_on(fold, rounds[name], metric) for name in names}
            candidates.append(best(names, key=on_valid.__getitem__))
            values.append(on_valid[candidates[-1]])
            weights.append(measured.valid_weight[metric])
        return Choice(tuple(candidates), float(np.average(values, weights=weights)))

    def _picked(self, candidates: Sequence[str], stop_by: str) -> Floats:
        """Return all metrics on test of one candidate per fold, the mean over its runs; shape (queries, metrics)."""
        pieces = [
            self.measured[name].test_on(fold, self._rounds(name, stop_by)).mean(axis=2)
            for fold, name in enumerate(candidates)
        ]
        return np.concatenate(pieces)

    @cached_property
    def chosen(self) -> pd.DataFrame:
        """What one would choose on valid by each metric alone (row), and how that does on test.

        That is a candidate at the metric's own best round, which need not be the round at which it is compared.
        `candidate` is the one with the best value on valid, `rounds` its rounds (one per training), `valid` that value;
        for each metric M, `test M` is the mean over the queries of test that have a value. With folds each fold has a
        candidate of its own, chosen on the fold's valid as LETOR's protocol does (Qin et al. 2010): `candidate` is then
        a tuple, and `rounds` those of each. With runs the values are means over runs.
        """
        import pandas as pd

        rows = []
        for metric, choice in self._choices.items():
            rounds = tuple(
                number
                for fold, name in enumerate(choice.candidates)
                for number in self._rounds(name, metric)[fold :: len(choice.candidates)]
            )
            about = {"metric": metric, "candidate": choice.named, "rounds": rounds, "valid": choice.valid}
            test = zip(self.plan.names, self._picked(choice.candidates, metric).T, strict=True)
            rows.append({**about, **{f"test {other}": self._mean(values) for other, values in test}})
        return pd.DataFrame(rows).set_index("metric")

    @cached_property
    def choice_loss(self) -> pd.DataFrame:
        """What choosing candidate and round on valid by another metric loses on test.

        One row per ordered pair: `metric` judges; `candidate` is what it chooses itself, `chosen_by` another metric and
        `other` what that one chooses. `loss` is the mean over queries of the one minus the other (the other minus the
        one where `metric` is a loss), negative where the other choice does better, with a paired confidence interval
        from `lower` to `upper` at level 1 − alpha, for each row by itself. With runs it speaks of the mean of these
        runs: the interval covers other queries, not other runs.
        """
        import pandas as pd

        rows = []
        for judge, chooser in itertools.permutations(self.plan.names, 2):
            own, other = self._choices[judge], self._choices[chooser]
            about = {"metric": judge, "chosen_by": chooser, "candidate": own.named, "other": other.named}
            rows.append({**about, **self._loss(judge, (own.candidates, judge), (other.candidates, chooser))})
        return pd.DataFrame(rows, columns=["metric", "chosen_by", "candidate", "other", "loss", "lower", "upper"])

    @cached_property
    def stopping_loss(self) -> pd.DataFrame:
        """What stopping at another round than a metric's own best one loses on test, for each candidate.

        `metric` judges and `stopped_by`, another metric or "balanced", chose the round on valid; `loss`, `lower` and
        `upper` as in `choice_loss`.
        """
        import pandas as pd

        rows = []
        for name, judge in itertools.product(self.measured, self.plan.names):
            everywhere = (name,) * len(self.plan.folds)
            for chooser in (*self.plan.names, BALANCED):
                if chooser != judge and len(self.plan.names) > 1:
                    about = {"candidate": name, "metric": judge, "stopped_by": chooser}
                    rows.append({**about, **self._loss(judge, (everywhere, judge), (everywhere, chooser))})
        return pd.DataFrame(rows, columns=["candidate", "metric", "stopped_by", "loss", "lower", "upper"])

    @cached_property
    def run_values(self) -> pd.DataFrame:
        """Every run of every model that is compared: one row per model and run.

        `rounds` (one per fold), and for each metric M `valid M` and `test M`, the means there at these rounds. The last
        say how much runs differ; to choose one by them is to choose on test.
        """
        import pandas as pd

        rows = []
        for model in self.artefacts:
            measured = self.measured[model.candidate]
            folds, tests = len(measured.folds), measured.test_at(model.rounds)
            for run in range(measured.runs):
                its = slice(run * folds, (run + 1) * folds)
                one = CandidateTrainings(measured.trainings[its])
                about: dict[str, Any] = {"model": model.name, "run": run + 1, "rounds": model.rounds[its]}
                for place, metric in enumerate(self.plan.names):
                    about[f"valid {metric}"] = one.valid_at(model.rounds[its], place)
                    about[f"test {metric}"] = self._mean(tests[:, place, run])
                rows.append(about)
        return pd.DataFrame(rows).set_index(["model", "run"])

    @cached_property
    def shift(self) -> pd.DataFrame:
        """What training on all queries gives beyond training on resampled ones: one row per candidate and metric.

        `full` is the mean over test of one training on all training queries, `resampled` that over runs, `shift` the
        first minus the second, each at the round that valid chooses by `stop_by` (by "each": the metric's own).
        A bootstrap sample holds 63 % of the distinct queries, so models trained on it are mostly worse.
        Empty where runs are trained on all queries.
        """
        import pandas as pd

        rows = []
        for name, whole in self.full.items():
            for place, metric in enumerate(self.plan.names):
                chooser = metric if self.plan.stop_by == EACH else self.plan.stop_by
                means = []
                for measured in (whole, self.measured[name]):
                    rounds = tuple(self.plan.round_by(training.curves, chooser) for training in measured.trainings)
                    means.append(self._mean(measured.test_at(rounds).mean(axis=2)[:, place]))
                rows.append((name, metric, *means, means[0] - means[1]))
        return pd.DataFrame(rows, columns=["candidate", "metric", "full", "resampled", "shift"])

    def _mean(self, values: Floats) -> float:
        """Return the weighted mean over the queries that have a value."""
        counted = ~np.isnan(values)
        return float(np.average(values[counted], weights=self._weights[counted]))

    def _loss(self, judge: str, own: tuple[Sequence[str], str], other: tuple[Sequence[str], str]) -> dict[str, float]:
        """Return what a metric loses on test by (candidates, what stopped them) where others are its own choice."""
        place = self.plan.names.index(judge)
        first, second = (self._picked(*choice)[:, place] for choice in (own, other))
        lost = first - second if self.plan.metrics[place].higher_is_better else second - first
        return asdict(paired_loss(lost, self._weights, self.plan.alpha))


@dataclass(frozen=True)
class Choice:
    """What a metric chooses on valid: a candidate for each fold, and their value there."""

    candidates: tuple[str, ...]
    valid: float

    @property
    def named(self) -> str | tuple[str, ...]:
        """The candidate, or with folds all of them."""
        return self.candidates[0] if len(self.candidates) == 1 else self.candidates


@dataclass(frozen=True)
class Loss:
    """A mean difference with its confidence interval."""

    loss: float
    lower: float
    upper: float


def paired_loss(difference: Floats, weights: Floats, alpha: float) -> Loss:
    """Return the weighted mean of per-query differences with its t-interval at level 1 − `alpha`.

    Queries without a difference (NaN), which a metric skips, are left out.
    The standard error is that of a ratio of sums, as everywhere in `gainsay.comparison`; with equal weights s/√n. The
    degrees of freedom are one less than the effective number of queries (Σw)²/Σw².

    Examples
    --------
    >>> found = paired_loss(np.array([0.1, 0.3, 0.2, 0.2]), np.ones(4), alpha=0.05)
    >>> round(found.lower, 4), round(found.upper, 4)
    (0.0701, 0.3299)
    """
    from scipy.special import stdtrit

    counted = (weights > 0) & ~np.isnan(difference)
    difference, weights = difference[counted], scaled_weights(weights[counted])[0]
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
