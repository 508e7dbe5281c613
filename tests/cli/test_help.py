"""The command itself: its start, help and version, and terminals that support only ASCII."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.cli.shell import gainwise, json_of, output_of
from typer.main import get_command

import gainwise as gw
from gainwise.cli import app
from gainwise.metrics.names import BUILT_IN

pytestmark = pytest.mark.slow

COMMANDS = get_command(app).commands


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_examples_that_can_be_called(name):
    shown = output_of(name, "--help")
    command = COMMANDS[name]
    _, *calls = command.epilog.split("\n\n")
    assert calls
    for call in calls:
        assert " ".join(call.split()) in " ".join(shown.split())
        program, called, *words = call.split()
        assert (program, called) == ("gainwise", name)
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= options


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("name", COMMANDS)
def test_help_fills_lines_and_shows_flags_without_a_type(name, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    shown = output_of(name, "--help")
    assert "<bool>" not in shown
    paragraphs = COMMANDS[name].help.split("\n\n")
    assert all(" ".join(paragraph.split()) == paragraph for paragraph in paragraphs)
    lines = [line.strip() for line in shown.split("\n")]
    assert max(map(len, shown.split("\n"))) <= width
    for paragraph in paragraphs:
        assert textwrap.wrap(paragraph, width - 2, break_on_hyphens=False)[0] in lines


def test_help_of_compare_has_an_option_of_every_group():
    shown = output_of("compare", "--help")
    places = [
        shown.index(title) for title in ("─ Judgments ─", "─ Models ─", "─ Metrics ─", "─ Statistics ─", "─ Output ─")
    ]
    assert places == sorted(places)
    options = ("--qrels", "--configuration", "--metric", "--alpha", "--html")
    found = [shown.rindex(f"│ {option} ") for option in options]
    assert sorted([*places, *found]) == [place for pair in zip(places, found, strict=True) for place in pair]


def test_version_and_configuration(capsys):
    assert output_of("--version").strip() == gw.__version__
    printed = output_of("--show-config")
    gw.show_config()
    assert printed == capsys.readouterr().out


def python(code, **environment):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    return subprocess.run([sys.executable, *code], capture_output=True, env=environment, check=False)


@pytest.mark.parametrize(
    ("call", "unneeded"),
    [
        ("--version", {"typer", "numpy"}),
        ("--help", {"numpy", "pandas", "scipy", "matplotlib", "pydantic", "lightgbm", "xgboost"}),
    ],
)
def test_start_loads_no_unneeded_package(call, unneeded):
    code = f"""
import atexit, sys
from gainwise.__main__ import main
sys.argv = ["gainwise", {call!r}]
atexit.register(lambda: print(*({{name.partition(".")[0] for name in sys.modules}} & {unneeded})))
main()
"""
    done = python(["-c", code])
    assert (done.returncode, done.stderr) == (0, b"")
    assert not unneeded & set(done.stdout.decode().splitlines()[-1].split())


INTERRUPTED = """
import os, signal, gainwise.cli
from gainwise.__main__ import main

def run():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        print("first", flush=True)
        os.kill(os.getpid(), signal.SIGINT)
        raise

gainwise.cli.main = run
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""


@pytest.mark.posix
def test_the_second_interrupt_ends_the_program_at_once():
    done = python(["-c", INTERRUPTED])
    assert (done.returncode, done.stdout, done.stderr) == (130, b"first\n", b"")


@pytest.mark.posix
def test_names_in_the_c_locale(files, tmp_path):
    """Python decodes the bytes of other characters as surrogates there."""
    call = "-P -X utf8=0 -m gainwise compare --labels labels.npy --group group.npy é=old.npy better.npy"
    c_locale = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    shown = python([*call.split(), "--baseline", "é"], **c_locale)
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert b" instead of e: " in shown.stdout
    assert json.loads(python([*call.split(), "--json"], **c_locale).stdout)["models"] == ["é", "better"]


def test_the_command_is_installed():
    command = Path(sys.executable).with_name("gainwise")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == gw.__version__


def test_a_stop_by_the_user_has_its_own_exit_code(monkeypatch):
    def stop(names):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["gainwise.cli.app"], "_import_modules", stop)
    assert gainwise("metrics").exit_code == 130


MODULE = """
import gainwise as gw


def {name}(labels, scores):
    return float(labels[scores.argmax()])


def {name}_gain(labels):
    return labels**3


gw.metric("{name}", {name}, higher_is_better=True)
gw.NDCG(gain={name}_gain)


class Half(gw.RR):
    names = {{"half_{name}": {{}}}}

    def score(self, rows, facts, cutoffs):
        return super().score(rows, facts, cutoffs) / 2


class Squared(gw.NDCG):
    names = {{"squared_{name}": {{"gain": {name}_gain}}, "table_{name}": {{"gain": (0, 1, 5)}}}}
"""


@pytest.fixture
def module(tmp_path):
    def write(name):
        (tmp_path / f"shop_{name}.py").write_text(MODULE.format(name=name))
        return tmp_path / f"shop_{name}.py"

    return write


@pytest.mark.parametrize("place", ["path", "import_path", "current_folder"])
def test_metrics_of_a_module(files, module, monkeypatch, place):
    """In q1 the first document is a (label 2), in q2 it is y (label 0)."""
    path, names = module(place), [place, f"half_{place}@3", f"ndcg(gain={place}_gain)@3", "mrr"]
    if place == "import_path":
        monkeypatch.syspath_prepend(str(path.parent))
    else:
        monkeypatch.chdir(path.parent)
    options = [f"-m{name}" for name in names] + ["--import", path if place == "path" else path.stem]
    content = json_of(f"score {files.folder}/first.txt {files.folder}/qrels.txt", *options)["mean"]
    assert content == gw.evaluate_run(names, files.retrieved["first"], files.qrels).mean
    assert (list(content), content[place]) == (names, 1.0)


def test_a_module_of_the_current_folder_does_not_replace_another(module, monkeypatch):
    monkeypatch.chdir(module("replaces").parent)
    Path("colorsys.py").write_text("raise ValueError('the wrong one')")
    sys.modules.pop("colorsys", None)
    for _ in range(2):
        output_of("metrics --import colorsys")
    assert sys.path.count(str(Path.cwd())) == 1


def test_commands_that_take_metrics_import_modules():
    imports = {name for name, command in COMMANDS.items() if "modules" in {one.name for one in command.params}}
    assert imports == set(COMMANDS) - {"bound", "check", "demo", "explain"}


class TestMetrics:
    """`gainwise metrics` lists metrics by name."""

    def test_every_name_and_what_others_call_it(self):
        content = {one["name"]: one for one in json_of("metrics")}
        assert set(BUILT_IN) <= set(content)
        assert content["ndcg_exp"]["prints"]["LightGBM"] == "ndcg@k"
        assert content["ndcg_linear"]["prints"]["trec_eval"] == "ndcg_cut_k"
        assert content["ndcg_power"]["options"] == {"gain": "power"}
        shown = output_of("metrics")
        assert set(BUILT_IN) <= {line.split()[0] for line in shown.splitlines() if not line.startswith(" ")}

    def test_functions_are_named(self, module):
        content = {one["name"]: one["options"] for one in json_of("metrics --import", module("listed"))}
        assert content["squared_listed"] == {"gain": "listed_gain"}
        assert content["table_listed"] == {"gain": [0, 1, 5]}
        assert "listed" in content
