"""The metric for CatBoost: values of every round against gs.evaluate and CatBoost's own, stopping, and bad input."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import gainsay as gs
from gainsay.data import simulate

catboost = pytest.importorskip("catboost", reason="CatBoost has an adapter")
from gainsay.catboost import eval_metric  # noqa: E402
from gainsay.catboost.evaluate import EvalMetric  # noqa: E402

TRAIN, VALID = simulate(120, seed=1, mean_length=30).split_queries(0.5, 0.5, seed=1)
OTHER = simulate(20, seed=3, mean_length=30)


def pool(data, **options):
    return catboost.Pool(data.features, data.labels, group_id=data.qid, **options)


def ranker(metric, **options):
    small = {"iterations": 12, "depth": 3, "border_count": 32, "random_seed": 1, "thread_count": 1}
    quiet = {"verbose": False, "allow_writing_files": False}
    return catboost.CatBoostRanker(eval_metric=metric, **{**small, **quiet, **options})


def staged(model, metric, data):
    """The values of the models of all rounds."""
    return list(means(metric, data.judgments(), model.staged_predict(data.features)))


def means(metric, judgments, rounds):
    for scores in rounds:
        (mean,) = gs.evaluate(metric, judgments, scores).mean.values()
        yield mean


@pytest.fixture(scope="module")
def train():
    return pool(TRAIN)


@pytest.fixture(scope="module")
def valid():
    return pool(VALID)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """`eval_metrics` and `cv` write a folder catboost_info, whatever `allow_writing_files` says."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def handed_over(monkeypatch):
    """What CatBoost hands to the metric: scores and weights by the number of documents."""
    seen = {}
    original = EvalMetric.evaluate

    def evaluate(self, approxes, target, weight):
        seen.setdefault(len(target), []).append((approxes[0].copy(), None if weight is None else weight.copy()))
        return original(self, approxes, target, weight)

    monkeypatch.setattr(EvalMetric, "evaluate", evaluate)
    return seen


class TestValues:
    @pytest.mark.parametrize("name", ["ndcg_linear@10", "ndcg_exp@10", "map", "mrr@5", "err(max_label=4)@10"])
    def test_every_round_is_what_evaluate_gives(self, train, valid, name, handed_over):
        curves = ranker(eval_metric(name, train, valid)).fit(train, eval_set=valid, use_best_model=False).evals_result_
        for key, data in (("learn", TRAIN), ("validation", VALID)):
            rounds = [scores for scores, _ in handed_over[len(data.labels)]]
            assert len(rounds) == 12
            assert curves[key][name] == list(means(name, data.judgments(), rounds))

    def test_and_what_it_gives_for_the_models_of_all_rounds(self, train, valid):
        model = ranker(eval_metric("ndcg_exp@10", train, valid)).fit(train, eval_set=valid, use_best_model=False)
        for key, data in (("learn", TRAIN), ("validation", VALID)):
            expected = staged(model, "ndcg_exp@10", data)
            assert model.evals_result_[key]["ndcg_exp@10"] == pytest.approx(expected, rel=1e-12, abs=0)

    @pytest.mark.parametrize(
        ("ours", "theirs"),
        [("ndcg_exp@10", "NDCG:top=10;type=Exp"), ("ndcg_linear@3", "NDCG:top=3"), ("map@5", "MAP:top=5")],
    )
    def test_under_its_convention_it_is_its_own_metric(self, train, valid, ours, theirs):
        metric = eval_metric(ours, train, valid, convention="catboost")
        model = ranker(metric).fit(train, eval_set=valid, use_best_model=False)
        (expected,) = model.eval_metrics(valid, [theirs]).values()
        (name,) = metric.panel.names
        assert model.evals_result_["validation"][name] == pytest.approx(expected, rel=1e-12, abs=0)

    def test_weights_of_queries(self, handed_over):
        weights = [1.0 + data.qid % 3 for data in (TRAIN, VALID)]
        train, valid = (pool(data, group_weight=w) for data, w in zip((TRAIN, VALID), weights, strict=True))
        curves = ranker(eval_metric("ndcg_exp@10", train, valid)).fit(train, eval_set=valid).evals_result_
        for key, data, weight in (("learn", TRAIN, weights[0]), ("validation", VALID, weights[1])):
            judgments = gs.Judgments(data.labels, qid=data.qid, weight=weight)
            rounds = [scores for scores, _ in handed_over[len(data.labels)]]
            found = curves[key]["ndcg_exp@10"]
            assert found == list(means("ndcg_exp@10", judgments, rounds))
            assert found != list(means("ndcg_exp@10", data.judgments(), rounds))

    def test_several_eval_sets_with_a_name_full_of_options(self, handed_over):
        name, sets = "map(ties=worst,denominator=R)@10", [pool(TRAIN), pool(VALID), pool(OTHER)]
        curves = ranker(eval_metric(name, *sets)).fit(sets[0], eval_set=sets[1:], use_best_model=False).evals_result_
        for key, data in (("learn", TRAIN), ("validation_0", VALID), ("validation_1", OTHER)):
            rounds = [scores for scores, _ in handed_over[len(data.labels)]]
            assert curves[key][name] == list(means(name, data.judgments(), rounds))

    def test_one_metric_serves_several_trainings(self, train, valid):
        metric = eval_metric("ndcg_exp@10", train, valid)
        first, second = (ranker(metric).fit(train, eval_set=valid).evals_result_ for _ in range(2))
        assert first == second

    def test_the_same_data_in_both_roles(self, train):
        curves = ranker(eval_metric("mrr", train, train)).fit(train, eval_set=train).evals_result_
        assert curves["learn"]["mrr"] == pytest.approx(curves["validation"]["mrr"], rel=1e-12)


class TestShuffledTrainingData:
    OPTIONS = {"boosting_type": "Ordered", "loss_function": "QueryRMSE"}

    def test_zero_with_a_warning_and_exact_eval_sets(self, train, valid, handed_over):
        model = ranker(eval_metric("ndcg_exp@10", train, valid), **self.OPTIONS)
        with pytest.warns(UserWarning, match="CatBoost has shuffled the training data, so ndcg_exp@10 of train"):
            curves = model.fit(train, eval_set=valid).evals_result_
        assert set(curves["learn"]["ndcg_exp@10"]) == {0.0}
        rounds = [scores for scores, _ in handed_over[len(VALID.labels)]]
        assert curves["validation"]["ndcg_exp@10"] == list(means("ndcg_exp@10", VALID.judgments(), rounds))

    def test_kept_in_order(self, train, valid):
        model = ranker(eval_metric("ndcg_exp@10", train, valid), has_time=True, **self.OPTIONS)
        model.fit(train, eval_set=valid, use_best_model=False)
        expected = staged(model, "ndcg_exp@10", TRAIN)
        assert model.evals_result_["learn"]["ndcg_exp@10"] == pytest.approx(expected, rel=1e-12, abs=0)


class TestStopping:
    @pytest.mark.parametrize("name", ["ndcg_exp@10", "mrr"])
    def test_it_stops_on_the_metric_named(self, train, valid, name):
        model = ranker(eval_metric(name, train, valid), iterations=200, early_stopping_rounds=7)
        curve = model.fit(train, eval_set=valid).evals_result_["validation"][name]
        best = curve.index(max(curve))
        assert (model.best_iteration_, model.tree_count_, len(curve)) == (best, best + 1, best + 1 + 7)
        assert model.best_score_["validation"][name] == max(curve)
        (kept,) = gs.evaluate(name, VALID.judgments(), model.predict(VALID.features)).mean.values()
        assert kept == pytest.approx(max(curve), rel=1e-12)

    def test_the_last_eval_set_decides(self):
        sets = [pool(TRAIN), pool(VALID), pool(OTHER)]
        for order in ([1, 2], [2, 1]):
            chosen = [sets[at] for at in order]
            model = ranker(eval_metric("ndcg_exp@3", sets[0], *chosen), iterations=60, early_stopping_rounds=5)
            curves = model.fit(sets[0], eval_set=chosen).evals_result_
            last = curves["validation_1"]["ndcg_exp@3"]
            assert model.best_iteration_ == last.index(max(last))

    def test_the_metric_decides_where_two_disagree(self, train, valid):
        """Not what CatBoost optimises: the best rounds of two metrics differ, and each is found."""
        best = {}
        for name in ("ndcg_linear@30", "map", "recall@5"):
            model = ranker(eval_metric(name, train, valid), iterations=60).fit(train, eval_set=valid)
            curve = model.evals_result_["validation"][name]
            best[name] = model.best_iteration_
            assert best[name] == curve.index(max(curve))
        assert len(set(best.values())) > 1


class TestObject:
    def test_copies_and_pickles(self, train, valid):
        metric = eval_metric("ndcg_exp@10", train, valid)
        assert copy.deepcopy(metric) is metric
        again = pickle.loads(pickle.dumps(metric))
        assert type(again).__name__ == type(metric).__name__ == "ndcg_exp@10"
        fitted = [ranker(one).fit(train, eval_set=valid).evals_result_ for one in (metric, again)]
        assert fitted[0] == fitted[1]

    def test_a_trained_model_pickles(self, train, valid):
        model = ranker(eval_metric("mrr", train, valid)).fit(train, eval_set=valid)
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.predict(VALID.features), model.predict(VALID.features))

    def test_higher_is_better(self):
        assert eval_metric("mrr", pool(TRAIN)).is_max_optimal()


class TestBadInput:
    @pytest.mark.parametrize(
        ("data", "error", "message"),
        [
            (lambda: (TRAIN.features, TRAIN.labels), TypeError, "eval set 0 must be a catboost.Pool, got tuple"),
            (lambda: catboost.Pool(VALID.features, VALID.labels), ValueError, "eval set 0 has no groups: .* group_id="),
            (
                lambda: catboost.Pool(VALID.features, group_id=VALID.qid),
                ValueError,
                "eval set 0 has no labels",
            ),
        ],
    )
    def test_data(self, data, error, message):
        with pytest.raises(error, match=message):
            eval_metric("mrr", pool(TRAIN), data())

    def test_two_metrics(self):
        with pytest.raises(ValueError, match=r"CatBoost takes one eval_metric, got 2: mrr, map"):
            eval_metric(["mrr", "map"], pool(TRAIN))

    def test_unknown_metric(self):
        with pytest.raises(ValueError, match="'ndcg@10' does not say which NDCG"):
            eval_metric("ndcg@10", pool(TRAIN))

    def test_labels_that_do_not_suit_the_metric_are_refused_at_once(self):
        with pytest.raises(ValueError, match=r"err\(max_label=1\) has grades from 0 to 1"):
            eval_metric("err(max_label=1)", pool(TRAIN))

    def test_negative_labels(self):
        data = catboost.Pool(np.zeros((3, 1)), [-1, 0, 1], group_id=[0, 0, 0])
        with pytest.raises(ValueError, match="labels must not be negative"):
            eval_metric("mrr", data)
        assert eval_metric("mrr", data, negative_labels="zero").panel.negative_labels == "zero"

    def test_data_sets_that_cannot_be_told_apart(self):
        one, other = (catboost.Pool(np.zeros((4, 1)), [1, 0, 1, 0], group_id=ids) for ids in ([0, 0, 1, 1], [0] * 4))
        with pytest.raises(ValueError, match="train and eval set 0 have the same labels but different queries"):
            eval_metric("mrr", one, other)

    def test_data_that_were_not_given(self, train, valid):
        message = rf"evaluates {len(VALID.labels)} documents whose labels are not those of train of {len(TRAIN.labels)}"
        with pytest.raises(catboost.CatBoostError, match=message):
            ranker(eval_metric("mrr", train)).fit(train, eval_set=valid)

    def test_cross_validation(self, train):
        options = {"loss_function": "YetiRank", "iterations": 2, "eval_metric": eval_metric("mrr", train)}
        with pytest.raises(catboost.CatBoostError, match="give eval_metric all Pools of the training"):
            catboost.cv(train, {**options, "verbose": False, "allow_writing_files": False}, fold_count=2)

    def test_what_catboost_might_hand_over(self):
        metric = eval_metric("mrr", pool(TRAIN))
        target, scores = TRAIN.labels.astype(np.float32), np.zeros(len(TRAIN.labels))
        with pytest.raises(ValueError, match="one score per document, but this loss_function makes 2"):
            metric.evaluate([scores, scores], target, None)
        scores[3] = np.nan
        with pytest.raises(ValueError, match="train: scores holds 1 NaN among"):
            metric.evaluate([scores], target, None)

    def test_weights_that_are_refused_stay_refused(self):
        metric, labels = eval_metric("mrr", pool(TRAIN)), TRAIN.labels.astype(np.float32)
        for _ in range(2):
            with pytest.raises(ValueError, match="weight is 0 for every query"):
                metric.evaluate([np.zeros(len(labels))], labels, np.zeros(len(labels)))

    def test_every_query_skipped(self):
        metric = eval_metric("mrr(empty=skip)", catboost.Pool(np.zeros((2, 1)), [0, 0], group_id=[0, 0]))
        with pytest.raises(ValueError, match=r"train: every query is skipped, .* give empty=0 or empty=1"):
            metric.evaluate([np.zeros(2)], np.zeros(2, dtype=np.float32), None)


class TestWhatThePageSays:
    def test_its_own_metrics_beside_ours_and_none_of_ours_there(self, train, valid):
        ours = eval_metric("ndcg_exp@10", train, valid)
        model = ranker(ours, custom_metric=["NDCG:top=10;type=Exp"]).fit(train, eval_set=valid)
        assert {"ndcg_exp@10", "NDCG:top=10;type=Exp"} <= set(model.evals_result_["validation"])
        with pytest.raises(catboost.CatBoostError, match="not found in enum ELossFunction"):
            ranker("NDCG:top=10", custom_metric=[ours]).fit(train, eval_set=valid)

    def test_the_other_detector_of_overfitting(self, train, valid):
        model = ranker(
            eval_metric("mrr", train, valid), iterations=40, od_type="IncToDec", od_pval=1e-1, od_wait=5
        ).fit(train, eval_set=valid)
        curve = model.evals_result_["validation"]["mrr"]
        assert model.best_iteration_ == curve.index(max(curve))

    def test_a_snapshot_is_resumed(self, train, valid):
        metric = eval_metric("ndcg_exp@10", train, valid)
        kept = {"allow_writing_files": True, "save_snapshot": True, "snapshot_file": "kept", "train_dir": "."}
        ranker(metric, iterations=6, **kept).fit(train, eval_set=valid, use_best_model=False)
        resumed = ranker(metric, iterations=12, **kept).fit(train, eval_set=valid, use_best_model=False)
        whole = ranker(metric, iterations=12).fit(train, eval_set=valid, use_best_model=False)
        assert resumed.evals_result_["validation"] == whole.evals_result_["validation"]

    def test_a_continued_training_counts_from_0(self, train, valid):
        metric = eval_metric("ndcg_exp@10", train, valid)
        first = ranker(metric, iterations=8).fit(train, eval_set=valid, use_best_model=False)
        model = ranker(metric, iterations=6).fit(train, eval_set=valid, init_model=first)
        curve = model.evals_result_["validation"]["ndcg_exp@10"]
        assert (model.best_iteration_, len(curve)) == (curve.index(max(curve)), 6)
        assert model.tree_count_ == 8 + model.best_iteration_ + 1
        best = gs.evaluate("ndcg_exp@10", VALID.judgments(), model.predict(VALID.features)).mean["ndcg_exp@10"]
        assert best == pytest.approx(max(curve), rel=1e-12)
