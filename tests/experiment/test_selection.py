"""Selection on the validation set, and losses on the test set with their intervals."""

import itertools
import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.experiment.helpers import METRICS, balanced_by_hand, predict, run

import gainwise as gw
from gainwise._common.text import as_text
from gainwise.data import RankingData
from gainwise.experiment import Candidate
from gainwise.experiment.result import ExperimentResult, compute_paired_loss
from gainwise.experiment.storage import Training

TWO = [Candidate("a", "lightgbm"), Candidate("b", "xgboost")]


@pytest.fixture(scope="module")
def per_query(done, parts):
    """Return a function: values on the test set at the round that a metric or "balanced" chooses."""
    tables = {}
    for name in done.result.candidates:
        model = done.result.load_model(name, 12)
        for number in {*done.result.best_rounds.loc[name], balanced_by_hand(done.result.curves, name)}:
            values = gw.evaluate(METRICS, parts.test.judgments(), predict(model, parts.test, int(number)))
            tables[name, number] = pd.DataFrame(values.per_query, columns=list(METRICS))

    def of(name, stop_by):
        balanced = stop_by == "balanced"
        curves, best = done.result.curves, done.result.best_rounds
        return tables[name, balanced_by_hand(curves, name) if balanced else best.loc[name, stop_by]]

    return of


def best_on_validation(done, metric):
    best = done.result.curves[done.result.curves["metric"] == metric].groupby("candidate")["value"].max()
    return best.idxmax(), best.max()


LOST = (gw.metric("lost_value", lambda *_: 0.0, higher_is_better=False), "mrr")


def select_by_hand(values):
    """Return the model with the smallest worst case. Ties are broken by name."""
    best = {metric: max(row[metric] for row in values.values()) for metric in METRICS[:2]}
    worst = {name: max(abs(best[metric] - row[metric]) for metric in best) for name, row in values.items()}
    return min(sorted(worst), key=worst.__getitem__)


class TestSelected:
    """The candidate is selected on the validation set by the rule that chooses rounds."""

    def test_smallest_larger_shortfall_at_the_compared_rounds(self, done):
        curves = done.result.curves[done.result.curves["compared"]]
        table = curves.pivot_table(index="candidate", columns="metric", values="value")
        values = {str(name): row for name, row in table.to_dict("index").items()}
        assert done.result.selected == select_by_hand(values)
        for name, row in done.result.compared.iterrows():
            assert {metric: row[f"valid {metric}"] for metric in METRICS} == values[name]

    @pytest.mark.parametrize(
        ("curves", "metrics", "expected"),
        [
            ({"a": (0.50, 0.20), "b": (0.45, 0.26), "c": (0.30, 0.30)}, METRICS[:2], "b"),
            ({"m10": (0.5, 0.5), "m2": (0.5, 0.5)}, METRICS[:2], "m2"),
            ({"a": (0.4,), "b": (0.6,)}, METRICS[:1], "b"),
            ({"a": (0.9, 0.4), "b": (0.8, 0.1)}, LOST, "a"),
        ],
        ids=["balanced", "equal", "one metric", "loss"],
    )
    def test_rule(self, make, curves, metrics, expected):
        trainings = {}
        for name, row in curves.items():
            arrays = {"rounds": np.array([1]), "test": np.zeros((1, 3, len(row))), "weights": np.ones(3)}
            trainings[name] = [[Training(fold="", curves=np.array([row]), valid_weight=np.ones(len(row)), **arrays)]]
        assert ExperimentResult(make(metrics=metrics).plan, trainings).selected == expected

    def test_test_set_does_not_matter(self, done, make, parts):
        turned = RankingData(parts.test.features, parts.test.labels[::-1], qid=parts.test.qid)
        assert run(make(test=turned)).selected == done.result.selected

    def test_summary_and_json_begin_with_it(self, done):
        result = done.result
        said = result.comparison.content.names.labels[result.selected]
        headline, _, advice = result.summary().partition("\n")[0].partition(". ")
        assert headline == "No choice yet: The sample has 25 queries, and a decision requires 30"
        assert f"Selected on the validation set: {said}." in advice
        assert str(result).splitlines() == [f"{headline}.", f"{advice}", repr(result)]
        assert json.loads(result.comparison.to_json())["selected"] == result.selected
        (starred,) = [row for row in result.comparison.content.chart.rows if row.starred]
        assert starred.model == result.selected

    def test_the_comparison_has_the_number_of_candidates(self, done):
        assert done.result.comparison.searched == len(done.result.plan.candidates) == len(done.result.candidates)

    @pytest.mark.parametrize("lead", [0.0, 0.05], ids=["unresolved", "agree"])
    @pytest.mark.parametrize("metrics", [METRICS[:2], METRICS[:1]], ids=["two metrics", "one metric"])
    @pytest.mark.parametrize("selected", ["A", "C"])
    def test_report_states_the_bound_and_what_the_test_set_favors(self, selected, metrics, lead):
        rng = np.random.default_rng(8)
        tables = {metric: rng.uniform(0.4, 0.6, (400, 3)) + np.array([lead, 0, 0]) for metric in metrics}
        comparison = gw.Comparison(tables, ["A", "B", "C"], selected=selected, draws=1000)
        table = comparison.standings.groupby("model")["regret_upper"].max()
        if len(metrics) == 2:
            table = {name: max(bounds[name] for bounds in comparison.verdict.regrets_upper.values()) for name in "ABC"}
        favored = comparison.verdict.safe_choice if len(metrics) == 2 else comparison.winners[metrics[0]]
        chart = comparison.content.chart
        (starred,) = [row.model for row in chart.rows if row.starred]
        assert starred == selected
        headline, advice = as_text(chart.headline), as_text(chart.advice)
        if not lead:
            stated = re.match(rf"Selected on the validation set: {selected}, at worst (0\.\d+)", headline)[1]
            assert table[selected] <= float(stated) < table[selected] + 0.001
        elif selected == "A":
            assert headline.startswith("★ Choose A, selected on the validation set: it is also the best of 3")
        else:
            stated = re.match(r"The test set rules out C, .* at least (0\.\d+) behind", headline)[1]
            assert 0 < float(stated) <= 0.05
        means = [dict(zip("ABC", tables[metric].mean(axis=0), strict=True)) for metric in metrics]
        is_ahead = favored != selected and all(mean[favored] > mean[selected] for mean in means)
        assert (f"The test set favors {favored}." in advice) == is_ahead
        assert ("smaller worst case" in advice) == (favored != selected and not is_ahead)
        assert ("a new one" in advice) == (lead > 0 and selected == "C")
        assert headline in re.sub("<[^>]+>", "", comparison._repr_html_())


class TestLosses:
    def test_of_choosing_by_another_metric(self, done, per_query):
        rows = done.result.choice_loss.set_index(["metric", "chosen_by"])
        assert list(rows.index) == list(itertools.permutations(METRICS, 2))
        for judge, chooser in rows.index:
            own, other = best_on_validation(done, judge)[0], best_on_validation(done, chooser)[0]
            row = rows.loc[(judge, chooser)]
            assert (row["candidate"], row["other"]) == (own, other)
            assert_paired(row, per_query(own, judge)[judge], per_query(other, chooser)[judge])

    def test_of_stopping_by_another_metric(self, done, per_query):
        rows = done.result.stopping_loss.set_index(["candidate", "metric", "stopped_by"])
        assert len(rows) == 4 * 3 * 3
        assert (rows["loss"] != 0).any()
        for name, judge, chooser in rows.index:
            row = rows.loc[(name, judge, chooser)]
            # The intervals of the four candidates are simultaneous.
            assert_paired(row, per_query(name, judge)[judge], per_query(name, chooser)[judge], 1 - 0.05 / 4)


def assert_paired(row, own, other, level=0.95):
    """Compare with SciPy's paired t-interval."""
    difference = (own - other).to_numpy()
    assert row["loss"] == pytest.approx(difference.mean(), abs=1e-15)
    if difference.any():
        interval = stats.ttest_rel(own, other).confidence_interval(level)
        assert (row["lower"], row["upper"]) == pytest.approx((interval.low, interval.high), abs=1e-12)
    else:
        assert (row["lower"], row["upper"]) == (0, 0)


class TestPairedLoss:
    def test_weight_of_two_counts_nearly_as_two_queries(self):
        """The ratio of sums is the mean of the repeated sample. Its error is larger: a repeated query is one query."""
        rng = np.random.default_rng(1)
        difference, weights = rng.normal(size=50), rng.integers(1, 3, 50).astype(float)
        repeated = np.repeat(difference, weights.astype(int))
        found = compute_paired_loss(difference, weights, 0.05)
        assert found[0] == pytest.approx(repeated.mean())
        assert found[2] - found[0] > compute_paired_loss(repeated, np.ones(len(repeated)), 0.05)[2] - found[0]

    def test_the_variance_between_repeats_is_added(self):
        """If only repeats have effects, it is the t-interval of the means of the repeats."""
        effects = np.array([0.1, 0.4, 0.2])
        interval = stats.ttest_1samp(effects, 0).confidence_interval(0.95)
        found = compute_paired_loss(np.tile(effects, (50, 1)), np.ones(50), 0.05)
        assert found == pytest.approx((effects.mean(), interval.low, interval.high))
        queries = np.random.default_rng(2).normal(size=(50, 1))  # equal in all repeats
        assert compute_paired_loss(np.tile(queries, 3), np.ones(50), 0.05) == pytest.approx(
            compute_paired_loss(queries[:, 0], np.ones(50), 0.05)
        )

    @pytest.mark.parametrize(
        ("difference", "weights", "expected"),
        [
            ([0.1, 0.5, 9.0], [1.0, 1.0, 0.0], compute_paired_loss(np.array([0.1, 0.5]), np.ones(2), 0.05)),
            ([0.0] * 5, [1.0] * 5, (0, 0, 0)),
            ([0.5], [1.0], (0.5, -np.inf, np.inf)),
            ([0.5, 0.1], [1.0, 1e-30], (0.5, -np.inf, np.inf)),
        ],
        ids=["weight zero", "no difference", "one query", "one query outweighs all others"],
    )
    def test_edges(self, difference, weights, expected):
        assert compute_paired_loss(np.array(difference), np.array(weights), 0.05) == expected


def test_rows_in_any_order(make, parts):
    """The rows of a query need not be adjacent. The queries keep the order of their first appearance."""

    def scattered(data):
        rows = np.random.default_rng(0).permutation(len(data.labels))
        rows = np.concatenate([np.unique(data.qid, return_index=True)[1], rows])
        rows = rows[np.sort(np.unique(rows, return_index=True)[1])]
        return RankingData(data.features[rows], data.labels[rows], qid=data.query_ids[data.qid[rows]])

    result, expected = (run(make(candidates=TWO, test=test)) for test in (scattered(parts.test), parts.test))
    np.testing.assert_allclose(result.comparison.values["mrr"], expected.comparison.values["mrr"], rtol=1e-12)
