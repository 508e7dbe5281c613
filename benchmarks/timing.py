"""Interleaved timing: contestants take turns, so that a change of the machine's speed meets all of them alike."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


Name = TypeVar("Name")

REST = 0.02
QUICK = 0.2
"""Seconds."""


def interleaved(
    contestants: Mapping[Name, Callable[[], object]], repeats: int, budget: float = float("inf")
) -> dict[Name, list[float]]:
    """Return the seconds of each contestant in each round, after one round that is not counted.

    Before each there is a short rest: OpenMP's threads go on spinning for some milliseconds after their work, which
    would be charged to whoever comes next. The rest puts processors to sleep, and waking the second one takes as long
    as many a call, so contestants that are quick run once more before they are timed. With a budget in
    seconds there are fewer rounds where they would take longer, two at the least.
    """
    seconds: dict[Name, list[float]] = {name: [] for name in contestants}
    quick: set[Name] = set()
    begun = time.perf_counter()
    for turn in range(repeats + 1):
        if turn > 2 and (time.perf_counter() - begun) * (turn + 1) / turn > budget:
            break
        for name, work in contestants.items():
            time.sleep(REST)
            if name in quick:
                work()
            start = time.perf_counter()
            work()
            taken = time.perf_counter() - start
            if turn:
                seconds[name].append(taken)
            elif taken < QUICK:
                quick.add(name)
    return seconds


def right_after(
    before: Callable[[], object],
    contestants: Mapping[Name, Callable[[], object]],
    repeats: int,
    budget: float = float("inf"),
) -> dict[Name, list[float]]:
    """Return the seconds of each contestant in each round, each run right after some other work.

    So it is in a training: the threads of the other work still spin on the other processors. The budget is as for
    `interleaved`.
    """
    seconds: dict[Name, list[float]] = {name: [] for name in contestants}
    begun = time.perf_counter()
    for turn in range(repeats + 1):
        if turn > 2 and (time.perf_counter() - begun) * (turn + 1) / turn > budget:
            break
        for name, work in contestants.items():
            before()
            start = time.perf_counter()
            work()
            if turn:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def ratio(of: list[float], to: list[float]) -> float:
    """Return the median of the ratios, round by round."""
    return median(a / b for a, b in zip(of, to, strict=True))


def milliseconds(seconds: list[float]) -> float:
    """Return the median in milliseconds."""
    return 1e3 * median(seconds)


EXTRAPOLATED = "as if each thread had a core of its own, with the clock and the share of the memory that it had here"
"""What extrapolations to more cores assume."""


def serial_share(by_threads: Mapping[int, list[float]]) -> float:
    """Return the share s of the work that no thread shares, from seconds by number of threads, 1 among them.

    It is what fits time(n) / time(1) = s + (1 - s) / n best, in least squares over the numbers above 1 (Amdahl).
    """
    terms = [(ratio(taken, by_threads[1]) - 1 / n, 1 - 1 / n) for n, taken in by_threads.items() if n > 1]
    return min(max(sum(a * b for a, b in terms) / sum(b * b for _, b in terms), 0.0), 1.0)


def on_cores(one: float, share: float, cores: int) -> float:
    """Return what takes `one` on one core and has this serial share, on more of them."""
    return one * (share + (1 - share) / cores)


def against_target(found: float, at_most: float, digits: int = 2) -> str:
    """Return a figure, what it should be at most, and whether it is."""
    return f"{found:.{digits}f}, target ≤ {at_most:g}: {'kept' if found <= at_most else '**missed**'}"


def machine(*more: str) -> str:
    """Return what the figures were taken on; `more` names further packages whose version counts."""
    names = ("numpy", "lightgbm", "xgboost", "xgboost-cpu", "scikit-learn", "pandas", "scipy", *more)
    versions = ", ".join(f"{name} {found}" for name in dict.fromkeys(names) if (found := _version(name)))
    return f"{_processor()}, {len(os.sched_getaffinity(0))} CPUs; Python {platform.python_version()}, {versions}"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        return next((line.partition(":")[2].strip() for line in info if line.startswith("model name")), "unknown")
