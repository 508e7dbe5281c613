"""What a mean varies by: the query, the training run, and the query together with the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._common.typing import Floats
from .clusters import cluster_sums
from .recipes import run_means

if TYPE_CHECKING:
    from .inputs import Panel
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
        return {
            "query": float(np.sqrt(max(0.0, _contrast(self.query, self.models, row, k, j)))),
            "run": float(np.sqrt(self.run[k, row, row] + self.run[j, row, row])),
            "query_run": float(np.sqrt(self.query_run[k, row, row] + self.query_run[j, row, row])),
        }


def given_parts(query: float, run: float, query_run: float, correlation: float, models: int, metrics: int = 2) -> Parts:
    """Return the parts of models that are all alike.

    Parameters
    ----------
    query : float
        Standard deviation of the difference of two models on one query, each averaged over ever more runs.
    run : float
        Standard deviation of one model's mean from run to run.
    query_run : float
        Standard deviation of one model's value on one query from run to run, beyond that.
    correlation : float
        Between the two metrics, in each part.
    models, metrics : int
        How many.
    """
    mixed = np.full((metrics, metrics), correlation)
    np.fill_diagonal(mixed, 1.0)
    alike = np.broadcast_to(mixed, (models, metrics, metrics))
    return Parts(np.kron(mixed, np.eye(models)) * query**2 / 2, alike * run**2, alike * query_run**2)


def found_parts(family: Family) -> Parts:
    """Return the parts that a sample shows, those of runs where it has several of a model.

    From mean squares: what is left of the run means' covariance, and of the queries', when the share of finer parts is
    taken out; never below 0.
    """
    panel, estimated = family.panel, family.estimated
    metrics, models, queries = panel.values.shape
    run, both, of_both = np.zeros((3, models, metrics, metrics))
    for k, number in enumerate(panel.run_counts):
        if number:
            assert panel.runs is not None
            means = run_means(panel, k)
            both[k] = _by_query_and_run(panel, panel.runs[k])
            of_both[k] = both[k] / number
            run[k] = _positive(np.cov(means) - both[k] / queries)
    covariance = queries * estimated.root.T @ estimated.root
    return Parts(_positive(covariance - _spread(of_both)), run, both)


def _by_query_and_run(panel: Panel, values: Floats) -> Floats:
    """Return the covariance, over metrics, of what is left of runs when the means of queries and runs are taken out."""
    metrics, queries, number = values.shape
    weights = np.full(queries, 1 / queries) if panel.weights is None else panel.weights
    left = values - values.mean(axis=2, keepdims=True)
    left = np.moveaxis(left - np.einsum("mqr,q->mr", left, weights)[:, None], 1, 2) * weights
    if panel.clusters is not None:
        left = cluster_sums(left.reshape(-1, queries), panel.clusters).reshape(metrics, number, panel.units)
    scale = queries * panel.units / (panel.units - 1) / (number - 1)
    covariance: Floats = scale * np.einsum("mrq,prq->mp", left, left)
    return covariance


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


def _contrast(covariance: Floats, models: int, row: int, k: int, j: int) -> float:
    """Return the variance of the difference of two models under one metric."""
    first, second = row * models + k, row * models + j
    return float(covariance[first, first] + covariance[second, second] - 2 * covariance[first, second])
