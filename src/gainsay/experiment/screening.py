"""Finalists: the candidates that valid lets through to be trained several times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .._common.names import natural_key

if TYPE_CHECKING:
    import pandas as pd

    from .measured import OnFold
    from .plan import Plan

__all__ = ["finalists_of", "screened"]


def screened(plan: Plan, first: Mapping[str, OnFold]) -> pd.DataFrame:
    """Return how candidates did on valid when each was trained once, and whether they were repeated.

    A candidate is a finalist where it is among the best `keep` on valid by one of the primary metrics, at the round at
    which it would be compared, or where it is the baseline. Test is not looked at, nor is this training ever compared.

    Parameters
    ----------
    plan : Plan
        What the experiment consists of.
    first : mapping of candidate to OnFold
        What was measured of the trainings that choose.

    Returns
    -------
    DataFrame
        One row per candidate: `valid M` for each primary metric M, and `finalist`.
    """
    import pandas as pd

    names = sorted(first, key=natural_key)
    table = pd.DataFrame(index=pd.Index(names, name="candidate"))
    through = {plan.runs.baseline}
    for judge in plan.judges:
        place = plan.names.index(judge)
        values = {name: _value(plan, first[name], place) for name in names}
        rising = plan.metrics[place].higher_is_better
        through.update(sorted(names, key=values.__getitem__, reverse=rising)[: plan.runs.keep])
        table[f"valid {judge}"] = pd.Series(values, dtype=float)
    table["finalist"] = [name in through for name in names]
    return table


def finalists_of(plan: Plan, first: Mapping[str, OnFold]) -> tuple[str, ...]:
    """Return the names of the finalists, in the order of the candidates."""
    table = screened(plan, first)
    return tuple(it.name for it in plan.candidates if it.name in table.index and table.loc[it.name, "finalist"])


def _value(plan: Plan, training: OnFold, place: int) -> float:
    """Return a metric on valid at the round at which a candidate is compared; of two rounds the metric's own."""
    rounds = plan.compared_rounds(training.curves)
    number = rounds[0] if len(rounds) == 1 else plan.round_by(training.curves, plan.names[place])
    return float(training.curves[number - 1, place])
