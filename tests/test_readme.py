"""README.md is short, its picture shows the verdict, and a release turns its links into absolute ones."""

import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from gainwise._common.theme import DARK, LIGHT

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_readme_is_short():
    assert len(re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL).split()) <= 1_000


@pytest.mark.parametrize(
    "start", ["python3 -m venv --upgrade-deps .venv && ", ".venv/bin/pip install -e '.[all,dask]'"]
)
def test_commands_are_on_lines_of_their_own(start):
    assert [line for line in TEXT.splitlines() if line.startswith(start)]


class TestReadmeForAnIndex:
    """A package index has no other file of the project, so a release contains absolute links."""

    @pytest.fixture
    def absolute(self):
        return runpy.run_path(str(ROOT / "tools" / "readme_for_index.py"))["make_links_absolute"]

    def test_links_of_the_readme_lead_to_the_same_files(self, absolute):
        pairs = [
            re.findall(r"\]\(([^)]+)\)|src(?:set)?=\"([^\"]+)", text) for text in (TEXT, absolute(TEXT, "S", "v1"))
        ]
        assert len(pairs[0]) > 20
        for old, new in zip(*(map("".join, links) for links in pairs), strict=True):
            kind = "raw" if old.endswith((".png", ".svg")) else "blob"
            assert new == (old if old.startswith(("https:", "#")) else f"S/{kind}/v1/{old}")

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("[a](b.md#c) [`d`](./e)", "[a](S/blob/v1/b.md#c) [`d`](S/blob/v1/e)"),
            ("![a](b.png)", "![a](S/raw/v1/b.png)"),
            ("[![a](b.png)](c.md)", "[![a](S/raw/v1/b.png)](S/blob/v1/c.md)"),
            ("[a](#b) [c](mailto:d@e) [f](//g)", "[a](#b) [c](mailto:d@e) [f](//g)"),
            (
                "`[a](b)` ``[`c`](d)``\n```\n[e](f)\n```\n[g](h)",
                "`[a](b)` ``[`c`](d)``\n```\n[e](f)\n```\n[g](S/blob/v1/h)",
            ),
            ('<img src="a.png"> <a href="b">', '<img src="S/raw/v1/a.png"> <a href="S/blob/v1/b">'),
        ],
    )
    def test_only_links_are_changed(self, absolute, text, expected):
        assert absolute(text, "S", "v1") == expected
        published = expected.replace("S/", "https://example.org/")
        assert absolute(published, "S", "v2") == published


@pytest.fixture(scope="module")
def picture():
    """The script that draws the picture, its comparison, and the values that it draws."""
    script = runpy.run_path(str(ROOT / "docs" / "verdict_picture.py"))
    comparison = script["compare_rankers"]()
    return script, comparison, script["collect_values"](comparison)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("narrow", [False, True])
def test_stored_picture_is_the_output_of_its_script(picture, theme, narrow):
    script, _, values = picture
    path = ROOT / "docs" / "_static" / f"hero-{'narrow-' * narrow}{theme.name}.svg"
    assert path.read_text(encoding="utf-8") == script["draw"](values, theme, narrow)
    assert values["alt"] in TEXT
    assert f"docs/_static/{path.name}" in TEXT


@pytest.mark.parametrize("narrow", [False, True])
def test_picture_shows_the_numbers_of_the_verdict(picture, narrow):
    script, comparison, values = picture
    verdict = comparison.verdict
    drawn = ElementTree.fromstring(script["draw"](values, LIGHT, narrow))
    texts = [node.text or "" for node in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert any("simulated" in text for text in texts)
    models = [row.model for row in values["chart"].rows]
    for model in models:
        worst = max(by[model] for by in verdict.regrets_upper.values())
        assert any(f"{np.ceil(1000 * worst) / 1000:.3f}" in text for text in texts)
    _, *circles = [float(node.get("cx")) for node in drawn.iter("{http://www.w3.org/2000/svg}circle")]  # a legend first
    regrets = np.array([verdict.regrets[verdict.metrics[0]][model] for model in models])
    slope, start = np.polyfit(-regrets, circles, 1)
    assert slope > 0
    assert np.allclose(circles, start - slope * regrets, atol=0.2)
    assert (verdict.kind, verdict.safe_choice) == ("genuine", "blend")


def test_picture_shows_a_query_in_the_order_of_the_scores(picture):
    script, comparison, values = picture
    judgments = comparison.rankings.judgments
    (index,) = np.flatnonzero(judgments.query_ids == script["select_query"](comparison))
    rows = slice(*np.cumsum([0, *judgments.sizes])[index : index + 2])
    for model, grades in values["grades"].items():
        order = np.argsort(-comparison.rankings.scores[model][rows])[:10]
        assert grades == judgments.labels[rows][order].tolist()
