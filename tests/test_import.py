"""What `import gainwise` loads, and which parts are loaded on first use."""

import json
import re
import subprocess
import sys
from pathlib import Path

import gainwise as gw

SUBPACKAGES = gw._SUBPACKAGES
LIGHT = ["comparison", "data", "report"]
OPTIONAL = {
    "lightgbm": "lightgbm", "xgboost": "xgboost", "catboost": "catboost",
    "dask": "'dask[distributed,dataframe]'", "sklearn": "scikit-learn",
}  # fmt: skip
"""What pip installs for each subpackage."""

MODULES_OF_IMPORT = """
import json, sys, numpy
before = set(sys.modules)
import gainwise
print(json.dumps(sorted(set(sys.modules) - before)))
"""
MODULES_OF_COMPARISON = """
import json, sys, numpy as np, gainwise as gw
labels, scores = np.tile([2, 1, 0], 50), np.random.default_rng(0).random((2, 150))
comparison = gw.compare(dict(zip("ab", scores)), gw.Judgments(labels, group=[3] * 50))
print(json.dumps(sorted(sys.modules)))
"""
MODULES_OF_PRINT = MODULES_OF_COMPARISON.replace("print(", "str(comparison); print(")
FIRST_USE = f"""
import json, gainwise as gw
print(json.dumps([len(gw.data.simulate(5, seed=0).group), *(getattr(gw, name).__name__ for name in {LIGHT})]))
"""
WITHOUT_LIBRARIES = f"""
import json, sys
sys.modules.update(dict.fromkeys({OPTIONAL}))
import gainwise as gw
messages = []
for name in {list(OPTIONAL) * 2}:
    try:
        getattr(gw, name)
    except ImportError as error:
        messages.append(str(error))
print(json.dumps([gw.data.__name__, *messages]))
"""


def run(code):
    """Return what a new interpreter prints, read as JSON."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_type_checkers_see_all_names():
    source = Path(gw.__file__).read_text("utf-8")
    names = re.findall(r"^    from \S+ import (\w+) as \1$", source, re.MULTILINE)
    assert sorted(names) == sorted([*gw.__all__, *SUBPACKAGES])


def test_import_loads_numpy_and_no_subpackage():
    modules = run(MODULES_OF_IMPORT)
    assert {name.partition(".")[0] for name in modules} <= {"gainwise", "numpy", *sys.stdlib_module_names}
    assert not {f"gainwise.{name}" for name in SUBPACKAGES} & set(modules)


def test_comparisons_without_results_load_neither_pandas_nor_scipy():
    modules = run(MODULES_OF_COMPARISON)
    assert "gainwise.judgments" in modules
    assert not {"pandas", "scipy"} & set(modules)


def test_printed_comparisons_load_no_pandas():
    modules = run(MODULES_OF_PRINT)
    assert "gainwise.report.chart" in modules
    assert "pandas" not in modules


def test_subpackages_are_loaded_on_first_use():
    assert run(FIRST_USE) == [5, *(f"gainwise.{name}" for name in LIGHT)]


def test_error_names_the_missing_library_each_time():
    assert {*OPTIONAL, *LIGHT, "experiment"} == set(SUBPACKAGES)
    module, *messages = run(WITHOUT_LIBRARIES)
    assert module == "gainwise.data"
    assert len(messages) == 2 * len(OPTIONAL)
    for distribution, message in zip([*OPTIONAL.values()] * 2, messages, strict=True):
        assert message.endswith(f". Run: pip install {distribution}")
