"""The models that are compared, what each metric would choose by itself, and what that costs on test: tables."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._common.cached import cached_property
from .._common.names import natural_key
from ..judgments import scaled_weights
from .rounds import BALANCED, EACH, Artefact

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Bools, Floats
    from .measured import Measured
    from .plan import Plan

__all__ = ["Choices", "Loss", "paired_loss"]


class Choices:
    """What valid chooses, and how that does on test.

    Parameters
    ----------
    plan : Plan
        What the experiment consists of.
    measured : mapping of candidate to Measured
        What was measured of the candidates that are finished on all folds.
    """

    def __init__(self, plan: Plan, measured: Mapping[str, Measured]) -> None:
        self.plan = plan
        self.measured = dict(measured)

    @cached_property
    def _weights(self) -> Floats:
        """The weight of each query of test, folds one after the other."""
        return next(iter(self.measured.values())).weights

    def _rounds(self, candidate: str, stop_by: str) -> tuple[int, ...]:
        """Return for each fold the round that "balanced" or a metric chooses on valid."""
        return tuple(self.plan.round_by(fold.curves, stop_by) for fold in self.measured[candidate].folds)

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
        """The models that are compared, by name: `candidate`, `stop_by` (what chose), `rounds` (one per fold).

        What chose is "balanced" (the first round with the smallest worst shortfall of the two primary metrics from
        their own best rounds on valid) or a metric, as the experiment says. A model is called like its candidate,
        unless the two metrics have models of their own.
        """
        import pandas as pd

        rows = [(model.name, model.candidate, model.stop_by, model.rounds) for model in self.artefacts]
        return pd.DataFrame(rows, columns=["model", "candidate", "stop_by", "rounds"]).set_index("model")

    def _compared_values(self) -> tuple[dict[str, Floats], Bools]:
        """Return by metric the values of the models, shape (queries, models), and of which queries these are.

        A query that a metric skips is NaN under it. Those that every metric skips are left out.
        """
        tests = [self.measured[model.candidate].test_at(model.rounds) for model in self.artefacts]
        counted: Bools = np.logical_not(np.isnan(tests[0]).all(axis=1))
        values = {
            metric: np.stack([test[counted, place] for test in tests], axis=1)
            for place, metric in enumerate(self.plan.names)
        }
        return values, counted

    @cached_property
    def curves(self) -> pd.DataFrame:
        """Every metric after every round on valid: columns `candidate`, `fold`, `round`, `metric`, `value`, `compared`.

        The last says whether a model that is compared is as of this round.
        """
        import pandas as pd

        frames = []
        for name, measured in self.measured.items():
            models = [model for model in self.artefacts if model.candidate == name]
            for place, fold in enumerate(measured.folds):
                rounds, metrics = fold.curves.shape
                compared = np.isin(np.arange(1, rounds + 1), [model.rounds[place] for model in models])
                frames.append(
                    pd.DataFrame(
                        {
                            "candidate": name,
                            "fold": fold.fold,
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

        One row per candidate; with folds one per candidate and fold.
        """
        import pandas as pd

        folds = [fold.name for fold in self.plan.folds]
        index = pd.MultiIndex.from_product([self.measured, folds], names=["candidate", "fold"])
        rounds = {
            metric: [number for candidate in self.measured for number in self._rounds(candidate, metric)]
            for metric in self.plan.names
        }
        frame = pd.DataFrame(rounds, index=index)
        return frame.droplevel("fold") if len(folds) == 1 else frame

    @cached_property
    def _choices(self) -> dict[str, tuple[str, float]]:
        """By metric, the candidate that is best by it on valid, with that value; of equal ones the first by name."""
        return dict(zip(self.plan.names, map(self._choice, range(len(self.plan.names))), strict=True))

    def _choice(self, metric: int) -> tuple[str, float]:
        chooser = self.plan.names[metric]
        names = sorted(self.measured, key=natural_key)
        values = {name: self.measured[name].valid_at(self._rounds(name, chooser), metric) for name in names}
        name = (max if self.plan.metrics[metric].higher_is_better else min)(names, key=values.__getitem__)
        return name, values[name]

    @cached_property
    def chosen(self) -> pd.DataFrame:
        """What one would choose on valid by each metric alone (row), and how that does on test.

        That is a candidate at the metric's own best round, which need not be the round at which it is compared.
        `candidate` is the one with the best value on valid, `rounds` its round (one per fold), `valid` that value;
        for each metric M, `test M` is the mean over the queries of test that have a value. With folds, one candidate is
        chosen by the mean over all queries of valid, while rounds are chosen in each fold.
        """
        import pandas as pd

        rows = []
        for metric, (name, value) in self._choices.items():
            rounds = self._rounds(name, metric)
            about = {"metric": metric, "candidate": name, "rounds": rounds, "valid": value}
            test = zip(self.plan.names, self.measured[name].test_at(rounds).T, strict=True)
            rows.append({**about, **{f"test {other}": self._mean(values) for other, values in test}})
        return pd.DataFrame(rows).set_index("metric")

    @cached_property
    def choice_loss(self) -> pd.DataFrame:
        """What choosing candidate and round on valid by another metric loses on test.

        One row per ordered pair: `metric` judges; `candidate` is what it chooses itself, `chosen_by` another metric and
        `other` what that one chooses. `loss` is the mean over queries of the one minus the other (the other minus the
        one where `metric` is a loss), negative where the other choice does better, with a paired confidence interval
        from `lower` to `upper` at level 1 − alpha, for each row by itself.
        """
        import pandas as pd

        rows = []
        for judge, chooser in itertools.permutations(self.plan.names, 2):
            own, other = self._choices[judge][0], self._choices[chooser][0]
            about = {"metric": judge, "chosen_by": chooser, "candidate": own, "other": other}
            rows.append({**about, **self._loss(judge, (own, judge), (other, chooser))})
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
            for chooser in (*self.plan.names, BALANCED):
                if chooser != judge and len(self.plan.names) > 1:
                    about = {"candidate": name, "metric": judge, "stopped_by": chooser}
                    rows.append({**about, **self._loss(judge, (name, judge), (name, chooser))})
        return pd.DataFrame(rows, columns=["candidate", "metric", "stopped_by", "loss", "lower", "upper"])

    def _mean(self, values: Floats) -> float:
        """Return the weighted mean over the queries that have a value."""
        counted = ~np.isnan(values)
        return float(np.average(values[counted], weights=self._weights[counted]))

    def _loss(self, judge: str, own: tuple[str, str], other: tuple[str, str]) -> dict[str, float]:
        """Return what a metric loses on test by one (candidate, what stopped it) where another is its own choice."""
        place = self.plan.names.index(judge)
        first, second = (
            self.measured[candidate].test_at(self._rounds(candidate, stop_by))[:, place]
            for candidate, stop_by in (own, other)
        )
        lost = first - second if self.plan.metrics[place].higher_is_better else second - first
        return asdict(paired_loss(lost, self._weights, self.plan.alpha))


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
    queries = len(difference)
    if not difference.any():
        return Loss(0.0, 0.0, 0.0)
    if queries < 2:
        return Loss(mean, -np.inf, np.inf)
    error = np.sqrt((weights**2 * (difference - mean) ** 2).sum() * queries / (queries - 1))
    half = float(stdtrit(1 / (weights**2).sum() - 1, 1 - alpha / 2) * error)
    return Loss(mean, mean - half, mean + half)
