"""Measure the coverage of sensitivity intervals, and of the discordance of pairs, on simulated models.

    python research/calibration/claims_evidence.py --samples 4000

- Sensitivity: the means of models under two metrics are drawn from a normal distribution with a given share of pairs
  in opposite order.
- Discordance: eight models on 200 queries, with bounded, skewed values and given differences.

The result is `research/calibration/claims/evidence.json`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from claims import Study, at_least, at_most, run_studies
from differences import METRICS, Array, Generator

import gainwise as gw
from gainwise.comparison.sensitivity import estimate_share, find_reversals

ALPHA, MODELS, QUERIES = 0.05, 8, 200
Result = dict[str, bool | None]


def cover_share(models: int, share: float) -> Callable[[Generator], Result]:
    """Return a trial: does the interval contain the share of pairs in opposite order?"""
    correlation = math.cos(math.pi * share)  # P(opposite order) = arccos(correlation) / pi

    def trial(rng: Generator) -> Result:
        first, noise = rng.normal(size=(2, models))
        second = correlation * first + math.sqrt(1 - correlation**2) * noise
        _, lower, upper = estimate_share(find_reversals(first, second), ALPHA)
        return {"covers": lower <= share <= upper}

    return trial


def draw_pairs(rng: Generator, spread: float) -> tuple[gw.Comparison, Array]:
    """Return a comparison of models, and the true difference of their metrics."""
    level = rng.beta(2, 3, size=(QUERIES, 1))
    linear = level + 0.1 * rng.standard_exponential((QUERIES, MODELS)) - 0.1
    gap = 0.03 * (rng.standard_exponential((QUERIES, MODELS)) - 1) * (0.5 + level)
    effect = spread * np.linspace(-1, 1, MODELS)
    names = [f"m{place}" for place in range(MODELS)]
    values = dict(zip(METRICS, (linear, linear + gap + effect), strict=True))
    return gw.Comparison(values, names, draws=1000), effect


def cover_discordances(rng: Generator) -> Result:
    """Return whether all simultaneous intervals contain the discordances."""
    comparison, effect = draw_pairs(rng, 0.01)
    pairs, (first, second) = comparison.pairs, np.triu_indices(MODELS, 1)
    true = effect[first] - effect[second]
    covers = (pairs["discordance lower"] <= true) & (true <= pairs["discordance upper"])
    return {"all intervals of 28 pairs cover": bool(covers.all())}


def reject_discordances(rng: Generator) -> Result:
    """Return whether any adjusted p-value is significant without discordance."""
    pairs = draw_pairs(rng, 0.0)[0].pairs
    return {"any adjusted p-value ≤ .05": bool((pairs["discordance p_adjusted"] <= ALPHA).any())}


STUDIES = [
    *(
        Study(
            "1",
            f"sensitivity: interval of a share of {share:g} with {models} models",
            cover_share(models, share),
            {"covers": at_least(0.93)},
        )
        for models in (10, 25, 60)
        for share in (0.01, 0.05, 0.2, 0.4)
    ),
    Study("2", "discordance", cover_discordances, {"all intervals of 28 pairs cover": at_least(0.94)}),
    Study("2", "discordance, all are 0", reject_discordances, {"any adjusted p-value ≤ .05": at_most(0.05)}),
]


if __name__ == "__main__":
    run_studies(__doc__, "evidence", STUDIES)
