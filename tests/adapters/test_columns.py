"""Metrics on further columns during training, against metrics on judgments that have these columns as labels."""

from __future__ import annotations

from typing import NamedTuple

import catboost
import dask
import lightgbm as lgb
import numpy as np
import pytest
import sklearn
import xgboost as xgb
from sklearn.model_selection import GroupKFold, cross_validate
from tests.bad_inputs import BadInput, bad_inputs

import gainwise as gw
import gainwise.catboost
import gainwise.dask
import gainwise.lightgbm
import gainwise.sklearn
import gainwise.xgboost

from .drivers import CATBOOST, LGB, XGB, catboost_pool, lgb_dataset, lgb_held_out, make_part, xgb_matrix

REVENUE = gw.DCG(gain="linear", discount="none", k=3, column="revenue", name="revenue")
METRICS = ["ndcg_exp@10", REVENUE, "mrr(column=clicked)", "ndcg_linear(ties=worst,column=editors)@5"]
NAMES = list(map(str, METRICS))
SEEDS = [*range(3), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(3, 100))]


class Sets(NamedTuple):
    """Training and validation data, with the columns of the validation data."""

    train: object
    valid: object
    columns: dict[str, np.ndarray]

    @property
    def judgments(self):
        part = self.valid
        return gw.Judgments(part.labels, group=part.group, weight=part.weight, columns=self.columns)


def make_columns(part, seed):
    rng, rows = np.random.default_rng(seed), len(part.labels)
    return {
        "revenue": np.round(rng.exponential(9, rows) * (part.labels > 1), 2),
        "clicked": rng.integers(0, 2, rows),
        "editors": np.where(rng.random(rows) < 0.4, np.nan, rng.integers(0, 4, rows)),
    }


def make_sets(seed):
    train, valid = (make_part(2 * seed + place, queries=15, weighted=seed % 2 == 1) for place in (0, 1))
    return Sets(train, valid, make_columns(valid, seed))


def expect(sets, scores):
    """Return the values by name, each from judgments that have the column of the metric as labels."""
    part, editors = sets.valid, sets.columns["editors"]
    queries = {"group": part.group, "weight": part.weight}
    by_column = {
        "ndcg_exp@10": gw.Judgments(part.labels, **queries),
        "cg@3": gw.Judgments(sets.columns["revenue"], **queries),
        "mrr": gw.Judgments(sets.columns["clicked"], **queries),
        "ndcg_linear(ties=worst)@5": gw.Judgments(editors, judged=~np.isnan(editors), **queries),
    }
    values = [gw.evaluate(name, judgments, scores).mean[name] for name, judgments in by_column.items()]
    return dict(zip(NAMES, values, strict=True))


def compare_rounds(history, sets, scores_of_rounds):
    assert list(history) == NAMES
    for number, scores in enumerate(scores_of_rounds):
        assert {name: curve[number] for name, curve in history.items()} == expect(sets, scores)


@pytest.mark.parametrize("seed", SEEDS)
def test_lightgbm(seed):
    sets, history, scores = make_sets(seed), {}, []
    train = lgb_dataset(sets.train)
    valid = lgb_dataset(sets.valid, train)
    booster = lgb.train(
        LGB, train, 8, valid_sets=[valid],
        feval=[
            gainwise.lightgbm.feval(METRICS, columns={valid: sets.columns}),
            lambda preds, _: scores.append(preds.copy()) or [],
        ],
        callbacks=[
            lgb.record_evaluation(history), gainwise.lightgbm.early_stopping("revenue@3", rounds=3, verbose=False),
        ],
    )  # fmt: skip
    compare_rounds(history["valid_0"], sets, scores)
    curve = history["valid_0"]["revenue@3"]
    assert booster.best_iteration == 1 + curve.index(max(curve))


@pytest.mark.parametrize("seed", SEEDS)
def test_lightgbm_estimators(seed):
    sets = make_sets(seed)
    metrics = gainwise.lightgbm.eval_metric(METRICS, columns=[(sets.valid.labels, sets.columns)])
    ranker = lgb.LGBMRanker(n_estimators=5, **LGB).fit(
        sets.train.features,
        sets.train.labels,
        group=sets.train.group,
        eval_metric=metrics,
        **lgb_held_out([sets.valid]),
    )
    rounds = [ranker.predict(sets.valid.features, num_iteration=number) for number in range(1, 6)]
    compare_rounds(ranker.evals_result_["valid_0"], sets, rounds)
    rows = np.random.default_rng(seed).permutation(len(sets.valid.labels))
    part = sets.valid
    grouped = gainwise.sklearn.GroupedLGBMRanker(n_estimators=5, **LGB).fit(
        sets.train.features, sets.train.labels, qid=sets.train.qid,
        eval_X=part.features[rows], eval_y=part.labels[rows], eval_qid=part.qid[rows],
        eval_sample_weight=None if part.weight is None else [part.row_weight[rows]],
        eval_columns={name: values[rows] for name, values in sets.columns.items()},
        eval_metric=gainwise.lightgbm.eval_metric(METRICS),
    )  # fmt: skip
    logged = {name: curve[-1] for name, curve in grouped.evals_result_["valid_0"].items()}
    assert logged == pytest.approx(expect(sets, grouped.predict(part.features)), rel=1e-12)  # Queries in another order.


def test_lightgbm_cv():
    sets = make_sets(1)
    full, values = lgb_dataset(sets.valid), []

    def check(scores, dataset):
        rows = np.asarray(dataset.used_indices)
        columns = {name: column[rows] for name, column in sets.columns.items()}
        part = sets.valid._replace(labels=sets.valid.labels[rows], group=dataset.get_group(), weight=None)
        weight = sets.valid.row_weight[rows]
        queries = np.repeat(np.arange(len(part.group)), part.group)
        part = part._replace(weight=np.bincount(queries, weight) / part.group)
        values.append((adapter(scores, dataset), expect(Sets(None, part, columns), scores)))
        return []

    adapter = gainwise.lightgbm.feval(METRICS, columns={full: sets.columns})
    lgb.cv(LGB, full, 2, nfold=3, feval=check)
    assert len(values) == 6
    for found, expected in values:
        assert {name: value for name, value, _ in found} == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_xgboost(seed):
    sets, history = make_sets(seed), {}
    valid = xgb_matrix(sets.valid)
    log = gainwise.xgboost.custom_metric(METRICS, columns={valid: sets.columns})
    datasets = {"rows": (sets.valid.features, sets.judgments), "matrix": (valid, sets.judgments)}
    booster = xgb.train(
        XGB, xgb_matrix(sets.train), 5, evals=[(valid, "logged")], custom_metric=log, evals_result=history,
        verbose_eval=False,
        callbacks=[
            gainwise.xgboost.EvaluateRanking(datasets, METRICS), gainwise.xgboost.full_precision(log),
            gainwise.xgboost.early_stopping("revenue@3", dataset="rows", rounds=5, save_best=False, verbose=False),
        ],
    )  # fmt: skip
    rounds = [booster.predict(valid, iteration_range=(0, number)) for number in range(1, 6)]
    assert set(history) == {"logged", "rows", "matrix"}
    for logged in history.values():
        compare_rounds(logged, sets, rounds)
    curve = history["rows"]["revenue@3"]
    assert booster.best_iteration == curve.index(max(curve))


@pytest.mark.parametrize("seed", SEEDS)
def test_catboost(seed):
    sets = make_sets(seed)
    pools = [catboost_pool(part) for part in (sets.train, sets.valid)]
    columns = [(pools[0], make_columns(sets.train, seed + 1)), (pools[1], sets.columns)]
    for place, name in enumerate(NAMES[1:], 1):
        metric = gainwise.catboost.eval_metric(METRICS[place], *pools, columns=columns)
        ranker = catboost.CatBoostRanker(iterations=5, eval_metric=metric, **CATBOOST)
        ranker.fit(pools[0], eval_set=pools[1], use_best_model=False)
        rounds = [ranker.predict(sets.valid.features, ntree_end=number) for number in range(1, 6)]
        expected = [expect(sets, scores)[name] for scores in rounds]
        assert ranker.evals_result_["validation"][name] == pytest.approx(expected, rel=1e-12)


def test_dask():
    sets = make_sets(1)
    part = sets.valid
    rows = int(part.group[:5].sum())
    scores = np.random.default_rng(0).normal(size=len(part.labels))

    def cut(values):
        return [values[:rows], values[rows:]]

    with dask.config.set(scheduler="synchronous"):
        found = gainwise.dask.evaluate(
            METRICS, cut(part.labels), cut(scores), group=[part.group[:5], part.group[5:]],
            weight=[part.weight[:5], part.weight[5:]],
            columns={name: cut(values) for name, values in sets.columns.items()},
        )  # fmt: skip
        assert found.mean == pytest.approx(expect(sets, scores), rel=1e-14)
        np.testing.assert_array_equal(
            found.frame().compute().to_numpy(), gw.evaluate(METRICS, sets.judgments, scores).per_query
        )


def test_scorer():
    sets = make_sets(2)
    part = sets.valid
    with sklearn.config_context(enable_metadata_routing=True):
        result = cross_validate(
            gainwise.sklearn.GroupedLGBMRanker(n_estimators=3, **LGB), part.features, part.labels,
            cv=GroupKFold(3).set_split_request(groups="qid"), scoring=gainwise.sklearn.scorer(METRICS),
            params={"qid": part.qid, **sets.columns}, return_estimator=True, return_indices=True,
        )  # fmt: skip
    for place, (estimator, rows) in enumerate(zip(result["estimator"], result["indices"]["test"], strict=True)):
        columns = {name: values[rows] for name, values in sets.columns.items()}
        judgments = gw.Judgments(part.labels[rows], qid=part.qid[rows], columns=columns)
        expected = gw.evaluate(METRICS, judgments, estimator.predict(part.features[rows])).mean
        assert {name: result[f"test_{name}"][place] for name in NAMES} == expected


PART = make_part(1, queries=6)
COLUMNS, CG = make_columns(PART, 1), "cg(column=revenue)"
MATRIX, POOL, OTHER_POOL = xgb_matrix(PART), catboost_pool(PART), catboost_pool(PART)
CHANGED = COLUMNS | {"revenue": COLUMNS["revenue"] + 1}
feval = gainwise.lightgbm.feval


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


CASES = [
    BadInput("by name", lambda: feval(CG, columns={"valid": COLUMNS}), "columns", TypeError, "got ('valid'"),
    BadInput("no mapping", lambda: feval(CG, columns=[(PART.labels, 1)]), "columns", TypeError, "(entry 0)"),
    BadInput("no column", lambda: log_in_lightgbm(None), "'revenue'", ValueError, "no columns"),
    BadInput("one part", lambda: log_in_lightgbm(COLUMNS), "'revenue'", ValueError, "no columns"),
    BadInput(
        "length", lambda: log_in_lightgbm({"revenue": [1]}, with_train=False), "columns['revenue']", ValueError,
        "1 entries"),
    BadInput(
        "same labels", lambda: feval(CG, columns=[(PART.labels, COLUMNS), (PART.labels, CHANGED)])(
            PART.labels, PART.labels, None, PART.group), "columns", ValueError, "same labels"),
    BadInput(
        "xgboost", lambda: gainwise.xgboost.custom_metric(CG)(PART.labels, MATRIX), "'revenue'", ValueError,
        "no columns"),
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
