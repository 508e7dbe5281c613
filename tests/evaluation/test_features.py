"""Each model gets its columns by name. The expected scores are those of the features that it was trained on."""

import warnings

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xgboost as xgb
from scipy.sparse import csr_matrix
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from tests.bad_inputs import BadInput, bad_inputs

import gainwise as gw
from gainwise.data import RankingData, simulate
from gainwise.evaluation.prediction import predict
from gainwise.experiment import Candidate, Experiment
from gainwise.sklearn import GroupedLGBMRanker, scorer
from gainwise.xgboost import EvaluateRanking

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:X (has|does not have)")]

DATA = simulate(30, seed=3, mean_length=12)
NAMES = ["my text", "clicks", "age", "10"]
FRAME = pd.DataFrame(DATA.features[:, :4], columns=NAMES)
FRAME["clicks"] += DATA.labels
ARRAY = FRAME.to_numpy()
GRADES, GROUP, QID = DATA.labels, DATA.group, DATA.qid
LGB = {"objective": "lambdarank", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}
QUIET = {"iterations": 4, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
MIXED = FRAME[NAMES[::-1]].assign(unused=-1.0)

TRAIN = {
    "LightGBM": lambda x: lgb.train(LGB, lgb.Dataset(x, GRADES, group=GROUP), 4),
    "LGBMRanker": lambda x: lgb.LGBMRanker(n_estimators=4, verbose=-1, n_jobs=1).fit(x, GRADES, group=GROUP),
    "XGBoost": lambda x: xgb.train({"nthread": 1}, xgb.DMatrix(x, GRADES), 4),
    "XGBRanker": lambda x: xgb.XGBRanker(n_estimators=4, n_jobs=1).fit(x, GRADES, qid=QID),
    "CatBoost": lambda x: catboost.CatBoostRanker(**QUIET).fit(x, GRADES, group_id=QID),
    "scikit-learn": lambda x: RandomForestRegressor(3, random_state=0).fit(x, GRADES),
}
CLASSIFIERS = {
    "LightGBM": lgb.LGBMClassifier(n_estimators=4, verbose=-1, n_jobs=1),
    "XGBoost": xgb.XGBClassifier(n_estimators=4, n_jobs=1),
    "CatBoost": catboost.CatBoostClassifier(**QUIET),
    "scikit-learn": LogisticRegression(max_iter=1000),
}


@pytest.fixture(scope="module")
def models():
    return {(name, named): train(FRAME if named else ARRAY) for name, train in TRAIN.items() for named in (True, False)}


def predict_plainly(model, frame):
    """Predict with the library alone, from the columns of the training."""
    features = xgb.DMatrix(frame) if isinstance(model, xgb.Booster) else frame
    return np.asarray(model.predict(features))


def reads(model, table):
    """Return whether the library alone reads a table of this kind."""
    try:
        predict_plainly(model, table)
    except Exception:
        return False
    return True


@pytest.mark.parametrize("library", TRAIN)
class TestOrder:
    @pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "RankingData", "sparse"])
    def test_columns_are_matched_by_name(self, models, library, kind):
        model = models[library, True]
        features = {
            "pandas": lambda: MIXED,
            "polars": lambda: pl.from_pandas(MIXED),
            "arrow": lambda: pa.Table.from_pandas(MIXED),
            "RankingData": lambda: RankingData(MIXED, GRADES, qid=QID),
            "sparse": lambda: RankingData(csr_matrix(MIXED.to_numpy()), GRADES, qid=QID, feature_names=list(MIXED)),
        }[kind]()
        if kind in ("polars", "arrow") and not reads(model, features.select(NAMES)):
            pytest.skip(f"this version of {library} does not read a table of {kind}")
        if kind == "sparse" and library != "LightGBM":
            pytest.skip("other libraries treat the missing entries of sparse data as missing, or need a frame")
        prediction = predict(model, features)
        np.testing.assert_allclose(prediction.scores, predict_plainly(model, FRAME), rtol=1e-6)
        assert prediction.remarks == ("does not use the column unused",)

    def test_position_is_used_if_one_side_has_no_names(self, models, library):
        for named, features in ((True, ARRAY), (True, pd.DataFrame(ARRAY)), (False, FRAME)):
            model = models[library, named]
            prediction = predict(model, features)
            np.testing.assert_allclose(prediction.scores, predict_plainly(model, FRAME if named else ARRAY), rtol=1e-6)
            (remark,) = prediction.remarks
            assert remark.startswith("takes the features by position, because")
        for features in (ARRAY, pd.DataFrame(ARRAY)):
            assert predict(models[library, False], features).remarks == ()

    @pytest.mark.parametrize("prefix", ["", "Column_"])
    def test_numbers_are_names_if_the_other_side_has_them_in_another_order(self, library, prefix):
        frame = FRAME.set_axis([f"{prefix}{place}" for place in range(4)], axis=1)
        mixed = frame[frame.columns[[2, 0, 3, 1]]]
        for trained, evaluated in ((frame, mixed), (mixed, frame)):
            model = TRAIN[library](trained)
            features = (evaluated, evaluated.assign(unused=1.0), RankingData(evaluated, GRADES, qid=QID))
            for table, remarks in zip(features, [(), ("does not use the column unused",), ()], strict=True):
                prediction = predict(model, table)
                np.testing.assert_allclose(prediction.scores, predict_plainly(model, trained), rtol=1e-6)
                assert prediction.remarks == remarks

    def test_wrong_columns_name_the_model(self, models, library):
        judgments = gw.Judgments(GRADES, group=GROUP)
        for features, named, words in (
            (MIXED, False, "4 columns, as in the training of the model, got 5"),
            (ARRAY[:, :3], False, "got 3"),
            (ARRAY[:, :3], True, "got 3"),
            (FRAME[["clicks", "age", "10"]], True, "my"),
            (FRAME.rename(columns={"age": "Age "}), True, "'Age '"),
        ):
            with pytest.raises(ValueError, match="model 'old': features must have") as caught:
                gw.compare({"old": models[library, named], "new": GRADES}, judgments, features=features)
            assert words in str(caught.value)


def test_comparisons_list_unused_columns_once(models):
    judgments = gw.Judgments(GRADES, group=GROUP)
    small = TRAIN["LightGBM"](FRAME[["age", "clicks"]])
    both = {"old": small, "new": models["LightGBM", True], "other": models["XGBoost", True]}
    comparison = gw.compare(both, judgments, features=MIXED)
    plain = gw.compare({"old": small.predict(FRAME[["age", "clicks"]])}, judgments)
    assert comparison.leaderboard.loc["old", "map"] == plain.leaderboard.loc["old", "map"]
    assert comparison.notes == (
        "old does not use the columns 10, my text and unused",
        "Each of new and other does not use the column unused",
    )


@pytest.mark.parametrize("library", CLASSIFIERS)
def test_binary_classifiers_are_scored_by_the_probability_of_the_positive_class(library):
    model = CLASSIFIERS[library].fit(FRAME, GRADES >= 2)
    prediction = predict(model, MIXED)
    np.testing.assert_allclose(prediction.scores, model.predict_proba(FRAME)[:, 1], rtol=1e-6)
    assert any("probability of class" in remark for remark in prediction.remarks)
    score = scorer("mrr")
    with pytest.warns(UserWarning, match="probability of class"):
        value = score(model, FRAME, GRADES, qid=QID)
    judgments = gw.Judgments(GRADES, group=GROUP)
    assert value == gw.evaluate("mrr", judgments, model.predict_proba(FRAME)[:, 1]).mean["mrr"]


def test_classifiers_without_probabilities_are_scored_by_their_decision_function():
    judgments = gw.Judgments(GRADES, group=GROUP)
    model = LinearSVC(dual="auto", random_state=0).fit(FRAME, GRADES >= 2)
    comparison = gw.compare({"svm": model}, judgments, "mrr", features=FRAME)
    assert comparison.winners == {"mrr": "svm"}
    expected = gw.evaluate("mrr", judgments, model.decision_function(FRAME)).mean["mrr"]
    assert comparison.leaderboard.loc["svm", "mrr"] == expected
    assert any("decision function for class True" in note for note in comparison.notes)
    several = LinearSVC(dual="auto", random_state=0).fit(FRAME, GRADES)
    with pytest.raises(ValueError, match="model 'svm': it is a classifier whose decision_function returns the shape"):
        gw.compare({"svm": several}, judgments, "mrr", features=FRAME)


def test_scorers_match_columns_by_name(models):
    expected = scorer("map")(models["LGBMRanker", True], FRAME, GRADES, qid=QID)
    with pytest.warns(UserWarning, match="does not use the column unused"):
        assert scorer("map")(models["LGBMRanker", True], MIXED, GRADES, qid=QID) == expected


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.from_pandas])
def test_the_grouped_ranker_matches_columns_by_name(frame):
    other = FRAME[NAMES[::-1]]
    results = []
    for features in (FRAME, other):
        ranker = GroupedLGBMRanker(n_estimators=3, n_jobs=1, verbose=-1)
        ranker.fit(FRAME, GRADES, qid=QID, eval_X=frame(features), eval_y=GRADES, eval_qid=QID, eval_metric="map")
        results.append((ranker.evals_result_, ranker.predict(frame(features)).tolist()))
    assert results[0] == results[1]
    assert (ranker.predict(other.to_numpy()) != results[0][1]).any()


@pytest.mark.parametrize(
    ("trained", "evaluated", "remark"),
    [
        (FRAME, MIXED, "does not use the column unused"),
        (FRAME, ARRAY, "takes the features by position, because they have no names"),
        (ARRAY, FRAME, "takes the features by position, because it has no feature names"),
    ],
    ids=["names", "array", "unnamed model"],
)
def test_evaluate_ranking_matches_columns_by_name(trained, evaluated, remark):
    curves = []
    for features in (trained, evaluated):
        log = EvaluateRanking({"valid": (features, GRADES, QID)}, "map")
        result = {}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            train = xgb.DMatrix(trained, GRADES, qid=QID)
            xgb.train({"nthread": 1}, train, 3, evals_result=result, callbacks=[log], verbose_eval=False)
        curves.append(result["valid"]["map"])
    assert curves[0] == curves[1]
    assert [str(each.message) for each in caught] == [f"Dataset 'valid': the model {remark}."]


def test_experiments_predict_and_refit_with_columns_by_name():
    parts = RankingData(FRAME, GRADES, qid=QID).split_queries(0.5, 0.25, 0.25, seed=1)
    candidate = Candidate("lgb", "lightgbm", {"min_data_in_leaf": 5})
    result = Experiment([candidate], *parts, num_boost_round=3).run(progress=False)
    expected = result.predict(FRAME)
    with pytest.warns(UserWarning, match="X: the model does not use the column unused"):
        np.testing.assert_array_equal(result.predict(MIXED), expected)
    with pytest.raises(ValueError, match="clicks is missing"):
        result.predict(FRAME.drop(columns="clicks"))
    whole, mixed = (RankingData(frame, GRADES, qid=QID) for frame in (FRAME, FRAME[NAMES[::-1]]))
    booster, other = result.refit(whole), result.refit(mixed)
    np.testing.assert_array_equal(booster.predict(FRAME), other.predict(FRAME))


TWO, TWICE = FRAME.assign(my_text=0.0), pd.concat([FRAME, FRAME["age"]], axis=1)
SEVERAL = LogisticRegression(max_iter=1000).fit(FRAME, GRADES)
SHARES = SEVERAL.predict_proba(FRAME)
SINGLE = RandomForestClassifier(3, random_state=0).fit(FRAME, GRADES * 0)
JUDGMENTS = gw.Judgments(GRADES, group=GROUP)


def compare_one(model, features=FRAME):
    return gw.compare({"old": model}, JUDGMENTS, features=features)


CASES = [
    BadInput(
        "blank or underscore", lambda: compare_one(TRAIN["LightGBM"](FRAME), TWO), "my_text", ValueError, "Rename"
    ),
    BadInput("duplicate name", lambda: compare_one(TRAIN["XGBoost"](FRAME), TWICE), "'age'", ValueError, "one column"),
    BadInput("several classes", lambda: compare_one(SEVERAL), "'old'", ValueError, "classifier"),
    BadInput("one class", lambda: compare_one(SINGLE), "'old'", ValueError, "classifier"),
    BadInput("two columns of scores", lambda: compare_one(SHARES[:, :2]), "'old'", ValueError, "[:, 1]"),
]


@bad_inputs(CASES)
def test_bad_inputs(case):
    case.check()
