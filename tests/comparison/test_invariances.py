"""Verdicts do not depend on order, scale, repetition and levels of queries. Copies of a model have the same results."""

import dataclasses
import json
import pickle

import numpy as np
import pytest
from tests.comparison.tables import verdict_of

BETWEEN = ("price", "price_lower", "safe_regret", "safe_regret_upper", "detectable")


def sample(seed, repeats=1, queries=150, models=4):
    """Values of two correlated metrics, (metrics, models, queries, repeats), and integer weights of the queries."""
    rng = np.random.default_rng(seed)
    first = rng.random((1, queries, 1)) + rng.normal(0, 0.15, (models, queries, repeats))
    first = first + rng.normal(0, 0.05, (models, 1, 1)) + rng.normal(0, 0.02, (models, 1, repeats))
    second = 0.6 * first + rng.normal(0, 0.1, (models, queries, repeats)) + rng.normal(0, 0.05, (models, 1, 1))
    return np.stack([first, second]), rng.integers(1, 4, queries)


def judge(values, weights=None, **options):
    """Return the verdict on fixed models if each has one repeat, otherwise on recipes."""
    tables = [table[:, :, 0].T if values.shape[3] == 1 else list(table) for table in values]
    return verdict_of(*tables, weights=weights, draws=500, **options)


def other_order(values, weights, rng):
    order = rng.permutation(len(weights))
    return judge(values[:, :, order], weights[order])


def other_runs(values, weights, rng):
    return judge(values[..., rng.permutation(values.shape[3])], weights)


def weightless(values, weights, rng):
    more = np.concatenate([rng.random((*values.shape[:2], 20, values.shape[3])), values], axis=2)
    return judge(more, np.r_[np.zeros(20), weights])


def skipped(values, weights, rng):
    """Queries that one metric skips are not part of the verdict."""
    more = np.concatenate([values, rng.random((*values.shape[:2], 20, values.shape[3]))], axis=2)
    more[1, :, -20:] = np.nan
    return judge(more, np.r_[weights, np.ones(20)])


TRANSFORMATIONS = [
    other_order,
    other_runs,
    weightless,
    skipped,
    lambda values, weights, rng: judge(values, weights * 1e-6),
    lambda values, weights, rng: judge(values, weights * 12345.678),
]


@pytest.mark.parametrize("transformed", TRANSFORMATIONS)
@pytest.mark.parametrize("repeats", [1, 4])
@pytest.mark.parametrize("seed", range(2))
def test_these_change_nothing_beyond_rounding(seed, repeats, transformed):
    values, weights = sample(seed, repeats)
    one, other = judge(values, weights), transformed(values, weights, np.random.default_rng(seed))
    assert (other.winners, other.safe_choice) == (one.winners, one.safe_choice)
    assert other.p_value == pytest.approx(one.p_value, abs=3 / 501)
    for name in BETWEEN:
        assert getattr(other, name) == pytest.approx(getattr(one, name), abs=1e-9), name
    for metric in one.metrics:
        for name in ("regrets", "regrets_lower", "regrets_upper"):
            assert getattr(other, name)[metric] == pytest.approx(getattr(one, name)[metric], abs=1e-9), name
        parts = vars(one.variance[metric]) if repeats > 1 else {}
        assert (vars(other.variance[metric]) if repeats > 1 else {}) == pytest.approx(parts, abs=1e-9)


@pytest.mark.parametrize("repeats", [1, 4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_order_of_models_changes_nothing_to_the_last_digit(seed, weighted, repeats):
    values, weights = sample(seed, repeats, models=5)
    names, order = ["beta", "m10", "m9", "Alpha", "z"], np.random.default_rng(seed).permutation(5)
    weights = weights if weighted else None
    one = judge(values, weights, models=names, margin=0.01)
    turned = np.moveaxis(np.asfortranarray(np.moveaxis(values[:, order], 1, 2)), 2, 1)
    other = judge(turned, weights, models=[names[place] for place in order], margin=0.01)
    assert one == other
    assert json.dumps(one.to_dict()) == json.dumps(other.to_dict())


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("repeats", [1, 4])
def test_a_copy_is_kept_where_its_model_is(which, repeats):
    values, weights = sample(which, repeats, queries=200)
    alone = judge(values, weights)
    verdict = judge(
        np.concatenate([values, values[:, [which]]], axis=1), weights, models=["m1", "m2", "m3", "m4", "copy"]
    )
    name = f"m{which + 1}"
    assert verdict.price == pytest.approx(alone.price)
    for kept in (verdict.common_best, *verdict.best_sets.values()):
        assert ("copy" in kept) == (name in kept)
    for found in (verdict.regrets, verdict.regrets_upper):
        assert all(by_model["copy"] == by_model[name] for by_model in found.values())
    for by_model in verdict.regrets_lower.values():  # The variance of repeats is drawn separately for each recipe.
        assert by_model["copy"] == pytest.approx(by_model[name], abs=0.002 if repeats > 1 else 0)
    assert [flag.pairs for flag in verdict.flags if flag.code == "identical models"] == [(("copy", name),)]
    tied = [flag.models for flag in verdict.flags if flag.code == "tied winners"]
    assert tied == [("copy", name)] * list(verdict.winners.values()).count("copy")


def test_models_that_all_are_one_are_one():
    values = np.repeat(np.random.default_rng(0).random((200, 1)), 3, axis=1)
    ranges = dict.fromkeys(("ndcg_linear@10", "ndcg_exp@10"), (0, 1))
    verdict = verdict_of(values, values, ranges=ranges, margin=0.04)
    assert (verdict.kind, verdict.p_value, verdict.price) == ("immaterial", 1.0, 0.0)
    assert verdict.safe_regret_upper == pytest.approx(1 - (0.05 / 12) ** (1 / 200))  # twelve bounds
    assert (verdict.common_best, verdict.detectable) == (verdict.models, np.inf)
    many = verdict_of(np.zeros((50, 60)), np.zeros((50, 60)), draws=200)
    assert len(many.text) < 2500
    assert len(many.flags[-1].pairs) == 60 * 59 // 2


@pytest.mark.parametrize("repeats", [1, 4])
def test_a_verdict_is_frozen_and_pickles_and_leaves_what_it_was_made_from_alone(repeats):
    values, weights = sample(0, repeats)
    copies = values.copy(), weights.copy()
    verdict = judge(values, weights, clusters=np.arange(len(weights)) // 2)
    np.testing.assert_array_equal(values, copies[0])
    np.testing.assert_array_equal(weights, copies[1])
    assert pickle.loads(pickle.dumps(verdict)) == verdict
    with pytest.raises(dataclasses.FrozenInstanceError):
        verdict.kind = "agree"
