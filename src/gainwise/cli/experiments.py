"""The commands `gainwise run` and `gainwise report`: experiments, and `gainwise demo`: an example."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from .._common.text import describe_missing
from .app import command
from .inputs import AllowIncomplete, AsJson, Open, reject_options
from .outputs import Terminal, announce_report, plan_report, print_comparison, print_json, validate_report

if TYPE_CHECKING:
    from ..comparison.comparison import Comparison
    from ..experiment import ExperimentResult


NEXT_STEPS = """Next, with your own models:
  gainwise run experiment.toml                            candidates of your own
  gainwise compare --data c.txt old=model.txt new=s.csv   existing models
  callbacks=[gainwise.lightgbm.Curves()]                  curves while you train"""

RANKER_QUERIES = 10_000
"""Queries of the three simulated rankers. So many prove the disagreement with any seed (tested with 0 to 149)."""

DESCRIPTION = (
    f"Three simulated rankers on {RANKER_QUERIES:,} simulated queries, seed {{seed}}: 'fair' finds fair documents, "
    "'excellent' the few excellent ones, 'blend' some of both."
)


@command("run experiment.toml", "run experiment.toml --repeats 5 --open")
def run(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The experiment, a TOML file.")],
    directory: Annotated[Path | None, Option(help="Directory for models and results.")] = None,
    jobs: Annotated[int | None, Option("--jobs", "-j", min=1, help="Trainings at a time. Default: CPUs.")] = None,
    repeats: Annotated[int | None, Option(help="Trainings of each candidate. You can add more later.")] = None,
    allow_incomplete: AllowIncomplete = False,
    open_it: Open = False,
    as_json: AsJson = False,
) -> None:
    """Train the candidates of an experiment and compare them. An interrupted experiment resumes."""
    from ..experiment import Experiment

    if as_json:
        reject_options("with --json", open=open_it)
    experiment = Experiment.from_toml(file, directory, **({} if repeats is None else {"repeats": repeats}))
    page = None if as_json else plan_report(experiment.directory or Path())
    result = experiment.run(progress=not as_json, jobs=jobs, allow_incomplete=allow_incomplete)
    if as_json:
        summary = {
            **result.comparison.to_dict(),
            "stop_by": result.plan.stop_by,
            "compared": result.compared.to_dict("index"),
            "best_rounds": result.best_rounds.reset_index(),
            "choice_loss": result.choice_loss,
            "stopping_loss": result.stopping_loss,
            "repeats": result.repeat_values.reset_index(),
            "finalists": result.finalists.to_dict("index"),
            "failures": result.failures,
        }
        print_json(summary)
        return
    print_experiment(result)
    if page is not None:
        announce_report(result.comparison.to_html(page), open_it)


@command("report runs/grid --open")
def report(
    directory: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="The directory of an experiment.")],
    output: Annotated[
        Path | None, Option("--output", "-o", help="The HTML file. By default, report.html in the directory.")
    ] = None,
    allow_incomplete: AllowIncomplete = False,
    open_it: Open = False,
) -> None:
    """Write the HTML report of a finished experiment."""
    from ..experiment import Experiment

    page = output or directory / "report.html"
    validate_report(page)
    result = Experiment.load(directory, allow_incomplete=allow_incomplete)
    for line in describe_missing(result.missing):
        typer.echo(line, err=True)
    announce_report(result.comparison.to_html(page), open_it)


def print_experiment(result: ExperimentResult) -> None:
    """Print the comparison of an experiment and the rounds of its candidates."""
    from ..experiment.result import join_rounds
    from ..report.text import frame_table

    tables = {
        "Round of each compared model": result.compared["rounds"].map(join_rounds).to_frame(),
        "Best round of each candidate by each metric on the validation set": result.best_rounds,
    }
    print_comparison(result.comparison, *(frame_table(title, table) for title, table in tables.items()))
    for line in describe_missing(result.missing):
        Terminal().print_text(line)


@command("demo", "demo --seed 3 --rounds 50 --open", imports=False)
def demo(
    seed: Annotated[int, Option(help="Seed of the data, the training and the draws.")] = 7,
    queries: Annotated[int, Option(min=10, help="Simulated queries.")] = 400,
    rounds: Annotated[int, Option(min=1, help="Boosting rounds of each candidate.")] = 200,
    directory: Annotated[Path | None, Option(help="Directory for models and results.")] = None,
    open_it: Open = False,
) -> None:
    """Show how the definitions disagree, then train eight candidates and show the choice of each metric.

    The first part compares three simulated rankers. Linear and exponential NDCG disagree on the best. The second part
    trains eight candidates of both libraries on simulated data. A report contains both.
    """
    from ..data.simulate import simulate
    from ..experiment import Experiment, grid

    terminal = Terminal()
    page = plan_report(directory or Path(tempfile.mkdtemp(prefix="gainwise-")))
    description = DESCRIPTION.format(seed=seed)
    rankers = compare_rankers(seed)
    terminal.print_text(f"1. {description}")
    terminal.print()
    print_comparison(rankers)
    source = f"simulated, {queries} queries, seed {seed}"
    parts = simulate(queries, seed).split_queries(0.5, 0.2, 0.3, seed=seed)
    sizes = zip(("train", "valid", "test"), parts, strict=True)
    numbers = ", ".join(f"{name} {len(part.query_ids)} ({len(part.labels)})" for name, part in sizes)
    terminal.print_text(f"2. Eight candidates. Data: {source}. Queries (documents): {numbers}")
    gains: dict[str, Any] = {"training_gain": ["linear", "exponential"]}
    candidates = [
        *grid("lgb", "lightgbm", {"learning_rate": 0.1, "num_leaves": [7, 63]}, **gains),
        *grid("xgb", "xgboost", {"learning_rate": 0.1, "max_depth": [3, 7]}, **gains),
    ]
    train, valid, test = parts
    experiment = Experiment(candidates, train, valid, test, directory=directory, seed=seed, num_boost_round=rounds)
    result = experiment.run()
    terminal.print()
    print_experiment(result)
    if page is not None:
        from ..report.content import Appendix, Content
        from ..report.exports import write_html

        trained = result.comparison
        trained.notes = (*trained.notes, f"Data: {source}")
        appendix = Appendix("candidates", "Eight trained candidates", f"Data: {source}", trained.content)
        content = Content(rankers, appendices=[appendix])
        announce_report(write_html(content, page, data=description), open_it)
    terminal.print(f"\n{NEXT_STEPS}", markup=False, soft_wrap=True)


def compare_rankers(seed: int) -> Comparison:
    """Compare three simulated rankers. The two NDCGs disagree on the best."""
    from ..comparison.compare import compare
    from ..data.simulate import simulate, simulate_rankers

    data = simulate(RANKER_QUERIES, seed, mean_length=40, features=1)
    return compare(simulate_rankers(data, seed), data.judgments(), ["ndcg_linear@10", "ndcg_exp@10"], seed=seed)
