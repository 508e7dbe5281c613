"""The example scripts run, and say what they promise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

SAYS = {
    "lightgbm_train": "ndcg_exp@10     is best in round",
    "xgboost_train": "ndcg_exp@10     is best in round",
    "estimators": "XGBRanker",
    "cross_validation": "XGBoost:  ndcg_linear@10 = 0.",
    "compare_predictions": "The queries are the random sample",
    "other_libraries": "LightGBM      metric='ndcg'",
}


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.slow
@pytest.mark.parametrize("name", SAYS)
def test_example_runs_without_a_warning(name, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert SAYS[name] in done.stdout
