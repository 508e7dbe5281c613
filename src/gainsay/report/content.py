"""The content of a report in any format. Every part is computed once, when it is first used.

HTML, Markdown, JSON, terminals and notebooks read one `Content`. It has the chart (`gainsay.report.chart.Chart`) and
the data of sections (`gainsay.report.sections`) and tables (`gainsay.report.tables`).
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from .._common import cached_property
from .._common.text import printable
from ..comparison.baseline import rank_candidates
from ..comparison.disagreement import find_bound
from ..comparison.rankings import select_sums
from .chart import add_repeats, build_baseline_chart, build_metric_chart, build_verdict_chart
from .queries import ExplainedPair, Queries
from .rounds import best_rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from ..comparison.baseline import BaselineComparison
    from ..comparison.comparison import Comparison
    from ..comparison.disagreement import DisagreementBound
    from ..comparison.explanations import Attribution
    from ..comparison.gain_path import GainPath
    from .chart import Chart


MAX_PATH_MODELS, MAX_PATH_VALUES = 50, 300_000
"""Models, and values (models times queries), up to which a report computes the gain path. Otherwise, call
`Comparison.gains` first."""


class Appendix(NamedTuple):
    """Another comparison in a report: id and heading of its section, a description of its data, and its content."""

    name: str
    title: str
    data: str
    content: Content


class Content:
    """Collect everything that a report of a comparison contains.

    Parameters
    ----------
    comparison : Comparison
        The comparison to report.
    against : BaselineComparison, optional
        Decisions about a baseline, which come first.
    appendices : sequence of Appendix
        Other comparisons. Each gets a section.
    """

    def __init__(
        self, comparison: Comparison, against: BaselineComparison | None = None, appendices: Sequence[Appendix] = ()
    ) -> None:
        self.comparison, self.against, self.appendices = comparison, against, tuple(appendices)

    @cached_property
    def chart(self) -> Chart:
        """The main chart: question, answer, advice, and a row for every model."""
        comparison, chart = self.comparison, self.standing
        if self.against is not None:
            standings = comparison.standings.set_index(["metric", "model"])["mean"]
            means = {metric: standings[metric].to_dict() for metric in comparison.metrics}
            chart = build_baseline_chart(self.against, comparison.short_names, means, self.merged)
        return add_repeats(chart, comparison.repeat_distances) if comparison.repeats and chart.rows else chart

    @cached_property
    def standing(self) -> Chart:
        """The chart of all models without a baseline."""
        comparison = self.comparison
        if comparison.primary is None:
            return build_metric_chart(comparison)
        return build_verdict_chart(comparison.verdict, comparison.short_names, comparison.selected)

    @property
    def merged(self) -> bool:
        """Whether both primary metrics are the same number, as both NDCGs are with labels 0 and 1."""
        return self.comparison.primary is not None and self.comparison.verdict.metrics_coincide

    @cached_property
    def bound(self) -> DisagreementBound | None:
        """Largest possible disagreement on these labels, or None if the primary metrics are not NDCGs of two gains."""
        comparison = self.comparison
        if comparison.rankings is None or comparison.primary is None:
            return None
        metrics = [comparison.definitions.get(name) for name in comparison.primary]
        return find_bound(comparison.rankings.judgments, metrics)

    @property
    def same_number(self) -> list[str]:
        """A sentence if both primary metrics are the same number, or if the choice between them cannot matter."""
        if len(self.comparison.models) < 2:
            return []
        if not self.merged:
            return [self.bound.conclusion] if self.bound is not None and self.bound.is_negligible else []
        rankings = self.comparison.rankings
        if rankings is not None and set(rankings.judgments.levels.tolist()) <= {0, 1}:
            return ["With labels 0 and 1 both gains are the same, so there is one number."]
        first, second = map(printable, self.comparison.verdict.metrics)
        return [f"{first} and {second} have the same values here."]

    @cached_property
    def pair(self) -> ExplainedPair | None:
        """The two models that are explained: with a baseline it and the candidate that comes first."""
        if self.comparison.primary is None:
            return None
        if self.against is not None:
            first = rank_candidates(self.against)[0].candidate
            return ExplainedPair(first, self.against.baseline, "the candidate that comes first and the baseline")
        return choose_pair(self.comparison)

    @cached_property
    def attribution(self) -> Attribution | None:
        """The attribution of their difference. None without scores, or if no metric is a sum over documents."""
        comparison = self.comparison
        if self.pair is None or comparison.rankings is None:
            return None
        sums = select_sums(comparison.definitions.values())
        names = [name for name, metric in comparison.definitions.items() if metric in sums]
        primary = [name for name in comparison.primary or () if name in names]
        metrics = primary[:1] if self.merged else primary or names[:2]
        return comparison.attribution(self.pair.first, self.pair.second, metrics) if metrics else None

    @cached_property
    def queries(self) -> Queries | None:
        """Both metrics of the explained pair on every query, or None without the scores of the models."""
        if self.pair is None or self.comparison.rankings is None:
            return None
        return Queries(self.comparison, self.pair)

    @property
    def path(self) -> GainPath | None:
        """The gain path that was computed last, or the default one, or None."""
        return self.comparison.last_gains or self._default_path

    @cached_property
    def _default_path(self) -> GainPath | None:
        """The default gain path. None if it is expensive or if the metrics are not two gains of one NDCG."""
        comparison, models = self.comparison, len(self.comparison.models)
        is_expensive = models > MAX_PATH_MODELS or models * comparison.query_count > MAX_PATH_VALUES
        if comparison.rankings is None or comparison.primary is None or models < 2 or is_expensive:
            return None
        with suppress(ValueError):  # Other metrics, or labels that are not grades.
            return comparison.gains()
        return None

    @cached_property
    def rounds(self) -> pd.DataFrame | None:
        """The best round of each candidate under each metric, or None if nothing was trained."""
        comparison = self.comparison
        if comparison.curves is None or comparison.primary is None:
            return None
        best = best_rounds(comparison.curves, comparison.verdict.metrics, comparison.lower_is_better)
        return None if best.empty else best

    @property
    def proven(self) -> bool:
        """Whether the verdict, or the decision about the first candidate, proves a difference of the explained pair."""
        if self.against is not None:
            return rank_candidates(self.against)[0].decision != "undecided"
        return self.comparison.verdict.kind in ("genuine", "agree")


def choose_pair(comparison: Comparison) -> ExplainedPair | None:
    """Return the two models that matter for the choice, or None if there is a single model.

    1. If the two primary metrics have different winners: these two.
    2. Otherwise the common winner, and the nearest of the other models that may be best under both.
    3. If no such rival exists: the common winner and the nearest of all models.

    The nearest model has the smallest worst regret. The model that the first metric prefers comes first.
    """
    if len(comparison.models) < 2:
        return None
    verdict = comparison.verdict
    winner, second = (verdict.winners[metric] for metric in verdict.metrics)
    if winner != second:
        return ExplainedPair(winner, second, "the winners under the two metrics")
    possible = [model for model in verdict.common_best if model != winner]
    rivals = possible or [model for model in verdict.models if model != winner]
    rival = min(rivals, key=lambda model: max(regrets[model] for regrets in verdict.regrets.values()))
    role = "its nearest rival that is still possible" if possible else "the runner-up"
    return ExplainedPair(winner, rival, f"the winner under both metrics and {role}")
