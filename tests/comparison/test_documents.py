"""JSON documents, tables and attributes of the same result agree, and signs of losses are reversed everywhere."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import gainwise as gw
from gainwise.comparison.estimates import VarianceComponents

QUERIES = 120
RNG = np.random.default_rng(4)
LABELS = RNG.choice(5, QUERIES * 10, p=[0.5, 0.2, 0.15, 0.1, 0.05])
JUDGED = gw.Judgments(LABELS, group=[10] * QUERIES)
SCORES = {name: power * LABELS + RNG.normal(0, 2, len(LABELS)) for name, power in [("a", 0.2), ("b", 1.5), ("c", 1.4)]}
KINDS = np.repeat(["head", "tail"], QUERIES // 2)
HEAD = np.repeat(KINDS == "head", 10)


class Missed(gw.NDCG):
    """NDCG, declared as a loss."""

    higher_is_better = False
    names = {"missed_ndcg_of_documents": {}}


@pytest.fixture(scope="module")
def comparison():
    scores = SCORES | {"b": np.where(HEAD, SCORES["b"], SCORES["a"]), "c": np.where(HEAD, SCORES["a"], SCORES["c"])}
    return gw.compare(scores, JUDGED, ["ndcg_linear@5", "ndcg_exp@5"], segments=KINDS, draws=1000)


def test_segments(comparison):
    segments, document = comparison.segments, json.loads(json.dumps(comparison.segments.to_dict()))
    assert segments.contrasts
    for contrast, row in zip(segments.contrasts, document["contrasts"], strict=True):
        assert row.pop("text") == contrast.text
        assert row == json.loads(json.dumps(vars(contrast)))
    for part, row in zip(segments.parts, document["segments"], strict=True):
        assert (row["column"], row["segment"], row["queries"]) == (part.column, part.label, part.queries)
        assert row["verdict"]["winners"] == part.verdict.winners


def test_gain_path(comparison):
    path = comparison.gains([1, 2, 4])
    document = path.to_dict()
    assert [(row["base"], tuple(row["models"])) for row in document["best_sets"]] == list(path.best_sets.items())
    assert document["best_ranges"] == path.best_ranges.to_dict("records")
    assert list(path.best_ranges.columns) == ["model", "from", "to"]
    assert document["path"][0]["mean"] == path.frame()["mean"].iloc[0]
    assert {row["model"] for row in document["best_ranges"]} == {
        name for names in path.best_sets.values() for name in names
    }


def test_one_model_that_leads_at_all_gains_is_always_best():
    scores = {"good": LABELS + RNG.normal(0, 0.1, len(LABELS)), "poor": RNG.normal(0, 1, len(LABELS))}
    path = gw.compare(scores, JUDGED, ["ndcg_linear@5", "ndcg_exp@5"], draws=1000).gains([1, 2, 4])
    assert (path.verdict.kind, path.verdict.always_best) == ("agree", ("good",))


def test_pairs_that_a_loss_reverses_are_those_that_the_metric_does_not():
    plain = gw.compare(SCORES, JUDGED, ["ndcg_linear@5", "ndcg_exp@5"], draws=200)
    losses = gw.compare(SCORES, JUDGED, [Missed(gain="linear", k=5), "ndcg_exp@5"], draws=200)
    pairs = [each.sensitivity().table.set_index("choice")["reversed_pairs"] for each in (plain, losses)]
    assert (pairs[0][["map", "mrr"]] + pairs[1][["map", "mrr"]] == 3).all()
    assert pairs[0]["exponential gain"] + pairs[1]["ndcg_exp@5"] == 3
    worst = plain.leaderboard["ndcg_linear@5"].idxmin()
    assert losses.winners[losses.metrics[0]] == worst != plain.winners["ndcg_linear@5"]
    assert "lowest" in losses.verdict.text
    assert "lowest" not in plain.verdict.text


def test_error_of_the_difference_of_two_recipes_has_three_parts():
    assert VarianceComponents(0.0, 0.3, 0.0).error_of_difference(10, 4) == pytest.approx(math.sqrt(2 * 0.09 / 4))
    assert VarianceComponents(0.3, 0.0, 0.0).error_of_difference(10, 4) == pytest.approx(math.sqrt(0.09 / 10))
    assert VarianceComponents(0.0, 0.0, 0.3).error_of_difference(10, 4) == pytest.approx(math.sqrt(2 * 0.09 / 4 / 10))
