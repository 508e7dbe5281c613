"""Several models, one set of judgments: who is best under which metric, and whether the metrics really disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .comparison.findings import Findings
from .comparison.holes import find_holes
from .comparison.rankings import Rankings
from .evaluation.evaluator import Evaluator, check_judgments, shared_weights
from .evaluation.runs import align_runs
from .metrics.names import MetricLike, parse_metrics
from .training.predictions import read_predictions

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from ._common.typing import Bools
    from .judgments import Judgments, Unjudged
    from .report.plots import Plots

DEFAULT_METRICS = ("ndcg_linear@10", "ndcg_exp@10", "ndcg_jk@10", "map", "mrr")
"""The two definitions of NDCG, and three witnesses."""


def compare(
    models: Any,
    judgments: Judgments,
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    *,
    features: Any = None,
    iteration: int | Mapping[str, int] | None = None,
    convention: str | None = None,
    n_jobs: int | None = None,
    primary: Sequence[MetricLike] | None = None,
    alpha: float = 0.05,
    rope: float = 0.0,
    draws: int = 10_000,
    seed: int = 0,
    unjudged: Unjudged = "irrelevant",
) -> Comparison:
    """Compare models on the same judgments.

    Parameters
    ----------
    models : mapping of name to scores, or DataFrame with one column per model
        One score per document, in the order of the labels. A value may be a path to a score file
        (`gainsay.data.read_scores`), or a model with a `predict` method, which is given `features`. Models of LightGBM,
        XGBoost and CatBoost predict at their best iteration where they have one, else with all rounds; `iterations` of
        the result and every report say which.
    judgments : Judgments
        The labels of the documents by query.
    metrics : str, Metric, or an iterable of them, optional
        See `parse_metrics`. By default both NDCGs at 10, and `ndcg_jk@10`, `map` and `mrr` as witnesses. A metric that
        skips queries without relevant documents (``empty=skip``) is compared on its own queries, the others on theirs;
        what is said of both primary metrics together is about the queries that both have. Metrics of your own are
        compared as any other, a loss (``higher_is_better=False``) by its lowest mean.
    features : array-like, sparse matrix, DataFrame or RankingData, optional
        What models predict from, one row per document, in the order of the labels. Ranking data hand their names and
        categories on to the models.
    iteration : int or mapping of name to int, optional
        With how many boosting rounds, counted from 1, all models or the named ones are to predict instead.
    convention : str, optional
        Read metric names as this library does; see `parse_metrics`.
    n_jobs : int, optional
        Threads that evaluate; by default the CPUs that the process may use.
    primary : two metrics, optional
        The two between which disagreement is looked for; by default the first two of `metrics`.
    alpha, rope, draws, seed
        See `Verdict.from_values`.
    unjudged : {"irrelevant", "drop"}
        Where the judgments know documents that nobody judged: they have label 0, or condensed lists are compared, from
        which they are dropped (Sakai 2007). Either way `Comparison.holes` says how many each model has.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        For a wrong number of scores, NaN scores, or an `iteration` of what is no booster or has fewer rounds (the
        message names the model), unknown metrics, metrics of which some ignore the weights of the queries, or a metric
        that skips every query.
    TypeError
        Where `judgments` are none; arguments that changed places are recognised.

    Examples
    --------
    >>> import numpy as np
    >>> import gainsay as gs
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(0, 4, 900)
    >>> judgments = gs.Judgments(labels, group=[30] * 30)
    >>> comparison = gs.compare({"good": labels + rng.normal(size=900), "poor": rng.normal(size=900)}, judgments)
    >>> comparison.winners["ndcg_exp@10"]
    'good'
    """
    check_judgments("compare(models, judgments)", judgments, models=models, metrics=metrics)
    chosen = parse_metrics(DEFAULT_METRICS if metrics is None else metrics, convention=convention)
    leading = chosen[:2] if primary is None else parse_metrics(primary, convention=convention)
    evaluator = Evaluator(chosen, judgments, n_jobs, unjudged=unjudged)
    weights = shared_weights(chosen, judgments)
    features = judgments.in_row_order("features", features)
    matched = judgments.in_row_order
    scores, iterations = read_predictions(models, judgments.documents, features, iteration, matched)
    values = np.empty((len(chosen), judgments.queries, len(scores)))
    for column, (name, predicted) in enumerate(scores.items()):
        try:
            values[:, :, column] = evaluator(predicted).per_query.T
        except ValueError as error:
            raise ValueError(f"model {name!r}: {error}") from None
    skipped: Bools = np.isnan(values[:, :, 0])
    for metric, row in zip(chosen, skipped, strict=True):
        if row.all():
            raise ValueError(f"{metric} has a value on no query: it skips all, for want of relevant documents")
    counted: Bools = np.logical_not(skipped.all(axis=0))
    ranges = {str(metric): metric.value_range(judgments) for metric in chosen}
    holes = find_holes(judgments, scores, leading, unjudged)
    if unjudged == "drop":
        judgments, kept = judgments.condensed
        scores = {name: evaluator.judgments.by_query(predicted)[kept] for name, predicted in scores.items()}
    return Comparison(
        {str(metric): table[counted] for metric, table in zip(chosen, values, strict=True)},
        list(scores),
        metrics={str(metric): metric for metric in chosen},
        weights=None if weights is None else weights[counted],
        primary=None if primary is None else [str(metric) for metric in leading],
        rankings=Rankings(judgments, scores, counted, weights),
        holes=holes,
        iterations=iterations,
        ranges=ranges,
        alpha=alpha,
        rope=rope,
        draws=draws,
        seed=seed,
    )


def compare_runs(
    runs: Mapping[str, Any],
    qrels: Any,
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    *,
    unjudged: Unjudged = "irrelevant",
    **options: Any,
) -> Comparison:
    """Compare TREC runs on the same qrels.

    All judged queries count, also those for which a run retrieved nothing; `Comparison.notes` says which. A run that
    returns documents nobody judged loses by them: how many there are stands in leaderboard and verdict, and a flag says
    where the models in question differ in it.

    Parameters
    ----------
    runs : mapping of name to path, mapping {query: {document: score}}, or DataFrame
        See `gainsay.evaluate_run`.
    qrels : path, mapping {query: {document: label}}, or DataFrame
        See `gainsay.evaluate_run`. Negative grades count as 0.
    metrics, options
        As in `compare`.
    unjudged : {"irrelevant", "drop"}
        Retrieved documents that are not in the qrels have label 0, or are dropped from every run before documents are
        ranked (condensed lists; Sakai 2007). Compare both: the first is hard on a run that returns new documents, the
        second flatters it (Sakai 2008).

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        Where files are malformed or runs and qrels do not fit; the message names the run.

    Examples
    --------
    >>> import gainsay as gs
    >>> qrels = {"q1": {"a": 2, "b": 0, "c": 1}}
    >>> runs = {"first": {"q1": {"a": 2.0, "b": 1.0}}, "second": {"q1": {"b": 2.0, "a": 1.0}}}
    >>> gs.compare_runs(runs, qrels, ["ndcg_linear@2", "mrr"]).winners
    {'ndcg_linear@2': 'first', 'mrr': 'first'}
    """
    judgments, scores, coverage = align_runs(runs, qrels, unjudged=unjudged)
    comparison = compare(scores, judgments, metrics, unjudged=unjudged, **options)
    comparison.notes = tuple(f"{name}: {note}" for name, about in coverage.items() for note in about.queries)
    return comparison


class Comparison(Findings):
    """What several models are worth under several metrics, in numbers, pictures and reports; made by `compare`.

    `Findings` says what it is made of and what there is to read.
    """

    @property
    def plot(self) -> Plots:
        """The pictures: `conflict`, `regret`, `ranks`, `pairs`, `attribution`, `queries`; of experiments `curves`."""
        from .report.plots import Plots

        return Plots(self)

    def to_html(self, path: str | os.PathLike[str], *, queries: int = 50) -> Path:
        """Write the report as one HTML file: see `gainsay.report.html.write_html`."""
        from .report.html import write_html

        return write_html(self, path, queries=queries)

    def to_markdown(self, path: str | os.PathLike[str] | None = None, *, queries: int = 10) -> str:
        """Return the report as Markdown, and write it where a path is given."""
        from .report.markdown import to_markdown

        return to_markdown(self, path, queries=queries)

    def to_json(self, path: str | os.PathLike[str] | None = None, *, queries: int = 50) -> str:
        """Return everything as JSON, and write it where a path is given: see `gainsay.report.document`."""
        from .report.document import to_json

        return to_json(self, path, queries=queries)

    def _repr_html_(self) -> str:
        from .report.notebook import comparison_html

        return comparison_html(self)
