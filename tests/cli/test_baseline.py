"""`gainsay compare --baseline`: the answer is about replacing it, on screen, in JSON and in the report."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from tests.cli.shell import gainsay

run = partial(gainsay, "compare")


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"query": np.repeat(np.arange(400), 6), "label": rng.integers(0, 4, 2400)})
    for name, taste in (("worse", 0.2), ("production", 0.5), ("better", 0.9)):
        frame[name] = taste * frame["label"] + rng.normal(size=2400)
    frame.to_csv(tmp_path / "all.csv", index=False)
    return tmp_path / "all.csv"


def test_on_screen_and_in_the_report(table, tmp_path):
    found = run("--table", table, "--baseline", "production", "--rope", "0.002", "--html", tmp_path / "r.html")
    assert found.exit_code == 0, found.stderr
    assert found.stdout.startswith("Yes: ship better in place of production.\n★ Ship better: +")
    assert "Against production" in found.stdout
    decisions = {line.split()[0]: line for line in found.stdout.split("Against production")[1].splitlines() if line}
    assert " ship " in decisions["better"]
    assert " do not ship " in decisions["worse"]
    assert '<section id="baseline">' in (tmp_path / "r.html").read_text("utf-8")


def test_in_json(table):
    found = json.loads(run("--table", table, "--baseline", "production", "--rope", "0.002", "--json").stdout)
    assert found["against"]["baseline"] == "production"
    assert found["against"]["rope"] == 0.002
    decisions = {name: one["decision"] for name, one in found["against"]["candidates"].items()}
    assert decisions == {"better": "ship", "worse": "do not ship"}
    assert "against" not in json.loads(run("--table", table, "--json").stdout)


def test_a_name_that_is_no_model_is_refused(table):
    found = run("--table", table, "--baseline", "prodction")
    assert found.exit_code == 1
    assert "gainsay: 'prodction' is not among the models; did you mean 'production'?" in found.stderr
