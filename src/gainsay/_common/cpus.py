"""What the machine has."""

from __future__ import annotations

import os


def cpus() -> int:
    """Return how many CPUs the process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1


def physical_memory() -> int | None:
    """Return how many bytes of memory there are, None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on Windows
        return None
