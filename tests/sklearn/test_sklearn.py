"""Searches and cross-validations of scikit-learn compared with plain loops, and LightGBM's ranker with qid."""

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
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.adapters.drivers import FixedModel, lgb_held_out, make_part

import gainwise as gw
from gainwise.lightgbm import early_stopping, eval_metric
from gainwise.sklearn import GroupedLGBMRanker, scorer

pytestmark = pytest.mark.slow

DATA, VALID = make_part(1, 48), make_part(2, 12)
ANY_ORDER = np.random.default_rng(0).permutation(len(DATA.labels))
X, Y, QID = DATA.features[ANY_ORDER], DATA.labels[ANY_ORDER], DATA.qid[ANY_ORDER]
SMALL = {"n_estimators": 4, "n_jobs": 1, "verbose": -1, "min_child_samples": 3}
FRAME = pd.DataFrame(X).add_prefix("f")
WITH_QID = FRAME.assign(qid=QID)
MODEL = LinearRegression().fit(X, Y)
STRICT = {"error_score": "raise"}


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def folds():
    return GroupKFold(3).set_split_request(groups="qid")


def mean(name, labels, qid, scores, **options):
    return gw.evaluate(name, gw.Judgments(labels, qid=qid, **options), scores).mean[name]


def sort_rows(features, labels, qid):
    """Return the rows in the order that LightGBM's ranker requires, with queries by their first row."""
    first = {}
    for query in qid.tolist():
        first.setdefault(query, len(first))
    order = sorted(range(len(qid)), key=lambda row: first[qid[row]])
    return order, features[order], labels[order], [qid.tolist().count(query) for query in first]


def fit_own(features, labels, qid, weight=None, params=(), **options):
    """Return LightGBM's ranker, trained on sorted rows."""
    order, features, labels, sizes = sort_rows(features, labels, qid)
    weight = None if weight is None else weight[order]
    ranker = lgb.LGBMRanker(**SMALL).set_params(**dict(params))
    return ranker.fit(features, labels, group=sizes, sample_weight=weight, **options)


def scores_by_hand(name, weight=None, **params):
    """Return the score of each fold, by a loop with LightGBM's ranker."""
    for train, test in GroupKFold(3).split(X, Y, QID):
        model = fit_own(X[train], Y[train], QID[train], None if weight is None else weight[train], params)
        options = {} if weight is None else {"weight": weight[test]}
        yield mean(name, Y[test], QID[test], model.predict(X[test]), **options)


def scores_of_folds(search, row=0, name="score"):
    return [search.cv_results_[f"split{fold}_test_{name}"][row] for fold in range(3)]


@pytest.mark.usefixtures("routing")
class TestSearches:
    GRID = {"num_leaves": [3, 6]}

    def test_grid_search_in_two_processes(self):
        scoring = {"first": scorer("ndcg_exp@5"), "second": scorer("mrr")}
        options = {"scoring": scoring, "refit": "first", "cv": folds(), "n_jobs": 2, **STRICT}
        search = GridSearchCV(GroupedLGBMRanker(**SMALL), self.GRID, **options).fit(X, Y, qid=QID)
        for row, leaves in enumerate(self.GRID["num_leaves"]):
            for name, metric in (("first", "ndcg_exp@5"), ("second", "mrr")):
                assert scores_of_folds(search, row, name) == list(scores_by_hand(metric, num_leaves=leaves))

    def test_several_metrics_and_train_scores(self):
        names = ["ndcg_linear@5", "ndcg_exp@5"]
        options = {"scoring": scorer(names), "cv": folds(), "params": {"qid": QID}, "return_train_score": True}
        found = cross_validate(GroupedLGBMRanker(**SMALL), X, Y, **options)
        for name in names:
            assert found[f"test_{name}"].tolist() == list(scores_by_hand(name))
            assert len(found[f"train_{name}"]) == 3

    @pytest.mark.skipif(not hasattr(make_pipeline(LinearRegression()), "transform_input"), reason="scikit-learn 1.6")
    def test_early_stopping_inside_a_pipeline_inside_a_search(self):
        ranker = GroupedLGBMRanker(**{**SMALL, "n_estimators": 30, "metric": "None"}).set_fit_request(
            qid=True, eval_X=True, eval_y=True, eval_qid=True, eval_metric=True, callbacks=True
        )
        pipeline = make_pipeline(StandardScaler(), ranker, transform_input=["eval_X"])
        stop = {"eval_metric": eval_metric("ndcg_exp@5"), "callbacks": [early_stopping("ndcg_exp@5", 3, verbose=False)]}
        options = {"scoring": scorer("mrr"), "cv": folds(), **STRICT}
        search = GridSearchCV(pipeline, {"groupedlgbmranker__num_leaves": [4]}, **options)
        sets = {"eval_X": (VALID.features,), "eval_y": (VALID.labels,), "eval_qid": (VALID.qid,)}
        search.fit(X, Y, qid=QID, **sets, **stop)
        expected, params = [], {**ranker.get_params(), "num_leaves": 4}
        for train, test in GroupKFold(3).split(X, Y, QID):
            scaler = StandardScaler().fit(X[train])
            held_out = lgb_held_out([VALID._replace(features=scaler.transform(VALID.features))])
            model = fit_own(scaler.transform(X[train]), Y[train], QID[train], params=params, **held_out, **stop)
            expected.append(mean("mrr", Y[test], QID[test], model.predict(scaler.transform(X[test]))))
        assert scores_of_folds(search) == expected
        assert 0 < search.best_estimator_[-1].best_iteration_ < 30

    @pytest.mark.parametrize("by_query", [True, False])
    def test_weights_reach_fit_and_score(self, by_query):
        rows = 1.0 + QID % 3
        weight = {query: 1.0 + query % 3 for query in np.unique(QID).tolist()} if by_query else rows
        ranker = GroupedLGBMRanker(**SMALL).set_fit_request(sample_weight=True)
        scoring = scorer("mrr").set_score_request(sample_weight=True)
        options = {"scoring": scoring, "cv": folds(), "params": {"qid": QID, "sample_weight": weight}, **STRICT}
        found = cross_validate(ranker, X, Y, **options)
        assert found["test_score"].tolist() == list(scores_by_hand("mrr", rows))

    def test_weights_without_a_request(self):
        ranker = GroupedLGBMRanker(**SMALL).set_fit_request(sample_weight=False)
        options = {"scoring": scorer("mrr"), "cv": folds(), "params": {"qid": QID, "sample_weight": QID + 1.0}}
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            cross_validate(ranker, X, Y, **options)


class TestWithoutRouting:
    @pytest.mark.parametrize("ranker", [GroupedLGBMRanker(**SMALL), xgb.XGBRanker(n_estimators=4, n_jobs=1)])
    def test_a_column_of_queries(self, ranker):
        frame, data = pd.DataFrame(DATA.features).add_prefix("f"), DATA
        options = {"groups": data.qid, "cv": GroupKFold(3), "scoring": scorer("mrr"), **STRICT}
        found = cross_val_score(ranker, frame.assign(qid=data.qid), data.labels, **options)
        expected = []
        for train, test in GroupKFold(3).split(frame, data.labels, data.qid):
            model = clone(ranker).fit(frame.iloc[train], data.labels[train], qid=data.qid[train])
            expected.append(mean("mrr", data.labels[test], data.qid[test], model.predict(frame.iloc[test])))
        assert found.tolist() == expected

    def test_other_scorers_in_the_same_dict_get_their_weights(self):
        scoring = {"ours": scorer("mrr").set_score_request(sample_weight=True), "theirs": "r2"}
        options = {"scoring": scoring, "refit": "theirs", "cv": GroupKFold(3), **STRICT}
        search = GridSearchCV(LinearRegression(), {"fit_intercept": [True]}, **options)
        search.fit(WITH_QID, Y, groups=QID, sample_weight=np.ones(len(Y)))
        assert np.isfinite(search.cv_results_["mean_test_ours"]).all()

    def test_scoring_needs_no_lightgbm(self):
        code = "import sys; sys.modules['lightgbm'] = None; from gainwise.sklearn import scorer; print(scorer('mrr'))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "scorer('mrr')"


class TestScorer:
    def test_copies_keep_the_options(self):
        made = scorer(["mrr", "map@5"], n_jobs=1).set_score_request(sample_weight=True, qid="query")
        for copy in (clone(made, safe=False), pickle.loads(pickle.dumps(made))):
            assert repr(copy) == "scorer(['mrr', 'map@5'])"
            assert str(copy.get_metadata_routing().score) == "{'qid': 'query', 'sample_weight': True}"
            assert copy(MODEL, X, Y, qid=QID) == made(MODEL, X, Y, qid=QID)

    def test_one_metric_returns_a_number(self):
        metric = gw.metric(
            "squared_distance", lambda labels, scores: float(np.mean((labels - scores) ** 2)), higher_is_better=False
        )
        value = mean("mrr", Y, QID, MODEL.predict(X))
        assert scorer("mrr")(MODEL, X, Y, qid=QID) == value
        error = gw.evaluate(metric, gw.Judgments(Y, qid=QID), MODEL.predict(X)).mean["squared_distance"]
        assert scorer(metric)(MODEL, X, Y, qid=QID) == -error

    @pytest.mark.parametrize("queries", ["keyword", "column"])
    def test_rows_are_matched_by_their_index(self, queries):
        order, labels = np.random.default_rng(1).permutation(len(Y)), pd.Series(Y)

        class First(FixedModel):
            def predict(self, features):
                return np.asarray(features)[:, 0]

        expected = scorer("ndcg_exp@5")(First(None), X, Y, qid=QID)
        features = (FRAME if queries == "keyword" else WITH_QID).iloc[order]
        keyword = {"qid": pd.Series(QID)} if queries == "keyword" else {}
        for rows in (labels, labels.iloc[order[::-1]]):
            assert scorer("ndcg_exp@5")(First(None), features, rows, **keyword) == pytest.approx(expected, abs=1e-14)


def predictions(*data, params=(), **options):
    ranker = GroupedLGBMRanker(**{**SMALL, **dict(params)}).fit(*data, **options)
    return ranker.predict(X).tolist()


class TestRanker:
    def test_it_is_the_model_that_lightgbm_trains_on_sorted_rows(self):
        found, expected = GroupedLGBMRanker(**SMALL).fit(X, Y, qid=QID), fit_own(X, Y, QID)
        assert found.booster_.model_to_string() == expected.booster_.model_to_string()
        assert found.predict(X).tolist() == expected.predict(X).tolist()
        assert found.predict(X, num_iteration=2).tolist() == expected.predict(X, num_iteration=2).tolist()
        comparison = gw.compare({"a": found, "b": -Y}, gw.Judgments(Y, qid=QID), ["mrr", "map"], features=X)
        assert comparison.leaderboard.loc["a", "mrr"] == mean("mrr", Y, QID, found.predict(X))

    @pytest.mark.parametrize("convert", [pd.DataFrame, scipy.sparse.csr_matrix, np.asfortranarray, np.ndarray.tolist])
    def test_every_kind_of_features(self, convert):
        names = np.array([f"query {number}" for number in QID])
        found = GroupedLGBMRanker(**SMALL).fit(convert(X), Y.tolist(), qid=names)
        assert found.predict(convert(X)).tolist() == fit_own(X, Y, QID).predict(X).tolist()

    @pytest.mark.parametrize("sorted_rows", [True, False])
    def test_rows_are_matched_by_the_index_of_the_labels(self, sorted_rows):
        rows = np.argsort(QID, kind="stable") if sorted_rows else np.arange(len(Y))
        start = np.round(np.random.default_rng(1).normal(size=len(Y)), 1)
        order, features, labels, sizes = sort_rows(X[rows], Y[rows], QID[rows])
        own = lgb.LGBMRanker(**SMALL).fit(features, labels, group=sizes, init_score=start[rows][order])
        by_place = predictions(X[rows], Y[rows], qid=QID[rows], init_score=start[rows])
        shuffled = {"qid": pd.Series(QID), "init_score": pd.Series(start).iloc[::-1]}
        by_index = GroupedLGBMRanker(**SMALL).fit(
            FRAME.sample(frac=1, random_state=1), pd.Series(Y).iloc[rows], **shuffled
        )
        assert by_place == own.predict(X).tolist() == by_index.predict(FRAME).tolist()

    def test_weights_by_row_by_query_and_by_id(self):
        by_id = {query: 1.0 + query % 4 for query in dict.fromkeys(QID.tolist())}
        by_row = np.array([by_id[query] for query in QID])
        expected = fit_own(X, Y, QID, by_row).predict(X).tolist()
        assert expected != fit_own(X, Y, QID).predict(X).tolist()
        for weight in (by_row, by_id, list(by_id.values()), pd.Series(by_id)):
            assert predictions(X, Y, qid=QID, sample_weight=weight) == expected

    def test_categorical_features_of_a_frame(self):
        frame = WITH_QID.assign(f1=QID % 3)
        by_name = GroupedLGBMRanker(**SMALL).fit(frame, Y, categorical_feature=["f1"]).predict(frame)
        without = frame.drop(columns="qid")
        by_place = GroupedLGBMRanker(**SMALL).fit(without, Y, qid=QID, categorical_feature=[1]).predict(without)
        np.testing.assert_array_equal(by_name, by_place)

    @pytest.mark.parametrize("form", ["pairs", "one", "tuples", "frame"])
    def test_validation_data_in_any_order(self, form):
        order, start = np.random.default_rng(5).permutation(len(VALID.labels)), np.arange(len(VALID.labels)) / 8
        features, labels, queries = VALID.features[order], VALID.labels[order], VALID.qid[order]
        frame = pd.DataFrame(features).add_prefix("f").assign(qid=queries)
        sets = {
            "pairs": {"eval_set": [(features, labels)], "eval_qid": [queries]},
            "one": {"eval_X": features, "eval_y": labels, "eval_qid": queries},
            "tuples": {"eval_X": (features,), "eval_y": (labels,), "eval_qid": (queries,)},
            "frame": {"eval_X": frame, "eval_y": labels},
        }[form]
        names, weight, alone = ["ndcg_exp@5", "mrr"], 1.0 + queries % 2, form in ("one", "frame")
        sets |= {"eval_sample_weight": weight if alone else [weight], "eval_init_score": start if alone else [start]}
        found = GroupedLGBMRanker(**SMALL, metric="None").fit(
            FRAME if form == "frame" else X, Y, qid=QID, eval_metric=eval_metric(names), eval_names=["held_out"], **sets
        )
        judgments = gw.Judgments(labels, qid=queries, weight=weight)
        scores = found.predict(frame if form == "frame" else features) + start
        values = {name: curve[-1] for name, curve in found.evals_result_["held_out"].items()}
        assert values == pytest.approx(gw.evaluate(names, judgments, scores).mean, rel=1e-12)


class TestSplitQueries:
    """Searches that split queries are in the table of bad inputs of the adapters."""

    def test_complete_queries_and_training_scores_are_valid(self):
        ranker = GroupedLGBMRanker(n_estimators=2, n_jobs=1, verbose=-1).fit(X, Y, qid=QID)
        halves = np.isin(QID, np.unique(QID)[::2])
        assert scorer("mrr")(ranker, X, Y, qid=QID) > 0
        assert scorer("mrr")(ranker, X[halves], Y[halves], qid=QID[halves]) > 0
        assert scorer("mrr")(ranker, X, Y, qid=[f"other {query}" for query in QID]) > 0
        restored = pickle.loads(pickle.dumps(ranker))
        assert scorer("mrr")(restored, X, Y, qid=QID) == scorer("mrr")(ranker, X, Y, qid=QID)
