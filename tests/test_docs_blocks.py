"""Every block of every page runs in page order in an empty folder, as a reader copies it, and prints what is shown."""

import ast
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.posix]

ROOT = Path(__file__).parents[1]
FOLDERS = ("get_started", "guides", "concepts", "background", "reference")
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "index.md",
    *(page for folder in FOLDERS for page in sorted((ROOT / "docs" / folder).glob("*.md"))),
]
BLOCK = re.compile(r"^```(?P<language>python|sh|toml|text)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"[Ss]ave .*as `([\w.-]+)`:\s*\Z")
INSTALLED = {
    "gainwise",
    "numpy",
    "pandas",
    "scipy",
    "lightgbm",
    "xgboost",
    "sklearn",
    "matplotlib",
    *sys.stdlib_module_names,
}
"""Modules that `[all]` installs. A page that needs another one names its installation first."""
DISTRIBUTIONS = {"optuna_integration": "optuna-integration"}
COMMANDS = {"gainwise": f'{sys.executable} -m gainwise "$@"', "python": f'{sys.executable} "$@"', "pip": "true"}
MARK = "=== output of block {} ==="
PAGE_IDS = [str(page.relative_to(ROOT)) for page in PAGES]
FIRST_PAGES = ("index.md", "your_data.md", "lightgbm.md", "gate.md")
"""The pages that `make test` runs. `make docs` runs all."""


def read_blocks(page):
    """Return language, code and the text before each block."""
    text = page.read_text("utf-8").partition("\n## Develop\n")[0]  # that section needs a checkout
    return [(match["language"], match["code"], text[: match.start()]) for match in BLOCK.finditer(text)]


def imported_modules(code):
    """Return the first components of all imported modules."""
    nodes = list(ast.walk(ast.parse(code)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names}


def write_program(page, directory):
    """Write the blocks of a page as one program. A block of text is the output of the block before it."""
    parts = ["import pathlib as _pathlib, subprocess as _subprocess"]  # names that pages do not use
    for number, (language, code, before) in enumerate(read_blocks(page)):
        parts.append(f"print({MARK.format(number)!r}, flush=True)")
        file_name = FILE_NAME.search(before)
        if file_name:
            parts.append(f"_pathlib.Path({file_name[1]!r}).write_text({code!r})")
        if language == "python" and not file_name:
            parts.append(code)
        elif language == "sh":
            parts.append(f"_subprocess.run(['bash', '-euo', 'pipefail', '-c', {code!r}], check=True)")
    program = directory / "page.py"
    program.write_text("\n".join(parts), encoding="utf-8")
    return program


@pytest.fixture
def run_page(tmp_path):
    """Return a function that runs the blocks of a page with `gainwise` on the path. Installations do nothing."""

    def run(page):
        commands, folder = tmp_path / "commands", tmp_path / "empty"
        commands.mkdir()
        folder.mkdir()
        for name, call in COMMANDS.items():
            (commands / name).write_text(f"#!/bin/sh\nexec {call}\n")
            (commands / name).chmod(0o755)
        environment = {
            **os.environ,
            "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
            "MPLBACKEND": "Agg",
            "OMP_NUM_THREADS": "1",
            "COLUMNS": "100",
        }
        program = write_program(page, tmp_path)
        return subprocess.run(
            [sys.executable, program], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )

    return run


def pattern_of(shown):
    """Return a pattern of an output in which numbers may differ, because they depend on versions of the libraries."""
    words = re.split(r"[+−-]?\d[\d,]*(?:\.\d+)?|…", " ".join(shown.split()))
    return ".*?".join(re.escape(word) for word in words)


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=() if page.name in FIRST_PAGES else pytest.mark.nightly) for page in PAGES],
    ids=PAGE_IDS,
)
def test_blocks_run_in_page_order(page, run_page):
    blocks = read_blocks(page)
    modules = {name for language, code, _ in blocks if language == "python" for name in imported_modules(code)}
    for name in sorted(modules - INSTALLED):
        if find_spec(name) is None:
            pytest.skip(f"needs {name}")
    finished = run_page(page)
    assert finished.returncode == 0, finished.stderr[-3000:]
    for number, (language, code, _) in enumerate(blocks):
        if language == "text":
            start, end = (finished.stdout.index(MARK.format(value)) for value in (number - 1, number))
            printed = " ".join(finished.stdout[start:end].split())
            assert re.search(pattern_of(code), printed), (code, printed)


@pytest.mark.parametrize("page", PAGES, ids=PAGE_IDS)
def test_installations_are_named_before_their_use(page):
    for language, code, before in read_blocks(page):
        if language == "python":
            for name in imported_modules(code) - INSTALLED:
                installed = " ".join(re.findall(r"pip install ([^\n`]+)", before))
                assert DISTRIBUTIONS.get(name, name) in installed, name
