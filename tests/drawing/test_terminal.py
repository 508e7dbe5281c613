"""What a person sees in a terminal: lines in place, everything else above them, nothing left behind."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys

import pytest

from gainsay.drawing import terminal
from gainsay.drawing.terminal import Board, columns, is_terminal, knows_blocks, may_colour


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def made(monkeypatch):
    """Make stdout and stderr one terminal, on which every news is drawn."""
    monkeypatch.setattr(terminal, "OFTEN", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    found = Terminal()
    monkeypatch.setattr(sys, "stdout", found)
    monkeypatch.setattr(sys, "stderr", found)
    return found


def seen(tty, screen):
    return screen().feed(tty.getvalue()).text


class TestBoard:
    def test_lines_are_rewritten_in_place(self, monkeypatch, screen):
        tty = made(monkeypatch)
        board, state = Board(tty), {"n": 0}
        board.put("a", lambda width: [f"first {state['n']}", "second"])
        for number in range(5):
            state["n"] = number
            board.touch("a")
            assert seen(tty, screen) == f"first {number}\nsecond"
        board.drop("a", "a has ended")
        assert seen(tty, screen) == "a has ended"

    def test_what_is_printed_stands_above(self, monkeypatch, screen):
        tty = made(monkeypatch)
        board = Board(tty)
        board.put("a", lambda width: ["one", "two"])
        board.touch("a")
        print("LightGBM says something")
        assert seen(tty, screen) == "LightGBM says something\none\ntwo"
        print("to stderr", file=sys.stderr)
        assert seen(tty, screen) == "LightGBM says something\nto stderr"
        board.touch("a")
        assert seen(tty, screen) == "LightGBM says something\nto stderr\none\ntwo"
        print("half a line", end="", flush=True)
        board.touch("a")
        board.drop("a", "end")
        print("afterwards")
        assert seen(tty, screen) == "LightGBM says something\nto stderr\nhalf a line\nend\nafterwards"

    def test_lines_that_are_written_at_once_stand_above_too(self, monkeypatch, screen):
        tty = made(monkeypatch)
        board = Board(tty)
        board.put("a", lambda width: ["one", "two"])
        board.touch("a")
        sys.stdout.writelines(["first\n", "second\n"])
        board.touch("a")
        assert seen(tty, screen) == "first\nsecond\none\ntwo"

    def test_streams_are_given_back(self, monkeypatch):
        tty = made(monkeypatch)
        board = Board(tty)
        board.put("a", lambda width: ["one"])
        assert sys.stdout is not tty
        assert sys.stdout.isatty()
        board.drop("a")
        assert sys.stdout is tty
        assert sys.stderr is tty

    def test_a_block_that_nobody_touches_any_more_goes_when_something_is_printed(self, monkeypatch, screen):
        tty = made(monkeypatch)
        board = Board(tty)
        board.put("dead", lambda width: ["of an aborted training"])
        board.touch("dead")
        print("Traceback", file=sys.stderr)
        board.put("next", lambda width: ["of the next one"])
        board.touch("next")
        assert seen(tty, screen) == "Traceback\nof the next one"

    def test_what_has_ended_without_a_word_is_left_where_it_is(self, monkeypatch, screen):
        tty = made(monkeypatch)
        board, over = Board(tty), []
        board.put("a", lambda width: ["one", "two"], over=lambda: bool(over))
        board.touch("a")
        tty.write(">>> typed by the user\n")  # which Python does not see
        over.append(True)
        print("an answer")
        assert seen(tty, screen) == "one\ntwo\n>>> typed by the user\nan answer"
        assert sys.stdout is tty

    def test_no_more_often_than_four_times_a_second(self, monkeypatch):
        tty = made(monkeypatch)
        monkeypatch.setattr(terminal, "OFTEN", 0.25)
        now = [100.0]
        monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
        board, drawn = Board(tty), []
        board.put("a", lambda width: drawn.append(now[0]) or ["line"])
        for step in range(1001):
            now[0] = 100 + step / 500  # two seconds
            board.touch("a")
        assert len(drawn) == 9

    def test_no_higher_than_the_terminal(self, screen, monkeypatch):
        tty = made(monkeypatch)
        monkeypatch.setenv("LINES", "5")
        monkeypatch.setenv("COLUMNS", "80")
        board = Board(tty)
        board.put("a", lambda width: [f"line {number}" for number in range(20)])
        for _ in range(3):
            board.touch("a")
        assert seen(tty, screen) == "line 0\nline 1\nline 2\nline 3"

    def test_a_terminal_that_has_gone_ends_no_training(self, monkeypatch):
        tty = made(monkeypatch)
        board = Board(tty)
        board.put("a", lambda width: ["line"])
        tty.close()
        board.touch("a")
        board.drop("a", "end")


class TestWhatATerminalCan:
    def test_no_terminal(self, monkeypatch):
        monkeypatch.setenv("TERM", "xterm")
        assert not is_terminal(io.StringIO())
        assert not is_terminal(None)
        closed = io.TextIOWrapper(io.BytesIO())
        closed.close()
        assert not is_terminal(closed)
        assert is_terminal(Terminal())
        monkeypatch.setenv("TERM", "dumb")
        assert not is_terminal(Terminal())

    def test_colour(self, monkeypatch):
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.delenv("NO_COLOR", raising=False)
        assert may_colour(Terminal())
        assert not may_colour(io.StringIO())
        monkeypatch.setenv("NO_COLOR", "1")
        assert not may_colour(Terminal())

    @pytest.mark.parametrize(("encoding", "expected"), [("utf-8", True), ("latin-1", False), ("ascii", False)])
    def test_blocks(self, encoding, expected):
        assert knows_blocks(io.TextIOWrapper(io.BytesIO(), encoding=encoding)) is expected
        assert not knows_blocks(None)

    def test_columns_of_names(self):
        assert columns("e\u0301") == 1
        assert columns("ｗ") == 2


SCRIPT = """
import sys
import lightgbm as lgb
from gainsay.data import simulate
from gainsay.drawing import terminal
from gainsay.lightgbm import Curves, early_stopping, feval
terminal.OFTEN = 0.0
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
@pytest.mark.slow
class TestRealTerminal:
    def run(self, **environment):
        """Run the script in a terminal of 80 columns and return all that it wrote."""
        import fcntl
        import pty
        import struct
        import termios

        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = {**os.environ, "TERM": "xterm", "OMP_NUM_THREADS": "1", "LC_ALL": "C.UTF-8", **environment}
        command = [sys.executable, "-W", "ignore", "-c", SCRIPT]
        process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        written = b""
        with contextlib.suppress(OSError):  # Linux says so when the other end is closed
            while part := os.read(ours, 65536):
                written += part
        os.close(ours)
        assert process.wait(60) == 0, written.decode()
        return written.decode()

    def test_lines_become_one_and_messages_stand_above(self, screen):
        written = self.run()
        drawn = written.split("\x1b[3A")
        assert len(drawn) > 10
        frame = screen().feed(drawn[8].replace("\r\n", "\n").replace("\x1b[J", "")).text.splitlines()
        assert len(frame[0]) <= 79
        assert frame[1].startswith(" ● linear 0.")
        assert frame[2].startswith(" ◆ exp    0.")
        assert "▁" in frame[2]
        assert "◆ stops in" in frame[0]
        lines = screen().feed(written).text.splitlines()
        assert lines[0].startswith("Training until ndcg_exp@10 does not improve")
        assert lines[-1].startswith("and then ")
        ends = [line for line in lines if "●" in line]
        assert len(ends) == 1
        assert "◆" in ends[0]
        assert len(ends[0]) <= 79
        assert not [line for line in lines if line.startswith(" ◆")]
        assert any(line.startswith("[10]") and line.endswith(tuple("0123456789")) for line in lines)
