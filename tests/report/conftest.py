"""Comparisons to report on."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

import gainsay as gs

HOSTILE = (
    "<script>alert(1)</script>",
    "\"quoted' & <b>bold</b>",
    "x" * 500,
    "🚀 emoji 你好",
    "מודל עברי",
    "$\\alpha$ _under_ |pipe| `tick`",
    "line\nbreak\x00\u202eevil",
    "=cmd()",
    "{{ 7 * 7 }}",
    "</title></svg></style>",
    "",
)


def scores_of(names, labels, rng, noise=0.8):
    """Models from one that finds fair documents to one that finds excellent ones."""
    found = {}
    for number, name in enumerate(names):
        taste = number / max(len(names) - 1, 1)
        liking = (1 - taste) * 0.45 * np.minimum(labels, 2) + taste * 1.4 * np.maximum(labels - 2, 0)
        found[name] = (1 - 0.1 * rng.random()) * liking + rng.normal(size=len(labels)) * noise
    return found


def curves_of(names, metrics, rounds=120):
    """Curves whose best rounds differ between the first two metrics."""
    frames = []
    number = np.arange(1, rounds + 1)
    for place, name in enumerate(names):
        for which, metric in enumerate(metrics):
            peak = 30 + 25 * which + place
            value = 0.5 - 1e-5 * (number - peak) ** 2
            frames.append(pd.DataFrame({"candidate": name, "round": number, "metric": metric, "value": value}))
    return pd.concat(frames, ignore_index=True)


@cache
def made(models=8, queries=300, metrics=None, names=None, twins=False, curves=False, rope=0.002, seed=0):
    rng = np.random.default_rng(seed)
    names = names or tuple(f"lambdarank, taste {number}" for number in range(models))
    labels = rng.choice(5, size=queries * 15, p=[0.5, 0.28, 0.14, 0.05, 0.03])
    scores = scores_of(names, labels, rng)
    if twins:
        scores[names[1]] = scores[names[0]]
    comparison = gs.compare(scores, gs.Judgments(labels, group=[15] * queries), metrics, rope=rope, draws=2000)
    if curves:
        comparison.curves = curves_of(names, comparison.metrics[:2])
    return comparison


@pytest.fixture(scope="session")
def make():
    """Make a comparison of so many models; the same arguments give the same object."""
    return made


@pytest.fixture(scope="session")
def hostile():
    """A comparison of models whose names are markup, code, overlong or written from right to left."""
    return made(names=HOSTILE, curves=True)


@pytest.fixture(scope="session")
def from_values():
    """Make a comparison from values alone."""

    def build(first, second, models=None, names=("a", "b"), **options):
        first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
        models = models or [f"m{number}" for number in range(first.shape[1])]
        options = {"draws": 2000, **options}
        return gs.Comparison(dict(zip(names, (first, second), strict=True)), models, **options)

    return build
