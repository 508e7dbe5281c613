"""Comparisons for reports."""

import os
import shutil
from functools import cache

import numpy as np
import pandas as pd
import pytest

import gainwise as gw

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
)


def scores_of(names, labels, rng, noise=0.8):
    """Return models that prefer fair to excellent documents, and the other way round."""
    found = {}
    for number, name in enumerate(names):
        taste = number / max(len(names) - 1, 1)
        liking = (1 - taste) * 0.45 * np.minimum(labels, 2) + taste * 1.4 * np.maximum(labels - 2, 0)
        found[name] = (1 - 0.1 * rng.random()) * liking + rng.normal(size=len(labels)) * noise
    return found


def curves_of(names, metrics, rounds=120):
    """Return curves with different best rounds of the first two metrics."""
    frames = []
    number = np.arange(1, rounds + 1)
    for place, name in enumerate(names):
        for which, metric in enumerate(metrics):
            peak = 30 + 25 * which + place
            value = 0.5 - 1e-5 * (number - peak) ** 2
            frames.append(pd.DataFrame({"candidate": name, "round": number, "metric": metric, "value": value}))
    return pd.concat(frames, ignore_index=True)


@cache
def made(models=8, queries=300, metrics=None, names=None, twins=False, curves=False, margin=0.002, seed=0):
    rng = np.random.default_rng(seed)
    names = names or tuple(f"lambdarank, taste {number}" for number in range(models))
    labels = rng.choice(5, size=queries * 15, p=[0.5, 0.28, 0.14, 0.05, 0.03])
    scores = scores_of(names, labels, rng)
    if twins:
        scores[names[1]] = scores[names[0]]
    comparison = gw.compare(scores, gw.Judgments(labels, group=[15] * queries), metrics, margin=margin, draws=2000)
    if curves:
        comparison.curves = curves_of(names, comparison.metrics[:2])
    return comparison


@pytest.fixture(scope="session")
def make():
    """Return a function that makes a comparison, once for the same arguments."""
    return made


@pytest.fixture(scope="session")
def hostile():
    """A comparison of models with names that are markup, code, very long or written from right to left."""
    return made(names=HOSTILE, curves=True)


@pytest.fixture(scope="session")
def from_values():
    """Return a function that makes a comparison of values."""

    def build(first, second, models=None, names=("a", "b"), **options):
        first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
        models = models or [f"m{number}" for number in range(first.shape[1])]
        options = {"draws": 2000, **options}
        return gw.Comparison(dict(zip(names, (first, second), strict=True)), models, **options)

    return build


OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium. Its tests are skipped if it is not installed.

    Only one module uses it, because no other test can start an event loop while Playwright runs.
    """
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = os.environ.get("GAINWISE_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        pytest.skip("needs Chromium on the path, or GAINWISE_CHROMIUM")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=OPTIONS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def page(browser):
    """One page for all reports of a module, because a new page takes longer than most reports."""
    made = browser.new_page()
    yield made
    made.close()
