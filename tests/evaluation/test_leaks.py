"""Queries that two parts share: found by rows and by ids, and nothing else."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import xgboost as xgb
from hypothesis import given
from hypothesis import strategies as st

import gainwise as gw
from gainwise.data import RankingData, read_letor, read_lightgbm, simulate
from gainwise.evaluation.parts import find_shared_queries, read_part

DATA = simulate(60, seed=3, mean_length=12)
TRAIN, TEST = DATA.split_queries(0.7, 0.3, seed=1)
NAMES = [f"feature {place}" for place in range(DATA.features.shape[1])]


def find(first, second):
    shared = find_shared_queries(read_part("first", first), read_part("second", second))
    return shared.leaks.tolist(), shared.same_ids.tolist()


def by_group(data):
    return RankingData(data.features, data.labels, group=data.group)


def with_ids(data, ids):
    return RankingData(data.features, data.labels, qid=data.qid, query_ids=ids)


def drop_rows(data, share, seed=0):
    """Return data without some rows of each query, and the rows in another order."""
    generator = np.random.default_rng(seed)
    rows = np.concatenate(
        [
            generator.permutation(np.flatnonzero(data.qid == code))[: max(2, round(share * size))]
            for code, size in enumerate(data.group)
        ]
    )
    return RankingData(data.features[rows], data.labels[rows], qid=data.query_ids[data.qid[rows]])


def test_disjoint_parts_share_nothing():
    assert find(TRAIN, TEST) == find(by_group(TRAIN), by_group(TEST)) == ([], [])


@pytest.mark.parametrize("change", [lambda data: data, by_group, lambda data: drop_rows(data, 0.7)])
def test_queries_with_all_or_most_rows_in_both_parts(change):
    long = np.flatnonzero(TEST.group >= 3)[:8]
    train = RankingData.concatenate([TRAIN, TEST.take_queries(long)])
    leaks, same_ids = find(change(train), TEST)
    assert (leaks, same_ids) == (long.tolist(), [])
    sparse = RankingData(scipy.sparse.csr_matrix(train.features), train.labels, group=train.group)
    assert find(sparse, TEST) == (leaks, [])


def test_other_ids_do_not_hide_a_leak():
    ids = [f"other {number}" for number in range(len(DATA.query_ids))]
    assert len(find(with_ids(DATA, ids), TEST)[0]) == sum(TEST.group >= 2)


@pytest.mark.parametrize("sparse", [False, True])
def test_columns_in_another_order_and_of_another_precision(sparse):
    names = tuple(f"f{number}" for number in range(DATA.features.shape[1]))
    features = DATA.features + np.pi / 1e9  # No float32 is equal to these.
    order = np.random.default_rng(1).permutation(len(names))
    wide = RankingData(features, DATA.labels / 3, group=DATA.group, feature_names=names)
    other = features.astype(np.float32)[:, order]
    other = scipy.sparse.csr_matrix(other) if sparse else other
    named = tuple(names[place] for place in order)
    narrow = RankingData(other, (DATA.labels / 3).astype(np.float32), group=DATA.group, feature_names=named)
    expected = np.flatnonzero(DATA.group >= 2).tolist()
    assert find(wide, narrow) == find(narrow, wide) == (expected, [])
    renamed = RankingData(other, narrow.labels, group=DATA.group, feature_names=named[::-1])
    assert find(wide, renamed) == ([], [])
    matrix = xgb.DMatrix(features, DATA.labels / 3, qid=DATA.qid)
    assert find(RankingData(features, DATA.labels / 3, group=DATA.group), matrix) == (expected, [])


def test_same_id_with_other_rows():
    other = RankingData(TEST.features + 1, TEST.labels, qid=TEST.query_ids[TEST.qid])
    assert find(TEST, other) == ([], list(range(len(TEST.query_ids))))
    assert find(by_group(TEST), by_group(other)) == ([], [])  # these ids number the queries


def test_rows_of_equal_ids_are_unknown_if_they_cannot_be_compared():
    """The rows are the same, but one part has names of features, or both parts have labels only."""
    named = RankingData(TEST.features, TEST.labels, qid=TEST.qid, query_ids=TEST.query_ids, feature_names=NAMES)
    for first, second in ((TEST, named), (TEST.judgments(), TEST.judgments())):
        (finding,) = (each for each in gw.check({"a": first, "b": second}).findings if each.code == "same ids")
        assert "the id of a query of a, whose rows cannot be compared" in finding.text
    changed = RankingData(TEST.features + 1, TEST.labels, qid=TEST.qid, query_ids=TEST.query_ids)
    (finding,) = (each for each in gw.check({"a": TEST, "b": changed}).findings if each.code == "same ids")
    assert "the id of a query of a, but other rows" in finding.text


def is_same_id(first, second):
    """Return whether two ids are the same: equal numbers, equal texts, or a whole number and its digits."""
    if isinstance(first, str) == isinstance(second, str):
        return first == second  # Python compares integers and floats exactly.
    text, number = (first, second) if isinstance(first, str) else (second, first)
    return text == (str(int(number)) if number == int(number) else str(number))


ID_TYPES = {
    "integers": np.arange(3, 30),
    "floats": np.arange(3, 30, dtype=np.float64),
    "float32": np.arange(3, 30, dtype=np.float32),
    "fractions": np.arange(3, 30) + np.resize([0.0, 0.5], 27),
    "large": np.append(np.arange(3, 15), 2.0**53 - 1 - np.arange(12)),
    "large integers": np.append(np.arange(3, 15), 2**53 + 3 - np.arange(24)),
    "texts": np.array([str(number) for number in range(3, 30)]),
    "padded": np.array([f"{number:02d}" for number in range(3, 30)]),
    "decimals": np.array([f"{number}.0" for number in range(3, 30)]),
}


@pytest.mark.parametrize("first", ID_TYPES)
@pytest.mark.parametrize("second", ID_TYPES)
def test_ids_of_another_type_are_those_of_plain_python(first, second):
    rng = np.random.default_rng(5)
    ids = [rng.permutation(ID_TYPES[kind])[:15] for kind in (first, second)]
    expected = [
        place for place, own in enumerate(ids[1].tolist()) if any(is_same_id(each, own) for each in ids[0].tolist())
    ]
    parts = [gw.Judgments(np.resize([1.0, 0.0], 30), qid=np.repeat(each, 2)) for each in ids]
    assert find(*parts) == ([], expected)
    noise = iter(rng.normal(size=(2, 30, 1)))
    data = [RankingData(next(noise), np.resize([1.0, 0.0], 30), qid=np.repeat(each, 2)) for each in ids]
    assert find(*data) == ([], expected)
    assert expected or {first, second} & {"padded", "decimals", "large integers", "fractions"}
    clusters = {own: 1000 + place for place, own in enumerate(ids[0].tolist())}
    found = [each.text for each in gw.check(dict(zip("ab", parts, strict=True)), clusters=clusters).findings
             if each.code == "clusters"]  # fmt: skip
    assert [text.split()[0] for text in found] == ([f"{len(expected)}"] if expected else [])


@pytest.mark.parametrize("kind", [np.int64, np.float64, np.float32, object])
def test_documents_of_another_type(kind):
    labels, queries = np.resize([2.0, 1.0, 0.0], 12), np.repeat([7, 9, 12, 15], 3)
    documents = np.arange(100, 112)
    first = gw.Judgments(labels, qid=queries, document_ids=documents)
    second = gw.Judgments(labels, qid=queries.astype(kind), document_ids=documents.astype(kind))
    assert find(first, second) == ([0, 1, 2, 3], [])
    other = gw.Judgments(labels, qid=queries.astype(kind), document_ids=(documents + 100).astype(kind))
    assert find(first, other) == ([], [0, 1, 2, 3])
    padded = gw.Judgments(labels, qid=queries, document_ids=[f"0{document}" for document in documents])
    assert find(first, padded) == ([], [0, 1, 2, 3])


@pytest.mark.parametrize("features", [[], ["bm25"]])
def test_columns_of_frames_with_floats_that_pandas_made(features):
    """A column of integers becomes one of floats if a row is missing, for example after a merge."""
    columns = {"query": [7, 7, 9, 9], "label": [1, 0, 0, 2], "user": [3, 3, 4, 4], "document": [1, 2, 1, 2]}
    frame = pd.DataFrame(columns | {name: [0.1, 0.2, 0.3, 0.4] for name in features})
    floats = frame.astype(dict.fromkeys(["query", "user", "document"], float))
    result = gw.check({"a": frame, "b": floats}, document="document", clusters="user")
    texts = {each.code: each.text for each in result.findings if each.part == "b"}
    assert "2 of 2 queries of b have all or most rows in a, too (the first is query '7')" in texts["leak"]
    assert "2 of 2 clusters also occur in a (3 and 4)" in texts["clusters"]


def test_categories_of_another_type():
    """Categories are floats if the column had a missing value when it became categorical."""
    rng = np.random.default_rng(0)
    table = {"query": np.repeat([7, 9, 12], 8), "label": rng.integers(0, 3, 24), "x": rng.normal(size=24)}
    frame = pd.DataFrame(table | {"shop": rng.integers(1, 5, 24)})
    first, second, third = (
        frame.astype({"shop": kind}).astype({"shop": "category"}) for kind in ("int64", "float64", str)
    )
    assert find_codes(first, second) == ["leak"]
    assert find_codes(first, third) == ["same ids"]


def find_codes(first, second):
    codes = (found.code for found in gw.check({"first": first, "second": second}).findings)
    return [code for code in codes if code in ("leak", "same ids")]


def test_single_equal_rows_and_common_rows_are_no_leak():
    features = TRAIN.features.copy()
    first = np.searchsorted(TRAIN.qid, np.arange(5))
    features[first] = TEST.features[np.searchsorted(TEST.qid, np.arange(5))]
    assert find(RankingData(features, TRAIN.labels, group=TRAIN.group), TEST) == ([], [])
    # Every user sees the same ten items, whose features do not depend on the query.
    items = np.tile(np.random.default_rng(0).normal(size=(10, 3)), (40, 1))
    clicks = np.random.default_rng(1).integers(0, 2, 400)
    shown = [RankingData(items[rows], clicks[rows], group=[10] * 20) for rows in (slice(200), slice(200, None))]
    assert find(*shown) == ([], [])


@given(st.integers(0, 10**6))
def test_leaks_are_those_of_plain_python(seed):
    """Small parts with few distinct rows: the rules in plain Python."""
    generator = np.random.default_rng(seed)
    parts = []
    for _ in range(2):
        sizes = generator.integers(1, 5, 4)
        features, labels = generator.integers(0, 6, (sizes.sum(), 2)), generator.integers(0, 2, sizes.sum())
        ids = generator.choice(["a", "b", "c", "d", "e", "f"], 4, replace=False)
        parts.append(RankingData(features.astype(float), labels, qid=np.repeat(ids, sizes)))
    rows = [
        [
            Counter(map(tuple, np.column_stack([part.features, part.labels])[part.qid == code].tolist()))
            for code in range(4)
        ]
        for part in parts
    ]
    distinctive = [{row for row in set().union(*side) if sum(row in query for query in side) == 1} for side in rows]
    leaks, same_ids = set(), set()
    for i, one in enumerate(rows[0]):
        for j, other in enumerate(rows[1]):
            is_same = parts[0].query_ids[i] == parts[1].query_ids[j]
            evidence = len(set(one) & set(other) & distinctive[0] & distinctive[1])
            equal = sum((one & other).values())
            if (is_same or evidence >= 2) and equal >= 2 and 2 * equal > min(sum(one.values()), sum(other.values())):
                leaks.add(j)
            elif is_same:
                same_ids.add(j)
    assert find(*parts) == (sorted(leaks), sorted(same_ids - leaks))


def test_public_splits_share_no_query(shared_data):
    folds = [read_letor(shared_data / "clueweb09-ltr" / f"fold{number}.txt.gz") for number in range(1, 5)]
    examples = [
        read_lightgbm(shared_data / "lightgbm-lambdarank" / f"rank.{name}", features=300) for name in ("train", "test")
    ]
    for parts in (folds, examples):
        for place, second in enumerate(parts):
            assert all(find(first, second) == ([], []) for first in parts[:place])


def test_an_experiment_raises_an_error():
    """224 of 225 test queries are part of the training set."""
    data = simulate(400, seed=5, mean_length=6, features=4)
    data = data.take_queries(np.flatnonzero(data.group >= 3))
    train, valid, test = data.split_queries(0.3, 0.3, 0.4, seed=1)
    leaking = RankingData.concatenate([train, test.take_queries(range(1, len(test.query_ids)))])
    candidates = [gw.Candidate("A", "lightgbm", {})]
    number, first = len(test.query_ids), test.query_ids[1]
    with pytest.raises(ValueError, match=rf"{number - 1} of {number} queries of test .* in train.*'{first}'"):
        gw.Experiment(candidates, leaking, valid, test)
    repeated = RankingData(test.features + 1, test.labels, qid=test.query_ids[test.qid])
    with pytest.warns(UserWarning, match=f"{number} of {number} queries of test have the id of a query of valid"):
        gw.Experiment(candidates, train, repeated, test)
