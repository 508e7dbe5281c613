"""The command `gainsay gate`: ship a candidate or not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from ..._common.version import __version__
from ..app import command
from ..inputs import is_recipe, read_comparison
from ..options import Alpha, InputOptions, Margin, Metrics, Require, Seed, parse_requirement
from ..outputs import check_overwrites, format_json, print_text

if TYPE_CHECKING:
    from ...comparison.baseline import BaselineComparison

SCHEMA = 2
"""The version of the JSON output, which increases when a key changes its meaning or is removed."""

EXIT_CODES = {"ship": 0, "do not ship": 3, "undecided": 4}


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
    from ..._common.outputs import check_output

    prints_json = str(json_file) == "-"
    if json_file is not None and not prints_json:
        check_output("--json", json_file)
        check_overwrites({"--json": json_file}, [*vars(inputs).values(), baseline, candidate])
    metrics = metric or ["ndcg_linear@10", "ndcg_exp@10"]
    if len(metrics) > 2:
        raise ValueError(f"gate requires one metric or two, got {len(metrics)}: {', '.join(metrics)}.")
    if baseline == candidate:
        raise ValueError(f"--baseline and --candidate must be two different models, got {baseline!r} for both.")
    requirement = parse_requirement(require, margin)
    planned = None if looks is None else _parse_looks(looks)
    recipes = [text for text in (baseline, candidate) if is_recipe(text)]
    models = [text for text in (baseline, candidate) if text not in recipes]
    if inputs.table is None:
        inputs = replace(inputs, models=models, recipe=recipes)
    else:
        inputs = replace(inputs, scores=models, recipe=recipes)
    comparison = read_comparison(inputs, metrics, alpha=alpha, margin=margin, seed=seed)
    first, second = comparison.models
    if recipes == [baseline]:  # because recipes are the last models of a comparison
        first, second = second, first
    decided = comparison.against(first, require=requirement, looks=planned, anytime=anytime, earlier=earlier)
    content = _format_decision(decided, second)
    if prints_json:
        typer.echo(content)
    else:
        print_text(decided.sentence(second))
        if json_file is not None:
            json_file.write_text(f"{content}\n", encoding="utf-8")
    return EXIT_CODES[decided.decisions[second]]


def _parse_looks(text: str) -> list[int]:
    """Return the numbers of queries of a list that is separated by commas."""
    try:
        return [int(number) for number in text.replace("_", "x").split(",")]
    except ValueError:
        raise ValueError(f"--looks must be numbers of queries such as 5000,10000,20000, got {text!r}.") from None


def _format_decision(decided: BaselineComparison, name: str) -> str:
    """Return the decision about one candidate as JSON."""
    comparison = decided.to_dict()
    (candidate,) = comparison.pop("candidates").values()
    decision = {
        "gainsay": __version__,
        "schema": SCHEMA,
        "decision": candidate["decision"],
        "exit_code": EXIT_CODES[candidate["decision"]],
        "sentence": decided.sentence(name),
        "candidate": name,
    }
    return format_json({**decision, **comparison, **candidate}, indent=1)
