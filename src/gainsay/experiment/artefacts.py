"""What a verdict speaks of: candidates at one round each, chosen on valid."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._common.arrays import nearest
from ..metrics.names import MetricLike, parse_metrics
from .training import balanced_round, best_rounds

if TYPE_CHECKING:
    from .._common.typing import Floats
    from .measured import Measured
    from .plan import Plan

__all__ = ["BALANCED", "EACH", "Artefact", "artefacts", "check_each", "check_stop_by", "rounds_by", "rounds_on"]

BALANCED, EACH = "balanced", "each"


@dataclass(frozen=True)
class Artefact:
    """A candidate at one round: a model that can be deployed as it was compared.

    Attributes
    ----------
    name : str
        What it is called in a comparison: like its candidate, unless that has another one.
    candidate : str
        What was trained.
    stop_by : str
        What chose the round: "balanced", a metric, or two of them with " and " between that chose the same.
    rounds : tuple of int
        One per fold, counted from 1.
    """

    name: str
    candidate: str
    stop_by: str
    rounds: tuple[int, ...]


def check_stop_by(stop_by: MetricLike, metrics: Sequence[str]) -> str:
    """Return "balanced", "each" or the full name of one of the metrics, or raise `ValueError`."""
    if stop_by in (BALANCED, EACH):
        return str(stop_by)
    known = (BALANCED, EACH, *metrics)
    try:
        (metric,) = parse_metrics(stop_by)
    except (ValueError, TypeError):
        metric = None
    if metric is None or str(metric) not in metrics:
        raise ValueError(
            f"stop_by must be 'balanced', 'each' or one of the metrics, got {str(stop_by)!r}"
            f"{nearest(str(stop_by), known)} (metrics: {', '.join(metrics)})"
        )
    return str(metric)


def check_each(names: Iterable[str]) -> None:
    """Raise where a candidate is called as another one is whose rounds have models of their own."""
    names = list(names)
    for name in names:
        stem = re.fullmatch(r"(.+) (?:@\d+|by .+)", name, re.DOTALL)
        if stem and stem[1] in names:
            raise ValueError(
                f"candidate {name!r} is called like a model of candidate {stem[1]!r}, of which stop_by='each' makes "
                f"one per round: give it another name"
            )


def artefacts(measured: Mapping[str, Measured], plan: Plan) -> tuple[Artefact, ...]:
    """Return the models that are compared, candidate by candidate."""
    found: list[Artefact] = []
    for candidate, of in measured.items():
        if plan.stop_by != EACH:
            found.append(Artefact(candidate, candidate, plan.stop_by, rounds_by(of, plan.stop_by, plan)))
            continue
        own = {metric: rounds_by(of, metric, plan) for metric in plan.judges}
        if len(set(own.values())) == 1:
            found.append(Artefact(candidate, candidate, " and ".join(own), own[plan.judges[0]]))
            continue
        for metric, rounds in own.items():
            name = f"{candidate} @{rounds[0]}" if len(rounds) == 1 else f"{candidate} by {metric}"
            found.append(Artefact(name, candidate, metric, rounds))
    return tuple(found)


def rounds_by(measured: Measured, stop_by: str, plan: Plan) -> tuple[int, ...]:
    """Return for each fold the round that "balanced" or a metric chooses on valid."""
    return tuple(_round_by(fold.curves, stop_by, plan) for fold in measured.folds)


def rounds_on(curves: Floats, plan: Plan) -> list[int]:
    """Return, ascending, the rounds of one candidate that are compared on the fold with these curves."""
    choosers = plan.judges if plan.stop_by == EACH else (plan.stop_by,)
    return sorted({_round_by(curves, stop_by, plan) for stop_by in choosers})


def _round_by(curves: Floats, stop_by: str, plan: Plan) -> int:
    if stop_by == BALANCED:
        return balanced_round(curves, [plan.metrics.index(metric) for metric in plan.judges])
    return best_rounds(curves)[plan.metrics.index(stop_by)]
