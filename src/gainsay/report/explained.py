"""The numbers that libraries print for one ranking, in a terminal, and the conventions of each library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from .._common.words import pluralize
from ..metrics.conventions import CONVENTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from rich.console import RenderableType

    from ..evaluation.explain import Number

WIDTH = 80
"""Columns that fit any terminal."""


def explanation(numbers: Sequence[Number], conventions: pd.DataFrame, queries: int) -> Group:
    """Return the numbers that libraries print for a ranking, or their means over `queries`, in 80 columns.

    `numbers` are made by `distinct_numbers`, `conventions` by `gainsay.explain`.
    """
    first = numbers[0].heading
    ways = sum(number.heading == first for number in numbers)
    title = f"{pluralize(ways, 'number')} called {first}"
    title = f"One ranking, {title}" if queries == 1 else f"{title}, means over {pluralize(queries, 'query')}"
    names = max(len(name) for number in numbers for name in number.names)
    parts: list[RenderableType] = [Text(title, style="bold"), Text()]
    for heading in dict.fromkeys(number.heading for number in numbers):
        if heading != first:
            parts += [Text(), Text(heading, style="bold")]
        parts.append(_numbers([number for number in numbers if number.heading == heading], names))
    parts += [Text(), Text("Conventions of the libraries", style="bold"), Text(), _conventions(conventions), Text()]
    return Group(*parts, _notes(conventions["note"]))


def _columns(*widths: int) -> Table:
    """Return a table without lines whose last column takes the rest of the width."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0), width=WIDTH)
    for width in widths:
        table.add_column(width=width, overflow="fold")
    table.add_column(overflow="fold", ratio=1)
    return table


def _numbers(numbers: Sequence[Number], names: int) -> Table:
    table = _columns(6, min(names, 40))
    for number in numbers:
        table.add_row(Text(f"{number.value:.4f}", style="bold"), "\n".join(number.names), ", ".join(number.printed_by))
    return table


def _conventions(conventions: pd.DataFrame) -> Table:
    """Return the options of every library. A dash marks an option that equals gainsay's."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, show_edge=False)
    heads = {"calls NDCG": "NDCG", "ties": "ties", "empty": "no relevant document", "scores": "scores as"}
    for head in ("", *heads.values()):
        table.add_column(head)
    for library, row in conventions.iterrows():
        title = CONVENTIONS[str(library)].title if library in CONVENTIONS else str(library)
        table.add_row(title, *(str(row[column]) for column in heads))
    return table


def _notes(notes: pd.Series[str]) -> Table:
    table = _columns(12)
    for library, note in notes.items():
        if note and library in CONVENTIONS:
            table.add_row(CONVENTIONS[str(library)].title, note)
    return table
