"""The example scripts run without a warning and print their results."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PRINTED = {
    "lightgbm_train": "ndcg_exp@10 ",
    "xgboost_train": "ndcg_exp@10 ",
    "estimators": "XGBRanker",
    "cross_validation": "XGBoost:  ndcg_linear@10 = 0.",
    "compare_predictions": "random sample",
    "other_libraries": "metric='ndcg'",
}


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(PRINTED)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRINTED)
def test_example_runs(name, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [f"{name}.py"])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert PRINTED[name] in capfd.readouterr().out
