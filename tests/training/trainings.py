"""What tests of trainings share: data sets as the libraries take them, and curves as they record them."""

from __future__ import annotations

import inspect

import lightgbm as lgb
import xgboost as xgb


def datasets(parts, **options):
    """Training and validation data as LightGBM takes them."""
    train, valid = parts
    first = lgb.Dataset(train.features, train.labels, group=train.group, **options)
    return first, lgb.Dataset(valid.features, valid.labels, group=valid.group, reference=first, **options)


def held_out(data):
    """The set to evaluate on, as LGBMRanker takes it: versions before eval_X know eval_set alone."""
    if "eval_X" in inspect.signature(lgb.LGBMRanker.fit).parameters:
        return {"eval_X": data.features, "eval_y": data.labels}
    return {"eval_set": [(data.features, data.labels)]}


def matrix(data):
    return xgb.DMatrix(data.features, label=data.labels, qid=data.qid)


def values(frame):
    """The curves of a frame by data set and metric, as the libraries record them."""
    found = {}
    for row in frame.itertuples():
        found.setdefault(row.dataset, {}).setdefault(row.metric, []).append(row.value)
    return found
