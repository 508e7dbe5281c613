"""`--import`: metrics of the user's own on the command line."""

from __future__ import annotations

import json
import sys

import pytest
from tests.cli.shell import gainsay as run

import gainsay as gs
from gainsay.data import read_qrels, read_run, write_run

MODULE = """
import gainsay as gs


def {name}(labels, scores):
    return float(labels[scores.argmax()])


def {name}_gain(labels):
    return labels**3


gs.metric("{name}", {name})
gs.NDCG(gain={name}_gain)


class Half(gs.RR):
    names = {{"half_{name}": {{}}}}

    def score(self, rows, facts, cutoffs):
        return super().score(rows, facts, cutoffs) / 2
"""


@pytest.fixture(autouse=True)
def path(monkeypatch):
    """What is put on the path goes with the test."""
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def files(tmp_path):
    qrels = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"x": 1, "y": 3}}
    (tmp_path / "qrels").write_text(
        "".join(f"{query} 0 {doc} {label}\n" for query, docs in qrels.items() for doc, label in docs.items())
    )
    for name, first in (("one", 3.0), ("two", 0.5)):
        write_run({"q1": {"a": first, "c": 2.0}, "q2": {"x": 1.0, "y": 0.5}}, tmp_path / f"{name}.txt")
    return tmp_path


def names_of(module):
    return [module, f"half_{module}@3", f"ndcg(gain={module}_gain)@3"]


def test_score_by_the_path_of_a_file(files):
    (files / "shop_by_path.py").write_text(MODULE.format(name="by_path"))
    metrics = [part for name in names_of("by_path") for part in ("-m", name)]
    result = run(
        "score",
        files / "one.txt",
        files / "qrels",
        "--import",
        files / "shop_by_path.py",
        *metrics,
        "-m",
        "mrr",
        "--json",
    )
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)["mean"]
    assert found == gs.evaluate_run(list(found), read_run(files / "one.txt"), read_qrels(files / "qrels")).mean
    assert list(found) == [*names_of("by_path"), "mrr"]
    assert found["by_path"] == 1.5
    assert found["half_by_path@3"] == found["mrr"] / 2


def test_compare_by_the_name_of_a_module(files, monkeypatch):
    (files / "shop_by_name.py").write_text(MODULE.format(name="by_name"))
    monkeypatch.syspath_prepend(str(files))
    metrics = [part for name in names_of("by_name") for part in ("-m", name)]
    arguments = [
        "compare",
        "--qrels",
        files / "qrels",
        files / "one.txt",
        files / "two.txt",
        "--import",
        "shop_by_name",
    ]
    result = run(*arguments, *metrics, "--json")
    assert result.exit_code == 0, result.stderr
    board = json.loads(result.stdout)["leaderboard"]
    assert [board[model]["by_name"] for model in ("one", "two")] == [1.5, 1.0]


def test_without_it_the_error_says_what_is_missing(files):
    result = run("score", files / "one.txt", files / "qrels", "-m", "of_nobody@10")
    assert result.exit_code == 1
    assert "unknown metric 'of_nobody'" in result.stderr
    assert "one of your own once the module that defines it is imported" in result.stderr


@pytest.mark.parametrize("command", [["score"], ["compare"], ["run"], ["report"]])
def test_every_command_that_takes_metrics_has_it(command):
    assert "--import" in run(*command, "--help").stdout


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (None, "not_there.py", "there is no such file"),
        (None, "not_there_either", "there is no module 'not_there_either' to import; the path of a file ends in .py"),
        ("", "my-metrics.py", "a module's name has letters, digits and _ only; rename the file"),
        ("", "json.py", "its name is that of another module"),
        ("import not_installed_here", "needs_more.py", "it needs the module 'not_installed_here', which is not there"),
        ("1 / 0", "divides.py", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "exits.py", "SystemExit: 3"),
        (
            "import gainsay as gs\ngs.metric('mrr', len)",
            "takes_a_name.py",
            "'mrr' is the name of a metric of gainsay's own",
        ),
    ],
)
def test_what_cannot_be_imported(files, content, name, message):
    source = files / name if name.endswith(".py") else name
    if content is not None:
        source.write_text(content)
    result = run("score", files / "one.txt", files / "qrels", "--import", source)
    assert result.exit_code == 1
    assert f"gainsay: --import {source}: " in result.stderr
    assert message in result.stderr


def test_a_module_in_the_current_folder(files, monkeypatch):
    """The path of an installed command does not begin with the folder in which it is called."""
    (files / "shop_in_this_folder.py").write_text(MODULE.format(name="in_this_folder"))
    monkeypatch.chdir(files)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    metrics = [part for name in names_of("in_this_folder") for part in ("-m", name)]
    for call in (["score", "one.txt", "qrels"], ["compare", "--qrels", "qrels", "one.txt", "two.txt"]):
        result = run(*call, "--import", "shop_in_this_folder", *metrics)
        assert result.exit_code == 0, result.stderr
        assert "in_this_folder" in result.stdout


def test_a_module_in_the_current_folder_does_not_take_the_place_of_another(files, monkeypatch):
    (files / "colorsys.py").write_text("raise ValueError('the wrong one')")
    monkeypatch.chdir(files)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    assert run("score", "one.txt", "qrels", "--import", "colorsys").exit_code == 0
