"""Ranking datasets: features, labels and queries, from arrays or DataFrames."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._common.arrays import align_rows, factorize, format_id, index_of, integers, is_missing, nearest, numbers, vector
from .._common.text import agree, pluralize
from .._common.validation import validate_distinct, validate_text
from ..judgments import Judgments
from .tables import get_column

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Features, Frame, Ids, Numbers, Weights
    from ..judgments import NegativeLabels

Categories = Mapping[str, tuple[Any, ...]]

_MAX_GRADES = 10


@dataclass(frozen=True, eq=False, repr=False, init=False)
class RankingData:
    """Features, labels and queries of a learning-to-rank dataset, one row per document.

    Use it to split whole queries and to pass data to `gainwise.Experiment`. Labels, queries and weights are validated
    and converted as by `Judgments`. The page "Matching rows and ids" describes how rows, ids and features are matched.

    Parameters
    ----------
    features : array-like, sparse matrix or DataFrame, shape (documents, features)
        Feature values. NaN is a missing value. A DataFrame (pandas, polars, pyarrow) also provides the names and the
        categories of columns of dtype category.
    labels : array-like, shape (documents,)
        Relevance labels, finite. If they are a pandas Series, all arguments that have an index are aligned to it.
    group : array-like of int, shape (queries,), optional
        Number of documents per query, in row order, at least 1 each. Pass exactly one of `group` and `qid`.
    qid : array-like, shape (documents,), optional
        Query id of each document, as numbers or strings. The rows of a query need not be contiguous.
    query_ids : array-like of str, shape (queries,), optional
        Ids of the queries of `group`, or of `qid` with codes 0, 1, … in order of first appearance.
    document_ids : array-like, shape (documents,), optional
        One id per row, converted to a string.
    weight : array-like, shape (queries,) or (documents,), or mapping, optional
        Non-negative weights per query or per document. A mapping, or a Series indexed by query id, is matched by query
        id.
    feature_names : sequence of str, optional
        One distinct name per column of features. Omit it for DataFrames.
    categories : mapping, optional
        Categories of each categorical feature, by name. The column contains their positions 0, 1, … or NaN.
    columns : mapping of str to array-like, shape (documents,), optional
        Further labels by name, such as revenue or clicks, for metrics with ``column=NAME``. See `Judgments`.
    keys : mapping of str to array-like, shape (queries,) or (documents,), optional
        Time, user or another property of each query, by name, for splits. It is the same for all rows of a query.
    index : pandas.Index, optional
        Index of the rows, to which arguments that have an index are aligned. Defaults to that of `labels`, or of `qid`.

    Attributes
    ----------
    features : ndarray or scipy.sparse.csr_matrix, shape (documents, features)
        Feature values, float32 or float64, with codes of categories.
    labels : ndarray of float64, shape (documents,)
        Relevance labels.
    qid : ndarray of int64, shape (documents,)
        Query of each row, as a code from 0 to Q − 1 in order of first appearance.
    query_ids : ndarray of str, shape (Q,)
        Query ids. `query_ids[qid[i]]` is the id of row i's query. If you passed `group`, these are "0", "1", … The
        text of a whole float is that of the integer: 7.0 is "7".
    document_ids : tuple of str, or None
        One id per row.
    weight : ndarray of float64, shape (Q,) or (documents,), or None
        One weight per query, in the order of `query_ids`, or one per row.
    feature_names : tuple of str, or None
        One name per column of features.
    categories : dict of tuples, or None
        Categories by the name of the feature.
    columns : dict of ndarray of float64, shape (documents,)
        Further labels by name. NaN marks a document without a judgment.
    keys : dict of ndarray, shape (Q,)
        Properties of queries by name, in the order of `query_ids`.
    index : pandas.Index, or None
        Index of the rows, which `judgments` use to match scores. It is that of a DataFrame also after `contiguous`,
        splits and `concatenate`.

    Raises
    ------
    ValueError
        If lengths or indexes do not match, a query has no documents, a value is out of range, or two query ids are the
        same text. The message names the argument, the value and its location.
    TypeError
        If labels, weights or features are not numbers. Features of a DataFrame may also be categorical.

    See Also
    --------
    gainwise.data.from_frame : Create ranking data from a DataFrame.
    gainwise.data.simulate : Simulate ranking data.
    gainwise.Judgments : Labels without features.

    Notes
    -----
    Sparse matrices become CSR matrices. LightGBM reads their missing entries as 0, XGBoost as missing.

    Examples
    --------
    >>> import gainwise as gw
    >>> data = gw.RankingData([[0.5, 2], [0.1, 7], [0.9, 1]], [1, 0, 2], qid=["a", "b", "a"])
    >>> data
    RankingData(3 documents, 2 queries, 2 features; labels 0: 1, 1: 1, 2: 1)
    >>> data.contiguous().group, data.query_ids.tolist()
    (array([2, 1]), ['a', 'b'])
    """

    features: Any
    labels: NDArray[np.float64]
    qid: NDArray[np.int64]
    query_ids: NDArray[np.str_]
    document_ids: tuple[str, ...] | None = None
    weight: NDArray[np.float64] | None = None
    feature_names: tuple[str, ...] | None = None
    categories: Categories | None = None
    columns: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    keys: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    index: pd.Index[Any] | None = None

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
        columns: Mapping[str, Numbers] | None = None,
        keys: Mapping[str, Ids] | None = None,
        index: pd.Index[Any] | None = None,
    ) -> None:
        labels = labels if index is None else _index_rows(index, align_rows(index, "labels", labels))
        values = numbers("labels", labels)
        if not np.isfinite(values).all():  # Judgments would suggest an option that this class does not have.
            row = int(np.argmin(np.isfinite(values)))
            raise ValueError(f"labels must be finite, got {values[row]} in row {row}. Remove unjudged documents.")
        has_ids = query_ids is not None
        judgments = Judgments(
            labels, group=group, qid=qid, weight=None if has_ids else weight, negative_labels="allow", columns=columns
        )
        if judgments.sizes.min() == 0:
            position = int(np.argmin(judgments.sizes))
            raise ValueError(f"group must be at least 1, got 0 (entry {position}). Remove queries without documents.")
        if has_ids:
            texts = _convert_query_ids(query_ids, judgments)
            weight = None if weight is None else judgments.read_weights(weight, texts)
        else:
            texts = _convert_distinct(judgments.query_ids)
            weight = judgments.weights if judgments.document_weights is None else judgments.document_weights
        features, feature_names, categories = _convert_features(judgments, features, feature_names, categories)
        documents = None if document_ids is None else _convert_document_ids(judgments, document_ids)
        # The class is frozen.
        vars(self).update(features=features, labels=judgments.labels, qid=judgments.query_of_rows, query_ids=texts)
        vars(self).update(document_ids=documents, weight=weight, feature_names=feature_names, categories=categories)
        vars(self).update(columns=judgments.columns, keys=_read_keys(judgments, keys), index=judgments.index)

    def __repr__(self) -> str:
        grades, counts = np.unique(self.labels, return_counts=True)
        if grades.size <= _MAX_GRADES:
            labels = ", ".join(f"{grade:g}: {count}" for grade, count in zip(grades, counts, strict=True))
        else:
            labels = f"from {grades[0]:g} to {grades[-1]:g}"
        rows, columns = self.features.shape
        size = f"{pluralize(rows, 'document')}, {pluralize(len(self.query_ids), 'query')}"
        extra = "; document ids" if self.document_ids is not None else ""
        extra += "; weighted" if self.weight is not None else ""
        extra += "; sparse" if is_sparse(self.features) else ""
        extra += f"; {len(self.categories)} categorical" if self.categories else ""
        extra += f"; columns {', '.join(self.columns)}" if self.columns else ""
        extra += f"; keys {', '.join(self.keys)}" if self.keys else ""
        return f"RankingData({size}, {pluralize(columns, 'feature')}; labels {labels}{extra})"

    @property
    def group(self) -> NDArray[np.int64]:
        """The number of documents of each query as LightGBM and XGBoost require it, shape (Q,).

        Raises
        ------
        ValueError
            If the rows of a query are not contiguous.
        """
        back = np.flatnonzero(np.diff(self.qid) < 0)
        if back.size:
            row = int(back[0]) + 1
            raise ValueError(
                f"the rows of query {str(self.query_ids[self.qid[row]])!r} must be contiguous, but it continues in "
                f"row {row}. Call .contiguous() first."
            )
        return self._sizes()

    def contiguous(self) -> RankingData:
        """Return the data with contiguous queries in order of first appearance.

        Rows of a query keep their order, and queries keep their codes and ids. Contiguous data are returned as is.
        A pandas Series of scores for the original rows still matches by `index`, but an array of them does not.
        """
        if (np.diff(self.qid) >= 0).all():
            return self
        return self._pick(np.argsort(self.qid, kind="stable"), np.arange(len(self.query_ids)), self._sizes())

    def feature_frame(self, rows: slice = slice(None)) -> pd.DataFrame:
        """Return the features as a DataFrame with their names, their categories and the index of the rows.

        Pass it to models that were trained on a DataFrame, as in experiments.

        Parameters
        ----------
        rows : slice, optional
            The rows to return. Defaults to all.

        Raises
        ------
        ValueError
            If the features are sparse.

        Examples
        --------
        >>> data = RankingData(
        ...     [[0.5, 1], [0.1, 0]], [1, 0], group=[2],
        ...     feature_names=["bm25", "shop"], categories={"shop": ("a", "b")})
        >>> data.feature_frame()["shop"].tolist()
        ['b', 'a']
        """
        if is_sparse(self.features):
            raise ValueError("features must be dense, got a sparse matrix. Pass data.features to the libraries.")
        import pandas as pd

        names = None if self.feature_names is None else list(self.feature_names)
        frame = pd.DataFrame(self.features[rows], None if self.index is None else self.index[rows], names)
        for name, values in (self.categories or {}).items():
            codes = frame[name].fillna(-1).to_numpy().astype(np.int64)
            column = pd.Categorical.from_codes(codes, categories=pd.Index(list(values)))
            frame[name] = pd.Series(column, index=frame.index)
        return frame

    def judgments(self, negative_labels: NegativeLabels = "refuse") -> Judgments:
        """Return labels, queries and weights as `Judgments` for evaluation.

        Its query ids are `query_ids`. They are numbers if `query_ids` are "0", "1", … or not unique. A pandas Series of
        scores is matched by `index`.

        Parameters
        ----------
        negative_labels : {"refuse", "allow", "zero"}, default "refuse"
            How to treat labels below 0. See `Judgments`.
        """
        documents = None if self.document_ids is None else np.array(self.document_ids, dtype=object)
        judgments = Judgments(
            self.labels if self.index is None else _index_rows(self.index, self.labels),
            qid=self.qid,
            weight=self.weight,
            negative_labels=negative_labels,
            document_ids=documents,
            columns=self.columns,
        )
        ids = self.query_ids[judgments.query_ids]
        if len(np.unique(ids)) == len(ids) and not np.array_equal(ids, judgments.query_ids.astype(ids.dtype)):
            ids.flags.writeable = False
            judgments.query_ids = ids
        return judgments

    def take_queries(self, codes: ArrayLike) -> RankingData:
        """Return the documents of some queries, in the order of `codes`.

        If a code occurs twice, the result has two queries with the same id, as in a bootstrap sample.

        Parameters
        ----------
        codes : array-like of int, shape (queries to take,)
            Codes of queries, from 0 to Q − 1, at least one.

        Raises
        ------
        ValueError
            If there are no codes, or one is out of range or has a fraction.
        TypeError
            If codes are not numbers, for example a mask.

        Examples
        --------
        >>> data = RankingData(np.zeros((3, 2)), [1, 0, 2], qid=["a", "b", "a"])
        >>> data.take_queries([1, 0]).query_ids.tolist()
        ['b', 'a']
        """
        chosen = self._validate_codes(codes)
        sizes = self._sizes()
        by_query = np.argsort(self.qid, kind="stable")
        lengths = sizes[chosen]
        # In by_query, each query begins this much further than in the new rows.
        shifts = (np.cumsum(sizes) - sizes)[chosen] - (np.cumsum(lengths) - lengths)
        return self._pick(by_query[np.arange(lengths.sum()) + np.repeat(shifts, lengths)], chosen, lengths)

    def _validate_codes(self, codes: ArrayLike) -> NDArray[np.int64]:
        """Return codes of queries as an array, or raise."""
        values, queries = vector("codes", codes), len(self.query_ids)
        if not len(values):
            raise ValueError("codes must have at least one query, got none. Pass positions in query_ids.")
        if values.dtype.kind == "b":
            raise TypeError("codes must be positions in query_ids, got a mask. Pass numpy.flatnonzero(codes).")
        if values.dtype.kind not in "iuf":
            fix = "Pass positions, such as numpy.flatnonzero(numpy.isin(data.query_ids, ids))."
            raise TypeError(f"codes must be positions in query_ids, got {str(values[0])!r}. {fix}")
        chosen = integers("codes", values)
        outside = (chosen < 0) | (chosen >= queries)
        if outside.any():
            entry = int(np.argmax(outside))
            raise ValueError(
                f"codes must be positions in query_ids, from 0 to {queries - 1}, got {chosen[entry]} (entry {entry})."
            )
        return chosen

    def split_queries(
        self,
        *fractions: float,
        seed: int | None = None,
        groups: str | None = None,
        by: str | None = None,
        at: Any = None,
    ) -> tuple[RankingData, ...]:
        """Split the data into parts of whole queries, at random or by time.

        Parameters
        ----------
        *fractions : float
            Two or more positive shares of the queries, which sum to 1.
        seed : int, optional
            Seed of the random split. Required with fractions.
        groups : str, optional
            A key, such as ``"user"``. All queries with the same value are in the same part, so the shares are
            approximate.
        by : str, optional
            A key, such as ``"time"``, to split by instead of at random.
        at : value of the key, or sequence of these
            The first value of the second part, or of the second, third, … part in ascending order. ISO dates are
            accepted for times.

        Returns
        -------
        tuple of RankingData
            One part per fraction, or one more than the values of `at`. Queries keep their order within a part.

        Raises
        ------
        ValueError
            If the fractions do not sum to 1, a part would have no queries, or a key does not exist.
        TypeError
            If neither fractions and a seed nor `by` and `at` are passed, or `at` cannot be compared with the key.

        Examples
        --------
        >>> from gainwise.data import simulate
        >>> train, valid, test = simulate(50, seed=1).split_queries(0.6, 0.2, 0.2, seed=1)
        >>> [len(part.query_ids) for part in (train, valid, test)]
        [30, 10, 10]
        >>> data = RankingData(
        ...     np.zeros((4, 1)), [1, 0, 2, 0], qid=list("abcd"),
        ...     keys={"user": [7, 8, 7, 8], "day": ["2026-01-05", "2026-03-01", "2026-02-10", "2026-01-31"]})
        >>> [part.query_ids.tolist() for part in data.split_queries(by="day", at="2026-02-01")]
        [['a', 'd'], ['b', 'c']]
        >>> [part.query_ids.tolist() for part in data.split_queries(0.5, 0.5, seed=0, groups="user")]
        [['a', 'c'], ['b', 'd']]
        """
        if by is not None or at is not None:
            if fractions or seed is not None or groups is not None or by is None or at is None:
                raise TypeError(
                    "by and at must be passed together, without fractions, seed and groups. Call "
                    "split_queries(by='time', at='2026-01-01')."
                )
            return self._split_at(by, at)
        if len(fractions) < 2 or not all(fraction > 0 for fraction in fractions) or abs(sum(fractions) - 1) > 1e-9:
            raise ValueError(f"fractions must be two or more positive numbers that sum to 1, got {fractions}")
        if seed is None:
            raise TypeError("seed must be an integer, got None. Pass seed=0 for a random split.")
        number, queries = self.group_queries(groups), len(self.query_ids)
        shuffled = np.random.default_rng(seed).permutation(number.max() + 1)
        before = np.cumsum(np.bincount(number)[shuffled])
        targets = np.rint(np.cumsum(fractions[:-1]) * queries)
        ends = [int(np.abs(before - target).argmin()) + 1 for target in targets]
        parts = np.split(shuffled, ends)
        empty = next((place for place, part in enumerate(parts) if not len(part)), None)
        if empty is not None or targets[0] == 0:
            size = pluralize(len(shuffled), "query" if groups is None else "value")
            size += f"{'' if groups is None else f' of {groups!r}'} {agree(len(shuffled), 'are')} too few"
            raise ValueError(f"{size}, part {empty or 0} (fraction {fractions[empty or 0]}) would be empty")
        return tuple(self.take_queries(np.flatnonzero(np.isin(number, part))) for part in parts)

    def _split_at(self, by: str, at: Any) -> tuple[RankingData, ...]:
        """Return the queries before the first value of a key, from each value on, and before the next one."""
        import pandas as pd

        values = pd.Series(self.get_key(by))
        cuts = list(at) if isinstance(at, list | tuple | np.ndarray) else [at]
        try:
            place = np.sum([(values >= cut).to_numpy() for cut in cuts], axis=0)
        except TypeError as error:
            raise TypeError(f"at must be comparable with key {by!r} ({values.dtype}), got {at!r}: {error}.") from None
        numbers_of_queries = np.bincount(place, minlength=len(cuts) + 1)
        if not numbers_of_queries.all() or any(first >= second for first, second in itertools.pairwise(cuts)):
            raise ValueError(
                f"at must be ascending with queries in every part, got {at!r} for {by!r} from {values.min()} to "
                f"{values.max()} ({', '.join(map(str, numbers_of_queries))} queries)."
            )
        return tuple(self.take_queries(np.flatnonzero(place == part)) for part in range(len(cuts) + 1))

    def get_key(self, name: str) -> NDArray[Any]:
        """Return the value of a key for each query, or raise an error if the key does not exist."""
        if name not in self.keys:
            raise ValueError(
                f"the data have no key {name!r}{nearest(name, self.keys)} (keys: {', '.join(self.keys) or 'none'}). "
                f"Pass keys={{{name!r}: …}}, or keys=[{name!r}] to from_frame."
            )
        return self.keys[name]

    def group_queries(self, key: str | None) -> NDArray[np.int64]:
        """Return the number of the group of each query, from 0: queries with the same value of a key, or each alone."""
        return np.arange(len(self.query_ids)) if key is None else factorize(self.get_key(key))[0]

    @staticmethod
    def concatenate(parts: Iterable[RankingData]) -> RankingData:
        """Join datasets.

        Queries of different parts remain different queries, even if their ids are equal. Document ids are kept if every
        part has them. Categories of a feature are merged, and weights are per document if one part has them so. Indexes
        are joined, and a part without an index has missing entries, which match no other index.

        Parameters
        ----------
        parts : iterable of RankingData
            Datasets with the same features. Either all or none of them have weights.

        Raises
        ------
        ValueError
            If parts is empty, their features differ, or only some of them have weights.

        Examples
        --------
        >>> data = RankingData(np.zeros((2, 1)), [1, 0], qid=["a", "a"])
        >>> both = RankingData.concatenate([data, data])
        >>> both.query_ids.tolist(), both.group.tolist()
        (['a', 'a'], [2, 2])
        """
        parts = list(parts)
        if not parts:
            raise ValueError("parts must have at least one dataset, got an empty list")
        parts = same_features(parts, [f"part {place}" for place in range(len(parts))])
        before = np.cumsum([0] + [len(part.query_ids) for part in parts[:-1]])
        documents = [part.document_ids for part in parts if part.document_ids is not None]
        return replace(
            parts[0],
            features=_stack_rows([part.features for part in parts]),
            labels=np.concatenate([part.labels for part in parts]),
            qid=np.concatenate([part.qid + offset for part, offset in zip(parts, before, strict=True)]),
            query_ids=np.concatenate([part.query_ids for part in parts]),
            document_ids=tuple(itertools.chain(*documents)) if len(documents) == len(parts) else None,
            weight=_join_weights(parts),
            columns=_join_arrays("column", [part.columns for part in parts]),
            keys=_join_arrays("key", [part.keys for part in parts]),
            index=_join_indexes(parts),
        )

    def _sizes(self) -> NDArray[np.int64]:
        return np.bincount(self.qid, minlength=len(self.query_ids)).astype(np.int64, copy=False)

    def _pick(self, rows: NDArray[np.int64], codes: NDArray[np.int64], sizes: NDArray[np.int64]) -> RankingData:
        """Return the data of `rows`, which belong to the queries `codes`, `sizes` rows to each."""
        weight = self.weight
        if weight is not None:
            weight = weight[codes] if len(weight) == len(self.query_ids) else weight[rows]
        names = self.document_ids
        return replace(
            self,
            features=self.features[rows],
            labels=self.labels[rows],
            qid=np.repeat(np.arange(codes.size), sizes),
            query_ids=self.query_ids[codes],
            document_ids=None if names is None else tuple(names[row] for row in rows.tolist()),
            weight=weight,
            columns={name: values[rows] for name, values in self.columns.items()},
            keys={name: values[codes] for name, values in self.keys.items()},
            index=None if self.index is None else self.index[rows],
        )


def from_frame(
    frame: Frame,
    *,
    label: Hashable,
    query: Hashable,
    features: Sequence[Hashable] | None = None,
    document: Hashable | None = None,
    weight: Hashable | None = None,
    columns: Sequence[str] = (),
    keys: Sequence[str] = (),
) -> RankingData:
    """Create ranking data from the columns of a DataFrame, one row per document.

    Parameters
    ----------
    frame : DataFrame
        A DataFrame of pandas, or another table with a method `to_pandas` (polars, pyarrow).
    label : str
        Column of relevance labels.
    query : str
        Column of query ids of any type. The rows of a query need not be contiguous.
    features : sequence of str, optional
        Feature columns, numeric or categorical. Defaults to all such columns without another role, with a warning about
        the rest. Pass it if the frame has other columns, such as scores of a model.
    document : str, optional
        Column of document ids.
    weight : str, optional
        Column of weights, one per document.
    columns : sequence of str, optional
        Columns of further labels, such as revenue, for metrics with ``column=NAME``.
    keys : sequence of str, optional
        Columns of time, user or other properties of queries, for `RankingData.split_queries`.

    Returns
    -------
    RankingData
        Features are float32 if all their columns are float32, float16 or categorical, otherwise float64. Names of
        columns, and categories of columns of dtype category (polars: Categorical and Enum, pyarrow: dictionary), are
        kept, as is the index of pandas. Missing features are NaN. Ids become strings.

    Raises
    ------
    ValueError
        If a column is missing or not unique, a label, query id, document id or weight is missing, a column has two
        roles, two query ids are the same text, or no feature column exists.
    TypeError
        If `frame` is not a DataFrame, a column of labels or weights is not numeric, or a feature is neither numeric nor
        categorical.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"q": ["b", "b", "a"], "grade": [1, 0, 2], "bm25": [3.5, 1.0, 2.0]})
    >>> data = from_frame(frame, label="grade", query="q")
    >>> data
    RankingData(3 documents, 2 queries, 1 feature; labels 0: 1, 1: 1, 2: 1)
    >>> data.query_ids.tolist()
    ['b', 'a']
    >>> data.feature_names
    ('bm25',)
    """
    table = as_pandas(frame, "frame")
    names = {"label": label, "query": query, "document": document, "weight": weight}
    by_role = {role: get_column(table, name, "frame") for role, name in names.items() if name is not None}
    roles = [name for name in (*names.values(), *columns, *keys) if name is not None]
    unused: list[Hashable] = []
    if features is None:
        others = {name: get_column(table, name, "frame") for name in table.columns if name not in roles}
        unused = [name for name, column in others.items() if not _is_numeric(column) and not is_categorical(column)]
        features = [name for name in others if name not in unused]
    features = list(features)
    if not features:
        raise ValueError("no feature columns: frame has no other numeric or categorical column")
    repeated = next((name for name, count in Counter([*roles, *features]).items() if count > 1), None)
    if repeated is not None:
        raise ValueError(f"column {repeated!r} must have one role, but has two, or is named twice in one of them")
    for name in features:
        get_column(table, name, "frame")  # Raises if it is missing or not unique.
    data = RankingData(
        features=table[features],
        labels=by_role["label"].to_numpy(),
        qid=by_role["query"].to_numpy(),
        document_ids=by_role["document"].tolist() if "document" in by_role else None,
        weight=by_role["weight"].to_numpy() if "weight" in by_role else None,
        columns={name: get_column(table, name, "frame").to_numpy() for name in columns},
        keys={name: get_column(table, name, "frame").to_numpy() for name in keys},
        index=index_of(frame),
    )
    if unused:
        listed = ", ".join(f"{name!r} ({table[name].dtype})" for name in unused[:5]) + (", …" if unused[5:] else "")
        warnings.warn(
            f"columns that are neither numeric nor categorical are ignored: {listed}. Pass features= or convert them "
            "with astype('category').",
            stacklevel=2,
        )
    return data


def _index_rows(index: pd.Index[Any], values: Any) -> pd.Series[Any]:
    """Return one value per row with the index of the rows, or raise if their numbers differ."""
    import pandas as pd

    if len(index) != len(values):
        raise ValueError(f"index must have one entry per label ({len(values)}), got {len(index)}.")
    return pd.Series(np.asarray(values), index=index)


def _convert_features(
    judgments: Judgments, features: Any, names: Any, categories: Any
) -> tuple[Any, tuple[str, ...] | None, Categories | None]:
    """Return features as a matrix in the order of the labels, with their names and categories."""
    features = judgments.in_row_order("features", features)
    if hasattr(features, "columns"):
        if names is not None or categories:
            raise ValueError(
                "features is a DataFrame, which has its own names and categories. Omit feature_names and categories, "
                "and rename or convert its columns instead."
            )
        frame = as_pandas(features, "features")
        names = [str(name) for name in frame.columns]
        features, categories = _frame_to_matrix(frame)
    matrix = as_matrix(features)
    if matrix.ndim != 2:
        raise ValueError(f"features must have shape (documents, features), got {matrix.shape}")
    if matrix.shape[0] != judgments.documents:
        raise ValueError(
            f"features must have one row per label ({judgments.documents}), but has {matrix.shape[0]} rows"
        )
    names = _validate_names(names, matrix.shape[1])
    return matrix, names, _validate_categories(categories, names, matrix)


def _read_keys(judgments: Judgments, keys: Mapping[str, Any] | None) -> dict[str, NDArray[Any]]:
    """Return one value per query of each key, or raise if a query has none or several."""
    if not isinstance(keys, Mapping | None):
        raise TypeError(f"keys must map names to values, got {type(keys).__name__}.")
    read, query_of_rows = {}, judgments.query_of_rows
    first_rows = np.unique(query_of_rows, return_index=True)[1]
    for name, values in (keys or {}).items():
        argument = f"keys[{name!r}]"
        by_row = vector(argument, judgments.in_row_order(argument, values))
        if len(by_row) == judgments.queries:
            by_row = by_row[query_of_rows]
        elif len(by_row) != judgments.documents:
            size = f"one entry per query ({judgments.queries}) or per document ({judgments.documents})"
            raise ValueError(f"{argument} must have {size}, got {len(by_row)}.")
        codes = factorize(by_row)[0]
        wrong = (codes < 0) | (codes != codes[first_rows][query_of_rows])
        if wrong.any():
            query = judgments.query_of_row(int(np.argmax(wrong)))
            raise ValueError(f"{argument} must have one value per query, but query {query} has none or several.")
        read[name] = by_row[first_rows]
    return read


def _convert_query_ids(ids: Any, judgments: Judgments) -> NDArray[np.str_]:
    """Return ids of queries as text, or raise if one is missing or `qid` does not number the queries."""
    codes = judgments.query_ids
    is_code = (codes == np.arange(judgments.queries)) & (codes.dtype.kind in "iu")
    if not is_code.all():
        query = int(np.argmin(is_code))
        raise ValueError(
            "qid must be the integers 0, 1, … in order of first appearance if you pass query_ids, got "
            f"{codes[query]!s} as query {query}. Omit query_ids to use any ids."
        )
    values = list(vector("query_ids", ids))
    if len(values) != judgments.queries:
        raise ValueError(f"query_ids must have one id per query ({judgments.queries}), got {len(values)}")
    return np.array(_convert_ids("query_ids", values), dtype=np.str_)


def _convert_document_ids(judgments: Judgments, ids: Any) -> tuple[str, ...]:
    """Return one text per row, or raise if ids are missing."""
    ids = judgments.in_row_order("document_ids", ids)
    texts = tuple(_convert_ids("document_ids", ids.to_pylist() if hasattr(ids, "to_pylist") else list(ids)))
    if len(texts) != judgments.documents:
        raise ValueError(f"document_ids must have one id per row ({judgments.documents}), got {len(texts)}")
    return texts


def _convert_distinct(ids: NDArray[Any]) -> NDArray[np.str_]:
    """Return ids as text, or raise if two of them are the same text (1 and "1")."""
    values = ids.tolist()
    if ids.dtype.kind in "mM":
        import pandas as pd

        values = pd.Index(ids).tolist()  # NumPy lists times in nanoseconds as integers.
    originals: dict[str, Any] = {}
    for value, text in zip(values, np.array(_convert_ids("qid", values), dtype=np.str_).tolist(), strict=True):
        if text in originals:
            raise ValueError(f"qid has {originals[text]!r} and {value!r}, which are one id as text. Rename one.")
        originals[text] = value
    return np.array(list(originals), dtype=np.str_)


def _convert_ids(name: str, ids: list[Any]) -> list[str]:
    """Return ids as text, or raise if one is missing or cannot be written to tables and files."""
    if set(map(type, ids)) != {str}:
        missing = next((at for at, value in enumerate(ids) if is_missing(value)), None)
        if missing is not None:
            raise ValueError(f"{name} has no id at position {missing}")
        ids = [
            value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else format_id(value) for value in ids
        ]
    try:
        "".join(ids).encode()
    except UnicodeEncodeError:
        for position, text in enumerate(ids):
            validate_text(f"{name}[{position}]", text)
    return ids


def same_features(parts: Sequence[RankingData], names: Sequence[str]) -> list[RankingData]:
    """Return datasets with the same codes of categories, or raise if their features differ. Errors use `names`."""
    first = parts[0].feature_names
    for name, part in zip(names, parts, strict=True):
        if part.feature_names != first:
            raise ValueError(
                f"{name} has {_format_names(part.feature_names)}, but {names[0]} has {_format_names(first)}. All "
                "require the same features in the same order."
            )
        columns, expected = part.features.shape[1], parts[0].features.shape[1]
        if columns != expected:
            raise ValueError(
                f"{name} has {pluralize(columns, 'feature')}, but {names[0]} has {expected}. All require the same "
                "features in the same order. If you read files, pass features= to the reader."
            )
    categories = _merge_categories([part.categories for part in parts])
    return [part if part.categories == categories else _recode(part, categories or {}) for part in parts]


def _merge_categories(categories: Sequence[Categories | None]) -> Categories | None:
    """Return the categories of several datasets: those of the first, then those that the others add."""
    merged: dict[str, dict[Any, None]] = {}
    for part in categories:
        for name, values in (part or {}).items():
            merged.setdefault(name, {}).update(dict.fromkeys(values))
    for name, union in merged.items():
        without = next((number for number, part in enumerate(categories) if name not in (part or {})), None)
        if without is not None:
            raise ValueError(
                f"feature {name!r} has categories in some datasets and numbers in others (number {without}). Convert "
                "all of them with frame[column].astype('category')."
            )
        if len({isinstance(value, str) for value in union}) > 1:
            raise ValueError(f"the categories of feature {name!r} are strings in some datasets and numbers in others")
    return {name: tuple(values) for name, values in merged.items()} or None


def _recode(data: RankingData, categories: Categories) -> RankingData:
    """Return data whose codes are positions in these categories."""
    features, names = data.features.copy(), data.feature_names or ()
    for name, values in (data.categories or {}).items():
        new_codes = {value: code for code, value in enumerate(categories[name])}
        codes = np.array([*(new_codes[value] for value in values), np.nan])
        column = features[:, names.index(name)]
        column[:] = codes[np.where(np.isnan(column), -1, column).astype(np.int64)]
    return replace(data, features=features, categories=categories)


def _format_names(names: tuple[str, ...] | None) -> str:
    if names is None:
        return "no feature names"
    more = f", … ({len(names)} in all)" if len(names) > 5 else ""
    return f"the features {', '.join(map(repr, names[:5]))}{more}"


def _join_weights(parts: Sequence[RankingData]) -> NDArray[np.float64] | None:
    """Return the weights of all parts, per document if one part has them per document."""
    weights = [part.weight for part in parts if part.weight is not None]
    if not weights:
        return None
    if len(weights) < len(parts):
        missing = next(number for number, part in enumerate(parts) if part.weight is None)
        raise ValueError(f"part {missing} has no weight but others do. Pass weights of 1, or remove the others'.")
    if any(len(weight) != len(part.query_ids) for part, weight in zip(parts, weights, strict=True)):
        pairs = zip(parts, weights, strict=True)
        weights = [weight[part.qid] if len(weight) == len(part.query_ids) else weight for part, weight in pairs]
    return np.concatenate(weights)


def is_sparse(features: Any) -> bool:
    """Return whether a matrix is one of `scipy.sparse`."""
    return hasattr(features, "tocsr")


def as_matrix(features: Any) -> Any:
    """Return features as an array or, if they are sparse, as a CSR matrix, in float32 or float64.

    Masked entries of masked arrays become NaN.
    """
    if isinstance(features, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(features), np.nan, _as_floats(features.data))
    if not is_sparse(features):
        return _as_floats(np.asarray(features))
    from scipy.sparse import csr_matrix

    matrix = features if isinstance(features, csr_matrix) else csr_matrix(features)  # LightGBM rejects csr_array.
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    values = _as_floats(matrix.data)
    return matrix if values is matrix.data else csr_matrix((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def _as_floats(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype in (np.dtype(np.float32), np.dtype(np.float64)):
        return values
    if values.dtype.kind not in "biuf":
        raise TypeError(f"features must be numbers, got an array of {values.dtype}")
    return values.astype(np.float64)


def _validate_names(names: Any, columns: int) -> tuple[str, ...] | None:
    """Return the names of features, or raise if they are not one distinct string per column."""
    if names is None:
        return None
    texts = tuple(map(str, names))
    if len(texts) != columns:
        raise ValueError(f"feature_names must have one name per column of features ({columns}), got {len(texts)}")
    validate_distinct("feature_names", texts)
    return tuple(validate_text(f"feature_names[{position}]", name) for position, name in enumerate(texts))


def _validate_categories(categories: Any, names: tuple[str, ...] | None, features: Any) -> Categories | None:
    """Return the categories by feature, in the order of columns, or raise if a column does not contain their codes."""
    if not categories:
        return None
    if names is None or is_sparse(features):
        raise ValueError("categories require feature_names and dense features")
    unknown = next((name for name in categories if name not in names), None)
    if unknown is not None:
        raise ValueError(f"categories must be those of feature_names, got {unknown!r}")
    ordered = {name: tuple(categories[name]) for name in names if name in categories}
    for name, values in ordered.items():
        for value in values:
            # Model files of the libraries contain no other types.
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise TypeError(
                    f"the categories of feature {name!r} must be strings or numbers, got {value!r} of type "
                    f"{type(value).__name__}. Convert them to strings."
                )
        if len({isinstance(value, str) for value in values}) > 1 or len(set(values)) < len(values):
            raise ValueError(f"the categories of feature {name!r} must be distinct, and all strings or all numbers")
        codes = features[:, names.index(name)]
        wrong = ~(np.isnan(codes) | ((codes >= 0) & (codes < len(values)) & (codes == np.floor(codes))))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"feature {name!r} has {len(values)} categories, so its values must be codes from 0 to "
                f"{len(values) - 1} or NaN, got {codes[row]} in row {row}"
            )
    return ordered


def _join_indexes(parts: Sequence[RankingData]) -> pd.Index[Any] | None:
    """Return the indexes of all parts, with missing entries for a part without an index, or None if no part has one."""
    import pandas as pd

    indexes = [part.index for part in parts if part.index is not None]
    if not indexes:
        return None
    if len(indexes) == len(parts):
        return indexes[0].append(indexes[1:])
    entries = ([None] * len(part.labels) if part.index is None else part.index for part in parts)
    return pd.Index(list(itertools.chain(*entries)), dtype=object)


def _join_arrays(kind: str, parts: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Return columns or keys of all parts, or raise if a part lacks one that another part has."""
    for name in dict.fromkeys(name for part in parts for name in part):
        missing = next((number for number, part in enumerate(parts) if name not in part), None)
        if missing is not None:
            raise ValueError(f"part {missing} has no {kind} {name!r}, but others do. Read it in all parts.")
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _stack_rows(matrices: Sequence[Any]) -> Any:
    """Return the rows of several matrices, one after the other."""
    sparse = [is_sparse(matrix) for matrix in matrices]
    if not any(sparse):
        return np.concatenate(matrices)
    if not all(sparse):
        raise ValueError(
            f"features must be all dense or all sparse, but those of part {sparse.index(False)} are dense and those of "
            f"part {sparse.index(True)} sparse. XGBoost reads missing entries of sparse matrices as missing values."
        )
    from scipy.sparse import vstack

    return vstack(matrices, format="csr")


def parts_of(features: Any) -> dict[str, NDArray[Any]]:
    """Return the arrays of a matrix by name: one if it is dense, four if it is sparse."""
    if not is_sparse(features):
        return {"features": features}
    indices, starts = features.indices.astype(np.int64), features.indptr.astype(np.int64)
    return {"values": features.data, "indices": indices, "starts": starts, "shape": np.array(features.shape)}


def from_parts(parts: Mapping[str, NDArray[Any]]) -> Any:
    """Return the matrix that consists of these arrays."""
    if "features" in parts:
        return parts["features"]
    from scipy.sparse import csr_matrix

    return csr_matrix((parts["values"], parts["indices"], parts["starts"]), shape=tuple(parts["shape"].tolist()))


def as_pandas(frame: Any, name: str) -> pd.DataFrame:
    """Return a pandas DataFrame, converted by the method `to_pandas` of other tables."""
    import pandas as pd

    if isinstance(frame, pd.DataFrame):
        return frame
    if not hasattr(frame, "to_pandas"):
        raise TypeError(f"{name} must be a DataFrame, got {type(frame).__name__}")
    converted: pd.DataFrame = frame.to_pandas()
    return converted


def _is_numeric(column: pd.Series[Any]) -> bool:
    """Return whether a column contains real numbers or truth values."""
    from pandas.api.types import is_complex_dtype, is_numeric_dtype

    return is_numeric_dtype(column.dtype) and not is_complex_dtype(column.dtype)


def is_categorical(column: pd.Series[Any]) -> bool:
    """Return whether a column has dtype category."""
    return str(column.dtype) == "category"


def _frame_to_matrix(frame: pd.DataFrame) -> tuple[NDArray[np.floating[Any]], dict[str, tuple[Any, ...]]]:
    """Return the columns as one matrix, in which categories are codes, and the categories by name."""
    columns = [get_column(frame, name, "frame") for name in frame.columns]
    categories: dict[str, tuple[Any, ...]] = {}
    narrow = all(is_categorical(column) or column.dtype in ("float32", "float16") for column in columns)
    matrix = np.empty(frame.shape, dtype=np.float32 if narrow else np.float64)
    for position, column in enumerate(columns):
        if is_categorical(column):
            codes = column.cat.codes.to_numpy()
            matrix[:, position] = np.where(codes < 0, np.nan, codes)
            categories[str(column.name)] = tuple(column.cat.categories.tolist())
        elif _is_numeric(column):
            matrix[:, position] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            raise TypeError(
                f"feature column {column.name!r} must be numeric, got {column.dtype}. Convert it or leave it out, or "
                "make it a categorical feature with astype('category')."
            )
    return matrix, categories
