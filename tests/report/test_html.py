"""The HTML report: its structure, escaped texts, and size."""

import base64
import hashlib
import re

import numpy as np
import pytest
from tests.report.pages import read

import gainwise as gw
from gainwise.report.content import choose_pair
from gainwise.report.text import chart_lines

pytestmark = pytest.mark.slow


def with_empty_queries():
    """Weighted queries, alternately with ten documents and without documents."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 300)
    judgments = gw.Judgments(labels, group=[10, 0] * 30, weight=rng.integers(1, 4, 60))
    scores = {"a": np.minimum(labels, 1) + rng.normal(size=300), "b": labels + 2.0 * rng.normal(size=300)}
    return gw.compare(scores, judgments, draws=1000)


WITHOUT_WHY = ["queries", "full"]

UNUSUAL = {
    "one query": (lambda _, from_values: from_values([[0.1, 0.2]], [[0.2, 0.1]]), ["full"]),
    "identical models": (lambda _, from_values: from_values([[0.1, 0.1]] * 40, [[0.1, 0.1]] * 40), ["full"]),
    "one model": (lambda _, from_values: from_values([[0.5]] * 40, [[0.25]] * 40), ["full"]),
    "one metric": (lambda make, _: make(4, metrics=("map",)), ["full"]),
    "metrics without grades": (lambda make, _: make(4, metrics=("map", "mrr")), WITHOUT_WHY),
    "queries without documents": (lambda *_: with_empty_queries(), WITHOUT_WHY),
}


@pytest.fixture(scope="module")
def report(make, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    make(8, curves=True).to_html(path, queries=10)
    return read(path)


@pytest.mark.parametrize("which", UNUSUAL)
def test_unusual_comparisons_are_reported_in_every_form(make, from_values, which, tmp_path):
    compare, sections = UNUSUAL[which]
    comparison = compare(make, from_values)
    page = read(comparison.to_html(tmp_path / "r.html"))
    assert len(page.all("h1")) == 1
    assert [element["id"] for element in page.all("section")] == sections
    texts = [*page.texts("body"), *(str(value) for element in page.elements for value in element.values())]
    texts += [comparison.to_markdown(), comparison._repr_html_(), *map(str, chart_lines(comparison.content, 100))]
    for text in texts:
        assert not re.search(r"\b(nan|inf)\b", text), text
    if which == "queries without documents":
        rows = query_rows(page, "random")
        empty = [row for row in rows if int(row["query"]) % 2]
        assert len(rows) == 25
        assert empty
        assert all(row["cells"] == [""] * 3 for row in empty)


def test_every_number_of_the_chart_is_that_of_the_verdict(make, report):
    """Means equal plain arithmetic, and distances and bounds equal the verdict, in the order of the means."""
    comparison = make(8)
    verdict = comparison.verdict
    rows = [row for row in report.rows if len(row) > 2][1:9]
    means = {metric: comparison.values[metric].mean(axis=0) for metric in verdict.metrics}
    order = np.argsort(-means["ndcg_linear@10"], kind="stable")
    for row, place in zip(rows, order, strict=True):
        name = comparison.models[place]
        assert row[0].strip().removeprefix("★") == name
        worst = max(by[name] for by in verdict.regrets_upper.values())
        assert 0 <= float(row[-1].removeprefix("−")) - worst < 0.001
        for metric in verdict.metrics:
            regret = means[metric].max() - means[metric][place]
            gap, bounds = "0" if regret < 1e-9 else f"{regret:.3f}", [r"(\d\S*)", "to", r"(\d[^;]*)"]
            pattern = [re.escape(f"{metric}: mean {means[metric][place]:.4f}, {gap} behind"), *bounds, "(may|ruled)"]
            lower, upper, state = re.search(".*? ".join(pattern), row[1]).groups()
            assert 0 <= verdict.regrets_lower[metric][name] - float(lower) < 0.001
            assert 0 <= float(upper) - verdict.regrets_upper[metric][name] < 0.001
            assert (state == "ruled") == (name not in {*verdict.best_sets[metric], *verdict.common_best})


def test_pictures_are_hidden_or_say_what_they_show(report):
    pictures = [element for element in report.all("svg") if "svg" not in element["within"]]
    assert len(pictures) >= 20
    for picture in pictures:
        if "role" in picture:
            assert picture["role"] == "img"
            assert any(letter.isdigit() for letter in picture["aria-label"])
        else:
            assert picture["aria-hidden"] == "true"
    drawn = report.all("img")
    assert len(drawn) == 3  # gains, other choices and curves
    assert all(any(letter.isdigit() for letter in picture["alt"]) for picture in drawn)


def test_ids_are_unique_and_references_lead_somewhere(report):
    ids = [element["id"] for element in report.elements if "id" in element]
    assert len(ids) == len(set(ids))
    targets = {element["href"][1:] for element in report.elements if element.get("href", "").startswith("#")}
    assert targets <= set(ids)
    assert {"chart", "gains", "queries", "when", "full"} <= targets


def query_rows(page, which):
    start = page.elements.index(page.all("tbody", **{"data-k": which})[0])
    rows = []
    for element in page.elements[start + 1 :]:
        if element["tag"] == "tbody" or element["tag"] == "section":
            break
        if element["tag"] == "tr":
            rows.append({"query": "", "cells": [], "words": ""})
        elif element["tag"] == "bdi" and rows:
            rows[-1]["query"] = element["text"]
        elif element.get("class", "").startswith("gr"):
            rows[-1]["cells"].append(element["text"])
        elif element.get("class") == "sr":
            rows[-1]["words"] = element["text"]
    return rows


def test_contradictory_queries_stand_with_both_rankings_and_their_differences(report, make):
    comparison = make(8)
    rows = query_rows(report, "contradictory")
    pair = choose_pair(comparison)
    table = comparison.queries(pair.first, pair.second, most=10)
    assert [row["query"] for row in rows] == [str(query) for query in table["query"]]
    for row, expected in zip(rows, table.to_dict("records"), strict=True):
        labels = (expected[f"labels {pair.second}"], expected[f"labels {pair.first}"])
        assert row["cells"][:2] == ["".join(map(str, ranked)).replace("0", "·") for ranked in labels]
        judgments = comparison.rankings.judgments
        own = judgments.labels[judgments.query_of_rows == list(judgments.query_ids).index(expected["query"])]
        assert row["cells"][2] == "".join(f"{label:g}" for label in -np.sort(-own)[:10]).replace("0", "·")
        shown = [f"{expected[f'difference {metric}']:+.3f}".replace("-", "−") for metric in comparison.verdict.metrics]
        assert row["words"] == ", ".join(shown)


def test_contradictory_queries_come_first_then_a_random_sample(report):
    bodies = [element["data-k"] for element in report.all("tbody") if "data-k" in element]
    assert bodies == ["contradictory", "random"]
    drawn = [row["query"] for row in query_rows(report, "random")]
    assert len(drawn) == len(set(drawn)) == 10
    assert drawn != [row["query"] for row in query_rows(report, "contradictory")]


def test_the_largest_differences_come_first_where_no_query_is_contradictory(tmp_path):
    labels, rng = np.tile([0, 1, 1, 0], 40), np.random.default_rng(0)
    comparison = gw.compare({name: rng.normal(size=160) for name in "ab"}, gw.Judgments(labels, group=[4] * 40))
    values = comparison.values["ndcg_exp@10"]
    order = np.argsort(-np.abs(values[:, 0] - values[:, 1]).round(9), kind="stable")
    rows = query_rows(read(comparison.to_html(tmp_path / "r.html", queries=5)), "largest")
    assert [row["query"] for row in rows] == [str(place) for place in order[:5]]


def test_the_section_of_queries_counts_those_on_which_the_named_models_differ(tmp_path):
    """A third model with nearly the same scores is the rival: on most queries, no metric prefers either."""
    rng, labels = np.random.default_rng(3), np.random.default_rng(0).integers(0, 5, 2000)
    best = labels + 1.5 * rng.normal(size=2000)
    scores = {"best": best, "other": labels + 1.6 * rng.normal(size=2000), "copy": best + 0.01 * rng.normal(size=2000)}
    judgments = gw.Judgments(labels, group=[10] * 200, weight=np.repeat([1.0, 0.0], 100))
    for models in (scores, {name: scores[name] for name in ("best", "copy")}, dict.fromkeys("ab", best)):
        comparison = gw.compare(models, judgments)
        page = read(comparison.to_html(tmp_path / "r.html"))
        first, second = comparison.content.pair[:2]
        leads = [
            table[:100, comparison.models.index(first)] - table[:100, comparison.models.index(second)]
            for table in comparison.values.values()
        ]
        opposite, differ = np.sum(leads[0] * leads[1] < 0), np.sum(np.abs(leads).max(axis=0) > 1e-12)
        text = f"On {opposite} of 100 queries the two metrics prefer different ones of {first} and {second}."
        if not opposite:
            text = text.replace(f"On {opposite} of 100 queries the", "On no query do the")
            text = text.replace(f"{second}.", f"{second}, which differ on {differ} of 100 queries.")
        assert text in " ".join(page.texts("p"))


def test_nothing_is_loaded_and_nothing_is_styled_or_scripted_inline(report):
    for element in report.elements:
        assert "style" not in element or element["tag"] == "style"
        assert not any(name.startswith("on") for name in element)
        assert "action" not in element
        assert all(element.get(name, "data:").startswith("data:") for name in ("src", "srcset"))
        if element["tag"] != "use" and "href" in element:
            assert re.match(r"(#|data:,|[^:/]+$)", element["href"])
    assert len(report.all("script")) == len(report.all("style")) == 1
    assert "http" not in re.sub(r"http-equiv", "", "".join(report.texts("script") + report.texts("style")))
    assert "@import" not in report.texts("style")[0]


def test_the_policy_allows_exactly_the_style_and_the_script_of_the_page(report):
    policy = report.all("meta", **{"http-equiv": "Content-Security-Policy"})[0]["content"]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        text = report.all(tag)[0]["text"].encode()
        digest = base64.b64encode(hashlib.sha256(text).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_the_data_stand_beside(tmp_path, make):
    make(2).to_html(tmp_path / "r.html", queries=10_000)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "r.json"]
    assert (tmp_path / "r.json").read_text("utf-8") == make(2).to_json(queries=10_000)


def test_the_same_comparison_gives_the_same_bytes(tmp_path, make):
    pages = [make.__wrapped__(3, queries=60, curves=True).to_html(tmp_path / "r.html").read_bytes() for _ in range(2)]
    assert pages[0] == pages[1]


@pytest.mark.parametrize("case", ["winners", "conflict", "neither"])
def test_which_pair_is_explained(from_values, case):
    noise = 1e-3 * np.random.default_rng(0).random((50, 1))
    means = {
        "winners": ([0.5, 0.4, 0.1], [0.3, 0.6, 0.1], ("m0", "m1")),
        # m1 and m2 are in opposite order, but neither is a candidate for the choice.
        "conflict": ([0.9, 0.3, 0.4], [0.9, 0.45, 0.3], ("m0", "m1")),
        "neither": ([0.9, 0.3, 0.4], [0.9, 0.3, 0.4], ("m0", "m2")),
    }
    first, second, expected = means[case]
    pair = choose_pair(from_values(noise + first, noise + second))
    assert (pair.first, pair.second) == expected


def test_the_rival_is_one_that_may_still_be_best(from_values):
    rng = np.random.default_rng(3)
    spread, means = np.array([0.0, 0.3, 1e-3]), np.array([0.9, 0.88, 0.89])
    noise = rng.normal(size=(60, 3))
    values = means + spread * (noise - noise.mean(axis=0))
    comparison = from_values(values, values)
    assert set(comparison.verdict.common_best) == {"m0", "m1"}  # m2 is closer, but ruled out.
    pair = choose_pair(comparison)
    assert (pair.first, pair.second) == ("m0", "m1")
    assert "still possible" in pair.reason


def test_none_is_no_title_no_data_and_no_date(make, tmp_path):
    pages = [tmp_path / name / "r.html" for name in "ab"]
    for page, options in zip(pages, ({}, dict.fromkeys(("title", "data", "date"))), strict=True):
        page.parent.mkdir()
        make(2).to_html(page, queries=2, **options)
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_a_report_of_thirty_models_is_small(make, tmp_path):
    assert make(30, curves=True).to_html(tmp_path / "r.html").stat().st_size <= 400_000
