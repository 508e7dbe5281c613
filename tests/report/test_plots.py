"""Pictures: the data of their artists, compared with separately computed numbers."""

import base64
import html
import io
import json
import re
import sys
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from tests.custom_metrics import GAP

import gainwise as gw
from gainwise._common.text import as_html
from gainwise._common.theme import DARK, LIGHT
from gainwise.data import simulate
from gainwise.drawing import embed, looks
from gainwise.report.content import best_rounds
from gainwise.report.plots import Picture, _wrap_headline, format_gain, plot_curves, plot_gains
from gainwise.report.sections import build_why_section

pytestmark = pytest.mark.slow

PICTURES = ("leaderboard", "attribution", "queries", "curves")
LINEAR, EXPONENTIAL = BOTH = ("ndcg_linear@10", "ndcg_exp@10")

SAME = np.tile(np.random.default_rng(0).random((50, 1)), 3)

SPECIAL = {
    "identical models": lambda make, _: make(4, twins=True),
    "metrics other than NDCG": lambda make, _: make(5, metrics=("map", "mrr")),
    "models that never differ": lambda _, from_values: from_values(SAME, SAME),
    "a single query": lambda _, from_values: from_values([[0.1, 0.2]], [[0.2, 0.1]]),
}


def draw(ax):
    """Render a picture, because Matplotlib warns and fails only then."""
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()  # once, because saving a file draws twice
    return bytes(canvas.buffer_rgba())


def means(comparison):
    return {metric: comparison.values[metric].mean(axis=0) for metric in comparison.verdict.metrics}


def test_lines_of_a_headline_have_all_its_words():
    text = "Safest of 8: lambdarank, at worst 0.058 NDCG@10 (7.9 %) behind the best (95 %)."
    for width in range(100, 700, 7):
        lines = ["".join(part for _, part in line) for line in _wrap_headline(text, width)]
        assert "".join(lines) == text, width


@pytest.mark.parametrize(("models", "theme"), [(2, LIGHT), (30, DARK)])
@pytest.mark.parametrize("picture", PICTURES)
def test_every_picture_is_saved_with_title_alternative_and_all_its_text(make, picture, models, theme, tmp_path):
    settings, had_pyplot = dict(matplotlib.rcParams), "matplotlib.pyplot" in sys.modules
    path = tmp_path / "picture.svg"
    drawn = getattr(make(models, curves=True).plot, picture)(theme=theme.name)
    drawn.save(path)
    assert dict(matplotlib.rcParams) == settings
    assert ("matplotlib.pyplot" in sys.modules) == had_pyplot
    written = html.unescape(path.read_text("utf-8"))
    assert f"<dc:title>{drawn.title}</dc:title>" in written
    assert drawn.alt in written
    assert re.search(r"\d", drawn.alt)
    assert to_hex(drawn.figure.get_facecolor()) == theme.face
    box, size = drawn.figure.get_tightbbox(), drawn.figure.get_size_inches()
    assert min(box.min) >= -0.01
    assert (box.max <= size + 0.01).all()


@pytest.mark.parametrize("comparison", SPECIAL)
def test_special_comparisons_are_drawn(make, from_values, comparison):
    ax = Figure(figsize=(6, 5)).add_subplot()
    drawn = SPECIAL[comparison](make, from_values).plot.leaderboard(ax=ax)
    draw(ax)
    assert drawn.ax is ax
    assert not re.search(r"\b(nan|inf)\b", drawn.alt)
    if comparison == "metrics other than NDCG":
        assert any("mrr" in text.get_text() for text in ax.findobj(Text))


class TestAttribution:
    @staticmethod
    def bars(ax):
        """Return row, lane and length of every bar, in drawing order."""
        pieces = [part for part in ax.patches if isinstance(part, Rectangle)]
        return [(round(piece.get_y() + piece.get_height() / 2, 6), piece.get_width(), piece) for piece in pieces]

    def test_pieces_are_the_cells_of_the_attribution(self, make):
        comparison = make(8)
        pair = [comparison.winners[metric] for metric in BOTH]
        expected = comparison.attribution(*pair, BOTH)
        ax = comparison.plot.attribution().ax
        grades = [label.get_text() for label in ax.get_yticklabels()]
        assert grades == ["grade 4", "grade 3", "grade 2", "grade 1", "total"]
        bars = self.bars(ax)
        for metric, lane in zip(BOTH, (-0.2, 0.2), strict=True):
            for row, grade in enumerate((4, 3, 2, 1)):
                cells = expected.grades_by_ranks.loc[(metric, grade)].to_numpy(float)
                drawn = [width for y, width, _ in bars if y == round(row + lane, 6)]
                assert np.allclose(drawn, cells[cells != 0])
            (total,) = [width for y, width, _ in bars if y == round(4.25 + lane, 6)]
            assert np.isclose(total, expected.difference[metric])

    @pytest.mark.parametrize("metrics", [[GAP, EXPONENTIAL], [EXPONENTIAL, GAP, LINEAR]])
    def test_a_metric_has_the_color_of_its_place_in_the_comparison(self, metrics):
        """A loss that is a function has no split by grade, so the figure and the text have one of the two metrics."""
        data, rng = simulate(60, seed=0), np.random.default_rng(0)
        models = {"good": rng.normal(data.labels), "poor": rng.normal(size=len(data.labels))}
        comparison = gw.compare(models, data.judgments(), metrics)
        place = metrics.index(EXPONENTIAL)
        ax = comparison.plot.attribution().ax
        legend = ax.get_legend()
        assert [text.get_text() for text in legend.get_texts()][:2] == [EXPONENTIAL, "rank 1"]
        assert to_hex(legend.get_patches()[0].get_facecolor()) == looks(LIGHT)[place].color
        lane, length, total = self.bars(ax)[-1]
        assert (lane, length) == (4.25, pytest.approx(comparison.attribution("good", "poor").difference[EXPONENTIAL]))
        assert to_hex(total.get_facecolor()) == looks(LIGHT)[place].color
        section = build_why_section(comparison.content)
        assert set(re.findall(r'class="([le])"', as_html(section.text))) == {"le"[place]}

    def test_grades_that_are_fractions(self):
        judgments = gw.Judgments([1.5, 0.5, 0, 0] * 40, group=[4] * 40)
        models = {"a": [4, 3, 2, 1] * 40, "b": [1, 2, 3, 4] * 40}
        comparison = gw.compare(models, judgments, ["ndcg_linear@3", "ndcg_exp@3"])
        picture = comparison.plot.attribution("a", "b")
        labels = [label.get_text() for label in picture.ax.get_yticklabels()]
        assert labels == ["grade 1.5", "grade 0.5", "total"]
        totals = comparison.attribution("a", "b").difference
        assert all(f"+{totals[metric]:.3f} under {metric}" in picture.title for metric in comparison.metrics[:2])


def test_queries_show_grades_in_ranked_order_and_both_differences(make):
    comparison = make(8)
    pair = [comparison.winners[metric] for metric in BOTH]
    rows = comparison.queries(*pair, most=4).to_dict("records")
    ax = comparison.plot.queries(most=4).ax
    shown = [text.get_text().replace("·", "0") for text in ax.texts]
    grades = [f"{grade}" for row in rows for model in pair for grade in row[f"labels {model}"]]
    assert [text for text in shown if re.fullmatch("[0-4]", text)] == grades
    expected = [row[f"difference {metric}"] for row in rows for metric in BOTH]
    written = [text for text in shown if re.fullmatch(r"0\.\d{3}", text)]
    assert written == [f"{abs(value):.3f}" for value in expected]
    bars = [part.get_width() for part in ax.patches if np.isclose(part.get_height(), 0.56)]
    assert np.allclose(np.array(bars) / bars[0], np.array(expected) / expected[0])
    assert np.sign(bars).tolist() == np.sign(expected).tolist()


class TestCurves:
    METRICS = ("a", "b")

    @staticmethod
    def curves(**values):
        frames = [
            pd.DataFrame({"candidate": "c", "round": range(1, len(value) + 1), "metric": metric, "value": value})
            for metric, value in values.items()
        ]
        return pd.concat(frames, ignore_index=True)

    def test_both_best_rounds_are_marked_and_what_the_other_loses_there(self):
        ax = plot_curves(self.curves(a=[0.1, 0.4, 0.3, 0.2], b=[0.1, 0.2, 0.3, 0.5]), self.METRICS).ax
        marks = [
            (line.get_xdata()[0], round(line.get_ydata()[0], 9)) for line in ax.lines if len(line.get_xdata()) == 1
        ]
        assert marks == [(4, -0.2), (2, 0.0), (2, -0.3), (4, 0.0)]
        drops = [part.get_segments()[0].round(9).tolist() for part in ax.collections]
        assert drops == [[[4, -0.2], [4, 0]], [[2, -0.3], [2, 0]]]
        assert re.findall(r"\d[.\d]*", ax.get_title(loc="left")) == ["2", "4", "0.200", "0.300"]

    def test_folds_gaps_and_which_candidate(self):
        torn = self.curves(a=[0.1, 0.9], b=[0.9, 0.1]).assign(candidate="torn")
        calm = self.curves(a=[0.1, 0.9], b=[0.1, 0.9]).assign(candidate="calm")
        assert plot_curves(pd.concat([calm, torn]), self.METRICS).title.startswith("torn")
        one = self.curves(a=[0.1, 0.4], b=[0.3, 0.2]).assign(fold="x")
        other = self.curves(a=[0.1, 0.4, 0.5], b=[0.3, 0.2, 0.4]).assign(fold="y")
        picture = plot_curves(pd.concat([one, other]), self.METRICS)
        draw(picture.ax)
        assert "1 of 2 trainings" in picture.title
        assert re.findall(r"In (fold \w),", picture.alt) == ["fold x", "fold y"]
        gap = plot_curves(self.curves(a=[0.1, 0.4], b=[0.1, 0.2, 0.3, 0.5]), self.METRICS)
        assert re.findall(r"\d+", gap.title) == ["2", "4"]
        equal = plot_curves(self.curves(a=[0.4, 0.4], b=[0.3, 0.3]), self.METRICS)
        assert re.findall(r"\d+", equal.title) == ["1"]

    def test_names_of_candidates_are_no_formulas(self):
        table = self.curves(a=[0.1, 0.9], b=[0.9, 0.1]).assign(candidate="$x$", fold="")
        picture = plot_curves(table, self.METRICS)
        assert picture.title.startswith("$x$: ")
        assert {text.get_parse_math() for text in picture.ax.findobj(Text) if "$x$" in text.get_text()} == {False}


@pytest.mark.parametrize("losses", [(), ("a",)])
def test_a_round_without_value_is_never_the_best(losses):
    sign = -1 if losses else 1
    table = TestCurves.curves(a=[sign * 0.1, np.nan, sign * 0.5, sign * 0.3], b=[0.9, 0.95, 0.2, 0.1])
    (row,) = best_rounds(table, ("a", "b"), losses).to_dict("records")
    assert (row["round a"], row["best a"], row["round b"]) == (3, sign * 0.5, 2)
    assert np.isnan(row["loss a"])
    assert row["loss b"] == pytest.approx(0.75)


def test_reports_say_where_a_loss_is_not_known(tmp_path):
    table = TestCurves.curves(
        a=[0.1, np.nan, 0.5, 0.3], b=[0.9, 0.95, np.nan, 0.1]
    )  # Each has no value if the other is best.
    values = np.random.default_rng(0).random((40, 2))
    comparison = gw.Comparison({"a": values, "b": values[::-1]}, ["A", "B"], curves=table, draws=200)
    text = comparison.to_markdown()
    assert "rounds 3 and 2. A metric has no value there" in text
    assert "unbounded" not in text.partition("## Best rounds")[2].partition("## Method")[0]
    assert "has no value at the other's best round" in comparison.plot.curves().alt
    assert "A metric has no value there" in comparison.to_html(tmp_path / "report.html").read_text("utf-8")


class TestLeaderboard:
    @staticmethod
    def marks(picture, theme=LIGHT):
        """Return position, metric and fill of every mark of a model by row."""
        colors = {theme.first: LINEAR, theme.second: EXPONENTIAL}
        found = [
            (line.get_ydata()[0], line.get_xdata()[0], colors[to_hex(line.get_markeredgecolor())],
             to_hex(line.get_markerfacecolor()) == to_hex(line.get_markeredgecolor()))
            for line in picture.ax.lines
            if line.get_marker() in ("o", "D") and line.get_zorder() == 6
        ]  # fmt: skip
        return {metric: sorted(mark[:2] + mark[3:] for mark in found if mark[2] == metric) for metric in BOTH}

    @pytest.mark.parametrize(("models", "theme"), [(2, LIGHT), (8, DARK), (30, LIGHT)])
    def test_marks_are_differences_of_means_and_hollow_if_ruled_out(self, make, models, theme):
        comparison = make(models)
        values = means(comparison)
        order = [comparison.models.index(row.model) for row in comparison.content.chart.fold()[0]]
        drawn = self.marks(comparison.plot.leaderboard(theme=theme.name), theme)
        for metric in BOTH:
            best = comparison.verdict.best_sets[metric]
            filled = [comparison.models[place] in {*best, *comparison.verdict.common_best} for place in order]
            assert [mark[2] for mark in drawn[metric]] == filled
            x = np.array([mark[1] for mark in drawn[metric]])
            value = values[metric][order]
            slope, _ = np.polyfit(value, x, 1)
            assert slope > 0  # right is better
            assert np.allclose(x - x.max(), slope * (value - value.max()), atol=2e-3 * np.ptp(x))

    @pytest.mark.parametrize("means", [{"a": 0.5}, {"a": 0.5, "b": 0.25}])
    def test_one_model_has_its_means_alone(self, means):
        picture = gw.Comparison({name: [[mean]] * 40 for name, mean in means.items()}, ["A"]).plot.leaderboard()
        assert [text.get_text() for text in picture.ax.texts] == [f"{name}: {mean:.4f}" for name, mean in means.items()]
        assert picture.title.startswith("One model")


def test_sums_do_not_cover_long_names_of_grades():
    """In a report, the picture of ranges of amounts has half of a page."""
    rng = np.random.default_rng(0)
    labels = rng.lognormal(5, 2, 2400).round(2) * (rng.random(2400) < 0.4)
    scores = {name: np.log1p(labels) + noise * rng.normal(size=2400) for name, noise in (("a", 1.5), ("b", 1.55))}
    comparison = gw.compare(scores, gw.Judgments(labels, group=[12] * 200), ["ndcg_linear@10", "map"], draws=200)
    ax = Figure(figsize=(5.1, 4.7), layout="constrained").add_subplot()
    comparison.plot.attribution("a", "b", ax=ax)
    draw(ax)
    names = max(label.get_window_extent().x1 for label in ax.get_yticklabels())
    assert max(len(label.get_text()) for label in ax.get_yticklabels()) > 20
    assert min(text.get_window_extent().x0 for text in ax.texts) >= names


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")
def test_titles_and_keys_with_wide_letters_are_inside_the_figure(make):
    """Chinese and Japanese letters are about twice as wide as others, so lines have fewer of them."""
    names = ("\u65b0\u3057\u3044\u30e9\u30f3\u30ad\u30f3\u30b0\u30e2\u30c7\u30eb" * 2, "\u8a66\u9a13\u7248" * 30)
    comparison = make(2, names=names)
    for picture in (comparison.plot.attribution(), comparison.plot.gains()):
        canvas = FigureCanvasAgg(picture.ax.figure)
        canvas.draw()
        for text in picture.ax.figure.findobj(Text):
            if text.get_visible() and re.search("[\u3040-\u9fff]", text.get_text()):
                box = text.get_window_extent(canvas.get_renderer())
                assert box.x0 >= -1, text.get_text()
                assert box.x1 <= canvas.get_width_height()[0] + 1, text.get_text()


@pytest.mark.parametrize("metric", ["mrr", "a_metric_with_a_name_of_many_letters_and_more"])
def test_the_title_of_choices_is_inside_the_figure(metric):
    """A comparison from values has few choices with short names, so the axes are wide."""
    values = np.random.default_rng(0).random((60, 3))
    ax = gw.Comparison({"map": values, metric: values**2}, list("abc"), draws=200).plot.sensitivity().ax
    draw(ax)
    assert ax.get_title(loc="left")
    assert min(text.get_window_extent().x0 for text in ax.findobj(Text) if text.get_text()) >= 0


def test_marks_of_choices_that_reverse_no_pair_are_whole(make):
    """They are on the edge of the axes, which would cut their left half off."""
    ax = make(12).plot.sensitivity().ax
    image = np.frombuffer(draw(ax), dtype=np.uint8).reshape(*ax.figure.canvas.get_width_height()[::-1], 4)
    marks = [line for line in ax.lines if line.get_marker() == "o" and line.get_xdata()[0] == 0]
    for mark in marks:
        x, y = ax.transData.transform((0, mark.get_ydata()[0])).round().astype(int)
        assert to_hex(image[len(image) - 1 - y, x - 2, :3] / 255) == to_hex(mark.get_color())
    assert marks


def test_a_picture_shows_itself_in_a_notebook_with_its_words(make):
    picture = make(8).plot.leaderboard()
    assert isinstance(picture, Picture)
    data, metadata = picture._repr_mimebundle_()
    image = imread(io.BytesIO(base64.b64decode(data["image/png"])))
    about = metadata["image/png"]
    assert image.shape[:2] == (2 * about["height"], 2 * about["width"])
    colours = (255 * image).round().astype(np.uint32) @ (1 << 8 * np.arange(image.shape[-1], dtype=np.uint32))
    assert len(np.unique(colours)) > 10
    assert about["alt"] == picture.alt
    assert data["text/plain"] == repr(picture) == f"<Picture: {picture.title}>"
    json.dumps([data, metadata])


@pytest.fixture(scope="module")
def path():
    """The path of models that are best one after the other, a bad model, and names with HTML characters."""
    data = simulate(1500, seed=4, mean_length=40)
    passable, outstanding = np.minimum(data.labels, 2), np.maximum(data.labels - 2, 0)
    noise = np.random.default_rng(4).normal(size=(4, len(data.labels)))
    scores = {
        "<fair>": passable + 1.25 * noise[0],
        "top & only": 0.4 * passable + 1.5 * outstanding + 0.9 * noise[1],
        "blend": 0.7 * passable + 0.75 * outstanding + 1.1 * noise[2],
        "noise": noise[3],
    }
    return gw.compare(scores, data.judgments(), BOTH).gains()


class TestGains:
    def test_is_embedded_in_both_themes_and_needs_nothing_else(self, path):
        page = embed(plot_gains, path)
        light, dark = (base64.b64decode(one).decode() for one in re.findall(r"svg\+xml;base64,([^\"]+)", page)[::-1])
        assert light != dark
        for figure in (light, dark):
            tree = ElementTree.fromstring(figure)
            assert tree.tag.endswith("svg")
            namespaces = r"xmlns(:\w+)?=\"[^\"]+\"|http://(purl|www.w3|creative|web)[^\"<]*|https://matplotlib.org/"
            assert "http" not in re.sub(namespaces, "", figure)
        assert page == embed(plot_gains, path)

    def test_lines_are_thick_where_a_model_may_be_best(self, path):
        lines = [line.get_xdata() for line in plot_gains(path).ax.lines if line.get_linewidth() == 4.5]
        ranges = [(start, stop) for _, start, stop in path.best_ranges.itertuples(index=False)]
        np.testing.assert_allclose(sorted((line[0], line[-1]) for line in lines), sorted(ranges))

    def test_gains_beyond_the_range_of_floats(self):
        assert [format_gain(base, 1100.0) for base in (1, 1.5, 2)] == ["1.1e+03", "1e+194", "inf"]

    def test_lines_are_the_regrets(self, path):
        ax = plot_gains(path).ax
        drawn = [line.get_ydata() for line in ax.lines if line.get_linewidth() == 1.4]
        for model in set(path.winners["model"]):
            regret = path.regret[:, path.models.index(model)]
            assert any(np.allclose(line, regret, equal_nan=True) for line in drawn)
