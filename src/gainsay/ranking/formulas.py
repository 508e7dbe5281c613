"""The three formulas of the compiled core. A metric can return one of them, so that the core evaluates it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from .._common.typing import Floats

Kind = Literal["gains", "precisions", "first relevant"]


@dataclass(frozen=True, eq=False, slots=True)
class Formula:
    """The formula of a metric. Use the functions below to create one.

    Values are divided by `divisors`, shape (queries or 1, cutoffs or 1). Documents with at least `code` are relevant.
    """

    kind: Kind
    by_rank: Floats
    divisors: Floats | float = 1.0
    code: int = 0
    table: Floats | None = None
    high: Floats | None = None
    low: Floats | None = None


def gains(table: Floats, discount: Floats, divisors: Floats | float = 1.0) -> Formula:
    """Return the sum of `table[code] * discount[rank]` with ranks from 0. Tied documents have the mean of their gains.

    `table` is created by `table_of`, so it has an entry for ranks without a document.
    """
    return Formula("gains", discount, divisors, table=table)


def precisions(code: int, high: Floats, low: Floats, divisors: Floats) -> Formula:
    """Return the sum of precisions at relevant documents. `high` and `low` are `HarmonicNumbers` for all ranks."""
    return Formula("precisions", 1.0 / np.arange(1, len(high)), divisors, code, high=high, low=low)


def first_relevant(code: int, costs: Floats) -> Formula:
    """Return the sum over ranks of the chance of the first relevant document, divided by `costs[rank]`."""
    return Formula("first relevant", costs, code=code)
