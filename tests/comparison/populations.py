"""Recipes with several repeats and known means."""

import numpy as np
from scipy import optimize, stats

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


def corrected(critical, skewness):
    """Return the critical value of a one-sided bound with Johnson's correction, if it is larger."""
    return critical + max(0, skewness) * (2 * critical**2 + 1) / 6


def uncorrected(t, skewness):
    """Solve corrected(x) = t."""
    if t <= 0 or skewness <= 0:
        return t
    return optimize.brentq(lambda x: corrected(x, skewness) - t, -1, t, xtol=1e-14, rtol=1e-14)


def variance_form(shares):
    """Return the matrix of the quadratic form Σ w²/(1 − w) (x − μ)² of the values, with the weighted mean μ."""
    centre = np.eye(len(shares)) - np.outer(np.ones(len(shares)), shares)
    return centre.T @ np.diag(shares**2 / (1 - shares)) @ centre


def freedom_of(shares):
    """Return the degrees of freedom of the variance by the moments of its quadratic form of normal values."""
    form = variance_form(shares)
    return np.trace(form) ** 2 / np.trace(form @ form)


def skewness_of(x, shares):
    """Return the skewness of a weighted mean."""
    influences = shares / np.sqrt(1 - shares) * (x - shares @ x)
    return (influences**3).sum() / (influences**2).sum() ** 1.5


def one_sided(x, way="greater", shares=None):
    """Return the p-value of a mean of 0 in a one-sided t-test with Johnson's correction."""
    shares = np.full(len(x), 1 / len(x)) if shares is None else shares
    sign = 1 if way == "greater" else -1
    t = sign * shares @ x / np.sqrt(x @ variance_form(shares) @ x)
    return stats.t.sf(uncorrected(t, -sign * skewness_of(x, shares)), freedom_of(shares))


def two_sided(x, shares=None):
    return min(1.0, 2 * min(one_sided(x, way, shares) for way in ("greater", "less")))


def to_t(normal, freedom):
    """Replace normal deviates by those of a t distribution with the same probability."""
    return -np.sign(normal) * stats.t.ppf(stats.norm.cdf(-np.abs(normal)), freedom)
