"""Searches and cross-validations of scikit-learn against loops written by hand, and LightGBM's ranker by qid."""

from __future__ import annotations

import pickle
import subprocess
import sys

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
import xgboost as xgb
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gainsay as gs
from gainsay.data import simulate
from gainsay.lightgbm import early_stopping, eval_metric
from gainsay.sklearn import GroupedLGBMRanker, scorer
from gainsay.xgboost import EvaluateRanking

DATA = simulate(48, seed=1, mean_length=15)
VALID = simulate(12, seed=2, mean_length=15)
ANYHOW = np.random.default_rng(0).permutation(len(DATA.labels))
X, Y, QID = DATA.features[ANYHOW], DATA.labels[ANYHOW], DATA.qid[ANYHOW]
SMALL = {"n_estimators": 4, "n_jobs": 1, "verbose": -1, "min_child_samples": 3}
GRID = {"num_leaves": [3, 6]}
FRAME = pd.DataFrame(DATA.features).add_prefix("f").assign(qid=DATA.qid)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def folds(routed=True):
    return GroupKFold(3).set_split_request(groups="qid") if routed else GroupKFold(3)


def loss(labels, scores):
    return float(np.mean((labels - scores) ** 2))


def mean(name, labels, qid, scores, **options):
    return gs.evaluate(name, gs.Judgments(labels, qid=qid, **options), scores).mean[name]


def sorted_rows(features, labels, qid):
    """The rows as LightGBM's own ranker wants them, queries in order of their first rows."""
    first = {}
    for query in qid.tolist():
        first.setdefault(query, len(first))
    order = sorted(range(len(qid)), key=lambda row: first[qid[row]])
    sizes = [qid.tolist().count(query) for query in first]
    return order, features[order], labels[order], sizes


def by_hand_lightgbm(name, leaves):
    """The score of each fold, in a loop around LightGBM's own ranker."""
    for train, test in GroupKFold(3).split(X, Y, QID):
        _, features, labels, sizes = sorted_rows(X[train], Y[train], QID[train])
        model = lgb.LGBMRanker(**SMALL, num_leaves=leaves).fit(features, labels, group=sizes)
        yield mean(name, Y[test], QID[test], model.predict(X[test]))


def by_hand_xgboost(name, depth):
    for train, test in GroupKFold(3).split(DATA.features, DATA.labels, DATA.qid):
        model = xgb.XGBRanker(n_estimators=4, n_jobs=1, max_depth=depth)
        model.fit(DATA.features[train], DATA.labels[train], qid=DATA.qid[train])
        scores = model.predict(DATA.features[test])
        yield mean(name, DATA.labels[test], DATA.qid[test], scores)


def scores_of_folds(search, row=0):
    return [search.cv_results_[f"split{fold}_test_score"][row] for fold in range(3)]


@pytest.mark.usefixtures("routing")
class TestSearches:
    @pytest.mark.slow
    def test_grid_search_is_the_loop_in_two_processes(self):
        search = GridSearchCV(
            GroupedLGBMRanker(**SMALL), GRID, scoring=scorer("ndcg_exp@5"), cv=folds(), n_jobs=2, error_score="raise"
        ).fit(X, Y, qid=QID)
        for row, leaves in enumerate(GRID["num_leaves"]):
            assert scores_of_folds(search, row) == list(by_hand_lightgbm("ndcg_exp@5", leaves))

    @pytest.mark.slow
    def test_with_xgboost_and_a_callback_too(self):
        log = EvaluateRanking({"valid": (VALID.features, VALID.labels, VALID.qid)}, ["mrr"])
        ranker = xgb.XGBRanker(n_estimators=4, n_jobs=1, callbacks=[log]).set_fit_request(qid=True)
        search = GridSearchCV(
            ranker, {"max_depth": [2, 4]}, scoring=scorer("mrr"), cv=folds(), n_jobs=2, error_score="raise"
        ).fit(DATA.features, DATA.labels, qid=DATA.qid)
        for row, depth in enumerate((2, 4)):
            assert scores_of_folds(search, row) == list(by_hand_xgboost("mrr", depth))
        assert len(search.best_estimator_.evals_result()["valid"]["mrr"]) == 4

    def test_randomized_search(self):
        search = RandomizedSearchCV(
            GroupedLGBMRanker(**SMALL), GRID, n_iter=1, random_state=1, scoring=scorer("map"), cv=folds()
        ).fit(X, Y, qid=QID)
        assert scores_of_folds(search) == list(by_hand_lightgbm("map", search.best_params_["num_leaves"]))

    def test_halving_by_rounds(self):
        search = HalvingGridSearchCV(
            GroupedLGBMRanker(**SMALL),
            GRID,
            scoring=scorer("ndcg_linear@5"),
            cv=folds(),
            resource="n_estimators",
            min_resources=2,
            max_resources=4,
            factor=2,
            error_score="raise",
        ).fit(X, Y, qid=QID)
        best = search.best_params_
        assert best["n_estimators"] == 4
        assert scores_of_folds(search, -1) == list(by_hand_lightgbm("ndcg_linear@5", best["num_leaves"]))

    def test_nested(self):
        search = GridSearchCV(GroupedLGBMRanker(**SMALL), GRID, scoring=scorer("mrr"), cv=GroupKFold(2))
        search.cv.set_split_request(groups="qid")
        found = cross_validate(
            search, X, Y, scoring=scorer("mrr"), cv=folds(), params={"qid": QID}, return_estimator=True
        )
        splits = GroupKFold(3).split(X, Y, QID)
        for (train, test), score, fitted in zip(splits, found["test_score"], found["estimator"], strict=True):
            again = clone(search).fit(X[train], Y[train], qid=QID[train])
            assert fitted.best_params_ == again.best_params_
            assert score == mean("mrr", Y[test], QID[test], again.predict(X[test]))

    def test_several_metrics_at_once_and_train_scores(self):
        names = ["ndcg_linear@5", "ndcg_exp@5"]
        found = cross_validate(
            GroupedLGBMRanker(**SMALL, num_leaves=6),
            X,
            Y,
            scoring=scorer(names),
            cv=folds(),
            params={"qid": QID},
            return_train_score=True,
        )
        for name in names:
            assert found[f"test_{name}"].tolist() == list(by_hand_lightgbm(name, 6))
            assert len(found[f"train_{name}"]) == 3

    def test_a_scorer_among_others_by_name(self):
        search = GridSearchCV(
            GroupedLGBMRanker(**SMALL),
            GRID,
            scoring={"judge": scorer("ndcg_exp@5"), "other": scorer("mrr")},
            refit="judge",
            cv=folds(),
            error_score="raise",
        ).fit(X, Y, qid=QID)
        found = [search.cv_results_[f"split{fold}_test_other"][0] for fold in range(3)]
        assert found == list(by_hand_lightgbm("mrr", 3))

    @pytest.mark.skipif(not hasattr(make_pipeline(LinearRegression()), "transform_input"), reason="scikit-learn 1.6")
    def test_early_stopping_inside_a_pipeline_inside_a_search(self):
        ranker = GroupedLGBMRanker(n_estimators=30, n_jobs=1, verbose=-1, min_child_samples=3, metric="None")
        model = make_pipeline(StandardScaler(), ranker, transform_input=["eval_X"])
        search = GridSearchCV(
            model, {"groupedlgbmranker__num_leaves": [4]}, scoring=scorer("mrr"), cv=folds(), error_score="raise"
        ).fit(
            X,
            Y,
            qid=QID,
            eval_X=(VALID.features,),
            eval_y=(VALID.labels,),
            eval_qid=(VALID.qid,),
            eval_metric=eval_metric("ndcg_exp@5"),
            callbacks=[early_stopping("ndcg_exp@5", rounds=3, verbose=False)],
        )
        scores = []
        for train, test in GroupKFold(3).split(X, Y, QID):
            scaler = StandardScaler().fit(X[train])
            _, features, labels, sizes = sorted_rows(scaler.transform(X[train]), Y[train], QID[train])
            single = lgb.LGBMRanker(**ranker.get_params()).set_params(num_leaves=4)
            single.fit(
                features,
                labels,
                group=sizes,
                **validation_of_lightgbm(scaler.transform(VALID.features)),
                eval_metric=eval_metric("ndcg_exp@5"),
                callbacks=[early_stopping("ndcg_exp@5", rounds=3, verbose=False)],
            )
            scores.append(mean("mrr", Y[test], QID[test], single.predict(scaler.transform(X[test]))))
        assert scores_of_folds(search) == scores
        assert 0 < search.best_estimator_[-1].best_iteration_ < 30

    def test_weights_of_rows_reach_fit_and_score(self):
        weight = 1.0 + QID % 3
        ranker = GroupedLGBMRanker(**SMALL).set_fit_request(sample_weight=True)
        scoring = scorer("mrr").set_score_request(sample_weight=True)
        found = cross_validate(
            ranker, X, Y, scoring=scoring, cv=folds(), params={"qid": QID, "sample_weight": weight}, error_score="raise"
        )
        expected = []
        for train, test in GroupKFold(3).split(X, Y, QID):
            order, features, labels, sizes = sorted_rows(X[train], Y[train], QID[train])
            model = lgb.LGBMRanker(**SMALL)
            model.fit(features, labels, group=sizes, sample_weight=weight[train][order])
            expected.append(mean("mrr", Y[test], QID[test], model.predict(X[test]), weight=weight[test]))
        assert found["test_score"].tolist() == expected

    def test_weights_by_query_are_handed_on_whole(self):
        weight = {query: 1.0 + query % 3 for query in np.unique(QID).tolist()}
        scoring = scorer("mrr").set_score_request(sample_weight=True)
        ranker = GroupedLGBMRanker(**SMALL).set_fit_request(sample_weight=True)
        options = {"scoring": scoring, "cv": folds(), "error_score": "raise"}
        by_query = cross_validate(ranker, X, Y, params={"qid": QID, "sample_weight": weight}, **options)
        by_row = cross_validate(ranker, X, Y, params={"qid": QID, "sample_weight": 1.0 + QID % 3}, **options)
        assert by_query["test_score"].tolist() == by_row["test_score"].tolist()

    def test_weights_that_nobody_spoke_of_are_refused_as_everywhere_in_scikit_learn(self):
        ranker = GroupedLGBMRanker(**SMALL).set_fit_request(sample_weight=False)
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            cross_validate(
                ranker, X, Y, scoring=scorer("mrr"), cv=folds(), params={"qid": QID, "sample_weight": QID + 1.0}
            )


class TestWithoutRouting:
    @pytest.mark.parametrize("ranker", [GroupedLGBMRanker(**SMALL), xgb.XGBRanker(n_estimators=4, n_jobs=1)])
    def test_a_column_of_queries(self, ranker):
        found = cross_val_score(
            ranker, FRAME, DATA.labels, groups=DATA.qid, cv=GroupKFold(3), scoring=scorer("mrr"), error_score="raise"
        )
        expected = []
        for train, test in GroupKFold(3).split(FRAME, DATA.labels, DATA.qid):
            model = clone(ranker).fit(FRAME.drop(columns="qid").iloc[train], DATA.labels[train], qid=DATA.qid[train])
            scores = model.predict(FRAME.drop(columns="qid").iloc[test])
            expected.append(mean("mrr", DATA.labels[test], DATA.qid[test], scores))
        assert found.tolist() == expected

    def test_two_columns_for_the_queries(self):
        ranker = GroupedLGBMRanker(**SMALL)
        with pytest.raises(ValueError, match="given twice, as qid= and as column 'qid'"):
            ranker.fit(FRAME, DATA.labels, qid=DATA.qid)

    def test_nobody_says_what_the_queries_are(self):
        ranker = GroupedLGBMRanker(**SMALL).fit(X, Y, qid=QID)
        with pytest.raises(ValueError, match=r"scoring by mrr needs the query of each row: call sklearn.set_config"):
            scorer("mrr")(ranker, X, Y)
        with pytest.raises(ValueError, match=r"qid is missing: give the query of each row, as qid="):
            ranker.fit(X, Y)

    def test_other_scorers_in_the_same_dict_get_their_weights(self):
        found = GridSearchCV(
            LinearRegression(),
            {"fit_intercept": [True]},
            scoring={"ours": scorer("mrr").set_score_request(sample_weight=True), "theirs": "r2"},
            refit="theirs",
            cv=GroupKFold(3),
            error_score="raise",
        ).fit(FRAME, DATA.labels, groups=DATA.qid, sample_weight=np.ones(len(DATA.labels)))
        assert np.isfinite(found.cv_results_["mean_test_ours"]).all()

    @pytest.mark.slow
    def test_no_lightgbm_is_needed_to_score(self):
        code = "import sys; sys.modules['lightgbm'] = None; from gainsay.sklearn import scorer; print(scorer('mrr'))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "scorer('mrr')"


class TestScorer:
    MODEL = LinearRegression().fit(X, Y)

    def test_the_sign_of_a_loss(self):
        metric = gs.metric("squared_error", loss, higher_is_better=False)
        scores = self.MODEL.predict(X)
        expected = gs.evaluate(metric, gs.Judgments(Y, qid=QID), scores).mean["squared_error"]
        assert scorer(metric)(self.MODEL, X, Y, qid=QID) == -expected < 0
        several = scorer([metric, "mrr"])(self.MODEL, X, Y, qid=QID)
        assert several == {"neg_squared_error": -expected, "mrr": mean("mrr", Y, QID, scores)}

    def test_conventions_and_negative_labels(self):
        scores = self.MODEL.predict(X)
        expected = gs.evaluate("ndcg@5", gs.Judgments(Y, qid=QID), scores, convention="lightgbm").mean
        assert [scorer("ndcg@5", convention="lightgbm")(self.MODEL, X, Y, qid=QID)] == list(expected.values())
        labels = np.where(Y == 0, -1, Y)
        with pytest.raises(ValueError, match="labels must not be negative"):
            scorer("mrr")(self.MODEL, X, labels, qid=QID)
        assert scorer("mrr", negative_labels="zero")(self.MODEL, X, labels, qid=QID) == mean("mrr", Y, QID, scores)

    def test_it_is_refused_at_once(self):
        with pytest.raises(ValueError, match="does not say which NDCG"):
            scorer("ndcg@10")
        with pytest.raises(TypeError, match="qid and sample_weight, not 'group'"):
            scorer("mrr").set_score_request(group=True)

    def test_copies_keep_what_was_asked_for(self):
        made = scorer(["mrr", "map@5"], n_jobs=1).set_score_request(sample_weight=True, qid="query")
        for copy in (clone(made, safe=False), pickle.loads(pickle.dumps(made))):
            assert repr(copy) == "scorer(['mrr', 'map@5'])"
            assert str(copy.get_metadata_routing().score) == "{'qid': 'query', 'sample_weight': True}"
            assert copy(self.MODEL, X, Y, qid=QID) == made(self.MODEL, X, Y, qid=QID)


def validation_of_lightgbm(features):
    """Validation data as arguments of LightGBM's own ranker, before 4.7 and since."""
    if "eval_X" in lgb.LGBMRanker.fit.__code__.co_varnames:
        return {"eval_X": features, "eval_y": VALID.labels, "eval_group": [VALID.group]}
    return {"eval_set": [(features, VALID.labels)], "eval_group": [VALID.group]}


class TestRanker:
    def own(self, features, labels, qid, weight=None, **options):
        order, features, labels, sizes = sorted_rows(features, labels, qid)
        weight = None if weight is None else weight[order]
        return lgb.LGBMRanker(**SMALL).fit(features, labels, group=sizes, sample_weight=weight, **options)

    def test_it_is_the_model_that_lightgbm_trains_on_sorted_rows(self):
        found, expected = GroupedLGBMRanker(**SMALL).fit(X, Y, qid=QID), self.own(X, Y, QID)
        assert found.booster_.model_to_string() == expected.booster_.model_to_string()
        assert found.predict(X).tolist() == expected.predict(X).tolist()
        assert found.predict(X, num_iteration=2).tolist() == expected.predict(X, num_iteration=2).tolist()

    @pytest.mark.parametrize(
        "convert",
        [
            pd.DataFrame,
            scipy.sparse.csr_matrix,
            np.asfortranarray,
            lambda values: values.tolist(),
        ],
        ids=["frame", "sparse", "fortran", "list"],
    )
    def test_every_kind_of_features(self, convert):
        found = GroupedLGBMRanker(**SMALL).fit(convert(X), Y, qid=QID)
        assert found.predict(convert(X)).tolist() == self.own(X, Y, QID).predict(X).tolist()

    def test_ids_that_are_text_and_labels_that_are_a_list(self):
        names = np.array([f"query {number}" for number in QID])
        found = GroupedLGBMRanker(**SMALL).fit(X, Y.tolist(), qid=names)
        assert found.predict(X).tolist() == self.own(X, Y, QID).predict(X).tolist()

    def test_series_are_matched_by_the_index_of_the_labels(self):
        frame, labels = pd.DataFrame(X, index=ANYHOW), pd.Series(Y, index=ANYHOW)
        queries = pd.Series(QID, index=ANYHOW).sort_index()
        found = GroupedLGBMRanker(**SMALL).fit(frame.sort_index(), labels, qid=queries)
        assert found.predict(frame).tolist() == self.own(X, Y, QID).predict(X).tolist()

    def test_weights_by_row_by_query_and_by_id(self):
        by_id = {query: 1.0 + query % 4 for query in dict.fromkeys(QID.tolist())}
        by_row = np.array([by_id[query] for query in QID])
        expected = self.own(X, Y, QID, by_row)
        assert expected.predict(X).tolist() != self.own(X, Y, QID).predict(X).tolist()
        for weight in (by_row, by_id, list(by_id.values()), pd.Series(by_id)):
            found = GroupedLGBMRanker(**SMALL).fit(X, Y, qid=QID, sample_weight=weight)
            assert found.predict(X).tolist() == expected.predict(X).tolist()

    def test_scores_to_start_from(self):
        start = X[:, 0].astype(float)
        order, features, labels, sizes = sorted_rows(X, Y, QID)
        expected = lgb.LGBMRanker(**SMALL).fit(features, labels, group=sizes, init_score=start[order])
        found = GroupedLGBMRanker(**SMALL).fit(X, Y, qid=QID, init_score=start)
        assert found.predict(X).tolist() == expected.predict(X).tolist()

    @pytest.mark.parametrize("form", ["pairs", "one", "tuples", "frame"])
    def test_validation_data_in_any_order(self, form):
        anyhow = np.random.default_rng(5).permutation(len(VALID.labels))
        features, labels, queries = VALID.features[anyhow], VALID.labels[anyhow], VALID.qid[anyhow]
        frame = pd.DataFrame(features).assign(qid=queries).rename(columns=str)
        given = {
            "pairs": {"eval_set": [(features, labels)], "eval_qid": [queries]},
            "one": {"eval_X": features, "eval_y": labels, "eval_qid": queries},
            "tuples": {"eval_X": (features,), "eval_y": (labels,), "eval_qid": (queries,)},
            "frame": {"eval_X": frame, "eval_y": labels},
        }[form]
        names = ["ndcg_exp@5", "mrr"]
        weight = 1.0 + queries % 2
        found = GroupedLGBMRanker(**SMALL, metric="None").fit(
            pd.DataFrame(X).rename(columns=str) if form == "frame" else X,
            Y,
            qid=QID,
            **given,
            eval_sample_weight=weight if form in ("one", "frame") else [weight],
            eval_metric=eval_metric(names),
        )
        judgments = gs.Judgments(labels, qid=queries, weight=weight)
        for round_number in range(4):
            scores = found.predict(frame if form == "frame" else features, num_iteration=round_number + 1)
            expected = gs.evaluate(names, judgments, scores).mean
            for name in names:
                assert found.evals_result_["valid_0"][name][round_number] == pytest.approx(expected[name], rel=1e-12)

    def test_several_sets_with_names(self):
        found = GroupedLGBMRanker(**SMALL, metric="None").fit(
            X,
            Y,
            qid=QID,
            eval_set=[(X, Y), (VALID.features, VALID.labels)],
            eval_qid=[QID, VALID.qid],
            eval_names=["train", "valid"],
            eval_metric=eval_metric("mrr"),
        )
        assert {name: list(curve) for name, curve in found.evals_result_.items()} == {
            "train": ["mrr"],
            "valid": ["mrr"],
        }

    def test_parameters_copies_and_pickles(self):
        ranker = GroupedLGBMRanker(**SMALL, num_leaves=5, lambdarank_truncation_level=7)
        assert clone(ranker).get_params() == ranker.get_params()
        assert ranker.get_params() == lgb.LGBMRanker(**ranker.get_params()).get_params()
        assert ranker.set_params(num_leaves=4).get_params()["num_leaves"] == 4
        fitted = ranker.fit(X, Y, qid=QID)
        assert pickle.loads(pickle.dumps(fitted)).predict(X).tolist() == fitted.predict(X).tolist()
        assert repr(ranker).startswith("GroupedLGBMRanker(")

    def test_compare_predicts_with_it(self):
        ranker = GroupedLGBMRanker(**SMALL).fit(X, Y, qid=QID)
        found = gs.compare({"a": ranker, "b": -Y}, gs.Judgments(Y, qid=QID), ["mrr", "map"], features=X)
        assert found.leaderboard.loc["a", "mrr"] == mean("mrr", Y, QID, ranker.predict(X))

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"qid": QID[:-1]}, f"qid has {len(QID) - 1} entries but there are {len(QID)} labels"),
            ({"y": np.where(np.arange(len(Y)) == 3, np.nan, Y)}, r"labels must be finite: .* at row 3 \(query"),
            ({"X": X[:-1]}, f"X has {len(QID) - 1} rows but there are {len(QID)} labels"),
            ({"init_score": [0.0]}, "init_score has 1 rows but there are"),
            ({"sample_weight": [1.0, 2.0]}, "weight has 2 entries; it must have one per query"),
            ({"sample_weight": {1: 2.0}}, "weight has no entry for"),
            ({"eval_X": X, "eval_y": Y}, "eval_qid is missing of validation set 0: give the query of each row"),
            ({"eval_X": X}, "eval_y is missing: eval_X= and eval_y= belong together"),
            ({"eval_set": [(X, Y)], "eval_X": X, "eval_y": Y}, "as eval_set=, or as eval_X= and eval_y=, not both"),
            ({"eval_set": [(X, Y)], "eval_qid": QID}, "eval_qid must have an entry for each of 1 validation sets"),
            ({"eval_set": [(X, Y)], "eval_qid": [QID[:3]]}, r"qid has 3 entries .* of validation set 0"),
        ],
    )
    def test_what_is_wrong_is_said(self, change, message):
        with pytest.raises(ValueError, match=message):
            GroupedLGBMRanker(**SMALL).fit(**{"X": X, "y": Y, "qid": QID, **change})
