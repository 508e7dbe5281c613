"""A comparison as Markdown: what the HTML report says, without its pictures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .._common.outputs import check_output
from ..comparison.headline import labels_of
from ..drawing.lanes import bare
from ..drawing.text import as_text
from .full import details, notes
from .numbers import mean
from .sections import sections

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from .content import Content
    from .section import Table

__all__ = ["to_markdown"]


def to_markdown(content: Content, path: str | os.PathLike[str] | None = None, *, queries: int = 10) -> str:
    """Return the report as Markdown, and write it where a path is given.

    Parameters
    ----------
    content : Content
        What is reported.
    path : path, optional
        Where to write it.
    queries : int
        How many queries of each list to show.

    Raises
    ------
    OSError
        Where the file cannot be written; found out before the work.
    """
    target = None if path is None else check_output("path", path)
    text = "\n".join(_lines(content, queries)) + "\n"
    if target is not None:
        target.write_bytes(text.encode("utf-8", "replace"))
    return text


def _lines(content: Content, queries: int) -> Iterator[str]:
    chart = content.chart
    yield f"# {_safe(as_text(chart.headline))}\n"
    yield _safe(as_text(chart.question))
    told = " ".join(filter(None, (as_text(chart.advice), content.searches)))
    yield from [f"\n**{_safe(told)}**"] if told else []
    if chart.rows:
        yield "\n## Chart\n"
        yield from _chart(content)
    known = notes(content)
    yield from ["", *(f"- {_safe(note)}" for note in known)] if known else []
    for section in sections(content):
        yield f"\n## {_safe(section.title)}\n\n{_safe(as_text(section.said))}"
        if section.name == "queries" and content.queries is not None:
            yield from _queries(content, queries)
    for part in details(content):
        yield f"\n## {part.title}\n"
        yield "\n\n".join(map(_safe, part.sentences))
        for table in part.tables:
            yield "\n" + _table(table)
        yield from (f"- **{_safe(term)}**: {_safe(meaning)}" for term, meaning in part.terms)


def _chart(content: Content) -> Iterator[str]:
    """Yield how every model stands: distances to the best with their intervals."""
    chart = content.chart
    yield _row(
        [
            "model",
            *(f"behind by {_safe(label.by)}" for label in chart.labels),
            *map(_safe, (label.name for label in chart.labels)),
        ]
    )
    yield _row([":---", *["---:"] * 2 * len(chart.labels)])
    for row in chart.rows:
        tags = " ".join(text.replace("\u200a", " ") for _, text in row.tags)
        name = f"{_safe(content.names.short[row.key])}{f' ({_safe(tags)})' if tags else ''}{' †' if row.remark else ''}"
        behind = [
            f"{bare(mark.value)} ({bare(mark.low)} to {bare(mark.high)}){'' if mark.filled else ', ruled out'}"
            for mark in row.marks
        ]
        means = [
            f"**{mean(mark.mean)}**" if best else mean(mark.mean)
            for mark, best in zip(row.marks, row.best, strict=True)
        ]
        yield _row([name, *behind, *means])


def _queries(content: Content, most: int) -> Iterator[str]:
    queries = content.queries
    assert queries is not None
    import numpy as np

    tabs = [tab for tab in queries.tabs(most, content.called) if len(tab.places)]
    if not tabs:
        return
    entries = queries.entries(np.unique(np.concatenate([tab.places for tab in tabs])))
    labels = labels_of(content.comparison.verdict.metrics)
    for tab in tabs:
        yield f"\n### {_safe(tab.title)}\n"
        for place in tab.places.tolist():
            entry = entries[place]
            ahead = [
                f"{content.called[lead < 0]} by {bare(abs(value))} ({label.by})" if lead else f"level ({label.by})"
                for lead, value, label in zip(entry.leads, entry.differences, labels, strict=True)
            ]
            yield f"- query {_safe(entry.query)} ({entry.about}): {_safe('; '.join(ahead))}"
            for name, strip in zip((*content.called, "ideal order"), entry.strips, strict=True):
                yield f"  - {_safe(name)}: {' '.join(f'{label:g}' for label in strip)}"


def _table(table: Table) -> str:
    """Return a table with its caption above; the notes of cells stand in brackets."""
    lines = [
        f"*{_safe(table.caption)}*\n",
        _row(_safe(column.label) for column in table.columns),
        _row("---:" if column.numeric else ":---" for column in table.columns),
    ]
    for cells in table.rows:
        texts = (f"**{_safe(cell.text)}**" if cell.strong and cell.text.strip() else _safe(cell.text) for cell in cells)
        notes = (f" ({_safe(cell.note)})" if cell.note else "" for cell in cells)
        lines.append(_row(text + note for text, note in zip(texts, notes, strict=True)))
    return "\n".join(lines)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _safe(text: str) -> str:
    r"""Return text in which nothing is markup.

    >>> print(_safe("a|b <i>_c_</i>"))
    a\|b &lt;i&gt;\_c\_&lt;/i&gt;
    >>> print(_safe("https://example.org"))
    https&#58;//example.org
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*_{}\[\]|#~$])", r"\\\1", text)
    # GitHub makes links of bare addresses.
    return re.sub(r"(?i)(?<=\bwww)\.", "&#46;", text.replace("://", "&#58;//"))
