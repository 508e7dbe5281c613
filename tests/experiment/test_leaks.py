"""Data that are given twice: as two of train, valid and test, or as two folds."""

import warnings

import pytest

import gainsay as gs
from gainsay.data import simulate
from gainsay.experiment import Candidate, k_folds

DATA = simulate(30, seed=1, mean_length=8)
PARTS = dict(zip(("train", "valid", "test"), DATA.split_queries(0.4, 0.3, 0.3, seed=0), strict=True))
ONE = [Candidate("one", "lightgbm", num_boost_round=2, threads=1)]


@pytest.mark.parametrize(("one", "other"), [("train", "valid"), ("train", "test"), ("valid", "test")])
def test_a_part_given_twice_is_warned_of(one, other):
    with pytest.warns(UserWarning, match=f"{one} and {other} are the same data"):
        gs.Experiment(ONE, **{**PARTS, other: PARTS[one]}, metrics="mrr")


def test_a_fold_given_twice_is_warned_of():
    first, second, third, fourth = k_folds(DATA, 4)
    with pytest.warns(UserWarning, match="are the same data") as said:
        gs.Experiment(ONE, folds=[first, second, first, fourth], metrics="mrr")
    assert "fold 3 and fold 1 are the same data: a model looks better" in " ".join(str(one.message) for one in said)
    with warnings.catch_warnings(action="error"):
        gs.Experiment(ONE, folds=[first, second, third, fourth], metrics="mrr")
