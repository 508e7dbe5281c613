"""Metrics that differ in their cutoff only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.cached import cached_property
from ..ranking.compiled import Ask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Floats, Integers
    from ..metrics.base import Metric
    from ..ranking.rows import RankedRows

SHALLOW = 50
"""Metrics that look at no more ranks than these are read off many queries at once, when all blocks have been ranked."""


@dataclass(frozen=True, eq=False)
class Family:
    """Metrics that differ in their cutoff only, and where among their group's values theirs stand."""

    metric: Metric
    facts: Any
    cutoffs: Sequence[int | None]
    place: slice

    @cached_property
    def _empty(self) -> tuple[Integers, Integers]:
        """Where among the values of the family queries are without relevant documents."""
        queries, column = np.nonzero(np.broadcast_to(self.facts.empty, (len(self.facts.empty), len(self.cutoffs))))
        return queries, column

    @cached_property
    def depth(self) -> int | None:
        """How many ranks the cutoffs look at; None for all."""
        return None if None in self.cutoffs else max(k for k in self.cutoffs if k is not None)

    @property
    def is_shallow(self) -> bool:
        """Whether the family looks at the first few ranks only."""
        return self.depth is not None and self.depth <= SHALLOW

    def values(self, rows: RankedRows) -> Floats:
        """Return the values of the rows' queries, shape (rows, cutoffs)."""
        values = self.metric.score(rows, self.facts, self.cutoffs)
        if np.shape(values) != (len(rows.queries), len(self.cutoffs)):  # or NumPy might stretch them
            raise ValueError(
                f"{type(self.metric).__name__}.score returned shape {np.shape(values)} for {len(rows.queries)} rows "
                f"and {len(self.cutoffs)} cutoffs: it must return one value for each row at each cutoff"
            )
        return values

    def settle(self, found: Floats) -> None:
        """Write the values of queries without relevant documents, those without documents among them."""
        queries, column = self._empty
        found[queries, self.place.start + column] = value_if_empty(self.metric)

    @cached_property
    def ask(self) -> Ask | None:
        """What the compiled core is asked for; None where the metric is no formula that it knows."""
        formula = self.metric.formula(self.facts, self.cutoffs)
        if formula is None:
            return None
        return Ask.of(formula, self.cutoffs, self.place, self.facts.empty, value_if_empty(self.metric))


def value_if_empty(metric: Metric) -> float:
    """Return the value of a query without relevant documents."""
    return float("nan") if metric.empty == "skip" else metric.empty
