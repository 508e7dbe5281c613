"""The commands `gainwise run` and `gainwise report`: experiments, and `gainwise demo`: an example."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text
from typer import Option

from .._common.text import describe_missing, plain
from .app import command
from .inputs import AllowIncomplete, AsJson, Open, reject_options
from .outputs import Terminal, announce_report, plan_report, print_answer, print_comparison, print_json, validate_report

if TYPE_CHECKING:
    from ..comparison.comparison import Comparison
    from ..experiment import ExperimentResult


RANKING = (3, 3, 3, 3, 3, 0, 0, 0, 0, 5)
"""Grades of one ranking, best score first, on which definitions differ."""

NUMBERS = {
    "ndcg_exp@10": ("LightGBM, XGBoost", "exponential gain"),
    "ndcg_linear@10": ("scikit-learn, trec_eval", "linear gain"),
    "ndcg_jk@10": ("Järvelin & Kekäläinen 2002", "linear gain, no discount at rank 2"),
}
"""Metrics that are called NDCG@10: who computes them, and how."""

RANKER_QUERIES = 10_000
"""Queries of the three simulated rankers. This number shows the disagreement with any seed (tested with 0 to 149)."""

TRAIN, VALID, TEST = 300, 200, 3000
"""Queries of the training, validation and test sets."""

MARGIN = 0.01


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
            "stop_by": result.plan.stop_by,
            "compared": result.compared.to_dict("index"),
            "best_rounds": result.best_rounds.reset_index(),
            "repeats": result.repeat_values.reset_index(),
            "finalists": result.finalists.to_dict("index"),
            "failures": result.failures,
        }
        print_json(result.comparison.to_dict() | plain(summary))
        return
    if page is not None:
        result.comparison.to_html(page)  # Before the output, which `head` may end.
    print_experiment(result)
    if page is not None:
        announce_report(page, open_it)


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
    seed: Annotated[int, Option(min=0, help="Seed of the data, the training and the draws.")] = 7,
    rounds: Annotated[int, Option(min=1, help="Boosting rounds of each candidate.")] = 100,
    directory: Annotated[Path | None, Option(help="Directory for models and results.")] = None,
    open_it: Open = False,
) -> None:
    """Show how definitions of NDCG disagree, then train four candidates and choose one, in about a minute.

    The first part computes three numbers for one ranking. The second compares three simulated rankers, on which linear
    and exponential NDCG disagree. The third trains four candidates of both libraries on simulated data and writes a
    report.
    """
    terminal, folder = Terminal(), directory or Path(tempfile.mkdtemp(prefix="gainwise-"))
    page = plan_report(folder)
    grades = " ".join(map(str, RANKING))
    _print_heading(terminal, "1  One ranking, three numbers, all called NDCG@10", f"grades {grades}")
    numbers = compute_numbers()
    for name, (libraries, definition) in NUMBERS.items():
        terminal.print_lines([Text(f"   {numbers[name]:.2f}  {libraries:<28}{definition}")])
    sample = f"3 simulated rankers, {RANKER_QUERIES:,} queries"
    _print_heading(terminal, "\n2  So they can choose different models", sample)
    rankers = compare_rankers(seed)
    print_answer(rankers)
    size = f"{TRAIN} training, {VALID} validation and {TEST:,} test queries"
    _print_heading(terminal, "\n3  Train four candidates and choose one", size)
    trained = train_candidates(seed, rounds, folder)
    if page is not None:
        write_demo_report(trained, rankers, page, f"Simulated data, seed {seed}: {size}")
    terminal.print()
    print_answer(trained)
    own = [] if page is None else [f"gainwise report {shlex.quote(str(folder))} --open"]
    terminal.print_lines(["", Text("Next", "bold"), *(Text(f"  {line}") for line in (*own, *NEXT_STEPS))])
    if page is not None:
        announce_report(page, open_it)


NEXT_STEPS = (
    "gainwise compare --data valid.txt old=old.txt new=new.txt   two models",
    "gainwise run experiment.toml                                candidates to train",
    "callbacks=[gainwise.lightgbm.Curves()]                      while you train",
)


def _print_heading(terminal: Terminal, title: str, remark: str) -> None:
    terminal.print(Text.assemble((title, "bold"), ("   " + remark, "dim")), soft_wrap=False)
    terminal.print()


def compute_numbers() -> dict[str, float]:
    """Return the three numbers for one ranking."""
    from ..evaluation.evaluator import evaluate
    from ..judgments import Judgments

    judgments = Judgments(RANKING, group=[len(RANKING)])
    return evaluate(list(NUMBERS), judgments, list(range(len(RANKING), 0, -1))).mean


def compare_rankers(seed: int) -> Comparison:
    """Compare three simulated rankers. The two NDCGs disagree on the best."""
    from ..comparison.compare import compare
    from ..data.simulate import simulate, simulate_rankers

    data = simulate(RANKER_QUERIES, seed, mean_length=40, features=1)
    return compare(simulate_rankers(data, seed), data.judgments(), ["ndcg_linear@10", "ndcg_exp@10"], seed=seed)


def train_candidates(seed: int, rounds: int, directory: Path) -> Comparison:
    """Run an experiment with two candidates of each library, and return the comparison on its test set."""
    from ..data.simulate import simulate
    from ..experiment import Experiment, grid

    total = TRAIN + VALID + TEST
    data = simulate(total, seed, mean_length=60)
    train, valid, test = data.split_queries(TRAIN / total, VALID / total, TEST / total, seed=seed)
    gains: dict[str, Any] = {"training_gain": ["linear", "exponential"]}
    candidates = [
        *grid("lgb", "lightgbm", {"learning_rate": 0.1, "num_leaves": 15}, **gains),
        *grid("xgb", "xgboost", {"learning_rate": 0.1, "max_depth": 4}, **gains),
    ]
    options: dict[str, Any] = {"seed": seed, "margin": MARGIN, "num_boost_round": rounds}
    return Experiment(candidates, train, valid, test, directory=directory, **options).run().comparison


def write_demo_report(trained: Comparison, rankers: Comparison, page: Path, data: str) -> None:
    """Write the report of the trained candidates, with the rankers in a section."""
    from ..report.content import Appendix, Content
    from ..report.exports import write_html

    numbers = ", ".join(f"{value:.2f} ({NUMBERS[name][0]})" for name, value in compute_numbers().items())
    remark = (
        f"One ranking with grades {' '.join(map(str, RANKING))} has three numbers called NDCG@10: {numbers}. The chart "
        f"shows three rankers on {RANKER_QUERIES:,} simulated queries"
    )
    appendix = Appendix("definitions", "Does it matter which NDCG you mean?", remark, rankers.content)
    write_html(Content(trained, appendices=[appendix]), page, data=data)
