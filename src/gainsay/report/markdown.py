"""A comparison as Markdown: the HTML report without its pictures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .._common.checks import check_whole
from .._common.markup import as_text
from .._common.outputs import check_output
from ..comparison.headline import labels_of
from .numbers import format_means, format_number
from .sections import sections
from .tables import details, notes

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from .content import Content
    from .tables import Table


def to_markdown(content: Content, path: str | os.PathLike[str] | None = None, *, queries: int = 10) -> str:
    """Return the report as Markdown, and write it to `path` if there is one.

    Parameters
    ----------
    content : Content
        The comparison to report.
    path : path, optional
        The file to write.
    queries : int
        How many queries of each list to show.

    Raises
    ------
    OSError
        If the file cannot be written, which is checked first.
    ValueError
        If `queries` is negative.
    """
    queries = check_whole("queries", queries, 0)
    target = None if path is None else check_output("path", path)
    text = "\n".join(_lines(content, queries)) + "\n"
    if target is not None:
        target.write_bytes(text.encode("utf-8", "replace"))
    return text


def _lines(content: Content, queries: int) -> Iterator[str]:
    chart = content.chart
    yield f"# {safe(as_text(chart.headline))}\n"
    yield safe(as_text(chart.question))
    told = " ".join(filter(None, (as_text(chart.advice), content.searches)))
    yield from [f"\n**{safe(told)}**"] if told else []
    if chart.rows:
        yield "\n## Chart\n"
        yield from _chart(content)
    known = notes(content)
    yield from ["", *(f"- {safe(note)}" for note in known)] if known else []
    for section in sections(content):
        yield f"\n## {safe(section.title)}\n\n{safe(as_text(section.text))}"
        if section.name == "queries":
            yield from _queries(content, queries)
    for part in details(content):
        yield f"\n## {part.title}\n"
        yield "\n\n".join(map(safe, part.sentences))
        for table in part.tables:
            yield "\n" + table_text(table)
        yield from (f"- **{safe(term)}**: {safe(meaning)}" for term, meaning in part.terms)


def _chart(content: Content) -> Iterator[str]:
    """Yield the chart as a table: differences with their intervals, the worst case, and the means."""
    chart = content.chart
    captions = [panel.caption + (f" ({panel.libraries})" if panel.libraries else "") for panel in chart.panels]
    last = " ".join(filter(None, chart.last))
    heads = [*captions, last, *(f"mean {panel.label.name}" for panel in chart.panels)]
    yield _row(["model", *map(safe, heads)])
    yield _row([":---", *["---:"] * len(heads)])
    for row in chart.rows:
        name = f"{'★ ' if row.starred else ''}{safe(row.name)}{' †' if row.remark else ''}"
        cells = []
        for cell in row.cells:
            interval = (
                f" ({format_number(cell.lower)} to {format_number(cell.upper)})"
                if cell.bounded and cell.lower < cell.upper
                else ""
            )
            text = f"**{cell.text}**" if cell.highest else cell.text
            cells.append(f"{text}{interval}{'' if cell.possible else ', ' + chart.excluded}")
        yield _row([name, *cells, row.outcome, *format_means(cell.mean for cell in row.cells)])
    yield f"\n{safe(' '.join((*chart.notes[-2:], *content.same_number)))}"


def _queries(content: Content, most: int) -> Iterator[str]:
    assert content.queries is not None
    labels = labels_of(content.comparison.verdict.metrics)
    for tab in content.queries.tabs(most, content.labels):
        yield f"\n### {safe(tab.title)}\n"
        for entry in tab.entries:
            ahead = [
                f"{content.labels[lead < 0]} by {format_number(abs(value))} ({label.by})"
                if lead
                else f"level ({label.by})"
                for lead, value, label in zip(entry.leads, entry.differences, labels, strict=True)
            ]
            yield f"- query {safe(entry.query)} ({entry.about}): {safe('; '.join(ahead))}"
            for name, strip in zip((*content.labels, "ideal order"), entry.strips, strict=True):
                yield f"  - {safe(name)}: {' '.join(f'{label:g}' for label in strip)}"


def table_text(table: Table) -> str:
    """Return a table with its caption above. Notes of cells follow in brackets."""
    lines = [
        f"*{safe(table.caption)}*\n",
        _row(safe(column.label) for column in table.columns),
        _row("---:" if column.numeric else ":---" for column in table.columns),
    ]
    for cells in table.rows:
        texts = (f"**{safe(cell.text)}**" if cell.strong and cell.text.strip() else safe(cell.text) for cell in cells)
        notes = (f" ({safe(cell.note)})" if cell.note else "" for cell in cells)
        lines.append(_row(text + note for text, note in zip(texts, notes, strict=True)))
    return "\n".join(lines)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def safe(text: str) -> str:
    r"""Escape everything in a text that Markdown or HTML would interpret.

    >>> print(safe("a|b <i>_c_</i>"))
    a\|b &lt;i&gt;\_c\_&lt;/i&gt;
    >>> print(safe("https://example.org"))
    https&#58;//example.org
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*_{}\[\]|#~$])", r"\\\1", text)
    # GitHub makes links of bare addresses.
    return re.sub(r"(?i)(?<=\bwww)\.", "&#46;", text.replace("://", "&#58;//"))
