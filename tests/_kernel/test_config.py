"""gainwise finds the installed compiled core, works without it, and `show_config` describes both."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import lightgbm
import numpy as np
import pytest

import gainwise as gw
from gainwise._kernel import config
from gainwise._kernel.config import ABI, Library, cpus, find_library

PACKAGE = Path(gw.__file__).parent
ROOT = PACKAGE.parents[1]
COMPILER = shutil.which((os.environ.get("CXX") or sysconfig.get_config_var("CXX") or "c++").split()[0])
EVALUATE = """
import json, sys
import gainwise as gw
judgments = gw.Judgments([0, 2, 1, 1, 0], group=[3, 2])
mean = gw.evaluate(["ndcg_exp@2", "map", "mrr"], judgments, [0.1, 0.3, 0.3, 0.5, 0.5]).mean
loaded = sorted({"lightgbm", "xgboost", "matplotlib"} & set(sys.modules))
print(json.dumps([mean, gw.show_config("dicts")["kernel"], loaded]))
"""


def evaluate(path, **environment):
    """Return values and implementation of a new process that uses the package in this folder."""
    kept = {name: value for name, value in os.environ.items() if name != "GAINWISE_KERNEL"}
    call = [sys.executable, "-W", "error", "-c", EVALUATE]
    done = subprocess.run(
        call, env={**kept, "PYTHONPATH": str(path), **environment}, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    values, kernel, loaded = json.loads(done.stdout)
    assert loaded == []  # Versions are read without imports of the libraries.
    # tied for the first two ranks in both queries: labels 2 and 1 (gains 3 and 1), labels 1 and 0
    third = 1 / 1.584962500721156
    assert values["ndcg_exp@2"] == pytest.approx((2 * (1 + third) / (3 + third) + (1 + third) / 2) / 2, rel=1e-15)
    assert values["map"] == pytest.approx((1 + 3 / 4) / 2, rel=1e-15)
    return kernel


def installed_from_here():
    """Return whether this tree is installed as editable."""
    try:
        origin = distribution("gainwise").read_text("direct_url.json")
    except PackageNotFoundError:
        return False
    return json.loads(origin or "{}").get("url") == ROOT.as_uri()


@pytest.fixture
def beside(monkeypatch, tmp_path):
    """The expected file of the library, which does not exist yet."""
    monkeypatch.delenv("GAINWISE_KERNEL", raising=False)
    monkeypatch.setattr(config, "__file__", str(tmp_path / "config.py"))
    return tmp_path / config.NAMES[0]


def compile_library(path, source, *options):
    if COMPILER is None or sys.platform == "win32":
        pytest.skip("needs a compiler")
    written = path.with_suffix(".cpp")
    written.write_text(source)
    subprocess.run([COMPILER, "-shared", "-fPIC", *options, str(written), "-o", str(path)], check=True)
    return path


def answering(number):
    return f'extern "C" int gainwise_kernel_abi(void) {{ return {number}; }}'


@pytest.mark.skipif(not installed_from_here(), reason="needs an editable installation of this tree")
@pytest.mark.skipif(COMPILER is None, reason="needs a compiler at installation")
def test_the_core_runs_if_a_compiler_was_there_at_installation():
    path, reason = evaluate(PACKAGE.parent).values()
    assert (path, reason) == ("compiled", f"loaded from {PACKAGE / '_kernel' / '_gainwise_kernel.so'}")


def test_a_package_with_a_broken_core_evaluates_as_before(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "gainwise", ignore=shutil.ignore_patterns("__pycache__", "_gainwise_kernel.*"))
    broken = tmp_path / "gainwise" / "_kernel" / "_gainwise_kernel.so"
    broken.write_bytes(b"\x7fELF")
    kernel = evaluate(tmp_path)
    assert kernel["path"] == "numpy"
    assert str(broken) in kernel["reason"]


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"no library at all\n" * 1000], ids=["empty", "cut", "text"])
def test_other_files_are_not_used(beside, content):
    beside.write_bytes(content)
    loaded, reason = find_library.__wrapped__()
    assert loaded is None
    assert str(beside) in reason


@pytest.mark.parametrize(
    ("source", "word"),
    [(answering(ABI + 1), f"{ABI + 1}, not {ABI}"), ("int something = 1;", "gainwise_kernel_abi")],
    ids=["of other source", "of something else"],
)
def test_other_libraries_are_not_used(beside, source, word):
    compile_library(beside, source)
    loaded, reason = find_library.__wrapped__()
    assert loaded is None
    assert str(beside) in reason
    assert word in reason


def test_the_environment_names_a_library(beside, monkeypatch, tmp_path):
    other = compile_library(tmp_path / "other.so", answering(ABI))
    monkeypatch.setenv("GAINWISE_KERNEL", str(other))
    assert find_library.__wrapped__().reason == f"loaded from {other}"
    monkeypatch.setenv("GAINWISE_KERNEL", "off")
    with pytest.raises(ValueError, match="GAINWISE_KERNEL"):
        find_library.__wrapped__()


def test_versions_of_the_imported_libraries():
    content = gw.show_config("dicts")
    assert content["gainwise"] == gw.__version__
    assert content["kernel"]["path"] in ("compiled", "numpy")
    assert content["libraries"]["numpy"] == np.__version__
    assert content["libraries"]["lightgbm"] == lightgbm.__version__
    assert content["cpus"] == cpus()
    assert content["python"] == ".".join(map(str, sys.version_info[:3]))
    assert json.loads(json.dumps(content)) == content


@pytest.mark.parametrize(
    ("loaded", "addresses", "printed"),
    [
        (Library(None, "broken"), (1, 2), "in NumPy: broken"),
        (Library("a library", "loaded from here"), (1, 2), "with its compiled core: loaded from here"),
        (Library("a library", "loaded from here"), None, "in NumPy: loaded from here, but"),
    ],
    ids=["no core", "core", "core without sort"],
)
def test_path_of_evaluation(monkeypatch, capsys, beside, loaded, addresses, printed):
    beside.touch()
    monkeypatch.setattr(config, "_load", lambda path: loaded)
    monkeypatch.setattr(config, "sort_addresses", lambda: addresses)
    monkeypatch.setattr(config, "find_library", config.find_library.__wrapped__)
    assert gw.show_config() is None
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["evaluates"].startswith(printed)
    assert lines["numpy"] == np.__version__
    assert lines["gainwise"] == gw.__version__


def test_the_note_appears_if_the_table_of_numpy_is_another_one(monkeypatch, capsys, beside):
    beside.touch()
    monkeypatch.setattr(config, "_load", lambda path: Library("a library", "loaded from here"))
    monkeypatch.setattr(config, "NUMPY_1", 0)
    monkeypatch.setattr(config, "NUMPY_2", 0)
    for name in ("sort_addresses", "find_library"):
        monkeypatch.setattr(config, name, getattr(config, name).__wrapped__)
    reason = "loaded from here, but the core does not find the sort functions of this NumPy"
    assert gw.show_config("dicts")["kernel"] == {"path": "numpy", "reason": reason}
    gw.show_config()
    assert f"in NumPy: {reason}" in capsys.readouterr().out
