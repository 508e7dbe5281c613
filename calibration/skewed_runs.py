"""Would a correction for skewness help where a handful of runs is skewed? Two means, a one-sided test at .05.

    python calibration/skewed_runs.py --output calibration/CALIBRATION.md

The page that `calibration.py` writes gets a section at its end. The effects of runs alone, without queries: the worst
case, where runs make all of the error. Of two recipes the one has effects with a long tail above, the other with one
below (opposite skews), both have it on the same side, or effects are normal.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from calibration_cells import put_section
from numpy.typing import NDArray
from scipy.stats import t as student

Array = NDArray[np.float64]

ALPHA = 0.05
RUNS = (3, 5, 10)
LEAD = 3.0
"""The true lead where power is measured, in standard errors."""
START, END = "## Skewed runs, and what corrections would do", "<!-- end of skewed runs -->"


def effects(kind: str, rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Array, Array]:
    """Draw effects of mean 0 and standard deviation 1 of the runs of two recipes."""
    if kind == "normal":
        return rng.standard_normal(shape), rng.standard_normal(shape)
    first, second = rng.exponential(size=(2, *shape)) - 1
    return (first, -second) if kind == "opposite skews" else (-first, -second)


def statistics(first: Array, second: Array) -> tuple[dict[str, Array], Array]:
    """Return the lead of the second over the first, studentised plainly and corrected, and Welch's critical value."""
    runs = first.shape[1]
    parts = np.array([values.var(axis=1, ddof=1) / runs for values in (first, second)])
    error = np.sqrt(parts.sum(axis=0))
    freedom = parts.sum(axis=0) ** 2 / ((parts**2).sum(axis=0) / (runs - 1))
    plain = (second.mean(axis=1) - first.mean(axis=1)) / error
    skewness = (_third(second) - _third(first)) / runs**2 / error**3
    johnson = plain + skewness / 6 + skewness * plain**2 / 3
    hall = johnson + skewness**2 / 27 * plain**3
    return {"Welch": plain, "Johnson": johnson, "Hall": hall}, student.ppf(1 - ALPHA, freedom)


def _third(values: Array) -> Array:
    """Estimate the third cumulant without bias."""
    runs = values.shape[1]
    found: Array = ((values - values.mean(axis=1, keepdims=True)) ** 3).sum(axis=1) * runs / ((runs - 1) * (runs - 2))
    return found


def page(samples: int, seed: int) -> Iterator[str]:
    """Yield the lines of the section."""
    yield START
    yield ""
    yield (
        f"Written by `calibration/skewed_runs.py`: {samples:,} samples a row, seed {seed}, a one-sided test of two "
        "means over few runs, without queries. Rates of rejection where the two are equal (an error, at most "
        f"{ALPHA}), and where the second leads by {LEAD:g} standard errors (power). Skewed effects are exponential. "
        "Last: by how much Welch's critical value would have to be multiplied to keep the level."
    )
    yield ""
    methods = ("Welch", "Johnson", "Hall")
    heads = [*(f"error: {name}" for name in methods), *(f"power: {name}" for name in methods)]
    yield f"| runs | effects | {' | '.join(heads)} | wider by |"
    yield f"|{' --- |' * (3 + len(heads))}"
    for runs in RUNS:
        for kind in ("normal", "same skew", "opposite skews"):
            rng = np.random.default_rng([seed, runs])
            first, second = effects(kind, rng, (samples, runs))
            found, critical = statistics(first, second)
            ahead, _ = statistics(first, second + LEAD * np.sqrt(2 / runs))
            rates = [f"{np.mean(values > critical):.3f}" for one in (found, ahead) for values in one.values()]
            wider = np.quantile(found["Welch"] / critical, 1 - ALPHA)
            yield f"| {runs} | {kind} | {' | '.join(rates)} | {wider:.2f} |"
    yield END


def main() -> None:
    """Read the command line and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="the page whose section is replaced; printed without it")
    options = parser.parse_args()
    section = "\n".join(page(options.samples, options.seed))
    print(section)
    if options.output:
        put_section(options.output, section, START, END)


if __name__ == "__main__":
    main()
