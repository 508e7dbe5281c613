"""The commands `gainwise score`, `explain`, `identify` and `metrics`: values and definitions of metrics."""

from __future__ import annotations

import inspect
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from .._common.text import plain, pluralize, printable
from .app import command
from .inputs import (
    AsJson,
    InputArgument,
    InputOptions,
    Metrics,
    Unjudged,
    parse_numbers,
    read_scored_judgments,
    reject_options,
)
from .outputs import Terminal, print_json


@command(
    "score run.txt qrels.txt -m ndcg_linear@10 -m mrr", "score run.txt qrels.txt -m ndcg@10 --convention trec_eval -q"
)
def score(
    run: Annotated[Path, InputArgument(help="The run, - for standard input.")],
    qrels: Annotated[Path, InputArgument(help="The judgments.")],
    metric: Metrics = None,
    convention: Annotated[str | None, Option(help="Library whose definitions apply, e.g. trec_eval.")] = None,
    per_query: Annotated[bool, Option("--per-query", "-q", help="Also print each query.")] = False,
    complete: Annotated[bool, Option("--complete", "-c", help="Count queries that the run omits as 0.")] = False,
    unjudged: Unjudged = "irrelevant",
    as_json: AsJson = False,
) -> None:
    """Score a run against qrels, like trec_eval. Files are in TREC formats, or CSV with a header."""
    from ..comparison.compare import DEFAULT_METRICS
    from ..evaluation.trec_runs import evaluate_run
    from ..report.text import frame_table, values_table

    try:
        result = evaluate_run(
            metric or DEFAULT_METRICS,
            run,
            qrels,
            convention=convention,
            missing="zero" if complete else "skip",
            unjudged=unjudged,  # type: ignore[arg-type]  # validated by evaluate_run
        )
    except ValueError as error:
        if _are_swapped(run, qrels):
            raise ValueError(f"{run} contains judgments and {qrels} contains a run. Swap the two files.") from error
        raise
    assert result.coverage is not None
    if as_json:
        content = {"queries": result.judgments.queries, "mean": result.mean, "coverage": result.coverage}
        print_json(plain(content | ({"per_query": result.frame().to_dict("index")} if per_query else {})))
        return
    terminal = Terminal()
    if per_query:
        terminal.print(frame_table("By query", result.frame()))
    terminal.print(values_table(f"Mean over {pluralize(result.judgments.queries, 'query')}", result.mean))
    for note in result.coverage.sentences:
        terminal.print_text(note)


def _are_swapped(run: Path, qrels: Path) -> bool:
    """Return whether the files can be read in the other order, after an error in this one."""
    from ..data import read_qrels, read_run

    with suppress(ValueError, OSError):
        return run.is_file() and qrels.is_file() and len(read_qrels(run)) > 0 and len(read_run(qrels)) > 0
    return False


@command("explain --labels 5,0,0,0,0,3,3,3,3,3", "explain scores.csv --query qid -k 5", imports=False)
def explain(
    file: Annotated[Path | None, InputArgument(help="CSV, TSV or Parquet with labels and scores.")] = None,
    labels: Annotated[str | None, Option(help="Without a file: labels in ranked order, e.g. 3,2,0,1.")] = None,
    label: Annotated[str, Option(help="Column of labels.")] = "label",
    score: Annotated[str, Option(help="Column of scores.")] = "score",
    query: Annotated[str | None, Option(help="Column of query ids. By default, all rows are one query.")] = None,
    k: Annotated[int, Option("--cutoff", "-k", help="Cutoff.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show every value that libraries print for one ranking, and which libraries print it."""
    from ..data.tables import get_column, read_table
    from ..evaluation.explain import build_judgments, distinct_numbers
    from ..evaluation.explain import explain as evaluate_conventions
    from ..report.text import explanation

    if (file is None) == (labels is None):
        raise ValueError("Pass either a file or --labels.")
    qid: Any = None
    if file is None:
        reject_options("with --labels", label=label != "label", score=score != "score", query=query)
        values: Any = parse_numbers("--labels", str(labels))
        scores: Any = range(len(values), 0, -1)
    else:
        table = read_table(file, [query])
        qid = None if query is None else get_column(table, query, file).to_numpy()
        values = get_column(table, label, file).to_numpy()
        scores = get_column(table, score, file).to_numpy()
    judgments = build_judgments(values, qid=qid)
    numbers, conventions = distinct_numbers(judgments, scores, k), evaluate_conventions(values, scores, k, qid=qid)
    if as_json:
        content = {"k": k, "queries": judgments.queries, "numbers": numbers}
        print_json(plain({**content, "conventions": conventions.to_dict("index")}))
    else:
        Terminal().print(explanation(numbers, conventions, judgments.queries))


@command(
    'identify "valid_0\'s ndcg@20: 0.6357" --data valid.txt model.txt',
    "identify 0.6357 --table scores.csv --scores new -m ndcg_linear@20",
    'identify "ndcg_cut_10 all 0.5123" --qrels qrels.txt run.txt',
    without=("unjudged", "segments", "configuration", "clusters", "allow_incomplete", "allow_misaligned"),
)
def identify(
    text: Annotated[str, Argument(help="A number, or the line of a log that contains it.")],
    inputs: InputOptions,
    metric: Annotated[
        str | None, Option("--metric", "-m", help="Your own definition, to explain the difference.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the definition that printed a number: library, metric, cutoff, options, or a typical mistake.

    A metric, a cutoff or a library in the text restricts the search. Pass all digits of the number. The model is a file
    of scores by row, a LightGBM or XGBoost model, a TREC run, or a column of --table.
    """
    from ..evaluation.identify import identify as find_definition

    judgments, scores, features = read_scored_judgments(inputs)
    result = find_definition(text, judgments, scores, features=features, metric=metric)
    if as_json:
        print_json(result.to_dict())
        return
    terminal = Terminal()
    for line in result.text.split("\n"):
        terminal.print_text(line)


@command("metrics", "metrics --import my_metrics.py --json")
def metrics(as_json: AsJson = False) -> None:
    """List the metrics: name, formula, and the names that other programs use.

    Names have the form NAME(OPTION=VALUE,…)@CUTOFF. gainwise explain shows one ranking in all definitions.
    """
    from rich.table import Table
    from rich.text import Text

    from ..metrics.base import METRICS
    from ..metrics.conventions import CONVENTIONS

    rows: list[dict[str, Any]] = []
    for name, (metric, options) in METRICS.items():
        prints = {
            library.title: template.format(k="k")
            for library in CONVENTIONS.values()
            for own_name, template in library.prints.items()
            if own_name.partition("@")[0] == name
        }
        formula = printable((inspect.getdoc(metric) or "").partition("\n")[0])
        values = {
            option: getattr(value, "__name__", str(value)) if callable(value) else value
            for option, value in options.items()
        }
        rows.append({"name": name, "formula": formula, "options": values, "prints": prints})
    if as_json:
        print_json(plain(rows))
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
