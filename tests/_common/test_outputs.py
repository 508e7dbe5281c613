"""Invalid output paths and missing packages raise errors before any computation."""

import os
import subprocess
import sys

import numpy as np
import pytest
from tests.bad_inputs import BadInput, bad_inputs

from gainwise._common.validation import validate_output
from gainwise.comparison.comparison import Comparison

pytestmark = pytest.mark.slow

PATHS = [
    BadInput("a folder", lambda call, folder: call(folder / "folder"), "folder'", IsADirectoryError, "is a directory"),
    BadInput(
        "no folder", lambda call, folder: call(folder / "none" / "r"), "none'", FileNotFoundError, "does not exist"
    ),
    BadInput("in a file", lambda call, folder: call(folder / "file" / "r"), "file'", FileNotFoundError, "not exist"),
    BadInput("a bad link", lambda call, folder: call(folder / "nowhere"), "gone'", OSError, "does not exist"),
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone" / "r.html")
    return tmp_path


@pytest.fixture
def idle(monkeypatch):
    """A comparison that fails at the first computation."""

    def work(*arguments, **options):
        raise AssertionError("the work was begun")

    comparison = Comparison({"x": np.zeros((40, 2)), "y": np.zeros((40, 2))}, ["a", "b"])
    for name in ("build_leaderboard", "build_pairs", "Verdict.from_sample"):
        monkeypatch.setattr(f"gainwise.comparison.comparison.{name}", work)
    return comparison


@bad_inputs(PATHS)
def test_paths_that_cannot_be_written(case, folder, idle):
    assert case.check(lambda path: validate_output("path", path), folder).startswith("path ")
    for method in ("to_html", "to_markdown", "to_json"):
        case.check(getattr(idle, method), folder)


def test_paths_that_can_be_written(folder, idle):
    (folder / "link").symlink_to(folder / "new")
    (folder / "file").write_text("old")
    for name in ("file", "new", "link"):
        assert validate_output("path", folder / name) == folder / name
    assert (folder / "file").read_text() == "old"
    assert not (folder / "new").exists()
    assert str(validate_output("path", os.devnull)) == os.devnull
    for method in ("to_html", "to_markdown", "to_json"):
        with pytest.raises(AssertionError, match="work was begun"):
            getattr(idle, method)(folder / "report")


@pytest.mark.parametrize("name", ["file", "new"])
def test_permissions(folder, monkeypatch, name):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="permissions"):
        validate_output("path", folder / name)


def run_without(package, code):
    """Run code in a process without a package."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    call = [sys.executable, "-c", f"import sys; sys.modules[{package!r}] = None\n{code}"]
    done = subprocess.run(call, capture_output=True, text=True, env=environment, check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr


COMPARE = """
import gainwise as gw
c = gw.compare({'a': [2, 1, 1, 2], 'b': [1, 2, 2, 1]}, gw.Judgments([1, 0, 1, 0], group=[2, 2]), ['mrr', 'map'])
for call in CALLS:
    try:
        exec(call)
    except ImportError as error:
        print(error)
"""


@pytest.mark.parametrize(
    ("package", "calls"),
    [
        (
            "matplotlib",
            {
                "c.plot.leaderboard()": "Matplotlib. Run: pip install matplotlib",
                "import tempfile; print(c.to_html(tempfile.mkdtemp() + '/r.html').name)": "r.html",
                "import gainwise.drawing": "Matplotlib. Run: pip install matplotlib",
                "from gainwise.report.plots import plot_gains": "Matplotlib. Run: pip install matplotlib",
                "print(len(c.to_markdown()) > 0 and len(c.to_json()) > 0)": "True",
            },
        ),
        (
            "jinja2",
            {"c.to_html('/tmp')": "Jinja2. Run: pip install jinja2", "c.plot.leaderboard(); print('drawn')": "drawn"},
        ),
    ],
)
def test_missing_packages(package, calls):
    """All calls run in one process. Imports of a failed call must not affect the next one."""
    code, lines, errors = run_without(package, COMPARE.replace("CALLS", repr(list(calls))))
    assert (code, errors) == (0, "")
    assert all(line.endswith(end) for line, end in zip(lines, calls.values(), strict=True))


def test_commands_check_packages_before_they_read(tmp_path):
    (tmp_path / "data.txt").write_text("this is no data")
    arguments = ["gainwise", "compare", "--data", str(tmp_path / "data.txt"), "a.npy", "--html", "r.html"]
    code, lines, errors = run_without("jinja2", f"sys.argv = {arguments!r}\nfrom gainwise.cli import main; main()")
    assert (code, lines) == (1, [])
    assert errors.endswith("Jinja2. Run: pip install jinja2\n")
    assert errors.count("\n") == 1


def test_the_command_names_a_missing_library_in_one_line():
    message = "gainwise: The command line requires Typer. Run: pip install typer\n"
    assert run_without("typer", "from gainwise.__main__ import main; main()") == (1, [], message)
