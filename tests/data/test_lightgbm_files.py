"""Reading LightGBM's data, query and weight files."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from gainsay.data import read_lightgbm

# rows, queries, smallest and largest query, documents of the grades 0 to 4, as published with the data
PUBLISHED = {
    "rank.train": (3005, 201, 1, 27, [645, 1211, 858, 222, 69]),
    "rank.test": (768, 50, 6, 24, [206, 256, 252, 44, 10]),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_lambdarank_example_has_the_published_counts(shared_data, name):
    data = read_lightgbm(shared_data / "lightgbm-lambdarank" / name, features=300)
    rows, queries, least, most, grades = PUBLISHED[name]
    assert data.features.shape == (rows, 300)
    assert (len(data.group), data.group.min(), data.group.max()) == (queries, least, most)
    assert np.bincount(data.labels.astype(int)).tolist() == grades


def test_lambdarank_example_equals_scikit_learn(shared_data):
    path = shared_data / "lightgbm-lambdarank" / "rank.train"
    features, labels = load_svmlight_file(str(path), n_features=300, zero_based=False)
    data = read_lightgbm(path, features=300, dtype=np.float64)
    np.testing.assert_array_equal(data.features, features.toarray())
    np.testing.assert_array_equal(data.labels, labels)
    np.testing.assert_array_equal(data.group, np.loadtxt(f"{path}.query", dtype=int))


def test_a_file_without_its_last_group_is_refused(tmp_path):
    path = tmp_path / "rank.test"
    path.write_text("1 1:0.5\n" * 20)
    (tmp_path / "rank.test.query").write_text("\n".join(["3"] * 6))
    with pytest.raises(ValueError, match=r"6 group sizes sum to 18, but .*rank\.test has 20 documents"):
        read_lightgbm(path)


SVMLIGHT = "2 1:0.5 3:1\n0 2:0.25\n1 1:3\n"


@pytest.fixture
def files(write):
    """A function that writes a data file with its query file (of two queries, if not told otherwise)."""

    def files(data=SVMLIGHT, query="2\n1\n", weight=None):
        path = write(data, "rank")
        if query is not None:
            write(query, "rank.query")
        if weight is not None:
            write(weight, "rank.weight")
        return path

    return files


def test_svmlight(files):
    data = read_lightgbm(files())
    assert data.features.tolist() == [[0.5, 0, 1], [0, 0.25, 0], [3, 0, 0]]
    assert (data.qid.tolist(), data.query_ids.tolist(), data.weight) == ([0, 0, 1], ["0", "1"], None)


@pytest.mark.parametrize("separator", [",", "\t"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_columns(files, separator, line_end):
    rows = ["2,0.5,,1", "0,0,0.25,nan", "1,3,-1e-3,na", ""]
    data = read_lightgbm(files(line_end.join(rows).replace(",", separator)))
    np.testing.assert_array_equal(
        data.features, np.array([[0.5, np.nan, 1], [0, 0.25, np.nan], [3, -1e-3, np.nan]], dtype=np.float32)
    )
    assert data.labels.tolist() == [2, 0, 1]


def test_columns_with_a_header_and_blanks(files):
    data = read_lightgbm(files("label, a, b\n2, 1, 2\n\n0, 3, 4\n1, 5, 6\n"), header=True)
    assert data.features.tolist() == [[1, 2], [3, 4], [5, 6]]


def test_all_files_may_be_gzip(files):
    data = read_lightgbm(files(*(gzip.compress(text) for text in (SVMLIGHT.encode(), b"2\n1\n", b"1\n2\n3\n"))))
    assert (data.group.tolist(), data.weight.tolist()) == ([2, 1], [1, 2, 3])


def test_weights_are_per_document(files):
    assert read_lightgbm(files(weight="0.5\n1\n0\n")).weight.tolist() == [0.5, 1, 0]


def test_other_names_of_query_and_weight_files(files, write):
    path = files(query=None)
    data = read_lightgbm(path, write("1\n2\n", "sizes"), weight=write("3\n3\n3\n", "weights"))
    assert (data.group.tolist(), data.weight.tolist()) == ([1, 2], [3, 3, 3])


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ({"query": "2\n2\n"}, {}, "the 2 group sizes sum to 4, but .*rank has 3 documents"),
        ({"query": "2\nx\n"}, {}, r"rank\.query, line 2: a group size must be a whole number of at least 1, found 'x'"),
        ({"query": "3\n0\n"}, {}, "line 2: a group size must be a whole number of at least 1, found '0'"),
        ({"query": "2 1\n"}, {}, "line 1: expected a group size alone on the line, found '2 1'"),
        ({"query": "9" * 5000}, {}, "a group size must be"),
        ({"weight": "1\n1\n"}, {}, "2 weights for the 3 documents .*one weight per document"),
        ({"weight": "1\n-1\n1\n"}, {}, r"rank\.weight, line 2: a weight must be finite and not negative, found '-1'"),
        ({"weight": "1\nnan\n1\n"}, {}, "line 2: a weight must be finite"),
        ({"weight": "1\n1\none\n"}, {}, "line 3: a weight must be a number, found 'one'"),
        ({"data": "1 qid:1 1:2\n"}, {}, "line 1: found 'qid:1' among the features; read the file with read_letor"),
        ({"data": "1 1:2 4:1\n"}, {"features": 3}, "feature index 4 is beyond the 3 columns"),
        ({}, {"header": True}, "header=True, but the file is SVMlight"),
        ({"data": "1,2,3\n1,2\n"}, {}, "line 2: 1 features, but the lines before have 2: '1,2'"),
        ({"data": "1,2,3\n"}, {"features": 3}, "line 1: 2 features, but features= says 3"),
        ({"data": "y,a,b\n1,2,3\n"}, {}, "line 1: the label 'y' is not a number; .* pass header=True"),
        ({"data": "1,2,3\n,2,3\n"}, {}, "line 2: the label '' is not a number; expected 'label,value,…'"),
        ({"data": "1,2,3\n1,x,3\n"}, {}, "line 2: the feature value 'x' is not a number"),
        ({"data": "1,2,3\n1,inf,3\n"}, {}, "line 2: the feature value 'inf' is infinite"),
        ({"data": "y,a,b\n"}, {"header": True}, "holds no documents"),
        ({"data": ""}, {}, "holds no documents"),
    ],
)
def test_malformed_files(files, content, arguments, message):
    with pytest.raises(ValueError, match=message):
        read_lightgbm(files(**content), **arguments)


def test_a_missing_query_file_is_named(files):
    with pytest.raises(FileNotFoundError, match=r"rank\.query"):
        read_lightgbm(files(query=None))
