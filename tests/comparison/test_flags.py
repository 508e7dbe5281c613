"""The flags of a verdict, at their limits."""

import numpy as np
import pytest
from scipy import stats
from tests.comparison.populations import panel_of, runs_of
from tests.comparison.tables import verdict_of

import gainwise as gw
from gainwise.comparison.flags import find_outlying_repeats


def flags_of(first, second, **options):
    """Return the flags by code."""
    return {flag.code: flag for flag in verdict_of(first, second, draws=200, **options).flags}


def distinct(queries, models, seed=0):
    """Return values of models that differ on every query and on average."""
    return np.random.default_rng(seed).random((queries, models)) + np.arange(models)


@pytest.mark.parametrize(("equal", "expected"), [(100, False), (101, True), (200, True)])
def test_queries_with_equal_labels(equal, expected):
    labels = np.where(np.arange(200) < equal, 1, 0).repeat(2)
    labels[::2] = 1
    scores = {"a": np.tile([1.0, 0.0], 200), "b": np.tile([0.0, 1.0], 200)}
    verdict = gw.compare(scores, gw.Judgments(labels, group=[2] * 200), draws=200).verdict
    assert ("equal labels" in [flag.code for flag in verdict.flags]) is expected
    assert ("cannot distinguish models" in verdict.text) is (equal == 200)


def test_equal_labels_of_other_documents():
    runs = {"all": {"q": {"a": 2.0, "b": 1.0}}, "half": {"q": {"a": 1.0}}}
    verdict = gw.compare_runs(runs, {"q": {"a": 1, "b": 1}}, draws=200).verdict
    assert "equal labels" not in [flag.code for flag in verdict.flags]


@pytest.mark.parametrize(
    ("weights", "numbers"),
    [
        # Of n weights, c of them 1 and the others near 0, there are c − 1 degrees of freedom.
        (np.where(np.arange(200) < 99, 1.0, 1e-9), ["99", "200"]),
        (np.where(np.arange(200) < 101, 1.0, 1e-9), None),
        (np.r_[0.15, np.full(49, 0.85 / 49)], ["50"]),
    ],
)
def test_uneven_weights(weights, numbers):
    queries = len(weights)
    flag = flags_of(distinct(queries, 2), distinct(queries, 2, seed=1), weights=weights).get("uneven weights")
    assert (flag is None) == (numbers is None)
    assert all(number in flag.message for number in numbers or [])


def test_tied_winners_are_named_for_the_metric_they_tie_under():
    one = distinct(40, 3)
    one[:, 1] = one[::-1, 2]
    options = {"models": ["a", "b", "c"], "names": ["x", "y"]}
    tied = flags_of(one, distinct(40, 3, seed=1), **options)["tied winners"]
    assert (tied.models, "mean x" in tied.message) == (("b", "c"), True)
    lowest = flags_of(-one, distinct(40, 3, seed=1), **options, losses=["x"])["tied winners"]
    assert (lowest.models, "lowest mean x" in lowest.message) == (("b", "c"), True)


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        (["precision@5", "dcg_linear@10"], "precision@5 and dcg_linear@10 have different units. "),
        (["dcg_exp@10", "map"], "dcg_exp@10 and map have different units. "),
        (["dcg_exp@10", "dcg_linear@10"], None),
        (["ndcg_exp@10", "map"], None),
    ],
)
def test_an_amount_and_a_share_have_different_units(metrics, expected):
    labels, scores = np.random.default_rng(0).integers(0, 4, (2, 400))
    comparison = gw.compare({"a": scores, "b": scores[::-1]}, gw.Judgments(labels, group=[10] * 40), metrics, draws=200)
    messages = [flag.message for flag in comparison.verdict.flags if flag.code == "units"]
    assert messages == ([f"{expected}For a common one, compare ndcg_linear."] if expected else [])


@pytest.mark.parametrize("models", [2, 3, 4, 60])
def test_pairs_that_never_differ(models):
    same = np.repeat(distinct(40, 1), models, axis=1)
    flag = flags_of(same, same)["identical models"]
    assert flag.models == tuple(f"model {number}" for number in range(1, models + 1))
    assert flag.pairs == tuple((a, b) for at, a in enumerate(flag.models) for b in flag.models[at + 1 :])
    assert ("1,770 of 1,770 pairs" in flag.message) == (models == 60)
    assert "7.2 %" in flag.message  # 0.928 ** 40 = 0.05
    assert ("model 1 and model 2" in flag.message) == (models < 4)
    assert ("6 of 6" in flag.message) == (models == 4)


@pytest.mark.parametrize(
    ("differing", "code"),
    [(0, "ignored pairs"), (29, "ignored pairs"), (30, "thin pairs"), (99, "thin pairs"), (100, None)],
)
def test_pairs_that_differ_on_few_queries_under_one_metric(differing, code):
    first = np.zeros((150, 2))
    first[:differing, 1] = np.random.default_rng(0).random(differing) + 0.1
    found = flags_of(first, distinct(150, 2), models=["a", "b"])
    about_pairs = [(flag.code, flag.pairs) for flag in found.values() if flag.code.endswith(("pairs", "models"))]
    assert about_pairs == ([] if code is None else [(code, (("a", "b"),))])


@pytest.mark.parametrize(("others", "number"), [(0, 30), (7, 30), (50, 100)])
def test_pairs_that_differ_by_the_same_amount_are_not_said_to_differ_on_few_queries(others, number):
    queries = 2000
    values = distinct(queries, 2)
    values[:, 1] = values[:, 0] + 0.25
    values[:others, 1] = 0
    found = flags_of(values, distinct(queries, 2), models=["a", "b"])
    (flag,) = [flag for flag in found.values() if flag.code.endswith("pairs") and flag.code != "lopsided pairs"]
    assert f"a and b differ by the same amount on all but fewer than {number} queries under" in flag.message
    single = flags_of(values[-1:], values[-1:], models=["a", "b"])["ignored pairs"]
    assert "a and b differ on fewer than 30 queries under" in single.message


class TestLopsidedPairs:
    """One model is much better on few queries, and slightly worse on all others."""

    def values(self, queries, share, seed=0):
        rng = np.random.default_rng(seed)
        base = rng.uniform(0.2, 0.8, (queries, 1))
        difference = np.where(np.arange(queries)[:, None] < share * queries, -0.5, 0.5 * share / (1 - share))
        return np.hstack([base, base + difference + 1e-4 * rng.normal(size=(queries, 1))])

    @pytest.mark.parametrize(
        ("queries", "share", "flagged"), [(200, 0.03, True), (200, 0.3, False), (3000, 0.03, False)]
    )
    def test_are_flagged(self, queries, share, flagged):
        found = flags_of(self.values(queries, share), distinct(queries, 2), models=["a", "b"])
        assert ("lopsided pairs" in found) == flagged
        assert not flagged or found["lopsided pairs"].pairs == (("a", "b"),)


class TestOutlyingRepeats:
    def test_a_failed_training_is_flagged_and_a_healthy_one_is_not(self):
        runs = runs_of(counts=(5, 5, 5, 0))
        assert find_outlying_repeats(panel_of(runs)) == []
        for table in runs.values():
            table[1][:, 3] -= 0.5
        assert find_outlying_repeats(panel_of(runs)) == [("model 2", 4)]
        flag = flags_of(*runs.values())["outlying repeats"]
        assert (flag.models, "repeat 4 of model 2" in flag.message) == (("model 2",), True)

    @pytest.mark.parametrize("spreads", [(1.0, 1.0), (0.02, 1.0)])
    def test_healthy_repeats_are_rarely_flagged_whatever_their_variances(self, spreads):
        rng, found, samples = np.random.default_rng(0), 0, 1000
        for _ in range(samples):
            values = {name: [np.tile(rng.normal(0, spread, 5), (2, 1)) for spread in spreads] for name in "xy"}
            found += bool(find_outlying_repeats(panel_of(values)))
        assert found <= stats.binom.ppf(0.999, samples, 0.01)

    def test_the_limit_is_that_of_externally_studentized_residuals(self):
        x = np.array([0.0, 0.1, -0.1, 0.2, 0.0])
        others = x[:4]
        error = others.std(ddof=1) * np.sqrt(1 + 1 / 4)
        for factor, flagged in ((0.99, False), (1.01, True)):
            x[4] = others.mean() + factor * stats.t.isf(0.01 / 2 / 5, 3) * error
            assert (find_outlying_repeats(panel_of({"x": [np.tile(x, (2, 1))]})) == [("model 1", 5)]) == flagged

    def test_repeats_without_variation_are_not_flagged(self):
        runs = runs_of(counts=(3, 3))
        for table in runs.values():
            table[0] = np.repeat(table[0][:, :1], 3, axis=1)
        assert find_outlying_repeats(panel_of(runs)) == []


@pytest.mark.parametrize(("queries", "flagged"), [(1, True), (29, True), (30, False)])
def test_few_queries_are_less_than_thirty(queries, flagged):
    flag = flags_of(distinct(queries, 2), distinct(queries, 2, seed=1)).get("few queries")
    assert (flag is not None) == flagged
    assert not flagged or f"{queries} quer" in flag.message
