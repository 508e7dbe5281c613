"""What `import gainsay` loads, and which parts are loaded on first use."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

import gainsay as gs

SUBPACKAGES = ["catboost", "comparison", "dask", "data", "experiment", "lightgbm", "report", "sklearn", "xgboost"]
INSTALLED = [name for name in SUBPACKAGES if name != "catboost" or find_spec("catboost")]
LIGHT = ["comparison", "data", "report"]
OPTIONAL = ["lightgbm", "xgboost", "catboost", "dask", "sklearn"]

MODULES_OF_IMPORT = """
import json, sys, numpy
before = set(sys.modules)
import gainsay
print(json.dumps(sorted(set(sys.modules) - before)))
"""
FIRST_USE = f"""
import json, gainsay as gs
print(json.dumps([len(gs.data.simulate(5, seed=0).group), *(getattr(gs, name).__name__ for name in {LIGHT})]))
"""
WITHOUT_LIBRARIES = f"""
import json, sys
sys.modules.update(dict.fromkeys({OPTIONAL}))
import gainsay as gs
messages = []
for name in {OPTIONAL} * 2:
    try:
        getattr(gs, name)
    except ImportError as error:
        messages.append(str(error))
print(json.dumps([gs.data.__name__, *messages]))
"""


def run(code):
    """Return what a new interpreter prints, read as JSON."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_import_loads_numpy_and_no_subpackage():
    modules = run(MODULES_OF_IMPORT)
    assert {name.partition(".")[0] for name in modules} <= {"gainsay", "numpy", *sys.stdlib_module_names}
    assert not {f"gainsay.{name}" for name in SUBPACKAGES} & set(modules)


def test_subpackages_are_loaded_on_first_use():
    assert run(FIRST_USE) == [5, *(f"gainsay.{name}" for name in LIGHT)]


def test_error_names_the_extra_of_a_missing_library_each_time():
    module, *messages = run(WITHOUT_LIBRARIES)
    assert module == "gainsay.data"
    assert len(messages) == 2 * len(OPTIONAL)
    for name, message in zip(OPTIONAL * 2, messages, strict=True):
        assert f"'gainsay-ltr[{name}]'" in message


def test_subpackages_contain_their_public_functions():
    assert gs.comparison.Verdict is gs.Verdict
    assert gs.experiment.Candidate is gs.Candidate
    assert gs.judgments.Judgments is gs.Judgments
    assert gs.metrics.NDCG is gs.NDCG
    assert callable(gs.lightgbm.feval)
    assert callable(gs.xgboost.custom_metric)
    assert callable(gs.dask.evaluate_rounds)
    assert callable(gs.sklearn.scorer)
    if "catboost" in INSTALLED:
        assert callable(gs.catboost.eval_metric)
