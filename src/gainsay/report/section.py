"""What a report consists of: sections and tables, which HTML and Markdown lay out each in its way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .._common.shown import Names


class Cell(NamedTuple):
    """What stands in a cell: text, a smaller note with it, and the whole name where the text is short for one."""

    text: str
    note: str = ""
    full: str = ""
    strong: bool = False


class Column(NamedTuple):
    """A column, from its head down; `low` says of numbers that the lowest are wanted first."""

    label: str
    cells: Sequence[Cell | str]
    numeric: bool = True
    low: bool = False
    order: str = ""


class Table(NamedTuple):
    """A table; the first cell of each row is its heading."""

    caption: str
    columns: list[Column]

    @property
    def rows(self) -> list[tuple[Cell, ...]]:
        """The cells, row by row."""
        cells = ([Cell(it) if isinstance(it, str) else it for it in column.cells] for column in self.columns)
        return list(zip(*cells, strict=True))


def named(label: str, names: Names, models: Iterable[str]) -> Column:
    """Return a column of models by their short names."""
    return Column(label, [Cell(names.short[model], full=names.full[model]) for model in models], numeric=False)


@dataclass(frozen=True)
class Section:
    """A part of a report with a heading, a sentence or two, and a figure.

    Attributes
    ----------
    name : str
        Its id: what a link leads to.
    title : str
        The heading.
    said : str
        What stands above the figure.
    figure : function of int
        Makes the figure as HTML, in which every text is escaped, with at most so many entries where it lists any.
    note : str
        What stands below the figure.
    """

    name: str
    title: str
    said: str
    figure: Callable[[int], str] = field(repr=False)
    note: str = ""
