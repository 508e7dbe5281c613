"""The commands `gainsay gate`: ship a candidate or not, and `gainsay plan`: how many queries prove a difference."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from .._common import __version__
from .._common.validation import validate_choice
from .app import command
from .inputs import (
    Alpha,
    AsJson,
    InputOptions,
    Margin,
    Metrics,
    Require,
    Seed,
    is_recipe,
    parse_numbers,
    read_comparison,
    reject_options,
)
from .outputs import Terminal, format_json, print_json, validate_overwrites

SCHEMA = 2
"""The version of the JSON output, which increases when a key changes its meaning or is removed."""

NDCGS = ["ndcg_linear@10", "ndcg_exp@10"]

EXIT_CODES = {"ship": 0, "do not ship": 3, "undecided": 4}


def parse_requirement(require: str, margin: float) -> Any:
    """Return the requirement of --require as in Python, or raise if it is unknown or needs --margin."""
    require = require.replace("_", "-")
    validate_choice("--require", require, ("gain", "no-loss"))
    if require == "no-loss" and margin == 0:
        raise ValueError("--require no-loss requires --margin above 0, got 0. Pass the largest acceptable loss.")
    return require.replace("-", "_")


@command(
    "gate --data valid.txt --baseline old.txt --candidate new.txt",
    "gate --table scores.csv --baseline old --candidate new --margin 0.002",
    "gate --data valid.txt --baseline old.txt --candidate new.txt --require no-loss --margin 0.01",
    without=("models", "scores", "segments", "recipe"),
)
def gate(
    inputs: InputOptions,
    baseline: Annotated[
        str,
        Option(metavar="NAME=FILE", help="The deployed model, as for compare. NAME=FILE,FILE,FILE for a recipe."),
    ],
    candidate: Annotated[str, Option(metavar="NAME=FILE", help="The model that may replace it, in the same form.")],
    metric: Metrics = None,
    alpha: Alpha = 0.05,
    margin: Margin = 0.0,
    require: Require = "gain",
    looks: Annotated[
        str | None, Option(metavar="N,N,…", help="Planned numbers of queries, to test while queries accumulate.")
    ] = None,
    earlier: Annotated[
        Path | None,
        Option(metavar="FILE", help="With --looks: the JSON of the previous look, whose settings must match."),
    ] = None,
    anytime: Annotated[bool, Option("--anytime", help="Use bounds that are valid at any number of queries.")] = False,
    seed: Seed = 0,
    json_file: Annotated[
        Path | None, Option("--json", metavar="FILE", help="Write JSON to this file, - to print it instead.")
    ] = None,
) -> int:
    """Ship a candidate or not: one sentence, and exit code 0 (ship), 3 (do not ship) or 4 (undecided).

    Ship: under both metrics, the loss against the baseline is proven to be below --margin, and under one of them the
    candidate is proven better. With --require no-loss, the first condition is sufficient. Do not ship: under one
    metric, the loss is proven to exceed --margin. By default, the metrics are both NDCGs at 10. Pass one or two others
    with --metric. Invalid input exits with 1 or 2.
    """
    from .._common.validation import validate_output

    prints_json = str(json_file) == "-"
    if json_file is not None and not prints_json:
        validate_output("--json", json_file)
        validate_overwrites({"--json": json_file}, [*vars(inputs).values(), earlier, baseline, candidate])
    metrics = metric or NDCGS
    if len(metrics) > 2:
        raise ValueError(f"gate requires one metric or two, got {len(metrics)}: {', '.join(metrics)}.")
    if baseline == candidate:
        raise ValueError(f"--baseline and --candidate must be two different models, got {baseline!r} for both.")
    if anytime and (looks or earlier):
        raise ValueError("--anytime must not be combined with --looks or --earlier. Pass only one of them.")
    requirement = parse_requirement(require, margin)
    planned: Any = None if looks is None else parse_numbers("--looks", looks)
    recipes = [text for text in (baseline, candidate) if is_recipe(text)]
    models = [text for text in (baseline, candidate) if text not in recipes]
    selection: dict[str, Any] = {"models" if inputs.table is None else "scores": models, "recipe": recipes}
    inputs = replace(inputs, **selection)
    comparison = read_comparison(inputs, metrics, alpha=alpha, margin=margin, seed=seed)
    first, second = comparison.models
    if recipes == [baseline]:  # Recipes are the last models of a comparison.
        first, second = second, first
    decisions = comparison.against(first, require=requirement, looks=planned, anytime=anytime, earlier=earlier)
    content = decisions.to_dict()
    (details,) = content.pop("candidates").values()
    decision, sentence = details["decision"], decisions.sentence(second)
    exit_code = EXIT_CODES[decision]
    heading = {"gainsay": __version__, "schema": SCHEMA, "decision": decision, "exit_code": exit_code}
    text = format_json({**heading, "sentence": sentence, "candidate": second, **content, **details}, indent=1)
    if prints_json:
        typer.echo(text)
    else:
        Terminal().print_text(sentence)
        if json_file is not None:
            json_file.write_text(f"{text}\n", encoding="utf-8")
    return exit_code


@command(
    "plan --difference 0.005 --query-sd 0.1 --claim ship",
    "plan --difference 0.005 --claim ship --data valid.txt old=old.txt new=new.txt",
    without=("segments", "vary"),
)
def plan(
    inputs: InputOptions,
    difference: Annotated[float, Option(help="The true difference to prove, in units of the metrics.")],
    claim: Annotated[str, Option(help="genuine (disagreement), pair (a difference) or ship (see gate).")] = "genuine",
    power: Annotated[float, Option(help="The probability to prove it.")] = 0.8,
    query_sd: Annotated[float | None, Option(min=0, help="Without models: SD of a difference over queries.")] = None,
    repeats: Annotated[list[int] | None, Option(help="Repeats of each recipe to plan for. Repeatable.")] = None,
    metric: Metrics = None,
    alpha: Alpha = 0.05,
    margin: Margin = 0.0,
    require: Require = "gain",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Plan how many queries and repeats prove a difference, by simulation of the test.

    The variance is that of the given models, which are read as for compare, or that of --query-sd. Models given as
    --recipe also have a variance over repeats.
    """
    from ..comparison.power import plan as plan_from_variances

    validate_choice("--claim", claim, ("genuine", "pair", "ship"))
    if claim != "ship":
        reject_options("without --claim ship", margin=margin, require=require != "gain")
    target: dict[str, Any] = {"difference": difference, "power": power, "claim": claim, "repeats": repeats or None}
    target["require"] = parse_requirement(require, margin)
    test: dict[str, Any] = {"alpha": alpha, "margin": margin, "seed": seed}
    if query_sd is None:
        if not any((inputs.data, inputs.qrels, inputs.table, inputs.labels)):
            raise ValueError("Pass judgments and models, or plan without data with --query-sd.")
        if repeats and not inputs.recipe:
            raise ValueError("--repeats requires training recipes. Pass --recipe.")
        result = read_comparison(inputs, metric or NDCGS, **test).plan(**target)
    else:
        reject_options("with --query-sd", metric=metric, repeats=repeats)
        inputs.reject("with --query-sd")
        if not 0 < query_sd < math.inf:
            raise ValueError(f"--query-sd must be above 0 and finite, got {query_sd:g}.")
        result = plan_from_variances(query=query_sd, **target, **test)
    if as_json:
        print_json(result.to_dict())
    else:
        Terminal().print_text(result.text)
