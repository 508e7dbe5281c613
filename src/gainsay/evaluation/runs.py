"""Evaluation of TREC runs against qrels: the ideal comes from all judged documents, retrieved or not."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._common.arrays import numbers
from .._common.names import check_ids, check_name
from ..judgments import Judgments, NegativeLabels
from ..metrics.base import choice
from ..metrics.names import parse_metrics
from .evaluator import Evaluation, Evaluator

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pandas as pd

    from .._common.typing import Floats
    from ..metrics.names import MetricLike

_COLUMNS = {
    "query": ("query_id", "qid", "topic", "query"),
    "document": ("document", "doc_id", "docno", "docid"),
    "score": ("score",),
    "label": ("label", "relevance", "rel", "grade"),
}
"""Names under which a column is known, here and in other packages; of several that are there the first counts.

In PyTerrier's tables `query` is the text of the query `qid`, and `docid` a number within an index.
"""


def evaluate_run(
    metrics: MetricLike | Iterable[MetricLike],
    run: Any,
    qrels: Any,
    *,
    convention: str | None = None,
    missing: Literal["skip", "zero"] = "skip",
    negative_labels: NegativeLabels = "zero",
    n_jobs: int | None = None,
) -> Evaluation:
    """Evaluate a run (what a system retrieved) against qrels (what was judged).

    Judged documents that were not retrieved count for the ideal, for the number of relevant documents and for recall;
    retrieved documents that were not judged have label 0. Documents with equal scores stand by document id, descending
    (trec_eval's order) where a metric says `ties=order`.

    Parameters
    ----------
    metrics : str, Metric, or an iterable of them
        See `parse_metrics`.
    run : path, mapping {query: {document: score}} or DataFrame
        A path is read with `gainsay.data.read_run`. A DataFrame has columns query, document, score (or query_id,
        doc_id, score; qid, docno, score).
    qrels : path, mapping {query: {document: label}} or DataFrame
        A path is read with `gainsay.data.read_qrels`. A DataFrame has columns query, document, label (or relevance).
    convention : str, optional
        Read metric names as this library does; `"trec_eval"` gives trec_eval's numbers. See `parse_metrics`.
    missing : {"skip", "zero"}
        Judged queries that the run does not have: leave them out (trec_eval), or count them as queries for which
        nothing was retrieved (trec_eval -c). Queries of the run without judgments are always left out.
    negative_labels : {"zero", "refuse", "allow"}
        See `Judgments`; TREC marks spam by negative grades, which count as 0.
    n_jobs : int, optional
        Threads at most, by default the CPUs that the process may use; fewer where that turns out to be quicker.

    Returns
    -------
    Evaluation
        Queries in the order of the qrels; `.frame()` has their ids.

    Raises
    ------
    ValueError
        Where no query is in both, a document stands twice for a query, a column is missing, or a score is NaN or -inf.

    Examples
    --------
    >>> import gainsay as gs
    >>> qrels = {"q1": {"a": 3, "b": 2, "c": 3, "d": 0, "e": 1, "f": 2, "g": 3, "h": 2}}
    >>> run = {"q1": {"a": 6, "b": 5, "c": 4, "d": 3, "e": 2, "f": 1}}
    >>> round(gs.evaluate_run("ndcg_linear@6", run, qrels).mean["ndcg_linear@6"], 3)
    0.785
    """
    choice("missing", missing, ("skip", "zero"))
    judged = _table("qrels", qrels, "label")
    retrieved = _retrieved("run", run, empty=missing == "zero")
    queries = judged["query"].drop_duplicates()
    if missing == "skip":
        queries = queries[queries.isin(set(retrieved["query"]))]
    if len(retrieved) and not queries.isin(set(retrieved["query"])).any():
        raise ValueError(
            f"run and qrels have no query in common: the run has {_some(retrieved['query'])}, "
            f"the qrels have {_some(judged['query'])}"
        )
    documents = _merged(queries, judged, retrieved)
    judgments = Judgments(
        documents["label"].to_numpy(), qid=documents["query"].to_numpy(), negative_labels=negative_labels
    )
    evaluator = Evaluator(parse_metrics(metrics, convention=convention), judgments, n_jobs)
    return evaluator(documents["score"].to_numpy())


def align_runs(
    runs: Mapping[str, Any], qrels: Any, negative_labels: NegativeLabels = "zero"
) -> tuple[Judgments, dict[str, Floats]]:
    """Return judgments of all judged queries and the scores of each run on the same documents.

    These are all that are judged or that a run retrieved; a run that did not retrieve one gives it -inf, and a document
    that nobody judged has label 0. Documents stand by id, descending (trec_eval's order of ties).

    Parameters
    ----------
    runs : mapping of name to run
        Runs as `evaluate_run` takes them.
    qrels, negative_labels
        See `evaluate_run`.
    """
    table = _table("qrels", qrels, "label")
    queries = table["query"].drop_duplicates()
    for name, run in runs.items():
        check_name("the name of a run", str(name))
        scores = _retrieved(f"run {name!r}", run).rename(columns={"score": f"score {name}"})
        table = table.merge(scores[scores["query"].isin(set(queries))], on=["query", "document"], how="outer")
    table = table.assign(label=table["label"].fillna(0.0)).sort_values("document", ascending=False, kind="stable")
    number = {query: at for at, query in enumerate(queries)}
    table = table.sort_values("query", key=lambda ids: ids.map(number), kind="stable")
    judgments = Judgments(
        table["label"].to_numpy(), qid=table["query"].to_numpy(dtype=object), negative_labels=negative_labels
    )
    return judgments, {name: table[f"score {name}"].fillna(-np.inf).to_numpy() for name in runs}


def _retrieved(name: str, run: Any, empty: bool = False) -> pd.DataFrame:
    """Return a run as a table; raise where a document stands in it with the score of one that was not retrieved."""
    table = _table(name, run, "score", empty)
    if np.isneginf(table["score"]).any():
        at = table[np.isneginf(table["score"])].iloc[0]
        raise ValueError(
            f"{name} gives document {at['document']!r} of query {at['query']!r} the score -inf; leave out documents "
            "that were not retrieved"
        )
    return table


def _merged(queries: pd.Series, judged: pd.DataFrame, retrieved: pd.DataFrame) -> pd.DataFrame:
    """Return all judged and all retrieved documents of the queries, with label and score, document ids descending."""
    both = judged.merge(retrieved, on=["query", "document"], how="outer")
    number = {query: at for at, query in enumerate(queries)}
    both["number"] = both["query"].map(number)
    both = both[both["number"].notna()]
    both = both.assign(label=both["label"].fillna(0.0), score=both["score"].fillna(-np.inf))
    both = both.sort_values("document", ascending=False, kind="stable")  # code points sort as their UTF-8 bytes do
    return both.sort_values("number", kind="stable")


def _table(name: str, data: Any, value: str, empty: bool = False) -> pd.DataFrame:
    """Return a run or qrels as a DataFrame with columns query, document and `value`; ids are strings."""
    import pandas as pd

    if isinstance(data, str | PathLike):
        from ..data import read_qrels, read_run

        data = read_run(data) if value == "score" else read_qrels(data)
    if isinstance(data, Mapping):
        rows = list(_triples(name, data, value))
        check_ids(name, rows)
        frame = pd.DataFrame(rows, columns=["query", "document", value])
    elif hasattr(data, "to_pandas") or isinstance(data, pd.DataFrame):
        frame = _renamed(name, data if isinstance(data, pd.DataFrame) else data.to_pandas(), value)
    else:
        raise TypeError(
            f"{name} must be the path of a TREC file, a mapping {{query: {{document: {value}}}}} or a DataFrame with "
            f"columns query, document, {value}, got {type(data).__name__}"
        )
    if frame.empty and not empty:
        raise ValueError(f"{name} is empty")
    numeric = numbers(f"{name}'s {value}", frame[value].to_numpy())
    frame = frame.assign(query=frame["query"].astype(str), document=frame["document"].astype(str), **{value: numeric})
    bad = np.isnan(numeric)
    if bad.any():
        at = frame[bad].iloc[0]
        raise ValueError(
            f"{name} has {int(bad.sum())} NaN, the first for document {at['document']!r} of query {at['query']!r}"
        )
    twice = frame.duplicated(["query", "document"])
    if twice.any():
        at = frame[twice].iloc[0]
        raise ValueError(f"{name} has document {at['document']!r} of query {at['query']!r} more than once")
    return frame


def _triples(name: str, data: Mapping[Any, Any], value: str) -> Iterator[tuple[Any, Any, Any]]:
    """Yield query, document and number of every entry."""
    for query, found in data.items():
        if not isinstance(found, Mapping):
            raise TypeError(
                f"{name} must map each query to {{document: {value}}}, got {type(found).__name__} for query {query!r}"
            )
        for document, number in found.items():
            yield query, document, number


def _renamed(name: str, frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return the three columns of a frame under our names."""
    chosen = {}
    for column in ("query", "document", value):
        known = [alias for alias in _COLUMNS[column] if alias in frame.columns]
        if not known:
            other = [alias for alias in _COLUMNS[column] if alias != column]
            raise ValueError(
                f"{name} has no column {column!r} (known too as {', '.join(other) or 'nothing else'}); "
                f"it has {', '.join(map(str, frame.columns))}"
            )
        chosen[known[0]] = column
    renamed = frame[list(chosen)].rename(columns=chosen)
    _refuse_missing_ids(name, renamed)
    return renamed


def _refuse_missing_ids(name: str, frame: pd.DataFrame) -> None:
    """Raise where a row does not say its query or its document."""
    for column in ("query", "document"):
        missing = frame[column].isna()
        if missing.any():
            raise ValueError(
                f"{name} has no {column} in {int(missing.sum())} of {len(frame)} rows, the first is row "
                f"{int(np.argmax(missing))}; every row needs one"
            )


def _some(ids: pd.Series) -> str:
    first = list(dict.fromkeys(ids))[:3]
    return ", ".join(map(repr, first)) + (", …" if ids.nunique() > len(first) else "")
