"""The command itself: how it is started, its help, its version, and terminals that write nothing but ASCII."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.shell import gainsay, output_of
from typer.main import get_command

import gainsay as gs
from gainsay.cli import app, main

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
        assert (program, called) == ("gainsay", name)
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= options


def test_version_and_configuration(capsys):
    assert output_of("--version").strip() == gs.__version__
    printed = output_of("--show-config")
    gs.show_config()
    assert printed == capsys.readouterr().out


def test_the_command_is_installed():
    command = Path(sys.executable).with_name("gainsay")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == gs.__version__


def test_runs_as_a_module_and_spells_names_where_only_ascii_is_written():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": os.pathsep.join(sys.path)}
    call = [sys.executable, "-m", "gainsay", "explain", "--labels", "5,0,0,0,0,3"]
    done = subprocess.run(call, capture_output=True, env=environment, check=True)
    assert "Jarvelin & Kekalainen 2002" in done.stdout.decode("ascii")


def test_json_keeps_names_where_only_ascii_is_written(tmp_path, monkeypatch):
    rows = [f"{at % 3},{at // 5},{at * 7 % 11},{at * 5 % 13}" for at in range(200)]
    (tmp_path / "t.csv").write_text("\n".join(["label,query,größe,−1", *rows]) + "\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["gainsay", "compare", "--table", str(tmp_path / "t.csv"), "--json"])
    written = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", written)
    with pytest.raises(SystemExit) as ended:
        main()
    written.flush()
    assert ended.value.code == 0
    assert sorted(json.loads(written.buffer.getvalue())["leaderboard"]) == ["größe", "−1"]


def test_a_stop_by_the_user_has_its_own_exit_code(monkeypatch):
    def stop(names):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["gainsay.cli.app"], "import_modules", stop)
    assert gainsay("metrics").exit_code == 130
