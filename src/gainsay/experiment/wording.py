"""The outcome of an experiment in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .result import ExperimentResult

__all__ = ["summary"]


def summary(result: ExperimentResult) -> str:
    """Return the verdict, the winners, what was chosen on valid, what that costs, and what failed."""
    lines = [result.verdict.text] if len(result.metrics) > 1 else []
    lines += _winners(result)
    lines += _chosen(result)
    lines += _choice_losses(result)
    lines += _stopping_losses(result)
    lines += result.missing
    return "\n".join(lines)


def _shown(result: ExperimentResult) -> tuple[str, ...]:
    """Return the metrics that lines are spent on: the two primary ones."""
    return result.comparison.primary or result.metrics[:1]


def _winners(result: ExperimentResult) -> list[str]:
    means = result.leaderboard.to_dict("index")
    return [
        f"Best on test by {metric}: {result.winners[metric]} ({means[result.winners[metric]][metric]:.4f})."
        for metric in _shown(result)
    ]


def _chosen(result: ExperimentResult) -> list[str]:
    rows: dict[Any, Any] = result.chosen.to_dict("index")
    lines = []
    for metric in _shown(result):
        row = rows[metric]
        rounds = ", ".join(map(str, row["rounds"]))
        lines.append(
            f"Chosen on valid by {metric}: {row['candidate']} at round {rounds} "
            f"({row['valid']:.4f} on valid, {row[f'test {metric}']:.4f} on test)."
        )
    return lines


def _choice_losses(result: ExperimentResult) -> list[str]:
    return [
        f"Choosing by {row['chosen_by']} instead {_costs(row['loss'])} {row['metric']} on test "
        f"{_interval(result, row)}."
        for row in _between(result, result.choice_loss)
    ]


def _stopping_losses(result: ExperimentResult) -> list[str]:
    """Say for which candidate the round matters most."""
    rows = _between(result, result.stopping_loss)
    lines = []
    for metric in _shown(result):
        here = [row for row in rows if row["metric"] == metric]
        if not here:
            continue
        most = max(here, key=lambda row: float(row["loss"]))
        stopped = f"Stopping at the best round of {most['stopped_by']}"
        if not any(row["loss"] for row in here):
            lines.append(f"{stopped} costs nothing of {metric} on test, with any candidate.")
            continue
        mean = sum(row["loss"] for row in here) / len(here)
        lines.append(
            f"{stopped} {_costs(mean)} {metric} on test in the mean over candidates; with {most['candidate']}, where "
            f"it costs most, it {_costs(most['loss'])} it {_interval(result, most)}."
        )
    return lines


def _between(result: ExperimentResult, losses: Any) -> list[dict[str, Any]]:
    """Return the rows in which one of the metrics shown judges another one's choice."""
    shown = _shown(result)
    chooser = "chosen_by" if "chosen_by" in losses else "stopped_by"
    return [row for row in losses.to_dict("records") if row["metric"] in shown and row[chooser] in shown]


def _costs(loss: float) -> str:
    """Return a verb for a loss, which may be a gain; `of` or `on` leads over to the metric."""
    size = f"{abs(loss):.4f}"
    if float(size) == 0:
        return "costs nothing of"
    return f"costs {size} of" if loss > 0 else f"gains {size} of"


def _interval(result: ExperimentResult, row: dict[str, Any]) -> str:
    level = f"{100 * (1 - result.plan.alpha):g} %"
    return f"({level} interval of the loss {row['lower']:.4f} to {row['upper']:.4f})"
