"""Measure whether a correction for skewness helps a test of two recipes with few repeats, one-sided at level .05.

    python research/calibration/calibration_skewness.py --output research/calibration/CALIBRATION.md

The script adds a section to the page that `calibration.py` writes. Only the repeats have effects, which is the worst
case: queries add no error. The effects are normal, exponential with a lower tail in both recipes (same skew), or
exponential with a lower tail in one recipe and an upper tail in the other (opposite skews).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from populations import ALPHA, Array, format_table, print_section
from scipy.stats import t as student

REPEATS = (3, 5, 10)
METHODS = ("Welch", "Johnson", "Hall")
DIFFERENCE = 3.0
"""The true difference for the power, in standard errors."""
START, END = "## Corrections for skewed repeats", "<!-- end of corrections for skewed repeats -->"


def draw_effects(kind: str, rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Array, Array]:
    """Draw effects of the repeats of two recipes, with mean 0 and standard deviation 1."""
    if kind == "normal":
        return rng.standard_normal(shape), rng.standard_normal(shape)
    first, second = rng.exponential(size=(2, *shape)) - 1
    return (first, -second) if kind == "opposite skews" else (-first, -second)


def compute_statistics(first: Array, second: Array) -> tuple[list[Array], Array]:
    """Return the statistics of Welch, Johnson and Hall for second − first, and Welch's critical value."""
    repeats = first.shape[1]
    variances = np.array([values.var(axis=1, ddof=1) / repeats for values in (first, second)])
    error = np.sqrt(variances.sum(axis=0))
    degrees = variances.sum(axis=0) ** 2 / ((variances**2).sum(axis=0) / (repeats - 1))
    welch = (second.mean(axis=1) - first.mean(axis=1)) / error
    skewness = (_estimate_cumulant(second) - _estimate_cumulant(first)) / repeats**2 / error**3
    johnson = welch + skewness / 6 + skewness * welch**2 / 3
    hall = johnson + skewness**2 / 27 * welch**3
    return [welch, johnson, hall], student.ppf(1 - ALPHA, degrees)


def _estimate_cumulant(values: Array) -> Array:
    """Return an unbiased estimate of the third cumulant."""
    n = values.shape[1]
    cumulant: Array = ((values - values.mean(axis=1, keepdims=True)) ** 3).sum(axis=1) * n / ((n - 1) * (n - 2))
    return cumulant


def build_section(samples: int, seed: int) -> Iterator[str]:
    """Yield the lines of the section."""
    yield START
    yield ""
    yield (
        "`research/calibration/calibration_skewness.py` writes "
        f"this section: {samples:,} samples per row, seed {seed}, a "
        "one-sided test of two means of few repeats, without queries. The error is the rate of rejections if both "
        f"means are equal (at most {ALPHA}). The power is the rate if the second is larger by {DIFFERENCE:g} standard "
        "errors. Skewed effects are exponential. The last column is the factor by which Welch's critical value would "
        "have to be larger to meet the level."
    )
    yield ""
    lines = []
    for repeats in REPEATS:
        for kind in ("normal", "same skew", "opposite skews"):
            rng = np.random.default_rng([seed, repeats])
            first, second = draw_effects(kind, rng, (samples, repeats))
            equal, critical = compute_statistics(first, second)
            larger, _ = compute_statistics(first, second + DIFFERENCE * np.sqrt(2 / repeats))
            rates = [f"{np.mean(values > critical):.3f}" for values in (*equal, *larger)]
            lines.append((repeats, kind, *rates, f"{np.quantile(equal[0] / critical, 1 - ALPHA):.2f}"))
    heads = [f"{rate}: {method}" for rate in ("error", "power") for method in METHODS]
    yield format_table(("repeats", "effects", *heads, "factor"), lines)
    yield END


def main() -> None:
    """Write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="also write the section to this page")
    options = parser.parse_args()
    print_section("\n".join(build_section(options.samples, options.seed)), options.output, START, END)


if __name__ == "__main__":
    main()
