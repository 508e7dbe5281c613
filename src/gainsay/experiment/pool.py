"""Processes to train in."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import threading
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext


def processes(jobs: int) -> AbstractContextManager[Executor | None]:
    """Return an executor of so many processes, to be closed after use; None, which means this process, for one.

    They are spawned: OpenMP, which both libraries use, does not survive a fork. They end when this process does,
    however it ends.
    """
    if jobs == 1:
        return nullcontext()
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent)


def _end_with_parent() -> None:
    """End this process as soon as its parent has ended, which a killed one cannot ask for."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
