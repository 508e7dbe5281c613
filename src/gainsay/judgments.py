"""Relevance judgments of many queries: validated once, bound once, then only read."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from ._common.alignment import in_order_of, index_of, weights_in_order
from ._common.arrays import identifiers, integers, nearest, numbers, refuse_unready, vector
from ._common.cached import cached_property
from ._common.distinct import factorize
from ._common.names import check_text
from ._common.sums import scale_weights
from .ranking.layout import Layout

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._common.typing import Bools, Codes, Floats, Frame, Ids, Integers, Numbers, Weights

NegativeLabels = Literal["refuse", "allow", "zero"]
Unjudged = Literal["irrelevant", "drop"]


class Grouped(NamedTuple):
    """Queries of documents that stand together by query, for `qid=` of `Judgments`."""

    ids: list[str]
    sizes: Integers


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
        Relevance labels (grades), not negative; fractions and large values are fine. Where they are a pandas Series,
        all that stands by row and has an index is matched by it, scores included.
    group : array-like of int, shape (queries,), optional
        Documents per query, in the order of `labels`, as LightGBM and XGBoost take them. An entry may be 0.
    qid : array-like, shape (documents,), optional
        The query of each document: numbers or strings. Rows of a query need not be contiguous; queries are numbered
        in order of their first row, and ids that differ in Python are different queries. Give exactly one of `group`
        and `qid`.
    weight : array-like, shape (queries,) or (documents,), or mapping, optional
        Weights of queries (not negative, not all zero). A mapping, or a pandas Series whose index holds the query ids,
        is matched by query id. Given one per document, as LightGBM takes them, the weight of a query is the mean of its
        documents' weights.
    negative_labels : {"refuse", "allow", "zero"}
        What to do with labels below 0: refuse them with an error, keep them (then only linear gain is possible and
        NDCG may leave [0, 1]), or count them as 0 as trec_eval does.
    judged : array-like of bool, shape (documents,), optional
        False where nobody judged the document, so that its label (0 or NaN) says nothing. Such a document has label 0
        for every metric but `Judged`, which tells how many there are, unless `unjudged="drop"` takes it out of the
        ranking. Without `judged` every document was judged.
    texts : mapping of query id to str, optional
        What was asked, for people to read: reports show it beside the id. Queries may be missing, and others are passed
        over.
    titles : array-like of str, shape (documents,), optional
        What documents are called, for people to read.

    Attributes
    ----------
    judged : ndarray of bool, shape (documents,), or None
        Which documents were judged, in the order of the labels; None where that was not said.
    sizes : ndarray of int64, shape (queries,)
        Documents per query.
    query_ids : ndarray, shape (queries,)
        The value of `qid` for each query; 0, 1, 2, … where `group` was given.
    weights : ndarray of float64, shape (queries,), or None
        The weight of each query.
    texts : mapping of query id to str
        What was asked, as far as that was given.
    titles : ndarray of str, shape (documents,), or None
        In the order of the labels.

    Raises
    ------
    ValueError
        Where lengths or indexes do not fit, groups do not sum to the number of documents, or a value is NaN, infinite
        or out of range. The message names the argument, the value, its row and query, and what to do.

    Examples
    --------
    >>> import gainsay as gs
    >>> gs.Judgments([3, 0, 1, 2, 0], group=[3, 2])
    Judgments(queries=2, documents=5, labels 0 to 3)
    >>> gs.Judgments([3, 0, 1, 2, 0], qid=["a", "b", "a", "b", "a"]).sizes
    array([3, 2])
    >>> gs.Judgments([3, float("nan"), 1], group=[3], judged=[True, False, True])
    Judgments(queries=1, documents=3, 1 of them unjudged, labels 0 to 3)
    """

    bound: tuple[tuple[Any, Any], ...] = ()
    """What evaluations on these judgments worked out of them before; not pickled."""

    def __init__(
        self,
        labels: Numbers,
        *,
        group: Numbers | None = None,
        qid: Ids | Grouped | None = None,
        weight: Weights | None = None,
        negative_labels: NegativeLabels = "refuse",
        judged: ArrayLike | None = None,
        texts: Mapping[Any, str] | None = None,
        titles: ArrayLike | None = None,
    ) -> None:
        check_negative_labels(negative_labels)
        self._index = next((index for index in map(index_of, (labels, qid)) if index is not None), None)
        values = numbers("labels", labels)
        if len(values) == 0:
            raise ValueError("labels is empty: there is no document to judge")
        self.sizes, self.query_ids, self._rows = _grouping(len(values), group, self.in_row_order("qid", qid))
        self.judged = None if judged is None else self._checked_judged(self.in_row_order("judged", judged), values)
        if self.judged is not None:
            values = np.where(self.judged, values, values.dtype.type(0))
        values = self._checked_labels(values, negative_labels)
        self.levels, codes = _levels_and_codes(values)
        self._flat_codes = codes if self._rows is None else codes[self._rows]
        self.weights, self._document_weights = self._checked_weights(weight, group)
        self.texts = self._checked_texts(texts)
        self.titles = self._checked_titles(titles)
        fixed = (self.sizes, self.query_ids, self.weights, self.levels, self._flat_codes, self.judged, self.titles)
        for array in fixed:
            if array is not None:
                array.flags.writeable = False

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        label: str = "label",
        query: str = "query",
        *,
        weight: str | None = None,
        negative_labels: NegativeLabels = "refuse",
        judged: str | None = None,
        text: str | None = None,
        title: str | None = None,
    ) -> Judgments:
        """Return the judgments that stand in columns of a DataFrame (pandas, polars or pyarrow), one row per document.

        Scores in further columns of the same frame fit them: `evaluate(metrics, judgments, frame["score"])`.

        Parameters
        ----------
        frame : DataFrame
            One row per document; the rows of a query need not be contiguous.
        label, query, weight, judged, text, title : str
            Names of the columns. Without `weight` all queries count the same, without `judged` every document was
            judged. `text` says what was asked (the first row of a query counts), `title` what a document is called.
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
        refuse_unready("frame", frame)
        if isinstance(frame, Mapping) or not hasattr(frame, "columns"):
            raise TypeError(f"frame must be a DataFrame of pandas, polars or pyarrow, got {type(frame).__name__}")
        known = list(map(str, getattr(frame, "column_names", frame.columns)))
        asked = {"label": label, "query": query, "weight": weight, "judged": judged, "text": text, "title": title}
        for role, name in asked.items():
            if name is not None and name not in known:
                raise ValueError(
                    f"the frame has no column {name!r} for {role}={nearest(name, known)} (it has {', '.join(known)})"
                )
        return cls(
            frame[label],
            qid=frame[query],
            weight=None if weight is None else frame[weight],
            negative_labels=negative_labels,
            judged=None if judged is None else frame[judged],
            texts=None if text is None else _first_texts(frame[query], frame[text]),
            titles=None if title is None else frame[title],
        )

    @property
    def queries(self) -> int:
        """Number of queries, those without documents included."""
        return len(self.sizes)

    @property
    def documents(self) -> int:
        """Number of documents, those that nobody judged included."""
        return len(self._flat_codes)

    @property
    def unjudged(self) -> int:
        """Number of documents that nobody judged."""
        return 0 if self.judged is None else self.documents - int(self.judged.sum())

    @property
    def labels(self) -> Floats:
        """The labels in the caller's order, a fresh float64 array of shape (documents,)."""
        return self._by_row(self.levels[self._flat_codes])

    @property
    def query_of_rows(self) -> Integers:
        """The place in `query_ids` of each document's query, in the caller's order; shape (documents,)."""
        return self._by_row(self._query_of_document())

    @property
    def document_weights(self) -> Floats | None:
        """The weights of documents in the caller's order, where there was one for each; else None."""
        return None if self._document_weights is None else self._by_row(self._document_weights)

    @property
    def max_label(self) -> float:
        """The highest label of all."""
        return float(self.levels[-1])

    @cached_property
    def layout(self) -> Layout:
        """Where each document stands when all queries are ranked side by side."""
        return Layout(self.sizes, self._flat_codes, len(self.levels))

    @cached_property
    def whether_judged(self) -> Judgments | None:
        """The same documents, those of a query together, with label 1 where judged and 0 where not; None if unknown."""
        if self.judged is None:
            return None
        return Judgments(self.by_query(self.judged), group=self.sizes)

    @cached_property
    def condensed(self) -> tuple[Judgments, Bools]:
        """The same queries with their judged documents only, and which of all documents, by query, these are.

        A query without judged documents stays, without documents.

        Raises
        ------
        ValueError
            Where it was not said which documents were judged.
        """
        if self.judged is None:
            raise ValueError(
                "unjudged='drop' needs to know which documents nobody judged, and labels alone do not say so: "
                "take evaluate_run or compare_runs, or pass judged= with the labels"
            )
        kept = self.by_query(self.judged)
        condensed = copy(self)
        for name in ("layout", "whether_judged", "condensed"):
            condensed.__dict__.pop(name, None)
        condensed.sizes = np.bincount(self._query_of_document()[kept], minlength=self.queries)
        condensed.titles = None if self.titles is None else self.by_query(self.titles)[kept]
        condensed.judged = condensed._rows = condensed._document_weights = condensed._index = None
        left = self._flat_codes[kept]
        there = np.unique(left)
        condensed.levels = self.levels[there]
        condensed._flat_codes = np.searchsorted(there, left).astype(_narrow(there))
        return condensed, kept

    def __len__(self) -> int:
        return self.queries

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "bound"}

    def __repr__(self) -> str:
        weighted = ", weighted" if self.weights is not None else ""
        holes = f"{self.unjudged} of them unjudged, " if self.unjudged else ""
        return (
            f"Judgments(queries={self.queries}, documents={self.documents}, {holes}"
            f"labels {self.levels[0]:g} to {self.levels[-1]:g}{weighted})"
        )

    def _repr_html_(self) -> str:
        from ._common.notebook import shares_cell
        from ._common.words import count

        several = len(self.levels) > 7
        counts = [] if several else np.bincount(self._flat_codes, minlength=len(self.levels)).tolist()
        rows = [(f"label {level:g}", number) for level, number in zip(self.levels.tolist(), counts, strict=False)]
        notes = [f"labels {self.levels[0]:g} to {self.levels[-1]:g}" if several else ""]
        notes += [f"{count(self.unjudged, 'document')} unjudged" if self.unjudged else ""]
        notes += ["queries have weights" if self.weights is not None else ""]
        size = f"{count(self.queries, 'query')}, {count(self.documents, 'document')}"
        return shares_cell(f"Judgments: {size}", rows[::-1], ", ".join(filter(None, notes)))

    def by_query(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return one value per document so that the documents of each query stand together."""
        return values if self._rows is None else values[self._rows]

    def rows_by_query(self, places: slice) -> Integers:
        """Return in which rows of the caller's order documents stand that are at these places of `by_query`."""
        return np.arange(self.documents)[places] if self._rows is None else self._rows[places]

    def _by_row(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return values of documents, those of a query together, in the caller's order: the way back of `by_query`."""
        if self._rows is None:
            return values
        found: np.ndarray[Any, Any] = np.empty_like(values)
        found[self._rows] = values
        return found

    def in_row_order(self, name: str, values: Any) -> Any:
        """Return values of the documents by row: a pandas object matched by the index of labels, or of qid.

        The `ValueError` where that cannot be done calls them `name`.
        """
        return values if type(values) is np.ndarray else in_order_of(self._index, name, values)

    def one_per_document(self, name: str, values: Any) -> np.ndarray[Any, Any]:
        """Return one number for each document by row, float32 or float64, or raise; matched as by `in_row_order`."""
        by_row = numbers(name, self.in_row_order(name, values))
        if len(by_row) != self.documents:
            raise ValueError(
                f"{name} has {len(by_row)} entries but the judgments have {self.documents} documents "
                f"in {self.queries} queries; give one score per document, in the same order"
            )
        return by_row

    def read_weights(self, weight: Any, query_ids: Any, *, numbered: bool = False) -> Floats:
        """Return weights: one per query, in the order of `query_ids`, or one per document, in that of the rows."""
        ordered = weights_in_order(weight, query_ids, self.documents, self._index, numbered=numbered)
        weights = numbers("weight", ordered).astype(np.float64)
        if len(weights) not in (self.queries, self.documents):
            raise ValueError(
                f"weight has {len(weights)} entries; it must have one per query ({self.queries}) "
                f"or one per document ({self.documents})"
            )
        if self.queries == self.documents and not self.sizes.all() and not isinstance(weight, Mapping):
            raise ValueError(
                f"weight has {len(weights)} entries, and there are as many queries as documents, of which query "
                f"{self.query_ids[np.argmin(self.sizes)]!s} has none: leave out queries without documents, or pass a "
                "dict of weights by query, since these may be weights of queries or of documents"
            )
        bad = ~np.isfinite(weights) | (weights < 0)
        if bad.any():
            at = int(np.argmax(bad))
            raise ValueError(f"weight must be finite and not negative; entry {at} is {weights[at]}")
        return weights

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
            return _as_float32(self.weights).astype(np.float64)
        documents = self._document_weights
        if documents is None:
            documents = np.repeat(self.weights, self.sizes)
        with np.errstate(over="ignore"):
            sums = self.layout.sequential_sums(_as_float32(documents))
        if np.isinf(sums).any():
            raise _beyond_float32(documents.max())
        return (sums / np.maximum(self.sizes, 1).astype(np.float32)).astype(np.float64)

    def _checked_labels(self, values: np.ndarray[Any, Any], negative_labels: str) -> np.ndarray[Any, Any]:
        bad = ~np.isfinite(values)
        if bad.any():
            raise ValueError(
                f"labels must be finite: {self._count_and_place(bad, values)}; drop or judge these documents, "
                "or pass judged= with False for them"
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

    def _checked_texts(self, texts: Mapping[Any, str] | None) -> Mapping[Any, str]:
        """Return the texts of the queries that there are."""
        if texts is None:
            return {}
        if not isinstance(texts, Mapping):
            raise TypeError(f"texts must map the ids of queries to what was asked, got {type(texts).__name__}")
        found = {query: texts[query] for query in self.query_ids.tolist() if query in texts}
        if texts and not found:
            some = ", ".join(map(repr, self.query_ids[:3].tolist()))
            raise ValueError(
                f"texts has none of the queries: their ids are {some}, …, and it has {next(iter(texts))!r}"
            )
        for query, text in found.items():
            if not isinstance(text, str):
                raise TypeError(f"texts must be strings, got {text!r} for query {query!r}")
            check_text(f"the text of query {query!r}", text)
        return found

    def _checked_titles(self, titles: ArrayLike | None) -> np.ndarray[Any, Any] | None:
        """Return the titles of the documents as an array of text."""
        if titles is None:
            return None
        given = np.array(list(self.in_row_order("titles", titles)), dtype=object)
        if len(given) != self.documents:
            raise ValueError(
                f"titles has {len(given)} entries but there are {self.documents} labels; give one per document"
            )
        return given

    def _checked_judged(self, judged: Any, labels: np.ndarray[Any, Any]) -> Bools:
        """Return which documents were judged; raise where a label speaks of one that was not."""
        given = vector("judged", judged)
        if len(given) != len(labels):
            raise ValueError(
                f"judged has {len(given)} entries but there are {len(labels)} labels; give one per document"
            )
        if given.dtype.kind == "O" and all(isinstance(value, bool | np.bool_) for value in given):
            given = given.astype(bool)
        if given.dtype.kind != "b":
            raise TypeError(f"judged must be True or False for each document, got an array of {given.dtype}")
        if not given.any():
            raise ValueError("judged is False for every document: there is nothing to evaluate by")
        said = ~given & ~np.isnan(labels) & (labels != 0)
        if said.any():
            raise ValueError(
                f"labels of documents that nobody judged must be 0 or NaN: {self._count_and_place(said, labels)}; "
                "pass judged=True for documents that were judged"
            )
        return given.copy()

    def _checked_weights(self, weight: Any, group: Any) -> tuple[Floats | None, Floats | None]:
        """Return the weights of queries and, where they were given, of documents, those of a query together."""
        if weight is None:
            return None, None
        names = index_of(group)
        weights = self.read_weights(weight, self.query_ids if names is None else names, numbered=group is not None)
        if not weights.any():
            raise ValueError("weight is 0 for every query: a weighted mean needs at least one positive weight")
        if len(weights) == self.queries:
            return weights, None
        weights = self.by_query(weights)
        scaled, exponent = scale_weights(weights)
        totals = np.bincount(self._query_of_document(), weights=scaled, minlength=self.queries)
        means = totals / np.maximum(self.sizes, 1)
        with np.errstate(under="ignore"):
            found = np.ldexp(means, exponent)
        if (np.ldexp(found, -exponent) != means).any() and exponent < SMALLEST_EXPONENT:
            raise ValueError(
                f"weight is {weights.max():g} at most: the means of so small numbers by query are no longer exact; "
                "multiply all weights by a power of two"
            )
        return found, weights

    def _query_of_document(self) -> Integers:
        return np.repeat(np.arange(self.queries), self.sizes)

    def _count_and_place(self, bad: Bools, values: np.ndarray[Any, Any]) -> str:
        row = int(np.argmax(bad))
        return (
            f"{int(bad.sum())} of {len(values)} are not, the first is {values[row]} at row {row} "
            f"(query {self.query_of_row(row)!s})"
        )


def _first_texts(queries: Any, texts: Any) -> dict[Any, str]:
    """Return the first text of each query, of two columns of any kind of frame."""
    ids, found = (
        column.to_pylist() if hasattr(column, "to_pylist") else column.to_list() for column in (queries, texts)
    )
    given = [(query, text) for query, text in zip(ids, found, strict=True) if isinstance(text, str)]
    return dict(reversed(given))


def _grouping(documents: int, group: Any, qid: Any) -> tuple[Integers, np.ndarray[Any, Any], Integers | None]:
    """Return sizes, query ids and, where the rows of a query are scattered, the order that brings them together."""
    if (group is None) == (qid is None):
        given = "both" if group is not None else "neither"
        raise ValueError(
            f"give exactly one of group= (documents per query) and qid= (the query of each document), got {given}; "
            "for a single query pass group=[len(labels)]"
        )
    if isinstance(qid, Grouped):
        ids = np.array(qid.ids, dtype=object)
        _check_ids(ids)
        return qid.sizes, ids, None
    if qid is not None:
        return _from_qid(documents, identifiers("qid", qid))
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
        codes, objects = factorize(keys)
        return codes, np.asarray(objects)
    distinct, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    return number[inverse.ravel()], distinct[order]


SMALLEST_EXPONENT = -960
"""Below 2**-960 the mean of a query's document weights may be no normal number any more."""


def _as_float32(weights: Floats) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return weights as 32-bit floats, as a library keeps them; raise where it could not."""
    with np.errstate(over="ignore", under="ignore"):
        narrow = weights.astype(np.float32)
    if np.isinf(narrow).any() or not narrow.any():
        raise _beyond_float32(weights.max())
    return narrow


def _beyond_float32(weight: float) -> ValueError:
    return ValueError(
        f"weight goes up to {weight:g}, which is beyond the 32-bit floats of a metric with weights=float32 or "
        "float32_mean: scale all weights, or take weights=query"
    )


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
