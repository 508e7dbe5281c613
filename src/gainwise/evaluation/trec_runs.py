"""Evaluation of TREC runs against qrels.

Rows are matched by query and document. Document ids are converted to numbers first, so that no text is compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .._common.arrays import factorize, to_float32, twice
from .._common.text import join_names
from .._common.validation import validate_choice, validate_name
from ..data import read_qrels, read_run
from ..data.text import decode_fields, encode_fields, one_line
from ..data.trec import Listing, convert_to_frame, read_listing
from ..judgments import Grouped, Judgments, NegativeLabels, Unjudged
from ..metrics.names import parse_metrics
from .evaluator import Coverage, Evaluation, Evaluator
from .prediction import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from .._common.typing import Floats, Integers, Listed
    from ..data.text import Fields
    from ..data.trec import Value
    from ..metrics.names import MetricLike


def evaluate_run(
    metrics: MetricLike | Iterable[MetricLike],
    run: Listed,
    qrels: Listed,
    *,
    convention: str | None = None,
    missing: Literal["skip", "zero"] = "skip",
    negative_labels: NegativeLabels = "zero",
    n_jobs: int | None = None,
    unjudged: Unjudged = "irrelevant",
) -> Evaluation:
    """Evaluate a run (retrieved documents) against qrels (judged documents).

    Judged documents that were not retrieved count for the ideal ranking and for recall. Retrieved documents without a
    judgment have label 0, or are dropped. With `ties=order`, documents with equal scores are ranked by descending
    document id, as in trec_eval.

    Parameters
    ----------
    metrics : str, Metric or iterable of these
        The metrics to compute, for example ``["ndcg_linear@10", "map"]``. See `parse_metrics`.
    run : path, mapping or DataFrame
        A file (see `gainwise.data.read_run`), a mapping ``{query: {document: score}}``, or a DataFrame with columns
        query, document, score (or query_id, doc_id, score as in ir_measures, or qid, docno, score as in PyTerrier).
    qrels : path, mapping or DataFrame
        A file (see `gainwise.data.read_qrels`), a mapping ``{query: {document: label}}``, or a DataFrame with columns
        query, document, label (or relevance, rating, …). Columns query_text and title, here and in runs, become the
        judgments' `texts` and `titles`. So does `query` if there is a column `qid`.
    convention : str, optional
        Interpret metric names as this library does. ``"trec_eval"`` returns trec_eval's numbers. See `parse_metrics`.
    missing : {"skip", "zero"}, default "skip"
        How to treat judged queries that are missing in the run. "skip" ignores them (trec_eval), "zero" counts them as
        queries without retrieved documents (trec_eval -c). Queries without judgments are always ignored.
    negative_labels : {"zero", "refuse", "allow"}, default "zero"
        How to treat negative labels, which mark spam in TREC. See `Judgments`.
    n_jobs : int, optional
        Maximum number of threads. Defaults to the CPUs available to the process.
    unjudged : {"irrelevant", "drop"}, default "irrelevant"
        How to treat retrieved documents without a judgment. "drop" removes them before documents are ranked, which
        gives condensed lists (Sakai 2007, trec_eval -J, which also drops documents with negative grades). `judged@k` is
        always computed on the complete run.

    Returns
    -------
    Evaluation
        Queries are in the order of the qrels. `.frame()` has their ids, and `.coverage` the unjudged documents and the
        queries that only the run or only the qrels have.

    Raises
    ------
    ValueError
        If the run and the qrels have no query in common, a document occurs twice in a query, a column is missing, or a
        score is NaN or -inf.

    See Also
    --------
    gainwise.compare_runs : Compare several runs, with intervals and tests.
    gainwise.data.read_run : Read a run from a file.

    Examples
    --------
    >>> import gainwise as gw
    >>> qrels = {"q1": {"a": 3, "b": 2, "c": 3, "d": 0, "e": 1, "f": 2, "g": 3, "h": 2}}
    >>> run = {"q1": {"a": 6, "b": 5, "c": 4, "d": 3, "e": 2, "f": 1}}
    >>> round(gw.evaluate_run("ndcg_linear@6", run, qrels).mean["ndcg_linear@6"], 3)
    0.785
    """
    validate_choice("missing", missing, ("skip", "zero"))
    runs = {"run": _Source("run", run, "score", missing == "zero")}
    aligned = _align(qrels, runs, negative_labels, unjudged, missing)
    coverage = aligned.coverage["run"]
    if coverage.not_judged and not coverage.retrieved:
        of_run, of_qrels = (join_names(list(map(repr, ids))) for ids in (coverage.not_judged, coverage.not_retrieved))
        raise ValueError(f"run and qrels must have a query in common. The run has {of_run}, the qrels have {of_qrels}.")
    parsed = parse_metrics(metrics, convention=convention)
    evaluator = Evaluator(parsed, aligned.judgments, n_jobs, unjudged=unjudged)
    return replace(evaluator(aligned.scores["run"]), coverage=coverage)


@dataclass(frozen=True, eq=False)
class DocumentIds:
    """The ids of documents, decoded when they are indexed: `ids[rows]`."""

    codes: Integers
    distinct: Any

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> np.ndarray[Any, Any]:
        ids = self.distinct[self.codes[rows]]
        return np.array(decode_fields(ids), dtype=object) if ids.dtype.kind == "S" else ids


class AlignedRuns(NamedTuple):
    """Judgments, and by run its scores and its coverage, all on the same documents."""

    judgments: Judgments
    scores: dict[str, Floats]
    coverage: dict[str, Coverage]


def find_unreadable(runs: Mapping[str, Listed]) -> dict[str, str]:
    """Return the runs that cannot be read, with the reason."""
    unreadable = {}
    for name, run in runs.items():
        try:
            _read(_Source(f"run {name!r}", run, "score"))
        except (ValueError, TypeError, OSError) as error:
            unreadable[name] = one_line(error)
    return unreadable


def align_runs(runs: Mapping[str, Listed], qrels: Listed, unjudged: Unjudged = "irrelevant") -> AlignedRuns:
    """Return judgments of all judged queries and the scores of each run on the same documents.

    These are all documents that are judged or that a run retrieved. A run that did not retrieve a document gives it the
    score -inf. Documents with equal scores are ordered as in `evaluate_run`, and negative labels count as 0.
    """
    for name in runs:
        validate_name("the name of a run", str(name))
    sources = {name: _Source(f"run {name!r}", run, "score") for name, run in runs.items()}
    return _align(qrels, sources, "zero", unjudged, "zero")


class _Source(NamedTuple):
    """Qrels or a run as passed by the caller. `name` is used in errors, and rows are required unless `empty`."""

    name: str
    data: Any
    value: Value
    empty: bool = False


def _read_fast(source: _Source) -> Listing | None:
    """Return a file as a listing, or None if `_read` has to read it. A document may occur twice in a query."""
    listing = read_listing(source.data, source.value) if isinstance(source.data, str | PathLike) else None
    if listing is None or (source.value == "score" and np.isneginf(listing.values).any()):
        return None
    return listing


def _read(source: _Source) -> Listing:
    name, data, value, empty = source
    if isinstance(data, Unreadable):
        raise ValueError(f"{name}: {data.reason}")
    if isinstance(data, str | PathLike):
        data = read_run(data) if value == "score" else read_qrels(data)
    frame = convert_to_frame(name, data, value, empty=empty, expected="the path of a file, ")
    values = frame[value].to_numpy()
    if value == "score" and np.isneginf(values).any():
        row = frame[np.isneginf(values)].iloc[0]
        raise ValueError(
            f"{name} gives document {row['document']!r} of query {row['query']!r} the score -inf. Remove documents "
            "that were not retrieved."
        )
    query, distinct = factorize(frame["query"])
    ids = list(map(str, distinct))
    texts: dict[str, str] = {}
    if "query_text" in frame:
        cells = _convert_texts(frame["query_text"])
        rows = np.flatnonzero(cells != "")
        positions, first = np.unique(query[rows], return_index=True)
        texts = {ids[at]: cells[row] for at, row in zip(positions.tolist(), rows[first].tolist(), strict=True)}
    titles = _convert_texts(frame["title"]) if "title" in frame else None
    return Listing(ids, query, frame["document"], values, texts, titles)


def _convert_texts(column: pd.Series) -> np.ndarray[Any, Any]:
    """Return a column as an array of text, with missing values as empty text."""
    return np.where(column.isna(), "", column.astype(object).map(str)).astype(object)


def _align(
    qrels: Listed, runs: Mapping[str, _Source], negative_labels: NegativeLabels, unjudged: Unjudged, missing: str
) -> AlignedRuns:
    """Return qrels and runs by name on the same documents, contiguous by query.

    Queries are in the order of the qrels. Documents with equal scores in a run are ordered by descending id. "skip"
    omits queries without documents of the first run, unless it retrieved nothing at all.
    """
    sources = [_Source("qrels", qrels, "label"), *runs.values()]
    listings = [_read_fast(source) or _read(source) for source in sources]
    codes_by_listing, distinct = encode_ids([listing.documents for listing in listings])
    limit = max(len(distinct), 1)
    pairs = list(zip(listings, codes_by_listing, strict=True))
    for source, (listing, codes) in zip(sources, pairs, strict=True):
        if twice(listing.query * limit + codes):
            _read(source)  # The reader of lines raises an error with the line.
    judged = listings[0]
    queries = judged.ids
    if missing == "skip":
        retrieved = set(listings[1].ids)
        queries = [query for query in judged.ids if query in retrieved] or judged.ids
    position = {query: at for at, query in enumerate(queries)}
    rows, keys = [], []  # of each listing: the rows that count, and their query and document as one number
    for listing, codes in pairs:
        query = np.array([position.get(query, -1) for query in listing.ids], dtype=np.int64)[listing.query]
        rows.append(np.flatnonzero(query >= 0))
        keys.append(query[rows[-1]] * limit + codes[rows[-1]])
    joined_keys, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    slots = np.split(inverse, np.cumsum([len(part) for part in keys])[:-1])
    query, document = np.divmod(joined_keys, limit)
    values = np.full((len(listings), len(query)), -np.inf)
    values[0] = np.nan
    titles = np.full(len(query), "", dtype=object) if any(listing.titles is not None for listing in listings) else None
    for number in reversed(range(len(listings))):  # The titles of the first listing are written last.
        listing, part, slot = listings[number], rows[number], slots[number]
        values[number, slot] = listing.values[part]
        if titles is not None and listing.titles is not None:
            cells = listing.titles[part]
            titles[slot[cells != ""]] = cells[cells != ""]
    order = _order_ties(query, document, values[1:], distinct)
    labels, *scores = values[:, order]
    texts = {query: text for listing in reversed(listings) for query, text in listing.texts.items()}
    judgments = Judgments(
        labels,
        qid=Grouped(queries, np.bincount(query, minlength=len(queries))),
        negative_labels=negative_labels,
        judged=~np.isnan(labels),
        texts=texts,
        titles=None if titles is None else titles[order],
        document_ids=DocumentIds(document[order], distinct),
    )
    coverage = {
        name: _build_coverage(judged, run, run_scores, judgments, unjudged, missing)
        for name, run, run_scores in zip(runs, listings[1:], scores, strict=True)
    }
    by_name = dict(zip(runs, scores, strict=True))
    return AlignedRuns(judgments, by_name, coverage)


def _build_coverage(
    judged: Listing, run: Listing, scores: Floats, judgments: Judgments, unjudged: Unjudged, missing: str
) -> Coverage:
    retrieved = scores > -np.inf
    judged_set, run_set = set(judged.ids), set(run.ids)
    return Coverage(
        retrieved=int(retrieved.sum()),
        unjudged=int((retrieved & ~np.asarray(judgments.judged)).sum()),
        handling=unjudged,
        not_retrieved=tuple(query for query in judged.ids if query not in run_set),
        not_judged=tuple(query for query in run.ids if query not in judged_set),
        missing=missing,
    )


def _order_ties(query: Integers, document: Integers, scores: Floats, distinct: Any) -> Integers:
    """Return the order that sorts documents of a query with equal scores by descending id.

    Only ids of tied documents are sorted, because sorting a million ids takes longer than all other steps.
    """
    tied = np.zeros(len(query), dtype=bool)
    for values in scores:
        tied[_find_ties(query, values)] = True
    order = np.arange(len(query))
    rows = np.flatnonzero(tied)
    if len(rows):
        codes, inverse = np.unique(document[rows], return_inverse=True)
        rank = np.empty(len(codes), dtype=np.int64)
        rank[np.argsort(distinct[codes])[::-1]] = np.arange(len(codes))  # UTF-8 is in the order of code points.
        order[rows] = rows[np.lexsort((rank[inverse], query[rows]))]
    return order


def _find_ties(query: Integers, scores: Floats) -> Integers:
    """Return the documents that share their score, in 32 bits as some metrics read it, with another of their query."""
    retrieved = np.flatnonzero(scores > -np.inf)
    narrow = to_float32(scores[retrieved]) + np.float32(0)  # -0.0 and 0.0 are equal.
    keys = (query[retrieved] << 32) | narrow.view(np.uint32)
    order = np.argsort(keys)
    same = np.flatnonzero(keys[order[1:]] == keys[order[:-1]])
    return retrieved[order[np.concatenate((same, same + 1))]]


def encode_ids(columns: Sequence[pd.Series[Any] | Fields]) -> tuple[list[Integers], np.ndarray[Any, Any]]:
    """Return several columns of ids as numbers, and the ids.

    Equal ids have equal numbers, which are the positions in the array of ids.
    """
    if all(isinstance(column, np.ndarray) for column in columns):
        codes, distinct = encode_fields(np.concatenate(columns))
    else:
        texts = [decode_fields(column) if isinstance(column, np.ndarray) else column for column in columns]
        codes, distinct = factorize(np.concatenate([np.asarray(column, dtype=object) for column in texts]))
    return np.split(codes.astype(np.int64), np.cumsum([len(column) for column in columns])[:-1]), distinct
