"""Simulated samples from variance components, to estimate how often a test proves a true claim."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._common.typing import Floats
from .estimates import compute_interactions, compute_repeat_means
from .resampling import JointEstimate, critical_value, map_to_t


@dataclass(frozen=True, eq=False)
class ComponentCovariances:
    """Covariances of two metrics by source: query, repeat, and their interaction.

    The mean over n queries and R repeats has the variance repeat / R + (query + query_repeat / R) / n. For a fixed
    model, only the first component is positive.

    Attributes
    ----------
    query : ndarray, shape (metrics * M, metrics * M)
        Covariance of the values of a query averaged over repeats, metrics side by side.
    repeat, query_repeat : ndarray, shape (M, metrics, metrics)
        Covariance of each model.
    """

    query: Floats
    repeat: Floats
    query_repeat: Floats

    @property
    def models(self) -> int:
        """Number of models."""
        return len(self.repeat)

    @property
    def metrics(self) -> int:
        """Number of metrics."""
        return int(self.repeat.shape[1])

    @property
    def recipes(self) -> Floats:
        """Whether each model varies between repeats, shape (M,)."""
        return np.asarray(np.trace(self.repeat + self.query_repeat, axis1=1, axis2=2) > 0)

    def compute_query_covariance(self, repeats: int) -> Floats:
        """Return the covariance of the values of a query averaged over this number of repeats."""
        return self.query + _join_blocks(self.query_repeat) / repeats

    def compute_differences(self, k: int, j: int) -> tuple[Floats, Floats, Floats]:
        """Return the covariances over metrics of the difference of two models.

        The first is that over queries, shape (metrics, metrics). The others are those of the interactions and of the
        repeats of each of the two models, shape (2, metrics, metrics).
        """
        query = self.query.reshape(self.metrics, self.models, self.metrics, self.models)
        of_query = query[:, k, :, k] + query[:, j, :, j] - query[:, k, :, j] - query[:, j, :, k]
        return of_query, self.query_repeat[[k, j]], self.repeat[[k, j]]

    def find_deviations(self, row: int, k: int, j: int) -> dict[str, float]:
        """Return the standard deviations of the difference of two models by source."""
        first, second = (row * self.models + place for place in (k, j))
        of_queries = self.query[first, first] + self.query[second, second] - 2 * self.query[first, second]
        return {
            "query": float(np.sqrt(max(0.0, of_queries))),
            "repeat": float(np.sqrt(self.repeat[k, row, row] + self.repeat[j, row, row])),
            "query_repeat": float(np.sqrt(self.query_repeat[k, row, row] + self.query_repeat[j, row, row])),
        }


def build_covariances(
    query: float, repeat: float, query_repeat: float, correlation: float, models: int
) -> ComponentCovariances:
    """Return equal components for all models, from the arguments of `gainsay.plan`."""
    mixed = np.array([[1.0, correlation], [correlation, 1.0]])
    alike = np.broadcast_to(mixed, (models, 2, 2))
    return ComponentCovariances(
        np.kron(mixed, np.eye(models)) * query**2 / 2, alike * repeat**2, alike * query_repeat**2
    )


def estimate_covariances(joint: JointEstimate) -> ComponentCovariances:
    """Estimate the components from a sample by mean squares.

    The share of finer components is subtracted from the covariances of repeat means and of queries. Negative estimates
    become 0.
    """
    panel, estimated = joint.panel, joint.estimated
    metrics, models, queries = panel.values.shape
    scale = queries * panel.units / (panel.units - 1)
    repeat, both, of_both = np.zeros((3, models, metrics, metrics))
    for k, number in enumerate(panel.repeat_counts):
        if number:
            left = compute_interactions(panel, k)
            both[k] = scale / (number - 1) * np.einsum("mrq,prq->mp", left, left)
            of_both[k] = both[k] / number
            repeat[k] = _remove_negative_variances(np.cov(compute_repeat_means(panel, k)) - both[k] / queries)
    covariance = queries * estimated.root.T @ estimated.root
    return ComponentCovariances(_remove_negative_variances(covariance - _join_blocks(of_both)), repeat, both)


def _join_blocks(blocks: Floats) -> Floats:
    """Return blocks (M, metrics, metrics) as the matrix (metrics * M, metrics * M) of all, metrics side by side."""
    models, metrics, _ = blocks.shape
    whole = np.zeros((metrics, models, metrics, models))
    for k in range(models):
        whole[:, k, :, k] = blocks[k]
    return whole.reshape(metrics * models, metrics * models)


def _remove_negative_variances(matrix: Floats) -> Floats:
    """Return the nearest covariance matrix. Negative eigenvalues are sampling errors and become 0."""
    scale, directions = np.linalg.eigh(np.atleast_2d(matrix))
    return np.asarray((directions * np.maximum(scale, 0.0)) @ directions.T)


class SimulatedSample(NamedTuple):
    """One sample, or many along a first axis of the differences that share errors and draws.

    ``difference[m, k, j]`` is the difference of j to k, and `error` its standard error, shape (metrics, M, M).
    `compute_t` returns draws of the t-statistics of the differences to a model, shape (metrics, M, draws).
    """

    difference: Floats
    error: Floats
    compute_t: Callable[[int], Floats]


Claim: TypeAlias = Callable[[SimulatedSample], Any]
"""Function from a sample to whether the claim is proven, or to an array for many samples."""


class Simulation:
    """Simulated samples of recipes or fixed models with the true means `truth`, shape (metrics, M).

    Samples of all sizes use the same random numbers.
    """

    def __init__(
        self, components: ComponentCovariances, truth: Floats, samples: int, draws: int, seed: int, repeats: int
    ) -> None:
        self.components, self.truth, self.samples, self.repeats = components, truth, samples, repeats
        generator = np.random.default_rng(seed)
        shape, width = (components.metrics, components.models), components.metrics * components.models
        # What repeats and queries add together is in the repeat means. The test counts it in the queries again.
        self._by_query = (generator.standard_normal((samples, width)) @ _compute_roots(components.query)).reshape(
            samples, *shape
        )
        noise = generator.standard_normal((draws, width)) @ _compute_roots(components.compute_query_covariance(repeats))
        self._noise = np.moveaxis(noise.reshape(draws, *shape), 0, -1)
        covariance = components.compute_query_covariance(repeats).reshape(*shape, *shape)
        alone = np.einsum("mkmk->mk", covariance)
        self._variance = np.maximum(alone[:, :, None] + alone[:, None, :] - 2 * np.einsum("mkmj->mkj", covariance), 0.0)
        self._recipes = np.flatnonzero(components.recipes)
        if len(self._recipes):
            self._by_repeat = generator.standard_normal((samples, len(self._recipes), repeats, components.metrics))
            self._repeat_noise = generator.standard_normal((len(self._recipes), components.metrics, draws))
            # As in `draw_repeat_errors`, each recipe and metric has its own estimated variance.
            self._factor = np.ones((*shape, draws))
            estimated = generator.chisquare(repeats - 1, (components.metrics, len(self._recipes), draws))
            self._factor[:, self._recipes] = estimated / (repeats - 1)

    def estimate_chance(self, queries: float, claims: Sequence[Claim], *, together: bool = False) -> float:
        """Return the share of samples with this number of queries that prove a claim, the smallest of several claims.

        `together` means that claims accept many samples at a time.
        """
        trial = self._build_recipe_trials(queries) if len(self._recipes) else self._build_fixed_trials(queries)
        if together and not len(self._recipes):
            every = trial(slice(None))
            return min(float(np.mean(claim(every))) for claim in claims)
        trials = map(trial, range(self.samples))
        return float(np.mean([[claim(sample) for claim in claims] for sample in trials], axis=0).min())

    def _build_fixed_trials(self, queries: float) -> Callable[[Any], SimulatedSample]:
        """Return the function from an index to a sample of fixed models, which share their draws."""
        means = self.truth + self._by_query / np.sqrt(queries)
        error, scale = np.sqrt(self._variance / queries), np.sqrt(self._variance)

        @cache
        def compute_t(k: int) -> Floats:
            return map_to_t(_divide(self._noise - self._noise[:, [k]], scale[:, k]), queries - 1)

        def trial(place: Any) -> SimulatedSample:
            return SimulatedSample(means[place][..., None, :] - means[place][..., :, None], error, compute_t)

        return trial

    def _build_recipe_trials(self, queries: float) -> Callable[[Any], SimulatedSample]:
        """Return the function from an index to a sample of recipes, whose tests estimate the variance of repeats."""
        components, recipes = self.components, self._recipes
        roots = _compute_roots(components.repeat[recipes] + components.query_repeat[recipes] / queries)
        values = np.einsum("svrm,vmp->svrp", self._by_repeat, roots)
        means = self.truth + self._by_query / np.sqrt(queries)
        means[:, :, recipes] += np.moveaxis(values.mean(axis=2), 1, 2)
        centred = values - values.mean(axis=2, keepdims=True)
        estimated = np.einsum("svrm,svrp->svmp", centred, centred) / (self.repeats - 1) / self.repeats
        estimated_roots = _compute_roots(estimated)
        of_repeats = np.zeros_like(means)
        of_repeats[:, :, recipes] = np.moveaxis(np.einsum("svmm->svm", estimated), 1, 2)
        by_query, of_queries = self._noise / np.sqrt(queries), self._variance / queries

        def trial(place: int) -> SimulatedSample:
            noise, repeats = by_query.copy(), of_repeats[place]
            noise[:, recipes] += np.einsum("vmp,vpb->mvb", estimated_roots[place], self._repeat_noise)
            drawn = repeats[:, :, None] * self._factor
            error = np.sqrt(of_queries + repeats[:, :, None] + repeats[:, None, :])

            @cache
            def compute_t(k: int) -> Floats:
                t = map_to_t(_divide(noise - noise[:, [k]], error[:, k]), queries - 1)
                shown = np.sqrt(of_queries[:, k, :, None] + drawn[:, [k]] + drawn)
                return np.asarray(t * np.divide(error[:, k, :, None], shown, out=np.zeros_like(shown), where=shown > 0))

            return SimulatedSample(means[place, :, None, :] - means[place, :, :, None], error, compute_t)

        return trial


def build_pair_claim(first: int, second: int, row: int, alpha: float) -> Claim:
    """Return the claim that the second model is better than the first under one metric, two-sided at α."""

    def is_proven(sample: SimulatedSample) -> Any:
        critical = float(critical_value(np.abs(sample.compute_t(first)[row, second]), 1 - alpha))
        return sample.difference[..., row, first, second] > critical * sample.error[row, first, second]

    return is_proven


def build_genuine_claim(alpha: float, order: list[int]) -> Claim:
    """Return the claim that no model is best under both metrics. `order` only affects the speed."""
    beta = alpha / 10

    @lru_cache(maxsize=len(order))
    def compute_criticals(compute_t: Callable[[int], Floats], k: int) -> tuple[float, float]:
        """Return the critical value of a model if all inequalities bind, and that of step one."""
        max_t = compute_t(k).max(axis=(0, 1), initial=0.0)
        return float(critical_value(max_t, 1 - alpha + beta)), float(critical_value(max_t, 1 - beta))

    def is_rejected(sample: SimulatedSample, k: int) -> bool:
        """Return whether model k is rejected by `two_step_test`, with shortcuts."""
        varies = sample.error[:, k] > 0
        t = sample.difference[:, k][varies] / sample.error[:, k][varies]
        largest, first = compute_criticals(sample.compute_t, k)
        highest = float(t.max(initial=-np.inf))
        if highest <= 0 or highest > largest:  # Slack only decreases the critical value.
            return highest > 0
        slack = np.minimum(0.0, t + first)
        shifted = np.maximum((sample.compute_t(k)[varies] + slack[:, None]).max(axis=0), 0.0)
        return bool(highest > critical_value(shifted, 1 - alpha + beta))

    return lambda sample: all(is_rejected(sample, k) for k in order)


def _divide(difference: Floats, error: Floats) -> Floats:
    """Return differences over their errors, 0 for errors of 0. Errors may lack the last axis."""
    scale = error if error.ndim == difference.ndim else error[..., None]
    return np.asarray(np.divide(difference, scale, out=np.zeros_like(difference), where=scale > 0))


def _compute_roots(covariance: Floats) -> Floats:
    """Return the symmetric square roots of covariance matrices, shape (…, n, n)."""
    scale, directions = np.linalg.eigh(covariance)
    spread = directions * np.sqrt(np.maximum(scale, 0.0))[..., None, :]
    return np.asarray(spread @ np.swapaxes(directions, -1, -2))
