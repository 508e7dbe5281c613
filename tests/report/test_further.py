"""Segments and the gain path in the report of a comparison."""

import re

import numpy as np
import pandas as pd
import pytest

import gainwise as gw
from gainwise.data import simulate

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def comparison():
    rng = np.random.default_rng(0)
    labels = rng.choice(5, size=200 * 12, p=[0.5, 0.28, 0.14, 0.05, 0.03])
    scores = {name: labels * (0.4 + 0.2 * place) + rng.normal(size=2400) for place, name in enumerate("abc")}
    kind = np.where(np.arange(200) < 80, "head", "tail")
    return gw.compare(scores, gw.Judgments(labels, group=[12] * 200), segments={"kind": kind}, draws=1000)


def page_of(comparison, folder):
    return comparison.to_html(folder / "r.html").read_text("utf-8")


def test_every_segment_has_a_chart_with_its_own_numbers(comparison, tmp_path):
    page = page_of(comparison, tmp_path)
    part = page[page.index('<section id="segments">') : page.index('<section id="full">')]
    for segment in comparison.segments.parts:
        assert f"kind: {segment.label} <span" in part
        assert f"({segment.queries} queries, {100 * segment.share:.0f} %)" in part
        for regrets in segment.verdict.regrets.values():
            for regret in regrets.values():
                assert f"{regret:.3f} behind the best" in part or regret < 0.001
    assert comparison.segments.text.split(".")[0] in re.sub("<[^>]+>", "", page)
    assert "## Segments" in comparison.to_markdown()


def test_the_path_of_gains_is_in_the_report_if_the_leader_changes_and_it_is_cheap(tmp_path, monkeypatch):
    judgments = gw.Judgments([2, 1, 1, 0] * 40, group=[4] * 40)
    scores = {"top": [3, 1, 2, 4] * 40, "broad": [1, 4, 3, 2] * 40}
    section, metrics = '<section id="gains"', ["ndcg_linear@2", "ndcg_exp@2"]

    def page(limits, scores=scores):
        for name, limit in limits.items():
            monkeypatch.setattr(f"gainwise.report.content.{name}", limit)
        return page_of(gw.compare(scores, judgments, metrics, draws=1000), tmp_path)

    changing = page({})
    assert section in changing
    path = gw.compare(scores, judgments, metrics).gains()
    assert f"<p>{path.headline}.</p>" in changing
    assert section not in page({}, {"top": scores["top"], "worse": [0, 1, 2, 3] * 40})
    assert section not in page({"MAX_PATH_VALUES": 79})
    assert section in page({"MAX_PATH_VALUES": 80, "MAX_PATH_MODELS": 2})
    assert section not in page({"MAX_PATH_MODELS": 1})


def test_what_was_asked_stands_beside_the_query_and_is_never_markup(tmp_path):
    data = simulate(40, seed=1, mean_length=12)
    texts = {query: f"<b>shoes</b> {query} & socks" for query in data.qid.tolist()}
    judgments = gw.Judgments(data.labels, qid=data.qid, texts=texts)
    rng = np.random.default_rng(0)
    models = {"a": data.labels + rng.normal(size=len(data.labels)), "b": rng.normal(size=len(data.labels))}
    page = gw.compare(models, judgments).to_html(tmp_path / "r.html").read_text("utf-8")
    asked = re.findall(r'<strong><bdi>(\d+)</bdi></strong>.*?class="asked"><bdi>(.*?)</bdi>', page)
    assert len(asked) >= 25
    assert all(text == f"&lt;b&gt;shoes&lt;/b&gt; {query} &amp; socks" for query, text in asked)
    assert 'class="asked"' not in gw.compare(models, data.judgments()).to_html(tmp_path / "s.html").read_text("utf-8")


def test_titles_of_documents_stand_in_the_order_of_each_ranking(tmp_path):
    labels, titles = np.array([3, 0, 1, 2] * 30), [f"<i>{place}</i>" for place in range(120)]
    judgments = gw.Judgments(labels, group=[4] * 30, titles=titles)
    rng = np.random.default_rng(0)
    scores = {name: rng.normal(size=120) for name in "ab"}
    scores["a"][:4] = [1.0, -np.inf, 2.0, 1.0]
    comparison = gw.compare(scores, judgments)
    page = comparison.to_html(tmp_path / "r.html").read_text("utf-8")
    for row in re.findall(r'<tr id="random-(\d+)">(.*?)</tr>', page):
        query = int(row[0])
        cells = re.findall(r'<td data-k="([ab])">(.*?)</td>', row[1])
        assert sorted(name for name, _ in cells) == ["a", "b"]
        for name, cell in cells:
            shown = [int(title) for title in re.findall(r'title="&lt;i&gt;(\d+)&lt;/i&gt;"', cell)]
            here = range(4 * query, 4 * query + 4)
            expected = sorted((at for at in here if scores[name][at] > -np.inf), key=lambda at: -scores[name][at])
            assert shown == expected


def test_every_run_of_a_recipe_has_a_tick_where_its_mean_is(tmp_path):
    rng = np.random.default_rng(2)
    labels = rng.choice(4, size=80 * 10)
    judgments = gw.Judgments(labels, group=[10] * 80)
    tastes = {"a": 0.4, "b": 0.7, "c": 1.0}
    scores = {name: [labels * taste + rng.normal(size=800) for _ in range(4)] for name, taste in tastes.items()}
    comparison = gw.compare({**scores, "fixed": labels * 0.5}, judgments, draws=1000)
    metrics = comparison.primary
    page = page_of(comparison, tmp_path)
    chart = page[page.index('<figure id="chart">') : page.index("</figure>")]
    assert chart.count('<line class="run lin') == chart.count('<line class="run exp') == 12
    assert "single repeats" in chart
    for metric in metrics:
        best = max(comparison.leaderboard[metric])
        for name in tastes:
            means = [gw.evaluate(metric, judgments, one).mean[metric] for one in scores[name]]
            runs = comparison._repeat_distances[metric][name]
            assert runs == pytest.approx([best - mean for mean in means])
            assert np.mean(runs) == pytest.approx(comparison.verdict.regrets[metric][name])
        assert "fixed" not in comparison._repeat_distances[metric]


def test_documents_are_ranked_in_the_precision_of_the_metric(tmp_path):
    """In 32 bits, as in XGBoost, some scores are equal, and scores beyond the range are not retrieved."""
    labels, rng = np.array([0, 1, 2, 3] * 40), np.random.default_rng(0)
    judgments = gw.Judgments(labels, group=[4] * 40, titles=[f"grade {label}" for label in labels])
    models = {"near": 1.0 + 1e-12 * labels, "far": np.where(labels % 2, rng.normal(size=160), -1e300)}
    metrics = ["ndcg_exp(scores=float32)@3", "ndcg_linear(scores=float32)@3"]
    page = page_of(gw.compare(models, judgments, metrics, draws=1000), tmp_path)
    cells = re.findall(r'<span title="grade (\d)"><i class="g\d+">(.)</i></span>', page)
    assert len(cells) > 100
    assert all(grade == ("\u00b7" if title == "0" else title) for title, grade in cells)
    rows = re.findall(r'<tr id="random-\d+">.*?<td data-k="far">(.*?)</td>', page)
    assert len(rows) == 25
    assert all(sorted(re.findall(r'title="grade (\d)"', row)) == ["1", "3"] for row in rows)


def test_candidates_that_are_numbers_have_curves(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 160)
    models = {"1": rng.normal(size=160), "2": labels + rng.normal(size=160)}
    comparison = gw.compare(models, gw.Judgments(labels, group=[4] * 40), draws=1000)
    number = np.arange(1, 20)
    comparison.curves = pd.concat(
        pd.DataFrame(
            {"candidate": name, "round": number, "metric": metric, "value": -abs(number - 5 * lane - name) / 100}
        )
        for name in (1, 2)
        for lane, metric in enumerate(comparison.primary, start=1)
    )
    page = page_of(comparison, tmp_path)
    assert "The largest gap is that of <bdi>1</bdi>: rounds" in re.sub("</?(span|strong)[^>]*>", "", page)
    assert comparison.plot.curves(1).title.startswith("1: best at round")
    assert comparison.plot.curves().title[0] in "12"


def words(page):
    return re.sub("<[^>]+>", "", page)


def noisy(labels, metrics=("ndcg_linear@5", "ndcg_exp@5"), models=2):
    """Compare models of 40 queries, each better than the one before."""
    models = {f"m{k}": labels * (0.3 + k) + np.random.default_rng(k).normal(size=len(labels)) for k in range(models)}
    return gw.compare(models, gw.Judgments(labels, group=[20] * 40), metrics, draws=200)


LABELS = np.random.default_rng(0).integers(0, 4, 800)


def test_other_choices_appear_with_five_models(tmp_path):
    models = {f"m{k}": LABELS * 0.3 * k + np.random.default_rng(k).normal(size=800) for k in range(5)}
    judgments, metrics = gw.Judgments(LABELS, group=[20] * 40), ("ndcg_linear@5", "ndcg_exp@5")
    few = gw.compare({name: models[name] for name in ("m0", "m1", "m2", "m3")}, judgments, metrics, draws=200)
    assert '<section id="sensitivity">' not in page_of(few, tmp_path)
    comparison = gw.compare(models, judgments, metrics, draws=200)
    page = page_of(comparison, tmp_path)
    assert comparison.sensitivity().text in words(page[page.index('<section id="sensitivity">') :])
    assert "| cutoff 10 |" in comparison.to_markdown()


def test_why_counts_ranges_of_grades_and_queries_left_out(tmp_path):
    amounts = np.random.default_rng(2).gamma(1, 2, 800).round(3)
    amounts[:100] = 0
    page = words(page_of(noisy(amounts, metrics=["ndcg_linear(empty=skip)@5", "dcg_linear@5"]), tmp_path))
    assert re.search(r"gains 0\.\d+ on \d of 10 ranges of grades", page)
    assert "On the 35 queries that all these metrics have. 5 more are left out." in page


def test_narrow_rows_name_no_parameter_that_a_model_lacks(tmp_path, make):
    names = ("lgb leaves=7", "lgb leaves=15", "x gain=2", "x gain=linear")
    page = page_of(make.__wrapped__(4, queries=60, names=names), tmp_path)
    cells = re.findall(r'class="n"( data-k="\w+")?><bdi>([^<]*)</bdi>', page)
    assert sum(bool(head) for head, _ in cells) == 4
    assert all(bool(head) == bool(text) for head, text in cells if head or text not in ("lgb", "x"))


@pytest.mark.parametrize("kind", ["fold", "repeat"])
def test_several_trainings_of_a_candidate_are_called_by_their_name(tmp_path, make, kind):
    comparison = make.__wrapped__(3, queries=60)
    first, second = comparison.metrics[:2]
    comparison.curves = pd.DataFrame(
        [
            (comparison.models[0], f"{kind} {number}", rounds, metric, value)
            for number in (1, 2)
            for metric, values in ((first, [0.1, 0.2, 0.4]), (second, [0.1, 0.4, 0.2 * number]))
            for rounds, value in enumerate(values, 1)
        ],
        columns=["candidate", "fold", "round", "metric", "value"],
    )
    page = page_of(comparison, tmp_path)
    assert f"({kind} 1): rounds" in re.sub("<[^>]+>", "", page)
    assert "One line and one mark per training." in page
    assert f"In {kind} 1, {first} is best at round 3" in page
