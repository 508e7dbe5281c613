"""The command line, called in this process."""

from __future__ import annotations

from typer.testing import CliRunner

from gainsay.cli import app


def gainsay(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])
