"""Experiments train the requested models, and store curves and values that agree with the stored model."""

import itertools
from dataclasses import replace

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from tests.experiment.helpers import METRICS, balanced_by_hand, folder_of, predict, run, trees

import gainwise as gw
from gainwise.experiment import Candidate
from gainwise.experiment.execution import RoundWatch

COMMON = {"seed": 3, "num_threads": 1, "deterministic": True, "force_row_wise": True, "metric": "None", "verbosity": -1}


def train_lightgbm(parts, gains, rounds):
    params = {"objective": "lambdarank", "label_gain": gains, "num_leaves": 7, **COMMON}
    return lgb.train(params, lgb.Dataset(parts.train.features, parts.train.labels, group=parts.train.group), rounds)


def train_xgboost(parts, labels, rounds, **params):
    params = {"objective": "rank:ndcg", "max_depth": 3, "seed": 3, "nthread": 1, **params}
    return xgb.train(params, xgb.DMatrix(parts.train.features, labels, qid=parts.train.qid), rounds)


@pytest.mark.parametrize("library", ["lgb", "xgb"])
@pytest.mark.parametrize("gain", ["linear", "exponential"])
class TestStoredModel:
    def test_curves_best_rounds_and_archive(self, done, parts, library, gain):
        name = f"{library} gain={gain}"
        folder = folder_of(done.directory, name)
        if library == "lgb":
            booster = lgb.Booster(model_file=folder / "all-rounds.txt")
        else:
            booster = xgb.Booster({"nthread": 1}, model_file=folder / "all-rounds.ubj")
        judgments = parts.valid.judgments()
        expected = [gw.evaluate(METRICS, judgments, predict(booster, parts.valid, n)).mean for n in range(1, 13)]
        curves = done.result.curves.query("candidate == @name")
        for metric in METRICS:
            curve = curves[curves["metric"] == metric].sort_values("round")
            exact = [values[metric] for values in expected]  # The last bit depends on how sums are divided.
            assert curve["round"].tolist() == list(range(1, 13))
            assert curve["value"].tolist() == pytest.approx(exact, rel=0, abs=1e-15)
            assert done.result.best_rounds.loc[name, metric] == 1 + np.argmax(exact)
        arrays = np.load(folder / "arrays.npz", allow_pickle=False)
        assert arrays["curves"].shape == (12, len(METRICS))
        assert arrays["test"].shape == (len(arrays["rounds"]), len(arrays["query_ids"]), len(METRICS))
        pairs = {balanced_by_hand(curves, name, pair) for pair in itertools.combinations(METRICS, 2)}
        assert set(arrays["rounds"].tolist()) == set(done.result.best_rounds.loc[name]) | pairs
        again = done.result.load_model(name, 12)
        assert type(again) is type(booster)
        np.testing.assert_array_equal(predict(again, parts.test), predict(booster, parts.test))

    def test_trees_are_those_of_the_library(self, done, parts, library, gain):
        """The gains of the labels 0 to 4 are arithmetic: the label, or 2 to its power minus 1."""
        model = done.result.load_model(f"{library} gain={gain}", 12)
        if library == "lgb":
            direct = train_lightgbm(parts, {"linear": [0, 1, 2, 3, 4], "exponential": [0, 1, 3, 7, 15]}[gain], 12)
        else:
            options = {"ndcg_exp_gain": gain == "exponential", "subsample": 0.8, "disable_default_eval_metric": True}
            direct = train_xgboost(parts, parts.train.labels, 12, **options)
        assert trees(model) == trees(direct)
        other = {"linear": "exponential", "exponential": "linear"}[gain]
        assert trees(model) != trees(done.result.load_model(f"{library} gain={other}", 12))


class TestGains:
    def test_base_between_linear_and_exponential(self, make, parts, tmp_path):
        """LightGBM uses its own table, XGBoost its linear gain of labels that are the gains; (1.5^l - 1) / 0.5."""
        candidates = [
            Candidate("a", "lightgbm", {"num_leaves": 7}, 1.5),
            Candidate("b", "xgboost", {"max_depth": 3}, 1.5),
        ]
        result = run(make(tmp_path, candidates=candidates, num_boost_round=4))
        table = [0, 1, 2.5, 4.75, 8.125]
        worth = np.array(table)[parts.train.labels.astype(int)]
        direct = {"a": train_lightgbm(parts, table, 4), "b": train_xgboost(parts, worth, 4, ndcg_exp_gain=False)}
        for name, model in direct.items():
            scores = predict(model, parts.test, int(result.compared.loc[name, "rounds"][0]))
            np.testing.assert_array_equal(predict(result.load_model(name), parts.test), scores)
            means = gw.evaluate(METRICS, parts.test.judgments(), scores).mean
            assert result.leaderboard.loc[name, list(means)].to_dict() == pytest.approx(means, rel=1e-12)

    def test_settings_of_histograms_and_filters_are_those_of_the_candidate(self, make):
        params = {"num_leaves": 4, "force_col_wise": True, "feature_pre_filter": False, "min_data_in_leaf": 2}
        text = run(make(candidates=[Candidate("a", "lightgbm", params)])).load_model("a").model_to_string()
        settings = ("force_col_wise: 1", "force_row_wise: 0", "feature_pre_filter: 0", "min_data_in_leaf: 2")
        assert all(f"[{setting}]" in text for setting in settings)

    def test_table_is_as_long_as_the_labels_need(self, make, parts):
        high = {name: replace(part, labels=part.labels * 10) for name, part in parts._asdict().items()}
        candidate = Candidate("a", "lightgbm", training_gain="linear")
        assert not run(make(candidates=[candidate], num_boost_round=2, **high)).failures


class TestWeights:
    def test_reach_training_and_evaluation(self, make, parts, tmp_path):
        """Weights of documents mean the same as weights of queries."""

        def weighted(part, per_document):
            weight = np.random.default_rng(len(part.labels)).uniform(0.5, 2, len(part.query_ids)).round(3)
            return replace(part, weight=weight[part.qid] if per_document else weight)

        values = []
        for per_document in (False, True):
            changed = {name: weighted(part, per_document) for name, part in parts._asdict().items()}
            values.append(run(make(tmp_path / str(per_document), **changed, num_boost_round=4)))
        first, second = values
        np.testing.assert_allclose(first.curves["value"], second.curves["value"], rtol=1e-6)
        np.testing.assert_allclose(first.comparison.rankings.query_weights, changed["test"].judgments().weights)
        model, valid = first.load_model("xgb gain=linear", 4), changed["valid"]
        expected = gw.evaluate(METRICS, valid.judgments(), predict(model, valid)).mean
        last = first.curves.query("candidate == 'xgb gain=linear' and round == 4").set_index("metric")["value"]
        assert last.to_dict() == pytest.approx(expected, rel=1e-12)

    def test_are_ignored_by_metrics_that_ignore_them(self, make, parts):
        weight = np.random.default_rng(1).uniform(0.5, 2, len(parts.test.query_ids))
        about = {"candidates": [Candidate("a", "lightgbm", {"num_leaves": 7})], "num_boost_round": 3}
        metrics = ["ndcg_linear(weights=ignore)@10", "ndcg_exp(weights=ignore)@10"]
        result = run(make(**about, metrics=metrics, test=replace(parts.test, weight=weight)))
        plain = run(make(**about, metrics=["ndcg_linear@10", "ndcg_exp@10"]))
        assert "weight" not in result.comparison.frame()
        found, expected = (table.leaderboard.filter(regex=r"@10$") for table in (result, plain))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


class TestEarlyStopping:
    @pytest.mark.parametrize(
        ("metrics", "curve"),
        [
            ("map mrr", [(0.5, 0.1), (0.4, 0.2), (0.3, 0.2), (0.3, 0.3), (0.3, 0.3), (0.2, 0.1)]),
            ("mrr first_gap", [(0.5, 0.9), (0.4, 0.8), (0.3, 0.8), (0.3, 0.7), (0.3, 0.7), (0.2, 0.9)]),
        ],
        ids=["metrics", "with a loss"],
    )
    def test_two_rounds_after_the_last_improvement_of_any_metric(self, metrics, curve):
        """The second metric improves last in round 4."""
        from tests import custom_metrics

        assert str(custom_metrics.GAP) == "first_gap"  # The import defines the metric.
        watch = RoundWatch(gw.Evaluator(metrics.split(), gw.Judgments([1, 0], group=[2])), patience=2)
        assert [watch.record(values) for values in curve] == [False] * 5 + [True]

    def test_cuts_the_full_curves_after_the_best_round_of_every_metric(self, make, candidates):
        patience, two = 3, candidates[1:3]
        full, stopped = (
            run(make(candidates=two, num_boost_round=40, early_stopping_rounds=rounds)) for rounds in (0, patience)
        )
        for name in full.candidates:
            tables = [result.curves[result.curves["candidate"] == name] for result in (full, stopped)]
            whole, cut = (table.pivot_table(index="round", columns="metric", values="value") for table in tables)
            pd.testing.assert_frame_equal(whole.iloc[: len(cut)], cut)
            assert len(whole) == 40
            last_best = [1 + whole.to_numpy()[:n].argmax(axis=0).max() for n in range(1, 41)]
            assert len(cut) == next(n for n, best in enumerate(last_best, 1) if n - best >= patience)
            assert len(cut) < 40
