"""Comparisons of models on judgments, of TREC runs on qrels, and of columns of scores in a table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .._common.typing import Bools, Columns, Features, FilePath, Floats, Frame, Listed, Models, OfQueries
from .._common.validation import prefix_errors, validate_distinct, validate_ordered
from ..data.ranking_data import as_pandas
from ..data.tables import read_table
from ..evaluation.evaluator import Evaluator, shared_weights, validate_judgments
from ..judgments import Judgments, Unjudged
from ..metrics.base import Metric
from ..metrics.binary import Judged
from ..metrics.names import MetricLike, parse_metrics
from .bounds import BoundKind
from .comparison import Comparison
from .flags import UnjudgedDocuments
from .panel import Vary
from .query_labels import read_clusters, validate_labels
from .ranked_models import Rankings
from .scored_models import ScoredModels, read_columns, read_models, read_query_columns, read_runs

DEFAULT_METRICS = ("ndcg_linear@10", "ndcg_exp@10", "map", "mrr")
"""The two definitions of NDCG, and two secondary metrics."""


def compare(
    models: Models,
    judgments: Judgments,
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    *,
    features: Features | None = None,
    convention: str | None = None,
    n_jobs: int | None = None,
    primary: Sequence[MetricLike] | None = None,
    alpha: float = 0.05,
    margin: float = 0.0,
    draws: int = 10_000,
    seed: int = 0,
    unjudged: Unjudged = "irrelevant",
    segments: Columns | None = None,
    clusters: OfQueries | None = None,
    vary: Vary | None = None,
    baseline: str | None = None,
    selected: str | None = None,
    searched: int | None = None,
    bounds: BoundKind = "asymptotic",
    allow_incomplete: bool = False,
    allow_misaligned: bool = False,
) -> Comparison:
    """Compare models on the same judgments under several metrics.

    The result contains a leaderboard with confidence intervals, pairwise tests, and a verdict on whether the two
    primary metrics disagree about the best model.

    Parameters
    ----------
    models : mapping of name to model, or DataFrame with one column per model
        Each model is one of:

        - an array with one score per document, in the order of the labels,
        - the path of a score file, or ``FILE:COLUMN`` (see `gainwise.data.read_scores`),
        - a fitted model with a `predict` method, which requires `features`. A booster predicts at its best iteration,
          or with all rounds if it has none,
        - a list of three or more of these: the repeats of one training configuration.
    judgments : Judgments
        Relevance labels.
    metrics : str, Metric or iterable of these, optional
        Metrics to compare. Defaults to ``ndcg_linear@10``, ``ndcg_exp@10``, ``map`` and ``mrr``.
    features : array-like, sparse matrix, DataFrame or RankingData, optional
        Features for models that predict, one row per document.
    convention : str, optional
        Interpret metric names as this library does. See `parse_metrics`.
    n_jobs : int, optional
        Number of threads for evaluation. Defaults to the available CPUs.
    primary : sequence of two metrics, optional
        The two metrics to test for disagreement. Defaults to the first two of `metrics`.
    alpha, margin, draws, seed
        Level of the tests, largest difference that you tolerate, number of bootstrap draws, and random seed. See
        `Comparison`.
    unjudged : {"irrelevant", "drop"}, default "irrelevant"
        Count unjudged documents as label 0, or remove them from the rankings (condensed lists, Sakai 2007).
    segments : array-like, mapping of query id to label, mapping of name to either, or DataFrame, optional
        Query groups such as head and tail, compared separately in `Comparison.segments`.
    clusters : array-like, mapping of query id to label, or Series, optional
        Cluster of each query. Queries of a cluster, such as near duplicates, are treated as dependent.
    vary : {"seed", "queries"}, optional
        What differs between the repeats of a configuration. It changes only the text of the verdict.
    baseline : str, optional
        Name of the deployed model. Reports then state first whether to replace it. See `Comparison.against`.
    selected, searched : str and int, optional
        Name of the model that a search selected on a validation set, and the number of candidates of that search.
        Reports then state whether these queries confirm the selection. Pass `searched` alone if the search used these
        queries. See `Comparison`.
    bounds : {"asymptotic", "betting"}, default "asymptotic"
        Bounds of the verdict and of decisions about the baseline. See `Comparison`.
    allow_incomplete : bool, default False
        Compare the other models if some have no valid scores. `Comparison.missing` contains the reasons.
    allow_misaligned : bool, default False
        Compare scores that seem to be off by one row, instead of raising an error.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If the number of scores is wrong, a score is NaN, a prediction fails, a metric is unknown or skips every query,
        metrics treat weights differently, or a configuration has fewer than three repeats. If scores are off by one
        row: a shift improves them, and makes them better than random order, by more than five standard errors each.
    TypeError
        If `judgments` is not a `Judgments` object.

    See Also
    --------
    gainwise.compare_runs : Compare TREC runs.
    gainwise.compare_table : Compare columns of scores in one table.
    gainwise.Comparison : The result.
    gainwise.Experiment : Train the candidates, select one and compare them.

    Notes
    -----
    The verdict on a configuration covers a further repeat, the verdict on a single model does not cover retraining.
    Metrics with ``empty=skip`` use only the queries with a value, and statements about both primary metrics the queries
    with both values.

    Examples
    --------
    >>> import numpy as np
    >>> import gainwise as gw
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(0, 4, 900)
    >>> judgments = gw.Judgments(labels, group=[30] * 30)
    >>> comparison = gw.compare({"good": labels + rng.normal(size=900), "poor": rng.normal(size=900)}, judgments)
    >>> comparison.winners["ndcg_exp@10"]
    'good'
    """
    validate_judgments("compare(models, judgments)", judgments, models=models, metrics=metrics)
    metrics = DEFAULT_METRICS if metrics is None else metrics
    parsed = parse_metrics(metrics, convention=convention)  # Before predictions, which may take long.
    scored = read_models(
        models,
        judgments,
        features,
        baseline=baseline,
        allow_incomplete=allow_incomplete,
        allow_misaligned=allow_misaligned,
    )
    options: dict[str, Any] = {"alpha": alpha, "margin": margin, "draws": draws, "seed": seed, "baseline": baseline}
    options |= {"selected": selected, "searched": searched, "bounds": bounds}
    return compare_scores(
        scored,
        parsed,
        convention=convention,
        n_jobs=n_jobs,
        primary=primary,
        unjudged=unjudged,
        segments=segments,
        clusters=clusters,
        vary=vary,
        **options,
    )


def compare_scores(
    models: ScoredModels,
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    *,
    convention: str | None = None,
    n_jobs: int | None = None,
    primary: Sequence[MetricLike] | None = None,
    unjudged: Unjudged = "irrelevant",
    segments: Columns | None = None,
    clusters: OfQueries | None = None,
    **options: Any,
) -> Comparison:
    """Compare the scores of models on the same documents. `compare` describes the arguments.

    `options` are those of `Comparison`.
    """
    validate_ordered("primary", primary)
    parsed = parse_metrics(DEFAULT_METRICS if metrics is None else metrics, convention=convention)
    primary_metrics = parsed[:2] if primary is None else parse_metrics(primary, convention=convention)
    judgments, scores = models.judgments, models.scores
    evaluator = Evaluator(parsed, judgments, n_jobs, unjudged=unjudged)
    weights = shared_weights(parsed, judgments)
    further = next((metric for metric in parsed if metric.list_columns()), None)
    if unjudged == "drop" and further is not None:
        raise ValueError(
            f"unjudged='drop' requires metrics of the labels in a comparison, got {further}. Use gw.evaluate for it."
        )
    values, counted = _evaluate(evaluator, scores)
    labels = {} if segments is None else validate_labels(segments, judgments.query_ids, judgments)
    codes = None if clusters is None else read_clusters(clusters, judgments.queries, judgments)
    documents = None
    if judgments.judged is not None:
        documents = _count_unjudged(models, primary_metrics, unjudged)
        if further is None and any(documents.unjudged.values()):
            means = _average_otherwise(models, primary_metrics, unjudged, n_jobs, weights)
            documents = replace(documents, other_means=means)
    if unjudged == "drop":
        condensed, retained = judgments.condensed
        scores = {name: judgments.by_query(model_scores)[retained] for name, model_scores in scores.items()}
        judgments = condensed
    by_model = models.group(scores)
    return Comparison(
        {name: _build_table(models, table) for name, table in zip(evaluator.names, values[:, counted], strict=True)},
        list(by_model),
        metrics=dict(zip(evaluator.names, parsed, strict=True)),
        weights=None if weights is None else weights[counted],
        primary=None if primary is None else [str(metric) for metric in primary_metrics],
        rankings=Rankings(judgments, by_model, counted, weights),
        unjudged=documents,
        iterations=models.iterations,
        segments={name: column[counted] for name, column in labels.items()} or None,
        notes=models.notes,
        clusters=None if codes is None else codes[counted],
        missing=models.missing,
        **options,
    )


def _evaluate(evaluator: Evaluator, scores: Mapping[str, Floats]) -> tuple[Floats, Bools]:
    """Return the values of all models, shape (metrics, queries, models), and which queries have a value."""
    values = np.empty((len(evaluator.metrics), evaluator.judgments.queries, len(scores)))
    for column, (name, model_scores) in enumerate(scores.items()):
        with prefix_errors(f"model {name!r}: "):
            values[:, :, column] = evaluator(model_scores).per_query.T
    skipped = np.isnan(values[:, :, 0])
    for metric, row in zip(evaluator.metrics, skipped, strict=True):
        if row.all():
            raise ValueError(f"{metric} has a value on no query, because no query has relevant documents.")
    return values, np.logical_not(skipped.all(axis=0))


def _count_unjudged(models: ScoredModels, metrics: Sequence[Metric], handling: Unjudged) -> UnjudgedDocuments:
    """Count the unjudged documents of each model. Scores of documents that a model did not retrieve are -inf.

    Cutoffs and ties are those of the metrics. Shares are means over repeats, and numbers are totals.
    """
    judged = [Judged(k=metric.k, ties=metric.ties, scores=metric.scores, weights=metric.weights) for metric in metrics]
    evaluator, mask = Evaluator(list(dict.fromkeys(judged)), models.judgments), models.judgments.judged
    assert mask is not None
    counts = {}
    for column, scores in models.scores.items():
        retrieved = scores > -np.inf
        counts[column] = evaluator(scores).mean, int(retrieved.sum()), int((retrieved & ~mask).sum())
    by_model = {name: own if isinstance(own, list) else [own] for name, own in models.group(counts).items()}
    return UnjudgedDocuments(
        shares={
            metric: {model: sum(means[metric] for means, _, _ in own) / len(own) for model, own in by_model.items()}
            for metric in evaluator.names
        },
        retrieved={model: sum(number for _, number, _ in own) for model, own in by_model.items()},
        unjudged={model: sum(number for _, _, number in own) for model, own in by_model.items()},
        handling=handling,
    )


def _average_otherwise(
    models: ScoredModels, metrics: Sequence[Metric], unjudged: Unjudged, n_jobs: int | None, weights: Floats | None
) -> dict[str, dict[str, float]]:
    """Return the mean of each model under these metrics if unjudged documents are handled in the other way."""
    other: Unjudged = "irrelevant" if unjudged == "drop" else "drop"
    evaluator = Evaluator(metrics, models.judgments, n_jobs, unjudged=other)
    values, counted = _evaluate(evaluator, models.scores)
    common = counted & ~np.isnan(values[:, :, 0]).any(axis=0)
    means = np.average(values[:, common], axis=1, weights=None if weights is None else weights[common])
    by_model = (models.group(dict(zip(models.scores, row, strict=True))) for row in means.tolist())
    return {
        name: {model: float(np.mean(repeats)) for model, repeats in row.items()}
        for name, row in zip(evaluator.names, by_model, strict=True)
    }


def _build_table(models: ScoredModels, values: Floats) -> Any:
    """Return values, shape (queries, columns), as `Comparison` reads them."""
    if not models.recipes:
        return values
    by_model = models.group(dict(zip(models.scores, values.T, strict=True)))
    return [np.stack(entry, axis=1) if name in models.recipes else entry for name, entry in by_model.items()]


def compare_runs(
    runs: Mapping[str, Listed | Sequence[Listed]],
    qrels: Listed,
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    *,
    unjudged: Unjudged = "irrelevant",
    allow_incomplete: bool = False,
    **options: Any,
) -> Comparison:
    """Compare TREC runs on the same qrels.

    All judged queries count, including those without a retrieved document. `Comparison.notes` lists these. The
    leaderboard and the verdict contain the share of unjudged documents of each run, because they count against it.

    Parameters
    ----------
    runs : mapping of name to path, mapping {query: {document: score}}, or DataFrame
        See `gainwise.evaluate_run`. A list of three or more of these is a configuration, as in `compare`.
    qrels : path, mapping {query: {document: label}}, or DataFrame
        See `gainwise.evaluate_run`. Negative labels count as 0.
    metrics : str, Metric or iterable of these, optional
        Metrics to compare, as in `compare`.
    unjudged : {"irrelevant", "drop"}, default "irrelevant"
        Retrieved documents without a label have label 0, or are removed from every run (condensed lists, Sakai 2007).
        Compare both: the first underestimates a run that returns new documents, the second overestimates it (Sakai
        2008).
    allow_incomplete : bool, default False
        Compare the other runs if some cannot be read. `Comparison.missing` contains the reasons.
    **options
        Other arguments of `compare`, except for those about models that predict and about the order of rows.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If a file is malformed, or the runs and the qrels have no query in common.

    See Also
    --------
    gainwise.evaluate_run : Evaluate one run.
    gainwise.compare : Compare models on the same documents.

    References
    ----------
    Sakai 2007, Alternatives to Bpref, SIGIR. Sakai 2008, Comparing metrics across TREC and NTCIR, CIKM.

    Examples
    --------
    >>> import gainwise as gw
    >>> qrels = {"q1": {"a": 2, "b": 0, "c": 1}}
    >>> runs = {"first": {"q1": {"a": 2.0, "b": 1.0}}, "second": {"q1": {"b": 2.0, "a": 1.0}}}
    >>> gw.compare_runs(runs, qrels, ["ndcg_linear@2", "mrr"]).winners
    {'ndcg_linear@2': 'first', 'mrr': 'first'}
    """
    models = read_runs(runs, qrels, unjudged=unjudged, allow_incomplete=allow_incomplete)
    return compare_scores(models, metrics, unjudged=unjudged, **options)


def compare_table(
    frame: FilePath | Frame,
    scores: Sequence[str] | Mapping[str, str | Sequence[str]],
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    *,
    query: str = "query",
    label: str = "label",
    columns: Sequence[str] = (),
    document: str | None = None,
    weight: str | None = None,
    segments: str | Sequence[str] | None = None,
    clusters: str | None = None,
    allow_incomplete: bool = False,
    allow_misaligned: bool = False,
    **options: Any,
) -> Comparison:
    """Compare models whose scores are columns of a table with one row per query and document.

    Use it if scores are stored next to labels and queries. Rows of a query need not be contiguous.

    Parameters
    ----------
    frame : DataFrame of pandas or polars, Arrow table, or path
        The table. Files are CSV, TSV (also compressed with gzip) or Parquet. Ids, segments and clusters in CSV and TSV
        are text as written, so `01` and `1` differ.
    scores : sequence of str, or mapping of name to column or columns
        The columns of scores, one per model. A mapping names the models. A list of three or more columns contains the
        repeats of a training configuration.
    metrics : str, Metric or iterable of these, optional
        Metrics to compare, as in `compare`.
    query, label : str, default "query" and "label"
        The columns of query ids and of relevance labels.
    columns : sequence of str, optional
        Columns of further labels, such as revenue, for metrics with ``column=NAME``. Empty cells are not judged.
    document : str, optional
        The column of document ids. If you pass it, a document may occur only once in a query.
    weight : str, optional
        The column of weights. The weight of a query is the mean over its rows.
    segments : str or sequence of str, optional
        Columns with the segment of each query.
    clusters : str, optional
        The column with the cluster of each query.
    allow_incomplete, allow_misaligned : bool, default False
        As in `compare`.
    **options
        Other arguments of `compare`, for example ``baseline="current"`` and ``margin=0.005``. Those about models that
        predict do not apply.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If a column does not exist, has two roles or missing values, a document occurs twice in a query, or scores are
        equal to the labels in every row.

    See Also
    --------
    gainwise.compare : Compare models and arrays of scores.
    gainwise.Comparison.against : Decide whether a column may replace the deployed model.

    Examples
    --------
    >>> import pandas as pd
    >>> import gainwise as gw
    >>> frame = pd.DataFrame({"query": ["a", "a", "b", "b"], "label": [1, 0, 2, 1], "old": [1, 2, 1, 2]})
    >>> frame["new"] = [0.7, 0.1, 0.9, 0.2]
    >>> gw.compare_table(frame, scores=["old", "new"]).winners["ndcg_exp@10"]
    'new'
    """
    names = [segments] if isinstance(segments, str) else segments or ()
    if isinstance(frame, str | os.PathLike):
        source, table = os.fspath(frame), read_table(Path(frame), [query, document, clusters, *names])
    else:
        source, table = "frame", as_pandas(frame, "frame")
    if isinstance(scores, str):
        raise TypeError(f"scores must be a list of columns, got {scores!r}. Pass scores=[{scores!r}].")
    _validate_columns(scores)
    selected = dict(scores) if isinstance(scores, Mapping) else {name: name for name in scores}
    roles = {"query": query, "label": label, "document": document, "weight": weight}
    models = read_models(
        *read_columns(table, selected, roles, source, columns),
        allow_incomplete=allow_incomplete,
        allow_misaligned=allow_misaligned,
    )
    return compare_scores(models, metrics, **read_query_columns(table, names, clusters, source), **options)


def _validate_columns(scores: Sequence[str] | Mapping[str, str | Sequence[str]]) -> None:
    """Raise an error if a name of a column is not text, or a column of a list occurs twice."""
    columns = scores.values() if isinstance(scores, Mapping) else list(scores)
    for column in columns:
        for name in [column] if isinstance(column, str) or np.ndim(column) == 0 else column:
            if not isinstance(name, str):
                raise TypeError(f"scores must contain names of columns as text, got {name!r}. Rename the column.")
    if not isinstance(scores, Mapping):
        validate_distinct("scores", list(scores))  # Each model has the name of its column.
