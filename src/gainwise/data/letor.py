"""Readers for ranking data in text: LETOR files, and LightGBM's data with files of group sizes and weights.

Both have rows of `label [qid:query] index:value …  # comment`, the format of SVMlight. Two parsers read the same lines.
`_parse_chunk` works on arrays of tokens and returns None for anything unusual. `_parse_lines` then reads one line at a
time. It decides what is valid and words the errors. Decimal numbers are parsed many at a time, and exactly as `float`
parses them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._common.validation import prefix_errors, validate_choice, validate_integer
from .ranking_data import RankingData
from .text import Chunk, StrPath, at_line, numbered_lines, parse_number, read_chunks, shown

Bytes: TypeAlias = NDArray[np.uint8]
Integers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.floating[Any]]
Runs: TypeAlias = tuple[list[str], Integers]
"""The query id and the number of rows of each run of rows with the same query."""

NO_RUNS: Runs = ([], np.zeros(0, dtype=np.int64))
# NumPy stores all ids in the width of the longest one.
MAX_ID_BYTES = 256
# The parsers read windows of a fixed width, which may extend beyond both ends of the text.
PADDING = 64
# A mantissa of up to 15 digits is an exact double, and so is a power of ten up to 10^22. One division of the two then
# gives the correctly rounded value, the same that `float` returns (Clinger 1990).
_EXACT_DIGITS = 15
_WINDOW = _EXACT_DIGITS + 1
_POWERS = np.array([float(10**places) for places in range(_WINDOW)])
# Features are dense, so a wrong index such as 4000000000 would exhaust the memory.
INDEX_DIGITS = 7
_TABLE_HINT = " (from_frame reads tables, such as CSV by pandas)"
_DOCUMENT = re.compile(rb"\bdocid\s*=\s*(\S+)")

SharedIds = Literal["refuse", "separate", "join"]


def read_letor(
    path: StrPath | Sequence[StrPath],
    *,
    shared_ids: SharedIds = "refuse",
    features: int | None = None,
    dtype: DTypeLike = np.float32,
    zero_based: bool = False,
) -> RankingData:
    r"""Read LETOR files with one document per line: `label qid:query index:value …  # comment`.

    MSLR-WEB10K and -WEB30K, LETOR 3 and 4, Yahoo's and Istella's datasets have this format. Indices ascend within a
    line, and missing ones are 0. Document ids are read from the comments if every row has one (`docid = X`).

    Parameters
    ----------
    path : str, path-like or sequence of these
        The file, plain or gzip, or several files to join into one dataset.
    shared_ids : {"refuse", "separate", "join"}, default "refuse"
        How to treat a query id that occurs in several files. "separate" reads different queries (each file numbers its
        own), and "join" reads one query (a large file was cut anywhere).
    features : int, optional
        Number of columns. Larger indices are an error. Defaults to the largest index in the files. Pass it if several
        datasets must have the same columns, since a sparse file need not contain the last feature.
    dtype : dtype, default float32
        Type of the feature values, float32 or float64.
    zero_based : bool, default False
        Whether the first column has index 0 instead of 1.

    Returns
    -------
    RankingData
        Rows in file order. The rows of a query need not be contiguous. Query ids are kept as written: `01` and `1` are
        two queries, which XGBoost and scikit-learn read as one.

    Raises
    ------
    ValueError
        If a file is malformed, or a query id occurs in several files. The message names the file and the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.txt"
    >>> _ = path.write_text("2 qid:7 1:0.5 3:1 # docid = A\n0 qid:7 2:0.2 # docid = B\n1 qid:8 1:3 # docid = C\n")
    >>> data = read_letor(path)
    >>> data
    RankingData(3 documents, 2 queries, 3 features; labels 0: 1, 1: 1, 2: 1; document ids)
    >>> data.features[0].tolist(), data.query_ids.tolist(), data.document_ids
    ([0.5, 0.0, 1.0], ['7', '8'], ('A', 'B', 'C'))
    >>> read_letor([path, path], shared_ids="separate").query_ids.tolist()
    ['7', '8', '7', '8']
    """
    builder = TableBuilder(queries=True, features=features, dtype=dtype, zero_based=zero_based, shared_ids=shared_ids)
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    if not paths:
        raise ValueError("path must name at least one file, got an empty list")
    for file in paths:
        builder.read_file(file, read_chunks(file))
    matrix, labels, qid, document_ids = builder.build()
    return RankingData(matrix, labels, qid=qid, query_ids=np.array(builder.query_ids), document_ids=document_ids)


def read_lightgbm(
    path: StrPath,
    query: StrPath | None = None,
    *,
    weight: StrPath | None = None,
    features: int | None = None,
    dtype: DTypeLike = np.float32,
    zero_based: bool = False,
) -> RankingData:
    r"""Read LightGBM's text files: data, group sizes (`.query`) and, if present, weights (`.weight`).

    The data are lines of `label index:value …`, which is SVMlight without query ids. Files can be compressed with gzip.
    Read data in columns (CSV or TSV) with pandas, and pass the table to `from_frame`.

    Parameters
    ----------
    path : str or path-like
        The data file.
    query : str or path-like, optional
        The file of group sizes in row order, one per line. Defaults to `path` + ".query".
    weight : str or path-like, optional
        The file of weights, one line per document. Defaults to `path` + ".weight" if that file exists.
    features : int, optional
        Number of columns. Larger indices are an error. Defaults to the largest index in the file.
    dtype : dtype, default float32
        Type of the feature values, float32 or float64.
    zero_based : bool, default False
        Whether the first column has index 0 instead of 1.

    Returns
    -------
    RankingData
        Query ids are "0", "1", … in file order. Weights are per document.

    Raises
    ------
    ValueError
        If a file is malformed, or group sizes or weights do not match the rows.
    FileNotFoundError
        If the data file or the file of group sizes does not exist.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rank.train"
    >>> _ = path.write_text("2 1:0.5 3:1\n0 2:0.25\n1 1:3\n")
    >>> _ = path.with_name("rank.train.query").write_text("2\n1\n")
    >>> read_lightgbm(path).group.tolist()
    [2, 1]
    """
    name = os.fspath(path)
    builder = TableBuilder(queries=False, features=features, dtype=dtype, zero_based=zero_based)
    builder.read_file(path, read_chunks(path))
    matrix, labels, _, _ = builder.build()
    sizes = _read_numbers(f"{name}.query" if query is None else query, "group size")
    if weight is None and os.path.exists(f"{name}.weight"):
        weight = f"{name}.weight"
    weights = None if weight is None else _read_numbers(weight, "weight")
    if weights is not None and weights.size != labels.size:
        raise ValueError(f"{weight}: {weights.size} weights, but {name} has {labels.size} documents.")
    with prefix_errors(f"{name}: "):
        return RankingData(matrix, labels, group=sizes, weight=weights)


def _read_numbers(path: StrPath, name: str) -> NDArray[np.float64]:
    """Return the number of every line that is not blank."""
    values = []
    for chunk in read_chunks(path):
        for line, text in numbered_lines(chunk):
            if token := text.strip():
                try:
                    values.append(parse_number(token, name, finite=True))
                except ValueError as error:
                    raise at_line(path, line, str(error)) from None
    return np.array(values)


class Rows(NamedTuple):
    """The rows of one chunk, with dense features."""

    labels: NDArray[np.float64]
    features: Floats
    queries: Runs = NO_RUNS
    document_ids: list[str] | None = None


class TableBuilder:
    """Reads files with one layout, collects their rows in order and joins them at the end.

    Queries are numbered in order of first appearance. `shared_ids` is "refuse", "join" or "separate" and defines the
    meaning of an id that occurs in several files.
    """

    def __init__(
        self,
        *,
        queries: bool,
        features: int | None = None,
        dtype: DTypeLike = np.float32,
        zero_based: bool = False,
        shared_ids: str = "refuse",
    ) -> None:
        validate_choice("shared_ids", shared_ids, get_args(SharedIds))
        self.queries = queries
        self.features = None if features is None else validate_integer("features", features)
        self.first_index = 0 if zero_based else 1
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        if self.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise TypeError(f"dtype must be float32 or float64, got {self.dtype}")
        self._shared_ids = shared_ids
        self._path = ""
        self._rows, self._width = 0, self.features or 0
        self._parts: list[Rows] = []
        self._qid: list[Integers] = []
        self.query_ids: list[str] = []
        self._paths: list[str] = []  # the file in which each query begins
        self._code_of_id: dict[str, int] = {}

    def read_file(self, path: StrPath, chunks: Iterable[Chunk]) -> None:
        """Append the rows of a file, or raise if it has none."""
        self._path, rows_before = os.fspath(path), self._rows
        if self._shared_ids == "separate":
            self._code_of_id = {}
        for chunk in chunks:
            rows = _parse_chunk(chunk, self) or _parse_lines(path, chunk, self)
            if not rows.labels.size:
                continue
            names, sizes = rows.queries
            self._parts.append(rows)
            self._qid.append(np.repeat(np.array([self._number(name) for name in names], dtype=np.int64), sizes))
        if self._rows == rows_before:
            raise ValueError(f"{self._path}: the file has no documents")

    def reserve(self, rows: int, width: int) -> int:
        """Count rows, and return the width of their block of features."""
        self._rows += rows
        self._width = max(self._width, width)
        return self._width if self.features else width

    def _number(self, name: str) -> int:
        """Return the number of a query, or raise if it occurs in an earlier file and `shared_ids` is "refuse"."""
        code = self._code_of_id.setdefault(name, len(self.query_ids))
        if code == len(self.query_ids):
            self.query_ids.append(name)
            self._paths.append(self._path)
        elif self._shared_ids == "refuse" and self._paths[code] != self._path:
            raise ValueError(
                f"{self._path}: query {shown(name)} also occurs in {self._paths[code]}. Pass shared_ids='separate' if "
                "each file numbers its own queries, or 'join' if a query can continue in another file."
            )
        return code

    def build(self) -> tuple[Floats, NDArray[np.float64], Integers, tuple[str, ...] | None]:
        """Return features, labels, query numbers and document ids of all rows.

        Each part is released after it is copied, so that memory does not double.
        """
        parts, self._parts = self._parts, []
        labels = np.concatenate([part.labels for part in parts])
        documents = None
        if all(part.document_ids is not None for part in parts):
            documents = tuple(name for part in parts for name in part.document_ids or ())
        features = np.zeros((self._rows, self._width), dtype=self.dtype)
        end = self._rows
        while parts:
            block = parts.pop().features
            features[end - len(block) : end, : block.shape[1]] = block
            end -= len(block)
        return features, labels, np.concatenate(self._qid), documents


# ---------------------------------------------------------------------------------------------------- arrays of tokens


class _Tokens(NamedTuple):
    starts: Integers
    ends: Integers
    first: Integers  # of each row, the number of its first token
    counts: Integers  # of each row, the number of its tokens
    lines: Integers  # of each row, its line in the chunk, starting with 0


def _parse_chunk(chunk: Chunk, builder: TableBuilder) -> Rows | None:
    """Parse a chunk, or return None if a line is malformed or unusual."""
    text, comments = _split_comments(chunk.text)
    buffer = pad(text)
    tokens = _tokenize(buffer)
    rows, lead = tokens.first.size, 1 + builder.queries
    if rows == 0 or tokens.counts.min() < lead:
        return None
    labels = parse_decimals(buffer, tokens.starts[tokens.first], tokens.ends[tokens.first])
    queries = _parse_queries(buffer, tokens) if builder.queries else NO_RUNS
    if labels is None or queries is None or not np.isfinite(labels).all():
        return None
    row = np.repeat(np.arange(rows), tokens.counts - lead)
    pairs = _parse_pairs(buffer, tokens, row, builder)
    if pairs is None:
        return None
    column, value = pairs
    features = np.zeros((rows, builder.reserve(rows, int(column.max(initial=-1)) + 1)), dtype=builder.dtype)
    features[row, column] = value
    return Rows(labels, features, queries, _find_document_ids(comments, tokens.lines.tolist()))


def _split_comments(text: bytes) -> tuple[bytes, list[bytes]]:
    """Return the text without comments, and the comment of each line."""
    if b"#" not in text:
        return text, []
    parts = [line.partition(b"#") for line in text[:-1].split(b"\n")]
    return b"\n".join(part[0] for part in parts) + b"\n", [part[2] for part in parts]


def _find_document_ids(comments: list[bytes], lines: Iterable[int]) -> list[str] | None:
    """Return the id in the comment of each of the lines, or None if a line has none."""
    if not comments:
        return None
    matches = [_DOCUMENT.search(comments[line]) for line in lines]
    ids = [match[1].decode() for match in matches if match]
    return ids if len(ids) == len(matches) else None


def _tokenize(buffer: Bytes) -> _Tokens:
    """Return the tokens of all lines that have any."""
    # `read_chunks` rejects control characters except tab and line ends, so all bytes up to a blank are separators.
    blank = buffer <= ord(" ")
    edges = np.flatnonzero(blank[1:] != blank[:-1]) + 1
    starts, ends = edges[0::2], edges[1::2]
    before_line_end = np.searchsorted(starts, np.flatnonzero(buffer == ord("\n")))
    counts = np.diff(before_line_end, prepend=0)
    lines = np.flatnonzero(counts)
    return _Tokens(starts, ends, (before_line_end - counts)[lines], counts[lines], lines)


def _parse_queries(buffer: Bytes, tokens: _Tokens) -> Runs | None:
    """Return the ids after `qid:` as runs, or None if a second token is something else."""
    starts, ends = tokens.starts[tokens.first + 1], tokens.ends[tokens.first + 1]
    for position, character in enumerate(b"qid:"):
        if (buffer[starts + position] != character).any():
            return None
    starts, length = starts + 4, ends - starts - 4
    width = int(length.max())
    if length.min() < 1 or width > PADDING:
        return None
    positions = np.arange(width)
    characters = np.where(positions < length[:, None], buffer[starts[:, None] + positions], np.uint8(0))
    if (characters == ord(":")).any():
        return None
    changes = np.flatnonzero((characters[1:] != characters[:-1]).any(axis=1)) + 1
    runs = np.concatenate(([0], changes))
    ids = [characters[run, : length[run]].tobytes().decode() for run in runs]
    return ids, np.diff(runs, append=starts.size)


def _parse_pairs(
    buffer: Bytes, tokens: _Tokens, row: Integers, builder: TableBuilder
) -> tuple[Integers, Floats] | None:
    """Return column and value of all `index:value`, or None if a token or the order of indices is wrong."""
    is_pair, is_colon = np.ones(tokens.starts.size, dtype=np.bool_), buffer == ord(":")
    is_pair[tokens.first] = False
    if builder.queries:
        is_pair[tokens.first + 1] = False
        is_colon[tokens.starts[tokens.first + 1] + 3] = False
    starts, ends, colons = tokens.starts[is_pair], tokens.ends[is_pair], np.flatnonzero(is_colon)
    # There are as many colons as pairs, each within its pair, so every pair has exactly one colon.
    if colons.size != starts.size or not ((starts < colons) & (colons + 1 < ends)).all():
        return None
    column = parse_indices(buffer, starts, colons)
    value = parse_decimals(buffer, colons + 1, ends)
    if column is None or value is None:
        return None
    column -= builder.first_index
    ascending = (column[1:] > column[:-1]) | (row[1:] != row[:-1])
    if not ascending.all() or column.min(initial=0) < 0:
        return None
    if builder.features is not None and column.max(initial=0) >= builder.features:
        return None
    with np.errstate(over="ignore"):  # A value too large for the dtype becomes infinite and is rejected below.
        cast: Floats = value.astype(builder.dtype)
    return None if np.isinf(cast).any() else (column, cast)


def pad(text: bytes) -> Bytes:
    """Return the text as an array of bytes with blanks on either side, as the other functions require."""
    blanks = b" " * PADDING
    return np.frombuffer(b"".join((blanks, text, blanks)), dtype=np.uint8)


def parse_indices(buffer: Bytes, starts: Integers, ends: Integers) -> Integers | None:
    """Return the values of unsigned integers of at most seven digits, or None if a token is something else."""
    length = ends - starts
    width = int(length.max(initial=0))
    if width > INDEX_DIGITS:
        return None
    value = np.zeros(starts.size, dtype=np.int32)
    valid = length > 0
    position = ends.copy()
    for place in range(width):
        position -= 1
        digit = buffer[position] - np.uint8(ord("0"))
        inside = length > place
        valid &= (digit < 10) | ~inside
        value += np.multiply(digit * inside, 10**place, dtype=np.int32)
    return value.astype(np.int64) if valid.all() else None


def parse_decimals(buffer: Bytes, starts: Integers, ends: Integers) -> NDArray[np.float64] | None:
    """Return the values of decimal numbers, bit for bit those of `float`, or None if a token is not a number."""
    value, is_plain = _parse_plain(buffer, starts, ends)
    if not is_plain.all():
        rest = np.flatnonzero(~is_plain)
        values = _parse_any_notation(buffer, starts[rest], ends[rest])
        if values is None:
            return None
        value[rest] = values
    return value


def _parse_plain(buffer: Bytes, starts: Integers, ends: Integers) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Parse numbers that consist of a sign, at most 15 digits and at most one point. The mask is False for others."""
    first = buffer[starts]
    negative = first == ord("-")
    length = ends - starts - (negative | (first == ord("+")))
    mantissa, power = np.zeros(starts.size), np.ones(starts.size)
    decimals = np.zeros(starts.size, dtype=np.int64)
    points = np.zeros(starts.size, dtype=np.int64)
    plain = length <= _WINDOW
    position = ends.copy()
    for place in range(min(int(length.max(initial=0)), _WINDOW)):  # from the last character to the first
        position -= 1
        byte = buffer[position]
        digit = byte - np.uint8(ord("0"))
        inside = length > place
        is_digit = (digit < 10) & inside
        is_point = (byte == ord(".")) & inside
        plain &= is_digit | is_point | ~inside
        mantissa += (digit * is_digit) * power
        power *= 1.0 + 9.0 * is_digit
        decimals += np.multiply(is_point, place, dtype=np.int64)
        points += is_point
    plain &= (points <= 1) & (length > points) & (length - points <= _EXACT_DIGITS)
    decimals[~plain] = 0
    mantissa /= _POWERS[decimals]
    return np.where(negative, -mantissa, mantissa), plain


def _parse_any_notation(buffer: Bytes, starts: Integers, ends: Integers) -> NDArray[np.float64] | None:
    """Parse numbers in any notation of `float` (exponents, many digits, nan) except underscores."""
    length = ends - starts
    width = max(int(length.max()), 1)
    if width > PADDING:
        return None
    windows = np.ndarray((buffer.size - width + 1,), dtype=f"S{width}", buffer=buffer, strides=(1,))
    tokens = windows[starts]
    characters = tokens.view(np.uint8).reshape(-1, width)
    characters[np.arange(width) >= length[:, None]] = 0
    if (characters == ord("_")).any() or (characters >= 128).any():
        return None
    try:
        with np.errstate(over="ignore"):  # Numbers beyond float64 become infinite, as in `float`.
            return tokens.astype(np.float64)
    except ValueError:
        return None


# ------------------------------------------------------------------------------------------------- one line at a time


def _parse_lines(path: StrPath, chunk: Chunk, builder: TableBuilder) -> Rows:
    """Parse a chunk line by line, and raise ValueError for the first malformed line."""
    _, comments = _split_comments(chunk.text)
    labels: list[float] = []
    ids: list[str] = []
    lines: list[int] = []
    cells: list[tuple[int, int, float]] = []
    for number, line in numbered_lines(chunk):
        tokens = line.partition(b"#")[0].split()
        if not tokens:
            continue
        try:
            labels.append(_parse_label(tokens[0], builder))
            if builder.queries:
                ids.append(_parse_query(tokens))
            cells += [(len(lines), *pair) for pair in _iter_pairs(tokens[1 + builder.queries :], builder)]
        except ValueError as error:
            raise at_line(path, number, str(error)) from None
        lines.append(number - chunk.first_line)
    width = max((column for _, column, _ in cells), default=-1) + 1
    features = np.zeros((len(labels), builder.reserve(len(labels), width)), dtype=builder.dtype)
    for row, column, value in cells:
        features[row, column] = value
    runs = ids, np.ones(len(ids), dtype=np.int64)
    return Rows(np.array(labels, dtype=np.float64), features, runs, _find_document_ids(comments, lines))


def _parse_label(token: bytes, builder: TableBuilder) -> float:
    try:
        return parse_number(token, "label", finite=True)
    except ValueError as error:
        form = "'label qid:query index:value …'" if builder.queries else f"'label index:value …'{_TABLE_HINT}"
        raise ValueError(f"{error}. Expected {form}.") from None


def _parse_query(tokens: list[bytes]) -> str:
    """Return the id after `qid:` in the second token of a line."""
    prefix, _, name = (tokens[1] if len(tokens) > 1 else b"").partition(b":")
    if prefix != b"qid" or not name or b":" in name:
        token = shown(tokens[1]) if len(tokens) > 1 else "the end of the line"
        raise ValueError(f"expected 'qid:query', an id without colons, after the label {shown(tokens[0])}, got {token}")
    if len(name) > MAX_ID_BYTES:
        raise ValueError(f"the query id {shown(name)} is longer than {MAX_ID_BYTES} bytes")
    return name.decode()


def _iter_pairs(tokens: list[bytes], builder: TableBuilder) -> Iterator[tuple[int, float]]:
    """Yield column and value of every `index:value` of a line."""
    last = -1
    for token in tokens:
        index, colon, number = token.partition(b":")
        if index == b"qid":
            fix = "Move it after the label." if builder.queries else "Read the file with read_letor."
            raise ValueError(f"got {shown(token)} among the features. {fix}")
        if not colon or not index.isdigit():
            fix = "" if builder.queries else _TABLE_HINT
            raise ValueError(f"expected 'index:value' with a whole number as index, got {shown(token)}{fix}")
        if len(index.lstrip(b"0")) > INDEX_DIGITS:
            raise ValueError(f"feature index {shown(index)} is too large. At most {INDEX_DIGITS} digits are supported.")
        column = int(index) - builder.first_index
        if column < 0:
            raise ValueError("feature index 0, but indices start at 1. Pass zero_based=True if they start at 0.")
        if builder.features is not None and column >= builder.features:
            raise ValueError(f"feature index {int(index)} is beyond the {builder.features} columns of features=")
        if column <= last:
            raise ValueError(f"feature index {int(index)} follows {last + builder.first_index}. Indices must ascend.")
        last = column
        value = parse_number(number, "feature value", finite=True, nan=True)
        with np.errstate(over="ignore"):
            if np.isinf(builder.dtype.type(value)):
                raise ValueError(f"the feature value {shown(number)} exceeds {builder.dtype}. Pass dtype='float64'.")
        yield column, value
