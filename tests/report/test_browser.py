"""The report in headless Chromium: no requests, no console messages, accessible content, and working controls.

All tests with a browser are in this module, so only one browser starts. While Playwright runs, no other test of the
process can start an event loop.
"""

import base64
from importlib.resources import files
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

import gainwise as gw

pytestmark = pytest.mark.slow

DESKTOP, PHONE = 1280, 400

GRID = tuple(
    f"lgb num_leaves={leaves} learning_rate={rate} gain={gain}"
    for leaves in (7, 31) for rate in (0.05, 0.1) for gain in ("linear", "exponential")
)  # fmt: skip

LARGE = ("plain", "hostile", "grid", "many")
REPORTS = ("one", *(pytest.param(name, marks=pytest.mark.nightly) for name in LARGE))

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


NOTEBOOK = """
.out table { table-layout: fixed; border-collapse: collapse; font-size: 12px; }
.out:not(.markdown) td, .out:not(.markdown) th, .out:not(.markdown) tr { text-align: right; vertical-align: middle;
  padding: 0.5em 0.5em; line-height: normal; white-space: normal; max-width: none; border: none; }
.out tbody tr:nth-child(odd) { background: rgb(9, 9, 9); }
"""
"""How JupyterLab 4 styles tables that it knows nothing of."""


USE_FONT = """async font => {
    const face = new FontFace('Fixed', Uint8Array.from(atob(font), letter => letter.charCodeAt(0)));
    document.fonts.add(await face.load());
    const sheet = new CSSStyleSheet();
    sheet.replaceSync('* { font-family: Fixed !important; }');
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}"""


def use_font(page):
    """Use the font of Matplotlib, so the layout does not depend on installed fonts."""
    font = (Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf").read_bytes()
    page.evaluate(USE_FONT, base64.b64encode(font).decode())


@pytest.fixture(scope="module")
def reports(make, hostile, tmp_path_factory):
    folder, paths = tmp_path_factory.mktemp("reports"), {}
    make_report = {
        "plain": lambda: make(8, curves=True),
        "grid": lambda: make(len(GRID), names=GRID),
        "one": lambda: make(1),
        "hostile": lambda: hostile,
        "many": lambda: make(30, curves=True),
        "against": lambda: make(8),
    }

    def path_of(name):
        if name not in paths:
            comparison = make_report[name]()
            baseline = comparison.models[4] if name in ("many", "against") else None
            paths[name] = comparison.to_html(folder / f"{name}.html", baseline=baseline)
        return paths[name]

    return path_of


@pytest.fixture
def open_report(page, reports):
    """Open a report. At the end, assert that there were no other requests and no console messages."""
    requests, messages = [], []
    handlers = {
        "request": lambda request: requests.append(request.url),
        "console": lambda message: messages.append(message.text),
        "pageerror": lambda error: messages.append(str(error)),
        "dialog": lambda dialog: (messages.append(dialog.message), dialog.dismiss()),
    }
    for event, handler in handlers.items():
        page.on(event, handler)

    opened = []

    def start(which="plain"):
        opened.append(which)
        page.goto("about:blank")  # Otherwise the state of an earlier page would be restored.
        page.set_viewport_size({"width": DESKTOP, "height": 800})
        page.emulate_media(media="screen", color_scheme="light")
        page.goto(reports(which).as_uri())
        return page

    yield start
    for event, handler in handlers.items():
        page.remove_listener(event, handler)
    assert messages == []
    expected = {"about:blank", *(reports(which).as_uri() for which in opened)}
    assert {url.partition("#")[0] for url in requests if not url.startswith("data:,")} <= expected


def violations(page, rules=None):
    """Return the violations that axe-core finds on a page, one line each."""
    options = {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {})
    result = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{broken['id']}: {broken['help']}, at {[node['target'] for node in broken['nodes'][:3]]}"
        for broken in result["violations"]
        if broken["impact"] in ("serious", "critical")
    ]


def load_axe(page):
    axe = pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python, which carries axe-core")
    page.evaluate((files(axe) / "axe.min.js").read_text("utf-8"))


def column(page, table, number):
    return [text.strip() for text in page.locator(f"{table} tbody tr > :nth-child({number})").all_inner_texts()]


def numbers(page, table, place):
    """Return the numbers of a column. Cells without a number are last in either order."""
    texts = column(page, table, place)
    values = [float(text.split()[0].replace("−", "-")) for text in texts if text]
    assert not any(texts[len(values) :])
    return values


@pytest.mark.parametrize("which", REPORTS)
def test_is_accessible_in_light_in_dark_and_on_a_phone(open_report, which):
    page = open_report(which)
    use_font(page)
    assert page.locator("h1").count() == 1
    page.evaluate(OPEN)
    page.evaluate(THIN_OUT)
    load_axe(page)
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    assert violations(page, COLOURS) == []
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": PHONE, "height": 800})
    page.wait_for_function("width => innerWidth === width", arg=PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    assert violations(page) == []


def test_cells_stand_side_by_side_in_a_notebook_that_styles_tables(page, make):
    page.set_viewport_size({"width": 1000, "height": 600})
    page.set_content(f"<style>{NOTEBOOK}</style><div class=out>{make(8)._repr_html_()}</div>")
    use_font(page)
    page.evaluate("document.querySelectorAll('.sr, svg').forEach(part => part.remove())")
    found = page.evaluate(
        """() => [...document.querySelectorAll(".gainwise tr")].map(row => [...row.cells].map(cell => {
            const range = document.createRange(), box = cell.getBoundingClientRect();
            range.selectNodeContents(cell);
            const words = range.getBoundingClientRect();
            return [box.left, box.right, words.left, words.right, getComputedStyle(row).backgroundColor];
        }))"""
    )
    assert len(found) > 5
    for row in found:
        for (left, right, first, last, ground), after in zip(row, [*row[1:], None], strict=True):
            assert ground == "rgba(0, 0, 0, 0)"
            assert last <= left + 1 or (first >= left - 8 and last <= right + 8)
            assert after is None or right <= after[0] + 1


@pytest.mark.parametrize("width", [400, 800, 900, 1000, DESKTOP])
def test_numbers_of_axes_do_not_touch(open_report, width):
    page = open_report()
    page.set_viewport_size({"width": width, "height": 800})
    use_font(page)
    gaps = page.evaluate("""() => [...document.querySelectorAll("#chart .axis svg")].map(axis => {
        const boxes = [...axis.querySelectorAll("text")].map(text => text.getBoundingClientRect());
        const shown = boxes.filter(box => box.width).sort((a, b) => a.left - b.left);
        return Math.min(...shown.slice(1).map((box, place) => box.left - shown[place].right));
    })""")
    assert all(3 < gap < width for gap in gaps)


OVERLAPS = """() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), boxes = [];
    while (walker.nextNode()) {
        const text = walker.currentNode, parent = text.parentElement;
        const is_hidden = parent.closest('.sr, script, style, title') || !parent.checkVisibility();
        if (is_hidden || !text.textContent.trim()) continue;
        const range = document.createRange();
        range.selectNodeContents(text);
        for (const box of range.getClientRects()) boxes.push([text.textContent.trim().slice(0, 40), box]);
    }
    const found = [];
    boxes.forEach(([first, a], place) => boxes.slice(place + 1).forEach(([second, b]) => {
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const tall = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 1 && tall > 0.35 * Math.min(a.height, b.height)) found.push([first, second]);
    }));
    return found;
}"""
"""Pairs of texts whose boxes overlap. Lines of one paragraph may touch."""


@pytest.mark.parametrize("medium", ["400 px", "1280 px", "paper"])
@pytest.mark.parametrize("which", ["grid", "hostile", "against"])
def test_no_text_is_above_another(open_report, which, medium):
    page = open_report(which)
    use_font(page)
    page.evaluate(OPEN)
    if medium == "paper":
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 695, "height": 900})  # A4 without its margins
    else:
        page.set_viewport_size({"width": int(medium.split()[0]), "height": 900})
    page.wait_for_timeout(100)
    assert page.evaluate(OVERLAPS) == []
    if medium != "1280 px":
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_tables_sort_both_ways_by_mouse_and_keyboard(open_report):
    page = open_report()
    page.locator("#pairs summary").click()
    page.locator("#pairs th[scope=col] button").nth(0).click()
    assert column(page, "#pairs", 1) == sorted(column(page, "#pairs", 1))
    page.locator("#pairs th[scope=col] button").nth(2).click()
    values = numbers(page, "#pairs", 3)
    assert values == sorted(values, reverse=True)
    assert min(values) < 0
    head = page.locator("#pairs th[scope=col]").nth(2)
    assert head.get_attribute("aria-sort") == "descending"
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert numbers(page, "#pairs", 3) == values[::-1]
    assert page.locator("#pairs th[aria-sort]").count() == 1

    page.locator("#models summary").click()
    heads = page.locator("#models th[scope=col]")
    place = heads.all_inner_texts().index("worst regret")  # The first click sorts the lowest value up.
    heads.nth(place).locator("button").click()
    assert heads.nth(place).get_attribute("aria-sort") == "ascending"
    values = numbers(page, "#models", place + 1)
    assert values == sorted(values)


def test_queries_are_listed_and_linked(open_report, reports):
    page = open_report()
    rows = page.locator("#queries tbody tr")
    shown = lambda: rows.evaluate_all("rows => rows.filter(row => row.offsetParent).length")  # noqa: E731
    few = shown()
    page.locator("input[value=contradictory]").check(force=True)
    assert page.locator("tbody[data-k=random]").is_hidden()
    first = page.locator("tbody[data-k=contradictory] tr").first
    assert first.is_visible()
    page.locator(".more input").check()
    assert shown() == page.locator("tbody[data-k=contradictory] tr").count() > few
    link = page.locator("tbody[data-k=random] a").nth(10).get_attribute("href")
    page.goto(reports("plain").as_uri() + link)
    assert page.locator(f"[id='{link[1:]}']").is_visible()
    page.evaluate("location.hash = '#method'")  # A link opens folded content.
    page.locator("#method p").first.wait_for(state="visible")


def test_the_theme_follows_the_system_and_paper_is_light_and_whole(open_report):
    def brightness():
        colour = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        return sum(map(int, colour.removeprefix("rgb(").removesuffix(")").split(",")))

    page = open_report()
    assert brightness() > 700
    page.emulate_media(color_scheme="dark")
    assert brightness() < 150
    page.emulate_media(media="print", color_scheme="dark")
    assert brightness() > 700
    assert not page.locator("nav").is_visible()
    assert page.locator("#method p").first.is_visible()


def test_it_reads_without_javascript(browser, reports):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(reports("plain").as_uri())
    assert page.locator("#chart tbody tr").first.is_visible()
    assert page.locator("thead button").count() == 0
    page.locator("input[value=contradictory]").check(force=True)
    assert page.locator("tbody[data-k=contradictory] tr").first.is_visible()
    assert page.locator("tbody[data-k=random]").is_hidden()
    context.close()


def test_long_names_fit_into_the_charts_of_segments(page, tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(5, size=1600)
    models = {f"{letter * 30} model": labels + rng.normal(size=1600) for letter in "ab"}
    kinds = {"kind": np.arange(80) % 2}
    comparison = gw.compare(models, gw.Judgments(labels, group=[20] * 80), segments=kinds, draws=400)
    page.set_viewport_size({"width": DESKTOP, "height": 900})
    page.goto(comparison.to_html(tmp_path / "report.html").as_uri())
    excess = page.evaluate("""[...document.querySelectorAll('table.chart')].map(
        table => table.offsetWidth - table.parentElement.clientWidth)""")
    assert len(excess) == 3
    assert max(excess) <= 0
