"""Short text with emphasis, which HTML, terminals and plain text write each in its way."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Words", "as_html", "as_text"]

Words: TypeAlias = "tuple[tuple[str, str], ...]"
"""Pieces of text, each with its style: any of b (bold), n (a name), l and e (of the first and second metric)."""


def as_text(words: Iterable[tuple[str, str]]) -> str:
    """Return text without emphasis.

    >>> as_text((("b", "Choose "), ("b n", "old"), ("", ".")))
    'Choose old.'
    """
    return "".join(text for _, text in words)


def as_html(words: Iterable[tuple[str, str]]) -> str:
    """Return text as HTML, everything in it escaped; names keep to themselves, whichever way they are written.

    >>> as_html((("b n", "<old>"), ("l", "0.1"), ("", " & more")))
    '<strong><bdi>&lt;old&gt;</bdi></strong><span class="l">0.1</span> &amp; more'
    """
    written = []
    for style, text in words:
        marks, piece = style.split(), escape(text)
        if "n" in marks:
            piece = f"<bdi>{piece}</bdi>"
        colour = next((mark for mark in marks if mark in "le"), "")
        tag = "strong" if "b" in marks else "span"
        if colour or "b" in marks:
            kind = f' class="{colour}"' if colour else ""
            piece = f"<{tag}{kind}>{piece}</{tag}>"
        written.append(piece)
    return "".join(written)
