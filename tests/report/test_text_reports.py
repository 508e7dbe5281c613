"""Markdown, JSON, and what notebooks show."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import gainsay as gs
from gainsay._common.shown import isolated, printable, short_names
from gainsay._common.words import p_value
from gainsay.report.chosen import chosen_pair
from gainsay.report.document import SCHEMA
from gainsay.report.numbers import difference, mean


class TestMarkdown:
    def test_sections_stand_in_the_order_of_the_html_report(self, make):
        text = make(8, curves=True).to_markdown()
        heads = [line for line in text.splitlines() if line.startswith("#")]
        assert heads[1:] == [
            f"## {name}"
            for name in ("Leaderboard", "Pairs", "Why", "Which queries", "When to stop", "Method and scope", "Glossary")
        ]
        assert heads[0].startswith("# Do ndcg")

    def test_rows_of_tables_have_as_many_cells_as_their_heads(self, hostile):
        widths, tables = None, 0
        for line in hostile.to_markdown().splitlines():
            cells = line.replace("\\|", "").count("|")
            if not line.startswith("|"):
                widths = None
            elif widths is None:
                widths, tables = cells, tables + 1
            else:
                assert cells == widths
        assert tables >= 6

    def test_names_are_no_markup(self, hostile):
        text = hostile.to_markdown()
        assert "<script" not in text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
        assert r"\$\\alpha\$ \_under\_ \|pipe\| \`tick\`" in text

    def test_it_is_written_where_a_path_is_given(self, make, tmp_path):
        text = make(2).to_markdown(tmp_path / "r.md")
        assert (tmp_path / "r.md").read_text("utf-8") == text

    def test_the_means_are_those_of_the_values(self, make):
        comparison = make(8)
        best = comparison.values["ndcg_exp@10"].mean(axis=0).max()
        assert f"**{best:.4f}** (rank 1, " in comparison.to_markdown()

    @pytest.mark.parametrize("metrics", [("map",), ("map", "mrr")])
    def test_other_metrics_are_reported(self, make, metrics):
        assert "## Leaderboard" in make(4, metrics=metrics).to_markdown()


class TestJson:
    def test_it_reads_back_what_the_comparison_holds(self, make):
        comparison = make(8, curves=True)
        content = json.loads(comparison.to_json(queries=7))
        assert content["schema"] == SCHEMA
        assert content["gainsay"] == gs.__version__
        assert content["models"] == list(comparison.models)
        assert content["primary"] == ["ndcg_linear@10", "ndcg_exp@10"]
        assert content["settings"] == {"alpha": 0.05, "rope": 0.002, "draws": 2000, "seed": 0}
        assert pd.DataFrame(content["pairs"]).equals(comparison.pairs.astype({"flag": "str"}))
        board = pd.DataFrame.from_dict(content["leaderboard"], orient="index").rename_axis("model")
        pd.testing.assert_frame_equal(board, comparison.leaderboard, check_index_type=False)
        assert content["verdict"] == json.loads(json.dumps(comparison.verdict.to_dict()))
        pair = chosen_pair(comparison)
        assert content["why"]["pair"] == [pair.first, pair.second]
        expected = comparison.attribution(pair.first, pair.second, content["primary"])
        assert content["why"]["attribution"]["difference"] == expected.difference
        table = comparison.queries(pair.first, pair.second, most=comparison.query_count)
        assert content["contradictions"]["count"] == len(table)
        assert [row["query"] for row in content["contradictions"]["queries"]] == table["query"].tolist()[:7]
        assert pd.DataFrame(content["curves"]).equals(comparison.curves.reset_index(drop=True))
        assert content["best_rounds"][0]["round ndcg_exp@10"] == 55

    def test_keys_are_those_of_its_description(self, make, from_values):
        keys = set(json.loads(make(4, metrics=("map",)).to_json()))
        assert keys == set(json.loads(make(8, curves=True).to_json()))
        import gainsay.report.document as module

        assert all(f"``{key}``" in module.__doc__ for key in keys)

    def test_what_is_not_to_be_had_is_null(self, make, from_values):
        single = json.loads(make(4, metrics=("map",)).to_json())
        assert [key for key, value in single.items() if value is None] == [
            "primary",
            "holes",
            "verdict",
            "pairs",
            "why",
            "contradictions",
            "curves",
            "best_rounds",
        ]
        values = json.loads(from_values([[0.1, 0.2]], [[0.2, 0.1]]).to_json())
        assert values["contradictions"] is None
        assert values["why"]["attribution"] is None
        assert values["pairs"][0]["upper a"] is None

    def test_it_is_written_where_a_path_is_given_and_the_same_each_time(self, hostile, tmp_path):
        text = hostile.to_json(tmp_path / "r.json")
        assert (tmp_path / "r.json").read_text("utf-8") == text == hostile.to_json()
        assert set(json.loads(text)["models"]) == set(hostile.models)


class Tags(HTMLParser):
    def __init__(self, markup):
        super().__init__()
        self.tags, self.text = set(), ""
        self.feed(markup)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.text += data


class TestNotebooks:
    def test_a_verdict_shows_its_kind_and_its_paragraph(self, make):
        verdict = make(8).verdict
        shown = Tags(verdict._repr_html_())
        assert shown.text.split("\n") == [verdict.kind, verdict.text]

    def test_a_comparison_shows_means_and_verdict(self, make):
        comparison = make(8)
        text = Tags(comparison._repr_html_()).text
        assert f"{comparison.values['ndcg_exp@10'].mean(axis=0).max():.4f}" in text
        assert comparison.verdict.text in text

    def test_names_are_escaped(self, hostile):
        for shown in (hostile._repr_html_(), hostile.verdict._repr_html_()):
            assert not Tags(shown).tags & {"script", "b", "i"}

    def test_one_metric_shows_means_alone(self, make):
        assert "<strong>" not in make(4, metrics=("map",))._repr_html_()


class TestNames:
    def test_short_names_are_short_and_distinct(self):
        names = [f"{'a long beginning ' * 5}{number} {'and end ' * 9}" for number in range(40)] + ["", "\n"]
        short = short_names(names, 24)
        assert list(short) == names
        assert len(set(short.values())) == len(names)
        assert max(map(len, short.values())) <= 24

    def test_names_that_fit_stay(self):
        assert short_names(["b", "a"]) == {"b": "b", "a": "a"}

    def test_sentences_shorten_long_names_and_keep_others(self):
        text = isolated(f"{'y' * 200} beats b", short_names(["y" * 200, "b"]))
        assert text.endswith(" beats b")
        assert len(text) < 80

    def test_printable_keeps_letters_of_all_scripts(self):
        assert printable("Ä 你 🚀 א") == "Ä 你 🚀 א"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (difference(0.5), "+0.5000"),
        (difference(-4e-9), "−4e−09"),
        (difference(float("inf")), "unbounded"),
        (mean(-0.25), "−0.2500"),
        (mean(np.nan), "unbounded"),
        (p_value(1.0), "p = 1"),
        (p_value(1e-4), "p = 0.0001"),
    ],
)
def test_numbers_are_written(written, expected):
    assert written == expected


def test_importing_gainsay_loads_neither_matplotlib_nor_jinja():
    import subprocess
    import sys

    code = "import sys, gainsay, gainsay.comparison; print({'matplotlib', 'jinja2'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


class TestOneOfAThing:
    """One query is not 1 queries, wherever it is said."""

    @pytest.fixture
    def said(self):
        comparison = gs.compare({"only": [2.0, 1.0]}, gs.Judgments([1, 0], group=[2]), draws=1000)
        return [repr(comparison), comparison.to_markdown(), comparison._repr_html_(), comparison.verdict.text]

    def test_no_plural(self, said):
        for text in said:
            assert not re.search(r"\b1 (queries|models|pairs|documents|candidates)\b", text), text

    def test_the_size_is_there(self, said):
        assert said[0].startswith("Comparison(1 model, 1 query, metrics")
        assert "Means over 1 query, with" in said[1]
