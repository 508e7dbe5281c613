"""Distributions of labels, and how far linear and exponential NDCG@10 can differ on them, whatever the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import gainwise as gw

SIMULATED_QUERIES = 2_000
PUBLISHED = {"MSLR-WEB30K": ([0.52, 0.32, 0.13, 0.02, 0.01], 120)}
"""Shares of the labels from 0, and documents per query, as published with the dataset."""


def describe_labels(judgments: gw.Judgments | pd.DataFrame, labels: NDArray[np.float64]) -> dict[str, Any]:
    """Return the distribution of the labels and the bounds. `judgments` are also accepted as a table of qrels."""
    bound = gw.disagreement_bound(judgments)
    values, counts = np.unique(labels, return_counts=True)
    return {
        "documents": len(labels),
        "documents_by_label": {f"{value:g}": int(count) for value, count in zip(values, counts, strict=True)},
        "queries": bound.queries,
        "one_ranking": bound.one_ranking,
        "two_rankings": bound.two_rankings,
        "conflict_is_possible": bound.possible,
    }


def describe_published(seed: int) -> dict[str, Any]:
    """Return bounds for simulated queries whose labels have published distributions."""
    rng = np.random.default_rng(seed)
    report = {}
    for name, (shares, length) in PUBLISHED.items():
        labels = rng.choice(len(shares), SIMULATED_QUERIES * length, p=shares).astype(float)
        report[name] = describe_labels(gw.Judgments(labels, group=[length] * SIMULATED_QUERIES), labels)
    return report
