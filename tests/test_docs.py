"""The notebooks are stored executed, links lead somewhere, and nothing depends on where the documentation was made."""

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
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
OF_A_MACHINE = re.compile(r"(?<![\w.])/(home|root|tmp|work|Users|opt)/")


def cells(notebook, kind):
    return [cell for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return request.param


def test_there_are_notebooks_and_pages():
    assert len(NOTEBOOKS) >= 4
    assert len(PAGES) > 10


def test_every_cell_is_executed_in_order_and_none_failed(notebook):
    code = cells(notebook, "code")
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert not [output for cell in code for output in cell["outputs"] if output["output_type"] == "error"]


def test_pictures_are_stored_so_that_they_can_be_read_without_running(notebook):
    shown = [output.get("data", {}) for cell in cells(notebook, "code") for output in cell["outputs"]]
    assert sum("image/png" in data for data in shown) >= 3


def test_nothing_is_printed_that_names_a_folder_of_the_machine(notebook):
    for cell in cells(notebook, "code"):
        for output in cell["outputs"]:
            text = "".join(output.get("text", [])) + "".join(output.get("data", {}).get("text/plain", []))
            assert not OF_A_MACHINE.search(text)


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
def test_links_lead_to_files_that_a_checkout_has(page, tracked):
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        target = Path(os.path.relpath(page.parent / link, ROOT))
        assert target in tracked, link


def test_the_reference_lists_every_public_name():
    listed = re.findall(r"^   (\w+)$", (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(gs.__all__)


def test_results_of_benchmarks_stand_in_the_built_pages_and_are_links_in_a_checkout():
    shown = re.compile(r"<!-- shown in the built page -->\n\[.+\]\((?:\.\./)+benchmarks/(\w+\.md)\)\n<!-- end -->")
    found = [name for page in PAGES for name in shown.findall(page.read_text(encoding="utf-8"))]
    assert sorted(found) == sorted(path.name for path in (ROOT / "benchmarks").glob("*.md"))
