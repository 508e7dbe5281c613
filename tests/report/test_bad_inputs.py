"""Invalid calls of reports and pictures raise errors before anything is drawn or written."""

import json

import pandas as pd
import pytest
from tests.bad_inputs import BadInput, bad_inputs

import gainwise as gw
from gainwise.report.content import best_rounds
from gainwise.report.plots import plot_curves, plot_gains, plot_queries

CURVES = pd.DataFrame({"candidate": "c", "round": 1, "metric": ["a", "b"], "value": 0.1})
JUDGMENTS = gw.Judgments([1, 0] * 30, group=[2] * 30)

CASES = [
    BadInput("theme", lambda make, _: make(3).plot.leaderboard(theme="blue"), "theme", ValueError, "'blue'"),
    BadInput("kind of picture", lambda make, _: make(3).plot.leaderboard().save("a"), "path", ValueError, "extension"),
    BadInput("no folder", lambda make, _: make(3).plot.leaderboard().save("no/a.png"), "'no'", OSError, "not exist"),
    BadInput("one name of a pair", lambda make, _: make(3).plot.attribution("a"), "both", ValueError, "models"),
    BadInput("one model", lambda make, _: make(1).plot.attribution(), "model", ValueError, "one model"),
    BadInput("no curves", lambda make, _: make(3).plot.curves(), "curves", ValueError, "no curves"),
    BadInput("negative, html", lambda make, f: make(3).to_html(f / "r.html", queries=-1), "queries", ValueError, "-1"),
    BadInput("no queries to draw", lambda make, _: plot_queries(queries_of(make(3)), most=0), "most", ValueError, "0"),
    BadInput("no rows", lambda make, _: plot_queries(queries_of(make(3))[:0]), "queries", ValueError, "no rows"),
    BadInput("another table", lambda *_: plot_queries(pd.DataFrame({"a": [1]})), "Comparison.queries", ValueError, "a"),
    BadInput("candidate", lambda *_: plot_curves(CURVES, ("a", "b"), candidate="x"), "'x'", ValueError, "must be one"),
    BadInput("metric", lambda *_: plot_curves(CURVES, ("a", "z")), "a and z", ValueError, "both metrics"),
    BadInput("column", lambda *_: plot_curves(CURVES[["value"]], ("a", "b")), "round", ValueError, "must have"),
    BadInput("twice", lambda *_: best_rounds(CURVES.iloc[[0, 0]], ("a", "b"), ()), "round 1 of a", ValueError, "once"),
    BadInput("one gain", lambda make, _: plot_gains(make(3).gains([1])), "base", ValueError, "requires two bases"),
    BadInput("baseline", lambda *_: compare_with("prod", "old", "new"), "'prod'", ValueError, "must be one"),
    BadInput("baseline alone", lambda *_: compare_with("old", "old"), "old", ValueError, "no candidate"),
]


def compare_with(baseline, *models):
    return gw.compare(dict.fromkeys(models), JUDGMENTS, baseline=baseline)


def queries_of(comparison):
    return comparison.queries(*comparison.models[:2])


@bad_inputs(CASES)
def test_bad_inputs(case, make, tmp_path):
    case.check(make, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b'{"learner":{}}', b'{\n "alpha": 0.05\n}', b"0.5\n0.25\n"])
def test_data_of_another_kind_are_not_written_over(make, tmp_path, content):
    """The user did not choose the name of the second file. A model or the plan of an experiment may have this name."""
    (tmp_path / "model.json").write_bytes(content)
    with pytest.raises(FileExistsError, match=r"model\.json"):
        make(2).to_html(tmp_path / "model.html")
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]
    assert (tmp_path / "model.json").read_bytes() == content


def test_data_of_a_report_are_written_over(make, tmp_path):
    (tmp_path / "model.json").write_bytes(b"")
    for models in (2, 3):
        make(models).to_html(tmp_path / "model.html")
        assert json.loads((tmp_path / "model.json").read_text("utf-8"))["models"] == list(make(models).models)
