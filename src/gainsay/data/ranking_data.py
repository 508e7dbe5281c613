"""A labelled data set of queries and documents, however its rows are ordered."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._common.words import count
from ..judgments import Judgments
from ._features import Categories, as_frame, is_sparse, joined, recoded, united
from ._reading import (
    check_codes,
    check_documents,
    check_finite,
    checked_features,
    checked_ids,
    distinct_texts,
    read_document_ids,
    read_query_ids,
)

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Features, Ids, Numbers, Weights
    from ..judgments import NegativeLabels

_LABELS_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False, init=False)
class RankingData:
    """Features, labels and queries of a learning-to-rank data set, one row per document.

    Labels, queries and weights are read as `Judgments` reads them.

    Parameters
    ----------
    features : array-like, sparse matrix or DataFrame, shape (documents, features)
        Feature values; float32 and float64 keep their type. NaN stands for a missing value. A matrix of `scipy.sparse`
        is kept as a CSR matrix; what it does not hold is 0 to LightGBM and missing to XGBoost, as these libraries have
        it. A DataFrame (pandas, polars, pyarrow) gives its names and, for columns of dtype category, the categories.
    labels : array-like, shape (documents,)
        Relevance labels; finite. Where they are a pandas Series, all that stands by row and has an index is matched by
        it, features included.
    group : array-like of int, shape (queries,), optional
        Documents per query, in the order of the rows, as LightGBM and XGBoost take them; at least 1 each.
    qid : array-like, shape (documents,), optional
        The query of each document: numbers or strings. Rows of a query need not stand together. Give exactly one of
        `group` and `qid`.
    query_ids : array-like of str, shape (queries,), optional
        Ids of the queries, where they are not told by `qid`: then `group`, or `qid` with codes 0, 1, … in order of
        first appearance, says which rows belong to each. Two queries may carry the same id (see `concatenate`).
    document_ids : array-like, shape (documents,), optional
        One id per row; turned into a string.
    weight : array-like, shape (queries,) or (documents,), or mapping, optional
        One weight per query or per document; finite, not negative. A mapping, or a pandas Series whose index holds the
        query ids, is matched by query id.
    feature_names : sequence of str, optional
        One distinct name per column of features; those of a DataFrame are its own. Models trained in experiments keep
        them (LightGBM with "_" for a blank).
    categories : mapping, optional
        For each categorical feature, by name, its categories: strings or numbers. Its column of `features` holds their
        places, 0, 1, …, or NaN. LightGBM and XGBoost then split it by category.

    Attributes
    ----------
    features : ndarray or scipy.sparse.csr_matrix, shape (documents, features)
        Feature values, float32 or float64; of a categorical feature the places of its categories.
    labels : ndarray of float64, shape (documents,)
        Relevance labels.
    qid : ndarray of int64, shape (documents,)
        The query of every row as a code from 0 to Q − 1, numbered in the order in which the queries first appear.
    query_ids : ndarray of str, shape (Q,)
        The ids of the queries as strings: `query_ids[qid[i]]` is the id of row i's query. "0", "1", … for `group`.
    document_ids : tuple of str, or None
        One id per row.
    weight : ndarray of float64, shape (Q,) or (documents,), or None
        One weight per query, in the order of `query_ids`, or one per row.
    feature_names : tuple of str, or None
        One name per column of features.
    categories : dict of tuples, or None
        Categories by the name of the feature.

    Raises
    ------
    ValueError
        Where lengths or indexes do not fit, a query has no documents, a value is out of range, or two query ids are one
        as text. The message names the argument, the value, its row and query, and what to do.
    TypeError
        Where labels, weights or a feature are neither numbers nor, in a DataFrame, categories.

    Examples
    --------
    >>> import gainsay as gs
    >>> data = gs.RankingData([[0.5, 2], [0.1, 7], [0.9, 1]], [1, 0, 2], qid=["a", "b", "a"])
    >>> data
    RankingData(3 documents, 2 queries, 2 features; labels 0: 1, 1: 1, 2: 1)
    >>> data.contiguous().group, data.query_ids.tolist()
    (array([2, 1]), ['a', 'b'])

    Weights by query id; features of a DataFrame, with names and categories:

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"bm25": [0.5, 0.1, 0.9], "shop": pd.Categorical(["x", "y", "x"])})
    >>> data = gs.RankingData(frame, [1, 0, 2], qid=["a", "b", "a"], weight={"b": 3, "a": 1})
    >>> data.feature_names, data.categories, data.weight.tolist()
    (('bm25', 'shop'), {'shop': ('x', 'y')}, [1.0, 3.0])
    """

    features: Any
    labels: NDArray[np.float64]
    qid: NDArray[np.int64]
    query_ids: NDArray[np.str_]
    document_ids: tuple[str, ...] | None = None
    weight: NDArray[np.float64] | None = None
    feature_names: tuple[str, ...] | None = None
    categories: Categories | None = None

    def __init__(
        self,
        features: Features,
        labels: Numbers,
        *,
        group: Numbers | None = None,
        qid: Ids | None = None,
        query_ids: ArrayLike | None = None,
        document_ids: Ids | None = None,
        weight: Weights | None = None,
        feature_names: Sequence[str] | None = None,
        categories: Categories | None = None,
    ) -> None:
        check_finite(labels)
        known = query_ids is not None
        judged = Judgments(labels, group=group, qid=qid, weight=None if known else weight, negative_labels="allow")
        check_documents(judged)
        if known:
            check_codes(judged)
            texts = read_query_ids(query_ids)
            weight = None if weight is None else judged.read_weights(weight, texts)
        else:
            texts = distinct_texts("qid", judged.query_ids)
            weight = judged.weights if judged.document_weights is None else judged.document_weights
        features, feature_names, categories = checked_features(judged, features, feature_names, categories)
        set_once = partial(object.__setattr__, self)
        set_once("features", features)
        set_once("labels", judged.labels)
        set_once("qid", judged.query_of_rows)
        set_once("query_ids", checked_ids(texts, judged.queries))
        set_once("document_ids", None if document_ids is None else read_document_ids(judged, document_ids))
        set_once("weight", weight)
        set_once("feature_names", feature_names)
        set_once("categories", categories)

    def __repr__(self) -> str:
        grades, counts = np.unique(self.labels, return_counts=True)
        if grades.size <= _LABELS_SHOWN:
            labels = ", ".join(f"{grade:g}: {count}" for grade, count in zip(grades, counts, strict=True))
        else:
            labels = f"from {grades[0]:g} to {grades[-1]:g}"
        rows, columns = self.features.shape
        size = f"{count(rows, 'document')}, {count(len(self.query_ids), 'query')}, {count(columns, 'feature')}"
        extra = ("" if self.document_ids is None else "; document ids") + ("" if self.weight is None else "; weighted")
        extra += "; sparse" if is_sparse(self.features) else ""
        extra += f"; {len(self.categories)} categorical" if self.categories else ""
        return f"RankingData({size}; labels {labels}{extra})"

    @property
    def group(self) -> NDArray[np.int64]:
        """The number of documents of each query, as LightGBM and XGBoost take it; shape (Q,).

        Raises
        ------
        ValueError
            If the rows of a query do not stand together: sizes alone could not say which rows are meant.
        """
        back = np.flatnonzero(np.diff(self.qid) < 0)
        if back.size:
            row = int(back[0]) + 1
            raise ValueError(
                f"the rows of query {str(self.query_ids[self.qid[row]])!r} are not contiguous: it appears again in "
                f"row {row}; call .contiguous() first"
            )
        return self._sizes()

    def contiguous(self) -> RankingData:
        """Return the data with every query's rows together, in order of first appearance; itself if they already are.

        Rows of a query keep their order. Codes and ids of the queries stay the same.
        """
        if (np.diff(self.qid) >= 0).all():
            return self
        return self._pick(np.argsort(self.qid, kind="stable"), np.arange(len(self.query_ids)), self._sizes())

    def feature_frame(self, rows: slice = slice(None)) -> pd.DataFrame:
        """Return the features as a DataFrame under their names, categorical columns with their categories.

        Models that were trained on a DataFrame, in experiments too, predict from it.

        Parameters
        ----------
        rows : slice, optional
            Only these.

        Raises
        ------
        ValueError
            Where the features are sparse.

        Examples
        --------
        >>> data = RankingData(
        ...     [[0.5, 1], [0.1, 0]], [1, 0], group=[2],
        ...     feature_names=["bm25", "shop"], categories={"shop": ("a", "b")})
        >>> data.feature_frame()["shop"].tolist()
        ['b', 'a']
        """
        if is_sparse(self.features):
            raise ValueError("the features are sparse: libraries take data.features as they are")
        return as_frame(self.features[rows], self.feature_names, self.categories)

    def judgments(self, negative_labels: NegativeLabels = "refuse") -> Judgments:
        """Return labels, queries and weights as the `Judgments` that metrics are evaluated on.

        They know queries by `query_ids`, or by number where these only count from 0, as those of `group` do, or where
        an id stands for several queries, as in a bootstrap sample.

        Parameters
        ----------
        negative_labels : {"refuse", "allow", "zero"}
            What to do with labels below 0; see `Judgments`.
        """
        judgments = Judgments(self.labels, qid=self.qid, weight=self.weight, negative_labels=negative_labels)
        ids = self.query_ids[judgments.query_ids]
        if len(np.unique(ids)) == len(ids) and not np.array_equal(ids, judgments.query_ids.astype(ids.dtype)):
            ids.flags.writeable = False
            judgments.query_ids = ids
        return judgments

    def take_queries(self, codes: ArrayLike) -> RankingData:
        """Return the documents of some queries only, query after query in the order given.

        A code given twice gives two queries of the same id, as in a bootstrap sample.

        Parameters
        ----------
        codes
            Codes of queries, from 0 to Q − 1; shape (queries to take,), at least one.

        Raises
        ------
        ValueError
            If a code is not that of a query, or none is given.
        TypeError
            If codes are not integers.

        Examples
        --------
        >>> data = RankingData(np.zeros((3, 2)), [1, 0, 2], qid=["a", "b", "a"])
        >>> data.take_queries([1, 0]).query_ids.tolist()
        ['b', 'a']
        """
        chosen, queries = np.asarray(codes), len(self.query_ids)
        if chosen.ndim != 1 or chosen.size == 0:
            raise ValueError(f"codes must be a 1-D array of at least one query code, got shape {chosen.shape}")
        if chosen.dtype.kind not in "iu":
            raise TypeError(f"codes must be integers, got an array of {chosen.dtype}")
        wrong = (chosen < 0) | (chosen >= queries)
        if wrong.any():
            raise ValueError(f"codes must lie between 0 and {queries - 1}, got {chosen[np.argmax(wrong)]}")
        sizes = self._sizes()
        by_query = np.argsort(self.qid, kind="stable")
        starts, lengths = np.cumsum(sizes) - sizes, sizes[chosen]
        # Place of every new row within its query, added to where that query starts in by_query.
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return self._pick(by_query[np.repeat(starts[chosen], lengths) + within], chosen, lengths)

    def split_queries(self, *fractions: float, seed: int) -> tuple[RankingData, ...]:
        """Divide the queries at random into parts of the given fractions; a query is never split.

        Parameters
        ----------
        *fractions
            Two or more positive shares of the queries, which sum to 1.
        seed
            Seed of the random division.

        Returns
        -------
        tuple of RankingData
            One part per fraction. Queries keep their order within a part.

        Raises
        ------
        ValueError
            If the fractions do not sum to 1, or a part would be left without queries.

        Examples
        --------
        >>> from gainsay.data import simulate
        >>> train, valid, test = simulate(50, seed=1).split_queries(0.6, 0.2, 0.2, seed=1)
        >>> [len(part.query_ids) for part in (train, valid, test)]
        [30, 10, 10]
        """
        if len(fractions) < 2 or not all(fraction > 0 for fraction in fractions) or abs(sum(fractions) - 1) > 1e-9:
            raise ValueError(f"fractions must be two or more positive numbers that sum to 1, got {fractions}")
        queries = len(self.query_ids)
        ends = np.rint(np.cumsum(fractions) * queries).astype(np.int64)
        sizes = np.diff(ends, prepend=0)
        if sizes.min() < 1:
            part = int(np.argmin(sizes))
            raise ValueError(f"{queries} queries are too few: part {part} (fraction {fractions[part]}) gets none")
        shuffled = np.random.default_rng(seed).permutation(queries)
        return tuple(self.take_queries(np.sort(codes)) for codes in np.split(shuffled, ends[:-1]))

    @classmethod
    def concatenate(cls, parts: Iterable[RankingData]) -> RankingData:
        """Join data sets one after the other.

        Queries of different parts stay different queries, even where their ids are equal: an id names a query within
        one collection only. Document ids are kept where every part has them. Names of features must be the same in all
        parts; categories of one feature are united, those of the first part first. Weights must be given for all parts
        or for none; where one part has them per document, so has the result (a query's weight is the mean of its
        documents').

        Raises
        ------
        ValueError
            If there are no parts, their numbers, names or kinds of features differ, or some have weights and others
            none.

        Examples
        --------
        >>> data = RankingData(np.zeros((2, 1)), [1, 0], qid=["a", "a"])
        >>> both = RankingData.concatenate([data, data])
        >>> both.query_ids.tolist(), both.group.tolist()
        (['a', 'a'], [2, 2])
        """
        parts = list(parts)
        if not parts:
            raise ValueError("parts is empty; concatenate needs at least one data set")
        widths = [part.features.shape[1] for part in parts]
        if len(set(widths)) > 1:
            raise ValueError(f"parts must have the same number of features, got {widths}; read them with features=")
        parts = same_features(parts, [f"part {place}" for place in range(len(parts))])
        before = np.cumsum([0] + [len(part.query_ids) for part in parts[:-1]])
        documents = [part.document_ids for part in parts if part.document_ids is not None]
        return cls(
            features=joined([part.features for part in parts]),
            labels=np.concatenate([part.labels for part in parts]),
            qid=np.concatenate([part.qid + offset for part, offset in zip(parts, before, strict=True)]),
            query_ids=np.concatenate([part.query_ids for part in parts]),
            document_ids=tuple(itertools.chain(*documents)) if len(documents) == len(parts) else None,
            weight=_joined_weights(parts),
            feature_names=parts[0].feature_names,
            categories=parts[0].categories,
        )

    def _sizes(self) -> NDArray[np.int64]:
        return np.bincount(self.qid, minlength=len(self.query_ids)).astype(np.int64, copy=False)

    def _pick(self, rows: NDArray[np.int64], codes: NDArray[np.int64], sizes: NDArray[np.int64]) -> RankingData:
        """Return the data of `rows`, which are those of the queries `codes`, `sizes` rows of each."""
        weight = self.weight
        if weight is not None:
            weight = weight[codes] if len(weight) == len(self.query_ids) else weight[rows]
        names = self.document_ids
        return RankingData(
            features=self.features[rows],
            labels=self.labels[rows],
            qid=np.repeat(np.arange(codes.size), sizes),
            query_ids=self.query_ids[codes],
            document_ids=None if names is None else tuple(names[row] for row in rows.tolist()),
            weight=weight,
            feature_names=self.feature_names,
            categories=self.categories,
        )


def same_features(parts: Sequence[RankingData], names: Sequence[str]) -> list[RankingData]:
    """Return data sets whose features are the same, each category with one code in all; `names` say which is which.

    A `ValueError` says where names of features or their order differ, or categories are there in some of them only.
    """
    first = parts[0].feature_names
    for name, part in zip(names, parts, strict=True):
        if part.feature_names != first:
            raise ValueError(
                f"{name} has {_listed(part.feature_names)}, but {names[0]} has {_listed(first)}: all need the same "
                "features in the same order"
            )
    categories = united([part.categories for part in parts])
    if all(part.categories == categories for part in parts):
        return list(parts)
    return [
        replace(part, features=recoded(part.features, first, part.categories, categories), categories=categories)
        for part in parts
    ]


def _listed(names: tuple[str, ...] | None) -> str:
    if names is None:
        return "no feature names"
    more = f", … ({len(names)} in all)" if len(names) > 5 else ""
    return f"the features {', '.join(map(repr, names[:5]))}{more}"


def _joined_weights(parts: Sequence[RankingData]) -> NDArray[np.float64] | None:
    """Return the weights of all parts, per document as soon as one part has them so."""
    weights = [part.weight for part in parts if part.weight is not None]
    if not weights:
        return None
    if len(weights) < len(parts):
        missing = next(place for place, part in enumerate(parts) if part.weight is None)
        raise ValueError(f"part {missing} has no weight but others do; give it ones, or drop the others' weights")
    per_query = [len(weight) == len(part.query_ids) for part, weight in zip(parts, weights, strict=True)]
    if not all(per_query):
        triples = zip(parts, weights, per_query, strict=True)
        weights = [weight[part.qid] if short else weight for part, weight, short in triples]
    return np.concatenate(weights)
