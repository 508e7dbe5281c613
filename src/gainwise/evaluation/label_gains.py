"""Labels that are gains or amounts instead of grades, which metrics with an exponential gain turn into gains again."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._common.text import format_exact, join_names
from ..metrics.base import Metric
from ..metrics.cascade import ERR
from ..metrics.dcg import DCG

if TYPE_CHECKING:
    from .._common.typing import Floats
    from ..judgments import Judgments

MIN_MAXIMUM = 7
"""Lower labels are grades, such as 0, 1, 3, or 0, 1, 2, 4 in a small sample of the grades 0 to 4."""

MAX_GRADES = 32
"""More distinct labels are amounts. LightGBM and XGBoost support at most this number by default."""


class GainLabelsWarning(UserWarning):
    """The labels look like gains or amounts, but a metric has an exponential gain of them.

    `gainwise.evaluate`, `gainwise.compare`, `gainwise.disagreement_bound` and the functions for training emit it once
    per dataset. Use `warnings.simplefilter("ignore", gainwise.GainLabelsWarning)` if the labels are grades.
    """


def describe_gains(levels: Floats) -> str | None:
    """Return a description of distinct labels that look like gains or amounts, or None for grades.

    Labels are gains if they are 2^l − 1 or powers of one base, and amounts if there are more than `MAX_GRADES`.

    >>> describe_gains([0.0, 1.0, 10.0, 100.0])
    'labels 0, 1, 10 and 100 look like gains'
    >>> describe_gains([0.0, 1.0, 3.0]), describe_gains([0.0, 1.0, 2.0, 3.0, 4.0])
    (None, None)
    """
    labels = [label for label in levels if label >= 0]
    positive = [label for label in labels if label > 0]
    if len(labels) > MAX_GRADES:
        return f"{len(labels):,} distinct labels from {labels[0]:g} to {labels[-1]:g} look like amounts"
    whole = [int(label) for label in positive if label == int(label)]
    if len(positive) < 2 or labels[-1] < MIN_MAXIMUM or len(whole) < len(positive):
        return None
    if not (_are_exponential_gains(whole) or _are_powers(whole)):
        return None
    return f"labels {join_names(list(map(format_exact, labels)), most=8)} look like gains"


def _are_exponential_gains(labels: Sequence[int]) -> bool:
    """Return whether each label is 2^l − 1."""
    return all(label & (label + 1) == 0 for label in labels)


def _are_powers(labels: Sequence[int]) -> bool:
    """Return whether the labels are powers of one whole base above 1."""
    smallest = min(label for label in labels if label > 1)
    for exponent in range(1, smallest.bit_length() + 1):
        base = round(smallest ** (1 / exponent))
        if base > 1 and base**exponent == smallest and all(_is_power(label, base) for label in labels):
            return True
    return False


def _is_power(number: int, base: int) -> bool:
    while number % base == 0:
        number //= base
    return number == 1


def warn_of_gains(metrics: Sequence[Metric], judgments: Judgments) -> None:
    """Warn once per dataset if its labels look like gains, and a metric has an exponential gain of them."""
    for metric in filter(_has_exponential_gain, metrics):
        subject = judgments.column(metric.column)
        description = None if subject.gains_are_known else describe_gains(subject.levels)
        if description is None:
            continue
        subject.gains_are_known = True
        frame, level = sys._getframe(1), 2
        while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "gainwise":
            frame, level = frame.f_back, level + 1
        place = "" if metric.column is None else f"column {metric.column!r}: "
        fix = "Use a metric with linear gain, or map the labels to grades."
        message = f"{place}{description}, but {metric} has an exponential gain for grades such as 0, 1, 2, 3. {fix}"
        warnings.warn(message, GainLabelsWarning, stacklevel=level)


def _has_exponential_gain(metric: Metric) -> bool:
    return isinstance(metric, ERR) or (isinstance(metric, DCG) and metric.gain in ("exponential", "power"))
