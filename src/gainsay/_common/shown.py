"""Display of names and results as text, and short text with emphasis for HTML, terminals and plain text."""

from __future__ import annotations

import math
import re
import sys
import unicodedata
from dataclasses import is_dataclass
from html import escape
from inspect import signature
from typing import TYPE_CHECKING, Any

from .words import natural_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

MAX_SHORT = 34
"""Maximum number of characters of a short name."""


def printable(text: str) -> str:
    r"""Return text on one line, with a visible mark for control characters, bidirectional marks and half surrogates.

    >>> printable("a\n<b>\u202e\x00")
    'a <b>��'
    """
    text = re.sub(r"\s+", " ", text)
    visible = (unicodedata.category(letter) not in ("Cc", "Cs") and letter not in _OVERRIDES for letter in text)
    return "".join(letter if shown else "\ufffd" for letter, shown in zip(text, visible, strict=True))


def printables(texts: Iterable[object]) -> list[str]:
    """Return the text of each object on one line. See `printable`."""
    return [printable(str(text)) for text in texts]


class TextResult:
    """A result that is displayed by its `text`, because its fields are too long."""

    text: Any

    def __str__(self) -> str:
        # A terminal that writes only ASCII gets question marks instead of an error.
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        return repr(self).encode(encoding, "replace").decode(encoding)

    def __repr__(self) -> str:
        return "\n".join(map(printable, self.text.split("\n")))

    def _export(self, names: str, **replacements: Any) -> dict[str, Any]:
        """Return the attributes with these names, separated by spaces, or their replacements as values for JSON."""
        values = {name: getattr(self, name) for name in names.split() if name not in replacements} | replacements
        return {name: plain(values[name]) for name in names.split()}


def plain(content: Any) -> Any:
    """Return content as JSON values: NumPy numbers as Python numbers, infinities and NaN as None, results as dicts.

    A DataFrame becomes a list with one dict per row.
    """
    if hasattr(content, "itertuples"):
        content = content.to_dict("records")
    if isinstance(content, dict):
        return {str(key): plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [plain(value) for value in content]
    if hasattr(content, "to_dict"):
        return plain(content.to_dict())
    if is_dataclass(content):
        return plain(vars(content))
    if hasattr(content, "item"):
        content = content.item()
    return None if isinstance(content, float) and not math.isfinite(content) else content


def call_text(function: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """Return the call that creates an object, without options that have their defaults.

    >>> call_text(sorted, [2, 1], key=None, reverse=True)
    'sorted([2, 1], reverse=True)'
    """
    parameters = signature(function).parameters
    changed = [f"{name}={value!r}" for name, value in options.items() if value != parameters[name].default]
    return f"{function.__name__}({', '.join([*map(repr, arguments), *changed])})"


# U+E000 to U+E002 are the markers of `PIECE`.
_OVERRIDES = "\ue000\ue001\ue002\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufffe\uffff"


_NUMBERS = "0123456789.,-\u2212 "
"""Characters of numbers, and the spaces before them."""


def short_names(names: Iterable[str], limit: int = MAX_SHORT) -> dict[str, str]:
    """Return a distinct name of at most `limit` characters for every name, independent of their order.

    Longer names lose their middle. Equal short names are numbered in the natural order of the names.

    >>> short_names(["LightGBM with 31 leaves, seed 1", "base"], 20)
    {'LightGBM with 31 leaves, seed 1': 'LightGBM wi…seed 1', 'base': 'base'}
    >>> short_names(["x" * 99, "x" * 98], 10)["x" * 99]
    'xxxx…xx #2'
    """
    names = list(dict.fromkeys(names))
    full = {name: printable(name) or "(no name)" for name in natural_order(names)}
    short: dict[str, str] = {}
    for name, text in full.items():
        candidate, number = _cut_middle(text, limit), 2
        # A short name must not be the full name of another model.
        while candidate in short.values() or (candidate != text and candidate in full.values()):
            mark = f" #{number}"
            candidate, number = _cut_middle(text, limit - len(mark)) + mark, number + 1
        short[name] = candidate
    return {name: short[name] for name in names}


def _cut_middle(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters. Digits next to the cut could be a part of a number, so they go.

    >>> _cut_middle("learning rate 0.05, seed 12", 19)
    'learning ra…seed 12'
    """
    if len(text) <= limit:
        return text
    tail = limit * 2 // 5
    return f"{text[: limit - 1 - tail].rstrip(_NUMBERS)}…{text[len(text) - tail :].lstrip(_NUMBERS)}"


def shorten_names(text: str, short: Mapping[str, str]) -> str:
    """Return a sentence on one line, with the short names of models.

    Isolation marks keep the words next to right-to-left names in their order.
    """
    for name in sorted(short, key=len, reverse=True):
        if len(name) > MAX_SHORT:
            text = text.replace(name, short[name])
    text = printable(text)
    for name in sorted(set(short.values()), key=len, reverse=True):
        if any(unicodedata.bidirectional(character) in ("R", "AL") for character in name):
            text = text.replace(name, f"\u2068{name}\u2069")
    return text


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
