"""How many CPUs there are."""

from __future__ import annotations

import os


def cpus() -> int:
    """Return how many CPUs the process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1
