"""Parts that the build adds to the site: mathematics and directives. The build itself checks all links."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def site_parts():
    pytest.importorskip("sphinx", reason="needs the group docs")
    sys.path.insert(0, str(DOCS))
    try:
        import site_parts
    finally:
        sys.path.remove(str(DOCS))
    return site_parts


@pytest.mark.parametrize(
    ("formula", "markup"),
    [
        (r"\hat\mu_{mj}", "<msub><mover><mi>μ</mi><mo>ˆ</mo></mover><mrow><mi>m</mi><mi>j</mi></mrow></msub>"),
        (r"\bar{d}_i", "<msub><mover><mi>d</mi><mo>ˉ</mo></mover><mi>i</mi></msub>"),
        (r"\hat\mu", "<mover><mi>μ</mi><mo>ˆ</mo></mover>"),
    ],
)
def test_accent_covers_only_its_own_letter(site_parts, formula, markup):
    shown = re.sub(r"\s*(<[/\w]+)[^>]*>\s*", r"\1>", site_parts.to_mathml(formula))
    assert shown == f"<math>{markup}</math>"


def test_limits_of_a_sum_stay_below_and_above_it(site_parts):
    assert "<munderover>" in site_parts.to_mathml(r"\sum_{i=1}^n x_i", block=True)


def test_pages_of_the_reference_list_names_without_directives():
    for page in (DOCS / "api").glob("*.md"):
        assert "{" not in page.read_text("utf-8"), page.name
