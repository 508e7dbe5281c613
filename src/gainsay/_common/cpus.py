"""CPUs and memory of the machine."""

from __future__ import annotations

import os


def cpus() -> int:
    """Return the number of CPUs that the process can use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows.
        return os.cpu_count() or 1


def physical_memory() -> int | None:
    """Return the size of the memory in bytes, or None if the system does not provide it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows.
        return None
