"""Measure the coverage of sensitivity intervals, and of the discordance of pairs, on simulated models.

    python research/calibration/claims_evidence.py --samples 4000

- Sensitivity: the means of models under two metrics are drawn from a normal distribution with a given share of pairs
  in opposite order.
- Discordance: eight models on 200 queries, with bounded, skewed values and given differences.

The result is `research/calibration/claims/evidence.json`. The script uses one process.
"""

from __future__ import annotations

import math

import numpy as np
from claims import Claim, simulate_claims

import gainwise as gw
from gainwise.comparison.sensitivity import estimate_share, find_reversals

ALPHA, MODELS, QUERIES = 0.05, 8, 200


def simulate_share(sample: int, models: int, share: float) -> tuple[float, float]:
    """Return whether the plain jackknife interval and the interval of the package contain the share of pairs."""
    rng = np.random.default_rng([28, models, int(1000 * share), sample])
    correlation = math.cos(math.pi * share)  # P(opposite order) = arccos(correlation) / pi
    first, noise = rng.normal(size=(2, models))
    second = correlation * first + math.sqrt(1 - correlation**2) * noise
    shares = find_reversals(first, second)
    estimate, lower, upper = estimate_share(shares, ALPHA)
    rows = shares.sum(axis=1)
    without = (rows.sum() / 2 - rows) / ((models - 1) * (models - 2) / 2)
    error = math.sqrt((models - 1) / models * ((without - without.mean()) ** 2).sum())
    return float(abs(estimate - share) <= 1.96 * error), float(lower <= share <= upper)


def draw_pairs(sample: int, spread: float) -> tuple[gw.Comparison, np.ndarray]:
    """Return a comparison of models, and the true difference of their metrics."""
    rng = np.random.default_rng([29, int(10_000 * spread), sample])
    level = rng.beta(2, 3, size=(QUERIES, 1))
    linear = level + 0.1 * rng.standard_exponential((QUERIES, MODELS)) - 0.1
    gap = 0.03 * (rng.standard_exponential((QUERIES, MODELS)) - 1) * (0.5 + level)
    effect = spread * np.linspace(-1, 1, MODELS)
    names = [f"m{place}" for place in range(MODELS)]
    values = {"ndcg_linear@10": linear, "ndcg_exp@10": linear + gap + effect}
    return gw.Comparison(values, names, draws=1000, seed=sample), effect


def cover_discordances(sample: int) -> tuple[float, float]:
    """Return whether all separate t-intervals, and all simultaneous intervals, contain the discordances."""
    comparison, effect = draw_pairs(sample, 0.01)
    pairs, (first, second) = comparison.pairs, np.triu_indices(MODELS, 1)
    true = effect[first] - effect[second]
    simultaneous = ((pairs["discordance lower"] <= true) & (true <= pairs["discordance upper"])).all()
    gap = comparison.values["ndcg_exp@10"] - comparison.values["ndcg_linear@10"]
    differences = gap[:, first] - gap[:, second]
    half = 1.972 * differences.std(axis=0, ddof=1) / math.sqrt(QUERIES)
    return float((np.abs(differences.mean(axis=0) - true) <= half).all()), float(simultaneous)


def reject_discordances(sample: int) -> tuple[float, float]:
    """Return whether any raw p-value, and any p-value after Holm's correction, is significant without discordance."""
    pairs = draw_pairs(sample, 0.0)[0].pairs
    return tuple(float((pairs[f"discordance {column}"] <= ALPHA).any()) for column in ("p_value", "p_holm"))


CLAIMS = [
    *(
        Claim(
            "evidence",
            f"sensitivity: interval of a share of {share:g} with {models} models covers",
            "at least",
            0.93,
            lambda sample, models=models, share=share: simulate_share(sample, models, share),
        )
        for models in (10, 25, 60)
        for share in (0.01, 0.05, 0.2, 0.4)
    ),
    Claim("evidence", "discordance: all intervals of 28 pairs cover", "at least", 0.94, cover_discordances),
    Claim(
        "evidence",
        "discordance: any significant pair after Holm's correction, if all are 0",
        "at most",
        0.05,
        reject_discordances,
    ),
]


if __name__ == "__main__":
    simulate_claims(__doc__, "evidence", CLAIMS)
