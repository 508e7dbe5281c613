"""The HTML report, parsed as a browser would: what stands where, what is escaped, how large it is."""

from __future__ import annotations

import base64
import csv
import hashlib
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest

import gainsay as gs
from gainsay.report.chosen import chosen_pair
from gainsay.report.html import write_html
from gainsay.report.plots import plot_conflict
from gainsay.report.svg import Pictures

VOID = {"meta", "link", "br", "img", "input", "hr"}
DRAWING = {"svg", "g", "path", "use", "defs", "clippath", "rect", "text", "title", "desc", "tspan"}


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


def test_the_verdict_comes_first_then_all_sections_in_order(report):
    assert [element["id"] for element in report.all("section")] == [
        "verdict",
        "leaderboard",
        "pairs",
        "why",
        "queries",
        "when",
        "method",
        "glossary",
    ]


def test_one_h1_asks_and_the_paragraph_answers(report, make):
    assert report.texts("h1") == ["Do ndcg_linear@10 and ndcg_exp@10 disagree about the best model?"]
    assert make(8).verdict.text in report.texts("p")
    assert report.texts("title")[0] == report.texts("h1")[0]


def test_headings_do_not_skip_levels(report):
    levels = [int(element["tag"][1]) for element in report.elements if re.fullmatch("h[1-6]", element["tag"])]
    assert levels[0] == 1
    assert set(levels[1:]) == {2}


def test_the_scope_is_stated(report):
    assert "The queries are the random sample and the models are fixed" in report.texts("section", id="method")[0]
    assert "training seed" in report.texts("section", id="verdict")[0]


def test_tables_have_captions_and_heads_for_columns_and_rows(report):
    tables = len(report.all("table"))
    assert tables >= 8
    assert len(report.all("caption")) == len(report.all("thead")) == tables
    heads = [head for head in report.all("th") if "thead" in head["within"]]
    assert all(head["scope"] == "col" and head["text"] for head in heads)
    assert all(head["scope"] == "row" for head in report.all("th") if "tbody" in head["within"])
    assert [head["text"] for head in heads if "aria-sort" in head] == ["ndcg_linear@10"]


def test_the_leaderboard_holds_means_and_models_best_first(report, make):
    comparison = make(8)
    means = comparison.values["ndcg_linear@10"].mean(axis=0)
    order = [comparison.models[place] for place in np.argsort(-means)]
    start = next(place for place, element in enumerate(report.elements) if element.get("id") == "leaderboard")
    rows = [element for element in report.elements[start:] if element["tag"] == "th" and element["scope"] == "row"][:8]
    assert [element["text"].split("best by")[0].split("safe choice")[0].strip() for element in rows] == order
    cells = [element["text"] for element in report.elements[start:] if element["tag"] == "td"]
    assert cells[0].startswith(f"{means.max():.4f}rank 1")


def test_all_pairs_are_in_a_table(report):
    assert "All 28 pairs of models" in report.texts("summary")
    start = report.elements.index(report.all("section", id="pairs")[0])
    stop = report.elements.index(report.all("section", id="why")[0])
    rows = [
        element for element in report.elements[start:stop] if element["tag"] == "tr" and "tbody" in element["within"]
    ]
    conflicts = report.texts("caption")[1]
    assert conflicts == "Pairs in opposite order"
    assert len(rows) > 28


def test_every_picture_has_a_title_and_a_description(report):
    pictures = report.all("svg")
    assert len(pictures) >= 6
    known = {element["id"]: element for element in report.elements if "id" in element}
    for picture in pictures:
        assert picture["role"] == "img"
        title, description = (known[name] for name in picture["aria-labelledby"].split())
        assert title["tag"] == "title"
        assert title["text"]
        assert any(letter.isdigit() for letter in description["text"])


def test_ids_are_unique_and_references_lead_somewhere(report):
    ids = [element["id"] for element in report.elements if "id" in element]
    assert len(ids) == len(set(ids))
    targets = {element["href"][1:] for element in report.elements if element.get("href", "").startswith("#")}
    clipped = {
        match for element in report.elements for match in re.findall(r"url\(#(.+?)\)", element.get("clip-path", ""))
    }
    assert targets | clipped <= set(ids)


def test_contradictory_queries_are_folded_with_their_strips(report, make):
    comparison = make(8)
    folded = report.all("details", **{"class": "query"})
    assert len(folded) == 10
    assert ["open" in element for element in folded] == [True] * 3 + [False] * 7
    strips = report.all("ol")
    pair = chosen_pair(comparison)
    row = comparison.queries(pair.first, pair.second, most=1).iloc[0]
    assert strips[0]["text"] == "".join(map(str, row[f"labels {pair.first}"]))
    assert strips[1]["text"] == "".join(map(str, row[f"labels {pair.second}"]))
    for metric in comparison.verdict.metrics:
        value = row[f"difference {metric}"]
        preference = f"{metric} prefers {pair.first if value > 0 else pair.second} by {abs(value):.4f}"
        assert preference in folded[0]["text"]
    assert strips[0]["aria-label"] == f"Grades by rank, {pair.first}"


def test_nothing_is_loaded_and_nothing_is_styled_or_scripted_inline(report):
    for element in report.elements:
        assert "style" not in element or element["tag"] == "style"
        assert not any(name.startswith("on") for name in element)
        assert not {"src", "srcset", "action"} & set(element)
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
    assert not page.all("i")
    names = page.texts("bdi")
    for name in hostile.models[:2] + hostile.models[3:6] + hostile.models[7:10]:
        assert name in names
    assert "x" * 500 in names
    assert "line break\ufffd\ufffdevil" in names
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", read(hostile_file))


def test_hostile_names_stay_whole_in_pictures(hostile_file):
    page = Page(read(hostile_file))
    texts = page.texts("text")
    for name in ("🚀 emoji 你好", "מודל עברי", "</title></svg></style>", "{{ 7 * 7 }}"):
        assert any(name in text for text in texts), name


def test_a_name_written_from_right_to_left_is_isolated_in_sentences(hostile_file):
    assert "\u2068מודל עברי\u2069" in read(hostile_file)


def test_other_queries_are_in_a_file_beside_that_no_spreadsheet_runs(tmp_path, make):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 40 * 12)
    scores = {"a": np.minimum(labels, 1) + rng.normal(size=480), "b": labels + 2.0 * rng.normal(size=480)}
    comparison = gs.compare(scores, gs.Judgments(labels, qid=np.repeat([f"=q{number}" for number in range(40)], 12)))
    path = write_html(comparison, tmp_path / "r.html", queries=2)
    pair = chosen_pair(comparison)
    expected = comparison.queries(pair.first, pair.second, most=40)
    assert len(expected) > 2
    with open(tmp_path / "r.queries.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["query"] for row in rows] == [f"'{query}" for query in expected["query"]]
    assert rows[0][f"labels {pair.first}"].split() == [str(label) for label in expected[f"labels {pair.first}"][0]]
    assert Page(read(path)).all("a", href="r.queries.csv")


def test_no_file_is_written_beside_where_all_queries_are_shown(tmp_path, make):
    write_html(make(2), tmp_path / "r.html", queries=10_000)
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


def test_the_same_comparison_gives_the_same_bytes(tmp_path, make):
    first = write_html(make(8, curves=True), tmp_path / "r.html").read_bytes()
    again = make.__wrapped__(8, curves=True)
    assert again is not make(8, curves=True)
    assert write_html(again, tmp_path / "r.html").read_bytes() == first


def test_values_without_scores_are_reported_without_why_and_queries(tmp_path, from_values):
    rng = np.random.default_rng(1)
    page = Page(read(from_values(rng.random((60, 3)), rng.random((60, 3))).to_html(tmp_path / "r.html")))
    assert "without the scores of the models" in page.texts("section", id="why")[0]
    assert "without the scores of the models" in page.texts("section", id="queries")[0]
    assert not page.all("section", id="when")


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
    assert "nan" not in page.texts("main")[0]
    assert "inf " not in page.texts("main")[0]


def test_a_single_metric_is_reported_without_a_verdict(tmp_path, make):
    page = Page(read(make(4, metrics=("map",)).to_html(tmp_path / "r.html")))
    assert page.texts("h1") == ["Models compared by map"]
    assert "is the only metric here" in page.texts("section", id="verdict")[0]
    assert not page.all("section", id="pairs")


def test_metrics_that_cannot_be_split_by_document_are_reported(tmp_path, make):
    page = Page(read(make(4, metrics=("map", "mrr")).to_html(tmp_path / "r.html")))
    assert "no exact split" in page.texts("section", id="why")[0]
    assert page.all("details", **{"class": "query"})


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
    assert path.stat().st_size < 1_000_000


def test_svg_is_well_formed_and_follows_the_theme(make):
    pictures = Pictures()
    root = ET.fromstring(pictures.draw(lambda: plot_conflict(make(8))).svg)
    assert root.attrib["role"] == "img"
    classes = {node.attrib["class"] for node in root.iter() if "class" in node.attrib}
    rules = pictures.rules()
    assert all(f".{name}{{" in rules for name in classes - {"picture", "picture wide"})
    assert "var(--second)" in rules
    assert not re.search("#[0-9a-f]{6}", rules)


@pytest.mark.parametrize("case", ["winners", "conflict", "neither"])
def test_which_pair_is_explained(from_values, case):
    noise = 1e-3 * np.random.default_rng(0).random((50, 1))
    means = {
        "winners": ([0.5, 0.4, 0.1], [0.3, 0.6, 0.1], ("m0", "m1")),
        "conflict": ([0.9, 0.3, 0.4], [0.9, 0.4, 0.3], ("m2", "m1")),
        "neither": ([0.9, 0.3, 0.4], [0.9, 0.3, 0.4], ("m0", "m2")),
    }
    first, second, expected = means[case]
    pair = chosen_pair(from_values(noise + first, noise + second))
    assert (pair.first, pair.second) == expected


def test_one_model_is_no_pair(from_values):
    assert chosen_pair(from_values([[0.5]] * 40, [[0.5]] * 40)) is None
