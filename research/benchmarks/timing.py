"""Interleaved timing: functions run in turn in each round, so changes of the machine's speed affect all of them."""

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

PAUSE = 0.02
MAX_WARM_UP = 0.2
"""Seconds."""


def time_interleaved(
    functions: Mapping[Name, Callable[[], object]],
    repeats: int,
    budget: float = float("inf"),
    *,
    preceding: Callable[[], object] | None = None,
) -> dict[Name, list[float]]:
    """Return the seconds of each function in each round. A first round is not counted.

    A short pause precedes each call, because OpenMP threads of the previous call remain active for some milliseconds.
    Processors may sleep during the pause. A function that takes less than `MAX_WARM_UP` therefore runs once more before
    it is timed. If `preceding` is given, it replaces the pause, as training precedes each evaluation.

    If the rounds would take longer than `budget` seconds, there are fewer of them, but at least two.
    """
    seconds: dict[Name, list[float]] = {name: [] for name in functions}
    fast: set[Name] = set()
    start_of_rounds = time.perf_counter()
    for completed in range(repeats + 1):
        if completed > 2 and (time.perf_counter() - start_of_rounds) * (completed + 1) / completed > budget:
            break
        for name, function in functions.items():
            if preceding is not None:
                preceding()
            else:
                time.sleep(PAUSE)
                if name in fast:
                    function()
            start = time.perf_counter()
            function()
            duration = time.perf_counter() - start
            if completed:
                seconds[name].append(duration)
            elif duration < MAX_WARM_UP:
                fast.add(name)
    return seconds


def compute_ratio(seconds: list[float], reference: list[float]) -> float:
    """Return the median ratio to a reference over the rounds."""
    return median(numerator / denominator for numerator, denominator in zip(seconds, reference, strict=True))


def compute_milliseconds(seconds: list[float]) -> float:
    """Return the median in milliseconds."""
    return 1e3 * median(seconds)


def format_target(value: float, target: float, digits: int = 2) -> str:
    """Return a value, its largest acceptable value, and whether the target is met."""
    return f"{value:.{digits}f}, target ≤ {target:g}: {'met' if value <= target else '**not met**'}"


def describe_machine(*packages: str) -> str:
    """Return the processor and the versions of Python, of the usual packages and of further packages."""
    names = ("numpy", "lightgbm", "xgboost", "xgboost-cpu", "scikit-learn", "pandas", "scipy", *packages)
    versions = ", ".join(f"{name} {number}" for name in dict.fromkeys(names) if (number := _find_version(name)))
    return f"{_find_processor()}, {len(os.sched_getaffinity(0))} CPUs; Python {platform.python_version()}, {versions}"


def _find_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _find_processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        return next((line.partition(":")[2].strip() for line in info if line.startswith("model name")), "unknown")
