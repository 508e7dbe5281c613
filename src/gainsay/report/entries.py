"""Both metrics of two models on every query, and the entries of queries in a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._common.cached import cached_property
from .._common.shown import printables
from ..comparison.queries import find_ranked_places

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from ..comparison.comparison import Comparison

MOST_CELLS = 10
"""So many ranks of a query are shown."""

MOST_LETTERS = 120
"""So many letters of what was asked are shown."""


class ChosenPair(NamedTuple):
    """Two models, and why these."""

    first: str
    second: str
    reason: str


class Entry(NamedTuple):
    """A query: id, text, size, both rankings, the ideal ranking, and both differences."""

    query: str
    asked: str
    about: str
    strips: tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]
    titles: tuple[list[str], list[str]]
    differences: list[float]
    leads: list[float]


class Tab(NamedTuple):
    """A list of queries: its id and its heading."""

    name: str
    title: str
    entries: list[Entry]


class Queries:
    """Both metrics of two models on every query."""

    def __init__(self, comparison: Comparison, pair: ChosenPair) -> None:
        self.comparison, self.pair = comparison, pair
        self.found = comparison.preferences(pair.first, pair.second)
        self.contradictory = int(np.count_nonzero(self.found.contradiction_strength))

    @cached_property
    def table(self) -> pd.DataFrame:
        """All contradictory queries, the strongest first: see `Comparison.queries`."""
        return self.comparison.queries(self.pair.first, self.pair.second, most=max(1, self.comparison.query_count))

    def tabs(self, most: int, labels: tuple[str, str]) -> list[Tab]:
        """Return the lists with entries, each with at most `most` queries. The most contradictory come first."""
        found = self.found
        weighty = np.flatnonzero(found.weights > 0)
        drawn = np.random.default_rng(self.comparison.seed).permutation(weighty)[:most]
        pulls = np.argsort(-np.abs(found.contradiction_strength), kind="stable")[: min(most, self.contradictory)]
        sums = np.where(found.weights > 0, found.leads.sum(axis=0), 0.0)
        rising = np.argsort(sums, kind="stable")
        ahead, behind = (row[:most] for row in (rising[::-1], rising))
        lists = (
            ("contradictory", f"contradictory ({self.contradictory:,})", pulls),
            ("random", "random sample", drawn),
            ("first", f"largest for {labels[0]}", ahead[sums[ahead] > 0]),
            ("second", f"largest for {labels[1]}", behind[sums[behind] < 0]),
        )
        known = self._entries(np.unique(np.concatenate([places for _, _, places in lists])))
        tabs = (Tab(name, title, [known[at] for at in places.tolist()]) for name, title, places in lists)
        return [tab for tab in tabs if tab.entries]

    def _entries(self, places: np.ndarray) -> dict[int, Entry]:
        """Return these queries by their places among those of `found`."""
        comparison, found = self.comparison, self.found
        assert comparison.rankings is not None
        judgments, shown = comparison.rankings.judgments, found.queries[places]
        metrics = [comparison.definitions[name] for name in comparison.verdict.metrics]
        depth = min(MOST_CELLS, max(metric.k or MOST_CELLS for metric in metrics))
        codes, starts = judgments.layout.codes, judgments.layout.starts
        ranked = [find_ranked_places(comparison.rankings, model, shown, metrics[0], depth) for model in self.pair[:2]]
        orders = [[codes[at] for at in own] for own in ranked]
        ends = zip(starts[shown].tolist(), starts[shown + 1].tolist(), strict=True)
        orders.append([np.sort(codes[start:stop])[::-1][:depth] for start, stop in ends])
        strips = zip(*([tuple(judgments.levels[row].tolist()) for row in order] for order in orders), strict=True)
        titles: list[tuple[list[str], list[str]]] = [([], [])] * len(shown)
        if judgments.titles is not None:
            called = judgments.by_query(judgments.titles)
            titles = list(zip(*([_cut(called[at]) for at in own] for own in ranked), strict=True))
        known, sizes = judgments.query_ids[shown].tolist(), judgments.sizes[shown].tolist()
        texts = comparison.rankings.judgments.texts if comparison.rankings else {}
        asked = _cut([texts.get(query, "") for query in known]) if texts else [""] * len(known)
        about = [f"{size:,} doc{'s' * (size != 1)}" for size in sizes]
        if comparison.weights is not None:
            about = [f"{text}, weight {w:g}" for text, w in zip(about, found.weights[places].tolist(), strict=True)]
        numbers = found.differences[:, places].T.tolist(), found.leads[:, places].T.tolist()
        rows = zip([text[:80] for text in printables(known)], asked, about, strips, titles, *numbers, strict=True)
        return dict(zip(places.tolist(), map(Entry._make, rows), strict=True))


def _cut(texts: Iterable[object]) -> list[str]:
    """Return texts on one line each, cut to `MOST_LETTERS` letters."""
    return [text[:MOST_LETTERS] for text in printables(texts)]
