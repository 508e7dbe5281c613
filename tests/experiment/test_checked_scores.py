"""A file of scores whose checksum is right and whose content cannot belong to the training."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gainsay.experiment.files import to_parquet
from gainsay.experiment.finished import check_scores, score_column

TEST = pd.DataFrame({"round": [3, 3, 3, 7, 7, 7], "query": [0, 1, 2] * 2})


def scores(query=(0, 0, 1, 2, 2), label=(1.0, 0.0, 2.0, 0.0, 1.0), rounds=(3, 7)):
    frame = pd.DataFrame({"query": np.array(query), "label": np.array(label)})
    return to_parquet(frame.assign(**{score_column(number): 0.5 for number in rounds}))


def test_what_belongs_together_is_taken():
    check_scores(scores(), TEST)


@pytest.mark.parametrize(
    "query",
    [(0, 0, 1, 1, 1), (0, 0, 1, 2, 3), (1, 1, 2, 3, 3), (0, 0, 2, 2, 2), (0, 1, 2, 1, 2), ()],
    ids=["one too few", "one too many", "begin at 1", "a gap", "not together", "none"],
)
def test_other_queries_are_refused(query):
    with pytest.raises(ValueError, match=r"scores\.parquet has other queries than test\.parquet"):
        check_scores(scores(query, label=[0.0] * len(query)), TEST)


@pytest.mark.parametrize("rounds", [(3,), (3, 8), (7, 3), (3, 7, 9)])
def test_other_rounds_are_refused(rounds):
    with pytest.raises(ValueError, match="it has the columns query, label, "):
        check_scores(scores(rounds=rounds), TEST)


@pytest.mark.parametrize("label", [np.nan, np.inf])
def test_labels_that_are_not_finite_are_refused(label):
    with pytest.raises(ValueError, match=r"scores\.parquet (has labels that are not finite|holds)"):
        check_scores(scores(label=(1.0, 0.0, label, 0.0, 1.0)), TEST)
