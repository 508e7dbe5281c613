"""A comparison as Markdown: what the HTML report says, without its pictures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .._common.outputs import check_output
from .content import Content, gather

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from ..comparison.findings import Findings
    from .tables import Table

__all__ = ["to_markdown"]


def to_markdown(comparison: Findings, path: str | os.PathLike[str] | None = None, *, queries: int = 10) -> str:
    """Return the report as Markdown, and write it where a path is given.

    Parameters
    ----------
    comparison : Findings
        What is reported.
    path : path, optional
        Where to write it.
    queries : int
        How many contradictory queries to show.

    Raises
    ------
    OSError
        Where the file cannot be written; found out before the work.
    """
    target = None if path is None else check_output("path", path)
    text = "\n".join(_lines(gather(comparison, queries))) + "\n"
    if target is not None:
        target.write_bytes(text.encode("utf-8", "replace"))
    return text


def _lines(content: Content) -> Iterator[str]:
    yield f"# {_safe(content.title)}\n"
    yield f"**{_safe(content.answer)}** {_safe(content.advice)}\n\n{_safe(content.paragraph)}"
    for sentence in content.missing:
        yield f"\n{_safe(sentence)}"
    if content.facts:
        yield ""
    for fact in content.facts:
        yield f"- {_safe(fact.label)}: **{_safe(fact.value)}** ({_safe(fact.note)})"
    yield "\n## Leaderboard\n"
    yield _table(content.leaderboard)
    for sentence in content.scope:
        yield f"\n{_safe(sentence)}"
    if content.pairs is not None:
        yield "\n## Pairs\n"
        if content.conflicts is None:
            yield "No pair of models is in opposite order under the two metrics."
        else:
            yield _table(content.conflicts)
    yield "\n## Why\n"
    yield "\n\n".join(map(_safe, content.why)) or content.no_why
    for table in content.why_tables:
        yield "\n" + _table(table)
    yield "\n## Which queries\n"
    if not content.contradictions:
        yield content.no_queries
    for found in content.contradictions:
        yield f"- query {_safe(found.query)} ({found.about}): {_safe('; '.join(found.preferences))}"
        for strip in found.strips:
            more = f" and {strip.more} more" if strip.more else ""
            yield f"  - {_safe(strip.model)}: {' '.join(grade for grade, _ in strip.cells)}{more}"
    if content.rounds is not None:
        yield "\n## When to stop\n"
        yield f"{_safe(content.when)}\n"
        yield _table(content.rounds)
    yield "\n## Method and scope\n"
    yield "\n".join(f"- {_safe(sentence)}" for sentence in content.method)
    yield "\n## Glossary\n"
    yield "\n".join(f"- **{_safe(term)}**: {_safe(meaning)}" for term, meaning in content.glossary)


def _table(table: Table) -> str:
    """Return a table with its caption above; the notes of cells stand in brackets."""
    lines = [
        f"*{_safe(table.caption)}*\n",
        _row(_safe(column.label) for column in table.columns),
        _row("---:" if column.numeric else ":---" for column in table.columns),
    ]
    for cells in table.rows:
        texts = (f"**{_safe(cell.text)}**" if cell.strong and cell.text.strip() else _safe(cell.text) for cell in cells)
        notes = (f" ({_safe(cell.note.replace(chr(10), ', '))})" if cell.note else "" for cell in cells)
        lines.append(_row(text + note for text, note in zip(texts, notes, strict=True)))
    return "\n".join(lines)


def _row(cells: Iterator[str]) -> str:
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
