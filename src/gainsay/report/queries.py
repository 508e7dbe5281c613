"""Queries with contradictory metrics, a random sample, and the largest differences."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.shown import printable, printables
from .._common.words import count
from ..comparison.headline import labels_of
from .entries import MOST_CELLS
from .numbers import format_number
from .tables import Section

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from .content import Content
    from .entries import Entry, Queries

DOT = "\u00b7"
"""Replaces grade 0."""

FIRST = 3
"""Visible queries of each list. A click shows the others."""


def queries_section(content: Content) -> Section | None:
    """Return the section of queries, or None without the scores of the models."""
    queries = content.queries
    if queries is None:
        return None
    total, number = count(len(queries.found.queries), "query"), queries.contradictory
    said = (
        f"On {number:,} of {total} the two metrics prefer different models. The strongest come first. They are not "
        "typical, the random sample is."
    )
    if content.merged:
        said = "A random sample, and the queries with the largest differences."
    elif not number:
        said = f"The two metrics prefer the same model on each of {total}."
    upper, lower = labels_of(content.comparison.verdict.metrics)
    note = "Grades from rank 1 on, darker ones are higher, a dot is grade 0. Bars: the difference on this query"
    note += "." if content.merged else f", by {upper.by} above and by {lower.by} below."
    if any(content.comparison.verdict.repeats.get(model) for model in queries.pair[:2]):
        note += " Rankings are those of a recipe's first repeat, bars those of the mean of all its repeats."
    return Section("queries", "Which queries", said, lambda most: _figure(content, queries, most), note)


def _figure(content: Content, queries: Queries, most: int) -> str:
    assert content.comparison.rankings is not None
    tabs = queries.tabs(most, content.labels)
    if not tabs:
        return ""
    grades = _grades(content.comparison.rankings.judgments.levels.tolist())
    first, second = map(escape, content.labels)
    picks = "".join(
        f'<label><input type="radio" name="qt" value="{tab.name}"{" checked" * (not place)}>{escape(tab.title)}</label>'
        for place, tab in enumerate(tabs)
    )
    tools = (
        f'<div class="tools noprint"><span class="seg" role="radiogroup" aria-label="which queries">{picks}</span>'
        '<input type="search" placeholder="query" aria-label="only queries whose id or text has" hidden>'
    )
    if max(len(tab.entries) for tab in tabs) > FIRST:
        tools += f'<label class="more"><input type="checkbox"> all that are listed, up to {most}</label>'
    full = [escape(printable(model)) for model in queries.pair[:2]]
    head = (
        f'<tr><th scope="col">query</th><th scope="col" title="{full[1]}">{second}: top {MOST_CELLS}</th>'
        f'<th scope="col" title="{full[0]}">{first}: top {MOST_CELLS}</th><th scope="col">ideal order</th>'
        f'<th scope="col">\u25c2 {second} | {first} \u25b8</th></tr>'
    )
    bodies, known = [], set[str]()
    for tab in tabs:
        lanes = 1 if content.merged else 2
        pictures = pair_bars([(entry.differences[:lanes], entry.leads[:lanes]) for entry in tab.entries])
        rows = (
            _row(tab.name, entry, picture, (second, first), grades, known)
            for entry, picture in zip(tab.entries, pictures, strict=True)
        )
        bodies.append(f'<tbody data-k="{tab.name}">{"".join(rows)}</tbody>')
    wide = " wide" * any(len(f"{level:.2g}") > 2 for level in grades)
    return f'{tools}</div><table class="qs{wide}"><thead>{head}</thead>{"".join(bodies)}</table>'


def _row(
    tab: str, entry: Entry, picture: str, called: tuple[str, str], grades: Mapping[float, str], known: set[str]
) -> str:
    plain = re.sub(r"[^\w.:-]", "_", entry.query)
    name = f"{tab}-{plain}"
    while name in known:
        name += "_"
    known.add(name)
    first, second, ideal = entry.strips
    shown = zip((*called, "ideal"), (second, first, ideal), (*entry.titles[::-1], []), ("", "", " id"), strict=True)
    strips = "".join(
        f'<td data-k="{side}"><span class="gr{kind}">{_cells(strip, titles, grades)}</span></td>'
        for side, strip, titles, kind in shown
    )
    asked = f'<span class="asked"><bdi>{escape(entry.asked)}</bdi></span>' if entry.asked else ""
    return (
        f'<tr id="{escape(name)}"><td data-k="query"><a href="#{escape(name)}"><strong><bdi>{escape(entry.query)}</bdi>'
        f'</strong></a> <span class="m">{escape(entry.about)}</span>{asked}</td>{strips}<td>{picture}</td></tr>'
    )


def pair_bars(rows: Sequence[tuple[Sequence[float], Sequence[float]]]) -> list[str]:
    """Return small bars to both sides of a line, one per metric, all rows on one scale.

    A row consists of the differences that are written, and of those that are drawn (to the right if the first model
    leads).
    """
    widest = max((abs(lead) for _, leads in rows for lead in leads), default=0.0) or 1.0
    pictures = []
    for differences, leads in rows:
        bars = ""
        for lane, (difference, lead) in enumerate(zip(differences, leads, strict=True)):
            end, y = 50 + 28 * lead / widest, 3 + 16 * lane
            left, right = sorted((50.0, end))
            bars += f'<rect class="bar {("lin", "exp")[lane]}" x="{left:.2f}%" width="{right - left:.2f}%" '
            bars += f'y="{y}" height="12"/>'
            side = 'dx="5"' if lead >= 0 else 'dx="-5" text-anchor="end"'
            bars += f'<text x="{end:.2f}%" y="{y + 10}" {side}>{format_number(abs(difference), 3)}</text>'
        height = 2 + 16 * len(leads)
        line = f'<line class="z" x1="50%" x2="50%" y1="0" y2="{height}"/>'
        picture = f'<svg width="100%" height="{height}" aria-hidden="true">{line}{bars}</svg>'
        pictures.append(f'{picture}<span class="sr">{", ".join(map(format_number, differences))}</span>')
    return pictures


def _grades(levels: list[float]) -> dict[float, str]:
    """Return the cell of each grade, with its text and strength."""
    top, cells = max(len(levels) - 1, 1), {}
    for place, level in enumerate(levels):
        whole = f"{level:g}".replace("-", "\u2212")
        text = whole if len(whole) <= 3 else f"{float(f'{level:.2g}'):g}".replace("-", "\u2212")
        title = "" if text == whole else f' title="{whole}"'
        cells[level] = f'<i class="g{round(20 * (place / top))}"{title}>{text if level else DOT}</i>'
    return cells


def _cells(strip: tuple[float, ...], titles: Sequence[str], grades: Mapping[float, str]) -> str:
    """Return the cells of a ranking. The name of a document is its tooltip."""
    cells = [grades[grade] for grade in strip]
    if titles:
        named = zip(titles, cells, strict=True)
        cells = [f'<span title="{escape(title)}">{cell}</span>' for title, cell in named]
    return "".join(cells)


def grade_rules() -> str:
    """Return the style of grades: 21 strengths without medium ones, because text on them would not be legible."""
    known = ((0.0, 0.0), (0.25, 11.0), (0.5, 27.0), (0.75, 64.0), (1.0, 100.0))
    rules = []
    for step in range(21):
        ink = float(np.interp(step / 20, [at for at, _ in known], [strength for _, strength in known]))
        ink = 64.0 if 46 < ink < 64 else ink
        light = "" if ink < 50 else ";color:var(--face)"
        rules.append(f".gr .g{step}{{background:color-mix(in srgb,var(--ink) {ink:.0f}%,var(--face)){light}}}")
    return "\n".join(rules) + "\n.gr .g0{color:var(--muted);font-weight:400;box-shadow:inset 0 0 0 1px var(--rule)}\n"


def csv_rows(table: pd.DataFrame) -> list[list[Any]]:
    """Return a table of queries as rows for a CSV file, without text that a spreadsheet would execute."""
    head = list(map(_harmless, printables(table.columns)))
    return [head, *([_cell(value) for value in row] for row in table.itertuples(index=False))]


def _cell(value: Any) -> Any:
    if isinstance(value, tuple):
        return " ".join(map(str, value))  # Plain labels.
    return _harmless(value) if isinstance(value, str) else value


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
