"""The fast parsers compared with plain Python: both return the same bits, or reject the file."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gainwise.data import letor
from gainwise.data.letor import TableBuilder, pad, parse_decimals
from gainwise.data.text import Chunk

HARD = [
    *("2.2250738585072012e-308", "2.2250738585072011e-308", "4.9e-324", "2.4703282292062328e-324"),
    *("1.7976931348623157e308", "9007199254740993", "9007199254740993.0000000000000000000000000000001", "1e22", "1e23"),
    *("1.00000000000000011102230246251565404236316680908203125", "7.2057594037927933e16", "8.5e22", "-0.0", "-0"),
    *("1.00000000000000011102230246251565404236316680908203124", ".5", "5.", "+1E+05", "0e999", "1e-400"),
    *("1.00000000000000011102230246251565404236316680908203126", "123456789012345678901234567890", "0" * 60 + "1"),
    *("0.1000000000000000055511151231257827", "929.8995855525721", "647.90432161025988"),
]
"""Decimals that a parser reads wrong if it rounds twice, or if it reads the first digits only."""


def too_large(value):
    with np.errstate(over="ignore"):
        return bool(np.isinf(np.float32(value)))


def svmlight_reference(text, queries):
    """Return labels, query ids and cells of a file, read by plain Python, or None if it is invalid."""
    labels, ids, cells = [], [], {}
    for line in text.split("\n"):
        tokens = line.split("#")[0].split()
        if not tokens:
            continue
        if any("_" in token for token in (tokens[0], *tokens[1 + queries :])):
            return None
        try:
            label = float(tokens[0])
            pairs = [(int(token.split(":")[0]), float(token.split(":", 1)[1])) for token in tokens[1 + queries :]]
        except (ValueError, IndexError):
            return None
        if queries and (len(tokens) < 2 or tokens[1].count(":") != 1 or tokens[1].split(":")[0] != "qid"):
            return None
        if queries and tokens[1] == "qid:":
            return None
        indices = [index for index, _ in pairs]
        signed = any(token[0] in "+-" for token in tokens[1 + queries :])
        if signed or indices != sorted(set(indices)) or (indices and not 1 <= indices[0] <= indices[-1] <= 50):
            return None
        if not math.isfinite(label) or any(too_large(value) for _, value in pairs):
            return None
        cells |= {(len(labels), index - 1): np.float32(value) for index, value in pairs}
        labels.append(label)
        ids += [tokens[1][4:]] if queries else []
    return labels, ids, cells


def parsed(parse, text, builder):
    """Return the result of a parser in the form of the reference, or None if it rejects the text."""
    try:
        rows = parse(Chunk(text.encode(), 1), builder)
    except ValueError:
        return None
    if rows is None:
        return None
    names, sizes = rows.queries
    ids = [name for name, size in zip(names, sizes, strict=True) for _ in range(size)]
    return rows.labels.tolist(), ids, rows.features


def agrees(found, expected):
    if found is None or expected is None:
        return found is None and expected is None
    labels, ids, features = found
    table = np.zeros_like(features)
    for place, value in expected[2].items():
        table[place] = value
    return (labels, ids) == expected[:2] and table.tobytes() == features.tobytes()


number = st.one_of(
    st.floats(allow_nan=False, width=32).map(repr),
    st.decimals(-1000, 1000, places=4).map(str),
    st.integers(-10, 10**17).map(str),
    st.sampled_from(["0", "-0", "nan", "1e5", ".5", "5.", "+1", "1E-3", "00012.50"]),
)
pair = st.tuples(st.integers(1, 45), number)
row = st.tuples(st.sampled_from("01234"), st.sampled_from(["1", "2", "q3"]), st.lists(pair, unique_by=lambda p: p[0]))


def as_text(rows, queries):
    lines = []
    for label, query, pairs in rows:
        cells = " ".join(f"{index}:{value}" for index, value in sorted(pairs))
        lines.append(f"{label} {f'qid:{query} ' if queries else ''}{cells}".rstrip())
    return "\n".join(lines) + "\n"


# Replacements of one position by characters of the grammar
edit = st.tuples(st.integers(0, 10**6), st.integers(0, 2), st.text(" \t\r\n:.-+e_#0159qxnaNif,", max_size=3))


def mutated(text, edits):
    for place, removed, inserted in edits:
        place %= len(text) or 1
        text = text[:place] + inserted + text[place + removed :]
    return text.rstrip("\n") + "\n"


@settings(max_examples=80, deadline=None)
@given(st.lists(row, min_size=1, max_size=5), st.booleans(), st.lists(edit, max_size=3))
def test_svmlight_agrees_with_a_plain_reader(rows, queries, edits):
    text = mutated(as_text(rows, queries), edits)
    expected = svmlight_reference(text, queries)
    slow = parsed(partial(letor._parse_lines, "file"), text, TableBuilder(queries=queries, features=50))
    assert agrees(slow, expected)
    fast = parsed(letor._parse_chunk, text, TableBuilder(queries=queries, features=50))
    if fast is not None or not edits:  # The fast parser may leave edited texts to the slow one, but not regular texts.
        assert agrees(fast, expected)


def exact(values):
    return np.array([float(value) for value in values])


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.floats(allow_nan=False, allow_infinity=False).flatmap(
            lambda value: st.sampled_from([repr(value), f"{value:.17e}", f"{value:.25e}", f"{value:.14g}"])
        )
        | st.from_regex(r"[+-]?[0-9]{1,25}\.[0-9]{0,25}([eE][+-]?[0-9]{1,2})?", fullmatch=True),
        min_size=1,
    )
)
def test_numbers_are_bit_for_bit_what_float_reads(values):
    assert parse_decimals(*spans(values)).tobytes() == exact(values).tobytes()


def spans(tokens):
    buffer = pad(" ".join(tokens).encode())
    lengths = np.array([len(token.encode()) for token in tokens], dtype=np.int64)
    ends = np.cumsum(lengths + 1) - 1 + 64
    return buffer, ends - lengths, ends


@pytest.mark.parametrize("token", HARD)
def test_hard_decimals(token):
    assert parse_decimals(*spans([token]))[0].hex() == float(token).hex()
