"""Curves as SVG and as blocks: every point where arithmetic puts it, and nothing that a notebook would strip."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gainsay.drawing.rounds import Drawn, curves_svg, last_tick, ticks
from gainsay.drawing.sparkline import sparkline

RISING = [0.50, 0.52, 0.55, 0.54]


def drawn(values=RISING, role="first", **options):
    best = int(np.nanargmax(values)) + 1
    return Drawn(role, "linear gain", range(1, len(values) + 1), values, best, f"{values[-1]:.4f}", **options)


def parts(svg, tag):
    return [one for one in ElementTree.fromstring(svg).iter() if one.tag.endswith(f"}}{tag}")]


def points(svg):
    """The points of every curve."""
    return [
        [tuple(map(float, pair.split(","))) for pair in one.get("points").split()] for one in parts(svg, "polyline")
    ]


class TestSvg:
    def test_each_point_is_where_its_distance_from_the_best_puts_it(self):
        (found,) = points(curves_svg([drawn()], 5, ""))
        # the axis has 560 units for the rounds 1 to 5, and 190 for 0.04
        expected = [(56 + 140 * place, 22 + 190 * min(0.55 - value, 0.04) / 0.04) for place, value in enumerate(RISING)]
        assert np.array(found) == pytest.approx(np.array(expected), abs=0.051)

    def test_large_values_in_per_cent_of_their_best(self):
        (found,) = points(curves_svg([drawn([-200.0, -101.0, -100.0])], 3, ""))
        assert [y for _, y in found] == pytest.approx([212, 22 + 190 * 0.01 / 0.04, 22], abs=0.051)

    def test_gaps_where_there_is_no_value(self):
        assert [len(piece) for piece in points(curves_svg([drawn([0.1, 0.2, np.nan, 0.3])], 4, ""))] == [2, 1]

    def test_many_rounds_keep_their_outline(self):
        values = np.random.default_rng(0).normal(0.5, 0.005, size=20_000)
        values[12_345] = 0.53
        (found,) = points(curves_svg([drawn(values.tolist())], 20_000, ""))
        assert len(found) < 400
        assert min(y for _, y in found) == pytest.approx(22, abs=0.051)
        assert found[-1][0] == pytest.approx(616, abs=0.051)

    def test_nothing_that_is_stripped_or_shared(self):
        svg = curves_svg([drawn(notes=["<script>"])], 4, 'a "quoted" <label>', ("linear", 3, 10, "first"))
        assert not re.search(r" (style|id|onload)=|<script|href", svg)
        assert ElementTree.fromstring(svg).get("aria-label") == 'a "quoted" <label>'


class TestAxis:
    @given(st.integers(1, 10**7))
    def test_few_round_ticks(self, last):
        found = ticks(last)
        assert found[0] == 1
        assert found[-1] == last
        assert found == sorted(set(found))
        assert len(found) <= 7
        inner = found[1:-1]
        step = inner[-1] - inner[-2] if len(inner) > 1 else inner[0] if inner else 1
        assert [at for at in inner if at % step] == []  # multiples of one step
        assert {after - before for before, after in pairwise(inner)} <= {step}
        assert str(step).rstrip("0") in ("1", "2", "3", "5")

    @given(st.integers(1, 10**6), st.one_of(st.none(), st.integers(1, 10**6)))
    def test_it_grows_by_steps(self, now, total):
        last = last_tick(now, total)
        assert last >= now
        assert last <= max(10, 2.5 * now)
        assert total is None or last <= max(total, 10, 2.5 * now)


class TestSparkline:
    @given(st.lists(st.floats(0, 1), min_size=1, max_size=300), st.integers(1, 40), st.booleans())
    def test_one_row_that_holds_the_best(self, values, width, ascii_only):
        blocks = "_.:-=+*#" if ascii_only else "▁▂▃▄▅▆▇█"
        text = sparkline(values, 0.03, width, ascii_only)
        assert 1 <= len(text) <= width
        assert set(text) <= set(blocks)
        each = -(-len(values) // width)
        assert text[int(np.argmax(values)) // each] == blocks[-1]

    def test_the_floor(self):
        assert sparkline([0.5, 0.57, 0.588, 0.6], 0.03, 10) == "▁▁▅█"

    def test_gaps(self):
        assert sparkline([0.5, float("nan")], 0.03, 10) == "█ "
