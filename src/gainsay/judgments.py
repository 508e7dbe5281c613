"""Relevance judgments of many queries: validated once, bound once, then only read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from ._common.arrays import integers, nearest, numbers, vector
from ._common.cached import cached_property
from ._common.names import check_text
from .ranking.layout import Layout

if TYPE_CHECKING:
    from ._common.typing import Bools, Codes, Floats, Integers

NegativeLabels = Literal["refuse", "allow", "zero"]


def check_negative_labels(choice: str) -> None:
    """Raise unless this is something that can be done with negative labels."""
    if choice not in get_args(NegativeLabels):
        raise ValueError(
            f"negative_labels must be 'refuse', 'allow' or 'zero', got {choice!r}"
            + nearest(str(choice), get_args(NegativeLabels))
        )


class Judgments:
    """The labels of documents, grouped by query, with the weight of each query.

    Everything that does not depend on scores is worked out here once: which documents belong to which query, the
    distinct labels, and where each document goes when all queries are ranked side by side.

    Parameters
    ----------
    labels : array-like, shape (documents,)
        Relevance labels (grades), not negative; fractions and large values are fine.
    group : array-like of int, shape (queries,), optional
        Documents per query, in the order of `labels`, as LightGBM and XGBoost take them. An entry may be 0.
    qid : array-like, shape (documents,), optional
        The query of each document: numbers or strings. Rows of a query need not be contiguous; queries are numbered
        in order of their first row. Give exactly one of `group` and `qid`.
    weight : array-like, shape (queries,) or (documents,), optional
        Weights of queries (not negative, not all zero). Given one per document, as LightGBM takes them, the weight of
        a query is the mean of its documents' weights.
    negative_labels : {"refuse", "allow", "zero"}
        What to do with labels below 0: refuse them with an error, keep them (then only linear gain is possible and
        NDCG may leave [0, 1]), or count them as 0 as trec_eval does.

    Attributes
    ----------
    sizes : ndarray of int64, shape (queries,)
        Documents per query.
    query_ids : ndarray, shape (queries,)
        The value of `qid` for each query; 0, 1, 2, … where `group` was given.
    weights : ndarray of float64, shape (queries,), or None
        The weight of each query.

    Raises
    ------
    ValueError
        Where lengths do not fit, groups do not sum to the number of documents, or a value is NaN, infinite or out of
        range. The message names the argument, the value, its row and query, and what to do.

    Examples
    --------
    >>> import gainsay as gs
    >>> gs.Judgments([3, 0, 1, 2, 0], group=[3, 2])
    Judgments(queries=2, documents=5, labels 0 to 3)
    >>> gs.Judgments([3, 0, 1, 2, 0], qid=["a", "b", "a", "b", "a"]).sizes
    array([3, 2])
    """

    bound: tuple[tuple[Any, Any], ...] = ()
    """What evaluations on these judgments worked out of them before; not pickled."""

    def __init__(
        self,
        labels: Any,
        *,
        group: Any = None,
        qid: Any = None,
        weight: Any = None,
        negative_labels: NegativeLabels = "refuse",
    ) -> None:
        check_negative_labels(negative_labels)
        values = numbers("labels", labels)
        if len(values) == 0:
            raise ValueError("labels is empty: there is no document to judge")
        self.sizes, self.query_ids, self._rows = _grouping(len(values), group, qid)
        values = self._checked_labels(values, negative_labels)
        self.levels, codes = _levels_and_codes(values)
        self._flat_codes = codes if self._rows is None else codes[self._rows]
        self.weights, self._document_weights = self._checked_weights(weight)
        for array in (self.sizes, self.query_ids, self.weights, self.levels, self._flat_codes):
            if array is not None:
                array.flags.writeable = False

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        label: str = "label",
        query: str = "query",
        *,
        weight: str | None = None,
        negative_labels: NegativeLabels = "refuse",
    ) -> Judgments:
        """Return the judgments that stand in columns of a DataFrame (pandas, polars or pyarrow), one row per document.

        Scores in further columns of the same frame fit them: `evaluate(metrics, judgments, frame["score"])`.

        Parameters
        ----------
        frame : DataFrame
            One row per document; the rows of a query need not be contiguous.
        label, query, weight : str
            Names of the columns; without `weight` all queries count the same.
        negative_labels : {"refuse", "allow", "zero"}
            See `Judgments`.

        Raises
        ------
        ValueError
            Where a column is missing; the message lists those that exist.

        Examples
        --------
        >>> import pandas as pd
        >>> import gainsay as gs
        >>> frame = pd.DataFrame({"query": ["a", "b", "a"], "label": [0, 1, 1], "score": [0.3, 0.2, 0.1]})
        >>> gs.evaluate("mrr", gs.Judgments.from_frame(frame), frame["score"]).mean
        {'mrr': 0.75}
        """
        if isinstance(frame, Mapping) or not hasattr(frame, "columns"):
            raise TypeError(f"frame must be a DataFrame of pandas, polars or pyarrow, got {type(frame).__name__}")
        known = list(map(str, getattr(frame, "column_names", frame.columns)))
        for role, name in (("label", label), ("query", query), ("weight", weight)):
            if name is not None and name not in known:
                raise ValueError(
                    f"the frame has no column {name!r} for {role}={nearest(name, known)} (it has {', '.join(known)})"
                )
        return cls(
            frame[label],
            qid=frame[query],
            weight=None if weight is None else frame[weight],
            negative_labels=negative_labels,
        )

    @property
    def queries(self) -> int:
        """Number of queries, those without documents included."""
        return len(self.sizes)

    @property
    def documents(self) -> int:
        """Number of judged documents."""
        return len(self._flat_codes)

    @property
    def labels(self) -> Floats:
        """The labels in the caller's order, a fresh float64 array of shape (documents,)."""
        ordered = self.levels[self._flat_codes]
        if self._rows is None:
            return ordered
        labels = np.empty_like(ordered)
        labels[self._rows] = ordered
        return labels

    @property
    def max_label(self) -> float:
        """The highest label of all."""
        return float(self.levels[-1])

    @cached_property
    def layout(self) -> Layout:
        """Where each document stands when all queries are ranked side by side."""
        return Layout(self.sizes, self._flat_codes, len(self.levels))

    def __len__(self) -> int:
        return self.queries

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "bound"}

    def __repr__(self) -> str:
        weighted = ", weighted" if self.weights is not None else ""
        return (
            f"Judgments(queries={self.queries}, documents={self.documents}, "
            f"labels {self.levels[0]:g} to {self.levels[-1]:g}{weighted})"
        )

    def _repr_html_(self) -> str:
        return f"<code>{self!r}</code>"

    def by_query(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return one value per document so that the documents of each query stand together."""
        return values if self._rows is None else values[self._rows]

    def query_of_row(self, row: int) -> Any:
        """Return the id of the query to which document `row` (in the caller's order) belongs."""
        position = row if self._rows is None else int(np.flatnonzero(self._rows == row)[0])
        return self.query_ids[int(np.searchsorted(np.cumsum(self.sizes), position, side="right"))]

    def relevant(self, min_label: float) -> Integers:
        """Return how many documents of each query have a label of at least `min_label`, shape (queries,)."""
        return self.layout.count(self.code_at_least(min_label))

    def code_at_least(self, min_label: float) -> int:
        """Return the code of the lowest distinct label that is at least `min_label`."""
        return int(np.searchsorted(self.levels, min_label, side="left"))

    def float32_weights(self, mean: bool) -> Floats | None:
        """Return the query weights as a library holds them that keeps weights as 32-bit floats.

        With `mean`, as LightGBM does: a weight for every document, added up one by one in 32 bits and divided.
        """
        if self.weights is None:
            return None
        if not mean:
            return self.weights.astype(np.float32).astype(np.float64)
        documents = self._document_weights
        if documents is None:
            documents = np.repeat(self.weights, self.sizes)
        sums = self.layout.sequential_sums(documents.astype(np.float32))
        return (sums / np.maximum(self.sizes, 1).astype(np.float32)).astype(np.float64)

    def _checked_labels(self, values: np.ndarray[Any, Any], negative_labels: str) -> np.ndarray[Any, Any]:
        bad = ~np.isfinite(values)
        if bad.any():
            raise ValueError(
                f"labels must be finite: {self._count_and_place(bad, values)}; drop or judge these documents"
            )
        negative = values < 0
        if not negative.any():
            not_negative: np.ndarray[Any, Any] = values + values.dtype.type(0)  # -0.0 and 0.0 are one label
            return not_negative
        if negative_labels == "refuse":
            raise ValueError(
                f"labels must not be negative: {self._count_and_place(negative, values)}; "
                "pass negative_labels='zero' to count them as 0 (as trec_eval does) "
                "or negative_labels='allow' to let them lower a linear-gain metric"
            )
        return np.where(negative, 0, values) if negative_labels == "zero" else values

    def _checked_weights(self, weight: Any) -> tuple[Floats | None, Floats | None]:
        """Return the weights of queries and, where they were given, of documents, those of a query together."""
        if weight is None:
            return None, None
        weights = numbers("weight", weight).astype(np.float64)
        if len(weights) not in (self.queries, self.documents):
            raise ValueError(
                f"weight has {len(weights)} entries; it must have one per query ({self.queries}) "
                f"or one per document ({self.documents})"
            )
        bad = ~np.isfinite(weights) | (weights < 0)
        if bad.any():
            at = int(np.argmax(bad))
            raise ValueError(f"weight must be finite and not negative; entry {at} is {weights[at]}")
        if not weights.any():
            raise ValueError("weight is 0 for every query: a weighted mean needs at least one positive weight")
        if len(weights) == self.queries:
            return weights, None
        weights = self.by_query(weights)
        totals = np.bincount(self._query_of_document(), weights=weights, minlength=self.queries)
        return totals / np.maximum(self.sizes, 1), weights

    def _query_of_document(self) -> Integers:
        return np.repeat(np.arange(self.queries), self.sizes)

    def _count_and_place(self, bad: Bools, values: np.ndarray[Any, Any]) -> str:
        row = int(np.argmax(bad))
        return (
            f"{int(bad.sum())} of {len(values)} are not, the first is {values[row]} at row {row} "
            f"(query {self.query_of_row(row)!s})"
        )


def _grouping(documents: int, group: Any, qid: Any) -> tuple[Integers, np.ndarray[Any, Any], Integers | None]:
    """Return sizes, query ids and, where the rows of a query are scattered, the order that brings them together."""
    if (group is None) == (qid is None):
        given = "both" if group is not None else "neither"
        raise ValueError(
            f"give exactly one of group= (documents per query) and qid= (the query of each document), got {given}; "
            "for a single query pass group=[len(labels)]"
        )
    if qid is not None:
        return _from_qid(documents, vector("qid", qid))
    sizes = integers("group", group)
    if len(sizes) and sizes.min() < 0:
        at = int(np.argmin(sizes))
        raise ValueError(f"group must not be negative; entry {at} is {sizes[at]}")
    if sizes.sum() != documents:
        hint = " (did you mean qid=?)" if len(sizes) == documents else ""
        raise ValueError(
            f"group sums to {sizes.sum()} documents over {len(sizes)} queries but there are {documents} labels{hint}"
        )
    return sizes, np.arange(len(sizes)), None


def _from_qid(documents: int, qid: np.ndarray[Any, Any]) -> tuple[Integers, np.ndarray[Any, Any], Integers | None]:
    if len(qid) != documents:
        hint = " (did you mean group=?)" if len(qid) < documents else ""
        raise ValueError(f"qid has {len(qid)} entries but there are {documents} labels; give one per document{hint}")
    missing = _missing(qid)
    if missing.any():
        raise ValueError(
            f"qid is missing for {int(missing.sum())} of {documents} documents, the first at row "
            f"{int(np.argmax(missing))}; every document needs its query"
        )
    starts = np.flatnonzero(np.concatenate(([True], qid[1:] != qid[:-1])))
    run_codes, ids = _factorize(qid[starts])
    _check_ids(ids)
    lengths = np.diff(np.append(starts, documents))
    sizes = np.bincount(run_codes, weights=lengths, minlength=len(ids)).astype(np.int64)
    if len(ids) == len(starts):
        return sizes, ids, None
    rows = np.argsort(np.repeat(run_codes, lengths), kind="stable")
    return sizes, ids, rows


def _check_ids(ids: np.ndarray[Any, Any]) -> None:
    """Refuse query ids that no table and no file takes."""
    if ids.dtype.kind in "UO":
        for query in ids.tolist():
            if isinstance(query, str) and not query.isascii():
                check_text(f"the query id {query!r}", query)


def _missing(keys: np.ndarray[Any, Any]) -> Bools:
    """Tell where a key is NaN, NaT, None or pandas.NA."""
    if keys.dtype.kind == "O":
        import pandas as pd

        return np.asarray(pd.isna(keys))
    unequal_to_itself: Bools = keys != keys
    return unequal_to_itself


def _factorize(keys: np.ndarray[Any, Any]) -> tuple[Integers, np.ndarray[Any, Any]]:
    """Return the number of each key and the distinct keys, in order of first appearance."""
    if keys.dtype.kind == "O":
        import pandas as pd

        codes, ids = pd.factorize(keys)
        return codes.astype(np.int64), np.asarray(ids)
    distinct, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    return number[inverse.ravel()], distinct[order]


def _levels_and_codes(values: np.ndarray[Any, Any]) -> tuple[Floats, Codes]:
    """Return the distinct values, ascending, and the position among them of each value.

    Positions are of the narrowest signed type that also holds -1.
    """
    if len(values) and values.min() >= 0 and values.max() < 256:  # whole grades, nearly always: no need to sort
        grades = values.astype(np.uint8)
        if (grades == values).all():
            there = np.bincount(grades, minlength=256) > 0
            levels = np.flatnonzero(there)
            return levels.astype(np.float64), (np.cumsum(there) - 1).astype(_narrow(levels))[grades]
    levels = np.unique(values)
    return levels.astype(np.float64), np.searchsorted(levels, values).astype(_narrow(levels))


def _narrow(levels: np.ndarray[Any, Any]) -> np.dtype[Any]:
    return np.min_scalar_type(-len(levels))
