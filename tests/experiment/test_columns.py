"""Experiments on metrics of further columns, tables in TOML files, and parts that must not share users."""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gainwise as gw
from gainwise.data import from_frame, simulate
from gainwise.experiment import Candidate, Experiment, k_folds
from gainwise.experiment.experiment import _align_labels

REVENUE = gw.DCG(gain="linear", discount="none", k=5, column="revenue", name="revenue")
METRICS = ["ndcg_linear@5", REVENUE, "mrr(column=clicked)"]
CANDIDATES = [Candidate("lgb", "lightgbm", num_boost_round=6), Candidate("xgb", "xgboost", num_boost_round=6)]
USERS = ["1", "01", "001", "1.0", "NA", "2", "02", "2e0"]
"""Different ids, most of which are equal or missing if they are read as numbers."""


def make_frame(queries=60, seed=1):
    """Return a click log with eight users."""
    data, rng = simulate(queries, seed=seed, mean_length=8), np.random.default_rng(seed)
    rows = len(data.labels)
    frame = pd.DataFrame(data.features[:, :5].astype(np.float64)).add_prefix("f")
    return frame.assign(
        query=data.query_ids[data.qid],
        label=data.labels,
        user=np.array(USERS)[rng.integers(0, 8, queries)][data.qid],
        revenue=np.round(rng.exponential(5, rows) * (data.labels > 0), 2),
        clicked=np.where(rng.random(rows) < 0.3, np.nan, rng.integers(0, 2, rows)),
    )


def make_data(**options):
    return from_frame(
        make_frame(**options), label="label", query="query", columns=["revenue", "clicked"], keys=["user"]
    )


@pytest.fixture(scope="module")
def parts():
    return make_data().split_queries(0.4, 0.3, 0.3, seed=2, groups="user")


def validate_values(result, parts):
    """The curves and the comparison are the values of the predictions on judgments with the columns as labels."""
    _, valid, test = parts
    for name in result.candidates:
        scores = result.predict(test, name)
        for metric, column in (("ndcg_linear@5", None), ("cg@5", "revenue"), ("mrr", "clicked")):
            labels = test.labels if column is None else test.columns[column]
            judgments = gw.Judgments(labels, qid=test.qid, judged=~np.isnan(labels))
            logged = "revenue@5" if column == "revenue" else metric if column is None else f"{metric}(column={column})"
            assert result.leaderboard.loc[name, logged] == gw.evaluate(metric, judgments, scores).mean[metric]
        curve = result.curves.query("candidate == @name and metric == 'revenue@5'").set_index("round")["value"]
        number = result.compared.loc[name, "rounds"][0]
        last = gw.evaluate(REVENUE, valid.judgments(), result.predict(valid, name)).mean["revenue@5"]
        assert curve[number] == last


def test_values(parts, tmp_path):
    experiment = Experiment(CANDIDATES, *parts, METRICS, tmp_path / "run", stop_by="revenue@5", groups="user")
    result = experiment.run(progress=False)
    validate_values(result, parts)
    assert result.comparison.verdict.clusters == len(set(parts[2].keys["user"]))
    validate_values(Experiment.load(tmp_path / "run"), parts)


@pytest.mark.slow
def test_other_processes(parts, tmp_path, processes):
    with ProcessPoolExecutor(1, processes) as pool:
        result = Experiment(CANDIDATES[:1], *parts, METRICS, tmp_path / "run").run(pool, progress=False)
    validate_values(result, parts)


def test_a_column_with_other_values_is_other_data(parts, tmp_path):
    Experiment(CANDIDATES[:1], *parts, METRICS, tmp_path).run(progress=False)
    changed = [*parts[:2], replace(parts[2], columns={**parts[2].columns, "revenue": parts[2].columns["revenue"] + 1})]
    with pytest.raises(ValueError, match="the data of test differ"):
        Experiment(CANDIDATES[:1], *changed, METRICS, tmp_path).run(progress=False)
    other = gw.DCG(gain="linear", k=5, column="revenue", name="revenue")
    with pytest.raises(ValueError, match="metrics"):
        Experiment(CANDIDATES[:1], *parts, ["ndcg_linear@5", other, METRICS[2]], tmp_path).run(progress=False)


def test_tables_in_a_toml_file(tmp_path):
    make_frame().to_csv(tmp_path / "log.csv", index=False)
    (tmp_path / "experiment.toml").write_text(
        """
        metrics = ["ndcg_linear@5", "cg(column=revenue,name=revenue)@5"]
        num_boost_round = 3
        candidates = [{name = "a", library = "lightgbm"}]
        [data]
        files = "log.csv"
        format = "table"
        columns = ["revenue", "clicked"]
        groups = "user"
        k_folds = 3
        seed = 4
        """
    )
    read = Experiment.from_toml(tmp_path / "experiment.toml")
    folds = k_folds(make_data(), 3, seed=4, groups="user")
    expected = Experiment(CANDIDATES[:1], metrics=read.plan.metrics, folds=folds, groups="user")
    assert read.plan.data == expected.plan.data
    assert read.plan.clusters == expected.plan.clusters
    assert list(read.run(progress=False).leaderboard.columns[::5]) == ["ndcg_linear@5", "revenue@5"]


@pytest.mark.parametrize("at", ['["2026-03-01", "2026-04-01"]', "[2026-03-01, 2026-04-01]"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_split_by_time_in_a_toml_file(tmp_path, at, suffix):
    frame = make_frame()
    frame["time"] = pd.Timestamp("2026-02-01") + pd.to_timedelta(frame.groupby("query").ngroup() * 7 % 90, "D")
    write = frame.to_csv if suffix == "csv" else frame.to_parquet
    write(tmp_path / f"log.{suffix}", index=False)
    (tmp_path / "experiment.toml").write_text(
        f"""
        candidates = [{{name = "a", library = "lightgbm"}}]
        [data]
        files = "log.{suffix}"
        format = "table"
        columns = ["revenue", "clicked"]
        feature_columns = ["f0", "f1", "f2", "f3", "f4"]
        split = {{by = "time", at = {at}}}
        """
    )
    options = {
        "label": "label",
        "query": "query",
        "columns": ["revenue", "clicked"],
        "features": [f"f{i}" for i in range(5)],
    }
    data = from_frame(frame, **options, keys=["time"])
    parts = data.split_queries(by="time", at=["2026-03-01", "2026-04-01"])
    assert [len(part.query_ids) for part in parts] == [
        frame["query"][(frame["time"] >= low) & (frame["time"] < high)].nunique()
        for low, high in (("2026-01-01", "2026-03-01"), ("2026-03-01", "2026-04-01"), ("2026-04-01", "2027-01-01"))
    ]
    read = Experiment.from_toml(tmp_path / "experiment.toml")
    assert read.plan.data == Experiment(CANDIDATES[:1], *parts, directory=tmp_path / "other").plan.data


def test_bad_parts(parts):
    train, valid, test = parts
    plain = make_data(seed=3)
    with pytest.raises(ValueError, match="test has no column 'clicked'"):
        Experiment(CANDIDATES, train, valid, replace(test, columns={"revenue": test.columns["revenue"]}), METRICS)
    with pytest.raises(ValueError, match="valid: column must be one of the judgments, got 'margin'"):
        Experiment(CANDIDATES, *parts, ["ndcg_linear@5", "cg(column=margin)"])
    with pytest.raises(ValueError, match="values of key 'user' are in train and in valid"):
        Experiment(CANDIDATES, *plain.split_queries(0.4, 0.3, 0.3, seed=1), METRICS, groups="user")
    with pytest.raises(ValueError, match=r"no key 'usr' \(did you mean 'user'"):
        Experiment(CANDIDATES, *parts, METRICS, groups="usr")


@pytest.mark.parametrize("convert", [int, float, str])
@pytest.mark.parametrize("kind", [int, float])
def test_labels_by_ids_of_another_type(convert, kind):
    data = from_frame(
        make_frame(9).assign(query=lambda frame: pd.factorize(frame["query"])[0].astype(kind) + 3),
        label="label", query="query", features=["f0"],
    )  # fmt: skip
    users = [f"u{number}" for number in range(9)]
    by_id = {convert(number + 3): user for number, user in enumerate(users)}
    ids = data.query_ids.tolist()
    labels = _align_labels(by_id, pd.DataFrame({"user": pd.Series(by_id)}), ids)
    assert labels["clusters"] == labels["segments"]["user"] == tuple(users)
