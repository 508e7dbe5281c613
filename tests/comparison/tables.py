"""Tables of a comparison of values, with defaults for the other settings."""

from tests.comparison.populations import number_models

import gainwise as gw

LOSS = gw.metric("loss_in_tables", lambda labels, scores: 0.0, higher_is_better=False)


def comparison_of(values, models=None, weights=None, *, losses=(), draws=10_000, **options):
    """Return a comparison of values by metric. Models without names are numbered."""
    return gw.Comparison(
        values,
        models or number_models(next(iter(values.values()))),
        weights=weights,
        metrics=dict.fromkeys(losses, LOSS),
        draws=draws,
        **options,
    )


def verdict_of(first, second, models=None, weights=None, *, names=("ndcg_linear@10", "ndcg_exp@10"), **options):
    """Return the verdict on the values of two metrics."""
    return comparison_of(dict(zip(names, (first, second), strict=True)), models, weights, **options).verdict


def pairs_table(values, models=None, weights=None, **options):
    """Return the table of all pairs of models."""
    return comparison_of(values, models, weights, **options).pairs


def leaderboard_table(values, models=None, weights=None, **options):
    """Return the table of all metrics and models."""
    return comparison_of(values, models, weights, **options).standings
