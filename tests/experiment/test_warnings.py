"""Settings that would waste a training raise a warning before it starts. Other settings do not."""

import warnings

import numpy as np
import pytest

from gainwise.data import RankingData
from gainwise.experiment import grid


def with_queries(data, qid):
    return RankingData(data.features, data.labels, qid=qid)


def single(parts):
    """Each query of the test set has one document, and all but one of the training set."""
    qid = np.arange(len(parts.train.labels))
    qid[1] = 0
    test = with_queries(parts.test, np.arange(len(parts.test.labels)))
    return {"train": with_queries(parts.train, qid), "test": test, "metrics": ["mrr", "ndcg_exp@10"]}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (lambda parts: {}, []),
        (lambda parts: {"candidates": grid("a", "xgboost", {"subsample": 0.5}, seed=[1, 2, 3])}, []),
        (single, ["every query of test has one document"]),
    ],
)
def test_one_warning_names_the_waste(make, parts, monkeypatch, changes, words):
    monkeypatch.setattr("gainwise.experiment.execution.train_candidate", None)
    with warnings.catch_warnings(record=True, action="always") as caught:
        make(**changes(parts))
    assert len(caught) == len(words)
    for warning, words_of_warning in zip(caught, words, strict=True):
        assert words_of_warning in str(warning.message)
        assert len(str(warning.message)) < 400
