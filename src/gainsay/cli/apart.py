"""Files that a command writes, kept apart from those that it reads and from one another."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


def check_apart(written: Mapping[str, Path | None], read: Iterable[object]) -> None:
    """Raise where a file is to be written, by its option, that is read too or that another option writes.

    What is read is given as the command has it: paths, and texts such as `NAME=FILE,FILE` or `FILE:COLUMN`.
    """
    files = [file for one in read if isinstance(one, str | Path) for file in _files_in(str(one))]
    taken: dict[str, str] = {}
    for option, path in written.items():
        if path is None:
            continue
        first = taken.setdefault(os.path.realpath(path), option)
        if first != option:
            raise ValueError(f"{first} and {option} both write {str(path)!r}: name two files")
        if path.exists() and any(path.samefile(file) for file in files):
            raise ValueError(f"{option} {str(path)!r} is a file that is read too, and would be lost: name another")


def _files_in(text: str) -> Iterator[str]:
    """Yield the files that are there of all that a text may name."""
    for part in (text, text.partition("=")[2]):
        for one in (part, *part.split(",")):
            yield from filter(os.path.isfile, (one, one.rpartition(":")[0]))
