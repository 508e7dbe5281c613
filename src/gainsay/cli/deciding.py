"""The commands that decide and plan: `gainsay gate`, `gainsay plan`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._common.outputs import check_output
from .._common.shown import printable
from .._common.version import __version__
from .apart import check_apart
from .app import _errors, _print_json, app, json_text
from .options import (
    AsJson,
    Clusters,
    Imports,
    Level,
    Metrics,
    Recipes,
    Seed,
    Sources,
    Unjudged,
    Vary,
    examples,
    said,
    takes_sources,
)

if TYPE_CHECKING:
    from ..comparison.baseline import BaselineComparison

GATE_SCHEMA = 1
"""Of the JSON that `gate` writes; raised when a key changes its meaning or goes."""

EXIT = {"ship": 0, "do not ship": 3, "undecided": 4}
"""How `gate` ends."""


def _require(**options: object) -> None:
    """Refuse a call without an option that it needs: an old typer that meets a new click lets it pass."""
    for name, value in options.items():
        if value is None:
            raise typer.BadParameter(f"the option --{name} is missing")


@app.command(
    epilog=examples(
        "gate --data valid.txt --baseline old.txt --candidate new.txt",
        "gate --table scores.csv --baseline old --candidate new --margin 0.002",
    )
)
@takes_sources("score")
def gate(
    baseline: Annotated[
        str,
        typer.Option(
            metavar="NAME=FILE",
            help="The model that is deployed; as for compare, or a column of --table. NAME=FILE,FILE,FILE for a recipe "
            "that was trained several times.",
        ),
    ],
    candidate: Annotated[str, typer.Option(metavar="NAME=FILE", help="What may take its place; the same forms.")],
    *,
    sources: Sources,
    metric: Metrics = None,
    alpha: Level = 0.05,
    margin: Annotated[float, typer.Option(help="A loss up to this is tolerated, in the metrics' unit.")] = 0.0,
    seed: Seed = 0,
    unjudged: Unjudged = "irrelevant",
    vary: Vary = None,
    clusters: Clusters = None,
    modules: Imports = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write all numbers as JSON to this file; - prints them instead."),
    ] = None,
) -> None:
    """Ship a candidate or not: one sentence, and exit code 0 (ship), 3 (do not ship) or 4 (undecided).

    Ship: under both metrics the candidate's loss against the baseline is proven to be within --margin, and under one of
    them it is proven better. Do not ship: under one of them its loss is proven to be beyond --margin. By default both
    NDCGs at 10; one metric or two, by --metric. Wrong input ends with 1 or 2, so that nothing is shipped by mistake.
    """
    _require(baseline=baseline, candidate=candidate)
    with _errors(modules):
        from .inputs import is_recipe, read_comparison

        if json_file is not None and str(json_file) != "-":
            check_output("--json", json_file)
            check_apart({"--json": json_file}, [*sources, baseline, candidate, clusters])
        metrics = metric or ["ndcg_linear@10", "ndcg_exp@10"]
        if len(metrics) > 2:
            raise ValueError(f"a gate decides by one metric or two, got {len(metrics)}: {', '.join(metrics)}")
        if baseline == candidate:
            raise ValueError(f"--baseline and --candidate are both {baseline!r}: name two different models")
        recipes = [text for text in (baseline, candidate) if is_recipe(text)]
        single = [text for text in (baseline, candidate) if text not in recipes]
        options: Any = {"alpha": alpha, "margin": margin, "seed": seed, "unjudged": unjudged, "vary": vary}
        options |= {"run": recipes, "clusters": clusters}
        if sources.table is None:
            comparison = read_comparison(single, sources, metrics, **options)
        else:
            comparison = read_comparison([], sources._replace(score=single), metrics, **options)
        first, second = comparison.models
        if recipes == [baseline]:  # recipes come last
            first, second = second, first
        found = comparison.against(first)
        sentence = printable(found.sentence(second))
        content = _outcome(found, second)
        if str(json_file) == "-":
            typer.echo(content)
        else:
            typer.echo(sentence)
            if json_file is not None:
                json_file.write_text(content + "\n", encoding="utf-8")
        sys.stdout.flush()
    raise typer.Exit(EXIT[found.decisions[second]])


@app.command(
    epilog=examples(
        "plan --lead 0.005 --query-sd 0.1 --claim ship", "plan --lead 0.005 --data valid.txt old=old.txt new=new.txt"
    )
)
@takes_sources()
def plan(
    lead: Annotated[float, typer.Option(help="The true lead that is to be proven, in the metrics' unit.")],
    models: Annotated[
        list[str] | None, typer.Argument(help="As for compare; without models give --query-sd.", show_default=False)
    ] = None,
    claim: Annotated[
        str,
        typer.Option(help="What is to be proven: genuine (disagreement), pair (one is ahead), or ship (see gate)."),
    ] = "genuine",
    power: Annotated[float, typer.Option(help="The probability with which it is to be proven.")] = 0.8,
    query_sd: Annotated[
        float | None,
        typer.Option(
            help="Instead of models: how much the difference of two varies from query to query.", show_default=False
        ),
    ] = None,
    run_sd: Annotated[float, typer.Option(help="How much a recipe's mean varies from run to run.")] = 0.0,
    query_run_sd: Annotated[
        float, typer.Option(help="How much a recipe's value on one query varies from run to run, beyond that.")
    ] = 0.0,
    correlation: Annotated[
        float | None, typer.Option(help="With --query-sd: between the two metrics.", show_default="0.9")
    ] = None,
    number: Annotated[
        int | None, typer.Option("--models", help="With --query-sd: how many models are compared.", show_default="2")
    ] = None,
    runs: Annotated[
        list[int] | None,
        typer.Option(help="How many runs of each recipe to plan for; may be given several times.", show_default=False),
    ] = None,
    *,
    sources: Sources,
    metric: Metrics = None,
    alpha: Level = 0.05,
    margin: Annotated[float, typer.Option(help="With --claim ship: the loss that is tolerated.")] = 0.0,
    seed: Seed = 0,
    unjudged: Unjudged = "irrelevant",
    run: Recipes = None,
    clusters: Clusters = None,
    modules: Imports = None,
    as_json: AsJson = False,
) -> None:
    """Say how many queries, and runs, would prove a lead: by simulating the test itself.

    Variances are those of the models that are named, on judgments given as for compare, or are given by --query-sd,
    --run-sd and --query-run-sd.

    Variances of runs come from recipes that were trained several times (--run).
    """
    _require(lead=lead)
    with _errors(modules):
        from ..comparison.power import plan as planned
        from .inputs import read_comparison

        if query_sd is None:
            apart = {"--run-sd": run_sd or None, "--query-run-sd": query_run_sd or None}
            for option, value in (apart | {"--correlation": correlation, "--models": number}).items():
                if value is not None:
                    raise ValueError(f"{option} belongs to --query-sd: variances are given, or those of models")
            options: Any = {"alpha": alpha, "margin": margin, "seed": seed, "unjudged": unjudged}
            options |= {"run": run or (), "clusters": clusters}
            comparison = read_comparison(models or [], sources, metric or ["ndcg_linear@10", "ndcg_exp@10"], **options)
            found = comparison.plan(lead, power, claim, repeats=runs or None)  # type: ignore[arg-type]  # checked there
        else:
            if models or run or clusters is not None or said(sources) or unjudged != "irrelevant":
                raise ValueError(
                    "--query-sd says what varies, so name no models and no judgments, nor how to read them"
                )
            if metric:
                raise ValueError("--metric belongs to models: --query-sd is the variance of whatever metric you mean")
            given = {"correlation": correlation, "models": number}
            found = planned(
                lead,
                power,
                claim,  # type: ignore[arg-type]  # checked there
                query=query_sd,
                repeat=run_sd,
                query_repeat=query_run_sd,
                **{name: value for name, value in given.items() if value is not None},  # type: ignore[arg-type]
                repeats=runs or None,
                alpha=alpha,
                margin=margin,
                seed=seed,
            )
        if as_json:
            _print_json(found.to_dict())
        else:
            typer.echo(printable(found.text))


def _outcome(found: BaselineComparison, candidate: str) -> str:
    """Return what `gate` found as JSON text."""
    everything = found.to_dict()
    (one,) = everything.pop("candidates").values()
    content = {
        "gainsay": __version__,
        "schema": GATE_SCHEMA,
        "decision": one["decision"],
        "exit_code": EXIT[one["decision"]],
        "sentence": found.sentence(candidate),
        "candidate": candidate,
        **everything,
        **one,
    }
    return json_text(content, 1)
