"""Definitions that may have printed a number: metrics of libraries and other options, and data after a mistake."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from rich.console import Console
from rich.progress import track

from .._common import cached_property
from ..judgments import Judgments, Unjudged
from ..metrics.base import Metric
from ..metrics.binary import BinaryMetric, Hit, Precision, Recall
from ..metrics.conventions import CONVENTIONS, DEFECT
from ..metrics.dcg import exponential, has_exponential_gain
from ..metrics.names import parse_metrics
from ..ranking.rows import Ties
from .evaluator import Evaluator

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .._common.typing import Bools, Floats

CUTOFFS = (
    10,
    5,
    None,
    20,
    1,
    3,
    100,
    50,
    15,
    30,
    2,
    4,
    6,
    7,
    8,
    9,
    25,
    40,
    200,
    12,
    32,
    16,
    64,
    75,
    128,
    150,
    256,
    500,
    1000,
)
"""The cutoffs of a search without a cutoff, the most frequent ones first."""

BASES = (
    "ndcg_exp", "ndcg_linear", "ndcg_jk", "ndcg(gain=binary)", "map", "map(denominator=R)",
    "map(denominator=hits,ties=order)", "mrr", "precision", "precision(denominator=min_k_n)", "recall", "hit", "rprec",
    "dcg_exp", "dcg_linear", "dcg_jk", "dcg(gain=binary)", "cg", "cg_exp", "gap", "rbp", "rbp(p=0.9,gain=graded)",
    "rbp(p=0.5)", "rbp(p=0.95)",
)  # fmt: skip
"""The metrics that are searched with all policies for ties and for queries without relevant documents."""

_SHOW_PROGRESS = 200_000
"""Number of documents from which a terminal shows a progress bar."""

_DROP = "unjudged='drop'"

_MAX_GRADE = 30
"""The highest label whose gain may have been passed as a label."""

_CHUNK = 400
"""Number of metrics that are evaluated at once, which bounds the memory."""

_CUTOFF_OPTION = re.compile(r"(?<=:)top=\{k\};|(?:@|:top=|_cut_|_)\{k\}|\w+=\[?\{k\}\]?(?:, )?")


@dataclass(frozen=True)
class Definition:
    """A metric, and the library that prints it by a name. `offset` is added to the mean."""

    metric: Metric
    library: str = ""
    printed: str = ""
    offset: float = 0.0

    @property
    def base(self) -> str:
        """The name of the metric without options and cutoff."""
        return re.split(r"[(@]", str(self.metric))[0]

    @property
    def name(self) -> str:
        """The name in the library, or here."""
        return self.printed or str(self.metric)


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
    def _distinct(self) -> tuple[int, int, int]:
        """The number of retrieved documents, and of distinct scores within queries in 64 and in 32 bits."""
        retrieved = self.scores > -np.inf
        queries, scores = self.judgments.query_of_rows[retrieved], self.scores[retrieved]
        with np.errstate(over="ignore"):
            return len(scores), _count_pairs(queries, scores), _count_pairs(queries, scores.astype(np.float32))

    @property
    def has_ties(self) -> bool:
        """Whether documents of a query have equal scores in 32 bits."""
        return self._distinct[0] > self._distinct[2]

    @cached_property
    def _lowest_maximum(self) -> float:
        """The lowest of the highest labels of the queries."""
        sizes = self.judgments.sizes
        if not sizes.all():
            return -np.inf
        labels = self.judgments.by_query(self.judgments.labels)
        return float(np.maximum.reduceat(labels, np.cumsum(sizes) - sizes).min())

    @cached_property
    def is_binary(self) -> bool:
        """Whether all labels are 0 or 1."""
        return set(self.judgments.levels.tolist()) <= {0.0, 1.0}

    def has_empty(self, metric: Metric) -> bool:
        """Return whether some query may have no relevant document."""
        return self._lowest_maximum < (metric.min_label if isinstance(metric, BinaryMetric) else 1.0)

    def simplify(self, metric: Metric) -> Metric:
        """Return the metric without options that cannot change its value on these data."""
        options: dict[str, Any] = {}
        if not self.has_ties:
            options["ties"] = "order"
        if self._distinct[1] == self._distinct[2]:
            options["scores"] = "float64"
        if not self.has_empty(metric):
            options["empty"] = 0.0
        if self.judgments.weights is None:
            options["weights"] = "query"
        if isinstance(metric, BinaryMetric) and self.judgments.code_at_least(metric.min_label) == self._first_relevant:
            options["min_label"] = 1.0
        if metric.k is not None and metric.k >= self._longest and not isinstance(metric, Precision):
            options["k"] = None
        changed = {name: value for name, value in options.items() if getattr(metric, name) != value}
        return replace(metric, **changed) if changed else metric

    @cached_property
    def _first_relevant(self) -> int:
        return self.judgments.code_at_least(1.0)

    @cached_property
    def _longest(self) -> int:
        return int(self.judgments.sizes.max())

    def evaluate(self, definitions: Iterable[Definition]) -> dict[Definition, float]:
        """Return the value of each definition that is possible on these data."""
        simple = {definition: self.simplify(definition.metric) for definition in definitions}
        missing = [metric for metric in dict.fromkeys(simple.values()) if metric not in self._values]
        missing.sort(key=lambda metric: (metric.ties, metric.scores))  # One chunk ranks the documents once.
        chunks = [missing[start : start + _CHUNK] for start in range(0, len(missing), _CHUNK)]
        quiet = self.judgments.documents < _SHOW_PROGRESS or not sys.stderr.isatty()
        title, console = f"Searching {self.fits}", Console(stderr=True)
        for chunk in track(chunks, title, console=console, transient=True, disable=quiet):
            self._values.update(self._compute(chunk))
        values = {definition: self._values[metric] + definition.offset for definition, metric in simple.items()}
        return {definition: value for definition, value in values.items() if not np.isnan(value)}

    def evaluate_one(self, metric: Metric) -> float:
        """Return the value of a metric, NaN if it does not support the data."""
        return next(iter(self.evaluate([Definition(metric)]).values()), float("nan"))

    def _compute(self, metrics: Sequence[Metric]) -> dict[Metric, float]:
        unjudged: Unjudged = "drop" if self.options == _DROP else "irrelevant"
        try:
            means = Evaluator(metrics, self.judgments, unjudged=unjudged)(self.scores).mean.values()
        except ValueError:  # A metric does not support the labels, or averages too many ties.
            if len(metrics) == 1:
                return {metrics[0]: float("nan")}
            return {metric: value for metric in metrics for value in self._compute([metric]).values()}
        return dict(zip(metrics, means, strict=True))


def get_title(library: str) -> str:
    """Return the name of a library from the name of its convention."""
    return CONVENTIONS[library].title


def _count_pairs(queries: np.ndarray[Any, Any], scores: np.ndarray[Any, Any]) -> int:
    order = np.lexsort((scores, queries))
    changes = (np.diff(queries[order]) != 0) | (np.diff(scores[order]) != 0)
    return int(changes.sum()) + min(len(scores), 1)


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
                printed.append((Definition(metric, convention.title, name.format(k=k)), binary_only))
    return printed


def iter_library_definitions(sample: Sample, cutoffs: Iterable[int | None]) -> Iterator[Definition]:
    """Yield the metrics that libraries print, each with its name there, in the order of `cutoffs`.

    In a weighted ndcg of LightGBM and XGBoost, queries without relevant documents have the weight 1.
    """
    defective = {convention.title for convention in CONVENTIONS.values() if convention.note == DEFECT}
    weights, has_defect = sample.judgments.weights, False
    if weights is not None:
        empty = sample.judgments.relevant(float(np.nextafter(0, 1))) == 0
        has_defect, offset = bool(empty.any()), float(empty.sum() / weights.sum())
    for definition, binary_only in (pair for k in cutoffs for pair in _list_printed(k)):
        if sample.is_binary or not binary_only:
            yield definition
            if has_defect and definition.library in defective and definition.base.startswith("ndcg"):
                yield replace(definition, metric=replace(definition.metric, empty=0.0), offset=offset)


def iter_defaults(sample: Sample, cutoffs: Iterable[int | None]) -> Iterator[Definition]:
    """Yield metrics with the defaults of gainwise."""
    levels = sample.judgments.levels
    bases = [*BASES, *([f"err(max_label={levels[-1]:g})"] if has_exponential_gain(levels) else [])]
    for metric, k in product(parse_metrics(bases), cutoffs):
        yield Definition(replace(metric, k=k))


def iter_variants(sample: Sample, cutoffs: Iterable[int | None]) -> Iterator[Definition]:
    """Yield metrics with every policy for ties and for queries without relevant documents, and with other grades."""
    thresholds = [level for level in sample.judgments.levels.tolist() if level > 1][:4]
    for definition in iter_defaults(sample, cutoffs):
        metric = definition.metric
        all_ties = get_args(Ties) if sample.has_ties else ("order",)
        for ties, empty in product(all_ties, (0.0, 1.0, "skip") if sample.has_empty(metric) else (0.0,)):
            if ties != "average" or getattr(metric, "denominator", "") != "hits":
                yield Definition(replace(metric, ties=ties, empty=empty))
        if isinstance(metric, BinaryMetric):
            yield from (Definition(replace(metric, min_label=label)) for label in thresholds)


def iter_samples(judgments: Judgments, scores: Floats) -> Iterator[Sample]:
    """Yield the data, without unjudged documents, and without queries that have no result, as trec_eval evaluates."""
    yield Sample(judgments, scores)
    if judgments.unjudged:
        yield Sample(judgments, scores, _DROP)
    retrieved = np.bincount(judgments.query_of_rows, scores > -np.inf, judgments.queries) > 0
    if not retrieved.all() and retrieved.any():
        yield _select(judgments, scores, retrieved[judgments.query_of_rows], options="missing='skip'")


def iter_mistakes(judgments: Judgments, scores: Floats) -> Iterator[Sample]:
    """Yield the data after typical mistakes."""
    labels, levels, weights, queries = judgments.labels, judgments.levels, judgments.weights, judgments.query_of_rows
    is_retrieved, all_rows = scores > -np.inf, np.ones(judgments.documents, dtype=bool)
    rows, first = np.arange(float(len(scores))), queries == queries.min()
    changed_scores = [
        ("the direction of the scores", "ascending scores", np.where(is_retrieved, -scores, -np.inf)),
        (
            "the order of the documents",
            "the order of the rows instead of the scores",
            np.where(is_retrieved, -rows, -np.inf),
        ),
        ("the rows", "scores that are shifted down by one row", np.roll(scores, 1)),
        ("the rows", "scores that are shifted up by one row", np.roll(scores, -1)),
    ]
    yield from (Sample(judgments, changed, "", *texts) for *texts, changed in changed_scores)
    if judgments.queries > 1:
        yield _select(judgments, scores, all_rows, "the groups", "all documents as one query", group=[len(scores)])
        yield _select(judgments, scores, first, "the mean", "the first query alone", weight=None)
        text = "a mean over documents, in which long queries count more"
        yield _select(judgments, scores, all_rows, "the mean", text, weight=judgments.sizes)
    if weights is not None:
        yield _select(judgments, scores, all_rows, "the weights", "equal weights of all queries", weight=None)
    if has_exponential_gain(levels) and levels[-1] > 1:
        grades = np.log2(labels + 1)
        if levels[-1] <= _MAX_GRADE:
            text = "gains 2^l - 1 in the place of the labels l"
            yield _select(judgments, scores, all_rows, "the labels", text, labels=exponential(labels))
        if (grades == np.floor(grades)).all():
            text = "grades l, while the labels of these data are gains 2^l - 1"
            yield _select(judgments, scores, all_rows, "the labels", text, labels=grades)
    if is_retrieved.any() and not is_retrieved.all():
        yield _select(judgments, scores, is_retrieved, "the ideal ranking", "the retrieved documents only")


def _select(
    judgments: Judgments,
    scores: Floats,
    rows: Bools,
    check: str = "",
    fits: str = "",
    options: str = "",
    **changes: Any,
) -> Sample:
    """Return the data with some of the rows, and other labels, groups or weights."""
    mask = judgments.by_query(rows)
    owners = np.repeat(np.arange(judgments.queries), judgments.sizes)[mask]
    sizes = np.bincount(owners, minlength=judgments.queries)
    kept = slice(None) if mask.all() else sizes > 0
    group, weight = changes.get("group"), changes.get("weight", judgments.weights)
    selected = Judgments(
        judgments.by_query(changes.get("labels", judgments.labels))[mask],
        group=sizes[kept] if group is None else group,
        weight=None if weight is None or group is not None else np.asarray(weight, dtype=np.float64)[kept],
        negative_labels="allow",
        judged=None if judgments.judged is None else judgments.by_query(judgments.judged)[mask],
    )
    return Sample(selected, judgments.by_query(scores)[mask], options, check, fits)
