"""The data of the main chart, and names with special characters in all renderings."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.report.pages import read

import gainwise as gw
from gainwise.report.text import chart_lines, headline_lines

pytestmark = pytest.mark.slow

NAMES = (
    "[/]",
    "[lambda]",
    "$x$",
    "<b>bold</b>",
    "\x1b[31mred\x1b[0m",
    "\u202eevil\u202c",
    "\ue000b\ue001bold\ue002",
    "tail\ue001\ue002",
)


@pytest.fixture(scope="module")
def named(make):
    return make(names=NAMES)


def test_rows_in_question_are_never_folded(make):
    chart = make(30).content.chart
    rows, rest = chart.folded(1)
    assert rows == tuple(row for row in chart.rows if row.in_question)
    assert rest.startswith(f"{30 - len(rows)} more")
    assert chart.folded(30) == (chart.rows, "")


def test_labels_0_and_1_have_one_panel(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 3000)
    scores = {name: labels + noise * rng.normal(size=3000) for name, noise in (("a", 1), ("b", 1.2), ("c", 2))}
    comparison = gw.compare(scores, gw.Judgments(labels, group=[20] * 150), draws=1000)
    chart = comparison.content.chart
    assert [(panel.caption, panel.libraries) for panel in chart.panels] == [("NDCG@10", "linear = exponential")]
    page = read(comparison.to_html(tmp_path / "r.html"))
    assert [head["text"].split()[0] for head in page.all("th", scope="col")[:3]] == ["model", "NDCG@10", "worst"]
    for text in (" ".join(page.texts("figure")), comparison.to_markdown(), comparison._repr_html_()):
        assert "With labels 0 and 1 both gains are the same" in text


def test_the_star_of_a_baseline_is_on_what_to_ship_or_on_the_baseline(make):
    comparison = make(8)
    for name in comparison.models:
        content = comparison._report_content(name)
        (starred,) = [row.model for row in content.chart.rows if row.starred]
        shipped = [one.candidate for one in content.against.candidates if one.decision == "ship"]
        assert starred in (shipped or [name])
        for row in content.chart.rows:
            assert row.cells[0].value == pytest.approx(
                comparison.verdict.regrets["ndcg_linear@10"][name]
                - comparison.verdict.regrets["ndcg_linear@10"][row.model]
            )


class TestNames:
    def test_the_terminal(self, named):
        text = "\n".join(map(str, [*headline_lines(named.content), *chart_lines(named.content, 120, every=True)]))
        for name in NAMES[:4]:
            assert name in text
        assert not re.search("[\x1b\u202e\ue000-\ue002]", text)

    def test_pictures(self, named):
        picture = named.plot.leaderboard()
        texts = [text.get_text() for text in picture.ax.texts]
        assert any("$x$" in text for text in texts)
        assert not any(text.get_parse_math() for text in picture.ax.texts)
        assert not re.search("[\x1b\u202e\ue000-\ue002]", " ".join(texts) + picture.alt)


def test_title_data_and_date_are_on_the_page(make, tmp_path):
    page = make(3).to_html(tmp_path / "r.html", title="<i>Which</i>?", data="300 queries", date="1 May 2026")
    text = page.read_text("utf-8")
    assert "&lt;i&gt;Which&lt;/i&gt;?" in text
    assert "300 queries" in text
    assert "Compared on 1 May 2026 with gainwise" in text
