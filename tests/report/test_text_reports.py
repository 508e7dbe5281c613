"""Markdown, JSON, and what notebooks show."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len

import gainsay as gs
from gainsay._common.shown import isolated, printable, short_names
from gainsay._common.words import p_value
from gainsay.drawing.text import as_text
from gainsay.report.content import chosen_pair
from gainsay.report.document import SCHEMA
from gainsay.report.numbers import difference, mean
from gainsay.report.text import chart_lines, headline_lines, next_lines


class TestMarkdown:
    def test_sections_stand_in_the_order_of_the_html_report(self, make):
        text = make(8, curves=True).to_markdown()
        heads = [line for line in text.splitlines() if line.startswith("#")]
        sections = [head for head in heads if head.startswith("## ")]
        assert sections == [
            f"## {name}"
            for name in (
                "Chart",
                "Why",
                "Which queries",
                "At which gain",
                "When to stop",
                "The verdict, word for word",
                "All 8 models under all 5 metrics",
                "Pairs of models (28)",
                "Why, in numbers",
                "Best rounds",
                "Method and scope",
                "Glossary",
            )
        ]
        assert heads[0].startswith("# Not proven: ")

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
        assert f"**{best:.4f}** (" in comparison.to_markdown()

    @pytest.mark.parametrize("metrics", [("map",), ("map", "mrr")])
    def test_other_metrics_are_reported(self, make, metrics):
        assert "## All 4 models under " in make(4, metrics=metrics).to_markdown()


class TestJson:
    def test_it_reads_back_what_the_comparison_holds(self, make):
        comparison = make(8, curves=True)
        content = json.loads(comparison.to_json(queries=7))
        assert content["schema"] == SCHEMA
        assert content["gainsay"] == gs.__version__
        assert content["kernel"] == gs.show_config("dicts")["kernel"]["path"]
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
            "against",
            "segments",
            "gains",
            "also",
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


class Distrusting(HTMLParser):
    """The cells of a table as a viewer leaves them that does not trust the page: the text of pictures, no pictures."""

    def __init__(self, markup):
        super().__init__()
        self.rows, self._open = [], ""
        self.feed(markup)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self._open = tag

    def handle_endtag(self, tag):
        self._open = "" if tag == self._open else self._open

    def handle_data(self, data):
        if self._open:
            self.rows[-1][-1] += data


NOTEBOOK = """
.out table { table-layout: fixed; border-collapse: collapse; font-size: 12px; }
.out:not(.markdown) td, .out:not(.markdown) th, .out:not(.markdown) tr { text-align: right; vertical-align: middle;
  padding: 0.5em 0.5em; line-height: normal; white-space: normal; max-width: none; border: none; }
.out tbody tr:nth-child(odd) { background: rgb(9, 9, 9); }
"""
"""How JupyterLab 4 has tables look that it knows nothing of."""


class TestNotebooks:
    def test_without_styles_and_pictures_it_is_a_table_that_can_be_read(self, make):
        comparison = make(3)
        page = Distrusting(comparison._repr_html_())
        (*_, head_first, head_second), *rows, foot = page.rows
        assert (head_first, head_second) == ("linear", "exp")
        assert not any(foot)  # the axis has no meaning without its picture
        for name, _, distances, *means in rows:
            behind = [float(number) for number in re.findall(r"(?:linear|exp) (\d\.\d+)", distances)]
            values = [comparison.values[metric].mean(axis=0) for metric in comparison.metrics[:2]]
            at = comparison.models.index(next(one for one in comparison.models if one.endswith(name)))
            assert behind == pytest.approx([value.max() - value[at] for value in values], abs=5e-5)
            assert [float(mean) for mean in means] == pytest.approx([value[at] for value in values], abs=5e-5)

    def test_every_cell_stands_beside_the_others_in_a_notebook_that_styles_tables(self, page, make):
        page.set_viewport_size({"width": 1000, "height": 600})
        markup = make(8)._repr_html_()
        page.set_content(f"<style>{NOTEBOOK}</style><div class=out>{markup}</div>")
        found = page.evaluate(
            """() => [...document.querySelectorAll(".gainsay tr")].map(row => [...row.cells].map(cell => {
                const range = document.createRange(), box = cell.getBoundingClientRect();
                range.selectNodeContents(cell);
                const words = range.getBoundingClientRect();
                return [box.left, box.right, words.left, words.right, getComputedStyle(row).backgroundColor];
            }))"""
        )
        assert len(found) > 5
        for row in found:
            for (left, right, first, last, ground), after in zip(row, [*row[1:], None], strict=True):
                assert ground == "rgba(0, 0, 0, 0)"
                assert last <= left + 1 or (first >= left - 8 and last <= right + 8)
                assert after is None or right <= after[0] + 1

    def test_objects_that_were_made_by_a_call_show_that_call(self):
        lightgbm = pytest.importorskip("gainsay.lightgbm")
        xgboost = pytest.importorskip("gainsay.xgboost")
        for call in (
            "feval(['ndcg_exp@10', 'mrr'], every=2)",
            "eval_metric(['mrr'], n_jobs=1)",
            "early_stopping('mrr', rounds=20, dataset='valid', min_delta=0.001, verbose=False)",
        ):
            assert repr(eval(call, vars(lightgbm))) == call
        for call in (
            "custom_metric(['mrr'])",
            "full_precision(custom_metric(['mrr@3'], negative_labels='zero'))",
            "early_stopping('ndcg', rounds=5, maximize=True, save_best=True)",
        ):
            assert repr(eval(call, vars(xgboost))) == call

    def test_a_verdict_prints_its_text_and_one_line_only(self, hostile):
        assert repr(hostile.verdict) == printable(hostile.verdict.text)
        assert str(hostile.verdict) == hostile.verdict.text

    def test_pictures_are_listed_by_name(self, make):
        shown = repr(make(3).plot)
        for name in ("leaderboard", "gains", "queries"):
            assert f".{name}()" in shown

    def test_a_verdict_and_its_comparison_show_the_same_answer_and_means(self, make):
        comparison = make(8)
        for shown in (comparison, comparison.verdict):
            text = Tags(shown._repr_html_()).text
            assert f"{comparison.values['ndcg_exp@10'].mean(axis=0).max():.4f}" in text
            assert as_text(comparison.content.chart.headline) in text
            assert as_text(comparison.content.chart.advice) in text

    def test_at_most_seven_models_the_winners_among_them(self, make):
        comparison = make(30)
        markup = comparison._repr_html_()
        assert markup.count("<tr") == 2 + 7
        for winner in comparison.verdict.winners.values():
            assert winner in Tags(markup).text
        assert "23 more" in Tags(markup).text

    def test_nothing_is_shared_with_other_cells_and_nothing_runs(self, make):
        markup = make(8)._repr_html_()
        assert not re.search(r"\bid=|<use|url\(|<script|\bon\w+=|href", markup)
        rules = re.search("<style>(.*)</style>", markup)[1]
        for rule in rules.split("}")[:-1]:
            for selector in rule.partition("{")[0].split(","):
                assert ".gainsay" in selector, selector

    def test_names_are_escaped(self, hostile):
        for shown in (hostile._repr_html_(), hostile.verdict._repr_html_()):
            assert not Tags(shown).tags & {"script", "b", "i"}

    @pytest.mark.parametrize("models", [1, 2, 3, 8, 30])
    @pytest.mark.parametrize("metrics", [None, ("map",)])
    def test_it_is_no_higher_than_a_glance(self, page, make, models, metrics):
        page.set_viewport_size({"width": 1000, "height": 600})
        page.set_content(f"<body>{make(models, metrics=metrics)._repr_html_()}")
        assert page.locator(".gainsay").bounding_box()["height"] <= 280


class TestTerminal:
    def lines(self, comparison, width, unicode=True):
        return [str(line) for line in chart_lines(comparison.content, width, unicode=unicode)]

    @pytest.mark.parametrize("width", [80, 120])
    @pytest.mark.parametrize("models", [2, 3, 8, 30])
    def test_lines_fit_and_hold_the_means(self, make, models, width):
        comparison = make(models)
        lines = self.lines(comparison, width)
        assert max(map(cell_len, lines)) <= width
        for metric in comparison.verdict.metrics:
            assert f"{comparison.values[metric].mean(axis=0).max():.4f}" in "\n".join(lines)

    def test_without_utf_8_it_is_ascii(self, make):
        for models in (3, 8):
            text = "\n".join(self.lines(make(models), 80, unicode=False))
            assert text.isascii()
            assert re.search("[OoXx]", text)

    def test_up_to_four_models_have_two_lanes_and_more_have_one(self, make):
        for models, lanes in ((3, 2), (8, 1)):
            lines = self.lines(make(models), 100)
            start = 1 + next(place for place, line in enumerate(lines) if "behind the best" in line)
            stop = next(place for place, line in enumerate(lines) if re.match(r" +best +0", line))
            assert stop - start == lanes * models

    def test_marks_stand_where_their_numbers_are(self, make):
        comparison = make(3)
        verdict, chart = comparison.verdict, comparison.content.chart
        lines = self.lines(comparison, 120)
        widest = 1.02 * max(max(by.values()) for by in verdict.regrets_upper.values())
        start = lines[0].index("behind the best")
        room = max(len(line) for line in lines) - start
        for place, row in enumerate(chart.rows):
            mark = "●" if row.key in verdict.best_sets["ndcg_linear@10"] else "○"
            at = lines[1 + 2 * place].index(mark, start) - start
            expected = verdict.regrets["ndcg_linear@10"][row.key] / widest
            assert at / (room / (1 / 1.02)) == pytest.approx(expected, abs=0.03)

    def test_wide_letters_keep_the_columns(self, hostile):
        lines = self.lines(hostile, 120)
        rows = [line for line in lines[1:] if re.search(r"\d\.\d{4}", line)]
        assert len({cell_len(re.split(r"  +\d\.\d{4}", line)[0]) for line in rows}) <= len(rows)
        assert len({cell_len(line[: line.index(re.search(r"\d\.\d{4}", line)[0])]) for line in rows}) == 1

    def test_the_answer_comes_first_and_the_next_steps_last(self, make):
        comparison = make(8)
        head = [str(line) for line in headline_lines(comparison.content)]
        assert head[0] == as_text(comparison.content.chart.headline)
        steps = [str(line) for line in next_lines(comparison.content, ("the report", "add --html"))]
        assert steps[0].startswith("Next more queries:")
        assert steps[-1].endswith("add --html")


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
        (mean(np.nan), "\u2013"),
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


@pytest.mark.parametrize("form", ["to_html", "to_markdown", "to_json"])
def test_fewer_queries_than_none_are_refused(make, tmp_path, form):
    with pytest.raises(ValueError, match="queries must be a whole number of at least 0, got -1"):
        getattr(make(3), form)(tmp_path / "r", queries=-1)
    assert not list(tmp_path.iterdir())


def test_notes_are_sentences_that_end_once():
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(160, 3)), rng.integers(0, 4, 160)
    params = {"objective": "lambdarank", "verbose": -1, "num_leaves": 4, "min_data_in_leaf": 5}
    runs = [
        lightgbm.train(
            {**params, "bagging_freq": 1, "seed": seed}, lightgbm.Dataset(features, labels, group=[4] * 40), 3
        )
        for seed in range(3)
    ]
    models = {"recipe": runs, "fixed": rng.normal(size=160)}
    text = gs.compare(models, gs.Judgments(labels, group=[4] * 40), features=features, draws=1000).to_markdown()
    assert "- The runs of recipe predict with all 3 rounds, all 3 rounds and all 3 rounds.\n" in text
