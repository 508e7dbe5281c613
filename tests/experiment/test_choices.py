"""The tables of a result: choices on the validation set, losses on the test set with their intervals, the summary."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.experiment.helpers import METRICS, balanced_by_hand, predict, run

import gainsay as gs
from gainsay.data import RankingData
from gainsay.experiment import Candidate
from gainsay.experiment.choices import Choice, Choices, Loss, compute_paired_loss
from gainsay.experiment.trainings import CandidateTrainings, Training

TWO = [Candidate("a", "lightgbm"), Candidate("b", "xgboost")]


@pytest.fixture(scope="module")
def per_query(done, parts):
    """Return a function: values on the test set at the round that a metric or "balanced" chooses."""
    tables = {}
    for name in done.result.candidates:
        model = done.result.load_model(name, 12)
        for number in {*done.result.best_rounds.loc[name], balanced_by_hand(done.result.curves, name)}:
            values = gs.evaluate(METRICS, parts.test.judgments(), predict(model, parts.test, int(number)))
            tables[name, number] = pd.DataFrame(values.per_query, columns=list(METRICS))

    def of(name, stop_by):
        balanced = stop_by == "balanced"
        curves, best = done.result.curves, done.result.best_rounds
        return tables[name, balanced_by_hand(curves, name) if balanced else best.loc[name, stop_by]]

    return of


def best_on_validation(done, metric):
    best = done.result.curves[done.result.curves["metric"] == metric].groupby("candidate")["value"].max()
    return best.idxmax(), best.max()


class TestChosen:
    def test_candidate_round_and_values(self, done, per_query):
        for metric in METRICS:
            name, value = best_on_validation(done, metric)
            row = done.result.chosen.loc[metric]
            assert (row["candidate"], row["valid"]) == (name, value)
            assert row["rounds"] == (done.result.best_rounds.loc[name, metric],)
            expected = per_query(name, metric).mean()
            assert {other: row[f"test {other}"] for other in METRICS} == pytest.approx(expected.to_dict(), rel=1e-12)

    def test_of_equal_candidates_the_first_by_name(self, make):
        fold = Training("", np.array([[0.5], [0.4]]), {1: np.zeros((3, 1))}, np.ones(3), np.ones(1))
        measured = {"m10": CandidateTrainings([fold]), "m2": CandidateTrainings([fold])}
        assert Choices(make(metrics="mrr").plan, measured)._choices["mrr"] == Choice(("m2",), 0.5)


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
            assert_paired(row, per_query(name, judge)[judge], per_query(name, chooser)[judge])


def assert_paired(row, own, other):
    """Compare with SciPy's paired t-interval."""
    difference = (own - other).to_numpy()
    assert row["loss"] == pytest.approx(difference.mean(), abs=1e-15)
    if difference.any():
        interval = stats.ttest_rel(own, other).confidence_interval(0.95)
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
        assert found.loss == pytest.approx(repeated.mean())
        assert found.upper - found.loss > compute_paired_loss(repeated, np.ones(len(repeated)), 0.05).upper - found.loss

    def test_only_ratios_of_weights_matter(self):
        difference = np.array([0.1, -0.2, 0.3])
        first, second = (compute_paired_loss(difference, scale * np.ones(3), 0.1) for scale in (1, 1e9))
        assert (first.loss, first.lower) == pytest.approx((second.loss, second.lower), rel=1e-12)

    @pytest.mark.parametrize(
        ("difference", "weights", "expected"),
        [
            ([0.1, 0.5, 9.0], [1.0, 1.0, 0.0], compute_paired_loss(np.array([0.1, 0.5]), np.ones(2), 0.05)),
            ([0.0] * 5, [1.0] * 5, Loss(0, 0, 0)),
            ([0.5], [1.0], Loss(0.5, -np.inf, np.inf)),
            ([0.5, 0.1], [1.0, 1e-30], Loss(0.5, -np.inf, np.inf)),
        ],
        ids=["weight zero", "no difference", "one query", "one query outweighs all others"],
    )
    def test_edges(self, difference, weights, expected):
        assert compute_paired_loss(np.array(difference), np.array(weights), 0.05) == expected


class TestSkippedQueries:
    """What a metric skips is left out of this metric and of joint statements alone."""

    @pytest.fixture
    def test_set(self, parts):
        return replace(parts.test, labels=np.where(parts.test.qid < 4, 0, parts.test.labels))

    def test_counts(self, make, test_set):
        result = run(make(test=test_set, metrics=["ndcg_exp(empty=skip)@10", "ndcg_linear@10"], candidates=TWO))
        assert list(result.comparison.metric_queries.values()) == [25 - 4, 25]
        assert result.chosen.notna().all(axis=None)
        found = result.comparison.attribution("a", "b")
        assert (found.queries, found.left_out) == (25 - 4, 4)
        for metric in result.metrics:
            means = result.comparison.verdict.means[metric]
            assert found.difference[metric] == pytest.approx(means["a"] - means["b"], abs=1e-12)

    def test_other_metrics_keep_all_queries(self, make, test_set):
        metrics = ["ndcg_linear@10", "ndcg_exp@10"]
        one, two = (
            run(make(test=test_set, metrics=[*metrics, *more], candidates=TWO))
            for more in ([], ["ndcg_exp(empty=skip)@5"])
        )
        columns = [f"test {metric}" for metric in metrics]
        pd.testing.assert_frame_equal(two.chosen.loc[metrics, columns], one.chosen[columns])
        losses = [result.choice_loss.set_index(["metric", "chosen_by"]) for result in (one, two)]
        pd.testing.assert_frame_equal(losses[1].loc[losses[0].index], losses[0])


def test_summary_names_the_choices(done):
    text = done.result.summary()
    assert text.startswith(done.result.verdict.text)
    for metric in METRICS[:2]:
        row = done.result.chosen.loc[metric]
        winner = done.result.winners[metric]
        (number,) = done.result.compared.loc[winner, "rounds"]
        assert f"{row['candidate']} at its own best round {row['rounds'][0]} " in text
        assert f"{winner} at round {number} " in text
    assert "mrr" not in text.removeprefix(done.result.verdict.text)
    assert all(part in repr(done.result) for part in ("4 candidates", "25 queries", *METRICS))


def test_rows_in_any_order(make, parts):
    """The rows of a query need not be adjacent. The queries keep the order of their first appearance."""

    def scattered(data):
        rows = np.random.default_rng(0).permutation(len(data.labels))
        rows = np.concatenate([np.unique(data.qid, return_index=True)[1], rows])
        rows = rows[np.sort(np.unique(rows, return_index=True)[1])]
        return RankingData(data.features[rows], data.labels[rows], qid=data.query_ids[data.qid[rows]])

    result, expected = (run(make(candidates=TWO, test=test)) for test in (scattered(parts.test), parts.test))
    np.testing.assert_allclose(result.comparison.values["mrr"], expected.comparison.values["mrr"], rtol=1e-12)
