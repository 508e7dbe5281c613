"""The compiled core is found where it was installed, and nothing fails for want of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

import gainsay
from gainsay._kernel import library
from gainsay._kernel.library import ABI, found

PACKAGE = Path(gainsay.__file__).parent
ROOT = PACKAGE.parents[1]
COMPILER = shutil.which((os.environ.get("CXX") or sysconfig.get_config_var("CXX") or "c++").split()[0])
ELSEWHERE = {name: value for name, value in os.environ.items() if name != "GAINSAY_KERNEL"}
"""The environment without our variable, for processes of which a test says what they get."""
EVALUATED = """
import json
import gainsay as gs
judgments = gs.Judgments([0, 2, 1, 1, 0], group=[3, 2])
mean = gs.evaluate(["ndcg_exp@2", "map", "mrr"], judgments, [0.1, 0.3, 0.3, 0.5, 0.5]).mean
print(json.dumps([mean, gs.show_config("dicts")["kernel"]]))
"""


def evaluated(path, **environment):
    """What a fresh process finds for a small data set with the package in this folder, and on which path."""
    environment = {**ELSEWHERE, "PYTHONPATH": str(path), **environment}
    call = [sys.executable, "-W", "error", "-c", EVALUATED]
    done = subprocess.run(call, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return json.loads(done.stdout)


def installed_from_here():
    """Whether the package that is tested was installed editable from this tree."""
    try:
        origin = distribution("gainsay").read_text("direct_url.json")
    except PackageNotFoundError:
        return False
    return json.loads(origin or "{}").get("url") == ROOT.as_uri()


@pytest.fixture
def beside(monkeypatch, tmp_path):
    """Where the library is looked for: a folder of this test, which holds none."""
    monkeypatch.delenv("GAINSAY_KERNEL", raising=False)
    monkeypatch.setattr(library, "__file__", str(tmp_path / "library.py"))
    return tmp_path / library.NAMES[0]


@pytest.fixture
def compiled(tmp_path):
    """A function that compiles a few lines to a file."""
    if COMPILER is None or sys.platform == "win32":
        pytest.skip("needs a compiler")

    def compiled(path, source, *options):
        written = tmp_path / "few_lines.cpp"
        written.write_text(source)
        subprocess.run([COMPILER, "-shared", "-fPIC", *options, str(written), "-o", str(path)], check=True)
        return path

    return compiled


def answering(number):
    return f'extern "C" int gainsay_kernel_abi(void) {{ return {number}; }}'


@pytest.mark.skipif(not installed_from_here(), reason="needs an editable installation of this tree")
@pytest.mark.skipif(COMPILER is None, reason="needs a compiler at installation")
def test_it_runs_where_a_compiler_was_there_at_installation():
    path, reason = evaluated(PACKAGE.parent)[1].values()
    assert (path, reason) == ("compiled", f"loaded from {PACKAGE / '_kernel' / '_gainsay_kernel.so'}")


def test_it_can_be_turned_off():
    values, kernel = evaluated(PACKAGE.parent, GAINSAY_KERNEL="0")
    assert kernel == {"path": "numpy", "reason": "turned off by GAINSAY_KERNEL=0"}
    # tied for the first two ranks in both queries: labels 2 and 1 (gains 3 and 1), labels 1 and 0
    third = 1 / 1.584962500721156
    assert values["ndcg_exp@2"] == pytest.approx((2 * (1 + third) / (3 + third) + (1 + third) / 2) / 2, rel=1e-15)
    assert values["map"] == pytest.approx((1 + 3 / 4) / 2, rel=1e-15)


def test_none_was_built(beside):
    assert found.__wrapped__() == (None, "none was built at installation")


def test_it_is_found_beside_its_source(beside, compiled):
    compiled(beside, answering(ABI))
    loaded, reason = found.__wrapped__()
    assert loaded.gainsay_kernel_abi() == ABI
    assert reason == f"loaded from {beside}"


def test_one_of_other_source_is_not_used(beside, compiled):
    compiled(beside, answering(ABI + 1))
    assert found.__wrapped__() == (
        None,
        f"{beside} was built from other source (interface {ABI + 1}, not {ABI}): install gainsay again",
    )


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"no library at all\n" * 1000], ids=["empty", "cut", "text"])
def test_what_is_no_library_is_not_used(beside, content):
    beside.write_bytes(content)
    loaded, reason = found.__wrapped__()
    assert loaded is None
    assert reason.startswith(f"{beside} cannot be loaded: ")


def test_a_library_of_something_else_is_not_used(beside, compiled):
    compiled(beside, "int something = 1;")
    loaded, reason = found.__wrapped__()
    assert loaded is None
    assert reason.startswith(f"{beside} cannot be loaded: ")
    assert "gainsay_kernel_abi" in reason


@pytest.mark.skipif(sys.platform != "linux", reason="another linker takes other options")
def test_what_needs_a_library_that_is_not_there_is_not_used(beside, compiled, tmp_path):
    needed = compiled(tmp_path / "libneeded.so", "int needed() { return 1; }", "-Wl,-soname,libneeded.so")
    compiled(beside, "int needed();" + answering("needed()"), f"-L{tmp_path}", "-lneeded")
    needed.unlink()
    assert found.__wrapped__().library is None


def test_a_package_with_a_broken_core_evaluates_as_before(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "gainsay", ignore=shutil.ignore_patterns("__pycache__", "_gainsay_kernel.*"))
    broken = tmp_path / "gainsay" / "_kernel" / "_gainsay_kernel.so"
    broken.write_bytes(b"\x7fELF")
    values, kernel = evaluated(tmp_path)
    assert kernel["path"] == "numpy"
    assert kernel["reason"].startswith(f"{broken} cannot be loaded: ")
    assert values == evaluated(PACKAGE.parent, GAINSAY_KERNEL="0")[0]


class TestTheEnvironment:
    def test_names_a_library(self, beside, compiled, monkeypatch, tmp_path):
        other = compiled(tmp_path / "other.so", answering(ABI))
        monkeypatch.setenv("GAINSAY_KERNEL", str(other))
        assert found.__wrapped__().reason == f"loaded from {other}"

    def test_turns_it_off(self, beside, compiled, monkeypatch):
        compiled(beside, answering(ABI))
        monkeypatch.setenv("GAINSAY_KERNEL", "0")
        assert found.__wrapped__() == (None, "turned off by GAINSAY_KERNEL=0")

    @pytest.mark.parametrize("usual", ["", "1"])
    def test_asks_for_what_was_installed(self, beside, compiled, monkeypatch, usual):
        compiled(beside, answering(ABI))
        monkeypatch.setenv("GAINSAY_KERNEL", usual)
        assert found.__wrapped__().reason == f"loaded from {beside}"

    def test_that_names_no_library_is_wrong(self, monkeypatch):
        monkeypatch.setenv("GAINSAY_KERNEL", "off")
        with pytest.raises(ValueError, match=r"GAINSAY_KERNEL must be 0, 1 or the path of a compiled core: off cannot"):
            found.__wrapped__()
