"""A chart as the output of a notebook's cell: short, in the colours of the notebook, all of its own."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .lanes import TEXTS, axis_foot, bare, dot, strip
from .palette import DARK, LIGHT
from .text import as_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .lanes import Chart, Row
    from .palette import Theme

__all__ = ["chart_cell", "scoped", "shares_cell"]

MOST_ROWS = 7


def _colours(theme: Theme) -> str:
    pairs = (("lin", theme.first), ("exp", theme.second), ("lt", theme.first_text), ("et", theme.second_text))
    return "".join(f"--{name}:{colour};" for name, colour in pairs)


_STYLE = (
    ".gainsay{--ink:var(--jp-content-font-color1,var(--vscode-editor-foreground,currentColor));"
    "--mute:var(--jp-content-font-color2,var(--vscode-descriptionForeground,#6b7480));"
    "--page:var(--jp-layout-color0,var(--vscode-editor-background,var(--colab-primary-surface-color,#fff)));"
    f"--grid:#8883;--tint:#8881;{_colours(LIGHT)}"
    "max-width:880px;color:var(--ink);font:13px/1.35 var(--jp-content-font-family,system-ui,sans-serif);"
    "font-variant-numeric:tabular-nums}"
    '[data-jp-theme-light="false"] .gainsay,body.vscode-dark .gainsay,html[theme="dark"] .gainsay'
    f"{{{_colours(DARK)}}}"
    ".gainsay p{margin:0}.gainsay .a{font-size:16px;font-weight:650}.gainsay .l{color:var(--lt)}"
    ".gainsay .e{color:var(--et)}.gainsay .m{color:var(--mute)}.gainsay table{border-collapse:collapse;border:0;"
    "margin:2px 0 0}.gainsay table.w{width:100%}.gainsay tr,.gainsay td,.gainsay th{background:none;border:0}"
    ".gainsay td,.gainsay th{padding:0 10px 0 0;white-space:nowrap;text-align:left;font-size:13px;font-weight:400}"
    ".gainsay td.w,.gainsay th.w{width:100%;padding:0}.gainsay .v{text-align:right;padding:0 0 0 10px}"
    ".gainsay .p{text-align:right}.gainsay th.n{font-weight:600}.gainsay .tag{font-size:12px;font-weight:600;"
    "margin-right:6px}.gainsay tr.may>*{background:var(--tint)}.gainsay svg{display:block;overflow:visible}"
    ".gainsay svg text{font-size:11px;fill:var(--mute)}.gainsay svg text.s{fill:var(--ink)}"
    ".gainsay svg text.b{font-weight:600}.gainsay svg text.l{fill:var(--lt)}.gainsay svg text.e{fill:var(--et)}"
    ".gainsay .i{stroke-linecap:round;stroke-width:3;opacity:.6}.gainsay .lin{stroke:var(--lin);fill:var(--lin)}"
    ".gainsay .exp{stroke:var(--exp);fill:var(--exp)}.gainsay .mk{stroke-width:1.8}.gainsay .open{fill:var(--page)}"
    ".gainsay .g{stroke:var(--grid)}.gainsay .z{stroke:var(--ink);stroke-width:1.3}"
    ".gainsay .pr{stroke:var(--ink);stroke-dasharray:3 3}.gainsay .cn{stroke:var(--mute);opacity:.4}"
    ".gainsay .rl{stroke:var(--ink);stroke-width:1.3}.gainsay .bar{fill:var(--mute)}"
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
    return scoped(f'<p class="a">{escape(title)}</p>{told}{f"""<table class="w">{body}</table>""" if rows else ""}')


def chart_cell(chart: Chart, notes: Iterable[str] = (), more: str = "", whole: str = "") -> str:
    """Return a chart as HTML: the answer, the advice, and at most seven rows.

    Parameters
    ----------
    chart : Chart
        What is shown.
    notes : iterable of str
        Sentences below it.
    more : str
        What gives the rest where rows are left out, such as ``comparison.to_html("report.html")``.
    whole : str
        What gives more where none are.
    """
    parts = [f'<p class="a">{as_html(chart.headline)}</p>']
    if chart.advice:
        parts.append(f"<p>{as_html(chart.advice)}</p>")
    later = [row for row in chart.rows[MOST_ROWS:] if row.tags]
    rows = (*chart.rows[: MOST_ROWS - len(later)], *later)
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
    grid = axis.grid(height)
    if chart.price == chart.price:
        x = axis.at(chart.price)
        grid += f'<line class="pr" x1="{x:.2f}%" x2="{x:.2f}%" y1="0" y2="{height}"/>'
    free = chart.heads == (("model", "model"),)
    legend, x = [], 7.0
    for lane, label in enumerate(chart.labels):
        legend.append(
            dot(lane, 0, 8, filled=True).replace('cx="0.00%"', f'cx="{x:g}"').replace('x="0.00%"', f'x="{x:g}"')
        )
        legend.append(f'<text class="{TEXTS[lane]} b" x="{x + 10:g}" y="12">{escape(label.head)}</text>')
        x += 28 + 7 * len(label.head)
    legend.append(f'<text x="{x:g}" y="12">behind the best, {chart.level}; hollow: ruled out as best</text>')
    names = "".join(
        "<th></th>" if free else f'<th class="p m" title="{escape(full)}">{escape(short)}</th>'
        for short, full in chart.heads
    )
    values = "".join(
        f'<th class="v {TEXTS[lane]}">{escape(label.head)}</th>' for lane, label in enumerate(chart.labels)
    )
    head = (
        f'<tr>{names}<th></th><th class="w m"><svg width="100%" height="16">{"".join(legend)}</svg></th>{values}</tr>'
    )
    body = []
    for row in rows:
        cells = "".join(
            f'<th scope="row" class="n" title="{escape(row.full)}"><bdi>{escape(text)}</bdi></th>'
            if free
            else f'<td class="p" title="{escape(row.full)}"><bdi>{escape(text)}</bdi></td>'
            for text in row.cells
        )
        tags = "".join(f'<span class="tag {style}">{escape(text)}</span>' for style, text in row.tags)
        means = "".join(
            f'<td class="v {TEXTS[lane]}">{"<strong>" * best}{bare(mark.mean)}{"</strong>" * best}</td>'
            for lane, (mark, best) in enumerate(zip(row.marks, row.best, strict=True))
        )
        picture = strip(row, axis, height, grid)
        body.append(f'<tr{" class=may" * row.shaded}>{cells}<td>{tags}</td><td class="w">{picture}</td>{means}</tr>')
    columns = len(chart.heads) + 1
    foot = f'<tr><td colspan="{columns}"></td><td class="w">{axis_foot(chart, axis)}</td></tr>'
    return f'<table class="w">{head}{"".join(body)}{foot}</table>'
