"""What is trained is what was asked for, and what is kept is what the stored model says."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

import gainsay as gs
from gainsay.experiment import Candidate
from gainsay.experiment.plan import Unit
from gainsay.experiment.rounds import Watch
from gainsay.experiment.storage import Storage


def reloaded(done, name):
    """A stored model as its library reads it from the file, and how it predicts after so many rounds."""
    (unit,) = [unit for unit in done.result.plan.units() if unit.candidate.name == name]
    folder = Storage(done.directory).folder(unit)
    if unit.candidate.library == "lightgbm":
        booster = lgb.Booster(model_file=folder / "all-rounds.txt")
        return booster, lambda x, rounds: booster.predict(x, num_iteration=rounds, num_threads=1)
    booster = xgb.Booster({"nthread": 1}, model_file=folder / "all-rounds.ubj")
    return booster, lambda x, rounds: booster.predict(xgb.DMatrix(x, nthread=1), iteration_range=(0, rounds))


NAMES = ["lgb gain=linear", "lgb gain=exponential", "xgb gain=linear", "xgb gain=exponential"]


@pytest.mark.parametrize("name", NAMES)
class TestAgainstTheStoredModel:
    def test_curves_and_best_rounds(self, done, parts, metrics, name):
        _, predict = reloaded(done, name)
        judgments = parts.valid.judgments()
        expected = [gs.evaluate(metrics, judgments, predict(parts.valid.features, n)).mean for n in range(1, 13)]
        curves = done.result.curves
        for metric in metrics:
            curve = curves[(curves["candidate"] == name) & (curves["metric"] == metric)].sort_values("round")
            assert curve["round"].tolist() == list(range(1, 13))
            exact = [values[metric] for values in expected]  # of the sums that workers would share, up to the last bit
            assert curve["value"].tolist() == pytest.approx(exact, rel=0, abs=1e-15)
            assert done.result.best_rounds.loc[name, metric] == 1 + np.argmax([values[metric] for values in expected])

    def test_files(self, done, metrics, name, balanced):
        (unit,) = [unit for unit in done.result.plan.units() if unit.candidate.name == name]
        folder = Storage(done.directory).folder(unit)
        arrays = np.load(folder / "arrays.npz", allow_pickle=False)
        assert arrays["curves"].shape == (12, len(metrics))
        assert arrays["test"].shape == (len(arrays["rounds"]), len(arrays["query_ids"]), len(metrics))
        curves = done.result.curves.query("candidate == @name")
        pairs = {balanced(curves, name, pair) for pair in itertools.combinations(metrics, 2)}
        assert set(arrays["rounds"].tolist()) == set(done.result.best_rounds.loc[name]) | pairs

    def test_load_model(self, done, parts, name):
        booster, predict = reloaded(done, name)
        again = done.result.load_model(name, 12)
        assert type(again) is type(booster)
        features = parts.test.features if isinstance(again, lgb.Booster) else xgb.DMatrix(parts.test.features)
        np.testing.assert_array_equal(again.predict(features), predict(parts.test.features, 12))


class TestTranslation:
    @pytest.mark.parametrize(("gain", "table"), [("linear", [0, 1, 2, 3, 4]), ("exponential", [0, 1, 3, 7, 15])])
    def test_lightgbm_trains_what_lightgbm_itself_would(self, done, parts, gain, table):
        booster, _ = reloaded(done, f"lgb gain={gain}")
        params = {
            "objective": "lambdarank",
            "label_gain": table,
            "num_leaves": 7,
            "seed": 3,
            "num_threads": 1,
            "deterministic": True,
            "force_row_wise": True,
            "metric": "None",
            "verbosity": -1,
        }
        direct = lgb.train(params, lgb.Dataset(parts.train.features, parts.train.labels, group=parts.train.group), 12)
        assert trees(booster) == trees(direct)

    def test_gain_matters_to_lightgbm(self, done):
        assert trees(reloaded(done, "lgb gain=linear")[0]) != trees(reloaded(done, "lgb gain=exponential")[0])

    @pytest.mark.parametrize(("gain", "exponential"), [("linear", False), ("exponential", True)])
    def test_xgboost_trains_what_xgboost_itself_would(self, done, parts, gain, exponential):
        booster, _ = reloaded(done, f"xgb gain={gain}")
        params = {
            "objective": "rank:ndcg",
            "ndcg_exp_gain": exponential,
            "max_depth": 3,
            "subsample": 0.8,
            "seed": 3,
            "nthread": 1,
            "disable_default_eval_metric": True,
        }
        direct = xgb.train(params, xgb.DMatrix(parts.train.features, parts.train.labels, qid=parts.train.qid), 12)
        assert booster.get_dump(with_stats=True) == direct.get_dump(with_stats=True)

    def test_a_gain_between_the_two(self, make, parts, metrics, tmp_path):
        """LightGBM by its own table; XGBoost by its own linear gain of labels that are the gains, judged by labels."""
        made = [Candidate("a", "lightgbm", {"num_leaves": 7}, 1.5), Candidate("b", "xgboost", {"max_depth": 3}, 1.5)]
        result = make(tmp_path, candidates=made, num_boost_round=4).run(progress=False)
        table = [0, 1, 2.5, 4.75, 8.125]
        common = {"seed": 3, "deterministic": True, "force_row_wise": True, "metric": "None", "verbosity": -1}
        params = {"objective": "lambdarank", "num_leaves": 7, "num_threads": 1, "label_gain": table, **common}
        first = lgb.train(params, lgb.Dataset(parts.train.features, parts.train.labels, group=parts.train.group), 4)
        params = {"objective": "rank:ndcg", "ndcg_exp_gain": False, "max_depth": 3, "seed": 3, "nthread": 1}
        worth = np.array(table)[parts.train.labels.astype(int)]
        second = xgb.train(params, xgb.DMatrix(parts.train.features, worth, qid=parts.train.qid), 4)
        kept = {name: result.load_model(name) for name in "ab"}
        rounds = {name: int(result.compared.loc[name, "rounds"][0]) for name in "ab"}
        features = xgb.DMatrix(parts.test.features)
        expected = {
            "a": first.predict(parts.test.features, num_iteration=rounds["a"]),
            "b": second.predict(features, iteration_range=(0, rounds["b"])),
        }
        np.testing.assert_array_equal(kept["a"].predict(parts.test.features), expected["a"])
        np.testing.assert_array_equal(kept["b"].predict(features), expected["b"])
        for name, scores in expected.items():
            means = gs.evaluate(list(metrics), parts.test.judgments(), scores).mean
            assert result.comparison.leaderboard.loc[name, list(means)].to_dict() == pytest.approx(means, rel=1e-12)

    def test_table_is_as_long_as_the_labels_need(self, make, parts):
        high = {name: replace(part, labels=part.labels * 10) for name, part in parts._asdict().items()}
        result = make(candidates=[Candidate("a", "lightgbm", training_gain="linear")], num_boost_round=2, **high).run(
            progress=False
        )
        assert not result.failures

    def test_weights_reach_training_and_evaluation(self, make, parts, metrics, tmp_path):
        """Weights of documents mean the same as weights of queries."""

        def weighted(part, per_document):
            weight = np.random.default_rng(len(part.labels)).uniform(0.5, 2, len(part.query_ids)).round(3)
            return replace(part, weight=weight[part.qid] if per_document else weight)

        values = []
        for per_document in (False, True):
            changed = {name: weighted(part, per_document) for name, part in parts._asdict().items()}
            values.append(make(tmp_path / str(per_document), **changed, num_boost_round=4).run(progress=False))
        first, second = values
        np.testing.assert_allclose(first.curves["value"], second.curves["value"], rtol=1e-6)
        np.testing.assert_allclose(first.comparison.weights, changed["test"].judgments().weights)
        model = first.load_model("xgb gain=linear", 4)
        valid = changed["valid"]
        expected = gs.evaluate(metrics, valid.judgments(), model.predict(xgb.DMatrix(valid.features))).mean
        last = first.curves.query("candidate == 'xgb gain=linear' and round == 4").set_index("metric")["value"]
        assert last.to_dict() == pytest.approx(expected, rel=1e-12)


class TestMetricsThatIgnoreWeights:
    @pytest.fixture
    def weighted(self, parts):
        weight = np.random.default_rng(1).uniform(0.5, 2, len(parts.test.query_ids))
        return replace(parts.test, weight=weight)

    def test_compared_without_weights(self, make, parts, weighted):
        candidate = Candidate("a", "lightgbm", {"num_leaves": 7})
        metrics = ["ndcg_linear(weights=ignore)@10", "ndcg_exp(weights=ignore)@10"]
        result = make(candidates=[candidate], metrics=metrics, test=weighted, num_boost_round=3).run(progress=False)
        plain = make(candidates=[candidate], metrics=["ndcg_linear@10", "ndcg_exp@10"], num_boost_round=3).run(
            progress=False
        )
        assert result.comparison.weights is None
        found, expected = (table.leaderboard.filter(regex=r"@10$") for table in (result, plain))
        np.testing.assert_allclose(found, expected, rtol=1e-12)

    def test_beside_others_refused_before_training(self, make, weighted):
        with pytest.raises(ValueError, match=r"test: mrr\(weights=ignore\) ignores the weights"):
            make(test=weighted, metrics=["ndcg_exp@10", "mrr(weights=ignore)"])


class TestThreads:
    @pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
    def test_are_part_of_what_was_trained(self, make, library):
        (resolved,) = make(candidates=[Candidate("a", library)], threads=2).plan.candidates
        assert resolved.threads == 2


class TestWatch:
    def test_stops_when_the_last_metric_has_stopped_improving(self):
        watch = Watch(gs.Evaluator(["map", "mrr"], gs.Judgments([1, 0], group=[2])), patience=2)
        curve = [(0.5, 0.1), (0.4, 0.2), (0.3, 0.2), (0.3, 0.3), (0.3, 0.3), (0.2, 0.1), (9.0, 9.0)]
        seen = 0
        for values in curve:
            if watch.exhausted:
                break
            watch.record(values)
            seen += 1
        assert seen == 6  # b improved last in round 4

    def test_never_without_patience(self):
        watch = Watch(gs.Evaluator("mrr", gs.Judgments([1, 0], group=[2])), patience=0)
        for _ in range(50):
            watch.record([0.0])
        assert not watch.exhausted

    def test_no_metrics_best_round_is_cut_off(self, make, candidates, metrics):
        """Stopped training ends later than stopping by any single metric would, and cuts the full curves."""
        patience, two = 3, candidates[1:3]
        full = make(candidates=two, num_boost_round=40).run(progress=False)
        stopped = make(candidates=two, num_boost_round=40, early_stopping_rounds=patience).run(progress=False)
        for name in full.candidates:
            whole = full.curves[full.curves["candidate"] == name].pivot_table(
                index="round", columns="metric", values="value"
            )
            cut = stopped.curves[stopped.curves["candidate"] == name].pivot_table(
                index="round", columns="metric", values="value"
            )
            pd.testing.assert_frame_equal(whole.iloc[: len(cut)], cut)
            assert len(cut) >= max(stop_of(whole[[metric]].to_numpy(), patience) for metric in metrics)
            assert len(cut) == stop_of(whole.to_numpy(), patience)
            assert len(cut) < 40


def stop_of(curves, patience):
    """After how many rounds every one of the metrics (columns) has gone so many rounds without a new maximum."""
    for n in range(1, len(curves) + 1):
        if n - (1 + curves[:n].argmax(axis=0).max()) >= patience:
            return n
    return len(curves)


def trees(booster):
    text = booster.model_to_string(num_iteration=-1)
    return re.search(r"Tree=0.*end of trees", text, re.DOTALL)[0]


def test_unit_names_are_unique(done):
    slugs = [unit.slug for unit in done.result.plan.units()]
    assert len(set(slugs)) == len(slugs)
    assert all(isinstance(unit, Unit) for unit in done.result.plan.units())
