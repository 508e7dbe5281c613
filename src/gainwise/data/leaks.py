"""Queries that two parts of the data share: leaks, recognized by their rows, and ids that occur twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._common.arrays import factorize
from .._common.text import pluralize
from .._common.typing import Integers
from .ranking_data import RankingData, is_sparse

Keys = NDArray[np.uint64]

MIN_EQUAL_ROWS = 2
"""A single equal row is no evidence for equal queries."""


class QueryRows(NamedTuple):
    """The rows of a part: a key of each row, which is equal for equal rows, its query, and the ids of the queries.

    Ids are None if they only number the queries, as ids that were made from groups.
    """

    keys: Keys
    queries: Integers
    ids: Sequence[str] | None

    @property
    def sizes(self) -> Integers:
        """Number of rows of each query."""
        return np.bincount(self.queries)


class SharedQueries(NamedTuple):
    """Positions of queries of the second part that the first one contains.

    `leaks` have at least two equal rows, and more than half of the rows of the shorter query. `same_ids` have the same
    id, but other rows.
    """

    leaks: Integers
    same_ids: Integers


def read_rows(data: RankingData) -> QueryRows:
    """Return the rows of a dataset. Rows are equal if their features and labels are."""
    keys = compute_keys(data.features) + compute_keys(data.labels[:, None], first_column=-1)
    return QueryRows(keys, data.qid, drop_numbers(data.query_ids.tolist()))


def compute_keys(features: Any, first_column: int = 0) -> Keys:
    """Return a number for each row of a matrix, equal for equal rows. Zeros of sparse and dense matrices are equal."""
    if is_sparse(features):
        matrix = features.tocsr(copy=True)
        matrix.sum_duplicates()
        totals = np.append(np.uint64(0), np.cumsum(_mix(matrix.data, matrix.indices)))
        return np.asarray(np.diff(totals[matrix.indptr]))
    keys: Keys = np.zeros(len(features), dtype=np.uint64)
    for column in range(features.shape[1]):
        keys += _mix(features[:, column], first_column + column)
    return keys


def drop_numbers(ids: Sequence[Any]) -> list[str] | None:
    """Return ids as text, or None if they only number the queries from 0.

    >>> drop_numbers(["0", "1", "2"]), drop_numbers([7, 8])
    (None, ['7', '8'])
    """
    texts = list(map(str, ids))
    return None if texts == list(map(str, range(len(texts)))) else texts


def _mix(values: Any, columns: Any) -> Keys:
    """Return pseudorandom numbers for values in columns, 0 for the value 0. Their sum over columns is the key of a row.

    Zeros do not count, so that sparse and dense rows have the same key. The numbers are those of SplitMix64.
    """
    numbers = np.asarray(values, dtype=np.float64)
    bits = np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64)
    with np.errstate(over="ignore"):
        bits = bits + (np.asarray(columns) + 2).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Keys = np.where(numbers == 0, np.uint64(0), bits ^ (bits >> np.uint64(31)))
    return mixed


def find_shared_queries(first: QueryRows, second: QueryRows) -> SharedQueries:
    """Return the queries of the second part that the first part contains, too.

    Pairs of queries with the same id are compared, and pairs with at least two equal rows that no other query of either
    part contains. Rows of many queries, such as documents without any match, are no evidence.
    """
    same_ids = _match_ids(first, second)
    pairs = np.unique(np.concatenate([same_ids, _match_rows(first, second)]), axis=0)
    if not len(pairs):
        return SharedQueries(pairs[:, 1], pairs[:, 1])
    shared = _count_equal_rows(first, second, pairs)
    shorter = np.minimum(first.sizes[pairs[:, 0]], second.sizes[pairs[:, 1]])
    leaks = np.unique(pairs[(shared >= MIN_EQUAL_ROWS) & (2 * shared > shorter), 1])
    return SharedQueries(leaks, np.setdiff1d(same_ids[:, 1], leaks))


def describe_shared_queries(shared: SharedQueries, first: str, second: str, ids: Any) -> list[str]:
    """Return a sentence about leaks and one about equal ids, if there are any. `ids` are those of the second part."""
    sentences = []
    for places, text in (
        (shared.leaks, f"have all or most of their rows in {first}, too"),
        (shared.same_ids, f"have the id of a query of {first}, but other rows"),
    ):
        if len(places):
            size = f"{len(places):,} of {pluralize(len(ids), 'query')} of {second}"
            sentences.append(f"{size} {text} (the first is query {str(ids[places[0]])!r}).")
    return sentences


def _match_ids(first: QueryRows, second: QueryRows) -> Integers:
    """Return the pairs of queries with the same id, shape (pairs, 2)."""
    if first.ids is None or second.ids is None:
        return np.empty((0, 2), dtype=np.int64)
    places: dict[str, list[int]] = {}
    for place, name in enumerate(first.ids):
        places.setdefault(name, []).append(place)
    pairs = [(place, other) for other, name in enumerate(second.ids) for place in places.get(name, ())]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _match_rows(first: QueryRows, second: QueryRows) -> Integers:
    """Return the pairs of queries that share enough rows that no other query has, shape (pairs, 2)."""
    keys, queries = _find_distinctive_rows(first)
    other_keys, other_queries = _find_distinctive_rows(second)
    _, places, others = np.intersect1d(keys, other_keys, assume_unique=True, return_indices=True)
    number = len(second.sizes)
    pairs, counts = np.unique(queries[places] * number + other_queries[others], return_counts=True)
    return np.stack(np.divmod(pairs[counts >= MIN_EQUAL_ROWS], number), axis=1)


def _find_distinctive_rows(rows: QueryRows) -> tuple[Keys, Integers]:
    """Return the keys that occur in one query only, and this query."""
    order = np.lexsort((rows.queries, rows.keys))
    keys, queries = rows.keys[order], rows.queries[order]
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    ends = np.append(starts[1:], len(keys)) - 1
    distinctive = starts[queries[starts] == queries[ends]]
    return keys[distinctive], queries[distinctive]


def _count_equal_rows(first: QueryRows, second: QueryRows, pairs: Integers) -> Integers:
    """Return the number of equal rows of each pair of queries. A row that occurs twice in both counts twice."""
    codes, distinct = factorize(np.concatenate([first.keys, second.keys]))
    sides = []
    for side, (rows, own) in enumerate(((first, codes[: len(first.keys)]), (second, codes[len(first.keys) :]))):
        order = np.argsort(rows.queries, kind="stable")
        sizes = rows.sizes[pairs[:, side]]
        starts = (np.cumsum(rows.sizes) - rows.sizes)[pairs[:, side]]
        numbers = np.repeat(np.arange(len(pairs)), sizes)
        places = np.arange(len(numbers)) + np.repeat(starts - np.cumsum(sizes) + sizes, sizes)
        sides.append(numbers * len(distinct) + own[order[places]])
    (rows_1, counts_1), (rows_2, counts_2) = (np.unique(side, return_counts=True) for side in sides)
    equal, places, others = np.intersect1d(rows_1, rows_2, assume_unique=True, return_indices=True)
    weights = np.minimum(counts_1[places], counts_2[others])
    return np.bincount(equal // len(distinct), weights=weights, minlength=len(pairs)).astype(np.int64)
