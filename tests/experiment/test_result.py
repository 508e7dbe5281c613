"""What is read off the values: choices on valid, losses on test with their intervals, words."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy import stats

import gainsay as gs
from gainsay.data import RankingData
from gainsay.experiment import Candidate
from gainsay.experiment.choices import Choice, Choices, Loss, paired_loss
from gainsay.experiment.trainings import CandidateTrainings, Training
from gainsay.experiment.wording import _costs


def per_query(done, parts, metrics, name, chooser, balanced=None):
    """Values of all metrics on test at the round that `chooser` chose."""
    if chooser == "balanced":
        return at_round(done, parts, metrics, name, balanced(done.result.curves, name))
    return at_round(done, parts, metrics, name, int(done.result.best_rounds.loc[name, chooser]))


@cache
def at_round(done, parts, metrics, name, best):
    """Values of all metrics on test, from the stored model with all its rounds."""
    booster = done.result.load_model(name, 12)
    if name.startswith("lgb"):
        scores = booster.predict(parts.test.features, num_iteration=best, num_threads=1)
    else:
        booster.set_param({"nthread": 1})
        scores = booster.predict(xgb.DMatrix(parts.test.features, nthread=1), iteration_range=(0, best))
    return pd.DataFrame(gs.evaluate(metrics, parts.test.judgments(), scores).per_query, columns=list(metrics))


def chosen_by(done, metric):
    """The candidate with the largest value on valid."""
    best = done.result.curves[done.result.curves["metric"] == metric].groupby("candidate")["value"].max()
    return best.idxmax(), best.max()


class TestChosen:
    def test_candidate_round_and_values(self, done, parts, metrics):
        for metric in metrics:
            name, value = chosen_by(done, metric)
            row = done.result.chosen.loc[metric]
            assert (row["candidate"], row["valid"]) == (name, value)
            assert row["rounds"] == (done.result.best_rounds.loc[name, metric],)
            expected = per_query(done, parts, metrics, name, metric).mean()
            assert {other: row[f"test {other}"] for other in metrics} == pytest.approx(expected.to_dict(), rel=1e-12)

    def test_of_equal_ones_the_first_by_name(self, make):
        curves = np.array([[0.5], [0.4]])
        fold = Training("", curves, {1: np.zeros((3, 1))}, np.ones(3), np.ones(1))
        measured = {"m10": CandidateTrainings([fold]), "m2": CandidateTrainings([fold])}
        assert Choices(make(metrics="mrr").plan, measured)._choices["mrr"] == Choice(("m2",), 0.5)


class TestLosses:
    def test_of_choosing_by_another_metric(self, done, parts, metrics):
        rows = done.result.choice_loss.set_index(["metric", "chosen_by"])
        assert list(rows.index) == list(itertools.permutations(metrics, 2))
        for judge, chooser in rows.index:
            own, other = chosen_by(done, judge)[0], chosen_by(done, chooser)[0]
            row = rows.loc[(judge, chooser)]
            assert (row["candidate"], row["other"]) == (own, other)
            check(
                row,
                per_query(done, parts, metrics, own, judge)[judge],
                per_query(done, parts, metrics, other, chooser)[judge],
            )

    def test_of_stopping_by_another_metric(self, done, parts, metrics, balanced):
        rows = done.result.stopping_loss.set_index(["candidate", "metric", "stopped_by"])
        assert len(rows) == 4 * 3 * 3
        for name, judge, chooser in rows.index:
            check(
                rows.loc[(name, judge, chooser)],
                per_query(done, parts, metrics, name, judge)[judge],
                per_query(done, parts, metrics, name, chooser, balanced)[judge],
            )

    def test_some_are_not_zero(self, done):
        assert (done.result.stopping_loss["loss"] != 0).any()
        choices = done.result.choice_loss
        differ = choices["candidate"] != choices["other"]  # whether any do depends on the libraries' versions
        assert (choices["loss"][differ] != 0).any() or not differ.any()


def check(row, own, other):
    """Against SciPy's paired t-interval."""
    expected = stats.ttest_rel(own, other)
    difference = (own - other).to_numpy()
    assert row["loss"] == pytest.approx(difference.mean(), abs=1e-15)
    if difference.any():
        interval = expected.confidence_interval(0.95)
        assert (row["lower"], row["upper"]) == pytest.approx((interval.low, interval.high), abs=1e-12)
    else:
        assert (row["lower"], row["upper"]) == (0, 0)


class TestPairedLoss:
    def test_weights_of_two_count_nearly_as_two_queries(self):
        """The ratio of sums is the mean of the repeated sample, and its error larger: a query repeated is one query."""
        rng = np.random.default_rng(1)
        difference, weights = rng.normal(size=50), rng.integers(1, 3, 50).astype(float)
        repeated = np.repeat(difference, weights.astype(int))
        found = paired_loss(difference, weights, 0.05)
        assert found.loss == pytest.approx(repeated.mean())
        assert found.upper - found.loss > paired_loss(repeated, np.ones(len(repeated)), 0.05).upper - found.loss

    def test_only_ratios_of_weights_matter(self):
        difference = np.array([0.1, -0.2, 0.3])
        first, second = (paired_loss(difference, scale * np.ones(3), 0.1) for scale in (1, 1e9))
        assert (first.loss, first.lower) == pytest.approx((second.loss, second.lower), rel=1e-12)

    def test_queries_of_weight_zero_do_not_count(self):
        some = paired_loss(np.array([0.1, 0.5, 9.0]), np.array([1.0, 1.0, 0.0]), 0.05)
        assert some == paired_loss(np.array([0.1, 0.5]), np.ones(2), 0.05)

    def test_no_difference(self):
        assert paired_loss(np.zeros(5), np.ones(5), 0.05) == Loss(0, 0, 0)

    def test_one_query_says_nothing(self):
        assert paired_loss(np.array([0.5]), np.ones(1), 0.05) == Loss(0.5, -np.inf, np.inf)

    def test_nor_does_one_that_outweighs_all_others(self):
        found = paired_loss(np.array([0.5, 0.1]), np.array([1.0, 1e-30]), 0.05)
        assert found == Loss(0.5, -np.inf, np.inf)


class TestComparison:
    def test_every_metric_at_the_balanced_round(self, done, parts, metrics, balanced):
        for name in done.result.candidates:
            expected = per_query(done, parts, metrics, name, "balanced", balanced)
            assert done.result.compared.loc[name, "rounds"] == (balanced(done.result.curves, name),)
            for metric in metrics:
                assert done.result.leaderboard.loc[name, metric] == pytest.approx(expected[metric].mean(), rel=1e-12)

    def test_delegates(self, done):
        result = done.result
        assert result.verdict is result.comparison.verdict
        assert result.leaderboard is result.comparison.leaderboard
        assert result.pairs is result.comparison.pairs
        assert result.winners == result.comparison.winners

    def test_queries_that_a_metric_skips_are_left_out_of_it_alone(self, make, parts):
        metrics = ["ndcg_exp(empty=skip)@10", "mrr"]
        empty = parts.test.labels.copy()
        empty[parts.test.qid < 4] = 0
        result = make(
            test=replace(parts.test, labels=empty), metrics=metrics, candidates=[Candidate("a", "lightgbm")]
        ).run(progress=False)
        assert result.comparison.metric_queries == {metrics[0]: 25 - 4, "mrr": 25}
        assert result.chosen.notna().all(axis=None)

    def test_a_metric_that_skips_none_keeps_all_queries(self, make, parts):
        """What is chosen, and what it costs, is on each metric's own queries, whatever another one skips."""
        empty = parts.test.labels.copy()
        empty[parts.test.qid < 4] = 0
        test = replace(parts.test, labels=empty)
        only = [Candidate("a", "lightgbm"), Candidate("b", "xgboost")]
        one = make(test=test, metrics=["ndcg_linear@10", "ndcg_exp@10"], candidates=only).run(progress=False)
        with_skip = ["ndcg_linear@10", "ndcg_exp@10", "ndcg_exp(empty=skip)@5"]
        two = make(test=test, metrics=with_skip, candidates=only).run(progress=False)
        for metric in one.metrics:
            for other in one.metrics:
                assert two.chosen.loc[metric, f"test {other}"] == one.chosen.loc[metric, f"test {other}"]
        names = ["metric", "chosen_by"]
        pd.testing.assert_frame_equal(
            two.choice_loss.set_index(names).loc[one.choice_loss.set_index(names).index],
            one.choice_loss.set_index(names),
        )

    def test_one_metric(self, make):
        result = make(metrics="mrr", candidates=[Candidate("a", "lightgbm")]).run(progress=False)
        assert result.choice_loss.empty
        assert "Best on test by mrr: a" in result.summary()

    def test_primary(self, make, metrics):
        result = make(primary=("mrr", "ndcg_exp@10"), candidates=[Candidate("a", "lightgbm")]).run(progress=False)
        assert result.verdict.metrics == ("mrr", "ndcg_exp@10")


class TestWords:
    def test_say_what_the_frames_hold(self, done, metrics):
        text = done.result.summary()
        assert text.startswith(done.result.verdict.text)
        for metric in metrics[:2]:
            row = done.result.chosen.loc[metric]
            own = f"{row['candidate']} at its own best round {row['rounds'][0]} "
            assert f"Chosen on valid by {metric} alone: {own}" in text
            name = done.result.winners[metric]
            (number,) = done.result.compared.loc[name, "rounds"]
            assert f"Best on test by {metric}: {name} at round {number} " in text
        assert "Each candidate is compared at one round" in text
        assert "mrr" not in text.removeprefix(done.result.verdict.text)

    def test_a_loss_may_be_a_gain(self, done):
        assert [_costs(done.result, "mrr", loss) for loss in (0.00126, -0.2, 0.00001, -0.00001)] == [
            "costs 0.0013 of",
            "gains 0.2000 of",
            "costs nothing of",
            "costs nothing of",
        ]

    def test_repr(self, done):
        assert repr(done.result) == (
            "ExperimentResult(4 candidates, 25 queries, metrics ndcg_linear@10, ndcg_exp@10, mrr)"
        )


class TestLoadModel:
    def test_unknown(self, done):
        with pytest.raises(KeyError, match="no model of candidate 'lgbm'"):
            done.result.load_model("lgbm")

    def test_not_kept(self, make):
        result = make(candidates=[Candidate("a", "lightgbm")], num_boost_round=2).run(progress=False)
        with pytest.raises(ValueError, match="the models were not kept: give the experiment a directory"):
            result.load_model("a")


class TestArguments:
    @pytest.mark.parametrize(
        ("changes", "error", "message"),
        [
            ({"valid": None}, ValueError, "valid missing: give train, valid and test, or folds"),
            ({"metrics": "ndcg@10"}, ValueError, "does not say which NDCG"),
            ({"primary": ["mrr"]}, ValueError, "primary must name two different metrics: got"),
            ({"primary": ["mrr", "map"]}, ValueError, "primary names 'map', which is not among"),
            ({"alpha": 0.7}, ValueError, "alpha must lie between"),
            ({"rope": -1}, ValueError, "rope must be"),
            ({"draws": 3}, ValueError, "draws must be at least"),
            ({"seed": -1}, ValueError, "seed must be a whole number of at least 0"),
            ({"num_boost_round": 0}, ValueError, "num_boost_round must be a whole number of at least 1"),
            ({"threads": 0}, ValueError, "threads must be a whole number of at least 1"),
            ({"candidates": []}, ValueError, "candidates is empty"),
            ({"test": np.zeros(3)}, TypeError, "test must be RankingData, got ndarray"),
        ],
    )
    def test_refuses(self, make, changes, error, message):
        with pytest.raises(error, match=message):
            make(**changes)

    def test_features_that_do_not_fit(self, make, parts):
        narrow = replace(parts.test, features=parts.test.features[:, :3])
        with pytest.raises(ValueError, match="test has 3 features, but train has 30"):
            make(test=narrow)

    def test_labels_that_do_not_suit_a_metric_are_seen_before_training(self, make):
        with pytest.raises(ValueError, match=r"valid: .*max_label"):
            make(metrics="err(max_label=2,ties=order)")

    def test_choosing_on_test_data_is_warned_of(self, make, parts):
        with pytest.warns(UserWarning, match="valid and test are the same data"):
            make(valid=parts.test)

    def test_rows_in_any_order(self, make, parts):
        """The rows of a query need not stand together; the queries keep their order of first appearance."""

        def scattered(data):
            rows = np.random.default_rng(0).permutation(len(data.labels))
            rows = np.concatenate([np.unique(data.qid, return_index=True)[1], rows])
            rows = rows[np.sort(np.unique(rows, return_index=True)[1])]
            return RankingData(data.features[rows], data.labels[rows], qid=data.query_ids[data.qid[rows]])

        only = [Candidate("a", "lightgbm"), Candidate("b", "xgboost")]
        result = make(candidates=only, test=scattered(parts.test)).run(progress=False)
        expected = make(candidates=only).run(progress=False)
        np.testing.assert_allclose(result.comparison.values["mrr"], expected.comparison.values["mrr"], rtol=1e-12)
