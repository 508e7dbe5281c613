"""Pages about other programs: their code runs and gives equal numbers, and no name is missing or said wrongly."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gainsay.metrics.conventions import CONVENTIONS
from gainsay.metrics.names import BUILT_IN

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "coming_from.md").read_text("utf-8")
TABS = dict(re.findall(r":::\{tab-item\} (\S+)\n.*?```python\n(.*?)```", PAGE, re.DOTALL))
LIBRARIES = {
    "LightGBM": "lightgbm", "XGBoost": "xgboost", "scikit-learn": "sklearn", "ranx": "ranx",
    "trec_eval": "pytrec_eval", "CatBoost": "catboost",
}  # fmt: skip


def test_there_is_a_tab_for_every_library():
    assert set(TABS) == set(LIBRARIES)
    assert all("assert" in code for code in TABS.values())


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("library", LIBRARIES)
def test_their_call_and_ours_give_the_same_number(library):
    pytest.importorskip(LIBRARIES[library], reason="the library itself is asked")
    exec(compile(TABS[library], f"coming_from.md, {library}", "exec"), {"__name__": "page"})


@pytest.mark.parametrize(
    "call", re.findall(r"`(gainsay [^`]+)`", (DOCS / "cli.md").read_text("utf-8") + PAGE), ids=lambda call: call[8:40]
)
def test_commands_have_the_options_that_pages_give_them(call):
    typer = pytest.importorskip("typer")
    from gainsay.cli.app import app

    name, *words = call.split()[1:]
    known = {option for it in typer.main.get_command(app).commands[name].params for option in it.opts}
    assert {word for word in words if re.match("--?[a-z]", word)} <= known


class TestMetricNames:
    PAGE = (DOCS / "metric_names.md").read_text("utf-8")
    ROWS = dict(re.findall(r"^\| `([a-z_]+)` \| (.*) \|$", PAGE, re.MULTILINE))

    def test_every_name_has_a_row_and_stands_in_a_heading_where_search_finds_it(self):
        assert set(self.ROWS) == set(BUILT_IN)
        headings = ", ".join(re.findall(r"^## .*: (.*)$", self.PAGE, re.MULTILINE))
        assert sorted(headings.split(", ")) == sorted(BUILT_IN)

    @pytest.mark.parametrize("name", BUILT_IN)
    def test_programs_and_what_they_call_it_are_those_of_the_conventions(self, name):
        printed = self.ROWS[name].split(" | ")[1]
        expected = {
            (convention.called, called.format(k=5))
            for convention in CONVENTIONS.values()
            for template, called in convention.prints.items()
            if template.partition("@")[0] == name
        }
        assert set(re.findall(r"([\w-]+) `([^`]+)`", printed)) == expected

    @pytest.mark.parametrize("name", BUILT_IN)
    def test_what_it_is_held_against_is_said(self, name):
        *_, printed, held = self.ROWS[name].split(" | ")
        assert "plain Python" in held
        assert "librar" in held or "`" not in printed
