"""Text of numbers, counts and names, display of results, and short text with emphasis for HTML and terminals."""

from __future__ import annotations

import math
import re
import sys
import unicodedata
from dataclasses import is_dataclass
from html import escape
from inspect import signature
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

MINUS = "\u2212"

LARGE = 1e7
"""Numbers from this on are written with an exponent, because more digits are hard to read."""

DECIMALS = 3
"""Decimals of every difference of means and of its bounds. Means have four."""


def pluralize(number: int, thing: str) -> str:
    """Return a number with its noun in the singular or plural.

    >>> pluralize(1, "pair"), pluralize(30000, "query")
    ('1 pair', '30,000 queries')
    """
    plural = f"{thing[:-1]}ies" if thing.endswith("y") else f"{thing}{'es' if thing.endswith('s') else 's'}"
    return f"{number:,} {thing if number == 1 else plural}"


def count_all(number: int, thing: str) -> str:
    """Return all of a number of things in words.

    >>> count_all(1, "model"), count_all(2, "model"), count_all(3, "model")
    ('the model', 'both models', 'all 3 models')
    """
    things = pluralize(number, thing)
    return f"all {things}" if number > 2 else f"{'the' if number == 1 else 'both'} {things.partition(' ')[2]}"


def agree(number: int, verb: str) -> str:
    """Return a verb in the singular or plural, as the number of its subject requires. `verb` is the plural.

    >>> agree(1, "have"), agree(2, "have"), agree(1, "repeat")
    ('has', 'have', 'repeats')
    """
    return verb if number != 1 else {"have": "has", "are": "is", "carry": "carries"}.get(verb, f"{verb}s")


def join_names(names: Sequence[str], most: int = 6, word: str = "and") -> str:
    """Return names as a list in words, with at most `most` names.

    >>> join_names(["a", "b", "c"])
    'a, b and c'
    >>> join_names([str(i) for i in range(10)], most=3)
    '0, 1, 2 and 7 more'
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} {word} {len(names) - most} more"
    return f" {word} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def describe_missing(missing: Mapping[str, str]) -> list[str]:
    """Return a sentence for each model that is not compared.

    >>> describe_missing({"new": "it has 3 scores, but there are 4 documents"})
    ['Not compared: new (it has 3 scores, but there are 4 documents).']
    """
    return [printable(f"Not compared: {name} ({reason.rstrip(' .')}).") for name, reason in missing.items()]


def natural_order(names: Iterable[str]) -> list[str]:
    """Return names in natural order, which compares numbers within names by value.

    >>> natural_order(["model 10", "model 2", "base"])
    ['base', 'model 2', 'model 10']
    """
    return sorted(names, key=_natural_key)


def _natural_key(name: str) -> tuple[list[tuple[int, str]], str]:
    pieces = re.split(r"([0-9]+)", name)
    pieces[1::2] = [digits.lstrip("0") for digits in pieces[1::2]]
    lengths = [len(piece) if place % 2 else 0 for place, piece in enumerate(pieces)]
    return list(zip(lengths, pieces, strict=True)), name


def format_exact(value: float) -> str:
    """Return the shortest text of exactly this number."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def format_amount(value: float) -> str:
    """Return a number with four decimals, or its first digit if it is smaller. Zero has no decimals.

    >>> format_amount(0.0123456), format_amount(0.0), format_amount(0.000043), format_amount(3e-9)
    ('0.0123', '0', '0.00004', '3e\u221209')
    """
    return "0" if value == 0 else format_number(value)


def format_number(value: float, places: int = 4, plus: bool = False) -> str:
    """Return a number with `places` decimals and a real minus sign, or its first digit if it is smaller.

    >>> format_number(0.01372), format_number(-0.5, 3), format_number(0.00007, plus=True), format_number(float("inf"))
    ('0.0137', '\u22120.500', '+0.00007', 'unbounded')
    """
    if value == 0 or math.isnan(value) or abs(value) >= 10.0**-places:
        return format_mean(value, places, plus)
    first_digit = f"{value:.0e}"
    exponent = int(first_digit.partition("e")[2])
    if exponent < -7:
        return first_digit.replace("-", MINUS)
    return format_mean(float(first_digit), -exponent, plus)


def format_mean(value: float, places: int = 4, plus: bool = False) -> str:
    """Return a number with exactly `places` decimals and a real minus sign, a dash for NaN, or "unbounded".

    Numbers from `LARGE` on have four digits and an exponent instead.

    >>> format_mean(0.123456), format_mean(-0.5), format_mean(-0.0001, 3), format_mean(float("nan"))
    ('0.1235', '\u22120.5000', '0.000', '\u2013')
    >>> format_mean(2.5e12), format_mean(-146365719243.273)
    ('2.5e+12', '\u22121.464e+11')
    """
    if math.isnan(value):
        return "\u2013"
    if math.isinf(value):
        return "unbounded"
    text = f"{abs(value):.{places}f}" if abs(value) < LARGE else f"{abs(value):.4g}"
    sign = MINUS if value < 0 else "+" if plus else ""
    return sign + text if float(text) else text


def format_difference(value: float) -> str:
    """Return a difference of means with its sign and three decimals, or its first digit if it is smaller.

    >>> format_difference(0.01234), format_difference(-0.01234), format_difference(0.0), format_difference(0.00007)
    ('+0.012', '\u22120.012', '0', '+0.00007')
    """
    return "0" if value == 0 else format_number(value, DECIMALS, plus=True)


def format_size(value: float) -> str:
    """Return the size of a difference, rounded like `format_difference`.

    >>> format_size(-0.01234)
    '0.012'
    """
    return format_difference(abs(value)).removeprefix("+")


def format_bound(value: float, up: bool, limit: float | None = None) -> str:
    """Return a signed bound of a difference, rounded like `round_bound`: upper bounds up, lower ones down.

    The text is on the same side of a limit of the size as the bound.

    >>> format_bound(-0.0132, up=False), format_bound(-0.0132, up=True), format_bound(0.0, up=True)
    ('\u22120.014', '\u22120.013', '0')
    """
    if value == 0 or not math.isfinite(value):
        return format_difference(value)
    return (MINUS if value < 0 else "+") + round_bound(abs(value), up if value > 0 else not up, limit)


def format_interval(lower: float, upper: float, limit: float | None = None) -> str:
    """Return the interval of a difference, rounded outward. `limit` is described in `format_bound`.

    >>> format_interval(-0.0132, 0.0021)
    '\u22120.014 to +0.003'
    """
    return f"{format_bound(lower, up=False, limit=limit)} to {format_bound(upper, up=True, limit=limit)}"


def round_bound(value: float, up: bool, limit: float | None = None) -> str:
    """Return a bound rounded to three places in its safe direction. Smaller bounds have more places.

    Bounds from `LARGE` on have an exponent. With a limit, such as a margin, there are as many places as the text needs
    to be on the same side of it.

    >>> round_bound(0.0241, up=True), round_bound(0.0054, up=False), round_bound(0.0003, up=False)
    ('0.025', '0.005', '0.0003')
    >>> round_bound(0.01994, up=False, limit=0.0199), round_bound(0.0241, up=True, limit=0.0242)
    ('0.01994', '0.0241')
    >>> round_bound(146365719243.273, up=True), round_bound(146365719243.273, up=False)
    ('1.464e+11', '1.463e+11')
    """
    if LARGE <= value < math.inf:
        exponent = math.floor(math.log10(value))
        scale = 10.0**exponent
        return f"{round_bound(value / scale, up, limit and limit / scale)}e+{exponent}"
    for places in range(DECIMALS, 9 if math.isfinite(value) else DECIMALS):
        scaled = value * 10**places
        whole = math.ceil(scaled - 1e-6) if up else math.floor(scaled + 1e-6)
        is_beside = limit is None or (whole / 10**places > limit) == (value > limit)
        if whole and (whole > 2 or value >= 0.001) and is_beside:
            return f"{whole / 10**places:.{places}f}"
    return format_amount(value)


def format_confidence(alpha: float) -> str:
    """Return the confidence level 1 - alpha in percent.

    >>> format_confidence(0.05), format_confidence(0.05 / 3), format_confidence(0.0005)
    ('95 %', '98.3 %', '99.95 %')
    >>> format_confidence(3e-9)
    'more than 99.9999 %'
    """
    if alpha < 5e-7:
        return "more than 99.9999 %"  # Six digits would be 100 %.
    percent = 100 * (1 - alpha)
    return f"{round(percent, 1) if alpha > 0.005 else percent:g} %"


def format_p_value(value: float) -> str:
    """Return the text of a p-value.

    >>> format_p_value(0.0123), format_p_value(0.00002)
    ('0.012', '2e-05')
    """
    return f"{value:.2g}" if value >= 0.0001 else f"{value:.0e}"


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

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as values for JSON."""
        return self._export(name for name in vars(self) if not name.startswith("_"))

    def _export(self, names: Iterable[str], **replacements: Any) -> dict[str, Any]:
        """Return the attributes with these names, or their replacements, as values for JSON."""
        return {name: plain(replacements[name] if name in replacements else getattr(self, name)) for name in names}


def plain(content: Any) -> Any:
    """Return content as JSON values: NumPy numbers as Python numbers, infinities and NaN as None, results as dicts.

    A DataFrame becomes a list with one dict per row.
    """
    if hasattr(content, "itertuples"):
        content = content.to_dict("records")
    if hasattr(content, "_asdict"):
        content = content._asdict()
    if isinstance(content, dict):
        return {str(key): plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [plain(value) for value in content]
    if isinstance(content, TextResult):
        return content.to_dict()
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
