"""Text files, plain or gzip, as chunks of whole lines, and the numbers and columns in them.

All readers use this module, so that they agree on lines, line numbers and the spelling of numbers. pyarrow parses
columns if it is installed. It accepts a file only if it agrees with the readers of lines. In all other cases these read
the file or word the error.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import math
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

StrPath: TypeAlias = str | os.PathLike[str]

BOM = b"\xef\xbb\xbf"
# The arrays made from a chunk of this size fit into the processor's cache, and NumPy calls are still cheap.
_CHUNK_BYTES = 2**20
CONTROL = bytes(set(range(32)) - set(b"\t\n\r")) + b"\x7f"
"""Control characters other than tab, line feed and carriage return. A file that contains them is not text."""

_CONTROL_BYTE = re.compile(b"[%s]" % re.escape(CONTROL))
# Old Macintosh files end lines with a carriage return only, so all later lines would look like a part of the first.
_RETURN_WITHIN_LINE = re.compile(rb"\r[^\r\n]")
_TABS_AND_RETURNS_TO_BLANKS = bytes.maketrans(b"\t\r", b"  ")

Kind: TypeAlias = Literal["category", "text", "number"]
# Large blocks make calls of Arrow cheap.
_BLOCK_BYTES = 16 * 2**20
# Arrow prepares a column for every cell of the first row, and no table of ids and scores has more cells.
MAX_CELLS = 64


class Chunk(NamedTuple):
    """Whole lines of a file. The last line ends with a line feed."""

    text: bytes
    first_line: int
    """The number of the first line in the file, starting with 1."""


def at_line(path: StrPath, line: int, problem: str) -> ValueError:
    """Return the error for a problem on one line of a file."""
    return ValueError(f"{os.fspath(path)}, line {line}: {problem}")


def shown(token: bytes | str) -> str:
    """Return a token in quotes for an error message, truncated if it is long."""
    text = token.decode("utf-8", "replace") if isinstance(token, bytes) else token
    return repr(text if len(text) <= 40 else text[:39] + "…")


def list_columns(columns: Sequence[Any], separator: str = ", ") -> str:
    """Return the names of columns for an error message, at most twenty."""
    return separator.join(shown(str(column)) for column in columns[:20]) + (", …" if len(columns) > 20 else "")


def one_line(text: object, longest: int = 300) -> str:
    """Return a text or the message of an error on one line, without control characters and truncated."""
    line = " ".join("".join(character if character.isprintable() else " " for character in str(text)).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def file_suffix(path: StrPath) -> str:
    """Return the suffix of a file name in lower case, without `.gz`."""
    return os.path.splitext(os.fspath(path).removesuffix(".gz"))[1].lower()


@contextmanager
def _open(path: StrPath) -> Iterator[io.BufferedIOBase]:
    """Open a file, decompressed if its first two bytes are those of gzip."""
    with open(path, "rb") as raw:
        if raw.peek(2)[:2] != b"\x1f\x8b":
            yield raw
            return
        try:
            with gzip.GzipFile(fileobj=raw) as stream:
                yield stream
        except EOFError:
            raise ValueError(f"{os.fspath(path)}: the gzip stream ends too early. The file is incomplete.") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{os.fspath(path)}: damaged gzip stream ({error})") from None


def read_chunks(path: StrPath, *, size: int = _CHUNK_BYTES, cells: bool = False) -> Iterator[Chunk]:
    """Yield the file as chunks of whole lines, checked to be UTF-8 text.

    With `cells`, a carriage return may be within a line, since quoted cells can contain one.
    """
    line = 1
    parts: list[bytes] = []  # the beginning of a line whose end is not read yet
    with _open(path) as stream:
        while block := stream.read(size):
            end = block.rfind(b"\n") + 1
            if end:
                text = b"".join((*parts, block[:end]))
                parts = []
                chunk, lines = _validate_text(path, text, line, cells)
                yield chunk
                line += lines
            parts.append(block[end:])
    if rest := b"".join(parts):
        yield _validate_text(path, rest + b"\n", line, cells)[0]


def _validate_text(path: StrPath, text: bytes, line: int, cells: bool) -> tuple[Chunk, int]:
    """Return a chunk of text and its number of lines, or raise for control characters or invalid UTF-8."""
    if line == 1:
        text = text.removeprefix(BOM)

    def error_at(position: int, problem: str) -> ValueError:
        return at_line(path, line + text.count(b"\n", 0, position), problem)

    codes = np.frombuffer(text, dtype=np.uint8)
    lines = int(np.count_nonzero(codes == ord("\n")))
    # NumPy counts several times faster than methods of bytes.
    may_have_control = np.count_nonzero(codes < ord(" ")) > lines or b"\x7f" in text
    if may_have_control and text.translate(None, CONTROL) != text and (control := _CONTROL_BYTE.search(text)):
        raise error_at(control.start(), f"control byte 0x{control[0][0]:02x}. This is not a text file.")
    if not cells and b"\r" in text and (within := _RETURN_WITHIN_LINE.search(text)):
        raise error_at(
            within.start(), "carriage return within the line. Lines must end with a line feed or with both characters."
        )
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError as error:
            raise error_at(error.start, f"byte 0x{text[error.start]:02x} is not valid UTF-8") from None
    return Chunk(text, line), lines


def numbered_lines(chunk: Chunk) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a chunk without line feed, each with its number in the file."""
    return enumerate(chunk.text[:-1].split(b"\n"), start=chunk.first_line)


def csv_rows(path: StrPath, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of every row with the number of its last line. A quoted cell can span several lines."""
    chunks = read_chunks(path, cells=True)
    lines = (line for chunk in chunks for line in io.StringIO(chunk.text.decode(), newline="\n"))
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        problem = str(error).replace("\t", "\\t")
        raise at_line(path, reader.line_num, f"{problem}. Quotes within quotes must be written twice.") from None


def to_number(token: bytes) -> float:
    """Return the number that a token spells, as `float` reads it, or raise. Underscores are not allowed."""
    if b"_" in token:
        raise ValueError("underscores are allowed in Python source only")
    return float(token)


def is_number(token: bytes) -> bool:
    """Return whether `to_number` accepts a token."""
    try:
        to_number(token)
    except ValueError:
        return False
    return True


def parse_number(token: bytes, name: str, *, finite: bool, nan: bool = False) -> float:
    """Return the number that a token spells, or raise for text and, if `finite`, infinity, and unless `nan`, NaN."""
    try:
        value = to_number(token)
    except ValueError:
        raise ValueError(f"the {name} {shown(token)} is not a number") from None
    if (math.isnan(value) and not nan) or (math.isinf(value) and finite):
        expected = f"{'finite' if finite else 'a number'}{' or nan (missing)' if nan else ''}"
        raise ValueError(f"the {name} must be {expected}, got {shown(token)}")
    return value


def parse_columns(
    texts: Iterable[bytes], separator: str, kinds: Mapping[int, Kind], min_cells: int, max_cells: int
) -> Any:
    """Return columns of a text as a table of Arrow, or None if another reader has to look at it.

    Parameters
    ----------
    texts
        Parts of the text, each of whole lines. A `ValueError` ends the parsing.
    separator
        Separates the cells of a row. Quotes have no meaning.
    kinds
        The type of each column to return, by its position in a row.
    min_cells, max_cells
        Limits on the number of cells in a row.
    """
    try:
        arrow, reader = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.csv")
    except ImportError:
        return None
    types = {"category": arrow.dictionary(arrow.int32(), arrow.string()), "text": arrow.string()}
    names = {str(position): types.get(kind, arrow.float64()) for position, kind in kinds.items()}
    parsing = reader.ParseOptions(delimiter=separator, quote_char=False, double_quote=False, escape_char=False)
    converting = reader.ConvertOptions(
        column_types=names, include_columns=list(names), null_values=[], strings_can_be_null=False, check_utf8=False
    )
    tables, reading = [], None
    try:
        for text in _join_blocks(texts):
            if text.startswith(BOM):  # Arrow would remove it.
                return None
            if not text or text.isspace():
                continue
            if reading is None:
                start = len(text) - len(text.lstrip(b"\n"))
                cells = text.count(separator.encode(), start, text.index(b"\n", start)) + 1
                if not min_cells <= cells <= min(max_cells, MAX_CELLS):
                    return None
                # One thread is fast enough and leaves the other processors to trainings that run at the same time.
                reading = reader.ReadOptions(column_names=[str(column) for column in range(cells)], use_threads=False)
            tables.append(reader.read_csv(arrow.BufferReader(text), reading, parsing, converting))
        return arrow.concat_tables(tables).unify_dictionaries() if tables else None
    except (ValueError, arrow.ArrowException):
        return None


def _join_blocks(texts: Iterable[bytes]) -> Iterator[bytes]:
    parts, size = [], 0
    for text in texts:
        parts.append(text)
        size += len(text)
        if size >= _BLOCK_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    yield b"".join(parts)


def collapse_blanks(text: bytes) -> bytes:
    """Return lines with one blank between cells and none around them."""
    blank = np.frombuffer(text, dtype=np.uint8) <= ord(" ")
    if blank[0] or (blank[1:] & blank[:-1]).any():
        text = text.translate(_TABS_AND_RETURNS_TO_BLANKS)
        while b"  " in text:
            text = text.replace(b"  ", b" ")
        return text.replace(b" \n", b"\n").replace(b"\n ", b"\n").removeprefix(b" ")
    return text.translate(_TABS_AND_RETURNS_TO_BLANKS) if b"\t" in text or b"\r" in text else text
