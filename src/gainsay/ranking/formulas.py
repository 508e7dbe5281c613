"""The three formulas that the compiled core knows. A metric that is one of them may say so; none need do it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from .._common.typing import Floats

Kind = Literal["gains", "precisions", "first relevant"]


def _none() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True, eq=False, slots=True)
class Formula:
    """What a metric computes; made by the functions below.

    `divisors`, of shape (queries or 1, cutoffs or 1), are what the values are divided by. Documents are relevant whose
    code is at least `code`.
    """

    kind: Kind
    divisors: Floats
    by_rank: Floats
    code: int = 0
    table: Floats = field(default_factory=_none)
    high: Floats = field(default_factory=_none)
    low: Floats = field(default_factory=_none)


def gains(table: Floats, discount: Floats, divisors: Floats | None = None) -> Formula:
    """Return the sum of `table[code] * discount[rank]`, ranks from 0; tied documents have the mean of their gains.

    `table` comes from `table_of`, and so has an entry for where no document was retrieved.
    """
    return Formula("gains", _or_one(divisors), _contiguous(discount), table=_contiguous(table))


def precisions(code: int, high: Floats, low: Floats, divisors: Floats | None = None) -> Formula:
    """Return the sum of precisions at relevant documents; `high` and `low` are `HarmonicNumbers` up to all ranks."""
    reciprocal = 1.0 / np.arange(1, len(high))
    return Formula("precisions", _or_one(divisors), reciprocal, code, high=_contiguous(high), low=_contiguous(low))


def first_relevant(code: int, costs: Floats, divisors: Floats | None = None) -> Formula:
    """Return the sum over ranks of the chance to hold the first relevant document, divided by `costs[rank]`."""
    return Formula("first relevant", _or_one(divisors), _contiguous(costs), code)


def _or_one(divisors: Floats | None) -> Floats:
    return np.ones((1, 1)) if divisors is None else divisors


def _contiguous(values: Floats) -> Floats:
    return np.ascontiguousarray(values, dtype=np.float64)
