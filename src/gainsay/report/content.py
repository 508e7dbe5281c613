"""What a report shows, in whatever form: worked out once a comparison, each part when it is first asked for.

HTML, Markdown, JSON, the terminal and notebooks read one `Content`. It has a chart (question, answer, advice and a row
for every model: `gainsay.drawing.lanes.Chart`) and what sections (`gainsay.report.sections`) and details
(`gainsay.report.full`) are made from.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._common.cached import cached_property
from .._common.words import amount, confidence, count
from ..comparison.attribution import select_sums
from ..comparison.headline import labels_of, rounded
from ..comparison.pairs import select_common_column
from ..comparison.replacing import leading, replacing, searches
from ..comparison.standing import chart_of, with_runs
from ..drawing.lanes import Chart, Row, marks_of
from ..drawing.text import styled
from .entries import Queries
from .rounds import best_rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from ..comparison.attribution import Attribution
    from ..comparison.baseline import BaselineComparison
    from ..comparison.comparison import Comparison
    from ..comparison.gain_path import GainPath


MOST_VALUES = 300_000
"""Of all models on all queries; the path of gains of more, which takes seconds, is shown where it was asked for."""


class ChosenPair(NamedTuple):
    """Two models, and why these."""

    first: str
    second: str
    reason: str


class Also(NamedTuple):
    """Another comparison in a report: the id and the heading of its section, what is compared, and its content."""

    name: str
    title: str
    said: str
    content: Content


class Content:
    """What a report of a comparison shows.

    Parameters
    ----------
    comparison : Comparison
        What is reported.
    against : BaselineComparison, optional
        Decisions about a baseline, which then come first.
    also : sequence of Also
        Other comparisons that are shown in it, each in a section of its own.

    Attributes
    ----------
    names : Names
        What models and candidates are called.
    """

    def __init__(
        self, comparison: Comparison, against: BaselineComparison | None = None, also: Sequence[Also] = ()
    ) -> None:
        self.comparison, self.against, self.also = comparison, against, tuple(also)
        self.names = comparison.names

    @cached_property
    def chart(self) -> Chart:
        """Question, answer, advice, and how every model stands."""
        found, comparison = self.standing, self.comparison
        if comparison.repeats:
            found = with_runs(found, comparison.repeat_distances)
        if self.against is None:
            return found
        asked, answer, told = replacing(self.against, self.names.said)
        rows = (
            row._replace(tags=(*row.tags, ("m", "baseline"))) if row.key == self.against.baseline else row
            for row in found.rows
        )
        return replace(found, question=asked, headline=answer, advice=told, rows=tuple(rows))

    @cached_property
    def standing(self) -> Chart:
        """How every model stands, and whether the two metrics disagree about the best."""
        comparison = self.comparison
        if comparison.primary is None:
            return _chart_of_one_metric(comparison)
        return chart_of(comparison.verdict, self.names, comparison.models)

    @cached_property
    def searches(self) -> str:
        """On how many of 1,000 queries the leading candidate is better and worse; of two models also without baseline.

        Of these the first is taken for the old one, as in the question.
        """
        comparison, found = self.comparison, self.against
        if found is None and (comparison.primary is None or len(comparison.models) != 2):
            return ""
        found = found or comparison.against(comparison.models[0])
        return searches(found, leading(found)[0], bounds=self.against is None)  # else they stand in their section

    @cached_property
    def pair(self) -> ChosenPair | None:
        """The two models that are explained: with a baseline it and the candidate that comes first."""
        if self.comparison.primary is None:
            return None
        if self.against is not None:
            first = leading(self.against)[0].candidate
            return ChosenPair(first, self.against.baseline, "the candidate that comes first and the baseline")
        return chosen_pair(self.comparison)

    @cached_property
    def called(self) -> tuple[str, str]:
        """What these two are called beside small pictures: their names, or else what they are."""
        if self.pair is None:
            return "", ""
        first, second = (self.names.short[model] for model in self.pair[:2])
        if max(len(first), len(second)) <= 14:
            return first, second
        if self.against is not None:
            return "candidate", "baseline"
        if len(set(self.comparison.verdict.winners.values())) == 1:
            return "winner", "runner-up"
        one, other = self.standing.labels
        return f"best by {one.head}", f"best by {other.head}"

    @cached_property
    def attribution(self) -> Attribution | None:
        """Why these two differ; None where it cannot be said, and `no_attribution` says why."""
        if self.no_attribution or self.pair is None:
            return None
        return self.comparison.attribution(self.pair.first, self.pair.second, self._split)

    @cached_property
    def _split(self) -> list[str]:
        """The metrics whose difference is split: the primary ones that can be, else two others."""
        known = self.comparison.definitions
        sums = select_sums(known.values())
        split = [name for name, metric in known.items() if metric in sums]
        return [name for name in self.comparison.primary or () if name in split] or split[:2]

    @property
    def no_attribution(self) -> str:
        """Why there is no attribution; empty where there is one."""
        if self.pair is None:
            return "There are no two models or no two metrics to explain."
        if self.comparison.rankings is None:
            return "Made from values alone: without the scores of the models nothing can be said about ranks."
        if not self._split:
            return "No compared metric is a sum over documents (NDCG, DCG), so there is no exact split."
        return ""

    @cached_property
    def queries(self) -> Queries | None:
        """What the two metrics say of these two on every query; None without the scores of the models."""
        if self.pair is None or self.comparison.rankings is None:
            return None
        return Queries(self.comparison, self.pair)

    @property
    def path(self) -> GainPath | None:
        """The path of gains that was asked for last, else the usual one; None where there is none."""
        gain_paths = self.comparison.gain_paths
        return gain_paths[-1] if gain_paths else self._usual_path

    @cached_property
    def _usual_path(self) -> GainPath | None:
        """The path of all gains; None where it would take long, or the metrics are no two gains of one NDCG."""
        comparison = self.comparison
        if comparison.rankings is None or comparison.primary is None or len(comparison.models) < 2:
            return None
        if len(comparison.models) * comparison.query_count > MOST_VALUES:
            return None
        with suppress(ValueError):  # other metrics, and labels that are no grades
            return comparison.gains()
        return None

    @cached_property
    def rounds(self) -> pd.DataFrame | None:
        """When each metric would stop each candidate, where something was trained."""
        comparison = self.comparison
        if comparison.curves is None or comparison.primary is None:
            return None
        best = best_rounds(comparison.curves, comparison.verdict.metrics, comparison.lower_is_better)
        return None if best.empty else best

    @property
    def lead(self) -> np.ndarray:
        """Mean difference of the two under both primary metrics with its interval, shape (2, 3): value, low, high."""
        comparison, pair = self.comparison, self.pair
        assert pair is not None
        table = comparison.pairs
        row = table[table["model_x"].isin(pair[:2]) & table["model_y"].isin(pair[:2])].iloc[0]
        ends = ("difference", "lower", "upper")
        metrics = comparison.verdict.metrics
        found = np.array([[row[select_common_column(table, f"{end} {metric}")] for end in ends] for metric in metrics])
        return found if row["model_x"] == pair.first else -found[:, [0, 2, 1]]


def chosen_pair(comparison: Comparison) -> ChosenPair | None:
    """Return the two models that matter to the choice; None where there is one only.

    1. Where the two primary metrics have different winners, these two.
    2. Else the common winner, and of the other models that may be best under both the nearest.
    3. Where there is no such rival, the common winner and the nearest of all.

    Near is who is least behind under the metric that likes it less. The model that the first metric prefers is first.
    """
    if len(comparison.models) < 2:
        return None
    verdict = comparison.verdict
    one, other = (verdict.winners[metric] for metric in verdict.metrics)
    if one != other:
        return ChosenPair(one, other, "the winners under the two metrics")
    possible = [model for model in verdict.common_best if model != one]
    among = possible or [model for model in verdict.models if model != one]
    rival = min(among, key=lambda model: max(by_model[model] for by_model in verdict.regrets.values()))
    if possible:
        return ChosenPair(one, rival, "the winner under both metrics and its nearest rival that is still possible")
    return ChosenPair(one, rival, "the winner under both metrics and the runner-up")


def _chart_of_one_metric(comparison: Comparison) -> Chart:
    """Return how far every model is behind the best by the only metric, and what that comes down to."""
    (metric,), names = comparison.metrics, comparison.names
    labels, level = labels_of((metric,)), confidence(comparison.alpha)
    winner, rows, table = comparison.winners[metric], [], comparison.standings
    lower = table["regret_lower"].mask(table["may_be_best"], 0.0)
    columns = table["regret"], lower, table["regret_upper"], table["may_be_best"], table["mean"]
    marks = marks_of(metric, zip(*(column.tolist() for column in columns), strict=True))
    for model, mark in zip(table["model"], marks, strict=True):
        may, best = mark.filled, model == winner
        tags = (("l", "best"),) if best else ()
        rows.append(Row(model, names.cells[model], names.full[model], tags, (mark,), may, (best,)))
    size = f"{count(len(rows), 'model')}, {count(comparison.query_count, 'query')}"
    possible, said = sum(row.shaded for row in rows), names.said[winner]
    headline = f"{styled('n l', said)} is the best by {metric}."
    if len(rows) == 1:
        direction = "lower is better" if comparison.lower_is_better else "higher is better"
        headline, advice = "One model: there is nothing to compare.", f"Of {metric} {direction}."
    elif possible == 1:
        lead = amount(sorted(row.marks[0].value for row in rows)[1])
        choice = f"{styled('b', '★ Choose ')}{styled('b n', said)}"
        advice = f"{choice}: ahead of the next by {styled('l', lead)}, proven ({level})."
    else:
        every = f"any of the {len(rows)}" if possible == len(rows) else f"{possible} of {len(rows)}"
        headline = f"Not proven: {every} models may be best by {metric}."
        bound = comparison.standings["regret_upper"].iloc[0]
        most = f": in truth at most {rounded(bound, up=True)} behind the best ({level})" if math.isfinite(bound) else ""
        choice = f"{styled('b', '★ Take ')}{styled('b n', said)}"
        advice = f"{choice}{most}. More queries decide it, not more models."
    return Chart(
        f"Which model is best by {styled('b l', metric)}? {size}",
        headline, advice, labels, names.heads, names.alike, tuple(rows) if len(rows) > 1 else (), level,
        f"may be best ({possible} of {len(rows)})",
    )  # fmt: skip
