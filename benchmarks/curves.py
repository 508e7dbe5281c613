"""What `Curves` costs in every round, beside what is evaluated anyway.

    python benchmarks/curves.py [--rounds 5000]

The callbacks are called as the libraries call them, with two data sets and four metrics. What a display costs comes on
top at most four times a second in a terminal, twice in a notebook, however short the rounds are.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from typing import TYPE_CHECKING, Any

import lightgbm as lgb
from lightgbm.callback import CallbackEnv
from timing import machine

import gainsay.lightgbm
import gainsay.xgboost
from gainsay.training import display

if TYPE_CHECKING:
    from collections.abc import Callable

METRICS = ("ndcg_linear@10", "ndcg_exp@10", "map@10", "mrr")


class Screen(io.StringIO):
    """A terminal that forgets what is written."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        """Say so."""
        return True

    def write(self, text: str) -> int:
        """Forget."""
        return len(text)


def values(number: int) -> list[float]:
    """Return values that rise for a while and then wander."""
    risen = 0.5 + 0.1 * (1 - 1 / (1 + number / 50))
    return [risen + 0.002 * ((number * 7919 + place) % 101) / 101 for place in range(len(METRICS))]


def lightgbm_round(curves: gainsay.lightgbm.Curves, rounds: int) -> Callable[[int], None]:
    """Return what LightGBM calls after a round."""
    model: Any = lgb.CVBooster()
    result: Any = getattr(lgb, "EvalResult", None) or (lambda *entry: entry)

    def after(number: int) -> None:
        results = [result(name, metric, value, True) for name in ("training", "valid_0")
                   for metric, value in zip(METRICS, values(number), strict=True)]  # fmt: skip
        start = time.perf_counter()
        curves(CallbackEnv(model, {}, number, 0, rounds + 1, results))
        spent.append(time.perf_counter() - start)

    return after


def xgboost_round(curves: gainsay.xgboost.Curves, rounds: int) -> Callable[[int], None]:
    """Return what XGBoost calls after a round."""

    class Model:
        cvfolds: tuple[()] = ()

        def attr(self, name: str) -> None:
            """Have no attributes."""

    model, log = Model(), {name: {metric: [] for metric in METRICS} for name in ("train", "valid")}
    curves.before_training(model)

    def after(number: int) -> None:
        for history in log.values():
            for metric, value in zip(METRICS, values(number), strict=True):
                history[metric].append(value)
        start = time.perf_counter()
        curves.after_iteration(model, number, log)
        spent.append(time.perf_counter() - start)

    return after


spent: list[float] = []


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5000)
    rounds = parser.parse_args().rounds
    print(f"{machine()}\n")
    print(f"{rounds:,} rounds, two data sets, four metrics; microseconds a round.\n")
    print("| callback | shown | mean | median | most | last 100, mean |\n|---|---|---:|---:|---:|---:|")
    sys.stderr = Screen()
    for name, kind, make in (
        ("LightGBM", gainsay.lightgbm.Curves, lightgbm_round),
        ("XGBoost", gainsay.xgboost.Curves, xgboost_round),
    ):
        for label, show, often in (
            ("nowhere", False, 0.25),
            ("a line at the end", "line", 0.25),
            ("terminal", "terminal", 0.25),
            ("terminal, drawn every round", "terminal", 0.0),
        ):
            display.TERMINAL_INTERVAL = often
            spent.clear()
            curves = kind(show=show)
            after: Any = make(curves, rounds)
            for number in range(rounds):
                after(number)
            costs = [1e6 * one for one in spent]
            ordered = sorted(costs)
            cells = (sum(costs) / rounds, ordered[rounds // 2], ordered[-1], sum(costs[-100:]) / 100)
            print(f"| {name} | {label} | {' | '.join(f'{cell:,.0f}' for cell in cells)} |")
            curves._end()


if __name__ == "__main__":
    main()
