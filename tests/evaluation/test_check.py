"""`gw.check` and `gainwise check`: planted mistakes are found, and real data have at most one warning."""

import gzip
import json

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy.stats import norm
from tests.bad_inputs import BadInput, bad_inputs
from tests.cli.shell import gainwise, json_of

import gainwise as gw
from gainwise.data import read_letor, read_lightgbm, simulate
from gainwise.evaluation.check import CODES, MAX_DOCUMENTS

DATA = simulate(60, seed=2, mean_length=12)
QID = DATA.query_ids[DATA.qid]
ROWS = len(DATA.labels)


def change(features=DATA.features, labels=DATA.labels, **options):
    return gw.RankingData(features, labels, **({"qid": QID} if "group" not in options else {}), **options)


def codes_of(data, **options):
    """Return the codes of errors and warnings."""
    return {found.code: found.severity for found in gw.check(data, **options).findings if found.severity != "info"}


def with_column(values):
    return change(np.column_stack([DATA.features, values]))


def sort_rows(data, *keys):
    rows = np.lexsort(keys)
    return gw.RankingData(data.features[rows], data.labels[rows], qid=QID[rows])


def repeat_row(label):
    """Repeat the first row, with a label."""
    features, labels = np.vstack([DATA.features, DATA.features[:1]]), np.append(DATA.labels, label)
    order = np.argsort(np.append(DATA.qid, DATA.qid[0]), kind="stable")
    return gw.RankingData(features[order], labels[order], qid=np.append(QID, QID[0])[order])


def with_documents():
    ids = np.arange(ROWS).astype(str)
    ids[1] = ids[0]
    return change(document_ids=ids)


def with_value(value):
    features = DATA.features.copy()
    features[3, 2] = value
    return change(features)


LONG = gw.Judgments(np.arange(MAX_DOCUMENTS + 1) % 2, group=[MAX_DOCUMENTS + 1])
BOTH = {"lightgbm": "error", "xgboost": "error", "catboost": "info"}
PLANTED = [
    ("duplicate documents", with_documents(), "warning", {}),
    ("contradictory rows", repeat_row(DATA.labels[0] + 1), "warning", {}),
    ("scattered rows", sort_rows(DATA, np.random.default_rng(0).random(ROWS)), "info", BOTH | {"catboost": "info"}),
    ("gains", change(labels=DATA.labels * 7), None, {}),
    ("gains", change(labels=DATA.labels * 8), "warning", {}),
    ("gains", change(labels=np.array([0, 1, 10, 100, 1000])[DATA.labels.astype(int)]), "warning", {}),
    ("large labels", change(labels=DATA.labels * 8), "info", BOTH),
    ("large labels", change(labels=np.where(DATA.labels == 4, 31, DATA.labels)), "warning", {"lightgbm": "error"}),
    ("fractional labels", change(labels=DATA.labels / 2), "warning", BOTH),
    ("negative labels", change(labels=DATA.labels - 1), "info", BOTH),
    ("long queries", LONG, "info", {"lightgbm": "error", "xgboost": "info"}),
    ("sorted labels", sort_rows(DATA, -DATA.labels, DATA.qid), "warning", {}),
    ("chance", DATA, "info", {}),
    ("uninformative queries", change(labels=(DATA.qid < 20) * DATA.labels), "warning", {}),
    ("uninformative queries", change(labels=(DATA.qid < 50) * DATA.labels), "info", {}),
    ("label in features", with_column(DATA.labels), "warning", {}),
    (
        "label in features",
        with_column(5 - 2 * DATA.labels + 0.1 * np.random.default_rng(0).random(ROWS)),
        "warning",
        {},
    ),
    ("label in features", with_column(np.where(np.arange(ROWS) % 3, np.nan, DATA.labels)), "warning", {}),
    ("label in features", with_column(np.where(np.arange(ROWS) < ROWS - 9, np.nan, DATA.labels)), None, {}),
    ("label in features", with_column(np.where(DATA.labels == 1, 1, np.nan)), None, {}),
    ("constant features", with_column(np.ones(ROWS)), "info", {}),
    ("duplicate features", with_column(DATA.features[:, 4]), "info", {}),
    ("query features", with_column(DATA.qid % 7), "info", {}),
    ("missing values", with_value(np.nan), "info", {}),
    ("infinite values", with_value(np.inf), "error", {}),
    ("few queries", DATA, "info", {}),
    ("document weights", change(weight=np.random.default_rng(0).random(ROWS)), "info", {}),
]


@pytest.mark.parametrize(("code", "data", "severity", "by_library"), PLANTED, ids=[row[0] for row in PLANTED])
def test_planted_mistakes(code, data, severity, by_library):
    assert code not in {found.code for found in gw.check(DATA).findings} or severity == "info"
    for library, expected in {None: severity, **by_library}.items():
        found = {found.code: found.severity for found in gw.check(data, library=library).findings}
        assert found.get(code) == expected
        assert code not in {found.code for found in gw.check(data, library=library, ignore=[code]).findings}


@pytest.mark.parametrize(
    ("documents", "labels", "text"),
    [
        ("aabc", [1, 1, 0, 2], "1 row repeats a document of the same query with the same label."),
        ("aabc", [1, 0, 0, 2], "1 row repeats a document of the same query with another label."),
        ("aaab", [1, 1, 0, 2], "2 rows repeat a document of the same query, 1 of them with another label."),
        ("aaab", [1, 1, 1, 2], "2 rows repeat a document of the same query with the same label."),
    ],
)
def test_labels_of_repeated_documents(documents, labels, text):
    frame = pd.DataFrame({"query": 1, "document": list(documents), "label": labels})
    (found,) = (found for found in gw.check(frame, document="document").findings if "document" in found.code)
    assert (found.code, found.text) == ("duplicate documents", f"{text} Keep one row of each.")


@pytest.mark.parametrize(
    ("labels", "queries", "rows"),
    [([0, 1, 1, 0], [7, 7, 7, 7], (0, 1, 2)), ([2, 1, 1, 0], [7, 8, 8, 8], ()), ([1, 1, 0, 3], [7, 8, 7, 8], (0, 2))],
)
def test_every_contradictory_row_is_counted(labels, queries, rows):
    frame = pd.DataFrame({"query": queries, "label": labels, "a": [5.0, 5, 5, 6], "b": [0.0, 0, 0, 1]})
    found = [found for found in gw.check(frame).findings if found.code == "contradictory rows"]
    assert [finding.rows for finding in found] == ([rows] if rows else [])
    assert all(finding.text.startswith(f"{len(rows)} of 4 rows have the features of another row") for finding in found)


def test_columns_that_are_not_checked_are_listed():
    frame = pd.DataFrame({"query": [1, 1], "label": [0, 1], "a": [0.5, 1.5], "b": [1.0, "1,000"], "c": ["x", "y"]})
    (sentence,) = gw.check({"train": frame}).not_checked
    assert sentence.startswith("b and c of train, because")
    assert gw.check(frame.drop(columns=["b", "c"]).assign(d=pd.Categorical(["x", "y"]))).not_checked == ()


def test_verbs_agree_with_the_number_of_their_subject():
    rows = DATA.qid == 0
    one = gw.RankingData(DATA.features[rows], np.zeros(rows.sum()), group=[rows.sum()])
    assert "1 of 1 query has one document or equal labels (0 have one document, 1 has no" in gw.check(one).text
    for library, words in (("lightgbm", "LightGBM supports at most 30"), ("xgboost", "XGBoost supports at most 31")):
        assert words in gw.check(change(labels=DATA.labels * 8), library=library).text
    assert "ranking objectives support at most 30" in str(gw.check(change(labels=DATA.labels * 8)).findings)
    parts = {"train": DATA, "valid": DATA.take_queries([0])}
    assert "1 of 1 query of valid has all or most rows in train" in gw.check(parts).text


def test_every_code_is_tested():
    assert {code for code, *_ in PLANTED} | {"groups", "leak", "same ids", "column order", "clusters"} == set(CODES)


def test_clean_data_have_no_warning():
    for seed in range(3):
        train, valid = simulate(100, seed=seed).split_queries(0.7, 0.3, seed=1)
        for library in (None, "lightgbm", "xgboost"):
            assert codes_of({"train": train, "valid": valid}, library=library) == {}
        sets = {
            name: lgb.Dataset(part.features, part.labels, group=part.group)
            for name, part in (("a", train), ("b", valid))
        }
        assert codes_of(sets) == codes_of({"a": xgb.DMatrix(train.features, train.labels, qid=train.qid)}) == {}


@pytest.mark.parametrize(
    "group", [DATA.group[:-1], np.repeat(DATA.group, DATA.group), DATA.qid, None], ids=["short", "rows", "ids", "none"]
)
def test_wrong_groups(group):
    result = gw.check(lgb.Dataset(DATA.features, DATA.labels, group=group))
    assert [(found.code, found.severity) for found in result.findings] == [("groups", "error")]
    if group is not None and len(group) < ROWS:
        matrix = xgb.DMatrix(DATA.features, DATA.labels, group=group)
        assert codes_of(matrix) == {"groups": "error"}


class TestParts:
    TRAIN, VALID = DATA.split_queries(0.7, 0.3, seed=1)
    BOTH = gw.RankingData.concatenate([TRAIN, VALID])

    @pytest.mark.parametrize(
        "convert",
        [
            lambda data: data,
            lambda data: lgb.Dataset(data.features, data.labels, group=data.group),
            lambda data: xgb.DMatrix(data.features, data.labels, qid=data.qid),
            lambda data: pd.DataFrame(data.features).assign(query=data.query_ids[data.qid], label=data.labels),
        ],
        ids=["RankingData", "Dataset", "DMatrix", "DataFrame"],
    )
    def test_leaks(self, convert):
        parts = {"train": convert(self.BOTH), "valid": convert(self.VALID)}
        result = gw.check(parts)
        (leak,) = (found for found in result.findings if found.code == "leak")
        number = int((self.VALID.group > 1).sum())
        assert (leak.severity, leak.part) == ("error", "valid")
        assert f"{number} of {len(self.VALID.query_ids)} queries of valid" in leak.text
        assert "leak" not in codes_of({"train": convert(self.TRAIN), "valid": convert(self.VALID)})

    def test_judgments_leak_by_documents(self):
        def judge(data, **options):
            return gw.Judgments(data.labels, qid=data.query_ids[data.qid], **options)

        ids = {"document_ids": np.arange(len(self.BOTH.labels))}
        last = {"document_ids": np.arange(len(self.TRAIN.labels), len(self.BOTH.labels))}
        assert "leak" in codes_of({"train": judge(self.BOTH, **ids), "valid": judge(self.VALID, **last)})
        result = gw.check({"train": judge(self.BOTH), "valid": judge(self.VALID)})
        assert "Leaks between train and valid" in " ".join(result.not_checked)

    def test_same_ids_and_clusters(self):
        other = gw.RankingData(self.VALID.features + 1, self.VALID.labels, qid=self.VALID.query_ids[self.VALID.qid])
        users = {name: number % 5 for number, name in enumerate(DATA.query_ids.tolist())}
        found = gw.check({"a": self.VALID, "b": other}, clusters=users).findings
        assert [(one.code, one.severity) for one in found if one.code in ("same ids", "clusters")] == [
            ("same ids", "warning"),
            ("clusters", "info"),
        ]
        series = gw.check({"a": self.VALID, "b": other}, clusters=pd.Series(users)).findings
        assert [str(one) for one in series] == [str(one) for one in found]
        frames = [
            pd.DataFrame({"query": part.qid, "label": part.labels, "user": part.qid % 3})
            for part in (self.TRAIN, other)
        ]
        codes = [found.code for found in gw.check(dict(zip("ab", frames, strict=True)), clusters="user").findings]
        assert "clusters" in codes
        assert "same ids" not in codes  # 0, 1, 2, … only number the queries


class TestColumnOrder:
    FRAME = pd.DataFrame(DATA.features[:, :3], columns=["a", "b", "c"])
    OTHER = FRAME[["c", "a", "b"]]

    def make(self, features, reference=None):
        return lgb.Dataset(features, DATA.labels, group=DATA.group, reference=reference, free_raw_data=False)

    def evaluate(self, features):
        """Return the NDCG that LightGBM prints for these features."""
        train, printed = self.make(self.FRAME), {}
        valid = self.make(features, train)
        params = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "verbose": -1, "num_threads": 1}
        lgb.train(params, train, 3, valid_sets=[valid], callbacks=[lgb.record_evaluation(printed)])
        return printed["valid_0"]["ndcg@10"][-1]

    def test_lightgbm_ignores_the_names(self):
        assert self.evaluate(self.OTHER) == self.evaluate(self.OTHER.to_numpy()) != self.evaluate(self.FRAME)

    def test_is_a_finding_if_lightgbm_may_ignore_it(self):
        frames = [frame.assign(query=DATA.qid, label=DATA.labels) for frame in (self.FRAME, self.OTHER)]
        frames[1] = frames[1][DATA.qid > 20]
        for library, severity in ((None, "warning"), ("lightgbm", "warning"), ("xgboost", None), ("catboost", None)):
            found = codes_of(dict(zip("ab", frames, strict=True)), library=library)
            assert found.get("column order") == severity
            assert "column order" not in codes_of({"a": frames[0], "b": frames[0][["label", "query", *"abc"]]})
        train = self.make(self.FRAME)
        assert codes_of({"a": train, "b": self.make(self.OTHER, train)})["column order"] == "error"
        assert "column order" not in codes_of({"a": train, "b": self.make(self.OTHER.to_numpy(), train)})


def test_results_have_text_frame_and_json():
    result = gw.check({"train": with_column(DATA.labels), "valid": LONG})
    lines = str(result).split("\n")
    assert [line.split()[0] for line in lines] == ["warning:", "info:", "not"]
    assert "train: feature 30 is equal to the label" in lines[0]
    assert next(iter(result.frame["code"])) == "label in features"
    assert json.loads(json.dumps(result.to_dict()))["findings"][0]["severity"] == "warning"
    assert "label in features" not in result._repr_html_()
    assert (result.reaches("error"), result.reaches("warning"), result.reaches("info")) == (False, True, True)


@pytest.mark.slow
def test_command(tmp_path):
    frame = pd.DataFrame(DATA.features).assign(query=QID, label=DATA.labels)
    frame.to_csv(tmp_path / "train.csv", index=False)
    frame[frame["query"] < "q3"].to_csv(tmp_path / "valid.csv", index=False)
    call = f"check train={tmp_path}/train.csv valid={tmp_path}/valid.csv"
    result = gainwise(call)
    assert (result.exit_code, result.stdout[:14]) == (3, "error: valid: ")
    assert gainwise(f"{call} --ignore leak").exit_code == 0
    assert gainwise(f"{call} --ignore leak --fail-on info").exit_code == 3
    content = json_of(call, code=3)
    parts = {name: gw.check(pd.read_csv(tmp_path / f"{name}.csv")).to_dict()["findings"] for name in ("train", "valid")}
    assert next(found["code"] for found in content["findings"]) == "leak"
    assert len(content["findings"]) == 1 + sum(map(len, parts.values()))


def test_command_reads_ids_as_written(tmp_path):
    """01 and 1 are two documents and two users, and NA is a document. The suffix may be in upper case."""
    for part, user in (("a", "01"), ("b", "1")):
        rows = [f"{part}{query},{query % 2},{name},{user}" for query in range(4) for name in ("01", "1", "NA", "1.0")]
        (tmp_path / f"{part}.CSV").write_text("\n".join(["query,label,document,user", *rows]) + "\n")
    content = json_of(f"check {tmp_path}/a.CSV {tmp_path}/b.CSV --document document --clusters user")
    assert {"duplicate documents", "clusters"}.isdisjoint(finding["code"] for finding in content["findings"])


def test_weights_of_a_dataset_and_features_of_a_matrix():
    rng = np.random.default_rng(0)
    for weight, count in ((rng.random(ROWS), 1), (rng.random(len(DATA.group))[DATA.qid], 0)):
        result = gw.check(lgb.Dataset(DATA.features, DATA.labels, group=DATA.group, weight=weight))
        assert [found.code for found in result.findings].count("document weights") == count
    for matrix in (xgb.DMatrix, xgb.QuantileDMatrix):  # They do not contain the features as they were passed.
        result = gw.check(matrix(np.c_[DATA.features, DATA.labels], DATA.labels, qid=DATA.qid))
        assert "label in features" not in {found.code for found in result.findings}


def test_parts_without_clusters_are_listed():
    frame = pd.DataFrame({"query": [7, 7, 8, 8], "label": [1, 0, 0, 1], "user": [1, 1, 2, 2]})
    numbered = gw.Judgments([1, 0, 0, 1], group=[2, 2])

    def list_unchecked(clusters, **parts):
        sentences = gw.check(parts, clusters=clusters, query="query").not_checked
        return [sentence for sentence in sentences if sentence.startswith("Clusters")]

    assert list_unchecked("user", a=frame) == []
    assert list_unchecked({7: "u"}, a=frame) == []
    assert list_unchecked("user", a=frame, b=DATA) == [
        "Clusters of b, because its RankingData has no columns of clusters."
    ]
    assert list_unchecked({"q": "u"}, a=frame) == ["Clusters of a, because clusters contains none of its query ids."]
    assert list_unchecked({7: "u"}, a=frame, b=numbered) == [
        "Clusters of b, because it has no ids of queries, or they only number the queries."
    ]
    assert list_unchecked(None, a=frame, b=numbered) == []


def test_numbers_of_findings():
    found = {finding.code: str(finding) for finding in gw.check(change(labels=DATA.labels - 1)).findings}
    assert "negative, such as -1." in found["negative labels"]
    assert "Map the labels" in found["negative labels"]
    size = (norm.ppf(0.95) + norm.ppf(0.8)) * 0.1 / np.sqrt(60)
    assert f"differences below {size:.3f}" in found["few queries"]


REPEATED = pd.DataFrame([[1, 0, 5.0, 6.0]], columns=["query", "label", "a", "a"])
BAD = [
    BadInput("no data", lambda: gw.check({}), "data", ValueError, "at least one"),
    BadInput("text", lambda: gw.check("train.txt"), "data", TypeError, "got str"),
    BadInput("library", lambda: gw.check(DATA, library="lgb"), "library", ValueError, "lightgbm"),
    BadInput("code", lambda: gw.check(DATA, ignore=["leaks"]), "ignore", ValueError, "'leak'"),
    BadInput("column", lambda: gw.check(pd.DataFrame({"qid": [1], "label": [1]})), "query=", ValueError, "qid"),
    BadInput("a column twice", lambda: gw.check(REPEATED), "'a'", ValueError, "occurs 2 times"),
    BadInput("no labels", lambda: gw.check(lgb.Dataset(DATA.features, group=DATA.group)), "labels", ValueError, ""),
    BadInput("no labels of a matrix", lambda: gw.check(xgb.DMatrix(DATA.features, qid=DATA.qid)), "labels", ValueError,
             "got a DMatrix"),
    BadInput("no column of queries", lambda: gw.check(REPEATED, query=None), "query", TypeError, "got None"),
    BadInput("list of clusters", lambda: gw.check(DATA, clusters=[1, 2]), "clusters", TypeError, "got list"),
    BadInput("frame of clusters", lambda: gw.check(DATA, clusters=REPEATED), "clusters", TypeError, "got DataFrame"),
]  # fmt: skip


@bad_inputs(BAD)
def test_bad_inputs(case):
    case.check()


@pytest.mark.slow
class TestRealData:
    def test_letor_and_lightgbm(self, shared_data):
        folds = {
            f"fold{number}": read_letor(shared_data / f"clueweb09-ltr/fold{number}.txt.gz") for number in range(1, 5)
        }
        folder = shared_data / "lightgbm-lambdarank"
        example = {name: read_lightgbm(folder / f"rank.{name}", features=300) for name in ("train", "test")}
        for parts in (folds, example):
            assert len(codes_of(parts)) <= 1
            assert all(len(codes_of(part, library="lightgbm")) <= 1 for part in parts.values())

    def test_qrels(self, shared_data):
        folder = shared_data / "qrels-survey"
        if not folder.is_dir():
            pytest.skip("qrels of public collections")
        for path in folder.glob("*.txt.gz"):
            with gzip.open(path, "rt") as file:
                rows = [line.split() for line in file if line.strip()]
            frame = pd.DataFrame(rows, columns=["query", "iteration", "document", "label"]).astype({"label": float})
            found = codes_of(frame[["query", "document", "label"]], document="document")
            assert found == ({"gains": "warning"} if path.name.startswith("backgroundlinking") else {}), path.name
