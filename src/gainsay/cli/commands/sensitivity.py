"""The command `gainsay sensitivity`: which other choices would change the order of the models."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from ..app import command
from ..inputs import load_comparison, read_comparison
from ..options import Alpha, AsJson, InputOptions, Metrics, Seed, reject_options
from ..outputs import Terminal, check_picture, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence


@command(
    "sensitivity --data valid.txt a.txt b.txt c.txt",
    "sensitivity --qrels qrels.txt run_*.txt --repeats '_seed[0-9]+'",
    "sensitivity --experiment runs/grid --plot choices.png",
    without=("segments", "vary"),
)
def sensitivity(
    inputs: InputOptions,
    experiment: Annotated[
        Path | None, Option(exists=True, file_okay=False, help="Instead of models: directory of an experiment.")
    ] = None,
    metric: Metrics = None,
    repeats: Annotated[
        str | None,
        Option(metavar="REGEX", help="Part of names that differs between repeats. Models that differ in it are one."),
    ] = None,
    alpha: Alpha = 0.05,
    seed: Seed = 0,
    plot: Annotated[Path | None, Option(help="Write a picture to this .png, .svg or .pdf file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show which other choices would reverse pairs of models: gain, discount, cutoff, metric, ties, repeats, queries.

    The first metric is the reference. The models are read as for compare.
    """
    check_picture(plot, vars(inputs).values())
    if experiment is None:
        comparison = read_comparison(inputs, metric, alpha=alpha, seed=seed)
    else:
        reject_options("with --experiment", metric=metric, alpha=alpha != 0.05, seed=seed)
        inputs.reject("with --experiment")
        comparison = load_comparison(experiment)
    groups = _group_names(comparison.models, repeats)
    result = comparison.sensitivity(groups=groups)
    if as_json:
        print_json(result.to_dict())
    else:
        from ...report.text import choices_table

        terminal = Terminal()
        terminal.print_text(result.text)
        terminal.print(choices_table(result))
    if plot is not None:
        comparison.plot.sensitivity(path=plot, groups=groups)
        typer.echo(f"Picture: {plot}", err=True)


def _group_names(names: Sequence[str], pattern: str | None) -> dict[str, str] | None:
    """Return the names without the part that differs between repeats."""
    if pattern is None:
        return None
    try:
        groups = {name: re.sub(pattern, "", name) for name in names}
    except re.error as error:
        raise ValueError(f"--repeats must be a regular expression, got {pattern!r}: {error}.") from None
    if len(set(groups.values())) == len(names):
        raise ValueError(f"--repeats {pattern!r} finds no repeats among the models {', '.join(names[:3])}, …")
    return groups
