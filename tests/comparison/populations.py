"""Recipes with several repeats and known means."""

from __future__ import annotations

import numpy as np
from scipy import stats

from gainwise.comparison.panel import build_panel, read_tables

NAMES = ("x", "y")
COUNTS = (3, 0, 5, 4)
"""Runs of four models; the second is fixed."""


def runs_of(seed=0, queries=200, counts=COUNTS, repeat=0.02, query_repeat=0.1, leads=None, base=1.0):
    """Return arrays by metric: (queries, repeats) for a recipe, (queries,) for a fixed model."""
    rng = np.random.default_rng(seed)
    base, found = base * rng.random((queries, 1)), {name: [] for name in NAMES}
    for k, count in enumerate(counts):
        effect, noise = rng.normal(0, repeat, max(count, 1)), rng.normal(0, query_repeat, (queries, max(count, 1)))
        own = rng.normal(0, 0.1, (queries, 1))
        for row, name in enumerate(NAMES):
            lead = 0 if leads is None else leads[row][k]
            effects = effect + rng.normal(0, 0.3 * repeat, len(effect)) if count else 0.0  # none if fixed
            values = base + own + effects + noise + lead
            values = values + rng.normal(0, 0.05, noise.shape)
            found[name].append(values if count else values[:, 0])
    return found


def number_models(values):
    """Return names for the models of an array of values, or of a list with one array per model."""
    has_repeats = isinstance(values, list) and any(np.ndim(table) == 2 for table in values)
    return [f"model {place + 1}" for place in range(len(values) if has_repeats else np.shape(values)[1])]


def panel_of(values, models=None, **options):
    models = models or number_models(next(iter(values.values())))
    return build_panel(*read_tables(values, models), models, **options)


def to_t(normal, freedom):
    """Replace normal deviates by those of a t distribution with the same probability."""
    return -np.sign(normal) * stats.t.ppf(stats.norm.cdf(-np.abs(normal)), freedom)
