"""What a report shows, in whatever form: worked out once a comparison, each part when it is first asked for.

HTML, Markdown, JSON, the terminal and notebooks read one `Content`. It has a chart (question, answer, advice and a row
for every model: `gainsay.drawing.lanes.Chart`) and what sections (`gainsay.report.sections`) and details
(`gainsay.report.full`) are made from.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._common.cached import cached_property
from ..comparison.attribution import splittable
from ..comparison.headline import labels_of
from ..comparison.replacing import leading, replacing, searches
from ..comparison.standing import chart_of, with_runs
from . import single
from .chosen import ChosenPair, chosen_pair
from .entries import Queries
from .rounds import best_rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from .._common.shown import Names
    from ..comparison.against import Against
    from ..comparison.attribution import Attribution
    from ..comparison.findings import Findings
    from ..drawing.lanes import Chart

__all__ = ["Also", "Content"]


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
    comparison : Findings
        What is reported.
    against : Against, optional
        Decisions about a baseline, which then come first.
    also : sequence of Also
        Other comparisons that are shown in it, each in a section of its own.
    """

    def __init__(self, comparison: Findings, against: Against | None = None, also: Sequence[Also] = ()) -> None:
        self.comparison, self.against, self.also = comparison, against, tuple(also)

    @property
    def names(self) -> Names:
        """What models and candidates are called."""
        return self.comparison.names

    @cached_property
    def chart(self) -> Chart:
        """Question, answer, advice, and how every model stands."""
        found, comparison = self.standing, self.comparison
        if comparison.runs:
            found = with_runs(found, comparison.run_distances)
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
            return single.chart_of_one_metric(comparison)
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
        verdict, short = self.comparison.verdict, self.names.short
        labels, roles = labels_of(verdict.metrics), []
        one, other = verdict.winners.values()
        for model in self.pair[:2]:
            role = f"best by {labels[0 if model == one else 1].head}" if model in (one, other) else "runner-up"
            roles.append("winner" if model == one == other else role)
        if self.against is not None:
            roles = ["candidate", "baseline"]
        named = [short[model] for model in self.pair[:2]]
        first, second = named if max(map(len, named)) <= 14 else roles
        return first, second

    @cached_property
    def attribution(self) -> Attribution | None:
        """Why these two differ; None where it cannot be said, and `no_attribution` says why."""
        if self.no_attribution or self.pair is None:
            return None
        return self.comparison.attribution(self.pair.first, self.pair.second, self._split)

    @cached_property
    def _split(self) -> list[str]:
        """The metrics whose difference is split: the primary ones that can be, else two others."""
        comparison = self.comparison
        split = [name for name, metric in comparison.definitions.items() if splittable([metric])]
        return [name for name in comparison.primary or () if name in split] or split[:2]

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
        found = np.array(
            [
                [
                    row.get(f"common {what} {metric}", row[f"{what} {metric}"])
                    for what in ("difference", "lower", "upper")
                ]
                for metric in comparison.verdict.metrics
            ]
        )
        return found if row["model_x"] == pair.first else -found[:, [0, 2, 1]]
