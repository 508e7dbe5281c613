"""What the runs of recipes add to the error of their means, and where the variance comes from.

The truth of a recipe is its mean over queries *and* runs. Its runs are few, so their variance is known badly: every
draw of the noise redraws it, as a χ² with R − 1 degrees of freedom would.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .clusters import cluster_sums

if TYPE_CHECKING:
    from .._common.typing import Floats, Integers
    from .inputs import Panel

__all__ = ["RunError", "VarianceParts", "by_query_and_run", "draw_runs", "run_error", "run_means", "variance_parts"]


@dataclass(frozen=True)
class RunError:
    """What runs add to the errors of means.

    Attributes
    ----------
    counts : ndarray of int, shape (M,)
        Runs of each model, 0 of a fixed one.
    variance : ndarray, shape (metrics, M)
        Of the mean of each model over its runs: that of the runs' means over R; 0 for a fixed model.
    root : ndarray, shape (M, metrics, metrics)
        For each model a matrix A with A'A the covariance of its mean over runs under all metrics.
    query_error : ndarray, shape (metrics, M, M)
        Standard errors of differences as they would be were the runs' mean a fixed model.
    query_mean_error : ndarray, shape (metrics, M)
        The same of means.
    error, mean_error : ndarray
        Standard errors of differences and means with both parts.
    """

    counts: Integers
    variance: Floats
    root: Floats
    query_error: Floats
    query_mean_error: Floats
    error: Floats
    mean_error: Floats

    BY_ROW: ClassVar = ("variance", "query_error", "query_mean_error", "error", "mean_error")
    """What is held metric by metric."""

    def alone(self, row: int) -> RunError:
        """Return what is said of one metric."""
        one = slice(row, row + 1)
        return replace(self, root=self.root[:, :, one], **{name: getattr(self, name)[one] for name in self.BY_ROW})


def run_means(panel: Panel, model: int) -> Floats:
    """Return the weighted mean over queries of every run of a model, shape (metrics, R)."""
    assert panel.runs is not None
    runs = panel.runs[model]
    means: Floats = runs.mean(axis=1) if panel.weights is None else np.einsum("mqr,q->mr", runs, panel.weights)
    return means


def run_error(
    panel: Panel, query_error: Floats, query_mean_error: Floats, twin: Integers, tolerance: Floats
) -> RunError:
    """Return what runs add to the errors of queries, where some models are recipes.

    The covariance of all means is Q + S: Q of the values by query, averaged over runs, as if these were fixed models; S
    block by block for each recipe the covariance of its runs' means over R. The part that differs by query and run is
    in both, so the sum errs on the safe side. Twins, two models that never differ, have one run effect.
    """
    counts = np.array(panel.run_counts)
    metrics, models = query_mean_error.shape
    variance, root = np.zeros((metrics, models)), np.zeros((models, metrics, metrics))
    for k in np.flatnonzero(counts).tolist():
        means = run_means(panel, k)
        spread = means - means.mean(axis=1, keepdims=True)
        spread[np.abs(spread).max(axis=1) <= tolerance] = 0.0
        spread /= np.sqrt(counts[k] * (counts[k] - 1.0))
        directions, scale, _ = np.linalg.svd(spread, full_matrices=False)
        root[k] = (directions * scale) @ directions.T
        variance[:, k] = (spread**2).sum(axis=1)
    variance = variance[np.arange(metrics)[:, None], twin]
    both = variance[:, :, None] + variance[:, None, :]
    both[twin[:, :, None] == twin[:, None, :]] = 0.0
    error, mean_error = np.hypot(query_error, np.sqrt(both)), np.hypot(query_mean_error, np.sqrt(variance))
    return RunError(counts, variance, root, query_error, query_mean_error, error, mean_error)


def draw_runs(runs: RunError, values: Floats, generator: np.random.Generator) -> Floats:
    """Add the error of runs to draws of the error over queries, shape (metrics, M, draws), in place.

    Returns χ²(R − 1)/(R − 1) of each model, shape (M, draws): the variance that so few runs of a recipe show, over the
    true one; 1 for a fixed model. It is one for all metrics, as if the runs' effects on them went together.
    """
    draws = values.shape[2]
    factor = np.ones((len(runs.counts), draws))
    for k in np.flatnonzero(runs.counts):
        values[:, k] += runs.root[k].T @ generator.standard_normal((len(runs.root[k]), draws))
        freedom = runs.counts[k] - 1
        factor[k] = generator.chisquare(freedom, draws) / freedom
    return factor


@dataclass(frozen=True)
class VarianceParts:
    """Where the variance of a lead between two recipes comes from, under one metric: standard deviations.

    Attributes
    ----------
    query : float
        Of the difference of two recipes from query to query, each taken as the mean over all its runs: what more
        queries average out.
    run : float
        Of a recipe's mean over all queries from run to run: what only more runs average out.
    query_run : float
        Of what is left, a recipe's value from run to run and query to query: what either averages out.

    Examples
    --------
    What is the better buy, ten times the queries or twice the runs?

    >>> parts = VarianceParts(query=0.025, run=0.0015, query_run=0.075)
    >>> [round(parts.error_of_lead(*size), 5) for size in ((1_000, 5), (10_000, 5), (1_000, 10))]
    [0.00194, 0.00109, 0.00148]
    """

    query: float
    run: float
    query_run: float

    def error_of_lead(self, queries: int, runs: int) -> float:
        """Return the standard error of the lead of one recipe over another with so many queries and runs of each.

        √(2 run²/R + (query² + 2 query_run²/R)/n). The tests count the last part twice, so theirs is a little larger.
        """
        by_query = self.query**2 + 2 * self.query_run**2 / runs
        return float(np.sqrt(2 * self.run**2 / runs + by_query / queries))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON knows it."""
        return asdict(self)


def variance_parts(panel: Panel, runs: RunError | None) -> dict[str, VarianceParts]:
    """Estimate the parts of the variance by the method of moments, averaged over all recipes and pairs of them.

    With V the variance of a mean over n queries (weights and clusters as in `estimate`), the part by query and run of a
    recipe is n·V of what is left of its values when the means of queries and runs are taken out, over R − 1; that of
    its runs is the variance of their means less V of that; and that of queries is n times the variance of the
    difference of two recipes less their parts by query and run over R. What comes out below 0 is 0. Pairs of a recipe
    and a fixed model are taken only where there is no pair of recipes. Where all models are fixed there are no parts.
    """
    if runs is None:
        return {}
    queries, units, recipes = panel.queries, panel.units, np.flatnonzero(runs.counts)
    rest = np.zeros((len(panel.metrics), len(panel.models)))  # of the mean of one run, by query and run
    for k in recipes.tolist() if units > 1 else ():
        left = by_query_and_run(panel, k)
        rest[:, k] = units / (units - 1) * (left**2).sum(axis=(1, 2)) / (runs.counts[k] - 1)
    of_runs = (runs.counts * runs.variance - rest)[:, recipes].mean(axis=1)
    shared = queries * rest / np.maximum(runs.counts, 1)
    of_pairs = queries * runs.query_error**2 - shared[:, :, None] - shared[:, None, :]
    trained = runs.counts > 0
    first, second = np.nonzero(np.triu(trained[:, None] & trained, 1))
    if not len(first):
        first, second = np.nonzero(np.triu(trained[:, None] ^ trained, 1))
    of_queries = of_pairs[:, first, second].mean(axis=1) if len(first) else np.zeros(len(panel.metrics))
    found = np.sqrt(np.maximum(0.0, [of_queries, of_runs, queries * rest[:, recipes].mean(axis=1)])).T.tolist()
    return {metric: VarianceParts(*parts) for metric, parts in zip(panel.metrics, found, strict=True)}


def by_query_and_run(panel: Panel, model: int) -> Floats:
    """Return what is left of a recipe's weighted values when the means of its queries and runs are taken out.

    Of queries in clusters it is summed within each: shape (metrics, R, queries or clusters).
    """
    assert panel.runs is not None
    values = panel.runs[model]
    weights = np.full(panel.queries, 1 / panel.queries) if panel.weights is None else panel.weights
    centred = values - values.mean(axis=2, keepdims=True)
    left: Floats = np.moveaxis(centred - np.einsum("mqr,q->mr", centred, weights)[:, None], 1, 2) * weights
    if panel.clusters is None:
        return left
    return cluster_sums(left.reshape(-1, panel.queries), panel.clusters).reshape(*left.shape[:2], panel.units)
