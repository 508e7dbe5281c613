"""Stored notebooks are executed, links lead to files of the checkout, and no page names a folder of a machine."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import gainsay as gs

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PAGES = [path for path in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in path.parts]
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)|src(?:set)?=\"([^\":]+)\"")
MACHINE_PATH = re.compile(r"(?<![\w.])/(home|root|tmp|work|Users|opt)/")


def test_notebooks_and_pages_exist():
    assert len(NOTEBOOKS) >= 4
    assert len(PAGES) > 10


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_with_its_outputs(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    outputs = [output for cell in code for output in cell["outputs"]]
    shown = [(kind, "".join(value)) for output in outputs for kind, value in output.get("data", {}).items()]
    printed = ["".join(output.get("text", [])) for output in outputs]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert sum(kind == "image/png" for kind, _ in shown) >= 3
    for text in (*printed, *(value for kind, value in shown if kind.startswith("text/"))):
        assert not MACHINE_PATH.search(text)


@pytest.fixture(scope="module")
def tracked():
    """Files that a checkout has before anything is built, and their folders."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs a checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = {Path(name) for name in listed.split("\0") if name}
    return files | {folder for file in files for folder in file.parents}


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda path: str(path.relative_to(ROOT))
)
def test_links_lead_to_tracked_files(page, tracked):
    for link in map("".join, LINK.findall(page.read_text(encoding="utf-8"))):
        assert Path(os.path.relpath(page.parent / link, ROOT)) in tracked, link


def test_reference_lists_every_public_name():
    listed = re.findall(r"^   (\w+)$", (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(gs.__all__)


def test_measured_results_are_part_of_the_built_pages():
    shown = re.compile(r"<!-- shown in the built page -->\n\[.+\]\((?:\.\./)+(\w+/\w+\.md)\)\n<!-- end -->")
    names = [name for page in PAGES for name in shown.findall(page.read_text(encoding="utf-8"))]
    written = [f"benchmarks/{path.name}" for path in (ROOT / "benchmarks").glob("*.md")]
    assert sorted(names) == sorted(["calibration/CALIBRATION.md", *written])
