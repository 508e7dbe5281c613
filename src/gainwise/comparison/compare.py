"""Comparisons of models on judgments, of TREC runs on qrels, and of columns of scores in a table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._common.text import join_names, pluralize
from .._common.typing import Bools, Columns, Features, FilePath, Floats, Frame, Listed, Models, OfQueries
from .._common.validation import validate_ordered
from ..data.ranking_data import as_pandas
from ..data.tables import describe_text, get_column, read_table
from ..data.text import one_line
from ..evaluation.evaluator import Evaluator, shared_weights, validate_judgments
from ..evaluation.prediction import Iteration, Prediction, Unreadable, describe_remarks, read_predictions
from ..evaluation.trec_runs import align_runs, find_unreadable
from ..judgments import Judgments, Unjudged
from ..metrics.names import MetricLike, parse_metrics
from .alignment import validate_alignment
from .baseline import validate_baseline
from .betting import BoundKind
from .comparison import Comparison
from .data import Vary, drop_missing, expand_recipes, read_clusters, validate_labels
from .flags import find_unjudged
from .rankings import Rankings

DEFAULT_METRICS = ("ndcg_linear@10", "ndcg_exp@10", "map", "mrr")
"""The two definitions of NDCG, and two secondary metrics."""


def compare(
    models: Models,
    judgments: Judgments,
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    *,
    features: Features | None = None,
    iteration: int | Mapping[str, int] | None = None,
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
        Each model is an array with one score per document, the path of a score file, a fitted model with a `predict`
        method (requires `features`), or a list of three or more of these: the repeats of one training recipe.
    judgments : Judgments
        Relevance labels.
    metrics : str, Metric or iterable of these, optional
        Metrics to compare. Defaults to ``ndcg_linear@10``, ``ndcg_exp@10``, ``map`` and ``mrr``.
    features : array-like, sparse matrix, DataFrame or RankingData, optional
        Features for models that predict, one row per document.
    iteration : int or mapping of name to int, optional
        Number of boosting rounds to predict with. Defaults to the best iteration of each booster, or to all rounds.
    convention : str, optional
        Interpret metric names as this library does. See `parse_metrics`.
    n_jobs : int, optional
        Number of threads for evaluation. Defaults to the available CPUs.
    primary : sequence of two metrics, optional
        The two metrics to test for disagreement. Defaults to the first two of `metrics`.
    alpha, margin, draws, seed
        Settings of the statistical tests. See `Comparison`.
    unjudged : {"irrelevant", "drop"}, default "irrelevant"
        Count unjudged documents as label 0, or remove them from the rankings (condensed lists, Sakai 2007).
    segments : array-like, mapping of query id to label, mapping of name to either, or DataFrame, optional
        Query groups such as head and tail, compared separately in `Comparison.segments`.
    clusters : array-like, mapping of query id to label, or Series, optional
        Cluster of each query. Queries of a cluster, such as near duplicates, are treated as dependent.
    vary : {"seed", "queries"}, optional
        What differs between the repeats of a recipe. It changes only the text of the verdict.
    baseline : str, optional
        Name of the deployed model. Reports then state first whether to replace it. See `Comparison.against`.
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
        If the number of scores is wrong, a score is NaN, a metric is unknown or skips every query, metrics treat
        weights differently, `iteration` does not apply to a model, or a recipe has fewer than three repeats. If scores
        are off by one row: a shift improves them, and makes them better than random order, by more than five standard
        errors each.
    TypeError
        If `judgments` is not a `Judgments` object.

    Notes
    -----
    The verdict on a recipe covers a further repeat, the verdict on a single model does not cover retraining. Metrics
    with ``empty=skip`` use only the queries with a value, and statements about both primary metrics the queries with
    both values.

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
    validate_ordered("metrics", metrics)
    validate_ordered("primary", primary)
    parsed = parse_metrics(DEFAULT_METRICS if metrics is None else metrics, convention=convention)
    primary_metrics = parsed[:2] if primary is None else parse_metrics(primary, convention=convention)
    evaluator = Evaluator(parsed, judgments, n_jobs, unjudged=unjudged)
    weights = shared_weights(parsed, judgments)
    predictions, recipes, missing = _predict(models, judgments, features, iteration, baseline, allow_incomplete)
    scores = {name: prediction.scores for name, prediction in predictions.items()}
    iterations, notes = _describe_predictions(predictions, recipes)
    values, counted = _evaluate(evaluator, scores, allow_misaligned)
    labels = {} if segments is None else validate_labels(segments, judgments.query_ids, judgments)
    cluster_codes = None if clusters is None else read_clusters(clusters, judgments.queries, judgments)[counted]
    unjudged_documents = find_unjudged(judgments, scores, primary_metrics, unjudged)
    if unjudged == "drop":
        judgments, scores = _drop_unjudged(judgments, scores)
    tables = [_build_table(table, list(scores), recipes) for table in values[:, counted]]
    by_model = _group_repeats(scores, recipes)
    settings: dict[str, Any] = {"alpha": alpha, "margin": margin, "draws": draws, "seed": seed, "baseline": baseline}
    settings["bounds"] = bounds
    return Comparison(
        dict(zip(evaluator.names, tables, strict=True)),
        list(by_model),
        metrics=dict(zip(evaluator.names, parsed, strict=True)),
        weights=None if weights is None else weights[counted],
        primary=None if primary is None else [str(metric) for metric in primary_metrics],
        rankings=Rankings(judgments, by_model, counted, weights),
        unjudged=unjudged_documents and unjudged_documents.average_repeats(recipes, list(by_model)),
        iterations=iterations,
        segments={name: column[counted] for name, column in labels.items()} or None,
        notes=notes,
        vary=vary,
        clusters=cluster_codes,
        missing=missing,
        **settings,
    )


def _predict(
    models: Any, judgments: Judgments, features: Any, iteration: Any, baseline: str | None, allow_incomplete: bool
) -> tuple[dict[str, Prediction], dict[str, list[str]], dict[str, str]]:
    """Return the predictions of all repeats, the repeats of each recipe, and why other models are missing."""
    flat_models, recipes = expand_recipes(models)
    if baseline is not None and isinstance(models, Mapping):
        validate_baseline(baseline, list(models))  # Predictions may take long, so this error comes first.
    features, rounds = judgments.in_row_order("features", features), iteration
    if isinstance(iteration, Mapping):  # A recipe has one number for all its repeats.
        rounds = {repeat: number for name, number in iteration.items() for repeat in recipes.get(name, [name])}
    predictions, unreadable = read_predictions(flat_models, judgments, features, rounds, allow_incomplete)
    return drop_missing(predictions, recipes, unreadable, baseline)


def _evaluate(evaluator: Evaluator, scores: Mapping[str, Floats], allow_misaligned: bool) -> tuple[Floats, Bools]:
    """Return the values of all models, shape (metrics, queries, models), and which queries have a value."""
    if not allow_misaligned:
        validate_alignment(scores, evaluator.judgments)
    values = np.empty((len(evaluator.metrics), evaluator.judgments.queries, len(scores)))
    for column, (name, model_scores) in enumerate(scores.items()):
        try:
            values[:, :, column] = evaluator(model_scores).per_query.T
        except ValueError as error:
            raise ValueError(f"model {name!r}: {error}") from None
    skipped = np.isnan(values[:, :, 0])
    for metric, row in zip(evaluator.metrics, skipped, strict=True):
        if row.all():
            raise ValueError(f"{metric} has a value on no query, because no query has relevant documents.")
    return values, np.logical_not(skipped.all(axis=0))


def _drop_unjudged(judgments: Judgments, scores: Mapping[str, Floats]) -> tuple[Judgments, dict[str, Floats]]:
    """Return judgments and scores of the judged documents."""
    condensed, retained = judgments.condensed
    return condensed, {name: judgments.by_query(model_scores)[retained] for name, model_scores in scores.items()}


def _group_repeats(by_repeat: Mapping[str, Any], recipes: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return one entry per model, which is a list for a recipe."""
    recipe_of = {repeat: name for name, repeats in recipes.items() for repeat in repeats}
    names = dict.fromkeys(recipe_of.get(repeat, repeat) for repeat in by_repeat)
    return {
        name: [by_repeat[repeat] for repeat in recipes[name]] if name in recipes else by_repeat[name] for name in names
    }


def _build_table(values: Floats, names: Sequence[str], recipes: Mapping[str, list[str]]) -> Any:
    """Return values (queries, repeats of all models) as `Comparison` reads them."""
    if not recipes:
        return values
    by_model = _group_repeats(dict(zip(names, values.T, strict=True)), recipes)
    return [np.stack(entry, axis=1) if name in recipes else entry for name, entry in by_model.items()]


def _describe_predictions(
    predictions: Mapping[str, Prediction], recipes: Mapping[str, list[str]]
) -> tuple[dict[str, Iteration], tuple[str, ...]]:
    """Return the rounds of each booster, and sentences about the rounds of recipes and the columns of features."""
    rounds = {name: each.iteration for name, each in predictions.items() if each.iteration is not None}
    of_recipes = tuple(
        f"The repeats of {name} predict with {join_names([rounds[repeat].size for repeat in repeats], most=10)}"
        for name, repeats in recipes.items()
        if all(repeat in rounds for repeat in repeats)
    )
    repeats = {repeat for names in recipes.values() for repeat in names}
    remarks = describe_remarks({name: prediction.remarks for name, prediction in predictions.items()})
    return {name: used for name, used in rounds.items() if name not in repeats}, (*of_recipes, *remarks)


def compare_runs(
    runs: Mapping[str, Listed | Sequence[Listed]],
    qrels: Listed,
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    *,
    unjudged: Unjudged = "irrelevant",
    **options: Any,
) -> Comparison:
    """Compare TREC runs on the same qrels.

    All judged queries count, including those without a retrieved document. `Comparison.notes` lists these. The
    leaderboard and the verdict contain the share of unjudged documents of each run, because they count against it.

    Parameters
    ----------
    runs : mapping of name to path, mapping {query: {document: score}}, or DataFrame
        See `gainwise.evaluate_run`. A list of three or more of these is a recipe, as in `compare`.
    qrels : path, mapping {query: {document: label}}, or DataFrame
        See `gainwise.evaluate_run`. Negative labels count as 0.
    metrics, options
        As in `compare`.
    unjudged : {"irrelevant", "drop"}, default "irrelevant"
        Retrieved documents without a label have label 0, or are removed from every run (condensed lists, Sakai 2007).
        Compare both: the first underestimates a run that returns new documents, the second overestimates it (Sakai
        2008).

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If a file is malformed, or the runs and the qrels have no query in common.

    Examples
    --------
    >>> import gainwise as gw
    >>> qrels = {"q1": {"a": 2, "b": 0, "c": 1}}
    >>> runs = {"first": {"q1": {"a": 2.0, "b": 1.0}}, "second": {"q1": {"b": 2.0, "a": 1.0}}}
    >>> gw.compare_runs(runs, qrels, ["ndcg_linear@2", "mrr"]).winners
    {'ndcg_linear@2': 'first', 'mrr': 'first'}
    """
    flat_runs, recipes = expand_recipes(runs)
    unreadable = find_unreadable(flat_runs) if options.get("allow_incomplete") else {}
    readable = {name: run for name, run in flat_runs.items() if name not in unreadable}
    judgments, scores, coverage = align_runs(readable, qrels, unjudged=unjudged)
    models = {name: Unreadable(unreadable[name]) if name in unreadable else scores[name] for name in flat_runs}
    # Runs are matched by document, so their scores cannot be off by a row.
    options = {"unjudged": unjudged, **options, "allow_misaligned": True}
    comparison = compare(_group_repeats(models, recipes), judgments, metrics, **options)
    comparison.notes = tuple(f"{name}: {note}" for name, about in coverage.items() for note in about.queries)
    return comparison


def compare_table(
    frame: FilePath | Frame,
    scores: Sequence[str] | Mapping[str, str | Sequence[str]],
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    *,
    query: str = "query",
    label: str = "label",
    document: str | None = None,
    weight: str | None = None,
    segments: str | Sequence[str] | None = None,
    clusters: str | None = None,
    **options: Any,
) -> Comparison:
    """Compare models whose scores are columns of a table with one row per query and document.

    Parameters
    ----------
    frame : DataFrame of pandas or polars, Arrow table, or path
        The table. Files are CSV, TSV (also compressed with gzip) or Parquet.
    scores : sequence of str, or mapping of name to column or columns
        The columns of scores, one per model. A mapping names the models, and a list of three or more columns is the
        repeats of a training recipe.
    metrics : str, Metric or iterable of these, optional
        Metrics to compare, as in `compare`.
    query, label : str, default "query" and "label"
        The columns of query ids and of relevance labels.
    document : str, optional
        The column of document ids. If you pass it, a document may occur only once in a query.
    weight : str, optional
        The column of weights. The weight of a query is the mean over its rows.
    segments : str or sequence of str, optional
        Columns with the segment of each query.
    clusters : str, optional
        The column with the cluster of each query.
    **options
        Other arguments of `compare`, for example ``baseline="current"`` and ``margin=0.005``.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If a column does not exist, has two roles or missing values, a document occurs twice in a query, or scores are
        equal to the labels in every row.

    Examples
    --------
    >>> import pandas as pd
    >>> import gainwise as gw
    >>> frame = pd.DataFrame({"query": ["a", "a", "b", "b"], "label": [1, 0, 2, 1], "old": [1, 2, 1, 2]})
    >>> frame["new"] = [0.7, 0.1, 0.9, 0.2]
    >>> gw.compare_table(frame, scores=["old", "new"]).winners["ndcg_exp@10"]
    'new'
    """
    if isinstance(frame, str | os.PathLike):
        source, table = os.fspath(frame), read_table(Path(frame), text=query)
    else:
        source, table = "frame", as_pandas(frame, "frame")
    if isinstance(scores, str):
        raise TypeError(f"scores must be a list of columns, got {scores!r}. Pass scores=[{scores!r}].")
    models = dict(scores) if isinstance(scores, Mapping) else {name: name for name in scores}
    names = [segments] if isinstance(segments, str) else list(segments or ())
    roles = {"query": query, "label": label, "document": document, "weight": weight}
    return compare(**read_score_table(table, models, roles, names, clusters, source), metrics=metrics, **options)


def read_score_table(
    table: pd.DataFrame,
    models: Mapping[str, str | Sequence[str]],
    roles: Mapping[str, str | None],
    segments: Sequence[str],
    clusters: str | None,
    source: str,
) -> dict[str, Any]:
    """Return the arguments of `compare`. `roles` are the columns by role, `source` is the table's name in errors."""
    if not models:
        raise ValueError("scores must name at least one column, got none.")
    columns = {role: get_column(table, name, source, role) for role, name in roles.items() if name is not None}
    for role, column in columns.items():
        missing = column.isna()
        if missing.any():
            raise ValueError(
                f"{source}: the {role} column {roles[role]!r} has {pluralize(int(missing.sum()), 'missing value')}, "
                f"the first in row {missing.to_numpy().argmax()} (from 0). Remove these rows or add the values."
            )
        problem = describe_text(source, roles[role], column) if role in ("label", "weight") else None
        if problem is not None:
            raise ValueError(f"{problem}.")
    if "document" in columns:
        repeated = table.duplicated([roles["query"], roles["document"]]).to_numpy()
        if repeated.any():
            row = int(repeated.argmax())
            query_id, document_id = (columns[role].tolist()[row] for role in ("query", "document"))
            raise ValueError(
                f"{source}: document {document_id!r} of query {query_id!r} occurs "
                f"again in row {row} (from 0). Keep one row per query and document."
            )
    labels = columns["label"].to_numpy()

    def read_scores(name: str) -> Any:
        role = next((role for role, column in roles.items() if column == name), None)
        if role is not None:
            raise ValueError(f"scores must not contain {name!r}, which is the {role} column.")
        column = get_column(table, name, source)
        if not (labels == labels[:1]).all() and np.array_equal(column.to_numpy(), labels):
            raise ValueError(f"{source}: column {name!r} is equal to the label in every row, so it is not a score.")
        problem = describe_text(source, name, column)
        return column.to_numpy() if problem is None else Unreadable(problem)

    scores = {
        name: read_scores(selected) if isinstance(selected, str) else [read_scores(column) for column in selected]
        for name, selected in models.items()
    }
    try:
        weight = columns["weight"].to_numpy() if "weight" in columns else None
        documents = columns["document"].to_numpy() if "document" in columns else None
        judgments = Judgments(labels, qid=columns["query"].to_numpy(), weight=weight, document_ids=documents)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{source}: {one_line(error)}") from None
    return {
        "models": scores,
        "judgments": judgments,
        "segments": {name: get_column(table, name, source).tolist() for name in segments} or None,
        "clusters": None if clusters is None else get_column(table, clusters, source).tolist(),
    }
