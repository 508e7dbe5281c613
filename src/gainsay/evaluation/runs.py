"""Evaluation of TREC runs against qrels: the ideal comes from all judged documents, retrieved or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from .._common.names import check_name
from ..judgments import Judgments, NegativeLabels, Unjudged
from ..metrics.base import choice
from ..metrics.names import parse_metrics
from .coverage import Coverage
from .encoding import Names
from .evaluator import Evaluation, Evaluator
from .joining import Joined, Source, join
from .listings import Listing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._common.typing import Floats, Listed
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
    """Evaluate a run (what a system retrieved) against qrels (what was judged).

    Judged documents that were not retrieved count for the ideal, for the number of relevant documents and for recall;
    retrieved documents that were not judged have label 0, or are dropped. Documents with equal scores stand by document
    id, descending (trec_eval's order) where a metric says `ties=order`.

    Parameters
    ----------
    metrics : str, Metric, or an iterable of them
        See `parse_metrics`.
    run : path, mapping {query: {document: score}} or DataFrame
        A path, of TREC's format or a table (CSV), is read with `gainsay.data.read_run`. A DataFrame has columns query,
        document, score (or query_id, doc_id, score, as of ir_measures; qid, docno, score, as of PyTerrier).
    qrels : path, mapping {query: {document: label}} or DataFrame
        A path is read with `gainsay.data.read_qrels`. A DataFrame has columns query, document, label (or relevance,
        rating, …). Columns query_text and title, there and in runs, become the judgments' `texts` and `titles`; so does
        `query` beside `qid`.
    convention : str, optional
        Read metric names as this library does; `"trec_eval"` gives trec_eval's numbers. See `parse_metrics`.
    missing : {"skip", "zero"}
        Judged queries that the run does not have: leave them out (trec_eval), or count them as queries for which
        nothing was retrieved (trec_eval -c). Queries of the run without judgments are always left out.
    negative_labels : {"zero", "refuse", "allow"}
        See `Judgments`; TREC marks spam by negative grades, which count as 0.
    n_jobs : int, optional
        Threads at most, by default the CPUs that the process may use; fewer where that turns out to be quicker.
    unjudged : {"irrelevant", "drop"}
        Retrieved documents that are not in the qrels: they have label 0, or are dropped before documents are ranked,
        which leaves condensed lists (Sakai 2007; trec_eval -J, which drops documents of negative grade as well).
        `judged@k` is always of the run as it was retrieved.

    Returns
    -------
    Evaluation
        Queries in the order of the qrels; `.frame()` has their ids, `.coverage` says what nobody judged and which
        queries only the run or only the qrels have.

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
    sources = [Source("qrels", qrels, "label"), Source("run", run, "score", empty=missing == "zero")]
    joined = join(sources, skip=missing == "skip")
    judged, retrieved = joined.listings
    if retrieved.ids and not set(judged.ids) & set(retrieved.ids):
        raise ValueError(
            f"run and qrels have no query in common: the run has {_some(retrieved.ids)}, "
            f"the qrels have {_some(judged.ids)}"
        )
    judgments = _judgments(joined, negative_labels)
    evaluator = Evaluator(parse_metrics(metrics, convention=convention), judgments, n_jobs, unjudged=unjudged)
    (scores,) = joined.scores
    coverage = _coverage(judged, retrieved, judgments, scores, unjudged, missing)
    return replace(evaluator(scores), coverage=coverage)


class Aligned(NamedTuple):
    """Runs on the same documents: judgments, and by run its scores and what qrels and run say of each other."""

    judgments: Judgments
    scores: dict[str, Floats]
    coverage: dict[str, Coverage]
    documents: Names


def align_runs(
    runs: Mapping[str, Listed],
    qrels: Listed,
    negative_labels: NegativeLabels = "zero",
    unjudged: Unjudged = "irrelevant",
) -> Aligned:
    """Return judgments of all judged queries and the scores of each run on the same documents.

    These are all that are judged or that a run retrieved; a run that did not retrieve one gives it -inf. The judgments
    know which documents nobody judged. Documents to which a run gives equal scores stand by id, descending (trec_eval's
    order of ties). Parameters are those of `evaluate_run`.
    """
    sources = [Source("qrels", qrels, "label")]
    for name, run in runs.items():
        check_name("the name of a run", str(name))
        sources.append(Source(f"run {name!r}", run, "score"))
    joined = join(sources)
    judged, *retrieved = joined.listings
    judgments = _judgments(joined, negative_labels)
    found = dict(zip(runs, joined.scores, strict=True))
    coverage = {
        name: _coverage(judged, run, judgments, found[name], unjudged, "zero")
        for name, run in zip(runs, retrieved, strict=True)
    }
    return Aligned(judgments, found, coverage, joined.documents)


def _judgments(joined: Joined, negative_labels: NegativeLabels) -> Judgments:
    """Return the judgments of documents that are judged where they have a label."""
    return Judgments(
        joined.labels,
        qid=joined.queries,
        negative_labels=negative_labels,
        judged=~np.isnan(joined.labels),
        texts=joined.texts,
        titles=joined.titles,
    )


def _coverage(
    judged: Listing,
    retrieved: Listing,
    judgments: Judgments,
    scores: Floats,
    unjudged: Unjudged,
    missing: str,
) -> Coverage:
    """Return what qrels and a run, whose scores stand in the order of the judgments, say of each other."""
    found = scores > -np.inf
    known, asked = set(judged.ids), set(retrieved.ids)
    return Coverage(
        retrieved=int(found.sum()),
        unjudged=int((found & ~np.asarray(judgments.judged)).sum()),
        handling=unjudged,
        not_retrieved=tuple(query for query in judged.ids if query not in asked),
        not_judged=tuple(query for query in retrieved.ids if query not in known),
        missing=missing,
    )


def _some(ids: list[str]) -> str:
    return ", ".join(map(repr, ids[:3])) + (", …" if len(ids) > 3 else "")
