"""What pictures draw, read back from their artists and held against numbers that are computed here."""

from __future__ import annotations

import re
import sys
import threading

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PathCollection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

import gainsay as gs
from gainsay._common.shown import short_names
from gainsay.drawing.palette import DARK, LIGHT
from gainsay.report.numbers import MINUS, difference
from gainsay.report.plots import plot_curves, plot_explain, plot_queries
from gainsay.report.plots.contributions import rank_contributions
from gainsay.report.plots.labels import label_points
from gainsay.report.plots.pairs import STRONGEST
from gainsay.report.plots.ranks import rank_lines
from gainsay.report.plots.regret import pareto_front
from gainsay.report.plots.style import grade_colours, mixed

PICTURES = ("leaderboard", "conflict", "regret", "ranks", "pairs", "attribution", "queries", "curves")
BOTH = ("ndcg_linear@10", "ndcg_exp@10")


def draw(ax):
    """Render, which is where Matplotlib warns and fails."""
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()  # once; to save a file is to lay out and draw twice
    return bytes(canvas.buffer_rgba())


def points(ax):
    """Coordinates of all scattered points, rounded."""
    found = [offset for part in ax.collections if isinstance(part, PathCollection) for offset in part.get_offsets()]
    return sorted(tuple(np.round(np.asarray(offset, dtype=float), 9)) for offset in found)


def words(ax):
    return [text.get_text() for text in ax.findobj(Text) if text.get_text()]


def luminance(colour):
    channels = np.array(matplotlib.colors.to_rgb(colour))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def means(comparison):
    return {metric: comparison.values[metric].mean(axis=0) for metric in comparison.verdict.metrics}


@pytest.mark.parametrize(("models", "theme"), [(2, "light"), (8, "light"), (8, "dark"), (30, "light")])
@pytest.mark.parametrize("picture", PICTURES)
def test_every_picture_is_drawn_with_all_its_text_and_with_title_and_alt_text(make, picture, models, theme):
    comparison = make(models, curves=True)
    settings, had_pyplot = dict(matplotlib.rcParams), "matplotlib.pyplot" in sys.modules
    drawn = getattr(comparison.plot, picture)(theme=theme)
    draw(drawn.ax)
    assert dict(matplotlib.rcParams) == settings
    assert ("matplotlib.pyplot" in sys.modules) == had_pyplot
    assert drawn.title
    assert len(drawn.alt) > 60
    assert any(letter.isdigit() for letter in drawn.alt)
    assert to_hex(drawn.figure.get_facecolor()) == {"light": LIGHT, "dark": DARK}[theme].face
    box, (width, height) = drawn.figure.get_tightbbox(), drawn.figure.get_size_inches()
    assert box.x0 >= -0.01
    assert box.y0 >= -0.01
    assert box.x1 <= width + 0.01
    assert box.y1 <= height + 0.01


@pytest.mark.parametrize("picture", PICTURES)
def test_pictures_are_drawn_on_the_axes_that_are_given(make, picture):
    ax = Figure(figsize=(6, 5)).add_subplot()
    assert getattr(make(8, curves=True).plot, picture)(ax=ax).ax is ax


@pytest.mark.parametrize("picture", PICTURES)
def test_identical_models_are_drawn(make, picture):
    draw(getattr(make(4, twins=True, curves=True).plot, picture)().ax)


@pytest.mark.parametrize("picture", PICTURES[:5])
def test_metrics_other_than_ndcg_are_drawn(make, picture):
    ax = getattr(make(5, metrics=("map", "mrr")).plot, picture)().ax
    draw(ax)
    assert any("mrr" in text for text in words(ax))


@pytest.mark.parametrize("picture", PICTURES[:5])
def test_models_that_never_differ_are_drawn(from_values, picture):
    same = np.tile(np.random.default_rng(0).random((50, 1)), 3)
    draw(getattr(from_values(same, same).plot, picture)().ax)


@pytest.mark.parametrize("picture", PICTURES[:5])
def test_a_single_query_is_drawn_without_its_infinite_intervals(from_values, picture):
    draw(getattr(from_values([[0.1, 0.2]], [[0.2, 0.1]]).plot, picture)().ax)


def test_an_unknown_theme_is_refused(make):
    with pytest.raises(ValueError, match="theme must be 'light' or 'dark': got 'blue'"):
        make(8).plot.conflict(theme="blue")


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_marks_are_legible_on_the_background(theme):
    assert contrast(theme.ink, theme.face) >= 7
    assert contrast(theme.muted, theme.face) >= 4.5
    assert all(contrast(colour, theme.face) >= 3 for colour in (theme.first, theme.second, theme.third))
    assert len(set(theme.colours().values())) == len(theme.colours())


@pytest.mark.parametrize("count", [1, 2, 3, 5, 11, 20])
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_is_legible_on_every_grade_and_the_lowest_is_the_background(count, theme):
    assert len(grade_colours(count, theme)) == count
    assert min(contrast(*pair) for pair in grade_colours(count, theme)) >= 3
    assert grade_colours(count, theme)[0][0] == theme.face


def labels(ax):
    """Names beside points, as drawn: the extent of each in pixels, its point, and the line that leads to it, if any."""
    ax.figure.draw_without_rendering()
    notes = [text for text in ax.texts if isinstance(text, Annotation)]
    lines = {note.xy: note.arrow_patch.get_transform() for note in notes if note.arrow_patch is not None}
    paths = {note.xy: note.arrow_patch.get_path() for note in notes if note.arrow_patch is not None}
    return {
        note.get_text(): (
            note.get_window_extent(),
            ax.transData.transform(note.xy),
            lines[note.xy].transform_path(paths[note.xy]) if note.xy in lines else None,
        )
        for note in notes
        if note.get_text()
    }


def distance(box, point):
    """How far a point is from a box."""
    return float(np.hypot(*np.maximum(np.maximum(box.min - point, point - box.max), 0)))


class TestLabels:
    CLOSE = {
        "lgb linear (large trees)": (0.0, 0.0),
        "xgb linear (small trees)": (0.010, 0.0156),
        "lgb exp (large trees)": (0.020, 0.0125),
        "lgb linear (small trees)": (0.0236, 0.0474),
        "xgb linear (large trees)": (0.0402, 0.0477),
        "xgb exp (small trees)": (0.0470, 0.0512),
        "xgb exp (large trees)": (0.0489, 0.0483),
        "lgb exp (small trees)": (0.0606, 0.0614),
    }

    @staticmethod
    def axes(reach=0.07):
        ax = Figure(figsize=(6.4, 5.4)).add_subplot()
        ax.set_xlim(-0.06 * reach, reach)
        ax.set_ylim(-0.06 * reach, reach)
        return ax

    def placed(self, points, **options):
        ax = self.axes()
        label_points(ax, list(points.values()), list(points), "black", **options)
        return labels(ax)

    def test_names_without_a_line_are_much_nearer_to_their_own_marker(self):
        found = self.placed(self.CLOSE)
        markers = {text: point for text, (_, point, _) in found.items()}
        assert set(found) == set(self.CLOSE)
        for text, (box, own, line) in found.items():
            others = [distance(box, point) for other, point in markers.items() if other != text]
            assert line is not None or 1.7 * distance(box, own) < min(others)
        assert sum(line is None for _, _, line in found.values()) >= 5

    @pytest.mark.parametrize("seed", range(3, 9))
    def test_lines_run_through_no_name_no_other_marker_and_no_other_line(self, seed):
        crowd = np.random.default_rng(seed).random((60, 2)) * 0.06
        found = self.placed({f"a name of length {number}": tuple(crowd[number]) for number in range(8)}, around=crowd)
        led = {text: line for text, (_, _, line) in found.items() if line is not None}
        assert len(found) >= 6
        assert len(led) >= 3
        markers = self.axes().transData.transform(crowd)
        for text, line in led.items():
            own = found[text][1]
            for marker in markers[np.hypot(*(markers - own).T) > 8]:
                assert not line.intersects_bbox(Bbox([marker - 3, marker + 3]))
            assert not any(line.intersects_bbox(box) for other, (box, _, _) in found.items() if other != text)
            assert not any(line.intersects_path(other) for other in led.values() if other is not line)

    def test_no_name_covers_another_or_leaves_the_axes(self):
        ax = self.axes()
        label_points(ax, list(self.CLOSE.values()), list(self.CLOSE), "black")
        boxes = [box for box, _, _ in labels(ax).values()]
        assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])
        assert all(ax.bbox.containsx(box.x0) and ax.bbox.containsx(box.x1) for box in boxes)

    def test_two_models_at_one_point_are_both_named(self):
        assert set(self.placed({"one": (0.03, 0.03), "other": (0.03, 0.03)})) == {"one", "other"}

    def test_who_found_no_place_comes_first_in_the_next_try(self):
        """On axes as high as one line, the first name has room on both sides of its point, the second on that side."""
        ax = Figure(figsize=(6.4, 5.4)).add_axes((0.1, 0.4, 0.8, 20 / 388.8))
        ax.set_xlim(0, 368.64)
        ax.set_ylim(0, 20)
        label_points(ax, [(150, 10), (330, 10)], ["first", "x" * 28], "black")
        found = labels(ax)
        assert list(found) == ["x" * 28, "first"]
        box, own, _ = found["first"]
        assert box.x1 < own[0]


class TestNames:
    FAMILY = [f"lambdarank lr=0.{place % 9 + 1} leaves={2 ** (place % 5 + 3) - 1} seed={place}" for place in range(30)]

    @pytest.mark.parametrize("most", [12, 18, 24])
    def test_numbers_stay_whole_or_are_left_out(self, most):
        for name, short in short_names(self.FAMILY, most).items():
            whole = set(re.findall(r"\d+(?:\.\d+)?", name))
            assert set(re.findall(r"\d+(?:\.\d+)?", short.split(" #")[0])) <= whole
            assert len(short) <= most

    def test_words_that_all_share_shrink_before_anything_that_differs_is_left_out(self):
        assert short_names(self.FAMILY, 24)["lambdarank lr=0.3 leaves=127 seed=29"] == "…lr=0.3 l…=127 seed=29"

    def test_a_number_with_an_exponent_is_one_number(self):
        names = ["lambdarank lr=1e-05, bagged", "lambdarank lr=1e-06, bagged"]
        assert list(short_names(names, 20).values()) == ["…lr=1e-05, bagged", "…lr=1e-06, bagged"]

    def test_a_long_number_at_the_end_is_kept(self):
        assert list(short_names(["ranknet 20251120143022", "mart 20251120143023"], 16).values()) == [
            "r…20251120143022",
            "m…20251120143023",
        ]

    def test_what_is_too_long_is_cut_between_words(self):
        assert list(short_names(["ranknet of the last summer, seed 1"], 24).values()) == ["ranknet of the …, seed 1"]

    def test_pairs_in_pictures_have_names_of_full_length(self, make):
        names = tuple(f"lgb {kind} ({size} trees)" for kind in ("exp", "linear") for size in ("large", "small"))
        found = words(make(4, names=names).plot.conflict().ax)
        assert any(text.split("\n")[0] in names for text in found if f"\n{MINUS} " in text)


class TestConflict:
    def test_each_pair_is_a_point_at_both_its_leads_put_so_that_the_first_is_above_zero(self, make):
        comparison = make(8)
        linear, exponential = (means(comparison)[metric] for metric in BOTH)
        expected = [
            (linear[one] - linear[other], exponential[one] - exponential[other])
            for one in range(8)
            for other in range(8)
            if linear[one] > linear[other]
        ]
        ax = comparison.plot.conflict().ax
        assert len(expected) == 28
        assert np.allclose(points(ax), sorted(expected), atol=1e-8)
        (half,) = [part for part in ax.patches if isinstance(part, Rectangle) and part.get_fill()]
        assert half.get_bbox().x0 == half.get_bbox().y1 == 0  # where the second metric prefers the other one

    def test_names_say_whom_the_first_metric_prefers(self, make):
        comparison = make(8)
        named = [note.get_text() for note in comparison.plot.conflict().ax.texts if f"\n{MINUS} " in note.get_text()]
        assert named
        linear = dict(zip(comparison.models, means(comparison)[BOTH[0]], strict=True))
        for text in named:
            better, worse = text.split(f"\n{MINUS} ")
            assert linear[better] > linear[worse]

    def test_only_proven_conflicts_are_filled(self, make):
        comparison = make(8)
        ax = comparison.plot.conflict().ax
        agree, unproven, proven = (part for part in ax.collections if isinstance(part, PathCollection))
        pairs = comparison.pairs
        conflict = pairs["difference ndcg_linear@10"] * pairs["difference ndcg_exp@10"] < 0
        sure = conflict & (pairs["p_holm"] <= 0.05)
        assert [len(part.get_offsets()) for part in (agree, unproven, proven)] == [
            (~conflict).sum(),
            (conflict & ~sure).sum(),
            sure.sum(),
        ]
        assert to_hex(agree.get_facecolor()[0]) == LIGHT.face
        assert to_hex(proven.get_facecolor()[0]) == LIGHT.ink  # blue and orange are metrics
        assert to_hex(unproven.get_facecolor()[0]) == LIGHT.face
        assert agree.get_paths()[0].vertices.shape != proven.get_paths()[0].vertices.shape

    def test_intervals_are_drawn_where_there_are_few_pairs(self, make):
        def lines(models):
            return [part for part in make(models).plot.conflict().ax.collections if isinstance(part, LineCollection)]

        across, up = lines(8)
        pairs = make(8).pairs
        sign = np.sign(pairs["difference ndcg_linear@10"].to_numpy())[:, None]
        for drawn, axis, metric in ((across, 0, BOTH[0]), (up, 1, BOTH[1])):
            expected = sign * pairs[[f"lower {metric}", f"upper {metric}"]].to_numpy()
            assert np.allclose([part[:, axis] for part in drawn.get_segments()], expected)
        assert lines(30) == []

    def test_the_title_counts_the_conflicts(self, make):
        pairs = make(8).pairs
        conflict = pairs["conflict"]
        sure = (conflict & (pairs["p_holm"] <= 0.05)).sum()
        title = make(8).plot.conflict().ax.get_title(loc="left").replace("\n", " ")
        assert title == f"{conflict.sum()} of 28 pairs of models are in opposite order, {sure or 'none'} significantly"


class TestRegret:
    def test_each_model_is_a_point_at_both_its_regrets(self, make):
        comparison = make(8)
        linear, exponential = (values.max() - values for values in means(comparison).values())
        limit = comparison.plot.regret().ax.get_xlim()[1] / 1.03
        expected = sorted(zip(np.minimum(linear, limit), np.minimum(exponential, limit), strict=True))
        assert np.allclose(points(comparison.plot.regret().ax), expected, atol=1e-8)

    def test_the_safe_choice_is_the_one_star(self, make):
        comparison = make(8)
        ax = comparison.plot.regret().ax
        (star,) = [part for part in ax.collections if part.get_label() == "safe choice"]
        worst = np.maximum(*(values.max() - values for values in means(comparison).values()))
        assert comparison.models[int(worst.argmin())] == comparison.verdict.safe_choice
        assert np.isclose(star.get_offsets().max(), worst.min())

    def test_the_front_holds_whom_nobody_dominates(self, make):
        verdict = make(30).verdict
        x, y = (verdict.regrets[metric] for metric in verdict.metrics)
        expected = [
            name
            for name in verdict.models
            if not any(
                x[other] <= x[name] and y[other] <= y[name] and (x[other], y[other]) != (x[name], y[name])
                for other in verdict.models
            )
        ]
        assert set(pareto_front(verdict)) == set(expected)
        assert list(pareto_front(verdict)) == sorted(expected, key=lambda name: x[name])

    def test_who_is_level_under_one_metric_and_behind_under_the_other_is_not_on_the_front(self, from_values):
        noise = 1e-3 * np.random.default_rng(0).random((50, 1))
        verdict = from_values(noise + np.array([0.5, 0.5, 0.2]), noise + np.array([0.3, 0.2, 0.4])).verdict
        assert pareto_front(verdict) == ("m0", "m2")

    def test_up_to_ten_models_are_named_and_beyond_that_those_that_matter(self, make):
        short = short_names(make(8).models)
        assert set(labels(make(8).plot.regret().ax)) == set(short.values())
        verdict = make(30).verdict
        short = short_names(verdict.models)
        some = {*pareto_front(verdict), *verdict.winners.values(), verdict.safe_choice}
        some |= set(verdict.common_best) if len(verdict.common_best) <= 4 else set()
        found = set(labels(make(30).plot.regret().ax))
        assert short[verdict.safe_choice] in found
        assert found <= {short[name] for name in some}

    def test_the_box_is_the_rope(self, make):
        (box,) = make(8, rope=0.01).plot.regret().ax.patches
        assert (box.get_xy(), box.get_width(), box.get_height()) == ((0, 0), 0.01, 0.01)
        assert len(make(8, rope=0.0).plot.regret().ax.patches) == 0


class TestRanks:
    def test_lines_join_the_ranks(self, make):
        comparison = make(8)
        for line in rank_lines(comparison):
            place = comparison.models.index(line.model)
            expected = [1 + int((values > values[place]).sum()) for values in means(comparison).values()]
            assert list(line.ranks) == expected
            assert list(line.places) == expected
        drawn = [list(line.get_ydata()) for line in comparison.plot.ranks().ax.lines if len(line.get_xdata()) == 2][:8]
        assert drawn == [list(line.places) for line in rank_lines(comparison)]

    def test_a_line_is_broken_exactly_where_no_swap_of_its_model_is_proven(self, make):
        comparison = make(8)
        pairs = comparison.pairs
        for line in rank_lines(comparison):
            own = pairs[(pairs["model_x"] == line.model) | (pairs["model_y"] == line.model)]
            swaps = own[own["conflict"]]
            assert line.broken == (len(swaps) > 0 and not (swaps["p_holm"] <= 0.05).any())

    def test_equal_models_share_a_rank_and_are_drawn_apart(self, make):
        lines = {line.model: line for line in rank_lines(make(4, twins=True))}
        one, other = lines["lambdarank, taste 0"], lines["lambdarank, taste 1"]
        assert one.ranks == other.ranks
        assert one.shared == other.shared == (True, True)
        assert {one.places[0], other.places[0]} == {one.ranks[0], one.ranks[0] + 1}
        assert any(f"{one.ranks[0]}=" in text for text in words(make(4, twins=True).plot.ranks().ax))


class TestPairs:
    @staticmethod
    def table(comparison):
        """Differences in the order of the first metric, above the diagonal of it, below of the second."""
        linear, exponential = means(comparison).values()
        order = np.argsort(-linear)
        table = np.subtract.outer(linear[order], linear[order])
        below = np.tril_indices(len(order), -1)
        table[below] = np.subtract.outer(exponential[order], exponential[order]).T[below]
        return table

    def test_cells_are_differences_of_means_in_the_order_of_the_first_metric(self, make):
        comparison = make(8)
        ax = comparison.plot.pairs().ax
        mesh = next(part for part in ax.collections if isinstance(part, QuadMesh))
        shades = np.array([[to_hex(shade) for shade in row] for row in mesh.get_array()])
        table = self.table(comparison)
        written = {
            (round(y - 0.5), round(x - 0.5)): text.get_text()
            for text in ax.texts
            for x, y in [text.get_position()]
            if re.match(r"[+−]\d", text.get_text())
        }
        assert written == {
            (row, column): difference(table[row, column]) for row in range(8) for column in range(8) if row != column
        }
        share = 0.7 * np.sqrt(np.abs(table) / np.abs(table).max())
        for row, column in np.ndindex(8, 8):
            hue = LIGHT.muted if table[row, column] < 0 else LIGHT.first if row < column else LIGHT.second
            assert shades[row, column] == (mixed(LIGHT.face, hue, share[row, column]) if row != column else LIGHT.face)

    @pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
    def test_ink_is_legible_on_the_strongest_cells(self, theme):
        for hue in (theme.first, theme.second, theme.muted):
            assert contrast(theme.ink, mixed(theme.face, hue, STRONGEST[theme.name])) >= 4.5

    @pytest.mark.parametrize(("models", "letters"), [(4, 22), (8, 22), (30, 21)])
    def test_long_names_leave_a_margin(self, make, models, letters):
        """For letters are wider in some readers' fonts, and at some resolutions."""
        names = tuple(f"{chr(65 + place)}{'w' * (letters - 2)} {place}" for place in range(models))
        figure = make(models, names=names).plot.pairs().ax.figure
        figure.set_dpi(72)
        figure.draw_without_rendering()
        assert figure.get_tightbbox().x0 >= 0.1

    @pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
    def test_numbers_are_legible_and_those_that_are_significant_bold(self, make, theme):
        comparison = make(8)
        ax = comparison.plot.pairs(theme=theme.name).ax
        cells = [text for text in ax.texts if re.match(r"[+−]\d", text.get_text())]
        assert {to_hex(text.get_color()) for text in cells} == {theme.ink}
        sure = sum(int((comparison.pairs[f"p_holm {metric}"] <= 0.05).sum()) for metric in BOTH)
        assert 0 < sure < len(cells) == 56
        assert sum(text.get_weight() == "bold" for text in cells) == sure

    def test_signs_are_legible_and_those_that_are_significant_bold(self, make):
        comparison = make(30)
        marks = [part for part in comparison.plot.pairs().ax.collections if isinstance(part, PathCollection)]
        assert {to_hex(colour) for part in marks for colour in part.get_edgecolor()} == {LIGHT.ink}
        bold = sum(len(part.get_offsets()) for part in marks if part.get_linewidth()[0] > 1)
        assert bold == sum(int((comparison.pairs[f"p_holm {metric}"] <= 0.05).sum()) for metric in BOTH)

    def test_the_alt_text_says_which_conflicts_are_significant(self, make):
        comparison = make(8)
        below = comparison.pairs[comparison.pairs["conflict"]]
        sure = int((below["p_holm ndcg_exp@10"] <= 0.05).sum())
        assert sure > 0
        assert comparison.plot.pairs().alt.count("under ndcg_exp@10, significant.") == sure

    def test_signs_are_those_of_the_cells(self, make):
        comparison = make(30)
        table = self.table(comparison)
        marks = [part for part in comparison.plot.pairs().ax.collections if isinstance(part, PathCollection)]
        for parts, cells in ((marks[:2], table > 0), (marks[2:], table < 0)):
            drawn = [tuple(offset) for part in parts for offset in part.get_offsets().tolist()]
            assert sorted(drawn) == sorted((column + 0.5, row + 0.5) for row, column in np.argwhere(cells))


class TestAttribution:
    @staticmethod
    def bars(ax):
        """Row, lane and length of every piece, in the order that they were drawn in."""
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

    def test_a_colour_means_a_metric_and_grey_the_second_model(self, make):
        ax = make(8).plot.attribution().ax
        for y, width, piece in self.bars(ax):
            hue = LIGHT.muted if width < 0 else LIGHT.first if round(y % 1, 2) in (0.8, 0.05) else LIGHT.second
            shades = [mixed(LIGHT.face, hue, share) for share in (1, 0.72, 0.48, 0.28)]
            assert to_hex(piece.get_facecolor()) in shades

    def test_pieces_of_one_side_do_not_overlap_and_the_first_ranks_are_next_to_zero(self, make):
        ends = {}
        for y, width, piece in self.bars(make(8).plot.attribution().ax):
            assert piece.get_x() == pytest.approx(ends.get((y, width > 0), 0.0))
            ends[y, width > 0] = piece.get_x() + width

    def test_the_title_says_on_which_grades_the_first_model_gains_and_loses(self, make):
        comparison = make(8)
        pair = [comparison.winners[metric] for metric in BOTH]
        sums = comparison.attribution(*pair, BOTH).grades_by_ranks.loc[BOTH[0]].sum(axis=1)
        gained = sums[sums > 0]
        title = comparison.plot.attribution().title
        assert title.startswith(
            f"{pair[0]} gains {gained.sum():.3f} on grades {min(gained.index)}–{max(gained.index)} "
        )

    def test_labels_that_are_no_whole_numbers(self):
        judgments = gs.Judgments([1.5, 0.5, 0, 0] * 40, group=[4] * 40)
        models = {"a": [4, 3, 2, 1] * 40, "b": [1, 2, 3, 4] * 40}
        title = gs.compare(models, judgments, ["ndcg_linear@3", "ndcg_exp@3"]).plot.attribution().title
        assert re.match(r"a gains 0\.\d{3} on grades 0\.5 and 1\.5 under ndcg_linear@3", title)

    def test_a_metric_that_no_grade_changes_is_not_in_the_title(self):
        judgments = gs.Judgments([2, 1, 0] * 40, group=[3] * 40)
        models = {"a": [3, 2, 1] * 40, "b": [3, 1, 2] * 40}
        title = gs.compare(models, judgments, ["ndcg_linear@1", "ndcg_linear@2"]).plot.attribution().title
        assert re.fullmatch(r"a gains 0\.\d{3} on grade 1 under ndcg_linear@2", title)

    def test_a_pair_may_be_named(self, make):
        comparison = make(8)
        assert "taste 2 minus" in comparison.plot.attribution("lambdarank, taste 2", "lambdarank, taste 3").alt
        with pytest.raises(ValueError, match="name both models"):
            comparison.plot.attribution("lambdarank, taste 2")


class TestQueries:
    def test_strips_hold_the_grades_in_ranked_order(self, make):
        comparison = make(8)
        table = comparison.queries(*(comparison.winners[metric] for metric in BOTH), most=3)
        ax = comparison.plot.queries(most=3).ax
        cells = [part for part in ax.patches if isinstance(part, Rectangle) and part.get_width() == 0.9]
        grades = [text.get_text().replace("·", "0") for text in ax.texts if text.get_text() in set("·1234")]
        expected = [
            f"{grade}"
            for row in table.to_dict("records")
            for model in (comparison.winners[metric] for metric in BOTH)
            for grade in row[f"labels {model}"]
        ]
        assert grades == expected
        shades = grade_colours(5)
        assert [to_hex(cell.get_facecolor()) for cell in cells] == [shades[int(grade)][0] for grade in expected]

    @staticmethod
    def bars(ax):
        return [part for part in ax.patches if isinstance(part, Rectangle) and np.isclose(part.get_height(), 0.56)]

    def test_bars_say_by_how_much_each_metric_prefers_whom(self, make):
        comparison = make(8)
        first, second = (comparison.winners[metric] for metric in BOTH)
        rows = comparison.queries(first, second, most=4).to_dict("records")
        ax = comparison.plot.queries(most=4).ax
        bars = [bar.get_width() for bar in self.bars(ax)]
        expected = [row[f"difference {metric}"] for row in rows for metric in BOTH]
        assert np.allclose(np.array(bars) / bars[0], np.array(expected) / expected[0])
        assert np.sign(bars).tolist() == np.sign(expected).tolist()
        colours = [to_hex(bar.get_facecolor()) for bar in self.bars(ax)]
        assert colours == [LIGHT.first, LIGHT.second] * 4
        assert [f"{abs(value):.4f}" for value in expected] == [
            text.get_text() for text in ax.texts if re.fullmatch(r"0\.\d{4}", text.get_text())
        ]

    def test_a_difference_that_would_show_as_zero_shows_its_first_digit(self, make):
        comparison = make(8)
        table = comparison.queries(*comparison.models[:2], most=1)
        table[["difference ndcg_linear@10", "difference ndcg_exp@10"]] = [0.5, -4e-5]
        shown = words(plot_queries(table).ax)
        assert "0.5000" in shown
        assert "0.00004" in shown

    def test_an_empty_table_says_so(self, make):
        comparison = make(8)
        table = comparison.queries(*comparison.models[:2]).head(0)
        ax = plot_queries(table).ax
        draw(ax)
        assert "on no query" in ax.get_title(loc="left").replace("\n", " ")

    def test_no_queries_to_draw_are_refused(self, make):
        comparison = make(8)
        with pytest.raises(ValueError, match="most must be a whole number of at least 1, got 0"):
            plot_queries(comparison.queries(*comparison.models[:2]), most=0)

    def test_another_table_is_refused(self):
        with pytest.raises(ValueError, match=r"made by Comparison\.queries"):
            plot_queries(pd.DataFrame({"a": [1]}))


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
        assert "best at round 2 by a, at 4 by b; stopping by the other loses 0.2000 and 0.3000" in ax.get_title(
            loc="left"
        ).replace("\n", " ")

    def test_curves_are_distances_from_their_own_best(self):
        ax = plot_curves(self.curves(a=[0.1, 0.4, 0.3], b=[0.9, 0.2, 0.3]), self.METRICS).ax
        drawn = [line.get_ydata().round(9).tolist() for line in ax.lines if len(line.get_xdata()) == 3]
        assert drawn == [[-0.3, 0.0, -0.1], [0.0, -0.7, -0.6]]

    def test_each_fold_has_lines_of_its_own(self):
        one = self.curves(a=[0.1, 0.4], b=[0.3, 0.2]).assign(fold="x")
        other = self.curves(a=[0.1, 0.4, 0.5], b=[0.3, 0.2, 0.4]).assign(fold="y")
        ax = plot_curves(pd.concat([one, other]), self.METRICS).ax
        draw(ax)
        assert "the best rounds differ in 1 of 2 folds" in ax.get_title(loc="left")

    def test_of_equal_values_the_first_round_is_best(self):
        title = plot_curves(self.curves(a=[0.4, 0.4], b=[0.3, 0.3]), self.METRICS).title
        assert title == "c: both metrics are best at round 1"

    def test_by_default_the_candidate_that_loses_most_is_drawn(self):
        torn = self.curves(a=[0.1, 0.9], b=[0.9, 0.1]).assign(candidate="torn")
        calm = self.curves(a=[0.1, 0.9], b=[0.1, 0.9]).assign(candidate="calm")
        assert plot_curves(pd.concat([calm, torn]), self.METRICS).title.startswith("torn")

    def test_where_the_other_metric_has_no_value_at_the_best_round(self):
        picture = plot_curves(self.curves(a=[0.1, 0.4], b=[0.1, 0.2, 0.3, 0.5]), self.METRICS)
        draw(picture.ax)
        assert picture.title == "c: best at round 2 by a, at 4 by b"
        assert "a is best at round 2 (0.4000) and has no value at the other's best round; b is best " in picture.alt

    def test_what_is_missing_is_named(self, make):
        curves = self.curves(a=[0.1], b=[0.1])
        with pytest.raises(ValueError, match=r"no curves of 'x' under both metrics \(known: c\)"):
            plot_curves(curves, self.METRICS, candidate="x")
        with pytest.raises(ValueError, match="no curves under both a and z"):
            plot_curves(curves, ("a", "z"))
        with pytest.raises(ValueError, match="missing: round"):
            plot_curves(curves.drop(columns="round"), self.METRICS)
        with pytest.raises(ValueError, match="has no curves"):
            make(8).plot.curves()


class TestExplain:
    LABELS = (5, 0, 0, 0, 0, 3, 3, 3, 3, 3)

    def test_parts_are_gain_times_discount_over_the_ideal(self):
        parts = rank_contributions(self.LABELS, range(10, 0, -1))
        ranks = np.arange(1, 11)
        labels = np.array(self.LABELS, dtype=float)
        ideal = np.sort(labels)[::-1]
        for name, gain, discount in (
            ("ndcg_jk@10", lambda label: label, 1 / np.maximum(1, np.log2(ranks))),
            ("ndcg_linear@10", lambda label: label, 1 / np.log2(ranks + 1)),
            ("ndcg_exp@10", lambda label: 2**label - 1, 1 / np.log2(ranks + 1)),
        ):
            assert np.allclose(parts[name], gain(labels) * discount / (gain(ideal) @ discount), atol=1e-14)

    @pytest.mark.parametrize(
        ("scores", "message"), [([3, 2], "scores has 2 entries"), ([3, 2, np.nan], "scores holds 1 NaN among 3")]
    )
    def test_scores_that_do_not_fit_are_refused(self, scores, message):
        with pytest.raises(ValueError, match=message):
            plot_explain([1, 3, 0], scores)

    @pytest.mark.parametrize("scores", [np.arange(10, 0, -1), np.repeat([3, 2, 1], [2, 5, 3]), np.zeros(10)])
    @pytest.mark.parametrize("k", [1, 4, 10, 50])
    def test_bars_sum_to_the_metrics(self, scores, k):
        ax = plot_explain(self.LABELS, scores, k).ax
        names = [f"{name}@{k}" for name in ("ndcg_jk", "ndcg_linear", "ndcg_exp")]
        expected = gs.evaluate(names, gs.Judgments(self.LABELS, group=[10]), scores).mean
        drawn = [sum(bar.get_height() for bar in bars) for bars in ax.containers]
        assert np.allclose(drawn, [expected[name] for name in names], atol=1e-12)
        assert [text.get_text() for text in ax.get_legend().get_texts()] == [
            f"{name} = {expected[name]:.4f}" for name in names
        ]

    def test_bars_differ_by_more_than_colour(self):
        ax = plot_explain(self.LABELS, range(10, 0, -1)).ax
        draw(ax)
        assert len({bars[0].get_hatch() for bars in ax.containers}) == 3


@pytest.mark.parametrize("picture", [*PICTURES, "gains"])
def test_names_are_shown_as_they_are_and_never_read_as_formulas(make, picture):
    ax = getattr(make(names=("$\\frac{1}$", "a_b^c"), curves=True).plot, picture)().ax
    draw(ax)
    assert any("$\\frac{1}$" in text for text in words(ax))


@pytest.mark.parametrize("picture", PICTURES[:5])
def test_metrics_too_are_never_read_as_formulas(from_values, picture):
    values = np.random.default_rng(0).random((2, 50, 3))
    ax = getattr(from_values(*values, names=("gain in $", "loss in $")).plot, picture)().ax
    assert {text.get_parse_math() for text in ax.findobj(Text) if "in $" in text.get_text()} == {False}


def test_pictures_can_be_drawn_in_threads(make):
    comparison = make(8)
    comparison.pairs, comparison.leaderboard, comparison.verdict  # noqa: B018 - computed once, before the threads
    drawn, failed = [], []

    def work():
        try:
            drawn.append(draw(comparison.plot.conflict().ax))
        except Exception as error:  # pragma: no cover - would be a failure
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(set(drawn)) == 1


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_titles_keep_to_their_own_axes_where_several_share_a_figure(make, columns):
    figure = Figure(figsize=(5 * columns, 4.5), layout="constrained")
    axes = figure.subplots(1, columns, squeeze=False)[0]
    for ax in axes:
        make(8).plot.conflict(ax)
    draw(axes[0])
    ends = [ax._left_title.get_window_extent() for ax in axes]
    borders = [*(ax.get_tightbbox().x0 for ax in axes[1:]), figure.bbox.x1]
    for end, border in zip(ends, borders, strict=True):
        assert end.x1 <= border
