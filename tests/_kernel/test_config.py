"""What `show_config` says of versions and of the path that runs."""

from __future__ import annotations

import json
import subprocess
import sys

import lightgbm
import numpy as np
import pytest

import gainsay as gs
from gainsay._common.cpus import cpus
from gainsay._kernel import config
from gainsay._kernel.library import Found


@pytest.fixture
def library(monkeypatch):
    """A function that says what is found instead of the library of this installation."""

    def library(loaded, reason):
        monkeypatch.setattr(config, "found", lambda: Found(loaded, reason))

    return library


def test_versions_are_those_that_are_imported():
    content = gs.show_config("dicts")
    assert content["gainsay"] == gs.__version__
    assert content["libraries"]["numpy"] == np.__version__
    assert content["libraries"]["lightgbm"] == lightgbm.__version__
    assert content["cpus"] == cpus()
    assert content["python"] == ".".join(map(str, sys.version_info[:3]))
    assert json.loads(json.dumps(content)) == content


def test_libraries_are_not_loaded_for_their_versions():
    code = "import sys, gainsay; gainsay.show_config(); print({'lightgbm', 'xgboost', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_it_prints_the_same(library, capsys):
    library(None, "turned off by GAINSAY_KERNEL=0")
    assert gs.show_config() is None
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["evaluates"] == "in NumPy: turned off by GAINSAY_KERNEL=0"
    assert lines["numpy"] == np.__version__
    assert lines["gainsay"] == gs.__version__


def test_the_core_runs(library, monkeypatch, capsys):
    library("a library", "loaded from here")
    monkeypatch.setattr(config, "sort_address", lambda: 1)
    gs.show_config()
    assert "evaluates   with its compiled core: loaded from here" in capsys.readouterr().out
    assert gs.show_config("dicts")["kernel"] == {"path": "compiled", "reason": "loaded from here"}


def test_the_core_cannot_sort(library, monkeypatch):
    library("a library", "loaded from here")
    monkeypatch.setattr(config, "sort_address", lambda: None)
    assert gs.show_config("dicts")["kernel"] == {
        "path": "numpy",
        "reason": "loaded from here, but this NumPy's sort is not where the core looks for it",
    }


def test_an_unknown_mode():
    with pytest.raises(ValueError, match='mode must be "stdout" or "dicts", got \'json\''):
        gs.show_config("json")
