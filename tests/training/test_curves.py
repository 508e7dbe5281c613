"""Curves of given values: best rounds, losses, files and views."""

import copy
import pickle
import re
from collections import Counter

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from rich.cells import cell_len

from gainwise.lightgbm import Curves
from gainwise.training.view import MetricCurve, View, create_picture, create_shown, to_ascii

LINEAR, EXP = "ndcg_linear@10", "ndcg_exp@10"
HISTORY = {
    "train": {LINEAR: [0.6, 0.7, 0.8, 0.9], EXP: [0.5, 0.6, 0.7, 0.8]},
    "valid": {LINEAR: [0.50, 0.54, 0.54, 0.51], EXP: [0.40, 0.38, 0.41, 0.45], "rmse": [2.0, 1.5, 1.0, 1.2]},
}
NAN = float("nan")


def join(line):
    return "".join(text for text, _ in line)


def record(history, falling=(), **options):
    """Return the curves of a training in which LightGBM logs these values."""
    features = np.arange(20.0).reshape(-1, 1)
    train = lgb.Dataset(features, features.ravel())
    sets = {name: train if name == "train" else lgb.Dataset(features, features.ravel(), train) for name in history}
    rounds = Counter()

    def log(_, data):
        (name,) = [name for name, dataset in sets.items() if dataset is data]
        place, rounds[name] = rounds[name], rounds[name] + 1
        return [(metric, values[place], metric not in falling) for metric, values in history[name].items()]

    curves, number = Curves(show=False, **options), len(next(iter(history["valid"].values())))
    params = {"metric": "None", "verbose": -1, "num_threads": 1}
    lgb.train(params, train, number, list(sets.values()), list(sets), feval=log, callbacks=[curves])
    return curves


class TestBest:
    def test_losses_are_the_distances_from_the_best_values(self):
        losses = record(HISTORY, ["rmse"]).losses()
        assert losses.loc[LINEAR, EXP] == pytest.approx(0.54 - 0.51, abs=1e-15)
        assert losses.loc[EXP, LINEAR] == pytest.approx(0.45 - 0.38, abs=1e-15)
        assert losses.loc["rmse", EXP] == pytest.approx(1.2 - 1.0, abs=1e-15)
        assert np.diag(losses).tolist() == [0.0, 0.0, 0.0]
        assert record(HISTORY, ["rmse"]).losses("train").to_numpy().tolist() == [[0, 0], [0, 0]]

    @pytest.mark.parametrize("higher", [True, False])
    def test_random_curves(self, higher):
        rng = np.random.default_rng(1)
        for _ in range(20):
            ours, other = (rng.integers(0, 6, size=9) / 10 for _ in range(2))
            ours[rng.random(9) < 0.2] = NAN  # NaN is never the best
            if np.isnan(ours).all():
                continue
            history = {"valid": {"ours": ours.tolist(), "other": other.tolist()}}
            curves = record(history, [] if higher else ["ours", "other"])
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
        text = str(record({"valid": history}, metrics=list(history)))
        assert all(loss in text for loss in losses)
        assert ("loses" in text) is bool(losses)
        assert "nan" not in text


def test_the_frame_has_every_value():
    frame = record(HISTORY, ["rmse"]).frame()
    assert frame.columns.tolist() == ["dataset", "metric", "round", "value"]
    again = {}
    for row in frame.itertuples():
        again.setdefault(row.dataset, {}).setdefault(row.metric, []).append(row.value)
    assert again == HISTORY
    assert set(record(HISTORY, ["rmse"], name="mine").frame()["candidate"]) == {"mine"}


def test_a_metric_without_a_value_has_no_best_round_and_no_line():
    curves = record({"valid": {"mrr": [NAN, NAN], "map": [0.1, 0.2]}})
    labels = [line.get_label() for line in curves.plot(Figure().subplots()).ax.lines]
    assert "map" in labels
    assert "mrr" not in labels
    alone = record({"valid": {"mrr": [NAN, NAN]}})
    assert str(alone) == "No metric has a value on valid in 2 rounds."
    assert not alone.plot(Figure().subplots()).ax.lines


def test_copies_and_texts():
    curves = record(HISTORY, ["rmse"])
    for again in (pickle.loads(pickle.dumps(curves)), copy.deepcopy(curves)):
        pd.testing.assert_frame_equal(again.frame(), curves.frame())
    facts = ["round 2 (0.5400)", "round 4 (0.4500)", "0.0300 of ndcg_linear@10", "0.0700 of ndcg_exp@10"]
    assert [str(curves).count(fact) for fact in facts] == [1, 1, 1, 1]
    assert repr(Curves(["mrr", EXP], show=False)) == "Curves(mrr, ndcg_exp@10)"
    same = {"valid": {LINEAR: [0.1, 0.2], EXP: [0.1, 0.2]}}
    assert "loses" not in str(record(same))


def test_plot():
    ax = Figure().subplots()
    picture = record(HISTORY, ["rmse"]).plot(ax)
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
