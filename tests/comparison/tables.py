"""The tables of a comparison from values alone, with settings that tests leave out."""

from __future__ import annotations

import numpy as np

import gainsay as gs

LOSS = gs.metric("loss_in_tables", lambda labels, scores: 0.0, higher_is_better=False)


def comparison_of(values, models=None, weights=None, *, losses=(), draws=10_000, **options):
    """A comparison of arrays of values by metric, the columns of unnamed models numbered."""
    names = models or [f"model {number}" for number in range(1, np.shape(next(iter(values.values())))[1] + 1)]
    return gs.Comparison(
        {name: np.asarray(table) for name, table in values.items()},
        names,
        weights=weights,
        metrics=dict.fromkeys(losses, LOSS),
        draws=draws,
        **options,
    )


def pairs_table(values, models=None, weights=None, **options):
    """Every pair of models."""
    return comparison_of(values, models, weights, **options).pairs


def leaderboard_table(values, models=None, weights=None, **options):
    """Every metric and model."""
    return comparison_of(values, models, weights, **options).standings
