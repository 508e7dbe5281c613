"""Live lines in a terminal are rewritten in place, below all other output, and removed at the end."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from typing import NamedTuple

import pytest
from tests.training.screen import Terminal

from gainwise.training import display
from gainwise.training.display import TerminalDisplay, is_terminal

pytestmark = pytest.mark.slow


def use_terminal(monkeypatch):
    """Make stdout and stderr one terminal, which is updated in every round."""
    monkeypatch.setattr(display, "TERMINAL_INTERVAL", 0.0)
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}.items():
        monkeypatch.setenv(name, value)
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


class View(NamedTuple):
    """The lines of a training, and the line at its end."""

    lines: list[str]
    end: str = ""
    is_over: bool = False

    def create_lines(self, width):
        return [[(text, "bold")] for text in self.lines]

    def create_final_line(self):
        return self.end


def show(*lines, end=""):
    view = View(list(lines), end)
    return TerminalDisplay(lambda: view), view


def train_with_other_stop():
    import lightgbm as lgb

    from gainwise.data import simulate
    from gainwise.lightgbm import Curves, feval

    data, held_out = simulate(30, seed=1), simulate(30, seed=2)
    train = lgb.Dataset(data.features, data.labels, group=data.group)
    valid = lgb.Dataset(held_out.features, held_out.labels, group=held_out.group, reference=train)
    params = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1}
    callbacks = [curves := Curves(), lgb.early_stopping(1, verbose=False)]
    log = feval(["ndcg_linear@10", "ndcg_exp@10"])
    lgb.train(params, train, 100, valid_sets=[valid], feval=log, callbacks=callbacks)
    return curves


class TestScreen:
    def test_lines_are_rewritten_in_place(self, screen, monkeypatch):
        terminal = use_terminal(monkeypatch)
        live, view = show("", "second", end="[red]a has ended")
        for number in range(5):
            view.lines[0] = f"first {number}"
            live.update()
            assert screen().feed(terminal.getvalue()).text == f"first {number}\nsecond"
        live.end()
        assert screen().feed(terminal.getvalue()).text == "[red]a has ended"
        assert not terminal.getvalue().rpartition("\x1b[?25")[2].startswith("l")  # the cursor is visible

    def test_output_appears_above_and_hides_lines_until_the_next_update(self, screen, monkeypatch):
        terminal = use_terminal(monkeypatch)
        live, _ = show("one", "two", end="end")
        live.update()
        print("LightGBM prints")
        assert screen().feed(terminal.getvalue()).text == "LightGBM prints\none\ntwo"
        print("Traceback", file=sys.stderr)
        assert screen().feed(terminal.getvalue()).text == "LightGBM prints\nTraceback"
        live.update()
        sys.stdout.writelines(["first\n", "second\n"])
        live.update()
        assert screen().feed(terminal.getvalue()).text == "LightGBM prints\nTraceback\nfirst\nsecond\none\ntwo"
        live.end()
        print("afterwards")
        assert screen().feed(terminal.getvalue()).text.endswith("second\nend\nafterwards")

    def test_output_of_another_stream_stays_there(self, monkeypatch):
        use_terminal(monkeypatch)
        file = io.StringIO()
        monkeypatch.setattr(sys, "stdout", file)
        live, _ = show("one")
        print("to a file")
        live.end()
        assert file.getvalue() == "to a file\n"

    def test_the_latest_of_several_trainings_has_the_lines(self, screen, monkeypatch):
        terminal = use_terminal(monkeypatch)
        first, _ = show("a", end="a has ended")
        first.update()
        second, _ = show("b", end="b has ended")
        first.update()
        second.update()
        assert screen().feed(terminal.getvalue()).text == "b"
        first.end()
        second.update()
        assert screen().feed(terminal.getvalue()).text == "a has ended\nb"
        second.end()
        assert screen().feed(terminal.getvalue()).text == "a has ended\nb has ended"

    def test_lines_of_an_ended_training_stay_in_place(self, screen, monkeypatch):
        terminal = use_terminal(monkeypatch)
        views = [View(["one", "two"])]
        live = TerminalDisplay(lambda: views[0])
        live.update()
        terminal.write("\n>>> typed by the user\n")  # not by Python
        views[0] = views[0]._replace(end="the end", is_over=True)
        print("an answer")
        live.end()
        assert screen().feed(terminal.getvalue()).text == "one\ntwo\n>>> typed by the user\nan answer\nthe end"
        assert sys.stdout is terminal

    @pytest.mark.parametrize("last", [print, lambda curves: None], ids=["print", "forget"])
    def test_lines_stay_if_another_callback_has_ended_the_training(self, last, screen, monkeypatch):
        terminal = use_terminal(monkeypatch)
        curves = train_with_other_stop()
        terminal.write("\n>>> typed by the user\n")
        last(curves)
        del curves
        lines = screen().feed(terminal.getvalue()).text.split("\n")
        typed = lines.index(">>> typed by the user")
        assert lines[typed - 3].startswith("valid_0   round")
        assert lines[typed + 1].startswith("valid_0: ndcg_linear@10 is best at round")
        assert sys.stdout is terminal

    def test_a_closed_terminal_does_not_end_the_training(self, monkeypatch):
        terminal = use_terminal(monkeypatch)
        live, _ = show("line", end="end")
        terminal.close()
        live.update()
        live.end()


class TestTerminals:
    def test_is_terminal(self, monkeypatch):
        monkeypatch.setenv("TERM", "xterm")
        closed = io.TextIOWrapper(io.BytesIO())
        closed.close()
        assert not any(map(is_terminal, (io.StringIO(), None, closed)))
        assert is_terminal(Terminal())
        monkeypatch.setenv("TERM", "dumb")
        assert not is_terminal(Terminal())

    @pytest.mark.parametrize("no_color", ["", "1"])
    def test_color(self, monkeypatch, no_color):
        terminal = use_terminal(monkeypatch)
        monkeypatch.setenv("NO_COLOR", no_color)
        monkeypatch.setattr(View, "create_lines", lambda view, width: [[("●", "first")]])
        live, _ = show()
        live.update()
        live.end()
        assert ("38;5;" in terminal.getvalue()) is not bool(no_color)


SCRIPT = """
import lightgbm as lgb
from gainwise.data import simulate
from gainwise.training import display
from gainwise.lightgbm import Curves, early_stopping, feval
display.TERMINAL_INTERVAL = 0.0
train, valid = simulate(60, seed=1, mean_length=20).split_queries(0.5, 0.5, seed=1)
train_set = lgb.Dataset(train.features, train.labels, group=train.group)
valid_set = lgb.Dataset(valid.features, valid.labels, group=valid.group, reference=train_set)
params = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1}
curves = Curves(name="31 leaves, rate 0.1, min data 100, linear gain")
stop = early_stopping("ndcg_exp@10", 10)
lgb.train(params, train_set, 30, valid_sets=[valid_set], feval=feval(["ndcg_linear@10", "ndcg_exp@10"]),
          callbacks=[curves, stop, lgb.log_evaluation(10)])
print("and then", curves.rounds)
"""


@pytest.mark.posix
class TestRealTerminal:
    def run(self):
        """Run the script in a terminal of 80 columns, and return all that it wrote."""
        import fcntl
        import pty
        import struct
        import termios

        environment = {**os.environ, "TERM": "xterm", "OMP_NUM_THREADS": "1", "LC_ALL": "C.UTF-8"}
        command = [sys.executable, "-W", "ignore", "-c", SCRIPT]
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        written = b""
        with contextlib.suppress(OSError):  # Linux raises this error if the other end is closed.
            while part := os.read(ours, 65536):
                written += part
        os.close(ours)
        assert process.wait(60) == 0, written.decode()
        return written.decode()

    def test_lines_become_one_and_messages_appear_above(self, screen):
        written = self.run().replace("\r\n", "\n")
        frames = [part for part in written.split("\r\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K") if "▁" in part]
        assert len(frames) > 10
        frame = screen().feed(frames[8]).text.splitlines()
        assert len(frame[0]) <= 79
        assert "◆ stops in" in frame[0]
        assert frame[1].startswith(" ● linear 0.")
        assert frame[2].startswith(" ◆ exp    0.")
        shown = screen().feed(written).text.splitlines()
        assert shown[0].startswith("Training until ndcg_exp@10 does not improve")
        assert shown[-1].startswith("and then ")
        end = " ".join(shown[-5:])
        assert end.count("ndcg_exp@10 at round") == 1
        assert "kept round" in end
        assert not [line for line in shown if line.startswith(" ◆")]
        assert any(line.startswith("[10]") and line.endswith(tuple("0123456789")) for line in shown)


def test_rich_is_imported_only_for_a_terminal():
    """Checked without LightGBM and XGBoost, which may import rich."""
    code = "import sys, gainwise.training.curves, gainwise.training.display; print('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
