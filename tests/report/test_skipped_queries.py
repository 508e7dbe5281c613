"""If a metric skips queries, page, Markdown, terminal and picture contain the same numbers."""

import numpy as np
import pytest

import gainwise as gw
from gainwise.report.text import chart_lines

METRICS = ["ndcg_linear(empty=skip)@5", "ndcg_exp@5", "map"]


@pytest.fixture(scope="module")
def comparison():
    rng = np.random.default_rng(5)
    labels = rng.choice(4, size=(200, 8), p=[0.7, 0.15, 0.1, 0.05])
    labels[:60] = 0
    judgments = gw.Judgments(labels.ravel(), group=[8] * 200)
    scores = {name: share * labels.ravel() + rng.normal(size=1600) for name, share in (("old", 0.5), ("new", 0.6))}
    return gw.compare(scores, judgments, METRICS, draws=500)


@pytest.fixture(scope="module")
def counted(comparison):
    """Return the values of the queries that both primary metrics have, (queries, models), by metric."""
    frame = comparison.frame()
    return frame[frame[METRICS[0]].notna()]


@pytest.mark.parametrize("metric", METRICS[:2])
def test_the_chart_is_of_the_queries_that_both_have(comparison, counted, metric, tmp_path):
    old, new = (counted[metric].xs(model, level="model").mean() for model in ("old", "new"))
    page = comparison.to_html(tmp_path / "report.html").read_text("utf-8")
    figure = page[page.index('<figure id="chart">') : page.index("</figure>")]
    gap = f"mean {min(old, new):.4f}, {abs(new - old):.3f} behind the best"
    assert f"{metric}: {gap}" in figure
    assert f"{metric}: {gap}" in comparison.plot.leaderboard().alt
    highest = f"{max(old, new):.4f} ({'new' if new > old else 'old'}, "
    assert highest in figure
    assert f"{metric}: mean {max(old, new):.4f}, " in figure


def test_the_terminal_says_how_many_queries_its_chart_has(comparison, counted):
    legend = "\n".join(map(str, chart_lines(comparison.content, 110)))
    assert f"{len(counted) // 2} queries" in legend
    assert "200 queries" not in legend
