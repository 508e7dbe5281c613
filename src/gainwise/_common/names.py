"""Names of models as data: ``key=value`` parts become columns, and parts that all names share are stated once."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .text import natural_order, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_COLUMNS = 6
"""Columns of names. If more parts differ, names remain whole."""

KEY = re.compile(r"(?:^|\s+)([^\W\d][\w.-]*)=(?=\S)")


@dataclass(frozen=True)
class Names:
    """Names of models for tables, charts and sentences. Nothing of them is cut.

    Attributes
    ----------
    heads : tuple of str
        Heads of the columns. The head of the column of words without a key is "model".
    cells : mapping of name to tuple of str
        One text for each column.
    labels : mapping of name to str
        Distinct texts for sentences: the parts that differ, or the whole name.
    shared : str
        Parts that all names have, which columns and labels leave out.
    """

    heads: tuple[str, ...]
    cells: Mapping[str, tuple[str, ...]]
    labels: Mapping[str, str]
    shared: str = ""

    @property
    def width(self) -> int:
        """The number of characters in the widest texts of all columns."""
        columns = zip(self.heads, *self.cells.values(), strict=True)
        return sum(max(map(len, column)) for column in columns)

    def rewrite(self, text: str) -> str:
        """Return a sentence on one line with the labels instead of the whole names.

        Isolation marks keep the words next to right-to-left names in their order.
        """
        text, labels = printable(text), dict[str, str]()
        for name, label in self.labels.items():
            is_reversed = any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in label)
            if label != name or is_reversed:
                labels[printable(name)] = f"\u2068{label}\u2069" if is_reversed else label
        if not labels:
            return text
        whole = "|".join(map(re.escape, sorted(filter(None, labels), key=len, reverse=True)))
        return re.sub(rf"(?<!\w)(?:{whole})(?!\w)", lambda match: labels[match[0]], text)


def split_names(names: Iterable[str]) -> Names:
    """Return names in columns if at least two, and half of them, have parts such as ``num_leaves=15``.

    Names remain whole in one column if a key occurs twice in a name, or if more than `MAX_COLUMNS` parts differ.

    >>> names = split_names(["lgb leaves=15 gain=linear", "lgb leaves=31 gain=linear", "lgb leaves=63 gain=linear"])
    >>> names.heads, names.shared, list(names.labels.values())
    (('leaves',), 'lgb gain=linear', ['leaves=15', 'leaves=31', 'leaves=63'])
    >>> split_names(["production", "new"]).cells
    {'production': ('production',), 'new': ('new',)}
    """
    names = list(dict.fromkeys(names))
    whole: dict[str, str] = {}
    for name in natural_order(names):  # Names that look the same are numbered, independently of their order.
        text = first = printable(name) or "(no name)"
        number = 2
        while text in whole.values() or (text != first and text in names):
            text, number = f"{first} #{number}", number + 1
        whole[name] = text
    whole = {name: whole[name] for name in names}
    plain = Names(("model",), {name: (text,) for name, text in whole.items()}, whole)
    tables = {name: _parse(text) for name, text in whole.items()}
    keyed = [table for table in tables.values() if len(table) > 1]
    if len(keyed) < 2 or 2 * len(keyed) < len(names):
        return plain
    keys = list(dict.fromkeys(key for name in natural_order(names) for key in tables[name]))
    shared = {key for key in keys if len({table.get(key) for table in tables.values()}) == 1}
    columns = [key for key in keys if key not in shared]
    labels = {name: _join(table, columns) or whole[name] for name, table in tables.items()}
    if len(set(labels.values())) < len(names) or len(columns) > MAX_COLUMNS:
        return plain
    cells = {name: tuple(table.get(key, "") for key in columns) for name, table in tables.items()}
    heads = tuple(key or "model" for key in columns)
    return Names(heads, cells, labels, _join(keyed[0], [key for key in keys if key in shared]))


def _parse(name: str) -> dict[str, str]:
    """Return the values of a name by key. The words before the first key have the key ``""``.

    >>> _parse("lgb leaves=15 rate=0.1")
    {'': 'lgb', 'leaves': '15', 'rate': '0.1'}
    """
    words, *pairs = KEY.split(name)
    keys, values = pairs[::2], pairs[1::2]
    if len(set(keys)) < len(keys):
        return {"": name}
    return {"": words.strip()} | {key: value.strip() for key, value in zip(keys, values, strict=True)}


def _join(table: Mapping[str, str], keys: Iterable[str]) -> str:
    """Return the parts with these keys as in a name."""
    parts = ((f"{key}={table[key]}" if key else table[key]) for key in keys if key in table)
    return " ".join(filter(None, parts))
