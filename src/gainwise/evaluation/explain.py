"""One ranking under the conventions of all libraries, and the numbers that they print for it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._common.arrays import numbers
from .._common.lazy import pandas as pd
from .._common.text import join_names
from .._common.validation import validate_integer
from ..judgments import Judgments, NegativeLabels
from ..metrics.binary import BinaryMetric
from ..metrics.conventions import CONVENTIONS, DEFECT
from ..metrics.dcg import NDCG, has_exponential_gain
from ..metrics.names import parse_metric, parse_metrics
from .evaluator import Evaluator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .._common.typing import Ids, Numbers, Predicted, Weights
    from ..metrics.base import Metric
    from ..metrics.names import MetricLike

_METRICS = ("ndcg_linear", "ndcg_exp", "ndcg_jk", "map", "mrr", "precision", "recall")

_HEADINGS = {
    "NDCG@{k}": (
        "ndcg_exp@{k}",
        "ndcg_linear@{k}",
        "ndcg_jk@{k}",
        "ndcg(gain=binary)@{k}",
        "ndcg(gain=binary,discount=jk)@{k}",
    ),
    "MAP@{k}": ("map@{k}",),
    "MRR@{k}": ("mrr@{k}", "mrr"),
    "Precision@{k}": ("precision@{k}",),
    "Recall@{k}": ("recall@{k}",),
}
"""The metrics that libraries print under each heading."""

_ARTICLES = {"ndcg_jk@{k}": "Järvelin & Kekäläinen 2002"}
"""The sources of metrics that no library prints."""

ORDER = (
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
    labels: Numbers | Judgments,
    scores: Predicted,
    k: int = 10,
    *,
    metric: MetricLike | None = None,
    group: Numbers | None = None,
    qid: Ids | None = None,
    weight: Weights | None = None,
    negative_labels: NegativeLabels = "refuse",
) -> pd.DataFrame:
    """Evaluate one ranking under the conventions of all libraries.

    Parameters
    ----------
    labels : array-like, shape (documents,), or Judgments
        Relevance labels.
    scores : array-like, shape (documents,)
        The score of each document.
    k : int, default 10
        Cutoff.
    metric : str or Metric, optional
        Your own definition. One column per option, such as `effect of gain`, contains the part of the difference
        between `NDCG@k` and your value that this option causes. The parts add up.
    group, qid, weight, negative_labels
        As in `Judgments`. By default, all documents belong to one query.

    Returns
    -------
    DataFrame
        One row per convention, starting with `gainwise` (the defaults). The columns are `calls NDCG` (the metric that
        the library calls NDCG), `NDCG@k` (its value), the metrics at cutoff k, the options of the convention, and a
        note.

    See Also
    --------
    gainwise.identify : Find the definition of a printed number.
    gainwise.evaluate : Compute metrics as one library does, with `convention=`.

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
    if isinstance(scores, Judgments):
        raise TypeError("Arguments are in the wrong order: scores is a Judgments object. Call explain(labels, scores).")
    if not isinstance(labels, Judgments):
        labels = build_judgments(labels, group, qid, weight=weight, negative_labels=negative_labels)
    elif not (group is None and qid is None and weight is None):
        raise TypeError("group, qid and weight must not be passed with Judgments, which contain them.")
    judgments, own = labels, None if metric is None else parse_metric(metric)
    names = [f"{name}@{k}" for name in _METRICS]
    supports_exponential = has_exponential_gain(judgments.levels)
    if not supports_exponential:
        names.remove(f"ndcg_exp@{k}")
    empty = judgments.relevant(np.nextafter(0.0, 1.0)) == 0
    has_defect = judgments.weights is not None and bool(empty.any())
    rows = {}
    for name in ("gainwise", *CONVENTIONS):
        library = CONVENTIONS.get(name)
        metrics = parse_metrics(names, convention=None if library is None else name)
        values = dict(zip(names, Evaluator(metrics, judgments)(scores).mean.values(), strict=True))
        note = "ties averaged over all orders" if library is None else library.note
        row = {"calls NDCG": "both, by name", f"NDCG@{k}": float("nan")}
        if library is not None and library.gain is not None:
            (ndcg,) = parse_metrics(f"ndcg@{k}", convention=name)
            row["calls NDCG"] = str(NDCG(gain=library.gain, discount=library.discount))
            if supports_exponential or library.gain != "exponential":
                row[f"NDCG@{k}"] = _mean(ndcg, judgments, scores)
                steps = [] if own is None else decompose(own, ndcg, lambda metric: _mean(metric, judgments, scores))
                row |= {f"effect of {step.option}": step.effect for step in steps}
        rows[name] = row | {
            **values,
            "ties": metrics[0].ties,
            "empty": metrics[0].option_text("empty"),
            "scores": metrics[0].scores,
            "note": "" if note == DEFECT and not has_defect else note,
        }
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("convention")
    for effect in (column for column in table.columns if str(column).startswith("effect of ")):
        table[effect] = table[effect].fillna(0.0 * table[f"NDCG@{k}"])
    return table


class Step(NamedTuple):
    """The change of one option between two definitions, and its effect on the value."""

    option: str
    before: str
    after: str
    effect: float

    def __str__(self) -> str:
        return f"{self.option} {self.before} → {self.after}" if self.before else f"{self.option}: {self.after}"


def decompose(start: Metric, end: Metric, evaluate: Callable[[Metric], float]) -> list[Step]:
    """Return the changes from one definition to another, one option at a time, whose effects add up.

    A change that is impossible alone, because another option depends on it, is made together with the last one.
    """
    if type(start) is not type(end):
        shared = _SHARED & {field.name for field in fields(start)} & {field.name for field in fields(end)}
        middle = end
        with suppress(ValueError):
            middle = end.change(**{option: getattr(start, option) for option in shared})
        middle = end if np.isnan(evaluate(middle)) else middle
        effect = evaluate(middle) - evaluate(start)
        return [Step("metric", start._name()[0], middle._name()[0], effect), *decompose(middle, end, evaluate)]
    steps: list[Step] = []
    while start != end:
        pending = [option for option in ORDER if getattr(start, option, None) != getattr(end, option, None)]
        options, changed = join_names(pending) or "options", end
        for option in pending:
            with suppress(ValueError, TypeError):
                candidate = start.change(**{option: getattr(end, option)})
                if candidate == end or not np.isnan(evaluate(candidate)):
                    options, changed = option, candidate
                    break
        before, after = (_option_text(metric, options) for metric in (start, end))
        steps.append(Step(options, before, after, evaluate(changed) - evaluate(start)))
        start = changed
    return steps


def _option_text(metric: Metric, option: str) -> str:
    if option == "k":
        return "all ranks" if metric.k is None else str(metric.k)
    value = getattr(metric, option, metric)
    if callable(value):
        return getattr(value, "__name__", "a function")
    return metric.option_text(option) if option in ORDER else str(value)


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


def distinct_numbers(judgments: Judgments, scores: Predicted, k: int = 10) -> list[Number]:
    """Return the distinct numbers that libraries print for one ranking, by heading and in descending order.

    Examples
    --------
    >>> from gainwise import Judgments
    >>> judgments = Judgments([5, 0, 0, 0, 0, 3, 3, 3, 3, 3], group=[10])
    >>> for number in distinct_numbers(judgments, range(10, 0, -1))[:2]:
    ...     print(number.heading, round(number.value, 4), *number.names, number.printed_by[:4])
    NDCG@10 0.8946 ndcg_exp@10 ('LightGBM', 'XGBoost', 'Ignite', 'KerasRS')
    NDCG@10 0.8213 ndcg_linear@10 ('CatBoost', 'scikit-learn', 'trec_eval', 'torchmetrics')
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


def _mean(metric: Metric, judgments: Judgments, scores: Predicted) -> float:
    (value,) = Evaluator(metric, judgments)(scores).mean.values()
    return value


def _shorten(metric: Metric, name: str, value: float, judgments: Judgments, scores: Predicted) -> str:
    """Return the name of a metric without the options that do not change its value."""
    (plain,) = parse_metrics(name)
    for option in metric.option_names():
        with suppress(ValueError):  # map(denominator=hits) is not averaged over ties.
            shorter = metric.change(**{option: getattr(plain, option)})
            if shorter != metric and abs(_mean(shorter, judgments, scores) - value) <= _TOLERANCE:
                metric = shorter
    return str(metric)
