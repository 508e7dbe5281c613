"""One sample of queries: what it says of the means of all models, and how surely, worked out once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .estimates import Estimate, estimate
from .inputs import Panel
from .resampling import Noise, draw_noise

__all__ = ["Family", "Sample"]


class Family(NamedTuple):
    """Metrics that are estimated together, on the queries that all of them have."""

    panel: Panel
    estimated: Estimate
    noise: Noise


class Sample:
    """Per-query values, and what everything that is said of them stands on.

    All tests and intervals are at level `alpha`; `ranges` has between which values each metric lies, infinite where
    nothing is known.
    """

    def __init__(
        self,
        panel: Panel,
        alpha: float,
        draws: int,
        seed: int,
        ranges: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        self.panel = panel
        self.alpha, self.draws, self.seed = alpha, draws, seed
        self.ranges = {metric: (ranges or {}).get(metric, (-np.inf, np.inf)) for metric in panel.metrics}
        self._families: dict[tuple[str, ...], Family] = {}

    def family(self, metrics: Sequence[str]) -> Family:
        """Return the estimate of several metrics together and draws of its error, made when first asked for."""
        names = tuple(metrics)
        if names not in self._families:
            panel = self.panel.select(names)
            estimated = estimate(panel)
            self._families[names] = Family(panel, estimated, draw_noise(estimated, self.draws, self.seed))
        return self._families[names]

    def alone(self, metric: str) -> Family:
        """Return the estimate of one metric on its own queries, a part of a larger family's where that has the same."""
        if (metric,) not in self._families:
            for names, family in self._families.items():
                if metric in names and self.panel.counts(names).alike:
                    noise = family.noise.alone(names.index(metric))
                    self._families[metric,] = Family(family.panel.select([metric]), noise.estimated, noise)
                    break
        return self.family([metric])
