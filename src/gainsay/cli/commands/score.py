"""The command `gainsay score`: one run against qrels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Option

from ..app import command
from ..options import AsJson, InputArgument, Metrics, Unjudged
from ..outputs import Terminal, print_json


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
    from ..._common.words import count
    from ...comparison.compare import DEFAULT_METRICS
    from ...evaluation.trec_runs import evaluate_run
    from ...report.text import frame_table, values_table

    result = evaluate_run(
        metric or DEFAULT_METRICS,
        run,
        qrels,
        convention=convention,
        missing="zero" if complete else "skip",
        unjudged=unjudged,  # type: ignore[arg-type]  # validated by evaluate_run
    )
    assert result.coverage is not None
    if as_json:
        content: dict[str, Any] = {"queries": result.judgments.queries, "mean": result.mean}
        content["coverage"] = result.coverage.to_dict()
        if per_query:
            content["per_query"] = result.frame().to_dict("index")
        print_json(content)
        return
    terminal = Terminal()
    if per_query:
        terminal.print(frame_table("By query", result.frame()))
    terminal.print(values_table(f"Mean over {count(result.judgments.queries, 'query')}", result.mean))
    for note in result.coverage.sentences:
        terminal.print_text(note)
