"""Whatever stands among the callbacks of a training: the model that comes back scores what was reported of it.

Random trainings with random pairs of stoppings, rounds left out, models cut and models continued. The score of the
returned model is worked out by scikit-learn.
"""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from tests.adapters.drivers import lgb_held_out

from gainsay.data import simulate
from gainsay.lightgbm import checkpoint as lgb_checkpoint
from gainsay.lightgbm import early_stopping as lgb_stopping
from gainsay.lightgbm import eval_metric, feval
from gainsay.xgboost import EvaluateRanking, checkpoint, custom_metric, early_stopping, full_precision

ndcg_score = pytest.importorskip("sklearn.metrics").ndcg_score

TRAININGS = 50
GAINS = {
    "ndcg_linear@5": (5, lambda labels: labels),
    "ndcg_exp@5": (5, lambda labels: 2.0**labels - 1),
    "ndcg_linear": (None, lambda labels: labels),
}
PANEL = list(GAINS)
TRAIN, VALID = simulate(50, seed=5, mean_length=12).split_queries(0.5, 0.5, seed=5)
THERE = np.arange(VALID.group.max()) < VALID.group[:, None]
"""Which places of a table of queries hold a document."""
IN_ORDER = tuple(map(int, xgb.__version__.split(".")[:2])) >= (3, 2)
"""Before that XGBoost calls callbacks in any order, so that a stopping of its own may look before they have logged."""
LGB = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 3, "seed": 1}
XGB = {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1, "max_depth": 3}


def score(metric, scores):
    """The mean over the held-out queries, by scikit-learn."""
    k, gain = GAINS[metric]
    labels, found = np.zeros(THERE.shape), np.full(THERE.shape, np.min(scores) - 1.0)  # worthless ones fill up the end
    labels[THERE], found[THERE] = gain(VALID.labels), scores
    return float(ndcg_score(labels, found, k=k))


def test_no_query_is_too_short_for_the_oracle():
    assert VALID.group.min() > 1


class TestLightGBM:
    @pytest.mark.parametrize("seed", range(TRAININGS))
    @pytest.mark.filterwarnings("ignore:Found `early_stopping_round` in params")
    def test_reports_what_it_returns(self, seed, tmp_path):
        rng = np.random.default_rng(seed)
        pick = lambda *options: options[rng.integers(len(options))]  # noqa: E731
        params = {**LGB, "learning_rate": pick(0.1, 0.5, 1.5), "num_leaves": pick(4, 15)}
        metric, every, min_delta = pick(*PANEL), pick(1, 1, 2, 3), pick(0.0, 0.0, 0.002)
        stop = lgb_stopping(metric, pick(1, 3, 6), min_delta=min_delta, verbose=False)
        second = pick(None, None, "ours", *(["LightGBM's", "parameter"] if every == 1 else []))
        callbacks = [stop, *([lgb_checkpoint()] if pick(True, False) else [])]
        if second == "ours":
            callbacks.append(lgb_stopping(pick(*PANEL), pick(1, 4), verbose=False))
        elif second == "LightGBM's":
            callbacks.append(lgb.early_stopping(pick(1, 4), first_metric_only=pick(True, False), verbose=False))
        elif second == "parameter":
            params["early_stopping_round"] = pick(1, 4)
        rng.shuffle(callbacks)
        start = self.start(params, pick(1, 4, 9)) if pick(True, False) else None
        rounds, curves = pick(1, 5, 12), {}
        callbacks.append(lgb.record_evaluation(curves))
        if pick(True, False):
            ranker = lgb.LGBMRanker(n_estimators=rounds, **{k: v for k, v in params.items() if k != "objective"})
            ranker.fit(
                TRAIN.features, TRAIN.labels, group=TRAIN.group, **lgb_held_out([VALID]),
                eval_metric=eval_metric(PANEL, every=every), callbacks=callbacks, init_model=start,
            )  # fmt: skip
            booster, scores, best = ranker.booster_, ranker.predict(VALID.features), ranker.best_score_["valid_0"]
        else:
            train_set = lgb.Dataset(TRAIN.features, TRAIN.labels, group=TRAIN.group)
            valid_set = lgb.Dataset(VALID.features, VALID.labels, group=VALID.group, reference=train_set)
            sets = pick([valid_set], [train_set, valid_set], [valid_set, train_set])
            names = ["seen" if each is train_set else "valid_0" for each in sets]
            if start is not None and pick(True, False):
                start = start.save_model(tmp_path / "start.txt") and str(tmp_path / "start.txt")
            booster = lgb.train(
                params, train_set, rounds, valid_sets=sets, valid_names=names, feval=feval(PANEL, every=every),
                callbacks=callbacks, init_model=start,
            )  # fmt: skip
            scores, best = booster.predict(VALID.features), booster.best_score["valid_0"]
        assert best.keys() == set(PANEL)
        for name, reported in best.items():
            assert reported == pytest.approx(score(name, scores), rel=1e-9), name
        if second is None and not min_delta:
            start = lgb.Booster(model_file=start) if isinstance(start, str) else start
            before = [] if start is None else [score(metric, start.predict(VALID.features))]
            assert best[metric] == pytest.approx(max(before + curves["valid_0"][metric]), rel=1e-9)
            assert booster.best_iteration >= (1 if start is None else start.current_iteration())

    @staticmethod
    def start(params, rounds):
        params = {key: value for key, value in params.items() if key != "early_stopping_round"}
        return lgb.train(params, lgb.Dataset(TRAIN.features, TRAIN.labels, group=TRAIN.group), rounds)


class Fires:
    """Notes whether a callback of XGBoost stopped a training."""

    def __init__(self, callback):
        self.stopped = False
        self._look, callback.after_iteration = callback.after_iteration, self

    def __call__(self, *args, **options):
        self.stopped = self._look(*args, **options)
        return self.stopped


class TestXGBoost:
    @pytest.mark.parametrize("seed", range(TRAININGS))
    def test_reports_what_it_returns(self, seed):
        rng = np.random.default_rng(seed)
        pick = lambda *options: options[rng.integers(len(options))]  # noqa: E731
        params = {**XGB, "eta": pick(0.1, 0.5, 1.0), "seed": seed}
        metric, theirs, min_delta = pick(*PANEL), pick(*PANEL), pick(0.0, 0.0, 0.002)
        save_best, rounds, curves = pick(True, False), pick(3, 8, 20), {}
        stop = early_stopping(metric, pick(1, 3, 6), "valid", min_delta, save_best=save_best, verbose=False)
        ours = Fires(stop)
        log = pick("EvaluateRanking", "EvaluateRanking", "custom_metric", "full_precision")
        second = pick(None, "early_stopping_rounds", "XGBoost's", "XGBoost's")
        if second is not None and not IN_ORDER:
            log = "custom_metric"  # its values are there before any callback is called
        options, callbacks = {}, [checkpoint()] if pick(True, False) else []
        arrays = (VALID.features, VALID.labels, VALID.qid)
        if log == "EvaluateRanking":
            data = pick(arrays, xgb.DMatrix(VALID.features, label=VALID.labels, qid=VALID.qid))
            logger = [EvaluateRanking({"valid": data}, PANEL, every=pick(1, 1, 3))]
        else:
            options["custom_metric"] = custom_metric(PANEL)
            options["evals"] = [(xgb.DMatrix(VALID.features, label=VALID.labels, qid=VALID.qid), "valid")]
            logger = [full_precision(options["custom_metric"])] if log == "full_precision" else []
        save_theirs = second == "XGBoost's" and pick(True, False)
        stops = [stop]
        if second == "XGBoost's":
            stops.append(
                xgb.callback.EarlyStopping(
                    rounds=pick(1, 2, 5), metric_name=theirs, data_name="valid", maximize=True, save_best=save_theirs
                )
            )
        elif second is not None:
            options.update(early_stopping_rounds=pick(1, 4), maximize=True)
            theirs = PANEL[-1]  # it takes the last one
        rng.shuffle(stops)
        callbacks = [*callbacks, *logger, *stops]
        if second != "XGBoost's":  # which looks for values that have been logged
            rng.shuffle(callbacks)
        start = self.start(params, pick(1, 4, 9), cut=pick(None, 0, 2)) if pick(True, False) else None
        dtrain = xgb.DMatrix(TRAIN.features, label=TRAIN.labels, qid=TRAIN.qid)
        if log == "EvaluateRanking" and pick(True, False):
            extra = {"early_stopping_rounds": options["early_stopping_rounds"]} if options else {}
            extra = {**extra, **{k: v for k, v in params.items() if k not in ("nthread", "seed")}}
            ranker = xgb.XGBRanker(n_estimators=rounds, n_jobs=1, random_state=seed, callbacks=callbacks, **extra)
            ranker.fit(TRAIN.features, TRAIN.labels, qid=TRAIN.qid, xgb_model=start, verbose=False)
            curves, booster = ranker.evals_result(), ranker.get_booster()
            np.testing.assert_array_equal(ranker.predict(VALID.features), self.predict(booster, booster.best_iteration))
        else:
            booster = xgb.train(
                params, dtrain, rounds, callbacks=callbacks, xgb_model=start, evals_result=curves, verbose_eval=False,
                **options,
            )  # fmt: skip
        named = metric if save_best or second is None or ours.stopped else theirs
        found = score(named, self.predict(booster, booster.best_iteration))
        exact = {"abs": 5.1e-7} if log == "custom_metric" else {"rel": 1e-9}
        assert booster.best_score == pytest.approx(found, **exact)
        if save_best or save_theirs:
            assert booster.num_boosted_rounds() == booster.best_iteration + 1
        if named == metric and (save_best or second is None) and not min_delta:
            before = [] if start is None else [score(metric, self.predict(start, n)) for n in self.cuts(start)]
            assert booster.best_score == pytest.approx(max(before + curves["valid"][metric]), **exact)

    @staticmethod
    def start(params, rounds, cut):
        booster = xgb.train(params, xgb.DMatrix(TRAIN.features, label=TRAIN.labels, qid=TRAIN.qid), rounds)
        if cut is not None and cut < rounds:
            booster.set_attr(best_iteration=str(cut), best_score="0.123")
        return booster

    @staticmethod
    def cuts(start):
        last = start.num_boosted_rounds() - 1
        return [last] if start.attr("best_iteration") is None else [start.best_iteration, last]

    @staticmethod
    def predict(booster, best):
        return booster.predict(xgb.DMatrix(VALID.features), iteration_range=(0, best + 1))
