"""Progress while an experiment runs: bars in a terminal, otherwise one line per training."""

from __future__ import annotations

import io
import re
import sys

from gainwise.experiment import Candidate
from gainwise.experiment.execution import Progress


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def use_terminal(monkeypatch):
    """Make stderr a terminal. A fixture cannot, because pytest replaces stderr after fixtures."""
    for name, value in {"TERM": "xterm", "COLUMNS": "160", "LINES": "40"}.items():
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
