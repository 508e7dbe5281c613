"""Reading LETOR files: published sets, scikit-learn as oracle, and every way a file can be wrong."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from gainsay.data import read_letor
from gainsay.data._rows import Layout
from gainsay.data._svmlight import read_files
from gainsay.data._text import read_chunks

# rows, and documents of the grades 0 to 4, as published with the data; every fold has 12 queries
CLUEWEB = {
    "fold1": (5309, [4441, 722, 134, 7, 5]),
    "fold2": (5584, [4448, 673, 279, 98, 86]),
    "fold3": (4686, [3892, 603, 172, 12, 7]),
    "fold4": (5004, [4199, 531, 222, 0, 52]),
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


NUMBERS = ["0", "-0", "1", "+2.5", "-3.25", ".5", "7.", "1e3", "-2.5E-7", "0.1234567890123456789", "123456789012345678"]


def test_numbers_in_every_notation_equal_scikit_learn(write):
    lines = [f"{i % 3}.5 qid:{i // 4} 2:{number} 5:1" for i, number in enumerate(NUMBERS)]
    path = write("\n".join(lines))
    features, labels, _ = load_svmlight_file(path, query_id=True, zero_based=False)
    data = read_letor(path, dtype=np.float64)
    np.testing.assert_array_equal(data.features, features.toarray())
    np.testing.assert_array_equal(data.labels, labels)


def test_sparse_rows_are_filled_with_zeros(write):
    data = read_letor(write("1 qid:1 2:5\n0 qid:1\n2 qid:2 1:1 3:7\n"))
    assert data.features.tolist() == [[0, 5, 0], [0, 0, 0], [1, 0, 7]]
    assert data.features.dtype == np.float32


def test_features_gives_the_number_of_columns(write):
    assert read_letor(write("1 qid:1 2:5\n"), features=4).features.tolist() == [[0, 5, 0, 0]]


def test_zero_based_indices(write):
    assert read_letor(write("1 qid:1 0:5 1:6\n"), zero_based=True).features.tolist() == [[5, 6]]


def test_nan_is_a_missing_value(write):
    assert np.isnan(read_letor(write("1 qid:1 1:nan 2:1\n")).features).tolist() == [[True, False]]


def test_a_query_id_is_kept_as_it_is_written(write):
    path = write("1 qid:007 1:1\n1 qid:8 1:1\n1 qid:NA 1:1\n1 qid:čaj 1:1\n1 qid:" + "9" * 80 + " 1:1\n")
    data = read_letor(path)
    assert data.query_ids.tolist() == ["007", "8", "NA", "čaj", "9" * 80]


def test_rows_of_a_query_need_not_be_contiguous(write):
    data = read_letor(write("1 qid:b 1:1\n0 qid:a 1:2\n2 qid:b 1:3\n"))
    assert (data.qid.tolist(), data.query_ids.tolist()) == ([0, 1, 0], ["b", "a"])
    assert data.contiguous().features.ravel().tolist() == [1, 3, 2]


def test_document_ids_come_from_the_comments(write):
    text = "1 qid:1 1:1 #docid = GX-1 inc = 1 prob = 0.5\n\n# docid = nothing\n0 qid:1 1:2 # x docid=GX-2\n"
    assert read_letor(write(text)).document_ids == ("GX-1", "GX-2")


def test_one_row_without_document_id_means_none(write):
    assert read_letor(write("1 qid:1 1:1 # docid = A\n0 qid:1 1:2 # nodocid = 3\n")).document_ids is None


def test_blank_lines_windows_line_ends_tabs_and_a_missing_last_line_end(write):
    data = read_letor(write("\ufeff1 qid:1 1:1\r\n \t\r\n\n# a remark\r\n0\tqid:1\t 1:2   2:3"))
    assert data.features.tolist() == [[1, 0], [2, 3]]


def test_gzip_is_told_by_content_not_by_name(write):
    text = "1 qid:1 1:1\n"
    assert len(read_letor(write(gzip.compress(text.encode()), "plain.txt")).labels) == 1
    assert len(read_letor(write(text, "not.gz")).labels) == 1


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_chunks_of_any_size_give_the_same(write, size):
    text = "\n".join(f"{i % 5} qid:{i // 7} {1 + i % 3}:{i}.25 9:1 # docid = d{i}" for i in range(60)) + "\n\n\n"
    path = write(text)
    layout = Layout.checked(queries=True, features=None, zero_based=False, dtype=np.float32)
    table = read_files([(path, read_chunks(path, size=size))], layout, 2**30)
    whole = read_letor(path)
    np.testing.assert_array_equal(table.features, whole.features)
    np.testing.assert_array_equal(table.labels, whole.labels)
    np.testing.assert_array_equal(table.qid, whole.qid)
    assert table.document_ids == whole.document_ids
    assert len(table.document_ids) == 60


GOOD = "1 qid:1 1:0.5 2:1\n"
MALFORMED = {
    "missing label": ("qid:1 1:0.5", "no label before 'qid:1'"),
    "label": ("good qid:1 1:0.5", "the label 'good' is not a number; expected 'label qid:query index:value …'"),
    "label with underscore": ("1_0 qid:1 1:0.5", "the label '1_0' is not a number"),
    "label nan": ("nan qid:1 1:0.5", "the label 'nan' is not finite"),
    "label inf": ("inf qid:1 1:0.5", "the label 'inf' is not finite"),
    "missing qid": ("1 1:0.5", "expected 'qid:query' after the label '1', found '1:0.5'"),
    "label only": ("1", "expected 'qid:query' after the label '1', found the end of the line"),
    "empty qid": ("1 qid: 1:0.5", "a query id free of colons and blanks, found 'qid:'"),
    "two colons in qid": ("1 qid:1:2 1:0.5", "found 'qid:1:2'"),
    "qid too late": ("1 qid:1 1:0.5 qid:2", "found 'qid:2' among the features; it must stand right after the label"),
    "no colon": ("1 qid:1 1:0.5 7", "expected 'index:value' with a whole number as index, found '7'"),
    "index text": ("1 qid:1 one:0.5", "found 'one:0.5'"),
    "index negative": ("1 qid:1 -1:0.5", "found '-1:0.5'"),
    "index missing": ("1 qid:1 :0.5", "found ':0.5'"),
    "index zero": ("1 qid:1 0:0.5", "feature index 0, but indices count from 1; pass zero_based=True"),
    "index huge": ("1 qid:1 4000000000:1", "feature index '4000000000' is too large"),
    "index twice": ("1 qid:1 1:0.5 1:0.5", "feature index 1 occurs twice, the second time in '1:0.5'"),
    "index descending": ("1 qid:1 2:0.5 1:0.5", "feature index 1 follows 2; indices must ascend"),
    "index beyond": ("1 qid:1 1:0.5 4:1", "feature index 4 is beyond the 3 columns of features="),
    "value": ("1 qid:1 1:abc", "the feature value 'abc' is not a number"),
    "value missing": ("1 qid:1 1:", "the feature value '' is not a number"),
    "value with two points": ("1 qid:1 1:1.2.3", "the feature value '1.2.3' is not a number"),
    "value with two colons": ("1 qid:1 1:2:3", "the feature value '2:3' is not a number"),
    "value sign only": ("1 qid:1 1:-", "the feature value '-' is not a number"),
    "value inf": ("1 qid:1 1:inf", "the feature value 'inf' is infinite"),
    "value overflow": ("1 qid:1 1:1e999", "the feature value '1e999' is infinite"),
    "value beyond float32": (
        "1 qid:1 1:1e39",
        "the feature value '1e39' does not fit float32; pass dtype=numpy.float64",
    ),
    "long token": ("1 qid:1 1:" + "x" * 100, "the feature value '" + "x" * 39 + "…' is not a number"),
    "non-ASCII digits": ("1 qid:1 1:１", "the feature value '１' is not a number"),
    "binary": (b"1 qid:1 1:0.5 \x00\x01", "control byte 0x00; this is not a text file"),
    "not UTF-8": (b"1 qid:1 1:0.5 # caf\xe9", "byte 0xe9 is not valid UTF-8"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_line_is_named(write, case):
    line, problem = MALFORMED[case]
    content = (GOOD * 3).encode() + (line.encode() if isinstance(line, str) else line) + b"\n" + GOOD.encode()
    path = write(content)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared below
        read_letor(path, features=3)
    assert f"{path}, line 4: " in str(caught.value)
    assert problem in str(caught.value)


def test_line_numbers_count_blank_lines_and_earlier_chunks(write):
    path = write(GOOD * 70_000 + "\n# remark\n" + "1 qid:1 1:x\n")
    with pytest.raises(ValueError, match="line 70003: the feature value 'x'"):
        read_letor(path)


@pytest.mark.parametrize("content", ["", "\n\n", "# nothing but a remark\n", gzip.compress(b"", mtime=0)])
def test_a_file_without_documents(write, content):
    with pytest.raises(ValueError, match="the file holds no documents"):
        read_letor(write(content))


def test_a_table_beyond_the_limit_is_refused_before_it_is_made(write):
    with pytest.raises(ValueError, match="2 rows of 900000000 features need 7200000000 bytes"):
        read_letor(write(GOOD + "1 qid:1 900000000:1\n"), max_bytes=2**30)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"features": 0}, ValueError, "features must be a whole number of at least 1, got 0"),
        ({"features": "3"}, TypeError, "features must be a whole number of at least 1, got '3'"),
        ({"features": True}, TypeError, "features must be a whole number of at least 1"),
        ({"dtype": np.int32}, TypeError, "dtype must be float32 or float64, got int32"),
    ],
)
def test_wrong_arguments(write, arguments, error, message):
    with pytest.raises(error, match=message):
        read_letor(write(GOOD), **arguments)


def test_a_missing_file_is_the_usual_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_letor(tmp_path / "none.txt")


class TestIdsThatAreOneNumber:
    def test_a_warning_names_both_lines(self, write):
        path = write("1 qid:1 1:1\n\n# a comment\n0 qid:01 1:2\n2 qid:1 1:3\n")
        said = r"line 1: query '1' and, in line 4, '01' are two queries here, but one number: XGBoost and scikit-learn"
        with pytest.warns(UserWarning, match=said):
            data = read_letor(path)
        assert (data.qid.tolist(), data.query_ids.tolist()) == ([0, 1, 0], ["1", "01"])

    def test_as_scikit_learn_reads_them(self, write):
        svmlight = pytest.importorskip("sklearn.datasets")
        _, _, qid = svmlight.load_svmlight_file(str(write("1 qid:1 1:1\n0 qid:01 1:2\n")), query_id=True)
        assert qid.tolist() == [1, 1]

    @pytest.mark.parametrize("ids", [("+5", "5"), ("1.0", "1"), ("-02", "-2"), ("0", "-0"), ("00", "0.")])
    def test_other_ways_to_write_one_number(self, write, ids):
        with pytest.warns(UserWarning, match="but one number"):
            read_letor(write("".join(f"1 qid:{name} 1:1\n" for name in ids)))

    def test_the_first_of_many(self, write):
        with pytest.warns(UserWarning, match="line 1: query '1' and, in line 3, '01' .*; so are 1 more"):
            read_letor(write("".join(f"1 qid:{name} 1:1\n" for name in ("1", "2", "01", "002"))))

    def test_texts_and_other_numbers_are_not_alike(self, write):
        ids = ["1", "10", "-1", "a1", "a01", "1e1", ".", "1.5", "01.5"]
        data = read_letor(write("".join(f"1 qid:{name} 1:1\n" for name in ids)))
        assert data.query_ids.tolist() == ids

    def test_lines_of_a_chunk_read_line_by_line(self, write):
        with pytest.warns(UserWarning, match="line 1: query '1' and, in line 3, '01'"):
            read_letor(write(f"1 qid:1 1:1\n1 qid:{'x' * 90} 1:1\n1 qid:01 1:1\n"))


class TestSeveralFiles:
    @pytest.fixture
    def files(self, tmp_path):
        texts = ["2 qid:1 1:1 # docid = a\n0 qid:2 1:2 # docid = b\n", "1 qid:3 1:3 3:4 # docid = c\n"]
        paths = [tmp_path / f"{number}.txt" for number in range(2)]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text)
        return paths

    def test_rows_one_file_after_the_other(self, files):
        data = read_letor(files)
        assert data.features.tolist() == [[1, 0, 0], [2, 0, 0], [3, 0, 4]]
        assert (data.labels.tolist(), data.qid.tolist()) == ([2, 0, 1], [0, 1, 2])
        assert (data.query_ids.tolist(), data.document_ids) == (["1", "2", "3"], ("a", "b", "c"))

    def test_a_query_in_two_files_is_refused_with_both_lines(self, files):
        files[1].write_text("\n1 qid:3 1:3\n1 qid:2 1:3\n")
        with pytest.raises(
            ValueError, match=r"1\.txt, line 3: query '2' stands in .*0\.txt, line 2, too: pass shared_ids="
        ):
            read_letor(files)

    @pytest.mark.parametrize(
        ("shared_ids", "qid", "ids"), [("separate", [0, 1, 2], ["1", "2", "2"]), ("join", [0, 1, 1], ["1", "2"])]
    )
    def test_what_a_query_in_two_files_means(self, files, shared_ids, qid, ids):
        files[1].write_text("1 qid:2 1:3\n")
        data = read_letor(files, shared_ids=shared_ids)
        assert (data.qid.tolist(), data.query_ids.tolist()) == (qid, ids)

    def test_ids_of_one_number_in_two_files(self, files):
        files[1].write_text("1 qid:02 1:3\n")
        with pytest.warns(UserWarning, match=r"0\.txt, line 2: query '2' and, in line 1 of .*1\.txt, '02' are two"):
            read_letor(files)
        assert len(read_letor(files, shared_ids="separate").query_ids) == 3  # without a warning

    def test_an_empty_file_among_them(self, files):
        files[0].write_text("\n")
        with pytest.raises(ValueError, match=r"0\.txt: the file holds no documents"):
            read_letor(files)

    def test_an_error_names_its_file(self, files):
        files[1].write_text("1 qid:9 1:x\n")
        with pytest.raises(ValueError, match=r"1\.txt, line 1: the feature value 'x'"):
            read_letor(files)

    def test_no_file(self):
        with pytest.raises(ValueError, match="path is an empty list"):
            read_letor([])

    def test_did_you_mean(self, files):
        with pytest.raises(ValueError, match=r"shared_ids must be .*; did you mean 'separate'"):
            read_letor(files, shared_ids="seperate")
