"""The main chart as HTML: a table whose rows hold strips; of two models or one, a row for every metric."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..drawing.lanes import (
    TEXTS,
    Axis,
    Panel,
    axis_foot,
    bare,
    dot,
    drawing,
    interval,
    panel_strips,
    rug,
    strip,
    text_at,
)
from .numbers import MINUS, difference, mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..comparison.findings import Findings
    from ..drawing.lanes import Chart, Row
    from .content import Content

__all__ = ["board"]

MOST_ROWS = 16
FIRST_ROWS = 12


def board(content: Content) -> str:
    """Return the main chart."""
    chart, comparison = content.chart, content.comparison
    if len(comparison.models) == 1:
        return _metrics(content, _one(comparison), ("mean", chart.level), 0.0)
    if len(comparison.models) == 2 and comparison.primary is not None:
        return _metrics(content, _two(comparison), _pair_heads(content), None)
    return _models(content)


def _models(content: Content) -> str:
    chart, comparison = content.chart, content.comparison
    total = len(chart.rows)
    rows = chart.rows if total <= MOST_ROWS else chart.shown(FIRST_ROWS)
    hidden = [] if len(rows) == total else [row for row in chart.rows if row not in rows]
    axis = chart.axis(rows)
    height = 62 if total <= 4 else 34 if total <= 8 else 25
    price = "" if math.isnan(chart.price) else _vertical(axis.at(chart.price), height)
    grid = axis.grid(height) + price
    means = _Means(comparison, chart, rows) if _same_queries(comparison) else None
    loose = total <= 4
    pictures = [strip(row, axis, height, grid, tall=loose) for row in rows]
    if means is not None:
        pictures = [one + other for one, other in zip(pictures, panel_strips(means.panels, height), strict=True)]
    body = [_row(chart, row, picture) for row, picture in zip(rows, pictures, strict=True)]
    columns = len(chart.heads)
    foot = ""
    if hidden:
        behind = bare(min(min(mark.value for mark in row.marks) for row in hidden), 3)
        picture, beyond = rug(hidden, axis, 24, axis.grid(24) + price.replace(f'y2="{height}"', 'y2="24"'))
        off = f"{beyond} off scale \u25b8" if beyond else ""
        foot = (
            f'<tr class="rest m"><td colspan="{columns + 1}"><a href="#models">{len(hidden)} more</a>, '
            f'{behind} or more behind</td><td class="w">{picture}</td>'
            f'<td class="v" colspan="{len(chart.labels)}">{off}</td></tr>'
        )
    foot += (
        f'<tr><td colspan="{columns + 1}"></td><td class="w">{axis_foot(chart, axis)}'
        f'{"" if means is None else means.foot()}</td><td colspan="{len(chart.labels)}"></td></tr>'
    )
    return (
        f'<figure id="chart">{_bar(chart, switch=means is not None)}<table class="chart h{height}" '
        f'data-safest="{columns + 1}"><thead>{_head(chart, comparison, means is not None)}</thead>'
        f"<tbody>{''.join(body)}</tbody><tfoot>{foot}</tfoot></table></figure>"
    )


def _vertical(x: float, height: float) -> str:
    return f'<line class="pr" x1="{x:.2f}%" x2="{x:.2f}%" y1="0" y2="{height:g}"/>'


def _same_queries(comparison: Findings) -> bool:
    """Say whether means and distances are of the same queries."""
    return comparison.primary is None or not any(comparison.verdict.left_out.values())


def _key(lane: int, label: str, *, switch: bool = True) -> str:
    colour = TEXTS[lane]
    picture = interval(lane, 8, 92, 7) + dot(lane, 50, 7, filled=True)
    return (
        f'<span class="key"><svg width="26" height="14" aria-hidden="true">{picture}</svg>'
        f'<strong class="{colour}">{escape(label)}</strong></span>'
    )


def _bar(chart: Chart, *, switch: bool) -> str:
    keys = [_key(lane, label.long) for lane, label in enumerate(chart.labels)]
    hollow = '<svg width="30" height="14" aria-hidden="true"><circle class="mk wit" cx="7" cy="7" r="5"/>'
    hollow += '<circle class="mk wit open" cx="22" cy="7" r="5"/></svg>'
    keys.append(f'<span class="key m">{hollow}may be best / ruled out</span>')
    if any(mark.runs for row in chart.rows for mark in row.marks):
        tick = (
            '<svg width="6" height="14" aria-hidden="true"><line class="run wit" x1="3" x2="3" y1="2" y2="12"/></svg>'
        )
        keys.append(f'<span class="key m">{tick}one run</span>')
    if any(row.shaded for row in chart.rows):
        keys.append(f'<span class="key m"><i class="tint"></i>{escape(chart.shading)}</span>')
    else:
        keys.append(f'<span class="key m">{escape(chart.shading)}</span>')
    tools = '<button type="button" class="safest" hidden>safest first</button>' if len(chart.labels) > 1 else ""
    if switch:
        tools += (
            '<span class="seg" role="radiogroup" aria-label="scale"><label><input type="radio" name="sc" value="reg" '
            'checked>behind the best</label><label><input type="radio" name="sc" value="mea">means</label></span>'
        )
    return f'<div class="bar">{"".join(keys)}<span class="tools noprint">{tools}</span></div>'


def _head(chart: Chart, comparison: Findings, means: bool) -> str:
    names = ""
    for short, full in chart.heads:
        column = "" if _free(chart) else f' class="p" title="{escape(full)}"'
        names += f'<th scope="col" data-sort="up"{column}>{escape(short)}</th>'
    alike = f" \u00b7 {escape(chart.alike)}" if chart.alike else ""
    level = f"{chart.level} intervals, all at once"
    said = f'<span class="reg">how far behind the best (left is better), {level}{alike}</span>'
    if means:
        scale = "both metrics at the same scale, each from its own origin" if len(chart.labels) > 1 else chart.level
        said += f'<span class="mea">means (right is better): {scale}{alike}</span>'
    values = ""
    for lane, label in enumerate(chart.labels):
        low = label.name in comparison.lower_is_better
        order = "" if lane else f' aria-sort="{"ascending" if low else "descending"}"'
        about = (
            f'class="v {TEXTS[lane]}" data-sort="{"up" if low else "down"}" title="mean {escape(label.name)}"{order}'
        )
        values += f'<th scope="col" {about}>{escape(label.head)}</th>'
    return f'<tr>{names}<td></td><th scope="col" class="w" data-sort="up" data-quiet>{said}</th>{values}</tr>'


def _free(chart: Chart) -> bool:
    """Say whether names are whole, not in columns."""
    return chart.heads == (("model", "model"),)


def _row(chart: Chart, row: Row, picture: str) -> str:
    full = escape(row.full)
    single = _free(chart)
    dagger = f'<sup title="{escape(row.remark)}">\u2020</sup>' if row.remark else ""
    cells = []
    for place, (text, (short, _)) in enumerate(zip(row.cells, chart.heads, strict=True)):
        tag, kind = ("th", "n" if single else "p") if not place else ("td", "p")
        scope = ' scope="row"' if not place else ""
        mark = dagger if place == len(row.cells) - 1 else ""
        key = "" if single else f' data-k="{escape(short)}"'
        cells.append(f'<{tag}{scope} class="{kind}"{key} title="{full}"><bdi>{escape(text)}</bdi>{mark}</{tag}>')
    tags = "".join(f'<span class="tag {style}">{escape(text)}</span>' for style, text in row.tags)
    said = ". ".join(mark.said for mark in row.marks) + (f". {row.remark}" if row.remark else "")
    values = "".join(
        f'<td class="v {colour}">{"<strong>" * best}{f"{mark.mean:.4f}".replace("-", MINUS)}{"</strong>" * best}</td>'
        for colour, mark, best in zip(TEXTS, row.marks, row.best, strict=False)
    )
    return (
        f'<tr{" class=may" * row.shaded}>{"".join(cells)}<td class="t">{tags}</td>'
        f'<td class="w" data-v="{row.worst:.9g}">{picture}<span class="sr">{escape(said)}</span></td>{values}</tr>'
    )


class _Means:
    """Two panels of means, each with its own origin and both with the same units a pixel; right is better."""

    def __init__(self, comparison: Findings, chart: Chart, rows: Sequence[Row]) -> None:
        known = comparison.standings.set_index(["metric", "model"])[["lower", "mean", "upper"]]
        self.signs = [-1.0 if label.name in comparison.lower_is_better else 1.0 for label in chart.labels]
        tables = [known.loc[label.name].loc[[row.key for row in rows]].to_numpy(float) for label in chart.labels]
        texts = [list(map(mean, table.ravel())) for table in tables]
        turned = [sign * table[:, :: int(sign)] for sign, table in zip(self.signs, tables, strict=True)]
        spans = [(table[np.isfinite(table)].min(), table[np.isfinite(table)].max()) for table in turned]
        wide, lanes = max(high - low for low, high in spans) or 0.01, len(spans)
        self.panels = []
        for lane, ((low, _), table, text) in enumerate(zip(spans, turned, texts, strict=True)):
            room = Axis.of(low, low + wide, 4 if lanes > 1 else 6)
            width = 95.6 / lanes - 1.3 * (lanes > 1)
            axis = Axis(low, low + wide, room.ticks, room.places, 2.2 + 49.1 * lane, width)
            points = [
                (*ends, row.marks[lane].filled, f"{row.full}\n{text[at + 1]}, between {text[at]} and {text[at + 2]}")
                for row, ends, at in zip(rows, table.tolist(), range(0, len(text), 3), strict=True)
            ]
            self.panels.append(Panel(axis, float(table[:, 1].max()), points))

    def foot(self) -> str:
        """Return the axes of both panels."""
        parts = [
            text_at(panel.axis.at(tick), 18, panel.axis.written(sign * tick), anchor="middle")
            for panel, sign in zip(self.panels, self.signs, strict=True)
            for tick in panel.axis.ticks
        ]
        return drawing("".join(parts), 24, "mea ax")


class _Metric(NamedTuple):
    """A row for a metric: a number with its interval, and where it stands, above 0 to the right."""

    name: str
    lane: int
    value: float
    low: float
    high: float
    filled: bool
    texts: tuple[str, ...]
    note: str = ""


def _one(comparison: Findings) -> list[_Metric]:
    rows, primary = [], comparison.primary or comparison.metrics[:1]
    for row in comparison.standings.to_dict("records"):
        name, texts = row["metric"], (mean(row["mean"]), f"{mean(row['lower'])} to {mean(row['upper'])}")
        lane = primary.index(name) if name in primary else 2
        note = "lower is better" if name in comparison.lower_is_better else ""
        rows.append(_Metric(name, lane, row["mean"], row["lower"], row["upper"], True, texts, note))
    return sorted(rows, key=lambda row: row.lane)


def _two(comparison: Findings) -> list[_Metric]:
    """Return the second model minus the first under every metric; a loss is drawn to the side that is better."""
    old, new = comparison.models
    primary, board = comparison.verdict.metrics, comparison.leaderboard
    pair = comparison.pairs.iloc[0]
    turned = 1.0 if pair["model_x"] == new else -1.0
    rows = []
    for name in (*primary, *(metric for metric in comparison.metrics if metric not in primary)):
        value, *ends = (turned * pair[f"{what} {name}"] + 0.0 for what in ("difference", "lower", "upper"))
        low, high = sorted(ends)
        second, first = map(mean, board.loc[[new, old], name].to_numpy(float))
        texts = (difference(value), f"{difference(low)} to {difference(high)}", f"{second} \u2212 {first}")
        loss = name in comparison.lower_is_better
        if loss:
            value, low, high = -value + 0.0, -high, -low
        lane = primary.index(name) if name in primary else 2
        rows.append(_Metric(name, lane, value, low, high, True, texts, "lower is better" if loss else ""))
    return rows


def _pair_heads(content: Content) -> tuple[str, ...]:
    old, new = (content.names.short[model] for model in content.comparison.models)
    named = f"{new} \u2212 {old}" if len(new) + len(old) <= 24 else "second \u2212 first"
    return named, content.chart.level, "means"


def _metrics(content: Content, rows: list[_Metric], heads: tuple[str, ...], origin: float | None) -> str:
    """Return one row a metric; `origin` is None where numbers are differences, which are equal at 0."""
    chart, pair = content.chart, origin is None
    ends = [end for row in rows for end in (row.value, row.low, row.high) if math.isfinite(end)]
    reach = max(ends) - min(ends) or 0.01
    low, high = (min(0.0, *ends), max(0.0, *ends)) if pair else (min(ends), max(ends))
    axis = Axis.of(low - 0.03 * reach, high + 0.03 * reach)
    body = []
    for row in rows:
        height = 50 if row.lane < 2 and len(rows) < 12 else 32
        parts = (
            [axis.grid(height, 0.0 if pair else math.nan)]
            if pair
            else [axis.grid(height, axis.ticks[0]).replace('"z"', '"g"')]
        )
        if math.isfinite(row.low) and math.isfinite(row.high):
            parts.append(interval(row.lane, axis.at(row.low), axis.at(row.high), height / 2))
        said = f"{row.name}: {', '.join(row.texts)}{'; ' + row.note if row.note else ''}"
        parts.append(dot(row.lane, axis.at(row.value), height / 2, filled=row.filled, title=said))
        colour = f" {TEXTS[row.lane]}" if row.lane < 2 else " m"
        picture = drawing("".join(parts), height)
        note = f' <span class="m">{row.note}</span>' if row.note else ""
        strong, *rest = row.texts
        values = f'<td class="v"><strong>{strong}</strong></td>'
        values += "".join(f'<td class="v m">{text}</td>' for text in rest)
        body.append(
            f'<tr><th scope="row" class="n{colour}">{escape(row.name)}{note}</th>'
            f'<td class="w">{picture}</td>{values}</tr>'
        )
    zero = axis.at(0.0)
    if pair:
        old, new = (content.names.short[model] for model in content.comparison.models)
        sides = [f"\u25c2 {old} better", f"{new} better \u25b8"]
        room = zero > 22
        head = text_at(zero, 14, sides[0], dx=-8, anchor="end") if room else ""
        head += text_at(zero, 14, sides[1], dx=8) if zero < 78 else ""
        head = f'{drawing(head, 20, "ax")}<span class="sr">difference</span>'
    else:
        head = "means with simultaneous intervals"
    foot = [
        text_at(axis.at(tick), 18, "equal" if pair and tick == 0 else axis.written(tick, signed=pair), anchor="middle",
                style="s b" if pair and tick == 0 else "")
        for tick in axis.ticks
    ]  # fmt: skip
    keys = [_key(lane, label.long) for lane, label in enumerate(chart.labels)] or [
        _key(row.lane, row.name) for row in rows if row.lane < 2
    ]
    said = f"{'difference' if pair else 'mean'}, with {chart.level} intervals that hold together"
    level = f'<span class="key m">{said}</span>'
    witnesses = (
        '<span class="key m">grey: witnesses, not part of the verdict</span>'
        if any(row.lane > 1 for row in rows)
        else ""
    )
    columns = "".join(f'<th scope="col" class="v">{escape(text)}</th>' for text in heads)
    return (
        f'<figure id="chart"><div class="bar">{"".join(keys)}{level}{witnesses}</div>'
        f'<table class="chart by-metric"><thead><tr><th scope="col">metric</th><th scope="col" class="w">{head}</th>'
        f"{columns}</tr></thead><tbody>{''.join(body)}</tbody><tfoot><tr><td></td>"
        f'<td class="w">{drawing("".join(foot), 24, "ax")}</td><td colspan="{len(heads)}"></td></tr></tfoot>'
        "</table></figure>"
    )
