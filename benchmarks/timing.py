"""Interleaved timing: contestants take turns, so that a change of the machine's speed meets all of them alike."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


REST = 0.02
QUICK = 0.2
"""Seconds."""


def interleaved(
    contestants: Mapping[str, Callable[[], object]], repeats: int, budget: float = float("inf")
) -> dict[str, list[float]]:
    """Return the seconds of each contestant in each round, after one round that is not counted.

    Before each there is a short rest: OpenMP's threads go on spinning for some milliseconds after their work, which
    would be charged to whoever comes next. The rest puts processors to sleep, and waking the second one takes as long
    as many a call, so contestants that are quick run once more before they are timed. With a budget in
    seconds there are fewer rounds where they would take longer, two at the least.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    quick: set[str] = set()
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
    before: Callable[[], object], contestants: Mapping[str, Callable[[], object]], repeats: int
) -> dict[str, list[float]]:
    """Return the seconds of each contestant in each round, each run right after some other work.

    So it is in a training: the threads of the other work still spin on the other processors.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(repeats + 1):
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
