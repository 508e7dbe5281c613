"""The tables of a comparison from values alone, with settings that tests leave out."""

from __future__ import annotations

import numpy as np

import gainsay as gs

LOSS = gs.metric("loss_in_tables", lambda labels, scores: 0.0, higher_is_better=False)


def comparison_of(values, models=None, weights=None, *, losses=(), draws=10_000, **options):
    """A comparison of values by metric, the columns of unnamed models numbered."""
    first = next(iter(values.values()))
    has_repeats = isinstance(first, list) and any(np.ndim(table) == 2 for table in first)
    number = len(first) if has_repeats else np.shape(first)[1]
    return gs.Comparison(
        values,
        models or [f"model {place}" for place in range(1, number + 1)],
        weights=weights,
        metrics=dict.fromkeys(losses, LOSS),
        draws=draws,
        **options,
    )


def verdict_of(first, second, models=None, weights=None, *, names=("ndcg_linear@10", "ndcg_exp@10"), **options):
    """The verdict on the values of two metrics."""
    return comparison_of(dict(zip(names, (first, second), strict=True)), models, weights, **options).verdict


def pairs_table(values, models=None, weights=None, **options):
    """Every pair of models."""
    return comparison_of(values, models, weights, **options).pairs


def leaderboard_table(values, models=None, weights=None, **options):
    """Every metric and model."""
    return comparison_of(values, models, weights, **options).standings
