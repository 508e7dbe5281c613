"""LETOR files and LightGBM files, compared with published datasets and scikit-learn's reader."""

import gzip

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from gainwise.data import read_letor, read_lightgbm
from gainwise.data.letor import TableBuilder
from gainwise.data.text import read_chunks

# Rows, and documents of the grades 0 to 4, as published with the data. Every fold has 12 queries.
CLUEWEB = {
    "fold1": (5309, [4441, 722, 134, 7, 5]),
    "fold2": (5584, [4448, 673, 279, 98, 86]),
    "fold3": (4686, [3892, 603, 172, 12, 7]),
    "fold4": (5004, [4199, 531, 222, 0, 52]),
}
# Rows, queries, smallest and largest query, documents of the grades 0 to 4, as published with the data.
LAMBDARANK = {
    "rank.train": (3005, 201, 1, 27, [645, 1211, 858, 222, 69]),
    "rank.test": (768, 50, 6, 24, [206, 256, 252, 44, 10]),
}


@pytest.mark.parametrize("fold", CLUEWEB)
def test_clueweb_has_the_published_counts(shared_data, fold):
    data = read_letor(shared_data / "clueweb09-ltr" / f"{fold}.txt.gz")
    rows, grades = CLUEWEB[fold]
    assert data.features.shape == (rows, 42)
    assert np.bincount(data.labels.astype(int), minlength=5).tolist() == grades
    assert len(data.query_ids) == len(data.group) == 12
    assert len(set(zip(data.qid.tolist(), data.document_ids, strict=True))) == rows
    assert all(name.startswith("clueweb09-en") for name in data.document_ids)


def test_clueweb_equals_scikit_learn(shared_data):
    path = shared_data / "clueweb09-ltr" / "fold1.txt.gz"
    with gzip.open(path) as stream:
        features, labels, qid = load_svmlight_file(stream, query_id=True, zero_based=False)
    data = read_letor(path, dtype=np.float64)
    np.testing.assert_array_equal(data.features, features.toarray())
    np.testing.assert_array_equal(data.labels, labels)
    np.testing.assert_array_equal(data.query_ids[data.qid], qid.astype(str))


@pytest.mark.parametrize(
    ("text", "options", "features"),
    [
        ("1 qid:1 2:5\n0 qid:1\n2 qid:2 1:1 3:7\n", {}, [[0, 5, 0], [0, 0, 0], [1, 0, 7]]),
        ("1 qid:1 2:5\n", {"features": 4}, [[0, 5, 0, 0]]),
        ("1 qid:1 0:5 1:6\n", {"zero_based": True}, [[5, 6]]),
        ("1 qid:1 1:nan 2:1\n", {}, [[np.nan, 1]]),
        ("\ufeff1 qid:1 1:1\r\n \t\r\n\n# a remark\r\n0\tqid:1\t 1:2   2:3", {}, [[1, 0], [2, 3]]),
        (gzip.compress(b"1 qid:1 1:1\n"), {}, [[1]]),
    ],
    ids=["sparse", "features", "zero-based", "missing", "blanks and line ends", "gzip"],
)
def test_features(write, text, options, features):
    found = read_letor(write(text, "not.gz"), **options).features
    np.testing.assert_array_equal(found, np.array(features, dtype=np.float32), strict=True)


def test_document_ids_are_read_from_comments(write):
    text = "1 qid:1 1:1 #docid = GX-1 inc = 1 prob = 0.5\n\n# docid = nothing\n0 qid:1 1:2 # x docid=GX-2\n"
    assert read_letor(write(text)).document_ids == ("GX-1", "GX-2")
    assert read_letor(write("1 qid:1 1:1 # docid = A\n0 qid:1 1:2 # nodocid = 3\n")).document_ids is None


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_chunks_of_any_size_give_the_same_data(write, size):
    path = write("\n".join(f"{i % 5} qid:{i // 7} {1 + i % 3}:{i}.25 9:1 # docid = d{i}" for i in range(60)) + "\n\n\n")
    builder = TableBuilder(queries=True)
    builder.read_file(path, read_chunks(path, size=size))
    *arrays, document_ids = builder.build()
    whole = read_letor(path)
    for array, name in zip(arrays, ("features", "labels", "qid"), strict=True):
        np.testing.assert_array_equal(array, getattr(whole, name))
    assert document_ids == whole.document_ids
    assert len(document_ids) == 60


def test_query_ids_are_kept_as_written(write):
    ids = ["1", "01", "+1", "1.0", "-0", "a1", "1e1", ".", "NA", "čaj", "9" * 80]
    assert read_letor(write("".join(f"1 qid:{name} 1:1\n" for name in ids))).query_ids.tolist() == ids


@pytest.mark.parametrize(
    ("second", "shared_ids", "qid", "ids"),
    [
        ("3", "refuse", [0, 1, 2], ["1", "2", "3"]),
        ("2", "separate", [0, 1, 2], ["1", "2", "2"]),
        ("2", "join", [0, 1, 1], ["1", "2"]),
    ],
)
def test_several_files(write, second, shared_ids, qid, ids):
    first = write("2 qid:1 1:1 # docid = a\n0 qid:2 1:2 # docid = b\n", "0.txt")
    data = read_letor([first, write(f"1 qid:{second} 1:3 3:4 # docid = c\n", "1.txt")], shared_ids=shared_ids)
    assert data.features.tolist() == [[1, 0, 0], [2, 0, 0], [3, 0, 4]]
    assert (data.labels.tolist(), data.qid.tolist(), data.query_ids.tolist()) == ([2, 0, 1], qid, ids)
    assert data.document_ids == ("a", "b", "c")


SVMLIGHT = "2 1:0.5 3:1\n0 2:0.25\n1 1:3\n"


class TestLightGBM:
    @pytest.fixture
    def files(self, write):
        """A function that writes a data file with its query file and its weight file."""

        def files(data=SVMLIGHT, query="2\n1\n", weight=None):
            for name, content in (("rank.query", query), ("rank.weight", weight)):
                if content is not None:
                    write(content, name)
            return write(data, "rank")

        return files

    @pytest.mark.parametrize("name", LAMBDARANK)
    def test_example_has_the_published_counts(self, shared_data, name):
        data = read_lightgbm(shared_data / "lightgbm-lambdarank" / name, features=300)
        rows, queries, smallest, largest, grades = LAMBDARANK[name]
        assert data.features.shape == (rows, 300)
        assert (len(data.group), data.group.min(), data.group.max()) == (queries, smallest, largest)
        assert np.bincount(data.labels.astype(int)).tolist() == grades

    def test_svmlight(self, files):
        data = read_lightgbm(files())
        assert data.features.tolist() == [[0.5, 0, 1], [0, 0.25, 0], [3, 0, 0]]
        assert (data.qid.tolist(), data.query_ids.tolist(), data.weight) == ([0, 0, 1], ["0", "1"], None)

    def test_gzip_and_weights_per_document(self, files):
        assert read_lightgbm(files(weight="0.5\n1\n0\n")).weight.tolist() == [0.5, 1, 0]
        data = read_lightgbm(files(*(gzip.compress(text) for text in (SVMLIGHT.encode(), b"2\n1\n", b"1\n2\n3\n"))))
        assert (data.group.tolist(), data.weight.tolist()) == ([2, 1], [1, 2, 3])

    def test_other_names_of_query_and_weight_files(self, files, write):
        path = files(query=None)
        data = read_lightgbm(path, write("1\n2\n", "sizes"), weight=write("3\n3\n3\n", "weights"))
        assert (data.group.tolist(), data.weight.tolist()) == ([1, 2], [3, 3, 3])
