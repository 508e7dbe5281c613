"""What may be a candidate, and how grids grow."""

from __future__ import annotations

import json

import lightgbm as lgb
import numpy as np
import pytest

from gainsay.experiment import Candidate, Experiment, grid
from gainsay.experiment.candidates import _SET_ELSEWHERE, check_names


class TestCandidate:
    def test_survives_json(self):
        made = Candidate("ä", "lightgbm", {"num_leaves": np.int64(7), "monotone_constraints": (1, 0)}, seed=4)
        assert Candidate.from_dict(json.loads(json.dumps(made.to_dict()))) == made

    def test_keeps_nothing_of_the_callers(self):
        params = {"num_leaves": 7}
        made = Candidate("a", "lightgbm", params)
        params["num_leaves"] = 9
        assert made.params == {"num_leaves": 7}

    @pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
    def test_default_gain_is_that_of_the_library(self, library):
        assert Candidate("a", library).training_gain == "exponential"

    @pytest.mark.parametrize(("base", "gain"), [(1, "linear"), (2.0, "exponential"), (np.float64(1.5), 1.5)])
    def test_a_base_for_a_gain(self, base, gain):
        made = Candidate("a", "xgboost", training_gain=base)
        assert made == Candidate("a", "xgboost", training_gain=gain)
        assert Candidate.from_dict(json.loads(json.dumps(made.to_dict()))) == made

    def test_no_gain_where_the_objective_has_none(self):
        assert Candidate("a", "xgboost", {"objective": "rank:map"}).training_gain is None

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"name": " "}, ValueError, "name is blank"),
            ({"name": 3}, TypeError, "name must be a string, got 3"),
            ({"name": "\ud800"}, ValueError, "name cannot be written as UTF-8"),
            ({"library": "lightgmb"}, ValueError, "library must be .*'lightgmb'; did you mean 'lightgbm'"),
            ({"training_gain": "exp"}, ValueError, "training_gain must be 'linear' or 'exponential' or a base"),
            ({"training_gain": 0.5}, ValueError, "training_gain must be at least 1, got 0.5"),
            ({"training_gain": float("inf")}, ValueError, "training_gain must be finite, got inf"),
            ({"training_gain": True}, TypeError, "training_gain must be a number, got True"),
            ({"num_boost_round": 0}, ValueError, "num_boost_round must be a whole number of at least 1, got 0"),
            ({"num_boost_round": True}, TypeError, "num_boost_round must be a whole number of at least 1, got True"),
            ({"early_stopping_rounds": -1}, ValueError, "early_stopping_rounds must be a whole number of at least 0"),
            ({"seed": 1.5}, ValueError, "seed must be a whole number of at least 0, got 1.5"),
            ({"threads": 0}, ValueError, "threads must be a whole number of at least 1"),
            ({"params": {"label_gain": [0, 1]}}, ValueError, "params.label_gain has no place.*training_gain"),
            ({"params": {"n_jobs": 2}}, ValueError, "params.n_jobs has no place.*give threads"),
            ({"params": {"metric": "ndcg"}}, ValueError, "params.metric has no place.*those of the experiment"),
            ({"params": {"boosting": "dart"}}, ValueError, "params.boosting must not be 'dart': later rounds"),
            ({"params": {"max_bin": None}}, TypeError, "params.max_bin must be a number.*None"),
            ({"params": {"sigmoid": float("nan")}}, ValueError, "params.sigmoid must be finite, got nan"),
            ({"params": {3: 1}}, TypeError, "params must have strings as keys, got 3"),
            ({"params": [1]}, TypeError, "params must be a mapping.*list"),
            (
                {"params": {"objective": "rank_xendcg"}, "training_gain": "linear"},
                ValueError,
                "training_gain has no meaning for the objective 'rank_xendcg'",
            ),
        ],
    )
    def test_refuses(self, arguments, error, message):
        with pytest.raises(error, match=message):
            Candidate(**{"name": "a", "library": "lightgbm", **arguments})

    @pytest.mark.parametrize("params", [{"rate_drop": 0.1}, {"one_drop": True}, {"one_drop": 1}])
    def test_dropout_without_a_booster_of_its_own(self, params):
        with pytest.raises(ValueError, match=r"params\.\w+ must not be .*: later rounds of dart change earlier trees"):
            Candidate("a", "xgboost", params)
        assert Candidate("a", "xgboost", dict.fromkeys(params, 0)).params == dict.fromkeys(params, 0)

    @pytest.mark.parametrize("booster", ["dart", "gblinear"])
    def test_refuses_boosters_without_rounds_to_choose(self, booster):
        with pytest.raises(ValueError, match=f"params.booster must not be '{booster}'"):
            Candidate("a", "xgboost", {"booster": booster})

    @pytest.mark.parametrize(
        "parameter",
        ["seed", "num_threads", "num_iterations", "early_stopping_round", "metric", "objective", "boosting"],
    )
    def test_knows_all_of_lightgbms_aliases(self, parameter):
        aliases = lgb.basic._ConfigAliases.get(parameter)
        allowed = {"objective", "boosting"}
        assert aliases - allowed <= set(" ".join(_SET_ELSEWHERE["lightgbm"].values()).split())

    def test_unknown_parameter_of_lightgbm(self, parts):
        with pytest.raises(ValueError, match=r"'a': params.num_leavs is not a parameter.*did you mean 'num_leaves'"):
            Experiment([Candidate("a", "lightgbm", {"num_leavs": 3})], *parts)


class TestGrid:
    def test_every_combination_by_a_name_that_tells_it_apart(self):
        grown = grid(
            "g", "lightgbm", {"num_leaves": [3, 5], "extra_trees": [True, False]}, training_gain="linear", seed=[1, 2]
        )
        assert len({candidate.name for candidate in grown}) == 8
        assert grown[1].name == "g num_leaves=3 extra_trees=true seed=2"
        assert grown[1].params == {"num_leaves": 3, "extra_trees": True}
        assert (grown[1].seed, grown[1].training_gain) == (2, "linear")

    def test_without_lists_one_candidate_of_the_plain_name(self):
        assert grid("g", "xgboost", {"eta": 0.1}, num_boost_round=3) == [
            Candidate("g", "xgboost", {"eta": 0.1}, num_boost_round=3)
        ]

    def test_a_list_in_a_list_is_one_value(self):
        (only,) = grid("g", "lightgbm", {"monotone_constraints": [[1, 0, -1]]})
        assert only.params == {"monotone_constraints": [1, 0, -1]}

    def test_true_and_one_are_different_values(self):
        assert len(grid("g", "lightgbm", {"extra_trees": [True, 1]})) == 2

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"params": {"max_bin": []}}, "params.max_bin lists no value"),
            ({"params": {"max_bin": [3, 5, 3]}}, "params.max_bin lists 3 twice"),
            ({"training_gain": ["linear", "linear"]}, "training_gain lists 'linear' twice"),
        ],
    )
    def test_refuses(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            grid("g", "lightgbm", **arguments)


class TestNames:
    def test_twice_the_same(self):
        with pytest.raises(ValueError, match=r"candidates\[1\] is called 'a' like another one"):
            check_names([Candidate("a", "lightgbm"), Candidate("a", "xgboost")])

    def test_none(self):
        with pytest.raises(ValueError, match="candidates is empty"):
            check_names([])

    def test_something_else(self):
        with pytest.raises(TypeError, match=r"candidates\[0\] must be a Candidate, got str"):
            check_names(["lightgbm"])
