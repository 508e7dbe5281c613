"""Small tables as HTML, for objects that show themselves in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def small_table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return a table as HTML, everything in it escaped.

    >>> small_table(["metric", "mean"], [["mrr", "0.5"]])
    '<table><thead><tr><th>metric</th><th>mean</th></tr></thead><tbody><tr><td>mrr</td><td>0.5</td></tr></tbody></table>'
    """
    named = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "".join(_row(row, "td") for row in rows)
    return f"<table>{named}<thead>{_row(head, 'th')}</thead><tbody>{body}</tbody></table>"


def _row(cells: Sequence[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
