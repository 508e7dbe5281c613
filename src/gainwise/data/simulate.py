"""Simulated ranking data."""

from __future__ import annotations

from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._common.validation import validate_integer
from .ranking_data import RankingData

Array: TypeAlias = NDArray[np.float64]

# Shares of the grades 0 to 4, as in MSLR-WEB30K.
_SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)
_LENGTH_SPREAD = 0.5
LONGEST = 1500
# Share of the variance of relevance between queries. Some queries have few good documents.
_BETWEEN_QUERIES = 0.15
# Spread of the threshold of grades 3 and 4 between queries, in standard deviations of relevance.
_BAR_SPREAD = 0.3
# Effect of relevance within a grade on general features, relative to the effect of one grade.
_WITHIN_GRADE = 0.1

_KINDS = ("general", "fair", "excellent", "shifted", "noise", "interaction")
_NOISE = _KINDS.index("noise")
_SHIFTED = _KINDS.index("shifted")
# Strengths of features: the effect of one grade, in standard deviations of the noise. With thirty features, models
# reach an NDCG of about 0.5 to 0.6, as on web-search datasets.
_STRENGTHS = (0.02, 0.2)
_SCALE_SPREAD = 0.5


def simulate(
    queries: int, seed: int, *, features: int = 30, mean_length: float = 120, signal: float = 1.0
) -> RankingData:
    """Simulate a dataset like those of web search: long queries, few excellent documents, features of several kinds.

    The number of documents of a query is log-normal with mean `mean_length` (the median is 12 % lower, and values are
    between 1 and 1500). The relevance of a document is normal and partly shared by all documents of the query. It is
    cut into the grades 0 to 4 with shares of 52, 32, 13, 2 and 1 % over all queries. The threshold of grades 3 and 4
    differs by query. Many queries lack them. Feature j has kind j modulo 6:

    0. general: increases with relevance over all grades,
    1. fair: separates the grades 0, 1 and 2, and is constant above,
    2. excellent: separates the grades 3 and 4 from the others, and is constant below,
    3. shifted: general, with an offset and a scale for each query,
    4. noise: independent of relevance,
    5. interaction: general if the first noise feature is positive, reversed if it is negative, and noise alone.

    Every feature has its own strength and additional normal noise. The distributions follow published datasets and were
    not tuned to make metrics disagree.

    Parameters
    ----------
    queries : int
        Number of queries, at least 1.
    seed : int
        Equal arguments give equal data, and fewer queries give the first queries of the same data.
    features : int, default 30
        Number of features, at least 1.
    mean_length : float, default 120
        Mean number of documents per query, at least 1.
    signal : float, default 1
        Factor of the strength of all features, at least 0. With 0, all features are noise.

    Returns
    -------
    RankingData
        Query ids are "q0", "q1", and so on. The rows of a query are contiguous and in random order. Features are
        float32.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> data = simulate(100, seed=7)
    >>> data.features.shape[1], data.query_ids[:2].tolist()
    (30, ['q0', 'q1'])
    >>> import numpy as np
    >>> bool((simulate(10, seed=7).labels == data.take_queries(np.arange(10)).labels).all())
    True
    """
    queries, features = validate_integer("queries", queries), validate_integer("features", features)
    seed = validate_integer("seed", seed, 0)
    for name, value, least in (("mean_length", mean_length, 1), ("signal", signal, 0)):
        if not least <= value < float("inf"):
            raise ValueError(f"{name} must be at least {least} and finite, got {value!r}.")
    # Each table has its own stream, which is filled row by row, so that more queries do not change the first ones.
    streams = [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(5)]
    length, ease, bar = streams[0].standard_normal((queries, 3)).T
    sizes = _draw_sizes(length, mean_length)
    qid = np.repeat(np.arange(queries), sizes)
    own = streams[1].standard_normal(qid.size)
    relevance = np.sqrt(_BETWEEN_QUERIES) * ease[qid] + np.sqrt(1 - _BETWEEN_QUERIES) * own
    grades = _cut_into_grades(relevance, bar[qid])
    strengths = signal * streams[2].uniform(*_STRENGTHS, size=features).astype(np.float32)
    values = streams[3].standard_normal((qid.size, features), dtype=np.float32)
    _add_signals(values, strengths, grades, relevance)
    shifted = values[:, _SHIFTED :: len(_KINDS)]
    offset, scale = np.moveaxis(streams[4].standard_normal((queries, shifted.shape[1], 2), dtype=np.float32), 2, 0)
    shifted *= np.exp(_SCALE_SPREAD * scale)[qid]
    shifted += offset[qid]
    ids = np.array([f"q{number}" for number in range(queries)], dtype=np.str_)
    return RankingData(features=values, labels=grades, qid=qid, query_ids=ids)


def simulate_rankers(data: RankingData, seed: int) -> dict[str, Array]:
    """Return the scores of three simulated rankers on which the two NDCGs disagree.

    With g the label, z normal noise of its own for each, e = max(g − 2, 0) and p = min(g, 2):

    - ``fair`` scores p + 1.25 z: it finds fair documents, and no difference among better ones;
    - ``excellent`` scores 0.4 p + 1.5 e + 0.9 z: it finds the few excellent documents and is weaker below;
    - ``blend`` scores 0.7 p + 0.75 e + 1.1 z: something of both.

    Parameters
    ----------
    data : RankingData
        With grades 0 to 4, as `simulate` makes them.
    seed : int
        Of the noise.

    Returns
    -------
    dict of str to ndarray, shape (documents,)
        Scores by ranker.

    Examples
    --------
    >>> import gainwise as gw
    >>> from gainwise.data import simulate, simulate_rankers
    >>> data = simulate(3000, seed=4, mean_length=40)
    >>> comparison = gw.compare(simulate_rankers(data, seed=4), data.judgments())
    >>> comparison.winners["ndcg_linear@10"], comparison.winners["ndcg_exp@10"], comparison.verdict.safe_choice
    ('fair', 'excellent', 'blend')
    """
    fair, excellent = np.minimum(data.labels, 2), np.maximum(data.labels - 2, 0)
    noise = np.random.default_rng(seed).normal(size=(3, len(data.labels)))
    return {
        "fair": fair + 1.25 * noise[0],
        "excellent": 0.4 * fair + 1.5 * excellent + 0.9 * noise[1],
        "blend": 0.7 * fair + 0.75 * excellent + 1.1 * noise[2],
    }


def _draw_sizes(normal: Array, mean: float) -> NDArray[np.int64]:
    """Return query lengths, log-normal with the given mean."""
    lengths: Array = np.exp(np.log(mean) - _LENGTH_SPREAD**2 / 2 + _LENGTH_SPREAD * normal)
    return np.rint(lengths).clip(1, LONGEST).astype(np.int64)


def _cut_into_grades(relevance: Array, bar: Array) -> Array:
    """Cut relevance, which is standard normal over all queries, into grades with the shares above."""
    fair, good, *top = (NormalDist().inv_cdf(share) for share in np.cumsum(_SHARES[:-1]).tolist())
    grades = (relevance > fair).astype(np.float64) + (relevance > good)
    for threshold in top:
        # Relevance minus the random part of the threshold is normal with this larger spread, which keeps the shares.
        grades += relevance - _BAR_SPREAD * bar > threshold * np.sqrt(1 + _BAR_SPREAD**2)
    return grades


def _add_signals(values: NDArray[np.float32], strengths: NDArray[np.float32], grades: Array, relevance: Array) -> None:
    """Add the signal of each feature to the noise in `values`."""
    middle = float(np.dot(np.arange(5), _SHARES))
    general = grades - middle + _WITHIN_GRADE * relevance
    # Interactions depend on the sign of the first noise feature. Without noise features, no interactions exist.
    key = np.sign(values[:, _NOISE]) if values.shape[1] > _NOISE else np.zeros(1, dtype=np.float32)
    seen = {
        "general": general,
        "fair": np.minimum(grades, 2),
        "excellent": 2 * np.maximum(grades - 2, 0),
        "shifted": general,
        "interaction": general * key,
    }
    for place, strength in enumerate(strengths):
        kind = _KINDS[place % len(_KINDS)]
        if kind in seen:
            values[:, place] += strength * seen[kind].astype(np.float32)
