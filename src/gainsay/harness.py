"""Several models, one set of judgments: who is best under which metric, and whether the metrics really disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._common.cached import cached_property
from .comparison.attribution import Attribution, attribute
from .comparison.contradictions import contradictory_queries
from .comparison.holes import Holes, find_holes
from .comparison.inputs import check_level, check_rope, check_seed, natural_key
from .comparison.pairs import leaderboard_table, pairs_table
from .comparison.rankings import Rankings
from .comparison.verdict import Verdict
from .evaluation.evaluator import Evaluator, check_judgments, shared_weights
from .evaluation.runs import align_runs
from .metrics.names import MetricLike, parse_metrics
from .training.predictions import read_predictions

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from ._common.typing import Floats
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
        (`gainsay.data.read_scores`), or a model with a `predict` method, which is given `features`.
    judgments : Judgments
        The labels of the documents by query.
    metrics : str, Metric, or an iterable of them, optional
        See `parse_metrics`. By default both NDCGs at 10, and `ndcg_jk@10`, `map` and `mrr` as witnesses.
    features : array-like, optional
        What models predict from, one row per document.
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
        For a wrong number of scores or NaN scores (the message names the model), unknown metrics, or metrics of which
        some ignore the weights of the queries.
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
    scores = read_predictions(models, judgments.documents, features)
    values = np.empty((len(chosen), judgments.queries, len(scores)))
    for column, (name, predicted) in enumerate(scores.items()):
        try:
            values[:, :, column] = evaluator(predicted).per_query.T
        except ValueError as error:
            raise ValueError(f"model {name!r}: {error}") from None
    counted = ~np.isnan(values).any(axis=(0, 2))  # queries that a metric skips have no value under it
    if not counted.any():
        raise ValueError("no query has a value under every metric: all are skipped for want of relevant documents")
    holes = find_holes(judgments, scores, leading, unjudged)
    if unjudged == "drop":
        judgments, kept = judgments.condensed
        scores = {name: evaluator.judgments.by_query(predicted)[kept] for name, predicted in scores.items()}
    return Comparison(
        {str(metric): table[counted] for metric, table in zip(chosen, values, strict=True)},
        list(scores),
        weights=None if weights is None else weights[counted],
        primary=None if primary is None else [str(metric) for metric in leading],
        rankings=Rankings(judgments, scores, np.asarray(counted), weights),
        holes=holes,
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


class Comparison:
    """What per-query values of several models under several metrics say; made by `compare`.

    Parameters
    ----------
    values : mapping of metric name to array, shape (queries, models)
        Per-query values, larger is better.
    models : sequence of str
        Names of the columns.
    weights : array, shape (queries,), optional
        Query weights.
    primary : two metric names, optional
        The two between which disagreement is looked for; the first two by default.
    rankings : Rankings, optional
        The scores behind the values, without which `attribution` and `queries` are not to be had.
    curves : DataFrame, optional
        Metrics after every round of training: columns `candidate`, `round`, `metric`, `value`, and `fold` if several.
    missing : sequence of str, optional
        A sentence for each model that should be compared and is not; reports show them.
    alpha, rope, draws, seed
        See `Verdict.from_values`.
    holes : Holes, optional
        How much of what each model retrieved was judged, and what became of the rest.
    notes : sequence of str, optional
        Queries that only the runs or only the judgments have, and what became of them; reports show them.
    """

    def __init__(
        self,
        values: Mapping[str, Floats],
        models: Sequence[str],
        *,
        weights: Floats | None = None,
        primary: Sequence[str] | None = None,
        rankings: Rankings | None = None,
        curves: pd.DataFrame | None = None,
        missing: Sequence[str] = (),
        alpha: float = 0.05,
        rope: float = 0.0,
        draws: int = 10_000,
        seed: int = 0,
        holes: Holes | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.values = dict(values)
        self.models = tuple(models)
        self.metrics = tuple(self.values)
        self.weights = weights
        self.primary = _primary(self.metrics, primary)
        self.rankings = rankings
        self.curves = curves
        self.missing = tuple(missing)
        self.holes = holes
        self.notes = tuple(notes)
        self.alpha, self.rope = check_level(alpha), check_rope(rope)
        self.seed, self.draws = check_seed(seed, draws, self.alpha)

    @property
    def query_count(self) -> int:
        """Number of queries that the models are compared on."""
        return len(next(iter(self.values.values())))

    @cached_property
    def leaderboard(self) -> pd.DataFrame:
        """One row per model, best under the first metric first.

        For each metric M: `M` (weighted mean over queries), `M rank` (1 is best; equal means share a rank), and
        `M lower`, `M upper`, simultaneous confidence intervals of the means of all models. Of runs also the shares of
        `holes`, under their names.
        """
        import pandas as pd

        table = leaderboard_table(self.values, self.models, self.weights, self.alpha, self.draws, self.seed)
        order = list(dict.fromkeys(table["model"]))
        columns = {}
        for metric, part in table.set_index("model").groupby("metric", sort=False):
            for field, suffix in (("mean", ""), ("rank", " rank"), ("lower", " lower"), ("upper", " upper")):
                columns[f"{metric}{suffix}"] = part.loc[order, field]
        for name, shares in self.shown_shares.items():
            columns[name] = pd.Series(shares).loc[order]
        return pd.DataFrame(columns).rename_axis("model")

    @property
    def shown_shares(self) -> dict[str, dict[str, float]]:
        """The shares of judged documents by name and model that are not among the compared metrics anyhow."""
        shares = {} if self.holes is None else self.holes.shares
        return {name: by_model for name, by_model in shares.items() if name not in self.values}

    @property
    def condensed(self) -> str:
        """What to add to the heading of a table where unjudged documents were dropped."""
        return "" if self.holes is None or self.holes.handling != "drop" else "; unjudged documents dropped"

    @cached_property
    def winners(self) -> dict[str, str]:
        """The model with the highest mean under each metric; of several that tie, the first in natural order of names.

        So it is the first of the leaderboard, and `m2` comes before `m10`.
        """
        board = self.leaderboard
        return {metric: min(board.index[board[f"{metric} rank"] == 1], key=natural_key) for metric in self.metrics}

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """Every pair of models: differences under each metric, conflict of signs, p-values. See `pairs_table`."""
        return pairs_table(
            self.values, self.models, self.weights, self.alpha, self.draws, self.seed, primary=self._both_primary()
        )

    @cached_property
    def conflicts(self) -> pd.DataFrame:
        """The pairs of models whose order differs between the two primary metrics."""
        return self.pairs[self.pairs["conflict"]].reset_index(drop=True)

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the two primary metrics really disagree about the best model, and what to choose."""
        first, second = self._both_primary()
        return Verdict.from_values(
            self.values[first],
            self.values[second],
            models=self.models,
            weights=self.weights,
            alpha=self.alpha,
            rope=self.rope,
            draws=self.draws,
            seed=self.seed,
            metric_names=(first, second),
        ).with_holes(self.holes)

    def attribution(
        self,
        first: str,
        second: str,
        metrics: MetricLike | Iterable[MetricLike] | None = None,
        *,
        bands: Sequence[int] | None = None,
    ) -> Attribution:
        """Split the difference of two models' means, first minus second, by grade, band of ranks and class of queries.

        Parameters
        ----------
        first, second : str
            Two models.
        metrics : str, Metric, or an iterable of them, optional
            Metrics of the NDCG and DCG family, compared ones or others; by default all compared ones of that family.
        bands : sequence of int, optional
            First rank of each band, ascending from 1; by default 1, 2-3, 4-5, 6-10 and what lies beyond.

        Raises
        ------
        ValueError
            For unknown models, metrics that are no sums over documents, or where there are values only, no scores.
        """
        rankings = self._ranked("attribution")
        compared = parse_metrics(dict.fromkeys([*(self.primary or ()), *self.metrics]))
        return attribute(rankings, (first, second), metrics, compared=compared, bands=bands)

    def queries(self, first: str, second: str, most: int = 10) -> pd.DataFrame:
        """Return the queries on which the two primary metrics prefer different models, strongest contradictions first.

        At most `most` of them; see `contradictory_queries` for the columns and an example. Where each metric has the
        models as of boosting rounds of its own choice, both are as of those of the first: one ranking, two metrics.

        Raises
        ------
        ValueError
            For unknown models, or where there are values only, no scores.
        """
        rankings = self._ranked("queries")
        rankings.check_pair(first, second)
        metrics = self._both_primary()
        if rankings.by_metric is None:
            columns = [self.models.index(first), self.models.index(second)]
            values = {metric: self.values[metric][:, columns] for metric in metrics}
        else:
            rankings = rankings.as_of(parse_metrics(metrics[0])[0])
            values = rankings.values((first, second), metrics)
        return contradictory_queries(rankings, (first, second), values, most)

    def _ranked(self, method: str) -> Rankings:
        if self.rankings is None:
            raise ValueError(
                f"{method} needs the scores of the models, and this comparison was made from values only; "
                "make it with gainsay.compare(models, judgments)"
            )
        return self.rankings

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

    def to_dict(self) -> dict[str, Any]:
        """Return leaderboard, winners, pairs and verdict as JSON knows them."""
        content = {
            "models": list(self.models),
            "metrics": list(self.metrics),
            "queries": self.query_count,
            "leaderboard": self.leaderboard.to_dict("index"),
            "winners": self.winners,
            "holes": None if self.holes is None else self.holes.to_dict(),
            "notes": list(self.notes),
        }
        if self.primary is not None:
            content |= {"pairs": self.pairs.to_dict("records"), "verdict": self.verdict.to_dict()}
        return content

    def _both_primary(self) -> tuple[str, str]:
        if self.primary is None:
            raise ValueError(f"a disagreement needs two metrics, and there is one: {self.metrics[0]}")
        return self.primary

    def __repr__(self) -> str:
        from ._common.words import count

        size = f"{count(len(self.models), 'model')}, {count(self.query_count, 'query')}"
        return f"Comparison({size}, metrics {', '.join(self.metrics)}{self.condensed})"

    def _repr_html_(self) -> str:
        from .report.notebook import comparison_html

        return comparison_html(self)


def _primary(metrics: Sequence[str], primary: Sequence[str] | None) -> tuple[str, str] | None:
    """Return the two metrics between which disagreement is looked for; None where there is one only."""
    if primary is None:
        return (metrics[0], metrics[1]) if len(metrics) > 1 else None
    if len(primary) != 2:
        raise ValueError(f"primary must name two metrics, got {', '.join(primary) or 'none'}")
    missing = [name for name in primary if name not in metrics]
    if missing:
        raise ValueError(f"primary names {missing[0]!r}, which is not among the metrics: {', '.join(metrics)}")
    return primary[0], primary[1]
