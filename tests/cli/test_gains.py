"""`gainsay gains`: the same path as `Comparison.gains`, from files, runs and experiments."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from tests.cli.shell import gainsay

import gainsay as gs
from gainsay.data import write_run

run = partial(gainsay, "gains")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gains")
    rng = np.random.default_rng(0)
    labels = rng.choice(5, 900, p=[0.5, 0.3, 0.12, 0.05, 0.03])
    scores = {"broad": (labels > 0) + 0.4 * rng.normal(size=900), "top": (labels > 2) + 0.4 * rng.normal(size=900)}
    table = pd.DataFrame({"query": np.repeat(np.arange(60), 15), "label": labels, **scores})
    table.to_csv(folder / "all.csv", index=False)
    return folder, gs.Judgments(labels, group=[15] * 60), scores


def test_json_is_that_of_the_comparison(files):
    folder, judgments, scores = files
    found = run("--table", folder / "all.csv", "--bases", "1,1.5,2,4", "-m", "ndcg_exp@5", "--json")
    assert found.exit_code == 0, found.stderr
    content = json.loads(found.stdout)
    expected = gs.compare(scores, judgments, ["ndcg_exp@5"]).gains([1, 1.5, 2, 4])
    assert content["bases"] == [1, 1.5, 2, 4]
    assert content["metric"] == "ndcg_power(gain_base=b)@5"
    assert content["text"] == expected.text
    assert [row["mean"] for row in content["path"]] == pytest.approx(expected.frame()["mean"].tolist(), rel=1e-12)


def test_tables_and_picture(files, tmp_path):
    folder, judgments, scores = files
    found = run("--table", folder / "all.csv", "--plot", tmp_path / "path.png")
    assert found.exit_code == 0, found.stderr
    text = gs.compare(scores, judgments, ["ndcg_linear@10"]).gains().text
    assert text in found.stdout
    assert "Who changes places at which base" in found.stdout
    assert (tmp_path / "path.png").read_bytes().startswith(b"\x89PNG")


def test_runs(files, tmp_path):
    qrels = {"q": {"a": 2, "b": 1, "c": 1, "d": 0}}
    (tmp_path / "qrels.txt").write_text("".join(f"q 0 {name} {label}\n" for name, label in qrels["q"].items()))
    write_run({"q": {"a": 1.0, "b": 3.0, "c": 2.0}}, tmp_path / "broad.txt", "broad")
    write_run({"q": {"a": 3.0, "d": 2.0, "b": 1.0}}, tmp_path / "top.txt", "top")
    models = (tmp_path / "broad.txt", tmp_path / "top.txt")
    found = run("--qrels", tmp_path / "qrels.txt", *models, "-m", "ndcg_linear@2", "--bases", "1,2", "--json")
    assert found.exit_code == 0, found.stderr
    means = {(row["base"], row["model"]): row["mean"] for row in json.loads(found.stdout)["path"]}
    second = 1 / np.log2(3)
    assert means[1, "top"] == pytest.approx(2 / (2 + second))
    assert means[2, "broad"] == pytest.approx((1 + second) / (3 + second))


def test_preferences_of_a_file(files, tmp_path):
    folder, _, _ = files
    rng = np.random.default_rng(1)
    first = rng.choice(4, size=(300, 6))
    second = rng.permuted(first, axis=1)
    gain, discount = np.array([0, 1, 2.5, 4.75]), 1 / np.log2(np.arange(2, 8))
    ideal = gain[-np.sort(-first, axis=1)] @ discount
    gap = (gain[first] @ discount - gain[second] @ discount) / np.where(ideal > 0, ideal, 1)
    preferred = np.where(rng.random(300) < 1 / (1 + np.exp(-15 * gap)), "a", "b")
    rows = {"a": [" ".join(map(str, row)) for row in first], "b": [" ".join(map(str, row)) for row in second]}
    pd.DataFrame({**rows, "preferred": preferred}).to_csv(tmp_path / "said.csv", index=False)
    found = run("--table", folder / "all.csv", "--preferences", tmp_path / "said.csv", "--json")
    assert found.exit_code == 0, found.stderr
    expected = gs.fit_gain({"a": first, "b": second, "preferred": preferred})
    assert json.loads(found.stdout)["fit"]["base"] == pytest.approx(expected.base)


def test_experiment(tmp_path):
    from gainsay.data import simulate
    from gainsay.experiment import Candidate, Experiment

    parts = simulate(60, seed=1, mean_length=10).split_queries(0.5, 0.25, 0.25, seed=1)
    made = [Candidate(name, "lightgbm", {"num_leaves": leaves}) for name, leaves in (("a", 3), ("b", 15))]
    metrics = ["ndcg_linear@10", "ndcg_exp@10"]
    result = Experiment(made, *parts, metrics=metrics, directory=tmp_path, num_boost_round=4, draws=1000).run(
        progress=False
    )
    found = run("--experiment", tmp_path, "--bases", "1,2", "--json")
    assert found.exit_code == 0, found.stderr
    for more, message in (
        (["a.npy"], "got 'a.npy' too"),
        (["--unjudged", "drop"], "got '--unjudged drop' too"),
        (["--features", 3], "got '--features 3' too"),
        (["--seed", 1], "--alpha and --seed are those of the experiment"),
    ):
        refused = run("--experiment", tmp_path, *more)
        assert refused.exit_code == 1
        assert message in refused.stderr
    means = {(row["base"], row["model"]): row["mean"] for row in json.loads(found.stdout)["path"]}
    for base, metric in ((1, metrics[0]), (2, metrics[1])):
        for model in ("a", "b"):
            assert means[base, model] == pytest.approx(result.comparison.leaderboard.loc[model, metric], rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bases", "1,x"], "--bases holds '1,x': give numbers"),
        (["--bases", "1,1_5"], "--bases holds '1,1_5': give numbers"),
        (["--bases", "0.5,2"], "bases[0] must be at least 1"),
        (["-m", "map@10"], "metric names map@10, which is no sum of gains"),
    ],
)
def test_wrong_input_ends_with_1(files, arguments, message):
    folder, _, _ = files
    found = run("--table", folder / "all.csv", *arguments)
    assert found.exit_code == 1
    assert message in found.stderr


def test_a_file_of_no_preferences(files, tmp_path):
    folder, _, _ = files
    (tmp_path / "said.csv").write_text("a,b,preferred\n1 0,0 1,a\n1 x,0 1,b\n")
    found = run("--table", folder / "all.csv", "--preferences", tmp_path / "said.csv")
    assert found.exit_code == 1
    assert "said.csv: a holds '1 x' in row 1: write labels with blanks between them" in found.stderr
