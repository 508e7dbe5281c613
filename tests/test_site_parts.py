"""Parts that the build adds to the site: mathematics and directives. The build itself checks all links."""

import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
FOLDERS = (".", "get_started", "guides", "concepts", "reference", "background", "api")
PAGES = [page for folder in FOLDERS for page in sorted((DOCS / folder).glob("*.md"))]


@pytest.fixture(scope="module")
def site_parts():
    pytest.importorskip("sphinx", reason="needs the group docs")
    sys.path.insert(0, str(DOCS))
    try:
        import site_parts
    finally:
        sys.path.remove(str(DOCS))
    return site_parts


@pytest.mark.parametrize(
    ("formula", "markup"),
    [
        (r"\hat\mu_{mj}", "<msub><mover><mi>μ</mi><mo>ˆ</mo></mover><mrow><mi>m</mi><mi>j</mi></mrow></msub>"),
        (r"\bar{d}_i", "<msub><mover><mi>d</mi><mo>ˉ</mo></mover><mi>i</mi></msub>"),
        (r"\hat\mu", "<mover><mi>μ</mi><mo>ˆ</mo></mover>"),
    ],
)
def test_accent_covers_only_its_own_letter(site_parts, formula, markup):
    shown = re.sub(r"\s*(<[/\w]+)[^>]*>\s*", r"\1>", site_parts.to_mathml(formula))
    assert shown == f"<math>{markup}</math>"


def test_limits_of_a_sum_stay_below_and_above_it(site_parts):
    assert "<munderover>" in site_parts.to_mathml(r"\sum_{i=1}^n x_i", block=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_pages_contain_no_directives_which_a_host_would_show(page):
    text = page.read_text("utf-8")
    assert not re.search(r"^(?:`{3,}|:{3,})\{|^\(.*\)=$|^---$|\{[\w:]+\}`", text, re.MULTILINE)


@pytest.mark.parametrize("folder", ["get_started", "guides", "concepts", "reference", "background"])
def test_index_of_a_folder_leads_to_each_page(site_parts, folder):
    index = (DOCS / folder / "index.md").read_text("utf-8")
    listed = re.findall(r"^.+ <(\w+)>$", site_parts.list_pages(index), re.MULTILINE)
    assert sorted([*listed, "index"]) == sorted(page.stem for page in (DOCS / folder).glob("*.md"))


def test_blocks_of_an_executed_page_become_cells(site_parts):
    page = (
        "# Title\n\n[Page with outputs](../README.md)\n\nText.\n\n```python\nfirst = 1\n```\n\n"
        "Save this as `second.py`:\n\n```python\nsecond = 2\n```\n\n"
        "<!-- with output -->\n```sh\ngainwise metrics\n```\n"
    )
    cells = re.findall(r"^```(.*)\n", site_parts.execute("guides/page", page), re.MULTILINE)
    assert cells[::2] == ["{code-cell} python", "python", "sh", "{code-cell} python"]


def test_page_without_its_library_shows_a_note_and_its_code(site_parts, monkeypatch):
    monkeypatch.setitem(site_parts.LIBRARIES, "guides/page", "missing_library")
    page = "# Title\n\n[Page with outputs](../README.md)\n\n```python\nfirst = 1\n```\n"
    shown = site_parts.execute("guides/page", page)
    assert "built without `missing_library`" in shown
    assert "code-cell" not in shown


def test_names_in_a_text_become_links(site_parts):
    text = "Call `gw.compare`, not `gw.unknown`, [`gw.plan`](x.md) or `gw.plan(0.1)`.\n```python\n`gw.compare`\n```\n"
    linked = "{py:obj}`gw.compare <gainwise.compare>`"
    assert site_parts.link_names(text) == text.replace("`gw.compare`", linked, 1)
