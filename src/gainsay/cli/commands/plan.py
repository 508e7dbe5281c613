"""The command `gainsay plan`: how many queries and repeats prove a difference."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

from ..app import command
from ..inputs import read_comparison
from ..options import Alpha, AsJson, InputOptions, Margin, Metrics, Require, Seed, parse_requirement, reject_options
from ..outputs import print_json, print_text


@command(
    "plan --difference 0.005 --query-sd 0.1 --claim ship",
    "plan --difference 0.005 --data valid.txt old=old.txt new=new.txt",
    without=("segments", "vary"),
)
def plan(
    inputs: InputOptions,
    difference: Annotated[float, Option(help="The true difference to prove, in units of the metrics.")],
    claim: Annotated[str, Option(help="genuine (disagreement), pair (a difference) or ship (see gate).")] = "genuine",
    power: Annotated[float, Option(help="The probability to prove it.")] = 0.8,
    query_sd: Annotated[float | None, Option(min=0, help="Without models: SD of a difference over queries.")] = None,
    repeat_sd: Annotated[float, Option(min=0, help="With --query-sd: SD of the mean of a recipe over repeats.")] = 0.0,
    query_repeat_sd: Annotated[float, Option(min=0, help="With --query-sd: further SD of one query.")] = 0.0,
    correlation: Annotated[
        float | None, Option(help="With --query-sd: correlation of the metrics. Default: 0.9.")
    ] = None,
    differing: Annotated[float | None, Option(help="With --query-sd: share of differing queries. Default: 1.")] = None,
    number: Annotated[int | None, Option("--models", help="With --query-sd: number of models. Default: 2.")] = None,
    repeats: Annotated[list[int] | None, Option(help="Repeats of each recipe to plan for. Repeatable.")] = None,
    metric: Metrics = None,
    alpha: Alpha = 0.05,
    margin: Margin = 0.0,
    require: Require = "gain",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Plan how many queries and repeats prove a difference, by simulation of the test.

    The variances are those of the given models, which are read as for compare, or those of --query-sd, --repeat-sd and
    --query-repeat-sd. Models given as --recipe have a variance over repeats.
    """
    from ...comparison.power import plan as plan_from_variances

    if claim != "ship":
        reject_options("without --claim ship", margin=margin, require=require != "gain")
    target: dict[str, Any] = {"difference": difference, "power": power, "claim": claim, "repeats": repeats or None}
    target["require"] = parse_requirement(require, margin)
    test: dict[str, Any] = {"alpha": alpha, "margin": margin, "seed": seed}
    variances = {"repeat_sd": repeat_sd, "query_repeat_sd": query_repeat_sd}
    if query_sd is None:
        reject_options("without --query-sd", correlation=correlation, differing=differing, models=number, **variances)
        if repeats and not inputs.recipe:
            raise ValueError("--repeats requires training recipes. Pass --recipe, or --query-sd and --repeat-sd.")
        comparison = read_comparison(inputs, metric or ["ndcg_linear@10", "ndcg_exp@10"], **test)
        try:
            result = comparison.plan(**target)
        except ValueError as error:
            raise ValueError(f"{error} (Pass --query-sd to plan without models.)") from None
    else:
        reject_options("with --query-sd", metric=metric)
        inputs.reject("with --query-sd")
        if not any((query_sd, *variances.values())):
            raise ValueError("--query-sd, --repeat-sd and --query-repeat-sd are all 0. Pass a positive one.")
        if repeats and not any(variances.values()):
            raise ValueError("--repeats requires --repeat-sd or --query-repeat-sd.")
        settings = {"correlation": correlation, "differing": differing, "models": number}
        target |= {name: value for name, value in settings.items() if value is not None}
        result = plan_from_variances(query=query_sd, repeat=repeat_sd, query_repeat=query_repeat_sd, **target, **test)
    if as_json:
        print_json(result.to_dict())
    else:
        print_text(result.text)
