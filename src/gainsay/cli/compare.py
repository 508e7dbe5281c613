"""The commands `gainsay compare`, `sensitivity`, `gains` and `bound`: several models on the same judgments."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from .._common.text import printable
from .._common.validation import validate_output
from .app import command
from .inputs import load_comparison, parse_numbers, read_comparison, read_judgments
from .options import Alpha, AsJson, InputOptions, Margin, Metrics, Open, Seed, decode_name, reject_options
from .outputs import (
    Terminal,
    announce,
    announce_report,
    print_comparison,
    print_json,
    validate_overwrites,
    validate_report,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from ..comparison.comparison import Comparison

FORMATS = (".csv", ".csv.gz", ".parquet")
ExperimentDirectory = Annotated[
    Path | None, Option(exists=True, file_okay=False, help="Instead of models: directory of an experiment.")
]


@command(
    "compare --data valid.txt lgb=model.txt other=scores.npy",
    "compare --data valid.txt a.txt b.txt --html report.html --open",
    "compare --qrels qrels.txt run_a.txt run_b.txt -m ndcg_exp@10",
    "compare --table scores.csv --scores old,new --segments device",
    "compare --data valid.txt --recipe a=a1.txt,a2.txt,a3.txt b.txt",
)
def compare(
    inputs: InputOptions,
    metric: Metrics = None,
    alpha: Alpha = 0.05,
    margin: Margin = 0.0,
    seed: Seed = 0,
    baseline: Annotated[str | None, Option(metavar="NAME", help="The deployed model, to replace or not.")] = None,
    html: Annotated[Path | None, Option(help="Write an HTML report to this file.")] = None,
    open_it: Open = False,
    markdown: Annotated[Path | None, Option(help="Write a Markdown report to this file.")] = None,
    per_query: Annotated[Path | None, Option(help=f"Write values by query to a file ({', '.join(FORMATS)}).")] = None,
    text: Annotated[bool, Option("--text", help="Also print the verdict in full.")] = False,
    all_models: Annotated[bool, Option("--all", help="Print all models, and means of all metrics.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare models on the same judgments: the best model by each metric, and whether a disagreement is genuine.

    A model is a file of scores by row (CSV, TSV, Parquet, NumPy), a LightGBM or XGBoost model, or, with --qrels, a run
    (TREC, or CSV of query, document, score). Write NAME=FILE to name it, and FILE:COLUMN to select one of several
    columns. With --table, models and repeats of recipes are columns. The first column of files of --segments and
    --clusters contains query ids. FILE:COLUMN selects one of the others.
    """
    from ..report.text import decisions_table

    if html is None:
        reject_options("without --html", open=open_it)
    if as_json:
        reject_options("with --json", text=text, all=all_models)
    _check_outputs(inputs, html, markdown, per_query)
    baseline = None if baseline is None else decode_name(baseline)
    comparison = read_comparison(inputs, metric, alpha=alpha, margin=margin, seed=seed, baseline=baseline)
    values = None if per_query is None else _prepare_table(per_query, comparison.frame().reset_index())
    if as_json:
        print_json(comparison.to_dict())
    else:
        steps = [] if html is not None else [("why, and which queries", "add --html report.html")]
        steps += [] if text else [("the verdict in full", "add --text")]
        steps += [] if all_models else [("all models, all metrics", "add --all")]
        tables = [] if comparison.content.against is None else [decisions_table(comparison.content)]
        print_comparison(Terminal(), comparison, *tables, text=text, all_models=all_models, next_steps=steps)
    if html is not None:
        announce_report(comparison.to_html(html), open_it)
    if markdown is not None:
        comparison.to_markdown(markdown)
        announce("Report", markdown)
    if per_query is not None and values is not None:
        write = values.to_parquet if per_query.suffix == ".parquet" else values.to_csv
        write(per_query, index=False)
        announce("Values by query", per_query)
    if inputs.table is not None and inputs.scores is None:
        names = ", ".join(map(printable, comparison.models))
        announce("Models of --table", f"{names}. Select columns of scores with --scores.")


def _check_outputs(inputs: InputOptions, html: Path | None, markdown: Path | None, per_query: Path | None) -> None:
    """Raise an error if an output cannot be written, before any input is read."""
    outputs = {"--html": html, "--markdown": markdown, "--per-query": per_query}
    if html is not None:
        validate_report(html)
        outputs["--html (json)"] = html.with_suffix(".json")
    if markdown is not None:
        validate_output("the Markdown report", markdown)
    if per_query is not None:
        validate_output("--per-query", per_query)
        if not per_query.name.endswith(FORMATS):
            raise ValueError(f"--per-query must end with one of {', '.join(FORMATS)}, got {str(per_query)!r}.")
    validate_overwrites(outputs, vars(inputs).values())


def _prepare_table(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table for a file. In CSV, raise an error for control characters, which gainsay could not read.

    A leading apostrophe keeps spreadsheets from running a text as a formula.
    """

    def escape(text: str) -> str:
        if re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", text):
            raise ValueError(
                f"--per-query: CSV cannot contain the control character in {text!r}. Write .parquet instead."
            )
        return f"'{text}" if re.match(r"[=+\-@\t\r](?![\d.]+$)", text) else text

    if ".csv" not in path.suffixes:
        return frame
    return frame.assign(
        **{
            str(name): list(map(escape, map(str, cells)))
            for name, cells in frame.items()
            if cells.dtype.kind not in "fiub"
        }
    )


@command(
    "sensitivity --data valid.txt a.txt b.txt c.txt",
    "sensitivity --qrels qrels.txt run_*.txt --repeats '_seed[0-9]+'",
    "sensitivity --experiment runs/grid",
    without=("segments", "vary"),
)
def sensitivity(
    inputs: InputOptions,
    experiment: ExperimentDirectory = None,
    metric: Metrics = None,
    repeats: Annotated[
        str | None,
        Option(metavar="REGEX", help="Part of names that differs between repeats. Models that differ in it are one."),
    ] = None,
    alpha: Alpha = 0.05,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Show which other choices would reverse pairs of models: gain, discount, cutoff, metric, ties, repeats, queries.

    The first metric is the reference. The models are read as for compare.
    """
    if experiment is not None:
        reject_options("with --experiment", metric=metric)
    comparison = _read_comparison(inputs, experiment, metric, alpha, seed)
    groups = _group_names(comparison.models, repeats)
    result = comparison.sensitivity(groups=groups)
    if as_json:
        print_json(result.to_dict())
    else:
        from ..report.text import choices_table

        terminal = Terminal()
        terminal.print_text(result.text)
        terminal.print(choices_table(result))


def _read_comparison(
    inputs: InputOptions, experiment: Path | None, metrics: list[str] | None, alpha: float, seed: int
) -> Comparison:
    """Return the comparison of models, or of an experiment, which has its own data and settings."""
    if experiment is None:
        return read_comparison(inputs, metrics, alpha=alpha, seed=seed)
    reject_options("with --experiment", alpha=alpha != 0.05, seed=seed)
    inputs.reject("with --experiment")
    return load_comparison(experiment)


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


@command(
    "gains --data valid.txt lgb=model.txt other=scores.npy",
    "gains --experiment runs/grid --bases 1,1.5,2",
    without=("segments", "recipe", "vary", "clusters"),
)
def gains(
    inputs: InputOptions,
    experiment: ExperimentDirectory = None,
    metric: Annotated[
        str | None, Option("--metric", "-m", help="Metric with the cutoff and discount. By default, ndcg_linear@10.")
    ] = None,
    bases: Annotated[str | None, Option(help="Bases, e.g. 1,1.5,2. By default, 25 from 1 to 4.")] = None,
    alpha: Alpha = 0.05,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Compare models at gains from linear to exponential and beyond, and show the best at each gain.

    The gains are (b^l - 1)/(b - 1): linear for b = 1, exponential for b = 2. With --experiment, its primary metrics are
    the default.
    """
    if experiment is None:
        metric = metric or "ndcg_linear@10"
    comparison = _read_comparison(inputs, experiment, [str(metric)], alpha, seed)
    path = comparison.gains(None if bases is None else parse_numbers("--bases", bases), metric=metric)
    if as_json:
        print_json(path.to_dict())
    else:
        from ..report.text import gains_tables

        terminal = Terminal()
        terminal.print_text(path.headline, style="bold")
        terminal.print_text(path.text)
        for table in gains_tables(path):
            terminal.print(table)


@command(
    "bound --qrels qrels.txt",
    "bound --table scores.csv --query query_id",
    "bound --data valid.txt -k 5",
    without=("models", "scores", "unjudged", "segments", "recipe", "vary", "clusters"),
)
def bound(
    inputs: InputOptions,
    k: Annotated[int, Option("--cutoff", "-k", help="Cutoff of both NDCGs, 0 for all ranks.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Bound how far linear and exponential NDCG can disagree, from the labels alone, before there is a model."""
    from ..comparison.disagreement import disagreement_bound
    from ..report.text import values_table

    result = disagreement_bound(read_judgments(inputs), k or None)
    if as_json:
        print_json(result.to_dict())
    else:
        terminal = Terminal()
        terminal.print_text(result.text)
        rows = {f"one ranking: {name} above the other": value for name, value in result.one_ranking.items()}
        rows["two rankings: conflict"] = result.two_rankings
        terminal.print(values_table("Largest possible differences", rows))
