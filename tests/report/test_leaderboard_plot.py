"""The main chart and the object that every plot returns, read back from what was drawn."""

from __future__ import annotations

import base64
import io
import json
import re
import sys

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.image import imread

import gainsay as gs
from gainsay.drawing.palette import DARK, LIGHT
from gainsay.report.plots import Picture
from gainsay.report.plots.style import mixed

PICTURES = ("leaderboard", "conflict", "regret", "ranks", "pairs", "attribution", "queries", "curves")
LINEAR, EXPONENTIAL = BOTH = ("ndcg_linear@10", "ndcg_exp@10")


def texts(picture):
    return [text.get_text() for text in picture.ax.texts]


def marks(picture, theme=LIGHT):
    """Row, value, metric and whether filled, of every mark."""
    found = {}
    for part in picture.ax.collections:
        if isinstance(part, PathCollection):
            ((x, y),) = part.get_offsets().tolist()
            metric = {theme.first: LINEAR, theme.second: EXPONENTIAL}[to_hex(part.get_edgecolor()[0])]
            found[int(y), metric] = (x, to_hex(part.get_facecolor()[0]) == to_hex(part.get_edgecolor()[0]))
    return found


def intervals(picture, theme=LIGHT):
    hues = {
        mixed(theme.face, text, 0.7): metric
        for metric, text in ((LINEAR, theme.first_text), (EXPONENTIAL, theme.second_text))
    }
    lines = [line for line in picture.ax.lines if line.get_color() in hues and line.get_linewidth() > 2]
    return {(int(line.get_ydata()[0]), hues[line.get_color()]): tuple(line.get_xdata()) for line in lines}


def by_linear(comparison):
    values = {metric: comparison.values[metric].mean(axis=0) for metric in BOTH}
    return sorted(range(len(comparison.models)), key=lambda place: [-values[metric][place] for metric in BOTH]), values


@pytest.mark.parametrize("models", [3, 8])
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_marks_are_distances_to_the_best_mean_and_hollow_where_ruled_out(make, models, theme):
    comparison = make(models)
    order, values = by_linear(comparison)
    drawn = marks(comparison.plot.leaderboard(theme=theme.name), theme)
    assert len(drawn) == 2 * models
    for row, place in enumerate(order):
        for metric in BOTH:
            regret, filled = drawn[row, metric]
            assert regret == pytest.approx(values[metric].max() - values[metric][place], abs=1e-12)
            name = comparison.models[place]
            assert filled == (name in {*comparison.verdict.best_sets[metric], *comparison.verdict.common_best})


def test_an_interval_reaches_zero_exactly_where_the_mark_is_filled(make):
    comparison = make(8)
    picture = comparison.plot.leaderboard()
    drawn = marks(picture)
    ends = intervals(picture)
    assert set(ends) == set(drawn)
    hollow = 0
    for at, (lower, upper) in ends.items():
        regret, filled = drawn[at]
        assert (lower == 0) == filled
        assert lower <= regret <= upper
        hollow += not filled
    assert hollow > 3


def test_a_genuine_disagreement_has_its_price_and_every_model_a_mark_at_or_beyond_it(from_values):
    rng = np.random.default_rng(1)
    base = rng.uniform(0.3, 0.6, size=(800, 1)) + rng.normal(0, 0.05, size=(800, 3))
    comparison = from_values(base + np.array([0.06, 0, 0.03]), base + np.array([0, 0.06, 0.03]), list("abc"), BOTH)
    assert comparison.verdict.kind == "genuine"
    picture = comparison.plot.leaderboard()
    (price,) = [line.get_xdata()[0] for line in picture.ax.lines if line.is_dashed()]
    drawn = marks(picture)
    worst = [max(drawn[row, metric][0] for metric in BOTH) for row in range(3)]
    assert price == pytest.approx(min(worst))
    assert any(text.startswith(f"price of disagreement {price:.4f}") for text in texts(picture))
    assert re.fullmatch(r"a is best by linear gain, b by exponential: proven \(p.=.[\d.e-]+\)", picture.title)
    assert {"best by linear", "best by exp", "★ safe"} <= set(texts(picture))


def test_where_nothing_is_decided_a_ruler_shows_what_would_be(make):
    comparison = make(8)
    verdict = comparison.verdict
    assert verdict.kind == "unresolved"
    picture = comparison.plot.leaderboard()
    assert f"smallest lead that 300 queries show: {verdict.detectable:.4f}  " in texts(picture)
    assert picture.title == f"Not proven: {len(verdict.common_best)} of 8 models may still be best under both"
    bars = [part.get_segments()[0] for part in picture.ax.collections if not isinstance(part, PathCollection)]
    assert any(np.isclose(np.ptp(np.asarray(bar)[:, 0]), verdict.detectable) for bar in bars)


@pytest.mark.parametrize("models", [3, 8, 30])
def test_the_words_of_the_ruler_cover_no_tick(make, models):
    ax = make(models).plot.leaderboard().ax
    ax.figure.draw_without_rendering()
    (words,) = [text for text in ax.texts if text.get_text().startswith("smallest lead")]
    ruler = words.get_bbox_patch().get_window_extent()
    assert not any(ruler.overlaps(label.get_window_extent()) for label in ax.get_xticklabels())


def test_of_many_models_the_first_the_winners_and_the_safe_choice_have_rows_and_the_others_ticks(make):
    comparison = make(30)
    order, values = by_linear(comparison)
    verdict = comparison.verdict
    kept = {*(comparison.models[place] for place in order[:12]), *verdict.winners.values(), verdict.safe_choice}
    picture = comparison.plot.leaderboard()
    written = [text for text in texts(picture) if text in comparison.models]
    assert written == [comparison.models[place] for place in order if comparison.models[place] in kept]
    assert f"{30 - len(kept)} more" in texts(picture)
    for metric, colour in ((LINEAR, LIGHT.first), (EXPONENTIAL, LIGHT.second)):
        left = [place for place in order if comparison.models[place] not in kept]
        expected = sorted(values[metric].max() - values[metric][place] for place in left)
        (ticks,) = [
            part.get_segments()
            for part in picture.ax.collections
            if not isinstance(part, PathCollection) and to_hex(part.get_edgecolor()[0]) == colour
        ]
        limit = picture.ax.get_xlim()[1]
        assert sorted(tick[0][0] for tick in ticks) == pytest.approx([it for it in expected if it <= limit])


def test_two_models_have_a_row_for_every_metric_with_their_difference(make):
    comparison = make(2)
    values = {metric: np.diff(table.mean(axis=0))[0] for metric, table in comparison.values.items()}
    sign = np.sign(values[LINEAR])
    picture = comparison.plot.leaderboard()
    dots = [part.get_offsets().tolist()[0] for part in picture.ax.collections if isinstance(part, PathCollection)]
    assert [x for x, _ in dots] == pytest.approx([sign * values[metric] for metric in comparison.metrics])
    assert dots[0][0] > 0
    assert list(comparison.metrics) == [text for text in texts(picture) if text in comparison.metrics]


def test_one_model_has_a_row_for_every_metric_with_its_mean(from_values):
    values = np.random.default_rng(0).random((200, 1))
    comparison = from_values(values, values**2, ["only"], BOTH)
    picture = comparison.plot.leaderboard()
    dots = [part.get_offsets().tolist()[0][0] for part in picture.ax.collections]
    assert dots == pytest.approx([values.mean(), (values**2).mean()])
    assert picture.title == "only: the only model, over 200 queries"


def test_of_a_loss_the_lowest_is_best_by_it():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 3000)
    cost = gs.metric(
        "cost", lambda labels, scores: float(labels[np.argsort(-scores)[-3:]].sum()), higher_is_better=False
    )
    models = {name: labels + rng.normal(0, spread, 3000) for name, spread in (("good", 0.5), ("fair", 1), ("poor", 4))}
    comparison = gs.compare(models, gs.Judgments(labels, group=[30] * 100), [cost, "mrr"], draws=1000)
    assert texts(comparison.plot.leaderboard())[0] == "good"


def test_a_difference_of_a_loss_has_its_own_sign_and_is_drawn_to_the_side_that_is_better():
    def last(labels, scores):
        return float(labels[np.argsort(scores)[0]])

    cost = gs.metric("label_at_the_end", last, higher_is_better=False)
    judgments = gs.Judgments([1, 0] * 50, group=[2] * 50)
    models = {"good": [2, 1] * 50, "poor": [1, 2] * 40 + [2, 1] * 10}
    picture = gs.compare(models, judgments, [cost, "mrr"], draws=1000).plot.leaderboard()
    dots = [part.get_offsets().tolist()[0][0] for part in picture.ax.collections if isinstance(part, PathCollection)]
    assert dots == pytest.approx([0.8, 0.4])
    of_cost, of_mrr = (text for text in texts(picture) if re.match(r"[+−]0\.", text))
    assert re.fullmatch(r"−0\.8000   −[01]\.\d{4} to −0\.\d{4}   lower is better", of_cost)
    assert re.fullmatch(r"\+0\.4000   \+0\.\d{4} to \+0\.\d{4}", of_mrr)
    assert "good minus poor, one row a metric. label_at_the_end: −0.8000 " in picture.alt


class TestPicture:
    def test_it_shows_itself_in_a_notebook_with_its_words(self, make):
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

    def test_one_on_a_figure_of_pyplot_is_shown_once_by_pyplot(self, make):
        from matplotlib import pyplot as plt

        figure, ax = plt.subplots()
        assert set(make(8).plot.regret(ax)._repr_mimebundle_()[0]) == {"text/plain"}
        plt.close(figure)

    @pytest.mark.parametrize("picture", PICTURES)
    def test_every_plot_saves_with_a_path(self, make, picture, tmp_path):
        target = tmp_path / f"{picture}.svg"
        drawn = getattr(make(8, curves=True).plot, picture)(path=target)
        text = target.read_text("utf-8")
        assert f"<dc:title>{drawn.title}</dc:title>" in text.replace("&gt;", ">")
        assert drawn.alt[:40] in text

    @pytest.mark.parametrize("ending", ["png", "pdf", "jpg"])
    def test_other_kinds_of_files(self, make, ending, tmp_path):
        target = make(8).plot.regret().save(tmp_path / f"picture.{ending}")
        assert target.read_bytes()[:4] in (b"\x89PNG", b"%PDF", b"\xff\xd8\xff\xe0")

    def test_the_figure_and_the_axes_can_be_worked_on(self, make):
        picture = make(8).plot.ranks()
        picture.ax.set_title("mine", loc="left")
        assert picture.title == "mine"
        assert picture.figure is picture.ax.figure
        assert isinstance(picture.figure, Figure)

    @pytest.mark.parametrize(("path", "message"), [("picture", "must end in the kind"), ("no/folder.png", "no folder")])
    def test_a_path_that_cannot_be_written_is_refused_before_drawing(self, make, path, message, monkeypatch):
        module = sys.modules["gainsay.report.plots.accessor"]
        monkeypatch.setattr(module, "plot_pairs", lambda *_: pytest.fail("was drawn"))
        with pytest.raises((ValueError, OSError), match=message):
            make(8).plot.pairs(path=path)
