"""The example scripts are short, run without a warning and print their results."""

import runpy
from pathlib import Path

import pytest
import sklearn

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PRINTED = {
    "train_lightgbm": "ndcg_exp@10 ",
    "train_xgboost": "ndcg_exp@10 ",
    "ship_a_model": "selected on the validation set: ",
    "compare_table": "production",
    "grid_search": "best parameters: ",
    "release_gate": "ship",
    "revenue": "revenue@10",
    "custom_metric": "missed_grades",
    "why_numbers_differ": "lightgbm     0.",
}


def test_every_example_runs_and_is_short():
    scripts = {path.stem: path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.py")}
    assert set(scripts) == set(PRINTED)
    assert {name for name, text in scripts.items() if len(text.splitlines()) > 30} == set()


@pytest.mark.parametrize("name", PRINTED)
def test_example_runs(name, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [f"{name}.py"])
    with sklearn.config_context():  # restores settings that a script changes
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert PRINTED[name] in capfd.readouterr().out
