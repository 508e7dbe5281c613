"""`--import`: metrics of the user's own on the command line."""

from __future__ import annotations

import sys

import pytest
from tests.cli.shell import json_of, output_of
from typer.main import get_command

import gainsay as gs
from gainsay.cli import app
from gainsay.metrics.names import BUILT_IN

COMMANDS = get_command(app).commands

MODULE = """
import gainsay as gs


def {name}(labels, scores):
    return float(labels[scores.argmax()])


def {name}_gain(labels):
    return labels**3


gs.metric("{name}", {name}, higher_is_better=True)
gs.NDCG(gain={name}_gain)


class Half(gs.RR):
    names = {{"half_{name}": {{}}}}

    def score(self, rows, facts, cutoffs):
        return super().score(rows, facts, cutoffs) / 2


class Squared(gs.NDCG):
    names = {{"squared_{name}": {{"gain": {name}_gain}}, "table_{name}": {{"gain": (0, 1, 5)}}}}
"""


@pytest.fixture
def module(tmp_path):
    def write(name):
        (tmp_path / f"shop_{name}.py").write_text(MODULE.format(name=name))
        return tmp_path / f"shop_{name}.py"

    return write


def metrics_of(name):
    return f"-m {name} -m half_{name}@3 -m ndcg(gain={name}_gain)@3 -m mrr"


def test_by_the_path_of_a_file(files, module):
    """In q1 the first document is a (label 2), in q2 it is y (label 0)."""
    call = f"score first.txt qrels.txt {metrics_of('by_path')} --import"
    found = json_of(call, module("by_path"))["mean"]
    assert found == gs.evaluate_run(list(found), files.retrieved["first"], files.qrels).mean
    assert list(found) == ["by_path", "half_by_path@3", "ndcg(gain=by_path_gain)@3", "mrr"]
    assert found["by_path"] == 1.0
    assert found["half_by_path@3"] == found["mrr"] / 2


@pytest.mark.parametrize("call", ["score first.txt qrels.txt", "compare --qrels qrels.txt first.txt second.txt"])
def test_by_the_name_of_a_module(files, module, monkeypatch, call):
    monkeypatch.syspath_prepend(str(module("by_name").parent))
    assert "by_name" in output_of(f"{call} {metrics_of('by_name')} --import shop_by_name")


def test_a_module_in_the_current_folder_but_not_in_place_of_another(files, module, monkeypatch):
    monkeypatch.chdir(module("in_this_folder").parent)
    with open("colorsys.py", "w") as file:
        file.write("raise ValueError('the wrong one')")
    call = f"score {files.folder}/first.txt {files.folder}/qrels.txt"
    assert "in_this_folder" in output_of(f"{call} {metrics_of('in_this_folder')} --import shop_in_this_folder")
    sys.modules.pop("colorsys", None)
    output_of(f"{call} --import colorsys")


@pytest.mark.parametrize("command", ["score", "compare", "run", "report", "gate", "plan", "gains", "metrics"])
def test_every_command_that_takes_metrics_has_it(command):
    assert "--import" in {option for parameter in COMMANDS[command].params for option in parameter.opts}


class TestMetrics:
    """`gainsay metrics` lists metrics by name."""

    def test_every_name_and_what_others_call_it(self):
        found = {one["name"]: one for one in json_of("metrics")}
        assert set(BUILT_IN) <= set(found)
        assert found["ndcg_exp"]["prints"]["LightGBM"] == "ndcg@k"
        assert found["ndcg_linear"]["prints"]["trec_eval"] == "ndcg_cut_k"
        assert found["ndcg_power"]["options"] == {"gain": "power"}
        shown = output_of("metrics")
        assert set(BUILT_IN) <= {line.split()[0] for line in shown.splitlines() if not line.startswith(" ")}

    def test_functions_are_named(self, module):
        found = {one["name"]: one["options"] for one in json_of("metrics --import", module("listed"))}
        assert found["squared_listed"] == {"gain": "listed_gain"}
        assert found["table_listed"] == {"gain": [0, 1, 5]}
        assert "listed" in found
