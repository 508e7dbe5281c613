"""The section of queries: contradictory ones, or the largest differences, and a random sample."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from .._common.shown import printable
from .._common.words import MINUS, count, format_number
from ..comparison.wording import label_metrics
from .entries import MAX_RANKS
from .tables import Section

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .content import Content
    from .entries import Entry, Queries

DOT = "\u00b7"
"""Replaces grade 0."""

VISIBLE = 3
"""Visible queries of each list. A click shows the others. The style sheet contains the same number."""


def build_queries_section(content: Content) -> Section | None:
    """Return the section of queries, or None without the scores of the models."""
    queries = content.queries
    if queries is None:
        return None
    total, number = count(len(queries.preferences.queries), "query"), queries.contradictory
    text = (
        f"On {number:,} of {total} the two metrics prefer different models. The strongest come first. They are not "
        "typical, the random sample is."
    )
    if content.merged:
        text = "The queries with the largest differences, and a random sample."
    elif not number:
        text = f"The two metrics prefer the same model on each of {total}."
    upper, lower = label_metrics(content.comparison.verdict.metrics)
    note = "Grades from rank 1 on, darker ones are higher, a dot is grade 0. Bars: the difference on this query"
    note += "." if content.merged else f", by {upper.short} above and by {lower.short} below."
    if any(content.comparison.verdict.repeats.get(model) for model in queries.pair[:2]):
        note += " Rankings are those of a recipe's first repeat, bars those of the mean of all its repeats."
    return Section("queries", "Which queries", text, lambda most: _build_figure(content, queries, most), note)


def _build_figure(content: Content, queries: Queries, most: int) -> str:
    assert content.comparison.rankings is not None
    lists = queries.select(most)
    if not lists:
        return ""
    grades = _build_grades(content.comparison.rankings.judgments.levels.tolist())
    first, second = map(escape, content.labels)
    choices = "".join(
        f'<label><input type="radio" name="list" value="{part.name}"{" checked" * (not place)}>'
        f"{escape(part.title)}</label>"
        for place, part in enumerate(lists)
    )
    tools = f'<span class="seg" role="radiogroup" aria-label="which queries">{choices}</span>'
    if max(len(part.entries) for part in lists) > VISIBLE:
        tools += f'<label class="more"><input type="checkbox"> all that are listed, up to {most}</label>'
    full = [escape(printable(model)) for model in queries.pair[:2]]
    head = (
        f'<tr><th scope="col">query</th><th scope="col" title="{full[1]}">{second}: top {MAX_RANKS}</th>'
        f'<th scope="col" title="{full[0]}">{first}: top {MAX_RANKS}</th><th scope="col">ideal order</th>'
        f'<th scope="col">\u25c2 {second} | {first} \u25b8</th></tr>'
    )
    bodies, ids = [], set[str]()
    for part in lists:
        bars = build_pair_bars([(entry.differences, entry.leads) for entry in part.entries], 1 if content.merged else 2)
        rows = []
        for entry, picture in zip(part.entries, bars, strict=True):
            row_id = part.name + "-" + re.sub(r"[^\w.:-]", "_", entry.query)
            while row_id in ids:
                row_id += "_"
            ids.add(row_id)
            rows.append(_build_row(escape(row_id), entry, picture, (first, second), grades))
        bodies.append(f'<tbody data-k="{part.name}">{"".join(rows)}</tbody>')
    wide = " wide" * any(len(f"{level:.2g}") > 2 for level in grades)
    return (
        f'<div class="tools noprint">{tools}</div>'
        f'<table class="qs{wide}"><thead>{head}</thead>{"".join(bodies)}</table>'
    )


def _build_row(row_id: str, entry: Entry, picture: str, names: tuple[str, str], grades: Mapping[float, str]) -> str:
    """Return the row of a query. `names` are escaped, and the second model comes first, as in the bars."""
    cells = ""
    for place, name, style in ((1, names[1], ""), (0, names[0], ""), (2, "ideal", " id")):
        strip = [grades[label] for label in entry.labels[place]]
        if place < 2 and entry.titles[place]:
            titled = zip(entry.titles[place], strip, strict=True)
            strip = [f'<span title="{escape(title)}">{grade}</span>' for title, grade in titled]
        cells += f'<td data-k="{name}"><span class="gr{style}">{"".join(strip)}</span></td>'
    text = f'<span class="asked"><bdi>{escape(entry.text)}</bdi></span>' if entry.text else ""
    return (
        f'<tr id="{row_id}"><td data-k="query"><a href="#{row_id}"><strong><bdi>{escape(entry.query)}</bdi></strong>'
        f'</a> <span class="m">{escape(entry.size)}</span>{text}</td>{cells}<td>{picture}</td></tr>'
    )


def build_pair_bars(rows: Sequence[tuple[Sequence[float], Sequence[float]]], lanes: int = 2) -> list[str]:
    """Return small bars to both sides of a line, one per metric, all rows on one scale.

    A row consists of the differences that are written, and of those that are drawn (to the right if the first model
    leads). Only the first `lanes` metrics have a bar.
    """
    largest = max((abs(lead) for _, leads in rows for lead in leads[:lanes]), default=0.0) or 1.0
    pictures = []
    for differences, leads in rows:
        bars = ""
        for lane, (difference, lead) in enumerate(zip(differences[:lanes], leads[:lanes], strict=True)):
            end, y = 50 + 28 * lead / largest, 3 + 16 * lane
            left, right = sorted((50.0, end))
            side = 'dx="5"' if lead >= 0 else 'dx="-5" text-anchor="end"'
            bars += (
                f'<rect class="bar {("lin", "exp")[lane]}" x="{left:.2f}%" width="{right - left:.2f}%" y="{y}" '
                f'height="12"/><text x="{end:.2f}%" y="{y + 10}" {side}>{format_number(abs(difference), 3)}</text>'
            )
        height = 2 + 16 * lanes
        pictures.append(
            f'<svg width="100%" height="{height}" aria-hidden="true">'
            f'<line class="z" x1="50%" x2="50%" y1="0" y2="{height}"/>{bars}</svg>'
            f'<span class="sr">{", ".join(map(format_number, differences[:lanes]))}</span>'
        )
    return pictures


def _build_grades(levels: list[float]) -> dict[float, str]:
    """Return the cell of each grade, with its text and strength."""
    cells = {}
    for place, level in enumerate(levels):
        full = f"{level:g}".replace("-", MINUS)
        short = full if len(full) <= 3 else f"{float(f'{level:.2g}'):g}".replace("-", MINUS)
        title = "" if short == full else f' title="{full}"'
        strength = round(20 * place / max(len(levels) - 1, 1))
        cells[level] = f'<i class="g{strength}"{title}>{short if level else DOT}</i>'
    return cells


def build_grade_rules() -> str:
    """Return the style of grades: 21 strengths without medium ones, because text on them would not be legible."""
    rules = []
    for step in range(21):
        ink = float(np.interp(step / 20, [0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 11.0, 27.0, 64.0, 100.0]))
        ink = 64.0 if 46 < ink < 64 else ink
        light = "" if ink < 50 else ";color:var(--face)"
        rules.append(f".gr .g{step}{{background:color-mix(in srgb,var(--ink) {ink:.0f}%,var(--face)){light}}}")
    return "\n".join(rules) + "\n.gr .g0{color:var(--muted);font-weight:400;box-shadow:inset 0 0 0 1px var(--rule)}\n"
