"""The commands `gainsay sensitivity`, `gainsay gains` and `gainsay bound`: what other choices would change."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from ..app import command
from ..inputs import load_comparison, parse_numbers, read_comparison, read_judgments
from ..options import Alpha, AsJson, InputOptions, Metrics, Plot, Seed, reject_options
from ..outputs import Terminal, announce, print_json, validate_picture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...comparison.comparison import Comparison

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
    validate_picture(plot, vars(inputs).values())
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
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Compare models at gains from linear to exponential and beyond, and show the best at each gain.

    The gains are (b^l - 1)/(b - 1): linear for b = 1, exponential for b = 2. With --experiment, its primary metrics are
    the default.
    """
    from ...report.text import gains_tables

    validate_picture(plot, vars(inputs).values())
    if experiment is None:
        metric = metric or "ndcg_linear@10"
    comparison = _read_comparison(inputs, experiment, [str(metric)], alpha, seed)
    numbers = None if bases is None else parse_numbers("--bases", bases)
    path = comparison.gains(numbers, metric=metric)
    if as_json:
        print_json(path.to_dict())
    else:
        terminal = Terminal()
        terminal.print_text(path.headline, style="bold")
        terminal.print_text(path.text)
        terminal.print()
        for table in gains_tables(path):
            terminal.print(table)
        for text in comparison.notes:
            terminal.print_text(text)
    if plot is not None:
        comparison.plot.gains(path=plot, bases=numbers, metric=metric)
        announce("Picture", plot)


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
    from ...comparison.disagreement import disagreement_bound
    from ...report.text import values_table

    result = disagreement_bound(read_judgments(inputs), k or None)
    if as_json:
        print_json(result.to_dict())
    else:
        terminal = Terminal()
        terminal.print_text(result.text)
        rows = {f"one ranking: {name} above the other": value for name, value in result.one_ranking.items()}
        rows["two rankings: conflict"] = result.two_rankings
        terminal.print(values_table("Largest possible differences", rows))
