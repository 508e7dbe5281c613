"""The distribution is `gainwise`. `gainwise` on the public package index is an unrelated project."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TEXTS = [
    path
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "src/**/*.py",
        "examples/**/*",
        "notebooks/*.ipynb",
        ".github/**/*.yml",
        "noxfile.py",
    )
    for path in ROOT.glob(pattern)
    if path.is_file()
]
INSTALL_COMMAND = re.compile(r"\b(?:pip|uv|pipx|uvx|poetry)\s[^\n`]*")
OTHER_PROJECT = re.compile(r"(?<![\w./-])gainwise(?:\[|(?=['\"\s]|$|[=<>~!]=))")


def resolve_extra(name):
    """Return the names of all distributions that an extra installs, with its own extras resolved."""
    names = set()
    for line in PROJECT["optional-dependencies"][name]:
        requirement = Requirement(line)
        names.add(requirement.name)
        if requirement.name == PROJECT["name"]:
            for extra in requirement.extras:
                names |= resolve_extra(extra)
    return names


def test_distribution_has_the_name_of_this_project():
    assert PROJECT["name"] == "gainwise"
    assert PROJECT["scripts"] == {"gainwise": "gainwise.__main__:main"}


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_extras_do_not_install_the_unrelated_project(extra):
    assert "gainwise" not in resolve_extra(extra)


def find_wrong_commands(text):
    return [
        command for command in INSTALL_COMMAND.findall(text) if " install " in command and OTHER_PROJECT.search(command)
    ]


@pytest.mark.parametrize(
    ("command", "is_wrong"),
    [
        ("pip install gainwise", True),
        ("pip install -U 'gainwise[lightgbm]'", True),
        ("pip install gainwise==1.0", True),
        ("pip install 'gainwise[all]'", False),
        ("pip install -e '.[all]' && .venv/bin/gainwise demo", False),
    ],
)
def test_wrong_commands_are_recognized(command, is_wrong):
    assert bool(find_wrong_commands(command)) == is_wrong


def test_install_commands_name_this_distribution():
    wrong = {
        path.name: commands for path in TEXTS if (commands := find_wrong_commands(path.read_text(encoding="utf-8")))
    }
    assert not wrong
