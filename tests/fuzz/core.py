"""Compare the compiled core with NumPy, bit by bit. The bytes are labels, sizes and scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import gainwise as gw
from gainwise.evaluation import groups
from gainwise.ranking import compiled

from .oracle import ViolationError

TIES = ("average", "order", "worst", "best")
METRICS = ("ndcg_linear", "ndcg_exp@3", "ndcg_jk@1", "cg@2", "map", "map(min_label=2)@3", "mrr", "mrr@2", "precision@3",
           "recall@2", "hit@1", "rbp", "rbp(gain=graded)@3")  # fmt: skip


def _encode(options: int, sizes: bytes, labels: bytes, scores: Any) -> bytes:
    return bytes([options, len(sizes)]) + sizes + labels + np.asarray(scores).tobytes()


SEEDS = (
    _encode(0, b"\x02", b"\1\0\2\0", np.float32([0.5, 0.5, -1, 3])),
    _encode(1 | 4, b"\1\0\3", b"\0\1\2\3\4\0", [1, 1 + 2**-52, 1, np.inf, 5e-324, -0.0]),
    _encode(2 | 8, b"", bytes(range(40)), np.float32(np.arange(40) // 7)),
    _encode(3, b"\x05", b"\0" * 9, np.float32([np.nan] * 9)),
)
TOKENS = (
    b"\0\0\x80\x3f",
    b"\0\0\x80\xff",
    b"\0\0\0\x80",
    b"\0\0\xc0\x7f",
    b"\x01\0\0\0\0\0\0\0",
    b"\0\0\0\0\0\0\xf0\x7f",
)


def decode(content: bytes) -> tuple[str, int, gw.Judgments, np.ndarray[Any, Any]]:
    """Return a policy for ties, a number of threads, judgments, and scores.

    NaN means that a document was not retrieved. A last query with one document is added, so there is at least one
    query.
    """
    options, count = (content + bytes(2))[:2]
    kind = np.dtype("<f8" if options & 4 else "<f4")
    sizes, rest = np.frombuffer(content[2 : 2 + count], np.uint8), content[2 + count :]
    documents = len(rest) // (1 + kind.itemsize)
    sizes = np.diff(np.minimum(np.cumsum(sizes, dtype=np.int64), documents), prepend=0)
    labels = np.frombuffer(rest[:documents], np.uint8)
    scores = np.frombuffer(rest[documents : documents * (1 + kind.itemsize)], kind)
    judgments = gw.Judgments(np.append(labels, 1), group=[*sizes, documents - sizes.sum(), 1])
    scores = np.append(np.where(np.isnan(scores), -np.inf, scores), 0).astype(kind)
    return TIES[options & 3], 1 + (options >> 3 & 1), judgments, scores


def in_numpy(metrics: Sequence[str | gw.Metric], judgments: gw.Judgments, scores: Any) -> np.ndarray[Any, Any]:
    """Return the values computed by NumPy."""
    with mock.patch.object(compiled, "core", return_value=None):
        return gw.evaluate(metrics, judgments, scores, n_jobs=1).per_query


def in_core(
    metrics: Sequence[str | gw.Metric], judgments: gw.Judgments, scores: Any, threads: int
) -> np.ndarray[Any, Any]:
    """Return the values computed by the core. Raise an error if NumPy would compute them."""
    none = mock.Mock(side_effect=ViolationError("not in the core"))
    with mock.patch.object(groups, "COMPILED_PER_THREAD", 1), mock.patch.object(groups, "evaluate_in_numpy", none):
        return gw.evaluate(metrics, judgments, scores, n_jobs=threads).per_query


def assert_same_bits(metrics: Sequence[Any], values: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> None:
    """Raise an error if values differ by a bit. 0.0 and -0.0 are equal, and so are all NaN."""
    differ = (values + 0.0).view(np.uint64) != (expected + 0.0).view(np.uint64)
    differ &= ~(np.isnan(values) & np.isnan(expected))
    if differ.any():
        query, column = np.argwhere(differ)[0]
        pair = f"{values[query, column]!r}, NumPy {expected[query, column]!r}"
        raise ViolationError(f"{metrics[column]} of query {query}: {pair}")


def check(content: bytes, folder: Path) -> None:
    """Evaluate with the core and with NumPy."""
    if compiled.core() is None:
        return
    ties, threads, judgments, scores = decode(content)
    metrics = [replace(metric, ties=ties, scores=scores.dtype.name) for metric in gw.parse_metrics(METRICS)]
    assert_same_bits(metrics, in_core(metrics, judgments, scores, threads), in_numpy(metrics, judgments, scores))
