"""Commands on pages have options that exist, and the tables contain every metric and its names."""

import re
import tomllib
from pathlib import Path

import pytest

from gainwise.metrics.conventions import CONVENTIONS
from gainwise.metrics.names import BUILT_IN

DOCS = Path(__file__).parents[1] / "docs"
PAGES = "\n".join(path.read_text("utf-8") for path in sorted(DOCS.rglob("*.md")) if "_build" not in path.parts)
SHELL = "\n".join(re.findall(r"```sh\n(.*?)```", PAGES, re.DOTALL)).replace("\\\n", " ")
COMMANDS = sorted(
    {*re.findall(r"`gainwise ([a-z][^`]+)`", PAGES), *re.findall(r"^gainwise ([a-z][^#|>\n]+)", SHELL, re.MULTILINE)}
)
NAMES = (DOCS / "reference" / "metric_names.md").read_text("utf-8")
ROWS = dict(re.findall(r"^\| `([a-z_]+)` \| (.*) \|$", NAMES, re.MULTILINE))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[:32])
def test_command_has_the_options_of_a_page(command):
    typer = pytest.importorskip("typer")
    from gainwise.cli.app import app

    name, *words = command.split()
    parameters = typer.main.get_command(app).commands[name].params
    options = {option for parameter in parameters for option in parameter.opts}
    assert {word for word in words if re.match("--?[a-z]", word)} <= options


def test_every_extra_has_a_row():
    extras = tomllib.loads((DOCS.parent / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    rows = re.findall(r"^\| (`.*`) \| ", (DOCS / "get_started" / "install.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(extras)


def test_every_metric_has_a_row():
    assert set(ROWS) == set(BUILT_IN)


@pytest.mark.parametrize("name", BUILT_IN)
def test_row_of_a_metric_lists_the_names_in_other_programs(name):
    printed = {
        (convention.title, called.format(k=5))
        for convention in CONVENTIONS.values()
        for template, called in convention.prints.items()
        if template.partition("@")[0] == name
    }
    assert set(re.findall(r"([\w-]+) `([^`]+)`", ROWS[name].split(" | ")[1])) == printed
