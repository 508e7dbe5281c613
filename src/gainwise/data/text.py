"""Text files, plain or gzip, as chunks of whole lines, and the numbers and columns in them.

All readers use this module, so that they agree on lines, line numbers and the spelling of numbers. Plain files are
split by NumPy. It accepts a file only if it agrees with the readers of lines. In all other cases these read the file or
word the error.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from .._common.arrays import factorize

if TYPE_CHECKING:
    from .._common.typing import Floats, Integers

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

Fields: TypeAlias = NDArray[np.bytes_]
"""Cells of a column, all padded with zeros to the same multiple of eight bytes."""

_FIRST_BYTES = np.array([256**length - 1 for length in range(9)], dtype=np.uint64)
# Largest size of a column in terms of the text. One long cell makes all cells of its column long.
_MAX_PADDING = 8
_MAX_WORDS = 256


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
    """Open a file, decompressed if its first two bytes are those of gzip.

    Pipes raise an error, because a reader of lines would only see what the fast reader has left.
    """
    with open(path, "rb") as raw:
        if stat.S_ISFIFO(os.fstat(raw.fileno()).st_mode):
            raise ValueError(f"{os.fspath(path)} is a pipe. Save its content to a file, because it may be read twice.")
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
        raise error_at(control.start(), f"control byte 0x{control[0][0]:02x}. This is not UTF-8 text.")
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
        problem = str(error).partition(" - ")[0].replace("\t", "\\t")
        fix = "Close all quotes, write quotes within a cell twice, and end lines with a line feed."
        raise at_line(path, reader.line_num, f"{problem}. {fix}") from None


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


def read_fields(
    texts: Iterable[bytes], separator: str, positions: Sequence[int], min_cells: int, max_cells: int
) -> list[Fields] | None:
    """Return columns of a text as arrays of bytes, or None if another reader has to look at it.

    Parameters
    ----------
    texts
        Parts of the text, each of whole lines. A `ValueError` ends the reading. Empty lines are skipped.
    separator
        Separates the cells of a row. Quotes have no meaning.
    positions
        The positions of the columns in a row.
    min_cells, max_cells
        Limits on the number of cells, which is the same in all rows.
    """
    parts: list[list[Fields]] = []
    cells = size = 0
    try:
        for text in texts:
            while b"\n\n" in text:
                text = text.replace(b"\n\n", b"\n")
            text = text.removeprefix(b"\n")
            if not text:
                continue
            cells = cells or text.count(separator.encode(), 0, text.index(b"\n")) + 1
            if not min_cells <= cells <= max_cells:
                return None
            parts.append(_split_lines(text, separator, cells, positions))
            size += len(text)
    except ValueError:
        return None
    rows = sum(len(columns[0]) for columns in parts)
    widest = max((column.itemsize for columns in parts for column in columns), default=0)
    if not 0 < rows * widest <= _MAX_PADDING * size:
        return None
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def _split_lines(text: bytes, separator: str, cells: int, positions: Sequence[int]) -> list[Fields]:
    """Return columns of rows, padded with zeros to words of eight bytes, or raise if a row has other cells."""
    codes = np.frombuffer(text + bytes(8), dtype=np.uint8)
    marks = np.flatnonzero((codes == ord("\n")) | (codes == ord(separator)))
    is_end = codes[marks] == ord("\n")
    if len(marks) % cells or is_end.sum() * cells != len(marks) or not is_end[cells - 1 :: cells].all():
        raise ValueError("rows have different numbers of cells")
    ends = marks.reshape(-1, cells)
    windows = as_strided(codes, (len(text) + 1, 8), (1, 1), writeable=False)
    columns = []
    for position in positions:
        starts = ends[:, position - 1] + 1 if position else np.append(0, ends[:-1, -1] + 1)
        lengths = ends[:, position] - starts
        words = max(1, -(-int(lengths.max()) // 8))
        if words > _MAX_WORDS:
            raise ValueError("a cell is too long to be split into words")
        column = np.empty((len(ends), words), dtype=np.uint64)
        for word in range(words):
            window = windows[np.minimum(starts + 8 * word, len(text))].view("<u8")[:, 0]
            column[:, word] = window & _FIRST_BYTES[np.clip(lengths - 8 * word, 0, 8)]
        columns.append(column.astype("<u8", copy=False).view(f"S{8 * words}")[:, 0])
    return columns


def encode_fields(fields: Fields) -> tuple[Integers, Fields]:
    """Return the position of each field among the distinct ones, and these in order of first appearance."""
    codes, *words = (factorize(word)[0] for word in fields.view(np.uint64).reshape(len(fields), -1).T)
    for further in words:
        if further.any():
            codes = factorize(codes * (further.max() + 1) + further)[0]
    first = np.empty(codes.max() + 1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return codes.astype(np.int64, copy=False), fields[first]


def decode_fields(fields: Fields) -> list[str]:
    """Return fields as text."""
    return [field.decode() for field in fields.tolist()]


def parse_fields(fields: Fields) -> Floats | None:
    """Return fields as numbers, or None if `to_number` may not accept one of them."""
    try:
        with np.errstate(over="ignore"):  # 1e400 is infinite, as for `float`, which NumPy calls.
            values: Floats = fields.astype(np.float64)
    except ValueError:
        return None
    return None if b"_" in fields.tobytes() else values


def collapse_blanks(text: bytes) -> bytes:
    """Return lines with one blank between cells and none around them."""
    blank = np.frombuffer(text, dtype=np.uint8) <= ord(" ")
    if blank[0] or (blank[1:] & blank[:-1]).any():
        text = text.translate(_TABS_AND_RETURNS_TO_BLANKS)
        while b"  " in text:
            text = text.replace(b"  ", b" ")
        return text.replace(b" \n", b"\n").replace(b"\n ", b"\n").removeprefix(b" ")
    return text.translate(_TABS_AND_RETURNS_TO_BLANKS) if b"\t" in text or b"\r" in text else text
