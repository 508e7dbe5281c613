"""Names and texts that come from anywhere: what SECURITY.md promises of errors, files and reports."""

from __future__ import annotations

import gzip
import io
import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import gainsay as gs
from gainsay.cli.inputs import from_table, named_files
from gainsay.data import read_scores
from gainsay.experiment import Candidate

HALF = "half \ud83d"


class TestNamesThatCannotBeWritten:
    """Halves of surrogate pairs: Python holds them, no file and no table does."""

    JUDGMENTS = gs.Judgments([0, 1, 2, 0], group=[2, 2])

    @pytest.mark.parametrize(
        ("make", "start"),
        [
            (lambda self: gs.compare({HALF: [1, 2, 3, 4]}, self.JUDGMENTS), "the name of a model"),
            (lambda self: gs.Comparison({"a": np.ones((3, 1))}, [HALF]).leaderboard, r"models\[0\]"),
            (lambda self: gs.Verdict.from_values(np.eye(3), np.eye(3), models=["a", "b", HALF]), r"models\[2\]"),
            (lambda self: gs.compare_runs({HALF: {"q": {"d": 1.0}}}, {"q": {"d": 1}}), "the name of a run"),
            (lambda self: gs.evaluate_run("mrr", {HALF: {"d": 1.0}}, {"q": {"d": 1}}), "run has the id"),
            (lambda self: gs.evaluate_run("mrr", {"q": {"d": 1.0}}, {"q": {HALF: 1}}), "qrels has the id"),
            (lambda self: gs.Judgments([0, 1], qid=[HALF, "b"]), "the query id"),
            (lambda self: gs.Judgments([0, 1], qid=np.array([HALF, 1], dtype=object)), "the query id"),
            (lambda self: gs.RankingData(np.ones((1, 1)), [1], qid=[HALF]), "the query id"),
            (
                lambda self: gs.RankingData(np.ones((1, 1)), [1], group=[1], query_ids=[HALF]),
                r"query_ids\[0\]",
            ),
            (
                lambda self: gs.RankingData(np.ones((2, 1)), [1, 0], group=[2], document_ids=["d", HALF]),
                r"document_ids\[1\]",
            ),
            (lambda self: Candidate(HALF, "lightgbm"), "name"),
            (lambda self: named_files([f"{HALF}=x"]), "the name in"),
            (lambda self: gs.data.write_run({HALF: {"d": 1.0}}, "x"), "run has the id"),
        ],
    )
    def test_are_refused_where_they_come_in(self, make, start):
        with pytest.raises(ValueError, match=rf"^{start}.*half \\ud83d"):
            make(self)


HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "</text></svg><script>alert(1)</script>",
    "]]><!--",
    "javascript:alert(1)",
    "[a](javascript:alert(1))",
    "![a](https://example.com/a.png)",
    "<https://example.com>",
    "https://example.com/x",
    "www.example.com",
    "a|b|c",
    "a\n\n# heading",
    "1. one",
    "- item",
    "> quote",
    "&lt;b&gt;",
    '" onload="alert(1)',
    "{{ 7 * 7 }}{% raw %}",
)


@pytest.fixture(scope="module")
def comparison():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 4, 600)
    scores = {name: labels * rng.random() + rng.normal(size=600) for name in HOSTILE}
    qid = np.array([f"<b onclick=x>{number}|[q](x)</b>" for number in range(30)])[np.repeat(np.arange(30), 20)]
    return gs.compare(scores, gs.Judgments(labels, qid=qid), ["ndcg_linear@10", "ndcg_exp@10"], draws=500)


class Elements(HTMLParser):
    """Collects elements with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


class TestReportsShowNamesAndDoNotRunThem:
    def harmless(self, elements, scripts):
        assert sum(tag == "script" for tag, _ in elements) == scripts
        for tag, attributes in elements:
            assert tag not in ("iframe", "object", "embed", "foreignobject", "b"), tag
            assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
            for name in ("href", "src", "xlink:href", "action", "formaction", "data"):
                value = attributes.get(name) or ""
                assert value in ("", "data:,", "report.json") or value.startswith("#"), (tag, attributes)

    def test_html(self, comparison, tmp_path):
        pytest.importorskip("jinja2")
        text = comparison.to_html(tmp_path / "report.html").read_text("utf-8")
        self.harmless(Elements(text).found, scripts=1)
        assert "49{%" not in text  # no template in a name was rendered

    def test_pictures(self, comparison):
        pytest.importorskip("matplotlib")
        import matplotlib

        written = io.StringIO()
        with matplotlib.rc_context({"svg.fonttype": "none"}):
            comparison.plot.ranks().figure.savefig(written, format="svg")
        self.harmless(Elements(written.getvalue()).found, scripts=0)
        texts = [node.text or "" for node in ET.fromstring(written.getvalue()).iter("{http://www.w3.org/2000/svg}text")]
        assert any("<script>" in text for text in texts)  # shown as text

    def test_notebooks(self, comparison):
        self.harmless(Elements(comparison._repr_html_()).found, scripts=0)
        self.harmless(Elements(comparison.verdict._repr_html_()).found, scripts=0)

    def test_markdown(self, comparison):
        markdown = pytest.importorskip("markdown_it")
        text = comparison.to_markdown()
        tokens = markdown.MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
        inline = [child.type for token in tokens for child in token.children or ()]
        assert not {"link_open", "image", "html_inline", "code_inline"} & set(inline)
        kinds = {token.type for token in tokens}
        assert not {"html_block", "blockquote_open", "ordered_list_open", "fence", "code_block"} & kinds
        headings = [tokens[place + 1].content for place, token in enumerate(tokens) if token.type == "heading_open"]
        assert not [heading for heading in headings if heading == "heading"]
        rows = "".join(token.type[:2] for token in tokens if token.type in ("tr_open", "td_open")).split("tr")[2:]
        assert len(set(rows[: len(HOSTILE)])) == 1  # the leaderboard: as many cells for every name

    def test_markdown_holds_no_address_that_becomes_a_link_by_itself(self, comparison):
        """GitHub turns bare addresses into links: http://, https://, www."""
        assert not re.search(r"(https?|ftp)://|www\.", comparison.to_markdown())

    def test_json_is_json(self, comparison):
        assert set(json.loads(comparison.to_json())["models"]) == set(HOSTILE)


class TestTables:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("label,query,a\n1,2,3,4\n", "t.csv: rows have more columns than the header"),
            ("label,query,a\n1,2,3\n1,2,3,4\n", r"t.csv, line 3: Expected 3 fields in line 3, saw 4"),
            ("", "t.csv: the file is empty"),
            ("label,query,a\nx,1,1\n", "t.csv: labels must be numbers"),
            ("label,query,a\n1,\xff,1\n".encode("latin1"), "t.csv, line 2: byte 0xff is not valid UTF-8"),
        ],
    )
    def test_errors_name_the_file(self, tmp_path, content, message):
        path = tmp_path / "t.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(ValueError, match=message):
            from_table(path, "label", "query", None)

    def test_text_in_parquet(self, tmp_path):
        pytest.importorskip("pyarrow")
        frame = pd.DataFrame({"query": ["a", "a", "b"], "label": [1, 0, 2], "s": [0.5, 1, 2]})
        frame.to_parquet(tmp_path / "t.parquet")
        judged = from_table(tmp_path / "t.parquet", "label", "query", None)
        assert judged.judgments.query_ids.tolist() == ["a", "b"]
        assert judged.models["s"].tolist() == [0.5, 1, 2]

    def test_compressed_text(self, tmp_path):
        (tmp_path / "t.csv").write_bytes(gzip.compress(b"label,query,s\n1,7,0.5\n0,7,1\n"))
        assert from_table(tmp_path / "t.csv", "label", "query", None).models["s"].tolist() == [0.5, 1]

    def test_models_that_are_none_name_the_file(self, tmp_path):
        from gainsay.cli.inputs import _model

        for library, name, content in (("lightgbm", "m.txt", b"tree\nversion=v4\n"), ("xgboost", "m.json", b"{}")):
            pytest.importorskip(library)
            (tmp_path / name).write_bytes(content)
            with pytest.raises(ValueError, match=rf"{re.escape(name)}: no model of {library}"):
                _model(tmp_path / name)


def test_what_was_written_reads_back(tmp_path):
    """What parts the words of a run is the same for `write_run` as for `read_run`."""
    run = {"1": {"a\u00a0b": 2.0, "c": 1.0}, "\ufeff2": {"d": 1.0}}
    gs.data.write_run(run, tmp_path / "run")
    assert gs.data.read_run(tmp_path / "run")["document"].tolist() == ["a\u00a0b", "c", "d"]
    gs.data.write_run({"\ufeff2": {"d": 1.0}}, tmp_path / "run")
    assert gs.data.read_run(tmp_path / "run")["query"].tolist() == ["\ufeff2"]
    with pytest.raises(ValueError, match="document ids must be words without blanks"):
        gs.data.write_run({"1": {"a\0b": 1.0}}, tmp_path / "run")


def test_npy_of_every_kind_of_number(tmp_path):
    for kind in ("<f4", ">f8", "<i2", "|u1", "<f2"):
        for array in (np.array([1, 2, 3], dtype=kind), np.asfortranarray(np.array([[1], [2], [3]], dtype=kind))):
            written = io.BytesIO()
            np.save(written, array)
            (tmp_path / "s.npy").write_bytes(written.getvalue())
            assert read_scores(tmp_path / "s.npy").tolist() == [1, 2, 3]
