"""How many threads an evaluation takes."""

from __future__ import annotations

from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

TRIES = 2
"""How often each number of threads is tried before the quickest is taken."""

ANEW = 32
"""Evaluations after which a number of threads is tried anew: times change with the scores, and with what else runs."""


class Pace:
    """How long an evaluation took with so many threads, and so how many it is to take.

    A second thread may gain much, or nothing: right after LightGBM's own work its threads go on waiting busily for some
    milliseconds, and other processes want processors too. So now and then each number is tried again.
    """

    def __init__(self) -> None:
        self._seconds: dict[int, tuple[float, ...]] = {}
        self._calls = 0

    def threads(self, most: int) -> int:
        """Return how many threads to take: at first `most`, then a half of it, and so on; later what was quickest."""
        self._calls += 1
        options = [most >> halvings for halvings in range(most.bit_length())]
        untried = min(options, key=lambda n: len(self._seconds.get(n, ())))
        if len(self._seconds.get(untried, ())) < TRIES:
            return untried
        if self._calls % ANEW == 0:
            return options[self._calls // ANEW % len(options)]
        return min(options, key=lambda n: median(self._seconds[n]))

    def took(self, threads: int, seconds: float) -> None:
        """Remember how long it took; the last few times count."""
        self._seconds[threads] = (*self._seconds.get(threads, ())[-2:], seconds)

    def timed(self, most: int, work: Callable[[int], T]) -> T:
        """Return what the work returns with as many threads as seem best, and remember how long it took."""
        threads = self.threads(max(1, most))
        start = perf_counter()
        found = work(threads)
        self.took(threads, perf_counter() - start)
        return found
