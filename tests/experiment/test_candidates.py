"""Candidates and grids: what they store, and which parameters they recognize."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from gainwise.experiment import Candidate, grid


class TestCandidate:
    def test_round_trip_through_json(self):
        params = {"num_leaves": np.int64(7), "monotone_constraints": (1, 0)}
        made = Candidate("ä", "lightgbm", params, seed=4)
        assert Candidate(**json.loads(json.dumps(asdict(made)))) == made
        params["num_leaves"] = 9
        assert made.params == {"num_leaves": 7, "monotone_constraints": [1, 0]}

    @pytest.mark.parametrize(
        ("library", "params", "gain"),
        [
            ("lightgbm", {}, "exponential"),
            ("lightgbm", {"objective": "LambdaRank"}, "exponential"),
            ("xgboost", {}, "exponential"),
            ("xgboost", {"objective": "rank:map"}, None),
        ],
    )
    def test_default_gain(self, library, params, gain):
        assert Candidate("a", library, params).training_gain == gain

    @pytest.mark.parametrize(("base", "gain"), [(1, "linear"), (2.0, "exponential"), (np.float64(1.5), 1.5)])
    def test_base_as_gain(self, base, gain):
        made = Candidate("a", "xgboost", training_gain=base)
        assert made == Candidate("a", "xgboost", training_gain=gain)
        assert Candidate(**json.loads(json.dumps(asdict(made)))) == made


class TestGrid:
    def test_every_combination_has_its_own_name(self):
        params = {"num_leaves": [3, 5], "extra_trees": [True, False], "monotone_constraints": [[1, 0, -1]]}
        grown = grid("g", "lightgbm", params, training_gain="linear", seed=[1, 2])
        assert len({candidate.name for candidate in grown}) == 8
        assert grown[1].name == "g num_leaves=3 extra_trees=true seed=2"
        assert grown[1].params == {"num_leaves": 3, "extra_trees": True, "monotone_constraints": [1, 0, -1]}
        assert (grown[1].seed, grown[1].training_gain) == (2, "linear")

    def test_true_and_one_are_different_values(self):
        assert len(grid("g", "lightgbm", {"extra_trees": [True, 1]})) == 2
