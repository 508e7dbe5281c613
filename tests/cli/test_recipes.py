"""`gainsay compare --run` and `--clusters`: recipes from files, columns and TREC runs; clusters by query id."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from tests.cli.shell import gainsay

run = partial(gainsay, "compare")


@pytest.fixture
def folder(tmp_path):
    """LETOR data of 60 queries, three runs of A and of B as score files, a table of all, clusters by query."""
    rng = np.random.default_rng(0)
    queries, labels = np.repeat(np.arange(60), 5), rng.integers(0, 3, 300)
    lines = [f"{label} qid:{query} 1:{label}" for query, label in zip(queries, labels, strict=True)]
    (tmp_path / "data.txt").write_text("\n".join(lines) + "\n")
    table = {"query": queries, "label": labels, "session": queries // 2}
    for name in ("a1", "a2", "a3", "b1", "b2", "b3", "base"):
        table[name] = labels + rng.normal(0, 2, 300)
        np.savetxt(tmp_path / f"{name}.txt", table[name])
    pd.DataFrame(table).to_csv(tmp_path / "all.csv", index=False)
    clusters = pd.DataFrame({"query": np.arange(60)[::-1], "session": np.arange(60)[::-1] // 2, "kind": "x"})
    clusters.to_csv(tmp_path / "clusters.csv", index=False)
    return tmp_path


def verdict(found):
    assert found.exit_code == 0, found.stderr
    return json.loads(found.stdout)["verdict"]


def recipes(folder):
    return [
        argument
        for name in "ab"
        for argument in ("--run", f"{name.upper()}={','.join(str(folder / f'{name}{k}.txt') for k in (1, 2, 3))}")
    ]


def test_recipes_from_files(folder):
    found = run("--data", folder / "data.txt", folder / "base.txt", *recipes(folder), "--vary", "seed", "--json")
    assert verdict(found)["runs"] == {"A": 3, "B": 3, "base": 0}
    assert "another seed is covered" in verdict(found)["text"]
    shown = run("--data", folder / "data.txt", *recipes(folder))
    assert shown.exit_code == 0, shown.stderr
    assert "The models are recipes, trained 3 times each; another such run is covered" in " ".join(shown.stdout.split())


def test_recipes_and_clusters_from_columns(folder):
    options = ["--run", "A=a1,a2,a3", "--run", "B=b1,b2,b3", "--clusters", "session", "--json"]
    told = verdict(run("--table", folder / "all.csv", *options))
    assert told["runs"] == {"A": 3, "B": 3, "base": 0}
    assert told["clusters"] == 30
    files = verdict(
        run("--data", folder / "data.txt", folder / "base.txt", *recipes(folder), "--clusters",
            f"{folder / 'clusters.csv'}:session", "--json")
    )  # fmt: skip
    assert files["clusters"] == 30
    assert files["means"] == told["means"]


def test_recipes_of_trec_runs(tmp_path):
    rng = np.random.default_rng(0)
    pairs = [(f"q{q}", f"d{d}") for q in range(35) for d in range(6)]
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} {rng.integers(0, 3)}\n" for q, d in pairs))
    for name in ("a1", "a2", "a3", "b"):
        (tmp_path / name).write_text("".join(f"{q} Q0 {d} 1 {rng.random():.6f} x\n" for q, d in pairs))
    (tmp_path / "clusters.csv").write_text("query,topic\n" + "".join(f"q{q},t{q // 5}\n" for q in range(35)))
    a = ",".join(str(tmp_path / f"a{k}") for k in (1, 2, 3))
    options = ["--run", f"A={a}", "--clusters", tmp_path / "clusters.csv", "--json"]
    told = verdict(run("--qrels", tmp_path / "qrels", f"B={tmp_path / 'b'}", *options))
    assert told["runs"] == {"A": 3, "B": 0}
    assert told["clusters"] == 7


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--run", "A=a1.txt"], "model 'A' has 1 run"),
        (["--run", "a1.txt,a2.txt"], "name a recipe and its runs, as NAME=FILE,FILE,FILE"),
        (["--run", "A=a1.txt,,a2.txt"], "name a recipe and its runs"),
        (["--run", "A=a1.txt,a2.txt,a1.txt"], "names 'a1.txt' twice: each run is a training of its own"),
        (["--run", "A=a1.txt,a2.txt,no.txt"], "there is no file 'no.txt' (--run 'A')"),
        (["--run", "A=a1.txt,a2.txt,a3.txt", "--run", "A=b1.txt,b2.txt,b3.txt"], "--run names 'A' twice"),
        (["A=base.txt", "--run", "A=a1.txt,a2.txt,a3.txt"], "two models are named 'A'"),
        (["base.txt", "--clusters", "clusters.csv"], "say which, as FILE:COLUMN"),
        (["base.txt", "--clusters", "none.csv"], "there is no file 'none.csv' (--clusters)"),
        (["base.txt", "--vary", "weather"], "vary must be 'seed' or 'queries'"),
    ],
)
def test_what_is_wrong_is_said(folder, monkeypatch, options, says):
    monkeypatch.chdir(folder)
    found = run("--data", "data.txt", *options)
    assert found.exit_code == 1
    assert says in found.stderr
