"""Readers for ranking data in text: LETOR files, and LightGBM's data with files of group sizes and weights."""

from __future__ import annotations

import csv
import io
import itertools
import os
from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._common.validation import validate_choice
from .ranking_data import RankingData
from .svmlight import Layout, Rows, TableBuilder, parse_label, parse_value
from .text import MAX_BYTES, Chunk, StrPath, at_line, exact_floats, numbered_lines, parse_number, read_chunks, shown

_LINES_TO_DETECT_FORMAT = 100
# As in LightGBM, empty cells and "na" in any case are missing values, and so is the number nan.
_MISSING = (b"", b"na")
_MISSING_CELLS = ["", *map("".join, itertools.product("nN", "aA")), *map("".join, itertools.product("nN", "aA", "nN"))]
_NUMBER_CHARACTERS = b"0123456789+-.einfatyEINFATY\n"

SharedIds = Literal["refuse", "separate", "join"]


def read_letor(
    path: StrPath | Sequence[StrPath],
    *,
    shared_ids: SharedIds = "refuse",
    features: int | None = None,
    dtype: DTypeLike = np.float32,
    zero_based: bool = False,
    max_bytes: int = MAX_BYTES,
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
    max_bytes : int
        Maximum size of the text after decompression, and of the matrix of features. Defaults to 16 GiB.

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
    layout = Layout(queries=True, features=features, zero_based=zero_based, dtype=dtype)
    validate_choice("shared_ids", shared_ids, get_args(SharedIds))
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    if not paths:
        raise ValueError("path must name at least one file, got an empty list")
    builder = TableBuilder(layout, max_bytes, shared_ids)
    for file in paths:
        builder.read_file(file, read_chunks(file, max_bytes=max_bytes))
    matrix, labels, qid, document_ids = builder.build()
    return RankingData(matrix, labels, qid=qid, query_ids=np.array(builder.query_ids), document_ids=document_ids)


def read_lightgbm(
    path: StrPath,
    query: StrPath | None = None,
    *,
    weight: StrPath | None = None,
    features: int | None = None,
    dtype: DTypeLike = np.float32,
    header: bool = False,
    zero_based: bool = False,
    max_bytes: int = MAX_BYTES,
) -> RankingData:
    r"""Read LightGBM's text files: data, group sizes (`.query`) and, if present, weights (`.weight`).

    The data are either `label index:value …` (SVMlight without query ids) or columns separated by commas or tabs, with
    the label in the first column. The first lines determine the format. In columns, empty cells, `na` and `nan` are
    missing values. All files can be compressed with gzip.

    Parameters
    ----------
    path : str or path-like
        The data file.
    query : str or path-like, optional
        The file of group sizes in row order, one per line. Defaults to `path` + ".query".
    weight : str or path-like, optional
        The file of weights, one line per document. Defaults to `path` + ".weight" if that file exists.
    features : int, optional
        Number of features. In SVMlight files, larger indices are an error, and the default is the largest index. In
        columns, any other number is an error, and the default is that of the first line.
    dtype : dtype, default float32
        Type of the feature values, float32 or float64.
    header : bool, default False
        Whether the first line of a file in columns contains names.
    zero_based : bool, default False
        Whether the first feature of an SVMlight file has index 0 instead of 1.
    max_bytes : int
        Maximum size of the text after decompression, and of the matrix of features. Defaults to 16 GiB.

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
    layout = Layout(queries=False, features=features, zero_based=zero_based, dtype=dtype)
    name = os.fspath(path)
    separator, chunks = _detect_separator(read_chunks(path, max_bytes=max_bytes))
    builder = TableBuilder(layout, max_bytes)
    if separator is None:
        if header:
            raise ValueError(f"{name}: header=True, but SVMlight files have no header. Omit header.")
        builder.read_file(path, chunks)
    else:
        layout.form = "label\\tvalue\\t…" if separator == b"\t" else "label,value,…"
        builder.add_file(path, _parse_columns(path, chunks, separator, layout, builder, header=header))
    matrix, labels, _, _ = builder.build()
    sizes = _read_numbers(f"{name}.query" if query is None else query, "group size", max_bytes)
    if weight is None and os.path.exists(f"{name}.weight"):
        weight = f"{name}.weight"
    weights = None if weight is None else _read_numbers(weight, "weight", max_bytes)
    if weights is not None and weights.size != labels.size:
        raise ValueError(f"{weight}: {weights.size} weights, but {name} has {labels.size} documents.")
    try:
        return RankingData(matrix, labels, group=sizes, weight=weights)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _detect_separator(chunks: Iterator[Chunk]) -> tuple[bytes | None, Iterator[Chunk]]:
    """Return the separator of the columns, None for SVMlight, and all chunks."""
    first = next(chunks, Chunk(b"", 1))
    lines = [line.partition(b"#")[0] for line in first.text.split(b"\n", _LINES_TO_DETECT_FORMAT)[:-1]]
    separator = None
    if any(b"," in line for line in lines):
        separator = b","
    elif not any(b":" in line for line in lines) and any(b"\t" in line for line in lines):
        separator = b"\t"
    return separator, itertools.chain([first], chunks)


def _parse_columns(
    path: StrPath, chunks: Iterator[Chunk], separator: bytes, layout: Layout, builder: TableBuilder, *, header: bool
) -> Iterator[Rows]:
    """Yield the rows of each chunk. With `header`, the first line contains names."""
    width = layout.features
    for chunk in chunks:
        if header and chunk.first_line == 1:
            chunk = Chunk(chunk.text.partition(b"\n")[2], 2)
        rows = _parse_chunk(chunk, separator, layout, width) or _parse_lines(path, chunk, separator, layout, width)
        if rows.labels.size:
            width = rows.features.shape[1]
            builder.reserve(rows.labels.size, width)
        yield rows


def _parse_chunk(chunk: Chunk, separator: bytes, layout: Layout, width: int | None) -> Rows | None:
    """Parse a chunk, or return None if a line is malformed or unusual (blanks, empty lines)."""
    import pandas as pd

    text = chunk.text.replace(b"\r\n", b"\n")
    # pandas reads `True` as 1, so only the characters of numbers are passed to it.
    if not text or b"\n\n" in text or text.startswith(b"\n") or text.translate(None, _NUMBER_CHARACTERS + separator):
        return None
    # pandas fills short rows without an error, so cells are counted first.
    buffer = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero((buffer == ord(separator)) | (buffer == ord("\n")))
    line_ends = np.flatnonzero(buffer[ends] == ord("\n"))
    cells = int(line_ends[0]) + 1
    if not (np.diff(line_ends, prepend=-1) == cells).all() or width not in (None, cells - 1):
        return None
    options: dict[str, Any] = {"header": None, "dtype": np.float64, "engine": "c", "quoting": csv.QUOTE_NONE}
    options |= {"skip_blank_lines": False, "keep_default_na": False, "na_values": _MISSING_CELLS}
    with np.errstate(over="ignore"):
        try:
            frame = pd.read_csv(io.BytesIO(text), sep=separator.decode(), **options, **exact_floats(pd.__version__))
        except ValueError:
            return None
        table = frame.to_numpy()
        features = table[:, 1:].astype(layout.dtype)
    if not np.isfinite(table[:, 0]).all() or np.isinf(features).any():
        return None
    return Rows(table[:, 0].copy(), features)


def _parse_lines(path: StrPath, chunk: Chunk, separator: bytes, layout: Layout, width: int | None) -> Rows:
    """Parse a chunk line by line, and raise ValueError for the first malformed line."""
    labels: list[float] = []
    table: list[list[float]] = []
    for number, line in numbered_lines(chunk) if chunk.text else ():
        if not line.strip(b" \r"):
            continue
        cells = [cell.strip(b" \r") for cell in line.split(separator)]
        try:
            labels.append(parse_label(cells[0], layout))
            values = [float("nan") if cell.lower() in _MISSING else parse_value(cell, layout) for cell in cells[1:]]
        except ValueError as error:
            hint = " Pass header=True if the first line contains names." if number == 1 else ""
            raise at_line(path, number, f"{str(error).removesuffix('.')}.{hint}") from None
        if width is not None and len(values) != width:
            cause = "features= is" if layout.features else "the lines before have"
            raise at_line(path, number, f"{len(values)} features, but {cause} {width}: {shown(line)}")
        width = len(values)
        table.append(values)
    features = np.array(table, dtype=layout.dtype).reshape(len(labels), width or 0)
    return Rows(np.array(labels, dtype=np.float64), features)


def _read_numbers(path: StrPath, name: str, max_bytes: int) -> NDArray[np.float64]:
    """Return the number of every line that is not blank."""
    values = []
    for chunk in read_chunks(path, max_bytes=max_bytes):
        for line, text in numbered_lines(chunk):
            if token := text.strip():
                try:
                    values.append(parse_number(token, name, finite=True))
                except ValueError as error:
                    raise at_line(path, line, str(error)) from None
    return np.array(values)
