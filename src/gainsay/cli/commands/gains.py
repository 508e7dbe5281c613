"""The command `gainsay gains`: the best model by gain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from ..._common.arrays import nearest
from ...data.frames import read_table
from ..app import command
from ..inputs import load_comparison, parse_numbers, read_comparison
from ..options import Alpha, AsJson, InputFile, InputOptions, Seed, reject_options
from ..outputs import Terminal, check_picture, print_json

if TYPE_CHECKING:
    from ...comparison.comparison import Comparison
    from ...comparison.gain_fit import GainFit


@command(
    "gains --data valid.txt lgb=model.txt other=scores.npy --plot path.png",
    "gains --experiment runs/grid --preferences preferences.csv",
    without=("segments", "recipe", "vary", "clusters"),
)
def gains(
    inputs: InputOptions,
    experiment: Annotated[
        Path | None, Option(exists=True, file_okay=False, help="Instead of models: directory of an experiment.")
    ] = None,
    metric: Annotated[
        str | None, Option("--metric", "-m", help="Metric with the cutoff and discount. By default, ndcg_linear@10.")
    ] = None,
    bases: Annotated[str | None, Option(help="Bases, e.g. 1,1.5,2. By default, 25 from 1 to 4.")] = None,
    preferences: Annotated[
        Path | None,
        InputFile(help="Fit the base to this CSV of a, b (labels in ranked order), preferred (a, b, tie) and labels."),
    ] = None,
    side: Annotated[
        str | None, Option(help="Column of --preferences: ranking shown first, a or b. By default, it was always a.")
    ] = None,
    clusters: Annotated[
        str | None, Option(help="Column of --preferences: cluster of each preference, e.g. the person.")
    ] = None,
    alpha: Alpha = 0.05,
    seed: Seed = 0,
    plot: Annotated[Path | None, Option(help="Write a picture to this .png, .svg or .pdf file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare models at gains from linear to exponential and beyond, and show the best at each gain.

    The gains are (b^l - 1)/(b - 1): linear for b = 1, exponential for b = 2. To fit b, pass --preferences. In this
    file, a and b are rankings, written as labels separated by blanks. If a and b contain different documents, the
    column labels contains those of all judged documents. With --experiment, its primary metrics are the default.
    """
    if preferences is None:
        reject_options("without --preferences", side=side is not None, clusters=clusters is not None)
    check_picture(plot, [*vars(inputs).values(), preferences])
    if experiment is None:
        metric = metric or "ndcg_linear@10"
        comparison = read_comparison(inputs, [metric], alpha=alpha, seed=seed)
    else:
        reject_options("with --experiment", alpha=alpha != 0.05, seed=seed)
        inputs.reject("with --experiment")
        comparison = load_comparison(experiment)
    chosen = None if bases is None else parse_numbers("--bases", bases)
    path, fit = comparison.gains(chosen, metric=metric), None
    if preferences is not None:
        columns = {"side": side, "clusters": clusters}
        fit = _fit_base(preferences, path.metric.replace("gain_base=b", "gain_base=1.5"), comparison.alpha, columns)
        path = comparison.gains(chosen, metric=metric, fit=fit)
    if as_json:
        print_json(path.to_dict())
    else:
        _print_path(path, fit, comparison)
    if plot is not None:
        comparison.plot.gains(path=plot, bases=chosen, metric=metric, fit=fit)
        typer.echo(f"Picture: {plot}", err=True)


def _fit_base(path: Path, metric: str, alpha: float, columns: dict[str, str | None]) -> GainFit:
    """Fit the base to the preferences in a file. `columns` are those of further arguments of `fit_gain`."""
    from ...comparison.gain_fit import fit_gain

    frame = read_table(path)
    table: dict[str, Any] = {name: frame[name].astype(str).tolist() for name in frame.columns}
    options: dict[str, Any] = {}
    for option, column in columns.items():
        if column is not None and column not in table:
            raise ValueError(f"--{option} must name a column of {path.name}, got {column!r}{nearest(column, table)}.")
        options[option] = None if column is None else table[column]
    for name in {"a", "b", "labels"} & set(table):
        table[name] = [
            parse_numbers(f"{path.name}: {name} in row {row}", text.replace(",", " "), separator=None)
            for row, text in enumerate(table[name])
        ]
    try:
        return fit_gain(table, metric=metric, alpha=alpha, **options)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None


def _print_path(path: Any, fit: GainFit | None, comparison: Comparison) -> None:
    from ...report.gains import gains_tables
    from ...report.text import frame_table

    terminal = Terminal()
    terminal.print_text(path.headline, style="bold")
    for text in (path.text, *([] if fit is None else [fit.text]), ""):
        terminal.print_text(text)
    for title, frame in gains_tables(path):
        terminal.print(frame_table(title, frame))
    for text in comparison.notes:
        terminal.print_text(text)
