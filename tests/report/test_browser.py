"""The report in headless Chromium: it loads nothing, says nothing on the console, and its controls work."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

LONG = tuple(
    f"{family} {gain} ({size} trees)"
    for family in ("lgb", "xgb")
    for gain in ("linear", "exp")
    for size in ("large", "small")
)

GRID = tuple(
    f"lgb num_leaves={leaves} learning_rate={rate} min_data_in_leaf={data} gain={gain}"
    for leaves in (7, 31)
    for rate in (0.05, 0.1)
    for data in (20, 100)
    for gain in ("linear", "exponential")
)

OVERHANG = """Array.from(document.querySelectorAll('svg text'), text => {
    const inner = text.getBoundingClientRect();
    const whole = text.closest('.scroll') && text.closest('svg').getBoundingClientRect();  // what is scrolled is wider
    if (whole) return Math.max(whole.left - inner.left, inner.right - whole.right);
    return Math.max(-inner.left, inner.right - document.documentElement.clientWidth);
})"""

OVERLAPS = """Array.from(document.querySelectorAll('#why svg, #when svg, tfoot svg.reg'), svg => {
    const boxes = Array.from(svg.querySelectorAll('text'), text => [text.textContent, text.getBoundingClientRect()]);
    const hits = [];
    boxes.forEach(([one, a], at) => boxes.slice(at + 1).forEach(([other, b]) => {
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (across > 1 && down > 4) hits.push(one + ' | ' + other);
    }));
    return hits;
}).flat()"""


def curved(make, first, second, rounds=30):
    """A comparison whose candidates are best at these rounds of so many."""
    comparison = make.__wrapped__(3)
    number = np.arange(1, rounds + 1)
    frames = [
        pd.DataFrame({"candidate": name, "round": number, "metric": metric, "value": -((number - best) ** 2) / 1000})
        for name in comparison.models
        for metric, best in zip(comparison.primary, (first, second), strict=True)
    ]
    comparison.curves = pd.concat(frames, ignore_index=True)
    return comparison


@pytest.fixture(scope="module")
def files(make, hostile, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    return {
        "plain": make(8, curves=True).to_html(folder / "plain.html"),
        "hostile": hostile.to_html(folder / "hostile.html"),
        "long names": make(8, names=LONG).to_html(folder / "long.html"),
        "many": make(30).to_html(folder / "many.html"),
        "near rounds": curved(make, 27, 29).to_html(folder / "near.html"),
        "the same round": curved(make, 29, 29).to_html(folder / "same.html"),
        "two": make(2).to_html(folder / "two.html"),
        "sixteen": make(16, names=GRID).to_html(folder / "sixteen.html"),
        "baseline": make(30).to_html(folder / "baseline.html", baseline=make(30).models[4]),
    }


@pytest.fixture
def open_report(page, files):
    """Open a report; at the end nothing may have been requested but the file, and nothing said on the console."""
    requests, said = [], []
    heard = {
        "request": lambda request: requests.append(request.url),
        "console": lambda message: said.append(message.text),
        "pageerror": lambda error: said.append(str(error)),
        "dialog": lambda dialog: (said.append(dialog.message), dialog.dismiss()),
    }
    for event, note in heard.items():
        page.on(event, note)
    loads = 0

    def start(which="plain", *, width=1280, height=720, scheme="light"):
        nonlocal loads
        loads += 1
        page.goto("about:blank")  # so that nothing of a page that was opened before is restored
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(media="screen", color_scheme=scheme)
        page.goto(files[which].as_uri())
        return page

    yield start
    for event, note in heard.items():
        page.remove_listener(event, note)
    assert said == []
    expected = {"about:blank", *(path.as_uri() for path in files.values())}
    assert {url for url in requests if not url.startswith("data:,")} <= expected
    assert len(requests) <= 2 * loads


def resized(page, width):
    """The same page in a window of another width, once it has taken note of that."""
    page.set_viewport_size({"width": width, "height": 800})
    page.wait_for_function("width => innerWidth === width", arg=width)
    return page


def shown(page, selector="#chart tbody tr"):
    return page.locator(selector).evaluate_all("rows => rows.filter(row => row.offsetParent).map(row => row.innerText)")


def column(page, table, number):
    return page.locator(f"{table} tbody tr > :nth-child({number})").all_inner_texts()


def number(text):
    return float(text.split()[0].replace("−", "-"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["plain", "hostile"])
def test_it_loads_nothing_and_reports_no_error(open_report, which, scheme):
    page = open_report(which, scheme=scheme)
    assert page.locator("h1").count() == 1
    assert page.locator("picture img").count() == 4
    assert page.locator(".do").is_visible()


@pytest.mark.parametrize("which", ["plain", "hostile", "long names", "many", "baseline"])
def test_the_page_is_no_wider_than_the_window(open_report, which):
    page = open_report(which)
    for width in (360, 768, 1200):
        assert resized(page, width).evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("which", ["plain", "two", "sixteen", "many", "hostile", "baseline"])
def test_question_answer_and_chart_end_above_the_fold(open_report, which):
    page = open_report(which, width=1280, height=800)
    assert page.locator("#chart").bounding_box()["y"] + page.locator("#chart").bounding_box()["height"] < 710


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize(
    "which", ["plain", "two", "sixteen", "long names", "many", "near rounds", "the same round", "baseline"]
)
def test_no_text_is_cut_off_or_lies_on_another(open_report, which, width):
    page = open_report(which, width=width, height=900)
    overhang = page.evaluate(OVERHANG)
    assert len(overhang) > 40
    assert max(overhang) <= 0
    assert page.evaluate(OVERLAPS) == []


def test_many_models_stand_as_twelve_and_a_rug_that_leads_to_all(open_report):
    page = open_report("many", width=1280, height=900)
    rows = page.locator("#chart tbody tr").count()
    assert 12 <= rows <= 15
    page.get_by_role("link", name=f"{30 - rows} more").click()
    assert page.locator("#models table").is_visible()
    assert page.locator("#models tbody tr").count() == 30


def test_heads_sort_the_chart_both_ways_and_say_so(open_report):
    page = open_report()
    head = page.locator("#chart th.v").nth(1)
    assert head.get_attribute("aria-sort") is None
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    means = [number(text) for text in column(page, "#chart", 5)]
    assert means == sorted(means, reverse=True)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert [number(text) for text in column(page, "#chart", 5)] == means[::-1]
    assert page.locator("#chart th[aria-sort]").count() == 1


def test_safest_first_is_one_click_away_and_back(open_report, make):
    page, verdict = open_report(), make(8, curves=True).verdict
    before = column(page, "#chart", 1)
    worst = {model: max(by[model] for by in verdict.regrets.values()) for model in verdict.models}
    button = page.get_by_role("button", name="safest first")
    button.click()
    assert [name.strip() for name in column(page, "#chart", 1)] == sorted(worst, key=worst.get)
    assert page.locator("#chart th.w").get_attribute("aria-sort") == "ascending"
    button.click()
    assert column(page, "#chart", 1) == before


def test_the_switch_to_means_is_native(open_report):
    page = open_report()
    assert page.locator("#chart svg.reg").first.is_visible()
    page.locator("input[value=reg]").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("input[value=mea]").is_checked()
    assert page.locator("#chart svg.mea").first.is_visible()
    assert not page.locator("#chart svg.reg").first.is_visible()


def test_tables_sort_names_and_signed_numbers(open_report):
    page = open_report()
    page.locator("#pairs summary").click()
    page.locator("#pairs th[scope=col] button").nth(0).click()
    names = column(page, "#pairs", 1)
    assert names == sorted(names)
    page.locator("#pairs th[scope=col] button").nth(2).click()
    values = [number(text) for text in column(page, "#pairs", 3)]
    assert values == sorted(values, reverse=True)
    assert min(values) < 0


def test_where_low_is_good_the_first_click_brings_the_lowest_up(open_report):
    page = open_report()
    page.locator("#models summary").click()
    heads = page.locator("#models th[scope=col]")
    for name in ("worst regret", "at most"):
        place = heads.all_inner_texts().index(name)
        heads.nth(place).locator("button").click()
        assert heads.nth(place).get_attribute("aria-sort") == "ascending"
        values = [number(text) for text in column(page, "#models", place + 1)]
        assert values == sorted(values)
        assert values[0] < values[-1]


def test_tables_sort_by_keyboard(open_report):
    page = open_report()
    page.locator("#chart th[scope=col] button").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("#chart th[scope=col]").first.get_attribute("aria-sort") == "ascending"


def test_queries_are_listed_filtered_and_linked(open_report, files):
    page = open_report()
    assert len(shown(page, "#queries tbody tr")) == 8
    page.get_by_text("contradictory (").click()
    assert page.locator("tbody[data-k=random]").is_hidden()
    first = page.locator("tbody[data-k=contradictory] tr").first
    page.locator("input[type=search]").fill(first.locator("bdi").inner_text())
    assert first.is_visible()
    assert 1 <= len(shown(page, "#queries tbody tr")) < 8
    page.locator("input[type=search]").fill("")
    page.locator(".more input").check()
    assert len(shown(page, "#queries tbody tr")) == page.locator("tbody[data-k=contradictory] tr").count() > 8
    link = page.locator("tbody[data-k=second] a").nth(10).get_attribute("href")
    page.goto(files["plain"].as_uri() + link)
    assert page.locator(f"[id='{link[1:]}']").is_visible()


def test_a_link_opens_what_is_folded(open_report):
    page = open_report()
    page.evaluate("location.hash = '#glossary'")
    page.locator("#glossary dt").first.wait_for(state="visible")


def background(page):
    return page.evaluate("getComputedStyle(document.documentElement).backgroundColor")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_system(open_report, scheme):
    page = open_report(scheme=scheme)
    assert background(page) == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 28)"}[scheme]
    mark = page.locator("#chart tbody .mk.lin:not(.open)").first.evaluate("mark => getComputedStyle(mark).fill")
    assert mark == {"light": "rgb(27, 106, 179)", "dark": "rgb(90, 169, 240)"}[scheme]


def test_paper_is_light_unfolded_and_without_controls(open_report):
    page = open_report(scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert background(page) == "rgb(255, 255, 255)"
    for control in ("nav", ".seg >> nth=0", "input[type=search]", ".safest"):
        assert not page.locator(control).is_visible()
    assert page.locator("#glossary dt").first.is_visible()
    assert len(page.pdf(format="A4")) > 20_000


def test_names_that_are_markup_run_nothing_and_are_read(open_report):
    page = open_report("hostile")
    assert page.get_by_text("<script>alert(1)</script>", exact=True).first.is_visible()
    assert page.locator("main script").count() == 0


def test_it_reads_without_javascript(browser, files):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(files["plain"].as_uri())
    assert page.locator(".do").is_visible()
    assert page.locator("#chart tbody tr").first.is_visible()
    assert page.locator("thead button, .safest:visible, input[type=search]:visible").count() == 0
    page.locator("#queries").get_by_text("contradictory (").click()
    assert page.locator("tbody[data-k=contradictory] tr").first.is_visible()
    assert page.locator("tbody[data-k=random]").is_hidden()
    context.close()
