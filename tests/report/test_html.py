"""The HTML report, parsed as a browser would: what stands where, what is escaped, how large it is."""

from __future__ import annotations

import base64
import csv
import hashlib
import itertools
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import gainsay as gs
from gainsay.metrics.base import Facts
from gainsay.report.content import chosen_pair

VOID = {"meta", "link", "br", "img", "source", "input", "hr"}


class Page(HTMLParser):
    """Every element with its attributes, its text and its ancestors; elements must be closed in order."""

    def __init__(self, markup):
        super().__init__()
        self.elements, self._open = [], []
        self.feed(markup)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, **dict(attrs), "text": "", "within": [parent["tag"] for parent in self._open]}
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self._open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def all(self, tag, **attributes):
        return [
            element
            for element in self.elements
            if element["tag"] == tag and all(element.get(name) == value for name, value in attributes.items())
        ]

    def texts(self, tag, **attributes):
        return [" ".join(element["text"].split()) for element in self.all(tag, **attributes)]


def read(path):
    return path.read_text("utf-8")


@pytest.fixture(scope="module")
def report(make, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    make(8, curves=True).to_html(path, queries=10)
    return Page(read(path))


@pytest.fixture(scope="module")
def hostile_file(hostile, tmp_path_factory):
    return hostile.to_html(tmp_path_factory.mktemp("hostile") / "a&b <i>.html", queries=5)


def test_question_answer_and_chart_come_first_then_the_sections_in_order(report):
    assert [element["id"] for element in report.all("section")] == ["why", "queries", "gains", "when", "full"]
    order = [element for element in report.elements if element["tag"] in ("h1", "figure", "section")]
    assert [element["tag"] for element in order[:2]] == ["h1", "figure"]
    assert order[1]["id"] == "chart"


def test_the_headline_answers_and_the_paragraph_is_folded(report, make):
    verdict = make(8).verdict
    assert report.texts("h1") == report.texts("title")[:1]
    assert report.texts("h1")[0].startswith({"genuine": "Yes: ", "agree": "No: "}.get(verdict.kind, "Not proven: "))
    asked = "Do ndcg_linear@10 and ndcg_exp@10 disagree about the best model? 8 models, 300 queries"
    assert report.texts("p", **{"class": "q"}) == [asked]
    (paragraph,) = [element for element in report.all("p") if element["text"] == verdict.text]
    assert "details" in paragraph["within"]
    assert not [element for element in report.all("details") if "open" in element]


def test_headings_do_not_skip_levels(report):
    levels = [int(element["tag"][1]) for element in report.elements if re.fullmatch("h[1-6]", element["tag"])]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_the_scope_is_stated(report):
    assert "The queries are the random sample and the models are fixed" in report.texts("details", id="method")[0]
    assert "training seed" in report.texts("details", id="verdict")[0]


def test_tables_have_heads_for_columns_and_rows(report):
    tables = report.all("table")
    assert len(tables) >= 8
    assert len(report.all("thead")) == len(tables)
    assert len(report.all("caption")) == len([table for table in tables if table["class"] == "tab"])
    heads = [head for head in report.all("th") if "thead" in head["within"]]
    assert all(head["scope"] == "col" and head["text"] for head in heads)
    assert all(head["scope"] == "row" for head in report.all("th") if "tbody" in head["within"])
    assert [head["text"] for head in heads if "aria-sort" in head] == ["linear", "ndcg_linear@10"]


def chart_rows(page):
    """The rows of the main chart: name, the hidden sentence with the exact numbers, and the means."""
    start = page.elements.index(page.all("table", **{"class": next(t["class"] for t in page.all("table"))})[0])
    rows = []
    for element in page.elements[start:]:
        if element["tag"] == "tfoot":
            return rows
        if element["tag"] == "th" and element.get("scope") == "row":
            rows.append([element["text"], "", []])
        elif element.get("class") == "sr" and rows:
            rows[-1][1] = element["text"]
        elif element["tag"] == "td" and element.get("class", "").startswith("v "):
            rows[-1][2].append(element["text"])
    return rows


@pytest.mark.parametrize("models", [3, 8])
def test_every_number_of_the_chart_is_that_of_the_verdict(make, models, tmp_path):
    """Means beside plain arithmetic, distances and bounds beside the verdict, in the order of the means."""
    comparison = make(models)
    verdict = comparison.verdict
    rows = chart_rows(Page(read(comparison.to_html(tmp_path / "r.html"))))
    means = {metric: comparison.values[metric].mean(axis=0) for metric in verdict.metrics}
    order = np.argsort(-means["ndcg_linear@10"], kind="stable")
    assert [name for name, _, _ in rows] == [comparison.models[place] for place in order]
    for (name, said, shown), place in zip(rows, order, strict=True):
        assert shown == [f"{means[metric][place]:.4f}" for metric in verdict.metrics]
        for metric in verdict.metrics:
            regret = means[metric].max() - means[metric][place]
            lower, upper = verdict.regrets_lower[metric][name], verdict.regrets_upper[metric][name]
            assert all(number == 0 or number > 5e-5 for number in (regret, lower, upper))  # four places tell them apart
            told = f"{metric}: {regret:.4f} behind the best, in truth between {lower:.4f} and {upper:.4f}; "
            assert told + ("may be best" if name in verdict.best_sets[metric] else "ruled out as best") in said


def test_marks_stand_where_their_numbers_are(make, tmp_path):
    comparison = make(3)
    verdict = comparison.verdict
    page = Page(read(comparison.to_html(tmp_path / "r.html")))
    widest = 1.02 * max(max(by.values()) for by in verdict.regrets_upper.values())
    marks = [element for element in page.all("circle") if element["text"].count("ndcg_linear@10: ") == 1]
    found = {mark["text"].split("\n")[0]: mark for mark in marks if "behind the best" in mark["text"]}
    assert set(found) == set(comparison.models)
    for name, mark in found.items():
        regret = verdict.regrets["ndcg_linear@10"][name]
        assert float(mark["cx"].rstrip("%")) == pytest.approx(2.2 + 95.6 * regret / widest, abs=0.006)
        assert ("open" in mark["class"].split()) == (name not in verdict.best_sets["ndcg_linear@10"])


def test_all_pairs_are_in_a_table(report):
    assert "Pairs of models (28)" in report.texts("summary")
    start = report.elements.index(report.all("details", id="pairs")[0])
    stop = report.elements.index(report.all("details", id="parts")[0])
    rows = [
        element for element in report.elements[start:stop] if element["tag"] == "tr" and "tbody" in element["within"]
    ]
    assert len(rows) == 28


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
    assert len(drawn) == 4  # why, gains, when
    assert all(any(letter.isdigit() for letter in picture["alt"]) for picture in drawn)


def test_ids_are_unique_and_references_lead_somewhere(report):
    ids = [element["id"] for element in report.elements if "id" in element]
    assert len(ids) == len(set(ids))
    targets = {element["href"][1:] for element in report.elements if element.get("href", "").startswith("#")}
    assert targets <= set(ids)
    assert {"chart", "why", "queries", "gains", "when", "full"} <= targets


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
    pair = chosen_pair(comparison)
    table = comparison.queries(pair.first, pair.second, most=10)
    assert [row["query"] for row in rows] == [str(query) for query in table["query"]]
    for row, expected in zip(rows, table.to_dict("records"), strict=True):
        first, second, ideal = (
            "".join(str(label) for label in labels).replace("0", "·")
            for labels in (
                expected[f"labels {pair.first}"],
                expected[f"labels {pair.second}"],
                sorted(labels_of(comparison, expected["query"]), reverse=True)[:10],
            )
        )
        assert row["cells"] == [second, first, ideal]
        shown = [f"{expected[f'difference {metric}']:.4f}".replace("-", "−") for metric in comparison.verdict.metrics]
        assert row["words"] == ", ".join(shown)


def labels_of(comparison, query):
    judgments = comparison.rankings.judgments
    place = list(judgments.query_ids).index(query)
    return [int(label) for label in judgments.labels[judgments.query_of_rows == place]]


def test_a_random_sample_comes_first_and_the_largest_differences_after(report, make):
    comparison = make(8)
    bodies = [element["data-k"] for element in report.all("tbody") if "data-k" in element]
    assert bodies == ["random", "contradictory", "first", "second"]
    pair = chosen_pair(comparison)
    columns = [comparison.models.index(name) for name in pair[:2]]
    tables = [comparison.values[metric] for metric in comparison.primary]
    differences = sum(table[:, columns[0]] - table[:, columns[1]] for table in tables)
    order = [str(comparison.rankings.judgments.query_ids[place]) for place in np.argsort(-differences, kind="stable")]
    assert [row["query"] for row in query_rows(report, "first")][:5] == order[:5]
    assert [row["query"] for row in query_rows(report, "second")][:5] == order[::-1][:5]
    drawn = [row["query"] for row in query_rows(report, "random")]
    assert len(drawn) == len(set(drawn)) == 10
    assert drawn != [row["query"] for row in query_rows(report, "contradictory")]


def test_bars_of_why_sum_to_what_is_written(report, make):
    comparison = make(8)
    pair = chosen_pair(comparison)
    why = comparison.attribution(pair.first, pair.second, comparison.primary)
    (told,) = [element["alt"] for element in report.all("img") if "grade" in element["alt"]]
    for metric in why.metrics:
        assert f"{metric}: {why.difference[metric]:+.4f} in all".replace("-", "−") in told
        largest = why.grades_by_ranks.loc[metric].stack().abs().idxmax()
        assert f"grade {largest[0]} at rank {largest[1]}" in told


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


def test_hostile_names_are_shown_and_never_markup(hostile_file, hostile):
    page = Page(read(hostile_file))
    assert len(page.all("script")) == 1
    assert not page.all("b")
    assert all(re.fullmatch(r"g\d+|tint", element["class"]) for element in page.all("i"))
    names = page.texts("bdi")
    for name in hostile.models[:2] + hostile.models[3:5] + hostile.models[7:10]:
        assert name in names
    titles = [element["title"] for element in page.elements if "title" in element]
    assert hostile.models[5] in titles
    assert "x" * 500 in titles
    assert "line break\ufffd\ufffdevil" in names
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", read(hostile_file))


def test_hostile_names_stay_whole_where_they_are_pointed_at(hostile_file):
    page = Page(read(hostile_file))
    texts = page.texts("title")
    for name in ("🚀 emoji 你好", "מודל עברי", "</title></svg></style>", "{{ 7 * 7 }}"):
        assert any(name in text for text in texts), name


def test_a_name_written_from_right_to_left_is_isolated_in_sentences(hostile_file):
    assert "\u2068מודל עברי\u2069" in read(hostile_file)


def test_other_queries_are_in_a_file_beside_that_no_spreadsheet_runs(tmp_path, make):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 40 * 12)
    scores = {"a": np.minimum(labels, 1) + rng.normal(size=480), "b": labels + 2.0 * rng.normal(size=480)}
    comparison = gs.compare(scores, gs.Judgments(labels, qid=np.repeat([f"=q{number}" for number in range(40)], 12)))
    path = comparison.to_html(tmp_path / "r.html", queries=2)
    pair = chosen_pair(comparison)
    expected = comparison.queries(pair.first, pair.second, most=40)
    assert len(expected) > 2
    with open(tmp_path / "r.queries.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["query"] for row in rows] == [f"'{query}" for query in expected["query"]]
    assert rows[0][f"labels {pair.first}"].split() == [str(label) for label in expected[f"labels {pair.first}"][0]]
    assert Page(read(path)).all("a", href="r.queries.csv")


def test_the_data_stand_beside_and_queries_only_where_some_are_left_out(tmp_path, make):
    make(2).to_html(tmp_path / "r.html", queries=10_000)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "r.json"]
    assert (tmp_path / "r.json").read_text("utf-8") == make(2).to_json(queries=10_000)


def test_the_same_comparison_gives_the_same_bytes(tmp_path, make):
    first = make(8, curves=True).to_html(tmp_path / "r.html").read_bytes()
    again = make.__wrapped__(8, curves=True)
    assert again is not make(8, curves=True)
    assert again.to_html(tmp_path / "r.html").read_bytes() == first


def test_values_without_scores_are_reported_without_why_and_queries(tmp_path, from_values):
    rng = np.random.default_rng(1)
    page = Page(read(from_values(rng.random((60, 3)), rng.random((60, 3))).to_html(tmp_path / "r.html")))
    assert [element["id"] for element in page.all("section")] == ["full"]
    assert "without the scores of the models" in page.texts("details", id="method")[0]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([[0.1, 0.2]], [[0.2, 0.1]]),
        ([[0.1, 0.1]] * 40, [[0.1, 0.1]] * 40),
        ([[0.5]] * 40, [[0.25]] * 40),
    ],
    ids=["one query", "identical models", "one model"],
)
def test_degenerate_comparisons_are_reported(tmp_path, from_values, first, second):
    page = Page(read(from_values(first, second).to_html(tmp_path / "r.html")))
    assert len(page.all("h1")) == 1
    for text in (*page.texts("body"), *(str(value) for element in page.elements for value in element.values())):
        assert not re.search(r"\b(nan|inf)\b", text), text


def test_a_single_metric_is_reported_without_a_verdict(tmp_path, make):
    page = Page(read(make(4, metrics=("map",)).to_html(tmp_path / "r.html")))
    assert re.search(r"best by map\.$", page.texts("h1")[0])
    assert "is the only metric here" in page.texts("details", id="method")[0]
    assert not page.all("details", id="pairs")
    assert [element["id"] for element in page.all("section")] == ["full"]


def test_metrics_that_cannot_be_split_by_document_are_reported(tmp_path, make):
    page = Page(read(make(4, metrics=("map", "mrr")).to_html(tmp_path / "r.html")))
    assert "no exact split" in page.texts("details", id="method")[0]
    assert not page.all("section", id="why")
    assert len(query_rows(page, "random")) == 25


def test_weights_are_shown_with_queries(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 600)
    judgments = gs.Judgments(labels, group=[20] * 30, weight=rng.integers(1, 4, 30))
    scores = {"a": np.minimum(labels, 1) + rng.normal(size=600), "b": labels + 2.0 * rng.normal(size=600)}
    assert (
        "weight "
        in Page(read(gs.compare(scores, judgments).to_html(tmp_path / "r.html"))).texts("section", id="queries")[0]
    )


def test_a_large_report_is_small(tmp_path, make):
    """Thirty models on 2,000 queries here; the size depends on the number of models and of queries shown only."""
    path = make(30, queries=2000).to_html(tmp_path / "r.html")
    assert path.stat().st_size < 600_000


@pytest.mark.parametrize("case", ["winners", "conflict", "neither"])
def test_which_pair_is_explained(from_values, case):
    noise = 1e-3 * np.random.default_rng(0).random((50, 1))
    means = {
        "winners": ([0.5, 0.4, 0.1], [0.3, 0.6, 0.1], ("m0", "m1")),
        # m1 and m2 are in opposite order, and nobody has to choose between them
        "conflict": ([0.9, 0.3, 0.4], [0.9, 0.45, 0.3], ("m0", "m1")),
        "neither": ([0.9, 0.3, 0.4], [0.9, 0.3, 0.4], ("m0", "m2")),
    }
    first, second, expected = means[case]
    pair = chosen_pair(from_values(noise + first, noise + second))
    assert (pair.first, pair.second) == expected


def test_the_rival_is_one_that_may_still_be_best(from_values):
    rng = np.random.default_rng(3)
    spread, means = np.array([0.0, 0.3, 1e-3]), np.array([0.9, 0.88, 0.89])
    noise = rng.normal(size=(60, 3))
    values = means + spread * (noise - noise.mean(axis=0))
    comparison = from_values(values, values)
    assert set(comparison.verdict.common_best) == {"m0", "m1"}  # m2 is nearer, and ruled out
    pair = chosen_pair(comparison)
    assert (pair.first, pair.second) == ("m0", "m1")
    assert "still possible" in pair.reason


def test_one_model_is_no_pair(from_values):
    assert chosen_pair(from_values([[0.5]] * 40, [[0.5]] * 40)) is None


def test_queries_without_documents_are_shown_with_nothing_ranked(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 300)
    judgments = gs.Judgments(labels, group=[10, 0] * 30)
    scores = {"a": np.minimum(labels, 1) + rng.normal(size=300), "b": labels + 2.0 * rng.normal(size=300)}
    page = Page(read(gs.compare(scores, judgments, draws=1000).to_html(tmp_path / "r.html")))
    rows = query_rows(page, "random")
    assert len(rows) == 25
    empty = {str(query) for query, size in zip(judgments.query_ids, judgments.sizes, strict=True) if not size}
    assert empty & {row["query"] for row in rows}
    assert all(row["cells"] == [""] * 3 for row in rows if row["query"] in empty)


def test_the_scale_of_means_of_a_loss_has_no_negative_zero(tmp_path):
    class Misses(gs.Metric):
        names = {"misses_from_nought": {}}
        higher_is_better = False

        def bind(self, judgments, cutoffs):
            return Facts(np.zeros((judgments.queries, len(cutoffs)), dtype=bool))

        def score(self, rows, facts, cutoffs):
            return (rows.codes[:, :1] == 0) * np.ones((1, len(cutoffs)))

        def value_range(self, judgments):
            return 0.0, 1.0

    rng = np.random.default_rng(0)
    labels = np.tile([1, 0, 0, 0, 0], 60)
    scores = {name: labels + spread * rng.normal(size=300) for name, spread in (("a", 0.0), ("b", 0.3), ("c", 0.6))}
    comparison = gs.compare(scores, gs.Judgments(labels, group=[5] * 60), ["misses_from_nought", "mrr"], draws=1000)
    page = read(comparison.to_html(tmp_path / "r.html"))
    scale = re.findall(r">([^<>]*)</text>", re.search(r'<svg class="mea ax".*?</svg>', page)[0])
    assert "0.0" in scale or "0.00" in scale
    assert not [number for number in scale if number.startswith("\u2212")]


@pytest.mark.parametrize("content", [b'{"learner":{}}', b'{\n "alpha": 0.05\n}', b"0.5\n0.25\n"])
def test_data_of_another_kind_are_not_written_over(tmp_path, content):
    """The file beside the report is one that nobody named; a model, or the plan of an experiment, may bear its name."""
    judgments = gs.Judgments([2, 1, 0] * 4, group=[3] * 4)
    comparison = gs.compare({"A": [3, 2, 1] * 4, "B": [1, 2, 3] * 4}, judgments)
    (tmp_path / "model.json").write_bytes(content)
    with pytest.raises(FileExistsError, match=r"what is there is no report's; name the report otherwise"):
        comparison.to_html(tmp_path / "model.html")
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]
    assert (tmp_path / "model.json").read_bytes() == content
    (tmp_path / "model.json").write_bytes(b"")
    for _ in range(2):
        comparison.to_html(tmp_path / "model.html")
