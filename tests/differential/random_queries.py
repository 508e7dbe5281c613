"""Random queries with labels and scores for hypothesis.

hypothesis draws the lengths, the kinds of labels and scores, and a seed. NumPy draws the numbers. Queries can therefore
be long, and failing examples remain short and repeatable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import hypothesis.strategies as st
import numpy as np
from hypothesis import HealthCheck, Phase, settings

import gainwise as gw

if TYPE_CHECKING:
    from collections.abc import Iterator

INF = np.inf
EXTREMES = [-INF, -1.7e308, -1e300, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1e-310, 1 / 3, np.nextafter(1 / 3, 1), 1e300, INF]
FINITE32 = [-3e38, -1e30, -1.0, -1e-45, -0.0, 0.0, 1e-45, 1e-40, 1 / 3, float(np.float32(1 / 3)), 1e30, 3e38]

LABELS = {
    "binary": lambda rng, n: rng.integers(0, 2, n),
    "grades": lambda rng, n: rng.integers(0, 5, n),
    "rarely relevant": lambda rng, n: rng.integers(1, 5, n) * (rng.random(n) < 0.03),
    "to 30": lambda rng, n: rng.integers(0, 31, n),
    "to 960": lambda rng, n: rng.integers(0, 961, n),
    "fractions": lambda rng, n: rng.integers(0, 33, n) / 8,
}
SCORES = {
    "distinct": lambda rng, n: (rng.permutation(n) - n // 2) / 7,
    "few": lambda rng, n: rng.integers(-3, 4, n) / 7,
    "equal": lambda rng, n: np.full(n, 0.25),
    "neighbours": lambda rng, n: np.nextafter(rng.integers(-2, 3, n) / 7, rng.choice([-INF, 0, INF], n)),
    "extreme": lambda rng, n: rng.choice(EXTREMES, n),
    "finite in 32 bits": lambda rng, n: rng.choice(FINITE32, n),
    "denormal": lambda rng, n: rng.integers(-4, 5, n) * 5e-324,
    "partly retrieved": lambda rng, n: np.where(rng.random(n) < 0.3, -INF, rng.integers(-9, 9, n) / 7),
}
FINITE = ("distinct", "few", "equal", "neighbours", "finite in 32 bits", "denormal")
"""Kinds of scores that libraries take that refuse infinite ones, or change them."""
WHOLE = ("binary", "grades", "rarely relevant", "to 30")
"""Kinds of labels that the libraries take."""
LENGTHS = st.one_of(
    st.integers(0, 12), st.integers(0, 60), st.sampled_from([31, 32, 33, 127, 128, 129, 255, 256, 257, 1000, 3000])
)

NOT_0 = LENGTHS.filter(bool)
"""Lengths where a library divides by the number of documents, and gets NaN from a query without any."""


@dataclass(frozen=True)
class Queries:
    """Labels, scores, sizes of queries, and optional weights."""

    sizes: tuple[int, ...]
    label_kind: str
    score_kind: str
    dtype: str
    seed: int
    weighted: bool
    no_empty: bool
    labels: np.ndarray[Any, Any] = field(init=False, repr=False)
    scores: np.ndarray[Any, Any] = field(init=False, repr=False)
    weights: np.ndarray[Any, Any] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        rng, n = np.random.default_rng(self.seed), sum(self.sizes)
        labels = np.asarray(LABELS[self.label_kind](rng, n), dtype=np.float64)
        if self.no_empty:
            labels[np.cumsum(self.sizes)[np.flatnonzero(self.sizes)] - 1] = 1
        with np.errstate(over="ignore", under="ignore"):
            scores = np.asarray(SCORES[self.score_kind](rng, n), dtype=np.float64).astype(self.dtype)
        weights = rng.integers(1, 40, len(self.sizes)) / 8 if self.weighted else None
        for name, value in (("labels", labels), ("scores", scores), ("weights", weights)):
            object.__setattr__(self, name, value)

    def judgments(self) -> gw.Judgments:
        return gw.Judgments(self.labels, group=self.sizes, weight=self.weights)

    def evaluate(self, *metrics: Any, convention: str | None = None) -> gw.Evaluation:
        return gw.evaluate(gw.parse_metrics(*metrics, convention=convention), self.judgments(), self.scores, n_jobs=1)

    def columns(self) -> Iterator[tuple[list[float], list[float]]]:
        """Labels and scores of each query, as lists of Python's floats."""
        for labels, scores in self.arrays():
            yield labels.tolist(), scores.tolist()

    def arrays(self) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
        """Labels and scores of each query."""
        for end, size in zip(np.cumsum(self.sizes), self.sizes, strict=True):
            yield self.labels[end - size : end], self.scores[end - size : end]


def queries(
    *,
    labels: Any = tuple(LABELS),
    scores: Any = tuple(SCORES),
    lengths: st.SearchStrategy[int] = LENGTHS,
    most: int = 8,
    dtypes: Any = ("float64", "float32"),
    weighted: Any = (False, True),
    no_empty: Any = (False, True),
) -> st.SearchStrategy[Queries]:
    """Return queries of these kinds, with at least one document in total.

    If a query has no documents, an equal number of weights and documents would be ambiguous.
    """
    drawn = st.builds(
        Queries,
        sizes=st.lists(lengths, min_size=1, max_size=most).filter(any).map(tuple),
        label_kind=st.sampled_from(labels),
        score_kind=st.sampled_from(scores),
        dtype=st.sampled_from(dtypes),
        seed=st.integers(0, 2**32 - 1),
        weighted=st.sampled_from(weighted),
        no_empty=st.sampled_from(no_empty),
    )
    return drawn.filter(lambda data: not data.weighted or all(data.sizes) or sum(data.sizes) != len(data.sizes))


cutoffs = st.one_of(st.none(), st.integers(1, 12), st.sampled_from([31, 32, 33, 100, 128, 1000, 5000]))


def examples(n: int) -> Any:
    """Return settings for `n` examples, or a multiple of it in the profile `--hypothesis-profile=long`."""
    return settings(
        max_examples=max(1, n * settings().max_examples // 100),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        phases=[phase for phase in Phase if phase is not Phase.explain],
    )
