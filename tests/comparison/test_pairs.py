"""Tables of effects, compared with SciPy and statsmodels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from tests.comparison.tables import leaderboard_table, pairs_table

import gainwise as gw

NAMES = ["p", "q", "r", "s"]


def two_metrics(seed=0, queries=300, models=4):
    rng = np.random.default_rng(seed)
    level = rng.random((queries, 1))
    a = level + rng.normal(0, 0.2, (queries, models)) + np.linspace(0, 0.03, models)
    b = 0.7 * a + rng.normal(0, 0.1, (queries, models)) - np.linspace(0, 0.04, models)
    return {"a": a, "b": b}


def rows_with_columns(table, names):
    for row in table.to_dict("records"):
        yield row, names.index(row["model_x"]), names.index(row["model_y"])


def test_conflict_p_value_is_the_larger_of_two_one_sided_ones():
    values = two_metrics(1)
    table = pairs_table(values, models=NAMES, draws=500)
    assert table.conflict.any()
    for row, x, y in rows_with_columns(table[table.conflict], NAMES):
        way = "greater" if row["difference a"] > 0 else "less"
        back = "less" if way == "greater" else "greater"
        first = stats.ttest_rel(values["a"][:, x], values["a"][:, y], alternative=way).pvalue
        second = stats.ttest_rel(values["b"][:, x], values["b"][:, y], alternative=back).pvalue
        assert row["p_value"] == pytest.approx(max(first, second), rel=1e-8)


def test_holm_columns_adjust_over_all_pairs():
    table = pairs_table(two_metrics(4), models=NAMES, draws=500)
    for column, adjusted in (("p_value", "p_holm"), ("p_value a", "p_holm a"), ("p_value b", "p_holm b")):
        np.testing.assert_allclose(table[adjusted], multipletests(table[column], method="holm")[1])


def test_simultaneous_intervals_match_a_bootstrap_of_queries():
    """The critical value, compared with resampled queries: the maximum studentized difference over all contrasts."""
    values = two_metrics(7, queries=400)
    table = pairs_table(values, models=NAMES, draws=20_000)
    contrasts = np.stack(
        [v[:, x] - v[:, y] for v in values.values() for x, y in itertools.combinations(range(4), 2)], axis=1
    )
    rng = np.random.default_rng(0)
    error = contrasts.std(axis=0, ddof=1) / np.sqrt(len(contrasts))
    centre = contrasts.mean(axis=0)
    largest = []
    for _ in range(3000):
        resampled = contrasts[rng.integers(len(contrasts), size=len(contrasts))]
        largest.append(np.abs((resampled.mean(axis=0) - centre) / error).max())
    half = (table["upper a"] - table["difference a"]).to_numpy()
    np.testing.assert_allclose(half / error[:6], np.quantile(largest, 0.95), rtol=0.04)


def test_witness_metrics_do_not_widen_the_primary_intervals():
    values = two_metrics(8)
    alone = pairs_table(values, models=NAMES, draws=2000)
    more = pairs_table({**values, "c": values["a"] ** 2, "d": values["b"] ** 2}, models=NAMES, draws=2000)
    np.testing.assert_array_equal(more[alone.columns], alone)
    assert "wins d" in more


def test_models_that_never_differ():
    v = two_metrics(10)["a"]
    v[:, 1] = v[:, 0]
    row = pairs_table({"a": v, "b": -v}, models=NAMES, draws=500).iloc[0]
    assert (row.p_value, row.p_holm, row["p_value a"], row.flag, row.differing) == (1, 1, 1, "identical", 0)
    assert (row["lower a"], row["upper a"]) == (0, 0)


@pytest.mark.parametrize("queries", [1, 5, 12])
def test_p_is_at_least_what_flipping_signs_can_show(queries):
    """A constant difference on m queries has a sign-flip p-value of 2**-m, but a t-test would return 0."""
    x = np.linspace(0, 1, queries)
    v = np.stack([x, x + 0.25], axis=1)
    row = pairs_table({"a": v, "b": -v}, draws=500).iloc[0]
    assert row.p_value == (2.0**-queries if queries > 1 else 1.0)


@pytest.mark.parametrize(("differing", "flag"), [(29, "few"), (30, "thin"), (99, "thin"), (100, "")])
def test_flags_by_differing_queries(differing, flag):
    rng = np.random.default_rng(1)
    v = np.repeat(rng.random((500, 1)), 2, axis=1)
    v[:differing, 1] += rng.random(differing)
    row = pairs_table({"a": v, "b": v}, draws=500).iloc[0]
    assert (row.flag, row.differing) == (flag, differing)


def test_leaderboard_ranks_by_mean_and_shares_ranks():
    a = np.random.default_rng(0).random((50, 4)) * [0.2, 0.9, 0.9, 0.5]
    a[:, 2] = a[:, 1]
    table = leaderboard_table({"a": a}, models=NAMES, draws=500)
    assert table.model.tolist() == ["q", "r", "s", "p"]
    assert table["rank"].tolist() == [1, 1, 3, 4]
    np.testing.assert_allclose(table["mean"], a.mean(axis=0)[[1, 2, 3, 0]])
    assert table.may_be_best.tolist() == [True, True, False, False]
    a[:, 0] = 0.25  # a model with the same value on every query
    row = leaderboard_table({"a": a}, models=NAMES, draws=500).set_index("model").loc["p"]
    assert (row["lower"], row["mean"], row["upper"]) == (0.25, 0.25, 0.25)


def test_leaderboard_regret_bounds_come_from_the_intervals_of_all_pairs():
    values = two_metrics(14)
    alone = pairs_table({**values, "c": values["a"]}, models=NAMES, draws=500)
    table = leaderboard_table({"c": values["a"]}, models=NAMES, draws=500).set_index("model")
    for name in NAMES:
        mine, theirs = alone[alone.model_x == name], alone[alone.model_y == name]
        upper = max(0, *(-mine["lower c"]), *theirs["upper c"])
        lower = max(0, *(-mine["upper c"]), *theirs["lower c"])
        assert table.regret_upper[name] == pytest.approx(upper)
        assert table.regret_lower[name] == pytest.approx(lower)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 4))
def test_tables_hold_no_nan(seed, queries, models):
    rng = np.random.default_rng(seed)
    values = {name: np.round(rng.random((queries, models)), 1) for name in "ab"}
    assert not pairs_table(values, draws=200).isna().any(axis=None)
    assert not leaderboard_table(values, draws=200).isna().any(axis=None)


def test_discordance_is_the_difference_of_differences_under_two_ndcgs():
    a, b = two_metrics(5).values()
    table = gw.Comparison({"ndcg_linear@10": a, "ndcg_exp@10": b}, NAMES, draws=500).pairs
    expected = [stats.ttest_rel((b - a)[:, x], (b - a)[:, y]) for _, x, y in rows_with_columns(table, NAMES)]
    np.testing.assert_allclose(
        table["discordance"], table["difference ndcg_exp@10"] - table["difference ndcg_linear@10"], atol=1e-12
    )
    np.testing.assert_allclose(table["discordance p_value"], [test.pvalue for test in expected], rtol=1e-8)
    adjusted = multipletests(table["discordance p_value"], method="holm")[1]
    np.testing.assert_allclose(table["discordance p_holm"], adjusted, rtol=1e-12)
    for row, test in zip(table.to_dict("records"), expected, strict=True):
        interval = test.confidence_interval(0.95)  # simultaneous intervals are wider
        assert row["discordance lower"] < interval.low < interval.high < row["discordance upper"]
    assert "discordance" not in gw.Comparison({"map": a, "ndcg_exp@10": b}, NAMES, draws=500).pairs
    same = gw.Comparison({"ndcg_linear@10": a, "ndcg_exp@10": a + 1e-16}, NAMES, draws=500).pairs
    assert (same["discordance"] == 0).all()
    assert (same["discordance p_value"] == 1).all()


def test_p_is_never_zero():
    v = np.stack([np.zeros(5000), np.ones(5000)], axis=1) + np.random.default_rng(0).normal(0, 1e-3, (5000, 2))
    assert 0 < pairs_table({"a": v, "b": -v}, draws=500).p_value[0] < 1e-100


def test_leaderboard_interval_of_one_model_is_the_textbook_one():
    a = np.random.default_rng(1).random((80, 1))
    row = leaderboard_table({"a": a}, draws=100_000).iloc[0]
    half = stats.t.ppf(0.975, 79) * a.std(ddof=1) / np.sqrt(80)
    assert row.upper - row["mean"] == pytest.approx(half, rel=0.01)
    assert row["mean"] - row.lower == pytest.approx(row.upper - row["mean"], rel=1e-9)
    assert (row.regret, row.regret_lower, row.regret_upper) == (0, 0, 0)
