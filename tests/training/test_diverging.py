"""A model that diverges: the error says in which round and on which data, and what the rounds before led to is kept.

Both libraries diverge by themselves with an absurd learning rate. The oracle is the same training over fewer rounds,
recorded by the library.
"""

from __future__ import annotations

import gc
import weakref

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn.model_selection import GroupKFold
from trainings import datasets, held_out, matrix

from gainsay import lightgbm as ours_in_lightgbm
from gainsay import xgboost as ours_in_xgboost
from gainsay.data import simulate

PANEL = ["ndcg_linear@10", "mrr"]
LGB = {"objective": "regression_l1", "learning_rate": 1e100, "metric": "None", "verbose": -1, "num_threads": 1}
XGB = {"objective": "rank:ndcg", "eta": 1e38, "lambda": 0, "min_child_weight": 0, "nthread": 1}
XGB_QUIET = {**XGB, "disable_default_eval_metric": True}
DIVERGES = r"^in boosting round \d+ on .*: scores holds \d+ NaN among \d+"


@pytest.fixture(scope="module")
def parts():
    return simulate(60, seed=3, mean_length=25).split_queries(0.6, 0.4, seed=3)


def round_in(error):
    return int(str(error.value).split()[3])


class TestLightGBM:
    def train(self, parts, rounds, *callbacks, **options):
        train, valid = datasets(parts, free_raw_data=False)
        return lgb.train(
            LGB, train, rounds, valid_sets=[train, valid], valid_names=["train", "held out"],
            feval=ours_in_lightgbm.feval(PANEL), callbacks=list(callbacks), **options,
        )  # fmt: skip

    def test_train(self, parts):
        kept = ours_in_lightgbm.keep()
        with pytest.raises(ValueError, match=DIVERGES) as error:
            self.train(parts, 20, kept)
        assert "on 'train': " in str(error.value)
        assert kept.rounds == round_in(error) - 1 > 1
        curves = {}
        whole = self.train(parts, kept.rounds, lgb.record_evaluation(curves))
        assert kept.curves == curves
        assert [len(curve) for history in curves.values() for curve in history.values()] == [kept.rounds] * 4
        scores = kept.booster.predict(parts[1].features, num_iteration=kept.rounds)
        np.testing.assert_array_equal(scores, whole.predict(parts[1].features))

    def test_the_data_set_is_named_after_early_stopping_has_seen_it(self, parts):
        stop = ours_in_lightgbm.early_stopping("mrr", rounds=50, verbose=False)
        with pytest.raises(ValueError, match=DIVERGES.replace(".*", "'train'")):
            self.train(parts, 20, stop)

    def test_the_data_set_is_told_by_its_size_where_no_callback_knows_its_name(self, parts):
        train = parts[0]
        size = f"the data set of {len(train.query_ids)} queries and {len(train.labels)} documents"
        with pytest.raises(ValueError, match=DIVERGES.replace(".*", size)):
            self.train(parts, 20)

    def test_rounds_count_those_of_the_model_that_is_gone_on_with(self, parts):
        train, _ = datasets(parts, free_raw_data=False)
        first = lgb.train({**LGB, "learning_rate": 0.1}, train, 3)
        kept = ours_in_lightgbm.keep()
        with pytest.raises(ValueError, match=DIVERGES) as error:
            self.train(parts, 20, kept, init_model=first)
        assert kept.rounds == 3 + round_in(error) - 1
        assert len(kept.curves["train"]["mrr"]) == kept.rounds - 3
        two = self.train(parts, kept.rounds - 3, init_model=first)
        features = parts[1].features
        scores = kept.booster.predict(features, num_iteration=kept.rounds)
        np.testing.assert_array_equal(scores, two.predict(features))

    def test_cv(self, parts):
        def cv(rounds, *callbacks):
            return lgb.cv(
                LGB, datasets(parts, free_raw_data=False)[0], rounds, folds=GroupKFold(3),
                feval=ours_in_lightgbm.feval(PANEL), callbacks=list(callbacks), return_cvbooster=True,
            )  # fmt: skip

        kept = ours_in_lightgbm.keep()
        with pytest.raises(ValueError, match=DIVERGES.replace(".*", r"'valid' of fold \d")) as error:
            cv(20, kept)
        assert kept.rounds == round_in(error) - 1 > 1
        whole = cv(kept.rounds)
        boosters = whole.pop("cvbooster").boosters
        assert {f"valid {name}": curve for name, curve in kept.curves["valid"].items()} == whole
        for ours, theirs in zip(kept.booster.boosters, boosters, strict=True):
            scores = ours.predict(parts[1].features, num_iteration=kept.rounds)
            np.testing.assert_array_equal(scores, theirs.predict(parts[1].features))

    def test_ranker(self, parts):
        train, valid = parts
        kept = ours_in_lightgbm.keep()

        def fit(rounds, *callbacks):
            ranker = lgb.LGBMRanker(
                objective="regression_l1", learning_rate=1e100, n_estimators=rounds, metric="None", verbose=-1, n_jobs=1
            )
            return ranker.fit(
                train.features, train.labels, group=train.group, **held_out(valid),
                eval_group=[valid.group], eval_metric=ours_in_lightgbm.eval_metric(PANEL), callbacks=list(callbacks),
            )  # fmt: skip

        with pytest.raises(ValueError, match=DIVERGES.replace(".*", "'valid_0'")) as error:
            fit(20, kept)
        assert kept.rounds == round_in(error) - 1 > 1
        whole = fit(kept.rounds)
        assert kept.curves == whole.evals_result_
        scores = kept.booster.predict(valid.features, num_iteration=kept.rounds)
        np.testing.assert_array_equal(scores, whole.predict(valid.features))

    def test_training_that_ends_well(self, parts):
        kept, curves = ours_in_lightgbm.keep(), {}
        booster = self.train(parts, 2, kept, lgb.record_evaluation(curves))
        assert (kept.booster, kept.rounds, kept.curves) == (booster, 2, curves)

    def test_it_starts_anew(self, parts):
        kept = ours_in_lightgbm.keep()
        self.train(parts, 3, kept)
        booster = self.train(parts, 2, kept)
        assert (kept.booster, kept.rounds, len(kept.curves["train"]["mrr"])) == (booster, 2, 2)

    def test_before_the_first_round(self):
        kept = ours_in_lightgbm.keep()
        assert (kept.booster, kept.rounds, kept.curves) == (None, 0, {})

    def test_any_other_error(self, parts):
        def stopped(env):
            if env.iteration == 2:
                raise KeyboardInterrupt

        stopped.order = 100
        kept = ours_in_lightgbm.keep()
        with pytest.raises(KeyboardInterrupt):
            self.train(parts, 20, kept, stopped)
        assert kept.rounds == len(kept.curves["train"]["mrr"]) == kept.booster.current_iteration() == 3

    def test_with_every(self, parts):
        kept = ours_in_lightgbm.keep()
        train, _ = datasets(parts, free_raw_data=False)
        lgb.train(LGB, train, 3, valid_sets=[train], feval=ours_in_lightgbm.feval("mrr", every=2), callbacks=[kept])
        assert (kept.rounds, len(kept.curves["training"]["mrr"])) == (3, 2)


class TestXGBoost:
    def train(self, parts, rounds, *callbacks, params=XGB_QUIET, **options):
        return xgb.train(params, matrix(parts[0]), rounds, callbacks=list(callbacks), verbose_eval=False, **options)

    def check(self, parts, kept, error, train):
        assert kept.rounds == round_in(error) - 1 > 1
        curves = {}
        whole = train(kept.rounds, curves)
        assert kept.curves == curves
        assert {len(curve) for history in curves.values() for curve in history.values()} == {kept.rounds}
        valid = matrix(parts[1])
        np.testing.assert_array_equal(kept.booster[: kept.rounds].predict(valid), whole.predict(valid))

    @pytest.mark.parametrize("first", [True, False])
    def test_evaluate_ranking(self, parts, first):
        """XGBoost's own metrics, which do not mind NaN, have logged the last round too by then."""

        def train(rounds, curves, *more):
            log = ours_in_xgboost.EvaluateRanking({"a": matrix(parts[0]), "b": matrix(parts[1])}, PANEL)
            callbacks = [*more, log] if first else [log, *more]
            evals = [(matrix(parts[1]), "c")]
            return self.train(parts, rounds, *callbacks, params=XGB, evals=evals, evals_result=curves)

        kept = ours_in_xgboost.keep()
        with pytest.raises(ValueError, match=DIVERGES.replace(".*", "'a'")) as error:
            train(20, {}, kept)
        self.check(parts, kept, error, train)

    @pytest.mark.parametrize("exact", [True, False])
    def test_custom_metric(self, parts, exact):
        def train(rounds, curves, *callbacks):
            log = ours_in_xgboost.custom_metric(PANEL)
            callbacks = [*callbacks, *([ours_in_xgboost.full_precision(log)] if exact else [])]
            evals = [(matrix(parts[0]), "a"), (matrix(parts[1]), "b")]
            return self.train(parts, rounds, *callbacks, evals=evals, custom_metric=log, evals_result=curves)

        kept = ours_in_xgboost.keep()
        size = f"the data set of {len(parts[0].query_ids)} queries and {len(parts[0].labels)} documents"
        with pytest.raises(ValueError, match=DIVERGES.replace(".*", size)) as error:
            train(20, {}, kept)
        self.check(parts, kept, error, train)

    def test_rounds_count_those_of_the_model_that_is_gone_on_with(self, parts):
        first = self.train(parts, 3, params={**XGB, "eta": 0.1})

        def train(rounds, *callbacks):
            log = ours_in_xgboost.EvaluateRanking({"a": matrix(parts[0])}, PANEL)
            return self.train(parts, rounds, log, *callbacks, xgb_model=first)

        kept = ours_in_xgboost.keep()
        with pytest.raises(ValueError, match=DIVERGES) as error:
            train(20, kept)
        assert kept.rounds == 3 + round_in(error) - 1
        assert len(kept.curves["a"]["mrr"]) == kept.rounds - 3
        valid = matrix(parts[1])
        np.testing.assert_array_equal(kept.booster[: kept.rounds].predict(valid), train(kept.rounds - 3).predict(valid))

    def test_cv(self, parts):
        def cv(rounds, *callbacks):
            return xgb.cv(
                XGB_QUIET, matrix(parts[0]), rounds, nfold=3, seed=1, as_pandas=False, shuffle=False,
                custom_metric=ours_in_xgboost.custom_metric(PANEL), callbacks=list(callbacks),
            )  # fmt: skip

        kept = ours_in_xgboost.keep()
        with pytest.raises(ValueError, match=DIVERGES) as error:
            cv(20, kept)
        assert kept.rounds == round_in(error) - 1 > 1
        pairs = [
            (f"{data}-{metric}-{kind}", [pair[place] for pair in curve])
            for data, history in kept.curves.items()
            for metric, curve in history.items()
            for place, kind in enumerate(("mean", "std"))
        ]
        assert dict(pairs) == cv(kept.rounds)
        assert [booster.num_boosted_rounds() for booster in kept.boosters] == [kept.rounds + 1] * 3
        with pytest.raises(ValueError, match=r"there are 3 boosters, one per fold: take \.boosters"):
            kept.booster  # noqa: B018

    def test_ranker(self, parts):
        train, valid = parts

        def fit(rounds, *callbacks):
            log = ours_in_xgboost.EvaluateRanking({"v": (valid.features, valid.labels, valid.qid)}, PANEL)
            ranker = xgb.XGBRanker(
                objective="rank:ndcg", learning_rate=1e38, reg_lambda=0, min_child_weight=0, n_estimators=rounds,
                n_jobs=1, callbacks=[log, *callbacks],
            )  # fmt: skip
            return ranker.fit(train.features, train.labels, qid=train.qid)

        kept = ours_in_xgboost.keep()
        with pytest.raises(ValueError, match=DIVERGES.replace(".*", "'v'")) as error:
            fit(20, kept)
        assert kept.rounds == round_in(error) - 1 > 1
        whole = fit(kept.rounds)
        assert kept.curves == whole.evals_result()
        scores = kept.booster[: kept.rounds].inplace_predict(valid.features)
        np.testing.assert_array_equal(scores, whole.predict(valid.features))

    @pytest.mark.parametrize("stops", [True, False])
    def test_training_that_ends_well(self, parts, stops):
        kept, curves = ours_in_xgboost.keep(), {}
        log = ours_in_xgboost.EvaluateRanking({"a": matrix(parts[0])}, PANEL)
        stop = ours_in_xgboost.early_stopping("mrr", rounds=2 if stops else 100, verbose=False)
        params = {**XGB_QUIET, "eta": 0.5}
        booster = self.train(parts, 12, log, stop, kept, params=params, evals_result=curves)
        assert kept.booster.save_raw() == booster.save_raw()  # XGBoost 2 returns another object of the same model
        assert (kept.rounds, kept.curves) == (booster.num_boosted_rounds(), curves)
        assert (kept.rounds < 12) is stops

    def test_it_starts_anew(self, parts):
        kept = ours_in_xgboost.keep()
        log = ours_in_xgboost.EvaluateRanking({"a": matrix(parts[0])}, PANEL)
        self.train(parts, 3, log, kept)
        booster = self.train(parts, 2, log, kept)
        assert kept.booster.save_raw() == booster.save_raw()
        assert (kept.rounds, len(kept.curves["a"]["mrr"])) == (2, 2)

    def test_before_training(self):
        kept = ours_in_xgboost.keep()
        assert (kept.booster, kept.rounds, kept.curves) == (None, 0, {})

    def test_the_booster_goes_with_it(self, parts):
        kept = ours_in_xgboost.keep()
        with pytest.raises(ValueError, match=DIVERGES):
            self.train(parts, 20, ours_in_xgboost.EvaluateRanking({"a": matrix(parts[0])}, PANEL), kept)
        booster = weakref.ref(kept.booster)
        del kept
        gc.collect()
        assert booster() is None
