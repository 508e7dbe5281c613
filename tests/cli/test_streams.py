"""Standard input instead of a file, and closed pipes."""

import codecs
import gzip
import io
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from tests.cli.shell import json_of, output_of

from gainwise.cli.app import _replace_by_ascii, _write_error
from gainwise.cli.inputs import open_input

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "call",
    [
        "score {first.txt} qrels.txt",
        "score first.txt {qrels.txt} -q",
        "explain {two.csv} --query query --score old",
        "compare --table {two.csv}",
        "compare --qrels {qrels.txt} first.txt second.txt",
        "compare --qrels qrels.txt first.txt second={second.txt}",
        "compare --data {data.txt} old.npy",
        "compare --data data.txt worse={worse.csv}",
        "compare --data data.txt worse={columns.csv}:worse",
        "compare --data data.txt old.npy lgb={lgb.txt}",
        "compare --data data.txt old.npy --segments {kinds.csv}:kind",
        "sensitivity --table {two.csv}",
        "plan --difference 0.05 --claim pair --table {two.csv}",
    ],
)
def test_dash_reads_standard_input(files, call):
    before, name, after = call.replace("}", "{").split("{")
    with open(name, "rb") as file:
        assert json_of(f"{before}-{after}", stdin=file.read()) == json_of(f"{before}{name}{after}")


@pytest.mark.parametrize("separator", [",", "\t"])
def test_compressed_standard_input_has_the_separator_of_its_text(separator):
    for seed in range(8):
        rows = np.random.default_rng(seed).integers(0, 4, (40, 2)).tolist()
        text = "\n".join(separator.join(map(str, row)) for row in [["query", "label"], *rows])
        content = gzip.compress(text.encode(), mtime=0)
        assert json_of("bound --table -", stdin=content) == json_of("bound --table -", stdin=text.encode())


@pytest.mark.posix
@pytest.mark.parametrize(
    "call",
    ["compare --data data.txt old.npy worse={worse.csv}", "compare --table {two.csv}", "score {first.txt} qrels.txt"],
)
@pytest.mark.parametrize("suffix", ["", ".csv"])
def test_a_pipe_is_read_as_a_file(files, tmp_path, call, suffix):
    before, name, after = call.replace("}", "{").split("{")
    pipe = tmp_path / f"pipe{suffix}"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(Path(name).read_bytes()), daemon=True)
    writer.start()
    assert json_of(f"{before}{pipe}{after}") == json_of(f"{before}{name}{after}")
    writer.join()


@pytest.mark.parametrize("closed", [None, io.StringIO()])
def test_a_closed_standard_input_is_an_error_of_one_line(monkeypatch, closed):
    if closed is not None:
        closed.close()
    monkeypatch.setattr(sys, "stdin", closed)
    with pytest.raises(ValueError, match="Standard input"):
        open_input("-")


def test_a_model_from_standard_input_has_a_name(files):
    assert json_of("compare --data data.txt old.npy -", stdin=b"1\n" * len(files.data.labels))["models"][1] == "stdin"


def run_into_closed_pipe(call):
    """Run the program in a process whose standard output nothing reads, and return its exit code and errors."""
    reading, writing = os.pipe()
    os.close(reading)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    program = [sys.executable, "-P", "-m", "gainwise", *call.split()]  # -P, because the folder contains a json.py
    done = subprocess.run(program, stdout=writing, stderr=subprocess.PIPE, env=environment, check=False)
    os.close(writing)
    return done.returncode, done.stderr


@pytest.mark.posix
@pytest.mark.parametrize("call", ["compare --table two.csv", "metrics --json", "--help"])
def test_a_closed_pipe_ends_the_program_quietly(files, call):
    assert run_into_closed_pipe(call) == (-signal.SIGPIPE, b"")


@pytest.mark.posix
def test_files_are_written_before_the_output(files):
    assert run_into_closed_pipe("compare --table two.csv --html page.html --per-query q.csv") == (-signal.SIGPIPE, b"")
    assert Path("page.html").read_text().rstrip().endswith("</html>")
    assert len(Path("page.json").read_text()) > 0
    assert len(Path("q.csv").read_text().splitlines()) > 1
    gate = "gate --table two.csv --baseline old --candidate better --json gate.json"
    assert run_into_closed_pipe(gate) == (-signal.SIGPIPE, b"")
    assert "decision" in Path("gate.json").read_text()


@pytest.mark.parametrize("name", ["values.csv", "values.csv.gz"])
def test_written_values_can_be_read(tmp_path, name):
    """Spreadsheets evaluate a text that begins with = as a formula. Numbers are not changed."""
    rows = [
        f"{place % 3},{query},{place * 7 % 11},{place}.5" for place, query in enumerate(["-1", "@q", "+a", "7"] * 5)
    ]
    (tmp_path / "table.csv").write_text("\n".join(["label,query,=1+1,B", *rows]) + "\n")
    output_of("compare -m mrr --table", tmp_path / "table.csv", "--per-query", tmp_path / name)
    options = ("--label", "mrr", "--query", "query", "--score", "mrr")
    content = json_of("explain", tmp_path / name, *options)
    assert content["queries"] == 4
    from gainwise.data.tables import read_table

    table = read_table(tmp_path / name, ["query"])
    assert set(table["query"]) == {"-1", "'@q", "'+a", "7"}
    assert set(table["model"]) == {"'=1+1", "B"}


class TerminalText(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_errors_end_lines_between_words(monkeypatch, columns):
    stream, text = TerminalText(), "labels must be finite, but 1 of 3 are not. Remove unjudged documents"
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stderr", stream)
    _write_error(text)
    lines = stream.getvalue().splitlines()
    assert " ".join(lines).split() == text.split()
    assert max(map(len, lines)) <= columns


def test_signs_of_tables_and_sentences_have_ascii_replacements():
    """A question mark would hide that a column contains differences, or how an option changes."""
    codecs.register_error("gainwise.ascii", _replace_by_ascii)
    text = "\u0394 ndcg_linear@10, gain linear \u2192 exponential, 3 \u00b7 4, \u22120.002, Kek\u00e4l\u00e4inen"
    plain = text.encode("ascii", "gainwise.ascii").decode()
    assert plain == "d ndcg_linear@10, gain linear -> exponential, 3 , 4, -0.002, Kekalainen"
