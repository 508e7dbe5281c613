"""The command `gainsay demo`: simulated rankers, and eight candidates from training to report."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from ..app import command
from ..options import Open
from ..outputs import Terminal, announce_report, plan_report, print_comparison

if TYPE_CHECKING:
    from ...comparison.comparison import Comparison
    from ...experiment import Candidate

TREES: dict[str, tuple[Any, str, tuple[int, int]]] = {
    "lgb": ("lightgbm", "num_leaves", (7, 63)),
    "xgb": ("xgboost", "max_depth", (3, 7)),
}
"""Library, parameter and its values for small and large trees, by the short name of the library."""

NEXT_STEPS = """Next, with your own models:
  gainsay run experiment.toml                            candidates of your own
  gainsay compare --data c.txt old=model.txt new=s.csv   existing models
  callbacks=[gainsay.lightgbm.Curves()]                  curves while you train"""

RANKER_QUERIES = 10_000
"""Queries of the three simulated rankers. So many prove the disagreement with any seed (tested with 0 to 149)."""

DESCRIPTION = (
    f"Three simulated rankers on {RANKER_QUERIES:,} simulated queries, seed {{seed}}: 'fair' finds fair documents, "
    "'excellent' the few excellent ones, 'blend' some of both."
)


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
    from ...data.simulate import simulate
    from ...experiment import Experiment
    from .experiments import print_experiment

    terminal = Terminal()
    page = plan_report(directory or Path(tempfile.mkdtemp(prefix="gainsay-")))
    description = DESCRIPTION.format(seed=seed)
    rankers = compare_rankers(seed)
    terminal.print_text(f"1. {description}")
    terminal.print()
    print_comparison(terminal, rankers)
    terminal.print_text(explain_winners(rankers) or "")
    terminal.print()
    source = f"simulated, {queries} queries, seed {seed}"
    parts = simulate(queries, seed).split_queries(0.5, 0.2, 0.3, seed=seed)
    sizes = zip(("train", "valid", "test"), parts, strict=True)
    numbers = ", ".join(f"{name} {len(part.query_ids)} ({len(part.labels)})" for name, part in sizes)
    terminal.print_text(f"2. Eight candidates. Data: {source}. Queries (documents): {numbers}")
    train, valid, test = parts
    experiment = Experiment(
        _build_candidates(rounds), train, valid, test, directory=directory, seed=seed, num_boost_round=rounds
    )
    result = experiment.run()
    terminal.print()
    print_experiment(terminal, result)
    if page is not None:
        from ...report.content import Appendix, Content
        from ...report.html import write_html

        trained = result.comparison
        trained.notes = (*trained.notes, f"Data: {source}")
        candidates = Appendix("candidates", "Eight trained candidates", f"Data: {source}", trained.content)
        content = Content(rankers, appendices=[candidates])
        announce_report(write_html(content, page, data=description), open_it)
    terminal.print(f"\n{NEXT_STEPS}", markup=False, soft_wrap=True)


def compare_rankers(seed: int) -> Comparison:
    """Compare three simulated rankers. The two NDCGs disagree on the best."""
    from ...comparison.compare import compare
    from ...data.simulate import simulate, simulate_rankers

    data = simulate(RANKER_QUERIES, seed, mean_length=40, features=1)
    return compare(simulate_rankers(data, seed), data.judgments(), ["ndcg_linear@10", "ndcg_exp@10"], seed=seed)


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
