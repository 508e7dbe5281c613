"""No number of a page has two roundings. Numbers of pages are grouped by the quantities of the comparison."""

import html
import io
import itertools
import re

import numpy as np
import pytest
from rich.console import Console

import gainwise as gw
from gainwise.report.text import chart_lines, decisions_table, headline_lines, notes_lines, whole_leaderboard

BOTH = ("ndcg_linear@10", "ndcg_exp@10")
NUMBER = re.compile(r"(?<![\w.@])[+\u2212-]?(\d[\d,]*\.\d{2,})(?![\w.]*\d)(?! %)")
"""Numbers with two decimals or more. Percentages have another unit."""


def compare(models, lead=0.0, metrics=BOTH, **options):
    """Return a comparison of means about 50, so that no two quantities are equal by accident after rounding."""
    rng = np.random.default_rng(models)
    level = rng.uniform(30, 70, (400, 1))
    tables = {}
    for metric in metrics:
        shift = rng.uniform(0, 9, models)
        shift[0] += lead
        tables[metric] = level + shift + rng.normal(0, 15, (400, models))
    return gw.Comparison(tables, [f"m{place}" for place in range(models)], draws=400, **options)


def quantities(content):
    """Yield all numbers of a result that is a tree of JSON."""
    if isinstance(content, dict):
        content = list(content.values())
    if isinstance(content, list | tuple):
        for entry in content:
            yield from quantities(entry)
    elif isinstance(content, float) and abs(content) >= 0.001:
        yield abs(content)


def read(page):
    """Return the text of HTML without the axes of charts."""
    page = re.sub(r"<(style|script|tfoot).*?</\1>", "", page, flags=re.DOTALL)
    return html.unescape(
        " ".join([re.sub(r"<[^>]+>", " ", page), *re.findall(r'(?:title|aria-label)="([^"]*)"', page)])
    )


def pages(comparison, folder):
    """Return the text of a comparison in every format."""
    console = Console(file=io.StringIO(), width=400)
    for line in (*headline_lines(comparison.content), *chart_lines(comparison.content, 400, every=True)):
        console.print(line)
    for part in (*notes_lines(comparison.content), whole_leaderboard(comparison.content)):
        console.print(part)
    if comparison.content.against is not None:
        console.print(decisions_table(comparison.content))
    return {
        "html": read(comparison.to_html(folder / "report.html").read_text("utf-8")),
        "notebook": read(comparison._repr_html_()),
        "markdown": comparison.to_markdown(full=True),
        "terminal": console.file.getvalue(),
        "print": str(comparison),
    }


def find_texts(comparison, folder):
    """Yield every format of a page, with the texts of each quantity of the comparison in it."""
    content = [comparison.to_dict(), comparison.standings.to_dict("list")]
    content += [comparison.pairs.to_dict("list")] if comparison.primary else []
    if comparison.content.against is not None:
        content.append(comparison.content.against.to_dict())
    known = np.unique(np.round(list(quantities(content)), 9))
    for name, text in pages(comparison, folder).items():
        by_quantity = {}
        for token in {token.replace(",", "") for token in NUMBER.findall(text)}:
            unit = 10.0 ** -len(token.partition(".")[2])
            for quantity in known[np.abs(known - float(token)) < unit]:
                by_quantity.setdefault(quantity, set()).add(token)
        yield name, by_quantity


@pytest.mark.parametrize(
    ("models", "lead", "options"),
    [
        (2, 0.0, {}),
        (2, 20.0, {}),
        (3, 0.0, {"margin": 2.0}),
        (3, 20.0, {"baseline": "m1"}),
        (4, 0.0, {"baseline": "m0", "margin": 6.25}),
        (4, 0.0, {"selected": "m1", "searched": 30}),
        (3, 20.0, {"segments": np.arange(400) % 2}),
        (3, 0.0, {"metrics": BOTH[:1]}),
    ],
)
def test_every_quantity_has_one_text(models, lead, options, tmp_path):
    stated = 0
    for name, by_quantity in find_texts(compare(models, lead, **options), tmp_path):
        stated += len(by_quantity)
        assert {number: texts for number, texts in by_quantity.items() if len(texts) > 1} == {}, name
    assert stated > 10


def test_a_bound_next_to_the_margin_has_one_text(tmp_path):
    """The text is on the same side of the margin as the bound, which may require more than three places."""
    comparison, lead = compare(3, 20.0), compare(3, 20.0, baseline="m0")
    worst = max(max(bounds.values()) for bounds in comparison.verdict.regrets_upper.values())
    (loss,) = {-decided.at_most[BOTH[0]] for decided in lead.content.against.candidates if decided.candidate == "m1"}
    within = (worst + np.ceil(1000 * worst) / 1000) / 2
    beyond = (loss + np.floor(1000 * loss) / 1000) / 2
    for options in (
        {"margin": within},
        {"margin": within, "selected": "m1", "searched": 30},
        {"margin": beyond, "baseline": "m0"},
    ):
        for name, by_quantity in find_texts(compare(3, 20.0, **options), tmp_path):
            several = {number: texts for number, texts in by_quantity.items() if len(texts) > 1}
            assert several == {}, (name, options)


def test_differences_have_three_decimals_if_the_page_has_scores(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, 6000)
    scores = {f"m{k}": labels * (0.5 + 0.1 * k) + rng.normal(0, 1.5, 6000) for k in range(6)}
    judgments = gw.Judgments(labels, group=[20] * 300)
    for options in ({}, {"baseline": "m2"}):
        comparison = gw.compare(scores, judgments, draws=400, segments=np.arange(300) % 2, **options)
        texts = pages(comparison, tmp_path)
        del texts["terminal"]  # Its axis has round numbers.
        for name, text in texts.items():
            signed = re.findall(r"(?<![\w.])[+\u2212](\d\.\d+)", text)
            wrong = [token for token in signed if len(token) != 5 and float(token) >= 0.001]
            assert wrong == [], name
    assert signed


def test_rounding_of_bounds_keeps_them_valid():
    """A printed interval contains the exact one, and is wider by less than one unit of the last place at each end."""
    from gainwise._common.text import format_interval

    rng = np.random.default_rng(1)
    ends = np.sort(rng.normal(0, 0.05, (500, 2)), axis=1)
    for lower, upper in itertools.chain(ends.tolist(), (1e-3 * ends).tolist()):
        first, last = format_interval(lower, upper).replace("\u2212", "-").split(" to ")
        assert -1e-9 <= lower - float(first) < 10.0 ** -len(first.partition(".")[2]) + 1e-9
        assert -1e-9 <= float(last) - upper < 10.0 ** -len(last.partition(".")[2]) + 1e-9
