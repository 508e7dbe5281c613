"""Measure the time of `Curves` per round, in addition to training and evaluation.

    python research/benchmarks/curves.py [--rounds 5000]

The script calls the callbacks as the libraries do, with two datasets and four metrics. However short the rounds are,
curves are drawn at most four times per second in a terminal, and twice in a notebook.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from statistics import mean, median
from typing import TYPE_CHECKING, Any

import lightgbm as lgb
from lightgbm.callback import CallbackEnv
from timing import describe_machine

import gainwise.lightgbm
import gainwise.xgboost
from gainwise.training import display

if TYPE_CHECKING:
    from collections.abc import Callable

METRICS = ("ndcg_linear@10", "ndcg_exp@10", "map@10", "mrr")


class Screen(io.StringIO):
    """A terminal that discards its output."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str) -> int:
        """Discard the text."""
        return len(text)


def compute_values(number: int) -> list[float]:
    """Return one value per metric, which first rises and then varies slightly."""
    trend = 0.5 + 0.1 * (1 - 1 / (1 + number / 50))
    return [trend + 0.002 * ((number * 7919 + place) % 101) / 101 for place in range(len(METRICS))]


def build_lightgbm_round(curves: gainwise.lightgbm.Curves, rounds: int) -> Callable[[int], float]:
    """Return a function that calls the callback as LightGBM does after a round, and returns the seconds."""
    model: Any = lgb.CVBooster()
    result: Any = getattr(lgb, "EvalResult", None) or (lambda *entry: entry)

    def time_round(number: int) -> float:
        results = [result(name, metric, value, True) for name in ("training", "valid_0")
                   for metric, value in zip(METRICS, compute_values(number), strict=True)]  # fmt: skip
        start = time.perf_counter()
        curves(CallbackEnv(model, {}, number, 0, rounds + 1, results))
        return time.perf_counter() - start

    return time_round


def build_xgboost_round(curves: gainwise.xgboost.Curves, rounds: int) -> Callable[[int], float]:
    """Return a function that calls the callback as XGBoost does after a round, and returns the seconds."""

    class Model:
        cvfolds: tuple[()] = ()

        def attr(self, name: str) -> None:
            """Return None: there are no attributes."""

    model, log = Model(), {name: {metric: [] for metric in METRICS} for name in ("train", "valid")}
    curves.before_training(model)

    def time_round(number: int) -> float:
        for history in log.values():
            for metric, value in zip(METRICS, compute_values(number), strict=True):
                history[metric].append(value)
        start = time.perf_counter()
        curves.after_iteration(model, number, log)
        return time.perf_counter() - start

    return time_round


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5000)
    rounds = parser.parse_args().rounds
    print(f"{describe_machine()}\n")
    print(f"{rounds:,} rounds, two datasets, four metrics. Microseconds per round.\n")
    print("| callback | output | mean | median | maximum | mean of the last 100 |\n|---|---|---:|---:|---:|---:|")
    sys.stderr = Screen()
    for library, kind, build in (
        ("LightGBM", gainwise.lightgbm.Curves, build_lightgbm_round),
        ("XGBoost", gainwise.xgboost.Curves, build_xgboost_round),
    ):
        for output, show, interval in (
            ("none", False, 0.25),
            ("one line at the end", "line", 0.25),
            ("terminal", "terminal", 0.25),
            ("terminal, drawn in every round", "terminal", 0.0),
        ):
            display.TERMINAL_INTERVAL = interval
            curves = kind(show=show)
            time_round: Any = build(curves, rounds)
            times = [1e6 * time_round(number) for number in range(rounds)]
            cells = (mean(times), median(times), max(times), mean(times[-100:]))
            print(f"| {library} | {output} | {' | '.join(f'{cell:,.0f}' for cell in cells)} |")
            curves._end()


if __name__ == "__main__":
    main()
