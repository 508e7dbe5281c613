"""Progress while an experiment runs: on a terminal, in a notebook, and as plain lines."""

from __future__ import annotations

import io
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from gainsay.experiment import Candidate
from gainsay.experiment.progress import create_progress
from gainsay.training import display


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def use_terminal(monkeypatch):
    """Make stderr a terminal on which every round is drawn."""
    monkeypatch.setattr(display, "TERMINAL_INTERVAL", 0.0)
    for name, value in {"TERM": "xterm", "COLUMNS": "80", "LINES": "24"}.items():
        monkeypatch.setenv(name, value)
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    return stderr


def marks(result, candidate):
    """Return the marks in the last line of a training, read from its curves."""
    curves = result.curves[result.curves["candidate"] == candidate]
    texts = []
    for mark, metric in zip("●◆", result.metrics, strict=False):
        line = curves[curves["metric"] == metric]
        best = line.loc[line["value"].idxmax()]
        texts.append(f"{mark} {metric} {best['value']:.4f} @{best['round']}")
    return "  ".join(texts)


def test_one_line_per_training_without_a_terminal(make, tmp_path, capsys):
    first = make(tmp_path, candidates=[Candidate("a\x1b[31m", "lightgbm")]).run()
    make(
        tmp_path, candidates=[Candidate("a\x1b[31m", "lightgbm"), Candidate("b", "xgboost", {"objective": "none"})]
    ).run()
    out, error = capsys.readouterr()
    lines = error.splitlines()
    assert out == ""
    make(candidates=[Candidate("a", "lightgbm")]).run(progress=False)
    assert capsys.readouterr() == ("", "")
    assert lines[0].startswith(f"[1/1] a\ufffd[31m  {marks(first, first.candidates[0])}  ")
    assert lines[1].startswith("1 of 2 ")
    assert lines[2].startswith("[2/2] b: failed, ")
    assert len(lines) == 3


def test_curves_on_a_terminal(make, monkeypatch, screen):
    tty = use_terminal(monkeypatch)
    result = make(candidates=[Candidate("[red]a[/red]", "lightgbm")]).run()
    frames = tty.getvalue().split("\r\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K")
    inside = screen().feed(frames[8]).text.splitlines()
    assert re.fullmatch(r"\[1/1\] \[red\]a\[/red\]   round \d+/12  \d+ s", inside[0])
    assert inside[1].startswith(" ● linear 0.")
    assert inside[2].startswith(" ◆ exp    0.")
    (line,) = screen().feed(tty.getvalue()).text.splitlines()
    assert line.startswith(f"[1/1] [red]a[/red]  {marks(result, '[red]a[/red]')}  ")
    assert sys.stderr is tty


def test_several_trainings_at_a_time(make, monkeypatch, screen):
    tty = use_terminal(monkeypatch)
    candidates = [Candidate(f"model {at}", "lightgbm", {"num_leaves": 3 + at}) for at in range(5)]
    with ThreadPoolExecutor(5) as executor:
        result = make(candidates=candidates).run(executor)
    lines = sorted(screen().feed(tty.getvalue()).text.splitlines())
    assert len(lines) == 5
    for number, line in enumerate(lines, start=1):
        assert line.startswith(f"[{number}/5] model ")
        assert marks(result, re.search(r"model \d", line)[0]) in line


def test_counts_without_rounds_for_other_processes(monkeypatch):
    tty, progress = use_terminal(monkeypatch), create_progress(True)
    progress.start(None, 3, 1)
    progress.stop()
    assert tty.getvalue().count("1 of 3 ") == 2


def test_a_round_is_drawn_completely_or_not_at_all(make, monkeypatch):
    """Threads draw each other's curves: while one adds a round to a curve, another waits."""
    use_terminal(monkeypatch)
    plan, progress = make().plan, create_progress(True)
    progress.start(plan, 1, 0)
    tell = progress.follow(plan.list_first_units()[0])
    tell([0.5, 0.5, 0.5])
    drawn, threads = [], []

    class Slow(list):
        def append(self, value):
            threads.append(threading.Thread(target=lambda: drawn.append(progress._create_lines(80))))
            threads[-1].start()
            threads[-1].join(0.2)
            super().append(value)

    (running,) = progress._running.values()
    line = running.lines["ndcg_exp@10"]
    line.values = Slow(line.values)
    tell([0.6, 0.6, 0.6])
    threads[0].join()
    progress.stop()
    ((_, *lines),) = drawn
    assert all("0.6000  best 0.6000 at 2" in "".join(text for text, _ in line) for line in lines)


def test_names_and_marks_that_the_console_cannot_show(make, monkeypatch):
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stderr", narrow)
    make(candidates=[Candidate("模型", "lightgbm")]).run()
    narrow.seek(0)
    assert re.match(r"\[1/1\] \?\?  o ndcg_linear@10 0\.\d{4} @\d+  x ndcg_exp@10 0\.\d{4} @\d+  \d", narrow.read())


NOTEBOOK = """
import warnings
warnings.simplefilter("ignore")
from gainsay.data import simulate
from gainsay.experiment import Candidate, Experiment
train, valid, test = simulate(30, seed=1, mean_length=8).split_queries(0.5, 0.25, 0.25, seed=1)
candidates = [Candidate(f"model <{number}>", "lightgbm", {"num_leaves": number + 3}) for number in range(3)]
candidates.append(Candidate("broken", "xgboost", {"objective": "none"}))
result = Experiment(candidates, train, valid, test, num_boost_round=3).run(jobs=2)
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the client itself
def test_one_output_in_a_notebook():
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(NOTEBOOK)])
    nbclient.NotebookClient(notebook, timeout=900, startup_timeout=900, kernel_name="python3").execute()
    (output,) = notebook["cells"][0]["outputs"]
    page = output["data"]["text/html"]
    assert "4 of 4" in page
    assert all(f"model &lt;{number}&gt;</td><td><span" in page for number in range(3))
    assert "broken: failed, " in page
    assert "<svg" not in page  # Nothing is running any more.
    assert " style=" not in page
