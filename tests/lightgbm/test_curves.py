"""Curves while LightGBM trains: what they hold is what LightGBM records, and the training stays what it is."""

from __future__ import annotations

import pickle

import lightgbm as lgb
import numpy as np
import pytest
from trainings import datasets, held_out, values

from gainsay.data import simulate
from gainsay.lightgbm import Curves, early_stopping, eval_metric, feval

PANEL = ["mrr", "ndcg_linear@10", "ndcg_exp@10"]
PARAMS = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}


@pytest.fixture(scope="module")
def parts():
    return simulate(80, seed=3, mean_length=20).split_queries(0.6, 0.4, seed=3)


@pytest.fixture
def sets(parts):
    return datasets(parts)


def train(sets, *callbacks, rounds=12, params=PARAMS, log=None, **options):
    recorded = {}
    options.setdefault("valid_sets", list(sets))
    callbacks = [lgb.record_evaluation(recorded), *callbacks]
    log = feval(PANEL) if log is None else log
    return lgb.train(params, sets[0], rounds, feval=log, callbacks=callbacks, **options), recorded


class TestWhatIsKept:
    def test_every_value_that_lightgbm_records(self, sets):
        curves = Curves(show=False)
        _, recorded = train(sets, curves)
        assert values(curves.frame()) == recorded
        for row in curves.best.itertuples():
            assert row.round == int(np.argmax(recorded[row.dataset][row.metric])) + 1

    def test_the_training_is_the_same_without(self, sets, parts):
        with_curves, _ = train(sets, Curves(show=False))
        without, _ = train(sets)
        assert (with_curves.predict(parts[1].features) == without.predict(parts[1].features)).all()

    def test_rounds_that_are_left_out(self, sets):
        curves = Curves(show=False)
        train(sets, curves, log=feval(PANEL, every=5), rounds=11)
        frame = curves.frame()
        assert frame.loc[frame["metric"] == "mrr", "round"].unique().tolist() == [1, 6, 11]
        assert curves.rounds == 11

    def test_cross_validation(self, sets):
        curves = Curves(show=False)
        found = lgb.cv(PARAMS, sets[0], 6, nfold=3, feval=feval(PANEL), callbacks=[curves])
        assert values(curves.frame()) == {"valid": {name: found[f"valid {name}-mean"] for name in PANEL}}
        assert values(Curves.from_history(found).frame()) == values(curves.frame())

    def test_a_continued_training_counts_all_rounds(self, parts):
        first = lgb.Dataset(parts[0].features, parts[0].labels, group=parts[0].group, free_raw_data=False)
        booster = lgb.train(PARAMS, first, 5)
        curves = Curves(show=False)
        train((first, first), curves, rounds=3, init_model=booster, valid_sets=[first])
        assert curves.frame()["round"].unique().tolist() == [6, 7, 8]

    def test_estimators(self, parts):
        curves = Curves(show=False)
        ranker = lgb.LGBMRanker(n_estimators=6, metric="None", verbose=-1, n_jobs=1)
        ranker.fit(
            parts[0].features,
            parts[0].labels,
            group=parts[0].group,
            eval_group=[parts[1].group],
            **held_out(parts[1]),
            eval_metric=eval_metric(PANEL),
            callbacks=[curves],
        )
        assert values(curves.frame()) == ranker.evals_result_

    def test_metrics_of_others(self, sets):
        def loss(scores, _):
            return "my_loss", float(np.abs(scores).mean()), False

        curves = Curves(["my_loss", "ndcg@3"], show=False)
        train(sets, curves, params={**PARAMS, "metric": "ndcg", "eval_at": [3]}, log=[feval(PANEL), loss])
        frame = curves.frame()
        mine = frame[(frame["metric"] == "my_loss") & (frame["dataset"] == "valid_1")]["value"].to_numpy()
        best = curves.best.set_index(["dataset", "metric"])["round"]
        assert best["valid_1", "my_loss"] == int(mine.argmin()) + 1


class TestWithEarlyStopping:
    @pytest.mark.parametrize("ours_first", [True, False])
    def test_ours(self, sets, ours_first):
        curves = Curves(show=False)
        callbacks = [early_stopping("mrr", 4, verbose=False), curves]
        booster, recorded = train(sets, *callbacks[:: 1 if ours_first else -1], rounds=60)
        assert booster.best_iteration + 4 == curves.rounds < 60
        assert values(curves.frame()) == recorded

    def test_that_of_lightgbm(self, sets):
        curves = Curves(show=False)
        booster, recorded = train(sets, curves, lgb.early_stopping(4, verbose=False), rounds=60)
        assert values(curves.frame()) == recorded
        assert booster.best_iteration > 0

    def test_it_counts_down(self, sets):
        seen = []

        class Spying(Curves):
            def __call__(self, env):
                super().__call__(env)
                if self._live is not None:
                    seen.append(self._view().stops)

        curves = Spying(["ndcg_exp@10"], show=False)
        _, recorded = train(sets, curves, early_stopping("mrr", 4, dataset="training", verbose=False), rounds=60)
        curve = recorded["training"]["mrr"]
        for number, stops in list(enumerate(seen, start=1))[1:]:  # in the first round nobody has said on what
            best = int(np.argmax(curve[:number])) + 1
            assert stops == ("mrr", 4 - (number - best), 4)
        assert seen[-1] == ("mrr", 0, 4)


class TestWhatIsShown:
    def test_not_what_is_trained_on_whatever_it_is_called(self, sets):
        curves = Curves(show=False)
        train(sets, curves, valid_names=["mine", "held_out"])
        for each in (curves, pickle.loads(pickle.dumps(curves))):
            assert ", on held_out over 12 rounds." in str(each)
            assert each.losses().equals(curves.losses("held_out"))


class TestWhatIsSaid:
    def test_where_nothing_is_evaluated(self, sets):
        with pytest.raises(ValueError, match=r"nothing to show: no data set or no metric is evaluated; pass valid"):
            train(sets, Curves(), valid_sets=[])

    def test_where_it_does_not_occur(self, sets, capfd):
        with pytest.raises(ValueError, match=r"no metric 'map@10' is logged on 'valid_1' \(there are: mrr, ndcg_lin"):
            train(sets, Curves("map@10"), valid_names=["training", "valid_1"])
        with pytest.raises(ValueError, match=r"no data set 'valid_2' is evaluated; did you mean"):
            train(sets, Curves(dataset="valid_2"))
        assert "●" not in capfd.readouterr().err

    def test_a_second_training(self, sets):
        curves = Curves(show=False)
        train(sets, curves)
        with pytest.raises(ValueError, match=r"12 rounds of a training already, .* make one for each, gainsay.lig"):
            train(sets, curves)
        with pytest.raises(ValueError, match="of a training already"):
            train(sets, pickle.loads(pickle.dumps(curves)))
        train(sets, pickle.loads(pickle.dumps(Curves(show=False))))

    def test_a_name_that_comes_twice(self, sets):
        def twin(scores, _):
            return "mrr", 0.5, True

        with pytest.raises(ValueError, match="metric named 'mrr': both would be mixed up in one history"):
            train(sets, Curves(show=False), log=[feval(PANEL), twin])

    @pytest.mark.parametrize("watching", [Curves(show=False), early_stopping("mrr", 3, verbose=False)], ids=repr)
    def test_two_data_sets_of_one_name(self, sets, watching):
        with pytest.raises(ValueError, match="two data sets or two metrics have one name: give each its own"):
            train(sets, watching, valid_sets=[sets[1], sets[1]], valid_names=["valid", "valid"])

    def test_one_line_at_the_end_where_there_is_no_terminal(self, sets, capsys):
        curves = Curves(name="small")
        train(sets, curves, rounds=3)
        out, error = capsys.readouterr()
        best = curves.best[curves.best["dataset"] == "valid_1"].set_index("metric")
        linear, exp = best.loc["ndcg_linear@10"], best.loc["ndcg_exp@10"]
        assert out == ""
        assert error.startswith(f"small  ● {linear.value:.4f} @{linear['round']}  ◆ {exp.value:.4f} @{exp['round']}  ")
        assert error.count("\n") == 1

    @pytest.mark.parametrize("stop", [early_stopping("mrr", 3, verbose=False), lgb.early_stopping(3, verbose=False)])
    def test_that_line_comes_however_training_is_stopped(self, sets, capsys, stop):
        curves = Curves()
        train(sets, curves, stop, rounds=60)
        str(curves)
        assert capsys.readouterr().err.count("●") == 1

    def test_silence(self, sets, capsys):
        train(sets, Curves(show=False))
        assert capsys.readouterr() == ("", "")


class TestNamesForTrackers:
    def test_shown_as_logged_and_found_under_either_name(self, sets):
        seen = []

        class Spying(Curves):
            def __call__(self, env):
                super().__call__(env)
                if self._live is not None:
                    seen.append(self._view().stops)

        panel = ["rbp(ties=worst,p=0.95)@5", "ndcg_exp@10", "mrr"]
        curves = Spying(["ndcg_exp@10", panel[0]], show=False)
        stop = early_stopping("ndcg_exp@10", 4, dataset="training", verbose=False)
        train(sets, curves, stop, rounds=60, log=feval(panel, names="safe"))
        assert {stops[0] for stops in seen[1:]} == {"ndcg_exp_at_10"}
        named = curves.best["metric"].unique().tolist()
        assert named == ["rbp__ties_is_worst__p_is_0_dot_95_at_5", "ndcg_exp_at_10", "mrr"]
        assert str(curves).startswith("ndcg_exp_at_10 is best at round")
