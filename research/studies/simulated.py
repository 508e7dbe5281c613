"""Simulate how large a disagreement must be for a verdict to detect it: `python research/studies/simulated.py`.

One model finds fair documents, the other one excellent documents. The labels have the distribution of MSLR-WEB30K. The
noise of the second model is chosen such that each gain prefers another model by about the same difference. Samples of
queries are drawn with replacement from one large population. Their size is chosen such that the smaller standardized
difference has a given ratio to its standard error.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gainwise as gw
from gainwise.data import simulate

Floats = NDArray[np.float64]
POPULATION, LENGTH, SEED = 10_000, 40, 4
TASTES = (0.3, 0.5, 1.0)
RATIOS = (2, 3, 4)
SAMPLES = 200


def compute_scores(labels: Floats, taste: float, noise: Floats) -> Floats:
    """Return scores that prefer fair documents (negative taste) or excellent ones (positive taste)."""
    fair, excellent = np.minimum(labels, 2), np.maximum(labels - 2, 0)
    return np.asarray((0.7 - 0.3 * taste) * fair + (0.75 + 0.75 * taste) * excellent + noise)


def make_population(taste: float) -> Floats:
    """Return the values per query of both models under both gains, shape (gains, queries, models)."""
    data = simulate(POPULATION, seed=SEED, mean_length=LENGTH, features=1)
    evaluator = gw.Evaluator(["ndcg_linear@10", "ndcg_exp@10"], data.judgments(), n_jobs=1)
    noise = np.random.default_rng(SEED).normal(size=(2, len(data.labels)))
    first = evaluator(compute_scores(data.labels, -taste, 1.1 * noise[0])).per_query
    low, high = 0.8, 2.0
    for _ in range(12):
        middle = (low + high) / 2
        second = evaluator(compute_scores(data.labels, taste, middle * noise[1])).per_query
        if (second - first).mean() > 0:  # The second model is better on average over both gains.
            low = middle
        else:
            high = middle
    return np.stack([first.T, second.T], axis=2)


def measure_power(values: Floats, queries: int, rng: np.random.Generator) -> float:
    """Return the share of samples with a genuine disagreement."""
    kinds = []
    for seed in range(SAMPLES):
        sample = values[:, rng.integers(values.shape[1], size=queries)]
        tables = {"ndcg_linear@10": sample[0], "ndcg_exp@10": sample[1]}
        kinds.append(gw.Comparison(tables, ["fair", "excellent"], draws=2_000, seed=seed).verdict.kind)
    return kinds.count("genuine") / SAMPLES


def main() -> None:
    """Write the results."""
    rng = np.random.default_rng(SEED)
    rows: list[dict[str, Any]] = []
    for taste in TASTES:
        values = make_population(taste)
        differences = values[:, :, 1] - values[:, :, 0]
        discordance = differences[1] - differences[0]
        standardized = float(np.min(np.abs(differences.mean(axis=1)) / differences.std(axis=1)))
        for ratio in RATIOS:
            queries = round((ratio / standardized) ** 2)
            rows.append(
                {
                    "taste": taste,
                    "differences": differences.mean(axis=1).tolist(),
                    "standard_deviations": differences.std(axis=1).tolist(),
                    "discordance": float(discordance.mean()),
                    "discordance_standard_deviation": float(discordance.std()),
                    "ratio": ratio,
                    "queries": queries,
                    "genuine": measure_power(values, queries, rng),
                }
            )
    record = {"schema": 1, "seed": SEED, "samples": SAMPLES, "versions": {"gainwise": gw.__version__}, "results": rows}
    output = Path(__file__).parent / "results" / "simulated.json"
    output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
