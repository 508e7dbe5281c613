"""Splits by time and by user, and columns and keys of ranking data in every operation."""

import numpy as np
import pandas as pd
import pytest

import gainwise as gw
from gainwise.data import from_frame, simulate
from gainwise.experiment import k_folds


@pytest.fixture
def log():
    """Return a click log of 60 queries of 9 users, one row per document, in random order."""
    rng = np.random.default_rng(4)
    query = np.repeat(np.arange(60), rng.integers(1, 6, 60))
    frame = pd.DataFrame({"query": query, "label": rng.integers(0, 3, len(query)), "x": rng.normal(size=len(query))})
    frame["user"] = np.array([f"u{number}" for number in rng.integers(0, 9, 60)])[query]
    frame["time"] = (pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.permutation(60), "D")).to_numpy()[query]
    frame["revenue"] = np.where(rng.random(len(query)) < 0.2, np.nan, rng.integers(0, 50, len(query)) / 2)
    return frame.sample(frac=1, random_state=1)


@pytest.fixture
def data(log):
    return from_frame(log, label="label", query="query", features=["x"], columns=["revenue"], keys=["user", "time"])


def assert_whole(log, parts):
    """Each row of the log is in one part, with its query, label, revenue, user and time."""
    rows = [
        (query, part.labels[row], part.features[row, 0], part.columns["revenue"][row], part.keys["user"][code], time)
        for part in parts
        for row, code in enumerate(part.qid)
        for query, time in [(int(part.query_ids[code]), part.keys["time"][code])]
    ]
    columns = ["query", "label", "x", "revenue", "user", "time"]
    found = pd.DataFrame(rows, columns=columns).sort_values("x", ignore_index=True)
    expected = log[columns].sort_values("x", ignore_index=True)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_split_by_time(log, data):
    parts = data.split_queries(by="time", at=["2026-01-21", "2026-02-10"])
    assert_whole(log, parts)
    days = [part.keys["time"] for part in parts]
    assert days[0].max() < np.datetime64("2026-01-21") == days[1].min()
    assert days[1].max() < np.datetime64("2026-02-10") == days[2].min()
    assert list(map(len, days)) == [20, 20, 20]


@pytest.mark.parametrize("convert", [lambda t: t.dt.tz_localize("Europe/Berlin"), lambda t: t.dt.strftime("%F")])
def test_other_times(log, convert):
    log["time"] = convert(log["time"])
    data = from_frame(log, label="label", query="query", features=["x"], keys=["time"])
    assert [len(part.query_ids) for part in data.split_queries(by="time", at="2026-01-21")] == [20, 40]


@pytest.mark.parametrize("seed", range(5))
def test_split_by_user(log, data, seed):
    parts = data.split_queries(0.5, 0.25, 0.25, seed=seed, groups="user")
    assert_whole(log, parts)
    users = [set(part.keys["user"]) for part in parts]
    assert sum(map(len, users)) == len(set.union(*users)) == 9
    largest = log.groupby("user")["query"].nunique().max()
    assert abs(len(parts[0].query_ids) - 30) <= largest / 2
    again = data.split_queries(0.5, 0.25, 0.25, seed=seed, groups="user")
    assert [part.query_ids.tolist() for part in parts] == [part.query_ids.tolist() for part in again]


def test_folds_by_user(log, data):
    folds = k_folds(data, 4, seed=2, groups="user")
    assert_whole(log, folds)
    assert len(set.union(*(set(fold.keys["user"]) for fold in folds))) == sum(
        len(set(fold.keys["user"])) for fold in folds
    )
    sizes = [len(fold.query_ids) for fold in folds]
    assert max(sizes) - min(sizes) <= log.groupby("user")["query"].nunique().max()


def test_random_splits_do_not_depend_on_groups_of_one(data):
    """A key that differs for every query gives the split without groups."""
    for fractions in ((0.5, 0.5), (0.6, 0.2, 0.2), (0.35, 0.65)):
        alone = data.split_queries(*fractions, seed=3)
        grouped = data.split_queries(*fractions, seed=3, groups="time")
        assert [part.query_ids.tolist() for part in alone] == [part.query_ids.tolist() for part in grouped]


def test_judgments_and_joined_data_keep_columns(log, data):
    judgments = data.judgments()
    expected = gw.Judgments(log["revenue"].fillna(0), qid=log["query"], judged=log["revenue"].notna())
    scores = log["x"].to_numpy()
    found = gw.evaluate("cg(column=revenue)@2", judgments, scores).per_query
    np.testing.assert_array_equal(found, gw.evaluate("cg@2", expected, scores).per_query)
    assert_whole(log, [gw.RankingData.concatenate(data.split_queries(0.5, 0.5, seed=1)).contiguous()])
    assert "columns revenue" in repr(data)
    assert "keys user, time" in repr(data)


def test_one_key_per_query():
    data = simulate(3, seed=1, mean_length=4)
    data = gw.RankingData(data.features, data.labels, qid=data.qid, keys={"week": [3, 1, 2]})
    assert [part.query_ids.tolist() for part in data.split_queries(by="week", at=2)] == [["1"], ["0", "2"]]
