"""The command `gainsay metrics`: every metric by name."""

from __future__ import annotations

import inspect
from typing import Any

from .._common.shown import printable
from .app import _console, _errors, _print_json, app
from .options import AsJson, Imports, examples


@app.command(epilog=examples("metrics", "metrics --import my_metrics.py --json"))
def metrics(modules: Imports = None, as_json: AsJson = False) -> None:
    """List the metrics by name: the formula of each, and what other programs call it.

    Names are written NAME(OPTION=VALUE,…)@CUTOFF. For options and conventions, gainsay explain shows one ranking under
    all of them.
    """
    with _errors(modules):
        from rich.table import Table
        from rich.text import Text

        from ..metrics.conventions import CONVENTIONS
        from ..metrics.registry import METRICS

        found: list[dict[str, Any]] = []
        for name, (metric, options) in METRICS.items():
            prints = {
                library.called: called.format(k="k")
                for library in CONVENTIONS.values()
                for ours, called in library.prints.items()
                if ours.partition("@")[0] == name
            }
            formula = printable((inspect.getdoc(metric) or "").partition("\n")[0])
            found.append(
                {
                    "name": name,
                    "formula": formula,
                    "options": {option: _said(value) for option, value in options.items()},
                    "prints": prints,
                }
            )
        if as_json:
            _print_json(found)
            return
        table = Table.grid("name", "what", padding=(0, 2))
        table.columns[0].no_wrap = True
        for one in found:
            given = ", ".join(f"{option}={value}" for option, value in one["options"].items())
            elsewhere = "; ".join(f"{program} {called}" for program, called in one["prints"].items())
            table.add_row(Text(one["name"], style="bold"), Text(one["formula"]))
            for words in filter(None, (given, elsewhere)):
                table.add_row("", Text(words, style="dim"))
        _console().print(table)


def _said(value: Any) -> Any:
    """Return the value of an option as JSON has it: a function of gains or discounts by its name."""
    if isinstance(value, tuple | list):
        return [_said(one) for one in value]
    if value is None or isinstance(value, str | int | float):
        return value
    return str(getattr(value, "__name__", value))
