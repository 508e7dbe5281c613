"""Curves while XGBoost trains: what they hold is what XGBoost records, and the training stays what it is."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import xgboost as xgb
from sklearn.base import clone
from trainings import values

import gainsay as gs
from gainsay.data import simulate
from gainsay.xgboost import Curves, EvaluateRanking, custom_metric, early_stopping, full_precision

PANEL = ["mrr", "ndcg_linear@10", "ndcg_exp@10"]
PARAMS = {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1}


@pytest.fixture(scope="module")
def parts():
    return simulate(80, seed=3, mean_length=20).split_queries(0.6, 0.4, seed=3)


@pytest.fixture(scope="module")
def matrices(parts):
    return [xgb.DMatrix(part.features, label=part.labels, qid=part.qid, nthread=1) for part in parts]


def train(matrices, *callbacks, rounds=12, params=PARAMS, **options):
    recorded = {}
    options.setdefault("verbose_eval", False)
    booster = xgb.train(params, matrices[0], rounds, callbacks=list(callbacks), evals_result=recorded, **options)
    return booster, recorded


def log(matrices, **options):
    return EvaluateRanking({"train": matrices[0], "valid": matrices[1]}, PANEL, **options)


class TestWhatIsKept:
    @pytest.mark.parametrize("curves_first", [True, False])
    def test_the_last_round_though_nothing_was_evaluated_in_it(self, matrices, curves_first):
        curves = Curves(show=False)
        constant = gs.metric("always_a_half", lambda labels, scores: 0.5)
        evaluate = EvaluateRanking({"valid": matrices[1]}, constant, every=3)
        stop = early_stopping(constant, 5, verbose=False)
        callbacks = [curves, stop] if curves_first else [stop, curves]
        booster, _ = train(matrices, evaluate, *callbacks)
        assert curves.rounds == booster.num_boosted_rounds() == 6  # the first is the best, and it waits for five
        assert curves.frame()["round"].tolist() == [1, 4]

    @pytest.mark.parametrize("curves_first", [True, False])
    def test_every_value_that_xgboost_records(self, matrices, curves_first):
        curves = Curves(show=False)
        callbacks = [curves, log(matrices)]
        _, recorded = train(matrices, *callbacks[:: 1 if curves_first else -1])
        assert values(curves.frame()) == recorded
        for row in curves.best.itertuples():
            assert row.round == int(np.argmax(recorded[row.dataset][row.metric])) + 1

    def test_the_training_is_the_same_without(self, matrices):
        with_curves, _ = train(matrices, log(matrices), Curves(show=False))
        without, _ = train(matrices, log(matrices))
        assert (with_curves.predict(matrices[1]) == without.predict(matrices[1])).all()

    def test_custom_metrics_with_all_digits(self, matrices):
        ours, curves = custom_metric(PANEL), Curves(show=False)
        options = {"evals": [(matrices[1], "valid")], "custom_metric": ours}
        _, recorded = train(matrices, curves, full_precision(ours), **options)
        assert values(curves.frame()) == recorded
        assert recorded["valid"]["mrr"] != [round(value, 6) for value in recorded["valid"]["mrr"]]

    def test_built_in_metrics(self, matrices):
        curves = Curves(show=False)
        params = {"objective": "rank:ndcg", "eval_metric": ["ndcg@3", "rmse"], "nthread": 1}
        _, recorded = train(matrices, curves, params=params, evals=[(matrices[1], "valid")])
        best = curves.best.set_index("metric")["round"]
        assert best["ndcg@3"] == int(np.argmax(recorded["valid"]["ndcg@3"])) + 1
        assert best["rmse"] == int(np.argmin(recorded["valid"]["rmse"])) + 1

    def test_rounds_that_are_left_out(self, matrices):
        curves = Curves(show=False)
        train(matrices, curves, log(matrices, every=5), rounds=11)
        frame = curves.frame()
        assert frame.loc[frame["metric"] == "mrr", "round"].unique().tolist() == [1, 6, 11]

    def test_cross_validation(self, matrices):
        curves = Curves(show=False)
        options = {"custom_metric": custom_metric(PANEL), "callbacks": [curves], "nfold": 3, "as_pandas": False}
        found = xgb.cv(PARAMS, matrices[0], 6, **options)
        mine = values(curves.frame())
        assert mine["test"] == {name: found[f"test-{name}-mean"] for name in PANEL}
        assert values(Curves.from_history(found).frame()) == mine

    def test_a_continued_training_counts_all_rounds(self, matrices):
        before = xgb.train(PARAMS, matrices[0], 5)
        curves = Curves(show=False)
        train(matrices, log(matrices), curves, rounds=3, xgb_model=before)
        assert curves.frame()["round"].unique().tolist() == [6, 7, 8]

    def test_estimators_clones_and_pickles(self, parts):
        valid = {"valid": (parts[1].features, parts[1].labels, parts[1].qid)}
        ranker = xgb.XGBRanker(n_estimators=4, callbacks=[EvaluateRanking(valid, PANEL), Curves(show=False)])
        fitted = clone(ranker).fit(parts[0].features, parts[0].labels, qid=parts[0].qid)
        again = pickle.loads(pickle.dumps(fitted))
        for one in (fitted, copy.deepcopy(fitted), again):
            assert values(one.callbacks[1].frame())["valid"] == fitted.evals_result_["valid"]
        assert not len(ranker.callbacks[1].frame())


class TestWithEarlyStopping:
    @pytest.mark.parametrize("place", [0, 1, 2])
    def test_ours_wherever_it_stands(self, matrices, place):
        curves = Curves(show=False)
        callbacks = [log(matrices), curves]
        callbacks.insert(place, early_stopping("mrr", 4, dataset="valid", verbose=False))
        booster, recorded = train(matrices, *callbacks, rounds=60)
        assert booster.best_iteration + 1 + 4 == curves.rounds < 60
        assert values(curves.frame()) == recorded

    def test_one_that_cuts_the_model(self, matrices):
        curves = Curves(show=False)
        stop = early_stopping("mrr", 4, dataset="valid", save_best=True, verbose=False)
        booster, recorded = train(matrices, stop, log(matrices), curves, rounds=60)
        assert booster.num_boosted_rounds() + 4 == curves.rounds
        assert values(curves.frame()) == recorded

    def test_that_of_xgboost(self, matrices):
        curves = Curves(show=False)
        stop = xgb.callback.EarlyStopping(rounds=4, metric_name="mrr", data_name="valid", maximize=True)
        evals = [(matrices[0], "train"), (matrices[1], "valid")]  # XGBoost 2.1 may ask it before any other callback
        _, recorded = train(matrices, stop, curves, rounds=60, evals=evals, custom_metric=custom_metric(PANEL))
        assert values(curves.frame()) == recorded

    def test_it_counts_down(self, matrices):
        seen = []

        class Spying(Curves):
            def after_iteration(self, model, epoch, evals_log):
                super().after_iteration(model, epoch, evals_log)
                seen.append(self._view().stops)
                return False

        stop = early_stopping("mrr", 4, dataset="train", verbose=False)
        _, recorded = train(matrices, log(matrices), Spying(show=False), stop, rounds=60)
        curve = recorded["train"]["mrr"]
        for number, stops in list(enumerate(seen, start=1))[1:]:
            best = int(np.argmax(curve[:number])) + 1
            assert stops == ("mrr", 4 - (number - best), 4)


class TestWhatIsSaid:
    def test_where_nothing_is_evaluated(self, matrices):
        with pytest.raises(ValueError, match=r"nothing to show: no data set or no metric is evaluated; evaluate"):
            train(matrices, Curves())

    def test_where_it_does_not_occur(self, matrices):
        with pytest.raises(ValueError, match=r"no metric 'map@10' is logged on 'valid' \(there are: mrr, ndcg_lin"):
            train(matrices, log(matrices), Curves("map@10"))

    def test_whose_direction_nobody_knows(self, matrices):
        def mine(scores, _):
            return "mine", float(np.abs(scores).mean())

        options = {"evals": [(matrices[1], "valid")], "custom_metric": mine}
        with pytest.raises(ValueError, match="not known whether a higher 'mine' is better: give higher_is_better"):
            train(matrices, Curves("mine", show=False), **options)
        curves = Curves("mine", higher_is_better=False, show=False)
        _, recorded = train(matrices, curves, **options)
        assert curves.best["round"].tolist() == [int(np.argmin(recorded["valid"]["mine"])) + 1]

    def test_a_second_training(self, matrices):
        curves = Curves(show=False)
        train(matrices, log(matrices), curves)
        with pytest.raises(ValueError, match=r"12 rounds of a training already, .* make one for each, gainsay.xgboost"):
            train(matrices, log(matrices), curves)

    def test_a_name_that_comes_twice(self, parts):
        binary = parts[0].labels > 1
        matrices = [xgb.DMatrix(parts[0].features, label=binary, qid=parts[0].qid, nthread=1)] * 2
        params = {"objective": "rank:ndcg", "eval_metric": "map@10", "nthread": 1}
        options = {"evals": [(matrices[1], "valid")], "custom_metric": custom_metric(["map@10"])}
        with pytest.raises(ValueError, match=r"metric named 'map@10': both would be mixed up in one history"):
            train(matrices, Curves(show=False), params=params, **options)

    def test_one_line_at_the_end_where_there_is_no_terminal(self, matrices, capsys):
        curves = Curves(name="small")
        train(matrices, log(matrices), curves, rounds=3)
        out, error = capsys.readouterr()
        best = curves.best[curves.best["dataset"] == "valid"].set_index("metric")
        linear, exp = best.loc["ndcg_linear@10"], best.loc["ndcg_exp@10"]
        assert out == ""
        assert error.startswith(f"small  ● {linear.value:.4f} @{linear['round']}  ◆ {exp.value:.4f} @{exp['round']}  ")
        assert error.count("\n") == 1
