"""The tables of a comparison from values alone, with settings that tests leave out."""

from __future__ import annotations

from gainsay.comparison.inputs import check_family, read_panel
from gainsay.comparison.pairs import leaderboard_of, pairs_of
from gainsay.comparison.sample import Sample


def sample(values, models=None, weights=None, *, draws=10_000, seed=0, ranges=None, losses=()):
    """A sample of values by query and model."""
    return Sample(read_panel(values, models, weights, lower_is_better=losses), 0.05, draws, seed, ranges)


def pairs_table(values, models=None, weights=None, primary=None, **options):
    """Every pair of models, as `Findings.pairs`."""
    made = sample(values, models, weights, **options)
    return pairs_of(made, check_family(primary, made.panel.metrics))


def leaderboard_table(values, models=None, weights=None, **options):
    """Every metric and model, as `Findings.standings`."""
    return leaderboard_of(sample(values, models, weights, **options))
