"""Comparisons of metrics on different columns, against comparisons with these columns as labels."""

import re

import numpy as np
import pandas as pd
import pytest
from tests.bad_inputs import BadInput, bad_inputs

import gainwise as gw

REVENUE = gw.DCG(gain="linear", discount="none", k=5, column="revenue", name="revenue")
METRICS = ["ndcg_linear@5", REVENUE, "mrr(column=clicked)", "ndcg_exp@5"]
PLAIN = {"ndcg_linear@5": (None, "ndcg_linear@5"), "revenue@5": ("revenue", "cg@5"), "ndcg_exp@5": (None, "ndcg_exp@5")}
PLAIN["mrr(column=clicked)"] = ("clicked", "mrr")


def make_table(queries=120, seed=0):
    """Return a click log with scores of three models. Some queries have no clicks, because they were not shown."""
    rng = np.random.default_rng(seed)
    query = np.repeat(np.arange(queries), rng.integers(2, 12, queries))
    rows = len(query)
    label = rng.integers(0, 4, rows)
    revenue = np.round(rng.exponential(9, rows) * (rng.random(rows) < 0.1 + 0.1 * label), 2)
    clicked = np.where((query < 20) | (rng.random(rows) < 0.1), np.nan, rng.random(rows) < 0.1 + 0.2 * label)
    noise = rng.normal(size=(3, rows))
    return pd.DataFrame(
        {
            "query": query, "label": label, "revenue": revenue, "clicked": clicked,
            "grades": label + noise[0], "sales": label + 0.2 * revenue + noise[1], "noise": noise[2],
        }
    )  # fmt: skip


TABLE = make_table()
MODELS = {name: TABLE[name] for name in ("grades", "sales", "noise")}
JUDGMENTS = gw.Judgments.from_frame(TABLE, columns=["revenue", "clicked"])


@pytest.fixture(scope="module")
def comparison():
    return gw.compare(MODELS, JUDGMENTS, METRICS)


@pytest.mark.parametrize("name", PLAIN)
def test_each_metric_is_compared_as_on_labels(comparison, name):
    column, plain = PLAIN[name]
    labels = TABLE["label" if column is None else column]
    relabeled = gw.Judgments(labels, qid=TABLE["query"], judged=labels.notna())
    expected = gw.compare(MODELS, relabeled, [plain]).leaderboard
    order = expected.index
    pd.testing.assert_series_equal(
        comparison.leaderboard.loc[order, f"{name} queries"], expected[f"{plain} queries"], check_names=False
    )
    pd.testing.assert_series_equal(comparison.leaderboard.loc[order, name], expected[plain], check_names=False)
    chance = gw.evaluate(plain, relabeled, np.zeros(len(labels))).mean[plain]
    assert set(comparison.chance[name].values()) == {chance}
    for pair in comparison.pairs.itertuples():
        first, second = comparison.leaderboard.loc[[pair.model_x, pair.model_y], name]
        difference = comparison.pairs.set_index(["model_x", "model_y"]).loc[(pair.model_x, pair.model_y)]
        assert difference[f"difference {name}"] == pytest.approx(first - second, abs=1e-12)


def test_queries_without_clicks_are_left_out(comparison):
    assert set(comparison.leaderboard["mrr(column=clicked) queries"]) == {100}
    verdict = gw.compare(MODELS, JUDGMENTS, [REVENUE, "mrr(column=clicked)"]).verdict
    assert verdict.queries == 100
    assert "leaves out 20 more of revenue@5" in verdict.text


def test_equal_labels_distinguish_models_if_another_column_differs():
    table = make_table().assign(label=1)
    judgments = gw.Judgments.from_frame(table, columns=["revenue", "clicked"])
    of_labels = gw.compare(MODELS, judgments, ["ndcg_linear@5", "map"])
    assert "equal labels" in {flag.code for flag in of_labels.verdict.flags}
    with_revenue = gw.compare(MODELS, judgments, ["ndcg_linear@5", REVENUE])
    assert "equal labels" not in {flag.code for flag in with_revenue.verdict.flags}


@pytest.mark.parametrize(
    ("metrics", "flagged"),
    [
        (["ndcg_linear@5", REVENUE], True),
        ([REVENUE, "mrr(column=clicked)"], True),
        (["ndcg_linear@5", "ndcg_linear(column=revenue)@5"], False),
        (["dcg_linear@5", "dcg_exp@5"], False),
        ([REVENUE, "dcg_linear(column=revenue)@5"], False),
    ],
)
def test_metrics_of_different_units_are_flagged(metrics, flagged):
    flags = [flag for flag in gw.compare(MODELS, JUDGMENTS, metrics).verdict.flags if flag.code == "units"]
    assert len(flags) == flagged
    assert not flagged or "ndcg_linear(column=revenue)" in str(flags[0])


def test_explanations_are_those_of_the_labels(comparison):
    metrics = ["ndcg_linear@5", "ndcg_exp@5"]
    alone = gw.compare(MODELS, JUDGMENTS, metrics)
    found, expected = (each.attribution("grades", "sales", metrics) for each in (comparison, alone))
    pd.testing.assert_frame_equal(found.grades_by_ranks, expected.grades_by_ranks)
    assert comparison.gains().text == alone.gains().text


def test_rankings_show_the_columns(comparison):
    table = comparison.ranking(7, "sales")
    rows = TABLE[TABLE["query"] == 7].sort_values("sales", ascending=False)
    assert table["revenue"].tolist() == rows["revenue"].tolist()
    assert table["label"].tolist() == rows["label"].tolist()
    tied = gw.compare({"tied": TABLE["query"]}, JUDGMENTS, "dcg_linear(column=revenue,ties=best)@5").ranking(7, "tied")
    assert tied["revenue"].tolist() == sorted(rows["revenue"], reverse=True)


def test_sensitivity(comparison):
    row = comparison.sensitivity().table.set_index("choice").loc["revenue@5"]
    means = comparison.leaderboard[["ndcg_linear@5", "revenue@5"]].to_numpy()
    first, second = (np.sign(column[:, None] - column)[np.triu_indices(3, 1)] for column in means.T)
    assert row["reversed"] == np.mean(first != second)


def test_a_table_with_columns():
    scores = ["grades", "sales", "noise"]
    weights = TABLE["query"] % 3 + 1
    judgments = gw.Judgments.from_frame(TABLE.assign(weight=weights), columns=["revenue", "clicked"], weight="weight")
    for table, judged, options in ((TABLE, JUDGMENTS, {}), (TABLE.assign(w=weights), judgments, {"weight": "w"})):
        read = gw.compare_table(table, scores, METRICS, columns=["revenue", "clicked"], **options)
        pd.testing.assert_frame_equal(read.leaderboard, gw.compare(MODELS, judged, METRICS).leaderboard)


def compare_table(scores=("grades", "sales"), **options):
    return gw.compare_table(TABLE.assign(copy=TABLE["label"]), list(scores), METRICS, **options)


CASES = [
    BadInput("the same scores twice", lambda: compare_table(["grades", "grades"]), "'grades'", ValueError, "distinct"),
    BadInput("a number as a name", lambda: compare_table([0, 1]), "got 0", TypeError, "names of columns"),
    BadInput("a number for a model", lambda: gw.compare_table(TABLE, {"a": 0}), "got 0", TypeError, "names of columns"),
    BadInput("no column", lambda: compare_table(columns=["revenue"]), "'clicked'", ValueError, "columns revenue"),
    BadInput("labels", lambda: compare_table(["copy"], columns=["revenue", "clicked"]), "'copy'", ValueError, "label"),
    BadInput("unknown", lambda: compare_table(columns=["revenu"]), "'revenu'", ValueError, "mean 'revenue'"),
    BadInput(
        "repeats", lambda: gw.compare_table(TABLE, {"A": ["grades", "sales", "grades"]}, METRICS), "scores['A']",
        ValueError, "'grades' at 2",
    ),
    BadInput("scores", lambda: compare_table(columns=["revenue", "clicked", "sales"]), "'sales'", ValueError, "label"),
    BadInput(
        "negative", lambda: gw.compare_table(TABLE.assign(revenue=-1), ["grades", "sales"], METRICS,
                                             columns=["revenue", "clicked"]),
        "columns['revenue']", ValueError, "not be negative"),
    BadInput(
        "drop", lambda: gw.compare(MODELS, JUDGMENTS, METRICS, unjudged="drop"), "unjudged='drop'", ValueError,
        "got revenue@5"),
    BadInput(
        "gains", lambda: gw.compare(MODELS, JUDGMENTS, METRICS).gains(metric=REVENUE), "revenue@5", ValueError,
        "uses column"),
    BadInput(
        "attribution", lambda: gw.compare(MODELS, JUDGMENTS, [REVENUE]).attribution("grades", "sales"), "revenue@5",
        ValueError, "None of the"),
    BadInput(
        "run", lambda: gw.compare_runs({"a": {"q": {"d": 1.0}}}, {"q": {"d": 1}}, [REVENUE, "mrr"]), "'revenue'",
        ValueError, "no columns"),
]  # fmt: skip


@bad_inputs(CASES)
def test_bad_inputs(case):
    case.check()


class TestMetricsOfTrackers:
    def test_means_and_intervals(self, comparison):
        numbers = comparison.metrics_dict(names="safe")
        assert len(numbers) == 3 * 4 * 3
        board = comparison.leaderboard
        assert numbers["sales/revenue_at_5"] == board.loc["sales", "revenue@5"]
        assert numbers["noise/mrr__column_is_clicked_upper"] == board.loc["noise", "mrr(column=clicked) upper"]
        assert all(re.fullmatch(r"\w+/\w+", name, re.ASCII) for name in numbers)
        assert comparison.metrics_dict()["sales/ndcg_exp@5_lower"] == board.loc["sales", "ndcg_exp@5 lower"]

    def test_safe_names_must_differ(self):
        comparison = gw.compare({"a b": TABLE["sales"], "a_b": TABLE["noise"]}, JUDGMENTS, ["mrr"])
        assert set(comparison.metrics_dict()) >= {"a b/mrr", "a_b/mrr"}
        with pytest.raises(ValueError, match="different names"):
            comparison.metrics_dict(names="safe")
        with pytest.raises(ValueError, match="'safe'"):
            comparison.metrics_dict(names="save")

    def test_one_query_has_no_interval(self):
        comparison = gw.Comparison({"mrr": np.array([[0.5, 1.0]])}, ["a", "b"])
        assert comparison.metrics_dict() == {"a/mrr": 0.5, "b/mrr": 1.0}
