"""Several models, one set of judgments: who is best under which metric, and whether the metrics really disagree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ._common.cached import cached_property
from ._common.checks import refuse_unordered
from ._common.words import listed
from .comparison.against import Against
from .comparison.baseline import check_baseline
from .comparison.clusters import clusters_of
from .comparison.findings import Findings
from .comparison.gains import Gains
from .comparison.labelling import read_labels
from .comparison.rankings import Rankings
from .comparison.runs import one_by_one
from .comparison.unjudged import find_unjudged
from .evaluation.evaluator import Evaluator, shared_weights, validate_judgments
from .evaluation.trec_runs import align_runs
from .metrics.names import MetricLike, parse_metrics
from .training.predictions import read_predictions

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from ._common.typing import Bools, Columns, Features, Floats, Listed, Models, OfQueries
    from .comparison.gain_fit import GainFit
    from .comparison.runs import Vary
    from .judgments import Judgments, Unjudged
    from .report.content import Content
    from .report.plots import Picture, Plots
    from .training.iterations import Iteration

DEFAULT_METRICS = ("ndcg_linear@10", "ndcg_exp@10", "ndcg_jk@10", "map", "mrr")
"""The two definitions of NDCG, and three witnesses."""


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
) -> Comparison:
    """Compare models on the same judgments.

    Parameters
    ----------
    models : mapping of name to scores, or DataFrame with one column per model
        One score per document, in the order of the labels. A value may be a path to a score file
        (`gainsay.data.read_scores`), or a model with a `predict` method, which is given `features`. Models of LightGBM,
        XGBoost and CatBoost predict at their best iteration where they have one, else with all rounds; `iterations` of
        the result and every report say which. A list of several of these is a *recipe*, trained as often, three times
        or more: all that is said is then about its mean over queries and runs, and covers another run. Anything alone
        is a fixed model, of which no other training is covered; the two may stand side by side.
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
    alpha, margin, draws, seed
        See `Verdict.from_values`.
    unjudged : {"irrelevant", "drop"}
        Where the judgments know documents that nobody judged: they have label 0, or condensed lists are compared, from
        which they are dropped (Sakai 2007). Either way `Comparison.unjudged` says how many each model has.
    segments : array-like, mapping of query id to label, mapping of name to either, or DataFrame, optional
        What kind each query is of, such as head or tail: one column of labels, or several with names, 50 distinct
        labels at most. Labels are matched by query id where they are a mapping or have an index, else stand in the
        order of the queries; one for each document will do where those of a query agree (and numbers that an index
        gives to rows are no ids). `segments` of the result judges each of them, with the error held over all.
    clusters : array-like, mapping of query id to label, or Series, optional
        To which cluster each query belongs: near duplicates, queries of one session or of one user are not independent,
        and have the same label. They are matched as `segments` are. Clusters, not queries, then count as evidence.
    vary : {"seed", "queries"}, optional
        What differs between the runs of a recipe, for the words of the verdict: the training seed, or the training
        queries as well (resampled for every run). Without, any difference between runs counts as chance.
    baseline : str, optional
        The model that is deployed, say: what is shown then answers first whether to replace it, and decides about every
        other model as `Comparison.against` does, with this `margin`.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        For a wrong number of scores, NaN scores, or an `iteration` of what is no booster or has fewer rounds (the
        message names the model), unknown metrics, metrics of which some ignore the weights of the queries, or a metric
        that skips every query; for a recipe of one run or two, or a query without a cluster.
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
    validate_judgments("compare(models, judgments)", judgments, models=models, metrics=metrics)
    refuse_unordered("metrics", metrics)
    refuse_unordered("primary", primary)
    chosen = parse_metrics(DEFAULT_METRICS if metrics is None else metrics, convention=convention)
    leading = chosen[:2] if primary is None else parse_metrics(primary, convention=convention)
    evaluator = Evaluator(chosen, judgments, n_jobs, unjudged=unjudged)
    weights = shared_weights(chosen, judgments)
    matched = judgments.in_row_order
    features = matched("features", features)
    separate, recipes = one_by_one(models)
    if baseline is not None and isinstance(models, Mapping):
        check_baseline(baseline, list(models))  # before anything predicts
    rounds = _by_run(iteration, recipes)
    scores, iterations = read_predictions(separate, judgments.documents, features, rounds, matched)
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
    metric_of = dict(zip(evaluator.names, chosen, strict=True))
    labels = {} if segments is None else read_labels(segments, judgments)
    together = None if clusters is None else clusters_of(clusters, judgments)
    unjudged_documents, documents = find_unjudged(judgments, scores, leading, unjudged), None
    if unjudged == "drop":
        judgments, kept = judgments.condensed
        documents = evaluator.judgments.rows_by_query(slice(None))[kept]
        scores = {name: evaluator.judgments.by_query(predicted)[kept] for name, predicted in scores.items()}
    names, runs, tables = _of_recipes(list(scores), recipes, list(metric_of), values[:, counted])
    return Comparison(
        tables,
        names,
        metrics=metric_of,
        weights=None if weights is None else weights[counted],
        primary=None if primary is None else [str(metric) for metric in leading],
        rankings=Rankings(judgments, _joined(scores, recipes, names), counted, weights, documents),
        unjudged=unjudged_documents and unjudged_documents.of_recipes(recipes, names),
        iterations={name: used for name, used in iterations.items() if name in names},
        alpha=alpha,
        margin=margin,
        draws=draws,
        seed=seed,
        segments={name: of[counted] for name, of in labels.items()} or None,
        notes=_rounds_of_runs(iterations, recipes),
        runs=runs,
        vary=vary,
        clusters=None if together is None else together[counted],
        baseline=baseline,
    )


def _by_run(iteration: Any, recipes: Mapping[str, list[str]]) -> Any:
    """Return with how many rounds models are to predict, each run of a recipe by its own name."""
    if not isinstance(iteration, Mapping):
        return iteration
    return {run: rounds for name, rounds in iteration.items() for run in recipes.get(name, [name])}


def _joined(found: Mapping[str, Any], recipes: Mapping[str, list[str]], models: Sequence[str]) -> dict[str, Any]:
    """Return what each model has: of a recipe a list, one for each run."""
    return {name: [found[run] for run in recipes[name]] if name in recipes else found[name] for name in models}


def _of_recipes(
    separate: list[str], recipes: Mapping[str, list[str]], metrics: list[str], values: Floats
) -> tuple[list[str], dict[str, dict[str, Floats]], dict[str, Floats]]:
    """Return models, the values of each run of those that are recipes, and by metric the means over runs.

    `values` has shape (metrics, queries, runs of all models), its columns named by `separate`.
    """
    owner = {run: name for name, runs in recipes.items() for run in runs}
    columns: dict[str, list[int]] = {}
    for column, name in enumerate(separate):
        columns.setdefault(owner.get(name, name), []).append(column)
    runs = {name: {it: values[row][:, columns[name]] for row, it in enumerate(metrics)} for name in recipes}
    means = np.stack([values[:, :, of].mean(axis=2) for of in columns.values()], axis=2)
    return list(columns), runs, dict(zip(metrics, means, strict=True))


def _rounds_of_runs(iterations: Mapping[str, Iteration], recipes: Mapping[str, list[str]]) -> tuple[str, ...]:
    """Say with how many boosting rounds the runs of each recipe predict, where they are boosters."""
    return tuple(
        f"The runs of {name} predict with {listed([iterations[run].size for run in runs], most=10)}"
        for name, runs in recipes.items()
        if all(run in iterations for run in runs)
    )


def compare_runs(
    runs: Mapping[str, Listed | Sequence[Listed]],
    qrels: Listed,
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
        See `gainsay.evaluate_run`. A list of three or more of these is a recipe, as in `compare`.
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
    separate, recipes = one_by_one(runs)
    judgments, scores, coverage, documents = align_runs(separate, qrels, unjudged=unjudged)
    models = _joined(scores, recipes, list(runs))
    comparison = compare(models, judgments, metrics, unjudged=unjudged, **options)
    rankings = comparison.rankings
    assert rankings is not None
    names = documents if rankings.documents is None else documents[rankings.documents]
    comparison.rankings = replace(rankings, documents=names)
    comparison.notes = tuple(f"{name}: {note}" for name, about in coverage.items() for note in about.queries)
    return comparison


class GainPath(Gains):
    """A path of gains that draws itself; made by `Comparison.gains`. `Gains` says what there is to read."""

    def plot(
        self, ax: Axes | None = None, theme: str = "light", *, path: str | os.PathLike[str] | None = None
    ) -> Picture:
        """Draw who is best at which gain: see `gainsay.report.plots.plot_gains`; `path` saves it to a file."""
        from .report.plots.gains import plot_gains
        from .report.plots.picture import drawn

        return drawn(path, lambda: plot_gains(self, ax, theme))

    def _repr_html_(self) -> str:
        from html import escape

        from .drawing.notebook import scoped

        try:
            from .report.plots.picture import embedded
        except ImportError:  # without Matplotlib the words alone
            picture = ""
        else:
            picture = embedded(lambda theme: self.plot(theme=theme)) if len(self.bases) > 1 else ""
        return scoped(f'<p class="a"><strong>{escape(self.headline)}</strong></p>{picture}<p>{escape(self.text)}</p>')

    def to_markdown(self) -> str:
        """Return heading, text and tables as Markdown: see `gainsay.report.gains.gains_markdown`."""
        from .report.gains import gains_markdown

        return gains_markdown(self)


class Comparison(Findings):
    """What several models are worth under several metrics, in numbers, pictures and reports; made by `compare`.

    `Findings` says what it is made of and what there is to read.
    """

    def gains(
        self, bases: Iterable[float] | None = None, *, metric: MetricLike | None = None, fit: GainFit | None = None
    ) -> GainPath:
        """Follow all models along the gains from linear to exponential and beyond: see `Findings.gains`.

        Examples
        --------
        >>> import gainsay as gs
        >>> judgments = gs.Judgments([2, 1, 1, 0] * 40, group=[4] * 40)
        >>> scores = {"top": [3, 1, 2, 4] * 40, "broad": [1, 4, 3, 2] * 40}
        >>> gs.compare(scores, judgments, ["ndcg_linear@2", "ndcg_exp@2"]).gains().winners.round(2)
           model  from    to
        0  broad  1.00  1.58
        1    top  1.58  4.00
        """
        found = super().gains(bases, metric=metric, fit=fit)
        return GainPath(**{field.name: getattr(found, field.name) for field in fields(found)})

    @property
    def plot(self) -> Plots:
        """The pictures: `leaderboard` (the main one), `conflict`, `regret`, `ranks`, `pairs`, `attribution`, `queries`.

        Of experiments also `curves`. Each shows itself in a notebook, has `.ax`, and saves with ``path=``.
        """
        from .report.plots import Plots

        return Plots(self)

    @cached_property
    def content(self) -> Content:
        """What reports of every kind show, worked out once: see `gainsay.report.content`."""
        from .report.content import Content

        return Content(self, None if self.baseline is None else self.against(self.baseline))

    def content_against(self, baseline: str | Against | None) -> Content:
        """Return what reports show, with decisions about a baseline; `content` itself where there is none to add."""
        from .report.content import Content

        if baseline is None:
            return self.content
        return Content(self, self.check_own(baseline) if isinstance(baseline, Against) else self.against(baseline))

    def to_html(
        self, path: str | os.PathLike[str], *, queries: int = 25, baseline: str | Against | None = None
    ) -> Path:
        """Write the report as one HTML file: see `gainsay.report.html.write_html`.

        With a `baseline`, the name of a model or what `against` returned, it answers first whether to replace that one.
        """
        from .report.html import write_html

        return write_html(self.content_against(baseline), path, queries=queries)

    def to_markdown(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        queries: int = 10,
        baseline: str | Against | None = None,
    ) -> str:
        """Return the report as Markdown, and write it where a path is given; `baseline` as of `to_html`."""
        from .report.markdown import to_markdown

        return to_markdown(self.content_against(baseline), path, queries=queries)

    def to_json(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        queries: int = 50,
        baseline: str | Against | None = None,
    ) -> str:
        """Return everything as JSON, and write it where a path is given: see `gainsay.report.document`."""
        from .report.document import to_json

        return to_json(self.content_against(baseline), path, queries=queries)

    def _repr_html_(self) -> str:
        from .report.notebook import comparison_html

        return comparison_html(self.content)
