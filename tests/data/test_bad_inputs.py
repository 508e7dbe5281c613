"""Invalid files, arrays, tables, and arguments: one row per check. Messages name the file and the line, or the row."""

import gzip
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.bad_inputs import BadInput, bad_inputs

import gainwise as gw
from gainwise.data import from_frame, read_letor, read_lightgbm, read_qrels, read_run, read_scores, write_run

pytest.importorskip("pyarrow")

NAN, INF = np.nan, np.inf
HUGE = 2**53 + 1
GOOD = "1 qid:1 1:0.5 2:1\n"
ZIPPED = gzip.compress(np.random.default_rng(0).bytes(9999).hex().encode())
SVMLIGHT = "2 1:0.5 3:1\n0 2:0.25\n1 1:3\n"


def bad_file(read, name, content, place, words, **options):
    """Read a file. The message must contain its name, followed by `place`."""
    content = content.encode() if isinstance(content, str) else content

    def call(folder):
        (folder / name).write_bytes(content)
        read(folder / name, **options)

    return BadInput(f"{read.__name__} {words}", call, f"{name}{place}", ValueError, words)


def letor(line, words):
    """Read a LETOR file whose fourth line is wrong."""
    line = line.encode() if isinstance(line, str) else line
    good = GOOD.encode()
    return bad_file(read_letor, "data.txt", good * 3 + line + b"\n" + good, ", line 4: ", words, features=3)


def letor_files(argument, words, *texts, **options):
    """Read several LETOR files, `0.txt`, `1.txt`, …"""

    def call(folder):
        paths = [folder / f"{number}.txt" for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text)
        read_letor(paths, **options)

    return BadInput(f"files {words}", call, argument, ValueError, words)


def lightgbm(argument, words, *, data=SVMLIGHT, query="2\n1\n", weight=None, error=ValueError, **options):
    """Read a data file, `rank`, with its query file and its weight file."""

    def call(folder):
        for suffix, text in (("", data), (".query", query), (".weight", weight)):
            if text is not None:
                (folder / f"rank{suffix}").write_bytes(text.encode())
        read_lightgbm(folder / "rank", **options)

    return BadInput(f"lightgbm {argument} {words}", call, argument, error, words)


def run(line, words):
    return bad_file(read_run, "run.txt", f"1 Q0 a 1 2 t\n\n{line}\n", ", line 3: ", words)


def qrels(line, words):
    return bad_file(read_qrels, "qrels.txt", f"1 0 a 2\n{line}\n", ", line 2: ", words)


def table(text, place, words, read=read_qrels):
    return bad_file(read, "judged.csv", text, place, words)


def scores(name, content, place, words, column=None, **options):
    return bad_file(read_scores, name, content, place, words, column=column, **options)


def array(values, words, column=None, save=np.save, name="s.npy", **options):
    """Read a file of one NumPy array."""

    def call(folder):
        save(folder / name, values)
        read_scores(folder / name, column=column, **options)

    return BadInput(f"array {words}", call, f"{name}: ", ValueError, words)


def parquet(words, column=None, **columns):
    def call(folder):
        pd.DataFrame(columns).to_parquet(folder / "s.parquet")
        read_scores(folder / "s.parquet", column=column)

    return BadInput(f"parquet {words}", call, "s.parquet: ", ValueError, words)


def written(run, argument, words, error=ValueError, **options):
    def call(folder):
        try:
            write_run(run, folder / "run.txt", **options)
        finally:
            assert not (folder / "run.txt").exists()

    return BadInput(f"write_run {argument} {words}", call, argument, error, words)


FIELDS = {
    "features": np.arange(12.0).reshape(6, 2),
    "labels": np.arange(6) % 3,
    "qid": [0, 0, 1, 2, 2, 2],
    "query_ids": ["q0", "q1", "q2"],
}


def ranking(argument, words, error=ValueError, **changes):
    """Make RankingData of three queries with some arguments replaced, or omitted if None."""
    fields = {name: value for name, value in (FIELDS | changes).items() if value is not None}
    return BadInput(f"RankingData {argument} {words}", lambda _: gw.RankingData(**fields), argument, error, words)


def method(argument, words, call, error=ValueError, **changes):
    """Call a method of gw.RankingData."""
    return BadInput(f"{argument} {words}", lambda _: call(gw.RankingData(**FIELDS | changes)), argument, error, words)


FRAME = pd.DataFrame(
    {"query": [7, 3, 7], "grade": [2, 0, 1], "bm25": [0.5, 1.5, NAN], "clicks": [3, 0, 1], "url": ["x", "y", "z"]},
    index=[10, 11, 12],
)
CODES = np.array([[0.5, 1], [0.1, 0], [0.2, NAN], [0.3, 1], [0.3, 1], [0.3, 1]])
NAMED = {"features": CODES, "feature_names": ["bm25", "shop"]}
SHOPS = NAMED | {"categories": {"shop": ["x", "y"]}}
TIMES, USERS = {"time": [1, 2, 3]}, {"u": ["a", "b", "b"]}
PLAIN, PART = gw.RankingData(**FIELDS), gw.RankingData(**FIELDS | SHOPS)


def frame(argument, words, changes=None, error=ValueError, **arguments):
    """Read a DataFrame with some columns or arguments replaced."""
    changed = FRAME.assign(**changes or {})
    arguments = {"label": "grade", "query": "query", "features": ["bm25", "clicks"]} | arguments
    return BadInput(f"frame {argument} {words}", lambda _: from_frame(changed, **arguments), argument, error, words)


def of(data, features=None):
    """Read another table."""
    return lambda _: from_frame(data, label="grade", query="query", features=features)


def joined(argument, words, *parts):
    return BadInput(f"concatenate {words}", lambda _: gw.RankingData.concatenate(parts), argument, ValueError, words)


def simulated(name, value):
    arguments = {"queries": 5, "seed": 0, name: value}
    return BadInput(f"simulate {name} {value}", lambda _: gw.data.simulate(**arguments), name, ValueError, "at least")


def judgments(words, error=ValueError, **options):
    (argument,) = options
    return BadInput(
        f"judgments {words}", lambda _: gw.Judgments([1, 0, 1], qid=[7, 7, 8], **options), argument[:4], error, words
    )


LETOR = [
    letor("qid:1 1:0.5", "label 'qid:1'"),
    letor("good qid:1 1:0.5", "label 'good'"),
    letor("1 1:0.5", "got '1:0.5'"),
    letor("1 qid:1 1:0.5 7", "got '7'"),
    letor("1 qid:1 0:0.5", "zero_based=True"),
    letor("1 qid:1 4000000000:1", "'4000000000'"),
    letor("1 qid:1 1:0.5 1:0.5", "1 follows 1"),
    letor("1 qid:1 1:0.5 4:1", "4 is beyond"),
    letor("1 qid:1:2 1:1", "without colons"),
    letor("1 qid:" + "x" * 257 + " 1:1", "256 bytes"),
    letor("1 qid:1 1:abc", "value 'abc'"),
    letor("1 qid:1 1:inf", "got 'inf'"),
    letor("1 qid:1 1:1e39", "float32"),
    letor("1 qid:1 1:" + "x" * 100, "'" + "x" * 39 + "…'"),
    letor(b"1 qid:1 1:0.5 \x00\x01", "0x00"),
    letor(b"1 qid:1 1:0.5 # caf\xe9", "0xe9"),
    bad_file(read_letor, "data", GOOD * 58_300 + "\n# remark\n1 qid:1 1:x\n", ", line 58303: ", "value 'x'"),
    *(
        bad_file(read_letor, "data", content, ": ", "no documents")
        for content in ("", "\n\n", "# a remark\n", gzip.compress(b""))
    ),
    letor_files("1.txt: query '2'", "0.txt", GOOD + "0 qid:2 1:2\n", "\n1 qid:3 1:3\n1 qid:2 1:3\n"),
    letor_files("path", "empty"),
    letor_files("shared_ids", "'separate'?", GOOD, shared_ids="seperate"),
    *(
        BadInput("missing", lambda folder, read=read: read(folder / "none"), "none", FileNotFoundError)
        for read in (read_letor, read_run, read_qrels)
    ),
    BadInput("letor features 0", lambda _: read_letor("x", features=0), "features", ValueError, "got 0"),
    BadInput("letor dtype", lambda _: read_letor("x", dtype=np.int32), "dtype", TypeError, "int32"),
]
LIGHTGBM = [
    lightgbm("rank: group", "got 4", query="2\n2\n"),
    lightgbm("rank.query, line 3: ", "size 'x'", query="2\n\nx\n"),
    lightgbm("rank: weight", "(entry 1)", weight="1\n-1\n1\n"),
    lightgbm("rank.weight: ", "2 weights", weight="1\n1\n"),
    lightgbm("rank, line 1: ", "read_letor", data="1 qid:1 1:2\n"),
    lightgbm("rank, line 1: ", "4 is beyond", data="1 1:2 4:1\n", features=3),
    lightgbm("rank, line 1: ", "from_frame reads tables", data="2,0.5,1\n"),
    lightgbm("rank, line 1: ", "from_frame reads tables", data="2\t0.5\t1\n"),
    lightgbm("rank.query", "", query=None, error=FileNotFoundError),
]
TREC = [
    run("1 Q0 b 1 2", "5 columns"),
    run("1 Q0 b 1 high t", "'high'"),
    run("1 Q0 a 1 7 t", "line 1"),
    qrels("1 0 b", "3 columns"),
    qrels("1 0 a 1", "line 1"),
    *(bad_file(read, "empty", "\n", ": ", "empty") for read in (read_run, read_qrels)),
    written({"1": {"a b": 1.0}}, "document", "'a b'"),
    written({"": {"a": 1.0}}, "query", "got ''"),
    *(written({"1": {"a": 1.0}}, "tag", repr(tag), tag=tag) for tag in ("", "two words", " x", 5)),
]
TABLES = [
    table("", ": ", "empty"),
    table(",,\n,,\n", ", line 1: ", "column 'query'"),
    table("query,document,score\nq,a,1\n", ", line 1: ", "column 'label'"),
    table("query,docid,rating,grade\nq,a,1,1\n", ", line 1: ", "'grade' and 'rating'"),
    table("query,docid,rating\nq,a\n", ", line 2: ", "2 columns"),
    table("query,docid,rating\n", ": ", "no row with"),
    table("query,docid,rating,Rating\nq,a,1,1\n", ", line 1: ", "must be unique"),
    table("query,docid,rating\nq,a,1\nq,b,good\n", ", line 3: ", "label 'good'"),
    table("query,docid,rating\nq,a,1\n\nq,b,1\nq,a,2\n", ", line 5: ", "line 2"),
    table("query,docid,rating\n,a,1\n", ", line 2: ", "'query' is empty"),
    table('query,docid,rating\nq,"a\nb",1\n', ", line 3: ", "line break"),
    table('query,docid,rating\nq,"a"b,1\n', ", line 2: ", "a cell twice"),
    table('query,docid,rating\nq,"a,1\n', ", line 2: ", "Close all quotes"),
    table("query,docid,rating\rq,a,1\r", ", line 1: ", "field. Close"),
    table("query,docid,rating\nq,a,1\n".encode("utf-16"), ", line 1: ", "UTF-8 text"),
    judgments("1 entries", titles=["a"]),
]
TEXT = [
    *(
        bad_file(read, name, text.replace("\n", "\r"), ", line 1: ", "carriage return")
        for read, name, text in (
            (read_run, "run.txt", "1 Q0 a 1 3 x\n1 Q0 b 2 2 x\n"),
            (read_qrels, "qrels.txt", "1 0 a 1\n1 0 b 0\n"),
            (read_letor, "data.txt", "1 qid:1 1:1 # docid = A\n0 qid:1 1:2 # docid = B\n"),
            (read_scores, "scores.txt", "1\n2\n"),
        )
    ),
    *(bad_file(read_scores, "s.txt", ZIPPED[:kept], ": ", "ends too early") for kept in (5, 12, 40, -1)),
    bad_file(read_letor, "data", gzip.compress(b"")[:10] + b"\xff" * 50, ": ", "damaged"),
    bad_file(read_qrels, "qrels", b"\x89PNG\r\x1a\n\x00\x00", ", line 1: ", "0x1a"),
]
SCORES = [
    scores("s.csv", "1\n\n2\n", ", line 2: ", "line is empty"),
    scores("s.csv", "1\nnan\n", ", line 2: ", "got 'nan'"),
    scores("s.csv", "1,2\n3,4\n", ", line 1: ", "no header"),
    scores("s.csv", "0,1\n0.5,0.25\n", ", line 1: ", "but numbers", "1"),
    scores("s.txt", "7\n0.5\n", ", line 1: ", "but numbers", "7"),
    scores("s.csv", 'text,s\n"a\nb",1\nc,x\n', ", line 4: ", "'x'", "s"),
    scores("s.csv", "a,a\n3,4\n", ": ", "2 times", "a"),
    scores("s.txt", "a" * 200_000 + "\n1\nb\n", ", line 3: ", "'b'"),
    scores("s.csv", '"' + "a" * 200_000, ", line 1: ", "field limit"),
    scores("s.npy", "rubbish", ": ", "never loaded"),
    scores("s.pkl", "", ": ", "'.pkl'"),
    scores("s.parquet", "rubbish", ": ", "no parquet"),
    array(np.zeros((2, 2)), "(2, 2)"),
    array(np.array([1.0, NAN, NAN]), "2 scores are"),
    array(np.zeros(0), "no scores"),
    array(np.array([{}], dtype=object), "never loaded"),
    parquet("'a', 'b'", "c", a=[1], b=[2]),
    parquet("expected numbers", a=[b"1", b"2"]),
    parquet("'1,000' in row", a=["1", "1,000"]),
]
RANKING = [
    ranking("features", "must be numbers", TypeError, features=np.array([["a"] * 2] * 6)),
    ranking("features", "3 rows", features=sparse.csr_array(np.zeros((3, 2)))),
    ranking("features", "names and categories", features=pd.DataFrame(CODES), feature_names=["a", "b"]),
    ranking("feature", "'shop' must be", TypeError, features=pd.DataFrame({"shop": list("abcdef")})),
    ranking("features", "no entry", features=pd.DataFrame(CODES), labels=pd.Series(range(6), index=list("abcdef"))),
    ranking("qid", "6 entries", labels=[1, 2]),
    ranking("qid", "got 0.0", qid=[0.0] * 6),
    ranking("qid", "got 1 as", qid=[1, 0, 0, 0, 2, 2]),
    ranking("qid", "1 and '1'", qid=[1, "1", 1, 2, 2, 2], query_ids=None),
    ranking("qid", "'1' and '1\\x00'", qid=["1", "1\0", "1", "2", "2", "2"], query_ids=None),
    ranking("qid", "at row 4", qid=["b", "a", "b", "c", None, "c"], query_ids=None),
    ranking("group", "got neither", qid=None, query_ids=None),
    ranking("group", "(entry 1)", qid=None, group=[3, 0, 3]),
    ranking("query_ids", "(3), got 1", query_ids=["a"]),
    *(ranking("document_ids", "position 1", document_ids=["a", missing, *"cdef"]) for missing in (None, NAN, pd.NA)),
    *(
        ranking("query_ids", "position 1", qid=None, group=[3, 3], query_ids=ids)
        for ids in (["a", None], [1.5, NAN], pd.Series(["a", pd.NA]), np.ma.array([1, 2], mask=[False, True]))
    ),
    ranking("feature_names", "(2), got 3", feature_names=["a", "b", "c"]),
    ranking("'shop'", "2.0 in row", **SHOPS | {"features": CODES + 1}),
    ranking("document_ids", "(6), got 5", document_ids=[*"abcde"]),
    ranking("feature_names", "'a' at 1", feature_names=["a", "a"]),
    ranking("categories", "'size'", **NAMED, categories={"size": ["x"]}),
    ranking("'shop'", "distinct", **NAMED, categories={"shop": ["x", "x"]}),
    ranking("'shop'", "all numbers", **NAMED, categories={"shop": ["x", 1]}),
    ranking("categories", "feature_names", **SHOPS | {"feature_names": None}),
    ranking("categories", "dense", **SHOPS | {"features": sparse.csr_array(np.ones((6, 2)))}),
    method("fractions", "sum to 1", lambda data: data.split_queries(0.5, 0.4, seed=0)),
    method("3 queries", "part 1 (fraction", lambda data: data.split_queries(0.9, 0.1, seed=0)),
    method("seed", "got None", lambda data: data.split_queries(0.5, 0.5), TypeError),
    method("by and at", "passed together", lambda data: data.split_queries(by="time"), TypeError),
    method("by and at", "passed together", lambda data: data.split_queries(0.5, 0.5, by="time", at=1), TypeError),
    method("'tyme'", "mean 'time'", lambda data: data.split_queries(by="tyme", at=1), keys=TIMES),
    method("at", "1 to 3", lambda data: data.split_queries(by="time", at=9), keys=TIMES),
    method("at", "ascending", lambda data: data.split_queries(by="time", at=[3, 2]), keys=TIMES),
    method("at", "comparable with", lambda data: data.split_queries(by="time", at="May"), TypeError, keys=TIMES),
    method("'user'", "(keys: none)", lambda data: data.split_queries(0.5, 0.5, seed=0, groups="user")),
    method("2 values", "too few", lambda data: data.split_queries(0.1, 0.1, 0.8, seed=0, groups="u"), keys=USERS),
    ranking("keys['time']", "got 2", keys={"time": [1, 2]}),
    ranking("keys['time']", "query 1 has", keys={"time": [1, NAN, 3]}),
    ranking("keys['time']", "query 0 has", keys={"time": [1, 2, 3, 4, 5, 6]}),
    ranking("keys", "got list", TypeError, keys=["time"]),
    ranking("columns['clicks']", "2 entries", columns={"clicks": [1, 0]}),
    method("columns['profit']", "negative", lambda data: data.judgments(), columns={"profit": [-1, 1, 1, 1, 1, 1]}),
    ranking("index", "per label", index=pd.RangeIndex(5)),
    ranking("labels", "no entry", labels=pd.Series(range(6)), index=pd.RangeIndex(1, 7)),
    method("'q0'", "row 2", lambda data: data.group, qid=[0, 1, 0, 1, 2, 2]),
    method("labels", "negative", lambda data: data.judgments(), labels=[1, -1, 0, 0, 2, 0]),
    method("features", "sparse", lambda data: data.feature_frame(), features=sparse.csr_array(CODES)),
    method("codes", "got none", lambda data: data.take_queries([])),
    method("codes", "from 0 to", lambda data: data.take_queries([0, 1000])),
    method("codes", "got -1", lambda data: data.take_queries([-1])),
    method("codes", "got 1.5", lambda data: data.take_queries([1.5])),
    method("codes", "got a mask", lambda data: data.take_queries([True, False, True]), TypeError),
    method("codes", "got 'q0'", lambda data: data.take_queries(["q0"]), TypeError),
    joined("part 1", "has 3 features", PLAIN, gw.RankingData(**FIELDS | {"features": np.ones((6, 3))})),
    joined("parts", "empty"),
    joined("weight", "1 has no", replace(PART, weight=[1, 1, 1]), PART),
    joined("features", "part 1 are", gw.RankingData(**FIELDS | {"features": sparse.csr_array(CODES)}), PLAIN),
    joined("part 1", "no feature names", PART, replace(PART, feature_names=None, categories=None)),
    joined("part 1", "'b', 'a'", *(gw.RankingData(**FIELDS, feature_names=[*names]) for names in ("ab", "ba"))),
    joined("part 1", "no column 'clicks'", replace(PLAIN, columns={"clicks": np.ones(6)}), PLAIN),
    joined("part 0", "no key 'time'", PLAIN, replace(PLAIN, keys=TIMES)),
    joined("'shop'", "are strings", PART, replace(PART, categories={"shop": [1, 2]})),
    *(
        simulated(name, value)
        for name, value in (
            ("queries", 0),
            ("seed", -1),
            ("features", 0),
            ("mean_length", 0.5),
            ("signal", -1),
            ("signal", NAN),
        )
    ),
]
FRAMES = [
    frame("'grad'", "mean 'grade'", label="grad"),
    frame("'url'", "must be numeric", error=TypeError, features=["url"]),
    frame("labels", "the text 'x'", error=TypeError, label="url"),
    frame("'grade'", "one role", features=["grade", "clicks"]),
    BadInput("no features", of(FRAME[["query", "grade"]]), "no feature columns", ValueError, "no other numeric"),
    BadInput("a column twice", of(FRAME[["query", "grade", "grade"]]), "'grade'", ValueError, "2 times"),
    frame("labels", "nan in row", {"grade": [0, NAN, 1]}),
    *(frame("labels", "2**53", {"grade": pd.array([1, HUGE, 0], dtype=kind)}) for kind in ("int64", "Int64")),
    frame("qid", "row 1", {"query": ["a", None, "b"]}),
    frame("qid", "one id", {"query": pd.Series([1, "1", 2], index=FRAME.index, dtype=object)}),
    frame("weight", "(entry 1)", {"weight": [1, -1, 1]}, weight="weight"),
    frame("'shop'", "got Interval", {"shop": pd.cut(FRAME["clicks"], 2)}, TypeError, features=["shop"]),
    BadInput("texts", of(FRAME.rename(columns={"bm25": 1, "clicks": "1"}), [1, "1"]), "names", ValueError, "'1' at 1"),
    BadInput("no frame", of({"grade": [1]}), "frame", TypeError, "dict"),
]


@bad_inputs([*LETOR, *LIGHTGBM, *TREC, *TABLES, *TEXT, *SCORES, *RANKING, *FRAMES])
def test_bad_inputs(case, tmp_path):
    case.check(tmp_path)
