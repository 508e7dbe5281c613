"""Kept until tests/differential uses `lgb_held_out` of tests.adapters.drivers."""

from __future__ import annotations

import inspect

import lightgbm as lgb


def held_out(data):
    """The set to evaluate on, as arguments of LGBMRanker.fit. Versions before eval_X accept only eval_set."""
    if "eval_X" in inspect.signature(lgb.LGBMRanker.fit).parameters:
        return {"eval_X": data.features, "eval_y": data.labels}
    return {"eval_set": [(data.features, data.labels)]}
