"""Sections of what was asked for beside the comparison: segments of the queries, and the path of gains."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING

from .._common.shown import isolated
from .._common.words import count
from ..drawing.text import as_html
from .chart import chart_of
from .section import Section
from .stopping import stopping_section
from .why import why_section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..comparison.segments import Segment
    from .chart import Axis, Chart, Row
    from .content import Also, Content

MOST_ROWS = 5
MOST_SEGMENTS = 12


def gains_part(content: Content) -> Section | None:
    """Return the path of gains that was asked for last, else the usual one; None where there is none."""
    path = content.path
    if path is None or content.merged:
        return None
    one_leader = len(path.winners) == 1
    said = f"{path.headline}." if one_leader else f"{path.headline}. {path.text}"
    said = isolated(said, content.comparison.short_names).replace("(b^l - 1)/(b - 1)", "(bˡ − 1)/(b − 1)")

    def figure(most: int) -> str:
        from .plots.gains import plot_gains
        from .plots.picture import embedded

        return "" if one_leader or len(path.bases) < 2 else embedded(partial(plot_gains, path, None))

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
    order = [row.model for row in content.chart.rows]
    charts, shown = [], []
    for _, verdict in parts:
        charts.append(chart_of(verdict, content.names))
        rows = sorted(charts[-1].rows, key=lambda row: order.index(row.model))
        some = [row for place, row in enumerate(rows) if place < MOST_ROWS or row.in_question]
        shown.append(some[: MOST_ROWS + 2])
    axis = charts[0].axis([row for own in shown for row in own])
    figure = "".join(_small(part, chart, own, axis) for (part, _), chart, own in zip(parts, charts, shown, strict=True))
    told = " ".join(contrast.text for contrast in found.contrasts)
    told = isolated(told or "No model is proven best in one segment and not best in another.", comparison.short_names)
    left = len(found.parts) - len(parts)
    note = f"All on one scale, in the order of the chart above; each interval at {charts[0].level}."
    note += f" {count(left, 'segment')} more." if left else ""
    return Section("segments", "Segments", told, lambda most: f'<div class="two">{figure}</div>', note)


def other_part(also: Also) -> Section:
    """Return the chart of another comparison with its answer and advice, why its winners differ, and when to stop."""
    content = also.content
    chart = content.chart
    said = f'<p class="mini"><strong>{as_html(chart.headline)}</strong> {as_html(chart.advice)}</p>'

    def drawn(most: int) -> str:
        from .environment import chart_html

        parts = [said, chart_html(chart, MOST_SEGMENTS)]
        for section in (why_section(content), stopping_section(content)):
            if section is not None:
                parts.append(f'<p class="mini">{as_html(section.said)}</p>{section.figure(most)}')
        return "".join(parts)

    return Section(also.name, also.title, also.said, drawn, " ".join(chart.notes))


def _small(part: Segment, chart: Chart, rows: Sequence[Row], axis: Axis) -> str:
    from .environment import small_chart_html

    size = f"{count(part.queries, 'query')}, {100 * part.share:.0f} %"
    return (
        f'<div><h3>{escape(part.column)}: {escape(part.label)} <span class="m">({size})</span></h3>'
        f'<p class="mini">{as_html(chart.headline)}</p>{small_chart_html(chart, rows, axis)}</div>'
    )
