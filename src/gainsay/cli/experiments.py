"""The commands `gainsay run` and `gainsay report`: experiments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from .app import command
from .inputs import load_comparison
from .options import AsJson, Open, reject_options
from .outputs import Terminal, announce_report, plan_report, print_comparison, print_json, validate_report

if TYPE_CHECKING:
    import pandas as pd

    from ..experiment import ExperimentResult


@command("run experiment.toml", "run experiment.toml --repeats 5 --open")
def run(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The experiment, a TOML file.")],
    directory: Annotated[Path | None, Option(help="Directory for models and results.")] = None,
    jobs: Annotated[int | None, Option("--jobs", "-j", min=1, help="Trainings at a time. Default: CPUs.")] = None,
    stop_by: Annotated[str | None, Option(help="Round of each candidate: balanced, or a metric.")] = None,
    repeats: Annotated[
        str | None,
        Option(help="Trainings of each candidate. finalists=5 repeats only the best. You can add more later."),
    ] = None,
    vary: Annotated[str | None, Option(help="Difference between repeats: seed or queries (resampled).")] = None,
    open_it: Open = False,
    as_json: AsJson = False,
) -> None:
    """Train the candidates of an experiment and compare them. An interrupted experiment resumes."""
    from ..experiment import Experiment
    from ..experiment.config import parse_repeats

    if as_json:
        reject_options("with --json", open=open_it)
    values = {
        "stop_by": stop_by,
        "repeats": repeats and parse_repeats(repeats),
        "vary": vary,
    }
    options: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
    experiment = Experiment.from_toml(file, directory, **options)
    page = None if as_json else plan_report(experiment.directory or Path())
    result = experiment.run(progress=not as_json, jobs=jobs)
    if as_json:
        summary = {
            **result.comparison.to_dict(),
            "stop_by": result.plan.stop_by,
            "compared": result.compared.to_dict("index"),
            "best_rounds": _nest_rows(result.best_rounds),
            "choice_loss": result.choice_loss.to_dict("records"),
            "stopping_loss": result.stopping_loss.to_dict("records"),
            "repeats": result.repeat_values.reset_index().to_dict("records"),
            "finalists": result.finalists.to_dict("index"),
            "failures": result.failures,
        }
        print_json(summary)
        return
    print_experiment(Terminal(), result)
    if page is not None:
        announce_report(result.comparison.to_html(page), open_it)


@command("report runs/grid --open")
def report(
    directory: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="The directory of an experiment.")],
    output: Annotated[
        Path | None, Option("--output", "-o", help="The HTML file. By default, report.html in the directory.")
    ] = None,
    open_it: Open = False,
) -> None:
    """Write the HTML report of a finished experiment."""
    page = output or directory / "report.html"
    validate_report(page)
    announce_report(load_comparison(directory).to_html(page), open_it)


def _nest_rows(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the rows of a table by index. Several levels (candidate and fold) are nested."""
    if frame.index.nlevels == 1:
        return {str(name): row for name, row in frame.to_dict("index").items()}
    return {str(name): _nest_rows(frame.loc[name]) for name in frame.index.get_level_values(0).unique()}


def print_experiment(terminal: Terminal, result: ExperimentResult) -> None:
    """Print the comparison of an experiment and the rounds of its candidates."""
    from ..experiment.tables import join_rounds
    from ..report.text import frame_table

    tables = {
        "Round of each compared model": result.compared["rounds"].map(join_rounds).to_frame(),
        "Best round of each candidate by each metric on the validation set": result.best_rounds,
    }
    print_comparison(terminal, result.comparison, *(frame_table(title, table) for title, table in tables.items()))
    for line in result.missing:
        terminal.print_text(line)
