"""Short text with emphasis, for HTML, terminals and plain text."""

from __future__ import annotations

import re
from html import escape

__all__ = ["as_html", "as_text", "pieces", "styled"]

PIECE = re.compile("\ue000(.*?)\ue001(.*?)\ue002", re.DOTALL)
"""A styled piece of text: the style and the text, between characters that never occur in other text."""


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
    """Return the pieces of a text, each with its style, which is empty for plain text.

    >>> pieces(f"Choose {styled('b n', 'old')}.")
    [('', 'Choose '), ('b n', 'old'), ('', '.')]
    """
    parts = iter(PIECE.split(text))
    segments = [("", next(parts))]
    for style, inner, after in zip(parts, parts, parts, strict=True):
        segments += [(style, inner), ("", after)]
    return [(style, part) for style, part in segments if part]


def as_html(text: str) -> str:
    """Return text as escaped HTML. Names are isolated from the direction of other text.

    >>> as_html(f"{styled('b n', '<old>')}{styled('l', '0.1')} & more")
    '<strong><bdi>&lt;old&gt;</bdi></strong><span class="l">0.1</span> &amp; more'
    """
    return PIECE.sub(_tagged, escape(text))


def _tagged(piece: re.Match[str]) -> str:
    style, text = piece[1].split(), piece[2]
    text = f"<bdi>{text}</bdi>" if "n" in style else text
    color = "".join(f' class="{mark}"' for mark in style if mark in "le")
    tag = "strong" if "b" in style else "span" if color else ""
    return f"<{tag}{color}>{text}</{tag}>" if tag else text
