"""A chart as the output of a cell."""

from __future__ import annotations

import re

from gainsay.drawing.lanes import Chart, Label, Mark, Row
from gainsay.drawing.notebook import chart_cell


def test_who_is_tagged_has_a_row_however_far_down_others_are_that_are_tagged_too():
    tagged = {0: "best by linear", 6: "safe", 9: "best by exp"}
    rows = tuple(
        Row(name, (name,), name, (("", tagged[place]),) if place in tagged else (),
            (Mark(place / 100, 0.0, 0.2, True, "said", 0.5),), False, (False,))
        for place, name in enumerate("abcdefghijkl")
    )  # fmt: skip
    labels, heads = (Label("m", "m", "m", "m"),), (("model", "model"),)
    page = chart_cell(Chart("", "answer", "", labels=labels, heads=heads, rows=rows), more="all()")
    assert re.findall(r'<th scope="row" class="n" title="(\w)">', page) == list("abcdegj")
    assert '<p class="m">5 more: <code>all()</code> has them all.</p>' in page
