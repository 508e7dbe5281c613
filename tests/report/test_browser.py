"""The report in headless Chromium: it loads nothing, says nothing on the console, and its controls work."""

from __future__ import annotations

import pytest

LONG = tuple(
    f"{family} {gain} ({size} trees)"
    for family in ("lgb", "xgb")
    for gain in ("linear", "exp")
    for size in ("large", "small")
)

OVERHANG = """Array.from(document.querySelectorAll('svg.picture text'), text => {
    const inner = text.getBoundingClientRect(), outer = text.closest('svg').getBoundingClientRect();
    const across = Math.max(outer.left - inner.left, inner.right - outer.right);
    return Math.max(across, outer.top - inner.top, inner.bottom - outer.bottom);
})"""


@pytest.fixture(scope="module")
def files(make, hostile, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    return {
        "plain": make(8, curves=True).to_html(folder / "plain.html"),
        "hostile": hostile.to_html(folder / "hostile.html"),
        "long names": make(8, names=LONG).to_html(folder / "long.html"),
        "many": make(30).to_html(folder / "many.html"),
    }


@pytest.fixture
def open_report(browser, files):
    """Open a report; at the end nothing may have been requested but the file, and nothing said on the console."""
    pages, requests, said = [], [], []

    def start(which="plain", **options):
        page = browser.new_page(**options)
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.goto(files[which].as_uri())
        pages.append(page)
        return page

    yield start
    for page in pages:
        page.close()
    assert said == []
    assert {url for url in requests if not url.startswith("data:,")} <= {path.as_uri() for path in files.values()}
    assert len(requests) <= 2 * len(pages)


def column(page, table, number):
    return page.locator(f"{table} tbody tr > :nth-child({number})").all_inner_texts()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["plain", "hostile"])
def test_it_loads_nothing_and_reports_no_error(open_report, which, scheme):
    page = open_report(which, color_scheme=scheme)
    assert page.locator("h1").count() == 1
    assert page.locator("svg[role=img]").count() >= 6
    assert page.locator(".answer").is_visible()


def test_the_page_is_no_wider_than_the_window(open_report):
    for width in (360, 1200):
        page = open_report(viewport={"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_pictures_stay_legible_on_a_narrow_screen_and_are_scrolled_by_keyboard(open_report):
    page = open_report(viewport={"width": 400, "height": 800})
    drawing = page.locator("#pairs .drawing").first
    assert drawing.locator("svg").bounding_box()["width"] >= 30 * 16
    assert drawing.get_attribute("tabindex") == "0"
    drawing.focus()
    page.keyboard.press("ArrowRight")
    for _ in range(100):  # scrolling takes its time; the page forbids scripts that would wait for it
        if drawing.evaluate("drawing => drawing.scrollLeft"):
            break
        page.wait_for_timeout(100)
    assert drawing.evaluate("drawing => drawing.scrollLeft") > 0


def test_pictures_that_fit_are_no_stop_of_the_keyboard(open_report):
    page = open_report(viewport={"width": 1200, "height": 800})
    assert page.locator(".drawing").count() >= 6
    assert page.locator(".drawing[tabindex]").count() == 0


@pytest.mark.parametrize("which", ["plain", "long names", "many"])
def test_no_text_is_cut_at_the_edge_of_its_picture(open_report, which):
    overhang = open_report(which, viewport={"width": 1280, "height": 900}).evaluate(OVERHANG)
    assert len(overhang) > 100
    assert max(overhang) <= 0


def test_titles_of_pictures_are_read_without_scrolling_on_a_narrow_screen(open_report):
    page = open_report("long names", viewport={"width": 400, "height": 800})
    titles = page.locator("figure .finding")
    assert titles.count() == page.locator("svg.picture").count() >= 5
    assert titles.evaluate_all("all => Math.max(...all.map(one => one.getBoundingClientRect().right))") <= 400
    assert titles.evaluate_all("all => Math.max(...all.map(one => one.scrollWidth - one.clientWidth))") == 0
    assert page.locator("svg.picture > title").all_text_contents() == titles.all_text_contents()


def test_a_short_leaderboard_stands_in_full_and_a_long_one_scrolls(open_report):
    def hidden(which):
        page = open_report(which, viewport={"width": 1280, "height": 900})
        return page.locator("#leaderboard .scroll").evaluate("box => box.scrollHeight - box.clientHeight")

    assert hidden("plain") == 0
    assert hidden("many") > 500


def test_names_stay_in_view_when_a_narrow_table_is_scrolled(open_report):
    page = open_report(viewport={"width": 400, "height": 800})
    page.evaluate("document.querySelector('#leaderboard .scroll').scrollLeft = 300")
    box = page.locator("#leaderboard tbody th").first.bounding_box()
    assert 0 <= box["x"] < 40
    assert page.locator("#leaderboard caption span").bounding_box()["width"] <= 400


def test_heads_sort_tables_both_ways_and_say_so(open_report):
    page = open_report()
    head = page.locator("#leaderboard th[scope=col]").nth(2)
    assert head.get_attribute("aria-sort") is None
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    means = [float(text.split()[0]) for text in column(page, "#leaderboard", 3)]
    assert means == sorted(means, reverse=True)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert [float(text.split()[0]) for text in column(page, "#leaderboard", 3)] == means[::-1]
    assert page.locator("#leaderboard th[aria-sort]").count() == 1


def test_where_low_is_good_the_first_click_brings_the_lowest_up(open_report):
    page = open_report()
    heads = page.locator("#leaderboard th[scope=col]")
    for name in ("worst regret", "regret at most"):
        place = heads.all_inner_texts().index(name)
        heads.nth(place).locator("button").click()
        assert heads.nth(place).get_attribute("aria-sort") == "ascending"
        values = [float(text) for text in column(page, "#leaderboard", place + 1)]
        assert values == sorted(values)
        assert values[0] < values[-1]


def test_names_and_signed_numbers_sort(open_report):
    page = open_report()
    page.locator("#pairs th[scope=col] button").nth(0).click()
    names = column(page, "#pairs > .scroll", 1)
    assert names == sorted(names)
    page.locator("#pairs th[scope=col] button").nth(3).click()
    values = [float(text.split()[0].replace("−", "-")) for text in column(page, "#pairs > .scroll", 4)]
    assert values == sorted(values, reverse=True)
    assert min(values) < 0


def test_tables_sort_by_keyboard(open_report):
    page = open_report()
    button = page.locator("#leaderboard th[scope=col] button").first
    button.focus()
    page.keyboard.press("Enter")
    assert page.locator("#leaderboard th[scope=col]").first.get_attribute("aria-sort") == "ascending"


def test_queries_unfold(open_report):
    page = open_report()
    folded = page.locator("details.query").nth(3)
    assert not folded.locator(".strip").first.is_visible()
    folded.locator("summary").click()
    assert folded.locator(".strip").first.is_visible()
    assert folded.locator(".strip").first.locator("li").count() == 10


def background(page):
    return page.evaluate("getComputedStyle(document.documentElement).backgroundColor")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_system_and_the_button(open_report, scheme):
    shades = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 28)"}
    other = {"light": "dark", "dark": "light"}[scheme]
    page = open_report(color_scheme=scheme)
    button = page.locator("#theme")
    assert background(page) == shades[scheme]
    assert button.inner_text() == f"{other.capitalize()} theme"
    button.click()
    assert background(page) == shades[other]
    ink = page.evaluate("getComputedStyle(document.querySelector('svg text')).fill")
    assert ink == {"light": "rgb(27, 30, 35)", "dark": "rgb(233, 235, 238)"}[other]
    button.click()
    assert background(page) == shades[scheme]


def test_paper_is_light_and_without_controls(open_report):
    page = open_report(color_scheme="dark")
    page.emulate_media(media="print")
    assert background(page) == "rgb(255, 255, 255)"
    assert not page.locator("#theme").is_visible()
    assert not page.locator("nav").is_visible()
    assert not page.locator("details.query").nth(5).is_visible()
    assert len(page.pdf(format="A4")) > 20_000


def test_names_that_are_markup_run_nothing_and_are_read(open_report):
    page = open_report("hostile")
    assert page.get_by_text("<script>alert(1)</script>", exact=True).first.is_visible()
    assert page.locator("main script").count() == 0


def test_it_reads_without_javascript(browser, files):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(files["plain"].as_uri())
    assert page.locator(".answer").is_visible()
    assert not page.locator("#theme").is_visible()
    assert page.locator("#leaderboard thead button").count() == 0
    context.close()
