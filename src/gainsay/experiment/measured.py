"""What was measured of the candidates: curves on valid, per-query values on test, and losses with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..judgments import scaled_weights
from .training import best_rounds

if TYPE_CHECKING:
    from .._common.typing import Floats
    from .store import Finished

__all__ = ["Loss", "Measured", "paired_loss"]


@dataclass(frozen=True)
class OnFold:
    """One candidate on one fold."""

    fold: str
    curves: Floats
    test: Mapping[int, Floats]
    weights: Floats
    valid_weight: Floats
    query_ids: Any = ()

    @classmethod
    def from_finished(cls, fold: str, finished: Finished, metrics: Sequence[str]) -> OnFold:
        """Take from the files what results are made of."""
        test = {}
        for number in finished.test["round"].unique().tolist():
            rows = finished.test[finished.test["round"] == number].sort_values("query")
            test[int(number)] = rows[list(metrics)].to_numpy(np.float64)
            weights, ids = rows["weight"].to_numpy(np.float64), rows["query_id"].to_numpy()
        curves = finished.curves.sort_values("round")[list(metrics)].to_numpy(np.float64)
        valid_weight = np.array(finished.manifest["valid_weight"], dtype=np.float64)
        return cls(fold, curves, test, weights, valid_weight, ids)

    @property
    def rounds(self) -> list[int]:
        """For each metric the round that it chooses on valid."""
        return best_rounds(self.curves)


class Measured:
    """One candidate on all folds, which are in their own order and not in that of their completion.

    Parameters
    ----------
    folds : sequence of OnFold
        In order.
    """

    def __init__(self, folds: Sequence[OnFold]) -> None:
        self.folds = tuple(folds)

    @property
    def weights(self) -> Floats:
        """The weight of each query, folds one after the other."""
        return np.concatenate([fold.weights for fold in self.folds])

    def rounds(self, chooser: int) -> tuple[int, ...]:
        """Return for each fold the round that the metric number `chooser` chooses on valid."""
        return tuple(fold.rounds[chooser] for fold in self.folds)

    def test_at(self, rounds: Sequence[int]) -> Floats:
        """Return all metrics on test at these rounds, one per fold; shape (queries, metrics)."""
        return np.concatenate([fold.test[number] for fold, number in zip(self.folds, rounds, strict=True)])

    def test(self, chooser: int) -> Floats:
        """Return all metrics on test at the rounds that metric number `chooser` chooses; shape (queries, metrics)."""
        return self.test_at(self.rounds(chooser))

    def best_on_valid(self, metric: int) -> float:
        """Return the largest value on valid: where there are folds their mean, weighted by the queries of each."""
        values = np.array([fold.curves[:, metric].max() for fold in self.folds])
        weights = np.array([fold.valid_weight[metric] for fold in self.folds])
        return float((weights * values).sum() / weights.sum())


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
