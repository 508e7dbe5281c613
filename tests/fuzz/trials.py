"""Repeats a random trial until a time limit. A failed trial prints the seed and the command that repeats it."""

from __future__ import annotations

import argparse
import itertools
import random
import time
from collections.abc import Callable


def run_trials(name: str, check: Callable[[int], None]) -> None:
    """Call `check` with seeds from `--seed` on, a random one by default, until `--seconds` have passed."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.fuzz.{name}")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("--seconds", type=float, default=600.0, help="0 runs one trial")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    for seed in itertools.count(arguments.seed):
        try:
            check(seed)
        except BaseException as error:
            error.add_note(f"Seed {seed}. Repeat: python -m tests.fuzz.{name} --seed {seed} --seconds 0")
            raise
        if time.monotonic() >= end:
            print(f"{name}: seeds {arguments.seed} to {seed} passed")
            return
