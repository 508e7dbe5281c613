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

QUICK = ("compare_predictions", "other_libraries")
"""What imports little runs in a process of its own, as a user's would; the others in one that has imported all."""

CODE = """
import os, runpy, sys, warnings
for descriptor in (1, 2):
    os.dup2(os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
os.chdir(folder)
sys.argv = [script]
warnings.simplefilter("error")
runpy.run_path(script, run_name="__main__")
"""


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.slow
@pytest.mark.parametrize("name", SAYS)
def test_example_runs_without_a_warning(name, tmp_path, processes):
    script, told = str(EXAMPLES / f"{name}.py"), tmp_path / "told"
    if name in QUICK:
        with told.open("w", encoding="utf-8") as file:
            command, environment = [sys.executable, "-W", "error", script], {**os.environ, "OMP_NUM_THREADS": "1"}
            done = subprocess.run(
                command, stdout=file, stderr=file, cwd=tmp_path, env=environment, timeout=900, check=False
            )
        code = done.returncode
    else:
        known = {"script": script, "told": str(told), "folder": str(tmp_path)}
        process = processes.Process(target=exec, args=(CODE, known))
        process.start()
        process.join(900)
        code = process.exitcode
    said = told.read_text(encoding="utf-8")
    assert code == 0, said
    assert SAYS[name] in said
