"""The outcome of an experiment in words."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from .._common.words import listed
from .rounds import BALANCED, EACH

if TYPE_CHECKING:
    import pandas as pd

    from ..comparison.comparison import Comparison
    from .choices import Choices

MOST_NAMES, MOST_ROUNDS = 4, 6
"""So many names, and rounds, stand in a sentence."""


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
    whose = "Each run of a candidate" if choices.plan.runs.count > 1 else "Each candidate"
    if stop_by == BALANCED:
        return (
            f"{whose} is compared at one round, at which on valid the worse off of {shown[0]} and {shown[1]} is "
            "nearest to its own best (balanced)."
        )
    return f"{whose} is compared at one round, its best on valid by {stop_by}."


def _winners(choices: Choices, comparison: Comparison, shown: Sequence[str]) -> list[str]:
    means = comparison.leaderboard.to_dict("index")
    lines = []
    for metric in shown:
        name = comparison.winners[metric]
        rounds = _rounds(choices.compared.loc[name, "rounds"])
        lines.append(f"Best on test by {metric}: {name} at {rounds} ({means[name][metric]:.4f}).")
    return lines


def _rounds(rounds: Any) -> str:
    return f"round{'s' if len(rounds) > 1 else ''} {rounds_text(rounds)}"


def rounds_text(rounds: Sequence[int]) -> str:
    """Return the rounds of the trainings of a model, between which they lie where there are many.

    Examples
    --------
    >>> rounds_text([70, 83]), rounds_text([12, 40, 7, 31, 25, 18, 90])
    ('70, 83', '7 to 90, median 25')
    """
    if len(rounds) <= MOST_ROUNDS:
        return ", ".join(map(str, rounds))
    return f"{min(rounds)} to {max(rounds)}, median {median(rounds):g}"


def _chosen(choices: Choices, shown: Sequence[str]) -> list[str]:
    rows: dict[Any, Any] = choices.chosen.to_dict("index")
    lines = []
    for metric in shown:
        row = rows[metric]
        lines.append(
            f"Chosen on valid by {metric} alone: {_candidates(choices, row)} "
            f"({row['valid']:.4f} on valid, {row[f'test {metric}']:.4f} on test)."
        )
    return lines


def _candidates(choices: Choices, row: dict[Any, Any]) -> str:
    """Return which candidate a metric chooses, or which in which folds, and at which rounds."""
    if isinstance(row["candidate"], str):
        return f"{row['candidate']} at its own best {_rounds(row['rounds'])}"
    names = [fold.name.removeprefix("fold ") for fold in choices.plan.folds]
    folds: dict[str, list[str]] = {}
    for name, fold in zip(row["candidate"], names, strict=True):
        folds.setdefault(name, []).append(fold)
    if len(folds) == 1:
        return f"{row['candidate'][0]} in every fold, at its own best {_rounds(row['rounds'])}"
    shown = [f"{name} in fold{'s' if len(its) > 1 else ''} {', '.join(its)}" for name, its in folds.items()]
    return f"{'; '.join(shown)}; at their own best {_rounds(row['rounds'])}"


def notes_of(choices: Choices, finalists: pd.DataFrame) -> tuple[str, ...]:
    """Return what is to be known of folds, runs and finalists, one clause each."""
    return tuple(filter(None, (_finalists(choices, finalists), _fixed(choices), _shifted(choices), _pooled(choices))))


def _pooled(choices: Choices) -> str:
    folds = len(choices.plan.folds)
    if folds == 1:
        return ""
    run = " in each run" if choices.plan.runs.count > 1 else ""
    return (
        f"The {folds} folds are pooled: what is said of a candidate is about the average of {folds} models{run}, "
        "trained on overlapping queries, and not about one of them (Bayle et al. 2020)"
    )


def _fixed(choices: Choices) -> str:
    fixed = [name for name in choices.plan.runs.fixed if name in choices.measured]
    if not fixed or choices.plan.runs.count == 1:
        return ""
    return (
        f"Another seed changes nothing in {listed(fixed, MOST_NAMES)}, trained once and compared as a fixed model; "
        "what other training queries would have given of it is not covered"
    )


def _shifted(choices: Choices) -> str:
    if not choices.full:
        return ""
    shown = []
    for metric in choices.plan.judges:
        shifts = choices.shift[choices.shift["metric"] == metric].set_index("candidate")["shift"]
        spread = f", from {shifts.min():+.4f} ({shifts.idxmin()}) to {shifts.max():+.4f} ({shifts.idxmax()})"
        shown.append(f"{metric} by {shifts.mean():+.4f}{spread if len(shifts) > 1 else ''}")
    return (
        "Runs are trained on resampled queries, of which 63 % are distinct, and means are theirs; one training on all "
        f"training queries differs in the mean over candidates: {'; '.join(shown)}"
    )


def _finalists(choices: Choices, finalists: pd.DataFrame) -> str:
    if finalists.empty:
        return ""
    runs = choices.plan.runs
    left = [str(name) for name in finalists.index[~finalists["finalist"]]]
    baseline = "" if runs.baseline is None else f", beside the baseline {runs.baseline}"
    by = f"among the best {runs.keep} on valid by {' or '.join(choices.plan.judges)}"
    out = f"; {listed(left, MOST_NAMES)} {'was' if len(left) == 1 else 'were'} trained once" if left else ""
    return (
        f"Compared are finalists, {by}{baseline}, trained {runs.count} times anew; the training that chose them "
        f"does not count{out}"
    )


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
