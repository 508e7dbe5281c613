"""Display of names in reports: in full if there is space, otherwise short and distinct."""

from __future__ import annotations

import itertools
import math
import re
import sys
import unicodedata
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any

from .names import natural_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

LONGEST_SHORT = 28
"""Maximum number of characters of a short name."""

MOST_SHRUNK = 2
"""Maximum number of words to shorten to their first letters, if names are distinct without."""

LONGEST_IN_TEXT = 60
"""Longer names are shortened within sentences."""


def printable(text: str) -> str:
    r"""Return text on one line, with a visible mark for control characters, bidirectional marks and half surrogates.

    >>> printable("a\n<b>\u202e\x00")
    'a <b>��'
    """
    text = re.sub(r"\s+", " ", text)
    return "".join("\ufffd" if unicodedata.category(one) in ("Cc", "Cs") or one in _OVERRIDES else one for one in text)


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


def plain(content: Any) -> Any:
    """Return content as JSON values: NumPy numbers as Python numbers, infinities and NaN as None."""
    if isinstance(content, dict):
        return {str(key): plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [plain(value) for value in content]
    if hasattr(content, "item"):
        content = content.item()
    return None if isinstance(content, float) and not math.isfinite(content) else content


def call_text(function: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """Return the call that creates an object, without options that have their defaults.

    >>> call_text(sorted, [2, 1], key=None, reverse=True)
    'sorted([2, 1], reverse=True)'
    """
    known = signature(function).parameters
    shown = [f"{name}={value!r}" for name, value in options.items() if value != known[name].default]
    return f"{function.__name__}({', '.join([*map(repr, arguments), *shown])})"


# U+E000 to U+E002 are the markers of emphasis in gainsay._common.markup.
_OVERRIDES = "\ue000\ue001\ue002\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufffe\uffff"


_PARTS = re.compile(r"(?:(?<![^\W_])[-+\u2212])?\.?\d+(?:[.,]\d+)*(?:[eE][-+\u2212]?\d+)?|[^\W\d_]+|(?s:.)")
"""Parts of a name: numbers (with sign, point and exponent), words, and single characters between them."""


MISSING = "\u2013"
"""The cell of a parameter that a name does not contain."""

_GRID = re.compile(
    r"(?P<kind>[^=]*?)\s*(?P<set>(?:(?:^|\s)[A-Za-z_][\w.]*=\S+)*)(?:\s@(?P<round>\d+)|\sby (?P<by>\S+))?"
)
"""The name of a grid candidate: library, parameters, and the round at which it stopped."""

_HEADS = {
    "num_leaves": "leaves", "max_leaves": "leaves", "learning_rate": "rate", "min_data_in_leaf": "min data",
    "min_child_weight": "min weight", "max_depth": "depth", "n_estimators": "trees", "num_boost_round": "rounds",
    "lambda_l1": "l1", "lambda_l2": "l2", "reg_alpha": "alpha", "reg_lambda": "lambda", "feature_fraction": "features",
    "bagging_fraction": "bagging", "colsample_bytree": "columns", "subsample": "rows",
    "lambdarank_truncation_level": "truncation",
}  # fmt: skip
"""Short column headers for parameters."""

_COUNTED = ("leaves", "trees", "rounds")
_VALUES = {"linear": "lin", "exponential": "exp"}
_MOST_COLUMNS = 6


@dataclass(frozen=True)
class Names:
    """Names of models in a report, independent of the order of models.

    Attributes
    ----------
    heads : tuple of (str, str)
        The columns of names: a short header and the full parameter.
    alike : str
        The parameters that all models share.
    cells : mapping of name to tuple of str
        The cells of each model.
    short : mapping of name to str
        Names for figures and tables, at most 28 characters.
    said : mapping of name to str
        Names for sentences.
    full : mapping of name to str
        The whole name, on one line.
    """

    heads: tuple[tuple[str, str], ...]
    alike: str
    cells: dict[str, tuple[str, ...]]
    short: dict[str, str]
    said: dict[str, str]
    full: dict[str, str]

    @classmethod
    def of(cls, names: Iterable[str]) -> Names:
        """Return what to call these models, those of a grid in columns that differ.

        >>> found = Names.of(["lgb num_leaves=7 gain=linear", "lgb num_leaves=31 gain=linear"])
        >>> found.heads, found.alike, list(found.cells.values()), list(found.said.values())
        ((('leaves', 'num_leaves'),), 'all lgb, gain lin', [('7',), ('31',)], ['7 leaves', '31 leaves'])
        """
        given = list(dict.fromkeys(names))
        full = {name: printable(name) or "(no name)" for name in given}
        free, grid = short_names(given), _grid(natural_order(given))
        if grid is None:
            return cls((("model", "model"),), "", {name: (free[name],) for name in given}, free, dict(free), full)
        keys, columns, alike = grid
        heads = tuple((_head(key), key) for key in keys)
        cells = {name: tuple(_VALUES.get(value, value) for value in columns[name]) for name in given}
        joined = {name: " \u00b7 ".join(cell for cell in cells[name] if cell != MISSING) for name in given}
        alone = len(set(joined.values())) == len(given) and max(map(len, joined.values())) <= LONGEST_SHORT
        said = {name: _sentence(keys, columns[name]) for name in given}
        return cls(heads, alike, cells, joined if alone else free, said, full)


def _grid(names: Sequence[str]) -> tuple[list[str], dict[str, list[str]], str] | None:
    """Return the keys that differ, the values of each name, and the shared part, or None if names are not a grid."""
    found = {name: _GRID.fullmatch(name) for name in names}
    if (
        len(names) < 2
        or not all(found.values())
        or 2 * sum(bool(it and it["set"]) for it in found.values()) < len(names)
    ):
        return None
    settings: dict[str, dict[str, str]] = {}
    for name, match in found.items():
        assert match is not None
        own = dict(part.split("=", 1) for part in match["set"].split())
        stopped = {"round": match["round"], "stopped by": match["by"]}
        settings[name] = {"library": match["kind"], **own, **{key: value for key, value in stopped.items() if value}}
        if any(len(value) > 16 or printable(value) != value for value in own.values()) or len(match["kind"]) > 16:
            return None
    every = dict.fromkeys(key for own in settings.values() for key in own)
    stops = [key for key in ("round", "stopped by") if key in every]
    values = {key: {own.get(key, "") for own in settings.values()} for key in [*(set(every) - set(stops)), *stops]}
    keys = [key for key in (*(key for key in every if key not in stops), *stops) if len(values[key]) > 1]
    rows = {name: [own.get(key) or MISSING for key in keys] for name, own in settings.items()}
    if not 1 <= len(keys) <= _MOST_COLUMNS or len(set(map(tuple, rows.values()))) < len(names):
        return None
    same = [(key, *values[key]) for key in every if key not in keys]
    alike = ", ".join(
        value if key == "library" else f"{_head(key)} {_VALUES.get(value, value)}" for key, value in same if value
    )
    return keys, rows, f"all {alike}" if alike else ""


def _head(key: str) -> str:
    """Return the short header of a parameter, the last word of long names."""
    word = _HEADS.get(key) or key.rpartition(".")[2].replace("_", " ")
    return word if len(word) <= 12 else word.rpartition(" ")[2]


def _sentence(keys: Sequence[str], values: Sequence[str]) -> str:
    """Return a name for sentences.

    >>> _sentence(["num_leaves", "learning_rate", "gain"], ["31", "0.1", "linear"])
    '31 leaves, rate 0.1, linear gain'
    """
    words = []
    for key, value in zip(keys, values, strict=True):
        head = _head(key)
        if value == MISSING:
            continue
        if key == "library":
            words.append(value)
        else:
            words.append(f"{value} {head}" if head in _COUNTED or key == "gain" else f"{head} {value}")
    return ", ".join(words)


def short_names(names: Iterable[str], most: int = LONGEST_SHORT) -> dict[str, str]:
    """Return a distinct name of at most `most` characters for every name, independent of their order.

    If some names are too long, common first words are removed from all. Then words that long names share are shortened
    to their first letters. Names that are still too long lose their middle. Numbers are removed completely or not at
    all. Equal short names are numbered in the natural order of the names.

    >>> list(short_names(["lambdarank, gain 2, seed 1", "lambdarank, gain 4, seed 1"], 20).values())
    ['…2, seed 1', '…4, seed 1']
    >>> list(short_names(["map lr=0.3 leaves=127 seed=9", "mrr lr=0.1 leaves=31 seed=2"], 26).values())
    ['map lr=0.3 l…=127 seed=9', 'mrr lr=0.1 l…=31 seed=2']
    >>> list(short_names(["ranknet of last summer, seed 1", "lambdarank, gain 4"], 20).values())
    ['ranknet of …, seed 1', 'lambdarank, gain 4']
    >>> short_names(["x" * 99, "x" * 98], 10)["x" * 99]
    'xxx…xxx #2'
    """
    given = list(dict.fromkeys(names))
    whole = shown = {name: printable(name) or "(no name)" for name in natural_order(given)}
    if any(len(text) > most for text in shown.values()):
        common = _common_words(list(shown.values()))
        shown = {name: f"…{text[common:]}" if common else text for name, text in shown.items()}
        shown = dict(zip(shown, _without_shared_words(list(shown.values()), most), strict=True))
    found: dict[str, str] = {}
    for name, text in shown.items():
        short, number = _cut(text, most), 2
        # A short name must not be the full name of another model.
        while short in found.values() or (short != whole[name] and short in whole.values()):
            mark = f" #{number}"
            short, number = _cut(text, most - len(mark)) + mark, number + 1
        found[name] = short
    return {name: found[name] for name in given}


def fitting(names: Iterable[str], short: Mapping[str, str], most: int) -> dict[str, str]:
    """Return every name in full if it has at most `most` characters, otherwise its short name.

    >>> fitting(["a", "x" * 99], short_names(["a", "x" * 99]), 60)["a"]
    'a'
    """
    whole = {name: printable(name) for name in names}
    return {name: text if text and len(text) <= most else short[name] for name, text in whole.items()}


def _common_words(texts: list[str]) -> int:
    """Return the length of the common prefix up to the end of a word, or 0 if it is short."""
    alike = (len(set(column)) == 1 for column in zip(*texts, strict=False))
    prefix = texts[0][: sum(itertools.takewhile(bool, alike))] if len(texts) > 1 else ""
    # Where parts end depends on what follows, so an end counts only where all texts have it.
    ends = [{part.end() for part in _PARTS.finditer(text) if re.fullmatch(r"[\s,;:/|_-]", part[0])} for text in texts]
    end = max((end for end in set.intersection(*ends) if end <= len(prefix)), default=0)
    return end if end >= 5 else 0


def _without_shared_words(texts: list[str], most: int) -> list[str]:
    """Shorten words that all long texts share to their first letters, longest words first, until all texts fit.

    At most two words are shortened if the texts are distinct without their middles.
    """
    long = [_PARTS.findall(text) for text in texts if len(text) > most]
    shared = set.intersection(*map(set, long)) if len(long) > 1 else set()
    words = sorted((word for word in shared if len(word) > 3 and word.isalpha()), key=lambda word: (-len(word), word))
    for number in range(len(words) + 1):
        short = {word: f"{word[0]}…" for word in words[:number]}
        shrunk = ["".join(short.get(part, part) for part in _PARTS.findall(text)) for text in texts]
        if all(len(text) <= most for text in shrunk):
            break
        if number == MOST_SHRUNK and len({_cut(text, most) for text in texts}) == len(set(texts)):
            return texts
    return shrunk


def _cut(text: str, most: int) -> str:
    """Return a text of at most `most` characters, without its middle and preferably cut between parts."""
    if len(text) <= most:
        return text
    parts, room = _PARTS.findall(text), most - 1
    tail = _whole(parts[::-1], room * 2 // 5 + 1)
    if not tail and _is_number(parts[-1]):
        tail = len(parts[-1]) if len(parts[-1]) <= room else 0
    elif not tail:
        tail = room * 2 // 5 + 1
    head = _whole(parts, room - tail) or (0 if _is_number(parts[0]) else room - tail)
    return f"{text[:head]}…{text[len(text) - tail :]}"


def _is_number(part: str) -> bool:
    return part[-1].isdigit()


def _whole(parts: Iterable[str], room: int) -> int:
    """Return the length of the first parts that fit."""
    lengths = itertools.takewhile(lambda length: length <= room, itertools.accumulate(map(len, parts)))
    return max(lengths, default=0)


def isolated(text: str, short: Mapping[str, str]) -> str:
    """Return a sentence with isolated right-to-left names and shortened long names.

    Isolation marks keep the words next to right-to-left names in their order.
    """
    names = list(short)
    short = fitting(names, short, LONGEST_IN_TEXT)
    for name in sorted(names, key=len, reverse=True):
        if len(name) > LONGEST_IN_TEXT:
            text = text.replace(name, short[name])
    text = printable(text)
    for name in sorted({printable(short[name]) for name in names}, key=len, reverse=True):
        if any(unicodedata.bidirectional(one) in ("R", "AL") for one in name):
            text = text.replace(name, f"\u2068{name}\u2069")
    return text


def listed_short(names: Sequence[str], short: Mapping[str, str], most: int = 6) -> str:
    """Return short names as a list in words, with at most `most` names."""
    from .words import listed

    return listed([short[name] for name in names], most) if names else "none"
