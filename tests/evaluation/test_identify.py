"""`identify` finds the definition and the mistake that gave a number, and matches few unrelated numbers."""

from __future__ import annotations

import numpy as np
import pytest

import gainwise as gw
from gainwise.metrics.conventions import CONVENTIONS

LOGGED = [("lightgbm", "ndcg_exp@{k}"), ("sklearn", "ndcg_linear@{k}"), ("trec_eval", "map@{k}")]
KINDS = ("ties", "empty", "weights", "binary", "unjudged")


def make_data(kind, seed, queries=120):
    """Return judgments and scores of graded documents, with ties, or with empty queries, weights and so on."""
    rng = np.random.default_rng((KINDS.index(kind), seed))
    sizes = rng.integers(8, 40, queries)
    grades = [0, 1] if kind == "binary" else [0, 1, 2, 3, 4]
    labels = rng.choice(grades, sizes.sum(), p=[0.8, 0.2] if kind == "binary" else [0.6, 0.18, 0.12, 0.06, 0.04]) * 1.0
    if kind == "empty":
        labels *= np.repeat(rng.random(queries) > 0.15, sizes)
    scores = labels * 0.4 + rng.normal(size=len(labels))
    if kind == "unjudged":
        judged = rng.random(len(labels)) < 0.7
        scores = np.where(rng.random(len(labels)) < 0.3, -np.inf, scores)
        return gw.Judgments(np.where(judged, labels, 0), group=sizes, judged=judged), scores
    weight = rng.integers(1, 9, queries) if kind == "weights" else None
    return gw.Judgments(labels, group=sizes, weight=weight), np.round(scores, 1) if kind == "ties" else scores


def evaluate(metric, judgments, scores, convention=None):
    (value,) = gw.evaluate(metric, judgments, scores, convention=convention).mean.values()
    return value


def list_printed(judgments, cutoffs):
    """Yield library, its name of a metric, and the metric."""
    graded = judgments.levels[-1] > 1
    for library, convention in CONVENTIONS.items():
        for own, printed in convention.prints.items():
            (metric,) = gw.parse_metrics(own.format(k=5), convention=library)
            if not (graded and convention.binary_only and hasattr(metric, "min_label")):
                for k in cutoffs if "{k}" in own else (None,):
                    yield library, printed.format(k=k), own.format(k=k)


def finds(result, library, printed):
    first = result.matches[result.matches["line"] == 0]
    return ((first["library"] == CONVENTIONS[library].title) & (first["name"] == printed)).any()


def plant_mistakes(judgments, scores):
    """Yield the word that the advice must contain, and the data after a mistake."""
    labels, sizes, weights = judgments.labels, judgments.sizes, judgments.weights
    rows = np.arange(len(scores))

    def rebuild(labels=labels, group=sizes, weight=weights):
        return gw.Judgments(labels, group=group, weight=weight)

    yield "direction", judgments, -scores
    yield "order", judgments, -rows
    yield "row", judgments, np.roll(scores, 1)
    yield "row", judgments, np.roll(scores, -1)
    yield "groups", rebuild(group=[len(scores)], weight=None), scores
    yield "first query", gw.Judgments(labels[: sizes[0]], group=sizes[:1]), scores[: sizes[0]]
    yield "mean over documents", rebuild(weight=sizes), scores
    if weights is not None:
        yield "weights", rebuild(weight=None), scores
    if judgments.levels[-1] > 1:
        yield "gains", rebuild(2.0**labels - 1), scores


def count_identified_cases(count, seed=1):
    """Return the numbers of cases, of those found with the line of a log, and of those found with the bare number."""
    rng = np.random.default_rng(seed)
    found = np.zeros(2, dtype=int)
    for number in range(count):
        judgments, scores = make_data(KINDS[number % len(KINDS)], number)
        printed = list(list_printed(judgments, (1, 3, 5, 10, 20, 50)))
        library, name, own = printed[rng.integers(len(printed))]
        value = f"{evaluate(own, judgments, scores, library):.4f}"
        texts = (f"{CONVENTIONS[library].title} {name}: {value}", value)
        found += [finds(gw.identify(text, judgments, scores), library, name) for text in texts]
    return found


def count_unrelated_matches(count, seed=2):
    """Return the number of unrelated numbers, half of them with a name, that match without a warning."""
    rng = np.random.default_rng(seed)
    matches = 0
    for number in range(count):
        value = f"{rng.uniform(0.1, 0.95):.4f}"
        text = value if number % 2 else f"NDCG@10 = {value}"
        result = gw.identify(text, *make_data(KINDS[number % len(KINDS)], number))
        matches += bool(len(result.matches)) and "may be" not in result.text
    return matches


def count_identified_mistakes(count, seed=3):
    """Return the number of mistakes that are found with the line of a log."""
    rng = np.random.default_rng(seed)
    found, planted = 0, 0
    while planted < count:
        judgments, scores = make_data(KINDS[planted % 4], planted)
        mistakes = list(plant_mistakes(judgments, scores))
        word, other, changed = mistakes[(planted // 4) % len(mistakes)]
        library, own = LOGGED[rng.integers(len(LOGGED))]
        name, k = CONVENTIONS[library].prints[own], rng.choice([5, 10, 20])
        value = evaluate(own.format(k=k), other, changed, library)
        text = f"{CONVENTIONS[library].title} {name.format(k=k)}: {value:.4f}"
        result = gw.identify(text, judgments, scores)
        found += len(result.matches) > 0 and word in result.matches["check"].iloc[0]
        planted += 1
    return found


@pytest.mark.slow
class TestRates:
    """Shares of correct answers. `python -m tests.fuzz.identify` repeats them with 200 cases."""

    def test_numbers_of_libraries(self):
        assert (count_identified_cases(20) >= [20, 19]).all()

    def test_unrelated_numbers(self):
        assert count_unrelated_matches(20) <= 1

    def test_mistakes(self):
        assert count_identified_mistakes(30) >= 27
