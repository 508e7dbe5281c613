"""Settings that would waste a training raise a warning before it starts. Other settings do not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from gainwise.data import RankingData
from gainwise.experiment import grid


def warned(make, **changes):
    """Return the texts of the warnings and the experiment."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = make(**changes)
    return [str(warning.message) for warning in caught], made


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
        ({}, []),
        (grid("a", "xgboost", {"subsample": 0.5}, seed=[1, 2, 3]), []),
        (single, ["every query of test has one document"]),
    ],
)
def test_one_warning_names_the_waste(make, parts, monkeypatch, changes, words):
    monkeypatch.setattr("gainwise.experiment.execution.train_candidate", None)
    if isinstance(changes, list):
        changes = {"candidates": changes}
    texts, _ = warned(make, **(changes(parts) if callable(changes) else changes))
    assert len(texts) == bool(words)
    assert all(word in " ".join(texts) for word in words)
    assert all(len(text) < 400 for text in texts)
