"""Short text with emphasis, which HTML, terminals and plain text write each in its way."""

from __future__ import annotations

import re
from html import escape

__all__ = ["as_html", "as_text", "pieces", "styled"]

PIECE = re.compile("\ue000(.*?)\ue001(.*?)\ue002", re.DOTALL)
"""A styled piece of text: the style and the text, between characters that stand in no other text."""


def styled(style: str, text: str) -> str:
    """Return text with a style: any of b (bold), n (a name), l and e (of the first and the second metric)."""
    return f"\ue000{style}\ue001{text}\ue002"


def as_text(text: str) -> str:
    """Return text without emphasis.

    >>> as_text(f"Choose {styled('b n', 'old')}.")
    'Choose old.'
    """
    return PIECE.sub(r"\2", text)


def pieces(text: str) -> list[tuple[str, str]]:
    """Return the pieces of a text, each with its style, which is empty for plain ones.

    >>> pieces(f"Choose {styled('b n', 'old')}.")
    [('', 'Choose '), ('b n', 'old'), ('', '.')]
    """
    parts = iter(PIECE.split(text))
    found = [("", next(parts))]
    for style, inner, after in zip(parts, parts, parts, strict=True):
        found += [(style, inner), ("", after)]
    return [(style, part) for style, part in found if part]


def as_html(text: str) -> str:
    """Return text as HTML, everything in it escaped; names keep to themselves, whichever way they are written.

    >>> as_html(f"{styled('b n', '<old>')}{styled('l', '0.1')} & more")
    '<strong><bdi>&lt;old&gt;</bdi></strong><span class="l">0.1</span> &amp; more'
    """
    return PIECE.sub(_tagged, escape(text))


def _tagged(piece: re.Match[str]) -> str:
    style, text = piece[1].split(), piece[2]
    text = f"<bdi>{text}</bdi>" if "n" in style else text
    colour = "".join(f' class="{mark}"' for mark in style if mark in "le")
    tag = "strong" if "b" in style else "span" if colour else ""
    return f"<{tag}{colour}>{text}</{tag}>" if tag else text
