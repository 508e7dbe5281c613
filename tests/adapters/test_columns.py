"""Metrics on further columns during training, against metrics on judgments that have these columns as labels."""

from functools import partial

import dask
import lightgbm as lgb
import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GroupKFold, cross_validate
from tests.bad_inputs import BadInput, bad_inputs

import gainwise as gw
import gainwise.catboost
import gainwise.dask
import gainwise.lightgbm
import gainwise.sklearn
import gainwise.xgboost

from .drivers import EVALUATORS, LGB, TRAININGS, catboost_pool, lgb_dataset, make_part, xgb_matrix

REVENUE = gw.DCG(gain="linear", discount="none", k=3, column="revenue", name="revenue")
METRICS = ["ndcg_exp@10", REVENUE, "mrr(column=clicked)", "ndcg_linear(ties=worst,column=editors)@5"]
NAMES = list(map(str, METRICS))
feval = gainwise.lightgbm.feval
SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(2, 100))]


def make(seed):
    """Return a part with columns, which has weights if the seed is odd."""
    part, rng = make_part(seed, queries=15, weighted=seed % 2 == 1), np.random.default_rng(seed)
    rows = len(part.labels)
    revenue = np.round(rng.exponential(9, rows) * (part.labels > 1), 2)
    editors = np.where(rng.random(rows) < 0.4, np.nan, rng.integers(0, 4, rows))
    return part._replace(columns={"revenue": revenue, "clicked": rng.integers(0, 2, rows), "editors": editors})


def expect(metrics, part, scores):
    """Return the values by name, each from judgments that have the column of the metric as labels."""
    editors, queries = part.columns["editors"], {"group": part.group, "weight": part.weight}
    by_column = {
        "ndcg_exp@10": gw.Judgments(part.labels, **queries),
        "cg@3": gw.Judgments(part.columns["revenue"], **queries),
        "mrr": gw.Judgments(part.columns["clicked"], **queries),
        "ndcg_linear(ties=worst)@5": gw.Judgments(editors, judged=~np.isnan(editors), **queries),
    }
    values = [gw.evaluate(name, judgments, scores).mean[name] for name, judgments in by_column.items()]
    return {name: value for name, value in zip(NAMES, values, strict=True) if name in list(map(str, metrics))}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("adapter", EVALUATORS, ids=lambda adapter: adapter.id)
def test_values_of_given_scores(adapter, seed):
    part = make(seed)
    scores = np.random.default_rng(seed).integers(-6, 7, len(part.labels)) / 7
    values = adapter.call(adapter.make(METRICS, part), part, scores)
    expected = expect(METRICS, part, scores)
    assert values == (pytest.approx(expected, rel=adapter.tolerance) if adapter.tolerance else expected)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("adapter", TRAININGS, ids=lambda adapter: adapter.id)
def test_values_and_stop_of_trainings(adapter, seed):
    train, valid = make(2 * seed), make(2 * seed + 1)
    for metrics in [METRICS] if adapter.several_metrics else [[metric] for metric in METRICS]:
        run = adapter.train(train, {"valid": valid}, metrics, 8)
        curves = run.curves["valid"]
        assert list(curves) == list(map(str, metrics))
        for number, values in enumerate(zip(*curves.values(), strict=True), start=1):
            expected = expect(metrics, valid, adapter.predict(run.model, valid.features, number))
            assert dict(zip(curves, values, strict=True)) == pytest.approx(expected, **adapter.tolerance)
    if adapter.callbacks:
        stop = {"metric": "revenue@3", "rounds": 3, "dataset": "valid"}
        run = adapter.train(train, {"valid": valid}, METRICS, 8, stop=stop)
        assert run.best == 1 + int(np.argmax(run.curve("valid", "revenue@3")))


def test_lightgbm_cv():
    part, values = make(3), []
    full = lgb_dataset(part)

    def check(scores, dataset):
        rows = np.asarray(dataset.used_indices)
        columns = {name: column[rows] for name, column in part.columns.items()}
        group = dataset.get_group()
        weight = np.bincount(np.repeat(np.arange(len(group)), group), part.row_weight[rows]) / group
        fold = part._replace(labels=part.labels[rows], group=group, weight=weight, columns=columns)
        values.append((log(scores, dataset), expect(METRICS, fold, scores)))
        return []

    log = feval(METRICS, columns={full: part.columns})
    lgb.cv(LGB, full, 2, nfold=3, feval=check)
    assert len(values) == 6
    for found, expected in values:
        assert {name: value for name, value, _ in found} == expected


def test_frame_of_dask():
    part = make(3)
    cut = partial(np.split, indices_or_sections=[int(part.group[:5].sum())])
    scores = np.random.default_rng(0).normal(size=len(part.labels))
    columns = {name: cut(values) for name, values in part.columns.items()}
    with dask.config.set(scheduler="synchronous"):
        found = gainwise.dask.evaluate(
            METRICS, cut(part.labels), cut(scores), group=np.split(part.group, [5]), columns=columns
        ).frame()
    expected = gw.evaluate(METRICS, part.judgments, scores).per_query
    np.testing.assert_array_equal(found.compute().to_numpy(), expected)


def test_scorer():
    part = make(4)
    with sklearn.config_context(enable_metadata_routing=True):
        result = cross_validate(
            gainwise.sklearn.GroupedLGBMRanker(n_estimators=3, **LGB), part.features, part.labels,
            cv=GroupKFold(3).set_split_request(groups="qid"), scoring=gainwise.sklearn.scorer(METRICS),
            params={"qid": part.qid, **part.columns}, return_estimator=True, return_indices=True,
        )  # fmt: skip
    for place, (estimator, rows) in enumerate(zip(result["estimator"], result["indices"]["test"], strict=True)):
        columns = {name: values[rows] for name, values in part.columns.items()}
        judgments = gw.Judgments(part.labels[rows], qid=part.qid[rows], columns=columns)
        expected = gw.evaluate(METRICS, judgments, estimator.predict(part.features[rows])).mean
        assert {name: result[f"test_{name}"][place] for name in NAMES} == expected


WITH_COLUMNS, CG = make(1), "cg(column=revenue)"
PART, COLUMNS = WITH_COLUMNS._replace(columns=None), WITH_COLUMNS.columns
MATRIX, POOL, OTHER_POOL = xgb_matrix(PART), catboost_pool(PART), catboost_pool(PART)
CHANGED = COLUMNS | {"revenue": COLUMNS["revenue"] + 1}


def log_in_lightgbm(columns, *, with_train=True):
    train = lgb_dataset(PART)
    valid = lgb_dataset(PART, train)
    sets = [train, valid] if with_train else [valid]
    lgb.train(LGB, train, 1, valid_sets=sets, feval=feval(CG, columns={valid: columns} if columns else None))


def log_in_catboost(*columns):
    return gainwise.catboost.eval_metric(CG, POOL, OTHER_POOL, columns=list(columns))


def score(**columns):
    estimator = gainwise.sklearn.GroupedLGBMRanker(n_estimators=1, verbose=-1, n_jobs=1)
    estimator.fit(PART.features, PART.labels, qid=PART.qid)
    return gainwise.sklearn.scorer(CG)(estimator, PART.features, PART.labels, qid=PART.qid, **columns)


def fit_grouped(metric):
    arguments = {"eval_X": PART.features, "eval_y": PART.labels, "eval_qid": PART.qid, "eval_columns": COLUMNS}
    ranker = gainwise.sklearn.GroupedLGBMRanker(n_estimators=1, verbose=-1, n_jobs=1)
    ranker.fit(PART.features, PART.labels, qid=PART.qid, eval_metric=metric, **arguments)


REMEDY = "Pass columns={dataset: {'revenue': \u2026}}"

CASES = [
    BadInput("by name", lambda: feval(CG, columns={"valid": COLUMNS}), "columns", TypeError, "got ('valid'"),
    BadInput("no mapping", lambda: feval(CG, columns=[(PART.labels, 1)]), "columns", TypeError, "(entry 0)"),
    BadInput("no column", lambda: log_in_lightgbm(None), REMEDY, ValueError, "got no columns"),
    BadInput("one part", lambda: log_in_lightgbm(COLUMNS), REMEDY, ValueError, "got no columns"),
    BadInput(
        "another", lambda: log_in_lightgbm({"old": PART.labels}, with_train=False), REMEDY, ValueError,
        "the columns old"),
    BadInput(
        "length", lambda: log_in_lightgbm({"revenue": [1]}, with_train=False), "columns['revenue']", ValueError,
        "1 entries"),
    BadInput(
        "same labels", lambda: feval(CG, columns=[(PART.labels, COLUMNS), (PART.labels, CHANGED)])(
            PART.labels, PART.labels, None, PART.group), "columns", ValueError, "same labels"),
    BadInput(
        "xgboost", lambda: gainwise.xgboost.custom_metric(CG)(PART.labels, MATRIX), REMEDY, ValueError,
        "got no columns"),
    BadInput(
        "judgments", lambda: gainwise.xgboost.EvaluateRanking({"a": (PART.features, PART.judgments)}, CG),
        "dataset 'a'", ValueError, "no columns"),
    BadInput("one pool", lambda: log_in_catboost((OTHER_POOL, COLUMNS)), "train: ", ValueError, "no columns"),
    BadInput(
        "same pools", lambda: log_in_catboost((POOL, COLUMNS), (OTHER_POOL, CHANGED)), "eval set 0", ValueError,
        "cannot be distinguished"),
    BadInput("not passed", lambda: score(), "'revenue'", ValueError, "no columns"),
    BadInput("length of a scorer", lambda: score(revenue=[1.0]), "columns['revenue']", ValueError, "1 entries"),
    BadInput("no metric", lambda: fit_grouped(None), "eval_columns", ValueError, "requires eval_metric"),
]  # fmt: skip


@bad_inputs(CASES)
def test_bad_inputs(case):
    case.check()
