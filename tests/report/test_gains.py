"""The gain path as a figure and as tables."""

from __future__ import annotations

import base64
import re
from xml.etree import ElementTree

import numpy as np
import pytest

import gainwise as gw
from gainwise.data import simulate
from gainwise.drawing.style import embed
from gainwise.report.plots import plot_gains
from gainwise.report.plots.curves import format_gain


@pytest.fixture(scope="module")
def comparison():
    """Three models that are best one after the other, a bad model, and names with HTML characters."""
    data = simulate(1500, seed=4, mean_length=40)
    passable, outstanding = np.minimum(data.labels, 2), np.maximum(data.labels - 2, 0)
    noise = np.random.default_rng(4).normal(size=(4, len(data.labels)))
    scores = {
        "<fair>": passable + 1.25 * noise[0],
        "top & only": 0.4 * passable + 1.5 * outstanding + 0.9 * noise[1],
        "blend": 0.7 * passable + 0.75 * outstanding + 1.1 * noise[2],
        "noise": noise[3],
    }
    return gw.compare(scores, data.judgments(), ["ndcg_linear@10", "ndcg_exp@10"])


@pytest.fixture(scope="module")
def path(comparison):
    return comparison.gains()


class TestFigure:
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


class TestPlot:
    def test_lines_are_the_regrets(self, path):
        ax = plot_gains(path).ax
        drawn = [line.get_ydata() for line in ax.lines if line.get_linewidth() == 1.4]
        for model in set(path.winners["model"]):
            regret = path.regret[:, path.models.index(model)]
            assert any(np.allclose(line, regret, equal_nan=True) for line in drawn)
