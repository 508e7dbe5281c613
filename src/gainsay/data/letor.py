"""Readers for ranking data in text: LETOR (SVMlight with query ids) and LightGBM's pairs of files."""

from __future__ import annotations

import itertools
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._common.arrays import nearest
from ._dense import read_columns
from ._numbers import to_number
from ._rows import Layout, Table
from ._svmlight import read_files
from ._text import MAX_BYTES, Chunk, StrPath, at_line, numbered_lines, read_chunks, shown
from .ranking_data import RankingData

# So many lines are looked at to tell the formats of data files apart.
_LINES_TO_GUESS = 100

_WHOLE_NUMBER = re.compile(r"([+-]?)0*([0-9]*)(?<=[0-9])(?:\.0*)?", re.ASCII)

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
    r"""Read a LETOR file: one document a line, `label qid:query index:value …  # comment`.

    MSLR-WEB10K and -WEB30K, LETOR 3 and 4, Yahoo's and Istella's sets come in this format. Indices ascend within a
    line and those left out are 0. Where the comment of every row names its document (`docid = X`), these become the
    document ids. Blank lines and lines of comment only are passed over. The file may be compressed with gzip, which is
    told from its content.

    Parameters
    ----------
    path
        The file, or several, which are read one after the other into one data set.
    shared_ids : {"refuse", "separate", "join"}
        What to do where a query id stands in several files: raise an error, take them for different queries (each file
        counts from 1), or for one query (the rows of a large file were cut anywhere).
    features
        The number of columns, where an index beyond it is an error; None: the largest index that occurs. Give it when
        several files must agree, since a sparse file need not contain the last feature.
    dtype
        Type of the feature values, float32 or float64.
    zero_based
        Whether the first column has index 0 instead of 1.
    max_bytes
        Limit on the text after decompression and on the table of features, each in bytes (default 16 GiB). It stops a
        small gzip file that unfolds without end, and a mistaken index that would ask for all memory.

    Returns
    -------
    RankingData
        Rows in file order; rows of a query need not be contiguous. Query ids are kept as they are written: `01` and `1`
        are two queries. XGBoost and scikit-learn read them as one, so a warning names their lines.

    Raises
    ------
    ValueError
        If a file is malformed, or a query id stands in several files. The message names file and line, what was found
        and what is expected.

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
    layout = Layout.checked(queries=True, features=features, zero_based=zero_based, dtype=dtype)
    if shared_ids not in get_args(SharedIds):
        raise ValueError(
            f"shared_ids must be 'refuse', 'separate' or 'join', got {shared_ids!r}"
            f"{nearest(str(shared_ids), get_args(SharedIds))}"
        )
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    if not paths:
        raise ValueError("path is an empty list; give at least one file")
    table = read_files([(one, read_chunks(one, max_bytes=max_bytes)) for one in paths], layout, max_bytes, shared_ids)
    _warn_of_alike(table, shared_ids)
    return RankingData(
        features=table.features,
        labels=table.labels,
        qid=table.qid,
        query_ids=np.array(table.query_ids, dtype=np.str_),
        document_ids=table.document_ids,
    )


def _warn_of_alike(table: Table, shared_ids: str) -> None:
    """Say which query ids are different texts of one number, which others read as one query."""
    first: dict[tuple[str, str], int] = {}
    found = []
    for code, (name, place) in enumerate(zip(table.query_ids, table.query_places, strict=True)):
        whole = _WHOLE_NUMBER.fullmatch(name)
        if whole is None:
            continue
        number = ("-" if whole[1] == "-" and whole[2] else "") + whole[2]
        other = first.setdefault((place.path if shared_ids == "separate" else "", number), code)
        if other != code and table.query_ids[other] != name:
            found.append((table.query_ids[other], table.query_places[other], name, place))
    if found:
        first_name, first_place, name, place = found[0]
        where = "" if place.path == first_place.path else f" of {place.path}"
        more = f"; so are {len(found) - 1} more" if len(found) > 1 else ""
        warnings.warn(
            f"{first_place.path}, line {first_place.line}: query {shown(first_name)} and, in line {place.line}{where}, "
            f"{shown(name)} are two queries here, but one number: XGBoost and scikit-learn read one query{more}",
            stacklevel=3,
        )


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
    r"""Read LightGBM's text files: the data, beside it a `.query` file of group sizes and maybe a `.weight` file.

    The data are either `label index:value …` (SVMlight without query ids) or columns separated by commas or tabs with
    the label in the first one; the first lines tell which. Any of the files may be compressed with gzip. In columns,
    an empty field, `na` and `nan` (of either case) are missing values.

    Parameters
    ----------
    path
        The data file.
    query
        The file of group sizes, one a line, in row order; None: `path` + ".query".
    weight
        The file of weights, one per document and line; None: `path` + ".weight" if there is such a file.
    features
        The number of features. SVMlight: an index beyond it is an error; None: the largest index that occurs. Columns:
        any other number is an error; None: as many as the first line has.
    dtype
        Type of the feature values, float32 or float64.
    header
        Whether the first line of a file in columns names them.
    zero_based
        Whether the first feature of an SVMlight file has index 0 instead of 1.
    max_bytes
        Limit on the text after decompression and on the table of features, each in bytes.

    Returns
    -------
    RankingData
        Query ids are "0", "1", … in file order; weights are per document.

    Raises
    ------
    ValueError
        If a file is malformed, or group sizes or weights do not fit the rows.
    FileNotFoundError
        If there is no data file or no file of group sizes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rank.train"
    >>> _ = path.write_text("2 1:0.5 3:1\n0 2:0.25\n1 1:3\n")
    >>> _ = path.with_name("rank.train.query").write_text("2\n1\n")
    >>> read_lightgbm(path).group.tolist()
    [2, 1]
    """
    layout = Layout.checked(queries=False, features=features, zero_based=zero_based, dtype=dtype)
    separator, chunks = _guess_separator(read_chunks(path, max_bytes=max_bytes))
    if separator is None:
        if header:
            raise ValueError(f"{os.fspath(path)}: header=True, but the file is SVMlight, which has no header")
        table = read_files([(path, chunks)], layout, max_bytes)
    else:
        between = "\\t" if separator == b"\t" else ","
        layout = replace(layout, form=f"label{between}value{between}…")
        table = read_columns(path, chunks, separator, layout, max_bytes, header=header)
    rows = table.labels.size
    sizes = _read_group_sizes(_beside(path, ".query") if query is None else query, path, rows, max_bytes)
    if weight is None and os.path.exists(_beside(path, ".weight")):
        weight = _beside(path, ".weight")
    return RankingData(
        features=table.features,
        labels=table.labels,
        qid=np.repeat(np.arange(sizes.size), sizes),
        query_ids=np.arange(sizes.size).astype(np.str_),
        weight=None if weight is None else _read_weights(weight, path, rows, max_bytes),
    )


def _beside(path: StrPath, suffix: str) -> str:
    return os.fspath(path) + suffix


def _guess_separator(chunks: Iterator[Chunk]) -> tuple[bytes | None, Iterator[Chunk]]:
    """Return what separates the columns of a data file, None for SVMlight, and the chunks from the first one on."""
    first = list(itertools.islice(chunks, 1))
    lines = [line.partition(b"#")[0] for chunk in first for line in chunk.text.split(b"\n", _LINES_TO_GUESS)[:-1]]
    separator = None
    if any(b"," in line for line in lines):
        separator = b","
    elif not any(b":" in line for line in lines) and any(b"\t" in line for line in lines):
        separator = b"\t"
    return separator, itertools.chain(first, chunks)


def _read_group_sizes(path: StrPath, data: StrPath, rows: int, max_bytes: int) -> NDArray[np.int64]:
    """Read a file of group sizes and check that they sum to the rows of the data file."""
    sizes = []
    for number, token in _single_tokens(path, "a group size", max_bytes):
        if not token.isdigit() or len(token) > 18 or int(token) == 0:
            raise at_line(path, number, f"a group size must be a whole number of at least 1, found {shown(token)}")
        sizes.append(int(token))
        if len(sizes) > rows:
            raise at_line(path, number, f"more group sizes than the {rows} documents of {os.fspath(data)}")
    if sum(sizes) != rows:
        raise ValueError(
            f"{os.fspath(path)}: the {len(sizes)} group sizes sum to {sum(sizes)}, "
            f"but {os.fspath(data)} has {rows} documents"
        )
    return np.array(sizes, dtype=np.int64)


def _read_weights(path: StrPath, data: StrPath, rows: int, max_bytes: int) -> NDArray[np.float64]:
    """Read a file of document weights and check that there is one for each row of the data file."""
    weights = []
    for number, token in _single_tokens(path, "a weight", max_bytes):
        try:
            value = to_number(token)
        except ValueError:
            raise at_line(path, number, f"a weight must be a number, found {shown(token)}") from None
        if not 0 <= value < float("inf"):
            raise at_line(path, number, f"a weight must be finite and not negative, found {shown(token)}")
        weights.append(value)
        if len(weights) > rows:
            raise at_line(path, number, f"more weights than the {rows} documents of {os.fspath(data)}")
    if len(weights) != rows:
        raise ValueError(
            f"{os.fspath(path)}: {len(weights)} weights for the {rows} documents of {os.fspath(data)}; "
            "LightGBM's convention is one weight per document"
        )
    return np.array(weights, dtype=np.float64)


def _single_tokens(path: StrPath, what: str, max_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Yield line number and token of every line that is not blank; a line holds one token."""
    for chunk in read_chunks(path, max_bytes=max_bytes):
        for number, line in numbered_lines(chunk):
            tokens = line.split()
            if len(tokens) > 1:
                raise at_line(path, number, f"expected {what} alone on the line, found {shown(line)}")
            if tokens:
                yield number, tokens[0]
