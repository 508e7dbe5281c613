"""Names and texts from any source in errors, files and reports, as guaranteed by SECURITY.md."""

import base64
import io
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest
from tests.bad_inputs import BadInput, bad_inputs

import gainwise as gw
from gainwise.cli.inputs import InputOptions, load_table
from gainwise.data import read_scores

pytestmark = pytest.mark.slow

HALF = "half \ud83d"
"""Python strings may contain one half of a surrogate pair. No file and no table can."""
JUDGMENTS = gw.Judgments([0, 1, 2, 0], group=[2, 2])


def make_data(**options):
    return gw.RankingData(np.ones((2, 1)), [1, 0], **options)


def unwritable(name, argument, call):
    return BadInput(name, call, argument, ValueError, r"half \ud83d")


@bad_inputs(
    [
        unwritable("model", "name of a model", lambda: gw.compare({HALF: [1, 2, 3, 4]}, JUDGMENTS)),
        unwritable("models of values", "models[0]", lambda: gw.Comparison({"a": np.ones((3, 1))}, [HALF]).leaderboard),
        unwritable("run", "name of a run", lambda: gw.compare_runs({HALF: {"q": {"d": 1.0}}}, {"q": {"d": 1}})),
        unwritable("query of a run", "run", lambda: gw.evaluate_run("mrr", {HALF: {"d": 1.0}}, {"q": {"d": 1}})),
        unwritable("document of qrels", "qrels", lambda: gw.evaluate_run("mrr", {"q": {"d": 1.0}}, {"q": {HALF: 1}})),
        unwritable("qid", "query id", lambda: gw.Judgments([0, 1], qid=[HALF, "b"])),
        unwritable("qid object", "query id", lambda: gw.Judgments([0, 1], qid=np.array([HALF, 1], dtype=object))),
        unwritable("qid of data", "query id", lambda: make_data(qid=[HALF, "q"])),
        unwritable("query_ids", "query_ids[0]", lambda: make_data(group=[1, 1], query_ids=[HALF, "q"])),
        unwritable("document_ids", "document_ids[1]", lambda: make_data(group=[2], document_ids=["d", HALF])),
        unwritable("candidate", "name", lambda: gw.Candidate(HALF, "lightgbm")),
        unwritable("written run", "run", lambda: gw.data.write_run({HALF: {"d": 1.0}}, "x")),
    ]
)
def test_rejects_names_that_cannot_be_written(case):
    case.check()


ACTING = "a\x1b[31m\x07\u202eb"
"""A name that would change the color of a terminal, ring its bell and turn the rest of the line around."""


@pytest.fixture(scope="module")
def acting():
    """A comparison of models and segments with such names."""
    rng = np.random.default_rng(3)
    models = {name: rng.random(800) for name in (ACTING, f"{ACTING}2", "c")}
    judgments = gw.Judgments(rng.integers(0, 5, 800), group=[10] * 80)
    return gw.compare(models, judgments, draws=500, segments={ACTING: [ACTING, "tail"] * 40}, baseline=ACTING)


def message_of(call, *arguments):
    with pytest.raises(ValueError, match="must be one of ") as caught:
        call(*arguments)
    return str(caught.value)


@pytest.mark.parametrize(
    "write",
    [
        lambda it: it.verdict.text,
        lambda it: it.segments.text,
        lambda it: it.plan(0.1).text,
        lambda it: it.gains().text,
        lambda it: it.against(ACTING).text,
        lambda it: repr(it.attribution(*it.models[:2])),
        lambda it: message_of(it.ranking, 0, "nobody"),
        lambda it: message_of(it.attribution, "c", "nobody"),
    ],
    ids=["verdict", "segments", "plan", "gains", "baseline", "attribution", "ranking", "pair"],
)
def test_names_do_not_act_on_a_terminal(acting, write):
    text = write(acting)
    assert "a\ufffd[31m" in text or "c" in text
    assert not set("\x1b\x07\u202e") & set(text)


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
    return gw.compare(scores, gw.Judgments(labels, qid=qid), ["ndcg_linear@10", "ndcg_exp@10"], draws=500)


SVG = "data:image/svg+xml;base64,"


class Elements(HTMLParser):
    """Collects elements with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))


class TestReportsShowNamesAsText:
    def assert_harmless(self, text, scripts=0):
        elements = Elements(text).elements
        assert sum(tag == "script" for tag, _ in elements) == scripts
        for tag, attributes in elements:
            assert tag not in ("iframe", "object", "embed", "foreignobject", "b"), tag
            assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
            for name in ("href", "src", "xlink:href", "action", "formaction", "data"):
                value = attributes.get(name) or ""
                if tag == "img" and value.startswith(SVG):
                    self.assert_harmless(base64.b64decode(value.removeprefix(SVG)).decode())
                else:
                    assert value in ("", "data:,", "report.json") or value.startswith("#"), (tag, attributes)

    def test_html(self, comparison, tmp_path):
        pytest.importorskip("jinja2")
        text = comparison.to_html(tmp_path / "report.html").read_text("utf-8")
        self.assert_harmless(text, scripts=1)
        assert "49{%" not in text  # no template in a name was rendered

    def test_pictures(self, comparison):
        pytest.importorskip("matplotlib")
        import matplotlib

        written = io.StringIO()
        with matplotlib.rc_context({"svg.fonttype": "none"}):
            comparison.plot.leaderboard().figure.savefig(written, format="svg")
        self.assert_harmless(written.getvalue())
        texts = [node.text or "" for node in ET.fromstring(written.getvalue()).iter("{http://www.w3.org/2000/svg}text")]
        assert any("<script>" in text for text in texts)  # shown as text

    def test_notebooks(self, comparison):
        self.assert_harmless(comparison._repr_html_())

    def test_markdown(self, comparison):
        markdown = pytest.importorskip("markdown_it")
        text = comparison.to_markdown()
        tokens = markdown.MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
        inline = [child.type for token in tokens for child in token.children or ()]
        assert not {"link_open", "image", "code_inline"} & set(inline)
        kinds = {token.type for token in tokens}
        assert not {"blockquote_open", "ordered_list_open", "fence", "code_block"} & kinds
        children = [child for token in tokens for child in token.children or ()]
        written = [token.content for token in [*tokens, *children] if token.type in ("html_block", "html_inline")]
        tags = {tag for text in written for tag in re.findall(r"<[^>]*>?", text)}
        assert tags <= {"<br>", "<sub>", "</sub>", "<details>", "</details>", "<summary>", "</summary>"}
        headings = [tokens[place + 1].content for place, token in enumerate(tokens) if token.type == "heading_open"]
        assert not [heading for heading in headings if heading == "heading"]
        opened = [token.type[:2] for token in tokens if token.type in ("tbody_open", "tr_open", "td_open")]
        tables = "".join(f"<{kind}>" for kind in opened)
        for table in tables.split("<tb>")[1:]:
            rows = [row.removesuffix("<tr>") for row in table.split("<tr>")[1:]]
            rows = rows[:-1] if not rows[-1] else rows  # The heading of the next table.
            assert len(set(rows)) == 1  # Every name has the same number of cells.

    def test_markdown_has_no_address_that_becomes_a_link(self, comparison):
        """GitHub turns bare addresses into links: http://, https://, www."""
        assert not re.search(r"(https?|ftp)://|www\.", comparison.to_markdown())


def read_table(content):
    """Return a call that reads a table of this content."""

    def read(folder):
        (folder / "t.csv").write_bytes(content)
        return load_table(InputOptions(table=folder / "t.csv"), [])

    return read


@bad_inputs(
    [
        BadInput("text as label", read_table(b"label,query,a\nx,1,1\n"), "t.csv", ValueError, "column 'label'"),
        BadInput("no UTF-8", read_table(b"label,query,a\n1,\xff,1\n"), "t.csv, line 2", ValueError, "0xff"),
        BadInput("NUL", lambda folder: gw.data.write_run({"1": {"a\0b": 1.0}}, folder / "run"), "document", ValueError),
    ]
)
def test_rejects_invalid_files(case, tmp_path):
    case.check(tmp_path)


def test_written_run_is_read_with_the_same_ids(tmp_path):
    """Blanks of Unicode and a byte order mark belong to ids."""
    gw.data.write_run({"1": {"a\u00a0b": 2.0, "c": 1.0}, "\ufeff2": {"d": 1.0}}, tmp_path / "run")
    assert gw.data.read_run(tmp_path / "run")["document"].tolist() == ["a\u00a0b", "c", "d"]
    gw.data.write_run({"\ufeff2": {"d": 1.0}}, tmp_path / "run")
    assert gw.data.read_run(tmp_path / "run")["query"].tolist() == ["\ufeff2"]


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<i2", "|u1", "<f2"])
def test_reads_npy_of_every_kind_of_number(dtype, tmp_path):
    for array in (np.array([1, 2, 3], dtype=dtype), np.asfortranarray(np.array([[1], [2], [3]], dtype=dtype))):
        np.save(tmp_path / "s.npy", array)
        assert read_scores(tmp_path / "s.npy").tolist() == [1, 2, 3]
