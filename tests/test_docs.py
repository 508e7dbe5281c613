"""The notebooks are stored executed, and nothing in the documentation depends on where it was made."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PAGES = [path for path in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in path.parts]
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


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT / "docs")))
def test_links_to_pages_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    for link in links:
        target = page.parent / link
        copied = ROOT / target.relative_to(ROOT / "docs") if "notebooks" in target.parts else target
        assert copied.resolve().exists(), link
