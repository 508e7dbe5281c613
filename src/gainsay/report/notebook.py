"""Comparisons in a notebook: the answer, the chart, and reservations."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import TYPE_CHECKING

from .._common.shown import as_html, as_text
from .._common.theme import scoped, table_cell
from .tables import list_notes

if TYPE_CHECKING:
    from .content import Content

MAX_ROWS = 7


def comparison_html(content: Content) -> str:
    """Return the answer, a chart of at most seven rows and those in question, and reservations."""
    comparison, chart = content.comparison, content.chart
    notes = [*content.same_number, *list_notes(content)]
    if len(comparison.models) == 1:
        means = (f"{metric} {comparison.leaderboard[metric].iloc[0]:.4f}" for metric in comparison.metrics)
        notes.insert(0, f"Means: {', '.join(means)}.")
    try:
        from .environment import build_chart
    except ImportError:
        rows = [(row.name, *(cell.text for cell in row.cells), row.outcome) for row in chart.rows]
        heads = ["model", *(panel.caption for panel in chart.panels), chart.last[0]]
        return table_cell(as_text(chart.headline), heads, rows, as_text(chart.advice), *notes)
    parts = [f'<p class="a"><strong>{as_html(chart.headline)}</strong></p>']
    if chart.advice:
        parts.append(f'<p class="d">{as_html(chart.advice)}</p>')
    if chart.rows:
        legend = f'<p class="m"><span class="sw"></span> {escape(" ".join(chart.notes))}</p>'
        parts += [build_chart(chart, MAX_ROWS), legend]
    parts += [f'<p class="m">{escape(note)}</p>' for note in notes]
    parts.append('<p class="m">All models, pairs and queries: <code>comparison.to_html("report.html")</code></p>')
    return scoped("".join(parts), _chart_style())


@cache
def _chart_style() -> str:
    """Return the rules of the chart, nested for cells of notebooks only.

    JupyterLab styles tables with more specific selectors, so the class of the cell is repeated.
    """
    from .environment import TEMPLATES

    rules = (TEMPLATES / "chart.css").read_text("utf-8").replace("\n", "")
    return f".gainsay.gainsay{{{rules}.d{{margin:2px 0 10px}}& p.m{{margin-top:4px}}}}"
