"""Text files, plain or gzip, as chunks of whole lines that are known to be text.

Every reader of this package starts here, so that all of them agree on what a line is, on where line numbers start, and
on what to say about a file that is cut short, too large, or no text at all.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

StrPath: TypeAlias = str | os.PathLike[str]

MAX_BYTES = 16 * 2**30
"""Default limit on the text of one file after decompression: 16 GiB."""

_GZIP_MAGIC = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
# Small enough that the arrays made from one chunk stay near the processor, large enough to make NumPy calls cheap.
_CHUNK_BYTES = 2**20
# A line longer than this is no line of a ranking file; without a limit a file of one line would be held at once.
_LINE_BYTES = 64 * 2**20
# Control characters other than tab, line feed and carriage return: they mark a file that is not text.
CONTROL = bytes(set(range(32)) - set(b"\t\n\r")) + b"\x7f"

# The only ends of lines of an old Macintosh; everything behind the first would be words after it, or a comment.
_RETURN_WITHIN = re.compile(rb"\r[^\r\n]")


class Chunk(NamedTuple):
    """Whole lines of a file, the last one ended by a line feed."""

    text: bytes
    first_line: int
    """The number of the first line in the file, from 1."""


def at_line(path: StrPath, line: int, problem: str) -> ValueError:
    """Return the error for a problem on one line of a file."""
    return ValueError(f"{os.fspath(path)}, line {line}: {problem}")


def shown(token: bytes | str) -> str:
    """Return a token as an error message quotes it: in quotes, cut where it is long."""
    text = token.decode("utf-8", "replace") if isinstance(token, bytes) else token
    return repr(text if len(text) <= 40 else text[:39] + "…")


def one_line(text: object, longest: int = 300) -> str:
    """Return a text, or the message of an error, on one line: without control characters, cut where it is long."""
    line = " ".join("".join(one if one.isprintable() else " " for one in str(text)).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


@contextmanager
def opened(path: StrPath) -> Iterator[io.BufferedIOBase]:
    """Open a file, through gzip where its first two bytes say so (its name says nothing)."""
    with open(path, "rb") as raw:
        magic = raw.read(2)
        raw.seek(0)
        if magic != _GZIP_MAGIC:
            yield raw
            return
        try:
            with gzip.GzipFile(fileobj=raw) as stream:
                yield stream
        except EOFError:
            raise ValueError(f"{os.fspath(path)}: the gzip stream ends too early; the file is cut short") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{os.fspath(path)}: damaged gzip stream ({error})") from None


def read_chunks(
    path: StrPath, *, max_bytes: int = MAX_BYTES, size: int = _CHUNK_BYTES, cells: bool = False
) -> Iterator[Chunk]:
    """Yield the file as chunks of whole lines, checked to be UTF-8 text of at most `max_bytes` bytes.

    `cells` says that a carriage return may stand within a line, since a quoted cell may hold one.
    """
    line, total, rest = 1, 0, io.BytesIO()
    with opened(path) as stream:
        while block := stream.read(size):
            total += len(block)
            if total > max_bytes:
                raise ValueError(
                    f"{os.fspath(path)}: more than max_bytes={max_bytes} bytes of text; "
                    "raise max_bytes if the file is meant to be this large"
                )
            end = block.rfind(b"\n") + 1
            if end == 0:
                rest.write(block)
                if rest.tell() > _LINE_BYTES:
                    raise at_line(
                        path, line, f"longer than {_LINE_BYTES} bytes; this is no text file of one row a line"
                    )
                continue
            text = rest.getvalue() + block[:end]
            rest = io.BytesIO()
            rest.write(block[end:])
            yield _checked(path, text, line, cells)
            line += text.count(b"\n")
    if rest.tell():
        yield _checked(path, rest.getvalue() + b"\n", line, cells)


def numbered_lines(chunk: Chunk) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a chunk, without line feed, each with its number in the file."""
    return enumerate(chunk.text[:-1].split(b"\n"), start=chunk.first_line)


def csv_rows(path: StrPath, separator: str, max_bytes: int, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of every row and the number of its last line (a quoted cell may reach over several)."""
    chunks = read_chunks(path, max_bytes=max_bytes, cells=True)
    lines = (f"{line.decode()}\n" for chunk in chunks for _, line in numbered_lines(chunk))
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=strict)
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        hint = "; quotes within quotes are written twice" if strict else ""
        raise at_line(path, reader.line_num, f"{error}{hint}") from None


def _checked(path: StrPath, text: bytes, line: int, cells: bool) -> Chunk:
    """Return a chunk of text, or raise where it holds control characters or invalid UTF-8."""
    if line == 1:
        text = text.removeprefix(BOM)
    chunk = Chunk(text, line)
    if len(text.translate(None, CONTROL)) != len(text):
        for number, content in numbered_lines(chunk):
            for byte in content:
                if byte in CONTROL:
                    raise at_line(path, number, f"control byte 0x{byte:02x}; this is not a text file")
    if not cells and b"\r" in text and (within := _RETURN_WITHIN.search(text)):
        raise at_line(
            path,
            line + text.count(b"\n", 0, within.start()),
            "a carriage return within the line: lines end with a line feed, alone or after a carriage return",
        )
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError as error:
            number = line + text.count(b"\n", 0, error.start)
            raise at_line(path, number, f"byte 0x{text[error.start]:02x} is not valid UTF-8") from None
    return chunk


def exact_floats(version: str) -> dict[str, Any]:
    """Return what makes pandas read decimal numbers as Python does; from 3.1 on nothing, and asking is deprecated.

    >>> exact_floats("2.1.4"), exact_floats("3.1.0rc0")
    ({'float_precision': 'round_trip'}, {})
    """
    major, minor = (int(part) for part in version.split(".")[:2])
    return {} if (major, minor) >= (3, 1) else {"float_precision": "round_trip"}
