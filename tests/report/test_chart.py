"""The data of the main chart, and names with special characters in all renderings."""

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
    "$\\frac{1$",
    "<b>bold</b>",
    "\x1b[31mred\x1b[0m",
    "\u202eevil\u202c",
    "\ue000b\ue001bold\ue002",
    "tail\ue001\ue002",
)


@pytest.fixture(scope="module")
def named(make):
    return make(names=NAMES)


def test_twelve_rows_have_the_choice_the_winners_and_the_smallest_worst_cases(make):
    comparison = make(30)
    verdict, chart = comparison.verdict, comparison.content.chart
    rows, rest = chart.fold()
    shown, worst = {row.model for row in rows}, {row.model: row.worst for row in chart.rows}
    needed = {verdict.safe_choice, *verdict.winners.values()}
    assert len(rows) == 12
    assert needed <= shown
    assert max(worst[model] for model in shown - needed) <= min(worst[model] for model in worst.keys() - shown)
    assert [row.model for row in rows] == [row.model for row in chart.rows if row.model in shown]
    possible = {model for models in verdict.best_sets.values() for model in models} - shown
    assert rest == f"18 more, {len(possible)} of them may be best by one metric or both"
    assert chart.fold(30) == (chart.rows, "")


def test_rows_that_are_left_out_against_a_baseline_are_counted_by_decision(make):
    content = make(30)._report_content(make(30).models[7])
    rows, rest = content.chart.fold()
    assert make(30).models[7] in {row.model for row in rows}
    outside = [one.decision for one in content.against.candidates if one.candidate not in {row.model for row in rows}]
    assert len(outside) == 18
    for decision in set(outside):
        assert f"{outside.count(decision)} {decision}" in rest


@pytest.mark.parametrize("margin", [0.002, 0.03])
def test_the_band_is_the_margin_and_every_mark_is_on_the_axis(make, margin):
    comparison = make(3, margin=margin)
    chart, against = comparison.content.chart, comparison._report_content(comparison.models[0]).chart
    assert (chart.band, against.band) == ((-margin, 0.0), (-margin, margin))
    for drawn in (chart, against):
        axis = drawn.axis()
        marks = [mark for row in drawn.rows for mark in row.marks]
        assert axis.low <= min(mark.lower for mark in marks)
        assert axis.high >= max(mark.upper for mark in marks)
        assert axis.low <= -margin


def test_labels_0_and_1_have_one_mark_per_row(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 3000)
    scores = {name: labels + noise * rng.normal(size=3000) for name, noise in (("a", 1), ("b", 1.2), ("c", 2))}
    comparison = gw.compare(scores, gw.Judgments(labels, group=[20] * 150), draws=1000)
    chart = comparison.content.chart
    assert [series.key for series in chart.series] == ["NDCG@10 (linear = exponential)"]
    assert {len(row.marks) for row in chart.rows} == {1}
    page = read(comparison.to_html(tmp_path / "r.html"))
    assert page.texts("caption")[0].startswith("NDCG@10: gap to the best")
    for text in (" ".join(page.texts("figure")), comparison.to_markdown(), comparison._repr_html_()):
        assert "With labels 0 and 1 both gains are the same" in text


@pytest.mark.parametrize(
    ("options", "stated"),
    [({}, "★: the safe choice."), ({"selected": "m1"}, "★: selected on the validation set."), ({"margin": 9.0}, None)],
)
def test_a_star_is_explained_once(from_values, tmp_path, options, stated):
    """In the headline or in the legend."""
    rng = np.random.default_rng(0)
    values = rng.random((60, 1)) + 0.1 * rng.normal(size=(60, 3))
    comparison = from_values(values, values + 0.1 * rng.normal(size=(60, 3)), **options)
    page = re.sub("<wbr>|<script.*?</script>", "", comparison.to_html(tmp_path / "page.html").read_text("utf-8"))
    terminal = " ".join(line.plain for line in chart_lines(comparison.content, 200))
    for text in (page, comparison.to_markdown(), terminal):
        assert text.count("★: ") == (stated is not None)
        assert (stated or "★") in text
    assert ("★ Choose" in comparison.to_markdown()) == (stated is None)


def test_the_star_of_a_baseline_is_on_what_to_ship_or_on_the_baseline(make):
    comparison = make(8)
    for name in comparison.models:
        content = comparison._report_content(name)
        (starred,) = [row.model for row in content.chart.rows if row.starred]
        shipped = [one.candidate for one in content.against.candidates if one.decision == "ship"]
        assert starred in (shipped or [name])
        for row in content.chart.rows:
            assert row.marks[0].value == pytest.approx(
                comparison.verdict.regrets["ndcg_linear@10"][name]
                - comparison.verdict.regrets["ndcg_linear@10"][row.model]
            )


class TestNames:
    def test_the_terminal(self, named):
        text = "\n".join(map(str, [*headline_lines(named.content), *chart_lines(named.content, 120, every=True)]))
        for name in NAMES[:5]:
            assert name in text
        assert not re.search("[\x1b\u202e\ue000-\ue002]", text)

    def test_pictures(self, named, tmp_path):
        picture = named.plot.leaderboard()
        picture.save(tmp_path / "picture.svg")  # Matplotlib would fail on a name that is no formula.
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


METRICS = ["ndcg_linear(empty=skip)@5", "ndcg_exp@5", "map"]


@pytest.fixture(scope="module")
def skipping():
    """A comparison under metrics of which the first skips queries."""
    rng = np.random.default_rng(5)
    labels = rng.choice(4, size=(200, 8), p=[0.7, 0.15, 0.1, 0.05])
    labels[:60] = 0
    judgments = gw.Judgments(labels.ravel(), group=[8] * 200)
    scores = {name: share * labels.ravel() + rng.normal(size=1600) for name, share in (("old", 0.5), ("new", 0.6))}
    return gw.compare(scores, judgments, METRICS, draws=500)


@pytest.fixture(scope="module")
def counted(skipping):
    """Return the values of the queries that both primary metrics have, (queries, models), by metric."""
    frame = skipping.frame()
    return frame[frame[METRICS[0]].notna()]


@pytest.mark.parametrize("metric", METRICS[:2])
def test_the_chart_is_of_the_queries_that_both_have(skipping, counted, metric, tmp_path):
    old, new = (counted[metric].xs(model, level="model").mean() for model in ("old", "new"))
    page = skipping.to_html(tmp_path / "report.html").read_text("utf-8")
    figure = page[page.index('<figure id="chart">') : page.index("</figure>")]
    gap = f"mean {min(old, new):.4f}, {abs(new - old):.3f} behind the best"
    assert f"{metric}: {gap}" in figure
    assert f"{metric}: {gap}" in skipping.plot.leaderboard().alt
    highest = f"{max(old, new):.4f} ({'new' if new > old else 'old'}, "
    assert highest in figure
    assert f"{metric}: mean {max(old, new):.4f}, " in figure


def test_the_terminal_says_how_many_queries_its_chart_has(skipping, counted):
    legend = " ".join(map(str, chart_lines(skipping.content, 110)))
    assert f"{len(counted) // 2} queries" in legend
    assert "200 queries" not in legend
