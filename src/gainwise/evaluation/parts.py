"""Parts of the data: labels, queries, ids and features of datasets of any kind, and queries that two parts share."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._common import cached_property
from .._common.arrays import factorize, format_id
from .._common.lazy import pandas as pd
from .._common.text import agree, pluralize
from ..data import RankingData, from_frame
from ..data.ranking_data import as_matrix, as_pandas, is_categorical, is_sparse
from ..data.tables import get_column
from ..judgments import Judgments

if TYPE_CHECKING:
    from .._common.typing import Bools, Floats, Integers


Keys = NDArray[np.uint64]

MIN_EQUAL_ROWS = 2
"""A single equal row is no evidence for equal queries."""


@dataclass(frozen=True, eq=False)
class Part:
    """A dataset with one row per document. Attributes are None if it does not contain them.

    Attributes
    ----------
    name, kind : str
        Name of the part, and the type of the dataset.
    labels : ndarray, shape (rows,)
        Relevance labels, finite.
    queries : ndarray of int, shape (rows,)
        Query of each row, from 0.
    ids : list of str or None
        Ids of the queries, unless they only number the queries.
    features : matrix or None
        Features, shape (rows, features). `zero_is_missing` if missing entries of the sparse matrix are unknown.
    names : tuple of str or None
        Names of the features.
    documents : ndarray or None
        Ids of the documents by row.
    clusters : ndarray or None
        Clusters of the rows.
    unread : tuple of str
        Further columns of a frame that are neither numeric nor categorical.
    has_document_weights : bool
        Whether weights are per document.
    error : str
        Why the rows cannot be assigned to queries. Other attributes are then meaningless.
    """

    name: str
    kind: str
    labels: Floats
    queries: Integers
    ids: list[str] | None = None
    features: Any = None
    names: tuple[str, ...] | None = None
    documents: np.ndarray[Any, Any] | None = None
    clusters: np.ndarray[Any, Any] | None = None
    unread: tuple[str, ...] = ()
    has_document_weights: bool = False
    zero_is_missing: bool = False
    error: str = ""

    @cached_property
    def sizes(self) -> Integers:
        """Number of rows of each query."""
        return np.bincount(self.queries)

    @cached_property
    def keys(self) -> Any:
        """A number for each row, equal for equal features and labels, or for equal documents with equal labels.

        Numbers are compared in 32 bits, because the parts may have another precision, and columns in the order of their
        names. None if the part contains neither features nor ids of documents and queries.
        """
        labels = compute_keys(self.labels[:, None], [-1], np.float32)
        if self.features is not None:
            columns = None if self.names is None else np.argsort(np.argsort(self.names))
            return compute_keys(self.features, columns, np.float32) + labels
        if self.documents is None or self.ids is None:
            return None
        pairs = zip(np.array(self.ids, dtype=object)[self.queries], self.documents.tolist(), strict=True)
        texts = [f"{query}\n{format_id(document)}" for query, document in pairs]
        codes = pd.util.hash_array(np.array(texts, dtype=object))
        return np.asarray(codes, dtype=np.uint64) + labels

    def find_rows(self, queries: Bools) -> Integers:
        """Return the rows of queries."""
        return np.flatnonzero(queries[self.queries])


def read_part(name: str, data: Any, columns: Mapping[str, Any] = MappingProxyType({})) -> Part:
    """Return a dataset of any kind. `columns` are the roles of columns of frames, and clusters by query id."""
    if isinstance(data, RankingData):
        return _read_ranking_data(name, data)
    if isinstance(data, Judgments):
        return _read_judgments(name, data)
    if hasattr(data, "get_uint_info"):
        return _read_dmatrix(name, data)
    if hasattr(data, "get_label") and hasattr(data, "get_group"):
        return _read_dataset(name, data)
    if hasattr(data, "columns"):
        return _read_frame(name, data, columns)
    raise TypeError(
        f"data must be RankingData, Judgments, a lightgbm.Dataset, a DMatrix or a DataFrame, got {type(data).__name__} "
        f"for {name!r}."
    )


def _read_ranking_data(name: str, data: RankingData) -> Part:
    documents = None if data.document_ids is None else np.array(data.document_ids, dtype=object)
    features = data.features.astype(np.float64) if data.categories else data.features
    for column, values in (data.categories or {}).items():  # Codes may differ between parts.
        codes = features[:, (data.feature_names or ()).index(column)]
        texts = [repr(value) if isinstance(value, str) else format_id(value) for value in values]
        numbers = np.array([zlib.crc32(text.encode()) for text in texts], dtype=np.float64)
        codes[~np.isnan(codes)] = numbers[codes[~np.isnan(codes)].astype(np.int64)]
    return Part(
        name, "RankingData", data.labels, data.qid, drop_numbers(data.query_ids.tolist()), features,
        data.feature_names, documents, has_document_weights=_are_per_document(data.weight, data.qid),
    )  # fmt: skip


def _are_per_document(weights: Any, queries: Integers) -> bool:
    """Return whether weights are per document and differ within a query."""
    if weights is None or len(weights) != len(queries):
        return False
    return bool((pd.Series(weights).groupby(queries).nunique() > 1).any())


def _read_judgments(name: str, data: Judgments) -> Part:
    documents = None if data.document_ids is None else data.document_ids[np.arange(data.documents)]
    return Part(
        name, "Judgments", data.labels, data.query_of_rows, drop_numbers(data.query_ids.tolist()),
        documents=documents, has_document_weights=_are_per_document(data.document_weights, data.query_of_rows),
    )  # fmt: skip


def _read_frame(name: str, frame: Any, columns: Mapping[str, Any]) -> Part:
    """Return a frame, whose further numeric columns are features."""
    for role in ("query", "label"):
        if columns.get(role) is None:
            raise TypeError(f"{role} must be the name of a column, got None.")
    table = as_pandas(frame, "frame")
    roles = {role: column for role, column in columns.items() if column is not None}
    by_role = {role: get_column(table, column, name, role) for role, column in roles.items()}
    others = {column: get_column(table, column, name) for column in table if column not in roles.values()}
    numeric = [column for column in others if others[column].dtype.kind in "biuf" or is_categorical(others[column])]
    if numeric:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # Further columns are no features.
            data = from_frame(
                table, label=roles["label"], query=roles["query"], document=roles.get("document"), features=numeric
            )
        part = _read_ranking_data(name, data)
    else:
        judgments = Judgments(
            by_role["label"].to_numpy(), qid=by_role["query"].to_numpy(), negative_labels="allow",
            document_ids=by_role["document"].to_numpy() if "document" in by_role else None,
        )  # fmt: skip
        part = _read_judgments(name, judgments)
    clusters = by_role["clusters"].to_numpy() if "clusters" in by_role else None
    unread = tuple(str(column) for column in others if column not in numeric)
    return replace(part, kind="DataFrame", clusters=clusters, unread=unread)


def _read_dataset(name: str, dataset: Any) -> Part:
    """Return a `lightgbm.Dataset`. Its features are known unless LightGBM has freed them."""
    labels, group, weight = (_read_field(dataset, field) for field in ("label", "group", "weight"))
    if labels is None:
        raise ValueError(f"{name} must have labels, got a Dataset without them. Pass label= to lightgbm.Dataset.")
    labels = np.asarray(labels, dtype=np.float64)
    queries, error = _assign_queries(labels, group)
    data = None if dataset.data is None or isinstance(dataset.data, str) else dataset.data
    features = names = None
    if not error and data is not None and hasattr(data, "shape"):
        matrix = RankingData(data, np.zeros(len(labels)), group=np.bincount(queries))
        features, names = matrix.features, matrix.feature_names
    has_weights = not error and _are_per_document(weight, queries)
    return Part(name, "Dataset", labels, queries, None, features, names, has_document_weights=has_weights, error=error)


def _read_field(dataset: Any, field: str) -> Any:
    """Return a field of a `lightgbm.Dataset` before or after LightGBM has constructed it, or None."""
    value = getattr(dataset, field)
    if value is None:
        with suppress(Exception):  # LightGBM raises a plain exception if the dataset is not constructed.
            value = getattr(dataset, f"get_{field}")()
    return value


def _read_dmatrix(name: str, matrix: Any) -> Part:
    """Return a `DMatrix`. A quantile matrix has no original features."""
    labels = np.asarray(matrix.get_label(), dtype=np.float64)
    if not len(labels):
        raise ValueError(f"{name} must have labels, got a DMatrix without them. Pass label= to xgboost.DMatrix.")
    boundaries = np.asarray(matrix.get_uint_info("group_ptr")).astype(np.int64)
    queries, error = _assign_queries(labels, np.diff(boundaries) if len(boundaries) else None)
    is_plain = not error and type(matrix).__name__ == "DMatrix"
    features = as_matrix(matrix.get_data()) if is_plain else None
    return Part(name, "DMatrix", labels, queries, None, features, zero_is_missing=is_plain, error=error)


def _assign_queries(labels: Floats, group: Any) -> tuple[Integers, str]:
    """Return the query of each row, or an explanation why the groups do not fit."""
    if group is None:
        return np.zeros(len(labels), dtype=np.int64), "it has no groups. Pass group= (documents per query)"
    sizes = np.asarray(group, dtype=np.int64)
    if sizes.sum() == len(labels) and (sizes >= 0).all():
        used = sizes[sizes > 0]
        return np.repeat(np.arange(len(used)), used), ""
    fix = "Pass the number of documents of each query, in the order of the rows"
    sizes_text = f"group has {len(sizes):,} entries with the sum {sizes.sum():,}, but there are {len(labels):,} rows"
    if len(sizes) == len(labels):
        _, counts = np.unique(factorize(sizes)[0], return_counts=True)
        fix = f"It has one entry per row, as query ids. {fix} (here {', '.join(map(str, counts[:3]))}, …)"
    return np.zeros(len(labels), dtype=np.int64), f"{sizes_text}. {fix}"


class SharedQueries(NamedTuple):
    """Positions of queries of the second part that the first one contains.

    `leaks` have at least two equal rows, and more than half of the rows of the shorter query. `same_ids` have the same
    id, but other rows, or rows that cannot be compared.
    """

    leaks: Integers
    same_ids: Integers

    def describe(self, first: Part, second: Part) -> Iterator[tuple[str, Integers, str]]:
        """Yield the code of each finding, its queries and a sentence."""
        ids: Any = second.ids or range(len(second.sizes))
        rows = "but other rows" if have_comparable_rows(first, second) else "whose rows cannot be compared"
        for code, places, text in (
            ("leak", self.leaks, f"all or most rows in {first.name}, too"),
            ("same ids", self.same_ids, f"the id of a query of {first.name}, {rows}"),
        ):
            if len(places):
                size = f"{len(places):,} of {pluralize(len(ids), 'query')} of {second.name}"
                have = agree(len(places), "have")
                yield code, places, f"{size} {have} {text} (the first is query {str(ids[places[0]])!r})."


def find_shared_queries(first: Part, second: Part) -> SharedQueries:
    """Return the queries of the second part that the first part contains, too.

    Pairs of queries with the same id are compared, and pairs with at least two equal rows that no other query of either
    part contains. Rows of many queries, such as documents without any match, are no evidence. Parts without keys are
    compared by ids only. A row that occurs twice in both queries counts twice.
    """
    parts = {"first": first, "second": second}
    ids = [
        pd.DataFrame({"id": pd.Series(part.ids or [], dtype=object), name: range(len(part.ids or []))})
        for name, part in parts.items()
    ]
    same_ids = ids[0].merge(ids[1], on="id")[["first", "second"]]
    if not have_comparable_rows(first, second):
        return SharedQueries(np.zeros(0, dtype=np.int64), np.unique(same_ids["second"]))
    rows = [
        pd.DataFrame({"key": part.keys, name: part.queries})
        .value_counts(sort=False)
        .rename(f"rows {name}")
        .reset_index()
        for name, part in parts.items()
    ]
    distinctive = [table[~table["key"].duplicated(keep=False)] for table in rows]
    evidence = distinctive[0].merge(distinctive[1], on="key").groupby(["first", "second"], as_index=False).size()
    pairs = pd.concat(
        [same_ids, evidence.loc[evidence["size"] >= MIN_EQUAL_ROWS, ["first", "second"]]]
    ).drop_duplicates()
    equal = pairs.merge(rows[0], on="first").merge(rows[1], on=["second", "key"])
    equal["rows"] = np.minimum(equal["rows first"], equal["rows second"])
    shared = equal.groupby(["first", "second"], as_index=False)["rows"].sum()
    shorter = np.minimum(first.sizes[shared["first"]], second.sizes[shared["second"]])
    is_leak = (shared["rows"] >= MIN_EQUAL_ROWS) & (2 * shared["rows"] > shorter)
    leaks = np.unique(shared["second"][is_leak])
    return SharedQueries(leaks, np.setdiff1d(same_ids["second"], leaks))


def have_comparable_rows(first: Part, second: Part) -> bool:
    """Return whether equal rows of two parts have equal keys."""
    columns = [(part.features is None, sorted(part.names or ())) for part in (first, second)]
    return first.keys is not None and second.keys is not None and columns[0] == columns[1]


def compute_keys(features: Any, columns: Any = None, dtype: type[Any] = np.float64) -> Keys:
    """Return a number for each row of a matrix, equal for equal rows. Zeros of sparse and dense matrices are equal.

    `columns` are the numbers of the columns, by default 0, 1, …, and `dtype` is the precision of the comparison.
    """
    places = np.arange(features.shape[1]) if columns is None else np.asarray(columns)
    if is_sparse(features):
        matrix = features.tocsr(copy=True)
        matrix.sum_duplicates()
        totals = np.append(np.uint64(0), np.cumsum(_mix(matrix.data, places[matrix.indices], dtype)))
        return np.asarray(np.diff(totals[matrix.indptr]))
    keys: Keys = np.zeros(len(features), dtype=np.uint64)
    for values, place in zip(features.T, places, strict=True):
        keys += _mix(values, place, dtype)
    return keys


def drop_numbers(ids: Sequence[Any]) -> list[str] | None:
    """Return ids as text, or None if they only number the queries from 0.

    >>> drop_numbers(["0", "1", "2"]), drop_numbers([0.0, 1.0]), drop_numbers([7, 8.0])
    (None, None, ['7', '8'])
    """
    texts = list(map(format_id, ids))
    return None if texts == list(map(str, range(len(texts)))) else texts


def _mix(values: Any, columns: Any, dtype: type[Any]) -> Keys:
    """Return pseudorandom numbers for values in columns, 0 for the value 0. Their sum over columns is the key of a row.

    Zeros do not count, so that sparse and dense rows have the same key. The numbers are those of SplitMix64.
    """
    with np.errstate(over="ignore"):
        numbers = np.asarray(values).astype(dtype).astype(np.float64)
        bits = np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64)
        bits = bits + (np.asarray(columns) + 2).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed: Keys = np.where(numbers == 0, np.uint64(0), pd.util.hash_array(bits))
    return mixed
