"""No command writes over what it reads, or one of its files over another."""

from __future__ import annotations

import os

import numpy as np
import pytest
import xgboost as xgb
from tests.cli.shell import gainsay


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with labels, sizes of queries and scores, from which the command is called."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.save("labels.npy", rng.integers(0, 3, 60))
    np.save("sizes.npy", [6] * 10)
    for name in ("a", "b", "b2", "b3"):
        np.savetxt(f"{name}.csv", rng.random(60))
    return tmp_path


JUDGED = ("--labels", "labels.npy", "--group", "sizes.npy")
RECIPE = ("--run", "R=b.csv,b2.csv,b3.csv")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("compare", *JUDGED, "a.csv", "B=b.csv", "--per-query", "b.csv"), "--per-query 'b.csv' is a file that is"),
        (("compare", *JUDGED, "a.csv", "--markdown", "labels.npy"), "--markdown 'labels.npy' is a file that is"),
        (("compare", *JUDGED, "a.csv", *RECIPE, "--markdown", "./b2.csv"), "--markdown 'b2.csv' is a file that is"),
        (("compare", *JUDGED, "a.csv", "--segments", "b.csv:c", "--html", "b.csv"), "--html 'b.csv' is a file that"),
        (("compare", *JUDGED, "a.csv", "b.csv", "--markdown", "link.csv"), "--markdown 'link.csv' is a file that is"),
        (("gate", *JUDGED, "--baseline", "a.csv", "--candidate", "N=b.csv", "--json", "b.csv"), "--json 'b.csv' is a"),
        (("compare", *JUDGED, "a.csv", "--html", "r.x", "--markdown", "r.x"), "--html and --markdown both write 'r.x'"),
        (("compare", *JUDGED, "a.csv", "--html", "r.html", "--per-query", "r.json"), "both write 'r.json'"),
        (("compare", *JUDGED, "a.csv", "--html", "r.html", "--per-query", "r.queries.csv"), "both write 'r.queries."),
    ],
)
def test_what_would_be_lost_is_named_before_the_work(folder, arguments, said):
    os.symlink("b.csv", "link.csv")
    before = contents(folder)
    found = gainsay(*arguments)
    assert (found.exit_code, found.stdout) == (1, "")
    assert said in found.stderr
    assert contents(folder) == before


def test_a_report_beside_a_model_of_its_name(folder):
    booster = xgb.train({"objective": "rank:ndcg"}, xgb.DMatrix(np.eye(6), [0, 1, 0, 1, 2, 0], group=[6]), 2)
    booster.save_model("model.json")
    before = contents(folder)
    found = gainsay("compare", *JUDGED, "a.csv", "b.csv", "--html", "model.html")
    assert (found.exit_code, found.stdout) == (1, "")
    assert "go to 'model.json', and what is there is no report's; name the report otherwise" in found.stderr
    assert contents(folder) == before


def test_a_report_is_written_anew(folder):
    for models in (("a.csv", "b.csv"), ("a.csv", "b2.csv")):
        written = gainsay("compare", *JUDGED, *models, "--html", "r.html", "--per-query", "r.csv", "--markdown", "r.md")
        assert written.exit_code == 0, written.stderr
    assert '"b2"' in (folder / "r.json").read_text()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--score", "a"), "--score a belongs to --table"),
        (("--label", "grade"), "--label grade belongs to --table"),
        (("--query", "q"), "--query q belongs to --table"),
        (("--features", 5), "--features 5 belongs to --data"),
    ],
)
def test_how_to_read_another_kind_of_file_is_no_option(folder, more, said):
    found = gainsay("compare", *JUDGED, "a.csv", "b.csv", *more)
    assert (found.exit_code, found.stdout) == (1, "")
    assert said in found.stderr
