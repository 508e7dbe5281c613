"""The command `gainsay demo`: simulated rankers, and eight candidates from training to report."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from ..app import command
from ..inputs import read_data
from ..options import AsJson, InputFile, Open, reject_options
from ..outputs import Terminal, announce_report, plan_report, print_comparison, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...comparison.comparison import Comparison
    from ...data import RankingData
    from ...experiment import Candidate, ExperimentResult
    from ...report.content import Content

TREES: dict[str, tuple[Any, str, tuple[int, int]]] = {
    "lgb": ("lightgbm", "num_leaves", (7, 63)),
    "xgb": ("xgboost", "max_depth", (3, 7)),
}
"""Library, parameter and its values for small and large trees, by the short name of the library."""

NEXT_STEPS = """Next, with your own models:
  gainsay demo --train a.txt --valid b.txt --test c.txt   the same candidates
  gainsay compare --data c.txt old=model.txt new=s.csv    existing models
  callbacks=[gainsay.lightgbm.Curves()]                   curves while you train"""

QUERIES = 400
RANKER_QUERIES = 10_000
"""Queries of the three simulated rankers. So many prove the disagreement with any seed (tested with 0 to 149)."""


@command("demo", "demo --train a.txt --valid b.txt --test c.txt --open", imports=False)
def demo(
    seed: Annotated[int, Option(help="Seed of the data, the training and the draws.")] = 7,
    queries: Annotated[int | None, Option(min=10, help="Simulated queries.", show_default=str(QUERIES))] = None,
    rounds: Annotated[int, Option(min=1, help="Boosting rounds of each candidate.")] = 200,
    train: Annotated[list[Path] | None, InputFile(help="Training set, LETOR or LightGBM files. Repeatable.")] = None,
    valid: Annotated[Path | None, InputFile(help="With --train: the validation set.")] = None,
    test: Annotated[Path | None, InputFile(help="With --train: the test set.")] = None,
    features: Annotated[int | None, Option(help="With --train: number of features, if rows omit zeros.")] = None,
    directory: Annotated[Path | None, Option(help="Directory for models and results.")] = None,
    open_it: Open = False,
    as_json: AsJson = False,
) -> None:
    """Show how the definitions disagree, then train eight candidates and show the choice of each metric.

    The first part compares three simulated rankers. Linear and exponential NDCG disagree on the best. The second part
    trains eight candidates of both libraries, on simulated or your own data. A report contains both.
    """
    from .experiment import print_experiment, summarize

    if train:
        reject_options("with --train", queries=queries)
    else:
        reject_options("without --train", valid=valid, test=test, features=features)
    if as_json:
        reject_options("with --json", open=open_it)
    terminal = Terminal()
    page = None if as_json else plan_report(directory or Path(tempfile.mkdtemp(prefix="gainsay-")))
    rankers = None if train else compare_rankers(seed)
    if rankers is not None and not as_json:
        terminal.print_text(f"1. {describe_rankers(seed)}")
        terminal.print()
        print_comparison(terminal, rankers)
        terminal.print_text(explain_winners(rankers) or "")
        terminal.print()
    parts, source = _read_parts(train, valid, test, features) if train else _simulate_parts(queries or QUERIES, seed)
    if not as_json:
        sizes = zip(("train", "valid", "test"), parts, strict=True)
        number = "" if rankers is None else "2. Eight candidates. "
        numbers = ", ".join(f"{name} {len(part.query_ids)} ({len(part.labels)})" for name, part in sizes)
        terminal.print_text(f"{number}Data: {source}. Queries (documents): {numbers}")
    result = train_candidates(parts, seed=seed, rounds=rounds, directory=directory, progress=not as_json)
    if as_json:
        print_json({"data": source, **summarize(result), "rankers": None if rankers is None else rankers.to_dict()})
        return
    terminal.print()
    print_experiment(terminal, result)
    if page is not None:
        from ...report.html import Heading, write_html

        heading = Heading() if rankers is None else Heading(data=describe_rankers(seed))
        content = _build_content(result.comparison, rankers, source)
        announce_report(write_html(content, page, heading=heading), open_it)
    if rankers is not None:
        terminal.print(f"\n{NEXT_STEPS}", markup=False, soft_wrap=True)


def compare_rankers(seed: int) -> Comparison:
    """Compare three simulated rankers. The two NDCGs disagree on the best."""
    from ...comparison.compare import compare
    from ...data.simulate import simulate, simulate_rankers

    data = simulate(RANKER_QUERIES, seed, mean_length=40, features=1)
    return compare(simulate_rankers(data, seed), data.judgments(), ["ndcg_linear@10", "ndcg_exp@10"], seed=seed)


def describe_rankers(seed: int) -> str:
    """Return a description of the simulated rankers."""
    return (
        f"Three simulated rankers on {RANKER_QUERIES:,} simulated queries, seed {seed}: 'fair' finds fair documents, "
        "'excellent' the few excellent ones, 'blend' some of both."
    )


def explain_winners(comparison: Comparison) -> str | None:
    """Return the grades that make the two winners differ, or None if one model wins under both metrics."""
    first, second = comparison.metrics
    winner, rival = comparison.winners[first], comparison.winners[second]
    if winner == rival:
        return None
    cells = comparison.attribution(winner, rival).grades_by_ranks
    grades = cells.index.get_level_values("grade").unique()
    gained, lost = (cells.loc[[metric]].to_numpy().sum(axis=1) for metric in (first, second))
    return (
        f"Why: {winner} ranks documents of grade {grades[gained.argmax()]} higher ({gained.max():.3f} of {first}), "
        f"{rival} those of grade {grades[lost.argmin()]} ({-lost.min():.3f} of {second})."
    )


def _simulate_parts(queries: int, seed: int) -> tuple[Sequence[RankingData], str]:
    """Return simulated data for training, validation and test, and a description of them."""
    from ...data.simulate import simulate

    return simulate(queries, seed).split_queries(0.5, 0.2, 0.3, seed=seed), f"simulated, {queries} queries, seed {seed}"


def _read_parts(
    train: list[Path], valid: Path | None, test: Path | None, features: int | None
) -> tuple[Sequence[RankingData], str]:
    """Return data for training, validation and test, and a description of them."""
    from ...data import RankingData

    if valid is None:
        raise ValueError("--train requires --valid, the validation set.")
    parts = [read_data(path, features) for path in train]
    features = features or parts[0].features.shape[1]
    validation = read_data(valid, features)
    source = f"{', '.join(path.name for path in train)} against {valid.name}"
    if test is None:
        source += ". Without --test, the validation set is also the test set, which favors every candidate a little"
    return [
        RankingData.concatenate(parts),
        validation,
        validation if test is None else read_data(test, features),
    ], source


def _build_candidates(rounds: int) -> list[Candidate]:
    """Return eight candidates: both libraries, both training gains, small and large trees."""
    from ...experiment import Candidate

    gains: dict[str, Any] = {"linear": "linear", "exp": "exponential"}
    return [
        Candidate(
            f"{short} {name} ({size} trees)",
            library,
            {"learning_rate": 0.1, parameter: value},
            training_gain=gain,
            num_boost_round=rounds,
        )
        for short, (library, parameter, values) in TREES.items()
        for size, value in zip(("small", "large"), values, strict=True)
        for name, gain in gains.items()
    ]


def train_candidates(
    parts: Sequence[RankingData], *, seed: int, rounds: int, directory: Path | None, progress: bool
) -> ExperimentResult:
    """Train the candidates, one per CPU at a time."""
    from ...experiment import Experiment

    train, valid, test = parts
    with warnings.catch_warnings():
        if test is valid:  # which the description of the data mentions
            warnings.filterwarnings("ignore", message="valid and test are the same data")
        candidates = _build_candidates(rounds)
        experiment = Experiment(candidates, train, valid, test, directory=directory, seed=seed, num_boost_round=rounds)
    return experiment.run(progress=progress)


def _build_content(trained: Comparison, rankers: Comparison | None, source: str) -> Content:
    """Return the content of the report: the simulated rankers if they were compared, then the trained candidates."""
    from ...report.content import Also, Content

    trained.notes = (*trained.notes, f"Data: {source}")
    if rankers is None:
        return trained.content
    candidates = Also("candidates", "Eight trained candidates", f"Data: {source}", trained.content)
    return Content(rankers, also=[candidates])
