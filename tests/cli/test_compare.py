"""`gainwise compare` prints the comparison that Python returns for the same files."""

import json
import re
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from tests.cli.shell import as_json, gainwise, json_of, output_of

import gainwise as gw
from gainwise._common.text import as_text
from gainwise.data import read_letor, write_run

pytestmark = pytest.mark.slow

LABELS = "--labels labels.npy --group group.npy"
RECIPES = "--configuration A=A1.npy,A2.npy,A3.npy --configuration B=B1.npy,B2.npy,B3.npy"


SAME = [
    ("--data data.txt old.npy worse.csv", "old worse", {}),
    ("--data data.txt columns.csv:old worse=columns.parquet:worse columns.npz:equal", "old worse equal", {}),
    (f"{LABELS} old.npy better.npy", "old better", {}),
    ("--table renamed.parquet --label grade --query topic", "old better", {}),
    ("--table two.csv -m mrr -m map@5 --seed 3", "old better", {"metrics": ["mrr", "map@5"], "seed": 3}),
    ("--table two.csv --alpha 0.1 --margin 0.01", "old better", {"alpha": 0.1, "margin": 0.01}),
    ("--table two.csv --baseline old --margin 0.002", "old better", {"baseline": "old", "margin": 0.002}),
    ("--table two.csv --selected old --searched 30", "old better", {"selected": "old", "searched": 30}),
    ("--table two.csv --searched 30", "old better", {"searched": 30}),
    (f"--data data.txt old.npy {RECIPES}", "old A B", {}),
    ("--data data.txt old.npy worse.npy --segments kinds.csv:kind", "old worse", {"segments": "kind"}),
    ("--table all.csv --scores old,worse --segments kind", "old worse", {"segments": "kind"}),
    ("--data data.txt old.npy worse.npy --clusters kinds.csv:session", "old worse", {"clusters": "session"}),
    ("--table all.csv --scores old --configuration A=A1,A2,A3 --clusters session", "old A", {"clusters": "session"}),
]


@pytest.mark.parametrize(("call", "models", "options"), SAME, ids=[call for call, *_ in SAME])
def test_json_is_that_of_the_comparison(files, call, models, options):
    assert json_of(f"compare {call}") == as_json(files.compare(*models.split(), **options).to_dict())


@pytest.mark.parametrize("unjudged", ["irrelevant", "drop"])
def test_json_of_runs_is_that_of_their_comparison(files, unjudged):
    metrics = ["mrr", "ndcg_linear@2"]
    content = json_of(f"compare --qrels qrels.txt first.txt second.txt -m mrr -m ndcg_linear@2 --unjudged {unjudged}")
    assert content == as_json(gw.compare_runs(files.retrieved, files.qrels, metrics, unjudged=unjudged).to_dict())
    assert content["leaderboard"]["first"]["judged@2"] == 0.75


def test_models_of_both_libraries(files):
    content = json_of("compare --data data.txt lgb.txt xgb.json")["leaderboard"]
    expected = files.compare("lgb", "xgb").leaderboard
    for name in ("lgb", "xgb"):
        for metric in ("ndcg_exp@10", "map", "mrr"):
            assert content[name][metric] == pytest.approx(expected.loc[name, metric], rel=1e-12)


def test_a_model_of_named_features_predicts_by_position_with_a_note(files, tmp_path):
    data = read_letor("data.txt")
    features = pd.DataFrame(data.features, columns=[f"name {place}" for place in range(data.features.shape[1])])
    train = lgb.Dataset(features, data.labels, group=data.group)
    lgb.train({"objective": "lambdarank", "verbose": -1}, train, 3).save_model(tmp_path / "named.txt")
    content = json_of("compare --data data.txt", tmp_path / "named.txt", "old.npy")
    assert content["notes"] == ["named takes the features by position, because they have no names"]


def test_ids_with_zeros_before_are_not_numbers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ids = [f"{number:03}" for number in range(30)]
    (tmp_path / "qrels.txt").write_text("".join(f"{query} 0 a 1\n{query} 0 b 0\n" for query in ids))
    for name in "ab":
        write_run({query: {name: 1.0} for query in ids}, tmp_path / f"{name}.txt")
    pd.DataFrame({"query": ids, "kind": ["x"] * 10 + ["y"] * 20}).to_csv(tmp_path / "kinds.csv", index=False)
    content = json_of("compare --qrels qrels.txt a.txt b.txt --segments kinds.csv")["segments"]["segments"]
    assert {one["segment"]: one["queries"] for one in content} == {"x": 10, "y": 20}


def test_queries_without_ids_are_numbered(files, tmp_path):
    """The options for labels with sizes, and for LightGBM's two files."""
    pd.DataFrame({"query": range(120), "kind": ["x"] * 30 + ["y"] * 90}).to_csv(tmp_path / "kinds.csv", index=False)
    (tmp_path / "data.txt").write_text("".join(f"{label:g} 1:1\n" for label in files.data.labels))
    (tmp_path / "data.txt.query").write_text("".join(f"{size}\n" for size in files.data.group))
    for judged in (LABELS, f"--data {tmp_path}/data.txt"):
        content = json_of(f"compare {judged} old.npy --segments {tmp_path}/kinds.csv")["segments"]["segments"]
        assert {one["segment"]: one["queries"] for one in content} == {"x": 30, "y": 90}


def test_a_file_with_a_colon_in_its_name(files):
    assert json_of(f"compare {LABELS} run:1.csv")["models"] == ["run:1"]


class TestTables:
    """No cell, column or id is changed, or omitted without a warning."""

    ROWS = {"1": (0.1, 0.9), "01": (0.3, 0.8), "NA": (0.5, 0.6)}
    TABLE = "label,query,A,B\n" + "".join(f"1,{query},{a},{b}\n0,{query} ,0.4,0.7\n" for query, (a, b) in ROWS.items())

    def test_ids_of_queries_are_those_that_are_written(self, tmp_path):
        """As numbers, 01 and 1 would be one query. pandas reads NA as missing. Blanks are not part of an id."""
        (tmp_path / "table.csv").write_text(self.TABLE)
        output_of("compare -m mrr --table", tmp_path / "table.csv", "--per-query", tmp_path / "values.parquet")
        values = pd.read_parquet(tmp_path / "values.parquet")
        expected = {"A": {"1": 0.5, "01": 0.5, "NA": 1.0}, "B": {"1": 1.0, "01": 1.0, "NA": 0.5}}
        content = dict(zip(zip(values["query"], values["model"], strict=True), values["mrr"], strict=True))
        assert content == {(query, model): expected[model][query] for model in "AB" for query in self.ROWS}

    def test_a_column_with_a_comma_in_its_name_takes_precedence(self, tmp_path):
        (tmp_path / "table.csv").write_text(self.TABLE.replace("label,query,A,B", 'label,query,"old,new",B'))
        assert json_of("compare --scores old,new --table", tmp_path / "table.csv")["models"] == ["old,new"]

    def test_names_columns_left_out_for_their_cells(self, tmp_path):
        lines = [f"{line},{place},title {place}" for place, line in enumerate(self.TABLE.splitlines())]
        lines[0], lines[2] = "label,query,A,B,C,title", "0,1,0.4,0.7,n/d,title 2"
        path = tmp_path / "table.csv"
        path.write_text("\n".join(lines) + "\n")
        content = gainwise("compare --json --table", path)
        assert (content.exit_code, content.stdout) == (1, "")
        assert "column 'C' must contain numbers only, got 'n/d' in row 1" in content.stderr
        content = gainwise("compare --allow-incomplete --json --table", path)
        document = json.loads(content.stdout)
        assert document["models"] == ["A", "B"]
        (missing,) = document["missing"]
        assert missing["model"] == "C"
        assert "'n/d'" in missing["reason"]
        assert "not all cells are numbers in unused columns: title" in content.stderr


def test_leaves_out_files_without_permission(files, monkeypatch):
    def open_file(path, *arguments):
        if path.name == "worse.npy":
            raise PermissionError(13, "Permission denied", path.name)
        return open(path, *arguments)

    monkeypatch.setattr(Path, "open", open_file)
    call = "compare --data data.txt old.npy worse.npy"
    assert "gainwise: model 'worse': [Errno 13] Permission denied" in gainwise(call).stderr
    (missing,) = json_of(f"{call} --allow-incomplete")["missing"]
    assert missing["model"] == "worse"


@pytest.mark.parametrize("name", ["v.csv", "v.csv.gz", "v.parquet"])
def test_every_value_per_query_comes_back_to_the_last_bit(files, tmp_path, name):
    path, metrics = tmp_path / name, ["ndcg_linear@10", "map(empty=skip)"]
    options = (*(f"-m{metric}" for metric in metrics), "--per-query", path)
    content = gainwise("compare --data data.txt old.npy worse.npy", *options)
    assert content.exit_code == 0
    assert str(path) in content.stderr
    read = pd.read_parquet(path) if name.endswith("parquet") else pd.read_csv(path, dtype=str)
    expected = files.compare("old", "worse", metrics=metrics).frame().reset_index()
    assert expected[metrics[1]].isna().any()
    assert read["model"].tolist() == expected["model"].tolist()
    assert read["query"].tolist() == expected["query"].tolist()
    for metric in metrics:
        np.testing.assert_array_equal(read[metric].astype(float), expected[metric])


class TestTerminal:
    def test_shows_the_highest_means_and_on_request_all(self, files):
        expected = files.compare("old", "better", "worse")
        call = f"compare {LABELS} old.npy better.npy worse.npy"
        shown = output_of(call)
        assert as_text(expected.content.chart.headline) == shown.splitlines()[0]
        for metric in expected.primary:
            assert f"{expected.leaderboard[metric].max():.4f}" in shown
        every = output_of(f"{call} --all")
        for name in expected.models:
            for metric in (*expected.primary, "map"):
                assert f"{expected.leaderboard.loc[name, metric]:.4f}" in every

    def test_shows_segments_and_unjudged_documents(self, files):
        options = "--scores old,better --segments kind --margin 0.002"
        expected = files.compare("old", "better", segments="kind", margin=0.002)
        assert expected.segments.text in output_of(f"compare --table all.csv {options}")
        shown = output_of("compare --qrels qrels.txt first.txt second.txt --unjudged drop")
        assert "2 queries" in shown

    def test_decides_about_a_baseline_first(self, files, tmp_path):
        call = f"compare {LABELS} old.npy better.npy worse.npy --baseline old --margin 0.002 --html"
        shown = output_of(call, tmp_path / "r.html")
        assert "better" in shown.splitlines()[0]
        assert re.search("(?m)^ *better +ship ", shown)
        assert re.search("(?m)^ *worse +do not ship ", shown)
        assert '<details id="against">' in (tmp_path / "r.html").read_text("utf-8")

    def test_names_do_not_act_on_it(self, tmp_path):
        frame = pd.DataFrame({"label": [1, 0] * 30, "query": np.repeat(np.arange(30), 2), "b": [0.2, 0.1] * 30})
        frame["ev\x1b[31mil\nname"] = [0.1, 0.2] * 30
        frame.to_parquet(tmp_path / "t.parquet")
        shown = output_of("compare --table", tmp_path / "t.parquet")
        assert "ev\ufffd[31mil name" in shown
        assert "\x1b" not in shown


class TestReports:
    @pytest.fixture
    def launched(self, monkeypatch):
        calls = []
        monkeypatch.setattr("typer.launch", lambda url: calls.append(url) or 0)
        return calls

    def test_are_written_anew_and_opened_if_asked_for(self, files, launched, tmp_path, monkeypatch):
        page = tmp_path / "a report.html"
        output_of(f"compare {LABELS} old.npy First=better.npy --html", page)
        assert launched == []
        output_of(f"compare {LABELS} old.npy Second=worse.npy --open --html", page)
        assert launched == [page.resolve().as_uri()]
        monkeypatch.setattr("typer.launch", lambda url: 1)
        assert "no browser is available" in gainwise(f"compare {LABELS} old.npy worse.npy --open --html", page).stderr
        output_of(f"compare {LABELS} old.npy Second=worse.npy --html", page)
        for written in (page, page.with_suffix(".json")):
            assert "Second" in written.read_text("utf-8")
            assert "First" not in written.read_text("utf-8")


def test_columns_of_a_table(tmp_path):
    rng = np.random.default_rng(1)
    query = np.repeat(np.arange(40), 5)
    table = pd.DataFrame({"query": query, "label": rng.integers(0, 3, 200), "sold": rng.integers(0, 9, 200) / 4})
    table = table.assign(a=rng.normal(size=200), b=table["sold"] + rng.normal(size=200))
    table.to_csv(tmp_path / "log.csv", index=False)
    metrics = ["ndcg_linear@3", "cg(column=sold,name=sales)@3"]
    printed = json_of("compare --column sold --table", tmp_path / "log.csv", *(f"--metric={name}" for name in metrics))
    expected = gw.compare_table(table, ["a", "b"], metrics, columns=["sold"])
    assert printed == as_json(expected.to_dict())
