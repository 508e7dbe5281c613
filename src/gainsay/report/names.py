"""Names as reports show them: whole where there is room, short and still distinct where there is not."""

from __future__ import annotations

import itertools
import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["isolated", "listed_short", "printable", "short_names"]

LONGEST_IN_TEXT = 60
"""A name longer than this is shortened within sentences."""


def printable(text: str) -> str:
    r"""Return text on one line, with a visible mark for every character that would act instead of being seen.

    Those are control characters, marks that change the direction of what follows, and half characters.

    >>> printable("a\n<b>\u202e\x00")
    'a <b>��'
    """
    text = re.sub(r"\s+", " ", text)
    return "".join("\ufffd" if unicodedata.category(one) in ("Cc", "Cs") or one in _OVERRIDES else one for one in text)


_OVERRIDES = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufffe\uffff"


def short_names(names: Iterable[str], most: int = 24) -> dict[str, str]:
    """Return for every name what to call it in at most `most` characters, no two alike.

    Where some are too long, all lose the words that all begin with; long ones then lose their middle, for the names of
    a family tend to differ at one of their ends.

    >>> list(short_names(["lambdarank, gain 2, seed 1", "lambdarank, gain 4, seed 1"], 20).values())
    ['…2, seed 1', '…4, seed 1']
    >>> list(short_names(["ranknet of last summer, seed 1", "lambdarank, gain 4"], 20).values())
    ['ranknet of …, seed 1', 'lambdarank, gain 4']
    >>> short_names(["x" * 99, "x" * 98], 10)["x" * 98]
    'xxx…xxx #2'
    """
    shown = {name: printable(name) or "(no name)" for name in names}
    common = _common_words(list(shown.values())) if any(len(text) > most for text in shown.values()) else 0
    found: dict[str, str] = {}
    for name, text in shown.items():
        rest = f"…{text[common:]}" if common else text
        short, number = _cut(rest, most), 2
        while short in found.values():
            mark = f" #{number}"
            short, number = _cut(rest, most - len(mark)) + mark, number + 1
        found[name] = short
    return found


def _common_words(texts: list[str]) -> int:
    """Return how many characters all begin with, up to the end of a word; 0 where it is hardly worth leaving out."""
    alike = (len(set(column)) == 1 for column in zip(*texts, strict=False))
    prefix = texts[0][: sum(itertools.takewhile(bool, alike))] if len(texts) > 1 else ""
    words = re.match(r".*[\s,;:/|_-]", prefix)
    return words.end() if words is not None and words.end() >= 5 else 0


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    tail = (most - 1) * 2 // 5 + 1
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def isolated(text: str, names: Sequence[str]) -> str:
    """Return a sentence in which the names keep to themselves.

    Names that are written from right to left get marks around them that keep the words beside them in place, and
    very long ones are shortened.
    """
    short = short_names(names, LONGEST_IN_TEXT)
    for name in sorted(names, key=len, reverse=True):
        if len(name) > LONGEST_IN_TEXT:
            text = text.replace(name, short[name])
    text = printable(text)
    for name in sorted({printable(short[name]) for name in names}, key=len, reverse=True):
        if any(unicodedata.bidirectional(one) in ("R", "AL") for one in name):
            text = text.replace(name, f"\u2068{name}\u2069")
    return text


def listed_short(names: Sequence[str], short: dict[str, str], most: int = 6) -> str:
    """Write names as a list in words, cut after `most`."""
    from ..comparison.flags import listed

    return listed([short[name] for name in names], most) if names else "none"
