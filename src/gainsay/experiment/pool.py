"""Processes to train in."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext


def processes(jobs: int) -> AbstractContextManager[Executor | None]:
    """Return an executor of so many processes, to be closed after use; None, which means this process, for one.

    They are spawned: OpenMP, which both libraries use, does not survive a fork.
    """
    if jobs == 1:
        return nullcontext()
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
