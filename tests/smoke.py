"""Check an installation in seconds: train, evaluate, identify a number, compare two models, call the command.

    python tests/smoke.py

It needs LightGBM and Typer, but neither pytest nor the other libraries of the tests.
"""

from __future__ import annotations

import subprocess
import sys

import lightgbm as lgb

import gainwise as gw
from gainwise.data import simulate
from gainwise.lightgbm import feval


def main() -> None:
    """Raise an exception if a step fails."""
    train, valid = simulate(200, seed=1).split_queries(0.5, 0.5, seed=1)
    judgments = valid.judgments()
    train_set = lgb.Dataset(train.features, train.labels, group=train.group)
    valid_set = lgb.Dataset(valid.features, valid.labels, group=valid.group, reference=train_set)
    parameters = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "verbose": -1, "num_threads": 1}
    evaluations: dict = {}
    model = lgb.train(
        parameters,
        train_set,
        num_boost_round=5,
        valid_sets=[valid_set],
        feval=feval(["ndcg_linear@10", "ndcg_exp@10"], convention="lightgbm"),
        callbacks=[lgb.record_evaluation(evaluations)],
    )
    built_in, _, ours = (values[-1] for values in evaluations["valid_0"].values())
    assert abs(built_in - ours) < 1e-12, (built_in, ours)

    scores = model.predict(valid.features)
    found = gw.identify(f"valid_0's ndcg@10: {built_in:.5f}", judgments, scores)
    assert "LightGBM" in found.text, found.text
    comparison = gw.compare({"trained": scores, "constant": scores * 0}, judgments)
    assert comparison.winners["ndcg_exp@10"] == "trained", comparison.winners
    print(comparison)
    subprocess.run([sys.executable, "-m", "gainwise", "--version"], check=True)
    gw.show_config()


if __name__ == "__main__":
    main()
