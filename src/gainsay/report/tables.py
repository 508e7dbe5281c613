"""The tables of a report, as rows of written cells that HTML and Markdown lay out alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._common.shown import fitting, printable
from .._common.words import bare_p, confidence, count
from ..comparison.pairs import common_column
from .numbers import difference, mean
from .words import over

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from ..comparison.attribution import Attribution
    from ..comparison.findings import Findings

__all__ = ["Cell", "Column", "Table"]

LONGEST_NAME = 40
"""In tables that repeat names, longer ones are shortened; the leaderboard has them whole."""


@dataclass(frozen=True)
class Cell:
    """What stands in a cell: text, a smaller note below it, whether it is a name, and whether it is set off.

    `full` is the whole name where `text` is short for it.
    """

    text: str
    note: str = ""
    name: bool = False
    strong: bool = False
    full: str = ""


@dataclass(frozen=True)
class Column:
    """The head of a column.

    `order` is "ascending" or "descending" where the rows come sorted by it; `low` says of numbers that the lowest are
    wanted first.
    """

    label: str
    numeric: bool = True
    order: str = ""
    low: bool = False


@dataclass(frozen=True)
class Table:
    """A table; the first cell of each row is its heading."""

    caption: str
    columns: list[Column]
    rows: list[list[Cell]] = field(repr=False)


def leaderboard(comparison: Findings) -> Table:
    """Return every model: means under all metrics, and what it loses under the primary ones."""
    verdict = comparison.verdict if comparison.primary else None
    primary = comparison.primary or ()
    witnesses = [metric for metric in comparison.metrics if metric not in primary]
    best = Column("best under both?", numeric=False)
    columns = [Column("model", numeric=False), *(_metric_column(comparison, metric) for metric in primary)]
    columns += [best, Column("worst regret", low=True), Column("regret at most", low=True)] if verdict else []
    columns += [*(_metric_column(comparison, metric) for metric in witnesses), *map(Column, comparison.shown_shares)]
    cells_of = {metric: _means(comparison.leaderboard, metric) for metric in comparison.metrics}
    rows = []
    for place, name in enumerate(comparison.leaderboard.index):
        model = str(name)
        roles = _roles(comparison, model) if verdict else []
        about = [*roles, *_about(comparison, model)]
        cells = [Cell(printable(model), "\n".join(about), name=True, strong=bool(roles))]
        means = {metric: found[place] for metric, found in cells_of.items()}
        cells += [means[metric] for metric in primary]
        if verdict:
            worst = max(verdict.regrets[metric][model] for metric in verdict.metrics)
            upper = max(verdict.regrets_upper[metric][model] for metric in verdict.metrics)
            possible = "possible" if model in verdict.common_best else "ruled out"
            cells += [Cell(possible), Cell(mean(worst)), Cell(mean(upper))]
        cells += [means[metric] for metric in witnesses]
        cells += [Cell(mean(shares[model])) for shares in comparison.shown_shares.values()]
        rows.append(cells)
    caption = f"Means over {over(comparison)}, with rank and simultaneous {confidence(comparison.alpha)} confidence"
    return Table(f"{caption} interval{comparison.condensed}", columns, rows)


def _metric_column(comparison: Findings, metric: str) -> Column:
    low = metric in comparison.lower_is_better
    order = "ascending" if low else "descending"
    return Column(metric, order=order if metric == comparison.metrics[0] else "", low=low)


def _roles(comparison: Findings, model: str) -> list[str]:
    verdict = comparison.verdict
    roles = [f"best by {metric}" for metric in verdict.metrics if comparison.winners[metric] == model]
    return [*roles, *(["safe choice"] if model == verdict.safe_choice else [])]


def _about(comparison: Findings, model: str) -> list[str]:
    """Return what a model is called elsewhere, and with how many boosting rounds it predicted."""
    short = comparison.short_names[model]
    called = [] if short == printable(model) else [f"in short: {short}"]
    return [*called, *([comparison.iterations[model].size] if model in comparison.iterations else [])]


def _names(comparison: Findings) -> dict[str, Cell]:
    """Return a cell for every model: its name where it fits, else its short name."""
    shown = fitting(comparison.models, comparison.short_names, LONGEST_NAME)
    return {
        name: Cell(text, name=True, full="" if text == printable(name) else printable(name))
        for name, text in shown.items()
    }


def _means(board: pd.DataFrame, metric: str) -> list[Cell]:
    """Return a cell for every row: the mean, its rank and its interval."""
    written = [list(map(mean, board[column])) for column in (metric, f"{metric} lower", f"{metric} upper")]
    ranks = board[f"{metric} rank"].astype(int)
    return [
        Cell(text, f"rank {rank}\n{lower} to {upper}", strong=rank == 1)
        for text, lower, upper, rank in zip(*written, ranks, strict=True)
    ]


def pairs(comparison: Findings, table: pd.DataFrame, caption: str) -> Table:
    """Return pairs of models: both differences with intervals, conflict, p-value, counts."""
    metrics = comparison.verdict.metrics
    named = _names(comparison)
    columns = [
        Column("model", numeric=False),
        Column("against", numeric=False),
        *(Column(f"Δ {metric}") for metric in metrics),
        Column("opposite order?", numeric=False),
        Column("p (Holm)", low=True),
        *(Column(f"wins {metric}") for metric in metrics),
    ]
    differences = {metric: _differences(comparison, table, metric) for metric in metrics}
    p_values = list(map(bare_p, table["p_holm"]))
    rows = []
    for place, row in enumerate(table.to_dict("records")):
        sure = row["conflict"] and row["p_holm"] <= comparison.alpha
        word = "significantly" if sure else "maybe by chance" if row["conflict"] else ""
        cells = [named[row["model_x"]], named[row["model_y"]]]
        cells += [differences[metric][place] for metric in metrics]
        cells.append(Cell("yes" if row["conflict"] else "no", word, strong=bool(sure)))
        cells.append(Cell(p_values[place], _flag(row["flag"], row["differing"])))
        for metric in metrics:
            rest = f"{count(row[f'ties {metric}'], 'tie')}\n{count(row[f'losses {metric}'], 'loss')}"
            cells.append(Cell(f"{row[f'wins {metric}']:,}", rest))
        rows.append(cells)
    return Table(caption, columns, rows)


def _differences(comparison: Findings, table: pd.DataFrame, metric: str) -> list[Cell]:
    """Return a cell for every pair: the difference, its interval, and that on the queries of both where it differs."""
    columns = [f"{what} {metric}" for what in ("difference", "lower", "upper")]
    written = [list(map(difference, table[column])) for column in columns]
    joint = [""] * len(table)
    if comparison.verdict.left_out[metric]:
        common = map(difference, table[common_column(table, columns[0])])
        joint = [f"\n{text} on the queries of both" for text in common]
    return [Cell(text, f"{lower} to {upper}{more}") for text, lower, upper, more in zip(*written, joint, strict=True)]


def _flag(flag: str, differing: float) -> str:
    if flag == "identical":
        return "never differ"
    return f"differ on\n{count(round(differing), 'query')}" if flag else ""


def grades_by_ranks(attribution: Attribution, metric: str) -> Table:
    """Return what every grade at every band of ranks adds to the difference, with sums."""
    part = attribution.grades_by_ranks.loc[metric]
    columns = [Column("grade"), *(Column(f"rank {band}") for band in part.columns), Column("all ranks")]
    rows = []
    for grade, cells in zip(part.index[::-1], part.to_numpy(float)[::-1], strict=True):
        rows.append([Cell(str(grade)), *map(Cell, map(difference, [*cells, cells.sum()]))])
    sums = part.to_numpy(float).sum(axis=0)
    total = Cell(difference(attribution.difference[metric]), strong=True)
    rows.append([Cell("all"), *map(Cell, map(difference, sums)), total])
    return Table(f"{metric}: {difference(attribution.difference[metric])} in all", columns, rows)


def parts(attribution: Attribution) -> Table:
    """Return discount and gain: what each changes on the way from one definition to the other."""
    columns = [
        Column("what changes", numeric=False),
        Column("from", numeric=False),
        Column("to", numeric=False),
        *(Column(name) for name in ("before", "after", "change")),
    ]
    rows = [
        [Cell(str(part)), Cell(row["from"]), Cell(row["to"]), *_numbers(row, ("before", "after", "change"))]
        for part, row in zip(attribution.parts.index, attribution.parts.to_dict("records"), strict=True)
    ]
    return Table("How the difference changes from one definition to the other", columns, rows)


def query_classes(attribution: Attribution) -> Table:
    """Return what queries add to the difference, by how many documents of the top grade they have."""
    table = attribution.by_query_class
    columns = [
        Column(f"documents of grade {attribution.top_grade}"),
        Column("queries"),
        *map(Column, attribution.metrics),
    ]
    rows = [
        [Cell(str(name)), Cell(f"{row['queries']:,}"), *_numbers(row, attribution.metrics)]
        for name, row in zip(table.index, table.to_dict("records"), strict=True)
    ]
    return Table("What each class of queries adds to the difference", columns, rows)


def best_rounds(best: pd.DataFrame, comparison: Findings) -> Table:
    """Return the best round of every candidate under both metrics, and what stopping elsewhere loses."""
    metrics = comparison.verdict.metrics
    folds = len(set(best["fold"].astype(str))) > 1
    columns = [Column("candidate", numeric=False), *([Column("fold", numeric=False)] if folds else [])]
    columns += [Column(f"best round by {metric}") for metric in metrics]
    columns += [Column(f"{metric} at the other's round") for metric in metrics]
    named = _names(comparison)
    compared = "compared" in best.columns
    if compared:
        columns += [Column("compared at round"), *(Column(f"{metric} there") for metric in metrics)]
    rows = []
    for row in best.to_dict("records"):
        name = str(row["candidate"])
        cells = [named.get(name, Cell(printable(name), name=True))]
        if folds:
            cells.append(Cell(printable(str(row["fold"]))))
        cells += [Cell(str(int(row[f"round {metric}"]))) for metric in metrics]
        cells += [_change(comparison, metric, row[f"loss {metric}"]) for metric in metrics]
        if compared:
            cells.append(Cell(", ".join(map(str, row["compared"]))))
            cells += [_change(comparison, metric, row[f"compared loss {metric}"]) for metric in metrics]
        rows.append(cells)
    return Table("Best rounds on the validation set", columns, rows)


def _change(comparison: Findings, metric: str, worse: float) -> Cell:
    """Return a cell that says by how much a metric changes where it is so much worse."""
    return Cell(difference(worse if metric in comparison.lower_is_better else -worse))


def _numbers(row: Any, names: Sequence[str]) -> list[Cell]:
    return list(map(Cell, map(difference, [float(row[name]) for name in names])))
