"""Measure false ships and power of the release gate with guards and segments, in populations with known means.

    python research/calibration/claims_guards.py --samples 2000

Differences of single queries are normal, with a standard deviation of .1 and a common correlation of all metrics. The
first two metrics may gain, and the others are guards. The result is `research/calibration/claims/guards.json`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from claims import Study, at_most, run_studies
from differences import BASELINE, CANDIDATE, Array, Generator

from gainwise import Comparison

SPREAD = 0.1
SEGMENTS = 3
FAR = 10.0
"""Distance of the other metrics from their margins, in standard errors of a segment."""


class Guarded(NamedTuple):
    """A gate with this number of metrics, on this number of queries in each of three segments."""

    metrics: int
    correlation: float
    queries: int = 200

    @property
    def error(self) -> float:
        """Standard error of a mean difference in a segment."""
        return float(SPREAD / np.sqrt(self.queries))

    def compare(self, rng: Generator, means: Array) -> Comparison:
        """Return a comparison of a sample with these means, shape (segments, metrics)."""
        total = SEGMENTS * self.queries
        segments = np.repeat(np.arange(SEGMENTS), self.queries)
        shared, own = rng.standard_normal((total, 1)), rng.standard_normal((total, self.metrics))
        noise = np.sqrt(self.correlation) * shared + np.sqrt(1 - self.correlation) * own
        differences = SPREAD * noise + means[segments]
        values = {
            f"metric {number}": np.stack([np.zeros(total), row], axis=1) for number, row in enumerate(differences.T)
        }
        return Comparison(values, [BASELINE, CANDIDATE], segments=segments, draws=200)

    def ships(self, comparison: Comparison, margin: float, metrics: int, **options: Any) -> bool:
        """Return whether the candidate ships by the first metrics, with a margin of each."""
        margins = {f"metric {number}": margin for number in range(metrics)}
        return comparison.against(BASELINE, margins, **options).decisions[CANDIDATE] == "ship"


def ship_at_margin(gate: Guarded, worst: str) -> Callable[[Generator], dict[str, bool | None]]:
    """Return a trial: does a candidate ship that loses exactly the margin somewhere, or that gains nowhere?"""
    margin = FAR * gate.error
    segments: str | tuple[str, ...] = "segment"
    means = np.full((SEGMENTS, gate.metrics), margin)
    if worst == "a guard on all queries":  # All segments are at the margin, too, so they are left out.
        means[:, -1], segments = -margin, ()
    elif worst == "a guard in a segment":
        means[-1, -1] = -margin
    else:
        means[:, :2] = 0.0

    def trial(rng: Generator) -> dict[str, bool | None]:
        comparison = gate.compare(rng, means)
        return {"ships": gate.ships(comparison, margin, gate.metrics, segments=segments)}

    return trial


def lose_power(gate: Guarded) -> Callable[[Generator], dict[str, bool | None]]:
    """Return a trial: do guards and segments far from their margins stop a candidate that ships without them?

    Both gains are 2.8 standard errors of all queries.
    """
    means, margin = np.full((SEGMENTS, gate.metrics), 2.8 * gate.error / np.sqrt(SEGMENTS)), FAR * gate.error

    def trial(rng: Generator) -> dict[str, bool | None]:
        comparison = gate.compare(rng, means)
        alone = gate.ships(comparison, margin, 2)
        return {"guards stop it": alone and not gate.ships(comparison, margin, gate.metrics, segments="segment")}

    return trial


def build_studies() -> list[Study]:
    """Return all studies."""
    studies = []
    for metrics in (3, 5):
        for correlation in (0.0, 0.5, 0.95):
            gate = Guarded(metrics, correlation)
            setting = f"{metrics} metrics, 3 segments of {gate.queries}, correlation {correlation:g}"
            for worst in ("a guard on all queries", "a guard in a segment", "no gain"):
                text = worst if worst == "no gain" else f"{worst} at its margin"
                studies.append(Study("1", f"{setting}, {text}", ship_at_margin(gate, worst), {"ships": at_most(0.025)}))
            far = f"{setting}, gain of 2.8 standard errors, guards far from their margins"
            studies.append(Study("2", far, lose_power(gate), {"guards stop it": at_most(0.02)}, 2))
    return studies


STUDIES = build_studies()


if __name__ == "__main__":
    run_studies(__doc__, "guards", STUDIES)
