"""Runs and qrels from files and tables are matched by integer codes, read at once and line by line."""

from __future__ import annotations

import gzip
import random
from functools import partial
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from tests.bad_inputs import BadInput, bad_inputs

import gainwise as gw
from gainwise.data import trec
from gainwise.evaluation import trec_runs

# UTF-16 and most locales sort these ids differently than code points.
IDS = [*(f"d{at}" for at in range(12)), "D", "z", "é", "ÿ", "\uffee", "\U0001f600", "NA", "nan"]
SCORES = [0.0, -0.0, 1.5, 1.5 + 1e-9, 2.0, 1e300, 2e300, float("inf")]


def random_listings(seed):
    rng = random.Random(seed)

    def some(values):
        queries = rng.sample([f"q{at}" for at in range(6)], rng.randint(3, 6))
        return {
            query: {name: rng.choice(values) for name in rng.sample(IDS, rng.randint(1, len(IDS)))} for query in queries
        }

    return some([-1, 0, 0, 1, 2, 3]), some(SCORES)


def as_file(path, listing):
    run = isinstance(next(iter(next(iter(listing.values())).values())), float)
    lines = [
        f"{query} Q0 {document} 0 {number!r} tag\n" if run else f"{query} 0 {document} {number}\n"
        for query, documents in listing.items()
        for document, number in documents.items()
    ]
    text = "".join(lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def as_frame(listing, column):
    rows = [(query, document, number) for query, found in listing.items() for document, number in found.items()]
    return pd.DataFrame(rows, columns=["query", "document", column])


@pytest.fixture(params=["at once", "line by line"])
def reader(request, monkeypatch):
    """Run a test with the fast reader and with the reader of lines."""
    if request.param == "line by line":
        monkeypatch.setattr(trec, "read_fields", mock.Mock(return_value=None))


def by_hand(qrels, run, scores=float):
    """Reciprocal rank and precision at 3 of documents by score and then by id, both descending, in plain Python."""
    found = {}
    for query in qrels:
        if query in run:
            ranked = sorted(run[query], key=lambda name: (scores(run[query][name]), name), reverse=True)
            relevant = [qrels[query].get(name, 0) > 0 for name in ranked]
            first = next((1 / rank for rank, one in enumerate(relevant, 1) if one), 0.0)
            found[query] = [first, sum(relevant[:3]) / 3]
    return found


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("seed", range(4))
def test_ties_are_broken_by_id(seed, tmp_path):
    qrels, run = random_listings(seed)
    forms = [
        (as_file(tmp_path / "run", run), as_file(tmp_path / "qrels.gz", qrels)),
        (as_file(tmp_path / "run.gz", run), as_frame(qrels, "label")),
        (as_frame(run, "score").sample(frac=1, random_state=seed), as_file(tmp_path / "qrels", qrels)),
        (run, qrels),
    ]
    for form in forms:
        for scores, option in ((float, ""), (np.float32, ",scores=float32")):
            with np.errstate(over="ignore"):
                expected = by_hand(qrels, run, scores)
                frame = gw.evaluate_run([f"mrr(ties=order{option})", f"precision(ties=order{option})@3"], *form).frame()
            assert frame.index.tolist() == list(expected)
            np.testing.assert_allclose(frame.to_numpy(), list(expected.values()), rtol=1e-15)


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("seed", range(2))
def test_results_are_the_same_from_files_and_tables(seed, tmp_path):
    qrels, run = random_listings(seed)
    _, other = random_listings(seed + 100)
    runs = {"one": run, "other": other}
    files = {name: as_file(tmp_path / name, listing) for name, listing in runs.items()}
    judged = as_file(tmp_path / "qrels", qrels)
    for options in ({}, {"missing": "zero", "unjudged": "drop"}):
        one, two = (
            gw.evaluate_run(["map", "err(max_label=3,ties=best)", "judged@4"], *listing, **options)
            for listing in ((run, qrels), (files["one"], judged))
        )
        assert one.per_query.tobytes() == two.per_query.tobytes()
        assert one.coverage == two.coverage
        assert one.judgments.query_ids.tolist() == two.judgments.query_ids.tolist()
    one, two = (gw.compare_runs(*listing, ["map", "ndcg_linear@5"]) for listing in ((runs, qrels), (files, judged)))
    for name, values in one.values.items():
        assert values.tobytes() == two.values[name].tobytes()
    assert (one.notes, one.leaderboard.to_dict()) == (two.notes, two.leaderboard.to_dict())


QRELS = "q1 0 a 1\nq1 0 b 0\n"
RUN = "q1 Q0 a 1 2.0 t\nq1 Q0 b 2 1.0 t\n"


def listings(words, place, run=RUN, qrels=QRELS, **options):
    """Use a run and qrels, both of them files."""

    def call(folder, use):
        (folder / "run").write_text(run)
        (folder / "qrels").write_text(qrels)
        return use(folder / "run", folder / "qrels", **options)

    return BadInput(f"{place} {words}", call, place, ValueError, words)


@pytest.mark.usefixtures("reader")
@bad_inputs(
    [
        listings("line 1", "run, line 3: document 'a' of query 'q1'", RUN + "q1 Q0 a 3 0 t\n"),
        listings("line 3", "run, line 4: document 'a' of query 'q9'", RUN + "q9 Q0 a 3 0 t\nq9 Q0 a 3 1 t\n"),
        listings("line 2", "qrels, line 3: document 'b' of", RUN + "q1 Q0 a 3 0 t\n", QRELS + "q1 0 b 1\n"),
        listings("-inf", "document 'c' of query 'q1'", RUN + "q1 Q0 c 3 -inf t\n"),
        listings("'nan'", "run, line 3: ", RUN + "q1 Q0 c 3 nan t\n"),
        listings("'inf'", "qrels, line 3: ", qrels=QRELS + "q1 0 c inf\n"),
        listings("empty", "qrels: ", qrels="\n"),
    ]
)
def test_bad_files(case, tmp_path):
    case.check(tmp_path, partial(gw.evaluate_run, "mrr"))
    case.check(tmp_path, lambda run, qrels, **options: gw.compare_runs({"one": run}, qrels, **options))


def test_plain_files_become_no_tables(tmp_path, monkeypatch):
    """Otherwise the tests above would not cover the fast path."""
    (tmp_path / "run").write_text(RUN)
    (tmp_path / "qrels").write_text(QRELS)
    monkeypatch.setattr(trec_runs, "_read", None)
    monkeypatch.setattr(trec, "_parse_lines", None)
    assert gw.evaluate_run("mrr", tmp_path / "run", tmp_path / "qrels").mean == {"mrr": 1.0}
