"""The main chart as HTML: a table whose rows hold strips; of two models or one, a row for every metric."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..comparison.pairs import select_common_column
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
    price_line,
    rug,
    strip,
    text_at,
    ticks_below,
)
from .numbers import differences, means

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..comparison.comparison import Comparison
    from ..drawing.lanes import Chart, Row
    from .content import Content

MOST_ROWS = 16
FIRST_ROWS = 12


def board(content: Content) -> str:
    """Return the main chart."""
    comparison = content.comparison
    if len(comparison.models) == 1:
        return _metrics(content, _one(comparison))
    if len(comparison.models) == 2 and comparison.primary is not None:
        return _metrics(content, _two(comparison), [content.names.short[model] for model in comparison.models])
    return _models(content)


def _models(content: Content) -> str:
    chart, comparison = content.chart, content.comparison
    total, columns, lanes = len(chart.rows), len(chart.heads), len(chart.labels)
    rows = chart.rows if total <= MOST_ROWS else chart.shown(FIRST_ROWS)
    axis = chart.axis(rows)
    height = 62 if total <= 4 else 34 if total <= 8 else 25
    grid = axis.grid(height) + price_line(chart, axis, height)
    pictures, turned = [strip(row, axis, height, grid, tall=total <= 4) for row in rows], ""
    # where the metrics have different queries, means and distances are not of the same ones
    switch = comparison.primary is None or not any(comparison.verdict.left_out.values())
    if switch:
        panels, turned = _means(comparison, chart, rows)
        pictures = [one + other for one, other in zip(pictures, panel_strips(panels, height), strict=True)]
    numbers = np.reshape(means(mark.mean for row in rows for mark in row.marks), (len(rows), -1)).tolist()
    body = [_row(chart, *one) for one in zip(rows, pictures, numbers, strict=True)]
    foot = ""
    if len(rows) < total:
        hidden = [row for row in chart.rows if row not in rows]
        behind = bare(min(mark.value for row in hidden for mark in row.marks), 3)
        picture, beyond = rug(hidden, axis, 24, axis.grid(24) + price_line(chart, axis, 24))
        off = f"{beyond} off scale \u25b8" if beyond else ""
        foot = (
            f'<tr class="rest m"><td colspan="{columns + 1}"><a href="#models">{len(hidden)} more</a>, '
            f'{behind} or more behind</td><td class="w">{picture}</td><td class="v" colspan="{lanes}">{off}</td></tr>'
        )
    foot += (
        f'<tr><td colspan="{columns + 1}"></td><td class="w">{axis_foot(chart, axis)}{turned}</td>'
        f'<td colspan="{lanes}"></td></tr>'
    )
    return (
        f'<figure id="chart">{_bar(chart, switch=switch)}<table class="chart h{height}" '
        f'data-safest="{columns + 1}"><thead>{_head(chart, comparison, switch)}</thead>'
        f"<tbody>{''.join(body)}</tbody><tfoot>{foot}</tfoot></table></figure>"
    )


def _key(lane: int, label: str) -> str:
    picture = interval(lane, 8, 92, 7) + dot(lane, 50, 7, filled=True)
    return (
        f'<span class="key"><svg width="26" height="14" aria-hidden="true">{picture}</svg>'
        f'<strong class="{TEXTS[lane]}">{escape(label)}</strong></span>'
    )


def _bar(chart: Chart, *, switch: bool) -> str:
    keys = [_key(lane, label.long) for lane, label in enumerate(chart.labels)]
    hollow = '<svg width="30" height="14" aria-hidden="true"><circle class="mk wit" cx="7" cy="7" r="5"/>'
    hollow += '<circle class="mk wit open" cx="22" cy="7" r="5"/></svg>'
    keys.append(f'<span class="key m">{hollow}may be best / ruled out</span>')
    if any(mark.runs for row in chart.rows for mark in row.marks):
        tick = '<line class="run wit" x1="3" x2="3" y1="2" y2="12"/>'
        keys.append(f'<span class="key m"><svg width="6" height="14" aria-hidden="true">{tick}</svg>one run</span>')
    tint = '<i class="tint"></i>' * any(row.shaded for row in chart.rows)
    keys.append(f'<span class="key m">{tint}{escape(chart.shading)}</span>')
    tools = '<button type="button" class="safest" hidden>safest first</button>' * (len(chart.labels) > 1)
    if switch:
        tools += (
            '<span class="seg" role="radiogroup" aria-label="scale"><label><input type="radio" name="sc" value="reg" '
            'checked>behind the best</label><label><input type="radio" name="sc" value="mea">means</label></span>'
        )
    return f'<div class="bar">{"".join(keys)}<span class="tools noprint">{tools}</span></div>'


def _head(chart: Chart, comparison: Comparison, switch: bool) -> str:
    names = ""
    for short, full in chart.heads:
        column = "" if _free(chart) else f' class="p" title="{escape(full)}"'
        names += f'<th scope="col" data-sort="up"{column}>{escape(short)}</th>'
    alike = f" \u00b7 {escape(chart.alike)}" if chart.alike else ""
    level = f"{chart.level} intervals, all at once"
    said = f'<span class="reg">how far behind the best (left is better), {level}{alike}</span>'
    if switch:
        scale = "both metrics at the same scale, each from its own origin" if len(chart.labels) > 1 else chart.level
        said += f'<span class="mea">means (right is better): {scale}{alike}</span>'
    values = ""
    for lane, label in enumerate(chart.labels):
        low = label.name in comparison.lower_is_better
        order = "" if lane else f' aria-sort="{"ascending" if low else "descending"}"'
        about = f'data-sort="{"up" if low else "down"}" title="mean {escape(label.name)}"{order}'
        values += f'<th scope="col" class="v {TEXTS[lane]}" {about}>{escape(label.head)}</th>'
    return f'<tr>{names}<td></td><th scope="col" class="w" data-sort="up" data-quiet>{said}</th>{values}</tr>'


def _free(chart: Chart) -> bool:
    """Say whether names are whole, not in columns."""
    return chart.heads == (("model", "model"),)


def _row(chart: Chart, row: Row, picture: str, written: list[str]) -> str:
    full = escape(row.full)
    dagger = f'<sup title="{escape(row.remark)}">\u2020</sup>' if row.remark else ""
    cells = []
    for place, (text, (short, _)) in enumerate(zip(row.cells, chart.heads, strict=True)):
        tag, scope = ("td", "") if place else ("th", 'scope="row" ')
        kind = 'class="n"' if _free(chart) else f'class="p" data-k="{escape(short)}"'
        mark = dagger if place == len(row.cells) - 1 else ""
        cells.append(f'<{tag} {scope}{kind} title="{full}"><bdi>{escape(text)}</bdi>{mark}</{tag}>')
    tags = "".join(f'<span class="tag {style}">{escape(text)}</span>' for style, text in row.tags)
    said = ". ".join(mark.said for mark in row.marks) + (f". {row.remark}" if row.remark else "")
    values = "".join(
        f'<td class="v {colour}">{f"<strong>{text}</strong>" if best else text}</td>'
        for colour, text, best in zip(TEXTS, written, row.best, strict=False)
    )
    return (
        f'<tr{" class=may" * row.shaded}>{"".join(cells)}<td class="t">{tags}</td>'
        f'<td class="w" data-v="{row.worst:.9g}">{picture}<span class="sr">{escape(said)}</span></td>{values}</tr>'
    )


def _means(comparison: Comparison, chart: Chart, rows: Sequence[Row]) -> tuple[list[Panel], str]:
    """Return a panel of means for each metric, and the axes below them; right is better.

    Each has its own origin, and all have the same units a pixel.
    """
    known = comparison.standings.set_index(["metric", "model"])[["lower", "mean", "upper"]]
    signs = [-1.0 if label.name in comparison.lower_is_better else 1.0 for label in chart.labels]
    tables = [known.loc[label.name].loc[[row.key for row in rows]].to_numpy(float) for label in chart.labels]
    turned = [sign * table[:, :: int(sign)] for sign, table in zip(signs, tables, strict=True)]
    lows = [table[np.isfinite(table)].min() for table in turned]
    wide = max(table[np.isfinite(table)].max() - low for low, table in zip(lows, turned, strict=True)) or 0.01
    panels, feet, lanes = [], "", len(lows)
    for lane, (low, table, sign) in enumerate(zip(lows, turned, signs, strict=True)):
        room = Axis.of(low, low + wide, 4 if lanes > 1 else 6)
        width = 95.6 / lanes - 1.3 * (lanes > 1)
        axis = Axis(low, low + wide, room.ticks, room.places, 2.2 + 49.1 * lane, width)
        texts = means(tables[lane].ravel())
        points = [
            (*ends, row.marks[lane].filled, f"{row.full}\n{texts[at + 1]}, between {texts[at]} and {texts[at + 2]}")
            for row, ends, at in zip(rows, table.tolist(), range(0, len(texts), 3), strict=True)
        ]
        panels.append(Panel(axis, float(table[:, 1].max()), points))
        feet += ticks_below(axis, turn=sign)
    return panels, drawing(feet, 24, "mea ax")


class _Metric(NamedTuple):
    """A row for a metric: a number with its interval, and where it stands, above 0 to the right."""

    name: str
    lane: int
    value: float
    low: float
    high: float
    texts: tuple[str, ...]
    note: str = ""


def _one(comparison: Comparison) -> list[_Metric]:
    rows, primary = [], comparison.primary or comparison.metrics[:1]
    for row in comparison.standings.to_dict("records"):
        name, ends = row["metric"], (row["mean"], row["lower"], row["upper"])
        value, low, high = means(ends)
        lane = primary.index(name) if name in primary else 2
        note = "lower is better" if name in comparison.lower_is_better else ""
        rows.append(_Metric(name, lane, *ends, (value, f"{low} to {high}"), note))
    return sorted(rows, key=lambda row: row.lane)


def _two(comparison: Comparison) -> list[_Metric]:
    """Return the second model minus the first under every metric; a loss is drawn to the side that is better."""
    old, new = comparison.models
    primary, board = comparison.verdict.metrics, comparison.leaderboard
    pairs, known = comparison.pairs, comparison.verdict.means  # of the primary metrics on the queries that both have
    pair = pairs.iloc[0]
    turned = 1.0 if pair["model_x"] == new else -1.0
    rows = []
    for name in (*primary, *(metric for metric in comparison.metrics if metric not in primary)):
        columns = (select_common_column(pairs, f"{what} {name}") for what in ("difference", "lower", "upper"))
        value, *ends = (turned * pair[column] + 0.0 for column in columns)
        low, high = sorted(ends)
        written = differences([value, low, high])
        own = known.get(name) or board[name].to_dict()
        second, first = means((own[new], own[old]))
        loss = name in comparison.lower_is_better
        if loss:
            value, low, high = -value + 0.0, -high, -low
        lane = primary.index(name) if name in primary else 2
        texts = (written[0], f"{written[1]} to {written[2]}", f"{second} \u2212 {first}")
        rows.append(_Metric(name, lane, value, low, high, texts, "lower is better" if loss else ""))
    return rows


def _metrics(content: Content, rows: list[_Metric], pair: Sequence[str] = ()) -> str:
    """Return one row a metric; where a pair is named, numbers are differences, which are equal at 0."""
    chart = content.chart
    ends = [end for row in rows for end in (row.value, row.low, row.high) if math.isfinite(end)]
    reach = max(ends) - min(ends) or 0.01
    low, high = (min(0.0, *ends), max(0.0, *ends)) if pair else (min(ends), max(ends))
    axis = Axis.of(low - 0.03 * reach, high + 0.03 * reach)
    body = []
    for row in rows:
        height = 50 if row.lane < 2 and len(rows) < 12 else 32
        picture = axis.grid(height) if pair else axis.grid(height, axis.ticks[0]).replace('"z"', '"g"')
        if math.isfinite(row.low) and math.isfinite(row.high):
            picture += interval(row.lane, axis.at(row.low), axis.at(row.high), height / 2)
        said = f"{row.name}: {', '.join(row.texts)}{'; ' + row.note if row.note else ''}"
        picture += dot(row.lane, axis.at(row.value), height / 2, filled=True, title=said)
        colour = TEXTS[row.lane] if row.lane < 2 else "m"
        note = f' <span class="m">{row.note}</span>' if row.note else ""
        strong, *rest = row.texts
        values = f'<td class="v"><strong>{strong}</strong></td>'
        values += "".join(f'<td class="v m">{text}</td>' for text in rest)
        body.append(
            f'<tr><th scope="row" class="n {colour}">{escape(row.name)}{note}</th>'
            f'<td class="w">{drawing(picture, height)}</td>{values}</tr>'
        )
    head, heads = "means with simultaneous intervals", ["mean", chart.level]
    if pair:
        old, new = pair
        zero = axis.at(0.0)
        sides = text_at(zero, 14, f"\u25c2 {old} better", dx=-8, anchor="end") if zero > 22 else ""
        sides += text_at(zero, 14, f"{new} better \u25b8", dx=8) if zero < 78 else ""
        head = f'{drawing(sides, 20, "ax")}<span class="sr">difference</span>'
        named = f"{new} \u2212 {old}" if len(new) + len(old) <= 24 else "second \u2212 first"
        heads = [named, chart.level, "means"]
    keys = [_key(lane, label.long) for lane, label in enumerate(chart.labels)] or [
        _key(row.lane, row.name) for row in rows if row.lane < 2
    ]
    said = f"{'difference' if pair else 'mean'}, with {chart.level} intervals that hold together"
    keys.append(f'<span class="key m">{said}</span>')
    if any(row.lane > 1 for row in rows):
        keys.append('<span class="key m">grey: witnesses, not part of the verdict</span>')
    columns = "".join(f'<th scope="col" class="v">{escape(text)}</th>' for text in heads)
    foot = drawing(ticks_below(axis, pair=bool(pair)), 24, "ax")
    return (
        f'<figure id="chart"><div class="bar">{"".join(keys)}</div>'
        f'<table class="chart by-metric"><thead><tr><th scope="col">metric</th><th scope="col" class="w">{head}</th>'
        f"{columns}</tr></thead><tbody>{''.join(body)}</tbody><tfoot><tr><td></td>"
        f'<td class="w">{foot}</td><td colspan="{len(heads)}"></td></tr></tfoot></table></figure>'
    )
