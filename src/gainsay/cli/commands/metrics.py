"""The command `gainsay metrics`: all metrics by name."""

from __future__ import annotations

import inspect
from typing import Any

from ..app import command
from ..options import AsJson
from ..outputs import Terminal, print_json


@command("metrics", "metrics --import my_metrics.py --json")
def metrics(as_json: AsJson = False) -> None:
    """List the metrics: name, formula, and the names that other programs use.

    Names have the form NAME(OPTION=VALUE,…)@CUTOFF. gainsay explain shows one ranking in all definitions.
    """
    from rich.table import Table
    from rich.text import Text

    from ..._common.shown import printable
    from ...metrics.conventions import CONVENTIONS
    from ...metrics.registry import METRICS

    rows: list[dict[str, Any]] = []
    for name, (metric, options) in METRICS.items():
        prints = {
            library.called: template.format(k="k")
            for library in CONVENTIONS.values()
            for own_name, template in library.prints.items()
            if own_name.partition("@")[0] == name
        }
        formula = printable((inspect.getdoc(metric) or "").partition("\n")[0])
        values = {option: _format_value(value) for option, value in options.items()}
        rows.append({"name": name, "formula": formula, "options": values, "prints": prints})
    if as_json:
        print_json(rows)
        return
    table = Table.grid("name", "formula", padding=(0, 2))
    table.columns[0].no_wrap = True
    for row in rows:
        table.add_row(Text(row["name"], style="bold"), Text(row["formula"]))
        settings = ", ".join(f"{option}={value}" for option, value in row["options"].items())
        programs = "; ".join(f"{program} {name}" for program, name in row["prints"].items())
        for line in filter(None, (settings, programs)):
            table.add_row("", Text(line, style="dim"))
    Terminal().print(table)


def _format_value(value: Any) -> Any:
    """Return the value of an option for JSON, functions by their names."""
    if isinstance(value, tuple | list):
        return [_format_value(item) for item in value]
    if value is None or isinstance(value, str | int | float):
        return value
    return str(getattr(value, "__name__", value))
