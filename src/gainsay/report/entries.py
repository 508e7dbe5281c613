"""What the two metrics say of two models on every query, and what is shown of a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._common.cached import cached_property
from .._common.shown import printable
from .._common.words import count
from ..comparison.contradictions import ranked_labels
from ..comparison.rows import order_of

if TYPE_CHECKING:
    import pandas as pd

    from ..comparison.findings import Findings
    from ..metrics.base import Metric
    from .chosen import ChosenPair

__all__ = ["MOST_CELLS", "Entry", "Queries", "Tab"]

MOST_CELLS = 10
"""So many ranks of a query are shown."""

MOST_LETTERS = 120
"""So many letters of what was asked are shown."""


class Tab(NamedTuple):
    """A list of queries: its id, its heading, and their places among those of `Queries.found`."""

    name: str
    title: str
    places: np.ndarray


class Entry(NamedTuple):
    """A query: its id, what was asked, its size, both rankings, the best one, and both differences."""

    query: str
    asked: str
    about: str
    strips: tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]
    titles: tuple[list[str], list[str]]
    differences: list[float]
    leads: list[float]


class Queries:
    """What two metrics say of two models on every query."""

    def __init__(self, comparison: Findings, pair: ChosenPair) -> None:
        self.comparison, self.pair = comparison, pair
        self.found = comparison.preferences(pair.first, pair.second)
        self.contradictory = int(np.count_nonzero(self.found.pull))

    @cached_property
    def table(self) -> pd.DataFrame:
        """All contradictory queries, the strongest first: see `Findings.queries`."""
        return self.comparison.queries(self.pair.first, self.pair.second, most=max(1, self.comparison.query_count))

    def tabs(self, most: int, called: tuple[str, str]) -> list[Tab]:
        """Return the lists, each with at most so many queries: a random sample of the seed first."""
        found = self.found
        weighty = np.flatnonzero(found.weights > 0)
        drawn = np.random.default_rng(self.comparison.seed).permutation(weighty)[:most]
        pulls = np.argsort(-np.abs(found.pull), kind="stable")[: min(most, self.contradictory)]
        sums = np.where(found.weights > 0, found.leads.sum(axis=0), 0.0)
        rising = np.argsort(sums, kind="stable")
        ahead, behind = (row[:most] for row in (rising[::-1], rising))
        return [
            Tab("random", "random sample", drawn),
            Tab("contradictory", f"contradictory ({self.contradictory:,})", pulls),
            Tab("first", f"largest for {called[0]}", ahead[sums[ahead] > 0]),
            Tab("second", f"largest for {called[1]}", behind[sums[behind] < 0]),
        ]

    def entries(self, places: np.ndarray) -> dict[int, Entry]:
        """Return these queries by their places."""
        rankings, found = self.comparison.rankings, self.found
        assert rankings is not None
        judgments, shown = rankings.judgments, found.queries[places]
        by = next(iter(self.comparison.definitions.values()))
        metrics = [self.comparison.definitions.get(name) for name in self.comparison.verdict.metrics]
        depth = max((metric.k or MOST_CELLS for metric in metrics if metric is not None), default=MOST_CELLS)
        depth = min(depth, MOST_CELLS)
        ranked = [ranked_labels(rankings, model, shown, metrics[0] or by, depth) for model in self.pair[:2]]
        labels, ends = judgments.by_query(judgments.labels), np.cumsum(judgments.sizes)
        sizes = judgments.sizes[shown].tolist()
        known = judgments.query_ids[shown].tolist()
        ids = [printable(str(query)) for query in known]
        texts = self.comparison.query_texts
        asked = [printable(texts.get(query, ""))[:MOST_LETTERS] for query in known]
        about = [count(size, "doc") for size in sizes]
        if self.comparison.weights is not None:
            about = [f"{text}, weight {w:g}" for text, w in zip(about, found.weights[places].tolist(), strict=True)]
        ideal = [
            tuple(np.sort(labels[end - size : end])[::-1][:depth].tolist())
            for end, size in zip(ends[shown].tolist(), sizes, strict=True)
        ]
        titles = [self._titles(model, metrics[0] or by, labels, ends[shown], sizes, depth) for model in self.pair[:2]]
        differences, leads = found.differences[:, places].T.tolist(), found.leads[:, places].T.tolist()
        strips = [(ranked[0][row], ranked[1][row], best) for row, best in enumerate(ideal)]
        return {
            place: Entry(ids[row][:80], asked[row], about[row], strips[row], (titles[0][row], titles[1][row]), *pair)
            for row, (place, pair) in enumerate(zip(places.tolist(), zip(differences, leads, strict=True), strict=True))
        }

    def _titles(
        self, model: str, metric: Metric, labels: np.ndarray, ends: np.ndarray, sizes: list[int], depth: int
    ) -> list[list[str]]:
        """Return the titles of the documents that a model ranks first on each query; none where they are not known."""
        rankings = self.comparison.rankings
        assert rankings is not None
        if rankings.judgments.titles is None:
            return [[] for _ in sizes]
        scores = rankings.judgments.by_query(rankings.runs_of(model)[0])
        known, found = rankings.judgments.by_query(rankings.judgments.titles), []
        for end, size in zip(ends.tolist(), sizes, strict=True):
            here = slice(end - size, end)
            order, _ = order_of(scores[here], labels[here], metric, ties="order")
            shown = order[scores[here][order] > -np.inf][:depth]
            found.append([printable(str(title))[:MOST_LETTERS] for title in known[here][shown]])
        return found
