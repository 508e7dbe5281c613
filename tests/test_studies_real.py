"""The studies of public collections, movie queries and Cranfield: counts, features, a sample of the results."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gainwise as gw

ROOT = Path(__file__).parents[1]
STUDIES = ROOT / "research" / "studies"
QRELS = {"dl19-passage": "1 0 a 3\n1 0 b 1\n2 0 c 0\n2 0 d 0\n", "web.51-100": "1 0 a -2\n1 0 b 2\n1 0 c 1\n"}
MOVIES = [
    {"id": "1", "title": "Amélie", "overview": "A waitress in Paris", "director": "Jeunet", "votes": 10},
    {"id": "2", "title": "Saw V", "overview": "A trap", "director": "", "votes": 20},
    {"id": "3", "title": "Saw", "overview": "Another trap in 2004", "director": "", "votes": 30},
]
JUDGMENTS = [
    ("q1", "amelie paris", "1", 1), ("q1", "amelie paris", "2", 0), ("q1", "amelie paris", "9", 1),
    ("q2", "saw", "2", 1), ("q2", "saw", "3", 1),
    ("q3", "unknown", "1", 0), ("q3", "unknown", "9", 1),
]  # fmt: skip
ABSTRACTS = (
    ".I 1\n.T\nheat flow\n.A\nsmith\n.B\nj. 1958\n.W\nheat flow in slabs\n.I 2\n.T\nwings\n.W\nwings of aircraft\n"
)
QUERIES = ".I 004\n.W\nheat in slabs\n.I 009\n.W\naircraft\n"


@pytest.fixture(autouse=True)
def path_of_studies(monkeypatch):
    monkeypatch.syspath_prepend(str(STUDIES))


def require_data(folder: Path) -> Path:
    if not folder.is_dir():
        pytest.skip(f"data of others, which are not part of gainwise: GAINWISE_SHARED_DATA has no {folder.name}")
    return folder


def write_gzip(path: Path, text: str) -> None:
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


class TestSurvey:
    def test_results_are_those_of_the_data(self, shared_data):
        from records import read_results
        from survey import read_collections, study_collection

        stored = read_results("survey")["collections"]
        names = ["backgroundlinking18", "hc4-neuclir22-ru", "rag24"]
        qrels, unreadable = read_collections(require_data(shared_data / "qrels-survey"), names)
        assert not unreadable
        for name, frame in qrels.items():
            computed = json.loads(json.dumps(study_collection(name, frame)))
            assert computed.keys() == stored[name].keys()
            for key in ("findings", "documents_by_label", "queries", "queries_without_relevant", "properties"):
                assert computed[key] == stored[name][key], key
            for key in ("two_rankings", "one_ranking", "chance"):
                assert computed[key] == pytest.approx(stored[name][key], rel=1e-12), key

    def test_missing_and_damaged_files_are_listed(self, tmp_path):
        from survey import read_collections

        for name, text in QRELS.items():
            write_gzip(tmp_path / f"{name}.txt.gz", text)
        complete = (tmp_path / "web.51-100.txt.gz").read_bytes()
        (tmp_path / "web.51-100.txt.gz").write_bytes(complete[:-12])
        write_gzip(tmp_path / "core17.txt.gz", "1 0 a\n")
        read, unreadable = read_collections(tmp_path, ["dl19-passage", "web.51-100", "core17", "rag24"])
        assert list(read) == ["dl19-passage"]
        assert unreadable["rag24"] == "the file is missing"
        assert set(unreadable) == {"web.51-100", "core17", "rag24"}
        assert all(str(tmp_path) not in reason for reason in unreadable.values())

    def test_queries_without_relevant_documents_and_negative_labels_are_counted(self, tmp_path):
        from survey import read_collections, study_collection

        for name, text in QRELS.items():
            write_gzip(tmp_path / f"{name}.txt.gz", text)
        read, _ = read_collections(tmp_path, list(QRELS))
        studies = {name: study_collection(name, frame) for name, frame in read.items()}
        assert studies["dl19-passage"]["queries_without_relevant"] == 1
        assert studies["dl19-passage"]["queries_with_equal_gains"] == 1
        assert "negative labels" in studies["web.51-100"]["findings"]
        assert studies["web.51-100"]["properties"]["different grades"] == 1.0


class TestMovies:
    @pytest.fixture
    def folder(self, tmp_path, monkeypatch):
        import movies

        common = {"tags": ["film"], "genres": ["Drama"], "actors": ["A B"], "characters": ["C"], "year": 2004}
        corpus = "\n".join(json.dumps({**common, "popularity": 1.0, "rating": 5.0, "budget": 0, **m}) for m in MOVIES)
        lines = "\n".join("\t".join(map(str, row)) for row in [("query_id", "query", "doc_id", "grade"), *JUDGMENTS])
        write_gzip(tmp_path / movies.CORPUS, corpus)
        write_gzip(tmp_path / movies.JUDGMENTS, lines + "\n")
        monkeypatch.setattr(movies, "SIZES", {"judgments": 7, "queries": 3, "movies": 3})
        return tmp_path

    def test_judgments_of_unknown_movies_are_counted(self, folder):
        from movies import read_movies

        read = read_movies(folder)
        assert read.counts["judgments_of_unknown_movies"] == 2
        assert read.counts["relevant_judgments_of_unknown_movies"] == 2
        assert read.counts["queries_without_relevant"] == 1
        assert read.counts["judgments_used"] == 4
        assert read.queries["movie"].to_dict() == {"q1": 0, "q2": 2}

    def test_features(self, folder):
        pytest.importorskip("bm25s")
        from movies import FEATURES, compute_features, read_movies

        table = compute_features(read_movies(folder))
        values = dict(zip(FEATURES, table.T, strict=True))
        idf = np.log(1 + (3 - 1 + 0.5) / (1 + 0.5))  # "amelie" is in one of three titles, whose mean length is 4/3.
        assert values["bm25_title"][0] == pytest.approx(idf / (1 + 1.2 * (0.25 + 0.75 * 1 / (4 / 3))), abs=5e-4)
        assert values["title_equals_query"].tolist() == [0, 0, 0, 1]
        assert values["title_in_query"].tolist() == [1, 0, 0, 1]
        assert values["query_in_title"].tolist() == [0, 0, 1, 1]
        assert values["share_of_query_anywhere"].tolist() == [1, 0, 1, 1]

    def test_near_copies_of_test_queries_are_removed(self):
        from movies import remove_near_copies

        rng = np.random.default_rng(0)
        features = rng.normal(size=(60, 3)).astype(np.float32)
        features[20:24] = features[40:44]  # Query 4 of the training set is query 8 of the test set, apart from a row.
        features[30:33] = features[50:53]  # Query 6 of the validation set shares three of five rows with query 10.
        data = gw.RankingData(features, np.tile([1.0, 0, 0, 0, 0], 12), qid=np.repeat(np.arange(12), 5))
        parts = {"train": range(5), "validation": range(5, 8), "test": range(8, 12)}
        kept = remove_near_copies({name: data.take_queries(list(codes)) for name, codes in parts.items()})
        assert [len(kept[name].query_ids) for name in parts] == [4, 2, 4]
        assert not [finding for finding in gw.check(kept).findings if finding.code == "leak"]


class TestCranfield:
    @pytest.fixture
    def folder(self, tmp_path, monkeypatch):
        import cranfield

        write_gzip(tmp_path / "cran.all.1400.gz", ABSTRACTS)
        (tmp_path / "cran.qry").write_text(QUERIES)
        (tmp_path / "cranqrel").write_text("1 1 1\n1 2 4\n2 2 2\n2 2 2\n2 7 1\n3 1 1\n2 1 5\n")
        monkeypatch.setattr(cranfield, "SIZES", {"abstracts": 2, "queries": 2, "judgments": 7})
        return tmp_path

    def test_numbers_are_positions_and_codes_are_grades(self, folder):
        pytest.importorskip("bm25s")
        from cranfield import read_cranfield

        data, counts = read_cranfield(folder)
        assert data.labels.tolist() == [4, 1, 0, 3]
        assert data.document_ids == ("1", "2", "1", "2")
        assert counts["judgments_of_unknown_documents"] == 2
        assert counts["judgments_with_another_code"] == 1
        assert counts["repeated_judgments"] == 1
        assert counts["relevant_not_retrieved"] == 0


@pytest.mark.nightly
def test_a_sample_of_the_release_repeats(shared_data, tmp_path):
    pytest.importorskip("bm25s", reason="BM25 for the study of the release: pip install --group studies")
    data = require_data(shared_data / "msrd")
    command = [sys.executable, str(STUDIES / "release.py"), "--data", str(data), "--sample"]
    texts = []
    for name in ("first", "second"):
        features = tmp_path / "first" / "features.npy"
        if features.exists():
            (tmp_path / name).mkdir()
            (tmp_path / name / features.name).write_bytes(features.read_bytes())
        output = tmp_path / f"{name}.json"
        subprocess.run(
            [*command, "--cache", str(tmp_path / name), "--output", str(output)], check=True, capture_output=True
        )
        texts.append(output.read_text("utf-8"))
    assert texts[0] == texts[1]
    results = json.loads(texts[0])["results"]
    assert results["data"]["judgments_of_unknown_movies"] == 374
    assert results["chance"]["ndcg_linear@10"] < results["production_means"]["ndcg_linear@10"]


@pytest.mark.nightly
def test_figures_are_the_same_without_gainwise(shared_data):
    folders = {name: require_data(shared_data / name) for name in ("qrels-survey", "msrd")}
    command = [sys.executable, str(STUDIES / "independent_check.py")]
    options = ["--qrels", str(folders["qrels-survey"]), "--movies", str(folders["msrd"])]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
