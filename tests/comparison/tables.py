"""Tables of a comparison of values, with defaults for the other settings."""

from __future__ import annotations

import numpy as np

import gainsay as gs

LOSS = gs.metric("loss_in_tables", lambda labels, scores: 0.0, higher_is_better=False)


def comparison_of(values, models=None, weights=None, *, losses=(), draws=10_000, **options):
    """Return a comparison of arrays by metric. Models without names are numbered."""
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
    """Return the table of all pairs of models."""
    return comparison_of(values, models, weights, **options).pairs


def leaderboard_table(values, models=None, weights=None, **options):
    """Return the table of all metrics and models."""
    return comparison_of(values, models, weights, **options).standings
