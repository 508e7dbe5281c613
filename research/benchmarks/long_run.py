"""Check that time per round and memory stay constant over thousands of rounds, and that the curves are complete.

    python research/benchmarks/long_run.py [--rounds 5000] [--queries 400]

Each training runs in a separate process, whose memory and processor time are measured. The trainings of one library
run in turn for 100 rounds each, so changes of the machine's speed affect all of them. The script writes LONG_RUN.md.
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
from evaluators import TEN_METRICS
from timing import describe_machine

import gainwise.lightgbm
import gainwise.xgboost
from gainwise.data import simulate

HERE = Path(__file__).parent
ROUNDS_PER_TURN = 100
TRAININGS = {
    "LightGBM": ("no metric", "feval"),
    "XGBoost": ("no metric", "custom_metric", "EvaluateRanking"),
}


def measure_memory() -> float:
    """Return the resident memory of the process in MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1e6


class RoundTimer:
    """Times each round, and waits after every 100th round while the other trainings run."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.memory: dict[int, float] = {}
        self._start = 0.0

    def start(self) -> None:
        """Wait for the first turn."""
        input()
        self._start = time.process_time()

    def finish_round(self) -> None:
        """Store the time. At the end of a turn, wait for the next one."""
        self.seconds.append(time.process_time() - self._start)
        if len(self.seconds) % ROUNDS_PER_TURN == 0:
            self.memory[len(self.seconds)] = measure_memory()
            print(flush=True)
            input()
        self._start = time.process_time()


def train_lightgbm(kind: str, rounds: int, queries: int, timer: RoundTimer) -> dict[str, list[float]]:
    """Train, and return the curves."""
    train, valid = simulate(2 * queries, seed=1, mean_length=20).split_queries(0.5, 0.5, seed=1)
    train_set = lgb.Dataset(train.features, train.labels, group=train.group)
    valid_set = lgb.Dataset(valid.features, valid.labels, group=valid.group, reference=train_set)
    params = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1, "num_leaves": 4,
              "learning_rate": 0.01, "seed": 1}  # fmt: skip

    def finish_round(_: Any) -> None:
        timer.finish_round()

    curves: dict[str, Any] = {}
    options: dict[str, Any] = {}
    callbacks: list[Any] = [finish_round]
    if kind == "feval":
        options = {"feval": gainwise.lightgbm.feval(TEN_METRICS, n_jobs=1)}
        callbacks += [
            lgb.record_evaluation(curves),
            gainwise.lightgbm.early_stopping("mrr", rounds=rounds, verbose=False),
        ]
    timer.start()
    lgb.train(params, train_set, rounds, valid_sets=[valid_set], callbacks=callbacks, **options)
    return curves.get("valid_0", {})


def train_xgboost(kind: str, rounds: int, queries: int, timer: RoundTimer) -> dict[str, list[float]]:
    """Train, and return the curves."""
    train, valid = simulate(2 * queries, seed=1, mean_length=20).split_queries(0.5, 0.5, seed=1)
    dtrain, dvalid = (xgb.DMatrix(part.features, label=part.labels, qid=part.qid) for part in (train, valid))
    params = {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1, "max_depth": 2, "eta": 0.01,
              "seed": 1}  # fmt: skip

    class FinishRound(xgb.callback.TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            timer.finish_round()
            return False

    curves: dict[str, Any] = {}
    evals = [(dvalid, "valid")]
    callbacks: list[Any] = []
    custom_metric = gainwise.xgboost.custom_metric(TEN_METRICS, n_jobs=1) if kind == "custom_metric" else None
    if custom_metric is not None:
        callbacks = [gainwise.xgboost.full_precision(custom_metric)]
    if kind == "EvaluateRanking":
        evals, callbacks = [], [gainwise.xgboost.EvaluateRanking({"valid": dvalid}, TEN_METRICS, n_jobs=1)]
    if callbacks:
        callbacks.append(gainwise.xgboost.early_stopping("mrr", dataset="valid", rounds=rounds, verbose=False))
    timer.start()
    xgb.train(
        params, dtrain, rounds, evals=evals, custom_metric=custom_metric, evals_result=curves,
        callbacks=[*callbacks, FinishRound()], verbose_eval=False,
    )  # fmt: skip
    return dict(curves.get("valid", {}))


def run_training(library: str, kind: str, rounds: int, queries: int) -> None:
    """Train in turns, and print the measurements as JSON."""
    timer = RoundTimer()
    train = train_lightgbm if library == "LightGBM" else train_xgboost
    curves = train(kind, rounds, queries, timer)
    print(json.dumps({"seconds": timer.seconds, "memory": timer.memory, "lengths": [*map(len, curves.values())]}))


def run_in_turn(library: str, rounds: int, queries: int) -> dict[str, dict[str, Any]]:
    """Return the measurements of all trainings of a library."""
    command = [sys.executable, __file__, "--rounds", str(rounds), "--queries", str(queries), "--training", library]
    processes = {
        kind: subprocess.Popen([*command, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE)
        for kind in TRAININGS[library]
    }
    results = {}
    for turn in range(rounds // ROUNDS_PER_TURN + 1):
        for kind, process in processes.items():
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if turn == rounds // ROUNDS_PER_TURN:
                results[kind] = json.loads(line)
    for process in processes.values():
        process.communicate()
    return results


def build_table(library: str, results: dict[str, dict[str, Any]], rounds: int) -> list[str]:
    """Return the lines of the table of one library."""
    lines = [
        f"| {library} | CPU ms per round, {rounds // 10 + 1} to {rounds // 5} | CPU ms per round, last {rounds // 10} "
        "| ratio of means | ratio of medians | growth, MB | additional growth, MB | values per curve |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    growth = {}
    for kind, result in results.items():
        early, late = result["seconds"][rounds // 10 : rounds // 5], result["seconds"][-rounds // 10 :]
        growth[kind] = result["memory"][str(rounds)] - result["memory"][str(rounds // 10)]
        lengths = result["lengths"]
        curves = f"{len(lengths)} × {', '.join(map(str, sorted(set(lengths))))}" if lengths else "–"
        lines.append(
            f"| {kind} | {1e3 * mean(early):.2f} | {1e3 * mean(late):.2f} | {mean(late) / mean(early):.2f} "
            f"| {median(late) / median(early):.2f} | {growth[kind]:.1f} | {growth[kind] - growth['no metric']:+.1f} "
            f"| {curves} |"
        )
    return [*lines, ""]


def main() -> None:
    """Write the report, or run one of its trainings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5000)
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--training", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.rounds % (10 * ROUNDS_PER_TURN):
        parser.error(f"--rounds must be a multiple of {10 * ROUNDS_PER_TURN}")
    if arguments.training:
        run_training(*arguments.training, arguments.rounds, arguments.queries)
        return
    lines = [
        "# Long runs",
        "",
        "`research/benchmarks/long_run.py` writes "
        f"this page. Training runs for {arguments.rounds} rounds of tiny trees on one "
        f"thread. Training and validation set have {arguments.queries} queries of about 20 documents each. "
        f"{len(TEN_METRICS)} metrics are evaluated after every round. Early stopping has a patience of "
        f"{arguments.rounds} rounds.",
        "",
        describe_machine(),
        "",
        f"*Growth* is the increase in memory from round {arguments.rounds // 10} to the end. *Additional growth* is "
        "the difference to the training without a metric, whose trees also need memory. The curves themselves take "
        f"{len(TEN_METRICS) * (arguments.rounds - arguments.rounds // 10) * 40 / 1e6:.1f} MB.",
        "",
    ]
    for library in TRAININGS:
        lines += build_table(library, run_in_turn(library, arguments.rounds, arguments.queries), arguments.rounds)
    (HERE / "LONG_RUN.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
