"""`gainsay compare --per-query`: every value with the ids of its query and model."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from tests.cli.shell import gainsay as run

import gainsay as gs

METRICS = ("ndcg_linear@10", "map(empty=skip)")


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"query": np.repeat([f"q {n}" for n in range(10)], 5), "label": rng.integers(0, 3, 50)})
    frame.loc[frame["query"] == "q 3", "label"] = 0
    frame["A"], frame["B"] = rng.random(50), rng.random(50)
    frame.to_csv(tmp_path / "all.csv", index=False)
    return frame


@pytest.mark.parametrize("name", ["v.csv", "v.csv.gz", "v.parquet", "v.json"])
def test_every_value_comes_back(table, tmp_path, name):
    path = tmp_path / name
    found = run("compare", "--table", tmp_path / "all.csv", *(f"-m{it}" for it in METRICS), "--per-query", path)
    assert found.exit_code == 0, found.stderr
    assert f"Values by query: {path}" in found.stderr
    if name.endswith(".json"):
        read = pd.DataFrame(json.loads(path.read_text()))
    else:
        read = pd.read_parquet(path) if name.endswith("parquet") else pd.read_csv(path, dtype=str)  # exactly
    expected = gs.compare(table[["A", "B"]], gs.Judgments.from_frame(table), METRICS).frame().reset_index()
    assert read["model"].tolist() == expected["model"].tolist()
    assert read["query"].tolist() == expected["query"].tolist()
    for metric in METRICS:
        np.testing.assert_array_equal(read[metric].astype(float), expected[metric])  # to the last bit, NaN included
    assert read["map(empty=skip)"].isna().sum() == 2


def test_what_cannot_be_written_is_said_before_the_work(table, tmp_path):
    found = run("compare", "--table", tmp_path / "all.csv", "--per-query", tmp_path / "v.xlsx")
    assert found.exit_code == 1
    assert "cannot tell the format from the name; known are .csv, .csv.gz, .parquet, .json" in found.stderr
    assert found.stdout == ""
    found = run("compare", "--table", tmp_path / "all.csv", "--per-query", tmp_path / "nowhere" / "v.csv")
    assert found.exit_code == 1
    assert "there is no folder" in found.stderr
