"""Parts of the data for checks: labels, queries, ids and features of datasets of any kind."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.arrays import factorize
from ..data import RankingData, from_frame
from ..data.leaks import Keys, compute_keys, drop_numbers
from ..data.ranking_data import as_matrix, as_pandas
from ..data.tables import get_column
from ..judgments import Judgments

if TYPE_CHECKING:
    from .._common.typing import Bools, Floats, Integers


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
    has_document_weights: bool = False
    zero_is_missing: bool = False
    error: str = ""

    @property
    def sizes(self) -> Integers:
        """Number of rows of each query."""
        return np.bincount(self.queries)

    @property
    def keys(self) -> Keys | None:
        """Numbers of rows, equal for equal features and labels, or for equal documents of a query with equal labels."""
        labels = compute_keys(self.labels[:, None], first_column=-1)
        if self.features is not None:
            return compute_keys(self.features) + labels
        if self.documents is None or self.ids is None:
            return None
        pairs = zip(np.array(self.ids, dtype=object)[self.queries], self.documents.tolist(), strict=True)
        import pandas as pd

        codes = pd.util.hash_array(np.array([f"{query}\n{document}" for query, document in pairs], dtype=object))
        return np.asarray(codes, dtype=np.uint64) + labels

    def find_rows(self, queries: Bools) -> Integers:
        """Return the rows of queries."""
        return np.flatnonzero(queries[self.queries])


def read_part(name: str, data: Any, columns: Mapping[str, Any]) -> Part:
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
        numbers = np.array([zlib.crc32(repr(value).encode()) for value in values], dtype=np.float64)
        codes[~np.isnan(codes)] = numbers[codes[~np.isnan(codes)].astype(np.int64)]
    return Part(
        name, "RankingData", data.labels, data.qid, drop_numbers(data.query_ids.tolist()), features,
        data.feature_names, documents, has_document_weights=_are_per_document(data.weight, data.qid),
    )  # fmt: skip


def _are_per_document(weights: Any, queries: Integers) -> bool:
    """Return whether weights are per document and differ within a query."""
    if weights is None or len(weights) != len(queries):
        return False
    order = np.lexsort((weights, queries))
    same = queries[order][1:] == queries[order][:-1]
    return bool((same & (np.asarray(weights)[order][1:] != np.asarray(weights)[order][:-1])).any())


def _read_judgments(name: str, data: Judgments) -> Part:
    documents = None if data.document_ids is None else data.document_ids[np.arange(data.documents)]
    return Part(
        name, "Judgments", data.labels, data.query_of_rows, drop_numbers(data.query_ids.tolist()),
        documents=documents, has_document_weights=_are_per_document(data.document_weights, data.query_of_rows),
    )  # fmt: skip


def _read_frame(name: str, frame: Any, columns: Mapping[str, Any]) -> Part:
    """Return a frame, whose further numeric columns are features."""
    table = as_pandas(frame, "frame")
    roles = {role: column for role, column in columns.items() if column is not None}
    by_role = {role: get_column(table, column, name, role) for role, column in roles.items()}
    others = table.drop(columns=list(dict.fromkeys([*roles.values()])))
    numeric = [column for column in others if others[column].dtype.kind in "biuf" or _is_categorical(others[column])]
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
    return Part(**{**vars(part), "kind": "DataFrame", "clusters": clusters})


def _is_categorical(column: Any) -> bool:
    return hasattr(column, "cat")


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
