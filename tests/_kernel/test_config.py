"""`show_config`: versions, and whether the compiled core is used."""

from __future__ import annotations

import json
import sys

import lightgbm
import numpy as np
import pytest

import gainsay as gs
from gainsay._kernel import config
from gainsay._kernel.config import cpus
from gainsay._kernel.library import Library


def test_versions_of_the_imported_libraries():
    content = gs.show_config("dicts")
    assert content["gainsay"] == gs.__version__
    assert content["kernel"]["path"] in ("compiled", "numpy")
    assert content["libraries"]["numpy"] == np.__version__
    assert content["libraries"]["lightgbm"] == lightgbm.__version__
    assert content["cpus"] == cpus()
    assert content["python"] == ".".join(map(str, sys.version_info[:3]))
    assert json.loads(json.dumps(content)) == content


@pytest.mark.parametrize(
    ("found", "addresses", "printed"),
    [
        (Library(None, "turned off"), (1, 2), "in NumPy: turned off"),
        (Library("a library", "loaded from here"), (1, 2), "with its compiled core: loaded from here"),
        (Library("a library", "loaded from here"), None, "in NumPy: loaded from here, but"),
    ],
    ids=["no core", "core", "core without sort"],
)
def test_path_of_evaluation(monkeypatch, capsys, found, addresses, printed):
    monkeypatch.setattr(config, "find_library", lambda: found)
    monkeypatch.setattr(config, "sort_addresses", lambda: addresses)
    assert gs.show_config() is None
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["evaluates"].startswith(printed)
    assert lines["numpy"] == np.__version__
    assert lines["gainsay"] == gs.__version__
