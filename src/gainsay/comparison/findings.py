"""Everything that is worked out from per-query values of several models: once each, when it is first asked for."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.cached import cached_property
from .._common.names import natural_key
from .._common.shown import short_names
from .._common.words import count
from ..metrics.base import Metric
from ..metrics.names import parse_metrics
from .attribution import Attribution, attribute
from .contradictions import contradictory_queries
from .inputs import check_level, check_rope, check_seed, read_panel
from .pairs import leaderboard_of, pairs_of
from .sample import Sample
from .verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from .._common.typing import Floats
    from ..metrics.names import MetricLike
    from ..training.iterations import Iteration
    from .holes import Holes
    from .inputs import Queries
    from .rankings import Rankings

__all__ = ["Findings"]

ROUNDING = 1e-9
"""So far beyond its range rounding may take a metric."""


class Findings:
    """What per-query values of several models under several metrics say, without any picture.

    Parameters
    ----------
    values : mapping of metric name to array, shape (queries, models)
        Per-query values. A query that a metric skips is NaN for every model, and counts for the other metrics only.
    models : sequence of str
        Names of the columns.
    metrics : mapping of metric name to Metric, optional
        What the names stand for: says of which metrics a lower value is better, where `attribution` and `queries` get
        their definitions, and what reports call them. A name that is not in it stands for the metric that is known by
        it, else for numbers of which nothing is known but that larger is better.
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
    iterations : mapping of model to Iteration, optional
        After which boosting round a model predicted, where it is a booster.
    ranges : mapping of metric name to (lowest, highest), optional
        Between which values a metric lies (`Metric.value_range`); its intervals end there. By default asked of the
        metrics where there are `rankings`, and without bounds where there are values only.
    alpha, rope, draws, seed
        See `Verdict.from_values`.
    holes : Holes, optional
        How much of what each model retrieved was judged, and what became of the rest.
    notes : sequence of str, optional
        Queries that only the runs or only the judgments have, and what became of them; reports show them.

    Raises
    ------
    ValueError
        Where the values are not as said (the message names metric, query and model), or leave the range of their
        metric.
    """

    def __init__(
        self,
        values: Mapping[str, Floats],
        models: Sequence[str],
        *,
        metrics: Mapping[str, Metric] | None = None,
        weights: Floats | None = None,
        primary: Sequence[str] | None = None,
        rankings: Rankings | None = None,
        curves: pd.DataFrame | None = None,
        missing: Sequence[str] = (),
        iterations: Mapping[str, Iteration] | None = None,
        ranges: Mapping[str, tuple[float, float]] | None = None,
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
        self.definitions = _definitions(self.metrics, metrics)
        self.lower_is_better = tuple(it for it, metric in self.definitions.items() if not metric.higher_is_better)
        self.weights = weights
        self.primary = _primary(self.metrics, primary)
        self.rankings = rankings
        self.curves = curves
        self.missing = tuple(missing)
        self.holes = holes
        self.notes = tuple(notes)
        self.iterations = dict(iterations or {})
        self.ranges = _ranges(self.definitions, rankings) if ranges is None else dict(ranges)
        self.alpha, self.rope = check_level(alpha), check_rope(rope)
        self.seed, self.draws = check_seed(seed, draws, self.alpha)
        panel = read_panel(self.values, self.models, self.weights, lower_is_better=self.lower_is_better)
        self.sample = Sample(panel, self.alpha, self.draws, self.seed, self.ranges)
        self._counts = self._checked_counts()

    @property
    def query_count(self) -> int:
        """Number of queries that the models are compared on under some metric."""
        return self._counts.any

    @property
    def metric_queries(self) -> dict[str, int]:
        """Number of queries that the models are compared on under each metric; fewer where it skips some."""
        return dict(self._counts.own)

    def _checked_counts(self) -> Queries:
        """Count queries; raise where values are not as they should be, before anything is worked out from them."""
        panel = self.sample.panel
        for metric, table in zip(panel.metrics, map(panel.in_unit, panel.metrics, panel.values), strict=True):
            panel.check_common([metric])
            low, high = self.ranges.get(metric, (-np.inf, np.inf))
            lowest, highest = np.nanmin(table), np.nanmax(table)
            if not low - ROUNDING <= lowest <= highest <= high + ROUNDING:
                raise ValueError(
                    f"values of {metric} go from {lowest:g} to {highest:g}, beyond its range {low:g} to {high:g}; "
                    "correct ranges=, or value_range of the metric"
                )
        if self.primary is not None:
            panel.check_common(self.primary)
        return panel.counts()

    @cached_property
    def leaderboard(self) -> pd.DataFrame:
        """One row per model, best under the first metric first.

        For each metric M: `M` (weighted mean over its queries), `M rank` (1 is best; equal means share a rank),
        `M lower`, `M upper`, simultaneous confidence intervals of the means of all models within the metric's range,
        and `M queries`, how many queries it has. Of runs also the shares of `holes`, under their names.
        """
        import pandas as pd

        if self.primary is not None:
            self.sample.family(self.primary)  # a part of it serves both
        table = leaderboard_of(self.sample)
        order = list(dict.fromkeys(table["model"]))
        columns = {}
        for metric, part in table.set_index("model").groupby("metric", sort=False):
            for field in ("mean", "rank", "lower", "upper", "queries"):
                columns[metric if field == "mean" else f"{metric} {field}"] = part.loc[order, field]
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
        """The model with the best mean under each metric; of several that tie, the first in natural order of names.

        So it is the first of the leaderboard, and `m2` comes before `m10`.
        """
        board = self.leaderboard
        return {metric: min(board.index[board[f"{metric} rank"] == 1], key=natural_key) for metric in self.metrics}

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """Every pair of models: differences under each metric, conflict of signs, p-values. See `pairs_table`."""
        return pairs_of(self.sample, self._both_primary())

    @cached_property
    def conflicts(self) -> pd.DataFrame:
        """The pairs of models whose order differs between the two primary metrics."""
        return self.pairs[self.pairs["conflict"]].reset_index(drop=True)

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the two primary metrics really disagree about the best model, and what to choose.

        It is about the queries that both have: see `Verdict.left_out`.
        """
        return Verdict.of(self.sample, self._both_primary(), self.rope).with_holes(self.holes)

    def attribution(
        self,
        first: str,
        second: str,
        metrics: MetricLike | Iterable[MetricLike] | None = None,
        *,
        bands: Sequence[int] | None = None,
    ) -> Attribution:
        """Split the difference of two models' means, first minus second, by grade, band of ranks and class of queries.

        Over the queries that all the metrics to be split have: see `Attribution.left_out`.

        Parameters
        ----------
        first, second : str
            Two models.
        metrics : str, Metric, or an iterable of them, optional
            Metrics that are sums over documents, the NDCG and DCG family, compared ones or others; by default all
            compared ones that are.
        bands : sequence of int, optional
            First rank of each band, ascending from 1; by default 1, 2-3, 4-5, 6-10 and what lies beyond.

        Raises
        ------
        ValueError
            For unknown models, metrics that are no sums over documents, or where there are values only, no scores.
        """
        rankings = self._ranked("attribution")
        known, names = self.definitions, dict.fromkeys([*(self.primary or ()), *self.metrics])
        if metrics is not None:
            named = [metrics] if isinstance(metrics, str | Metric) else metrics
            metrics = [known.get(metric, metric) if isinstance(metric, str) else metric for metric in named]
        compared = [known[name] for name in names if name in known]
        return attribute(rankings, (first, second), metrics, compared=compared, bands=bands)

    def queries(self, first: str, second: str, most: int = 10) -> pd.DataFrame:
        """Return the queries on which the two primary metrics prefer different models, strongest contradictions first.

        At most `most` of them, among those that both metrics have; see `contradictory_queries` for the columns and an
        example.

        Raises
        ------
        ValueError
            For unknown models, where there are values only, no scores, or for a metric of which only its name is known.
        """
        rankings = self._ranked("queries")
        rankings.check_pair(first, second)
        columns = [self.models.index(first), self.models.index(second)]
        metrics = {name: self.definitions.get(name) or parse_metrics(name)[0] for name in self._both_primary()}
        values = {metric: np.asarray(self.values[name])[:, columns] for name, metric in metrics.items()}
        return contradictory_queries(rankings, (first, second), values, most)

    def _ranked(self, method: str) -> Rankings:
        if self.rankings is None:
            raise ValueError(
                f"{method} needs the scores of the models, and this comparison was made from values only; "
                "make it with gainsay.compare(models, judgments)"
            )
        return self.rankings

    @cached_property
    def short_names(self) -> dict[str, str]:
        """What each model is called where its name is too long: the same in every picture, table and sentence.

        Whatever order the models come in; see `gainsay._common.shown.short_names`.
        """
        return short_names(self.models)

    def to_dict(self) -> dict[str, Any]:
        """Return leaderboard, winners, pairs and verdict as JSON knows them."""
        content: dict[str, Any] = {
            "models": list(self.models),
            "metrics": list(self.metrics),
            "queries": self.query_count,
            "metric_queries": self.metric_queries,
            "iterations": {name: iteration.to_dict() for name, iteration in self.iterations.items()},
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
        size = f"{count(len(self.models), 'model')}, {count(self.query_count, 'query')}"
        return f"{type(self).__name__}({size}, metrics {', '.join(self.metrics)}{self.condensed})"


def _definitions(names: Sequence[str], given: Mapping[str, Metric] | None) -> dict[str, Metric]:
    """Return the metric that each name stands for, as given or else as known; names that nothing is known of left out.

    Raises
    ------
    TypeError
        Where something else than a metric is given.
    """
    found, given = {}, given or {}
    for name in names:
        if name in given:
            if not isinstance(given[name], Metric):
                raise TypeError(f"metrics must map names to Metric objects, got {given[name]!r} for {name!r}")
            found[name] = given[name]
            continue
        with suppress(ValueError, TypeError):  # values may go by any name
            (found[name],) = parse_metrics(name)
    return found


def _ranges(metrics: Mapping[str, Metric], rankings: Rankings | None) -> dict[str, tuple[float, float]]:
    """Return the ranges of metrics, asked of them with the labels at hand; none without labels."""
    return {} if rankings is None else {name: it.value_range(rankings.judgments) for name, it in metrics.items()}


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
