"""With a baseline every form of a report answers first whether to replace it, with the numbers of `against`."""

from __future__ import annotations

import json
import re
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

import gainsay as gs
from gainsay.comparison.replacing import leading, replacing, searches
from gainsay.drawing.text import as_text
from gainsay.harness import Comparison
from gainsay.report.text import decisions_table

FIRST, SECOND = "ndcg_linear@10", "ndcg_exp@10"


def values_of(leads, queries=2000, noise=0.05, seed=0):
    """Two metrics of a baseline and of candidates that lead it by so much under each."""
    rng = np.random.default_rng(seed)
    base, own = rng.uniform(0.3, 0.6, (queries, 1)), noise * rng.normal(size=(queries, len(leads) + 1))
    own[: queries // 4] = 0  # here all are the same
    lead = np.vstack([[0, 0], leads]).T
    moved = np.arange(queries)[:, None] >= queries // 4
    return {name: base + own + row * moved / 0.75 for name, row in zip((FIRST, SECOND), lead, strict=True)}


def decided(*leads, rope=0.0, queries=2000, **options):
    models = ["production", *"ABCDEFGH"[: len(leads)]]
    comparison = Comparison(values_of(leads, queries), models, ranges={}, rope=rope, draws=2000, **options)
    return comparison.against("production"), {model: model for model in models}


@pytest.mark.parametrize(
    ("leads", "answer"),
    [
        ([(0.02, 0.02)], "Yes: ship A in place of production."),
        ([(-0.02, 0.02)], "No: keep production, A is worse by linear."),
        ([(-0.02, -0.02)], "No: keep production, A is worse by linear and exponential."),
        ([(0.0, 0.0)], "Undecided: whether A is better than production is not proven."),
        ([(-0.02, 0.02), (0.02, 0.02)], "Yes: ship B in place of production."),
        ([(0.02, 0.02), (0.03, 0.03), (0, 0)], "Yes: 2 of 3 may replace production, best of all B."),
        ([(-0.02, 0.02), (0.0, 0.0)], "Not yet: 1 of 2 are undecided, none is proven fit to replace production."),
        ([(-0.02, 0.02), (0.02, -0.02)], "No: keep production, each of the 2 candidates is worse."),
    ],
)
def test_the_answer_is_that_of_the_decisions(leads, answer):
    found, said = decided(*leads)
    assert as_text(replacing(found, said)[1]) == answer


def test_a_loss_within_what_is_tolerated_is_none():
    found, said = decided((0.02, -0.001), rope=0.02)
    assert as_text(replacing(found, said)[1]) == "Yes: ship A in place of production."
    assert "Tolerated: a loss up to 0.0200." in as_text(replacing(found, said)[2])


def test_candidates_stand_by_decision_and_then_by_what_is_proven_of_them():
    found, _ = decided((-0.02, -0.02), (0.0, 0.0), (0.02, 0.02), (0.03, 0.03), (-0.04, -0.04))
    assert [one.candidate for one in leading(found)] == ["D", "C", "B", "A", "E"]


def test_what_would_decide_is_said():
    found, said = decided((0.0006, 0.0008))
    needed = found.standings[0].queries_needed
    assert found.decisions == {"A": "undecided"}
    assert f"About {needed:,} queries would decide it." in as_text(replacing(found, said)[2])


def test_of_a_thousand_searches_by_counting():
    values = values_of([(0.02, 0.0)])
    found, _ = decided((0.02, 0.0))
    for metric, name in ((FIRST, "linear gain"), (SECOND, "exponential")):
        difference = values[metric][:, 1] - values[metric][:, 0]
        better, worse = (round(1000 * np.mean(sign * difference > 1e-12)) for sign in (1, -1))
        pattern = (
            rf"{better} \(\d+ to \d+\)( get a better first page)? and {worse} \(\d+ to \d+\)( a worse one)? by {name}"
        )
        assert re.search(pattern, searches(found, found.standings[0]))


@pytest.fixture(scope="module")
def comparison():
    rng = np.random.default_rng(0)
    labels = rng.choice(5, size=600 * 12, p=[0.5, 0.28, 0.14, 0.05, 0.03])
    scores = {
        f"<b>{name}": labels * taste + rng.normal(size=7200) for name, taste in zip("abc", (0.5, 0.8, 0.3), strict=True)
    }
    return gs.compare(scores, gs.Judgments(labels, group=[12] * 600), baseline="<b>a", rope=0.001, draws=1000)


def without_tags(page):
    return re.sub("<[^>]+>", "", page)


def test_the_page_shows_every_candidate_with_the_numbers_of_against(comparison, tmp_path):
    page = comparison.to_html(tmp_path / "r.html").read_text("utf-8")
    part = page[page.index('<section id="baseline">') : page.index('<section id="why">')]
    assert "Yes: ship &lt;b&gt;b in place of &lt;b&gt;a." in without_tags(page)
    assert "<b>" not in page
    assert re.findall(r'<bdi>(\S+)</bdi></th><td class="t">[^/]*<span class="tag m">baseline', page) == ["&lt;b&gt;a"]
    for one in comparison.against("<b>a").standings:
        assert f"&lt;b&gt;{one.candidate[3:]}</bdi>" in part
        for metric in comparison.primary:
            ends = [f"{end:+.4f}".replace("-", "−") for end in (one.lower[metric], one.upper[metric])]
            assert f"{metric}: {one.difference[metric]:+.4f}, in truth".replace("-", "−") in part
            assert " to ".join(ends) in part
            better = one.shares[metric]["better"]
            assert f"better {1000 * better.value:.0f} ({1000 * better.lower:.0f} to {1000 * better.upper:.0f})" in part
    assert "The decisions, in numbers" in page


def test_markdown_json_and_notebooks_say_the_same(comparison):
    answer = "Yes: ship &lt;b&gt;b in place of &lt;b&gt;a."
    markdown = comparison.to_markdown()
    assert markdown.startswith(f"# {answer}")
    assert "## Replace &lt;b&gt;a?" in markdown
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
    wide = comparison.to_json(baseline=comparison.against(name, rope=0.5))
    assert json.loads(wide)["against"]["rope"] == 0.5
    page = comparison.to_html(tmp_path / "r.html", baseline=name).read_text("utf-8")
    assert '<section id="baseline">' in page
    assert '<section id="baseline">' not in comparison.to_html(tmp_path / "s.html").read_text("utf-8")
    assert comparison.to_json() == plain


def test_the_pair_that_is_explained_is_the_candidate_and_the_baseline(comparison):
    assert comparison.content.pair[:2] == ("<b>b", "<b>a")


def test_a_baseline_that_is_no_model_is_refused_before_anything_is_ranked():
    judgments = gs.Judgments([1, 0] * 30, group=[2] * 30)
    with pytest.raises(ValueError, match="'prod' is not among the models"):
        gs.compare({"production": None, "b": None}, judgments, baseline="prod")
    with pytest.raises(ValueError, match="no candidate"):
        gs.compare({"production": None}, judgments, baseline="production")


def test_a_baseline_among_the_columns_of_a_table():
    polars = pytest.importorskip("polars")
    judgments = gs.Judgments([1, 0] * 30, group=[2] * 30)
    table = polars.DataFrame({"old": [0.5, 0.7] * 30, "new": [0.7, 0.5] * 30})
    assert gs.compare(table, judgments, baseline="old", draws=400).baseline == "old"
    with pytest.raises(ValueError, match="'prod' is not among the models"):
        gs.compare(table, judgments, baseline="prod")


def test_in_a_terminal_names_are_no_markup():
    names = ("[red]production", "[bold]new")
    values = values_of([(0.02, 0.02)])
    comparison = Comparison(values, names, ranges={}, baseline=names[0], draws=2000)
    console = Console(width=100, file=StringIO())
    console.print(decisions_table(comparison.content))
    shown = console.file.getvalue()
    assert "Against [red]production" in shown
    assert re.search(r"\[bold\]new +ship +\+0\.0", shown)
