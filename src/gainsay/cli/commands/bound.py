"""The command `gainsay bound`: how far two NDCGs can disagree on these labels, whatever the models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from ..app import command
from ..inputs import parse_numbers, read_data
from ..options import AsJson, InputFile
from ..outputs import Terminal, check_picture, print_json

if TYPE_CHECKING:
    from ...comparison.disagreement import DisagreementBound

MAX_QUERIES = 20


@command("bound --qrels qrels.txt", "bound --data valid.txt -k 5 --gains linear,1.5")
def bound(
    data: Annotated[Path | None, InputFile(help="LETOR data, or LightGBM data next to its .query file.")] = None,
    qrels: Annotated[Path | None, InputFile(help="TREC qrels, or CSV of query, document, rating.")] = None,
    k: Annotated[int, Option("--cutoff", "-k", help="Cutoff of both NDCGs, 0 for all ranks.")] = 10,
    gains: Annotated[str, Option(help="Two gains: linear, exponential, a base or a table such as 0/1/3.")] = (
        "linear,exponential"
    ),
    discount: Annotated[str, Option(help="Discount: log2, jk, reciprocal, none or a table such as 1/0.5.")] = "log2",
    features: Annotated[int | None, Option(help="With --data: number of features, if rows omit zeros.")] = None,
    per_query: Annotated[bool, Option("--per-query", "-q", help="Also print the queries with the largest bounds.")] = (
        False
    ),
    plot: Annotated[Path | None, Option(help="Write a picture to this .png, .svg or .pdf file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Bound how far linear and exponential NDCG can disagree, from the labels alone, before there is a model."""
    from ...comparison.disagreement import disagreement_bound

    if (data is None) == (qrels is None):
        raise ValueError("Pass the judgments as exactly one of --data and --qrels.")
    check_picture(plot, [data, qrels])
    judgments: Any = qrels if data is None else read_data(data, features).judgments()
    both = [_parse_gain(gain.strip()) for gain in gains.split(",")]
    result = disagreement_bound(judgments, k or None, both, discount=discount)  # type: ignore[arg-type]  # validated
    if as_json:
        print_json(result.to_dict())
    else:
        _print_bound(result, per_query)
    if plot is not None:
        from ...report.plots import plot_bound

        plot_bound(result).save(plot)
        typer.echo(f"Picture: {plot}", err=True)


def _parse_gain(text: str) -> str | float:
    return parse_numbers("--gains", text)[0] if text[:1].isdigit() and "/" not in text else text


def _print_bound(result: DisagreementBound, per_query: bool) -> None:
    from ...report.text import frame_table, values_table

    terminal = Terminal()
    terminal.print_text(result.text)
    rows = {f"one ranking: {name} above the other": value for name, value in result.one_ranking.items()}
    terminal.print(values_table("Largest possible differences", rows | {"two rankings: conflict": result.two_rankings}))
    if per_query:
        table = result.per_query.sort_values("two_rankings", ascending=False, kind="stable").head(MAX_QUERIES)
        terminal.print(frame_table("Largest bounds by query", table.set_index("query")))
