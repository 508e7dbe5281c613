"""The command `gainsay gains`: who is best at which gain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._common.shown import printable
from .app import _compared_in, _console, _errors, _print_json, _say, app
from .options import AsJson, Imports, Level, Seed, Sources, Unjudged, examples, said, takes_sources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..comparison.gain_fit import GainFit


@app.command(
    epilog=examples(
        "gains --data valid.txt lgb=model.txt other=scores.npy --plot path.png",
        "gains --experiment runs/grid --preferences preferences.csv",
    )
)
@takes_sources()
def gains(
    models: Annotated[
        list[str] | None,
        typer.Argument(help="As for compare: NAME=FILE or FILE; not with --experiment.", show_default=False),
    ] = None,
    *,
    sources: Sources,
    experiment: Annotated[
        Path | None, typer.Option(exists=True, file_okay=False, help="The directory of an experiment that was run.")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            "-m",
            help="Lends cutoff, discount, ties and empty queries; its own gain does not matter. By default "
            "ndcg_linear@10, with --experiment its primary metrics.",
            show_default=False,
        ),
    ] = None,
    bases: Annotated[
        str | None, typer.Option(help="Bases with commas between them; by default 25 from 1 to 4.", show_default=False)
    ] = None,
    preferences: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="CSV with a and b (labels in ranked order, blanks between them), preferred (a, b or tie) and, where a "
            "and b show different documents, labels (of all judged): which base fits them is fitted and shown.",
        ),
    ] = None,
    alpha: Level = 0.05,
    seed: Seed = 0,
    unjudged: Unjudged = "irrelevant",
    plot: Annotated[Path | None, typer.Option(help="Draw the path to this .png, .svg or .pdf file.")] = None,
    modules: Imports = None,
    as_json: AsJson = False,
) -> None:
    """Follow models from linear to exponential gain and beyond: who is best at which gain, and is that proven.

    The gains are (b^l - 1)/(b - 1): linear for b = 1, exponential for b = 2.
    """
    with _errors(modules):
        if plot is not None:
            from ..report.plots.picture import check_path

            check_path(plot)
        if experiment is None:
            from .inputs import read_comparison

            metric = metric or "ndcg_linear@10"
            options: Any = {"alpha": alpha, "seed": seed, "unjudged": unjudged}
            comparison = read_comparison(models or [], sources, [metric], **options)
        else:
            given = [*(models or []), *said(sources), *([] if unjudged == "irrelevant" else [f"--unjudged {unjudged}"])]
            if given:
                raise ValueError(f"with --experiment its own models and data are compared, got {given[0]!r} too")
            if alpha != 0.05 or seed != 0:
                raise ValueError("--alpha and --seed are those of the experiment: leave them out with --experiment")
            comparison = _compared_in(experiment)
        chosen = _numbers(bases)
        found, fit = comparison.gains(chosen, metric=metric), None
        if preferences is not None:
            fit = _fitted(preferences, found.metric.replace("gain_base=b", "gain_base=1.5"), comparison.alpha)
            found = comparison.gains(chosen, metric=metric, fit=fit)
        if as_json:
            _print_json(found.to_dict())
        else:
            _show(found, fit, comparison.notes)
        if plot is not None:
            found.plot(path=plot)
            typer.echo(f"Picture: {plot}", err=True)


def _numbers(bases: str | None) -> list[float] | None:
    from ..data.text import to_number

    if bases is None:
        return None
    try:
        return [to_number(part.encode()) for part in bases.split(",")]
    except ValueError:
        raise ValueError(f"--bases holds {bases!r}: give numbers with commas between them, such as 1,1.5,2") from None


def _fitted(path: Path, metric: str, alpha: float) -> GainFit:
    """Fit the base to the preferences of a file."""
    from ..comparison.gain_fit import fit_gain
    from .inputs import read_table

    found = read_table(path)
    table: dict[str, Any] = {name: found[name].astype(str).tolist() for name in found.columns}
    for name in {"a", "b", "labels"} & set(table):
        table[name] = [_labels(path, name, row, text) for row, text in enumerate(table[name])]
    try:
        return fit_gain(table, metric=metric, alpha=alpha)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None


def _labels(path: Path, column: str, row: int, text: str) -> list[float]:
    from ..data.text import to_number

    try:
        return [to_number(part.encode()) for part in text.replace(",", " ").split()]
    except ValueError:
        raise ValueError(
            f"{path.name}: {column} holds {text!r} in row {row}: write labels with blanks between them, such as 3 0 1"
        ) from None


def _show(found: Any, fit: GainFit | None, notes: Sequence[str]) -> None:
    from ..report.gains import gains_tables
    from ..report.text import frame_table

    console = _console()
    _say(console, printable(found.headline), style="bold")
    for text in (found.text, *([] if fit is None else [fit.text]), ""):
        _say(console, printable(text))
    for title, frame in gains_tables(found):
        console.print(frame_table(title, frame))
    for text in notes:
        _say(console, printable(text))
