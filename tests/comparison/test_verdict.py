"""The verdict: a separate implementation of its algorithm, bounds, texts and limits."""

import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.comparison.populations import corrected, panel_of, to_t, uncorrected
from tests.comparison.tables import comparison_of, verdict_of

import gainwise as gw
from gainwise.comparison.estimates import estimate
from gainwise.comparison.inference import BestTest, draw_errors

pytestmark = pytest.mark.slow

LINEAR, EXPONENTIAL = "ndcg_linear@10", "ndcg_exp@10"


def values_of(seed, queries=400, models=4, spread=0.05, decimals=2):
    """Correlated values with ties and small differences. The second metric reverses part of the order."""
    rng = np.random.default_rng(seed)
    level = rng.random((queries, 1))
    a = level + rng.normal(0, 0.15, (queries, models)) + rng.normal(0, spread, models)
    b = 0.6 * a + rng.normal(0, 0.1, (queries, models)) + rng.normal(0, spread, models)
    same = rng.random(queries) < 0.3
    a[same], b[same] = a[same, :1], b[same, :1]
    return np.round(a, decimals), np.round(b, decimals)


def exact(leads, seed=0, queries=400, noise=0.2):
    """Values with the exact sample means `leads` (one row per metric) and independent noise."""
    rng = np.random.default_rng(seed)
    leads = np.asarray(leads, dtype=float)
    values = rng.normal(0, noise, (2, queries, leads.shape[1]))
    return values - values.mean(axis=1, keepdims=True) + leads[:, None, :]


def by_the_book(a, b, alpha, delta, draws, seed, metrics=(0, 1)):
    """Compute each model's p-value and critical value by a plain loop."""
    n, m = a.shape
    x = np.hstack([a, b])
    mean, covariance = x.mean(axis=0), np.cov(x.T) / n
    size, directions = np.linalg.eigh(covariance)
    root = directions @ np.diag(np.sqrt(np.maximum(size, 0))) @ directions.T
    g = np.random.default_rng(seed).standard_normal((draws, 2 * m)) @ root
    beta = alpha / 10

    def quantile(sample, level):
        """Return the order statistic for p-values of the form (1 + #)/(B + 1)."""
        return np.sort(sample)[int(np.ceil(level * (draws + 1))) - 1]

    p_values, statistics, criticals = [], [], []
    for k in range(m):
        t, star, d, se, skewed = [], [], [], [], []
        for metric in np.multiply(metrics, m):
            for j in range(m):
                if j != k:
                    one, other = metric + j, metric + k
                    error = np.sqrt(covariance[one, one] + covariance[other, other] - 2 * covariance[one, other])
                    d.append(mean[one] - mean[other] - delta)
                    se.append(error)
                    t.append(d[-1] / error)
                    skewed.append(stats.skew(x[:, one] - x[:, other]) / np.sqrt(n))
                    star.append(to_t((g[:, one] - g[:, other]) / error, n - 1))
        t, star = np.array(t), np.array(star)
        c1 = quantile(star.max(axis=0), 1 - beta)
        slack = np.array([min(0, one + corrected(c1, skewness)) for one, skewness in zip(t, skewed, strict=True)])
        largest = (star + slack[:, None]).max(axis=0)
        statistics.append(max(uncorrected(one, -skewness) for one, skewness in zip(t, skewed, strict=True)))
        criticals.append(max(0, quantile(largest, 1 - alpha + beta)))
        p_values.append(min(1, (1 + np.sum(largest >= statistics[-1])) / (draws + 1) + beta))
    return np.array(p_values), np.array(statistics), np.array(criticals)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("margin", [0.0, 0.01])
def test_verdict_follows_the_design(seed, margin):
    a, b = values_of(seed)
    verdict = verdict_of(a, b, margin=margin, draws=2000, seed=seed)
    p, statistic, critical = by_the_book(a, b, 0.05, 0.0, 2000, seed)
    # If no rival is better, the statistic is not positive, so the model is not rejected.
    p = np.where(statistic <= 0, 1.0, p)
    assert verdict.p_value == pytest.approx(p.max(), abs=1.5 / 2001)
    kept = {f"model {k + 1}" for k in np.flatnonzero(statistic <= critical)}
    assert set(verdict.common_best) == kept
    _, above, limit = by_the_book(a, b, 0.05, margin, 2000, seed)
    assert verdict.material == ((statistic > critical) & (above > limit)).all()


@pytest.mark.parametrize(("lead", "alpha"), [(2.4, 0.05), (0.95, 0.4)])
def test_weighted_draws_of_the_tail_give_the_result_of_plain_draws(lead, alpha):
    """Ten models are so far behind that they hardly count. Two models lead by so many standard errors."""
    far = [-7.0] * 10
    values = exact(0.2 * np.sqrt(2 / 400) * np.array([[0, -lead, *far], [-lead, 0, *far]]))
    estimated = estimate(panel_of(dict(zip("xy", values, strict=True))))
    found = BestTest(estimated, draw_errors(estimated, 20_000, 0, tail=True), alpha)
    p, statistic, critical = by_the_book(*values, alpha, 0.0, 20_000, 1)
    assert found.p_value == pytest.approx(p.max(), rel=0.1)
    assert found.not_rejected.tolist() == (statistic <= critical).tolist() == [False] * 12


@pytest.mark.parametrize("seed", [3, 5, 8, 12])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.9999, 1.001])
def test_price_bound_is_where_the_test_stops_rejecting(seed, share):
    a, b = values_of(seed)
    verdict = verdict_of(a, b, draws=1000, seed=seed)
    assert verdict.price_lower > 0
    _, statistic, critical = by_the_book(a, b, 0.05, share * verdict.price_lower, 1000, seed)
    assert (statistic > critical).all() == (share < 1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("row", [0, 1])
def test_lower_bounds_of_regret_are_where_the_test_of_that_metric_stops_rejecting(seed, row):
    a, b = values_of(seed)
    verdict = verdict_of(a, b, draws=1000, seed=seed)
    metric = verdict.metrics[row]

    def ruled_out(margin):
        _, statistic, critical = by_the_book(a, b, 0.025, margin, 1000, seed, [row])
        return statistic > critical

    for k, (model, lower) in enumerate(verdict.regrets_lower[metric].items()):
        alone = ruled_out(0.0)[k] and model not in verdict.common_best
        assert (lower > 0) == alone == (model not in verdict.best_sets[metric])
        assert lower <= verdict.regrets[metric][model]
        if lower > 0:
            assert ruled_out(0.9999 * lower)[k]
            assert not ruled_out(1.001 * lower)[k]


def test_who_may_be_best_under_both_may_be_best_under_each():
    """Two metrics are tested with more rivals, so one metric may rule out a model that both together do not."""
    enlarged = 0
    for seed in (5, 6):
        rng = np.random.default_rng(seed)
        a, b = rng.normal(0, 0.2, (2, 300, 12)) + rng.normal(0, 0.012, (2, 1, 12))
        verdict = verdict_of(a, b, draws=400, seed=seed)
        for row, metric in enumerate(verdict.metrics):
            assert set(verdict.common_best) <= set(verdict.best_sets[metric])
            _, statistic, critical = by_the_book(a, b, 0.025, 0.0, 400, seed, [row])
            alone = {f"model {k + 1}" for k in np.flatnonzero(statistic <= critical)}
            assert set(verdict.best_sets[metric]) == alone | set(verdict.common_best)
            enlarged += not set(verdict.common_best) <= alone
            at_zero = {model for model, lower in verdict.regrets_lower[metric].items() if lower == 0}
            assert at_zero == set(verdict.best_sets[metric])
    assert enlarged


@pytest.mark.parametrize("seed", range(4))
def test_upper_bounds_take_every_ordered_contrast_of_both_metrics(seed):
    a, b = values_of(seed)
    verdict = verdict_of(a, b, draws=20_000, seed=seed)
    x = np.hstack([a, b])
    covariance = np.cov(x.T) / len(x)
    g = np.random.default_rng(99).multivariate_normal(np.zeros(8), covariance, size=20_000, method="eigh")
    pairs = [(j + s, k + s) for s in (0, 4) for j in range(4) for k in range(4) if j != k]
    error = {(j, k): np.std(x[:, j] - x[:, k], ddof=1) / np.sqrt(len(x)) for j, k in pairs}
    width = np.quantile(np.max([(g[:, j] - g[:, k]) / error[j, k] for j, k in pairs], axis=0), 0.95)
    mean = x.mean(axis=0)
    safe = verdict.models.index(verdict.safe_choice)
    upper = max(mean[j] - mean[k] + width * error[j, k] for j, k in pairs if k % 4 == safe)
    assert verdict.safe_regret_upper == pytest.approx(upper, rel=0.03)
    for row, metric in enumerate((LINEAR, EXPONENTIAL)):
        winner = 4 * (1 - row) + verdict.models.index(verdict.winners[metric])
        other = [4 * (1 - row) + j for j in range(4) if 4 * (1 - row) + j != winner]
        upper = max(0, max(mean[j] - mean[winner] + width * error[j, winner] for j in other))
        other = (EXPONENTIAL, LINEAR)[row]
        assert verdict.regrets_upper[other][verdict.winners[metric]] == pytest.approx(upper, rel=0.03)


@pytest.mark.parametrize("seed", range(6))
def test_means_regrets_price_and_safe_choice_by_hand(seed):
    a, b = values_of(seed)
    verdict = verdict_of(a, b, draws=200)
    regret = {name: v.mean(axis=0).max() - v.mean(axis=0) for name, v in ((LINEAR, a), (EXPONENTIAL, b))}
    worst = np.maximum(*regret.values())
    upper = np.max([list(verdict.regrets_upper[metric].values()) for metric in verdict.metrics], axis=0)
    assert verdict.price == pytest.approx(worst.min())
    assert verdict.safe_choice == f"model {upper.argmin() + 1}"
    assert (verdict.safe_regret, verdict.safe_regret_upper) == pytest.approx((worst[upper.argmin()], upper.min()))
    for metric, values in ((LINEAR, a), (EXPONENTIAL, b)):
        np.testing.assert_allclose(list(verdict.means[metric].values()), values.mean(axis=0))
        np.testing.assert_allclose(list(verdict.regrets[metric].values()), regret[metric], atol=1e-14)
        assert verdict.winners[metric] == f"model {values.mean(axis=0).argmax() + 1}"


@pytest.mark.parametrize(
    ("leads", "margin", "kind", "common_best", "material", "within_margin"),
    [
        # Different models are best and far apart. The margin is below the bound, between bound and price, or above.
        ([[0.1, 0, -0.3], [0, 0.1, -0.3]], 0.02, "genuine", "", True, False),
        ([[0.1, 0], [0, 0.1]], 0.09, "genuine", "", False, False),
        ([[0.1, 0], [0, 0.1]], 0.5, "genuine", "", False, True),
        # One model is best under both.
        ([[0.1, 0, 0.02], [0.1, 0.02, 0]], 0.0, "agree", "1", False, True),
        ([[0.1, 0], [0.1, 0]], 0.5, "agree", "1", False, True),
        # It ties with another model under one metric.
        ([[0.1, 0, 0], [0.1, 0.0999, 0]], 0.0, "unresolved", "1", False, False),
        # A third model is near both winners: two t-tests of the winners would find a disagreement.
        ([[0.1, 0, 0.099], [0, 0.1, 0.099]], 0.0, "unresolved", "3", False, False),
        # Small differences next to a bad model.
        ([[0.001, 0, -0.5], [0, 0.001, -0.5]], 0.08, "immaterial", "12", False, True),
        ([[0.001, 0, -0.5], [0, 0.001, -0.5]], 0.01, "unresolved", "12", False, False),
    ],
)
def test_kinds_of_verdicts(leads, margin, kind, common_best, material, within_margin):
    verdict = verdict_of(*exact(leads), margin=margin)
    assert verdict.kind == kind
    assert verdict.common_best == tuple(f"model {number}" for number in common_best)
    assert (verdict.material, verdict.within_margin) == (material, within_margin)
    # More queries are advised if several models may be best, with the difference that these queries can show.
    is_open = kind == "unresolved" and len(common_best) > 1
    assert ("Add queries, not models." in verdict.text) == is_open
    assert ("400 queries can show differences of about" in verdict.text) == is_open
    within = f"the loss is at most the margin of {margin}."
    assert (within in verdict.text) == (within_margin and kind in ("genuine", "immaterial"))


@pytest.mark.parametrize(("lead", "kind", "numbers"), [(1.85, "unresolved", [2, 1]), (2.2, "agree", [1, 1])])
def test_who_is_named_the_best_is_tested_at_half_the_level_and_so_are_the_sets(lead, kind, numbers):
    """In standard errors, against 1.70 and 2.00: the normal quantiles at 1 - .9 * .05 and at 1 - .9 * .025."""
    values = np.random.default_rng(0).normal(0, 1, 1000)
    values = (values - values.mean()) / values.std(ddof=1)
    ahead = np.stack([values + lead / np.sqrt(1000), np.zeros(1000)], axis=1)
    verdict = verdict_of(ahead, ahead + np.array([1.0, 0.0]), draws=20_000)
    assert [len(models) for models in verdict.best_sets.values()] == numbers
    assert verdict.kind == kind


@pytest.mark.parametrize(("differing", "kind"), [(29, "unresolved"), (30, "genuine")])
def test_pairs_that_differ_on_few_queries_eliminate_nobody(differing, kind):
    a = np.zeros((3000, 2))
    a[:differing, 0] = 0.5 + 0.01 * np.arange(differing)
    verdict = verdict_of(a, -a)
    assert verdict.kind == kind
    code = "ignored pairs" if kind == "unresolved" else "thin pairs"
    (flag,) = [flag for flag in verdict.flags if flag.code.endswith("pairs")]
    assert (flag.code, flag.pairs) == (code, (("model 1", "model 2"),))


def test_guard_counts_heavy_queries_as_few():
    rng = np.random.default_rng(0)
    a = np.stack([rng.normal(1, 0.1, 400), np.zeros(400)], axis=1)
    weights = np.where(np.arange(400) < 5, 1.0, 1e-6)
    assert verdict_of(a, -a).kind == "genuine"
    verdict = verdict_of(a, -a, weights=weights)
    assert verdict.kind == "unresolved"
    assert {"uneven weights", "few degrees of freedom"} <= {flag.code for flag in verdict.flags}


@pytest.mark.parametrize("names", [["b", "c", "a"], ["c", "b", "a"]])
def test_means_that_differ_by_rounding_tie(names):
    """The same values in another order have another sum in the last digit. b represents both of them."""
    rng = np.random.default_rng(0)
    x = rng.lognormal(0, 3, 1001)
    values = np.stack([x, x, x - 0.5], axis=1)
    while values[:, 0].copy().mean() == values[:, 1].copy().mean():
        values[:, 1] = rng.permutation(x)
    verdict = verdict_of(values, values, models=names, draws=200)
    assert set(verdict.winners.values()) == {"b"}
    assert verdict.flags[0].models == ("b", "c")
    assert verdict_of(values + np.array([0, 0, 0.7]), values, models=names, draws=200).safe_choice in "bc"


@given(st.integers(0, 10_000), st.integers(1, 45), st.integers(1, 4), st.integers(1, 2), st.sampled_from([0.0, 0.1]))
@settings(max_examples=40, deadline=None)
def test_any_input_gives_results_without_nan_or_warning(seed, queries, models, decimals, margin):
    """Coarse values: constant columns, ties, identical models, a single query. Warnings are errors in this suite."""
    rng = np.random.default_rng(seed)
    a, b = (np.round(rng.random((queries, models)) * rng.integers(0, 2, models), decimals) for _ in range(2))
    weights = rng.integers(0, 3, queries) if seed % 2 else None
    assume(weights is None or weights.any())
    comparison = comparison_of({"x": a, "y": b}, weights=weights, margin=margin, draws=200)
    assert not comparison.pairs.isna().any(axis=None)
    assert not comparison.standings.isna().any(axis=None)
    verdict = comparison.verdict
    told = json.dumps(verdict.to_dict(), allow_nan=False)
    assert "nan" not in verdict.text
    assert json.loads(told)["kind"] == verdict.kind
    assert models > 1 or verdict.kind == "agree"
    assert queries >= 30 or models == 1 or verdict.kind == "unresolved"


def test_constant_differences_may_be_others_on_rare_queries():
    """The bound allows the worst difference on the share of queries that 100 equal ones cannot exclude."""
    x = np.random.default_rng(0).random((100, 1))
    verdict = verdict_of(
        x + np.array([0.2, 0.1]), x + np.array([0.5, 0.4]), ranges={LINEAR: (0, 2), EXPONENTIAL: (0, 2)}
    )
    share = 1 - (0.05 / 4) ** (1 / 100)
    assert (verdict.kind, verdict.p_value, verdict.safe_regret_upper) == ("immaterial", 1.0, 0.0)
    assert -0.1 + (2 + 0.1) * share < 0
    assert verdict.regrets_upper[LINEAR]["model 2"] == pytest.approx(0.1 + (2 - 0.1) * share)


@pytest.mark.parametrize("seed", range(5))
def test_best_sets_agree_with_the_model_confidence_set(seed):
    """The set of Hansen, Lunde and Nason is equal for one metric and clear data."""
    bootstrap = pytest.importorskip("arch.bootstrap", reason="arch has the reference implementation")
    error = 0.2 * np.sqrt(2 / 400)
    leads = error * np.array([[0, -0.4, -7, -8, -9], [-8, -7, -9, -0.3, 0]])
    values = exact(leads, seed=seed)
    verdict = verdict_of(*values, draws=1000)
    for metric, v in zip((LINEAR, EXPONENTIAL), values, strict=True):
        reference = bootstrap.MCS(-v, size=0.05, reps=1000, block_size=1, method="max", seed=seed)
        reference.compute()
        assert verdict.best_sets[metric] == tuple(f"model {i + 1}" for i in sorted(reference.included))


def test_many_models_use_fewer_draws_and_reports_state_what_they_leave_out(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.random((40, 1)) + 0.2 * rng.normal(size=(40, 110))
    names = [f"m{number}" for number in range(110)]
    comparison = gw.Comparison({"a": values, "b": values[:, ::-1]}, names, draws=1000)
    assert comparison.verdict.draws == 1000 * 100 // 110
    page = comparison.to_html(tmp_path / "r.html").read_text("utf-8")
    assert "100 clearest of 5,995 pairs" in page
    content = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert len(content["leaderboard"]) == 110
    assert len(content["pairs"]) + content["pairs_left_out"] == len(comparison.pairs) == 5_995
    assert all(len(flag["pairs"]) <= 50 for flag in content["verdict"]["flags"])
    expected = comparison.pairs.sort_values(["conflict", "p_adjusted"], ascending=[False, True], kind="stable")[:500]
    for row, pair in zip(content["pairs"], expected.to_dict("records"), strict=True):
        assert row == pytest.approx({name: pair[name] for name in row}, abs=1e-15)
    assert comparison.leaderboard["a lower"].equals(comparison.standings.set_index(["metric", "model"])["lower"]["a"])


def test_one_model_and_one_query():
    assert verdict_of(np.ones((40, 1)), np.ones((40, 1))).kind == "agree"
    verdict = verdict_of([[0.2, 0.4]], [[0.4, 0.2]])
    assert (verdict.kind, verdict.p_value, verdict.safe_regret_upper) == ("unresolved", 1.0, np.inf)
    assert verdict.to_dict()["safe_regret_upper"] is None
