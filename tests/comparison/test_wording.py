"""The paragraph, whole: each kind of verdict in the words that it has, its numbers taken from the verdict's fields."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import gainsay as gs
from gainsay._common.words import amount
from gainsay.comparison.verdict import Verdict

X, Y = "ndcg_linear@10", "ndcg_exp@10"
SAMPLE = (
    "The queries are the random sample and the models are fixed: what another training seed would have given is not "
    "covered."
)


@pytest.fixture(scope="module")
def verdict():
    """A verdict of no kind in particular; every test writes in the fields that its sentence reads."""
    rng = np.random.default_rng(0)
    made = Verdict.from_values(rng.random((40, 2)), rng.random((40, 2)), models=["a", "b"], draws=200)
    return dataclasses.replace(
        made,
        queries=1234,
        flags=(),
        winners={X: "a", Y: "b"},
        means={X: {"a": 0.51234, "b": 0.5}, Y: {"a": 0.4, "b": 0.41111}},
        regrets={X: {"a": 0.0, "b": 0.01234}, Y: {"a": 0.01111, "b": 0.0}},
        regrets_upper={X: {"a": 0.02, "b": 0.03}, Y: {"a": 0.04, "b": 0.05}},
        winner_regrets={X: 0.01111, Y: 0.01234},
        p_value=0.0123,
        price=0.01111,
        price_lower=0.00456,
        safe_choice="a",
        safe_regret=0.01111,
        safe_regret_upper=0.0321,
        alpha=0.1,
        rope=0.0,
        within_rope=False,
        material=True,
        common_best=("a", "b"),
        detectable=0.00789,
    )


PREFER = f"{X} prefers a (mean 0.5123), {Y} prefers b (mean 0.4111)."
COST = f"In this sample choosing a costs 0.0111 of {Y}, and choosing b costs 0.0123 of {X}."
SAFE = (
    "The safest choice is a: under the metric that likes it less it is 0.0111 behind the best, and at most 0.0321 with "
    "90 % confidence."
)
GENUINE = (
    f"{X} and {Y} genuinely disagree: no model is best under both (p = 0.012, 2 models on 1,234 queries). {PREFER} "
    f"{COST} Whatever is chosen, one of the two metrics loses at least 0.0046 (estimate 0.0111; 90 % confidence). "
    f"{SAFE}"
)


@pytest.mark.parametrize(
    ("fields", "more"),
    [
        ({}, ""),
        (
            {"rope": 0.002, "rope_p_value": 0.034},
            " This is material: it exceeds the 0.0020 that you called negligible (p = 0.034).",
        ),
        (
            {"rope": 0.05, "material": False, "within_rope": True},
            " It is small, though: whichever metric you choose by, you lose no more than the 0.0500 that you called "
            "negligible.",
        ),
        (
            {"rope": 0.01, "material": False},
            " Whether it exceeds the 0.0100 that you called negligible is not proven.",
        ),
    ],
)
def test_genuine(verdict, fields, more):
    assert dataclasses.replace(verdict, kind="genuine", **fields).text == f"{GENUINE}{more} {SAMPLE}"


def test_agree(verdict):
    """The lead is over the next best, which is not the last."""
    regrets = {X: {"a": 0.0, "b": 0.3, "c": 0.2}, Y: {"a": 0.0, "b": 0.1, "c": 0.4}}
    agreed = dataclasses.replace(
        verdict, kind="agree", models=("a", "b", "c"), winners={X: "a", Y: "a"}, regrets=regrets
    )
    assert agreed.text == (
        f"{X} and {Y} agree: a beats every other model under both (3 models on 1,234 queries, 90 % confidence). "
        f"Its means are 0.5123 and 0.4000, ahead of the next by 0.2000 and 0.1000. Choose a. {SAMPLE}"
    )


def test_immaterial(verdict):
    assert dataclasses.replace(verdict, kind="immaterial", rope=0.06).text == (
        f"It does not matter which of {X} and {Y} you choose by: either choice loses at most 0.0500 under either "
        f"metric, no more than the 0.0600 that you called negligible (2 models on 1,234 queries, 90 % confidence). "
        f"{PREFER} {SAFE} {SAMPLE}"
    )


def test_immaterial_because_nothing_differs(verdict):
    none = {X: {"a": 0.0, "b": 0.0}, Y: {"a": 0.0, "b": 0.0}}
    assert dataclasses.replace(verdict, kind="immaterial", regrets_upper=none).text == (
        f"It does not matter which of {X} and {Y} you choose by: no query tells the leading models apart (2 models on "
        f"1,234 queries). a is as good a choice as any of them. {SAMPLE}"
    )


FOUND_OUT = (
    "With this many queries a model that trails by about 0.0079 or more would be found out four times in five; smaller "
    "differences need more queries."
)
OPEN = (
    f"{X} and {Y} put different models first, but that may be chance: these queries leave open that one model is best "
    f"under both (p = 0.012, 2 models on 1,234 queries). {PREFER}"
)


@pytest.mark.parametrize(
    ("best", "models", "says"),
    [
        (("a", "b"), ("a", "b"), "Either model may be best under both."),
        (("b",), ("a", "b"), "If one is best under both, it is b (90 % confidence)."),
        (("a", "b"), ("a", "b", "c"), "If one is best under both, it is a or b (90 % confidence)."),
    ],
)
def test_unresolved_between_different_winners(verdict, best, models, says):
    found = dataclasses.replace(verdict, kind="unresolved", common_best=best, models=models)
    opening = OPEN.replace("2 models", f"{len(models)} models")
    assert found.text == f"{opening} {says} {COST} {SAFE} {FOUND_OUT} {SAMPLE}"


def test_unresolved_with_one_winner(verdict):
    found = dataclasses.replace(
        verdict, kind="unresolved", winners={X: "a", Y: "a"}, common_best=("a",), safe_regret=0.0
    )
    assert found.text == (
        f"{X} and {Y} put the same model first, but these queries do not prove it the best (2 models on 1,234 "
        "queries). Both prefer a (means 0.5123 and 0.4000). If one is best under both, it is a (90 % confidence). "
        "The safest choice is a: in this sample it is behind no other model, and at most 0.0321 with 90 % confidence. "
        f"{FOUND_OUT} {SAMPLE}"
    )


@pytest.mark.parametrize("regret", [0.0, 0.01111])
def test_what_has_no_bound_is_said_without_one(verdict, regret):
    """On one query every bound is infinite: no sentence says so in numbers."""
    found = dataclasses.replace(
        verdict,
        kind="unresolved",
        queries=1,
        safe_regret=regret,
        safe_regret_upper=float("inf"),
        detectable=float("inf"),
    )
    opening = OPEN.replace("1,234 queries", "1 query")
    safe = (
        "The safest choice is a: in this sample it is behind no other model."
        if regret == 0
        else "The safest choice is a: under the metric that likes it less it is 0.0111 behind the best."
    )
    assert found.text == f"{opening} Either model may be best under both. {COST} {safe} {SAMPLE}"


def test_one_model_says_so_once():
    found = Verdict.from_values(np.zeros((40, 1)), np.ones((40, 1)), models=["only"], draws=200)
    assert found.text == (f"There is one model only, only, so the two metrics have nothing to disagree about. {SAMPLE}")


def test_reservations_stand_before_the_last_sentence(verdict):
    flags = gs.compare({"a": [2, 1], "b": [2, 1]}, gs.Judgments([1, 0], group=[2])).verdict.flags
    text = dataclasses.replace(verdict, kind="genuine", flags=flags).text
    assert text == " ".join([GENUINE, *(flag.message for flag in flags), SAMPLE])


def test_a_verdict_prints_its_text(verdict):
    assert str(verdict) == repr(verdict) == verdict.to_dict()["text"] == verdict.text


@pytest.mark.parametrize(
    ("p", "written"),
    [(0.5, "0.5"), (0.0456, "0.046"), (0.0001, "0.0001"), (0.0000456, "5e-05"), (1e-7, "1e-07"), (1.0, "1")],
)
def test_p_values_have_two_digits_and_tiny_ones_one(verdict, p, written):
    assert f"(p = {written}, " in dataclasses.replace(verdict, kind="genuine", p_value=p).text


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.0, "0"),
        (0.0001, "0.0001"),
        (0.00009999, "0.0001"),
        (0.000043, "0.00004"),
        (-0.000043, "-0.00004"),
        (3e-7, "0.0000003"),
        (3.4e-8, "3e-08"),
        (-0.0001, "-0.0001"),
        (1.23456, "1.2346"),
    ],
)
def test_amounts(value, written):
    assert amount(value) == written
