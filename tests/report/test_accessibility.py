"""The report under axe-core, which knows the rules for readers who do not see, do not see colours, or use no mouse."""

from __future__ import annotations

from importlib.resources import files

import pytest

axe = pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python, which carries axe-core")

GRAVE = ("serious", "critical")

OPEN = """document.querySelectorAll('details').forEach(part => {
    part.open = part.querySelectorAll('tr').length < 100;
})"""
"""Unfold everything but tables of hundreds of rows, which take minutes and are made as the short ones are."""


@pytest.fixture(scope="module")
def reports(make, hostile, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    return {
        "two models": make(2).to_html(folder / "two.html"),
        "thirty models": make(30, curves=True).to_html(folder / "thirty.html"),
        "hostile names": hostile.to_html(folder / "hostile.html"),
        "baseline": make(3).to_html(folder / "baseline.html", baseline=make(3).models[1]),
        "one model": make(1).to_html(folder / "one.html"),
    }


@pytest.fixture
def violations(browser):
    """Return a function from a page to what axe-core minds about it, one line each with the first places."""
    pages = []

    def found(path, scheme, width=1200):
        page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
        pages.append(page)
        page.goto(path.as_uri())
        page.evaluate(OPEN)
        page.evaluate((files(axe) / "axe.min.js").read_text("utf-8"))
        result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{broken['id']} ({broken['impact']}): {broken['help']}, at "
            + ", ".join(str(node["target"]) for node in broken["nodes"][:3])
            for broken in result["violations"]
            if broken["impact"] in GRAVE
        ]

    yield found
    for page in pages:
        page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["two models", "thirty models", "hostile names", "one model", "baseline"])
def test_no_grave_violation(violations, reports, which, scheme):
    assert violations(reports[which], scheme) == []


@pytest.mark.parametrize("which", ["two models", "hostile names", "baseline"])
def test_nor_on_a_narrow_screen(violations, reports, which):
    assert violations(reports[which], "light", width=400) == []


def test_a_page_that_breaks_the_rules_is_noticed(violations, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><title>a</title><img src='data:,'><p style='color:#aaa'>too pale</p>")
    found = " ".join(violations(page, "light"))
    assert "color-contrast" in found
    assert "image-alt" in found
    assert "html-has-lang" in found
