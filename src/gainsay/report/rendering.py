"""The templates, the main chart as HTML, and comparisons in a notebook."""

from __future__ import annotations

from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from .._common.text import as_html, as_text, format_number
from .._common.theme import scoped, table_cell
from .tables import build_chart_table, list_notes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import jinja2

    from .chart import Axis, Chart, Row
    from .content import Content

TEMPLATES = Path(__file__).parent / "templates"

MAX_NOTEBOOK_ROWS = 7


@cache
def get_environment() -> jinja2.Environment:
    """Return the environment of all templates, which escapes everything by default."""
    try:
        import jinja2
    except ImportError as error:
        raise ImportError("reports need Jinja2: pip install 'gainsay-ltr[report]'") from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = format_number
    return environment


def build_chart(chart: Chart, limit: int, *, link: str = "", height: int = 0) -> str:
    """Return the chart as a table of `limit` rows and all rows in question. `link` is the target of the rest."""
    rows, rest = chart.folded(limit)
    height = height or (42 if len(rows) <= 4 else 34)
    return render("chart.html.j2", "chart_table", chart, rows, chart.axis(rows), height, rest=rest, link=link)


def build_small_chart(chart: Chart, rows: Sequence[Row], axis: Axis) -> str:
    """Return some rows of a chart as a small table without a head, on the given axis."""
    return render("chart.html.j2", "chart_table", chart, rows, axis, 26, heads=False, kind="small")


def render(template: str, macro: str, *arguments: object, **options: object) -> str:
    """Return the text of a macro of a template."""
    module = get_environment().get_template(template).module
    return str(getattr(module, macro)(*arguments, **options))


def build_notebook_cell(content: Content) -> str:
    """Return the answer, a chart of at most seven rows and those in question, and reservations."""
    comparison, chart = content.comparison, content.chart
    notes = [*content.same_number, *list_notes(content)]
    if len(comparison.models) == 1:
        means = (f"{metric} {comparison.leaderboard[metric].iloc[0]:.4f}" for metric in comparison.metrics)
        notes.insert(0, f"Means: {', '.join(means)}.")
    try:
        figure = build_chart(chart, MAX_NOTEBOOK_ROWS) if chart.rows else ""
    except ImportError:
        table = build_chart_table(chart)
        rows = [[cell.text for cell in row] for row in table.rows]
        heads = [column.label for column in table.columns]
        return table_cell(as_text(chart.headline), heads, rows, as_text(chart.advice), *notes)
    parts = [f'<p class="a"><strong>{as_html(chart.headline)}</strong></p>']
    if chart.advice:
        parts.append(f'<p class="d">{as_html(chart.advice)}</p>')
    if figure:
        parts += [figure, f'<p class="m"><span class="sw"></span> {escape(" ".join(chart.notes))}</p>']
    parts += [f'<p class="m">{escape(note)}</p>' for note in notes]
    parts.append('<p class="m">All models, pairs and queries: <code>comparison.to_html("report.html")</code></p>')
    return scoped("".join(parts), _chart_style())


@cache
def _chart_style() -> str:
    """Return the rules of the chart, nested for cells of notebooks only.

    JupyterLab styles tables with more specific selectors, so the class of the cell is repeated.
    """
    rules = (TEMPLATES / "chart.css").read_text("utf-8").replace("\n", "")
    return f".gainsay.gainsay{{{rules}.d{{margin:2px 0 10px}}& p.m{{margin-top:4px}}}}"
