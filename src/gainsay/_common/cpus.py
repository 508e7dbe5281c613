"""CPUs of the machine."""

from __future__ import annotations

import os


def cpus() -> int:
    """Return the number of CPUs that the process can use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows.
        return os.cpu_count() or 1
