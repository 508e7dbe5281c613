"""The commands `gainsay sensitivity`, `gainsay gains` and `gainsay bound`: what other choices would change."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from ..._common.arrays import nearest
from ...data.frames import read_table
from ..app import command
from ..inputs import load_comparison, parse_numbers, read_comparison, read_data
from ..options import Alpha, AsJson, Data, Features, InputFile, InputOptions, Metrics, Plot, Qrels, Seed, reject_options
from ..outputs import Terminal, announce, check_picture, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...comparison.comparison import Comparison
    from ...comparison.gain_fit import GainFit

MAX_QUERIES = 20
"""Queries that `gainsay bound --per-query` prints."""

ExperimentDirectory = Annotated[
    Path | None, Option(exists=True, file_okay=False, help="Instead of models: directory of an experiment.")
]


def _read_comparison(
    inputs: InputOptions, experiment: Path | None, metrics: list[str] | None, alpha: float, seed: int
) -> Comparison:
    """Return the comparison of models, or of an experiment, which has its own data and settings."""
    if experiment is None:
        return read_comparison(inputs, metrics, alpha=alpha, seed=seed)
    reject_options("with --experiment", alpha=alpha != 0.05, seed=seed)
    inputs.reject("with --experiment")
    return load_comparison(experiment)


@command(
    "sensitivity --data valid.txt a.txt b.txt c.txt",
    "sensitivity --qrels qrels.txt run_*.txt --repeats '_seed[0-9]+'",
    "sensitivity --experiment runs/grid --plot choices.png",
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
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Show which other choices would reverse pairs of models: gain, discount, cutoff, metric, ties, repeats, queries.

    The first metric is the reference. The models are read as for compare.
    """
    check_picture(plot, vars(inputs).values())
    if experiment is not None:
        reject_options("with --experiment", metric=metric)
    comparison = _read_comparison(inputs, experiment, metric, alpha, seed)
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
        announce("Picture", plot)


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
    "gains --data valid.txt lgb=model.txt other=scores.npy --plot path.png",
    "gains --experiment runs/grid --preferences preferences.csv",
    without=("segments", "recipe", "vary", "clusters"),
)
def gains(
    inputs: InputOptions,
    experiment: ExperimentDirectory = None,
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
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Compare models at gains from linear to exponential and beyond, and show the best at each gain.

    The gains are (b^l - 1)/(b - 1): linear for b = 1, exponential for b = 2. To fit b, pass --preferences. In this
    file, a and b are rankings, written as labels separated by blanks. If a and b contain different documents, the
    column labels contains those of all judged documents. With --experiment, its primary metrics are the default.
    """
    from ...report.gains import gains_tables
    from ...report.text import frame_table

    if preferences is None:
        reject_options("without --preferences", side=side is not None, clusters=clusters is not None)
    check_picture(plot, [*vars(inputs).values(), preferences])
    if experiment is None:
        metric = metric or "ndcg_linear@10"
    comparison = _read_comparison(inputs, experiment, [str(metric)], alpha, seed)
    chosen = None if bases is None else parse_numbers("--bases", bases)
    path, fit = comparison.gains(chosen, metric=metric), None
    if preferences is not None:
        columns = {"side": side, "clusters": clusters}
        fit = _fit_base(preferences, path.metric.replace("gain_base=b", "gain_base=1.5"), comparison.alpha, columns)
        path = comparison.gains(chosen, metric=metric, fit=fit)
    if as_json:
        print_json(path.to_dict())
    else:
        terminal = Terminal()
        terminal.print_text(path.headline, style="bold")
        for text in (path.text, *([] if fit is None else [fit.text]), ""):
            terminal.print_text(text)
        for title, frame in gains_tables(path):
            terminal.print(frame_table(title, frame))
        for text in comparison.notes:
            terminal.print_text(text)
    if plot is not None:
        comparison.plot.gains(path=plot, bases=chosen, metric=metric, fit=fit)
        announce("Picture", plot)


def _fit_base(path: Path, metric: str, alpha: float, columns: dict[str, str | None]) -> GainFit:
    """Fit the base to the preferences in a file. `columns` are those of further arguments of `fit_gain`."""
    from ...comparison.gain_fit import fit_gain

    table: dict[str, Any] = {name: cells.astype(str).tolist() for name, cells in read_table(path).items()}
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


@command("bound --qrels qrels.txt", "bound --data valid.txt -k 5 --gains linear,1.5")
def bound(
    data: Data = None,
    qrels: Qrels = None,
    k: Annotated[int, Option("--cutoff", "-k", help="Cutoff of both NDCGs, 0 for all ranks.")] = 10,
    gains: Annotated[str, Option(help="Two gains: linear, exponential, a base or a table such as 0/1/3.")] = (
        "linear,exponential"
    ),
    discount: Annotated[str, Option(help="Discount: log2, jk, reciprocal, none or a table such as 1/0.5.")] = "log2",
    features: Features = None,
    per_query: Annotated[bool, Option("--per-query", "-q", help="Also print the queries with the largest bounds.")] = (
        False
    ),
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Bound how far linear and exponential NDCG can disagree, from the labels alone, before there is a model."""
    from ...comparison.disagreement import disagreement_bound
    from ...report.text import frame_table, values_table

    if (data is None) == (qrels is None):
        raise ValueError("Pass the judgments as exactly one of --data and --qrels.")
    check_picture(plot, [data, qrels])
    judgments: Any = qrels if data is None else read_data(data, features).judgments()
    both: Any = [_parse_gain(gain.strip()) for gain in gains.split(",")]
    result = disagreement_bound(judgments, k or None, both, discount=discount)  # type: ignore[arg-type]  # validated
    if as_json:
        print_json(result.to_dict())
    else:
        terminal = Terminal()
        terminal.print_text(result.text)
        rows = {f"one ranking: {name} above the other": value for name, value in result.one_ranking.items()}
        rows["two rankings: conflict"] = result.two_rankings
        terminal.print(values_table("Largest possible differences", rows))
        if per_query:
            table = result.per_query.sort_values("two_rankings", ascending=False, kind="stable").head(MAX_QUERIES)
            terminal.print(frame_table("Largest bounds by query", table.set_index("query")))
    if plot is not None:
        from ...report.plots import plot_bound

        plot_bound(result).save(plot)
        announce("Picture", plot)


def _parse_gain(text: str) -> str | float:
    return parse_numbers("--gains", text)[0] if text[:1].isdigit() and "/" not in text else text
