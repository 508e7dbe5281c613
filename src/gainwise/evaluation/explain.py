"""One ranking under the conventions of all libraries, and the numbers that they print for it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from .._common.arrays import numbers
from .._common.text import join_names
from .._common.validation import validate_integer
from ..judgments import Judgments, NegativeLabels
from ..metrics.binary import BinaryMetric
from ..metrics.conventions import CONVENTIONS, DEFECT
from ..metrics.dcg import has_exponential_gain
from ..metrics.names import parse_metrics
from .evaluator import Evaluator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .._common.typing import Ids, Numbers, Weights
    from ..metrics.base import Metric

_METRICS = ("ndcg_linear", "ndcg_exp", "ndcg_jk", "ndcg(gain=binary)", "map", "mrr", "precision", "recall")

_NDCG_NAMES = {"linear": "ndcg_linear", "exponential": "ndcg_exp", "binary": "ndcg(gain=binary)", None: "both, by name"}
"""The metric that a library calls NDCG, by its gain."""

_HEADINGS = {
    "NDCG@{k}": ("ndcg_exp@{k}", "ndcg_linear@{k}", "ndcg_jk@{k}", "ndcg(gain=binary)@{k}"),
    "MAP@{k}": ("map@{k}",),
    "MRR@{k}": ("mrr@{k}", "mrr"),
    "Precision@{k}": ("precision@{k}",),
    "Recall@{k}": ("recall@{k}",),
}
"""The metrics that libraries print under each heading."""

_ARTICLES = {"ndcg_jk@{k}": "Järvelin & Kekäläinen 2002"}
"""The sources of metrics that no library prints."""

_ORDER = (
    "k",
    "gain",
    "gain_base",
    "discount",
    "base",
    "denominator",
    "p",
    "max_label",
    "min_label",
    "ties",
    "scores",
    "empty",
    "weights",
)
"""The order in which options are changed."""

_SHARED = {"k", "ties", "scores", "empty", "weights", "min_label"}
"""Options with the same meaning in all metrics."""

_TOLERANCE = 1e-9
"""Numbers that differ by less are considered equal."""


def explain(
    labels: Numbers,
    scores: Numbers,
    k: int = 10,
    *,
    group: Numbers | None = None,
    qid: Ids | None = None,
    weight: Weights | None = None,
    negative_labels: NegativeLabels = "refuse",
) -> pd.DataFrame:
    """Evaluate one ranking under the conventions of all libraries.

    Parameters
    ----------
    labels : array-like, shape (documents,)
        Relevance labels.
    scores : array-like, shape (documents,)
        The score of each document.
    k : int, default 10
        Cutoff.
    group, qid, weight, negative_labels
        As in `Judgments`. By default, all documents belong to one query.

    Returns
    -------
    DataFrame
        One row per convention, starting with `gainwise` (the defaults). The columns are `calls NDCG` (the metric that
        the library calls NDCG), `NDCG@k` (its value), the metrics at cutoff k, the options of the convention, and a
        note.

    Examples
    --------
    >>> import gainwise as gw
    >>> table = gw.explain(labels=[3, 3, 3, 3, 3, 0, 0, 0, 0, 5], scores=range(10, 0, -1))
    >>> table.loc[["lightgbm", "sklearn"], ["calls NDCG", "NDCG@10", "ndcg_linear@10", "ndcg_exp@10"]].round(3)
                 calls NDCG  NDCG@10  ndcg_linear@10  ndcg_exp@10
    convention
    lightgbm       ndcg_exp    0.628           0.864        0.628
    sklearn     ndcg_linear    0.864           0.864        0.628
    """
    k = validate_integer("k", k)
    if isinstance(labels, Judgments):
        raise TypeError("labels must be an array, got Judgments. Pass explain(labels, scores, qid=query_ids).")
    judgments = build_judgments(labels, group, qid, weight=weight, negative_labels=negative_labels)
    names = [f"{name}@{k}" for name in _METRICS]
    if not has_exponential_gain(judgments.levels):
        names.remove(f"ndcg_exp@{k}")
    empty = judgments.relevant(np.nextafter(0.0, 1.0)) == 0
    has_defect = judgments.weights is not None and bool(empty.any())
    rows = {}
    for name in ("gainwise", *CONVENTIONS):
        library = CONVENTIONS.get(name)
        metrics = parse_metrics(names, convention=None if library is None else name)
        values = dict(zip(names, Evaluator(metrics, judgments)(scores).mean.values(), strict=True))
        ndcg = _NDCG_NAMES[None if library is None else library.gain]
        note = "ties averaged over all orders" if library is None else library.note
        rows[name] = {
            "calls NDCG": ndcg,
            f"NDCG@{k}": values.get(f"{ndcg}@{k}", float("nan")),
            **values,
            "ties": metrics[0].ties,
            "empty": metrics[0].option_text("empty"),
            "scores": metrics[0].scores,
            "note": "" if note == DEFECT and not has_defect else note,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("convention")


class Step(NamedTuple):
    """The change of one option between two definitions, and its effect on the value."""

    option: str
    before: str
    after: str
    effect: float


def decompose(start: Metric, end: Metric, evaluate: Callable[[Metric], float]) -> list[Step]:
    """Return the changes from one definition to another, one option at a time, whose effects add up.

    A change that is impossible alone, because another option depends on it, is made together with the last one.
    """
    steps: list[Step] = []
    current, value = start, evaluate(start)
    if type(start) is not type(end):
        shared = _SHARED & {field.name for field in fields(start)} & {field.name for field in fields(end)}
        with suppress(ValueError):
            changed = replace(end, **{option: getattr(start, option) for option in shared})
            if not np.isnan(after := evaluate(changed)):
                steps.append(Step("metric", start._name()[0], changed._name()[0], after - value))
                current, value = changed, after
    pending = [option for option in _ORDER if getattr(current, option, None) != getattr(end, option, None)]
    while current != end:
        for option in pending:
            with suppress(ValueError, TypeError):
                changed = end if len(pending) == 1 else replace(current, **{option: getattr(end, option)})
                if changed == end or not np.isnan(evaluate(changed)):
                    break
        else:
            option, changed = join_names(pending) or "metric", end
        before, after_text = (
            str(x) if option not in _ORDER else x.option_text(option) if option != "k" else str(x.k)
            for x in (current, end)
        )
        after = evaluate(changed)
        steps.append(Step(option, before, after_text, after - value))
        current, value = changed, after
        pending = [name for name in pending if getattr(current, name, None) != getattr(end, name, None)]
    return steps


def build_judgments(labels: Numbers, group: Numbers | None = None, qid: Ids | None = None, **options: Any) -> Judgments:
    """Return judgments, by default of one query."""
    if group is None and qid is None:
        group = [len(numbers("labels", labels))]
    return Judgments(labels, group=group, qid=qid, **options)


@dataclass(frozen=True)
class Number:
    """A number that libraries print for a ranking."""

    heading: str
    """Its heading, such as ``"NDCG@10"``."""
    value: float
    names: tuple[str, ...]
    """The shortest names of the metrics with this value."""
    printed_by: tuple[str, ...]
    """The libraries that print it by default, then the others with their options, or the source of the metric."""


def distinct_numbers(judgments: Judgments, scores: Numbers, k: int = 10) -> list[Number]:
    """Return the distinct numbers that libraries print for one ranking, by heading and in descending order.

    Examples
    --------
    >>> from gainwise import Judgments
    >>> judgments = Judgments([5, 0, 0, 0, 0, 3, 3, 3, 3, 3], group=[10])
    >>> for number in distinct_numbers(judgments, range(10, 0, -1))[:2]:
    ...     print(number.heading, round(number.value, 4), *number.names, number.printed_by)
    NDCG@10 0.8946 ndcg_exp@10 ('LightGBM', 'XGBoost', 'CatBoost NDCG:top=10;type=Exp', 'ranx ndcg_burges@10')
    NDCG@10 0.8213 ndcg_linear@10 ('CatBoost', 'scikit-learn', 'trec_eval', 'torchmetrics', 'ranx',
    'XGBoost ndcg@10, ndcg_exp_gain=False')
    """
    k = validate_integer("k", k)
    results = []
    for heading, templates in _HEADINGS.items():
        groups: dict[float, tuple[dict[str, str], list[str], list[str]]] = {}
        for library, name, program, is_default in _iter_programs(templates, k):
            (metric,) = parse_metrics(name, convention=library)
            if _is_undefined(metric, library, judgments):
                continue
            value = _mean(metric, judgments, scores)
            key = next((equal for equal in groups if abs(equal - value) <= _TOLERANCE), value)
            names, defaults, others = groups.setdefault(key, ({}, [], []))
            if library is not None or not names:
                (defaults if is_default else others).append(program)
                if name not in names:
                    names[name] = _shorten(metric, name, value, judgments, scores)
        for value, (names, defaults, others) in sorted(groups.items(), reverse=True):
            printed_by = (*defaults, *(program for program in others if program.split()[0] not in defaults))
            results.append(Number(heading.format(k=k), value, tuple(names.values()), printed_by))
    return results


def _is_undefined(metric: Metric, library: str | None, judgments: Judgments) -> bool:
    """Return whether a library rejects these labels for a metric."""
    levels = judgments.levels
    if library is not None and CONVENTIONS[library].binary_only and isinstance(metric, BinaryMetric):
        return not set(levels.tolist()) <= {0, 1}
    return str(metric).startswith("ndcg_exp") and not has_exponential_gain(levels)


def _iter_programs(templates: Sequence[str], k: int) -> Iterator[tuple[str | None, str, str, bool]]:
    """Yield library, metric name, program with its option, and whether it prints the metric by default.

    Metrics of gainwise and of articles are last, so that they are listed only if no library prints the number.
    """
    for library, convention in CONVENTIONS.items():
        printed = {template: option for template, option in convention.prints.items() if template in templates}
        for position, (template, option) in enumerate(printed.items()):
            program = convention.title if position == 0 else f"{convention.title} {option.format(k=k)}"
            yield library, template.format(k=k), program, position == 0
    for template in templates:
        if "{k}" in template:
            yield None, template.format(k=k), _ARTICLES.get(template, "gainwise"), True


def _mean(metric: Metric, judgments: Judgments, scores: Numbers) -> float:
    (value,) = Evaluator(metric, judgments)(scores).mean.values()
    return value


def _shorten(metric: Metric, name: str, value: float, judgments: Judgments, scores: Numbers) -> str:
    """Return the name of a metric without the options that do not change its value."""
    (plain,) = parse_metrics(name)
    for option in metric.option_names():
        with suppress(ValueError):  # map(denominator=hits) is not averaged over ties.
            shorter = replace(metric, **{option: getattr(plain, option)})
            if shorter != metric and abs(_mean(shorter, judgments, scores) - value) <= _TOLERANCE:
                metric = shorter
    return str(metric)
