"""Simulated datasets: web-search queries, and datasets of any size with short, usual or very long queries."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

CHUNK = 4_000_000
"""Documents drawn at a time, which limits the temporary memory."""

GRADES = np.array([0.52, 0.32, 0.13, 0.02, 0.01])
"""Probability of each label, as in MSLR-WEB30K."""

ROUNDS = (1, 5, 20, 100)
"""Rounds of a real training. After the first rounds, few scores are distinct."""
FEATURES = 10
LEAVES = 63

SHAPES = {
    "short": "5 to 10 documents per query",
    "MSLR-like": "about 120 documents per query, log-normal",
    "very long": "10,000 to 1,000,000 documents per query, log-uniform",
}
"""Distribution of the documents per query."""


class Data(NamedTuple):
    """Labels, documents per query, and several arrays of scores by their name."""

    labels: NDArray[Any]
    sizes: NDArray[np.int64]
    scores: dict[str, NDArray[np.float64]]


def make_data(documents: int, seed: int = 0) -> Data:
    """Draw queries with the lengths and grades of web search, about 100 documents per query."""
    rng = np.random.default_rng(seed)
    sizes = np.maximum(1, rng.lognormal(np.log(90), 0.5, documents // 100).astype(np.int64))
    n = int(sizes.sum())
    untied = rng.normal(size=n)
    scores = {"untied": untied, "tied": np.round(untied, 1), "constant": np.zeros(n)}
    return Data(rng.choice(5, n, p=GRADES), sizes, scores)


def make_short(documents: int, length: int = 10, seed: int = 0) -> Data:
    """Draw queries of `length` documents each, with the grades of web search."""
    rng = np.random.default_rng(seed)
    sizes = np.full(documents // length, length)
    return Data(rng.choice(5, int(sizes.sum()), p=GRADES), sizes, {"untied": rng.normal(size=int(sizes.sum()))})


def make_features(labels: NDArray[Any], columns: int, seed: int) -> NDArray[np.float32]:
    """Draw features, of which the first ten are correlated with the labels."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal(size=(len(labels), columns), dtype=np.float32)
    for column in range(10):  # All columns at once would need much memory.
        features[:, column] += 0.4 * labels
    return features


def add_training_scores(data: Data, threads: int) -> Data:
    """Add the scores of a LambdaRank training after some rounds. Half of the features are correlated with labels."""
    import lightgbm as lgb

    rng = np.random.default_rng(5)
    features = rng.normal(size=(len(data.labels), FEATURES)).astype(np.float32)
    features[:, : FEATURES // 2] += np.linspace(0.5, 0.2, FEATURES // 2) * data.labels[:, None]
    params = {"objective": "lambdarank", "num_leaves": LEAVES, "verbose": -1, "num_threads": threads}
    booster = lgb.train(params, lgb.Dataset(features, data.labels, group=data.sizes), max(ROUNDS))
    scores = {
        f"round {rounds}": np.asarray(booster.predict(features, num_iteration=rounds, raw_score=True))
        for rounds in ROUNDS
    }
    return data._replace(scores={**data.scores, **scores})


def make_shape(shape: str, documents: int, ties: str = "untied", seed: int = 0) -> Data:
    """Draw exactly this number of documents. The last query is truncated.

    Labels take one byte each. Scores are "untied" (all different) or "tied" (one decimal place). Untied scores need 64
    bits, because 32 bits have too few values for queries of a million documents.
    """
    rng = np.random.default_rng(seed)
    labels = np.empty(documents, dtype=np.int8)
    scores = np.empty(documents)
    for start in range(0, documents, CHUNK):
        part = slice(start, min(start + CHUNK, documents))
        uniform = rng.random(part.stop - part.start, dtype=np.float32)
        labels[part] = np.searchsorted(np.cumsum(GRADES)[:-1].astype(np.float32), uniform, side="right")
        rng.standard_normal(out=scores[part])
        if ties == "tied":
            np.round(scores[part], 1, out=scores[part])
    return Data(labels, _draw_sizes(shape, documents, rng), {ties: scores})


def _draw_sizes(shape: str, documents: int, rng: np.random.Generator) -> NDArray[np.int64]:
    if shape == "short":
        sizes = rng.integers(5, 10, documents // 5 + 1, endpoint=True)
    elif shape == "MSLR-like":
        spread = 0.5
        sizes = rng.lognormal(np.log(120) - spread**2 / 2, spread, documents // 60 + 20).astype(np.int64) + 1
    else:
        sizes = np.exp(rng.uniform(np.log(1e4), np.log(1e6), documents // 10_000 + 1)).astype(np.int64)
    ends = np.minimum(np.cumsum(sizes), documents)
    if ends[-1] < documents:
        raise ArithmeticError(f"{len(sizes)} {shape} queries have {ends[-1]} documents, expected {documents}")
    truncated = np.diff(ends, prepend=0)
    return truncated[truncated > 0]
