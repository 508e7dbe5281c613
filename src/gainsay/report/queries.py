"""Which queries: a random sample, those on which the metrics contradict each other, and the largest differences."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.shown import printable
from .._common.words import count
from ..comparison.headline import labels_of
from ..drawing.lanes import pair_bars
from .entries import MOST_CELLS
from .section import Section

if TYPE_CHECKING:
    import pandas as pd

    from .content import Content
    from .entries import Entry, Queries

__all__ = ["csv_rows", "grade_rules", "queries_section"]

DOT = "\u00b7"
"""Stands for grade 0."""

FIRST = 8
"""So many queries of each list stand in view, the others after a click."""


def queries_section(content: Content) -> Section | None:
    """Return the section of queries; None without the scores of the models."""
    queries = content.queries
    if queries is None:
        return None
    total, number = len(queries.found.queries), queries.contradictory
    said = (
        f"On {number:,} of {count(total, 'query')} the two metrics prefer different ones of these models. The random "
        "sample shows what is usual; the strongest are picked, and so look stronger than they are."
    )
    if not number:
        said = f"On none of {count(total, 'query')} do the two metrics prefer different ones of these models."
    upper, lower = (label.by for label in labels_of(content.comparison.verdict.metrics))
    note = "Grades from rank 1 on; the stronger, the higher; grade 0 is a dot. Bars: the difference on this query, "
    note += f"by {upper} above and by {lower} below."
    if any(content.comparison.verdict.runs.get(model) for model in queries.pair[:2]):
        note += " Of a recipe the ranking of its first run is shown; the bars are of the mean of all its runs."
    return Section("queries", "Which queries", (("", said),), lambda most: _figure(content, queries, most), note)


def _figure(content: Content, queries: Queries, most: int) -> str:
    assert content.comparison.rankings is not None
    tabs = [tab for tab in queries.tabs(most, content.called) if len(tab.places)]
    if not tabs:
        return ""
    entries = queries.entries(np.unique(np.concatenate([tab.places for tab in tabs])))
    grades = _Grades(content.comparison.rankings.judgments.levels.tolist())
    first, second = map(escape, content.called)
    picks = "".join(
        f'<label><input type="radio" name="qt" value="{tab.name}"{" checked" * (not place)}>{escape(tab.title)}</label>'
        for place, tab in enumerate(tabs)
    )
    tools = (
        f'<div class="tools noprint"><span class="seg" role="radiogroup" aria-label="which queries">{picks}</span>'
        '<input type="search" placeholder="query" aria-label="only queries whose id or text has" hidden>'
    )
    if max(len(tab.places) for tab in tabs) > FIRST:
        tools += f'<label class="more"><input type="checkbox"> all that are listed, up to {most}</label>'
    sides = f"\u25c2 {second} | {first} \u25b8"
    titles = (
        [f' title="{escape(content.names.full[model])}"' for model in content.pair[:2]] if content.pair else ["", ""]
    )
    head = (
        f'<tr><th scope="col">query</th><th scope="col"{titles[1]}>{second}: top {MOST_CELLS}</th>'
        f'<th scope="col"{titles[0]}>{first}: top {MOST_CELLS}</th><th scope="col">ideal order</th>'
        f'<th scope="col">{sides}</th></tr>'
    )
    bodies, known = [], set[str]()
    for tab in tabs:
        listed = [entries[place] for place in tab.places.tolist()]
        pictures = pair_bars([(entry.differences, entry.leads) for entry in listed])
        rows = (
            _row(tab.name, entry, picture, (second, first), grades, known)
            for entry, picture in zip(listed, pictures, strict=True)
        )
        bodies.append(f'<tbody data-k="{tab.name}">{"".join(rows)}</tbody>')
    return f'{tools}</div><table class="qs{" wide" * grades.wide}"><thead>{head}</thead>{"".join(bodies)}</table>'


def _row(tab: str, entry: Entry, picture: str, called: tuple[str, str], grades: _Grades, known: set[str]) -> str:
    query = escape(entry.query)
    plain = re.sub(r"[^\w.:-]", "_", entry.query)
    base = name = f"{tab}-{plain}"
    while name in known:
        base += "_"
        name = base
    known.add(name)
    strips = "".join(
        f'<td data-k="{title}"><span class="gr{" id" * (place == 2)}">{grades.cells(strip, named)}</span></td>'
        for place, (title, strip, named) in enumerate(
            zip(
                (*called, "ideal"),
                (entry.strips[1], entry.strips[0], entry.strips[2]),
                (entry.titles[1], entry.titles[0], []),
                strict=True,
            )
        )
    )
    asked = f'<span class="asked"><bdi>{escape(entry.asked)}</bdi></span>' if entry.asked else ""
    return (
        f'<tr id="{escape(name)}"><td data-k="query"><a href="#{escape(name)}"><strong><bdi>{query}</bdi></strong></a> '
        f'<span class="m">{escape(entry.about)}</span>{asked}</td>{strips}<td>{picture}</td></tr>'
    )


class _Grades:
    """The cells of grades: what is written in each and how strong it is."""

    def __init__(self, levels: list[float]) -> None:
        top = max(len(levels) - 1, 1)
        self.known = {level: self._cell(level, place / top) for place, level in enumerate(levels)}
        self.wide = any(len(f"{level:.2g}") > 2 for level in levels)

    @staticmethod
    def _cell(level: float, share: float) -> str:
        whole = f"{level:g}".replace("-", "\u2212")
        text = whole if len(whole) <= 3 else f"{float(f'{level:.2g}'):g}".replace("-", "\u2212")
        title = "" if text == whole else f' title="{whole}"'
        return f'<i class="g{round(20 * share)}"{title}>{text if level else DOT}</i>'

    def cells(self, labels: tuple[float, ...], titles: list[str]) -> str:
        """Return the cells of a ranking; what a document is called stands where it is pointed at."""
        if not titles:
            return "".join(self.known[float(label)] for label in labels)
        return "".join(
            f'<span title="{escape(title)}">{self.known[float(label)]}</span>'
            for label, title in zip(labels, titles, strict=True)
        )


def grade_rules() -> str:
    """Return the look of grades: 21 steps of ink, none of middle strength, on which no text would be legible."""
    known = ((0.0, 0.0), (0.25, 11.0), (0.5, 27.0), (0.75, 64.0), (1.0, 100.0))
    rules = []
    for step in range(21):
        ink = float(np.interp(step / 20, [at for at, _ in known], [strength for _, strength in known]))
        ink = 64.0 if 46 < ink < 64 else ink
        light = "" if ink < 50 else ";color:var(--face)"
        rules.append(f".gr .g{step}{{background:color-mix(in srgb,var(--ink) {ink:.0f}%,var(--face)){light}}}")
    return "\n".join(rules) + "\n.gr .g0{color:var(--muted);font-weight:400;box-shadow:inset 0 0 0 1px var(--rule)}\n"


def csv_rows(table: pd.DataFrame) -> list[list[Any]]:
    """Return a table of queries as rows for a file: labels side by side, and no text that a spreadsheet runs."""
    head = [_harmless(printable(str(name))) for name in table.columns]
    return [head, *([_cell(value) for value in row] for row in table.itertuples(index=False))]


def _cell(value: Any) -> Any:
    if isinstance(value, tuple):
        return " ".join(f"{grade:g}" for grade in value)
    return _harmless(value) if isinstance(value, str) else value


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
