"""Markdown, JSON, and outputs in notebooks."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.theme import Theme
from tests.report.pages import Page

import gainwise as gw
from gainwise._common.text import format_interval
from gainwise._common.theme import choose_terminal_colors
from gainwise.report.content import choose_pair
from gainwise.report.exports import SCHEMA
from gainwise.report.text import chart_lines, decisions_table, headline_lines, whole_leaderboard


class TestMarkdown:
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
        assert tables >= 5

    @pytest.mark.parametrize("metrics", [None, ("map", "mrr")])
    def test_the_means_are_those_of_the_leaderboard(self, make, metrics):
        comparison = make(8, metrics=metrics)
        board = comparison.leaderboard[list(comparison.metrics)]
        rows = [re.findall(r"[\w.]+", line) for line in comparison.to_markdown().splitlines() if line.startswith("|")]
        for name, means in board.iterrows():
            wanted = {f"{mean:.4f}" for mean in means}
            assert any(wanted <= set(row) and set(re.findall(r"\w+", name)) <= set(row) for row in rows)


class TestJson:
    def test_it_reads_back_what_the_comparison_holds(self, make):
        comparison = make(8, curves=True)
        content = json.loads(comparison.to_json(queries=7))
        assert content["schema"] == SCHEMA
        assert content["gainwise"] == gw.__version__
        assert content["kernel"] == gw.show_config("dicts")["kernel"]["path"]
        assert content["models"] == list(comparison.models)
        assert content["primary"] == ["ndcg_linear@10", "ndcg_exp@10"]
        assert content["settings"] == {"alpha": 0.05, "margin": 0.002, "draws": 2000, "seed": 0}
        assert pd.DataFrame(content["pairs"]).equals(comparison.pairs.astype({"flag": "str"}))
        board = pd.DataFrame.from_dict(content["leaderboard"], orient="index").rename_axis("model")
        pd.testing.assert_frame_equal(board, comparison.leaderboard, check_index_type=False)
        assert content["verdict"] == json.loads(json.dumps(comparison.verdict.to_dict()))
        pair = choose_pair(comparison)
        assert content["why"]["pair"] == [pair.first, pair.second]
        expected = comparison.attribution(pair.first, pair.second, content["primary"])
        assert content["why"]["attribution"]["difference"] == expected.difference
        table = comparison.queries(pair.first, pair.second, most=comparison.counts.any)
        assert content["contradictions"]["count"] == len(table)
        assert [row["query"] for row in content["contradictions"]["queries"]] == table["query"].tolist()[:7]
        assert pd.DataFrame(content["curves"]).equals(comparison.curves.reset_index(drop=True))
        assert content["best_rounds"][0]["round ndcg_exp@10"] == 55

    def test_results_are_values_for_json(self, make):
        """A report contains them without conversion."""
        comparison = make(8)
        first, second, *_ = comparison.models
        results = [comparison, comparison.verdict, comparison.against(first), comparison.plan(0.01), comparison.gains()]
        results += [comparison.attribution(first, second), comparison.sensitivity(), gw.plan(0.01, query=0.1)]
        for result in results:
            content = result.to_dict()
            assert json.loads(json.dumps(content, allow_nan=False)) == content
            assert result is comparison or repr(result) == str(result) == result.text

    def test_keys_are_those_of_its_description(self, make, from_values):
        keys = set(json.loads(make(4, metrics=("map",)).to_json()))
        assert keys == set(json.loads(make(8, curves=True).to_json()))
        import gainwise.report.exports as module

        assert all(f"``{key}``" in module.__doc__ for key in keys)

    def test_it_is_written_where_a_path_is_given_and_the_same_each_time(self, hostile, tmp_path):
        text = hostile.to_json(tmp_path / "r.json")
        assert (tmp_path / "r.json").read_text("utf-8") == text == hostile.to_json()
        assert set(json.loads(text)["models"]) == set(hostile.models)


class TestNotebooks:
    def test_without_styles_and_pictures_it_is_a_table_that_can_be_read(self, make):
        comparison = make(3)
        head, *rows, _ = Page(comparison._repr_html_()).rows
        assert head[0] == "model"
        assert head[-1] == "at worst"
        for name, lane, _ in rows[:3]:
            values = [comparison.values[metric].mean(axis=0) for metric in comparison.metrics[:2]]
            at = next(k for k, one in enumerate(comparison.models) if name.endswith(one))
            numbers = re.findall(r"mean ([\d.]+), ([\d.]+) behind", lane)
            for (mean, regret), value in zip((map(float, pair) for pair in numbers), values, strict=True):
                assert mean == pytest.approx(value[at], abs=5e-5)
                assert regret == pytest.approx(value.max() - value[at], abs=5e-4)

    def test_nothing_is_shared_with_other_cells_and_nothing_runs(self, make):
        markup = make(8)._repr_html_()
        assert not re.search(r"\bid=|<use|url\(|<script|\bon\w+=|href", markup)
        rules = re.search("<style>(.*)</style>", markup)[1]
        for _ in range(2):  # Nested rules are limited to the outer selector.
            rules = re.sub(r"\{(?:[^{}]*\{[^{}]*\})+\}", "{}", rules)
        for rule in rules.split("}")[:-1]:
            for selector in rule.partition("{")[0].split(","):
                assert ".gainwise" in selector, selector


class TestTerminal:
    def lines(self, comparison, width, unicode=True):
        return [str(line) for line in chart_lines(comparison.content, width, unicode=unicode)]

    @pytest.mark.parametrize("width", [80, 120])
    @pytest.mark.parametrize("models", [2, 8, 30])
    def test_lines_fit_and_hold_the_means(self, make, models, width):
        comparison = make(models)
        lines = self.lines(comparison, width)
        assert max(map(cell_len, lines)) <= width
        for metric in comparison.verdict.metrics:
            assert f"{comparison.values[metric].mean(axis=0).max():.4f}" in "\n".join(lines)

    def test_the_end_of_the_margin_is_visible_if_bars_cover_it(self):
        """Two models whose bars reach from the axis to far below the margin."""
        difference = np.linspace(-0.9, 0.89, 200)
        values = np.stack([0.5 + difference / 2, 0.5 - difference / 2], axis=1)
        metrics = dict.fromkeys(["ndcg_linear@10", "ndcg_exp@10"], values)
        lines = self.lines(gw.Comparison(metrics, ["A", "B"], margin=0.05), 120)
        (axis,) = [line for line in lines if line.endswith("best")]
        (end,) = [place for place, sign in enumerate(axis) if sign == "┊"]
        assert {line[end] for line in lines if "━" in line} == {"━"}
        assert any("the margin of 0.05" in line for line in lines)

    def test_without_utf_8_it_is_ascii(self, make):
        for models in (3, 8):
            text = "\n".join(self.lines(make(models), 80, unicode=False))
            assert text.isascii()
            assert re.search("[#o]", text)

    def test_wide_letters_keep_the_columns(self, hostile):
        lines = self.lines(hostile, 120)
        rows = [line for line in lines[3:] if re.search(r"\d\.\d{3}$", line)]
        assert len(rows) >= 8
        assert len({cell_len(line) for line in rows}) == 1


def render(comparison, width, color_system):
    """Return the output of a terminal, with its controls."""
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, force_terminal=True, color_system=color_system, legacy_windows=False, highlight=False,
        theme=Theme(choose_terminal_colors(color_system)),
    )  # fmt: skip
    for line in [*headline_lines(comparison.content), *chart_lines(comparison.content, width)]:
        console.print(line)
    console.print(whole_leaderboard(comparison.content))
    return stream.getvalue()


NAMES = {
    "words": None,
    "keys": tuple(f"lgb num_leaves={n} learning_rate={r} gain={g}" for n in (7, 31) for r in (0.05, 0.1)
                  for g in ("linear", "exponential")),
    "300 characters": ("x" * 299 + "a", "x" * 299 + "b"),
    "right to left": ("מודל עברי", "نموذج", "base"),
}  # fmt: skip


class TestNarrow:
    @pytest.mark.parametrize("width", [20, 40, 80, 140])
    @pytest.mark.parametrize("names", NAMES)
    def test_no_line_is_wider_than_the_terminal_and_no_number_is_broken(self, make, names, width):
        comparison = make(8, names=NAMES[names])
        lines = re.sub(r"\x1b\[[0-9;]*m", "", render(comparison, width, None)).splitlines()
        assert max(map(cell_len, lines)) <= width
        text = "\n".join(lines)
        for row in comparison.content.chart.rows:
            assert row.outcome in text
        for mean in comparison.leaderboard[list(comparison.metrics)].to_numpy().ravel():
            assert f"{mean:.4f}" in text
        for name in comparison.models:
            assert all(letter in text for letter in comparison.content.names.labels[name].split()[0][:8])

    @pytest.mark.parametrize("width", [20, 28, 40, 80])
    def test_decisions_have_all_bounds_and_the_name_of_the_candidate(self, make, width):
        comparison = make(3, names=("old", "new one", "two"))
        content = comparison._report_content(comparison.models[0])
        console = Console(file=io.StringIO(), width=width, highlight=False)
        console.print(decisions_table(content))
        text = console.file.getvalue()
        *_, table = text.split("\n\n", 1)
        assert max(map(cell_len, table.splitlines())) <= width
        for decided in content.against.candidates:
            assert all(word in table for word in decided.candidate.split())
            for metric in comparison.primary:
                bounds = format_interval(decided.lower[metric], decided.upper[metric])
                assert all(number in text for number in re.findall(r"[+\u2212]\d\.\d+", bounds))

    @pytest.mark.parametrize("color_system", ["standard", "256", "truecolor"])
    def test_there_is_no_background_and_no_white(self, make, color_system):
        codes = re.findall(r"\x1b\[([0-9;]*)m", render(make(8), 80, color_system))
        assert any(codes)
        for code in codes:
            numbers = [int(number) for number in code.split(";") if number]
            plain = numbers[: numbers.index(38)] if 38 in numbers else numbers
            assert not {37, 97, 7, *range(40, 48), *range(100, 108)} & set(plain)
            assert 48 not in numbers
            if color_system == "standard":
                assert 38 not in numbers
                assert not {33, 34, 93} & set(plain)  # yellow and dark blue are illegible on white or black


def test_markdown_of_thirty_models_fits_into_a_comment(make):
    for baseline in (None, make(30).models[4]):
        text = make(30, curves=True).to_markdown(baseline=baseline)
        assert len(text) <= 20_000
        assert len(make(30, curves=True).to_markdown(baseline=baseline, full=True)) > len(text)
        assert text.count("<details>") == text.count("</details>") == 1
        head = text.partition("<details>")[0]
        rows = [line for line in head.splitlines() if line.startswith("| ")][2:]
        assert len(rows) == 12
        assert re.search(r"[+−]0\.\d{3} \([+−]0\.\d{3} to [+−]?0(\.\d{3})?\)", head)


def test_markdown_names_the_leader_of_segments_and_other_metrics():
    rng = np.random.default_rng(0)
    labels = rng.choice(5, size=1200)
    scores = {"good": labels + rng.normal(size=1200), "bad": rng.normal(size=1200)}
    metrics, segments = ["ndcg_linear@10", "ndcg_exp@10", "map@10"], {"device": np.arange(100) % 2}
    comparison = gw.compare(scores, gw.Judgments(labels, group=[12] * 100), metrics, segments=segments, draws=500)
    expected = "good has the best mean in device 0 (50 queries), in device 1 (50 queries) and by map@10."
    assert expected in comparison.to_markdown().replace("\\", "")


def test_markdown_does_not_deny_the_best_mean_to_a_leader_that_shares_it():
    """B leads the primary metrics. It shares the best mean by mrr, and in segment y, with A, the first by name."""
    rng = np.random.default_rng(0)
    halves = rng.random((60, 1)) + np.array([0.0, 0.2]), np.repeat(rng.random((60, 1)), 2, axis=1)
    values = dict.fromkeys(["ndcg_linear@10", "ndcg_exp@10"], np.concatenate(halves))
    values |= {"mrr": np.full((120, 2), 0.5), "map": rng.random((120, 1)) - np.array([0.0, 0.1])}
    comparison = gw.Comparison(values, ["A", "B"], segments=["x"] * 60 + ["y"] * 60, draws=500)
    text = comparison.to_markdown()
    assert (
        "B has the best mean in segment x (60 queries), in segment y (60 queries) and by mrr, and does not have the "
        "best mean by map." in text
    )
    values["err(max_label=4)@10"] = values["map"]
    both = gw.Comparison(values, ["A", "B"], draws=500).to_markdown().replace("\\", "")
    assert "does not have the best mean by map or by err(max_label=4)@10." in both


@pytest.mark.parametrize(
    ("shift", "differing", "clusters", "expected"),
    [
        (0.0, 0, None, "never differ"),
        (0.0, 7, None, "differ on 7 queries"),
        (0.25, 7, None, "differ by the same amount on all but 7 queries"),
        (0.0, 150, np.arange(150) % 3, "differ on 3 clusters"),
        (0.0, 150, None, ""),
    ],
)
def test_pairs_state_on_how_many_queries_or_clusters_the_models_differ(shift, differing, clusters, expected):
    value = np.random.default_rng(0).random((150, 1))
    values = value + np.array([0.0, shift])
    values[:differing, 1] = 2 + np.random.default_rng(1).random(differing)
    comparison = gw.Comparison(dict.fromkeys(["map", "mrr"], values), ["A", "B"], clusters=clusters, draws=500)
    (row,) = [line for line in comparison.to_markdown().splitlines() if line.startswith("| A | B |")]
    assert row.split(" | ")[5] == ("\u2013" if not expected else f"\u2013 ({expected})")


def test_pairs_show_the_p_value_of_an_opposite_order_only():
    """A is better than C under both metrics, and A and B are in opposite order."""
    noise = np.random.default_rng(0).normal(0, 0.1, (300, 3))
    values = {"map": noise + np.array([0.5, 0.4, 0.0]), "mrr": noise[::-1] + np.array([0.4, 0.5, 0.0])}
    lines = gw.Comparison(values, ["A", "B", "C"], draws=500).to_markdown().splitlines()
    cells = {line[2:7]: line.split(" | ") for line in lines if line.count(" | ") == 7 and line[2] in "ABC"}
    assert cells["A | B"][4] == "**yes** (significant)"
    assert float(cells["A | B"][5]) <= 0.05
    assert cells["A | C"][4:6] == ["no", "\u2013"]


SAMPLE = "The queries are the random sample and the models are fixed"


class TestMethod:
    """The scope and the method are those of the comparison."""

    values = np.random.default_rng(0).random((60, 3))

    def describe(self, metrics=("map", "mrr"), values=values, models=("A", "B", "C"), **options):
        comparison = gw.Comparison(dict.fromkeys(metrics, values), models, draws=500, **options)
        return comparison.to_markdown().partition("#### Method and scope")[2].replace("\\", ""), comparison

    @pytest.mark.parametrize("metrics", [("map",), ("map", "mrr")])
    def test_names_repeats_and_clusters(self, metrics):
        values = [np.random.default_rng(1).random((60, 5)), self.values[:, 0]]
        repeats, comparison = self.describe(metrics, values, ["A", "B"])
        assert "A is a training configuration, trained 5 times" in repeats
        assert SAMPLE not in comparison.to_markdown()
        clusters, comparison = self.describe(metrics, clusters=np.arange(60) % 40)
        assert "The clusters of queries are the random sample" in clusters
        assert comparison.to_markdown().count("The clusters of queries are the random sample") == 2

    def test_of_a_single_model_is_about_its_means(self):
        text, _ = self.describe(values=self.values[:, :1], models=["A"])
        assert SAMPLE in text
        assert "Intervals of the means have simultaneous 95 % confidence" in text
        assert not re.search("verdict|pairs|regret|margin", text)

    def test_of_betting_is_not_the_two_step_test(self):
        ranges = {"map": (0, 1), "mrr": (0, 1)}
        asymptotic, betting = (self.describe(bounds=kind, ranges=ranges)[0] for kind in ("asymptotic", "betting"))
        assert "two-step" in asymptotic
        assert "by betting" not in asymptotic
        assert "by betting" in betting
        assert "two-step" not in betting


def test_reservations_about_a_single_metric_are_shown():
    tied = np.repeat(np.random.default_rng(0).random((60, 1)), 2, axis=1)
    comparison = gw.Comparison({"map": tied}, ["A", "B"], draws=500)
    assert "\n- A and B share the highest mean map. Results show A, the first by name.\n" in comparison.to_markdown()


def test_numbers_of_one_and_two_are_written_in_words():
    """Thirteen rows, with that of random order, are one more than the table has."""
    labels = np.random.default_rng(0).integers(0, 3, 40)
    scores = {f"m{number}": np.random.default_rng(number).random(40) for number in range(12)}
    judgments, metrics = gw.Judgments(labels, group=[20, 20]), ["map", "mrr"]
    text = gw.compare(scores, judgments, metrics, draws=500).to_markdown()
    assert "\n#### All 12 models under both metrics\n" in text
    assert "\n1 more row is in the HTML report.\n" in text
    single = gw.compare({"m0": scores["m0"]}, judgments, "map", draws=500).to_markdown()
    assert "\n#### The model under the metric\n" in single
    pair = gw.compare({name: scores[name] for name in ("m0", "m1")}, judgments, metrics, segments=["x", "y"], draws=500)
    assert "\n#### Both models under both metrics\n" in pair.to_markdown()
    assert "Both segments together have 95 % confidence" in pair.segments.text


def test_markdown_of_labels_0_and_1_states_on_how_many_queries_the_models_differ():
    """Markdown has no list of queries. The rankings differ on the first query only."""
    judgments = gw.Judgments([1, 0, 0, 1], group=[2, 2])
    text = gw.compare({"A": [2, 1, 1, 2], "B": [1, 2, 1, 2]}, judgments, draws=500).to_markdown()
    assert "\n#### Which queries\n\nA and B differ on 1 of 2 queries.\n" in text


def test_large_numbers_have_few_digits():
    """Such means result from an exponential gain of labels that are amounts."""
    values = 1e12 * np.random.default_rng(0).normal([5.0, 5.3], 1, (200, 2))
    comparison = gw.Comparison(dict.fromkeys(["dcg_linear@10", "dcg_exp@10"], values), ["A", "B"], draws=500)
    text = comparison.to_markdown()
    assert not re.search(r"\d{5}", text.replace("10,000", ""))
    (least,) = re.findall(r"by at least ([\d.e+]+) DCG", text.partition("\n")[0])
    exact = comparison.verdict.regrets_lower["dcg_exp@10"]["A"]
    assert 0 <= exact - float(least) < 1e-3 * exact


@pytest.mark.parametrize("means", [[0.5], [0.5, 0.6], [0.5, 0.6, 0.55]])
def test_json_has_no_negative_zero(means):
    values = np.random.default_rng(0).normal(means, 0.1, (300, len(means)))
    comparison = gw.Comparison({"map": values, "mrr": 1 - values}, list("ABC")[: len(means)], draws=500)
    assert not re.search(r"-0\.0\b(?!\d)", comparison.to_json())
    assert not np.signbit(comparison.standings["regret_upper"]).any()
