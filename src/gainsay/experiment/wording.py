"""The outcome of an experiment in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .artefacts import BALANCED, EACH

if TYPE_CHECKING:
    from .result import ExperimentResult

__all__ = ["summary"]


def summary(result: ExperimentResult) -> str:
    """Return the verdict, the winners, what each metric would choose by itself, what that costs, and what failed."""
    lines = [result.verdict.text] if len(result.metrics) > 1 else []
    lines.append(_compared(result))
    lines += _winners(result)
    lines += _chosen(result)
    lines += _choice_losses(result)
    lines += _stopping_losses(result)
    lines += result.missing
    return "\n".join(lines)


def _shown(result: ExperimentResult) -> tuple[str, ...]:
    """Return the metrics that lines are spent on: the two primary ones."""
    return result.comparison.primary or result.metrics[:1]


def _compared(result: ExperimentResult) -> str:
    """Say at which rounds the models are that the verdict speaks of."""
    stop_by, shown = result.plan.stop_by, result.plan.judges
    if len(result.metrics) == 1:
        return f"Each candidate is compared at its best round on valid by {result.metrics[0]}."
    if stop_by == EACH:
        return (
            f"Each candidate is compared at its best rounds on valid by {shown[0]} and by {shown[1]}, as two models "
            "where they differ."
        )
    if stop_by == BALANCED:
        return (
            f"Each candidate is compared at one round, at which on valid the worse off of {shown[0]} and {shown[1]} is "
            "nearest to its own best (balanced)."
        )
    return f"Each candidate is compared at one round, its best on valid by {stop_by}."


def _winners(result: ExperimentResult) -> list[str]:
    means = result.leaderboard.to_dict("index")
    lines = []
    for metric in _shown(result):
        name = result.winners[metric]
        rounds = _rounds(result.compared.loc[name, "rounds"])
        lines.append(f"Best on test by {metric}: {name} at {rounds} ({means[name][metric]:.4f}).")
    return lines


def _rounds(rounds: Any) -> str:
    return f"round{'s' if len(rounds) > 1 else ''} {', '.join(map(str, rounds))}"


def _chosen(result: ExperimentResult) -> list[str]:
    rows: dict[Any, Any] = result.chosen.to_dict("index")
    lines = []
    for metric in _shown(result):
        row = rows[metric]
        lines.append(
            f"Chosen on valid by {metric} alone: {row['candidate']} at its own best {_rounds(row['rounds'])} "
            f"({row['valid']:.4f} on valid, {row[f'test {metric}']:.4f} on test)."
        )
    return lines


def _choice_losses(result: ExperimentResult) -> list[str]:
    return [
        f"Choosing candidate and round by {row['chosen_by']} alone instead {_costs(row['loss'])} {row['metric']} on "
        f"test {_interval(result, row)}."
        for row in result.choice_loss.to_dict("records")
        if {row["metric"], row["chosen_by"]} <= set(_shown(result))
    ]


def _stopping_losses(result: ExperimentResult) -> list[str]:
    """Say what stopping elsewhere than at a metric's own best round costs, and for which candidate most."""
    shown = _shown(result)
    rows = result.stopping_loss.to_dict("records")
    lines = []
    for metric in shown:
        for chooser in dict.fromkeys([*shown, result.plan.stop_by]):
            here = [row for row in rows if (row["metric"], row["stopped_by"]) == (metric, chooser)]
            if here:
                lines.append(_stopping_loss(result, here))
    return lines


def _stopping_loss(result: ExperimentResult, rows: list[dict[Any, Any]]) -> str:
    most = max(rows, key=lambda row: float(row["loss"]))
    metric, chooser = most["metric"], most["stopped_by"]
    where = "the balanced round" if chooser == BALANCED else f"the best round of {chooser}"
    stopped = f"Stopping at {where} instead of {metric}'s own"
    if not any(row["loss"] for row in rows):
        return f"{stopped} costs nothing of {metric} on test, with any candidate."
    mean = sum(row["loss"] for row in rows) / len(rows)
    return (
        f"{stopped} {_costs(mean)} {metric} on test in the mean over candidates; with {most['candidate']}, where it "
        f"costs most, it {_costs(most['loss'])} it {_interval(result, most)}."
    )


def _costs(loss: float) -> str:
    """Return a verb for a loss, which may be a gain; `of` or `on` leads over to the metric."""
    size = f"{abs(loss):.4f}"
    if float(size) == 0:
        return "costs nothing of"
    return f"costs {size} of" if loss > 0 else f"gains {size} of"


def _interval(result: ExperimentResult, row: dict[Any, Any]) -> str:
    level = f"{100 * (1 - result.plan.alpha):g} %"
    return f"({level} interval of the loss {row['lower']:.4f} to {row['upper']:.4f})"
