"""What is told while it runs."""

from __future__ import annotations

import io
import sys

from gainsay.experiment import Candidate
from gainsay.experiment.progress import progress_of


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


class TestProgress:
    def test_plain_lines_where_there_is_no_terminal(self, make, tmp_path, capsys):
        make(tmp_path, candidates=[Candidate("a\x1b[31m", "lightgbm")]).run()
        make(
            tmp_path, candidates=[Candidate("a\x1b[31m", "lightgbm"), Candidate("b", "xgboost", {"objective": "none"})]
        ).run()
        out, error = capsys.readouterr()
        lines = error.splitlines()
        assert out == ""
        assert lines[0].startswith("[1/1] a?[31m: 12 rounds, ")
        assert lines[1] == "1 of 2 are finished already"
        assert lines[2].startswith("[2/2] b: failed, ")

    def test_a_bar_on_a_terminal(self, make, monkeypatch):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        make(candidates=[Candidate("[red]a[/red]", "lightgbm")]).run()
        assert "[red]a[/red]: 12 rounds" in terminal.getvalue()
        assert "1/1" in terminal.getvalue()

    def test_plain_lines_on_a_terminal_without_rich(self, make, monkeypatch):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        for name in [name for name in sys.modules if name.partition(".")[0] == "rich"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "rich", None)
        make(candidates=[Candidate("a", "lightgbm")]).run()
        assert terminal.getvalue().startswith("[1/1] a: 12 rounds")

    def test_silence(self, make, capsys):
        make(candidates=[Candidate("a", "lightgbm")]).run(progress=False)
        assert capsys.readouterr() == ("", "")

    def test_names_that_the_console_cannot_show(self, monkeypatch):
        narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        monkeypatch.setattr(sys, "stderr", narrow)
        progress_of(True)._say("模型: 12 rounds")
        narrow.seek(0)
        assert narrow.read() == "??: 12 rounds\n"
