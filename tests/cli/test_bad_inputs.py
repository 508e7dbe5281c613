"""Every invalid call prints one line to stderr, and nothing else is printed or written."""

from __future__ import annotations

import os
from typing import NamedTuple

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from tests.cli.shell import gainwise

pytestmark = pytest.mark.slow


class BadCall(NamedTuple):
    """An invalid call, a value in its message, up to three words of the message, and the exit code."""

    call: str
    mentioned: str
    words: str = ""
    code: int = 1


DATA = "compare --data data.txt"
JUDGED = "compare --labels labels.npy --group group.npy old.npy better.npy"
GATE = "gate --labels labels.npy --group group.npy --baseline old.npy --candidate"
PLAN = "plan --difference 0.1"
VARIANCE = "plan --difference 0.1 --query-sd 1"
RECIPE = "compare --data data.txt --configuration"
SCORE = "score first.txt qrels.txt"

SOURCES = [
    BadCall("compare x", "--data, --qrels, --table and --labels", "exactly one"),
    BadCall(DATA, "NAME=FILE", "at least one"),
    BadCall(f"{DATA} no.npy", "model 'no': no file 'no.npy'", code=2),
    BadCall(f"{DATA} =old.npy", "''", "blank"),
    BadCall(f"{DATA} old.npy --column revenue", "--column", "without --table"),
    BadCall(f"{DATA} old.npy -m cg(column=revenue)", "'revenue'", "--column revenue"),
    BadCall("score first.txt qrels.txt -m cg(column=revenue)", "'revenue'", "no columns"),
    BadCall(f"{DATA} two_columns.csv", "FILE:COLUMN", "2 columns"),
    BadCall(f"{DATA} wide_lgb.txt", "'wide_lgb'", "5 features"),
    BadCall(f"{DATA} cut_lgb.txt", "'cut_lgb'", "a damaged model"),
    BadCall(f"{DATA} crlf_lgb.txt", "'crlf_lgb'", "a damaged model"),
    BadCall(f"{DATA} broken.json", "broken.json", "not a model"),
    BadCall(f"{DATA} old.npy -m judged@10", "judged@10", "unjudged documents"),
    BadCall("compare --data none.txt old.npy", "none.txt", code=2),
    BadCall("compare --labels labels.npy old.npy", "--labels and --group", "given together"),
    BadCall("compare --labels labels.npy --group group.npy lgb.txt", "--data", "from features"),
    BadCall("compare --labels - --group - old.npy", "--group", code=2),
    BadCall(f"{JUDGED} --searched few", "--searched", code=2),
    BadCall(f"{JUDGED} --per-query v.xlsx", ".csv, .csv.gz, .parquet"),
    BadCall(f"{JUDGED} --per-query nowhere/v.csv", "nowhere"),
    BadCall(f"{JUDGED} --html nowhere/r.html", "nowhere"),
]

TABLES = [
    BadCall("compare --table short.csv", "'label'", "no column"),
    BadCall("compare --table two.csv a=old.npy", "MODELS", "with --table"),
    BadCall("compare --table two.csv --scores old,better --scores old", "'old' at 2", "must be distinct"),
    BadCall("compare --table no_scores.csv", "no_scores.csv", "column of scores"),
    BadCall("compare --table row_numbers.csv", "'row'", "may identify rows"),
    BadCall("compare --table missing_query.csv", "row 3", "missing value"),
    BadCall("compare --table twice_A.csv", "'A'", "must be distinct"),
    BadCall("compare --table empty.csv", "empty.csv", "is empty"),
    BadCall("compare --table longer_rows.csv", "longer_rows.csv", "than the header"),
    BadCall("compare --table ragged.csv", "ragged.csv", "line 4"),
    BadCall("compare --table short_row.csv --scores A --column B", "short_row.csv, line 4", "3 columns"),
    BadCall("compare --table control.parquet --per-query v.csv", "--per-query", "control character"),
]

LABELS_OF_QUERIES = [
    BadCall(f"{JUDGED} --segments nowhere.csv", "'nowhere.csv'", "--segments: no file", 2),
    BadCall(f"{JUDGED} --segments two_labels.csv", "'7'", "one line per"),
    BadCall("compare --table all.csv --scores old,A1 --segments kind -m map", "--segments", "two metrics"),
    BadCall(f"{JUDGED} --segments ids_alone.csv", "ids_alone.csv", "distinct names of"),
    BadCall(f"{JUDGED} --segments kinds.csv:kin", "'kin'", "mean 'kind'"),
    BadCall(f"{JUDGED} --segments kinds.csv:kind --segments kinds.csv", "'kind' at 1", "must be distinct"),
    BadCall(f"{JUDGED} --clusters kinds.csv", "FILE:COLUMN", "one column"),
]

RECIPES = [
    BadCall(f"{RECIPE} A=A1.npy,A2.npy", "'A'", "2 repeats"),
    BadCall(f"{RECIPE} A1.npy,A2.npy", "NAME=FILE,FILE,FILE", "the form"),
    BadCall(f"{RECIPE} A=A1.npy,A2.npy,A1.npy", "'A1.npy'", "must be distinct"),
    BadCall(f"{RECIPE} A=A1.npy,A2.npy,A3.npy A=old.npy", "'A'", "must be distinct"),
    BadCall("gate --table all.csv --baseline old --candidate A1,A2,A3", "'A1,A2,A3'", "A configuration must"),
    BadCall(
        "gate --table all.csv --baseline old --candidate A1 -m map=1% -m mrr=1% --gain map,mrr",
        "'map,mrr'",
        "repeat the option",
    ),
]

WRITES = [
    BadCall(f"{JUDGED} B=worse.csv --per-query worse.csv", "--per-query 'worse.csv'", "overwritten"),
    BadCall(f"{JUDGED} --configuration A=A1.npy,A2.npy,A3.npy --html ./A2.npy", "--html 'A2.npy'", "overwritten"),
    BadCall(f"{JUDGED} --segments kinds.csv:kind --html kinds.csv", "--html 'kinds.csv'", "overwritten"),
    BadCall(f"{JUDGED} worse.csv --html link.csv", "--html 'link.csv'", "overwritten"),
    BadCall(f"{GATE} better.npy --candidate third.npy", "--candidate", "passed once", 2),
    BadCall(f"{GATE} N=worse.csv --json worse.csv", "--json 'worse.csv'", "overwritten"),
    BadCall(f"{JUDGED} --html r.csv --per-query r.csv", "--html and --per-query", "both write"),
    BadCall(f"{JUDGED} --html r.html --per-query r.json", "'r.json'", "must end with"),
    BadCall(f"{JUDGED} --html xgb.html", "'xgb.json'"),
]

DECISIONS = [
    BadCall(f"{GATE} old.npy", "'old'", "must be distinct"),
    BadCall(f"{GATE} better.npy --json no/x.json", "no"),
    BadCall(f"{GATE} better.npy -m mrr -m map -m rprec", "3 metrics", "margins above 0"),
    BadCall(f"{GATE} better.npy -m mrr=0.1 -m map", "'map'", "no margin above"),
    BadCall(f"{GATE} better.npy -m map=0.1 -m map=0.2", "'map'", "must be distinct"),
    BadCall(f"{GATE} better.npy -m map=much", "'much'", "number or a"),
    BadCall(f"{GATE} better.npy -m map=x%", "'x%'", "such as '1%'"),
    BadCall(f"{GATE} better.npy -m mapp=0.1", "'mapp'", "did you mean"),
    BadCall(f"{GATE} better.npy --segments nowhere.csv", "'nowhere.csv'", "--segments: no file", 2),
    BadCall(f"{GATE} better.npy --markdown --json -", "--markdown", "with --json -"),
    BadCall("gate --baseline a.npy", "--candidate", code=2),
    BadCall(f"{GATE} better.npy --require noloss", "'noloss'", "--require must be"),
    BadCall(f"{GATE} better.npy --bounds bets", "'bets'", "--bounds must be"),
    BadCall(f"{GATE} better.npy --require no-loss", "--require no-loss", "requires --margin above"),
    BadCall(f"{GATE} no.npy", "'no.npy'", "no file", 2),
    BadCall(f"{GATE} better.npy -m my_metric", "'my_metric'", "--import"),
    BadCall(f"{GATE} better.npy -m map=0.1 --margin 0.2", "--margin 0.2", "no effect"),
    BadCall(f"{GATE} better.npy --earlier labels.npy", "'labels.npy'", "JSON file"),
    BadCall(f"{GATE} better.npy --earlier no.json", "'--earlier'", "'no.json'", 2),
    BadCall(f"{VARIANCE} --require no-loss", "--require", "without --claim ship"),
    BadCall(PLAN, "--query-sd, or models", "exactly one of"),
    BadCall(f"{PLAN} --query-sd 0", "query", "are all 0"),
    BadCall(f"{VARIANCE} --claim all", "'all'", "--claim must be"),
    BadCall("plan --query-sd 1", "--difference", code=2),
]


def no_effect(call, option, context):
    return BadCall(call, f"{option} has no effect {context}")


NO_EFFECT = [
    no_effect(f"{JUDGED} --unjudged drop", "--unjudged", "without --qrels"),
    no_effect(f"{JUDGED} --query q", "--query", "without --table"),
    no_effect(f"{JUDGED} --open", "--open", "without --html"),
    no_effect("compare --table two.csv --json --all", "--all", "with --json"),
    no_effect(f"{VARIANCE} old.npy", "MODELS", "with --query-sd"),
    no_effect(f"{VARIANCE} --label x", "--label", "with --query-sd"),
    no_effect(f"{VARIANCE} --features 0", "--features", "with --query-sd"),
    no_effect("explain --labels 1,0 --query x", "--query", "with --labels"),
    no_effect("identify 0.5 --table two.csv old.npy", "MODELS", "with --table"),
    no_effect("check data.txt --clusters user", "--clusters", "if no file is a table"),
    no_effect("check two.csv --features 0", "--features", "if all files are tables"),
    no_effect("run wrong.toml --json --open", "--open", "with --json"),
]

OTHERS = [
    BadCall("explain --labels 1,1_5", "'1,1_5'", "--labels"),
    BadCall("bound", "--qrels", "exactly one"),
    BadCall("bound --table two.csv --label nothing", "--label", "no column 'nothing'"),
    BadCall("score first.txt first.txt", "topic iteration"),
    BadCall("score qrels.txt first.txt", "first.txt contains a run", "Swap"),
    BadCall(f"{SCORE} --import not_there.py", "--import not_there.py", "No module"),
    BadCall(f"{SCORE} --import json.py", "--import json.py", "another module"),
    BadCall(f"{SCORE} --import needs_more.py", "'not_installed_here'", "No module"),
    BadCall(f"{SCORE} --import exits.py", "--import exits.py", "SystemExit: 3"),
    BadCall("explain", "--labels", "either a file"),
    BadCall("identify 0.5 --table two.csv", "old, better", "exactly one model"),
    BadCall("identify 0.5 --qrels qrels.txt", "none", "exactly one model"),
    *(
        BadCall(f"identify 0.5 --data data.txt old.npy --allow-{word}", f"--allow-{word}", "No such option", 2)
        for word in ("incomplete", "misaligned")
    ),
    BadCall("demo --seed -1", "'--seed'", "greater than or", 2),
    BadCall("report .", "gainwise"),
    BadCall("run wrong.toml", "candidates[0].training_gain"),
    BadCall("run none.toml", "none.toml", code=2),
]

CASES = [*SOURCES, *TABLES, *LABELS_OF_QUERIES, *RECIPES, *WRITES, *DECISIONS, *NO_EFFECT, *OTHERS]

TABLE = "label,query,A,B\n1,x,1,2\n0,x,2,1\n1,y,1,2\n"

TEXTS = {
    "short.csv": "0.5\n",
    "two_columns.csv": "a,b\n0.5,1\n",
    "broken.json": "{}",
    "no_scores.csv": "label,query\n1,x\n",
    "row_numbers.csv": "label,query,A,row\n1,x,1,1\n0,x,2,2\n1,y,1,3\n0,y,2,4\n1,y,2,5\n",
    "missing_query.csv": TABLE + "1,,0.1,0.2\n",
    "twice_A.csv": TABLE.replace("B", "A"),
    "empty.csv": "",
    "longer_rows.csv": "label,query,A\n1,x,1,2\n0,x,2,1\n",
    "short_row.csv": "label,query,A,B\n1,x,1,2\n\n0,x,2\n1,x,3,\n",
    "ragged.csv": "label,query,A\n1,x,1\n0,x,2\n1,y,2,3,4\n",
    "two_labels.csv": "query,kind\n7,x\n7,y\n",
    "ids_alone.csv": "query\n1\n",
    "json.py": "",
    "needs_more.py": "import not_installed_here",
    "exits.py": "raise SystemExit(3)",
    "wrong.toml": "[data]\nsimulate = { queries = 40, seed = 1, split = [0.5, 0.25, 0.25] }\n"
    '[[candidates]]\nname = "lgb"\nlibrary = "lightgbm"\ntraining_gain = "exp"\n',
}


@pytest.fixture(scope="module")
def flawed(all_files):
    """The folder with files that have one flaw each."""
    folder, data = all_files.folder, all_files.data
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    control = pd.DataFrame({"label": [1, 0], "query": [1, 1], "ev\x1bil": [1, 2]})
    control.to_parquet(folder / "control.parquet")
    wide = np.column_stack([data.features, data.labels])
    params = {"objective": "lambdarank", "verbose": -1, "num_threads": 1}
    lgb.train(params, lgb.Dataset(wide, data.labels, group=data.group), 1).save_model(folder / "wide_lgb.txt")
    model = (folder / "wide_lgb.txt").read_bytes()
    (folder / "cut_lgb.txt").write_bytes(model[: model.index(b"leaf_value")])
    (folder / "crlf_lgb.txt").write_bytes(model.replace(b"\n", b"\r\n"))
    matrix = xgb.DMatrix(wide, label=data.labels, group=data.group)
    xgb.train({"objective": "rank:ndcg", "nthread": 1}, matrix, 1).save_model(folder / "wide_xgb.json")
    os.symlink("worse.csv", folder / "link.csv")
    return folder


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("case", CASES, ids=[case.call for case in CASES])
def test_bad_inputs(files, flawed, case):
    before = contents(flawed)
    result = gainwise(case.call)
    assert (result.exit_code, result.stdout) == (case.code, "")
    assert len(case.words.split()) <= 3
    assert case.mentioned in result.stderr
    assert case.words in result.stderr
    assert contents(flawed) == before
    if case.code == 1:
        assert result.stderr.startswith("gainwise: ")
        assert result.stderr.count("\n") == 1


def test_a_model_of_more_features_is_read_if_their_number_is_given(files, flawed):
    for model in ("wide_lgb.txt", "wide_xgb.json"):
        assert gainwise(f"{DATA} {model} --features 5 --json").exit_code == 0
