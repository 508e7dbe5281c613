"""Sections of what was asked for beside the comparison: segments of the queries, and the path of gains."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING

from .._common.shown import isolated
from .._common.words import count
from ..comparison.standing import chart_of
from ..drawing.lanes import axis_foot, price_line, strip
from ..drawing.text import as_html
from .section import Section
from .why import why_section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..comparison.segments import Segment
    from ..drawing.lanes import Axis, Chart, Row
    from .content import Also, Content

MOST_ROWS = 5
MOST_SEGMENTS = 12


def gains_part(content: Content) -> Section | None:
    """Return the path of gains that was asked for last, else the usual one; None where there is none."""
    path = content.path
    if path is None:
        return None
    said = isolated(f"{path.headline}. {path.text}", content.comparison.short_names)

    def figure(most: int) -> str:
        from .plots.gains import plot_gains
        from .plots.picture import embedded

        return embedded(partial(plot_gains, path, None)) if len(path.bases) > 1 else ""

    return Section("gains", "At which gain", said, figure)


def segments_part(content: Content) -> Section | None:
    """Return every segment as a small chart of its own, all on one scale; None without segments."""
    comparison = content.comparison
    if not comparison.segment_labels or content.pair is None:
        return None
    found = comparison.segments
    parts = [(part, part.verdict) for part in found.parts if part.verdict is not None][:MOST_SEGMENTS]
    if not parts:
        return None
    order = [row.key for row in content.chart.rows]
    charts, shown = [], []
    for _, verdict in parts:
        charts.append(replace(chart_of(verdict, content.names), price=math.nan, ruler=math.inf))
        rows = sorted(charts[-1].rows, key=lambda row: order.index(row.key))
        some = [row for place, row in enumerate(rows) if place < MOST_ROWS or row.shaded or row.tags]
        shown.append(some[: MOST_ROWS + 2])
    axis = charts[0].axis([row for own in shown for row in own])
    figure = "".join(
        _small(content, part, chart, own, axis) for (part, _), chart, own in zip(parts, charts, shown, strict=True)
    )
    told = " ".join(contrast.text for contrast in found.contrasts)
    told = isolated(told or "No model is proven best in one segment and not best in another.", comparison.short_names)
    left = len(found.parts) - len(parts)
    note = f"All on one scale, in the order of the chart above; each interval at {charts[0].level}."
    note += f" {count(left, 'segment')} more." if left else ""
    return Section("segments", "Segments", told, lambda most: f'<div class="two">{figure}</div>', note)


def other_part(also: Also) -> Section:
    """Return the chart of another comparison, with its question, answer and advice, and why its winners differ."""
    content = also.content
    chart, why = content.chart, why_section(content)
    rows = chart.shown(MOST_SEGMENTS)
    said = f'<p class="mini"><strong>{as_html(chart.headline)}</strong> {as_html(chart.advice)}</p>'
    figure = said + _table(content, chart, rows, chart.axis(rows), 62 if len(rows) <= 4 else 34, tall=len(rows) <= 4)
    note = f"How far behind the best, with {chart.level} intervals, all at once; hollow: ruled out as best."

    def drawn(most: int) -> str:
        return figure if why is None else f'{figure}<p class="mini">{as_html(why.said)}</p>{why.figure(most)}'

    return Section(also.name, also.title, also.said, drawn, note)


def _small(content: Content, part: Segment, chart: Chart, rows: Sequence[Row], axis: Axis) -> str:
    size = f"{count(part.queries, 'query')}, {100 * part.share:.0f} %"
    return (
        f'<div><h3>{escape(part.column)}: {escape(part.label)} <span class="m">({size})</span></h3>'
        f'<p class="mini">{as_html(chart.headline)}</p>{_table(content, chart, rows, axis, 24)}</div>'
    )


def _table(
    content: Content, chart: Chart, rows: Sequence[Row], axis: Axis, height: float, *, tall: bool = False
) -> str:
    """Return rows of a chart as a table, its axis below them."""
    grid, body = axis.grid(height) + price_line(chart, axis, height), []
    for row in rows:
        said = escape(". ".join(mark.said for mark in row.marks))
        body.append(
            f'<tr{" class=may" * row.shaded}><th scope="row" class="n" title="{escape(row.full)}">'
            f"<bdi>{escape(content.names.short[row.key])}</bdi></th>"
            f'<td class="w">{strip(row, axis, height, grid, tall=tall)}<span class="sr">{said}</span></td></tr>'
        )
    foot = f'<tfoot><tr><td></td><td class="w">{axis_foot(chart, axis)}</td></tr></tfoot>'
    return f'<table class="chart"><tbody>{"".join(body)}</tbody>{foot}</table>'
