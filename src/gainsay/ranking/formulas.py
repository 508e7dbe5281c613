"""The three formulas that the compiled core knows. A metric that is one of them may say so; none need do it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from .._common.typing import Floats

Kind = Literal["gains", "precisions", "first relevant"]


@dataclass(frozen=True, eq=False, slots=True)
class Formula:
    """What a metric computes; made by the functions below.

    `divisors`, of shape (queries or 1, cutoffs or 1), are what the values are divided by. Documents are relevant whose
    code is at least `code`.
    """

    kind: Kind
    by_rank: Floats
    divisors: Floats | float = 1.0
    code: int = 0
    table: Floats | None = None
    high: Floats | None = None
    low: Floats | None = None


def gains(table: Floats, discount: Floats, divisors: Floats | float = 1.0) -> Formula:
    """Return the sum of `table[code] * discount[rank]`, ranks from 0; tied documents have the mean of their gains.

    `table` comes from `table_of`, and so has an entry for where no document was retrieved.
    """
    return Formula("gains", discount, divisors, table=table)


def precisions(code: int, high: Floats, low: Floats, divisors: Floats) -> Formula:
    """Return the sum of precisions at relevant documents; `high` and `low` are `HarmonicNumbers` up to all ranks."""
    return Formula("precisions", 1.0 / np.arange(1, len(high)), divisors, code, high=high, low=low)


def first_relevant(code: int, costs: Floats) -> Formula:
    """Return the sum over ranks of the chance to hold the first relevant document, divided by `costs[rank]`."""
    return Formula("first relevant", costs, code=code)
