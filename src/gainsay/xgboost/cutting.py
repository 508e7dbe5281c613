"""A booster cut after some of its rounds, that predicts what the whole one predicted then."""

from __future__ import annotations

import json

import xgboost as xgb

from ..training.categories import trees_of


def first_rounds(booster: xgb.Booster, rounds: int) -> xgb.Booster:
    """Return the first rounds of a booster as one of its own.

    XGBoost's own slice forgets which categories the codes of categorical features stand for, so that a DataFrame whose
    categories stand in another order would be read wrongly, without a word. They are handed on here.
    """
    cut = booster[:rounds]
    if "c" not in (booster.feature_types or ()):
        return cut
    content, whole = (json.loads(bytes(model.save_raw("json"))) for model in (cut, booster))
    trees, all_trees = (trees_of(model) for model in (content, whole))
    if trees is None or all_trees is None or trees.get("cats") == all_trees.get("cats"):
        return cut
    trees["cats"] = all_trees["cats"]
    handed_on: xgb.Booster = xgb.Booster(model_file=bytearray(json.dumps(content).encode()))
    return handed_on
