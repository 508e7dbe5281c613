"""What the command line says of itself: examples that work, and metrics by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tests.cli.shell import gainsay as run
from typer.main import get_command

from gainsay.cli import app
from gainsay.metrics.names import BUILT_IN

COMMANDS = get_command(app).commands


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_examples_that_can_be_called(name):
    shown = run(name, "--help")
    assert shown.exit_code == 0
    command = COMMANDS[name]
    title, *calls = command.epilog.split("\n\n")
    assert title == "Examples:"
    assert calls
    for call in calls:
        assert " ".join(call.split()) in " ".join(shown.stdout.split())
        program, called, *words = call.split()
        assert (program, called) == ("gainsay", name)
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= options


class TestMetrics:
    def test_every_name_and_what_others_call_it(self):
        found = {one["name"]: one for one in json.loads(run("metrics", "--json").stdout)}
        assert set(BUILT_IN) <= set(found)
        assert found["ndcg_exp"]["prints"]["LightGBM"] == "ndcg@k"
        assert found["ndcg_linear"]["prints"]["trec_eval"] == "ndcg_cut_k"
        assert found["ndcg_power"]["options"] == {"gain": "power"}

    def test_for_people(self):
        shown = run("metrics").stdout
        heads = [line.split()[0] for line in shown.splitlines() if not line.startswith(" ")]
        assert set(BUILT_IN) <= set(heads)

    def test_functions_are_named(self, tmp_path):
        (tmp_path / "squared_by_help.py").write_text(
            "import gainsay as gs\n\ndef square(labels):\n    return labels**2\n\n"
            'class Squared(gs.NDCG):\n    """NDCG of squares."""\n\n'
            '    names = {"ndcg_squared_by_help": {"gain": square}, "ndcg_table_by_help": {"gain": (0, 1, 5)}}\n'
        )
        shown = run("metrics", "--json", "--import", tmp_path / "squared_by_help.py")
        found = {one["name"]: one["options"] for one in json.loads(shown.stdout)}
        assert found["ndcg_squared_by_help"] == {"gain": "square"}
        assert found["ndcg_table_by_help"] == {"gain": [0, 1, 5]}

    def test_those_of_a_module(self, tmp_path):
        (tmp_path / "listed_by_help.py").write_text(
            'import gainsay as gs\n\ndef tenth(labels, scores):\n    "A tenth of everything."\n    return 0.1\n\n'
            'gs.metric("tenth_by_help", tenth, higher_is_better=True)\n'
        )
        shown = run("metrics", "--import", tmp_path / "listed_by_help.py").stdout
        assert "tenth_by_help" in shown


class TestOpen:
    @pytest.fixture
    def launched(self, monkeypatch):
        calls = []
        monkeypatch.setattr("typer.launch", lambda url: calls.append(url) or 0)
        return calls

    @pytest.fixture
    def table(self, tmp_path):
        path = tmp_path / "table.csv"
        rows = [f"{at % 3},{at // 5},{at * 7 % 11},{at * 5 % 13}" for at in range(200)]
        path.write_text("\n".join(["label,query,a,b", *rows]) + "\n")
        return path

    def test_the_report_that_was_written(self, table, launched, tmp_path):
        pytest.importorskip("matplotlib")
        page = tmp_path / "a report.html"
        result = run("compare", "--table", table, "--html", page, "--open")
        assert result.exit_code == 0, result.stderr
        assert launched == [page.resolve().as_uri()]
        assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")

    def test_without_a_browser_it_says_so(self, table, monkeypatch, tmp_path):
        pytest.importorskip("matplotlib")
        monkeypatch.setattr("typer.launch", lambda url: 3)
        result = run("compare", "--table", table, "--html", tmp_path / "r.html", "--open")
        assert result.exit_code == 0
        assert "there is no browser" in result.stderr

    def test_nothing_to_open(self, table, launched):
        result = run("compare", "--table", table, "--open")
        assert result.exit_code == 1
        assert result.stderr == "gainsay: --open opens the report: say by --html where it is to be\n"
        assert launched == []

    def test_nothing_is_opened_unasked(self, table, launched, tmp_path):
        pytest.importorskip("matplotlib")
        assert run("compare", "--table", table, "--html", tmp_path / "r.html").exit_code == 0
        assert launched == []


class TestNarrowEncodings:
    """In a process of its own: an encoding is that of the interpreter's streams."""

    def said(self, *arguments):
        environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": os.pathsep.join(sys.path)}
        call = [sys.executable, "-m", "gainsay", *map(str, arguments)]
        done = subprocess.run(call, capture_output=True, env=environment, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode("ascii")

    def test_words_are_spelt(self):
        assert "Jarvelin & Kekalainen 2002" in self.said("explain", "--labels", "5,0,0,0,0,3")

    def test_names_in_json_stay_what_they_are(self, tmp_path):
        rows = [f"{at % 3},{at // 5},{at * 7 % 11},{at * 5 % 13}" for at in range(200)]
        (tmp_path / "t.csv").write_text("\n".join(["label,query,größe,−1", *rows]) + "\n", encoding="utf-8")
        content = json.loads(self.said("compare", "--table", tmp_path / "t.csv", "--json"))
        assert sorted(content["leaderboard"]) == ["größe", "−1"]
