"""Relevance judgments of many queries, validated once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from ._common import cached_property
from ._common.arrays import (
    align_rows,
    align_weights,
    factorize,
    identifiers,
    index_of,
    integers,
    nearest,
    numbers,
    only_counts,
    scale_weights,
    vector,
)
from ._common.text import pluralize
from ._common.validation import validate_choice, validate_column, validate_text
from .ranking.rows import Layout

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._common.typing import Bools, Codes, Floats, Frame, Ids, Integers, Numbers, Weights

NegativeLabels = Literal["refuse", "allow", "zero"]
Unjudged = Literal["irrelevant", "drop"]


class Grouped(NamedTuple):
    """Queries with contiguous documents, for `qid=` of `Judgments`."""

    ids: list[str]
    sizes: Integers


class Judgments:
    """Relevance labels grouped by query, with optional query weights.

    The input is validated once, and everything that does not depend on scores is cached, so you can evaluate any number
    of models on it. Pass it to `gainwise.evaluate` and `gainwise.compare`. The page "Matching rows and ids" describes
    how ids and indexes are matched.

    Parameters
    ----------
    labels : array-like, shape (documents,)
        Relevance label (grade) of each document. If it is a pandas Series, all other per-document arguments that have
        an index, and later the scores, are aligned to its index.
    group : array-like of int, shape (queries,), optional
        Number of documents per query, in the order of `labels`, as in LightGBM and XGBoost. Zero is allowed. Pass
        exactly one of `group` and `qid`.
    qid : array-like, shape (documents,), optional
        Query id of each document, as numbers or strings. The rows of a query need not be contiguous.
    weight : array-like, shape (queries,) or (documents,), or mapping, optional
        Non-negative weights, at least one of them positive. A mapping, or a Series indexed by query id, is matched by
        query id. Weights per document are averaged within each query, as in LightGBM. A query without documents then
        has the mean weight of the others.
    negative_labels : {"refuse", "allow", "zero"}, default "refuse"
        ``"refuse"`` raises an error for negative labels. ``"zero"`` replaces them with 0, as trec_eval does.
        ``"allow"`` keeps them, for linear gain only.
    judged : array-like of bool, shape (documents,), optional
        False for documents without a relevance judgment. Their labels must be 0 or NaN and count as 0. Evaluation with
        ``unjudged="drop"`` removes them. A query without any judged document has no value. By default, all documents
        are judged.
    texts : mapping of query id to str, optional
        Query texts to display in reports.
    titles : array-like of str, shape (documents,), optional
        Document titles to display in reports.
    document_ids : array-like, shape (documents,), optional
        Document ids to display in rankings. Defaults to the numbers of the rows.
    columns : mapping of str to array-like, shape (documents,), optional
        Further labels, such as revenue or clicks, by name. Metrics with ``column=NAME`` use them instead of the labels.
        NaN marks a document without a judgment in this column. A query without any judgment has no value under such a
        metric. `negative_labels` applies to columns, too.

    Attributes
    ----------
    columns : dict of str to ndarray of float64, shape (documents,)
        The `columns` argument, in input order.
    index : pandas.Index, or None
        The index of the labels, or of `qid` if the labels have none.
    judged : ndarray of bool, shape (documents,), or None
        Mask of judged documents, or None if all documents are judged.
    sizes : ndarray of int64, shape (queries,)
        Number of documents per query.
    query_ids : ndarray, shape (queries,)
        Query ids in order of first appearance. If you passed `group`, these are 0, 1, 2, …
    weights : ndarray of float64, shape (queries,), or None
        Query weights.
    texts : mapping of query id to str
        Query texts.
    titles : ndarray of str, shape (documents,), or None
        Document titles, in the order of the labels.

    Raises
    ------
    ValueError
        If lengths or indexes do not match, group sizes do not sum to the number of documents, or a value is NaN,
        infinite or out of range. The message names the argument, the value and its location.

    See Also
    --------
    gainwise.evaluate : Compute metrics for one set of scores.
    gainwise.compare : Compare models on the same judgments.
    gainwise.check : Find common defects in ranking data.
    gainwise.data.from_frame : Read labels, queries and features from a DataFrame.

    Examples
    --------
    >>> import gainwise as gw
    >>> gw.Judgments([3, 0, 1, 2, 0], group=[3, 2])
    Judgments(queries=2, documents=5, labels 0 to 3)
    >>> gw.Judgments([3, 0, 1, 2, 0], qid=["a", "b", "a", "b", "a"]).sizes
    array([3, 2])
    """

    bound: tuple[tuple[Any, Any], ...] = ()
    """Cached values of evaluations, which are not pickled."""

    gains_are_known: bool = False
    """Whether a warning has been emitted if the labels look like gains."""

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
        document_ids: Any = None,
        columns: Mapping[str, Numbers] | None = None,
    ) -> None:
        validate_choice("negative_labels", negative_labels, get_args(NegativeLabels))
        self.index = next((index for index in map(index_of, (labels, qid)) if index is not None), None)
        values = numbers("labels", labels)
        if len(values) == 0:
            raise ValueError("labels must have at least one document, got an empty array.")
        self.sizes, self.query_ids, self._rows = _group_rows(len(values), group, self.in_row_order("qid", qid))
        if self.query_ids.dtype.kind in "UO":
            for query in self.query_ids.tolist():
                if isinstance(query, str) and not query.isascii():
                    validate_text(f"the query id {query!r}", query)
        self.judged = None if judged is None else self._validate_judged(self.in_row_order("judged", judged), values)
        if self.judged is not None:
            values = np.where(self.judged, values, values.dtype.type(0))
        values = self._validate_labels(values, negative_labels)
        self.levels, codes = _levels_and_codes(values)
        self._flat_codes = codes if self._rows is None else codes[self._rows]
        self.weights, self._document_weights = self._validate_weights(weight, group)
        known = {} if texts is None else texts
        self.texts = {query: known[query] for query in self.query_ids.tolist() if query in known}
        self.titles = self._validate_titles(titles)
        self.document_ids = self.in_row_order("document_ids", document_ids)
        if isinstance(document_ids, list | tuple) or hasattr(document_ids, "__array__"):  # Those of runs are decoded.
            self.document_ids = identifiers("document_ids", self.document_ids)
        if document_ids is not None:
            _validate_length("document_ids", self.document_ids, self.documents)
        self.columns = self._validate_columns(columns, negative_labels)
        self._by_column: dict[str, Judgments] = {}
        fixed = (self.sizes, self.query_ids, self.weights, self.levels, self._flat_codes, self.judged, self.titles)
        for array in (*fixed, *self.columns.values()):
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
        columns: Sequence[str] = (),
    ) -> Judgments:
        """Return judgments from columns of a DataFrame (pandas, polars or pyarrow) with one row per document.

        You can evaluate other columns of the frame: `evaluate(metrics, judgments, frame["score"])`.

        Parameters
        ----------
        frame : DataFrame
            One row per document. The rows of a query need not be contiguous.
        label, query, weight, judged, text, title : str
            Names of the columns. Defaults are equal weights and no unjudged documents. `text` is the column of query
            texts, of which the first row of each query is used, and `title` the column of document titles.
        columns : sequence of str, optional
            Names of columns with further labels. See `Judgments`.
        negative_labels : {"refuse", "allow", "zero"}
            See `Judgments`.

        Raises
        ------
        KeyError
            If a column is missing. polars and pyarrow raise their own errors.

        Examples
        --------
        >>> import pandas as pd
        >>> import gainwise as gw
        >>> frame = pd.DataFrame({"query": ["a", "b", "a"], "label": [0, 1, 1], "score": [0.3, 0.2, 0.1]})
        >>> gw.evaluate("mrr", gw.Judgments.from_frame(frame), frame["score"]).mean
        {'mrr': 0.75}
        """
        return cls(
            frame[label],
            qid=frame[query],
            weight=None if weight is None else frame[weight],
            negative_labels=negative_labels,
            judged=None if judged is None else frame[judged],
            texts=None if text is None else _first_texts(frame[query], frame[text]),
            titles=None if title is None else frame[title],
            columns={name: frame[name] for name in columns},
        )

    @property
    def queries(self) -> int:
        """Number of queries, including those without documents."""
        return len(self.sizes)

    @property
    def documents(self) -> int:
        """Number of documents, including unjudged ones."""
        return len(self._flat_codes)

    @property
    def unjudged(self) -> int:
        """Number of unjudged documents."""
        return 0 if self.judged is None else self.documents - int(self.judged.sum())

    @property
    def labels(self) -> Floats:
        """The labels in input order, a new float64 array of shape (documents,)."""
        return self._by_row(self.levels[self._flat_codes])

    @property
    def query_of_rows(self) -> Integers:
        """The position in `query_ids` of the query of each document in input order, shape (documents,)."""
        return self._by_row(self._query_of_document())

    @property
    def document_weights(self) -> Floats | None:
        """The document weights in input order, or None if you passed query weights."""
        return None if self._document_weights is None else self._by_row(self._document_weights)

    @cached_property
    def layout(self) -> Layout:
        """The layout of documents in blocks of queries."""
        return Layout(self.sizes, self._flat_codes, len(self.levels))

    @cached_property
    def whether_judged(self) -> Judgments | None:
        """The same documents, contiguous by query, with label 1 if judged and 0 if not. None without `judged`."""
        if self.judged is None:
            return None
        return Judgments(self.by_query(self.judged), group=self.sizes)

    @cached_property
    def unjudged_queries(self) -> Bools | None:
        """The queries with documents, none of which is judged, as a mask. None without `judged`."""
        if self.judged is None:
            return None
        judged = np.bincount(self._query_of_document(), weights=self.by_query(self.judged), minlength=self.queries)
        unjudged: Bools = (judged == 0) & (self.sizes > 0)
        return unjudged

    def column(self, name: str | None) -> Judgments:
        """Return the judgments with the values of a column as labels, or these judgments for None.

        Documents without a value in the column are not judged.

        Raises
        ------
        ValueError
            If the column does not exist.
        """
        if name is None:
            return self
        if name not in self._by_column:
            self._by_column[name] = self._with_labels(self.get_column(name))
        return self._by_column[name]

    def get_column(self, name: str) -> Floats:
        """Return the values of a column in input order, NaN without a judgment, or raise if it does not exist."""
        if name not in self.columns:
            known = f"have the columns {', '.join(self.columns)}" if self.columns else "have no columns"
            raise ValueError(
                f"column must be one of the judgments, got {name!r}{nearest(name, self.columns)}. They {known}. Pass "
                f"columns={{{name!r}: …}} to Judgments, or to the function that creates them (--column {name})."
            )
        return self.columns[name]

    def _with_labels(self, labels: Floats) -> Judgments:
        """Return these documents with other labels, which are not judged if they are NaN."""
        judged = ~np.isnan(labels)
        other = self._copy()
        other.judged = None if judged.all() else judged
        other.levels, codes = _levels_and_codes(np.where(judged, labels, 0.0))
        other._flat_codes = self.by_query(codes)
        return other

    def _copy(self) -> Judgments:
        """Return a copy without everything that depends on the labels."""
        other = copy(self)
        other.bound = ()
        for name in ("layout", "whether_judged", "unjudged_queries", "condensed"):
            other.__dict__.pop(name, None)
        return other

    @cached_property
    def condensed(self) -> tuple[Judgments, Bools]:
        """Judgments with the judged documents only, and the mask of these documents, contiguous by query.

        A query without judged documents remains as a query without documents.

        Raises
        ------
        ValueError
            Without `judged`.
        """
        if self.judged is None:
            raise ValueError(
                "unjudged='drop' requires unjudged documents, but labels alone do not mark them. Use evaluate_run or "
                "compare_runs, or pass judged= to Judgments."
            )
        mask = self.by_query(self.judged)
        condensed = self._copy()
        condensed.columns = {name: self.by_query(values)[mask] for name, values in self.columns.items()}
        condensed._by_column = {}
        condensed.sizes = np.bincount(self._query_of_document()[mask], minlength=self.queries)
        condensed.titles = None if self.titles is None else self.by_query(self.titles)[mask]
        condensed.document_ids = self.documents_at(mask)
        condensed.judged = condensed._rows = condensed._document_weights = condensed.index = None
        codes = self._flat_codes[mask]
        distinct = np.unique(codes)
        condensed.levels = self.levels[distinct]
        condensed._flat_codes = np.searchsorted(distinct, codes).astype(_narrow_type(distinct))
        return condensed, mask

    def __len__(self) -> int:
        return self.queries

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "bound"} | {"_by_column": {}}

    def __repr__(self) -> str:
        weighted = ", weighted" if self.weights is not None else ""
        columns = f", columns {', '.join(self.columns)}" if self.columns else ""
        unjudged = f"{self.unjudged} of them unjudged, " if self.unjudged else ""
        return (
            f"Judgments(queries={self.queries}, documents={self.documents}, {unjudged}"
            f"labels {self.levels[0]:g} to {self.levels[-1]:g}{weighted}{columns})"
        )

    def _repr_html_(self) -> str:
        from ._common.theme import table_cell

        many = len(self.levels) > 7
        counts = [] if many else np.bincount(self._flat_codes, minlength=len(self.levels)).tolist()
        rows = [
            (f"{level:g}", f"{number:,}", f"{100 * number / self.documents:.1f} %")
            for level, number in zip(self.levels.tolist(), counts, strict=False)
        ]
        notes = [f"labels {self.levels[0]:g} to {self.levels[-1]:g}" if many else ""]
        notes += [f"{pluralize(self.unjudged, 'document')} unjudged" if self.unjudged else ""]
        notes += ["queries have weights" if self.weights is not None else ""]
        notes += [f"columns {', '.join(self.columns)}" if self.columns else ""]
        size = f"{pluralize(self.queries, 'query')}, {pluralize(self.documents, 'document')}"
        head = ("label", "documents", "share")
        return table_cell(f"Judgments: {size}", head, rows[::-1], ", ".join(filter(None, notes)))

    def by_query(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return one value per document with contiguous queries."""
        return values if self._rows is None else values[self._rows]

    def documents_at(self, places: slice | Bools) -> np.ndarray[Any, Any]:
        """Return the ids of the documents at these positions of `by_query`, by default the numbers of their rows."""
        rows = np.arange(self.documents)[places] if self._rows is None else self._rows[places]
        return rows if self.document_ids is None else np.asarray(self.document_ids[rows])

    def _by_row(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return values in input order, the inverse of `by_query`."""
        if self._rows is None:
            return values
        by_row: np.ndarray[Any, Any] = np.empty_like(values)
        by_row[self._rows] = values
        return by_row

    def in_row_order(self, name: str, values: Any) -> Any:
        """Return values by input row. Pandas objects are aligned to the index of labels or qid.

        A `ValueError` with `name` is raised if the indexes do not match.
        """
        return values if type(values) is np.ndarray else align_rows(self.index, name, values)

    def align_features(self, X: Any, **others: Any) -> Any:  # noqa: N803  # the name in scikit-learn
        """Return features by input row. Pandas objects are aligned to the index of labels or qid.

        `others` are y, qid and further arguments with these rows. A `ValueError` is raised if X, y or qid have
        different orders and an argument is an array, because it may be in any of these orders.
        """
        aligned, rows = self.in_row_order("X", X), {"X": X, **others}
        indexes = [index_of(rows.get(name)) for name in ("X", "y", "qid")]
        if any(index is not None and not index.equals(self.index) for index in indexes if self.index is not None):
            for name, values in rows.items():
                if not isinstance(values, Mapping | None) and index_of(values) is None:
                    raise ValueError(
                        f"{name} must have an index, because X, y and qid are in different orders. Pass a Series or a "
                        "DataFrame, or arrange all in one order."
                    )
        return aligned

    def align_scores(self, scores: Any) -> Any:
        """Return scores by input row. Pandas objects are aligned to the index of labels or qid.

        A `ValueError` is raised if the scores may be in either order: predictions for rearranged rows have a new index,
        0, 1, 2, …, and so may a column from before.
        """
        aligned, index, own_index = self.in_row_order("scores", scores), self.index, index_of(scores)
        if index is None or own_index is None or len(own_index) != len(index):
            return aligned
        if only_counts(own_index) and not index.equals(own_index):
            rows = ", ".join(map(str, index[:2]))
            raise ValueError(
                f"scores is ambiguous, because its index counts its rows, and the index of the labels is in another "
                f"order ({rows}, …). Pass scores.to_numpy() if the rows are in the same order, for example new "
                "predictions, or scores.loc[index] with the index of the labels to match them by index."
            )
        return aligned

    def one_score_per_document(self, scores: Any) -> np.ndarray[Any, Any]:
        """Return one number per input row, float32 or float64, aligned as by `align_scores`, or raise."""
        by_row = numbers("scores", self.align_scores(scores))
        if len(by_row) != self.documents:
            raise ValueError(
                f"scores has {len(by_row)} entries but the judgments have {pluralize(self.documents, 'document')} in "
                f"{pluralize(self.queries, 'query')}. Pass one score per document in the same order."
            )
        return by_row

    def read_weights(self, weight: Any, query_ids: Any, *, numbered: bool = False) -> Floats:
        """Return one weight per query in the order of `query_ids`, or one per document in the order of the rows."""
        ordered = align_weights(weight, query_ids, self.documents, self.index, numbered=numbered)
        weights = numbers("weight", ordered).astype(np.float64)
        if len(weights) not in (self.queries, self.documents):
            raise ValueError(
                f"weight must have one entry per query ({self.queries}) or per document ({self.documents}), got "
                f"{len(weights)} entries."
            )
        if self.queries == self.documents and not self.sizes.all() and not isinstance(weight, Mapping):
            raise ValueError(
                f"weight is ambiguous, because there are {len(weights)} queries and as many documents, and query "
                f"{self.query_ids[np.argmin(self.sizes)]!s} has none. Omit queries without documents, or pass a "
                "dict of weights by query."
            )
        invalid = ~np.isfinite(weights) | (weights < 0)
        if invalid.any():
            position = int(np.argmax(invalid))
            raise ValueError(f"weight must be finite and not negative, got {weights[position]} (entry {position}).")
        return weights

    def query_of_row(self, row: int) -> Any:
        """Return the id of the query of an input row."""
        position = row if self._rows is None else int(np.flatnonzero(self._rows == row)[0])
        return self.query_ids[int(np.searchsorted(np.cumsum(self.sizes), position, side="right"))]

    def relevant(self, min_label: float) -> Integers:
        """Return the number of documents of each query with a label of at least `min_label`, shape (queries,)."""
        return self.layout.count(self.code_at_least(min_label))

    def code_at_least(self, min_label: float) -> int:
        """Return the code of the lowest distinct label that is at least `min_label`."""
        return int(np.searchsorted(self.levels, min_label, side="left"))

    def float32_weights(self, mean: bool) -> Floats | None:
        """Return the query weights in the precision of libraries that store 32-bit floats.

        With `mean`, document weights are averaged by adding them one by one in 32 bits, as in LightGBM.
        """
        if self.weights is None:
            return None
        documents = self._document_weights if mean else self.weights
        weights = np.repeat(self.weights, self.sizes) if documents is None else documents
        with np.errstate(over="ignore", under="ignore"):
            narrow = weights.astype(np.float32)
            by_query: np.ndarray[Any, Any] = narrow
            if mean:
                by_query = self.layout.sequential_sums(narrow) / np.maximum(self.sizes, 1).astype(np.float32)
                own = self.weights.astype(np.float32) if documents is None else None
                self._weigh_empty_queries(by_query, own)
        if not np.isfinite(by_query).all() or not narrow.any():
            raise ValueError(
                "weight must fit into 32-bit floats for metrics with weights=float32 or float32_mean, got "
                f"{weights.max():g}. Scale all weights, or use weights=query."
            )
        return by_query.astype(np.float64)

    def _validate_columns(self, columns: Any, negative_labels: str) -> dict[str, Floats]:
        """Return columns in input order, or raise if one cannot replace the labels. NaN marks unjudged documents."""
        if not isinstance(columns, Mapping | None):
            raise TypeError(f"columns must map names to values, got {type(columns).__name__}.")
        validated = {}
        for name, values in (columns or {}).items():
            validate_column("the name of a column", name)
            argument = f"columns[{name!r}]"
            by_row = numbers(argument, self.in_row_order(argument, values)).astype(np.float64)
            _validate_length(argument, by_row, self.documents)
            missing = np.isnan(by_row)
            if missing.all():
                raise ValueError(f"{argument} must have a value for some document, but all are NaN.")
            labels = self._validate_labels(np.where(missing, 0.0, by_row), negative_labels, argument)
            validated[name] = np.where(missing, np.nan, labels)
        return validated

    def _validate_labels(
        self, values: np.ndarray[Any, Any], negative_labels: str, argument: str = "labels"
    ) -> np.ndarray[Any, Any]:
        invalid = ~np.isfinite(values)
        if invalid.any():
            fix = "pass judged= with False for them" if argument == "labels" else "use NaN for them"
            raise ValueError(
                f"{argument} must be finite, got {self._locate(invalid, values)}. Remove these documents, or {fix}."
            )
        negative = values < 0
        if not negative.any():
            not_negative: np.ndarray[Any, Any] = values + values.dtype.type(0)  # -0.0 and 0.0 are the same label.
            return not_negative
        if negative_labels == "refuse":
            raise ValueError(
                f"{argument} must not be negative, got {self._locate(negative, values)}. Pass negative_labels='zero' "
                "to count them as 0 (as trec_eval does), or negative_labels='allow' to keep them for linear gain."
            )
        return np.where(negative, 0, values) if negative_labels == "zero" else values

    def _validate_titles(self, titles: ArrayLike | None) -> np.ndarray[Any, Any] | None:
        """Return the titles of the documents as an array of text."""
        if titles is None:
            return None
        by_row = np.array(list(self.in_row_order("titles", titles)), dtype=object)
        _validate_length("titles", by_row, self.documents)
        return by_row

    def _validate_judged(self, judged: Any, labels: np.ndarray[Any, Any]) -> Bools:
        """Return the mask of judged documents, or raise if an unjudged document has a label."""
        mask = vector("judged", judged)
        _validate_length("judged", mask, len(labels))
        if mask.dtype.kind == "O" and all(isinstance(value, bool | np.bool_) for value in mask):
            mask = mask.astype(bool)
        if mask.dtype.kind != "b":
            raise TypeError(f"judged must be True or False for each document, got an array of {mask.dtype}.")
        if not mask.any():
            raise ValueError("judged must not be False for every document, because then no label counts.")
        labeled = ~mask & ~np.isnan(labels) & (labels != 0)
        if labeled.any():
            raise ValueError(
                f"labels of unjudged documents must be 0 or NaN, got {self._locate(labeled, labels)}. Pass judged=True "
                "for documents with a label."
            )
        return mask.copy()

    def _validate_weights(self, weight: Any, group: Any) -> tuple[Floats | None, Floats | None]:
        """Return the weights of queries and, if you passed them, of documents, contiguous by query."""
        if weight is None:
            return None, None
        names = index_of(group)
        weights = self.read_weights(weight, self.query_ids if names is None else names, numbered=group is not None)
        if not weights.any():
            raise ValueError("weight must not be 0 for every query. At least one must be positive.")
        if len(weights) == self.queries:
            return weights, None
        weights = self.by_query(weights)
        scaled, exponent = scale_weights(weights)
        totals = np.bincount(self._query_of_document(), weights=scaled, minlength=self.queries)
        with np.errstate(under="ignore"):
            means = totals / np.maximum(self.sizes, 1)
            self._weigh_empty_queries(means, None)
            return np.ldexp(means, exponent), weights

    def _weigh_empty_queries(self, weights: np.ndarray[Any, Any], own: np.ndarray[Any, Any] | None) -> None:
        """Set the weights of queries without documents: their own, or the mean of the other queries."""
        empty = self.sizes == 0
        if empty.any():
            weights[empty] = weights[~empty].mean() if own is None else own[empty]

    def _query_of_document(self) -> Integers:
        return np.repeat(np.arange(self.queries), self.sizes)

    def _locate(self, invalid: Bools, values: np.ndarray[Any, Any]) -> str:
        row = int(np.argmax(invalid))
        return (
            f"{values[row]} at row {row} (query {self.query_of_row(row)!s}), "
            f"{pluralize(int(invalid.sum()), 'such label')} among {len(values)}"
        )


def _first_texts(queries: Any, texts: Any) -> dict[Any, str]:
    """Return the first text of each query from two columns of any type of frame."""
    ids, cells = (
        column.to_pylist() if hasattr(column, "to_pylist") else column.to_list() for column in (queries, texts)
    )
    pairs = [(query, text) for query, text in zip(ids, cells, strict=True) if isinstance(text, str)]
    return dict(reversed(pairs))


def _group_rows(documents: int, group: Any, qid: Any) -> tuple[Integers, np.ndarray[Any, Any], Integers | None]:
    """Return sizes, query ids and, if the rows of a query are not contiguous, the order that makes them so."""
    if (group is None) == (qid is None):
        passed = "both" if group is not None else "neither"
        raise ValueError(
            f"Pass exactly one of group= (documents per query) and qid= (query of each document), got {passed}. For a "
            "single query, pass group=[len(labels)]."
        )
    if isinstance(qid, Grouped):
        return qid.sizes, np.array(qid.ids, dtype=object), None
    if qid is not None:
        return _group_by_ids(documents, identifiers("qid", qid))
    sizes = integers("group", group)
    if len(sizes) and sizes.min() < 0:
        position = int(np.argmin(sizes))
        raise ValueError(f"group must not be negative, got {sizes[position]} (entry {position}).")
    if sizes.sum() != documents:
        hint = " (did you mean qid=?)" if len(sizes) == documents else ""
        raise ValueError(
            f"group must sum to the number of labels, {documents}, got {pluralize(int(sizes.sum()), 'document')} in "
            f"{pluralize(len(sizes), 'query')}{hint}."
        )
    return sizes, np.arange(len(sizes)), None


_SIZES = ". If these are group sizes, pass qid=np.repeat(np.arange(len(group)), group)"


def _group_by_ids(documents: int, qid: np.ndarray[Any, Any]) -> tuple[Integers, np.ndarray[Any, Any], Integers | None]:
    _validate_length("qid", qid, documents, _SIZES if len(qid) < documents else "")
    if qid.dtype.kind == "O":
        import pandas as pd

        missing = np.asarray(pd.isna(qid))
    else:
        missing = qid != qid  # NaN and NaT.
    if missing.any():
        raise ValueError(
            f"qid is missing for {int(missing.sum())} of {documents} documents, the first at row "
            f"{int(np.argmax(missing))}. Every document requires a query."
        )
    starts = np.flatnonzero(np.concatenate(([True], qid[1:] != qid[:-1])))
    run_codes, ids = _factorize(qid[starts])
    lengths = np.diff(np.append(starts, documents))
    sizes = np.bincount(run_codes, weights=lengths, minlength=len(ids)).astype(np.int64)
    if len(ids) == len(starts):
        return sizes, ids, None
    rows = np.argsort(np.repeat(run_codes, lengths), kind="stable")
    return sizes, ids, rows


def _validate_length(name: str, values: np.ndarray[Any, Any], documents: int, hint: str = "") -> None:
    if len(values) != documents:
        raise ValueError(
            f"{name} must have one entry per document, got {len(values)} entries for {documents} labels{hint}."
        )


def _factorize(keys: np.ndarray[Any, Any]) -> tuple[Integers, np.ndarray[Any, Any]]:
    """Return the number of each key and the distinct keys, in order of first appearance."""
    if keys.dtype.kind == "O":
        codes, ids = factorize(keys)
        return codes, np.asarray(ids)
    distinct, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    return number[inverse.ravel()], distinct[order]


def _levels_and_codes(values: np.ndarray[Any, Any]) -> tuple[Floats, Codes]:
    """Return the distinct values, ascending, and the position among them of each value.

    Positions have the narrowest signed type that includes -1.
    """
    if values.min(initial=0) >= 0 and values.max(initial=0) < 256:  # Grades are whole, so sorting is not necessary.
        grades = values.astype(np.uint8)
        if (grades == values).all():
            exists = np.bincount(grades, minlength=256) > 0
            levels = np.flatnonzero(exists)
            return levels.astype(np.float64), (np.cumsum(exists) - 1).astype(_narrow_type(levels))[grades]
    levels = np.unique(values)
    return levels.astype(np.float64), np.searchsorted(levels, values).astype(_narrow_type(levels))


def _narrow_type(levels: np.ndarray[Any, Any]) -> np.dtype[Any]:
    return np.min_scalar_type(-len(levels))
