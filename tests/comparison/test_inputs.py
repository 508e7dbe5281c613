"""Values, weights and labels of queries in all containers and files are read exactly and matched to queries."""

import gzip
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.bad_inputs import BadInput, bad_inputs
from tests.comparison.tables import verdict_of

import gainwise as gw
from gainwise.comparison.query_labels import read_segment_file

RNG = np.random.default_rng(0)
VALUES, OTHER = RNG.random((2, 40, 2))
IDS = np.arange(100, 140)
LABELS = RNG.integers(0, 3, 160)
JUDGMENTS = gw.Judgments(LABELS, qid=np.repeat(IDS, 4))
MODELS = {"A": LABELS + RNG.normal(size=160), "B": RNG.normal(size=160)}
KINDS = pd.Series(np.where(IDS % 3 == 0, "head", "tail"), index=IDS)
SHUFFLED = KINDS.sample(frac=1, random_state=0)


def compared(values=VALUES, **options):
    return gw.Comparison({"a": values, "b": OTHER}, ["A", "B"], draws=200, **options)


def test_models_are_in_natural_order_with_their_own_values():
    verdict = verdict_of(VALUES, OTHER, models=["m10", "m9"], draws=200)
    assert verdict.models == ("m9", "m10")
    assert list(verdict.means["ndcg_linear@10"].values()) == pytest.approx(VALUES.mean(axis=0)[::-1])


def test_a_query_masked_for_every_model_is_skipped():
    comparison = compared(np.ma.array(VALUES, mask=np.arange(40)[:, None] == [5, 5]))
    assert comparison.counts.by_metric == {"a": 39, "b": 40}
    assert comparison.leaderboard.loc["A", "a"] == pytest.approx(np.delete(VALUES[:, 0], 5).mean())
    assert np.isnan(comparison.frame()["a"].xs(5, level="query")).all()


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e308])
def test_only_ratios_of_weights_matter_and_queries_of_weight_zero_are_absent(scale):
    found = compared(weights=np.where(np.arange(40) < 30, np.r_[0.25, np.ones(39)], 0.0) * scale)
    assert found.counts.any == 30
    expected = np.average(VALUES[:30], axis=0, weights=np.r_[0.25, np.ones(29)])
    assert found.leaderboard.loc[["A", "B"], "a"].tolist() == pytest.approx(expected, rel=1e-12)


def test_weights_of_a_series_go_with_their_rows_in_every_table():
    weights = RNG.random(40) + 0.1
    plain = compared(weights=weights)
    for same in (pd.Series(weights, index=range(39, -1, -1)), weights.tolist()):
        found = compared(weights=same)
        pd.testing.assert_frame_equal(found.frame(), plain.frame())
        pd.testing.assert_frame_equal(found.leaderboard, plain.leaderboard)


@pytest.mark.parametrize(
    "segments",
    [
        SHUFFLED,
        SHUFFLED.rename(float),
        SHUFFLED.to_dict() | {7: "of another query"},
        {"segment": SHUFFLED.to_dict()},
        SHUFFLED.to_frame("segment"),
        KINDS.reset_index(drop=True),
        KINDS.to_numpy(),
        [*KINDS],
        np.repeat(KINDS.to_numpy(), 4),
        pd.Series(np.repeat(KINDS.to_numpy(), 4)),
        {"segment": KINDS.to_numpy()},
    ],
)
def test_segments_are_matched_by_id_or_by_order(segments):
    found = gw.compare(MODELS, JUDGMENTS, ["map", "mrr"], segments=segments, draws=200)
    assert found._segment_labels["segment"].tolist() == KINDS.tolist()
    if not isinstance(segments, (dict, pd.DataFrame)) or "segment" not in segments:
        assert gw.compare(MODELS, JUDGMENTS, ["map", "mrr"], clusters=segments, draws=200).verdict.clusters == 2


@pytest.mark.parametrize("index", [range(6), [0, 2, 1, 5, 4, 3]])
def test_segments_of_documents_whose_rows_are_numbered_as_queries_are(index):
    judgments = gw.Judgments(pd.Series([1, 0, 2, 0, 1, 1], index=index), group=[2, 2, 2])
    kinds = pd.Series(["tail", "tail", "head", "head", "rare", "rare"], index=index)
    scores = {name: pd.Series(RNG.random(6), index=index) for name in "AB"}
    found = gw.compare(scores, judgments, ["map", "mrr"], segments=kinds, draws=200)
    assert found._segment_labels["segment"].tolist() == ["tail", "head", "rare"]


@pytest.mark.parametrize(
    ("clusters", "count"),
    [
        ([2**63, 2**63 + 1, -1], 3),
        ([2**53, 2**53 + 1, 0.5], 3),
        ([2, 1, "1"], 3),
        (["a", "a\0", "b"], 3),
        ([(1, 2), (1, 3), (2, 2)], 3),
        ([pd.Timestamp(2020, 1, day) for day in (1, 2, 3)], 3),
        ([np.int64(1), 1, np.int8(2)], 2),
    ],
)
def test_clusters_that_differ_stay_apart(clusters, count):
    values = RNG.random((60, 2))
    assert verdict_of(values, values, clusters=clusters * 20, draws=200).clusters == count


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_may_name_a_column(tmp_path, kind):
    frame = pd.DataFrame({"a": [0.2, 0.1, 0.3], "b": [0.3, 0.2, 0.1]})
    frame.to_csv(tmp_path / "s.csv", index=False)
    judgments = gw.Judgments([0, 1, 2], group=[3])
    models = {"path": kind(f"{tmp_path / 's.csv'}:b"), "array": frame["b"]}
    values = gw.compare(models, judgments, ["mrr"]).frame()["mrr"]
    assert values.tolist() == [1 / 2, 1 / 2]  # The document of label 1 is the second by column b.
    with pytest.raises(ValueError, match=r"model 'a': .*2 columns.*FILE:COLUMN"):
        gw.compare({"a": tmp_path / "s.csv"}, judgments)
    with pytest.raises(OSError, match="No such file"):
        gw.compare({"a": f"{tmp_path / 'gone.csv'}:b"}, judgments)


def test_a_query_without_documents_has_a_ranking_without_rows():
    judgments = gw.Judgments([1, 0, 2], group=[2, 0, 1])
    comparison = gw.compare({"A": [2, 1, 3], "B": [1, 2, 3]}, judgments, ["ndcg_linear@2", "ndcg_exp@2"], draws=200)
    empty, full = (comparison.ranking(query, "A") for query in (1, 0))
    assert len(empty) == 0
    assert list(empty.columns) == list(full.columns)


@pytest.mark.parametrize(
    "values",
    [pd.DataFrame(VALUES).astype("Float64"), VALUES.astype(">f8"), np.asfortranarray(VALUES)[::1], VALUES.tolist()],
    ids=["nullable", "big-endian", "columns", "lists"],
)
def test_numbers_of_every_kind_are_the_same_numbers(values):
    pd.testing.assert_frame_equal(compared(values).leaderboard, compared().leaderboard)
    pd.testing.assert_frame_equal(compared(values).frame(), compared().frame())


def read(content, folder):
    (folder / "labels.csv").write_text(content, encoding="utf-8")
    return read_segment_file(folder / "labels.csv")


def test_labels_are_text_without_blanks_around_it(tmp_path):
    """A blank after a comma is not part of a label. 01, 1 and NA are three labels."""
    rows = "".join(f"q{place} , {label}\n" for place, label in enumerate(["01", "1", "NA"]))
    assert read(f"\ufeffquery,kind\n{rows}", tmp_path) == {"kind": {"q0": "01", "q1": "1", "q2": "NA"}}


def test_files_of_labels_can_be_compressed_and_have_tabs(tmp_path):
    text = "query\tkind\nq0\ta,b\nq1\tc\n"
    (tmp_path / "labels.tsv").write_text(text)
    (tmp_path / "labels.tsv.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("labels.tsv", "labels.tsv.gz"):
        assert read_segment_file(tmp_path / name) == {"kind": {"q0": "a,b", "q1": "c"}}


INVALID = [
    ("query,cluster\n\n\n1,a\n\n2\n", "query '2'", "(line 6)"),
    ('query,cluster\n1,"a\n2,b\n', "line 3", "end of data"),
    ("query,cluster\n1,a\n1,b\n", "query '1'", "two lines"),
    ("query,cluster\n1,a\n2\n", "query '2'", "(line 3)"),
    ("query,a,a\n1,1,1\n", "labels.csv", "distinct names"),
    ("", "labels.csv", "distinct names"),
]


@bad_inputs([BadInput(words, partial(read, content), name, ValueError, words) for content, name, words in INVALID])
def test_bad_inputs(case, tmp_path):
    case.check(tmp_path)
