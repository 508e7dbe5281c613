"""What is seen of a training round by round, and when it has seen enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..training.bound import in_round
from .rounds import rising

if TYPE_CHECKING:
    from ..evaluation.evaluator import Evaluator

__all__ = ["Watch"]


class Watch:
    """Evaluates the scores of every round, keeps the values, and says when no metric improves any more.

    Training may stop only where *every* metric has gone `patience` rounds without a new best value. So each metric sees
    at least the rounds that it would have seen, had one stopped by it alone, and its best round is the same.

    Parameters
    ----------
    evaluator : Evaluator
        Of valid.
    patience : int
        Rounds without improvement; 0: never stop.
    check : function, optional
        Called in every round; raises where training is to be given up.
    tell : function, optional
        Called with the values of every round.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        patience: int,
        check: Callable[[], None] | None = None,
        tell: Callable[[Sequence[float]], None] | None = None,
    ) -> None:
        self.metrics = evaluator.metrics
        self.patience = patience
        self._evaluator = evaluator
        self._check = check
        self._tell = tell
        self.rounds: list[list[float]] = []
        self._best = np.full(len(self.metrics), -np.inf)
        self._last_improvement = 0

    def look(self, scores: Any) -> None:
        """Take the scores of one round.

        Raises
        ------
        ValueError
            Where they cannot be evaluated; the message says in which round.
        """
        if self._check is not None:
            self._check()
        with in_round(len(self.rounds) + 1, " on valid"):
            self.record(list(self._evaluator(scores).mean.values()))

    def record(self, values: Sequence[float]) -> None:
        """Take the values of one round."""
        self.rounds.append(list(values))
        risen = rising(np.array(values), self.metrics)
        if (risen > self._best).any():
            self._last_improvement = len(self.rounds)
        self._best = np.fmax(self._best, risen)
        if self._tell is not None:
            self._tell(values)

    @property
    def exhausted(self) -> bool:
        """Whether training should stop now."""
        return self.patience > 0 and len(self.rounds) - self._last_improvement >= self.patience
