"""Comparisons in a terminal, as rich tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from .._common.shown import printable
from ..comparison.pairs import common_column
from .words import over, scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from ..comparison.findings import Findings


def values_table(title: str, rows: Mapping[str, float]) -> Group:
    """Return a table of metrics and their means."""
    table = _table(["metric"], ["mean"])
    for name, value in rows.items():
        table.add_row(name, f"{value:.4f}")
    return _titled(title, table)


def frame_table(title: str, frame: pd.DataFrame) -> Group:
    """Return a DataFrame as a table: index first, numbers to four decimals, everything else as it is."""
    frame = frame.reset_index()
    table = _table(map(str, frame.columns), [])
    for column, name in zip(table.columns, frame.columns, strict=True):
        column.justify = "right" if frame[name].dtype.kind in "fiu" else "left"
    for row in frame.itertuples(index=False):
        table.add_row(*(_shown(_cell(value)) for value in row))
    return _titled(title, table)


def explanation_tables(explained: pd.DataFrame, k: int) -> Group:
    """Return what `gainsay.explain` found as two tables, each no wider than a narrow terminal."""
    values = [name for name in explained if str(name).endswith(f"@{k}")]
    numbers = explained[values].rename(columns=lambda name: name.removesuffix(f"@{k}"))
    return Group(
        frame_table(f"One ranking under every convention, cutoff {k}", numbers),
        frame_table("What the libraries mean", explained.drop(columns=values)),
    )


def leaderboard_table(comparison: Findings) -> Group:
    """Return the means of all models under all metrics, with their ranks; the best of each metric in bold."""
    shares = comparison.shown_shares
    table = _table(["model"], [metric.replace("@", "\n@") for metric in (*comparison.metrics, *shares)])
    for model, row in comparison.leaderboard.iterrows():
        cells = [
            Text(f"{row[metric]:.4f} ({row[f'{metric} rank']:.0f})", style=_bold(row[f"{metric} rank"] == 1))
            for metric in comparison.metrics
        ]
        judged = [f"{by_model[str(model)]:.4f}" for by_model in shares.values()]
        table.add_row(_shown(str(model)), *cells, *judged)
    return _titled(f"Leaderboard: mean over {over(comparison)}, rank in brackets{comparison.condensed}", table)


def conflicts_table(comparison: Findings) -> Group | None:
    """Return the pairs of models whose order differs between the two primary metrics; None where there are none."""
    if comparison.primary is None or comparison.conflicts.empty:
        return None
    first, second = comparison.primary
    table = _table(["pair"], [f"Δ {first}", f"Δ {second}", "p (Holm)"])
    columns = [common_column(comparison.conflicts, f"difference {metric}") for metric in (first, second)]
    for row in comparison.conflicts.to_dict("records"):
        differences = (f"{row[column]:+.4f}" for column in columns)
        table.add_row(_shown(f"{row['model_x']} − {row['model_y']}"), *differences, f"{row['p_holm']:.3f}")
    return _titled(f"Pairs in opposite order under {first} and {second}", table)


def scope_lines(comparison: Findings) -> list[Text]:
    """Return which queries each metric has and with which rounds boosters predicted, where that is to be said."""
    return [_shown(sentence) for sentence in scope(comparison)]


def winners_lines(comparison: Findings) -> list[Text]:
    """Return one line per metric: which model it would pick."""
    width = max(len(metric) for metric in comparison.metrics)
    return [
        Text.assemble(f"  {metric:<{width}}  picks  ", (printable(model), "bold"))
        for metric, model in comparison.winners.items()
    ]


def _titled(title: str, table: Table) -> Group:
    """Return a table below its title, which may be wider than the table."""
    return Group(Text(title, style="bold"), Text(), table, Text())


def _table(left: Iterable[str], right: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, show_edge=False)
    for name in left:
        table.add_column(name, overflow="fold")
    for name in right:
        table.add_column(name, justify="right", overflow="fold")
    return table


def _bold(best: bool) -> str:
    return "bold" if best else ""


def _shown(text: str) -> Text:
    """Return text from data: on one line, and nothing in it acts on the terminal."""
    return Text(printable(text))


def _cell(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
