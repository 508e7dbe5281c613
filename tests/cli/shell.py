"""Calls of the command line in this process."""

import json

from typer.testing import CliRunner

from gainwise._common.text import plain
from gainwise.cli import app


def gainwise(call, *arguments, stdin=None):
    """Call a command: words separated by blanks, then arguments that may contain blanks."""
    return CliRunner().invoke(app, [*call.split(), *(str(argument) for argument in arguments)], input=stdin)


def output_of(call, *arguments, code=0, stdin=None):
    """Return the output of a command, and assert its exit code."""
    result = gainwise(call, *arguments, stdin=stdin)
    assert result.exit_code == code, result.stderr
    return result.stdout


def json_of(call, *arguments, code=0, stdin=None):
    """Return the JSON that a command prints."""
    return json.loads(output_of(call, *arguments, "--json", code=code, stdin=stdin))


def as_json(content):
    """Return a dictionary after a round trip through JSON."""
    return json.loads(json.dumps(plain(content)))
