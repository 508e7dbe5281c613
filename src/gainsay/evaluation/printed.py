"""Every distinct number that libraries print for one ranking, and which of them prints it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .._common.checks import check_whole
from ..metrics.conventions import CONVENTIONS
from ..metrics.names import parse_metrics
from ..metrics.relevance import BinaryMetric
from .evaluator import Evaluator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .._common.typing import Numbers
    from ..judgments import Judgments
    from ..metrics.base import Metric

__all__ = ["Number", "distinct_numbers"]

FAMILIES = {
    "NDCG@{k}": ("ndcg_exp@{k}", "ndcg_linear@{k}", "ndcg_jk@{k}"),
    "MAP@{k}": ("map@{k}",),
    "MRR@{k}": ("mrr@{k}", "mrr"),
    "Precision@{k}": ("precision@{k}",),
    "Recall@{k}": ("recall@{k}",),
}
"""What programs print under one heading, and the names here of what they mean by it."""

ARTICLES = {"ndcg_jk@{k}": "Järvelin & Kekäläinen 2002"}
"""Who defines what no library prints."""

SAME = 1e-9
"""Numbers that differ by less are one number, written differently."""


@dataclass(frozen=True)
class Number:
    """One number that programs print for a ranking."""

    heading: str
    """What they print it as, such as ``"NDCG@10"``."""
    value: float
    names: tuple[str, ...]
    """The shortest names of metrics here that give it on this ranking."""
    printed_by: tuple[str, ...]
    """The programs: those that print it if they are not told otherwise, then the others with what they have to be asked
    for. Where no library prints it, who defines it."""


def distinct_numbers(judgments: Judgments, scores: Numbers, k: int = 10) -> list[Number]:
    """Return every distinct number that libraries print for one ranking, by what they print it as, largest first.

    Examples
    --------
    >>> from gainsay import Judgments
    >>> judgments = Judgments([5, 0, 0, 0, 0, 3, 3, 3, 3, 3], group=[10])
    >>> for number in distinct_numbers(judgments, range(10, 0, -1))[:2]:
    ...     print(number.heading, round(number.value, 4), *number.names, number.printed_by)
    NDCG@10 0.8946 ndcg_exp@10 ('LightGBM', 'XGBoost', 'CatBoost NDCG:top=10;type=Exp', 'ranx ndcg_burges@10')
    NDCG@10 0.8213 ndcg_linear@10 ('CatBoost', 'scikit-learn', 'trec_eval', 'torchmetrics', 'ranx',
    'XGBoost ndcg@10, ndcg_exp_gain=False')
    """
    k = check_whole("k", k)
    found = []
    for heading, templates in FAMILIES.items():
        groups: dict[float, tuple[dict[str, str], list[tuple[bool, str]]]] = {}
        for library, name, program, usual in _prints(templates, k):
            (metric,) = parse_metrics(name, convention=library)
            if _refused(metric, library, judgments):
                continue
            value = _value_of(metric, judgments, scores)
            same = next((known for known in groups if abs(known - value) <= SAME), value)
            names, programs = groups.setdefault(same, ({}, []))
            if library is not None or not names:
                programs.append((not usual, program))
                if name not in names:
                    names[name] = _shortest(metric, name, value, judgments, scores)
        for value, (names, programs) in sorted(groups.items(), key=lambda item: -item[0]):
            found.append(Number(heading.format(k=k), value, tuple(names.values()), _programs(programs)))
    return found


def _refused(metric: Metric, library: str | None, judgments: Judgments) -> bool:
    """Return whether there is no such number for these labels."""
    levels = judgments.levels
    if library is not None and CONVENTIONS[library].binary_only and isinstance(metric, BinaryMetric):
        return not set(levels.tolist()) <= {0, 1}
    return str(metric).startswith("ndcg_exp") and bool(levels[0] < 0)


def _prints(templates: Sequence[str], k: int) -> Iterator[tuple[str | None, str, str, bool]]:
    """Yield library, name of the metric here, what prints it, and whether it does if not told otherwise.

    What gainsay or an article calls so comes last, and is a row of its own only where no library prints the number.
    """
    for library, convention in CONVENTIONS.items():
        own = {template: called for template, called in convention.prints.items() if template in templates}
        for at, (template, called) in enumerate(own.items()):
            program = convention.called if at == 0 else f"{convention.called} {called.format(k=k)}"
            yield library, template.format(k=k), program, at == 0
    for template in templates:
        if "{k}" in template:
            yield None, template.format(k=k), ARTICLES.get(template, "gainsay"), True


def _programs(found: list[tuple[bool, str]]) -> tuple[str, ...]:
    """Return those that print a number if not told otherwise, then the others, each program once."""
    usual = [program for asked, program in found if not asked]
    return (*usual, *(program for asked, program in found if asked and program.split()[0] not in usual))


def _value_of(metric: Metric, judgments: Judgments, scores: Numbers) -> float:
    (value,) = Evaluator(metric, judgments)(scores).mean.values()
    return value


def _shortest(metric: Metric, name: str, value: float, judgments: Judgments, scores: Numbers) -> str:
    """Return the name of a metric without the options that make no difference to its value here."""
    (plain,) = parse_metrics(name)
    for option in metric.option_names():
        usual = replace(metric, **{option: getattr(plain, option)})
        if usual != metric and abs(_value_of(usual, judgments, scores) - value) <= SAME:
            metric = usual
    return str(metric)
