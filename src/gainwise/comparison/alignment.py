"""Columns of scores that belong to the rows above or below, because they are off by one row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from .._common.text import format_mean
from .._common.typing import Floats, Integers
from ..evaluation.evaluator import Evaluator
from ..judgments import Judgments
from ..metrics.dcg import NDCG
from .estimates import MIN_QUERIES

MIN_ERRORS = 5
"""Standard errors by which the shifted scores must be better than the scores, and better than random order."""

MAX_QUERIES = 2000
"""Queries of the test, evenly spaced if there are more."""

SAMPLED_QUERIES = 200
"""Queries of a first test if there are more than `MAX_QUERIES`, so that the test costs little."""

SAMPLED_ERRORS = 2.5
"""Standard errors in the first test that require the second one."""

MAX_FOREIGN = 0.75
"""If more rows than this share follow a row of another query, the rows are in an order that ignores queries."""

METRIC = NDCG(gain="linear", empty="skip")
DIRECTIONS = {1: "down", -1: "up"}


class _Shifts(NamedTuple):
    """The rows of some queries before and after each shift, side by side, and their values in random order."""

    rows: Integers
    evaluator: Evaluator
    chance: Floats

    def measure(self, scores: Floats) -> dict[int, tuple[float, float, Floats]]:
        """Compare the scores with the shifted scores by shift, if enough queries have a value.

        Return the standard errors of the shifted scores above the scores and above random order, and both means.
        """
        values = self.evaluator(scores[self.rows]).per_query[:, 0].reshape(len(DIRECTIONS), 2, -1)
        chances = self.chance.reshape(len(DIRECTIONS), 2, -1)
        results = {}
        for shift, (own, moved), (_, chance) in zip(DIRECTIONS, values, chances, strict=True):
            counted = ~np.isnan(own)
            if counted.sum() >= MIN_QUERIES:
                pair = np.stack([own[counted], moved[counted]])
                above_own, above_chance = _compute_ratio(pair[1] - pair[0]), _compute_ratio(pair[1] - chance[counted])
                results[shift] = above_own, above_chance, pair.mean(axis=1)
        return results


def _compute_ratio(differences: Floats) -> float:
    """Return the mean of differences in standard errors, 0 if all are 0."""
    mean, error = differences.mean(), differences.std(ddof=1) / np.sqrt(len(differences))
    with np.errstate(divide="ignore"):
        return float(mean / error) if mean else 0.0


def validate_alignment(scores: Mapping[str, Floats], judgments: Judgments) -> None:
    """Raise `ValueError` if scores are much better after a shift by one row.

    The NDCG of the shifted scores must exceed that of the scores and that of random order, each by more than
    `MIN_ERRORS` standard errors of the paired difference. It must also exceed that of the negated scores, because any
    shift improves negated scores, and in short queries makes them better than random order.

    A shift leaves out rows whose shifted score belongs to another query, unless the rows are in an order that ignores
    queries. Otherwise, the first or last document of each query would have the level of the scores of another query,
    which improves the NDCG if rows are sorted by label.
    """
    if judgments.queries < MIN_QUERIES:
        return
    is_large = judgments.queries > MAX_QUERIES
    sample = _build_shifts(judgments, SAMPLED_QUERIES) if is_large else None
    tested = None
    for name, column in scores.items():
        if np.isnan(column).any():
            continue  # The evaluation raises an error with the name of the model and the row.
        if sample and all(above_own <= SAMPLED_ERRORS for above_own, *_ in sample.measure(column).values()):
            continue
        tested = tested or _build_shifts(judgments, MAX_QUERIES)
        for shift, (above_own, above_chance, (own, moved)) in tested.measure(column).items():
            if min(above_own, above_chance) <= MIN_ERRORS:
                continue
            *_, (negated, _) = tested.measure(-column)[shift]
            if negated < moved:
                raise ValueError(
                    f"scores of model {name!r} must belong to the rows of the labels, but one row further "
                    f"{DIRECTIONS[shift]}, their NDCG is {format_mean(moved)} instead of {format_mean(own)}. Align "
                    "them, or pass allow_misaligned=True (--allow-misaligned) to compare them unchanged."
                )


def _build_shifts(judgments: Judgments, queries: int) -> _Shifts:
    """Return the shifts of evenly spaced queries."""
    chosen = np.unique(np.linspace(0, judgments.queries - 1, queries).astype(np.int64))
    layout, sizes = judgments.layout, judgments.sizes[chosen]
    numbers = np.repeat(np.arange(len(chosen)), sizes)
    positions = np.arange(len(numbers)) + (layout.starts[chosen] - np.cumsum(sizes) + sizes)[numbers]
    labels = np.maximum(judgments.levels, 0.0)[layout.codes[positions]]
    rows = judgments.by_query(np.arange(judgments.documents))[positions]
    query_of_rows = judgments.query_of_rows
    parts, sources = [], []
    for shift in DIRECTIONS:
        source = (rows - shift) % judgments.documents
        used = query_of_rows[source] == chosen[numbers]
        used |= used.mean() < 1 - MAX_FOREIGN
        parts += [np.flatnonzero(used)] * 2
        sources += [rows[used], source[used]]
    group = [np.bincount(numbers[part], minlength=len(chosen)) for part in parts]
    evaluator = Evaluator(METRIC, Judgments(labels[np.concatenate(parts)], group=np.concatenate(group)), 1)
    moved = np.concatenate(sources)
    return _Shifts(moved, evaluator, evaluator(np.zeros(len(moved))).per_query[:, 0])
