"""Both metrics of two models on every query, and the entries of queries in a report."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._common.text import pluralize, printable, printables
from ..comparison.explanations import find_ranked_places

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..comparison.comparison import Comparison

MAX_RANKS = 10
"""Ranks of a query in a report."""

MAX_CHARACTERS = 120
"""Characters of the text of a query, and of the title of a document."""


class ExplainedPair(NamedTuple):
    """Two models, and the reason why a report explains their difference."""

    first: str
    second: str
    reason: str


class Entry(NamedTuple):
    """A query: its id for links and for readers, text, size, labels and titles by rank, and both differences.

    Labels are those of both rankings and of the ideal one, titles those of both rankings.
    """

    name: str
    query: str
    text: str
    size: str
    labels: tuple[tuple[float, ...], ...]
    titles: tuple[list[str], ...]
    differences: list[float]
    leads: list[float]


class QueryList(NamedTuple):
    """A list of queries: its id and its heading."""

    name: str
    title: str
    entries: list[Entry]


class Queries:
    """Both metrics of two models on every query."""

    def __init__(self, comparison: Comparison, pair: ExplainedPair) -> None:
        self.comparison, self.pair = comparison, pair
        self.preferences = comparison.preferences(pair.first, pair.second)
        self.contradictory = int(np.count_nonzero(self.preferences.contradiction_strength))

    def select(self, most: int) -> list[QueryList]:
        """Return lists of at most `most` queries: contradictory queries, or the largest differences, and a sample."""
        preferences = self.preferences
        has_weight = preferences.weights > 0
        sample = np.random.default_rng(self.comparison.seed).permutation(np.flatnonzero(has_weight))[:most]
        if self.contradictory:
            name, title = "contradictory", f"contradictory ({self.contradictory:,})"
            strength, number = np.abs(preferences.contradiction_strength), self.contradictory
        else:
            name, title = "largest", "largest differences"
            strength = np.where(has_weight, np.abs(preferences.leads.sum(axis=0)), 0.0)
            number = int(np.count_nonzero(strength))
        strongest = np.argsort(-strength, kind="stable")[: min(most, number)]
        lists = [
            QueryList(name, title, self._build(strongest)),
            QueryList("random", "random sample", self._build(sample)),
        ]
        return [part for part in lists if part.entries]

    def _build(self, places: np.ndarray) -> list[Entry]:
        """Return these queries by their places among those of `preferences`."""
        comparison, preferences = self.comparison, self.preferences
        assert comparison.rankings is not None
        judgments, queries = comparison.rankings.judgments, preferences.queries[places]
        metrics = [comparison.definitions[name] for name in comparison.verdict.metrics]
        depth = min(MAX_RANKS, max(metric.k or MAX_RANKS for metric in metrics))
        codes, starts = judgments.layout.codes, judgments.layout.starts
        ranked = [find_ranked_places(comparison.rankings, model, queries, metrics[0], depth) for model in self.pair[:2]]
        titles = None if judgments.titles is None else judgments.by_query(judgments.titles)
        ids, weights = judgments.query_ids[queries].tolist(), preferences.weights[places].tolist()
        entries, used = [], set[str]()
        for number, (query, name) in enumerate(zip(queries.tolist(), printables(ids), strict=True)):
            rows = [places[number] for places in ranked]
            ideal = np.sort(codes[starts[query] : starts[query + 1]])[::-1][:depth]
            labels = tuple(tuple(judgments.levels[part].tolist()) for part in (*(codes[part] for part in rows), ideal))
            size = pluralize(int(judgments.sizes[query]), "doc")
            place, link = places[number], re.sub(r"[^\w.:-]", "_", name[:80])
            while link in used:
                link += "_"
            used.add(link)
            entries.append(
                Entry(
                    name=link,
                    query=name[:80],
                    text=printable(str(judgments.texts.get(ids[number], "")))[:MAX_CHARACTERS],
                    size=size if comparison.weights is None else f"{size}, weight {weights[number]:g}",
                    labels=labels,
                    titles=([], []) if titles is None else tuple(_cut(titles[part]) for part in rows),
                    differences=preferences.differences[:, place].tolist(),
                    leads=preferences.leads[:, place].tolist(),
                )
            )
        return entries


def _cut(texts: Iterable[object]) -> list[str]:
    """Return texts on one line each, cut to `MAX_CHARACTERS` characters."""
    return [text[:MAX_CHARACTERS] for text in printables(texts)]
