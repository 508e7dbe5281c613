"""`gainsay compare --segments`: from a column of the table, or from a file by query id."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from tests.cli.shell import gainsay

run = partial(gainsay, "compare")


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"query": np.repeat([f"{n:03}" for n in range(80)], 5), "label": rng.integers(0, 3, 400)})
    frame["A"], frame["B"] = frame["label"] + rng.random(400), rng.random(400)
    frame["kind"] = np.where(frame["query"].astype(int) % 2, "odd", "even")
    frame["half"] = (frame["query"].astype(int) >= 40).astype(int)
    frame.to_csv(tmp_path / "all.csv", index=False)
    frame.drop_duplicates("query")[["query", "kind", "half"]].to_csv(tmp_path / "kinds.csv", index=False)
    return frame


def sizes(found):
    assert found.exit_code == 0, found.stderr
    return {(one["column"], one["segment"]): one["queries"] for one in json.loads(found.stdout)["segments"]["segments"]}


def test_columns_of_the_table_are_no_models(table, tmp_path):
    found = run("--table", tmp_path / "all.csv", "--segments", "kind", "--segments", "half", "--json")
    assert sizes(found) == {("kind", "even"): 40, ("kind", "odd"): 40, ("half", "0"): 40, ("half", "1"): 40}
    assert json.loads(found.stdout)["models"] == ["A", "B"]
    shown = run("--table", tmp_path / "all.csv", "--segments", "kind", "--score", "A", "--score", "B")
    assert "Where kind is odd (40 queries): A is best under both metrics" in shown.stdout


def test_of_runs_by_ids_that_are_text_with_zeros_before(table, tmp_path):
    qrels = [f"{row.query} 0 d{row.Index} {row.label}" for row in table.itertuples()]
    (tmp_path / "qrels.txt").write_text("\n".join(qrels) + "\n")
    for name in ("A", "B"):
        lines = [f"{row.query} Q0 d{row.Index} 1 {getattr(row, name)} x" for row in table.itertuples()]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    arguments = ("--qrels", tmp_path / "qrels.txt", tmp_path / "A.txt", tmp_path / "B.txt", "--json")
    assert sizes(run(*arguments, "--segments", f"{tmp_path / 'kinds.csv'}:kind")) == {
        ("kind", "even"): 40,
        ("kind", "odd"): 40,
    }
    assert len(sizes(run(*arguments, "--segments", tmp_path / "kinds.csv"))) == 4


def test_of_numbered_queries_by_numbers(table, tmp_path):
    np.save(tmp_path / "labels.npy", table["label"])
    np.save(tmp_path / "group.npy", [5] * 80)
    np.save(tmp_path / "A.npy", table["A"])
    np.save(tmp_path / "B.npy", table["B"])
    kinds = pd.DataFrame({"query": range(80), "kind": ["x"] * 30 + ["y"] * 50})
    kinds.to_csv(tmp_path / "numbered.csv", index=False)
    judged = ("--labels", tmp_path / "labels.npy", "--group", tmp_path / "group.npy")
    found = run(*judged, tmp_path / "A.npy", tmp_path / "B.npy", "--segments", tmp_path / "numbered.csv", "--json")
    assert sizes(found) == {("kind", "x"): 30, ("kind", "y"): 50}


def test_bad_input(table, tmp_path):
    np.save(tmp_path / "labels.npy", table["label"])
    np.save(tmp_path / "group.npy", [5] * 80)
    np.save(tmp_path / "A.npy", table["A"])
    judged = ("--labels", tmp_path / "labels.npy", "--group", tmp_path / "group.npy", tmp_path / "A.npy")

    def message(*arguments):
        found = run(*arguments)
        assert (found.exit_code, found.stdout) == (1, "")
        return found.stderr

    assert "there is no file 'nowhere.csv' (--segments)" in message(*judged, "--segments", "nowhere.csv")
    assert "has no label for 80 of 80 queries" in message(*judged, "--segments", _file(tmp_path, "query,kind\na,x\n"))
    assert "query '1' has two labels" in message(*judged, "--segments", _file(tmp_path, "query,kind\n1,x\n1,y\n"))
    assert "no column beside 'query'" in message(*judged, "--segments", _file(tmp_path, "query\n1\n"))
    assert "has no column 'sort'" in message("--table", tmp_path / "all.csv", "--segments", "sort")


def _file(folder, text):
    path = folder / "kinds2.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["letor", "lightgbm"])
def test_of_a_data_file_by_the_ids_in_it(tmp_path, name):
    """Queries of a LETOR file bear numbers of their own, in any order; those of LightGBM's files are counted."""
    rng = np.random.default_rng(0)
    ids, data = rng.permutation([*range(0, 60, 2), *range(1, 101, 2)]), tmp_path / "data.txt"
    if name == "letor":
        data.write_text("".join(f"{rng.integers(0, 3)} qid:{query} 1:1\n" for query in ids for _ in range(5)))
    else:
        ids = np.arange(80)
        data.write_text("".join(f"{rng.integers(0, 3)} 1:1\n" for _ in range(400)))
        (tmp_path / "data.txt.query").write_text("5\n" * 80)
    np.savetxt(tmp_path / "A.txt", rng.random(400))
    kinds = pd.DataFrame({"query": range(101), "kind": ["even", "odd"] * 50 + ["even"]})
    kinds.to_csv(tmp_path / "kinds.csv", index=False)
    values = tmp_path / "values.csv"
    found = sizes(
        run("--data", data, tmp_path / "A.txt", "--segments", tmp_path / "kinds.csv", "--per-query", values, "--json")
    )
    assert found == {("kind", "even"): np.sum(ids % 2 == 0), ("kind", "odd"): np.sum(ids % 2)}
    assert pd.read_csv(values)["query"].drop_duplicates().tolist() == ids.tolist()
