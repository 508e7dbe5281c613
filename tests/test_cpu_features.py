"""The same values on a CPU without the vector instructions that NumPy can use.

NumPy sorts and computes with other code on older CPUs. Rankings, sums and ratios must have the same bits there,
including ties and long rows. `rbp`, and `map` divided by hits with ties at the cutoff, differ in the last bits, because
NumPy has other functions for powers and exponentials there.
"""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gainwise as gw

try:
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
except ImportError:  # NumPy 1
    from numpy.core._multiarray_umath import __cpu_dispatch__, __cpu_features__

EXTRA = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
"""What NumPy uses here beyond the least that it was built for."""
ROOT = Path(__file__).parents[1]
EXACT = [
    "ndcg_linear@10", "ndcg_exp", "ndcg_jk@100", "dcg_exp(discount=log,base=10)", "cg", "map", "map(denominator=R)@10",
    "mrr", "precision@5", "recall@100", "hit@3", "err(max_label=4)@9",
]  # fmt: skip
CLOSE = ["rbp"]
EXACT_RTOL = 1e-14 if np.lib.NumpyVersion(np.__version__) < "2.0.0" else 0
"""The logarithm of NumPy 1 differs in the last bit on other CPUs, and so do discounts."""
TIES = ("average", "order", "worst", "best")

pytestmark = pytest.mark.skipif(not EXTRA, reason="NumPy uses no instructions here beyond those it was built for")

VALUES = """
import sys
import numpy as np
sys.path.insert(0, {folder!r})
import test_cpu_features as tests
if tests.EXTRA:
    sys.exit("still on: " + " ".join(tests.EXTRA))
np.savez({out!r}, **tests.values())
"""


def values():
    """Return values by query of data with ties, near ties and long rows, with all policies for ties."""
    rng = np.random.default_rng(17)
    sizes = np.array([1, 7, 8, 9, 31, 32, 33, 100, 128, 129, 257, 1000, 5000])
    n = int(sizes.sum())
    labels = rng.integers(0, 5, n)
    few = rng.integers(-9, 9, n) / 7
    scores = {
        "few": few,
        "near": np.nextafter(few, rng.choice([-np.inf, 0, np.inf], n)),
        "distinct": rng.permutation(n) / 7,
        "equal": np.zeros(n),
        "narrow": few.astype(np.float32),
        "not retrieved": np.where(rng.random(n) < 0.3, -np.inf, few),
    }
    judgments = gw.Judgments(labels, group=sizes)
    found = {}
    for kind, column in scores.items():
        for part, names in (("exact", EXACT), ("close", CLOSE)):
            for ties in TIES:
                metrics = [replace(metric, ties=ties) for metric in gw.parse_metrics(names)]
                found[f"{part} {kind} {ties}"] = gw.evaluate(metrics, judgments, column, n_jobs=1).per_query
    return found


def without_extras(arguments, **options):
    environment = {**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(EXTRA)}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=ROOT, capture_output=True, text=True, check=False, **options
    )


@pytest.fixture(scope="module")
def here_and_there(tmp_path_factory):
    out = tmp_path_factory.mktemp("values") / "values.npz"
    code = VALUES.format(folder=str(Path(__file__).parent), out=str(out))
    done = without_extras(["-W", "error::RuntimeWarning", "-c", code])
    assert done.returncode == 0, done.stderr
    with np.load(out) as there:
        return values(), dict(there)


@pytest.mark.parametrize(("part", "rtol"), [("exact", EXACT_RTOL), ("close", 1e-15)])
def test_values_are_the_same(here_and_there, part, rtol):
    here, there = here_and_there
    assert len(here) == len(there) == 2 * 6 * len(TIES)
    for key in (key for key in here if key.startswith(part)):
        np.testing.assert_allclose(here[key], there[key], rtol=rtol, atol=0, err_msg=key)
