"""Simulated ranking data with the shape of a web-search set."""

from __future__ import annotations

from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .ranking_data import RankingData

Array: TypeAlias = NDArray[np.float64]

# Shares of the grades 0 to 4, as in MSLR-WEB30K.
_SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)
_LENGTH_SPREAD = 0.5
LONGEST = 1500
# How much of the variance of relevance lies between queries: some queries have few good documents.
_BETWEEN_QUERIES = 0.15
# Spread of each query's own bar for the grades 3 and 4, in standard deviations of relevance.
_BAR_SPREAD = 0.3
# What relevance within a grade adds to what general features see, against 1 for a grade.
_WITHIN_GRADE = 0.1

_KINDS = ("general", "fair", "excellent", "shifted", "noise", "interaction")
_NOISE = _KINDS.index("noise")
_SHIFTED = _KINDS.index("shifted")
# Strengths of features: the difference that one grade makes, in standard deviations of the noise. Thirty of them
# together let a model reach the NDCG known from web-search sets, about 0.5 to 0.6.
_STRENGTHS = (0.02, 0.2)
_SCALE_SPREAD = 0.5


def simulate(
    queries: int, seed: int, *, features: int = 30, mean_length: float = 120, signal: float = 1.0
) -> RankingData:
    """Draw a data set with the shape of a web-search one: long queries, few excellent documents, features of all kinds.

    The number of documents of a query is log-normal with mean `mean_length` (the median is 12 % lower; between 1 and
    1500). A document's relevance is normal, partly shared by all documents of the query, and is cut into the grades 0
    to 4 with shares of 52, 32, 13, 2 and 1 % over all queries. The bar for the grades 3 and 4 differs by query, so
    many queries lack them. Feature j is of the kind that stands at place j modulo 6 in this list:

    0. general: grows with relevance over all grades;
    1. fair: tells the grades 0, 1 and 2 apart, and sees no difference beyond;
    2. excellent: tells the grades 3 and 4 from the rest, and sees no difference below;
    3. shifted: general, with an offset and a scale of its own in every query;
    4. noise: says nothing;
    5. interaction: general where the first noise feature is positive, reversed where it is negative; nothing by itself.

    Every feature has a strength of its own and normal noise on top. The shape follows published sets and was not tuned
    to make metrics disagree.

    Parameters
    ----------
    queries
        Number of queries, at least 1.
    seed
        Seed; equal arguments give equal data, and fewer queries give the first ones of the same data.
    features
        Number of features, at least 1.
    mean_length
        Mean number of documents of a query, at least 1.
    signal
        Factor on the strength of all features, at least 0: with 0 all of them are noise.

    Returns
    -------
    RankingData
        Query ids "q0", "q1", …; rows of a query stand together, in no order of relevance; features are float32.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> data = simulate(100, seed=7)
    >>> data.features.shape[1], data.query_ids[:2].tolist()
    (30, ['q0', 'q1'])
    >>> import numpy as np
    >>> bool((simulate(10, seed=7).labels == data.take_queries(np.arange(10)).labels).all())
    True
    """
    for name, value, least in (
        ("queries", queries, 1),
        ("features", features, 1),
        ("mean_length", mean_length, 1),
        ("signal", signal, 0),
    ):
        if not least <= value < float("inf"):
            raise ValueError(f"{name} must be at least {least} and finite, got {value!r}")
    # One stream for each table, filled row by row: more queries continue every stream and change nothing before.
    streams = [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(5)]
    length, ease, bar = streams[0].standard_normal((queries, 3)).T
    sizes = _sizes(length, mean_length)
    qid = np.repeat(np.arange(queries), sizes)
    own = streams[1].standard_normal(qid.size)
    relevance = np.sqrt(_BETWEEN_QUERIES) * ease[qid] + np.sqrt(1 - _BETWEEN_QUERIES) * own
    grades = _grades(relevance, bar[qid])
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
    """Return the scores of three rankers of different character, made from the labels: where definitions disagree.

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
    >>> import gainsay as gs
    >>> from gainsay.data import simulate, simulate_rankers
    >>> data = simulate(3000, seed=4, mean_length=40)
    >>> comparison = gs.compare(simulate_rankers(data, seed=4), data.judgments())
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


def _sizes(normal: Array, mean: float) -> NDArray[np.int64]:
    """Return query lengths, log-normal with the given mean."""
    lengths: Array = np.exp(np.log(mean) - _LENGTH_SPREAD**2 / 2 + _LENGTH_SPREAD * normal)
    return np.rint(lengths).clip(1, LONGEST).astype(np.int64)


def _grades(relevance: Array, bar: Array) -> Array:
    """Cut relevance, standard normal over all queries, into grades with the shares above."""
    fair, good, *top = (NormalDist().inv_cdf(share) for share in np.cumsum(_SHARES[:-1]).tolist())
    grades = (relevance > fair).astype(np.float64) + (relevance > good)
    for threshold in top:
        # Relevance minus the moving part of the bar is normal with this wider spread, which keeps the shares.
        grades += relevance - _BAR_SPREAD * bar > threshold * np.sqrt(1 + _BAR_SPREAD**2)
    return grades


def _add_signals(values: NDArray[np.float32], strengths: NDArray[np.float32], grades: Array, relevance: Array) -> None:
    """Add to the noise in `values` what each feature sees of the grades."""
    middle = float(np.dot(np.arange(5), _SHARES))
    general = grades - middle + _WITHIN_GRADE * relevance
    # The sign of the first noise feature decides; where there is none, there are no interactions either.
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
