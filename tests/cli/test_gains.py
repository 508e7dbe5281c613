"""`gainsay gains`: the same path as `Comparison.gains`, from files, runs and experiments."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.cli.shell import as_json, gainsay, json_of, output_of

import gainsay as gs
from gainsay.data import simulate
from gainsay.experiment import Candidate, Experiment


def means_of(content):
    return {(row["base"], row["model"]): row["mean"] for row in content["path"]}


def test_json_is_that_of_the_comparison(files):
    found = json_of("gains --table two.csv --bases 1,1.5,2,4 -m ndcg_exp@5 --alpha 0.1 --seed 3")
    comparison = files.compare("old", "better", metrics=["ndcg_exp@5"], alpha=0.1, seed=3)
    assert found == as_json(comparison.gains([1, 1.5, 2, 4], metric="ndcg_exp@5").to_dict())
    assert found["bases"] == [1, 1.5, 2, 4]


def test_tables_and_picture(files, tmp_path):
    expected = files.compare("old", "better", metrics=["ndcg_linear@10"]).gains()
    shown = output_of("gains --table two.csv --plot", tmp_path / "path.png")
    assert expected.text in shown
    assert f"{expected.frame().set_index(['base', 'model']).loc[(1.0, 'old'), 'regret']:.4f}" in shown
    assert (tmp_path / "path.png").read_bytes().startswith(b"\x89PNG")


def test_runs(files):
    """By hand: of q1 first finds a, second c; the best two documents are a (label 2) and c (label 1)."""
    means = means_of(json_of("gains --qrels qrels.txt first.txt second.txt -m ndcg_linear@2 --bases 1,2"))
    second = 1 / np.log2(3)
    assert means[1, "first"] == pytest.approx(2 / (2 + second) / 2)
    assert means[2, "first"] == pytest.approx(3 / (3 + second) / 2)
    assert means[2, "second"] == pytest.approx((1 / (3 + second) + 1) / 2)


def test_preferences_of_a_file(files, tmp_path):
    rng = np.random.default_rng(1)
    first = rng.choice(4, size=(300, 6))
    second = rng.permuted(first, axis=1)
    gain, discount = np.array([0, 1, 2.5, 4.75]), 1 / np.log2(np.arange(2, 8))
    ideal = gain[-np.sort(-first, axis=1)] @ discount
    gap = (gain[first] @ discount - gain[second] @ discount) / np.where(ideal > 0, ideal, 1)
    preferred = np.where(rng.random(300) < 1 / (1 + np.exp(-15 * gap)), "a", "b")
    rows = {"a": [" ".join(map(str, row)) for row in first], "b": [" ".join(map(str, row)) for row in second]}
    pd.DataFrame({**rows, "preferred": preferred}).to_csv(tmp_path / "preferences.csv", index=False)
    call = ("gains --table two.csv --preferences", tmp_path / "preferences.csv")
    expected = gs.fit_gain({"a": first, "b": second, "preferred": preferred})
    assert json_of(*call)["fit"]["base"] == pytest.approx(expected.base)
    assert expected.text in output_of(*call)


def test_experiment(tmp_path):
    parts = simulate(60, seed=1, mean_length=10).split_queries(0.5, 0.25, 0.25, seed=1)
    candidates = [Candidate(name, "lightgbm", {"num_leaves": leaves}) for name, leaves in (("a", 3), ("b", 15))]
    metrics = ["ndcg_linear@10", "ndcg_exp@10"]
    experiment = Experiment(candidates, *parts, metrics=metrics, directory=tmp_path, num_boost_round=4, draws=1000)
    board = experiment.run(progress=False).comparison.leaderboard
    means = means_of(json_of("gains --bases 1,2 --experiment", tmp_path))
    for base, metric in ((1, metrics[0]), (2, metrics[1])):
        for model in ("a", "b"):
            assert means[base, model] == pytest.approx(board.loc[model, metric], rel=1e-12)
    for option in ("a.npy", "--unjudged drop", "--features 3", "--seed 1", "--alpha 0.1"):
        refused = gainsay(f"gains --experiment {tmp_path} {option}")
        assert refused.exit_code == 1
        assert option.split()[0] in refused.stderr
