"""With a baseline, all reports first state whether to replace it, with the numbers of `against`."""

import json
import math
import re
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

import gainwise as gw
from gainwise._common.text import as_text
from gainwise.comparison.baseline import describe_replacement
from gainwise.comparison.comparison import Comparison
from gainwise.report.text import decisions_table

FIRST, SECOND = "ndcg_linear@10", "ndcg_exp@10"


def values_of(leads, queries=2000, noise=0.05, seed=0):
    """Two metrics of a baseline and of candidates with given differences under each."""
    rng = np.random.default_rng(seed)
    base, own = rng.uniform(0.3, 0.6, (queries, 1)), noise * rng.normal(size=(queries, len(leads) + 1))
    own[: queries // 4] = 0  # here all are the same
    lead = np.vstack([[0, 0], leads]).T
    moved = np.arange(queries)[:, None] >= queries // 4
    return {name: base + own + row * moved / 0.75 for name, row in zip((FIRST, SECOND), lead, strict=True)}


def decided(*leads, margin=0.0, queries=2000, **options):
    models = ["production", *"ABCDEFGH"[: len(leads)]]
    comparison = Comparison(values_of(leads, queries), models, ranges={}, margin=margin, draws=2000, **options)
    return comparison.against("production"), {model: model for model in models}


@pytest.mark.parametrize(
    ("leads", "margin", "starts", "mentioned"),
    [
        ([(0.02, 0.02)], 0, "★ Ship A", ["production"]),
        ([(-0.02, 0.02)], 0, "Do not ship A", ["linear"]),
        ([(-0.02, -0.02)], 0, "Do not ship A", []),
        ([(0.0, 0.0)], 0, "Undecided", ["A"]),
        ([(-0.02, 0.02), (0.02, 0.02)], 0, "★ Ship B", ["production"]),
        ([(0.02, 0.02), (0.03, 0.03), (0, 0)], 0, "★ Ship B", ["production"]),
        ([(-0.02, 0.02), (0.0, 0.0)], 0, "Undecided", ["B"]),
        ([(-0.02, 0.02), (0.02, -0.02)], 0, "Do not ship", []),
        ([(0.02, -0.001)], 0.02, "★ Ship A", ["production", "linear", "exponential", "margin"]),
    ],
)
def test_the_answer_is_that_of_the_decisions(leads, margin, starts, mentioned):
    found, names = decided(*leads, margin=margin)
    _, answer, reasons = map(as_text, describe_replacement(found, names))
    assert re.match(rf"{starts}\b", answer)
    assert set(mentioned) <= set(re.findall(r"\w+", answer))
    assert ("within the margin of 0.02" in answer) == (margin > 0)
    assert "the improvement is at least" in reasons
    assert starts != "Undecided" or "a new experiment" in reasons or "does not promise" in reasons
    counts = {decision: list(found.decisions.values()).count(decision) for decision in found.decisions.values()}
    assert all((f"{number} {decision}" in reasons) == (len(leads) > 1) for decision, number in counts.items())


@pytest.fixture(scope="module")
def comparison():
    rng = np.random.default_rng(0)
    labels = rng.choice(5, size=600 * 12, p=[0.5, 0.28, 0.14, 0.05, 0.03])
    scores = {
        f"<b>{name}": labels * taste + rng.normal(size=7200) for name, taste in zip("abc", (0.5, 0.8, 0.3), strict=True)
    }
    return gw.compare(scores, gw.Judgments(labels, group=[12] * 600), baseline="<b>a", margin=0.001, draws=1000)


def without_tags(page):
    return re.sub("<[^>]+>", "", page)


def test_the_page_shows_every_candidate_with_the_numbers_of_against(comparison, tmp_path):
    page = comparison.to_html(tmp_path / "r.html").read_text("utf-8")
    chart = page[page.index('<figure id="chart">') : page.index("</figure>")]
    assert "Ship &lt;b&gt;b instead of &lt;b&gt;a: NDCG@10 rises by at least " in without_tags(page)
    assert "<b>" not in page
    assert chart.count('<span class="s">★</span><bdi>') == 1
    assert '<span class="s">★</span><bdi>&lt;b&gt;b</bdi>' in chart
    for one in comparison.against("<b>a").candidates:
        assert f"&lt;b&gt;{one.candidate[3:]}</bdi>" in chart
        assert f"{one.decision}</td>" in chart
        for metric in comparison.primary:
            lower, upper = math.floor(1000 * one.lower[metric]) / 1000, math.ceil(1000 * one.upper[metric]) / 1000
            text = f"{metric}: {one.difference[metric]:+.3f}, interval {lower:+.3f} to {upper:+.3f}"
            assert text.replace("-", "−") in chart
            assert f"{1000 * one.shares[metric]['better']:.0f} · " in page
    assert "The decisions, in numbers" in page


def test_markdown_json_and_notebooks_say_the_same(comparison):
    answer = "★ Ship &lt;b&gt;b instead of &lt;b&gt;a: NDCG@10 rises by at least "
    markdown = comparison.to_markdown()
    assert markdown.startswith(f"### {answer}")
    assert "Replace &lt;b&gt;a by one of 2 candidates?" in markdown
    assert answer in without_tags(comparison._repr_html_())
    found = comparison.against("<b>a").to_dict()
    assert json.loads(comparison.to_json())["against"] == json.loads(json.dumps(found))
    assert comparison.to_dict()["against"] == found


def test_a_baseline_can_be_named_with_a_report_or_decided_before(make, tmp_path):
    comparison = make(3)
    name = comparison.models[1]
    plain = comparison.to_json()
    named = comparison.to_json(baseline=name)
    assert json.loads(plain)["against"] is None
    assert json.loads(named)["against"]["baseline"] == name
    wide = comparison.to_json(baseline=comparison.against(name, margin=0.5))
    assert json.loads(wide)["against"]["margins"] == dict.fromkeys(comparison.primary, 0.5)
    page = comparison.to_html(tmp_path / "r.html", baseline=name).read_text("utf-8")
    assert '<details id="against">' in page
    assert '<details id="against">' not in comparison.to_html(tmp_path / "s.html").read_text("utf-8")
    assert comparison.to_json() == plain


def test_the_pair_that_is_explained_is_the_candidate_and_the_baseline(comparison):
    assert comparison.content.pair[:2] == ("<b>b", "<b>a")


def test_in_a_terminal_names_are_no_markup():
    names = ("[red]production", "[bold]new")
    values = values_of([(0.02, 0.02)])
    comparison = Comparison(values, names, ranges={}, baseline=names[0], draws=2000)
    console = Console(width=100, file=StringIO())
    console.print(decisions_table(comparison.content))
    shown = console.file.getvalue()
    assert "Against [red]production" in shown
    assert re.search(r"\[bold\]new +ship +\+0\.0", shown)


@pytest.mark.parametrize("losses", [(), (FIRST,), (FIRST, SECOND)])
def test_the_chart_names_its_sign(losses):
    """The candidate raises both metrics, which is worse if lower values are better. Right is better in any case."""
    gw.metric("sign_first", lambda labels, scores: 0.0, higher_is_better=False)
    gw.metric("sign_second", lambda labels, scores: 0.0, higher_is_better=False)
    names = {FIRST: "sign_first" if FIRST in losses else "map", SECOND: "sign_second" if SECOND in losses else "mrr"}
    values = {names[metric]: table for metric, table in values_of([(0.02, 0.03)]).items()}
    chart = Comparison(values, ["production", "A"], ranges={}, draws=500, baseline="production").content.chart
    (row,) = [row for row in chart.rows if row.model == "A"]
    signs = [-1 if metric in losses else 1 for metric in (FIRST, SECOND)]
    assert [mark.value for mark in row.marks] == pytest.approx([0.02 * signs[0], 0.03 * signs[1]], abs=0.005)
    assert ("improvement over the baseline" if losses else "change against the baseline") in chart.caption


@pytest.mark.parametrize(
    ("selected", "stated"),
    [("A", "from 30 candidates: A (ship)."), ("C", "C (do not ship)."), ("production", "production (the baseline).")],
)
def test_the_page_states_the_decision_about_the_selected_model(selected, stated):
    """A candidate that the validation set selected is named, also if another candidate comes first."""
    values = values_of([(0.02, 0.02), (0.03, 0.03), (-0.02, -0.02)])
    models = ["production", "A", "B", "C"]
    options = {"selected": selected, "searched": 30} | {"baseline": "production", "ranges": {}, "draws": 1000}
    comparison = Comparison(values, models, **options)
    for text in (str(comparison), comparison.to_markdown(), as_text(comparison.content.chart.advice)):
        assert "Ship B" in text or text.startswith("Decisions")
        assert "Selected on the validation set from 30 candidates: " in text
        assert stated in text


def test_labels_0_and_1_have_one_change():
    """Both gains have the same values, so a page has one number and no names of gains."""
    values = values_of([(0.02, 0.02)])
    same = dict.fromkeys((FIRST, SECOND), values[FIRST])
    text = str(Comparison(same, ["production", "A"], ranges={}, draws=1000, baseline="production"))
    (change,) = re.findall(r"differs from production by (.*?), simultaneous at 95 %\.", text)
    assert re.fullmatch(r"\+0\.0\d{2} \(\+0\.\d{3} to \+0\.\d{3}\)", change)
    assert "linear" not in text.replace(FIRST, "")


def test_a_margin_that_is_a_share_has_one_rounding(tmp_path):
    """It is a share of a mean, which has many digits. The method states the margins that decide."""
    comparison = Comparison(values_of([(0.02, 0.02)]), ["production", "A"], ranges={}, draws=1000)
    for margins in ({FIRST: "1%"}, {FIRST: "1%", SECOND: "1%"}):
        decisions = comparison.against("production", margins)
        margin = decisions.format_margin(FIRST)
        page = comparison.to_html(tmp_path / "page.html", baseline=decisions).read_text("utf-8")
        page = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
        for text in (page, comparison.to_markdown(baseline=decisions, full=True)):
            assert margin in text
            assert not re.search(rf"\b{re.escape(margin[:-1])}\d{{2,}}", text)
            assert "No difference is tolerated" not in text
