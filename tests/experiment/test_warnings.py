"""Settings that would waste a training are a warning before it starts, and nothing else is."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from tests.experiment.helpers import run, trees

import gainsay as gs
from gainsay.data import RankingData
from gainsay.experiment import Candidate, grid
from gainsay.experiment.libraries import library_of
from gainsay.experiment.rounds import Watch

XGBOOST_2 = xgb.__version__ < "3"
LIGHTGBM_4_3 = lgb.__version__.startswith("4.3.")


def warned(make, **changes):
    """Return the texts of the warnings and the experiment."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = make(**changes)
    return [str(warning.message) for warning in caught], made


def with_queries(data, qid):
    return RankingData(data.features, data.labels, qid=qid)


def train(candidate, parts, rounds):
    candidate = candidate.resolved(num_boost_round=rounds, early_stopping_rounds=0, seed=0, threads=1)
    library, watch = library_of(candidate.library), Watch(gs.Evaluator("mrr", parts.valid.judgments()), 0)
    booster = library.load(library.train(candidate, library.binned(candidate, parts.train, parts.valid), watch))
    return trees(booster)


lightgbm = partial(Candidate, library="lightgbm")


def single(parts):
    """Each query of the test set has one document, and all but one of the training set."""
    qid = np.arange(len(parts.train.labels))
    qid[1] = 0
    test = with_queries(parts.test, np.arange(len(parts.test.labels)))
    return {"train": with_queries(parts.train, qid), "test": test, "metrics": ["mrr", "ndcg_exp@10"]}


def one_fold_twice(parts):
    data = [parts.valid, parts.train.take_queries(range(25)), parts.valid, parts.test]
    return {"train": None, "valid": None, "test": None, "folds": data}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, []),
        (grid("a", "xgboost", {"subsample": 0.5}, seed=[1, 2, 3]), []),
        (single, ["every query of test has one document"]),
        (lambda parts: {"valid": parts.train}, ["train and valid are the same data"]),
        (lambda parts: {"test": parts.train}, ["train and test are the same data"]),
        (lambda parts: {"test": parts.valid}, ["valid and test are the same data"]),
        (one_fold_twice, ["fold 3 and fold 1 are the same data"]),
        (
            # The first two have the defaults.
            [
                lightgbm("a"),
                lightgbm("b", training_gain="exponential", seed=3),
                lightgbm("c", params={"num_leaves": 8}),
            ],
            ["same parameters", "'a' and 'b'"],
        ),
        ([Candidate(f"m{number}", "xgboost") for number in range(30)], ["'m0', 'm1', 'm2', 'm3' and 26 more"]),
        (
            grid("a", "lightgbm", {"num_leaves": [5, 7]}, seed=[1, 2]),
            ["seed", *(f"'a num_leaves={n} seed=1' and 'a num_leaves={n} seed=2'" for n in (5, 7)), "feature_fraction"],
        ),
        (
            grid("a", "xgboost", {"max_deph": 3, "eta": [0.1, 0.2]}),
            ["max_deph", "'a eta=0.1' and 'a eta=0.2'", "'max_depth'"],
        ),
        (
            grid("a", "xgboost", {"objective": "reg:squarederror", "lambdarank_num_pair_per_sample": 4}),
            ["lambdarank_num_pair_per_sample (of 'a')"],
        ),
    ],
)
def test_one_warning_names_the_waste(make, parts, monkeypatch, changes, words):
    monkeypatch.setattr("gainsay.experiment.work.train_candidate", None)
    if isinstance(changes, list):
        changes = {"candidates": changes}
    texts, _ = warned(make, **(changes(parts) if callable(changes) else changes))
    assert len(texts) == (3 if changes is one_fold_twice else bool(words))
    assert all(word in " ".join(texts) for word in words)
    assert all(len(text) < 400 for text in texts)


@pytest.mark.parametrize(
    "params",
    [
        {"max_depth": 3, "eta": 0.1, "alpha": 1, "lambda": 2, "min_child_weight": 2},
        {"monotone_constraints": "(" + ",".join(["0"] * 30) + ")"},
        {"tree_method": "approx", "max_bin": 16},
        {"grow_policy": "lossguide", "max_leaves": 7},
        {"lambdarank_pair_method": "mean", "lambdarank_num_pair_per_sample": 2, "lambdarank_unbiased": True},
        {"objective": "rank:pairwise", "base_score": 0.5},
        {"verbosity": 0, "device": "cpu", "multi_strategy": "one_output_per_tree"},
        {"max_depth": "deep"},  # Training reports the wrong value.
    ],
    ids=str,
)
def test_known_parameters_of_xgboost_are_no_warning(make, params):
    assert warned(make, candidates=[Candidate("a", "xgboost", params)])[0] == []


def test_unknown_parameters_of_xgboost_change_nothing_and_are_named_once(make, parts):
    first, second = (train(Candidate("a", "xgboost", its, seed=1), parts, 3) for its in ({}, {"max_deph": 3}))
    assert first == second
    _, made = warned(make, candidates=[Candidate("a", "xgboost", {"max_deph": 3})], num_boost_round=2)
    assert warned(lambda: run(made))[0] == []


LIGHTGBM = [
    {},
    {"bagging_freq": 1, "bagging_fraction": 0.6},
    {"bagging_fraction": 0.6},
    {"feature_fraction": 0.5},
    {"feature_fraction": "0.5"},
    {"feature_fraction_bynode": 0.5},
    {"extra_trees": True},
    {"data_sample_strategy": "goss"},
    {"data_sample_strategy": "GOSS"},
    {"boosting": "goss"},
    {"boosting": "rf", "feature_fraction": 0.5},
    {"objective": "rank_xendcg"},
    {"use_quantized_grad": True},
    {"use_quantized_grad": True, "stochastic_rounding": False},
    {"bin_construct_sample_cnt": 300},
    {"bagging_freq": 1, "bagging_fraction": 0.6, "bagging_seed": 7},
    {"objective": "rank_xendcg", "objective_seed": 3},
    {"feature_fraction": 0.5, "feature_fraction_seed": 2},
    {"extra_trees": True, "extra_seed": 1},
    {"data_sample_strategy": "goss", "bagging_seed": 1},
    {"bin_construct_sample_cnt": 300, "data_random_seed": 1},
    {"bagging_freq": 1, "pos_bagging_fraction": 0.5, "neg_bagging_fraction": 0.5},
]
XGBOOST = [
    {},
    {"subsample": 0.6},
    {"subsample": "0.6"},
    {"colsample_bytree": 0.5},
    {"colsample_bylevel": 0.5},
    {"colsample_bynode": 0.5},
    {"lambdarank_pair_method": "mean"},
    {"num_parallel_tree": 3},
    {"tree_method": "approx"},
    {"sampling_method": "uniform"},
    {"objective": "rank:pairwise", "lambdarank_pair_method": "mean"},
]


@pytest.mark.parametrize(
    ("library", "params"), [("lightgbm", its) for its in LIGHTGBM] + [("xgboost", its) for its in XGBOOST], ids=str
)
def test_seeds_without_effect_are_those_that_train_the_same_trees(parts, make, library, params):
    """GOSS samples from the eleventh round on."""
    if library == "xgboost" and XGBOOST_2 and any(name.startswith("colsample") for name in params):
        pytest.skip("XGBoost 2 samples the same features under every seed")
    if library == "lightgbm" and LIGHTGBM_4_3 and "use_quantized_grad" in params:
        pytest.skip("LightGBM 4.3 fails when it trains on these data with quantized gradients")
    one, two = (train(replace(Candidate("a", library, params), seed=seed), parts, 11) for seed in (1, 2))
    texts, _ = warned(make, candidates=grid("a", library, params, seed=[1, 2]))
    assert bool(texts) == (one == two)
