"""Candidates against the model that is deployed: bounds that hold all together, and what they decide."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.typing import Bools, Floats
from .against import Against, Decision, Standing
from .bounds import POWER
from .inequalities import FEWEST
from .inputs import check_margin
from .rankings import check_model
from .resampling import critical_value
from .shares import shares_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .sample import Family, Sample

__all__ = ["against", "check_baseline"]

MOST = 1e9
"""So many queries are as good as none: nobody has them."""

MOST_RUNS = 1000
"""So many runs nobody trains."""

FEWER_DRAWS = 4000
"""Of recipes, whose critical value is found anew for every number of queries and runs."""


def against(sample: Sample, metrics: tuple[str, ...], baseline: str, margin: float, *, needs: bool = True) -> Against:
    """Set every other model against one: see `Against` and `Comparison.against`.

    Without `needs` it is not worked out what would decide where nothing is decided.
    """
    width = check_margin(margin)
    family = sample.family(metrics)
    panel, noise = family.panel, family.noise
    check_baseline(baseline, panel.models)
    b = panel.models.index(baseline)
    others = [place for place in range(len(panel.models)) if place != b]
    largest = np.zeros(sample.draws)
    for c in others:
        for row in range(len(metrics)):
            np.maximum(largest, np.abs(noise.lead(row, b, c)), out=largest)
    critical = float(critical_value(largest, 1 - sample.alpha))
    return Against(
        baseline=baseline,
        metrics=tuple(metrics),
        standings=tuple(_standing(sample, family, b, c, critical, width, needs) for c in others),
        queries=panel.queries,
        alpha=sample.alpha,
        margin=width,
        draws=sample.draws,
        seed=sample.seed,
        lower_is_better=tuple(metric for metric in metrics if metric in panel.lower_is_better),
        runs=dict(zip(panel.models, panel.run_counts, strict=True)) if any(panel.run_counts) else {},
        clusters=None if panel.clusters is None else panel.units,
        vary=panel.vary,
    )


def check_baseline(baseline: str, models: Sequence[str]) -> None:
    """Raise unless the baseline is one of several models."""
    check_model(baseline, models)
    if len(models) < 2:
        raise ValueError(f"{baseline!r} is the only model: there is no candidate to set against it")


def _standing(sample: Sample, family: Family, b: int, c: int, critical: float, margin: float, needs: bool) -> Standing:
    panel, estimated = family.panel, family.estimated
    difference, error = estimated.difference[:, b, c], estimated.error[:, b, c]
    speaks = (estimated.support[:, b, c] >= FEWEST) & np.isfinite(error)
    half = critical * np.where(speaks, error, 0.0)
    lower = np.where(speaks, difference - half, -np.inf)
    upper = np.where(speaks, difference + half, np.inf)
    decision = _decided(lower, upper, margin)
    queries = runs = None
    if needs and decision == "undecided":
        queries, runs = _needed(sample, family, b, c, critical, margin)
    units = [sample.ranges[metric] for metric in panel.metrics]
    ends = [
        sorted(float(panel.in_unit(metric, np.array(end))) for end in both)
        for metric, both in zip(panel.metrics, zip(lower, upper, strict=True), strict=True)
    ]
    named = {metric: row for row, metric in enumerate(panel.metrics)}
    return Standing(
        candidate=panel.models[c],
        decision=decision,
        difference={it: float(panel.in_unit(it, difference[row])) for it, row in named.items()},
        lower={it: max(ends[row][0], units[row][0] - units[row][1]) for it, row in named.items()},
        upper={it: min(ends[row][1], units[row][1] - units[row][0]) for it, row in named.items()},
        differing={it: float(estimated.support[row, b, c]) for it, row in named.items()},
        shares={it: shares_of(panel, row, b, c, sample.alpha) for it, row in named.items()},
        queries_needed=queries,
        runs_needed=runs,
    )


def _needed(
    sample: Sample, family: Family, b: int, c: int, critical: float, margin: float
) -> tuple[int | None, int | None]:
    """Return with how many queries, and with how many runs, the decision would fall, were the differences as measured.

    The sample is drawn anew many times, with the error that so many queries or runs would leave, and decided each time.
    """
    panel, support = family.panel, family.estimated.support[:, b, c]
    if panel.units < 2 or not (support > 0).all():
        return None, None
    further = _Further(family, b, c, sample.alpha, critical, sample.seed)
    runs = further.runs

    def chance(more_queries: float, more_runs: float = 1.0) -> float:
        lower, upper = further.bounds(more_queries, more_runs)
        return float((_ships(lower, margin) | (upper < -margin).any(axis=0)).mean())

    fewest = max(1.0, float((FEWEST / support).max()))
    factor = _least(chance, fewest, MOST / panel.queries)
    queries_needed = None if factor is None else math.ceil(factor * panel.queries)
    factor = _least(lambda more: chance(1.0, more), 1.0, MOST_RUNS / runs) if runs and fewest <= 1 else None
    return queries_needed, None if factor is None else math.ceil(factor * runs)


class _Further:
    """New samples of more queries or more runs, whose true differences are those measured: what bounds they would show.

    The critical value of fixed models is that of the sample, whatever the size. That of recipes falls as runs know
    their variance better, and is found anew.
    """

    def __init__(self, family: Family, b: int, c: int, alpha: float, critical: float, seed: int) -> None:
        estimated, values = family.estimated, family.noise.values
        self.others = [place for place in range(len(family.panel.models)) if place != b]
        self.b, self.c, self.alpha, self.critical, self.seed = b, c, alpha, critical, seed
        self.difference = estimated.difference[:, b, c][:, None]
        self.counts = np.array(family.panel.run_counts)
        self.runs = int(min((count for count in self.counts[[b, c]] if count), default=0))
        self.of_runs = np.zeros_like(estimated.mean) if estimated.runs is None else estimated.runs.variance
        self.varies = bool(self.of_runs.any())
        error = estimated.error[:, b]
        self.of_queries = np.maximum(error**2 - self.of_runs - self.of_runs[:, [b]], 0.0)
        values = values[:, :, :FEWER_DRAWS] if self.varies else values
        lead = values - values[:, [b]]
        known = (error > 0) & np.isfinite(error)
        self.z = np.divide(lead, error[:, :, None], out=np.zeros_like(lead), where=known[:, :, None])

    def bounds(self, more_queries: float, more_runs: float) -> tuple[Floats, Floats]:
        """Return the bounds of the candidate's lead in every sample, (metrics, samples) each."""
        generator = np.random.default_rng([self.seed, 1])
        of_queries, of_runs = self.of_queries / more_queries, self.of_runs / more_runs
        error = np.sqrt(of_queries + of_runs + of_runs[:, [self.b]])[:, :, None]
        critical = self.critical
        if self.varies:
            seen = self._seen(of_queries, of_runs, more_runs, generator)
            t = np.abs(self.z) * np.divide(error, seen, out=np.zeros_like(seen), where=seen > 0)
            critical = float(critical_value(t[:, self.others].max(axis=(0, 1)), 1 - self.alpha))
            half = critical * self._seen(of_queries, of_runs, more_runs, generator)[:, self.c]
        else:
            half = critical * error[:, self.c]
        drawn = self.difference + error[:, self.c] * self.z[:, self.c]
        return drawn - half, drawn + half

    def _seen(self, of_queries: Floats, of_runs: Floats, more_runs: float, generator: Any) -> Floats:
        """Return the errors that samples of so many runs show, (metrics, M, samples): theirs is estimated."""
        factor = np.ones((len(self.counts), self.z.shape[2]))
        for k in np.flatnonzero(self.counts):
            freedom = self.counts[k] * more_runs - 1
            factor[k] = generator.chisquare(freedom, self.z.shape[2]) / freedom
        shown = of_runs[:, :, None] * factor
        seen: Floats = np.sqrt(of_queries[:, :, None] + shown + shown[:, [self.b]])
        return seen


def _ships(lower: Floats, margin: float) -> Bools:
    """Whether a candidate is shipped by its lower bounds, by metric along the first axis, one or in many draws."""
    return np.asarray((lower > -margin).all(axis=0) & (lower > 0).any(axis=0))


def _decided(lower: Floats, upper: Floats, margin: float) -> Decision:
    """Return what bounds of candidate − baseline, larger is better, say: the rule itself."""
    if _ships(lower, margin):
        return "ship"
    return "do not ship" if (upper < -margin).any() else "undecided"


def _least(chance: Callable[[float], float], low: float, high: float) -> float | None:
    """Return the least factor above `low` that decides with probability `POWER`, or None where `high` does not."""
    if chance(low) >= POWER:
        return low
    if low >= high or chance(high) < POWER:
        return None
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if chance(middle) >= POWER else (middle, high)
    return high
