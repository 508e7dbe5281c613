"""Progress while an experiment runs: bars in a terminal, otherwise one line per training."""

import re
import sys

import pytest
from rich.cells import cell_len
from tests.training.screen import Terminal

from gainwise.experiment import Candidate
from gainwise.experiment.progress import Progress


def use_terminal(monkeypatch, columns=160):
    """Make stderr a terminal. A fixture cannot, because pytest replaces stderr after fixtures."""
    for name, value in {"TERM": "xterm", "COLUMNS": str(columns), "LINES": "40"}.items():
        monkeypatch.setenv(name, value)
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    return stderr


def best_values(result, candidate):
    """Return the best value and round of both primary metrics, read from the curves."""
    texts = []
    for metric in result.metrics[:2]:
        curves = result.curves[(result.curves["candidate"] == candidate) & (result.curves["metric"] == metric)]
        best = curves.loc[curves["value"].idxmax()]
        texts.append(f"{metric} {best['value']:.4f} @{best['round']}")
    return "  ".join(texts)


def test_one_line_per_training_without_a_terminal(make, tmp_path, capsys):
    hostile, broken = Candidate("a\x1b[31m", "lightgbm"), Candidate("b", "xgboost", {"objective": "none"})
    first = make(tmp_path, candidates=[hostile]).run()
    make(tmp_path, candidates=[hostile, broken]).run(allow_incomplete=True)
    out, error = capsys.readouterr()
    lines = error.splitlines()
    assert out == ""
    make(candidates=[Candidate("a", "lightgbm")]).run(progress=False)
    assert capsys.readouterr() == ("", "")
    assert lines[0].startswith(f"[1/1] a\ufffd[31m  {best_values(first, first.candidates[0])}  ")
    assert lines[1] == "1 of 2 are already finished"
    assert lines[2].startswith("[2/2] b  failed, ")
    assert len(lines) == 3


def strip_controls(text):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def test_a_bar_shows_rounds_and_values(make, monkeypatch):
    terminal = use_terminal(monkeypatch)
    plan = make().plan
    with Progress(plan, 4, 1, True) as progress:
        report = progress.follow(plan.list_units()[0])
        report([0.5, 0.25, 0.125])
        report([0.625, 0.75, 0.125])
    shown = strip_controls(terminal.getvalue())
    assert re.search(r"lgb gain=linear \S+ +2/12 +ndcg_linear@10 0\.6250  ndcg_exp@10 0\.7500 ", shown)
    assert re.search(r"trainings \S+ +1/4 ", shown)


def test_bars_end_with_one_line_per_training(make, monkeypatch):
    terminal = use_terminal(monkeypatch)
    result = make(candidates=[Candidate("a", "lightgbm")]).run()
    shown = strip_controls(terminal.getvalue())
    assert shown.count(f"[1/1] a  {best_values(result, 'a')}  ") == 1
    assert re.search(r"trainings \S+ +1/1 ", shown)


LONG = tuple(f"lgb num_leaves={leaves} learning_rate={rate} gain={gain}" for leaves in (7, 31) for rate in (0.05, 0.1)
             for gain in ("linear", "exponential"))  # fmt: skip


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_narrow_terminals_keep_name_bar_and_count(make, monkeypatch, columns):
    terminal = use_terminal(monkeypatch, columns)
    plan = make(candidates=[Candidate(name, "lightgbm") for name in LONG]).plan
    with Progress(plan, 8, 0, True) as progress:
        report = progress.follow(plan.list_units()[7])
        report([0.5, 0.25, 0.125])
    lines = strip_controls(terminal.getvalue()).replace("\r", "\n").splitlines()
    assert max(map(cell_len, lines)) <= columns
    for part in ("num_leaves=31", "learning_rate=0.1", "gain=exponential"):
        assert any(part in line for line in lines)  # whole
    assert any(re.search(r"num_leaves=31.*━+ +1/\d+( |$)", line) for line in lines)


@pytest.mark.parametrize("name", ["short", "x" * 60, "y" * 300])
def test_numbers_of_finished_trainings_never_wrap(make, monkeypatch, name):
    terminal = use_terminal(monkeypatch, 80)
    result = make(candidates=[Candidate(name, "lightgbm")]).run()
    lines = strip_controls(terminal.getvalue()).replace("\r", "\n").splitlines()
    assert max(map(cell_len, lines)) <= 80
    numbers = [number.rpartition(" @")[::2] for number in best_values(result, name).split("  ")]
    for (metric_and_value, at), mark in zip(numbers, "●◆", strict=True):
        metric, value = metric_and_value.split()
        assert any(f"{start} {value} @{at}" in line for line in lines for start in (metric, mark))


def test_a_notebook_shows_the_curves_of_the_latest_training_in_place(make, monkeypatch):
    monkeypatch.setattr("gainwise.experiment.progress.is_notebook", lambda: True)
    shown = []
    monkeypatch.setattr("gainwise.training.display.create_picture", shown.append)
    monkeypatch.setattr("IPython.display.HTML", lambda content: content)
    monkeypatch.setattr("IPython.display.display", lambda content, display_id: Handle())
    result = make(candidates=[Candidate("a", "lightgbm"), Candidate("b", "lightgbm")]).run(jobs=1)
    view = shown[-1]
    assert view.title == "b, training 2 of 2"
    for metric in view.shown:
        curves = result.curves[(result.curves["candidate"] == "b") & (result.curves["metric"] == metric.name)]
        assert metric.curve.values == curves["value"].tolist()
        assert metric.curve.best == curves["value"].max()


class Handle:
    def update(self, content):
        pass
