"""One parameter by two names, and one value in two spellings, as the libraries read them."""

import pytest

import gainsay as gs
from gainsay.data import simulate
from gainsay.experiment import Candidate

PARTS = simulate(30, seed=1, mean_length=8).split_queries(0.4, 0.3, 0.3, seed=0)


def experiment(library, params, **options):
    candidate = Candidate("one", library, params, num_boost_round=2, threads=1)
    return gs.Experiment([candidate], *PARTS, metrics="mrr", **options)


@pytest.mark.parametrize(
    ("library", "params"),
    [
        ("lightgbm", {"num_leaves": 15, "num_leaf": 4}),
        ("lightgbm", {"eta": 0.5, "learning_rate": 0.1}),
        ("xgboost", {"eta": 0.5, "learning_rate": 0.1}),
        ("xgboost", {"lambda": 1, "reg_lambda": 2}),
    ],
)
def test_a_parameter_by_two_names_is_refused(library, params):
    first, second = sorted(params)
    with pytest.raises(ValueError, match=f"'one': params.{first} and params.{second} are one parameter"):
        experiment(library, params)


def test_dart_is_refused_however_it_is_spelt():
    """LightGBM takes DART for dart."""
    with pytest.raises(ValueError, match=r"params\.boosting must not be 'dart'"):
        Candidate("one", "lightgbm", {"boosting": "DART"})


def test_the_objective_has_its_gain_however_it_is_spelt():
    assert Candidate("one", "lightgbm", {"objective": "LambdaRank"}).training_gain == "exponential"


def test_goss_is_random_however_it_is_spelt():
    assert experiment("lightgbm", {"data_sample_strategy": "GOSS"}, runs=3) is not None
    with pytest.raises(ValueError, match="would train the same models 3 times"):
        experiment("lightgbm", {"data_sample_strategy": "Bagging"}, runs=3).run(progress=False)
