"""Early stopping has one interface for both libraries, and knows the options of their own."""

from __future__ import annotations

import pickle

import pytest

import gainsay.lightgbm as in_lightgbm
import gainsay.xgboost as in_xgboost

BOTH = pytest.mark.parametrize("early_stopping", [in_lightgbm.early_stopping, in_xgboost.early_stopping])


@BOTH
def test_the_data_set_has_one_name(early_stopping):
    stop = early_stopping("mrr", rounds=5, dataset="valid")
    assert stop.dataset == "valid"
    assert pickle.loads(pickle.dumps(stop)).dataset == "valid"


@BOTH
@pytest.mark.parametrize(
    ("option", "remedy"),
    [
        ({"stopping_rounds": 50}, "stopping_rounds=: write rounds="),
        ({"early_stopping_rounds": 50}, "early_stopping_rounds=: write rounds="),
        ({"rounds": 5, "first_metric_only": True}, "first_metric_only=: write nothing, since it looks at the one"),
        ({"rounds": 5, "metric_name": "mrr"}, "metric_name=: write metric=, or the name as the first argument"),
        ({"rounds": 5, "verbos": False}, "verbos=; did you mean 'verbose'"),
    ],
)
def test_options_of_the_libraries_are_known(early_stopping, option, remedy):
    with pytest.raises(TypeError, match=rf"early_stopping\(\) has no option {remedy}"):
        early_stopping("mrr", **option)


@pytest.mark.parametrize(("option", "remedy"), [("data_name", "dataset="), ("maximize", "nothing"), ("save_best", "n")])
def test_options_of_xgboost_alone(option, remedy):
    with pytest.raises(TypeError, match=f"has no option {option}=: write {remedy}"):
        in_lightgbm.early_stopping("mrr", 5, **{option: "valid"})


def test_the_name_of_xgboost_stays():
    stop = in_xgboost.early_stopping("mrr", 5, data_name="valid")
    assert stop.dataset == pickle.loads(pickle.dumps(stop)).dataset == "valid"
    with pytest.raises(TypeError, match="dataset= and data_name= are one option, got 'a' and 'b': give one of them"):
        in_xgboost.early_stopping("mrr", 5, "a", data_name="b")


@BOTH
def test_what_is_missing_is_still_said(early_stopping):
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'rounds'"):
        early_stopping("mrr")
