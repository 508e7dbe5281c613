"""Definitions that may have printed a number: metrics of libraries and other options, and data after a mistake."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from rich.console import Console
from rich.progress import track

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

    from .._common.typing import Floats

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
"""Number of documents from which on a terminal shows a progress bar."""

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

    def is_of(self, library: str) -> bool:
        """Return whether a library prints it, by the key of its convention."""
        return self.library == CONVENTIONS[library].title


@dataclass(frozen=True, eq=False)
class Sample:
    """Judgments and scores that a number may have been computed on.

    `options` are arguments of `evaluate` and `evaluate_run` that are not part of a metric. `check` is the sentence about
    the mistake that leads to these data.
    """

    judgments: Judgments
    scores: Floats
    options: str = ""
    check: str = ""
    _values: dict[Metric, float] = field(default_factory=dict)

    @cached_property
    def _tie_counts(self) -> tuple[int, int, int]:
        """The number of retrieved documents, and of distinct scores within queries in 64 and in 32 bits."""
        retrieved = self.scores > -np.inf
        queries, scores = self.judgments.query_of_rows[retrieved], self.scores[retrieved]
        with np.errstate(over="ignore"):
            narrow = scores.astype(np.float32)
        return len(scores), _count_pairs(queries, scores), _count_pairs(queries, narrow)

    @cached_property
    def has_ties(self) -> bool:
        """Whether documents of a query have equal scores in 32 bits."""
        return self._tie_counts[0] > self._tie_counts[2]

    def has_empty(self, metric: Metric) -> bool:
        """Return whether some query may have no relevant document."""
        lowest = (metric.min_label,) if isinstance(metric, BinaryMetric) else (float(np.nextafter(0, 1)), 1.0)
        return any(bool((self.judgments.relevant(label) == 0).any()) for label in lowest)

    def simplify(self, metric: Metric) -> Metric:
        """Return the metric without options that cannot change its value on these data."""
        options: dict[str, Any] = {}
        if not self.has_ties:
            options["ties"] = "order"
        if self._tie_counts[1] == self._tie_counts[2]:
            options["scores"] = "float64"
        if not self.has_empty(metric):
            options["empty"] = 0.0
        if self.judgments.weights is None:
            options["weights"] = "query"
        if isinstance(metric, BinaryMetric):
            levels, code = self.judgments.levels, self.judgments.code_at_least(metric.min_label)
            options["min_label"] = max(float(levels[code]), 1.0) if code < len(levels) else metric.min_label
        if metric.k is not None and metric.k >= self.judgments.sizes.max() and not isinstance(metric, Precision):
            options["k"] = None
        return replace(metric, **options)

    def evaluate(self, definitions: Iterable[Definition]) -> dict[Definition, float]:
        """Return the value of each definition that is possible on these data."""
        simple = {definition: self.simplify(definition.metric) for definition in definitions}
        missing = [metric for metric in dict.fromkeys(simple.values()) if metric not in self._values]
        missing.sort(key=lambda metric: (metric.ties, metric.scores))  # One chunk ranks the documents once.
        chunks = [missing[start : start + _CHUNK] for start in range(0, len(missing), _CHUNK)]
        quiet = self.judgments.documents < _SHOW_PROGRESS or not sys.stderr.isatty()
        console = Console(stderr=True)
        for chunk in track(chunks, self.check or "Searching", console=console, transient=True, disable=quiet):
            self._values.update(self._compute(chunk))
        values = {definition: self._values[metric] + definition.offset for definition, metric in simple.items()}
        return {definition: value for definition, value in values.items() if not np.isnan(value)}

    def _compute(self, metrics: Sequence[Metric]) -> dict[Metric, float]:
        """Return the means. They are NaN if the metric does not support the data."""
        unjudged: Unjudged = "drop" if self.options == "unjudged='drop'" else "irrelevant"
        try:
            means = Evaluator(metrics, self.judgments, unjudged=unjudged)(self.scores).mean.values()
        except ValueError:
            if len(metrics) == 1:
                return {metrics[0]: float("nan")}
            return {metric: value for metric in metrics for value in self._compute([metric]).values()}
        return dict(zip(metrics, means, strict=True))


def _count_pairs(queries: np.ndarray[Any, Any], scores: np.ndarray[Any, Any]) -> int:
    order = np.lexsort((scores, queries))
    changes = (np.diff(queries[order]) != 0) | (np.diff(scores[order]) != 0)
    return int(changes.sum()) + min(len(scores), 1)


def iter_library_definitions(judgments: Judgments, cutoffs: Sequence[int | None]) -> Iterator[Definition]:
    """Yield the metrics that libraries print, each with its name there, in the order of `cutoffs`."""
    for k in cutoffs:
        for library, convention in CONVENTIONS.items():
            for own, printed in convention.prints.items():
                fixed = "{k}" not in own
                if (k is not None and fixed) or (k is None and convention.requires_cutoff and not fixed):
                    continue
                own_name = own.format(k=k) if k is not None else own.replace("@{k}", "")
                name = printed.format(k=k) if k is not None else _CUTOFF_OPTION.sub("", printed)
                (metric,) = parse_metrics(own_name, convention=library)
                is_trivial = k is None and isinstance(metric, Precision | Recall | Hit) and metric.k is None
                is_binary = set(judgments.levels.tolist()) <= {0.0, 1.0}
                if is_trivial or (convention.binary_only and isinstance(metric, BinaryMetric) and not is_binary):
                    continue
                yield Definition(metric, convention.title, name, 0.0)
                if convention.note == DEFECT and str(metric).startswith("ndcg"):
                    yield from _iter_defects(judgments, Definition(metric, convention.title, name))


def _iter_defects(judgments: Judgments, definition: Definition) -> Iterator[Definition]:
    """Yield a weighted ndcg of LightGBM or XGBoost, in which queries without relevant documents have the weight 1."""
    empty = judgments.relevant(float(np.nextafter(0, 1))) == 0
    if judgments.weights is not None and empty.any():
        offset = float(empty.sum() / judgments.weights.sum())
        yield replace(definition, metric=replace(definition.metric, empty=0.0), offset=offset)


def iter_defaults(judgments: Judgments, cutoffs: Sequence[int | None]) -> Iterator[Definition]:
    """Yield metrics with the defaults of gainwise."""
    bases = list(BASES)
    if has_exponential_gain(judgments.levels):
        bases.append(f"err(max_label={judgments.levels[-1]:g})")
    for k in cutoffs:
        yield from (Definition(replace(metric, k=k)) for metric in parse_metrics(bases))


def iter_variants(judgments: Judgments, cutoffs: Sequence[int | None]) -> Iterator[Definition]:
    """Yield metrics with every policy for ties and for queries without relevant documents, and with other grades."""
    policies = list(product(get_args(Ties), (0.0, 1.0, "skip")))
    thresholds = [level for level in judgments.levels.tolist() if level > 1][:4]
    for definition in iter_defaults(judgments, cutoffs):
        metric = definition.metric
        for ties, empty in policies:
            if ties != "average" or getattr(metric, "denominator", "") != "hits":
                yield Definition(replace(metric, ties=ties, empty=empty))
        if isinstance(metric, BinaryMetric):
            yield from (Definition(replace(metric, min_label=label)) for label in thresholds)


def iter_samples(judgments: Judgments, scores: Floats) -> Iterator[Sample]:
    """Yield the data, without unjudged documents, and without queries that have no result, as trec_eval evaluates."""
    yield Sample(judgments, scores)
    if judgments.unjudged:
        yield Sample(judgments, scores, "unjudged='drop'")
    retrieved = np.bincount(judgments.query_of_rows, scores > -np.inf, judgments.queries) > 0
    if not retrieved.all() and retrieved.any():
        yield _select(judgments, scores, retrieved[judgments.query_of_rows], options="missing='skip'")


def iter_mistakes(judgments: Judgments, scores: Floats) -> Iterator[Sample]:
    """Yield the data after typical mistakes."""
    rows = np.arange(judgments.documents, dtype=np.float64)
    yield Sample(
        judgments, -scores, check="Check the direction of the scores, because the number fits ascending scores."
    )
    yield Sample(
        judgments,
        -rows,
        check="Check that documents are sorted by score, because the number fits their order in the data.",
    )
    for shift in (1, -1):
        yield Sample(
            judgments,
            np.roll(scores, shift),
            check="Check the rows, because the number fits scores that are shifted by one row.",
        )
    everything = np.ones(judgments.documents, dtype=bool)
    if judgments.queries > 1:
        check = "Check the groups, because the number fits all documents as one query."
        yield _select(judgments, scores, everything, check=check, sizes=[judgments.documents], weight=None)
        check = "Check the mean, because the number fits the first query alone."
        first = judgments.query_of_rows == int(np.argmax(judgments.sizes > 0))
        yield _select(judgments, scores, first, check=check, weight=None)
        check = "Check the mean, because the number fits a mean over documents, in which long queries count more."
        yield _select(judgments, scores, everything, check=check, weight=judgments.sizes)
    if judgments.weights is not None:
        check = "Check the weights, because the number fits equal weights of all queries."
        yield _select(judgments, scores, everything, check=check, weight=None)
    labels, levels = judgments.labels, judgments.levels
    if has_exponential_gain(levels) and levels[-1] > 1:
        check = "Check the labels, because the number fits gains 2^l - 1 in the place of the labels l."
        if levels[-1] <= 30:
            yield _select(judgments, scores, everything, check=check, labels=exponential(labels))
        grades = np.log2(labels + 1)
        if (grades == np.floor(grades)).all():
            check = "Check the labels, because the number fits grades l, while the labels are gains 2^l - 1."
            yield _select(judgments, scores, everything, check=check, labels=grades)
    if np.isneginf(scores).any() and (scores > -np.inf).any():
        check = "Check the ideal ranking, because the number fits retrieved documents only."
        yield _select(judgments, scores, scores > -np.inf, check=check)


def _select(
    judgments: Judgments,
    scores: Floats,
    rows: np.ndarray[Any, Any],
    options: str = "",
    check: str = "",
    *,
    labels: Floats | None = None,
    sizes: Any = None,
    weight: Any = "same",
) -> Sample:
    """Return the data with some of the rows, and other labels, groups or weights."""
    mask = judgments.by_query(rows)
    kept = np.bincount(np.repeat(np.arange(judgments.queries), judgments.sizes)[mask], minlength=judgments.queries)
    has_rows = (kept > 0) if mask.sum() < len(mask) else np.ones(judgments.queries, dtype=bool)
    weights = judgments.weights if isinstance(weight, str) else weight
    selected = Judgments(
        judgments.by_query(judgments.labels if labels is None else labels)[mask],
        group=kept[has_rows] if sizes is None else sizes,
        weight=None if weights is None else np.asarray(weights)[has_rows],
        negative_labels="allow",
        judged=None if judgments.judged is None else judgments.by_query(judgments.judged)[mask],
    )
    return Sample(selected, judgments.by_query(scores)[mask], options, check)
