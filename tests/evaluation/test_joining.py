"""Runs and qrels brought together by numbers of their ids, with pyarrow and without, from files and from tables."""

from __future__ import annotations

import gzip
import random
import sys
import traceback
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import gainsay as gs
from gainsay.data import trec
from gainsay.evaluation import encoding, joining
from gainsay.evaluation.encoding import encode

# In UTF-16 and in most locales these sort otherwise than by code points.
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


@pytest.fixture(params=["with pyarrow", "without"])
def arrow(request, monkeypatch):
    """With pyarrow where it is installed, and as if it were not."""
    if request.param == "without":
        monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
        monkeypatch.setattr(encoding, "_by_arrow", mock.Mock(side_effect=ImportError))
    else:
        pytest.importorskip("pyarrow")


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


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("seed", range(20))
def test_ties_go_by_id_from_files_and_tables(seed, tmp_path):
    qrels, run = random_listings(seed)
    expected = by_hand(qrels, run)
    metrics = ["mrr(ties=order)", "precision(ties=order)@3"]
    forms = [
        (as_file(tmp_path / "run", run), as_file(tmp_path / "qrels.gz", qrels)),
        (as_file(tmp_path / "run.gz", run), as_frame(qrels, "label")),
        (as_frame(run, "score").sample(frac=1, random_state=seed), as_file(tmp_path / "qrels", qrels)),
        (run, qrels),
    ]
    for given, judged in forms:
        found = gs.evaluate_run(metrics, given, judged).frame()
        assert found.index.tolist() == list(expected)
        np.testing.assert_allclose(found.to_numpy(), list(expected.values()), rtol=1e-15)


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("seed", range(5))
def test_scores_that_are_equal_in_32_bits_go_by_id_too(seed):
    qrels, run = random_listings(seed)
    with np.errstate(over="ignore"):
        expected = by_hand(qrels, run, np.float32)
        found = gs.evaluate_run(
            ["mrr(ties=order,scores=float32)", "precision(ties=order,scores=float32)@3"], run, qrels
        )
    np.testing.assert_allclose(found.per_query, list(expected.values()), rtol=1e-15)


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("seed", range(10))
def test_everything_that_is_said_is_the_same_from_files_and_tables(seed, tmp_path):
    qrels, run = random_listings(seed)
    _, other = random_listings(seed + 100)
    runs = {"one": run, "other": other}
    files = {name: as_file(tmp_path / name, listing) for name, listing in runs.items()}
    judged = as_file(tmp_path / "qrels", qrels)
    for options in ({}, {"missing": "zero", "unjudged": "drop"}):
        one, two = (
            gs.evaluate_run(["map", "err(max_label=3,ties=best)", "judged@4"], *listing, **options)
            for listing in ((run, qrels), (files["one"], judged))
        )
        assert one.per_query.tobytes() == two.per_query.tobytes()
        assert one.coverage == two.coverage
        assert one.judgments.query_ids.tolist() == two.judgments.query_ids.tolist()
    one, two = (gs.compare_runs(*listing, ["map", "ndcg_linear@5"]) for listing in ((runs, qrels), (files, judged)))
    assert {name: values.tobytes() for name, values in one.values.items()} == {
        name: values.tobytes() for name, values in two.values.items()
    }
    assert (one.notes, one.leaderboard.to_dict()) == (two.notes, two.leaderboard.to_dict())


QRELS = "q1 0 a 1\nq1 0 b 0\n"
RUN = "q1 Q0 a 1 2.0 t\nq1 Q0 b 2 1.0 t\n"


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize(
    ("run", "qrels", "message"),
    [
        (RUN + "q1 Q0 a 3 0 t\n", QRELS, "run, line 3: document 'a' of query 'q1' is on line 1 already"),
        (RUN + "q9 Q0 a 3 0 t\nq9 Q0 a 3 1 t\n", QRELS, "run, line 4: document 'a' of query 'q9' is on line 3 already"),
        (
            RUN + "q1 Q0 a 3 0 t\n",
            QRELS + "q1 0 b 1\n",
            "qrels, line 3: document 'b' of query 'q1' is on line 2 already",
        ),
        ("nothing", QRELS + "q1 0 b 1\n", "qrels, line 3: document 'b' of query 'q1' is on line 2 already"),
        (RUN + "q1 Q0 c 3 -inf t\n", QRELS, "gives document 'c' of query 'q1' the score -inf; leave out documents"),
        (RUN + "q1 Q0 c 3 nan t\n", QRELS, "run, line 3: the score is 'nan'; it must be a number"),
        (RUN, QRELS + "q1 0 c inf\n", "qrels, line 3: the grade is 'inf'; it must be finite"),
        (RUN, "q2 0 a 1\n", "no query in common: the run has 'q1', the qrels have 'q2'"),
        (RUN, "\n", "the file is empty; expected lines 'topic iteration document grade'"),
    ],
)
def test_refusals(run, qrels, message, tmp_path):
    (tmp_path / "run").write_text(run)
    (tmp_path / "qrels").write_text(qrels)
    with pytest.raises(ValueError, match=message) as refused:
        gs.evaluate_run("mrr", tmp_path / "run", tmp_path / "qrels")
    assert "_arrow.py" not in "".join(traceback.format_exception(refused.value))
    if "in common" not in message:
        with pytest.raises(ValueError, match=message):
            gs.compare_runs({"one": tmp_path / "run"}, tmp_path / "qrels")


@pytest.mark.usefixtures("arrow")
def test_labels_that_are_refused_name_their_query(tmp_path):
    (tmp_path / "run").write_text(RUN)
    (tmp_path / "qrels").write_text("q1 0 a 1\nq1 0 b -2\n")
    with pytest.raises(ValueError, match=r"labels must not be negative: 1 of 2 are not, .* \(query q1\)"):
        gs.evaluate_run("mrr", tmp_path / "run", tmp_path / "qrels", negative_labels="refuse")


def test_plain_files_become_no_tables(tmp_path, monkeypatch):
    """Else nothing above would have looked at the short way."""
    pytest.importorskip("pyarrow")
    (tmp_path / "run").write_text(RUN)
    (tmp_path / "qrels").write_text(QRELS)
    monkeypatch.setattr(joining, "listing", None)
    monkeypatch.setattr(trec, "_read_lines", None)
    assert gs.evaluate_run("mrr", tmp_path / "run", tmp_path / "qrels").mean == {"mrr": 1.0}


def test_halves_of_surrogate_pairs_are_ids_to_pandas_alone():
    column = pd.Series(["\ud83d", "a", "\ud83d"], dtype=object)
    found = encode([column, pd.Series(["a"], dtype=object)])
    assert [codes.tolist() for codes in found.codes] == [[0, 1, 0], [1]]
    assert found.descending(np.array([0, 1])).tolist() == [0, 1]
