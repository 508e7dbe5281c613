"""Options that several commands have."""

from __future__ import annotations

from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_type_hints

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric", "-m", help="A metric such as ndcg_exp@10; may be given several times.", show_default=False
    ),
]
Unjudged = Annotated[
    str,
    typer.Option(
        help="Retrieved documents that are not in the qrels: 'irrelevant', or 'drop' them first (condensed lists)."
    ),
]
Imports = Annotated[
    list[str] | None,
    typer.Option(
        "--import",
        metavar="MODULE",
        help="A module, or the path of a .py file, that defines metrics of your own; may be given several times.",
        show_default=False,
    ),
]
Segments = Annotated[
    list[str] | None,
    typer.Option(
        help="Judge each kind of query by itself: with --table a column of labels, else FILE or FILE:COLUMN, a table "
        "with a column of query ids (--query). May be given several times.",
        show_default=False,
    ),
]
Recipes = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=FILE,FILE,FILE",
        help="A recipe that was trained several times, three at least: what is said then covers another run. With "
        "--table the names of columns. May be given several times.",
        show_default=False,
    ),
]
Vary = Annotated[
    str | None,
    typer.Option(
        help="What differs between the runs of a recipe, for the words: seed, or queries.", show_default=False
    ),
]
Clusters = Annotated[
    str | None,
    typer.Option(
        metavar="FILE[:COLUMN]",
        help="Queries that are not independent (near duplicates, one session, one user): a table with a column of "
        "query ids (--query) and one of their clusters; with --table a column.",
        show_default=False,
    ),
]
Level = Annotated[float, typer.Option(help="Level of the tests.")]
Seed = Annotated[int, typer.Option(help="Seed of the draws.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Opened = Annotated[bool, typer.Option("--open", help="Open the report in the browser.")]


class Sources(NamedTuple):
    """Where judgments come from and how models are read; of `data`, `qrels`, `table` and `labels` exactly one."""

    data: Annotated[
        Path | None, typer.Option(exists=True, help="LETOR data, or LightGBM data with its .query file beside it.")
    ] = None
    qrels: Annotated[Path | None, typer.Option(exists=True, help="TREC qrels, or CSV of query, document, rating.")] = (
        None
    )
    table: Annotated[Path | None, typer.Option(exists=True, help="One table with label, query and scores.")] = None
    labels: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="The labels alone, one a row (NumPy, CSV, Parquet), with --group."
        ),
    ] = None
    group: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="With --labels: how many rows each query has, one number a query."
        ),
    ] = None
    label: Annotated[str, typer.Option(help="With --table: column of labels.")] = "label"
    query: Annotated[str, typer.Option(help="Column of queries in --table, and in files of --segments.")] = "query"
    score: Annotated[list[str] | None, typer.Option(help="With --table: columns of scores; else all others.")] = None
    features: Annotated[
        int | None, typer.Option(help="With --data: number of features, where rows leave out zeros.")
    ] = None
    iteration: Annotated[
        list[str] | None,
        typer.Option(
            help="Boosting rounds with which all models predict, or NAME=ROUNDS for one; by default up to the best "
            "iteration of each. May be given several times.",
            show_default=False,
        ),
    ] = None


def said(sources: Sources) -> list[str]:
    """Return the options of `Sources` that are given, as a shell writes them.

    >>> said(Sources(label="grade", score=["a", "b"]))
    ['--label grade', '--score a', '--score b']
    """
    found = []
    for name, value in sources._asdict().items():
        if value != Sources._field_defaults[name]:
            found += [f"--{name} {one}" for one in (value if isinstance(value, list) else [value])]
    return found


def examples(*calls: str) -> str:
    """Return calls as the end of a command's help, each on a line of its own."""
    return "\n\n".join(["Examples:", *(f"gainsay {call}" for call in calls)])


def takes_sources(*left_out: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of `Sources`, but for some, in place of its parameter `sources`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        fields = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=Sources._field_defaults[name], annotation=kind)
            for name, kind in get_type_hints(Sources, include_extras=True).items()
            if name not in left_out
        ]
        own = signature(command, eval_str=True)
        expanded = [one for it in own.parameters.values() for one in (fields if it.name == "sources" else [it])]

        @wraps(command)
        def run(**given: Any) -> None:
            command(sources=Sources(**{field.name: given.pop(field.name) for field in fields}), **given)

        run.__signature__ = own.replace(parameters=expanded)  # type: ignore[attr-defined]  # read by typer
        run.__annotations__ = {one.name: one.annotation for one in expanded}
        return run

    return decorate
