"""The scores that are to be evaluated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.arrays import numbers
from .._common.cached import cached_property

if TYPE_CHECKING:
    from ..judgments import Judgments


@dataclass(frozen=True, eq=False)
class Given:
    """Scores that fit judgments.

    Whether they are numbers is asked where it matters: the compiled core notices by the way, and looking costs as much
    as a tenth of all its work.

    Attributes
    ----------
    by_row : ndarray of float32 or float64, shape (documents,)
        As they were given.
    values : ndarray of float32 or float64, shape (documents,)
        Documents of a query together, contiguous.
    """

    judgments: Judgments
    by_row: np.ndarray[Any, Any]
    values: np.ndarray[Any, Any]

    @classmethod
    def of(cls, judgments: Judgments, scores: Any) -> Given:
        """Return scores as they were given for judgments; raise where there are more or fewer than documents."""
        by_row = numbers("scores", judgments.in_row_order("scores", scores))
        if len(by_row) != judgments.documents:
            raise ValueError(
                f"scores has {len(by_row)} entries but the judgments have {judgments.documents} documents "
                f"in {judgments.queries} queries; give one score per document, in the same order"
            )
        return cls(judgments, by_row, np.require(judgments.by_query(by_row), requirements=["C", "A"]))

    @cached_property
    def lowest(self) -> float:
        """The lowest score; raises where one is NaN, saying how many are, in which row and of which query."""
        lowest = float(self.values.min())
        if math.isnan(lowest):
            bad = np.isnan(self.by_row)
            row = int(np.argmax(bad))
            raise ValueError(
                f"scores holds {int(bad.sum())} NaN among {len(bad)}, the first at row {row} "
                f"(query {self.judgments.query_of_row(row)!s}); a diverged model, or documents without a score? "
                "Give -inf to a document that was judged but not retrieved"
            )
        return lowest

    def check(self) -> None:
        """Raise where a score is NaN."""
        _ = self.lowest
