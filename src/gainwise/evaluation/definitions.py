"""Definitions that may have printed a number: metrics of libraries and other options, and data after a mistake."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np
from rich.console import Console
from rich.progress import track

from .._common import cached_property
from .._common.lazy import pandas as pd
from ..judgments import Judgments
from ..metrics.base import COMMON, Metric
from ..metrics.binary import BinaryMetric, Hit, Precision, Recall
from ..metrics.conventions import CONVENTIONS, DEFECT
from ..metrics.dcg import exponential, has_exponential_gain
from ..metrics.names import parse_metrics
from ..ranking.rows import Ties
from .evaluator import Evaluator
from .explain import ORDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .._common.typing import Bools, Floats

# fmt: off
CUTOFFS = (10, 5, None, 20, 1, 3, 100, 50, 15, 30, 2, 4, 6, 7, 8, 9, 25, 40, 200, 12, 32, 16, 64, 75, 128, 150, 256,
           500, 1000)
"""The cutoffs of a search without a cutoff, the most frequent ones first."""

BASES = (
    "ndcg_exp", "ndcg_linear", "ndcg_jk", "ndcg(gain=binary)", "map", "map(denominator=R)",
    "map(denominator=hits,ties=order)", "mrr", "precision", "precision(denominator=min_k_n)", "recall", "hit", "rprec",
    "dcg_exp", "dcg_linear", "dcg_jk", "dcg(gain=binary)", "cg", "cg_exp", "rbp", "rbp(p=0.9,gain=graded)",
    "rbp(p=0.5)", "rbp(p=0.95)",
)
"""The metrics that are searched with all policies for ties and for queries without relevant documents."""
# fmt: on

_SHOW_PROGRESS = 200_000
"""Number of documents from which a terminal shows a progress bar."""

_MAX_GRADE = 30
"""The highest label whose gain may have been passed as a label."""

_CHUNK = 400
"""Number of metrics that are evaluated at once, which bounds the memory."""

_DROP = "unjudged='drop'"
_RELEVANT = float(np.nextafter(0, 1))
_CUTOFF_OPTION = re.compile(r"(?<=:)top=\{k\};|(?:@|:top=|_cut_|_)\{k\}|\w+=\[?\{k\}\]?(?:, )?")


_WORDS = {
    **{("gain", gain): f"{gain} gain" for gain in ("linear", "exponential", "binary")},
    ("denominator", "R"): "divided by R",
    ("denominator", "hits"): "divided by hits",
    ("denominator", "min_R_k"): "divided by min(R, k)",
    ("denominator", "min_k_n"): "divided by min(k, n)",
    ("discount", "jk"): "no discount at ranks 1 and 2",
    ("discount", "none"): "no discount",
    ("ties", "order"): "ties in input order",
    ("ties", "average"): "ties averaged over all orders",
    ("ties", "worst"): "ties with the lowest label first",
    ("ties", "best"): "ties with the highest label first",
    ("empty", "0.0"): "queries without relevant documents count as 0",
    ("empty", "1.0"): "queries without relevant documents count as 1",
    ("empty", "skip"): "queries without relevant documents are left out",
    ("weights", "ignore"): "without weights",
}
"""Options in words."""


@dataclass(frozen=True)
class Definition:
    """A metric, and the library that prints it by a name. `value` is its mean on a sample, plus `offset`.

    `source` is 0 for your own metric, 1 for libraries, 2 for defaults of gainwise and 3 for other options.
    """

    metric: Metric
    source: int
    library: str = ""
    printed: str = ""
    offset: float = 0.0
    sample: Any = None
    value: float = float("nan")

    @property
    def base(self) -> str:
        """The name of the metric without options and cutoff."""
        return re.split(r"[(@]", str(self.metric))[0]

    @property
    def name(self) -> str:
        """The name in the library, or here."""
        return self.printed or str(self.metric)

    def fits(self, other: Definition, same_name: bool = True) -> bool:
        """Return whether one program could have printed both values, by the same name of a metric or by another one."""
        if (self.sample, self.library, self.offset) != (other.sample, other.library, other.offset):
            return False
        if same_name and type(self.metric) is type(other.metric):
            return self.metric.without_cutoff() == other.metric.without_cutoff()
        same = (getattr(self.metric, option) == getattr(other.metric, option) for option in COMMON if option != "k")
        return bool(self.library) or all(same)

    def list_options(self) -> list[str]:
        """Return the options that matter on the sample, in words."""
        metric, sample = self.metric, self.sample
        matters = {
            "gain": not sample.is_binary,
            "ties": sample.has_ties,
            "empty": sample.has_empty(metric) and not self.offset,
            "weights": sample.judgments.weights is not None,
        }
        names = [name for name in ORDER if name in metric.option_names() and matters.get(name, True)]
        words = [_WORDS.get((name, str(getattr(metric, name))), "") for name in names]
        if isinstance(metric, BinaryMetric) and metric.min_label > 1:
            words.append(f"labels of at least {metric.min_label:g} are relevant")
        if self.offset:
            words.append("queries without relevant documents count as 1 with the weight 1")
        return [word for word in (*words, sample.options) if word]


@dataclass(frozen=True, eq=False)
class Sample:
    """Judgments and scores that a number may have been computed on.

    `options` are arguments of `evaluate` and `evaluate_run` that are not part of a metric. If a mistake leads to these
    data, `check` is the object to check, and `fits` describes the data.
    """

    judgments: Judgments
    scores: Floats
    options: str = ""
    check: str = ""
    fits: str = ""
    _values: dict[Metric, float] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """The advice after a mistake."""
        return f"Check {self.check}, because the number fits {self.fits}." if self.check else ""

    @cached_property
    def _distinct(self) -> list[int]:
        """The number of retrieved documents, and of distinct scores within queries in 64 and in 32 bits."""
        retrieved = self.scores > -np.inf
        rows = pd.DataFrame({"query": self.judgments.query_of_rows[retrieved], "wide": self.scores[retrieved]})
        with np.errstate(over="ignore"):
            rows["narrow"] = rows["wide"].astype(np.float32)
        return [len(rows), *(len(rows.drop_duplicates(["query", column])) for column in ("wide", "narrow"))]

    @property
    def has_ties(self) -> bool:
        """Whether documents of a query have equal scores in 32 bits."""
        return self._distinct[0] > self._distinct[2]

    @cached_property
    def is_binary(self) -> bool:
        """Whether all labels are 0 or 1."""
        return set(self.judgments.levels.tolist()) <= {0.0, 1.0}

    @cached_property
    def _lowest_maximum(self) -> float:
        """The lowest of the highest labels of the queries."""
        sizes, labels = self.judgments.sizes, self.judgments.by_query(self.judgments.labels)
        return float(np.maximum.reduceat(labels, np.cumsum(sizes) - sizes).min()) if sizes.all() else -np.inf

    def has_empty(self, metric: Metric) -> bool:
        """Return whether some query may have no relevant document."""
        return self._lowest_maximum < (metric.min_label if isinstance(metric, BinaryMetric) else 1.0)

    def simplify(self, metric: Metric) -> Metric:
        """Return the metric without options that cannot change its value on these data."""
        code, is_binary = self.judgments.code_at_least, isinstance(metric, BinaryMetric)
        is_long = metric.k is not None and metric.k >= self.judgments.sizes.max()
        rules: list[tuple[bool, str, Any]] = [
            (not self.has_ties, "ties", "order"),
            (self._distinct[1] == self._distinct[2], "scores", "float64"),
            (not self.has_empty(metric), "empty", 0.0),
            (self.judgments.weights is None, "weights", "query"),
            (is_binary and code(getattr(metric, "min_label", 1.0)) == code(1.0), "min_label", 1.0),
            (is_long and not isinstance(metric, Precision), "k", None),
        ]
        rules = [rule for rule in rules if rule[0] and getattr(metric, rule[1]) != rule[2]]
        changes = {option: value for _, option, value in rules if option in (*metric.option_names(), "k")}
        return metric.change(**changes) if changes else metric

    def evaluate(self, definitions: Iterable[Definition]) -> list[Definition]:
        """Return the definitions that are possible on these data, with their values."""
        simple = {definition: self.simplify(definition.metric) for definition in definitions}
        missing = [metric for metric in dict.fromkeys(simple.values()) if metric not in self._values]
        missing.sort(key=lambda metric: (metric.ties, metric.scores))  # One chunk ranks the documents once.
        chunks = [missing[start : start + _CHUNK] for start in range(0, len(missing), _CHUNK)]
        quiet = self.judgments.documents < _SHOW_PROGRESS or not sys.stderr.isatty()
        for chunk in track(
            chunks, f"Searching {self.fits}", console=Console(stderr=True), transient=True, disable=quiet
        ):
            self._values.update(self._compute(chunk))
        return [
            replace(definition, sample=self, value=self._values[metric] + definition.offset)
            for definition, metric in simple.items()
            if not np.isnan(self._values[metric])
        ]

    def evaluate_one(self, metric: Metric) -> float:
        """Return the value of a metric, NaN if it does not support the data."""
        return next((definition.value for definition in self.evaluate([Definition(metric, 0)])), float("nan"))

    def _compute(self, metrics: Sequence[Metric]) -> dict[Metric, float]:
        unjudged: Any = "drop" if self.options == _DROP else "irrelevant"
        try:
            means = Evaluator(metrics, self.judgments, unjudged=unjudged)(self.scores).mean.values()
        except ValueError:  # A metric does not support the labels, or averages too many ties.
            if len(metrics) == 1:
                return {metrics[0]: float("nan")}
            return {metric: value for metric in metrics for value in self._compute([metric]).values()}
        return dict(zip(metrics, means, strict=True))


@lru_cache(maxsize=64)
def _list_printed(k: int | None) -> list[tuple[Definition, bool]]:
    """Return the metrics that libraries print at a cutoff, and whether the library requires labels 0 and 1."""
    printed: list[tuple[Definition, bool]] = []
    for library, convention in CONVENTIONS.items():
        for own, name in convention.prints.items():
            has_cutoff = "{k}" in own
            if has_cutoff and k is None and not convention.requires_cutoff:
                own, name = own.replace("@{k}", ""), _CUTOFF_OPTION.sub("", name)
            elif has_cutoff == (k is None):
                continue
            (metric,) = parse_metrics(own.format(k=k), convention=library)
            if metric.k is not None or not isinstance(metric, Precision | Recall | Hit):
                binary_only = convention.binary_only and isinstance(metric, BinaryMetric)
                printed.append((Definition(metric, 1, library, name.format(k=k)), binary_only))
    return printed


def iter_library_definitions(sample: Sample, cutoffs: Iterable[int | None]) -> Iterator[Definition]:
    """Yield the metrics that libraries print, each with its name there.

    In a weighted ndcg of LightGBM and XGBoost, queries without relevant documents have the weight 1.
    """
    weights, empty = sample.judgments.weights, (sample.judgments.relevant(_RELEVANT) == 0).sum()
    offset = 0.0 if weights is None else float(empty / weights.sum())
    for definition, binary_only in (pair for k in cutoffs for pair in _list_printed(k)):
        if sample.is_binary or not binary_only:
            yield definition
            if offset and CONVENTIONS[definition.library].note == DEFECT and definition.base.startswith("ndcg"):
                yield replace(definition, metric=replace(definition.metric, empty=0.0), offset=offset)


def iter_definitions(sample: Sample, cutoffs: Iterable[int | None], complete: bool) -> Iterator[Definition]:
    """Yield metrics with the defaults of gainwise. If `complete`, also with other grades, ties and empty queries."""
    levels = sample.judgments.levels
    bases = [*BASES, *([f"err(max_label={levels[-1]:g})"] if has_exponential_gain(levels) else [])]
    for metric in (replace(metric, k=k) for metric, k in product(parse_metrics(bases), cutoffs)):
        yield Definition(metric, 2)
        ties_values: tuple[Any, ...] = get_args(Ties) if sample.has_ties else ("order",)
        empty_values: tuple[Any, ...] = (0.0, 1.0, "skip") if sample.has_empty(metric) else (0.0,)
        for ties, empty in product(ties_values, empty_values) if complete else ():
            if ties != "average" or metric.has_mean_over_ties:
                yield Definition(replace(metric, ties=ties, empty=empty), 3)
        for label in levels[levels > 1].tolist()[:4] if complete and isinstance(metric, BinaryMetric) else ():
            yield Definition(replace(cast("Any", metric), min_label=label), 3)


def iter_samples(judgments: Judgments, scores: Floats) -> Iterator[Sample]:
    """Yield the data, without unjudged documents, and without queries that have no result, as trec_eval evaluates."""
    yield Sample(judgments, scores)
    if judgments.unjudged:
        yield Sample(judgments, scores, _DROP)
    has_results = _find_queries_with_results(judgments, scores)
    if has_results.any() and not has_results.all():
        yield _select(judgments, scores, options="missing='skip'", rows=has_results[judgments.query_of_rows])


def _find_queries_with_results(judgments: Judgments, scores: Floats) -> Bools:
    """Return a mask of the queries with a retrieved document, without any if all of them have the weight 0."""
    mask = np.bincount(judgments.query_of_rows, scores > -np.inf, judgments.queries) > 0
    return mask & (judgments.weights is None or bool(judgments.weights[mask].any()))


def iter_mistakes(judgments: Judgments, scores: Floats) -> Iterator[Sample]:
    """Yield the data after typical mistakes."""
    labels, top, queries = judgments.labels, judgments.levels[-1], judgments.query_of_rows
    retrieved, rows, grades = scores > -np.inf, np.arange(float(len(scores))), np.log2(np.maximum(labels, 0) + 1)
    several, graded = judgments.queries > 1, top > 1 and has_exponential_gain(judgments.levels)
    is_partial = not retrieved.all() and _find_queries_with_results(judgments, scores).any()
    mistakes: list[tuple[Any, str, str, dict[str, Any]]] = [
        (True, "the direction of the scores", "ascending scores", {"scores": np.where(retrieved, -scores, -np.inf)}),
        (True, "the sorting", "the order of the rows", {"scores": np.where(retrieved, -rows, -np.inf)}),
        (True, "the rows", "scores that are one row too low", {"scores": np.roll(scores, 1)}),
        (True, "the rows", "scores that are one row too high", {"scores": np.roll(scores, -1)}),
        (several, "the groups", "all documents as one query", {"group": [len(scores)], "weight": None}),
        (several, "the mean", "the first query alone", {"rows": queries == queries.min(), "weight": None}),
        (several, "the mean", "a mean over documents instead of queries", {"weight": judgments.sizes}),
        (judgments.weights is not None, "the weights", "equal weights of all queries", {"weight": None}),
        (graded and top <= _MAX_GRADE, "the labels", "gains 2^l - 1 as labels", {"labels": exponential(labels)}),
        (graded and (grades % 1 == 0).all(), "the labels", "grades, from gains 2^l - 1", {"labels": grades}),
        (is_partial, "the ideal ranking", "retrieved documents only", {"rows": retrieved}),
    ]
    for applies, check, fits, changes in mistakes:
        if applies:
            yield _select(judgments, check=check, fits=fits, **{"scores": scores, **changes})


def _select(
    judgments: Judgments, scores: Floats, *, options: str = "", check: str = "", fits: str = "", **changes: Any
) -> Sample:
    """Return the data with some of the rows, and other labels, groups or weights."""
    mask = judgments.by_query(changes.get("rows", np.ones(len(scores), dtype=bool)))
    sizes = np.bincount(np.repeat(np.arange(judgments.queries), judgments.sizes)[mask], minlength=judgments.queries)
    kept = slice(None) if mask.all() else sizes > 0
    weight = changes.get("weight", judgments.weights)
    selected = Judgments(
        judgments.by_query(changes.get("labels", judgments.labels))[mask],
        group=changes.get("group", sizes[kept]),
        weight=None if weight is None else dict(enumerate(weight[kept].tolist())),
        negative_labels="allow",
        judged=None if judgments.judged is None else judgments.by_query(judgments.judged)[mask],
    )
    selected.gains_are_known = True  # Labels of a mistake are not those of the user.
    return Sample(selected, judgments.by_query(scores)[mask], options, check, fits)
