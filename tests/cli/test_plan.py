"""`gainsay plan`: from variances that are given, or from those of models."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pandas as pd
from tests.cli.shell import gainsay

import gainsay as gs

run = partial(gainsay, "plan")


def test_from_given_variances():
    found = run("--lead", 0.02, "--claim", "pair", "--query-sd", 0.1, "--power", 0.9, "--json")
    expected = gs.plan(0.02, 0.9, "pair", query=0.1)
    assert json.loads(found.stdout) == json.loads(json.dumps(expected.to_dict()))
    text = run(
        "--lead", 0.08, "--claim", "pair", "--query-sd", 0.01, "--run-sd", 0.003, "--query-run-sd", 0.1, "--runs", 4
    ).stdout
    assert "With 4 runs of each recipe it takes about" in text
    assert text.count("\n") == 1


def test_from_models(tmp_path):
    rng = np.random.default_rng(0)
    labels, models = rng.integers(0, 3, 1000), {"a": rng.random(1000), "b": rng.random(1000)}
    np.save(tmp_path / "labels.npy", labels)
    np.save(tmp_path / "group.npy", [10] * 100)
    for name, scores in models.items():
        np.save(tmp_path / f"{name}.npy", scores)
    judged = ("--labels", tmp_path / "labels.npy", "--group", tmp_path / "group.npy")
    found = run("--lead", 0.05, *judged, tmp_path / "a.npy", tmp_path / "b.npy", "--claim", "ship", "--json")
    comparison = gs.compare(models, gs.Judgments(labels, group=[10] * 100), ["ndcg_linear@10", "ndcg_exp@10"])
    assert json.loads(found.stdout)["queries"] == comparison.plan(0.05, claim="ship").queries


def test_from_recipes_and_clusters(tmp_path):
    rng = np.random.default_rng(0)
    queries, labels = np.repeat(np.arange(200), 8), rng.integers(0, 3, 1600)
    runs = {name: [labels + rng.normal(0, 2, 1600) for _ in range(3)] for name in "ab"}
    columns = {f"{name}{k}": scores for name in "ab" for k, scores in enumerate(runs[name])}
    table = {"query": queries, "label": labels, "session": queries // 4, **columns}
    pd.DataFrame(table).to_csv(tmp_path / "all.csv", index=False)
    recipes = [argument for name in "ab" for argument in ("--run", f"{name}={name}0,{name}1,{name}2")]
    wanted = ("--lead", 0.05, "--claim", "pair", "--runs", 10, "--json")
    judged = ("--table", tmp_path / "all.csv", "--clusters", "session")
    found = json.loads(run(*wanted, *judged, *recipes).stdout)
    judgments = gs.Judgments(labels, qid=queries)
    comparison = gs.compare(runs, judgments, ["ndcg_linear@10", "ndcg_exp@10"], clusters=np.arange(200) // 4)
    assert found == json.loads(json.dumps(comparison.plan(0.05, claim="pair", runs=10).to_dict()))
    assert found["options"][0]["runs"] == 10


def test_bad_input(tmp_path):
    for arguments, message in (
        (("--lead", 0, "--query-sd", 1), "lead must be above 0"),
        (("--lead", 0.1), "give the judgments as one of"),
        (("--lead", 0.1, "--query-sd", 1, "a.npy"), "name no models and no judgments"),
        (("--lead", 0.1, "--query-sd", 1, "--run", "A=a,b,c"), "name no models and no judgments"),
        (("--lead", 0.1, "--query-sd", 1, "--iteration", 3), "name no models and no judgments"),
        (("--lead", 0.1, "--query-sd", 1, "--unjudged", "drop"), "name no models and no judgments"),
        (("--lead", 0.1, "--run-sd", 1, "a.npy"), "--run-sd belongs to --query-sd"),
        (("--lead", 0.1, "--correlation", 0.5, "a.npy"), "--correlation belongs to --query-sd"),
        (("--lead", 0.1, "--models", 3, "a.npy"), "--models belongs to --query-sd"),
        (("--lead", 0.1, "--query-sd", 1, "--metric", "mrr"), "--metric belongs to models"),
        (("--lead", 0.1, "--query-sd", 1, "--claim", "win"), "claim must be one of"),
    ):
        found = run(*arguments)
        assert (found.exit_code, found.stdout) == (1, "")
        assert message in found.stderr
    assert run("--query-sd", 1).exit_code == 2
