"""A comparison as Markdown: the HTML report without its pictures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .._common.text import as_text
from .._common.validation import validate_output
from .sections import build_sections
from .tables import build_chart_table, build_details, list_notes

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from .content import Content
    from .tables import Table


def to_markdown(content: Content, path: str | os.PathLike[str] | None = None) -> str:
    """Return the report as Markdown, and write it to `path` if there is one.

    Raises
    ------
    OSError
        If the file cannot be written, which is checked first.
    """
    target = None if path is None else validate_output("path", path)
    text = "\n".join(_lines(content)) + "\n"
    if target is not None:
        target.write_bytes(text.encode("utf-8", "replace"))
    return text


def _lines(content: Content) -> Iterator[str]:
    chart = content.chart
    yield f"# {escape(as_text(chart.headline))}\n"
    yield escape(as_text(chart.question))
    yield from [f"\n**{escape(as_text(chart.advice))}**"] if chart.advice else []
    if chart.rows:
        yield "\n## Chart"
        yield from _table_lines(build_chart_table(chart))
        yield f"\n{escape(' '.join((*chart.notes[-2:], *content.same_number)))}"
    notes = list_notes(content)
    yield from ["", *(f"- {escape(note)}" for note in notes)] if notes else []
    for section in build_sections(content):
        yield f"\n## {escape(section.title)}\n\n{escape(as_text(section.text))}"
    for part in build_details(content):
        yield f"\n## {part.title}\n"
        yield "\n\n".join(map(escape, part.sentences))
        for table in part.tables:
            yield from _table_lines(table)
        yield from (f"- **{escape(term)}**: {escape(meaning)}" for term, meaning in part.terms)


def _table_lines(table: Table) -> Iterator[str]:
    """Yield a table below its caption. Notes of cells follow in brackets."""
    yield f"\n*{escape(table.caption)}*\n"
    yield _row(escape(column.label) for column in table.columns)
    yield _row("---:" if column.numeric else ":---" for column in table.columns)
    for cells in table.rows:
        texts = (f"**{escape(cell.text)}**" if cell.strong else escape(cell.text) for cell in cells)
        notes = (f" ({escape(cell.note)})" if cell.note else "" for cell in cells)
        yield _row(text + note for text, note in zip(texts, notes, strict=True))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escape(text: str) -> str:
    r"""Escape everything in a text that Markdown or HTML would interpret.

    >>> print(escape("a|b <i>_c_</i>"))
    a\|b &lt;i&gt;\_c\_&lt;/i&gt;
    >>> print(escape("https://example.org"))
    https&#58;//example.org
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*_{}\[\]|#~$])", r"\\\1", text)
    # GitHub makes links of bare addresses.
    return re.sub(r"(?i)(?<=\bwww)\.", "&#46;", text.replace("://", "&#58;//"))
