"""Invalid calls of the adapters of LightGBM, XGBoost, CatBoost and scikit-learn, and of `Curves`."""

import pickle

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.model_selection import GroupKFold, KFold, cross_val_score
from tests.adapters.drivers import (
    LGB,
    XGB,
    FixedModel,
    LightGBMTrain,
    XGBoostTrain,
    catboost_pool,
    lgb_dataset,
    lgb_held_out,
    make_part,
    xgb_arrays,
    xgb_matrix,
)
from tests.bad_inputs import BadInput, bad_inputs

import gainwise as gw
import gainwise.catboost
from gainwise import lightgbm as ours_lgb
from gainwise import xgboost as ours_xgb
from gainwise.catboost import eval_metric as catboost_metric
from gainwise.sklearn import GroupedLGBMRanker, scorer
from gainwise.xgboost import EvaluateRanking, custom_metric, full_precision

PART = make_part(1, 20)
ROWS, QUERIES = len(PART.labels), len(PART.group)
X, Y = PAIR = PART.features, PART.labels
BINARY = PART._replace(labels=(PART.labels > 1).astype(float))
NEGATIVE = PART._replace(labels=PART.labels - 1)
WORTHLESS = PART._replace(weight=np.zeros(QUERIES))
IRRELEVANT = PART._replace(labels=0 * PART.labels)
NAN_LABELS = np.where(np.arange(ROWS) == 3, np.nan, PART.labels)
FRAME = pd.DataFrame(X).add_prefix("f").assign(qid=PART.qid)
OTHER_ROWS = pd.DataFrame(X), pd.Series(Y, index=np.arange(ROWS) + 1)
"""Features and labels whose indexes differ."""
ROW_NAMES = np.arange(ROWS) + 1
INDEXED_QID = pd.Series(PART.qid, index=ROW_NAMES)
MIXED = {"X": pd.DataFrame(X, index=ROW_NAMES), "y": pd.Series(Y, index=ROW_NAMES).iloc[::-1]}
"""Features and labels with one index in different orders."""
NARROW = {"eval_X": X[:, 1:], "eval_y": Y, "eval_qid": PART.qid}
OTHER_WIDTHS = {
    columns: PART._replace(features=np.resize(PART.features, (ROWS, columns)))
    for columns in (X.shape[1] - 1, X.shape[1] + 1)
}
MODEL = FixedModel(PART.labels)
MATRIX, POOL = xgb_matrix(PART), catboost_pool(PART)
UNJUDGED, ONE_QUERY = catboost.Pool(X, group_id=PART.qid), catboost_pool(PART._replace(group=[ROWS]))
AMBIGUOUS = lgb.Dataset(X[:4], [1, 0, 1, 0], group=[3, 0, 1, 0], weight=[1, 1, 1, 9], params={"min_data_in_bin": 1})
"""As many weights as there are documents, and as there are queries."""
TWO_SCORES, NAN_SCORES = [np.zeros(ROWS)] * 2, [np.full(ROWS, np.nan)]
ROW_BY_ROW = list(KFold(3, shuffle=True, random_state=0).split(X))
NEVER = gw.metric("never", lambda labels, scores: float("nan"))
LOSS = gw.metric("rising_loss", lambda labels, scores: 1.0, higher_is_better=False)
FAIR = gw.metric("fair", lambda labels, scores: 1.0)
LGB_METRIC, XGB_LOG = ours_lgb.eval_metric("mrr"), custom_metric("mrr")
LGB_STOP = ours_lgb.early_stopping("mrr", 3, verbose=False)
XGB_STOP, CUTTING = ours_xgb.early_stopping("map", 3), ours_xgb.early_stopping("mrr", 2, save_best=True)
DART = {"booster": "dart", "rate_drop": 0.5}


def squares(preds, data):
    return preds - data.get_label(), np.ones(len(preds))


def twin(scores, data):
    return "mrr", 0.5, True


def unnamed(scores, data):
    return "mine", 0.5


def logged_twice(scores, data):
    return [("mine", 0.5), ("mine", 0.25)]


TWICE = [ours_lgb.feval("mrr"), twin]
UNNAMED = {"log": None, "custom_metric": unnamed, "evals": [(MATRIX, "v")]}
LOGGED_TWICE = {**UNNAMED, "custom_metric": logged_twice}
STOP_UNNAMED = ours_xgb.early_stopping("mine", 3, maximize=True, verbose=False)


def again(pickled):
    return pickle.loads(pickle.dumps(pickled))


def ungrouped(kind):
    return kind(X, label=Y)


def fit_lgb(log="mrr", more=(), params=(), names=None, only_train=False, **options):
    """Train two rounds with feval and more callbacks."""
    data = lgb_dataset(PART)
    valid = [data] if only_train else [lgb_dataset(PART, data) for _ in names or [None]]
    options = {"valid_sets": valid, "valid_names": names, "feval": log and ours_lgb.feval(log), **options}
    params = {**LGB, "metric": "None" if log else "ndcg", **dict(params)}
    return lgb.train(params, data, 2, callbacks=list(more), **options)


def stop_lgb(metric, dataset=None, **options):
    return fit_lgb(more=[ours_lgb.early_stopping(metric, 3, dataset, verbose=False)], **options)


def clash_lgb(metric, at, log="map@10"):
    return fit_lgb(log, params={"metric": metric, "eval_at": at})


def curves_lgb(metrics=None, dataset=None, **options):
    return fit_lgb(more=[ours_lgb.Curves(metrics, dataset=dataset)], **options)


def fit_lgb_on(data):
    params = {**LGB, "objective": "regression", "min_data_in_leaf": 1}
    return lgb.train(params, data, 1, valid_sets=[data], feval=ours_lgb.feval("mrr"))


def fit_lgb_regressor():
    sets = {name: value for name, value in lgb_held_out([PART]).items() if name != "eval_group"}
    return lgb.LGBMRegressor(n_estimators=1, verbose=-1, n_jobs=1).fit(*PAIR, **sets, eval_metric=LGB_METRIC)


def fit_lgb_uncalled():
    ranker = lgb.LGBMRanker(n_estimators=1, verbose=-1, n_jobs=1)
    ranker.fit(*PAIR, group=PART.group, **lgb_held_out([PART]), eval_metric=ours_lgb.eval_metric)


def cv_lgb(objective="lambdarank", **options):
    options.setdefault("stratified", False)
    return lgb.cv({**LGB, "objective": objective}, lgb_dataset(PART), 2, feval=ours_lgb.feval("mrr"), **options)


def evaluate_ranking(data, name="valid"):
    return EvaluateRanking({name: data}, "mrr")


def fit_xgb(log="mrr", more=(), params=(), datasets=("valid",), part=PART, **options):
    """Train two rounds with callbacks, and EvaluateRanking if `log` is a metric."""
    data = xgb_matrix(part)
    log = EvaluateRanking(dict.fromkeys(datasets, data), log) if isinstance(log, str) else log
    options = {"callbacks": [*([log] if log else []), *more], "verbose_eval": False, **options}
    return xgb.train({**XGB, **dict(params)}, data, 2, **options)


def stop_xgb(metric, log="mrr", more=(), datasets=("valid",), **options):
    return fit_xgb(log, [ours_xgb.early_stopping(metric, 3, **options), *more], datasets=datasets)


def clash_xgb(form):
    """Train with a metric that XGBoost logs under the name of a gainwise metric."""
    matrix, log = xgb_matrix(BINARY), custom_metric("map@5")
    callback = {
        "EvaluateRanking": lambda: EvaluateRanking({"valid": matrix}, "map@5"),
        "full_precision": lambda: full_precision(log),
    }[form]()
    params = {"objective": "rank:map", "eval_metric": "map@5"}
    custom = {} if form == "EvaluateRanking" else {"custom_metric": log}
    return fit_xgb(callback, params=params, part=BINARY, evals=[(matrix, "valid")], **custom)


def curves_xgb(metrics=None, higher_is_better=None, **options):
    return fit_xgb(more=[ours_xgb.Curves(metrics, higher_is_better=higher_is_better)], **options)


def fit_other_log():
    return fit_xgb(log=full_precision(XGB_LOG), custom_metric=custom_metric("mrr"), evals=[(MATRIX, "valid")])


def fit_xgb_ranker():
    ranker = xgb.XGBRanker(n_estimators=1, n_jobs=1, eval_metric=XGB_LOG)
    ranker.fit(*PAIR, qid=PART.qid, eval_set=[PAIR], eval_qid=[PART.qid])


def cv_xgb(callback):
    return xgb.cv(XGB, MATRIX, 2, custom_metric=XGB_LOG, callbacks=[callback])


def use_twice(fit, kind, duplicate=lambda curves: curves):
    curves = kind(show=False)
    fit(more=[curves])
    fit(more=[duplicate(curves)])


def evaluate_catboost(metric="mrr", part=PART, scores=None, labels=None, weight=None):
    adapter = catboost_metric(metric, catboost_pool(part))
    labels = (part.labels if labels is None else labels).astype(np.float32)
    if weight is not None:  # Invalid weights must not be mistaken for cached ones.
        with pytest.raises(ValueError, match="for every query"):
            adapter.evaluate([np.zeros(ROWS)], labels, weight)
    return adapter.evaluate(scores or [np.zeros(ROWS)], labels, weight)


def fit_grouped(**change):
    ranker = GroupedLGBMRanker(n_estimators=2, n_jobs=1, verbose=-1, min_child_samples=3)
    return ranker.fit(**{"X": X, "y": Y, "qid": PART.qid, **change})


def search_rows(ranker):
    ranker.set_params(n_estimators=1, n_jobs=1)
    options = {"cv": KFold(3, shuffle=True, random_state=0), "error_score": "raise"}
    return cross_val_score(ranker, FRAME, Y, scoring=scorer("mrr"), **options)


def score_half():
    train = np.arange(ROWS) % 2 == 0
    ranker = fit_grouped(X=X[train], y=Y[train], qid=PART.qid[train])
    return scorer("mrr")(ranker, X[~train], Y[~train], qid=PART.qid[~train])


def fit_places(places):
    return fit_grouped(X=FRAME, qid=None, categorical_feature=places)


def use_in_lightgbm(tool, role):
    if role == "eval_metric":
        held_out = lgb_held_out([PART])
        return lgb.LGBMRanker(n_estimators=1, verbose=-1).fit(*PAIR, group=PART.group, **held_out, eval_metric=tool)
    return fit_lgb(**{"callbacks": {"more": [tool]}, "feval": {"feval": tool}}[role])


def use_in_xgboost(tool, role):
    if role == "eval_metric":
        ranker = xgb.XGBRanker(n_estimators=1, n_jobs=1, eval_metric=tool)
        return ranker.fit(*PAIR, qid=PART.qid, eval_set=[PAIR], eval_qid=[PART.qid])
    options = {"more": [tool]} if role == "callbacks" else {"custom_metric": tool, "evals": [(MATRIX, "v")]}
    return fit_xgb(None, **options)


TOOLS = {
    "lightgbm": [
        ours_lgb.early_stopping("mrr", 3),
        ours_lgb.Curves(show=False),
        ours_lgb.feval("mrr"),
        LGB_METRIC,
    ],
    "xgboost": [
        ours_xgb.early_stopping("mrr", 3),
        ours_xgb.Curves(show=False),
        evaluate_ranking(MATRIX),
        XGB_LOG,
        full_precision(XGB_LOG),
    ],
    "catboost": [catboost_metric("mrr", POOL)],
}
USES = {
    "lightgbm": (use_in_lightgbm, ["callbacks", "feval", "eval_metric"]),
    "xgboost": (use_in_xgboost, ["callbacks", "custom_metric", "eval_metric"]),
}
MISUSES = [
    pytest.param(own, tool, library, role, id=f"{type(tool).__name__} of {own} as {role} in {library}")
    for own, tools in TOOLS.items()
    for tool in tools
    for library, (_, roles) in USES.items()
    for role in roles
    if library != own and (role != "eval_metric" or callable(tool))
]


STOP = [
    BadInput("list of metrics", lambda stop: stop(["mrr"], 3), "metric", TypeError, "one name"),
    BadInput("negative min_delta", lambda stop: stop("mrr", 3, min_delta=-0.1), "min_delta", ValueError, "at least"),
    BadInput("number for dataset", lambda stop: stop("mrr", 3, dataset=0), "dataset", TypeError, "got 0"),
    BadInput("no rounds", lambda stop: stop("mrr"), "'rounds'", TypeError, "missing"),
    BadInput("0 rounds", lambda stop: stop("mrr", 0), "rounds", ValueError, "at least 1"),
]

LOGS = [
    BadInput("bare ndcg", lambda make: make(["ndcg@10"]), "'ndcg@10'", ValueError, "ndcg_linear@10"),
    BadInput("unknown names=", lambda make: make("mrr", names="save"), "names", ValueError, "'safe'"),
    BadInput("unknown labels", lambda make: make("mrr", negative_labels="no"), "negative_labels", ValueError, "'zero'"),
    BadInput("no threads", lambda make: make("mrr", n_jobs=0), "n_jobs", ValueError, "at least 1"),
]

CURVES = [
    BadInput("number for dataset", lambda kind: kind(dataset=3), "dataset", TypeError, "got 3"),
    BadInput("unknown show", lambda kind: kind(show="yes"), "show", ValueError, "got 'yes'"),
]

LIGHTGBM = [
    BadInput("no such metric", lambda: stop_lgb("mrr@5", log="mrr@10"), "'mrr@5'", ValueError, "'mrr@10'"),
    BadInput(
        "nothing logs it", lambda: stop_lgb("mrr", log=None), "'mrr'", ValueError, "feval=gainwise.lightgbm.feval"
    ),
    BadInput("no such dataset", lambda: stop_lgb("mrr", dataset="valid"), "'valid'", ValueError, "'valid_0'"),
    BadInput("no data", lambda: stop_lgb("mrr", valid_sets=[]), "'mrr'", ValueError, "nothing to look"),
    BadInput("training data only", lambda: stop_lgb("mrr", only_train=True), "'mrr'", ValueError, "validation data"),
    BadInput("name logged twice", lambda: stop_lgb("mrr", feval=TWICE), "'mrr'", ValueError, "one name"),
    BadInput("two datasets of a name", lambda: stop_lgb("mrr", names=["a", "a"]), "'mrr'", ValueError, "one name"),
    BadInput("no groups", lambda: fit_lgb_on(ungrouped(lgb.Dataset)), "group=", ValueError, "no groups"),
    BadInput("no groups in an estimator", fit_lgb_regressor, "group=", ValueError, "no groups"),
    BadInput("negative labels", lambda: fit_lgb_on(lgb_dataset(NEGATIVE)), "labels", ValueError, "negative"),
    BadInput("ambiguous weights", lambda: fit_lgb_on(AMBIGUOUS), "weight", ValueError, "is ambiguous"),
    BadInput("every 0", lambda: ours_lgb.feval("mrr", every=0), "every", ValueError, "at least 1"),
    BadInput("its map", lambda: clash_lgb("map", "5,10"), "'map@10'", ValueError, "LightGBM itself logs"),
    BadInput("its MAP", lambda: clash_lgb("MAP", np.array([10])), "'map@10'", ValueError, "LightGBM itself logs"),
    BadInput("its fair", lambda: clash_lgb("ndcg,fair", 10, FAIR), "'fair'", ValueError, "LightGBM itself logs"),
    BadInput("uncalled feval", lambda: fit_lgb(feval=ours_lgb.feval), "feval=feval(", TypeError, "without a call"),
    BadInput("uncalled eval_metric", lambda: fit_lgb_uncalled(), "eval_metric=eval_", TypeError, "without a call"),
    BadInput("uncalled stop", lambda: fit_lgb(more=[ours_lgb.early_stopping]), "rounds=50", TypeError, "a call"),
    BadInput("split queries", lambda: cv_lgb(folds=ROW_BY_ROW), "query 0", ValueError, "folds split queries"),
    BadInput("custom objective", lambda: cv_lgb(objective=squares), "GroupKFold", ValueError, "folds split queries"),
    BadInput("a metric without value", lambda: fit_lgb(NEVER), "query 0", ValueError, "got nan"),
    BadInput("curves of nothing", lambda: curves_lgb(valid_sets=[]), "valid_sets", ValueError, "nothing to show"),
    BadInput("curves of another metric", lambda: curves_lgb("map@10"), "'map@10'", ValueError, "there are: mrr"),
    BadInput("curves of another set", lambda: curves_lgb(dataset="valid_1"), "'valid_1'", ValueError, "'valid_0'"),
    BadInput(
        "hidden curves", lambda: fit_lgb(more=[ours_lgb.Curves("map", show=False)]), "'map'", ValueError, "are: mrr"
    ),
    BadInput("curves, name twice", lambda: curves_lgb(feval=TWICE), "'mrr'", ValueError, "mixed up"),
    BadInput("used curves", lambda: use_twice(fit_lgb, ours_lgb.Curves), "2 rounds", ValueError, "lightgbm.Curves"),
    BadInput("pickled curves", lambda: use_twice(fit_lgb, ours_lgb.Curves, again), "2 rounds", ValueError, "already"),
]

XGBOOST = [
    BadInput("no such metric", lambda: stop_xgb("mrr@5", log="mrr@10"), "'mrr@5'", ValueError, "'mrr@10'"),
    BadInput("no such dataset", lambda: stop_xgb("mrr", dataset="vali"), "'vali'", ValueError, "'valid'"),
    BadInput("several datasets", lambda: stop_xgb("mrr", datasets=["a", "b"]), "dataset=", ValueError, "a, b"),
    BadInput("two of ours", lambda: stop_xgb("mrr", more=[XGB_STOP]), "'mrr'", ValueError, "two early_stopping"),
    BadInput("no groups", lambda: evaluate_ranking(ungrouped(xgb.DMatrix)), "'valid'", ValueError, "no groups"),
    BadInput("short qid", lambda: evaluate_ranking((*PAIR, [1, 2])), "'valid'", ValueError, "got 2 entries"),
    BadInput("weights of 0", lambda: evaluate_ranking(xgb_arrays(WORTHLESS)), "'valid'", ValueError, "every query"),
    BadInput("an array", lambda: evaluate_ranking(PART.features), "'valid'", TypeError, "got ndarray"),
    BadInput("other rows", lambda: evaluate_ranking((*OTHER_ROWS, PART.qid)), "'valid'", ValueError, "row 196"),
    *(
        BadInput(
            f"{columns} columns, {form}",
            lambda d=data: fit_xgb(evaluate_ranking(d)),
            "dataset 'valid'",
            ValueError,
            words,
        )
        for columns, other in OTHER_WIDTHS.items()
        for words in [f"got {columns}."]
        for form, data in (
            ("matrix", xgb_matrix(other)),
            ("matrix without labels", (xgb.DMatrix(other.features), other.labels, other.qid)),
            ("array", (other.features, other.labels, other.qid)),
            ("frame", (pd.DataFrame(other.features), other.labels, other.qid)),
        )
    ),
    *(
        BadInput(f"datasets {words}", lambda d=datasets: EvaluateRanking(d, "mrr"), "datasets", error, words)
        for datasets, error, words in (
            ([(MATRIX, "valid")], TypeError, "got list"),
            (MATRIX, TypeError, "got DMatrix"),
            (None, TypeError, "got NoneType"),
            (xgb_arrays(PART), TypeError, "got tuple"),
            ({}, ValueError, "got none"),
            ({1: MATRIX}, TypeError, "got 1"),
        )
    ),
    BadInput("hyphen in a name", lambda: evaluate_ranking(MATRIX, "a-b"), "'a-b'", ValueError, "'-'"),
    BadInput("its map", lambda: clash_xgb("EvaluateRanking"), "'map@5'", ValueError, "XGBoost itself logs"),
    BadInput("its map, exact", lambda: clash_xgb("full_precision"), "'map@5'", ValueError, "XGBoost itself logs"),
    BadInput("qid order", lambda: evaluate_ranking((*MIXED.values(), PART.qid)), "'valid'", ValueError, "qid must"),
    BadInput("misspelled", lambda: ours_xgb.early_stopping("mr", 3), "'mr'", ValueError, "mean 'mrr'"),
    BadInput("EvaluateRanking in cv", lambda: cv_xgb(evaluate_ranking(MATRIX)), "xgboost.cv", ValueError, "custom"),
    BadInput("pickled matrix", lambda: fit_xgb(log=again(evaluate_ranking(MATRIX))), "'valid'", ValueError, "matrix"),
    BadInput("save_best in cv", lambda: cv_xgb(CUTTING), "xgboost.cv", ValueError, "save_best"),
    BadInput("save_best, dart", lambda: fit_xgb(more=[CUTTING], params=DART), "save_best", ValueError, "under dart"),
    BadInput("unknown direction", lambda: ours_xgb.early_stopping("mine", 3), "'mine'", ValueError, "maximize=True"),
    BadInput("minimized", lambda: stop_xgb("mrr", maximize=False), "mrr", ValueError, "maximize=False"),
    BadInput("maximized loss", lambda: stop_xgb(LOSS, maximize=True), "loss", ValueError, "maximize=True"),
    BadInput("text for maximize", lambda: stop_xgb("mine", maximize="min"), "maximize", TypeError, "'min'"),
    BadInput("uncalled", lambda: fit_xgb(**{**UNNAMED, "custom_metric": custom_metric}), "=custom_metric(", TypeError),
    BadInput("custom_metric in the ranker", fit_xgb_ranker, "custom_metric", TypeError, "EvaluateRanking"),
    BadInput("exact list", lambda: full_precision(["mrr"]), "log", TypeError, "got list"),
    BadInput("exact without data", lambda: fit_xgb(log=full_precision(XGB_LOG)), "evals=", ValueError, "no dataset"),
    BadInput("exact, other log", lambda: fit_other_log(), "custom_metric=", ValueError, "same log"),
    BadInput("exact in cv", lambda: cv_xgb(full_precision(XGB_LOG)), "xgboost.cv", ValueError, "full_precision"),
    BadInput("curves of nothing", lambda: curves_xgb(log=None), "EvaluateRanking", ValueError, "nothing to show"),
    BadInput("curves of another metric", lambda: curves_xgb("map@10"), "'map@10'", ValueError, "there are: mrr"),
    BadInput("curves, no direction", lambda: curves_xgb("mine", **UNNAMED), "'mine'", ValueError, "not known"),
    BadInput("direction as text", lambda: curves_xgb(higher_is_better="low"), "higher_is_better", TypeError, "'low'"),
    BadInput("curves, name twice", lambda: curves_xgb(**LOGGED_TWICE, higher_is_better=True), "'mine'", ValueError, ""),
    BadInput("name twice", lambda: fit_xgb(more=[STOP_UNNAMED], **LOGGED_TWICE), "'mine'", ValueError, "itself logs"),
    BadInput("used curves", lambda: use_twice(fit_xgb, ours_xgb.Curves), "2 rounds", ValueError, "xgboost.Curves"),
]

CATBOOST = [
    BadInput("arrays", lambda: catboost_metric("mrr", POOL, PAIR), "eval set 0", TypeError, "got tuple"),
    BadInput("no groups", lambda: catboost_metric("mrr", catboost.Pool(*PAIR)), "group_id=", ValueError, "no groups"),
    BadInput("no labels", lambda: catboost_metric("mrr", UNJUDGED), "label=", ValueError, "no labels"),
    BadInput("two metrics", lambda: catboost_metric(["mrr", "map"], POOL), "mrr, map", ValueError, "got 2"),
    BadInput("grades", lambda: catboost_metric("err(max_label=1)", POOL), "err(max_label=1)", ValueError, "0 to 1"),
    BadInput("same labels", lambda: catboost_metric("mrr", POOL, ONE_QUERY), "eval set 0", ValueError, "same labels"),
    BadInput("scores of classes", lambda: evaluate_catboost(scores=TWO_SCORES), "loss_function", ValueError, "makes 2"),
    BadInput("NaN scores", lambda: evaluate_catboost(scores=NAN_SCORES), "train", ValueError, "NaN among"),
    BadInput("weights of 0", lambda: evaluate_catboost(weight=0 * PART.labels), "weight", ValueError, "every query"),
    BadInput("all skipped", lambda: evaluate_catboost("mrr(empty=skip)", IRRELEVANT), "train", ValueError, "skipped"),
    BadInput("other data", lambda: evaluate_catboost(labels=PART.labels[1:]), "train", ValueError, "not those of"),
]

SKLEARN = [
    BadInput("short qid", lambda: fit_grouped(qid=PART.qid[:-1]), "qid", ValueError, f"{ROWS - 1} entries"),
    BadInput("no qid", lambda: fit_grouped(qid=None), "qid=", ValueError, "missing"),
    BadInput("qid twice", lambda: fit_grouped(X=FRAME), "'qid'", ValueError, "twice"),
    BadInput("NaN labels", lambda: fit_grouped(y=NAN_LABELS), "row 3", ValueError, "finite"),
    BadInput("short X", lambda: fit_grouped(X=PART.features[:-1]), "X has", ValueError, f"{ROWS - 1} rows"),
    BadInput("short init_score", lambda: fit_grouped(init_score=[0.0]), "init_score", ValueError, "1 rows"),
    BadInput("short weights", lambda: fit_grouped(sample_weight=[1.0, 2.0]), "weight", ValueError, "2 entries"),
    BadInput("qid in which order", lambda: fit_grouped(**MIXED), "qid must", ValueError, "have an index"),
    BadInput(
        "init_score in which order",
        lambda: fit_grouped(**MIXED | {"qid": INDEXED_QID, "init_score": np.zeros(ROWS)}),
        "init_score must",
        ValueError,
        "have an index",
    ),
    BadInput("X in which order", lambda: fit_grouped(y=MIXED["y"], qid=INDEXED_QID), "X must", ValueError, "an index"),
    BadInput(
        "scored qid", lambda: scorer("mrr")(MODEL, *MIXED.values(), qid=PART.qid), "qid must", ValueError, "index"
    ),
    BadInput("narrow eval_X", lambda: fit_grouped(**NARROW), "set 0", ValueError, f"have {X.shape[1]} columns"),
    BadInput("no eval_qid", lambda: fit_grouped(eval_X=X, eval_y=Y), "eval_qid", ValueError, "missing"),
    BadInput("no eval_y", lambda: fit_grouped(eval_X=X), "eval_y", ValueError, "belong together"),
    BadInput("both", lambda: fit_grouped(eval_set=[PAIR], eval_X=X, eval_y=Y), "eval_set=", ValueError, "not both"),
    BadInput("short eval_qid", lambda: fit_grouped(eval_set=[PAIR], eval_qid=[[1]]), "set 0", ValueError, "1 entries"),
    BadInput("too few", lambda: fit_grouped(eval_set=[PAIR] * 2, eval_qid=[X]), "eval_qid", ValueError, "got 1"),
    BadInput("categories by place", lambda: fit_places([2]), "categorical_feature=[2]", ValueError, "left out"),
    BadInput("predict None", lambda: fit_grouped().predict(None), "X must", TypeError, "got None"),
    BadInput("uncalled scorer", lambda: scorer(MODEL, *PAIR), "scoring=scorer(", TypeError, "without a call"),
    BadInput("group for a scorer", lambda: scorer("mrr").set_score_request(group=True), "'group'", TypeError, "qid"),
    BadInput("no queries", lambda: scorer("mrr")(MODEL, *PAIR), "mrr", ValueError, "query of each"),
    BadInput("sizes of queries", lambda: fit_grouped(group=PART.group), "group must", TypeError, "by qid"),
    BadInput("search of rows", lambda: search_rows(GroupedLGBMRanker(verbose=-1)), "query", ValueError, "GroupKFold"),
    BadInput("half of a query", lambda: score_half(), "query", ValueError, "GroupKFold"),
    BadInput("other rows", lambda: scorer("mrr")(MODEL, *OTHER_ROWS, qid=PART.qid), "X", ValueError, "row 196"),
]


@pytest.mark.parametrize("stop", [ours_lgb.early_stopping, ours_xgb.early_stopping], ids=["lightgbm", "xgboost"])
@bad_inputs(STOP)
def test_early_stopping(case, stop):
    case.check(stop)


@pytest.mark.parametrize("make", [ours_lgb.feval, ours_lgb.eval_metric, custom_metric], ids=lambda make: make.__name__)
@bad_inputs(LOGS)
def test_options_of_logs(case, make):
    case.check(make)


@pytest.mark.parametrize("kind", [ours_lgb.Curves, ours_xgb.Curves], ids=["lightgbm", "xgboost"])
@bad_inputs(CURVES)
def test_curves(case, kind):
    case.check(kind)


@pytest.mark.parametrize(("own", "tool", "library", "role"), MISUSES)
def test_tools_of_another_library_are_no_tools_of_this_one(own, tool, library, role):
    """The library or the tool raises an error. Nothing is trained without the metric or the callback."""
    with pytest.raises((TypeError, ValueError, AttributeError)):
        USES[library][0](tool, role)


@bad_inputs(LIGHTGBM)
def test_lightgbm(case):
    case.check()


@bad_inputs(XGBOOST)
@pytest.mark.filterwarnings("ignore:.*booster=dart. is deprecated")
def test_xgboost(case):
    case.check()


@bad_inputs([*CATBOOST, *SKLEARN])
def test_catboost_and_sklearn(case):
    case.check()


def start_of(adapter):
    return adapter.train(PART, {}, None, 2).model


def stop_lgb_unknown():
    return stop_lgb("ndcg@5", log=None, init_model=start_of(LightGBMTrain()))


def stop_lgb_cv():
    stop = ours_lgb.early_stopping("mrr", 3, verbose=False)
    return cv_lgb(init_model=start_of(LightGBMTrain()), folds=GroupKFold(3), callbacks=[stop])


def stop_xgb_unknown(log=None):
    more = [ours_xgb.early_stopping("ndcg@5", 3, dataset="v", verbose=False)]
    options = {"evals": [(MATRIX, "v")], "xgb_model": start_of(XGBoostTrain()), "params": {"eval_metric": "ndcg@5"}}
    return fit_xgb(log, more, **options)


WARNINGS = {
    "a stop of LightGBM's own": (
        lambda: fit_lgb(more=[LGB_STOP, lgb.early_stopping(3)]),
        "Remove lightgbm.early_stopping",
    ),
    "DART of LightGBM": (lambda: stop_lgb("mrr", params={"boosting_type": "DART"}), "with dart"),
    "a start without value in LightGBM": (stop_lgb_unknown, "does not know"),
    "a continued lightgbm.cv": (stop_lgb_cv, "counts the rounds"),
    "a start without value in XGBoost": (stop_xgb_unknown, "does not know"),
    "a start without value next to another log": (lambda: stop_xgb_unknown("mrr"), "does not know"),
    "dart of XGBoost": (lambda: fit_xgb(more=[XGB_STOP], log="map", params=DART), "change earlier trees"),
}


@pytest.mark.parametrize(("call", "words"), WARNINGS.values(), ids=WARNINGS)
@pytest.mark.filterwarnings("ignore:.*booster=dart. is deprecated")
def test_warnings(call, words):
    with pytest.warns(UserWarning, match=words):
        call()
