"""The outcome of an experiment in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .rounds import BALANCED, EACH

if TYPE_CHECKING:
    from ..harness import Comparison
    from .choices import Choices

__all__ = ["last_line", "summary"]


def summary(choices: Choices, comparison: Comparison) -> list[str]:
    """Return the winners, what each metric would choose by itself, and what that costs."""
    shown = comparison.primary or choices.plan.names[:1]
    return [
        _compared(choices),
        *_winners(choices, comparison, shown),
        *_chosen(choices, shown),
        *_choice_losses(choices, shown),
        *_stopping_losses(choices, shown),
    ]


def last_line(text: str) -> str:
    """Return what a traceback or another reason comes down to."""
    return text.strip().splitlines()[-1]


def _compared(choices: Choices) -> str:
    """Say at which rounds the models are that the verdict speaks of."""
    stop_by, shown = choices.plan.stop_by, choices.plan.judges
    if len(choices.plan.names) == 1:
        return f"Each candidate is compared at its best round on valid by {choices.plan.names[0]}."
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


def _winners(choices: Choices, comparison: Comparison, shown: Sequence[str]) -> list[str]:
    means = comparison.leaderboard.to_dict("index")
    lines = []
    for metric in shown:
        name = comparison.winners[metric]
        rounds = _rounds(choices.compared.loc[name, "rounds"])
        lines.append(f"Best on test by {metric}: {name} at {rounds} ({means[name][metric]:.4f}).")
    return lines


def _rounds(rounds: Any) -> str:
    return f"round{'s' if len(rounds) > 1 else ''} {', '.join(map(str, rounds))}"


def _chosen(choices: Choices, shown: Sequence[str]) -> list[str]:
    rows: dict[Any, Any] = choices.chosen.to_dict("index")
    lines = []
    for metric in shown:
        row = rows[metric]
        lines.append(
            f"Chosen on valid by {metric} alone: {row['candidate']} at its own best {_rounds(row['rounds'])} "
            f"({row['valid']:.4f} on valid, {row[f'test {metric}']:.4f} on test)."
        )
    return lines


def _choice_losses(choices: Choices, shown: Sequence[str]) -> list[str]:
    return [
        f"Choosing candidate and round by {row['chosen_by']} alone instead "
        f"{_costs(choices, row['metric'], row['loss'])} {row['metric']} on test {_interval(choices, row)}."
        for row in choices.choice_loss.to_dict("records")
        if {row["metric"], row["chosen_by"]} <= set(shown)
    ]


def _stopping_losses(choices: Choices, shown: Sequence[str]) -> list[str]:
    """Say what stopping elsewhere than at a metric's own best round costs, and for which candidate most."""
    rows = choices.stopping_loss.to_dict("records")
    lines = []
    for metric in shown:
        for chooser in dict.fromkeys([*shown, choices.plan.stop_by]):
            here = [row for row in rows if (row["metric"], row["stopped_by"]) == (metric, chooser)]
            if here:
                lines.append(_stopping_loss(choices, here))
    return lines


def _stopping_loss(choices: Choices, rows: list[dict[Any, Any]]) -> str:
    most = max(rows, key=lambda row: float(row["loss"]))
    metric, chooser = most["metric"], most["stopped_by"]
    where = "the balanced round" if chooser == BALANCED else f"the best round of {chooser}"
    stopped = f"Stopping at {where} instead of {metric}'s own"
    if not any(row["loss"] for row in rows):
        return f"{stopped} costs nothing of {metric} on test, with any candidate."
    mean = sum(row["loss"] for row in rows) / len(rows)
    return (
        f"{stopped} {_costs(choices, metric, mean)} {metric} on test in the mean over candidates; with "
        f"{most['candidate']}, where it costs most, it {_costs(choices, metric, most['loss'])} it "
        f"{_interval(choices, most)}."
    )


def _costs(choices: Choices, metric: str, loss: float) -> str:
    """Return verb and preposition for what is lost of a metric, which may be gained, or added to it if it is a loss."""
    size = f"{abs(loss):.4f}"
    if float(size) == 0:
        return "costs nothing of"
    if choices.plan.metrics[choices.plan.names.index(metric)].higher_is_better:
        return f"costs {size} of" if loss > 0 else f"gains {size} of"
    return f"adds {size} to" if loss > 0 else f"takes {size} off"


def _interval(choices: Choices, row: dict[Any, Any]) -> str:
    level = f"{100 * (1 - choices.plan.alpha):g} %"
    return f"({level} interval of the loss {row['lower']:.4f} to {row['upper']:.4f})"
