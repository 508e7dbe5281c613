"""The result of an experiment in words."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from .._common.words import listed
from .rounds import BALANCED, EACH

if TYPE_CHECKING:
    from ..comparison.comparison import Comparison
    from .choices import Choices

MAX_NAMES, MAX_ROUNDS = 4, 6
"""Limits on the names and rounds in a sentence."""


def summarize(choices: Choices, comparison: Comparison) -> list[str]:
    """Return sentences on the winners, the choice of each metric alone, and the cost of other choices."""
    metrics = comparison.primary or choices.plan.names[:1]
    return [
        _describe_rounds(choices),
        *_describe_winners(choices, comparison, metrics),
        *_describe_choices(choices, metrics),
        *_describe_choice_losses(choices, metrics),
        *_describe_stopping_losses(choices, metrics),
    ]


def _describe_rounds(choices: Choices) -> str:
    """Describe the rounds of the compared models."""
    stop_by, metrics = choices.plan.stop_by, choices.plan.primary_metrics
    if len(choices.plan.names) == 1:
        return f"Each candidate is compared at its best round on valid by {choices.plan.names[0]}."
    if stop_by == EACH:
        return (
            f"Each candidate is compared at its best rounds on valid by {metrics[0]} and by {metrics[1]}, as two "
            "models if they differ."
        )
    subject = "Each repeat of a candidate" if choices.plan.repeats.number > 1 else "Each candidate"
    if stop_by == BALANCED:
        return (
            f"{subject} is compared at the balanced round, with the smallest larger gap of {metrics[0]} and "
            f"{metrics[1]} to their own best values on valid."
        )
    return f"{subject} is compared at its best round on valid by {stop_by}."


def _describe_winners(choices: Choices, comparison: Comparison, metrics: Sequence[str]) -> list[str]:
    means = comparison.leaderboard.to_dict("index")
    lines = []
    for metric in metrics:
        name = comparison.winners[metric]
        rounds = _format_rounds(choices.compared.loc[name, "rounds"])
        lines.append(f"Best on test by {metric}: {name} at {rounds} ({means[name][metric]:.4f}).")
    return lines


def _format_rounds(rounds: Any) -> str:
    return f"round{'s' if len(rounds) > 1 else ''} {join_rounds(rounds)}"


def join_rounds(rounds: Sequence[int]) -> str:
    """Return the rounds of the trainings of a model, or the range of many.

    Examples
    --------
    >>> join_rounds([70, 83]), join_rounds([12, 40, 7, 31, 25, 18, 90])
    ('70, 83', '7 to 90, median 25')
    """
    if len(rounds) <= MAX_ROUNDS:
        return ", ".join(map(str, rounds))
    return f"{min(rounds)} to {max(rounds)}, median {median(rounds):g}"


def _describe_choices(choices: Choices, metrics: Sequence[str]) -> list[str]:
    rows: dict[Any, Any] = choices.chosen.to_dict("index")
    return [
        f"Chosen on valid by {metric} alone: {_describe_candidates(choices, rows[metric])} "
        f"({rows[metric]['valid']:.4f} on valid, {rows[metric][f'test {metric}']:.4f} on test)."
        for metric in metrics
    ]


def _describe_candidates(choices: Choices, row: dict[Any, Any]) -> str:
    """Return the candidate that a metric chooses, or the candidates of the folds, and the rounds."""
    if isinstance(row["candidate"], str):
        return f"{row['candidate']} at its own best {_format_rounds(row['rounds'])}"
    folds: dict[str, list[str]] = {}
    for name, fold in zip(row["candidate"], choices.plan.folds, strict=True):
        folds.setdefault(name, []).append(fold.name.removeprefix("fold "))
    if len(folds) == 1:
        return f"{row['candidate'][0]} in every fold, at its own best {_format_rounds(row['rounds'])}"
    names = [f"{name} in fold{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}" for name, numbers in folds.items()]
    return f"{'; '.join(names)}; at their own best {_format_rounds(row['rounds'])}"


def _describe_choice_losses(choices: Choices, metrics: Sequence[str]) -> list[str]:
    return [
        f"Choosing candidate and round by {row['chosen_by']} alone instead "
        f"{format_cost(choices, row['metric'], row['loss'])} {row['metric']} on test {_format_interval(choices, row)}."
        for row in choices.choice_loss.to_dict("records")
        if {row["metric"], row["chosen_by"]} <= set(metrics)
    ]


def _describe_stopping_losses(choices: Choices, metrics: Sequence[str]) -> list[str]:
    """Describe the cost of other rounds than a metric's own best, and the candidate with the highest cost."""
    rows = choices.stopping_loss.to_dict("records")
    lines = []
    for metric in metrics:
        for rule in dict.fromkeys([*metrics, choices.plan.stop_by]):
            selected = [row for row in rows if (row["metric"], row["stopped_by"]) == (metric, rule)]
            if selected:
                lines.append(_describe_stopping_loss(choices, selected))
    return lines


def _describe_stopping_loss(choices: Choices, rows: list[dict[Any, Any]]) -> str:
    largest = max(rows, key=lambda row: float(row["loss"]))
    metric, rule = largest["metric"], largest["stopped_by"]
    place = "the balanced round" if rule == BALANCED else f"the best round of {rule}"
    stopped = f"Stopping at {place} instead of {metric}'s own"
    if not any(row["loss"] for row in rows):
        return f"{stopped} costs nothing of {metric} on test, for all candidates."
    mean = sum(row["loss"] for row in rows) / len(rows)
    return (
        f"{stopped} {format_cost(choices, metric, mean)} {metric} on test on average over candidates. The largest cost "
        f"is that of {largest['candidate']}: it {format_cost(choices, metric, largest['loss'])} it "
        f"{_format_interval(choices, largest)}."
    )


def format_cost(choices: Choices, metric: str, loss: float) -> str:
    """Return verb and preposition for a loss, which is an increase if the metric itself is a loss."""
    size = f"{abs(loss):.4f}"
    if float(size) == 0:
        return "costs nothing of"
    if choices.plan.metrics[choices.plan.names.index(metric)].higher_is_better:
        return f"costs {size} of" if loss > 0 else f"gains {size} of"
    return f"adds {size} to" if loss > 0 else f"takes {size} off"


def _format_interval(choices: Choices, row: dict[Any, Any]) -> str:
    level = f"{100 * (1 - choices.plan.alpha):g} %"
    return f"({level} interval of the loss {row['lower']:.4f} to {row['upper']:.4f})"


def create_notes(choices: Choices) -> tuple[str, ...]:
    """Return remarks on finalists, repeats and folds, one clause each."""
    notes = (
        _describe_finalists(choices),
        _describe_identical(choices),
        _describe_shift(choices),
        _describe_folds(choices),
    )
    return tuple(filter(None, notes))


def _describe_finalists(choices: Choices) -> str:
    finalists, repeats = choices.finalists, choices.plan.repeats
    if finalists.empty:
        return ""
    rejected = [str(name) for name in finalists.index[~finalists["finalist"]]]
    baseline = "" if repeats.baseline is None else f", and the baseline {repeats.baseline}"
    once = f". {listed(rejected, MAX_NAMES)} {'was' if len(rejected) == 1 else 'were'} trained once" if rejected else ""
    return (
        f"The compared finalists are the best {repeats.keep} on valid by {' or '.join(choices.plan.primary_metrics)}"
        f"{baseline}, trained {repeats.number} times anew. The training that chose them is not counted{once}"
    )


def _describe_identical(choices: Choices) -> str:
    if not choices.identical:
        return ""
    return (
        f"All repeats of {listed(choices.identical, MAX_NAMES)} are identical, because another seed changes nothing. "
        "Each is compared as a fixed model. Sample documents or features, or use vary='queries'"
    )


def _describe_shift(choices: Choices) -> str:
    if not choices.full:
        return ""
    changes = []
    for metric in choices.plan.primary_metrics:
        shifts = choices.shift[choices.shift["metric"] == metric].set_index("candidate")["shift"]
        extremes = f", from {shifts.min():+.4f} ({shifts.idxmin()}) to {shifts.max():+.4f} ({shifts.idxmax()})"
        changes.append(f"{metric} by {shifts.mean():+.4f}{extremes if len(shifts) > 1 else ''}")
    return (
        "Repeats are trained on resampled queries (63 % distinct). Training on all queries changes the "
        f"mean over candidates: {'; '.join(changes)}"
    )


def _describe_folds(choices: Choices) -> str:
    folds = len(choices.plan.folds)
    if folds == 1:
        return ""
    repeat = " in each repeat" if choices.plan.repeats.number > 1 else ""
    return (
        f"The {folds} folds are pooled. Statements on a candidate are about the average of {folds} models{repeat}, "
        "trained on overlapping queries (Bayle et al. 2020)"
    )
