"""What `import gainsay` loads, and what is loaded when it is first used."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

import gainsay as gs

SUBPACKAGES = ["catboost", "comparison", "dask", "data", "experiment", "lightgbm", "report", "sklearn", "xgboost"]
INSTALLED = [name for name in SUBPACKAGES if name != "catboost" or find_spec("catboost")]
"""What can be loaded here: CatBoost is not installed with the others."""


def printed(code):
    """What a fresh interpreter prints, read as JSON."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_it_loads_numpy_alone():
    code = (
        "import sys, json, numpy; before = set(sys.modules); import gainsay; "
        "print(json.dumps(sorted({name.partition('.')[0] for name in set(sys.modules) - before})))"
    )
    assert {"gainsay"} <= set(printed(code)) <= {"gainsay", "numpy", *sys.stdlib_module_names}


def test_it_loads_no_part_that_is_not_used():
    code = (
        "import sys, json, gainsay; "
        f"print(json.dumps([name for name in {SUBPACKAGES} if f'gainsay.{{name}}' in sys.modules]))"
    )
    assert printed(code) == []


def test_parts_are_loaded_when_they_are_first_used():
    code = (
        "import json, gainsay as gs; queries = len(gs.data.simulate(5, seed=0).group); "
        f"print(json.dumps([queries, *(getattr(gs, name).__name__ for name in {INSTALLED})]))"
    )
    assert printed(code) == [5, *(f"gainsay.{name}" for name in INSTALLED)]


def test_parts_hold_what_they_should():
    assert gs.comparison.Verdict is gs.Verdict
    assert gs.experiment.Candidate is gs.Candidate
    assert gs.judgments.Judgments is gs.Judgments
    assert gs.metrics.NDCG is gs.NDCG
    assert callable(gs.lightgbm.feval)
    assert callable(gs.xgboost.custom_metric)
    assert callable(gs.dask.evaluate_rounds)
    assert callable(gs.sklearn.scorer)
    assert issubclass(gs.sklearn.GroupedLGBMRanker, gs.lightgbm.lightgbm.LGBMRanker)


def test_the_part_for_catboost_holds_what_it_should():
    pytest.importorskip("catboost")
    assert callable(gs.catboost.eval_metric)


@pytest.mark.parametrize("name", SUBPACKAGES)
def test_dir_lists_them(name):
    assert name in dir(gs)
    assert name not in gs.__all__


def test_all_names_can_be_had():
    assert [name for name in gs.__all__ if not hasattr(gs, name)] == []


@pytest.mark.parametrize(
    ("part", "library", "message"),
    [
        ("lightgbm", "lightgbm", "gainsay.lightgbm needs LightGBM: pip install 'gainsay[lightgbm]'"),
        ("xgboost", "xgboost", "gainsay.xgboost needs XGBoost: pip install 'gainsay[xgboost]'"),
        ("catboost", "catboost", "gainsay.catboost needs CatBoost: pip install 'gainsay[catboost]'"),
        ("dask", "dask", "gainsay.dask needs Dask: pip install 'gainsay[dask]'"),
        ("sklearn", "sklearn", "gainsay.sklearn needs scikit-learn: pip install 'gainsay[sklearn]'"),
    ],
)
def test_a_missing_library_is_named_each_time(part, library, message):
    code = f"""
import sys, json
sys.modules[{library!r}] = None
import gainsay as gs
found = []
for _ in range(2):
    try:
        gs.{part}
    except ImportError as error:
        found.append(str(error))
print(json.dumps([found, gs.data.__name__]))
"""
    assert printed(code) == [[message, message], "gainsay.data"]


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="module 'gainsay' has no attribute 'nosuch'"):
        gs.nosuch  # noqa: B018
