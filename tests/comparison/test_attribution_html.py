"""The tables of an attribution in a notebook, read back from its HTML."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

import gainsay as gs


class Tables(HTMLParser):
    """Rows of cells of every table, as text."""

    def __init__(self, html):
        super().__init__()
        self.tables, self.cell = [], None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.cell = ""

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.tables[-1][-1].append(self.cell.strip())
            self.cell = None


@pytest.fixture(scope="module")
def why():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 240)
    models = {"a": labels + rng.normal(size=240), "b": labels + rng.normal(0, 2, 240)}
    return gs.compare(models, gs.Judgments(labels, group=[12] * 20), ["ndcg_linear@8", "ndcg_exp@8"]).attribution(
        "a", "b"
    )


def test_cells_are_those_of_the_table_with_sums_at_the_margins(why):
    found = Tables(why._repr_html_()).tables
    assert len(found) == len(why.metrics) == 2
    for metric, (head, *rows) in zip(why.metrics, found, strict=True):
        expected = why.grades_by_ranks.loc[metric]
        assert head == ["grade \\ ranks", *expected.columns, "all"]
        assert [row[0] for row in rows] == [*map(str, expected.index), "all"]
        for row, cells in zip(rows[:-1], expected.to_numpy(), strict=True):
            assert row[1:] == [f"{cell:+.6f}" for cell in (*cells, cells.sum())]
        sums = [float(cell) for cell in rows[-1][1:]]
        assert sums[:-1] == pytest.approx(expected.to_numpy().sum(axis=0), abs=1e-6)
        assert sums[-1] == pytest.approx(why.difference[metric], abs=1e-6)


def test_each_table_is_headed_by_its_difference(why):
    html = why._repr_html_()
    assert "<p>a &minus; b, 20 queries</p>" in html
    for metric in why.metrics:
        assert f"<p>{metric}: {why.difference[metric]:+.6f}</p>" in html


def test_everything_is_in_the_dict(why):
    content = why.to_dict()
    assert list(content) == [
        "models",
        "queries",
        "left_out",
        "difference",
        "grades_by_ranks",
        "top_grade",
        "by_query_class",
        "parts",
        "parts_note",
        "lower_is_better",
        "spread",
    ]
    assert (content["models"], content["queries"], content["top_grade"]) == (["a", "b"], 20, 3)
    by_class = [row["documents of top grade"] for row in content["by_query_class"]]
    assert by_class == list(why.by_query_class.index)
    assert sum(row["queries"] for row in content["by_query_class"]) == 20
