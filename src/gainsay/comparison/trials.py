"""The tests, tried on samples that are drawn from variance parts: how often do they prove what is true?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np

from .._common.typing import Floats
from .parts import Parts
from .resampling import critical_value

__all__ = ["Claim", "Trial", "Trials", "is_genuine", "is_pair", "is_ship"]


@dataclass(frozen=True, eq=False)
class Trial:
    """What one sample comes to, or many (along a first axis of the differences) that share errors and draws.

    ``difference[m, k, j]`` is the lead of j over k, `error` its estimated standard error, shape (metrics, M, M).
    `leads` returns draws of the studentised error of the leads over a model, shape (metrics, M, draws); what follows
    from these alone is kept in `cache`.
    """

    difference: Floats
    error: Floats
    leads: Callable[[int], Floats]
    cache: dict[tuple[str, int], Any]


Made = TypeVar("Made")
Claim: TypeAlias = Callable[[Trial], Any]
"""Says of a sample whether the claim is proven, of many in an array."""


class Trials:
    """Samples of recipes of so many runs, or of fixed models, with the true means `truth`, shape (metrics, M).

    They come from the same random numbers whatever the number of queries.
    """

    def __init__(self, parts: Parts, truth: Floats, samples: int, draws: int, seed: int, runs: int) -> None:
        self.parts, self.truth, self.samples, self.runs = parts, truth, samples, runs
        generator = np.random.default_rng(seed)
        shape, width = (parts.metrics, parts.models), parts.metrics * parts.models
        # What runs and queries add together is among the run means; the test counts it among the queries once more.
        self._by_query = (generator.standard_normal((samples, width)) @ _roots(parts.query)).reshape(samples, *shape)
        noise = generator.standard_normal((draws, width)) @ _roots(parts.of_queries(runs))
        self._noise = np.moveaxis(noise.reshape(draws, *shape), 0, -1)
        covariance = parts.of_queries(runs).reshape(*shape, *shape)
        alone = np.einsum("mkmk->mk", covariance)
        self._variance = np.maximum(alone[:, :, None] + alone[:, None, :] - 2 * np.einsum("mkmj->mkj", covariance), 0.0)
        self._recipes = np.flatnonzero(parts.recipes)
        self._cache: dict[tuple[str, int], Any] = {}
        if len(self._recipes):
            self._by_run = generator.standard_normal((samples, len(self._recipes), runs, parts.metrics))
            self._run_noise = generator.standard_normal((len(self._recipes), parts.metrics, draws))
            self._spread = np.ones((parts.models, draws))
            self._spread[self._recipes] = generator.chisquare(runs - 1, (len(self._recipes), draws)) / (runs - 1)

    def chance(self, queries: float, claims: Sequence[Claim], *, together: bool = False) -> float:
        """Return in what share of samples of so many queries a claim is proven, the hardest one of several.

        `together` says that the claims take many samples at a time, where their draws are the same.
        """
        trial = self._recipe_trials(queries) if len(self._recipes) else self._fixed_trials(queries)
        if together and not len(self._recipes):
            every = trial(slice(None))
            return min(float(np.mean(claim(every))) for claim in claims)
        trials = map(trial, range(self.samples))
        return float(np.mean([[claim(one) for claim in claims] for one in trials], axis=0).min())

    def _fixed_trials(self, queries: float) -> Callable[[Any], Trial]:
        """Return what gives each sample of fixed models: the draws are the same for all, and for every size."""
        means = self.truth + self._by_query / np.sqrt(queries)
        error, scale = np.sqrt(self._variance / queries), np.sqrt(self._variance)
        return lambda place: Trial(
            _leads_of(means[place]),
            error,
            lambda k: _ratio(self._noise - self._noise[:, [k]], scale[:, k]),
            self._cache,
        )

    def _recipe_trials(self, queries: float) -> Callable[[Any], Trial]:
        """Return what gives each sample of recipes, whose test estimates the variance of runs."""
        roots = _roots(self.parts.run[self._recipes] + self.parts.query_run[self._recipes] / queries)
        values = np.einsum("svrm,vmp->svrp", self._by_run, roots)
        means = self.truth + self._by_query / np.sqrt(queries)
        means[:, :, self._recipes] += np.moveaxis(values.mean(axis=2), 1, 2)
        centred = values - values.mean(axis=2, keepdims=True)
        seen = np.einsum("svrm,svrp->svmp", centred, centred) / (self.runs - 1) / self.runs
        own = _roots(seen)
        of_runs = np.zeros_like(means)
        of_runs[:, :, self._recipes] = np.moveaxis(np.einsum("svmm->svm", seen), 1, 2)
        by_query, of_queries = self._noise / np.sqrt(queries), self._variance / queries

        def trial(place: int) -> Trial:
            noise, runs = by_query.copy(), of_runs[place]
            noise[:, self._recipes] += np.einsum("vmp,vpb->mvb", own[place], self._run_noise)
            drawn = runs[:, :, None] * self._spread

            def leads(k: int) -> Floats:
                return _ratio(noise - noise[:, [k]], np.sqrt(of_queries[:, k, :, None] + drawn[:, [k]] + drawn))

            error = np.sqrt(of_queries + runs[:, :, None] + runs[:, None, :])
            return Trial(_leads_of(means[place]), error, leads, {})

        return trial


def is_pair(first: int, second: int, row: int, alpha: float) -> Claim:
    """Return the claim that the second model is ahead of the first under one metric, two-sided at α."""

    def proven(trial: Trial) -> Any:
        critical = _cached(
            trial, ("pair", row), lambda: float(critical_value(np.abs(trial.leads(first)[row, second]), 1 - alpha))
        )
        return trial.difference[..., row, first, second] > critical * trial.error[row, first, second]

    return proven


def is_ship(baseline: int, candidate: int, alpha: float, margin: float) -> Claim:
    """Return the claim that a candidate is to be shipped: see `Against`; all other models are candidates too."""

    def proven(trial: Trial) -> Any:
        critical = _cached(
            trial, ("ship", 0), lambda: float(critical_value(np.abs(trial.leads(baseline)).max(axis=(0, 1)), 1 - alpha))
        )
        lower = trial.difference[..., baseline, candidate] - critical * trial.error[:, baseline, candidate]
        return (lower > -margin).all(axis=-1) & (lower > 0).any(axis=-1)

    return proven


def is_genuine(alpha: float, order: list[int]) -> Claim:
    """Return the claim that no model is best under both metrics: the two-step test, models in this order."""
    return lambda trial: all(_rejected(trial, k, alpha) for k in order)


def _rejected(trial: Trial, k: int, alpha: float) -> bool:
    """Whether it is rejected that model k is best: `two_step_test` for one model, as quick as may be."""
    beta = alpha / 10
    speak = trial.error[:, k] > 0

    def rivals() -> tuple[Floats, float, float]:
        """Return draws of the leads over it, the critical value where all inequalities bind, and that of step one."""
        draws = trial.leads(k)[speak]
        peaks = np.maximum(draws.max(axis=0, initial=0.0), 0.0)
        return draws, float(critical_value(peaks, 1 - alpha + beta)), float(critical_value(peaks, 1 - beta))

    draws, largest, bound = _cached(trial, ("rivals", k), rivals)
    t = trial.difference[:, k][speak] / trial.error[:, k][speak]
    highest = float(t.max(initial=-np.inf))
    if highest <= 0 or highest > largest:  # no slack makes the critical value larger
        return highest > 0
    slack = np.minimum(0.0, t + bound)
    shifted = np.maximum((draws + slack[:, None]).max(axis=0), 0.0)
    return bool(highest > critical_value(shifted, 1 - alpha + beta))


def _cached(trial: Trial, key: tuple[str, int], make: Callable[[], Made]) -> Made:
    """Return what follows from the draws of a trial, made once."""
    if key not in trial.cache:
        trial.cache[key] = make()
    found: Made = trial.cache[key]
    return found


def _leads_of(mean: Floats) -> Floats:
    leads: Floats = mean[..., None, :] - mean[..., :, None]
    return leads


def _ratio(lead: Floats, error: Floats) -> Floats:
    """Return leads over their errors, 0 where nothing varies; errors may lack the last axis."""
    scale = error if error.ndim == lead.ndim else error[..., None]
    found: Floats = np.divide(lead, scale, out=np.zeros_like(lead), where=scale > 0)
    return found


def _roots(covariance: Floats) -> Floats:
    """Return the symmetric square roots of covariance matrices, shape (…, n, n)."""
    scale, directions = np.linalg.eigh(covariance)
    spread = directions * np.sqrt(np.maximum(scale, 0.0))[..., None, :]
    roots: Floats = spread @ np.swapaxes(directions, -1, -2)
    return roots
