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
"""Seconds."""


def interleaved(contestants: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """Return the seconds of each contestant in each round, after one round that is not counted.

    Before each there is a short rest: OpenMP's threads go on spinning for some milliseconds after their work, which
    would be charged to whoever comes next.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(repeats + 1):
        for name, work in contestants.items():
            time.sleep(REST)
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


def machine() -> str:
    """Return what the figures were taken on."""
    names = ("numpy", "lightgbm", "xgboost", "scikit-learn", "pandas", "scipy")
    versions = ", ".join(f"{name} {found}" for name in names if (found := _version(name)))
    return f"{_processor()}, {len(os.sched_getaffinity(0))} CPUs; Python {platform.python_version()}, {versions}"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        return next((line.partition(":")[2].strip() for line in info if line.startswith("model name")), "unknown")
