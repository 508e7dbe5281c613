"""Tables of effects, compared with SciPy and statsmodels."""

import itertools

import numpy as np
import pytest
from scipy import stats
from tests.comparison.populations import one_sided, two_sided
from tests.comparison.tables import leaderboard_table, pairs_table

import gainwise as gw
from gainwise.comparison import pairs

NAMES = ["p", "q", "r", "s"]
NDCGS = ("ndcg_linear@10", "ndcg_exp@10")


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
        first = one_sided(values["a"][:, x] - values["a"][:, y], way)
        second = one_sided(values["b"][:, x] - values["b"][:, y], back)
        assert row["p_value"] == pytest.approx(max(first, second), rel=1e-8)


@pytest.mark.parametrize("single_step", [False, True])
def test_adjusted_p_values_are_those_of_the_step_down_max_t(single_step, monkeypatch):
    """Romano & Wolf (2005) by a plain loop over fresh draws: the maximum is over the hypotheses that remain.

    With many models, it is over all hypotheses.
    """
    if single_step:
        monkeypatch.setattr(pairs, "MAX_MODELS", 3)
    values = two_metrics(4)
    table = pairs_table(values, models=NAMES, draws=20_000)
    contrasts = [v[:, x] - v[:, y] for v in values.values() for x, y in itertools.combinations(range(4), 2)]
    statistics = [-stats.t.ppf(two_sided(d) / 2, len(d) - 1) for d in contrasts]
    centred = np.stack([(d - d.mean()) / d.std(ddof=1) for d in contrasts])
    draws = np.abs(np.random.default_rng(1).multivariate_normal(np.zeros(12), np.cov(centred), 100_000))
    remaining, expected, highest = set(range(12)), np.zeros(12), 0.0
    for place in sorted(remaining, key=lambda one: -statistics[one]):
        highest = max(highest, (draws[:, sorted(remaining)].max(axis=1) >= statistics[place]).mean())
        expected[place] = highest
        remaining -= set() if single_step else {place}
    found = np.concatenate([table["p_adjusted a"], table["p_adjusted b"]])
    np.testing.assert_allclose(found, expected, rtol=0.05, atol=0.004)
    assert (found > np.concatenate([table["p_value a"], table["p_value b"]])).all()
    expected = np.maximum(table["p_adjusted a"], table["p_adjusted b"]).where(table["conflict"], 1.0)
    np.testing.assert_array_equal(table["p_adjusted"], expected)


@pytest.mark.parametrize("seed", range(5))
def test_an_interval_excludes_0_only_with_a_small_adjusted_p_value(seed):
    table = pairs_table(two_metrics(seed), models=NAMES, draws=2000)
    for name in "ab":
        excludes = (table[f"lower {name}"] > 0) | (table[f"upper {name}"] < 0)
        assert (table[f"p_adjusted {name}"][excludes] <= 0.05).all()


@pytest.mark.parametrize("correlation", [-0.99, pytest.param(0.9, marks=pytest.mark.nightly)])
def test_conflicts_of_negatively_correlated_metrics_are_not_found_too_often(correlation):
    """The models are equal, so 5 % of the samples may show a conflict. Without a correction, nearly 10 % would."""
    found, samples = 0, 400
    for seed in range(samples):
        z = np.random.default_rng(seed).normal(size=(100, 2))
        second = correlation * z[:, 0] + np.sqrt(1 - correlation**2) * z[:, 1]
        tables = {name: np.stack([0 * x, x], axis=1) for name, x in (("a", z[:, 0]), ("b", second))}
        found += pairs_table(tables, draws=200).p_value[0] <= 0.05
    assert found <= stats.binom.ppf(0.995, samples, 0.05)


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
    ranges = {"a": (-2, 3), "b": (-3, 2)}
    row = pairs_table({"a": v, "b": -v}, models=NAMES, draws=500, ranges=ranges).iloc[0]
    assert (row.p_value, row.p_adjusted, row["p_value a"], row.flag, row.differing) == (1, 1, 1, "identical", 0)
    half = 5 * (1 - (0.05 * 0.1 / 24) ** (1 / 300))  # a tenth of the level for the two rare bounds of each metric
    assert (-row["lower a"], row["upper a"]) == pytest.approx((half, half))


def test_models_that_differ_by_a_constant_are_not_identical():
    value = np.random.default_rng(0).random((50, 1))
    row = pairs_table({"a": value + np.array([0, 0.25]), "b": value - np.array([0, 0.25])}, draws=500).iloc[0]
    assert (row.flag, row["losses a"], row["wins b"], row.differing) == ("few", 50, 50, 0)
    (single,) = pairs_table(dict.fromkeys("ab", np.array([[0.1, 0.2]])), draws=500).flag
    assert single == "few"


@pytest.mark.parametrize(("queries", "width"), [(29, 1.0), (300, 1.0), (300, np.inf)])
def test_p_of_a_constant_difference_is_that_of_its_bound(queries, width):
    """The lower bound c − (B + c)(1 − γ^(1/n)) is 0 at γ = (B/(B + c))^n."""
    x = np.linspace(0, 0.5, queries)
    v = np.stack([x, x + 0.25], axis=1)
    row = pairs_table({"a": v, "b": -v}, draws=500, ranges={"a": (0, width), "b": (-width, 0)}).iloc[0]
    decided = queries == 300 and np.isfinite(width)
    assert row["p_value a"] == pytest.approx(2 * (1 / 1.25) ** queries if decided else 1.0)


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


@pytest.mark.parametrize("weights", [None, np.arange(60) % 2 + 1.0])
@pytest.mark.parametrize(("differing", "others"), [(0, 0), (0, 3), (2, 3)])
def test_the_interval_of_a_mean_of_nearly_constant_values_covers_rare_other_values(differing, others, weights):
    """The share of queries with other values has the bound of Clopper and Pearson. These may all be 0."""
    values = np.random.default_rng(0).random((60, 1 + others))
    values[:, 0] = np.where(np.arange(60) < differing, 0.9, 1.0)
    comparison = gw.Comparison({"mrr": values}, list("ABCD")[: 1 + others], ranges={"mrr": (0, 1)}, weights=weights)
    row = comparison.standings.set_index("model").loc["A"]
    level = 0.05 * 0.1 / 4 if others else 0.05
    share = stats.binomtest(differing, 60).proportion_ci(1 - level, "exact").high
    assert row["lower"] == pytest.approx(1 - share * (1 if weights is None else 4 / 3))
    assert (row["mean"], row["upper"]) == (pytest.approx(np.average(values[:, 0], weights=weights)), 1.0)
    unbounded = gw.Comparison({"revenue": values}, list("ABCD")[: 1 + others]).standings.set_index("model").loc["A"]
    assert (unbounded["lower"], unbounded["upper"]) == (-np.inf, np.inf)


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


def test_discordance_is_the_difference_of_differences_under_two_ndcgs():
    a, b = two_metrics(5).values()
    table = gw.Comparison({"ndcg_linear@10": a, "ndcg_exp@10": b}, NAMES, draws=500).pairs
    columns = [(x, y) for _, x, y in rows_with_columns(table, NAMES)]
    expected = [stats.ttest_rel((b - a)[:, x], (b - a)[:, y]) for x, y in columns]
    np.testing.assert_allclose(
        table["discordance"], table["difference ndcg_exp@10"] - table["difference ndcg_linear@10"], atol=1e-12
    )
    p_values = [two_sided((b - a)[:, x] - (b - a)[:, y]) for x, y in columns]
    np.testing.assert_allclose(table["discordance p_value"], p_values, rtol=1e-8)
    assert (table["discordance p_adjusted"] >= table["discordance p_value"] - 0.01).all()  # 500 draws
    for row, test in zip(table.to_dict("records"), expected, strict=True):
        interval = test.confidence_interval(0.95)  # simultaneous intervals are wider
        assert row["discordance lower"] < interval.low < interval.high < row["discordance upper"]
    assert "discordance" not in gw.Comparison({"map": a, "ndcg_exp@10": b}, NAMES, draws=500).pairs
    same = gw.Comparison({"ndcg_linear@10": a, "ndcg_exp@10": a + 1e-16}, NAMES, draws=500).pairs
    assert (same["discordance"] == 0).all()
    assert (same["discordance p_value"] == 1).all()


def test_discordance_counts_repeats():
    """If all variance is between repeats, the result is SciPy's two-sample test of their differences."""
    rng = np.random.default_rng(0)
    runs, noise = rng.normal(size=(2, 2, 1, 6)), rng.normal(0, 1e-4, (2, 2, 50, 1))
    values = {name: list(runs[row] + noise[row]) for row, name in enumerate(NDCGS)}
    (p_value,) = gw.Comparison(values, ["p", "q"], draws=200).pairs["discordance p_value"]
    assert p_value == pytest.approx(stats.ttest_ind(*(runs[1] - runs[0])[:, 0], equal_var=False).pvalue, rel=1e-3)


@pytest.mark.parametrize("limit", [1, 2])
def test_p_is_never_zero(limit, monkeypatch):
    monkeypatch.setattr(pairs, "MAX_MODELS", limit)
    v = np.stack([np.zeros(5000), np.ones(5000)], axis=1) + np.random.default_rng(0).normal(0, 1e-3, (5000, 2))
    row = pairs_table({"a": v, "b": -v}, draws=500).iloc[0]
    assert 0 < row["p_value"] < 1e-100
    assert row["p_adjusted"] == pytest.approx(1 / 501)  # No draw is as large.


def test_leaderboard_interval_of_one_model_is_the_textbook_one():
    a = np.random.default_rng(1).random((80, 1))
    row = leaderboard_table({"a": a}, draws=100_000).iloc[0]
    half = stats.t.ppf(0.975, 79) * a.std(ddof=1) / np.sqrt(80)
    assert row.upper - row["mean"] == pytest.approx(half, rel=0.01)
    assert row["mean"] - row.lower == pytest.approx(row.upper - row["mean"], rel=1e-9)
    assert (row.regret, row.regret_lower, row.regret_upper) == (0, 0, 0)
