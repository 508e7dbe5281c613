"""The command `gainsay explain`: one ranking in every definition."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from ...data.frames import get_column, read_table
from ..app import command
from ..inputs import parse_numbers
from ..options import AsJson, InputArgument, reject_options
from ..outputs import Terminal, print_json


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
    from ...evaluation.explain import distinct_numbers, explain_judgments, judgments_of
    from ...report.explained import explanation

    if (file is None) == (labels is None):
        raise ValueError("Pass either a file or --labels.")
    if file is None:
        reject_options("with --labels", label=label != "label", score=score != "score", query=query)
        values = parse_numbers("--labels", str(labels))
        judgments = judgments_of(values)
        scores: Any = range(len(values), 0, -1)
    else:
        table = read_table(file, text=query)
        qid = None if query is None else get_column(table, query, file).to_numpy()
        judgments = judgments_of(get_column(table, label, file).to_numpy(), qid=qid)
        scores = get_column(table, score, file).to_numpy()
    numbers, conventions = distinct_numbers(judgments, scores, k), explain_judgments(judgments, scores, k)
    if as_json:
        content = {"k": k, "queries": judgments.queries, "numbers": [asdict(number) for number in numbers]}
        print_json({**content, "conventions": conventions.to_dict("index")})
    else:
        Terminal().print(explanation(numbers, conventions, judgments.queries))
