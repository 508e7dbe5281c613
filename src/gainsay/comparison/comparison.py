"""Everything that is worked out from per-query values of several models: once each, when it is first asked for."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.arrays import nearest, number_table
from .._common.cached import cached_property
from .._common.checks import refuse_unordered
from .._common.shown import Names, plain
from .._common.words import count
from ..metrics.base import Metric
from ..metrics.names import parse_metrics
from .attribution import Attribution, attribute
from .baseline import BaselineComparison, against, validate_baseline
from .data import read_panel, read_tables, validate_alpha, validate_margin, validate_primary, validate_seed
from .estimates import compute_repeat_means, estimate_variance_components
from .gain_path import trace, validate_bases
from .labels import validate_labels
from .pairs import leaderboard_of, pairs_of
from .power import ClaimKind, Plan, plan_from
from .queries import (
    Preferences,
    contradictory_queries,
    largest_differences,
    one_ranking,
    per_query,
    place_of,
    preferences,
)
from .rankings import validate_model, validate_pair
from .resampling import Sample
from .segments import Segments, segments_of
from .verdict import Verdict

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from .._common.typing import Floats, Ids
    from ..metrics.names import MetricLike
    from ..report.content import Content
    from ..report.plots import Plots
    from ..training.iterations import Iteration
    from .data import Queries, Repeats, Vary
    from .estimates import VarianceComponents
    from .flags import UnjudgedDocuments
    from .gain_fit import GainFit
    from .gain_path import GainPath
    from .rankings import Rankings


ROUNDING = 1e-9
"""So far beyond its range rounding may take a metric."""


class Comparison:
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
    alpha, margin, draws, seed
        See `Verdict.from_values`.
    unjudged : UnjudgedDocuments, optional
        How much of what each model retrieved was judged, and what became of the rest.
    notes : sequence of str, optional
        Queries that only the runs or only the judgments have, and what became of them; reports show them.
    repeats : mapping of model to mapping of metric name to array, shape (queries, R), optional
        The values of every repeat of each model that is a recipe, of which its column of `values` is the mean. Models that
        are not in it are fixed.
    vary : {"seed", "queries"}, optional
        What differs between the repeats of a recipe.
    clusters : array, shape (queries,), optional
        One label per query: those of one cluster are not independent.
    segments : array-like or mapping of name to array-like, shape (queries,), optional
        Labels of the queries, one column or several with names: `segments` judges each label's queries by themselves.
    baseline : str, optional
        The model that is deployed, say: reports then answer whether to replace it, see `against`.

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
        margin: float = 0.0,
        draws: int = 10_000,
        seed: int = 0,
        unjudged: UnjudgedDocuments | None = None,
        notes: Sequence[str] = (),
        repeats: Repeats | None = None,
        vary: Vary | None = None,
        clusters: Ids | None = None,
        segments: Ids | Mapping[str, Ids] | None = None,
        baseline: str | None = None,
    ) -> None:
        refuse_unordered("models", models)
        self.models = tuple(models)
        named = {metric: f"values[{metric!r}]" for metric in values}
        self.values = read_tables(values, named, self.models, weights=weights, clusters=clusters)
        self.metrics = tuple(self.values)
        for argument, by_name in (("metrics", metrics), ("ranges", ranges)):
            for name in by_name or ():
                if name not in self.values:
                    known = f"{nearest(str(name), self.metrics)} (there are {', '.join(self.metrics)})"
                    raise ValueError(f"{argument} names {name!r}, of which there are no values{known}")
        self.definitions = _definitions(self.metrics, metrics)
        self.lower_is_better = tuple(it for it, metric in self.definitions.items() if not metric.higher_is_better)
        self.weights = None if weights is None else number_table("weights", weights)
        single = primary is None and len(self.metrics) < 2
        self.primary = None if single else validate_primary(primary, self.metrics)
        self._leading = self.primary or self.metrics[:1]
        self.rankings = rankings
        self.curves = curves
        self.missing = tuple(missing)
        self.unjudged = unjudged
        self.notes = tuple(notes)
        self.iterations = dict(iterations or {})
        if ranges is None and rankings is not None:
            ranges = {name: metric.value_range(rankings.judgments) for name, metric in self.definitions.items()}
        self.ranges = dict(ranges or {})
        self.alpha, self.margin = validate_alpha(alpha), validate_margin(margin)
        self.seed, self.draws = validate_seed(seed, draws, self.alpha)
        self.repeats = {
            model: {metric: number_table(f"repeats[{model!r}][{metric!r}]", of) for metric, of in by_metric.items()}
            for model, by_metric in (repeats or {}).items()
        }
        panel = read_panel(
            self.values, self.models, self.weights, None, self.lower_is_better, self.repeats, clusters, vary
        )  # fmt: skip
        self.sample = Sample(panel, self.alpha, self.draws, self.seed, self.ranges)
        self._counts = self._validate_counts()
        self._gains: dict[tuple[tuple[float, ...], str | None], GainPath] = {}
        self.segment_labels = {} if segments is None else validate_labels(segments, self.query_ids)
        if self.segment_labels:
            self._both_primary()
        if baseline is not None:
            validate_baseline(baseline, self.models)
        self.baseline = baseline

    @property
    def query_count(self) -> int:
        """Number of queries that the models are compared on under some metric."""
        return self._counts.any

    @property
    def metric_queries(self) -> dict[str, int]:
        """Number of queries that the models are compared on under each metric; fewer where it skips some."""
        return dict(self._counts.own)

    def _validate_counts(self) -> Queries:
        """Count queries; raise where values are not as they should be, before anything is worked out from them."""
        panel = self.sample.panel
        for metric, table in zip(panel.metrics, map(panel.in_unit, panel.metrics, panel.values), strict=True):
            panel.validate_common_queries([metric])
            low, high = self.sample.ranges[metric]
            lowest, highest = np.nanmin(table), np.nanmax(table)
            if not low - ROUNDING <= lowest <= highest <= high + ROUNDING:
                raise ValueError(
                    f"values of {metric} go from {lowest:g} to {highest:g}, beyond its range {low:g} to {high:g}; "
                    "correct ranges=, or value_range of the metric"
                )
        if self.primary is not None:
            panel.validate_common_queries(self.primary)
        return panel.counts()

    @cached_property
    def leaderboard(self) -> pd.DataFrame:
        """One row per model, best under the first metric first.

        For each metric M: `M` (weighted mean over its queries), `M rank` (1 is best; equal means share a rank),
        `M lower`, `M upper`, simultaneous confidence intervals of the means of all models within the metric's range,
        and `M queries`, how many queries it has. Of repeats also the shares of `unjudged`, under their names.
        """
        import pandas as pd

        table = self.standings
        order = list(dict.fromkeys(table["model"]))
        columns = {}
        for metric, part in table.set_index("model").groupby("metric", sort=False):
            for field in ("mean", "rank", "lower", "upper", "queries"):
                columns[metric if field == "mean" else f"{metric} {field}"] = part.loc[order, field]
        for name, shares in self.shown_shares.items():
            columns[name] = pd.Series(shares).loc[order]
        return pd.DataFrame(columns).rename_axis("model")

    @cached_property
    def standings(self) -> pd.DataFrame:
        """One row per metric and model, metrics in their order, models from best to worst.

        ``metric``, ``model``, ``rank``
            Rank 1 has the best mean; equal means share a rank.
        ``queries``
            On how many queries of positive weight the metric has a value. Everything in a row is about these.
        ``mean``, ``lower``, ``upper``
            The intervals of all models of a metric hold together with probability 1 − `alpha`. They say where each mean
            lies, cut off at the ends of the metric's range: the true mean lies within it, so that they lose nothing.
            They are too wide to compare models by, for models are scored on the same queries.
        ``regret``, ``regret_lower``, ``regret_upper``
            Distance to the best mean, with bounds from the simultaneous intervals of all pairs of the metric:
            valid for whichever model is picked out.
        ``may_be_best``
            Whether the model is in the confidence set of the best under this metric alone.
        """
        if self.primary is not None:
            self.sample.joint(self.primary)  # a part of it serves both
        return leaderboard_of(self.sample)

    @property
    def shown_shares(self) -> dict[str, dict[str, float]]:
        """The shares of judged documents by name and model that are not among the compared metrics anyhow."""
        shares = {} if self.unjudged is None else self.unjudged.shares
        return {name: by_model for name, by_model in shares.items() if name not in self.values}

    @property
    def condensed(self) -> str:
        """What to add to the heading of a table where unjudged documents were dropped."""
        return "" if self.unjudged is None or self.unjudged.handling != "drop" else "; unjudged documents dropped"

    @cached_property
    def winners(self) -> dict[str, str]:
        """The model with the best mean under each metric; of several that tie, the first in natural order of names.

        So it is the first of the leaderboard, and `m2` comes before `m10`.
        """
        firsts = self.standings.drop_duplicates("metric")
        return dict(zip(firsts["metric"], firsts["model"], strict=True))

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """One row per pair, the pairs in natural order of the names; differences are ``model_x`` minus ``model_y``.

        ``model_x``, ``model_y``
            The pair.
        ``conflict``
            Whether the primary metrics prefer different ones of the two in the sample. This and the next four are
            statements about both metrics, made on the queries that both have.
        ``p_value``, ``p_holm``
            Of a sign conflict: the larger of the two one-sided p-values (see `conflict_p_values`), and the same
            after Holm's correction over all pairs. Never 0; 1 for models that never differ.
        ``differing``
            On how many queries the two differ, the smaller count of the primary metrics, under weights their effective
            number.
        ``flag``
            ``"identical"`` (never differ), ``"few"`` (differ on fewer than 30 queries), ``"thin"`` (fewer than 100), or
            empty.
        ``difference M``, ``lower M``, ``upper M`` for each metric M
            Mean difference in the metric's own unit and sign, with a confidence interval. The intervals of both primary
            metrics and all pairs hold together with probability 1 − `alpha` (max-T; where the two have different
            queries, each at `alpha` / 2); those of each further metric are a family of their own, so adding one does
            not widen the others.
        ``wins M``, ``ties M``, ``losses M``
            On how many queries ``model_x`` is better, level and worse. Unweighted.
        ``p_value M``, ``p_holm M``
            Two-sided paired t-test, raw and after Holm's correction over all pairs.
        ``common difference M``, ``common lower M``, ``common upper M``, ``common p_holm M`` for both primary metrics
            The same on the queries that both have, by which `conflict` goes; only where the two have different ones.
        """
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
        return Verdict.of(self.sample, self._both_primary(), self.margin).with_unjudged(self.unjudged)

    def against(self, baseline: str, margin: float | None = None) -> BaselineComparison:
        """Decide about every other model whether to ship it in place of one, by both primary metrics: see `BaselineComparison`.

        Where only one metric is compared, it decides.

        Parameters
        ----------
        baseline : str
            The model that is deployed, say.
        margin : float, optional
            The loss that is tolerated, in the metrics' unit; by default that of the comparison.

        Returns
        -------
        BaselineComparison

        Raises
        ------
        ValueError
            For a baseline that is not among the models or is the only one, or a negative `margin`.

        Examples
        --------
        >>> import numpy as np
        >>> from gainsay import Comparison
        >>> production = np.random.default_rng(0).uniform(0.3, 0.6, 2000)
        >>> new = production + np.random.default_rng(1).normal(0.01, 0.1, 2000)
        >>> values = np.stack([production, new], axis=1)
        >>> comparison = Comparison({"ndcg_linear@10": values, "ndcg_exp@10": values - [0, 0.001]}, ["production", "B"])
        >>> comparison.against("production", margin=0.002).decisions
        {'B': 'ship'}
        """
        return against(self.sample, self._leading, baseline, self.margin if margin is None else margin)

    def _validate_own(self, found: BaselineComparison) -> BaselineComparison:
        """Return decisions if they are about these models and values, or raise `ValueError`."""
        validate_baseline(found.baseline, self.models)
        own = against(self.sample, self._leading, found.baseline, found.margin, needs=False)
        bare = [replace(one, queries_needed=None, repeats_needed=None) for one in found.candidates]
        if replace(found, candidates=own.candidates) != own or tuple(bare) != own.candidates:
            raise ValueError(
                f"baseline holds decisions about {found.baseline!r} that were made from other values than these: pass "
                "its name, or what against() of this comparison returns"
            )
        return found

    @cached_property
    def variance(self) -> dict[str, VarianceComponents]:
        """Where the variance of a lead between two recipes comes from, by metric; empty where all models are fixed.

        Queries, repeats, and both together: so one sees what more queries or more repeats would buy.
        """
        if self.primary is not None:
            self.sample.joint(self.primary)  # a part of it serves both
        found: dict[str, VarianceComponents] = {}
        for metric in self.metrics:
            joint = self.sample.single(metric)
            found |= estimate_variance_components(joint.panel, joint.estimated.repeats)
        return found

    @property
    def repeat_counts(self) -> dict[str, int]:
        """How often each model was trained, where it is a recipe of several repeats; 0 for a fixed model."""
        panel = self.sample.panel
        counts = dict(zip(panel.models, panel.repeat_counts, strict=True))
        return {model: counts[model] for model in self.models}

    @cached_property
    def repeat_distances(self) -> dict[str, dict[str, list[float]]]:
        """How far the mean of every repeat is behind the best model, by primary metric and recipe; below 0 if it is ahead.

        On the queries that both metrics have, as in the verdict; a recipe's own distance is the mean of these.
        """
        joint = self.sample.joint(self._leading)
        panel, best = joint.panel, joint.estimated.mean.max(axis=1)
        recipes = [k for k, repeats in enumerate(panel.repeat_counts) if repeats]
        return {
            metric: {panel.models[k]: (best[row] - compute_repeat_means(panel, k)[row]).tolist() for k in recipes}
            for row, metric in enumerate(self._leading)
        }

    @cached_property
    def segments(self) -> Segments:
        """Leaderboard, verdict and safe choice of every segment, the error held over all of them; see `Segments`.

        Raises
        ------
        ValueError
            Where the comparison was made without `segments=`.
        """
        if not self.segment_labels:
            raise ValueError(
                "this comparison knows no segments: make it with segments=, one label per query, or several columns"
            )
        kept = slice(None) if self.weights is None else np.asarray(self.weights) > 0  # as the sample has them
        labels = {name: of[kept] for name, of in self.segment_labels.items()}
        return segments_of(self.sample, labels, self._both_primary(), self.margin, self.verdict)

    def plan(
        self,
        difference: float,
        power: float = 0.8,
        claim: ClaimKind = "genuine",
        models: Sequence[str] | None = None,
        margin: float | None = None,
        repeats: int | Sequence[int] | None = None,
    ) -> Plan:
        """Say how many queries, and repeats of each recipe, would prove a lead, from the variances found here.

        Parameters
        ----------
        lead : float
            The true lead that is to be proven, above 0, in the metrics' unit.
        power : float
            The probability with which it is to be proven.
        claim : {"genuine", "pair", "ship"}
            What is to be proven; see `gainsay.plan`, where the variances are given instead.
        models : sequence of two str, optional
            For which two; for ``"ship"`` the baseline first, by default the two as they were given. Else by default
            the winner of the first metric and the best other model under the second for ``"genuine"``, and those two
            of the models in question that differ most from query to query, to be on the safe side.
        margin : float, optional
            Of ``"ship"``; by default that of the comparison.
        repeats : int or sequence of int, optional
            Of each recipe, 3 or more; by default as many as there are, and 3, 5 and 10.

        Raises
        ------
        ValueError
            Where `difference` is not above 0, or there are fewer than 30 queries or two models.

        Examples
        --------
        >>> import numpy as np
        >>> from gainsay import Comparison
        >>> values = np.random.default_rng(0).normal(0.5, 0.1, (1000, 2))
        >>> comparison = Comparison({"ndcg_linear@10": values, "ndcg_exp@10": values}, ["A", "B"])
        >>> 1500 < comparison.plan(difference=0.01, claim="ship").queries < 2500
        True
        """
        if models is None and claim == "ship" and len(self.models) == 2:
            models = self.models  # as they were given: the baseline first
        both = self.primary is not None and len(self.models) > 1
        likely = self.verdict.in_question if both else self.models
        width = self.margin if margin is None else margin
        return plan_from(self.sample, self._leading, difference, power, claim, models, width, likely, repeats)

    def attribution(
        self,
        first: str,
        second: str,
        metrics: MetricLike | Iterable[MetricLike] | None = None,
        *,
        bands: Sequence[int] | None = None,
    ) -> Attribution:
        """Split the difference of two models' means, first minus second, by grade, band of ranks and class of queries.

        Over the queries that all the metrics to be split have: see `Attribution.left_out`. Of recipes all numbers are
        means over repeats, and `Attribution.spread` says how much they vary.

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
        if metrics is not None:
            named = [metrics] if isinstance(metrics, str | Metric) else metrics
            metrics = [self.definitions.get(it, it) if isinstance(it, str) else it for it in named]
        return attribute(rankings, (first, second), metrics, compared=self._known(), bands=bands)

    def gains(
        self, bases: Iterable[float] | None = None, *, metric: MetricLike | None = None, fit: GainFit | None = None
    ) -> GainPath:
        """Follow all models along the gains between linear and exponential, and beyond: who is best at which gain.

        The gains are (b^l − 1)/(b − 1), linear for b = 1 and exponential for b = 2; all else is as in the primary
        metrics. Means at the bases are exact. Their errors are drawn together, so what is said holds for all bases and
        models at once.

        Parameters
        ----------
        bases : iterable of float, optional
            1 or more each; by default 25 from 1 to 4, evenly spaced in log b.
        metric : str or Metric, optional
            A metric of the NDCG and DCG family that lends cutoff, discount, ties and the value of empty queries in
            place of the primary ones; its own gain does not matter.
        fit : GainFit, optional
            From `gainsay.fit_gain`: which base your users' preferences say. Pictures and text show it.

        Returns
        -------
        GainPath

        Raises
        ------
        ValueError
            Where there are values only, no scores; where no compared metric is of the family, or the two primary ones
            differ in more than their gain; for bases below 1, infinite, or given twice; and for negative labels.

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
        rankings = self._ranked("gains")
        chosen = validate_bases(bases)
        wanted = (chosen, None if metric is None else str(metric))
        found = self._gains.pop(wanted, None)  # the last one that was asked for stands last
        if found is None:
            found = trace(rankings, self.sample, self.definitions, self.primary or self.metrics, chosen, metric)
        self._gains[wanted] = found if found.fit is fit else replace(found, fit=fit)
        return self._gains[wanted]

    @property
    def gain_paths(self) -> list[GainPath]:
        """The paths of gains that were asked for, in that order."""
        return list(self._gains.values())

    def queries(self, first: str, second: str, most: int = 10) -> pd.DataFrame:
        """Return the queries on which the two primary metrics prefer different models, strongest contradictions first.

        At most `most` of them, among those that both metrics have; see `contradictory_queries` for the columns and an
        example. Of recipes the values are means over repeats, and their spread stands beside them.

        Raises
        ------
        ValueError
            For unknown models, where there are values only, no scores, or for a metric of which only its name is known.
        """
        rankings, values = self._ranked("queries"), self._values_of(first, second)
        repeats = [self.repeats[model] for model in (first, second) if model in self.repeats]
        spread: dict[Metric, Floats] = {}  # how much the difference varies between one repeat of each and another
        for name, metric in zip(self._both_primary(), values, strict=True) if repeats else ():
            spread[metric] = np.sqrt(np.sum([np.var(np.asarray(of[name]), axis=1, ddof=1) for of in repeats], axis=0))
        return contradictory_queries(rankings, (first, second), values, most, spread)

    def preferences(self, first: str, second: str) -> Preferences:
        """Return which of two models each primary metric prefers on every query that both have; raises as `queries`."""
        return preferences(self._ranked("preferences"), (first, second), self._values_of(first, second))

    def _values_of(self, first: str, second: str) -> dict[Metric, Floats]:
        """Return the values of two models under the primary metrics."""
        columns = self._columns(first, second)
        metrics = {name: self.definitions.get(name) or parse_metrics(name)[0] for name in self._both_primary()}
        return {metric: np.asarray(self.values[name])[:, columns] for name, metric in metrics.items()}

    def _columns(self, first: str, second: str) -> list[int]:
        """Return where the values of two different models stand."""
        validate_pair(first, second, self.models)
        return [self.models.index(first), self.models.index(second)]

    def _known(self) -> list[Metric]:
        """Return the metrics of which more than the name is known, the primary ones first."""
        names = dict.fromkeys([*self._leading, *self.metrics])
        return [self.definitions[name] for name in names if name in self.definitions]

    @property
    def query_ids(self) -> Any:
        """The id of each query in `values`, as the judgments have it; 0, 1, 2, … where there are values only."""
        if self.rankings is None:
            return np.arange(len(next(iter(self.values.values()))))
        return self.rankings.judgments.query_ids[self.rankings.counted]

    def frame(self) -> pd.DataFrame:
        """Return every value behind the comparison: one row per query and model, one column per metric.

        The index has the levels `query`, in the order of the judgments, and `model`, as they were given. A query that a
        metric skips is NaN under it; one that all skip is left out. Where queries are weighted, `weight` is the last
        column, and the means of the leaderboard are weighted by it. So `frame().xs("A", level="model")` is what
        `evaluate(…).frame()` gives of model A, `frame()["map"].unstack("model")` has a column per model, and
        `frame().rename_axis(columns="metric").stack()` is the long form.

        Examples
        --------
        >>> import gainsay as gs
        >>> judgments = gs.Judgments([1, 0, 0, 1], qid=["q1", "q1", "q2", "q2"])
        >>> comparison = gs.compare({"A": [2, 1, 2, 1], "B": [1, 2, 1, 2]}, judgments, ["mrr", "map"])
        >>> comparison.frame()
                     mrr  map
        query model
        q1    A      1.0  1.0
              B      0.5  0.5
        q2    A      0.5  0.5
              B      1.0  1.0
        """
        return per_query(self.values, self.models, self.query_ids, self.weights)

    def largest_differences(
        self, first: str, second: str, most: int = 10, metric: MetricLike | None = None
    ) -> pd.DataFrame:
        """Return the queries on which two models differ most under one metric, the largest differences first.

        Parameters
        ----------
        first, second : str
            Two models.
        most : int
            How many queries at most; those on which the two do not differ are never among them.
        metric : str or Metric, optional
            One of the compared metrics; by default the first primary one.

        Returns
        -------
        DataFrame
            `query`; `difference M`, `first` minus `second` in the metric's own unit and sign, and the two values,
            `M first` and `M second`; `difference M` of the other metrics; `labels first` and `labels second`, the
            labels from rank 1 to the cutoff, and `documents` (not where there are values only); `weight` where queries
            are weighted. By absolute difference, times the weight. Of a recipe the values are means over its repeats, the
            labels those of its first repeat.

        Raises
        ------
        ValueError
            For unknown models or metrics.

        Examples
        --------
        >>> import gainsay as gs
        >>> judgments = gs.Judgments([1, 0, 0, 1, 0, 1], qid=["q1", "q1", "q2", "q2", "q3", "q3"])
        >>> comparison = gs.compare({"A": [2, 1, 2, 1, 1, 1], "B": [1, 2, 1, 2, 1, 2]}, judgments, ["mrr", "map"])
        >>> comparison.largest_differences("A", "B", most=1)[["query", "difference mrr", "labels A", "labels B"]]
          query  difference mrr labels A labels B
        0    q1             0.5   (1, 0)   (0, 1)
        """
        columns = self._columns(first, second)
        name = self._leading[0] if metric is None else str(metric)
        if name not in self.values:
            known = f"{nearest(name, self.metrics)} (there are {', '.join(self.metrics)})"
            raise ValueError(f"{name!r} is not among the compared metrics{known}")
        values = {it: np.asarray(self.values[it])[:, columns] for it in dict.fromkeys([name, *self.metrics])}
        return largest_differences(
            (first, second), values, self.query_ids, self.weights, most, self.rankings, self.definitions.get(name)
        )

    def ranking(self, query: Any, model: str) -> pd.DataFrame:
        """Return the documents of one query as a model ranks them, best first; of a recipe as its first repeat does.

        Parameters
        ----------
        query : int or str
            Its id, as the judgments, `frame()` and `largest_differences` have it.
        model : str
            Whose ranking.

        Returns
        -------
        DataFrame
            One row per document. `rank`, missing where the model did not retrieve the document; `document`, its id in
            the runs and qrels, else the number of its row; `label`; `score`; `tied`, whether another document has the same
            score (these stand in the order that the first primary metric gives them, or that of the input where it
            takes the mean over all orders); `judged` where that is known; for every compared metric M of the DCG
            family `gain M`, and `adds M`, what the document adds to the value of the query: the column sums to it.

        Raises
        ------
        ValueError
            For an unknown query or model, or where there are values only, no scores.

        Examples
        --------
        >>> import gainsay as gs
        >>> judgments = gs.Judgments([0, 2, 1], qid=["q1"] * 3)
        >>> comparison = gs.compare({"A": [0.9, 0.5, 0.1]}, judgments, ["ndcg_linear@2", "ndcg_exp@2"])
        >>> comparison.ranking("q1", "A")[["rank", "document", "label", "gain ndcg_exp@2", "adds ndcg_exp@2"]].round(3)
           rank  document  label  gain ndcg_exp@2  adds ndcg_exp@2
        0     1         0      0              0.0            0.000
        1     2         1      2              3.0            0.521
        2     3         2      1              1.0            0.000
        """
        rankings = self._ranked("ranking")
        validate_model(model, self.models)
        metrics = self._known()
        if not metrics:
            raise ValueError(
                f"ranking needs to know how a metric orders documents, and {self.metrics[0]} is a name only"
            )
        return one_ranking(rankings, place_of(query, rankings.judgments.query_ids), model, metrics)

    @property
    def query_texts(self) -> Mapping[Any, str]:
        """What was asked, by the id of the query, as far as the judgments know it."""
        return {} if self.rankings is None else self.rankings.judgments.texts

    def _ranked(self, method: str) -> Rankings:
        if self.rankings is None:
            raise ValueError(
                f"{method} needs the scores of the models, and this comparison was made from values only; "
                "make it with gainsay.compare(models, judgments)"
            )
        return self.rankings

    @cached_property
    def names(self) -> Names:
        """What the models, and the candidates of an experiment, are called in every table, picture and sentence."""
        candidates = [] if self.curves is None else map(str, self.curves["candidate"].unique())
        return Names.of([*self.models, *candidates])

    @cached_property
    def short_names(self) -> dict[str, str]:
        """What each model is called in figures: at most 28 characters, no two alike, in whatever order they come."""
        return {model: self.names.short[model] for model in self.models}

    def to_dict(self) -> dict[str, Any]:
        """Return leaderboard, winners, pairs and verdict as JSON knows them."""
        content: dict[str, Any] = {
            "models": list(self.models),
            "metrics": list(self.metrics),
            "queries": self.query_count,
            "metric_queries": self.metric_queries,
            "iterations": {name: iteration.to_dict() for name, iteration in self.iterations.items()},
            "leaderboard": plain(self.leaderboard.to_dict("index")),
            "winners": self.winners,
            "unjudged": None if self.unjudged is None else self.unjudged.to_dict(),
            "notes": list(self.notes),
        }
        if self.primary is not None:
            content |= {"pairs": plain(self.pairs.to_dict("records")), "verdict": self.verdict.to_dict()}
        if self.segment_labels:
            content["segments"] = self.segments.to_dict()
        if self.baseline is not None:
            content["against"] = self.against(self.baseline).to_dict()
        return content

    @property
    def plot(self) -> Plots:
        """The pictures: `leaderboard` (the main one), `conflict`, `regret`, `ranks`, `pairs`, `attribution`, `queries`.

        Of experiments also `curves`. Each shows itself in a notebook, has `.ax`, and saves with ``path=``.
        """
        from ..report.plots import Plots

        return Plots(self)

    @cached_property
    def content(self) -> Content:
        """What reports of every kind show, worked out once: see `gainsay.report.content`."""
        from ..report.content import Content

        return Content(self, None if self.baseline is None else self.against(self.baseline))

    def content_against(self, baseline: str | BaselineComparison | None) -> Content:
        """Return what reports show, with decisions about a baseline; `content` itself where there is none to add."""
        from ..report.content import Content

        if baseline is None:
            return self.content
        return Content(
            self, self._validate_own(baseline) if isinstance(baseline, BaselineComparison) else self.against(baseline)
        )

    def to_html(
        self, path: str | os.PathLike[str], *, queries: int = 25, baseline: str | BaselineComparison | None = None
    ) -> Path:
        """Write the report as one HTML file: see `gainsay.report.html.write_html`.

        With a `baseline`, the name of a model or what `against` returned, it answers first whether to replace that one.
        """
        from ..report.html import write_html

        return write_html(self.content_against(baseline), path, queries=queries)

    def to_markdown(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        queries: int = 10,
        baseline: str | BaselineComparison | None = None,
    ) -> str:
        """Return the report as Markdown, and write it where a path is given; `baseline` as of `to_html`."""
        from ..report.markdown import to_markdown

        return to_markdown(self.content_against(baseline), path, queries=queries)

    def to_json(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        queries: int = 50,
        baseline: str | BaselineComparison | None = None,
    ) -> str:
        """Return everything as JSON, and write it where a path is given: see `gainsay.report.document`."""
        from ..report.document import to_json

        return to_json(self.content_against(baseline), path, queries=queries)

    def _repr_html_(self) -> str:
        from ..report.notebook import comparison_html

        return comparison_html(self.content)

    def _both_primary(self) -> tuple[str, str]:
        if self.primary is None:
            raise ValueError(f"a disagreement needs two metrics, and there is one: {self.metrics[0]}")
        return self.primary

    def __repr__(self) -> str:
        size = f"{count(len(self.models), 'model')}, {count(self.query_count, 'query')}"
        return f"{type(self).__name__}({size}, metrics {', '.join(self.metrics)}{self.condensed})"


def _definitions(names: Sequence[str], given: Mapping[str, Metric] | None) -> dict[str, Metric]:
    """Return the metric that each name stands for, as given or else as known; without names that nobody knows."""
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
