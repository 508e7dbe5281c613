"""The command `gainsay plan`: how many queries and repeats prove a difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from ..app import command
from ..inputs import read_comparison
from ..options import Alpha, AsJson, InputOptions, Margin, Metrics, Seed
from ..outputs import print_json, print_text

if TYPE_CHECKING:
    from ...comparison.planning import Plan


@command(
    "plan --difference 0.005 --query-sd 0.1 --claim ship",
    "plan --difference 0.005 --data valid.txt old=old.txt new=new.txt",
    without=("segments", "vary"),
)
def plan(
    inputs: InputOptions,
    difference: Annotated[float, Option(help="The true difference to prove, in units of the metrics.")],
    claim: Annotated[
        str, Option(help="The claim to prove: genuine (disagreement), pair (a difference), or ship (see gate).")
    ] = "genuine",
    power: Annotated[float, Option(help="The probability of the proof.")] = 0.8,
    query_sd: Annotated[
        float | None, Option(min=0, help="Without models: SD of the difference between two models over queries.")
    ] = None,
    repeat_sd: Annotated[float, Option(min=0, help="With --query-sd: SD of the mean of a recipe over repeats.")] = 0.0,
    query_repeat_sd: Annotated[
        float, Option(min=0, help="With --query-sd: further SD of the value of one query over repeats.")
    ] = 0.0,
    correlation: Annotated[
        float | None, Option(help="With --query-sd: correlation of the two metrics.", show_default="0.9")
    ] = None,
    number: Annotated[
        int | None, Option("--models", help="With --query-sd: number of models.", show_default="2")
    ] = None,
    repeats: Annotated[
        list[int] | None, Option(help="Number of repeats of each recipe to plan for. Repeatable.")
    ] = None,
    metric: Metrics = None,
    alpha: Alpha = 0.05,
    margin: Margin = 0.0,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Plan how many queries and repeats prove a difference, by simulation of the test.

    The variances are those of the given models, which are read as for compare, or those of --query-sd, --repeat-sd and
    --query-repeat-sd. Models given as --recipe have a variance over repeats.
    """
    if margin and claim != "ship":
        raise ValueError("--margin has no effect without --claim ship. Leave it out.")
    target: dict[str, Any] = {"lead": difference, "power": power, "claim": claim, "runs": repeats or None}
    test: dict[str, Any] = {"alpha": alpha, "margin": margin, "seed": seed}
    variances = {"--repeat-sd": repeat_sd, "--query-repeat-sd": query_repeat_sd}
    settings = {"--correlation": correlation, "--models": number}
    if query_sd is None:
        for option, value in (variances | settings).items():
            if value:
                raise ValueError(f"{option} requires --query-sd. Pass either variances or models.")
        if repeats and not inputs.recipe:
            raise ValueError("--repeats requires training recipes. Pass --recipe, or --query-sd and --repeat-sd.")
        result = _plan_from_models(inputs, metric, target, test)
    else:
        given = [*inputs.get_given(), *(f"--metric {name}" for name in metric or [])]
        if given:
            raise ValueError(f"{given[0]} has no effect with --query-sd, which replaces models. Leave it out.")
        if not any((query_sd, *variances.values())):
            raise ValueError("--query-sd, --repeat-sd and --query-repeat-sd are all 0. Pass a positive one.")
        if repeats and not any(variances.values()):
            raise ValueError("--repeats requires --repeat-sd or --query-repeat-sd.")
        result = _plan_from_variances(query_sd, repeat_sd, query_repeat_sd, correlation, number, target | test)
    if as_json:
        print_json(result.to_dict())
    else:
        print_text(result.text)


def _plan_from_models(
    inputs: InputOptions, metrics: list[str] | None, target: dict[str, Any], test: dict[str, Any]
) -> Plan:

    comparison = read_comparison(inputs, metrics or ["ndcg_linear@10", "ndcg_exp@10"], **test)
    try:
        return comparison.plan(**target)
    except ValueError as error:
        raise ValueError(f"{error} (Pass --query-sd to plan without models.)") from None


def _plan_from_variances(
    query: float, repeat: float, query_repeat: float, correlation: float | None, models: int | None, options: Any
) -> Plan:
    from ...comparison.planning import plan

    options |= {} if correlation is None else {"correlation": correlation}
    options |= {} if models is None else {"models": models}
    return plan(query=query, run=repeat, query_run=query_repeat, **options)
