"""Curves that no library is needed for: best rounds, losses, histories, files, and what is said of bad input."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from gainsay.lightgbm import Curves
from gainsay.training.history import History, Line, Waiting
from gainsay.training.views import view_of
from gainsay.xgboost import Curves as CurvesOfXGBoost

LINEAR, EXP = "ndcg_linear@10", "ndcg_exp@10"
HISTORY = {
    "train": {LINEAR: [0.6, 0.7, 0.8, 0.9], EXP: [0.5, 0.6, 0.7, 0.8]},
    "valid": {LINEAR: [0.50, 0.54, 0.54, 0.51], EXP: [0.40, 0.38, 0.41, 0.45], "rmse": [2.0, 1.5, 1.0, 1.2]},
}


def by_hand(values, higher=True):
    """The first best round, counted from 1, and its value."""
    best = max(values) if higher else min(values)
    return values.index(best) + 1, best


class TestBest:
    def test_first_best_round_of_each(self):
        best = Curves.from_history(HISTORY).best
        for row in best.to_dict("records"):
            values = HISTORY[row["dataset"]][row["metric"]]
            assert (row["round"], row["value"]) == by_hand(values, row["metric"] != "rmse")
        assert len(best) == 5

    def test_losses_are_what_stopping_there_gives(self):
        losses = Curves.from_history(HISTORY).losses()
        assert losses.loc[LINEAR, EXP] == pytest.approx(0.54 - 0.51, abs=1e-15)
        assert losses.loc[EXP, LINEAR] == pytest.approx(0.45 - 0.38, abs=1e-15)
        assert losses.loc["rmse", EXP] == pytest.approx(1.2 - 1.0, abs=1e-15)
        assert np.diag(losses).tolist() == [0.0, 0.0, 0.0]
        assert Curves.from_history(HISTORY).losses("train").to_numpy().tolist() == [[0, 0], [0, 0]]

    def test_what_is_lost_where_there_is_no_value(self):
        nan = float("nan")
        history = {"valid": {EXP: [0.1, 0.3, nan], "mrr": [0.1, 0.2, 0.3], "map@10": [0.3, 0.2, 0.1]}}
        words = str(Curves.from_history(history, [EXP, "mrr", "map@10"]))
        assert words.endswith("round loses 0.2000 of ndcg_exp@10 and 0.2000 of mrr and 0.2000 of map@10.")
        words = str(Curves.from_history(history, [EXP, "mrr"]))
        assert "round loses 0.1000 of mrr.\nWhat is lost of ndcg_exp@10 at the other's best round is not known" in words
        history = {"valid": {EXP: [nan, 0.3], "mrr": [0.1, nan]}}
        words = str(Curves.from_history(history))
        assert "What is lost of ndcg_exp@10 and mrr at the other's best round is not known" in words
        assert "loses" not in words
        assert "nan" not in words

    def test_at_random(self):
        rng = np.random.default_rng(1)
        for _ in range(50):
            values = rng.integers(0, 6, size=rng.integers(1, 12)) / 10
            for higher in (True, False):
                line = Line(higher)
                for number, value in enumerate(values, start=1):
                    line.add(number, value)
                assert (line.best_round, line.best) == by_hand(values.tolist(), higher)
                assert [line.loss(n + 1) for n in range(len(values))] == pytest.approx(
                    abs(values - line.best).tolist(), abs=1e-15
                )

    def test_nan_is_never_the_best(self):
        line = Line(True)
        for number, value in enumerate([np.nan, 0.3, np.nan], start=1):
            line.add(number, value)
        assert (line.best_round, line.best) == (2, 0.3)

    def test_rounds_that_are_left_out(self):
        line = Line(True)
        for number in (1, 6, 11):
            line.add(number, number / 10)
        assert line.at(6) == 0.6
        assert np.isnan(line.at(7))
        assert np.isnan(line.at(12))

    def test_nobody_knows_the_direction(self):
        history = History()
        history.add(1, "valid", "mine", 0.5, None)
        assert history.lines["valid", "mine"].best_round is None

    def test_countdown_looks_at_the_round_before_early_stopping_does(self):
        line = Line(True)
        for number, value in enumerate([0.5, 0.6, 0.55, 0.7], start=1):
            line.add(number, value)
        assert Waiting("valid", "mrr", 10, best_round=2).left(None, 4) == 8
        assert Waiting("valid", "mrr", 10, best_round=2).left(line, 4) == 10


class TestFromHistory:
    def test_the_frame_holds_every_value(self):
        frame = Curves.from_history(HISTORY).frame()
        assert frame.columns.tolist() == ["dataset", "metric", "round", "value"]
        again = {}
        for row in frame.itertuples():
            again.setdefault(row.dataset, {}).setdefault(row.metric, []).append(row.value)
        assert again == HISTORY

    def test_a_name_makes_it_what_comparisons_draw(self):
        from gainsay.report.rounds import best_rounds

        frame = Curves.from_history(HISTORY, name="mine", dataset="valid").frame()
        found = best_rounds(frame[frame["dataset"] == "valid"], (LINEAR, EXP)).iloc[0]
        assert (found["candidate"], found[f"round {LINEAR}"], found[f"round {EXP}"]) == ("mine", 2, 4)

    @pytest.mark.parametrize(
        "history",
        [
            {f"valid {LINEAR}-mean": [0.5, 0.6], f"valid {LINEAR}-stdv": [0.1, 0.1]},
            {"valid": {f"{LINEAR}-mean": [0.5, 0.6], f"{LINEAR}-stdv": [0.1, 0.1]}},
            {"valid": {LINEAR: [(0.5, 0.1), (0.6, 0.1)]}},
            pd.DataFrame({f"valid-{LINEAR}-mean": [0.5, 0.6], f"valid-{LINEAR}-std": [0.1, 0.1]}),
        ],
        ids=["lightgbm.cv", "record_evaluation in it", "evals_log of xgboost.cv", "xgboost.cv"],
    )
    def test_cross_validation(self, history):
        assert Curves.from_history(history).frame().to_numpy().tolist() == [
            ["valid", LINEAR, 1, 0.5],
            ["valid", LINEAR, 2, 0.6],
        ]

    def test_names_for_trackers(self):
        safe = {"valid": {"ndcg_linear_at_10": [0.5, 0.4], "ndcg_exp_at_10": [0.3, 0.4]}}
        curves = Curves.from_history(safe, [EXP, "ndcg_linear_at_10"])
        assert curves.best["round"].tolist() == [1, 2]
        assert "ndcg_exp_at_10 is best at round 2" in str(curves)

    def test_direction_of_others(self):
        history = {"valid": {"my_loss": [3.0, 1.0, 2.0]}}
        for said in (False, {"my_loss": False}):
            assert Curves.from_history(history, higher_is_better=said).best["round"].tolist() == [2]
        with pytest.raises(ValueError, match=r"not known whether a higher 'my_loss' is better: give higher_is_better"):
            Curves.from_history(history)

    @pytest.mark.parametrize("kind", [Curves, CurvesOfXGBoost])
    def test_a_direction_is_that_of_others_alone(self, kind):
        history = {"valid": {"my_loss": [3.0, 1.0, 2.0], "auc": [0.5, 0.6, 0.7], "mrr": [0.5, 0.6, 0.7]}}
        for said in (False, np.False_, {"my_loss": False}):
            assert kind.from_history(history, higher_is_better=said).best["round"].tolist() == [2, 3, 3]
        named = {"my_loss": False, "auc": False}  # a function of one's own may have such a name
        assert kind.from_history(history, higher_is_better=named).best["round"].tolist() == [2, 1, 3]
        with pytest.raises(ValueError, match=r"higher_is_better has 'mrr': False, but a higher value is better of it"):
            kind.from_history(history, higher_is_better={"my_loss": False, "mrr": False})

    @pytest.mark.parametrize("kind", [Curves, CurvesOfXGBoost])
    def test_a_direction_that_is_none(self, kind):
        with pytest.raises(TypeError, match=r"higher_is_better must be True or False, got 'lower'"):
            kind(higher_is_better="lower")
        with pytest.raises(TypeError, match=r"higher_is_better\['my_loss'\] must be True or False, got 'no'"):
            kind(higher_is_better={"my_loss": "no"})

    def test_directions_of_built_in_metrics(self):
        history = {"valid": {"rmse": [2.0, 1.0], "auc": [0.5, 0.6], "map@3": [0.5, 0.6], "ndcg@3": [0.5, 0.6]}}
        for kind in (Curves, CurvesOfXGBoost):
            assert kind.from_history(history).best["round"].tolist() == [2, 2, 2, 2]

    @pytest.mark.parametrize(
        ("history", "message"),
        [
            ({}, "holds no curves"),
            ({"valid": [0.5, 0.6]}, "holds no curves"),
            ([0.5], "must be a dictionary by data set and metric, got list"),
            ({"valid": {LINEAR: ["a"]}}, "must hold one number a round, in order, got \\['a'\\]"),
        ],
    )
    def test_what_is_no_history(self, history, message):
        with pytest.raises((TypeError, ValueError), match=message):
            Curves.from_history(history)

    @pytest.mark.parametrize("curve", [{1: 0.5, 2: 0.6}, {0.5, 0.6}, "56", ["0.5", "0.6"], [True, False]], ids=repr)
    def test_what_is_no_curve(self, curve):
        with pytest.raises(
            ValueError, match=r"history of valid, ndcg_linear@10 must hold one number a round, in order"
        ):
            Curves.from_history({"valid": {LINEAR: curve}})

    def test_rounds_that_nobody_recorded(self):
        history = {"valid": {"rmse": [2.0, 1.5, 1.0, 1.2], EXP: [0.4, 0.5]}}
        with pytest.warns(UserWarning, match=r"holds 2 values of 'ndcg_exp@10' on 'valid' and 4 of 'rmse' on 'valid'"):
            Curves.from_history(history)

    def test_what_it_does_not_hold(self):
        with pytest.raises(ValueError, match=r"no data set 'vald' is evaluated; did you mean 'valid'"):
            Curves.from_history(HISTORY, dataset="vald")
        with pytest.raises(ValueError, match=r"no metric 'mrr' is logged on 'valid' \(there are: ndcg_linear@10, ndcg"):
            Curves.from_history(HISTORY, "mrr")


class TestFiles:
    def test_csv_and_parquet_read_back(self, tmp_path):
        curves = Curves.from_history(HISTORY, name="模型")
        for name, read in (("a.csv", pd.read_csv), ("a.parquet", pd.read_parquet)):
            path = curves.save(tmp_path / name)
            pd.testing.assert_frame_equal(read(path), curves.frame(), check_dtype=False, check_exact=True)

    def test_bad_paths(self, tmp_path):
        curves = Curves.from_history(HISTORY)
        with pytest.raises(ValueError, match=r"must end in \.csv or \.parquet"):
            curves.save(tmp_path / "a.txt")
        with pytest.raises(FileNotFoundError, match="there is no folder"):
            curves.save(tmp_path / "no" / "a.csv")


class TestObjects:
    def test_pickles_and_copies_keep_the_record(self):
        curves = Curves.from_history(HISTORY)
        for again in (pickle.loads(pickle.dumps(curves)), copy.deepcopy(curves)):
            pd.testing.assert_frame_equal(again.frame(), curves.frame())

    def test_words(self):
        assert str(Curves.from_history(HISTORY)) == (
            "ndcg_linear@10 is best at round 2 (0.5400), ndcg_exp@10 at round 4 (0.4500), on valid over 4 rounds.\n"
            "Stopping at the other's best round loses 0.0300 of ndcg_linear@10 and 0.0700 of ndcg_exp@10."
        )
        assert repr(Curves(["mrr", EXP], show=False)) == "Curves(mrr, ndcg_exp@10)"
        same = {"valid": {LINEAR: [0.1, 0.2], EXP: [0.1, 0.2]}}
        assert str(Curves.from_history(same)).endswith("The best rounds are the same.")

    def test_a_plot_of_both(self):
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib.figure import Figure

        ax = Figure().subplots()
        assert Curves.from_history(HISTORY).plot(ax) is ax
        lines = {line.get_label(): line.get_ydata() for line in ax.lines if not line.get_label().startswith("_")}
        assert lines[LINEAR].tolist() == pytest.approx([-0.04, 0, 0, -0.03])
        assert lines[EXP].tolist() == pytest.approx([-0.05, -0.07, -0.04, 0])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"metrics": []}, "metrics is empty"),
            ({"metrics": [3]}, "metrics must be names or Metric objects, got 3"),
            ({"metrics": [EXP, "ndcg_exp_at_10"]}, "names 'ndcg_exp@10' twice"),
            ({"dataset": 3}, "dataset must be the name of a data set, got 3"),
            ({"show": "yes"}, "show must be True, False or one of 'terminal', 'notebook', 'line', got 'yes'"),
        ],
    )
    def test_bad_options(self, options, message):
        for kind in (Curves, CurvesOfXGBoost):
            with pytest.raises((TypeError, ValueError), match=message):
                kind(**options)


class TestViews:
    def view(self, history=HISTORY["valid"], **options):
        lines = {}
        for name, values in history.items():
            lines[name] = Line(name != "rmse")
            for number, value in enumerate(values, start=1):
                lines[name].add(number, value)
        return view_of(lines, title="a model", dataset="valid", last_round=4, **options)

    @pytest.mark.parametrize("width", [30, 50, 79, 119])
    @pytest.mark.parametrize("ascii_only", [False, True])
    def test_no_line_is_too_wide(self, width, ascii_only):
        view = self.view(total=1000, seconds=3.0, stops=(EXP, 7, 50))
        lines = view.block(width, ascii_only=ascii_only)
        lines += [view.final_line(width, ascii_only=ascii_only)] if width >= 79 else []
        assert max(map(len, lines)) <= width
        assert not ascii_only or "".join(lines).isascii()

    def test_what_stands_in_the_block(self):
        two = {name: HISTORY["valid"][name] for name in (LINEAR, EXP)}
        view = self.view(two, total=120, seconds=3.0, stops=(EXP, 7, 50))
        assert [" ".join(line.split()) for line in view.block(79)] == [
            "a model round 4/120 ◆ stops in 7 3 s",
            "● linear 0.5100 best 0.5400 at 2 ▁██▁ −0.0300 at 4",
            "◆ exp 0.4500 best 0.4500 at 4 ▁▁▁█ −0.0700 at 2",
        ]
        assert view.final_line(79) == "a model  ● 0.5400 @2  ◆ 0.4500 @4  3.0 s  best rounds differ"
        assert view.final_line().endswith("best rounds differ: −0.0300 at 4, −0.0700 at 2")

    def test_what_will_be_stopped_on_is_not_shown(self):
        assert "mrr stops in 7" in self.view(stops=("mrr", 7, 50)).block(79)[0]

    def test_losses_that_there_are(self):
        """One metric loses nothing at the other's best round; one has no best round."""
        ties = self.view({LINEAR: [0.5, 0.5], EXP: [0.1, 0.2]})
        assert ties.final_line().endswith("  best rounds differ: −0.1000 at 1")
        assert "<td>best rounds differ: −0.1000 at 1</td>" in ties.row()
        nothing = self.view({LINEAR: [0.5, 0.6], EXP: [np.nan, np.nan]})
        assert nothing.final_line() == "a model  ● 0.6000 @2  ◆ –"

    def test_no_metric_whose_direction_is_known(self):
        view = self.view({}, seconds=3.0)
        assert [" ".join(line.split()) for line in view.block(79)] == ["a model round 4 3 s"]
        assert view.final_line().split() == ["a", "model", "3.0", "s"]

    def test_colours_only_where_they_are_wanted(self):
        view = self.view()
        assert "\x1b" not in "".join(view.block(79)) + view.final_line(79)
        assert "\x1b[38;5;33m●\x1b[0m" in view.block(79, colour=True)[1]

    def test_hostile_names_stay_text(self):
        view = view_of({EXP: Line(True)}, title="<b>\x1b[2J", dataset="<i>", last_round=1)
        assert "\x1b" not in view.block(79)[0]
        assert "<b>" not in view.picture().replace("<p><b>", "", 1)
        assert "<i>" not in view.picture()


@pytest.mark.parametrize(
    "logged", [["ndcg_exp@10", "rbp(p=0.95)@20", "l2"], ["ndcg_exp_at_10", "rbp__p_is_0_dot_95_at_20", "l2"]]
)
def test_safe_names_in_tables_and_files_whichever_were_logged(tmp_path, logged):
    history = {"valid": {name: [0.5, 0.6] for name in logged}}
    curves = Curves.from_history(history, higher_is_better={"l2": False}, names="safe")
    expected = ["ndcg_exp_at_10", "rbp__p_is_0_dot_95_at_20", "l2"]
    assert curves.frame()["metric"].drop_duplicates().tolist() == expected
    assert (
        curves.best["metric"].tolist() == curves.losses().index.tolist() == curves.losses().columns.tolist() == expected
    )
    assert set(pd.read_csv(curves.save(tmp_path / "c.csv"))["metric"]) == set(expected)


def test_two_names_that_would_be_one_are_refused():
    history = {"valid": {"mrr@5": [0.5, 0.6], "mrr_at_5": [0.5, 0.4]}}
    with pytest.raises(ValueError, match="names='safe' would call both"):
        Curves.from_history(history, names="safe").frame()
    with pytest.raises(ValueError, match="names must be 'plain' or 'safe', got 'short'"):
        Curves(names="short")
