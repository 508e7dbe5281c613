"""The compiled core returns the same bits as NumPy for scores and query lengths at the limits of its fast methods."""

from dataclasses import replace

import numpy as np
import pytest
from tests.fuzz.core import assert_same_bits, in_core, in_numpy

import gainwise as gw
from gainwise.ranking import compiled

pytestmark = pytest.mark.skipif(compiled.core() is None, reason="there is no compiled core")

SIZES = [0, 1, 7, 8, 31, 32, 33, 47, 48, 49, 63, 64, 65, 100, 127, 128, 129, 257, 1_000]
CUTOFFS = [1, 8, 12, 16, 17, 25, 250, None]
INF, TINY = np.inf, 5e-324

SCORES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "ascending": lambda rng, n: np.arange(n) / 7,
    "descending": lambda rng, n: -np.arange(n) / 7,
    "constant": lambda rng, n: np.full(n, 0.25),
    "zeros of both signs": lambda rng, n: rng.choice([-0.0, 0.0], n),
    "few distinct": lambda rng, n: rng.integers(-3, 4, n) / 7,
    "one document above ties": lambda rng, n: np.where(rng.random(n) < 0.02, rng.normal(size=n), 1.5),
    "heavy-tailed": lambda rng, n: rng.standard_cauchy(n) ** 3,
    "log-uniform": lambda rng, n: rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-300, 300, n),
    "last bits": lambda rng, n: np.ldexp(2.0**52 + rng.integers(0, 3, n), -52),
    "near ties": lambda rng, n: rng.choice(rng.normal(size=n // 3 + 1), n) * (1 + rng.integers(0, 2, n) * 2.0**-30),
    "clusters": lambda rng, n: rng.choice([0.0, 1.0, 1e6], n) + rng.normal(size=n) * 1e-6,
    "upper half of the bits": lambda rng, n: 1 + rng.integers(0, 2**34, n) * 2.0**-52,
    "denormal": lambda rng, n: rng.integers(-40, 40, n) * TINY,
    "denormal and normal": lambda rng, n: rng.choice([TINY, -TINY, 2.3e-308, 1e-45, 0.0, 1.0], n),
    "infinite": lambda rng, n: rng.choice([INF, 1.0, 2.0, -1.0], n),
    "largest": lambda rng, n: rng.choice([1.7e308, -1.7e308, 1.6e308, 3e38, INF], n),
    "all infinite": lambda rng, n: np.full(n, INF),
    "partly retrieved": lambda rng, n: np.where(rng.random(n) < 0.9, -INF, rng.normal(size=n)),
    "not retrieved": lambda rng, n: np.full(n, -INF),
}


def make_judgments(rng):
    return gw.Judgments(rng.integers(0, 5, sum(SIZES)), group=SIZES)


def make_metrics(dtype, cutoffs=CUTOFFS):
    metrics = gw.parse_metrics("ndcg_linear", "ndcg_exp", "map", "mrr(min_label=3)")
    options = [{"ties": ties, "k": k} for ties in ("average", "order", "worst", "best") for k in cutoffs]
    return [replace(metric, scores=dtype, **option) for metric in metrics for option in options]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", SCORES)
def test_kinds_of_scores(kind, dtype):
    rng = np.random.default_rng(len(kind))
    judgments = make_judgments(rng)
    with np.errstate(over="ignore", under="ignore"):
        scores = SCORES[kind](rng, sum(SIZES)).astype(dtype)
    for deepest in (12, 25, None):  # The core treats all metrics of a call as the deepest of them requires.
        metrics = make_metrics(dtype, CUTOFFS[: CUTOFFS.index(deepest) + 1])
        assert_same_bits(metrics, in_core(metrics, judgments, scores, 1), in_numpy(metrics, judgments, scores))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", ["normal", "constant", "infinite", "partly retrieved", "not retrieved"])
@pytest.mark.parametrize("k", [10, None])
def test_nan_in_any_row(kind, dtype, k):
    rng = np.random.default_rng(len(kind))
    judgments = make_judgments(rng)
    metrics = [replace(metric, k=k, scores=dtype) for metric in gw.parse_metrics("ndcg_exp", "map")]
    ends = np.cumsum(SIZES)
    for row in [*(ends[1:] - 1), *rng.integers(0, ends[-1], 5)]:
        scores = SCORES[kind](rng, ends[-1]).astype(dtype)
        scores[row] = rng.choice([np.nan, -np.nan])
        with pytest.raises(ValueError, match=rf"1 NaN .* row {row} "):
            in_core(metrics, judgments, scores, 1)
