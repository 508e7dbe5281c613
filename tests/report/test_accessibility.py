"""The report under axe-core, which knows the rules for readers who do not see, do not see colours, or use no mouse."""

from __future__ import annotations

from importlib.resources import files

import pytest

axe = pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python, which carries axe-core")

GRAVE = ("serious", "critical")

COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules that a colour scheme can break; all others read the same page in both."""

OPEN = """document.querySelectorAll('details').forEach(part => { part.open = true; })"""

THIN_OUT = """document.querySelectorAll('tbody').forEach(body => {
    const met = new Map();
    for (const row of [...body.rows]) {
        const parts = [row, ...row.querySelectorAll('*')];
        const kinds = new Set(parts.map(part => part.tagName + part.getAttribute('class')));
        if ([...kinds].every(kind => met.get(kind) > 2)) row.remove();
        else kinds.forEach(kind => met.set(kind, (met.get(kind) || 0) + 1));
    }
})"""
"""Take rows away that hold nothing but elements and classes of three rows above them: hundreds take minutes."""


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


@pytest.fixture(scope="module")
def violations(page):
    """Return a function from a page to what axe-core minds about it, one line each with the first places."""

    def found(path, scheme="light", width=1200, rules=None):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.goto(path.as_uri())
        page.evaluate(OPEN)
        page.evaluate(THIN_OUT)
        page.evaluate((files(axe) / "axe.min.js").read_text("utf-8"))
        result = page.evaluate(
            "options => axe.run(document, options)",
            {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {}),
        )
        return [
            f"{broken['id']} ({broken['impact']}): {broken['help']}, at "
            + ", ".join(str(node["target"]) for node in broken["nodes"][:3])
            for broken in result["violations"]
            if broken["impact"] in GRAVE
        ]

    return found


@pytest.mark.parametrize("which", ["two models", "thirty models", "hostile names", "one model", "baseline"])
def test_no_grave_violation(violations, reports, which):
    assert violations(reports[which]) == []


@pytest.mark.parametrize("which", ["two models", "thirty models", "baseline"])
def test_no_colour_is_too_pale_in_the_dark(violations, reports, which):
    """Colours hang on elements and classes, and these three reports hold all that there are."""
    assert violations(reports[which], "dark", rules=COLOURS) == []


@pytest.mark.parametrize("which", ["two models", "hostile names", "baseline"])
def test_nor_on_a_narrow_screen(violations, reports, which):
    assert violations(reports[which], width=400) == []


def test_a_page_that_breaks_the_rules_is_noticed(violations, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><title>a</title><img src='data:,'><p style='color:#aaa'>too pale</p>")
    found = " ".join(violations(page))
    assert "color-contrast" in found
    assert "image-alt" in found
    assert "html-has-lang" in found
