"""Comparison of several models under several metrics. Each result is computed when it is first used."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from .._common import cached_property
from .._common.arrays import number_table
from .._common.lazy import pandas as pd
from .._common.text import as_text, describe_missing, join_names, plain, pluralize, printable
from .._common.typing import FilePath, Floats, Ids
from .._common.validation import validate_choice, validate_integer, validate_ordered
from ..evaluation.prediction import Iteration
from ..metrics.base import Metric
from ..metrics.dcg import NDCG
from ..metrics.names import MetricLike, Names, parse_metrics, safe_name
from .attribution import Attribution, compute_attribution
from .baseline import BaselineComparison, compare_with_baseline, validate_baseline
from .bounds import BoundKind, validate_betting
from .estimates import MIN_QUERIES, VarianceComponents, compute_repeat_means, estimate_variance_components
from .flags import (
    NO_EVIDENCE,
    Flag,
    UnjudgedDocuments,
    find_chance_flags,
    find_equal_label_flags,
    find_uneven_judging,
    find_unit_flags,
    find_unjudged_flags,
)
from .gain_path import GainPath, build_gain_path, validate_bases
from .guards import Family, Margin, Requirement, read_family
from .inference import Sample, limit_draws
from .pairs import MAX_PAIRS, build_clearest_pairs, build_leaderboard, build_pairs, rank_models
from .panel import (
    QueryCounts,
    Values,
    Vary,
    build_panel,
    read_tables,
    validate_alpha,
    validate_margin,
    validate_primary,
    validate_seed,
)
from .power import ClaimKind, Plan, Request, plan_from_sample
from .query_labels import Labels, validate_labels
from .ranked_models import Rankings, validate_model, validate_pair
from .segments import Segments, compute_segments
from .sensitivity import Sensitivity, compute_sensitivity
from .single_queries import build_ranking, find_contradictory_queries, find_losses, find_query
from .verdict import Settings, Verdict

if TYPE_CHECKING:
    from ..report.content import Content
    from ..report.plots import Plots

RANGE_TOLERANCE = 1e-9
"""Rounding may move a value of a metric this far beyond its range."""


class Comparison:
    """Compare several models under several metrics, from their values for each query.

    `compare` and `compare_runs` create comparisons from scores. Create one directly if you have per-query values only.

    Parameters
    ----------
    values : mapping of metric name to array, shape (queries, models) or (queries, models, repeats), or list of arrays
        Value of each query and model, NaN for every model if a metric skips the query. If the numbers of repeats
        differ, pass a list with one array per model: (queries, repeats) for a configuration, (queries,) for a fixed
        model.
    models : sequence of str
        Names of the columns.
    metrics : mapping of metric name to Metric, optional
        Definitions of the metrics. Defaults to the built-in and registered metrics of these names. Other names are
        accepted, and higher values are better.
    weights : array, shape (queries,), optional
        Query weights.
    primary : sequence of two metric names, optional
        The two metrics to test for disagreement. Defaults to the first two.
    rankings : Rankings, optional
        The scores behind the values. `attribution`, `gains`, `queries` and `ranking` require them.
    curves : DataFrame, optional
        Metrics after each round of training: columns `candidate`, `round`, `metric`, `value`, and optionally `fold`.
    missing : sequence of str, optional
        One sentence for each model that is missing from the comparison, for reports.
    iterations : mapping of model to Iteration, optional
        Boosting round that each booster predicted with.
    ranges : mapping of metric name to (lowest, highest), optional
        Limits of intervals. Defaults to `Metric.value_range` if there are `rankings`, otherwise to no limits.
    alpha : float, default 0.05
        Level of all tests and bounds, between 0 and 0.5.
    margin : float, default 0.0
        Largest difference of means that you tolerate.
    draws : int, default 10000
        Number of bootstrap draws, at least ``10 / alpha``. With more than 100 models, ``100 / models`` of them are
        used, so that the cost does not grow with the square of the number of models, and the lower bounds of regrets
        are valid but less tight.
    seed : int, default 0
        Random seed. The same seed returns the same results, for any order of the models.
    unjudged : UnjudgedDocuments, optional
        Share of unjudged documents for each model.
    notes : sequence of str, optional
        Notes about queries that only the runs or only the judgments contain, for reports.
    vary : {"seed", "queries"}, optional
        What differs between the repeats of a configuration.
    clusters : array, shape (queries,), optional
        Cluster of each query. Queries of the same cluster are treated as dependent.
    segments : array-like or mapping of name to array-like, shape (queries,), optional
        Segment of each query, in one column or in several named ones.
    baseline : str, optional
        Name of the deployed model. Reports then state first whether to replace it.
    selected : str, optional
        Name of the model that was selected on a validation set. Reports then state its gap to the best model.
    searched : int, optional
        Number of candidates that `selected` was selected from. Without `selected`, the candidates were searched on
        these queries. If some of them are not compared, the bounds do not cover the search, and reports recommend no
        model.
    bounds : {"asymptotic", "betting"}, default "asymptotic"
        Bounds of the verdict and of `against`. ``"betting"`` also covers rare losses that the sample does not contain,
        and is valid at any number of queries. It requires a range of both primary metrics, equal weights, independent
        queries and fixed models, and detects fewer differences. Pairs, intervals of means and segments stay asymptotic.

    Raises
    ------
    ValueError
        If the values have different shapes, are infinite, NaN for some models only or outside the range of their
        metric, a name is unknown or not distinct, a weight is negative, a query has no cluster, a configuration has
        fewer than three repeats, or a setting is out of range.
    TypeError
        If a name is not a string or a number has another type.

    See Also
    --------
    gainwise.compare : Compute a comparison from models and judgments.
    gainwise.Verdict : Whether the two primary metrics disagree about the best model.

    Notes
    -----
    Methods and properties by purpose:

    - Means and tests: `leaderboard`, `chance`, `standings`, `winners`, `pairs`, `variance`
    - Decisions: `verdict`, `segments`, `against`, `plan`, `sensitivity`
    - Explanations: `attribution`, `gains`, `queries`, `losses`, `ranking`
    - Data: `frame`, `counts`
    - Reports: `plot`, `content`, `to_html`, `to_markdown`, `to_json`, `to_dict`, `metrics_dict`

    Examples
    --------
    >>> import numpy as np
    >>> from gainwise import Comparison
    >>> values = np.random.default_rng(0).normal([0.5, 0.6], 0.1, (1000, 2))
    >>> Comparison({"ndcg_linear@10": values, "ndcg_exp@10": values}, ["A", "B"]).verdict.kind
    'agree'
    """

    def __init__(
        self,
        values: Mapping[str, Values],
        models: Sequence[str],
        *,
        metrics: Mapping[str, Metric] | None = None,
        weights: Floats | None = None,
        primary: Sequence[str] | None = None,
        rankings: Rankings | None = None,
        curves: pd.DataFrame | None = None,
        missing: Mapping[str, str] | None = None,
        iterations: Mapping[str, Iteration] | None = None,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        alpha: float = 0.05,
        margin: float = 0.0,
        draws: int = 10_000,
        seed: int = 0,
        unjudged: UnjudgedDocuments | None = None,
        notes: Sequence[str] = (),
        vary: Vary | None = None,
        clusters: Ids | None = None,
        segments: Ids | Mapping[str, Ids] | None = None,
        baseline: str | None = None,
        selected: str | None = None,
        searched: int | None = None,
        bounds: BoundKind = "asymptotic",
    ) -> None:
        validate_ordered("models", models)
        self.models = tuple(models)
        self.values, repeats = read_tables(values, self.models, weights=weights, clusters=clusters)
        self.metrics = tuple(self.values)
        for argument, names in (("metrics", metrics), ("ranges", ranges)):
            for name in names or ():
                validate_choice(f"each metric of {argument}", name, self.metrics)
        self.definitions = _find_definitions(self.metrics, metrics or {})
        self.lower_is_better = tuple(name for name, metric in self.definitions.items() if not metric.higher_is_better)
        self._weights = None if weights is None else number_table("weights", weights)
        self.primary = validate_primary(primary, self.metrics) if primary or len(self.metrics) > 1 else None
        self._deciding = self.primary or self.metrics[:1]
        self.rankings, self.curves, self.unjudged = rankings, curves, unjudged
        self.missing, self.notes, self.iterations = dict(missing or {}), tuple(notes), dict(iterations or {})
        if ranges is None and rankings is not None:  # Values without scores may be scaled.
            ranges = rankings.find_ranges(self.definitions)
        alpha, margin = validate_alpha(alpha), validate_margin(margin)
        seed, draws = validate_seed(seed, draws, alpha)
        self.settings = Settings(alpha=alpha, margin=margin, draws=draws, seed=seed)
        panel = build_panel(self.values, repeats, self.models, self._weights, self.lower_is_better, clusters, vary)
        self.repeats = {self.models[column]: by_metric for column, by_metric in repeats.items()}
        self._counted: Any = slice(None) if self._weights is None else self._weights > 0
        ids, limited = self._query_ids[self._counted], limit_draws(draws, len(self.models), alpha)
        self._sample = Sample(panel, alpha, limited, seed, dict(ranges or {}), bounds=bounds, ids=ids.tolist())
        self._validate_values()
        labels = {} if segments is None else validate_labels(segments, self._query_ids)
        self._segment_labels = {name: column[self._counted] for name, column in labels.items()}
        self._baseline, self.selected, self.searched = baseline, selected, searched
        self._validate_roles()

    def _validate_roles(self) -> None:
        """Raise unless the baseline and the selected model are compared, the latter from enough candidates."""
        if self._baseline in self.missing:
            raise ValueError(f"the baseline {self._baseline!r} cannot be compared: {self.missing[self._baseline]}")
        if self._baseline is not None:
            validate_baseline(self._baseline, self.models)
        if self.selected is not None:
            validate_choice("selected", self.selected, list(self.models))
        if self.searched is None:
            return
        if validate_integer("searched", self.searched, 1) < len(self.models):
            raise ValueError(
                f"searched must be at least the number of compared models ({len(self.models)}), got {self.searched!r}. "
                "Pass the number of all candidates of the search."
            )
        if self._baseline is not None:
            self._validate_search()

    def _validate_search(self) -> None:
        """Raise if models that a search on these queries selected are to replace a baseline."""
        if self._is_searched_here:
            raise ValueError(
                f"searched={self.searched!r} without selected= states that these queries selected the models from more "
                "candidates, so they cannot decide about a baseline. Compare the selected model on other queries."
            )

    @property
    def _is_searched_here(self) -> bool:
        """Whether these queries selected the compared models from more candidates."""
        return self.searched is not None and self.selected is None and self.searched > len(self.models)

    def _validate_values(self) -> None:
        """Raise unless every metric has values, within its range, and the primary metrics share a query."""
        panel = self._sample.panel
        for metric, table in zip(panel.metrics, map(panel.in_unit, panel.metrics, panel.values), strict=True):
            panel.find_common_queries([metric])
            low, high = self._sample.ranges[metric]
            lowest, highest = np.nanmin(table), np.nanmax(table)
            if not low - RANGE_TOLERANCE <= lowest <= highest <= high + RANGE_TOLERANCE:
                raise ValueError(
                    f"Values of {metric} must be between {low:g} and {high:g}, got {lowest:g} to {highest:g}, which is "
                    "beyond its range. Correct ranges= or value_range of the metric."
                )
        if self.primary is not None:
            panel.find_common_queries(self.primary)
        if self._sample.bounds == "betting":
            validate_betting(panel, self._deciding, self._sample.ranges)

    @cached_property
    def leaderboard(self) -> pd.DataFrame:
        """One row per model, ordered by the first metric.

        For each metric M: `M` (weighted mean), `M rank` (equal means share a rank), `M lower` and `M upper`
        (simultaneous confidence intervals) and `M queries`. Comparisons of TREC runs also contain the shares of judged
        documents.
        """
        table = self._means
        order = list(dict.fromkeys(table["model"]))
        columns = {}
        for metric, part in table.set_index("model").groupby("metric", sort=False):
            for field in ("mean", "rank", "lower", "upper", "queries"):
                columns[metric if field == "mean" else f"{metric} {field}"] = part.loc[order, field]
        if self.unjudged is not None:
            for name, shares in self.unjudged.additional_shares(self.metrics).items():
                columns[name] = pd.Series(shares).loc[order]
        return pd.DataFrame(columns).rename_axis("model")

    @cached_property
    def standings(self) -> pd.DataFrame:
        """One row per metric and model, from the best to the worst mean.

        ``metric``, ``model``, ``rank``
            Rank 1 has the best mean. Equal means share a rank.
        ``queries``
            Number of queries of positive weight with a value.
        ``mean``, ``lower``, ``upper``
            Mean with a confidence interval. The intervals of all models under a metric are simultaneous. Do not compare
            models by them, because models are scored on the same queries: use `pairs`.
        ``regret``, ``regret_lower``, ``regret_upper``
            Gap to the best mean, with simultaneous bounds. They remain valid if you select a model by its results.
        ``may_be_best``
            Whether the model may be best under this metric, at level `alpha` / 2 as in the verdict.
        """
        self._share_draws()
        return build_leaderboard(self._sample)

    @cached_property
    def _means(self) -> pd.DataFrame:
        """The standings without regrets, which require the comparison of all pairs under all metrics."""
        self._share_draws()
        return build_leaderboard(self._sample, with_regrets=False)

    def _share_draws(self) -> None:
        """Draw the errors of both primary metrics together, before estimates of one metric use them."""
        if self.primary is not None:
            self._sample.joint(self.primary)

    @cached_property
    def winners(self) -> dict[str, str]:
        """Model with the highest mean under each metric (lowest for a loss). Ties go to the first name."""
        firsts = self._means.drop_duplicates("metric")
        return dict(zip(firsts["metric"], firsts["model"], strict=True))

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """One row per pair of models. Differences are ``model_x`` minus ``model_y``.

        ``model_x``, ``model_y``
            The pair.
        ``conflict``
            Whether the primary metrics prefer different models of the pair. This and the next four columns use the
            queries with a value under both primary metrics.
        ``p_value``, ``p_adjusted``
            P-value of the conflict: the larger of the two one-sided p-values. The adjusted one is the larger of the
            adjusted p-values of the two differences, and 1 without a conflict.
        ``differing``
            Number of queries, or clusters, with another difference than the most frequent one, the smaller one of the
            primary metrics. The most frequent difference is 0 unless more than 90 % of the queries have another one.
        ``flag``
            ``"identical"`` (never differ), ``"few"`` (`differing` is below 30), ``"thin"`` (below 100), or empty.
        ``difference M``, ``lower M``, ``upper M`` for each metric M
            Mean difference in the unit of the metric, with a confidence interval. The intervals of all pairs under both
            primary metrics are simultaneous, and so are those of all pairs under each other metric.
        ``wins M``, ``ties M``, ``losses M``
            Number of queries with ``model_x`` better, equal and worse.
        ``p_value M``, ``p_adjusted M``
            Two-sided paired t-test with a correction for skewness, raw and adjusted for all pairs (step-down max-T). An
            interval excludes 0 only if the adjusted p-value is at most `alpha`.
        ``common difference M``, ``common lower M``, ``common upper M``, ``common p_adjusted M``
            The same for the primary metrics on the queries with a value under both. Present only if these differ from
            their own queries.
        ``discordance`` and ``discordance`` with ``lower``, ``upper``, ``p_value``, ``p_adjusted``
            Difference under the second primary metric minus the difference under the first, with an interval that is
            simultaneous for all pairs, and the p-value of a paired t-test, raw and adjusted for all pairs. Present only
            if both metrics are versions of the same ratio, such as two NDCGs.
        """
        names = self._require_two_metrics()
        definitions = [self.definitions.get(name) for name in names]
        common_scale = all(isinstance(metric, NDCG) and metric.column is None for metric in definitions)
        return build_pairs(self._sample, names, common_scale=common_scale)

    @cached_property
    def _clearest_pairs(self) -> pd.DataFrame:
        """The rows of `pairs` for reports, the clearest conflicts first, then the clearest differences.

        If there are more than `MAX_PAIRS` pairs, it contains that many, and only the columns of the primary metrics.
        """
        if self._pair_count > MAX_PAIRS:
            return build_clearest_pairs(self._sample, self._require_two_metrics(), MAX_PAIRS)
        return self.pairs.sort_values(["conflict", "p_adjusted"], ascending=[False, True], kind="stable")

    @property
    def _pair_count(self) -> int:
        """Number of pairs of models."""
        return math.comb(len(self.models), 2)

    @property
    def verdict(self) -> Verdict:
        """Whether the two primary metrics disagree about the best model, and the model that is safe under both."""
        self._require_two_metrics()
        return self._standing

    @cached_property
    def _standing(self) -> Verdict:
        """The verdict, or that on the only metric for reports, with the models in their own order."""
        verdict = Verdict.from_sample(self._sample, self._deciding, self.settings.margin)
        if self.primary is None:
            possible = tuple(model for model in self.models if model in verdict.common_best)
            verdict = replace(verdict, models=self.models, common_best=possible)
        flags = [*find_equal_label_flags(self._equal_queries, self.counts.any), *verdict.flags]
        primary = {name: self.definitions[name] for name in verdict.metrics if name in self.definitions}
        flags += find_unit_flags(primary, self._sample.ranges)
        if self.unjudged is not None:
            flags += find_uneven_judging(self.unjudged, verdict.in_question)
        flags += self._chance_flags
        searched = self.searched if self._is_searched_here else None
        return replace(verdict, unjudged=self.unjudged, flags=tuple(flags), searched=searched)

    @cached_property
    def chance(self) -> dict[str, dict[str, float]]:
        """Mean of each metric and model in random order, the exact mean over all orders of the retrieved documents.

        Models that retrieve all documents share one value. Metrics that are functions are left out, and the result is
        empty if the comparison was created without scores.
        """
        if self.rankings is None:
            return {}
        return self.rankings.compute_chance(self.definitions)

    @property
    def _has_no_evidence(self) -> bool:
        """Whether no query can distinguish two rankings."""
        return self._equal_queries == self.counts.any

    @cached_property
    def _chance_flags(self) -> tuple[Flag, ...]:
        """Flags of models that are not better than random order under a primary metric."""
        panel = self._sample.panel
        if panel.units < MIN_QUERIES or self._has_no_evidence or not self.chance:
            return ()
        standings = [rank_models(self._sample, metric) for metric in self._deciding]
        return tuple(find_chance_flags(standings, self.chance, self.lower_is_better))

    @cached_property
    def _equal_queries(self) -> int:
        """Number of queries on which all models have the same value because all labels are equal."""
        if self.rankings is None:
            return 0
        equal = self.rankings.find_equal_labels(self.definitions.values())[self.rankings.counted]
        for table in self.values.values():  # Models that did not retrieve all documents may differ in spite of it.
            equal &= ~(np.ptp(table, axis=1) > RANGE_TOLERANCE)
        return int(equal[self._counted].sum())

    def against(
        self,
        baseline: str,
        margin: Margin | Mapping[str, Margin] | None = None,
        *,
        gain: str | Sequence[str] | None = None,
        require: Requirement = "gain",
        segments: str | Sequence[str] = (),
        looks: Sequence[int] | None = None,
        earlier: Mapping[str, Any] | FilePath | None = None,
        bounds: BoundKind | None = None,
    ) -> BaselineComparison:
        """Decide for every other model whether to replace the baseline by it.

        Ship a candidate if one of the metrics of `gain` improves, and no metric loses more than its margin. A p-value
        against the baseline does not show that nothing is lost, so the decision uses one-sided bounds.

        Parameters
        ----------
        baseline : str
            Name of the deployed model.
        margin : float, str, or mapping of metric name to float or str, optional
            Largest acceptable loss of each metric: a number in its unit, or a share of the baseline's mean such as
            ``"1%"``. The metrics of a mapping decide, all on the queries with a value under each of them. A single
            margin is that of both primary metrics, or of the only metric, by default the margin of the comparison.
        gain : str or sequence of str, optional
            Metrics of which one must improve. Defaults to the primary ones that have a margin. Metrics with a margin
            that are not in `gain` are guards.
        require : {"gain", "no_loss"}, default "gain"
            Condition for *ship*. ``"no_loss"``: the loss is shown to be below the margin under every metric.
            ``"gain"``: in addition, some metric of `gain` is shown to improve.
        segments : str or sequence of str, optional
            Columns of the segments of the comparison. No metric may lose more than its margin in any segment.
        looks : sequence of int, optional
            Planned numbers of queries, if you test several times while queries accumulate. The error probability is
            divided between the looks, and the present one is recognized by its number of queries. Each look contains
            all queries of the earlier ones, with the same models and settings.
        earlier : mapping or path, optional
            Result of the previous test on these queries, or on a part of them (``to_dict()``, or the JSON of `gainwise
            gate` or a report). With looks, its settings are checked, looks that were skipped are taken into account,
            and margins that are shares keep their values. Without, it only counts the decisions.
        bounds : {"asymptotic", "betting"}, optional
            Bounds that decide, by default those of the comparison. ``"betting"`` also covers rare losses that the
            sample does not contain, and is valid at any number of queries: with `looks`, it does not divide the error
            probability. Pass the previous result as `earlier` if you test again.

        Returns
        -------
        BaselineComparison

        Raises
        ------
        ValueError
            If `baseline` is unknown or the only model, `margin` or `gain` names a metric that is not compared, a margin
            is negative, not below the range of its metric, a share of a mean of 0, or 0 in a mapping,
            ``require="no_loss"`` or `segments` have no margin, `segments` is unknown, `looks` do not increase or start
            above the number of queries, `earlier` has other settings, ``bounds="betting"`` does not apply, no query has
            two documents with different labels, or these queries were searched for the models (`searched`).

        See Also
        --------
        gainwise.Comparison.plan : Estimate how many queries a decision needs.
        gainwise.Comparison.losses : List the queries that lose most against the baseline.

        Notes
        -----
        Another test after an undecided one would raise the error rate. Do not add queries and test again: plan looks,
        use ``bounds="betting"``, or start a new experiment. Planned looks need a few percent more queries in total than
        one test.

        Every guard and every segment costs power. If the differences are 0, k independent ones of equal size all stay
        within a margin of 2.8, 3.4, 3.7 and 4.0 standard errors with 80 % probability for k = 1, 3, 5 and 10.
        `CandidateDecision.queries_needed` takes them into account.

        A margin that is a share of the baseline's mean is resolved on these queries, and is then a fixed number.

        Examples
        --------
        >>> import numpy as np
        >>> from gainwise import Comparison
        >>> production = np.random.default_rng(0).uniform(0.3, 0.6, 2000)
        >>> new = production + np.random.default_rng(1).normal(0.01, 0.1, 2000)
        >>> values = np.stack([production, new], axis=1)
        >>> metrics = {"ndcg_linear@10": values, "ndcg_exp@10": values - [0, 0.001], "revenue": 20 * values}
        >>> comparison = Comparison(metrics, ["production", "B"])
        >>> comparison.against("production", margin=0.002).decisions
        {'B': 'ship'}
        >>> guarded = comparison.against("production", {"ndcg_linear@10": 0.002, "revenue": "1%"})
        >>> guarded.decisions, guarded.gain, round(guarded.margins["revenue"], 2)
        ({'B': 'ship'}, ('ndcg_linear@10',), 0.09)
        >>> first_look = comparison.against("production", margin=0.02, require="no_loss", looks=(2000, 4000))
        >>> first_look.candidates[0].decision, round(first_look.level, 4)
        ('ship', 0.0015)
        """
        if self._has_no_evidence:
            raise ValueError(f"{NO_EVIDENCE}. Check the query ids (--query) and the labels (--label).")
        self._validate_search()
        stated = self.settings.margin if margin is None else margin
        result = compare_with_baseline(
            self._sample,
            read_family(stated, gain, require, self._deciding, self.metrics),
            baseline,
            require=require,
            labels=self._select_segments([segments] if isinstance(segments, str) else segments),
            looks=looks,
            earlier=earlier,
            bounds=bounds,
        )
        if self.unjudged is None:
            return result
        return replace(result, flags=tuple(find_unjudged_flags(self.unjudged, baseline, list(result.decisions))))

    def _select_segments(self, names: Sequence[str]) -> Labels:
        """Return columns of segments, or raise if one does not exist."""
        for name in names:
            if name not in self._segment_labels:
                known = join_names(list(self._segment_labels)) or "none, pass segments= to the comparison"
                raise ValueError(
                    f"segments must name columns of the segments of the comparison, got {name!r} (segments: {known})."
                )
        return {name: self._segment_labels[name] for name in names}

    @cached_property
    def variance(self) -> dict[str, VarianceComponents]:
        """Variance of the difference of two configurations under each metric, by source. Empty if all models are fixed.

        The sources are queries, repeats and both together, so you see whether more queries or more repeats help.
        """
        self._share_draws()
        components: dict[str, VarianceComponents] = {}
        for panel, estimated, _ in map(self._sample.single, self.metrics):
            components |= estimate_variance_components(panel, estimated.repeats)
        return components

    @cached_property
    def _repeat_distances(self) -> dict[str, dict[str, list[float]]]:
        """Gap of each repeat to the best model, by primary metric and configuration. Negative if the repeat is better.

        It uses the queries with a value under both metrics. The gap of a configuration is the mean of these.
        """
        joint = self._sample.joint(self._deciding)
        panel, best = joint.panel, joint.estimated.mean.max(axis=1)
        recipes = [k for k, repeats in enumerate(panel.repeat_counts) if repeats]
        return {
            metric: {panel.models[k]: (best[row] - compute_repeat_means(panel, k)[row]).tolist() for k in recipes}
            for row, metric in enumerate(self._deciding)
        }

    @cached_property
    def segments(self) -> Segments | None:
        """Leaderboard, verdict and safe choice of every segment, adjusted for the number of segments.

        None if the comparison was created without ``segments=`` or has a single metric, which only `against` uses by
        segment.
        """
        if not self._segment_labels or self.primary is None:
            return None
        margin = self.settings.margin
        return compute_segments(self._sample, self._segment_labels, self.primary, margin, self.verdict)

    def plan(
        self,
        difference: float,
        power: float = 0.8,
        claim: ClaimKind = "genuine",
        models: Sequence[str] | None = None,
        margin: float | None = None,
        repeats: int | Sequence[int] | None = None,
        require: Requirement = "gain",
    ) -> Plan:
        """Estimate how many queries and repeats are required to show a difference, from the variances found here.

        Use it before you collect judgments. This comparison is the pilot of the next one.

        Parameters
        ----------
        difference : float
            True difference to show, above 0, in the unit of the metrics. For ``require="no_loss"``, above −`margin`.
        power : float, default 0.8
            Probability to show it.
        claim : {"genuine", "pair", "ship"}, default "genuine"
            Claim to show. See `gainwise.plan`.
        models : sequence of two str, optional
            The two models to plan for. For ``"ship"``, the baseline comes first, and two compared models are the
            default in their order. For ``"genuine"``, the default is the winner under the first metric and the best
            other model under the second. Otherwise, it is the pair with the largest variance.
        margin : float, optional
            Largest acceptable loss for ``"ship"``. Defaults to the margin of the comparison.
        repeats : int or sequence of int, optional
            Number of repeats of each configuration, 3 or more. Defaults to the number there is, and 3, 5 and 10.
        require : {"gain", "no_loss"}, default "gain"
            Condition for ``"ship"``. See `against`.

        Raises
        ------
        ValueError
            If `difference` is not positive, or there are fewer than 30 queries or two models.

        See Also
        --------
        gainwise.plan : Plan from standard deviations, without a pilot.
        gainwise.Comparison.against : The decision that ``claim="ship"`` plans.

        Notes
        -----
        The sample is a pilot, so the result is a range: `Plan.queries` is sufficient with 50 % confidence and
        `Plan.queries_upper` with 80 %, by a bootstrap of the queries.

        Examples
        --------
        >>> import numpy as np
        >>> from gainwise import Comparison
        >>> values = np.random.default_rng(0).normal(0.5, 0.1, (1000, 2))
        >>> comparison = Comparison({"ndcg_linear@10": values, "ndcg_exp@10": values}, ["A", "B"])
        >>> 1500 < comparison.plan(difference=0.01, claim="ship").queries < 2500
        True
        """
        if models is None and claim == "ship" and len(self.models) == 2:
            models = self.models
        several = self.primary is not None and len(self.models) > 1
        candidates = self.verdict.in_question if several else self.models
        width = self.settings.margin if margin is None else margin
        request = Request(claim, difference, power, require, self.settings.alpha, width, self.settings.seed)
        return plan_from_sample(self._sample, self._deciding, request, models, candidates, repeats)

    def attribution(
        self, first: str, second: str, metrics: MetricLike | Iterable[MetricLike] | None = None
    ) -> Attribution:
        """Decompose the difference of two models, first minus second, by grade and rank.

        It uses the queries with a value under all the decomposed metrics. For configurations, all numbers are means
        over repeats.

        Parameters
        ----------
        first, second : str
            Two models.
        metrics : str, Metric, or an iterable of them, optional
            Metrics of the NDCG and DCG family. Defaults to all compared ones.

        Raises
        ------
        ValueError
            If a model is unknown, a metric is not a sum over documents, or the comparison was created without scores.
        """
        rankings = self._require_rankings("attribution")
        if metrics is not None:
            requested = [metrics] if isinstance(metrics, str | Metric) else metrics
            metrics = [self.definitions.get(name, name) if isinstance(name, str) else name for name in requested]
        return compute_attribution(rankings, (first, second), metrics, compared=self._defined_metrics())

    def gains(self, bases: Iterable[float] | None = None, *, metric: MetricLike | None = None) -> GainPath:
        """Compare all models under every gain between linear and exponential, and beyond.

        The gains are (b^l − 1)/(b − 1): linear for b = 1, exponential for b = 2. Statements are valid for all bases and
        models simultaneously.

        Parameters
        ----------
        bases : iterable of float, optional
            Bases, 1 or more each. Defaults to 25 bases from 1 to 4, evenly spaced in log b.
        metric : str or Metric, optional
            Metric of the NDCG and DCG family to use with each gain. Defaults to the primary metrics.

        Returns
        -------
        GainPath

        Raises
        ------
        ValueError
            If the comparison was created without scores, no compared metric belongs to the family, the primary metrics
            differ in more than their gain, a base is invalid, or a label is negative.

        Examples
        --------
        >>> import gainwise as gw
        >>> judgments = gw.Judgments([2, 1, 1, 0] * 40, group=[4] * 40)
        >>> scores = {"top": [3, 1, 2, 4] * 40, "broad": [1, 4, 3, 2] * 40}
        >>> gw.compare(scores, judgments, ["ndcg_linear@2", "ndcg_exp@2"]).gains().winners.round(2)
           model  from    to
        0  broad  1.00  1.58
        1    top  1.58  4.00
        """
        rankings, names = self._require_rankings("gains"), self.primary or self.metrics
        return build_gain_path(rankings, self._sample, self.definitions, names, validate_bases(bases), metric)

    def sensitivity(self) -> Sensitivity:
        """Show which other choices of the evaluation would reverse the order of models, and change the winner.

        The choices are another gain, discount, cutoff, metric or order of ties, unjudged documents left out, one repeat
        instead of the mean, and the other half of the queries. The reference is the first primary metric.

        Returns
        -------
        Sensitivity

        Raises
        ------
        ValueError
            If there is only one model.

        Notes
        -----
        Intervals describe other models of the same kind on the same queries. A comparison without scores contains only
        the choices of the compared metrics and of the queries.

        Examples
        --------
        >>> import gainwise as gw
        >>> judgments = gw.Judgments([2, 1, 1, 0] * 40, group=[4] * 40)
        >>> scores = {"top": [3, 1, 2, 4] * 40, "broad": [1, 4, 3, 2] * 40}
        >>> table = gw.compare(scores, judgments, ["ndcg_linear@2", "ndcg_exp@2"]).sensitivity().table
        >>> table[["choice", "reversed", "winner"]].head(1)
                  choice  reversed winner
        0  exponential gain       1.0    top
        """
        panel, reference = self._sample.panel, self._deciding[0]
        return compute_sensitivity(
            panel, reference, self.definitions, self.rankings, self.settings.alpha, self.settings.seed
        )

    def queries(self, first: str, second: str, most: int = 10) -> pd.DataFrame:
        """Return the queries that the primary metrics contradict each other on, the strongest contradictions first.

        `find_contradictory_queries` describes the columns. For configurations, the values are means over repeats.

        Parameters
        ----------
        first, second : str
            Two models.
        most : int, default 10
            Maximum number of queries.

        Raises
        ------
        ValueError
            If a model is unknown, the comparison was created without scores, or a metric has a name only.
        """
        rankings = self._require_rankings("queries")
        validate_pair(first, second, self.models)
        columns, names = [self.models.index(first), self.models.index(second)], self._require_two_metrics()
        values = {self.definitions.get(name) or parse_metrics(name)[0]: self.values[name][:, columns] for name in names}
        return find_contradictory_queries(rankings, (first, second), values, most)

    def _defined_metrics(self) -> list[Metric]:
        """Return the metrics with a definition, the primary ones first."""
        names = dict.fromkeys([*self._deciding, *self.metrics])
        return [self.definitions[name] for name in names if name in self.definitions]

    @property
    def counts(self) -> QueryCounts:
        """Number of queries of positive weight with a value: under any metric, by metric, and under all metrics."""
        return self._sample.panel.counts()

    @property
    def _query_ids(self) -> Any:
        """Id of each query in `values`, or 0, 1, 2, … if the comparison was created without scores."""
        if self.rankings is None:
            return np.arange(len(next(iter(self.values.values()))))
        return self.rankings.judgments.query_ids[self.rankings.counted]

    def frame(self) -> pd.DataFrame:
        """Return all values: one row per query and model, one column per metric.

        The index has the levels `query` and `model`. A query that a metric skips is NaN. If queries are weighted, the
        last column is `weight`.

        Examples
        --------
        >>> import gainwise as gw
        >>> judgments = gw.Judgments([1, 0, 0, 1], qid=["q1", "q1", "q2", "q2"])
        >>> comparison = gw.compare({"A": [2, 1, 2, 1], "B": [1, 2, 1, 2]}, judgments, ["mrr", "map"])
        >>> comparison.frame()
                     mrr  map
        query model
        q1    A      1.0  1.0
              B      0.5  0.5
        q2    A      0.5  0.5
              B      1.0  1.0
        """
        index = pd.MultiIndex.from_product([pd.Index(self._query_ids), pd.Index(self.models)], names=["query", "model"])
        columns = {metric: table.ravel() for metric, table in self.values.items()}
        if self._weights is not None:
            name = "weight" if "weight" not in columns else "query weight"
            columns[name] = np.repeat(self._weights, len(self.models))
        return pd.DataFrame(columns, index=index)

    def losses(self, baseline: str, candidate: str | None = None, most: int = 20) -> pd.DataFrame:
        """Return the queries on which a candidate loses most against a baseline, the largest loss first.

        A loss is the difference under the primary metric with the larger loss, times the weight of the query. Swap the
        two models to see the queries that gain most.

        Parameters
        ----------
        baseline : str
            Name of the deployed model.
        candidate : str, optional
            Name of the candidate. Required if there are more than two models.
        most : int, default 20
            Maximum number of queries. Queries without a loss are never included.

        Returns
        -------
        DataFrame
            Columns are `query`, `text` (if the judgments have texts), `loss`, `difference M` of each primary metric
            (candidate minus baseline), and for each of the two models `documents MODEL` and `grades MODEL`, the ids and
            grades of its first ten documents as text with blanks, for CSV files. For configurations, values are means
            over repeats, and rankings are those of the first repeat.

        Raises
        ------
        ValueError
            If a model is unknown, both are the same, or the comparison was created without scores.

        Examples
        --------
        >>> import gainwise as gw
        >>> judgments = gw.Judgments([1, 0, 0, 1], qid=["q1", "q1", "q2", "q2"])
        >>> comparison = gw.compare({"old": [2, 1, 1, 2], "new": [1, 2, 1, 2]}, judgments)
        >>> comparison.losses("old")[["query", "loss", "grades old", "grades new"]].round(3)
          query   loss grades old grades new
        0    q1  0.369        1 0        0 1
        """
        if candidate is None and len(self.models) == 2:
            candidate = next((model for model in self.models if model != baseline), None)
        if candidate is None:
            raise ValueError(f"candidate is required with {len(self.models)} models. Pass the name of a model.")
        return find_losses(self, baseline, candidate, most)

    def ranking(self, query: Any, model: str) -> pd.DataFrame:
        """Return the documents of one query as a model, or its first repeat, ranks them, best first.

        Parameters
        ----------
        query : int or str
            Query id.
        model : str
            Name of the model.

        Returns
        -------
        DataFrame
            One row per document. `rank` is missing if the model did not retrieve the document. `document` is its id in
            TREC data, otherwise its row number. `label` and `score`. `tied` is True if another document has the same
            score. `judged`, if the judgments contain it. For each compared metric M of the DCG family, `gain M` and
            `adds M`, the contribution of the document to the value of the query.

        Raises
        ------
        ValueError
            If the query or model is unknown, or the comparison was created without scores.

        Examples
        --------
        >>> import gainwise as gw
        >>> judgments = gw.Judgments([0, 2, 1], qid=["q1"] * 3)
        >>> comparison = gw.compare({"A": [0.9, 0.5, 0.1]}, judgments, ["ndcg_linear@2", "ndcg_exp@2"])
        >>> comparison.ranking("q1", "A")[["rank", "document", "label", "gain ndcg_exp@2", "adds ndcg_exp@2"]].round(3)
           rank  document  label  gain ndcg_exp@2  adds ndcg_exp@2
        0     1         0      0              0.0            0.000
        1     2         1      2              3.0            0.521
        2     3         2      1              1.0            0.000
        """
        rankings = self._require_rankings("ranking")
        validate_model(model, self.models)
        metrics = self._defined_metrics()
        if not metrics:
            raise ValueError(f"ranking requires the definition of a metric, but {self.metrics[0]} has a name only.")
        return build_ranking(rankings, find_query(query, rankings.judgments.query_ids), model, metrics)

    def _require_rankings(self, method: str) -> Rankings:
        if self.rankings is None:
            raise ValueError(
                f"{method} requires the scores of the models, but this comparison was created from values. "
                "Use gainwise.compare(models, judgments)."
            )
        return self.rankings

    def metrics_dict(self, names: Names = "plain") -> dict[str, float]:
        """Return means and their intervals as a flat dictionary of numbers, for experiment trackers.

        The keys are ``model/metric``, ``model/metric_lower`` and ``model/metric_upper``. Bounds that are not finite are
        left out.

        Parameters
        ----------
        names : {"plain", "safe"}, default "plain"
            With "safe", names of models and metrics consist of letters, digits and underscores, which MLflow requires.

        Raises
        ------
        ValueError
            If two models have the same safe name, or a metric has none.

        Examples
        --------
        >>> import numpy as np
        >>> from gainwise import Comparison
        >>> values = np.random.default_rng(0).random((100, 2)).round(1)
        >>> list(Comparison({"mrr@5": values}, ["old", "new model"]).metrics_dict(names="safe"))[:3]
        ['old/mrr_at_5', 'old/mrr_at_5_lower', 'old/mrr_at_5_upper']
        """
        validate_choice("names", names, get_args(Names))
        models = {
            model: re.sub(r"\W", "_", model, flags=re.ASCII) if names == "safe" else model for model in self.models
        }
        if len(set(models.values())) < len(models):
            raise ValueError(f"models must have different names with names='safe', got {join_names(self.models, 6)}.")
        numbers = {}
        for row in self._means.to_dict("records"):
            metric = safe_name(row["metric"]) if names == "safe" else row["metric"]
            for field, suffix in (("mean", ""), ("lower", "_lower"), ("upper", "_upper")):
                numbers[f"{models[row['model']]}/{metric}{suffix}"] = float(row[field])
        return {name: number for name, number in numbers.items() if np.isfinite(number)}

    def to_dict(self, *, all_pairs: bool = True) -> dict[str, Any]:
        """Return leaderboard, winners, pairs and verdict as plain lists, strings and numbers for JSON.

        If `all_pairs` is False and there are more than 500 pairs of models, only the clearest conflicts and differences
        are included, with the columns of the primary metrics.
        """
        content: dict[str, Any] = {
            "models": self.models,
            "metrics": self.metrics,
            "queries": self.counts.any,
            "metric_queries": self.counts.by_metric,
            "iterations": self.iterations,
            "leaderboard": self.leaderboard.to_dict("index"),
            "winners": self.winners,
            "chance": self.chance,
            "unjudged": self.unjudged,
            "notes": self.notes,
            "missing": [{"model": name, "reason": reason} for name, reason in self.missing.items()],
        }
        if self.primary is not None:
            is_complete = all_pairs or self._pair_count <= MAX_PAIRS
            content |= {"pairs": self.pairs if is_complete else self._clearest_pairs, "verdict": self.verdict}
        optional: dict[str, Any] = {"segments": self.segments, "against": self._decisions}
        optional |= {"selected": self.selected, "searched": self.searched}
        return dict(plain(content | {name: value for name, value in optional.items() if value is not None}))

    @property
    def plot(self) -> Plots:
        """Plots: `leaderboard`, `attribution`, `queries`, `gains`, `sensitivity`.

        Experiments also have `curves`. Notebooks display a plot, `.ax` is its Matplotlib axes, and `.save` writes it.
        """
        from ..report.plots import Plots

        return Plots(self)

    @cached_property
    def content(self) -> Content:
        """Content of all reports, computed once. See `gainwise.report.content`."""
        from ..report.content import Content

        return Content(self, self._decisions)

    @cached_property
    def _decisions(self) -> BaselineComparison | None:
        """Decisions about the baseline, None without a baseline, or if no query can distinguish two rankings."""
        return None if self._baseline is None or self._has_no_evidence else self.against(self._baseline)

    def _report_content(self, baseline: str | BaselineComparison | None) -> Content:
        """Return the content of a report with decisions about a baseline, given by name or as a result of `against`."""
        from ..report.content import Content

        if baseline is None:
            return self.content
        if isinstance(baseline, str):
            return Content(self, self.against(baseline))
        numbers, own = attrgetter("candidate", "difference", "lower", "upper"), None
        if baseline.baseline in self.models and set(baseline.metrics) <= set(self.metrics):
            family = Family(baseline.margins, baseline.gain)
            own = compare_with_baseline(self._sample, family, baseline.baseline, require=baseline.require)
        if own is None or list(map(numbers, own.candidates)) != list(map(numbers, baseline.candidates)):
            raise ValueError(
                f"baseline contains decisions about {baseline.baseline!r} from another comparison. Pass the name of "
                "the baseline, or a result of against() of this comparison."
            )
        return Content(self, baseline)

    def to_html(
        self,
        path: FilePath,
        *,
        queries: int = 25,
        baseline: str | BaselineComparison | None = None,
        title: str = "",
        data: str = "",
        date: datetime.date | str = "",
    ) -> Path:
        """Write the report as one HTML file.

        Parameters
        ----------
        path : path
            File to write.
        queries : int, default 25
            Maximum number of queries to show.
        baseline : str or BaselineComparison, optional
            Name of the deployed model, or a result of `against`. The report then states first whether to replace it.
        title, data : str, optional
            Title of the page and description of the data.
        date : date or str, optional
            Date to show on the page. By default, the page shows no date.
        """
        from ..report.exports import write_html

        return write_html(self._report_content(baseline), path, queries=queries, title=title, data=data, date=date)

    def to_markdown(
        self, path: FilePath | None = None, *, baseline: str | BaselineComparison | None = None, full: bool = False
    ) -> str:
        """Return the report as Markdown for a pull request, and write it to `path` if given.

        `baseline` is described in `to_html`. With `full`, the report contains all models and tables.
        """
        from ..report.exports import to_markdown

        return to_markdown(self._report_content(baseline), path, full=full)

    def to_json(
        self, path: FilePath | None = None, *, queries: int = 50, baseline: str | BaselineComparison | None = None
    ) -> str:
        """Return all results as JSON, and write them to `path` if given. See `gainwise.report.exports` for the keys."""
        from ..report.exports import to_json

        return to_json(self._report_content(baseline), path, queries=queries)

    def _repr_html_(self) -> str:
        from ..report.exports import build_notebook_cell

        return build_notebook_cell(self.content)

    def _require_two_metrics(self) -> tuple[str, str]:
        if self.primary is None:
            raise ValueError(
                f"A disagreement requires two metrics, got 1 ({self.metrics[0]}). Compare with two, or print the "
                "comparison, whose first sentence is about the only one."
            )
        return self.primary

    def __str__(self) -> str:
        chart = self.content.chart
        lines = [printable(as_text(line)) for line in (chart.headline, chart.advice) if line]
        return "\n".join([*lines, *describe_missing(self.missing), repr(self)])

    def __repr__(self) -> str:
        size = f"{pluralize(len(self.models), 'model')}, {pluralize(self.counts.any, 'query')}"
        remark = "" if self.unjudged is None else self.unjudged.remark
        return f"{type(self).__name__}({size}, metrics {', '.join(self.metrics)}{remark})"


def _find_definitions(names: Sequence[str], metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """Return the metric of each name: the one in `metrics`, otherwise the registered one. Omit unknown names."""
    definitions = {}
    for name in names:
        if name not in metrics:
            with suppress(ValueError, TypeError):
                (definitions[name],) = parse_metrics(name)
        elif isinstance(metrics[name], Metric):
            definitions[name] = metrics[name]
        else:
            raise TypeError(f"metrics must map names to Metric objects, got {metrics[name]!r} for {name!r}.")
    return definitions
