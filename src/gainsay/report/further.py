"""Sections of what was asked for beside the comparison: segments of the queries, and the path of gains."""

from __future__ import annotations

from contextlib import suppress
from html import escape
from typing import TYPE_CHECKING

from .._common.shown import isolated
from .._common.words import count
from ..comparison.standing import chart_of
from ..drawing.gain_path import gain_path_svg
from ..drawing.lanes import Axis, strip
from ..drawing.text import as_html
from .section import Section

if TYPE_CHECKING:
    from ..comparison.findings import Findings
    from ..comparison.gains import Gains
    from ..comparison.segments import Segment
    from ..drawing.lanes import Chart, Row
    from .content import Content

__all__ = ["gains_part", "path_of", "segments_part"]

MOST_ROWS = 5
MOST_SEGMENTS = 12
MOST_VALUES = 300_000
"""Of all models on all queries; the path of more, which takes seconds, is shown where it was asked for."""


def gains_part(content: Content) -> Section | None:
    """Return the path of gains that was asked for last, else the usual one; None where there is none."""
    comparison = content.comparison
    path = path_of(comparison)
    if path is None:
        return None
    said = isolated(f"{path.headline}. {path.text}", content.comparison.short_names)

    def figure(most: int) -> str:
        drawn = gain_path_svg(path.drawn())
        return f'<div class="scroll" tabindex="0" role="region" aria-label="path of gains">{drawn}</div>'

    return Section("gains", "At which gain", (("", said),), figure)


def path_of(comparison: Findings) -> Gains | None:
    """Return the path of gains that was asked for last, else the usual one.

    None where that would take long, or the metrics are no two gains of one NDCG.
    """
    if comparison.traced:
        return comparison.traced[-1]
    if comparison.rankings is None or comparison.primary is None or len(comparison.models) < 2:
        return None
    if len(comparison.models) * comparison.query_count > MOST_VALUES:
        return None
    with suppress(ValueError):  # other metrics, and labels that are no grades
        return comparison.gains()
    return None


def segments_part(content: Content) -> Section | None:
    """Return every segment as a small chart of its own, all on one scale; None without segments."""
    comparison = content.comparison
    if not comparison.segment_labels or content.pair is None:
        return None
    found = comparison.segments
    parts = [part for part in found.parts if part.verdict is not None][:MOST_SEGMENTS]
    charts = [chart_of(part.verdict, content.names) for part in parts if part.verdict is not None]
    order = [row.key for row in content.chart.rows]
    rows = [sorted(chart.rows, key=lambda row: order.index(row.key)) for chart in charts]
    shown = [
        tuple(row for place, row in enumerate(own) if place < MOST_ROWS or row.shaded or row.tags)[: MOST_ROWS + 2]
        for own in rows
    ]
    if not charts:
        return None
    axis = charts[0].axis([row for own in shown for row in own])
    figure = "".join(
        _small(content, part, chart, own, axis) for part, chart, own in zip(parts, charts, shown, strict=True)
    )
    told = " ".join(contrast.text for contrast in found.contrasts)
    told = isolated(told or "No model is proven best in one segment and not best in another.", comparison.short_names)
    left = len(found.parts) - len(parts)
    note = f"All on one scale, in the order of the chart above; each interval at {charts[0].level}."
    note += f" {count(left, 'segment')} more." if left else ""
    return Section("segments", "Segments", (("", told),), lambda most: f'<div class="two">{figure}</div>', note)


def _small(content: Content, part: Segment, chart: Chart, rows: tuple[Row, ...], axis: Axis) -> str:
    grid = axis.grid(20)
    body = "".join(
        f'<tr{" class=may" * row.shaded}><th scope="row" class="n" title="{escape(row.full)}">'
        f'<bdi>{escape(content.names.short[row.key])}</bdi></th><td class="w">{strip(row, axis, 20, grid)}'
        f'<span class="sr">{escape(". ".join(mark.said for mark in row.marks))}</span></td></tr>'
        for row in rows
    )
    size = f"{count(part.queries, 'query')}, {100 * part.share:.0f} %"
    return (
        f'<div><h3>{escape(part.column)}: {escape(part.label)} <span class="m">({size})</span></h3>'
        f'<p class="mini">{as_html(chart.headline)}</p><table class="chart"><tbody>{body}</tbody></table></div>'
    )
