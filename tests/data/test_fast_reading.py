"""Files read at once and line by line have the same numbers, ids and errors."""

import gzip
import re
import struct
from decimal import Context, Decimal
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gainwise.data import read_qrels, read_run, read_scores, tables, text, trec
from gainwise.data.text import parse_fields, read_fields

pytestmark = pytest.mark.slow

CORPUS = Path(__file__).parents[1] / "corpus"

HOSTILE = [
    # Numbers that one of two parsers may reject
    *b"1 -0 +1 1. .5 . 1e5 1e 1E-7 1e400 -1e400 1e-400 5e-324 nan NaN -nan nan(1) nan() inf -Inf INFINITY".split(),
    *b"infin infinity 1_0 0x10 0x1p3 1d5 1,5 1f --1 true NULL null NA N/A None #N/A 1e+05 00012".split(),
    *(
        b"9007199254740993",
        b"123456789012345678901234567890",
        b"0.1000000000000000055511151231257827",
        b"\xd9\xa1",
        b"1\xc2\xa0",
    ),
    # Ids that a parser may read as missing or quoted, and bytes that may not be text
    *(b"", b'"', b'"a', b'a"b', b"'", b"\\", b"a\\", b"#", b"a,b", b"caf\xc3\xa9", b"\xc2\xa0", b"\xe2\x80\xa8"),
    *(b"\xc2\x85", b"\xef\xbb\xbf", b"\xef\xbb\xbfq1", b"\xff", b"\x0b", b"\x00", b"\x7f", b"t u", b"q2", b"Q0"),
    # Blanks and ends of lines
    *(b"  ", b"\t", b" \t ", b"\r", b"\x0c", b", ", b"\r\n", b"\n\n", b" \n", b"\n ", b"\t\n", b"\n\r\n"),
]


def mutated(plain):
    """Return files with some unusual cells and separators, half of them compressed."""
    pieces = re.findall(rb"[^ ,\t\n]+|[ ,\t\n]", plain)
    edits = st.dictionaries(st.integers(0, len(pieces) - 1), st.sampled_from(HOSTILE), max_size=4)
    text = edits.map(lambda changed: b"".join(changed.get(at, piece) for at, piece in enumerate(pieces)))
    return text | text.map(gzip.compress)


def outcome(read):
    """Return the content or the error in a form that compares bit by bit."""
    try:
        result = read()
    except Exception as error:  # of any type: both ways have to agree on it
        return type(error), str(error)
    if not isinstance(result, pd.DataFrame):
        return result.dtype, result.flags.writeable, result.tobytes()
    ids = [result[name].tolist() for name in result.columns[:2]]
    return list(result.columns), [str(kind) for kind in result.dtypes], ids, result.iloc[:, 2].to_numpy().tobytes()


def both(read):
    """Return the outcomes of the fast readers and of the readers of lines."""
    at_once, slow = outcome(read), mock.Mock(return_value=None)
    with mock.patch.object(trec, "read_fields", slow), mock.patch.object(tables, "read_fields", slow):
        return at_once, outcome(read)


def check_trec(content, path):
    path.write_bytes(content)
    for read in (read_run, read_qrels):
        at_once, by_line = both(lambda read=read: read(path))
        assert at_once == by_line


def check_scores(content, folder):
    for suffix in (".csv", ".tsv", ".txt"):
        path = folder / f"scores{suffix}"
        path.write_bytes(content)
        for column in (None, "b"):
            at_once, by_line = both(lambda path=path, column=column: read_scores(path, column=column))
            assert at_once == by_line


hostile = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)


@hostile
@given(mutated(b"q1 Q0 a 1 2.5 t\nq1 Q0 b 2 -1 t\nq2 Q0 a 1 0.5 t\n") | mutated(b"q1 0 a 1\nq1 0 b 2.5\nq2 0 a 0\n"))
@example(b"q1 Q0 a 1 1 t\nq1 Q0 b 1 nan(1) t\n")
@example(b"q1  a 1 1 t\n")
@example(b"q1 Q0 a 1 1 t\n\xef\xbb\xbfq1 Q0 b 1 1 t\n")
@example(b"q1 0 a 1\nq1 0 a 2\n")
def test_runs_and_qrels(tmp_path, content):
    check_trec(content, tmp_path / "file")


@hostile
@given(
    st.one_of(*map(mutated, (b"1\n2.5\n-3\n", b"a,b,c\n1,2.5,3\nx,1,y\n", b"a\tb\tc\n1\t2\t3\n", b"a b c\n1 2 3\n")))
)
def test_score_tables(tmp_path, content):
    check_scores(content, tmp_path)


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(
            path,
            marks=pytest.mark.nightly if path.name == "gzip-bomb" else (),  # large
            id=f"{path.parent.name}/{path.name}",
        )
        for path in sorted(CORPUS.glob("*/*"))
    ],
)
def test_corpus_of_the_fuzzer(entry, tmp_path):
    """Files of all formats, because each is invalid for the others."""
    content = entry.read_bytes()
    check_trec(content, tmp_path / "file")
    check_scores(content, tmp_path)


def halfway(bits):
    """Return the decimal expansion, exact to its last digit, of the number halfway between two adjacent floats."""
    low, high = (struct.unpack("<d", struct.pack("<q", bits + step))[0] for step in (0, 1))
    exact = Context(prec=1200)
    return str(exact.divide(exact.add(Decimal(low), Decimal(high)), Decimal(2)))


def hard_decimals():
    """Return decimals that are hard to round: random bits, halfway cases, subnormals, and the largest floats."""
    rng = np.random.default_rng(0)
    drawn = np.frombuffer(rng.bytes(8 * 500), dtype=np.float64)
    texts = [text for one in drawn[np.isfinite(drawn)].tolist() for text in (repr(one), f"{one:.17e}")]
    texts += [f"{rng.integers(10**18)}{rng.integers(10**18)}e{rng.integers(-340, 300)}" for _ in range(300)]
    for bits in [*rng.integers(0, 9218868437227405311, 30).tolist(), 0, 1, 4503599627370495, 9218868437227405310]:
        middle = halfway(bits)
        texts += [middle, middle.replace("E", "1E") if "E" in middle else middle + ("1" if "." in middle else ".1")]
    return [*texts, "9007199254740993", "2.2250738585072011e-308", "1.7976931348623159e308", "-0", "0e999"]


def test_numbers_are_those_of_python_to_the_last_bit(write):
    texts = hard_decimals()
    for part in np.array_split(np.array(texts, dtype=object), 40):
        path = write("\n".join(part), "s.csv")
        (fields,) = read_fields([path.read_bytes() + b"\n"], ",", [0], 1, 1)
        expected = np.array([float(text) for text in part])
        assert parse_fields(fields).tobytes() == read_scores(path).tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "content",
    [
        b"1 Q0 a 1 2.5 t\n1 Q0 b 2 -1e-3 t\n",
        b'\xef\xbb\xbf1\tQ0\tcaf\xc3\xa9\t1\t2.5\tt\r\n\r\n  1  Q0 NA 2 inf "t\n',
        gzip.compress(b"1 Q0 a 1 2.5 two words\n1 Q0 b 2 1 two words", mtime=0),
    ],
)
def test_plain_files_are_not_read_line_by_line(write, content, monkeypatch):
    """Otherwise the tests above would compare a reader with itself."""
    path = write(content)
    expected = outcome(lambda: read_run(path))
    monkeypatch.setattr(trec, "_parse_lines", None)
    assert outcome(lambda: read_run(path)) == expected
    assert expected[0] == ["query", "document", "score"]


@pytest.mark.parametrize("content", ["score\r\n1\r\n2.5\r\n\r\n", "a,score\n1,1\n2,2.5\n\n\n"])
def test_scores_with_empty_lines_at_the_end_are_not_read_line_by_line(write, content, monkeypatch):
    path = write(content, "s.csv")
    monkeypatch.setattr(tables, "parse_number", None)
    assert read_scores(path, column="score").tolist() == [1, 2.5]


def test_files_of_several_blocks(write, monkeypatch):
    """Rows are neither lost nor repeated between two chunks of text, whose cells have different lengths."""
    monkeypatch.setattr(text.read_chunks, "__kwdefaults__", {"size": 2**14, "cells": False})
    lines = 15_000
    path = write("".join(f"{at % 700} Q0 d{at} {at} {at / 7!r} t\n" for at in range(lines)))
    at_once, by_line = both(lambda: read_run(path))
    assert at_once == by_line
    path = write("\n".join(repr(at / 7) for at in range(lines)), "s.txt")
    assert read_scores(path).tolist() == [at / 7 for at in range(lines)]


def test_a_line_longer_than_a_chunk(write):
    """One long id does not make a large array of all ids."""
    path = write("1 Q0 a 1 2 t\n1 Q0 " + "b" * 3_000_000 + " 1 2 t\n")
    at_once, by_line = both(lambda: read_run(path))
    assert at_once == by_line
    assert at_once[0] == ["query", "document", "score"]
    assert read_fields([path.read_bytes()] * 50, " ", [2], 6, 6) is None
