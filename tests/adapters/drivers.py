"""One interface to all adapters, so the same tests apply to all of them.

`EVALUATORS` pass scores to an adapter directly. `TRAININGS` train a model with an adapter. Each driver declares what
its library lacks.
"""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import catboost
import dask
import lightgbm as lgb
import numpy as np
import xgboost as xgb

import gainwise as gw
import gainwise.catboost
import gainwise.dask
import gainwise.lightgbm
import gainwise.sklearn
import gainwise.xgboost
from gainwise.data import simulate

LGB = {
    "objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5,
    "num_leaves": 7,
}  # fmt: skip
XGB = {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1, "max_depth": 3}
CATBOOST = {
    "depth": 3, "border_count": 32, "random_seed": 1, "thread_count": 1, "verbose": False,
    "allow_writing_files": False,
}  # fmt: skip


class Part(NamedTuple):
    """Grouped documents, with one weight per query if there are weights, and columns of further labels if any."""

    features: Any
    labels: Any
    group: Any
    weight: Any = None
    columns: Any = None

    @property
    def qid(self):
        return np.repeat(np.arange(len(self.group)), self.group)

    @property
    def row_weight(self):
        return None if self.weight is None else np.repeat(self.weight, self.group)

    @property
    def judgments(self):
        return gw.Judgments(self.labels, group=self.group, weight=self.weight, columns=self.columns)


def make_part(seed, queries=30, *, weighted=False, mean_length=10):
    """Random queries with ties, an informative feature, some without relevant documents, and exact 32-bit weights."""
    data = simulate(queries, seed=seed, mean_length=mean_length)
    labels = np.where(data.qid % 7 == 6, 0, data.labels)
    weight = 0.25 + np.arange(len(data.group)) % 5 / 4 if weighted else None
    telling = np.random.default_rng(seed).normal(labels, 1)[:, None]
    return Part(np.round(np.hstack([telling, data.features[:, :9]]), 1), labels, data.group, weight)


class FixedModel:
    """A model that predicts these scores."""

    def __init__(self, scores):
        self.scores = scores

    def predict(self, *_, **__):
        return self.scores


def lgb_dataset(part, reference=None, **options):
    options = {"weight": part.row_weight, "free_raw_data": False, "params": {"verbose": -1}, **options}
    return lgb.Dataset(part.features, part.labels, group=part.group, reference=reference, **options)


def lgb_held_out(parts):
    """Evaluation sets as arguments of LGBMRanker.fit. Versions before eval_X accept only eval_set."""
    sets = {"eval_group": [part.group for part in parts]}
    if any(part.weight is not None for part in parts):
        sets["eval_sample_weight"] = [part.row_weight for part in parts]
    if "eval_X" in inspect.signature(lgb.LGBMRanker.fit).parameters:
        return {**sets, "eval_X": tuple(part.features for part in parts), "eval_y": tuple(p.labels for p in parts)}
    return {**sets, "eval_set": [(part.features, part.labels) for part in parts]}


def xgb_matrix(part, kind=xgb.DMatrix, **options):
    return kind(part.features, label=part.labels, qid=part.qid, weight=part.weight, nthread=1, **options)


def xgb_arrays(part):
    if part.columns is not None:
        return part.features, part.judgments
    return (part.features, part.labels, part.qid, *([] if part.weight is None else [part.weight]))


def catboost_pool(part):
    return catboost.Pool(part.features, part.labels, group_id=part.qid, group_weight=part.row_weight)


def columns_of(parts, datasets):
    """The argument `columns` of adapters: pairs of a dataset, or its labels, and the columns of its part."""
    return [(key, part.columns) for part, key in zip(parts, datasets, strict=True) if part.columns is not None]


def curve_values(frame):
    """The values of `Curves.frame()` by dataset and metric, as the libraries record them."""
    curves = {}
    for row in frame.itertuples():
        curves.setdefault(row.dataset, {}).setdefault(row.metric, []).append(row.value)
    return curves


# Evaluation of given scores


class Evaluator:
    """An adapter for given scores. `make` creates it, and `call` returns its values by name."""

    tolerance = 0.0
    pickles = True
    safe_names = True
    partial_data = False
    """Whether one adapter serves several data sets."""

    @property
    def id(self):
        return type(self).__name__


class Feval(Evaluator):
    partial_data = True

    def make(self, metrics, part, **options):
        return gainwise.lightgbm.feval(metrics, columns=columns_of([part], [part.labels]), **options)

    def call(self, adapter, part, scores):
        return {name: value for name, value, _ in adapter(scores, lgb_dataset(part).construct())}


class LGBMEvalMetric(Evaluator):
    partial_data = True

    def make(self, metrics, part, **options):
        return gainwise.lightgbm.eval_metric(metrics, columns=columns_of([part], [part.labels]), **options)

    def call(self, adapter, part, scores):
        return {name: value for name, value, _ in adapter(part.labels, scores, part.row_weight, part.group)}


class CustomMetric(Evaluator):
    partial_data = True

    def make(self, metrics, part, **options):
        return gainwise.xgboost.custom_metric(metrics, columns=columns_of([part], [part.labels]), **options)

    def call(self, adapter, part, scores):
        return dict(adapter(scores, xgb_matrix(part)))


class EvaluateRanking(Evaluator):
    def make(self, metrics, part, **options):
        return gainwise.xgboost.EvaluateRanking({"valid": xgb_arrays(part)}, metrics, **options)

    def call(self, adapter, part, scores):
        if not adapter._bound:  # A pickled adapter reads its data when a training starts.
            adapter.before_training(xgb.Booster())
        history = {}
        adapter.after_iteration(FixedModel(scores), 0, history)
        return {name: value for name, (value,) in history["valid"].items()}


class CatBoostEvalMetric(Evaluator):
    safe_names = False

    def make(self, metrics, part, **options):
        metrics = gw.parse_metrics(metrics, convention=options.pop("convention", None))
        pool = catboost_pool(part)
        options["columns"] = columns_of([part], [pool])
        return [gainwise.catboost.eval_metric(metric, pool, **options) for metric in metrics]

    def call(self, adapter, part, scores):
        labels = part.labels.astype(np.float32)
        return {type(one).__name__: one.evaluate([scores], labels, part.row_weight)[0] for one in adapter}


class Scorer(Evaluator):
    partial_data = True
    safe_names = False

    def make(self, metrics, part, **options):
        return gainwise.sklearn.scorer(metrics, **options)

    def call(self, adapter, part, scores):
        options = {"qid": part.qid, "sample_weight": part.weight, **(part.columns or {})}
        return adapter(FixedModel(scores), part.features, part.labels, **options)


class DaskEvaluate(Evaluator):
    tolerance = 1e-14
    pickles = safe_names = False
    partial_data = True

    def make(self, metrics, part, **options):
        return lambda *data, **queries: gainwise.dask.evaluate(metrics, *data, **queries, **options)

    def call(self, adapter, part, scores):
        queries = len(part.group) // 3
        rows = [int(part.group[:queries].sum())]
        weight = None if part.weight is None else np.split(part.weight, [queries])
        columns = {name: np.split(values, rows) for name, values in (part.columns or {}).items()}
        options = {"group": np.split(part.group, [queries]), "weight": weight, "columns": columns}
        with dask.config.set(scheduler="synchronous"):
            return adapter(np.split(part.labels, rows), np.split(scores, rows), **options).mean


EVALUATORS = [
    Feval(), LGBMEvalMetric(), CustomMetric(), EvaluateRanking(), CatBoostEvalMetric(), Scorer(), DaskEvaluate(),
]  # fmt: skip


# Trainings


class Run(NamedTuple):
    """A finished training. `best` is the best round, counted from 1."""

    curves: dict[str, dict[str, list[float]]]
    model: Any
    best: int | None
    best_score: Any = None

    def curve(self, dataset, metric):
        return self.curves[dataset][metric]


class Training:
    """A way to train with an adapter. `stop` has the arguments of `early_stopping`."""

    tolerance = {"rel": 1e-12, "abs": 0}
    every = True
    safe_names = True
    continues = True
    callbacks = True
    several_metrics = True

    @property
    def id(self):
        return type(self).__name__

    def stop(self, options):
        if options is None:
            return []
        return [self.module.early_stopping(**{"verbose": False, **options}) if isinstance(options, dict) else options]


class LightGBMTrain(Training):
    module = gainwise.lightgbm

    def train(self, part, sets, metrics, rounds, *, stop=None, start=None, eta=0.1, callbacks=(), params=(), **options):
        data, curves = lgb_dataset(part), {}
        valid_sets = [data if one is part else lgb_dataset(one, data) for one in sets.values()]
        options["columns"] = dict(columns_of(sets.values(), valid_sets))
        booster = lgb.train(
            {**LGB, "learning_rate": eta, **dict(params)}, data, rounds, init_model=start,
            valid_sets=valid_sets, valid_names=list(sets),
            feval=gainwise.lightgbm.feval(metrics, **options) if sets else None,
            callbacks=[lgb.record_evaluation(curves), *self.stop(stop), *callbacks] if sets else [],
        )  # fmt: skip
        return Run(curves, booster, booster.best_iteration, booster.best_score)

    def predict(self, model, features, rounds=None):
        return model.predict(features, num_iteration=rounds)

    def booster(self, model):
        return model

    def best_value(self, run, dataset, metric):
        return run.best_score[dataset][metric]

    def rounds(self, model):
        return self.booster(model).current_iteration()


class LGBMRanker(LightGBMTrain):
    queries = "group"

    def ranker(self, **params):
        return lgb.LGBMRanker(**params)

    def sets(self, parts):
        return lgb_held_out(parts)

    def columns(self, parts):
        return columns_of(parts, [part.labels for part in parts])

    def train(self, part, sets, metrics, rounds, *, stop=None, start=None, eta=0.1, callbacks=(), params=(), **options):
        watching = {
            **self.sets(list(sets.values())), "eval_names": list(sets), "callbacks": [*self.stop(stop), *callbacks],
            "eval_metric": gainwise.lightgbm.eval_metric(metrics, columns=self.columns(sets.values()), **options),
        } if sets else {}  # fmt: skip
        model = self.ranker(n_estimators=rounds, **{**LGB, "learning_rate": eta, **dict(params)})
        queries = {self.queries: getattr(part, self.queries), "sample_weight": part.row_weight}
        model.fit(part.features, part.labels, **queries, init_model=start, **watching)
        return Run(model.evals_result_, model, model.best_iteration_, model.best_score_)

    def booster(self, model):
        return model.booster_


class GroupedLGBMRanker(LGBMRanker):
    queries = "qid"

    def ranker(self, **params):
        return gainwise.sklearn.GroupedLGBMRanker(**params)

    def sets(self, parts):
        """Return the rows in any order. LightGBM requires one order."""
        orders = [np.random.default_rng(0).permutation(len(part.labels)) for part in parts]
        pairs = list(zip(parts, orders, strict=True))
        weight = [np.ones(len(part.labels)) if part.weight is None else part.row_weight for part in parts]
        sets = {
            "eval_set": [(part.features[rows], part.labels[rows]) for part, rows in pairs],
            "eval_qid": [part.qid[rows] for part, rows in pairs],
            "eval_sample_weight": [values[rows] for values, rows in zip(weight, orders, strict=True)],
        }
        if parts[0].columns is not None:
            sets["eval_columns"] = [{name: v[rows] for name, v in part.columns.items()} for part, rows in pairs]
        return sets

    def columns(self, parts):
        return None


class XGBoostTrain(Training):
    """Train with `EvaluateRanking` on matrices."""

    module = gainwise.xgboost
    tolerance = {"rel": 0, "abs": 0}

    def log(self, sets, metrics, options):
        """Callbacks and arguments of xgboost.train that log the metrics."""
        matrices = {name: xgb_matrix(part) for name, part in sets.items()}
        matrices |= {name: (matrices[name], part.judgments) for name, part in sets.items() if part.columns is not None}
        return [gainwise.xgboost.EvaluateRanking(matrices, metrics, **options)], {}

    def train(self, part, sets, metrics, rounds, *, stop=None, start=None, eta=0.1, callbacks=(), params=(), **options):
        watching, arguments = self.log(sets, metrics, options) if sets else ([], {})
        curves = {}
        booster = xgb.train(
            {**XGB, "eta": eta, **dict(params)}, xgb_matrix(part), rounds, xgb_model=start, evals_result=curves,
            callbacks=[*watching, *self.stop(stop), *callbacks], verbose_eval=False, **arguments,
        )  # fmt: skip
        return self.run(curves, booster, booster)

    def run(self, curves, model, booster):
        best = booster.attr("best_iteration")
        return Run(curves, model, best and int(best) + 1, best and booster.best_score)

    def predict(self, model, features, rounds=None):
        booster = self.booster(model)
        whole = booster.num_boosted_rounds() if booster.attr("best_iteration") is None else booster.best_iteration + 1
        return booster.predict(xgb.DMatrix(features), iteration_range=(0, rounds or whole))

    def booster(self, model):
        return model

    def best_value(self, run, dataset, metric):
        return run.best_score

    def rounds(self, model):
        return self.booster(model).num_boosted_rounds()


class XGBoostCustomMetric(XGBoostTrain):
    """Train with `custom_metric`. XGBoost rounds its values to six digits."""

    tolerance = {"rel": 0, "abs": 5.1e-7}
    every = False

    def log(self, sets, metrics, options):
        matrices = [xgb_matrix(part) for part in sets.values()]
        log = gainwise.xgboost.custom_metric(metrics, columns=dict(columns_of(sets.values(), matrices)), **options)
        evals = list(zip(matrices, sets, strict=True))
        return self.exact(log), {"custom_metric": log, "evals": evals}

    def exact(self, log):
        return []


class XGBoostFullPrecision(XGBoostCustomMetric):
    tolerance = {"rel": 1e-12, "abs": 0}

    def exact(self, log):
        return [gainwise.xgboost.full_precision(log)]


class XGBRanker(XGBoostTrain):
    def train(self, part, sets, metrics, rounds, *, stop=None, start=None, eta=0.1, callbacks=(), params=(), **options):
        arrays = {name: xgb_arrays(part) for name, part in sets.items()}
        watching = [gainwise.xgboost.EvaluateRanking(arrays, metrics, **options)] if sets else []
        model = xgb.XGBRanker(
            n_estimators=rounds, n_jobs=1, max_depth=3, learning_rate=eta, disable_default_eval_metric=True,
            callbacks=[*watching, *self.stop(stop), *callbacks], **dict(params),
        )  # fmt: skip
        model.fit(part.features, part.labels, qid=part.qid, sample_weight=part.weight, xgb_model=start, verbose=False)
        return self.run(model.evals_result() if sets else {}, model, model.get_booster())

    def booster(self, model):
        return model.get_booster()


class CatBoostRanker(Training):
    module = None
    every = safe_names = continues = callbacks = several_metrics = False

    def train(self, part, sets, metrics, rounds, *, stop=None, eta=0.1, params=(), **options):
        pools = [catboost_pool(one) for one in (part, *sets.values())]
        options["columns"] = columns_of([part, *sets.values()], pools)
        model = catboost.CatBoostRanker(
            iterations=rounds, learning_rate=eta, **{**CATBOOST, **dict(params)},
            eval_metric=gainwise.catboost.eval_metric(metrics, *pools, **options) if sets else None,
            early_stopping_rounds=stop and stop["rounds"],
        )  # fmt: skip
        model.fit(pools[0], eval_set=pools[1:] or None, use_best_model=False)
        names = ["validation"] if len(sets) == 1 else [f"validation_{number}" for number in range(len(sets))]
        logged = {name: model.evals_result_[key] for name, key in zip(sets, names, strict=True)}
        curves = {name: {key: history[key] for key in map(str, metrics)} for name, history in logged.items()}
        best = model.best_iteration_ + 1 if sets else None
        return Run(curves, model, best, model.best_score_.get(names[-1] if names else None))

    def predict(self, model, features, rounds=None):
        return model.predict(features, ntree_end=rounds or 0)

    def best_value(self, run, dataset, metric):
        return run.best_score[metric]

    def rounds(self, model):
        return model.tree_count_


LIGHTGBM = [LightGBMTrain(), LGBMRanker(), GroupedLGBMRanker()]
XGBOOST = [XGBoostTrain(), XGBoostCustomMetric(), XGBoostFullPrecision(), XGBRanker()]
TRAININGS = [*LIGHTGBM, *XGBOOST, CatBoostRanker()]
