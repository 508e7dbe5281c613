"""Curves without a training: best rounds, losses, histories, files and views."""

import copy
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from rich.cells import cell_len

from gainwise.lightgbm import Curves
from gainwise.training.view import MetricCurve, View, create_picture, create_shown, to_ascii
from gainwise.xgboost import Curves as CurvesOfXGBoost

LINEAR, EXP = "ndcg_linear@10", "ndcg_exp@10"
HISTORY = {
    "train": {LINEAR: [0.6, 0.7, 0.8, 0.9], EXP: [0.5, 0.6, 0.7, 0.8]},
    "valid": {LINEAR: [0.50, 0.54, 0.54, 0.51], EXP: [0.40, 0.38, 0.41, 0.45], "rmse": [2.0, 1.5, 1.0, 1.2]},
}
NAN = float("nan")


def join(line):
    return "".join(text for text, _ in line)


both = pytest.mark.parametrize("kind", [Curves, CurvesOfXGBoost])


def best_rounds(kind, history, **options):
    return kind.from_history(history, **options).best["round"].tolist()


class TestBest:
    def test_losses_are_the_distances_from_the_best_values(self):
        losses = Curves.from_history(HISTORY).losses()
        assert losses.loc[LINEAR, EXP] == pytest.approx(0.54 - 0.51, abs=1e-15)
        assert losses.loc[EXP, LINEAR] == pytest.approx(0.45 - 0.38, abs=1e-15)
        assert losses.loc["rmse", EXP] == pytest.approx(1.2 - 1.0, abs=1e-15)
        assert np.diag(losses).tolist() == [0.0, 0.0, 0.0]
        assert Curves.from_history(HISTORY).losses("train").to_numpy().tolist() == [[0, 0], [0, 0]]

    @pytest.mark.parametrize("higher", [True, False])
    def test_random_curves(self, higher):
        rng = np.random.default_rng(1)
        for _ in range(20):
            ours, other = (rng.integers(0, 6, size=9) / 10 for _ in range(2))
            ours[rng.random(9) < 0.2] = NAN  # NaN is never the best
            if np.isnan(ours).all():
                continue
            history = {"valid": {"ours": ours.tolist(), "other": other.tolist()}}
            curves = Curves.from_history(history, higher_is_better=higher)
            values = [value for value in ours if value == value]
            best = max(values) if higher else min(values)
            row = curves.best.set_index("metric").loc["ours"]
            assert (row["round"], row["value"]) == (ours.tolist().index(best) + 1, best)
            at_other = ours[(np.argmax if higher else np.argmin)(other)]
            expected = pytest.approx(abs(at_other - best), abs=1e-15, nan_ok=True)
            assert curves.losses().loc["ours", "other"] == expected

    @pytest.mark.parametrize(
        ("history", "losses"),
        [
            ({EXP: [0.1, 0.3, NAN], "mrr": [0.1, 0.2, 0.3], "map": [0.3, 0.2, 0.1]}, ["0.2000 of ndcg_exp@10"]),
            ({EXP: [0.1, 0.3, NAN], "mrr": [0.1, 0.2, 0.3]}, ["0.1000 of mrr"]),
            ({EXP: [NAN, 0.3], "mrr": [0.1, NAN]}, []),
        ],
    )
    def test_losses_without_a_value(self, history, losses):
        text = str(Curves.from_history({"valid": history}, list(history)))
        assert all(loss in text for loss in losses)
        assert ("loses" in text) is bool(losses)
        assert "nan" not in text


class TestFromHistory:
    def test_the_frame_has_every_value(self):
        frame = Curves.from_history(HISTORY).frame()
        assert frame.columns.tolist() == ["dataset", "metric", "round", "value"]
        again = {}
        for row in frame.itertuples():
            again.setdefault(row.dataset, {}).setdefault(row.metric, []).append(row.value)
        assert again == HISTORY
        assert set(Curves.from_history(HISTORY, name="mine").frame()["candidate"]) == {"mine"}

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
        values = Curves.from_history(history).frame().to_numpy().tolist()
        assert values == [["valid", LINEAR, 1, 0.5], ["valid", LINEAR, 2, 0.6]]

    @both
    def test_directions(self, kind):
        history = {"valid": {"my_loss": [3.0, 1.0, 2.0], "auc": [0.5, 0.6, 0.7], "mrr": [0.5, 0.6, 0.7]}}
        for falls in (False, np.False_):  # custom metrics of the user
            assert best_rounds(kind, history, higher_is_better=falls) == [2, 3, 3]
        built_in = {"rmse": [2.0, 1.0], "auc": [0.5, 0.6], "map@3": [0.5, 0.6], "ndcg@3": [0.5, 0.6]}
        assert best_rounds(kind, {"valid": built_in}) == [2, 2, 2, 2]


def test_a_metric_without_a_value_has_no_best_round_and_no_line():
    curves = Curves.from_history({"valid": {"mrr": [NAN, NAN], "map": [0.1, 0.2]}})
    labels = [line.get_label() for line in curves.plot(Figure().subplots()).ax.lines]
    assert "map" in labels
    assert "mrr" not in labels
    alone = Curves.from_history({"valid": {"mrr": [NAN, NAN]}})
    assert str(alone) == "No metric has a value on valid in 2 rounds."
    assert not alone.plot(Figure().subplots()).ax.lines


def test_copies_and_texts():
    curves = Curves.from_history(HISTORY)
    for again in (pickle.loads(pickle.dumps(curves)), copy.deepcopy(curves)):
        pd.testing.assert_frame_equal(again.frame(), curves.frame())
    facts = ["round 2 (0.5400)", "round 4 (0.4500)", "0.0300 of ndcg_linear@10", "0.0700 of ndcg_exp@10"]
    assert [str(curves).count(fact) for fact in facts] == [1, 1, 1, 1]
    assert repr(Curves(["mrr", EXP], show=False)) == "Curves(mrr, ndcg_exp@10)"
    same = {"valid": {LINEAR: [0.1, 0.2], EXP: [0.1, 0.2]}}
    assert "loses" not in str(Curves.from_history(same))


def test_plot():
    ax = Figure().subplots()
    picture = Curves.from_history(HISTORY).plot(ax)
    assert picture.ax is ax
    assert "is best at round 2" in picture.alt
    lines = {line.get_label(): line.get_ydata() for line in ax.lines if not line.get_label().startswith("_")}
    assert lines[LINEAR].tolist() == pytest.approx([-0.04, 0, 0, -0.03])
    assert lines[EXP].tolist() == pytest.approx([-0.05, -0.07, -0.04, 0])


class TestViews:
    def view(self, history=HISTORY["valid"], **options):
        lines = {}
        for name, values in history.items():
            lines[name] = MetricCurve(name != "rmse")
            for number, value in enumerate(values, start=1):
                lines[name].add(number, value)
        options = {"title": "a model", "dataset": "valid", "last_round": 4, **options}
        return View(shown=create_shown(lines), **options)

    @pytest.mark.parametrize("width", [60, 79, 119])
    @pytest.mark.parametrize("title", ["a model", "模型 " * 30])
    def test_no_line_is_too_wide(self, width, title):
        two = {name: HISTORY["valid"][name] for name in (LINEAR, EXP)}
        view = self.view(two, title=title, total=1000, seconds=3.0, patience=(EXP, 7, 50))
        lines = [join(line) for line in view.create_lines(width)]
        assert max(map(cell_len, lines)) <= width
        assert to_ascii("".join(lines)).isascii()
        assert lines[0].endswith("3 s")

    def test_lines(self):
        two = {name: HISTORY["valid"][name] for name in (LINEAR, EXP)}
        view = self.view(two, total=120, seconds=3.0, patience=(EXP, 7, 50))
        assert [" ".join(join(line).split()) for line in view.create_lines(79)] == [
            "a model round 4/120 ◆ stops in 7 3 s",
            "● linear 0.5100 best 0.5400 at 2 ▁██▁ −0.0300 at 4",
            "◆ exp 0.4500 best 0.4500 at 4 ▁▁▁█ −0.0700 at 2",
        ]
        final_line = view.create_final_line()
        assert final_line.startswith(
            f"a model: {LINEAR} is best at round 2 (0.5400), {EXP} at round 4 (0.4500), on valid"
        )
        assert final_line.endswith(f"loses 0.0300 of {LINEAR} and 0.0700 of {EXP}. 3.0 s")
        assert "mrr stops in 7" in join(self.view(patience=("mrr", 7, 50)).create_lines(79)[0])
        assert view.create_lines(79)[1][1] == ("●", "first")

    def test_hostile_names(self):
        curve = MetricCurve(True)
        curve.add(1, 0.5)
        view = View("<b>\x1b[2J", "<i>", create_shown({EXP: curve, "<b>[x]\x1b": curve}), last_round=1)
        assert "\x1b" not in "".join(map(join, view.create_lines(79))) + view.create_final_line()
        page = create_picture(view).replace("<p><b>", "", 1)
        assert not {"<b>", "<i>", "\x1b"} & set(re.findall("<[bi]>|\x1b", page))


def test_picture():
    """The blocks are those of a terminal: the lowest one is 0.03, or 3 % of a best value above 1, below the best."""
    history = {"mrr": [0.50, 0.52, 0.55, 0.54], "rmse": [200.0, 102.0, 100.0], "map": [0.1, NAN, 0.3]}
    page = create_picture(TestViews().view(history))
    assert re.findall(r'<td class="[lem]?">([▁-█ ]*)</td>', page) == ["▁▁█▆", "▁▃█", "▁ █"]
