"""Long trainings: are time per round and memory flat, and the curves complete, after thousands of rounds?

    python benchmarks/long_run.py [--rounds 5000] [--queries 400]

Each training is a process of its own, so that its memory and its processor time are its own. Those of one library take
turns of a hundred rounds, so that a change of the machine's speed meets all of them alike. Writes LONG_RUN.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean, median
from typing import Any

import lightgbm as lgb
import xgboost as xgb
from panel import PANEL
from timing import machine

from gainsay import lightgbm as in_lightgbm
from gainsay import xgboost as in_xgboost
from gainsay.data import simulate

HERE = Path(__file__).parent
TURN = 100
"""Rounds."""
CONTESTANTS = {
    "LightGBM": ("no metric", "feval"),
    "XGBoost": ("no metric", "custom_metric", "EvaluateRanking"),
}


def resident() -> float:
    """Return how much memory the process holds, in MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1e6


class Turns:
    """Times each round, and hands over to the next contestant after every hundredth."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.memory: dict[int, float] = {}
        self._before = 0.0

    def start(self) -> None:
        """Wait for the first turn."""
        input()
        self._before = time.process_time()

    def round_done(self) -> None:
        """Take the time; where the turn is over wait for the next one."""
        self.seconds.append(time.process_time() - self._before)
        if len(self.seconds) % TURN == 0:
            self.memory[len(self.seconds)] = resident()
            print(flush=True)
            input()
        self._before = time.process_time()


def train_lightgbm(how: str, rounds: int, queries: int, turns: Turns) -> dict[str, list[float]]:
    """Train, and return the curves."""
    train, valid = simulate(2 * queries, seed=1, mean_length=20).split_queries(0.5, 0.5, seed=1)
    train_set = lgb.Dataset(train.features, train.labels, group=train.group)
    valid_set = lgb.Dataset(valid.features, valid.labels, group=valid.group, reference=train_set)
    params = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1, "num_leaves": 4,
              "learning_rate": 0.01, "seed": 1}  # fmt: skip

    def done(_: Any) -> None:
        turns.round_done()

    curves: dict[str, Any] = {}
    ours: dict[str, Any] = {}
    callbacks: list[Any] = [done]
    if how == "feval":
        ours = {"feval": in_lightgbm.feval(PANEL, n_jobs=1)}
        callbacks += [lgb.record_evaluation(curves), in_lightgbm.early_stopping("mrr", rounds=rounds, verbose=False)]
    turns.start()
    lgb.train(params, train_set, rounds, valid_sets=[valid_set], callbacks=callbacks, **ours)
    return curves.get("valid_0", {})


def train_xgboost(how: str, rounds: int, queries: int, turns: Turns) -> dict[str, list[float]]:
    """Train, and return the curves."""
    train, valid = simulate(2 * queries, seed=1, mean_length=20).split_queries(0.5, 0.5, seed=1)
    dtrain, dvalid = (xgb.DMatrix(part.features, label=part.labels, qid=part.qid) for part in (train, valid))
    params = {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1, "max_depth": 2, "eta": 0.01,
              "seed": 1}  # fmt: skip

    class Done(xgb.callback.TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            turns.round_done()
            return False

    curves: dict[str, Any] = {}
    evals = [(dvalid, "valid")]
    ours: list[Any] = []
    log = in_xgboost.custom_metric(PANEL, n_jobs=1) if how == "custom_metric" else None
    if log is not None:
        ours = [in_xgboost.full_precision(log)]
    if how == "EvaluateRanking":
        evals, ours = [], [in_xgboost.EvaluateRanking({"valid": dvalid}, PANEL, n_jobs=1)]
    if ours:
        ours.append(in_xgboost.early_stopping("mrr", dataset="valid", rounds=rounds, verbose=False))
    turns.start()
    xgb.train(
        params, dtrain, rounds, evals=evals, custom_metric=log, evals_result=curves, callbacks=[*ours, Done()],
        verbose_eval=False,
    )  # fmt: skip
    return dict(curves.get("valid", {}))


def contestant(library: str, how: str, rounds: int, queries: int) -> None:
    """Train in turns, then print what was measured."""
    turns = Turns()
    train = train_lightgbm if library == "LightGBM" else train_xgboost
    curves = train(how, rounds, queries, turns)
    print(json.dumps({"seconds": turns.seconds, "memory": turns.memory, "lengths": [*map(len, curves.values())]}))


def take_turns(library: str, rounds: int, queries: int) -> dict[str, dict[str, Any]]:
    """Return what was measured of all contestants of a library."""
    command = [sys.executable, __file__, "--rounds", str(rounds), "--queries", str(queries), "--contestant", library]
    running = {
        how: subprocess.Popen([*command, how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE)
        for how in CONTESTANTS[library]
    }
    found = {}
    for turn in range(rounds // TURN + 1):
        for how, process in running.items():
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if turn == rounds // TURN:
                found[how] = json.loads(line)
    for process in running.values():
        process.communicate()
    return found


def report(library: str, found: dict[str, dict[str, Any]], rounds: int) -> list[str]:
    """Return the lines of the report of one library."""
    lines = [
        f"| {library} | CPU ms a round, {rounds // 10 + 1} to {rounds // 5} | CPU ms a round, last {rounds // 10} "
        "| ratio of means | ratio of medians | MB grown | MB more than without | values in each curve |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    grown = {how: of["memory"][str(rounds)] - of["memory"][str(rounds // 10)] for how, of in found.items()}
    for how, of in found.items():
        early, late = of["seconds"][rounds // 10 : rounds // 5], of["seconds"][-rounds // 10 :]
        lengths = f"{len(of['lengths'])} × {', '.join(map(str, sorted(set(of['lengths']))))}" if of["lengths"] else "–"
        lines.append(
            f"| {how} | {1e3 * mean(early):.2f} | {1e3 * mean(late):.2f} | {mean(late) / mean(early):.2f} "
            f"| {median(late) / median(early):.2f} | {grown[how]:.1f} | {grown[how] - grown['no metric']:+.1f} "
            f"| {lengths} |"
        )
    return [*lines, ""]


def main() -> None:
    """Write the report, or be one of the contestants."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5000)
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--contestant", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.rounds % (10 * TURN):
        parser.error(f"--rounds must be a multiple of {10 * TURN}")
    if arguments.contestant:
        contestant(*arguments.contestant, arguments.rounds, arguments.queries)
        return
    lines = [
        "# Long runs",
        "",
        f"Written by `benchmarks/long_run.py`: {arguments.rounds} rounds of tiny trees, {arguments.queries} queries of "
        f"about 20 documents to train on and as many to evaluate, one thread; {len(PANEL)} metrics after every round, "
        f"early stopping with a patience of {arguments.rounds} rounds.",
        "",
        machine(),
        "",
        f"*Grown* is memory at the end less memory after round {arguments.rounds // 10}; *without* is the training "
        "with no metric, which keeps its trees too. The curves themselves take "
        f"{len(PANEL) * (arguments.rounds - arguments.rounds // 10) * 40 / 1e6:.1f} MB of it.",
        "",
    ]
    for library in CONTESTANTS:
        lines += report(library, take_turns(library, arguments.rounds, arguments.queries), arguments.rounds)
    (HERE / "LONG_RUN.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
