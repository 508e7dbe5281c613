"""The commands that compare models: `compare`, `sensitivity`, `gains`, `bound`, `gate` and `plan`."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from .._common import __version__
from .._common.text import printable
from .._common.validation import validate_choice, validate_output
from .app import command
from .inputs import (
    Alpha,
    AsJson,
    InputFile,
    InputOptions,
    Margin,
    Metrics,
    Open,
    Require,
    Seed,
    decode_name,
    is_recipe,
    parse_numbers,
    read_comparison,
    read_judgments,
    reject_options,
)
from .outputs import (
    Terminal,
    announce,
    announce_report,
    format_json,
    print_comparison,
    print_json,
    print_result,
    validate_overwrites,
    validate_report,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from ..comparison.baseline import BaselineComparison
    from ..metrics.base import Metric

FORMATS = (".csv", ".csv.gz", ".parquet")
SCHEMA = 3
"""The version of the JSON output, which increases when a key changes its meaning or is removed."""

NDCGS = ["ndcg_linear@10", "ndcg_exp@10"]

EXIT_CODES = {"ship": 0, "do not ship": 3, "undecided": 4}


@command(
    "compare --data valid.txt lgb=model.txt other=scores.npy",
    "compare --data valid.txt a.txt b.txt --html report.html --open",
    "compare --qrels qrels.txt run_a.txt run_b.txt -m ndcg_exp@10",
    "compare --table scores.csv --scores old,new --segments device",
    "compare --data valid.txt --configuration a=a1.txt,a2.txt,a3.txt b.txt",
    "compare --data test.txt a.txt b.txt --selected a --searched 30",
)
def compare(
    inputs: InputOptions,
    metric: Metrics = None,
    alpha: Alpha = 0.05,
    margin: Margin = 0.0,
    seed: Seed = 0,
    baseline: Annotated[str | None, Option(metavar="NAME", help="The deployed model, to replace or not.")] = None,
    selected: Annotated[
        str | None, Option(metavar="NAME", help="The model that a search selected on a validation set.")
    ] = None,
    searched: Annotated[
        int | None, Option(metavar="N", help="The number of its candidates. Alone: of a search on these queries.")
    ] = None,
    html: Annotated[Path | None, Option(help="Write an HTML report to this file.")] = None,
    open_it: Open = False,
    per_query: Annotated[Path | None, Option(help=f"Write values by query to a file ({', '.join(FORMATS)}).")] = None,
    every: Annotated[bool, Option("--all", help="Print all models, and means of all metrics.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare models on the same judgments: the best model by each metric, and whether a disagreement is genuine.

    A model is a file of scores by row (CSV, TSV, Parquet, NumPy), a LightGBM or XGBoost model, or, with --qrels, a run
    (TREC, or CSV of query, document, score). Write NAME=FILE to name it, and FILE:COLUMN to select one of several
    columns. With --table, models and repeats of configurations are columns. The first column of files of --segments and
    --clusters contains query ids. FILE:COLUMN selects one of the others.
    """
    from ..report.text import decisions_table

    if html is None:
        reject_options("without --html", open=open_it)
    if as_json:
        reject_options("with --json", all=every)
    _validate_outputs(inputs, html, per_query)
    roles: dict[str, Any] = {"baseline": baseline, "selected": selected}
    roles = {role: None if name is None else decode_name(name) for role, name in roles.items()}
    roles["searched"] = searched
    comparison = read_comparison(inputs, metric, alpha=alpha, margin=margin, seed=seed, **roles)
    if inputs.segments and comparison.primary is None:
        raise ValueError(f"--segments requires two metrics, got {comparison.metrics[0]}. Pass another --metric.")
    values = None if per_query is None else _prepare_table(per_query, comparison.frame().reset_index())
    # Files are written before the output, which `head` may end.
    page = None if html is None else comparison.to_html(html)
    if per_query is not None and values is not None:
        write = values.to_parquet if per_query.suffix == ".parquet" else values.to_csv
        write(per_query, index=False)
    if as_json:
        print_json(comparison.to_dict())
    else:
        steps = [] if html is not None else [("why, and which queries", "add --html report.html")]
        steps += [] if every else [("all models, all metrics", "add --all")]
        tables = [] if comparison.content.against is None else [decisions_table(comparison.content)]
        print_comparison(comparison, *tables, every=every, next_steps=steps)
    if page is not None:
        announce_report(page, open_it)
    if per_query is not None:
        announce("Values by query", per_query)
    if inputs.table is not None and inputs.scores is None:
        names = ", ".join(map(printable, comparison.models))
        announce("Models of --table", f"{names}. Select columns of scores with --scores.")


def _validate_outputs(inputs: InputOptions, html: Path | None, per_query: Path | None) -> None:
    """Raise an error if an output cannot be written, before any input is read."""
    outputs = {"--html": html, "--per-query": per_query}
    if html is not None:
        validate_report(html)
        outputs["--html (json)"] = html.with_suffix(".json")
    if per_query is not None:
        validate_output("--per-query", per_query)
        if not per_query.name.endswith(FORMATS):
            raise ValueError(f"--per-query must end with one of {', '.join(FORMATS)}, got {str(per_query)!r}.")
    validate_overwrites(outputs, vars(inputs).values())


def _prepare_table(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table for a file. In CSV, raise an error for control characters, which gainwise could not read.

    A leading apostrophe keeps spreadsheets from running a text as a formula.
    """

    def escape(text: str) -> str:
        if re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", text):
            raise ValueError(
                f"--per-query: CSV cannot contain the control character in {text!r}. Write .parquet instead."
            )
        return f"'{text}" if re.match(r"[=+\-@\t\r](?![\d.]+$)", text) else text

    if ".csv" not in path.suffixes:
        return frame
    return frame.assign(
        **{
            str(name): list(map(escape, map(str, cells)))
            for name, cells in frame.items()
            if cells.dtype.kind not in "fiub"
        }
    )


@command(
    "sensitivity --data valid.txt a.txt b.txt c.txt",
    "sensitivity --qrels qrels.txt run_a.txt run_b.txt -m ndcg_linear@20",
    without=("segments",),
)
def sensitivity(
    inputs: InputOptions,
    metric: Metrics = None,
    alpha: Alpha = 0.05,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Show which other choices would reverse pairs of models: gain, discount, cutoff, metric, ties, repeats, queries.

    The first metric is the reference. The models are read as for compare.
    """
    from ..report.text import choices_table

    result = read_comparison(inputs, metric, alpha=alpha, seed=seed).sensitivity()
    print_result(result, as_json, choices_table(result))


@command(
    "gains --data valid.txt lgb=model.txt other=scores.npy",
    "gains --qrels qrels.txt run_a.txt run_b.txt -m ndcg_linear@20",
    without=("segments", "configuration", "clusters"),
)
def gains(
    inputs: InputOptions,
    metric: Annotated[str, Option("--metric", "-m", help="Metric with the cutoff and discount.")] = "ndcg_linear@10",
    alpha: Alpha = 0.05,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Compare models at gains from linear to exponential and beyond, and show the best at each gain.

    The gains are (b^l - 1)/(b - 1), for 25 values of b from 1 (linear) over 2 (exponential) to 4.
    """
    from ..report.text import gains_tables

    result = read_comparison(inputs, [metric], alpha=alpha, seed=seed).gains(metric=metric)
    print_result(result, as_json, *gains_tables(result), headline=result.headline)


@command(
    "bound --qrels qrels.txt",
    "bound --table scores.csv --query query_id",
    "bound --data valid.txt -k 5",
    without=(
        "models",
        "column",
        "scores",
        "unjudged",
        "segments",
        "configuration",
        "clusters",
        "allow_incomplete",
        "allow_misaligned",
    ),
    imports=False,
)
def bound(
    inputs: InputOptions,
    k: Annotated[int, Option("--cutoff", "-k", help="Cutoff of both NDCGs, 0 for all ranks.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Bound how far linear and exponential NDCG can disagree, from the labels alone, before there is a model."""
    from ..comparison.disagreement import disagreement_bound
    from ..report.text import values_table

    result = disagreement_bound(read_judgments(inputs), k or None)
    rows = {f"one ranking: {name} above the other": value for name, value in result.one_ranking.items()}
    rows["two rankings: conflict"] = result.two_rankings
    print_result(result, as_json, values_table("Largest possible differences", rows))


Baseline = Annotated[
    str, Option(metavar="NAME=FILE", help="The deployed model, as for compare. NAME=FILE,FILE,FILE for repeats.")
]
Candidate = Annotated[str, Option(metavar="NAME=FILE", help="The model that may replace it, in the same form.")]
GateMetrics = Annotated[
    list[str] | None,
    Option("--metric", "-m", metavar="NAME[=MARGIN]", help="A metric, with its margin as number or share. Repeatable."),
]
Gain = Annotated[
    list[str] | None,
    Option(metavar="NAME", help="A metric of which one must improve, the first two by default. Repeatable."),
]
GateMargin = Annotated[
    str, Option(metavar="MARGIN", help="Largest acceptable loss of other metrics: 0.002, or 1% of the baseline's mean.")
]
Looks = Annotated[
    str | None, Option(metavar="N,N,…", help="Planned numbers of queries, to test while queries accumulate.")
]
Earlier = Annotated[
    Path | None,
    InputFile(help="The JSON of the previous test. With --looks, settings must match."),
]
Bounds = Annotated[str, Option(help="asymptotic, or betting: also valid for rare losses and at any number of queries.")]
JsonFile = Annotated[
    Path | None, Option("--json", metavar="FILE", help="Write JSON to this file, - to print it instead.")
]


def parse_requirement(require: str, margin: float) -> Any:
    """Return the requirement of --require as in Python, or raise if it is unknown or needs --margin."""
    require = require.replace("_", "-")
    validate_choice("--require", require, ("gain", "no-loss"))
    if require == "no-loss" and margin == 0:
        raise ValueError("--require no-loss requires --margin above 0, got 0. Pass the largest acceptable loss.")
    return require.replace("-", "_")


@command(
    "gate --data valid.txt --baseline old.txt --candidate new.txt",
    "gate --table scores.csv --baseline old --candidate new --margin 0.002 --segments device",
    "gate --data valid.txt --baseline old.txt --candidate new.txt --require no-loss --margin 0.01",
    "gate --table log.csv --baseline old --candidate new --column revenue "
    "-m ndcg_linear@10=0.002 -m 'cg(column=revenue)@10=1%' --gain ndcg_linear@10 --markdown",
    without=("models", "scores", "configuration", "allow_incomplete"),
)
def gate(
    inputs: InputOptions,
    baseline: Baseline,
    candidate: Candidate,
    metric: GateMetrics = None,
    gain: Gain = None,
    alpha: Alpha = 0.05,
    margin: GateMargin = "0",
    require: Require = "gain",
    looks: Looks = None,
    earlier: Earlier = None,
    bounds: Bounds = "asymptotic",
    seed: Seed = 0,
    markdown: Annotated[bool, Option("--markdown", help="Print about ten lines of Markdown instead.")] = False,
    json_file: JsonFile = None,
) -> int:
    """Ship a candidate or not: one sentence, and exit code 0 (ship), 3 (do not ship) or 4 (undecided).

    Ship: under all metrics, and in all segments, the loss against the baseline is shown to be below the margin, and
    under one metric of --gain the candidate is shown to be better. With --require no-loss, the first condition is
    sufficient. Do not ship: under one metric, the loss is shown to exceed the margin. By default, the metrics are both
    NDCGs at 10. Invalid input exits with 1 or 2.
    """
    from ..metrics.names import parse_metrics
    from ..report.exports import build_gate_markdown

    prints_json = str(json_file) == "-"
    if json_file is not None and not prints_json:
        validate_output("--json", json_file)
        validate_overwrites({"--json": json_file}, [*vars(inputs).values(), earlier, baseline, candidate])
    if prints_json:
        reject_options("with --json -", markdown=markdown)
    validate_choice("--bounds", bounds, ("asymptotic", "betting"))
    kind: Any = bounds
    metrics, margins = read_margins(metric or NDCGS, margin)
    requirement = parse_requirement(require, any(margins.values()))
    planned: Any = None if looks is None else parse_numbers("--looks", looks)
    recipes = [text for text in (baseline, candidate) if is_recipe(text)]
    models = [text for text in (baseline, candidate) if text not in recipes]
    selection: dict[str, Any] = {"models" if inputs.table is None else "scores": models, "configuration": recipes}
    comparison = read_comparison(replace(inputs, **selection), metrics, alpha=alpha, seed=seed)
    first, second = comparison.models
    if recipes == [baseline]:  # Configurations are the last models of a comparison.
        first, second = second, first
    decisions = comparison.against(
        first,
        margins if any(margins.values()) else 0.0,
        gain=gain
        and [name for text in gain for name in ([text] if text in margins else map(str, parse_metrics(text)))],
        require=requirement,
        segments=tuple(comparison._segment_labels),
        looks=planned,
        earlier=earlier,
        bounds=kind,
    )
    content = _build_gate_content(decisions, second)
    if prints_json:
        print_json(content)
    else:
        if json_file is not None:
            json_file.write_text(f"{format_json(content)}\n", encoding="utf-8")
        if markdown:
            Terminal().print(build_gate_markdown(decisions, second), markup=False, soft_wrap=True)
        else:
            Terminal().print_text(content["sentence"])
    return EXIT_CODES[content["decision"]]


def _build_gate_content(decisions: BaselineComparison, candidate: str) -> dict[str, Any]:
    """Return the JSON of the gate: the settings, and the decision about the only candidate."""
    content = decisions.to_dict()
    (details,) = content.pop("candidates").values()
    decision = decisions.decisions[candidate]
    heading = {
        "gainwise": __version__, "schema": SCHEMA, "decision": decision, "exit_code": EXIT_CODES[decision],
        "sentence": decisions.sentence(candidate), "candidate": candidate,
    }  # fmt: skip
    return {**heading, **content, **details, "decision": decision}


def read_margins(texts: Sequence[str], default: str) -> tuple[list[Metric], dict[str, float | str]]:
    """Return metrics, and their margins by name, from `NAME` or `NAME=MARGIN`.

    >>> read_margins(["ndcg_linear@5,10=0.002", "map=1%"], "0")[1]
    {'ndcg_linear@5': 0.002, 'ndcg_linear@10': 0.002, 'map': '1%'}
    """
    from ..metrics.names import parse_metrics

    metrics: list[Metric] = []
    margins: dict[str, float | str] = {}
    uses_default = False
    for text in texts:
        name, equals, end = text.rpartition("=")
        if not equals or ")" in end:  # Options of a metric contain "=", too.
            name, end, uses_default = text, default, True
        size = end if end.endswith("%") else _read_margin(end)
        for metric in parse_metrics(name):
            if str(metric) in margins:
                raise ValueError(f"--metric must be distinct, got {str(metric)!r} twice.")
            metrics.append(metric)
            margins[str(metric)] = size
    if not uses_default and default != "0":
        raise ValueError(f"--margin {default} has no effect, because each --metric has a margin. Leave it out.")
    if any(margins.values()) and not all(margins.values()):
        first = next(name for name, size in margins.items() if not size)
        raise ValueError(f"--metric {first!r} has no margin above 0. Pass {first}=MARGIN, or --margin for all others.")
    if len(margins) > 2 and not any(margins.values()):
        raise ValueError(
            f"A gate with {len(margins)} metrics requires margins above 0. Pass --metric NAME=MARGIN or --margin."
        )
    return metrics, margins


def _read_margin(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(
            f"--metric and --margin must have a number or a percentage as margin, got {text!r}. Pass for example "
            "--metric ndcg_linear@10=0.002 or --margin 1%."
        ) from None


@command(
    "plan --difference 0.005 --query-sd 0.1 --claim ship",
    "plan --difference 0.005 --claim ship --data valid.txt old=old.txt new=new.txt",
    without=("segments", "allow_incomplete"),
)
def plan(
    inputs: InputOptions,
    difference: Annotated[float, Option(help="The true difference to show, in units of the metrics.")],
    claim: Annotated[str, Option(help="genuine (disagreement), pair (a difference) or ship (see gate).")] = "genuine",
    power: Annotated[float, Option(help="The probability to show it.")] = 0.8,
    query_sd: Annotated[float | None, Option(min=0, help="Without models: SD of a difference over queries.")] = None,
    metric: Metrics = None,
    alpha: Alpha = 0.05,
    margin: Margin = 0.0,
    require: Require = "gain",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Plan how many queries are required to show a difference.

    The variance is that of the given models, which are read as for compare, or that of --query-sd. Models given as
    --configuration also have a variance over repeats.
    """
    from ..comparison.power import plan as plan_from_variances

    validate_choice("--claim", claim, ("genuine", "pair", "ship"))
    if claim != "ship":
        reject_options("without --claim ship", margin=margin, require=require != "gain")
    requirement = parse_requirement(require, margin)
    target: dict[str, Any] = {"difference": difference, "power": power, "claim": claim, "require": requirement}
    test: dict[str, Any] = {"alpha": alpha, "margin": margin, "seed": seed}
    if query_sd is None:
        if not any((inputs.data, inputs.qrels, inputs.table, inputs.labels)):
            raise ValueError("Pass --query-sd, or models with exactly one of --data, --qrels, --table and --labels.")
        result = read_comparison(inputs, metric or NDCGS, **test).plan(**target)
    else:
        changed = {name: value != getattr(InputOptions, name) for name, value in vars(inputs).items()}
        reject_options("with --query-sd", metric=metric, **changed)
        result = plan_from_variances(query=query_sd, **target, **test)
    print_result(result, as_json)
