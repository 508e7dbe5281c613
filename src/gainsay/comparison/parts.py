"""What a mean varies by: the query, the training run, and the query together with the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._common.typing import Floats
from .recipes import by_query_and_run, run_means

if TYPE_CHECKING:
    from .sample import Family

__all__ = ["Parts", "found_parts", "given_parts"]


@dataclass(frozen=True, eq=False)
class Parts:
    """Covariances of one query, of one run, and of one query in one run, under two metrics.

    The mean over n queries and R runs has the variance run / R + (query + query_run / R) / n. A fixed model has neither
    of the two parts of runs.

    Attributes
    ----------
    query : ndarray, shape (metrics * M, metrics * M)
        Of a query's values averaged over ever more runs, metrics side by side.
    run, query_run : ndarray, shape (M, metrics, metrics)
        Of each model.
    """

    query: Floats
    run: Floats
    query_run: Floats

    @property
    def models(self) -> int:
        """How many models there are."""
        return len(self.run)

    @property
    def metrics(self) -> int:
        """How many metrics there are."""
        return int(self.run.shape[1])

    @property
    def recipes(self) -> Floats:
        """Which models vary from run to run, shape (M,)."""
        return np.asarray(np.trace(self.run + self.query_run, axis1=1, axis2=2) > 0)

    def of_queries(self, runs: int) -> Floats:
        """Return the covariance of one query's values, averaged over so many runs."""
        return self.query + _spread(self.query_run) / runs

    def deviations(self, row: int, k: int, j: int) -> dict[str, float]:
        """Return standard deviations of the difference of two models: by query, by run, and by both together."""
        first, second = (row * self.models + place for place in (k, j))
        of_queries = self.query[first, first] + self.query[second, second] - 2 * self.query[first, second]
        return {
            "query": float(np.sqrt(max(0.0, of_queries))),
            "run": float(np.sqrt(self.run[k, row, row] + self.run[j, row, row])),
            "query_run": float(np.sqrt(self.query_run[k, row, row] + self.query_run[j, row, row])),
        }


def given_parts(query: float, run: float, query_run: float, correlation: float, models: int) -> Parts:
    """Return the parts of models that are all alike under two metrics, from the arguments of `gainsay.plan`."""
    mixed = np.array([[1.0, correlation], [correlation, 1.0]])
    alike = np.broadcast_to(mixed, (models, 2, 2))
    return Parts(np.kron(mixed, np.eye(models)) * query**2 / 2, alike * run**2, alike * query_run**2)


def found_parts(family: Family) -> Parts:
    """Return the parts that a sample shows, those of runs where it has several of a model.

    From mean squares: what is left of the run means' covariance, and of the queries', when the share of finer parts is
    taken out; never below 0.
    """
    panel, estimated = family.panel, family.estimated
    metrics, models, queries = panel.values.shape
    scale = queries * panel.units / (panel.units - 1)
    run, both, of_both = np.zeros((3, models, metrics, metrics))
    for k, number in enumerate(panel.run_counts):
        if number:
            left = by_query_and_run(panel, k)
            both[k] = scale / (number - 1) * np.einsum("mrq,prq->mp", left, left)
            of_both[k] = both[k] / number
            run[k] = _positive(np.cov(run_means(panel, k)) - both[k] / queries)
    covariance = queries * estimated.root.T @ estimated.root
    return Parts(_positive(covariance - _spread(of_both)), run, both)


def _spread(blocks: Floats) -> Floats:
    """Return blocks (M, metrics, metrics) as the matrix (metrics * M, metrics * M) of all, metrics side by side."""
    models, metrics, _ = blocks.shape
    whole = np.zeros((metrics, models, metrics, models))
    for k in range(models):
        whole[:, k, :, k] = blocks[k]
    return whole.reshape(metrics * models, metrics * models)


def _positive(matrix: Floats) -> Floats:
    """Return the nearest covariance matrix: negative eigenvalues, which are sampling error, become 0."""
    scale, directions = np.linalg.eigh(np.atleast_2d(matrix))
    nearest: Floats = (directions * np.maximum(scale, 0.0)) @ directions.T
    return nearest
