"""A chart as the output of a notebook's cell: short, in the colours of the notebook, all of its own.

Viewers that do not trust a page take away its styles and pictures, but leave the text of pictures standing: so there is
none. Words stand in HTML, the numbers of a strip are hidden text that shows where styles are gone, and an axis has its
numbers from attributes.
"""

from __future__ import annotations

import math
import re
from html import escape
from typing import TYPE_CHECKING

from .lanes import TEXTS, axis_foot, bare, dot, price_line, strip
from .palette import DARK, LIGHT
from .text import as_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .lanes import Chart, Label, Mark, Row
    from .palette import Theme

__all__ = ["chart_cell", "scoped", "shares_cell", "table_cell"]

MOST_ROWS = 7


def _colours(theme: Theme) -> str:
    metrics = ((name, colour) for name, colour in theme.colours().items() if name.startswith(("first", "second")))
    return "".join(f"--{name}:{colour};" for name, colour in metrics)


_STYLE = (
    ".gainsay{--ink:var(--jp-content-font-color1,var(--vscode-editor-foreground,currentColor));"
    "--muted:var(--jp-content-font-color2,var(--vscode-descriptionForeground,#6b7480));"
    "--face:var(--jp-layout-color0,var(--vscode-editor-background,var(--colab-primary-surface-color,#fff)));"
    f"--grid:#8883;--tint:#8881;{_colours(LIGHT)}"
    "max-width:880px;color:var(--ink);font:13px/1.35 var(--jp-content-font-family,system-ui,sans-serif);"
    "font-variant-numeric:tabular-nums}"
    '[data-jp-theme-light="false"] .gainsay,body.vscode-dark .gainsay,html[theme="dark"] .gainsay,'
    f'html[data-theme="dark"] .gainsay{{{_colours(DARK)}}}'
    ".gainsay p{margin:0}.gainsay .a{font-size:16px}.gainsay .l{color:var(--first-text)}"
    ".gainsay .e{color:var(--second-text)}.gainsay .m{color:var(--muted)}"
    # JupyterLab has tables of fixed layout with striped rows and cells at the right: twice .gainsay comes before that
    ".gainsay.gainsay table{table-layout:auto;border-collapse:collapse;border:0;margin:2px 0 0;font-size:13px}"
    ".gainsay.gainsay table.w{width:100%}.gainsay.gainsay tbody tr:nth-child(n){background:none}"
    ".gainsay.gainsay table tr>*{padding:0 10px 0 0;border:0;white-space:nowrap;text-align:left;font-weight:400;"
    "line-height:inherit;vertical-align:middle}.gainsay.gainsay table.t tr>*{padding:1px 20px 1px 0}"
    ".gainsay.gainsay table.t thead th{color:var(--muted)}.gainsay.gainsay table tr>.w{width:100%;min-width:120px;"
    "padding:0}.gainsay.gainsay table tr>.v{text-align:right;padding:0 0 0 10px}.gainsay.gainsay table tr>.p{"
    "text-align:right}.gainsay.gainsay table tr>.n{font-weight:600}.gainsay.gainsay table tr.may>*{"
    "background:var(--tint)}.gainsay .tag{font-size:12px;font-weight:600;margin-right:6px}"
    ".gainsay .k{margin-right:16px;font-weight:600;font-size:12px}.gainsay .k svg{display:inline;vertical-align:-2px}"
    ".gainsay .h{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}"
    ".gainsay .x{position:relative}.gainsay .x span{position:absolute;font-style:normal;font-size:11px;line-height:1;"
    "white-space:nowrap;color:var(--muted)}.gainsay .x span::after{content:attr(data-t)}.gainsay .x .middle{transform:"
    "translateX(-50%)}.gainsay .x .end{transform:translateX(-100%)}.gainsay .x .s{color:var(--ink)}"
    ".gainsay .x .b{font-weight:600}.gainsay svg{display:block;overflow:visible}.gainsay .gain-path{font-size:12px}"
    ".gainsay .i{stroke-linecap:round;stroke-width:3;opacity:.6}.gainsay .lin{stroke:var(--first);fill:var(--first)}"
    ".gainsay .exp{stroke:var(--second);fill:var(--second)}.gainsay .mk{stroke-width:1.8}"
    ".gainsay .open{fill:var(--face)}.gainsay .g{stroke:var(--grid)}.gainsay .z{stroke:var(--ink);stroke-width:1.3}"
    ".gainsay .pr{stroke:var(--ink);stroke-dasharray:3 3}.gainsay .cn{stroke:var(--muted);opacity:.4}"
    ".gainsay .rl{stroke:var(--ink);stroke-width:1.3}.gainsay .bar{fill:var(--muted)}"
    ".gainsay .run{stroke-width:1.2;opacity:.55}"
)


def scoped(inner: str) -> str:
    """Return HTML with the styles that all cells of gainsay have; they touch nothing else on the page."""
    return f'<div class="gainsay"><style>{_STYLE}</style>{inner}</div>'


def shares_cell(title: str, rows: Sequence[tuple[str, int]], note: str = "") -> str:
    """Return counts as HTML: for each its name, a bar, the count and its share; nothing but a title without rows."""
    total = sum(number for _, number in rows) or 1
    most = max((number for _, number in rows), default=1) or 1
    body = "".join(
        f'<tr><td class="p">{escape(name)}</td><td class="w"><svg width="100%" height="16" aria-hidden="true">'
        f'<rect class="bar" width="{96 * number / most:.2f}%" y="3" height="10"/></svg></td>'
        f'<td class="v">{number:,}</td><td class="v m">{100 * number / total:.1f} %</td></tr>'
        for name, number in rows
    )
    told = f'<p class="m">{escape(note)}</p>' if note else ""
    table = f'<table class="w">{body}</table>' if rows else ""
    return scoped(f'<p class="a"><strong>{escape(title)}</strong></p>{told}{table}')


def table_cell(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], *notes: str) -> str:
    """Return a small table as HTML, below its title and above notes."""

    def row(cells: Sequence[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    table = f'<table class="t"><thead>{row(head, "th")}</thead><tbody>{body}</tbody></table>'
    told = "".join(f'<p class="m">{escape(note)}</p>' for note in notes if note)
    return scoped(f'<p class="a"><strong>{escape(title)}</strong></p>{table}{told}')


def chart_cell(chart: Chart, notes: Iterable[str] = (), more: str = "", whole: str = "") -> str:
    """Return a chart as HTML: the answer, the advice, at most seven rows, and notes below them.

    Where rows are left out, `more` gives the rest, such as ``comparison.to_html("report.html")``; where none are,
    `whole` gives more.
    """
    parts = [f'<p class="a"><strong>{as_html(chart.headline)}</strong></p>']
    if chart.advice:
        parts.append(f"<p>{as_html(chart.advice)}</p>")
    plain = [row for row in chart.rows if not row.tags]
    plain = plain[: max(MOST_ROWS - len(chart.rows) + len(plain), 0)]
    rows = tuple(row for row in chart.rows if row.tags or row in plain)
    if rows:
        parts.append(_table(chart, rows))
    left = len(chart.rows) - len(rows)
    parts += [f'<p class="m">{escape(note)}</p>' for note in notes]
    if left:
        parts.append(
            f'<p class="m">{left} more: <code>{escape(more)}</code> has them all{", and why" * bool(whole)}.</p>'
        )
    elif whole:
        parts.append(f'<p class="m">Why, and which queries: <code>{escape(whole)}</code></p>')
    return scoped("".join(parts))


def _table(chart: Chart, rows: tuple[Row, ...]) -> str:
    axis, height = chart.axis(rows), 34 if len(rows) <= 4 else 20
    grid = axis.grid(height) + price_line(chart, axis, height)
    free = chart.heads == (("model", "model"),)
    tag = 'th scope="row" class="n"' if free else 'td class="p"'
    names = "".join(
        "<th></th>" if free else f'<th class="p m" title="{escape(full)}">{escape(short)}</th>'
        for short, full in chart.heads
    )
    values = "".join(
        f'<th class="v {TEXTS[lane]}">{escape(label.head)}</th>' for lane, label in enumerate(chart.labels)
    )
    legend = "".join(
        f'<span class="k {TEXTS[lane]}"><svg width="13" height="13" aria-hidden="true">'
        f"{dot(lane, 50, 6.5, filled=True)}</svg> {escape(label.head)}</span> "
        for lane, label in enumerate(chart.labels)
    )
    says = f"{legend}behind the best, {chart.level}; hollow: ruled out as best"
    head = f'<tr>{names}<th></th><th class="w m">{says}</th>{values}</tr>'
    body = []
    for row in rows:
        cells = "".join(
            f'<{tag} title="{escape(row.full)}"><bdi>{escape(text)}</bdi></{tag[:2]}>' for text in row.cells
        )
        tags = "".join(f'<span class="tag {style}">{escape(text)}</span>' for style, text in row.tags)
        means = "".join(
            f'<td class="v {TEXTS[lane]}">{"<strong>" * best}{bare(mark.mean)}{"</strong>" * best}</td>'
            for lane, (mark, best) in enumerate(zip(row.marks, row.best, strict=True))
        )
        picture = re.sub("<title>.*?</title>", "", strip(row, axis, height, grid), flags=re.DOTALL)
        said = escape("\n".join([row.full, *(mark.said for mark in row.marks)]))
        spelt = ", ".join(_spelt(label, mark) for label, mark in zip(chart.labels, row.marks, strict=True))
        lanes = f'<td class="w" title="{said}"><span class="h">{escape(spelt)}</span>{picture}</td>'
        body.append(f"<tr{' class=may' * row.shaded}>{cells}<td>{tags}</td>{lanes}{means}</tr>")
    columns = len(chart.heads) + 1
    foot = f'<tr><td colspan="{columns}"></td><td class="w">{_overlaid(axis_foot(chart, axis))}</td></tr>'
    return f'<table class="w">{head}{"".join(body)}{foot}</table>'


def _spelt(label: Label, mark: Mark) -> str:
    """Return what a mark shows in few words."""
    between = f" ({bare(mark.low)} to {bare(mark.high)})" if math.isfinite(mark.high) else ""
    return f"{label.head} {bare(mark.value)}{between}"


_TEXT = re.compile(
    r'<text x="(?P<x>[^"]*%)" y="(?P<y>[^"]*)"(?: dx="(?P<dx>[^"]*)")?(?: text-anchor="(?P<anchor>\w+)")?'
    r'(?: class="(?P<style>[^"]*)")?>(?P<text>.*?)</text>'
)


def _overlaid(picture: str) -> str:
    """Return a picture whose text lies upon it as attributes."""
    words = "".join(
        f'<span class="{it["anchor"] or ""} {it["style"] or ""}" data-t="{it["text"]}" '
        f'style="left:{it["x"]};top:{float(it["y"]) - 10:g}px;margin-left:{it["dx"] or 0}px"></span>'
        for it in _TEXT.finditer(picture)
    )
    return f'<div class="x" aria-hidden="true">{_TEXT.sub("", picture)}{words}</div>'
