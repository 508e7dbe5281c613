"""Checks of data before training: findings with their place, consequence and fix."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .._common.arrays import factorize, format_id, index_of
from .._common.lazy import pandas as pd
from .._common.text import TextResult, agree, format_mean, join_names, pluralize
from .._common.validation import validate_choice, validate_ordered
from ..data.ranking_data import is_sparse
from ..judgments import Judgments
from ..metrics.dcg import NDCG
from .evaluator import Evaluator, describe_gains
from .parts import Part, compute_keys, find_shared_queries, have_comparable_rows, read_part
from .prediction import LIBRARIES

if TYPE_CHECKING:
    from .._common.typing import Bools, Floats, Integers

Library = Literal["lightgbm", "xgboost", "catboost"]
Severity = Literal["error", "warning", "info"]

SEVERITIES = ("error", "warning", "info")

LARGEST_LABELS = {"lightgbm": 30, "xgboost": 31}
"""Largest label without a table of gains (LightGBM), or with the default exponential gain (XGBoost)."""

MAX_DOCUMENTS = 10_000
"""LightGBM's largest number of documents in a query."""

FEW_QUERIES = 1000
QUERY_SD, QUANTILES = 0.1, 1.645 + 0.842
"""A typical standard deviation of a difference over queries, and the quantiles for level 5 % and power 80 %."""

MAX_PROBABILITY = 1e-6
"""A pattern is a finding if it is less probable than this by chance."""

MIN_KNOWN = 30
"""Fewest values of a feature with missing ones that suggest a leak if all of them are equal to the label."""

MAX_ROWS = 100
"""Rows of a finding, the first ones."""

CODES = (
    "groups", "leak", "same ids", "column order", "clusters", "duplicate documents", "contradictory rows",
    "scattered rows", "gains", "large labels", "fractional labels", "negative labels", "long queries", "sorted labels",
    "chance", "uninformative queries", "label in features", "constant features", "duplicate features",
    "query features", "missing values", "infinite values", "few queries", "document weights",
)  # fmt: skip
"""The codes of all findings."""


@dataclass(frozen=True)
class Finding:
    """A finding of `gainwise.check`.

    Attributes
    ----------
    code : str
        Kind of the finding, for `ignore=`.
    severity : {"error", "warning", "info"}
        Consequence: an invalid result or a failed training, a result that may mislead, or a fact.
    part : str
        Name of the part of the data.
    text : str
        Finding, consequence and fix.
    rows : tuple of int
        The first rows that it concerns, from 0.
    """

    code: str
    severity: Severity
    part: str
    text: str
    rows: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.part}: {self.text}"


@dataclass(frozen=True, repr=False, eq=False)
class Check(TextResult):
    """Result of `gainwise.check`.

    Attributes
    ----------
    findings : tuple of Finding
        Errors, then warnings, then infos. A finding has a `code`, a `severity`, a `part`, a `text`, and the first
        `rows` that it concerns, from 0.
    not_checked : tuple of str
        Sentences about checks that were not possible.
    """

    findings: tuple[Finding, ...]
    not_checked: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """One line per error and warning, one line for all infos, and one for checks that were not possible."""
        lines = [f"{found.severity}: {found}" for found in self.findings if found.severity != "info"]
        infos = [str(found).rstrip(".") for found in self.findings if found.severity == "info"]
        lines = lines or ["No errors and no warnings."]
        lines += [f"info: {'; '.join(infos)}."] if infos else []
        return "\n".join([*lines, *([f"not checked: {' '.join(self.not_checked)}"] if self.not_checked else [])])

    @property
    def frame(self) -> pd.DataFrame:
        """One row per finding: `severity`, `code`, `part`, `text` and `rows`."""
        columns = ["severity", "code", "part", "text", "rows"]
        return pd.DataFrame([[getattr(found, name) for name in columns] for found in self.findings], columns=columns)

    def reaches(self, severity: str) -> bool:
        """Return whether a finding has at least this severity."""
        validate_choice("severity", severity, SEVERITIES)
        return any(SEVERITIES.index(found.severity) <= SEVERITIES.index(severity) for found in self.findings)

    def _repr_html_(self) -> str:
        from .._common.theme import table_cell

        rows = [(found.severity, found.part, found.text) for found in self.findings]
        return table_cell("Check", ("severity", "data", "finding"), rows, *self.not_checked)


def check(
    data: Any,
    *,
    library: Library | None = None,
    query: str = "query",
    label: str = "label",
    document: str | None = None,
    clusters: str | Mapping[Any, Any] | None = None,
    ignore: Iterable[str] = (),
) -> Check:
    """Check data before training: leaks, labels, groups, features, and what a metric can show.

    Many wrong numbers result from mistakes in the data, and most mistakes raise no error during training. Call this
    function once, with all parts of the data.

    Parameters
    ----------
    data : dataset, or mapping of name to dataset
        The parts of the data, such as training, validation and test set. A dataset is `RankingData`, `Judgments`, a
        `lightgbm.Dataset`, an `xgboost.DMatrix`, or a DataFrame.
    library : {"lightgbm", "xgboost", "catboost"}, optional
        The library to train with, which decides what is an error. Defaults to that of the datasets.
    query, label : str
        Columns of DataFrames with query ids and labels.
    document : str, optional
        Column of DataFrames with document ids. Further numeric and categorical columns are features.
    clusters : str, Series, or mapping of query id to cluster, optional
        Column of DataFrames with clusters of queries such as users, or the cluster of each query. A Series is indexed
        by query id.
    ignore : iterable of str, optional
        Codes of findings to leave out.

    Returns
    -------
    Check

    Raises
    ------
    ValueError
        If there is no dataset, a column is missing, a label is not finite, or a code or library is unknown.
    TypeError
        If a dataset has another type.

    See Also
    --------
    gainwise.identify : Find the mistake that explains a number.
    gainwise.RankingData.split_queries : Split a dataset without splitting queries.

    Examples
    --------
    >>> import gainwise as gw
    >>> from gainwise.data import simulate
    >>> train, valid = simulate(50, seed=1).split_queries(0.8, 0.2, seed=1)
    >>> leaking = gw.RankingData.concatenate([train, valid])
    >>> for finding in gw.check({"train": leaking, "valid": valid}).findings[:1]:
    ...     print(finding.severity, finding.code)
    error leak
    """
    if library is not None:
        validate_choice("library", library, tuple(LIBRARIES))
    validate_ordered("ignore", ignore)
    ignored = {ignore} if isinstance(ignore, str) else set(ignore)
    for code in ignored:
        validate_choice("each code of ignore", code, CODES)
    datasets = dict(data) if isinstance(data, Mapping) else {"data": data}
    if not datasets:
        raise ValueError("data must have at least one dataset, got an empty mapping.")
    column = clusters if isinstance(clusters, str) else None
    columns = {"query": query, "label": label, "document": document, "clusters": column}
    parts = [read_part(str(name), dataset, columns) for name, dataset in datasets.items()]
    kinds: dict[str, Library] = {"Dataset": "lightgbm", "DMatrix": "xgboost"}
    used: str | None = library or next((kinds[part.kind] for part in parts if part.kind in kinds), None)
    findings: list[Finding] = []
    not_checked: list[str] = []
    for part in parts:
        if part.error:
            fix = "Otherwise, the library cannot assign rows to queries."
            findings.append(Finding("groups", "error", part.name, f"{part.error}. {fix}"))
            continue
        findings += [*_check_rows(part, used), *_check_labels(part, used)]
        findings += [*_check_queries(part), *_check_features(part)]
        if part.features is None or part.zero_is_missing:
            not_checked.append(f"Features of {part.name}, because its {part.kind} does not contain them as passed.")
        if part.unread:
            names = join_names(part.unread, most=5)
            not_checked.append(f"{names} of {part.name}, because only numeric and categorical columns are features.")
    readable = [part for part in parts if not part.error]
    by_query = None if clusters is None or column is not None else _read_clusters(clusters)
    if clusters is not None:
        not_checked += _list_parts_without_clusters(readable, by_query)
    for first, second in itertools.combinations(readable, 2):
        if not have_comparable_rows(first, second):
            reason = "because it requires the same features in both, or ids of queries and documents"
            not_checked.append(f"Leaks between {first.name} and {second.name}, {reason}.")
    findings += [*_compare_parts(readable), *_compare_clusters(readable, by_query)]
    if used in (None, "lightgbm"):  # The others raise an error.
        findings += _compare_columns(readable)
    findings += _find_contradictory_rows(readable)
    findings = [found for found in findings if found.code not in ignored]
    findings.sort(key=lambda found: SEVERITIES.index(found.severity))
    return Check(tuple(findings), tuple(not_checked))


def _report(code: str, severity: Severity, part: Part, text: str, rows: Any = ()) -> Finding:
    """Return a finding about a part, with its first rows."""
    return Finding(code, severity, part.name, text, tuple(map(int, np.asarray(rows)[:MAX_ROWS])))


def _decide(library: str | None) -> Severity:
    """Return error for libraries that reject such labels, info for another one, and warning if it is unknown."""
    return "warning" if library is None else "error" if library in LARGEST_LABELS else "info"


def _check_rows(part: Part, library: str | None) -> Iterator[Finding]:
    """Yield findings about ids and the order of rows."""
    if part.documents is not None:
        table = pd.DataFrame({"query": part.queries, "document": part.documents, "label": part.labels})
        repeated = table.duplicated(["query", "document"])
        if repeated.any():
            number = int(repeated.sum())
            first_labels = table.groupby(["query", "document"], dropna=False)["label"].transform("first")
            differing = int((first_labels != part.labels).sum())
            labels = f", {differing:,} of them with another label" if 0 < differing < number else ""
            labels = labels or f" with {'another' if differing else 'the same'} label"
            text = f"{pluralize(number, 'row')} {agree(number, 'repeat')} a document of the same query{labels}."
            fix = "Keep one row of each."
            yield _report("duplicate documents", "warning", part, f"{text} {fix}", np.flatnonzero(repeated))
    starts = np.flatnonzero(np.append(True, part.queries[1:] != part.queries[:-1]))
    rows = starts[pd.Series(part.queries[starts]).duplicated()]
    if len(rows):
        text = (
            f"rows of a query are not adjacent, first in row {rows[0]}. LightGBM and XGBoost require sorted rows. Sort "
            "them by query, or use RankingData.contiguous()."
        )
        yield _report("scattered rows", "error" if library in LARGEST_LABELS else "info", part, text, rows)
    longest = int(part.sizes.max())
    if longest > MAX_DOCUMENTS:
        text = f"a query has {longest:,} documents, but LightGBM supports at most {MAX_DOCUMENTS:,}. Shorten it."
        rows = part.find_rows(part.sizes > MAX_DOCUMENTS)
        yield _report("long queries", "error" if library == "lightgbm" else "info", part, text, rows)
    if part.has_document_weights:
        text = "weights are per document, but LightGBM and XGBoost weight queries. Metrics use the mean of each query."
        yield _report("document weights", "info", part, text)


def _check_labels(part: Part, library: str | None) -> Iterator[Finding]:
    """Yield findings about labels."""
    labels, levels = part.labels, np.unique(part.labels)
    gains = describe_gains(levels)
    if gains:
        text = f"{gains}, of which ndcg_exp computes gains again. Use ndcg_linear, or map the labels to grades."
        yield _report("gains", "warning", part, text)
    limit = LARGEST_LABELS.get(library or "", min(LARGEST_LABELS.values()))
    fix = "Map the labels to grades, or set label_gain (LightGBM) or ndcg_exp_gain=False (XGBoost)."
    if levels[-1] > limit:
        name = f"{LIBRARIES[library]} supports" if library in LARGEST_LABELS else "ranking objectives support"
        text = f"labels reach {levels[-1]:g}, but {name} at most {limit} by default. {fix}"
        severity: Severity = "info" if gains and library is None else _decide(library)
        yield _report("large labels", severity, part, text, np.flatnonzero(labels > limit))
    fractional = labels != np.floor(labels)
    if fractional.any():
        text = (
            f"labels are fractional, such as {labels[fractional][0]:g}, but ranking objectives require whole grades. "
            "Map the labels to grades."
        )
        severity = "info" if gains and library is None else _decide(library)
        yield _report("fractional labels", severity, part, text, np.flatnonzero(fractional))
    if levels[0] < 0:
        text = (
            f"labels are negative, such as {levels[0]:g}. Ranking objectives and exponential gains reject them. "
            "Map the labels to grades from 0 on."
        )
        rows = np.flatnonzero(labels < 0)
        yield _report("negative labels", "info" if library is None else _decide(library), part, text, rows)


def _check_queries(part: Part) -> Iterator[Finding]:
    """Yield findings about queries: which are informative, sorted, and the value of random order."""
    facts = _count_grades(part)
    total, mixed = len(part.sizes), int(facts.mixed.sum())
    if mixed < total:
        single, irrelevant = int((part.sizes == 1).sum()), int((facts.highest <= 0).sum())
        text = (
            f"{total - mixed:,} of {pluralize(total, 'query')} {agree(total - mixed, 'have')} one document or equal "
            f"labels ({single:,} {agree(single, 'have')} one document, {irrelevant:,} {agree(irrelevant, 'have')} no "
            "relevant one). Such queries cannot distinguish models, and libraries count them differently."
        )
        severity: Severity = "warning" if 2 * mixed < total else "info"
        yield _report("uninformative queries", severity, part, text, part.find_rows(~facts.mixed))
    expected = float(np.exp(facts.log_probability[facts.mixed]).sum())
    is_sorted = facts.mixed & facts.descending
    observed = int(is_sorted.sum())
    if 2 * observed > mixed and _is_improbable(observed, expected):
        text = (
            f"rows are sorted by label in {observed:,} of {pluralize(mixed, 'query')} with different labels. Metrics "
            "that keep the input order in ties, as in LightGBM and XGBoost, then reward constant scores. Shuffle rows "
            "in queries."
        )
        yield _report("sorted labels", "warning", part, text, part.find_rows(is_sorted))
    order = np.argsort(part.queries, kind="stable")
    judgments = Judgments(np.maximum(part.labels[order], 0.0), group=part.sizes)
    (chance,) = Evaluator(NDCG(gain="linear", k=10), judgments)(np.zeros(len(order))).mean.values()
    yield _report("chance", "info", part, f"ndcg_linear@10 of random order is {format_mean(chance, 3)}.")
    if total < FEW_QUERIES:
        difference = QUANTILES * QUERY_SD / math.sqrt(total)
        text = (
            f"with {pluralize(total, 'query')}, a comparison rarely shows differences below {difference:.3f} (if they "
            f"have a standard deviation of {QUERY_SD:g} over queries)."
        )
        yield _report("few queries", "info", part, text)


def _is_improbable(observed: int, expected: float) -> bool:
    """Return whether so many of the expected events are improbable, by Chernoff's bound for independent events."""
    if observed <= expected:
        return False
    excess = observed * (math.log(observed) - math.log(max(expected, 1e-300))) - observed + expected
    return excess > -math.log(MAX_PROBABILITY)


class _Grades(NamedTuple):
    """Facts by query: whether labels differ, the highest label, whether rows descend, and how probable that is."""

    mixed: Bools
    highest: Floats
    descending: Bools
    log_probability: Floats


def _count_grades(part: Part) -> _Grades:
    order = np.argsort(part.queries, kind="stable")
    queries, labels, number = part.queries[order], part.labels[order], len(part.sizes)
    starts = np.cumsum(part.sizes) - part.sizes
    highest, lowest = np.maximum.reduceat(labels, starts), np.minimum.reduceat(labels, starts)
    rising = (labels[1:] > labels[:-1]) & (queries[1:] == queries[:-1])
    descending = np.bincount(queries[1:][rising], minlength=number) == 0
    pairs, counts = np.unique(np.stack([queries, factorize(labels)[0]]), axis=1, return_counts=True)
    factorials = np.append(0.0, np.cumsum(np.log(np.arange(1, part.sizes.max() + 1))))
    same = np.bincount(pairs[0], weights=factorials[counts], minlength=number)
    return _Grades(highest > lowest, highest, descending, same - factorials[part.sizes])


def _find_contradictory_rows(parts: Sequence[Part]) -> Iterator[Finding]:
    """Yield one finding about all rows with the features of another row of their query, but another label."""
    found: list[tuple[Part, Integers]] = []
    for part in parts:
        if part.features is not None:
            rows = {"query": part.queries, "key": compute_keys(part.features), "label": part.labels}
            labels = pd.DataFrame(rows).groupby(["query", "key"])["label"]
            found.append((part, np.flatnonzero(labels.transform("min") < labels.transform("max"))))
    found = [(part, rows) for part, rows in found if len(rows)]
    if found:
        counts = join_names([f"{len(rows):,} of {pluralize(len(part.labels), 'row')}" for part, rows in found])
        text = (
            f"{counts} have the features of another row of the same query, but another label, so no model can "
            "distinguish such rows. Check the labels, or add features."
        )
        names = join_names([part.name for part, _ in found])
        yield replace(_report("contradictory rows", "warning", *found[0][:1], text, found[0][1]), part=names)


def _check_features(part: Part) -> Iterator[Finding]:
    """Yield findings about columns of features."""
    if part.features is None or part.zero_is_missing:
        return
    names = part.names or tuple(f"{number}" for number in range(part.features.shape[1]))
    found: dict[str, list[str]] = {}
    missing = infinite = 0
    seen: dict[int, str] = {}
    perfect = _build_perfect_test(part)
    for name, values in zip(names, _list_columns(part.features), strict=True):
        unknown = np.isnan(values)
        gaps = int(unknown.sum())
        missing += gaps
        infinite += int(np.isinf(values).sum())
        is_constant = bool((values == values[0]).all() or gaps == len(values))
        code = hash(values.tobytes())
        is_perfect, is_constant_in_queries = perfect(values)
        known = ~unknown if gaps else slice(None)
        is_equal = np.array_equal(values[known], part.labels[known].astype(values.dtype)) and not is_constant
        if is_equal and not gaps:
            found.setdefault("equal", []).append(name)
        elif is_equal and len(values) - gaps >= MIN_KNOWN and np.ptp(values[known]) > 0:
            found.setdefault("equal where known", []).append(name)
        elif is_perfect:
            found.setdefault("perfect", []).append(name)
        if is_constant:
            found.setdefault("constant", []).append(name)
        elif is_constant_in_queries:
            found.setdefault("query", []).append(name)
        elif code in seen:
            found.setdefault("duplicate", []).append(f"{name} (= {seen[code]})")
        seen.setdefault(code, name)
    yield from _describe_columns(part, found)
    if missing:
        yield _report("missing values", "info", part, f"features have {pluralize(missing, 'missing value')}.")
    if infinite:
        text = f"features have {pluralize(infinite, 'infinite value')}. XGBoost rejects them. Replace them."
        yield _report("infinite values", "error", part, text)


def _describe_columns(part: Part, found: dict[str, list[str]]) -> Iterator[Finding]:
    texts: dict[str, tuple[str, Severity, str]] = {
        "equal": ("label in features", "warning", "equal to the label. Remove what is not known before ranking"),
        "equal where known": (
            "label in features",
            "warning",
            "equal to the label in all rows without missing values. Remove what is not known before ranking",
        ),
        "perfect": (
            "label in features",
            "warning",
            "in the perfect order in every query, which suggests a leak. Remove what is not known before ranking",
        ),
        "constant": ("constant features", "info", "constant, and cannot change an order"),
        "duplicate": ("duplicate features", "info", "equal to another feature"),
        "query": ("query features", "info", "constant within queries, and cannot change an order alone"),
    }
    for kind, (code, severity, text) in texts.items():
        if kind in found:
            plural, verb = "features" if len(found[kind]) > 1 else "feature", agree(len(found[kind]), "are")
            yield _report(code, severity, part, f"{plural} {join_names(found[kind], most=5)} {verb} {text}.")


def _list_columns(features: Any) -> Iterator[np.ndarray[Any, Any]]:
    if is_sparse(features):
        columns = features.tocsc()
        yield from (columns[:, [place]].toarray().ravel() for place in range(columns.shape[1]))
    else:
        yield from (np.ascontiguousarray(features[:, place]) for place in range(features.shape[1]))


def _build_perfect_test(part: Part) -> Callable[[np.ndarray[Any, Any]], tuple[bool, bool]]:
    """Return a test of a feature: whether it orders every query perfectly, and whether it is constant in queries."""
    order = np.lexsort((part.labels, part.queries))
    queries, labels = part.queries[order], part.labels[order]
    starts = np.flatnonzero(np.append(True, (queries[1:] != queries[:-1]) | (labels[1:] != labels[:-1])))
    same = queries[starts][1:] == queries[starts][:-1]
    facts = _count_grades(part)
    limit = math.log(MAX_PROBABILITY / (2 * part.features.shape[1]))
    is_evidence = float(facts.log_probability[facts.mixed].sum()) < limit
    query_starts = np.cumsum(part.sizes) - part.sizes

    def test(values: np.ndarray[Any, Any]) -> tuple[bool, bool]:
        ordered = values[order]
        high, low = np.maximum.reduceat(ordered, starts), np.minimum.reduceat(ordered, starts)
        rising, falling = (low[1:] > high[:-1])[same].all(), (high[1:] < low[:-1])[same].all()
        constant = np.maximum.reduceat(ordered, query_starts) == np.minimum.reduceat(ordered, query_starts)
        return bool(is_evidence and (rising or falling)), bool(constant.all())

    return test


def _compare_parts(parts: list[Part]) -> Iterator[Finding]:
    """Yield leaks and equal ids of every two parts."""
    cases: dict[str, tuple[Severity, str]] = {
        "leak": ("error", "Values on {} are too high. Remove them from one of the parts."),
        "same ids": ("warning", "Give different queries different ids."),
    }
    for first, second in itertools.combinations(parts, 2):
        for code, places, text in find_shared_queries(first, second).describe(first, second):
            severity, fix = cases[code]
            rows = np.flatnonzero(np.isin(second.queries, places))
            yield _report(code, severity, second, f"{text} {fix.format(second.name)}", rows)


def _compare_columns(parts: list[Part]) -> Iterator[Finding]:
    """Yield the parts whose features are those of the first part in another order."""
    named = [(part, part.names) for part in parts if part.names]
    for part, names in named[1:]:
        first, expected = named[0]
        if names != expected and sorted(names) == sorted(expected):
            text = (
                f"the features have another order than in {first.name}, but LightGBM matches those of datasets by "
                f"position. Select them in the order of {first.name}."
            )
            yield _report("column order", "error" if part.kind == "Dataset" else "warning", part, text)


def _read_clusters(clusters: Any) -> dict[str, Any]:
    """Return the cluster of each query by the text of its id, from a mapping or a Series of pandas."""
    if not isinstance(clusters, Mapping) and (index_of(clusters) is None or clusters.ndim != 1):
        raise TypeError(
            f"clusters must be a column, or a mapping or Series of query id to cluster, got {type(clusters).__name__}."
        )
    return {format_id(name): cluster for name, cluster in clusters.items()}


def _list_parts_without_clusters(parts: list[Part], by_query: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield a sentence for each part whose clusters are unknown."""
    for part in parts:
        if by_query is None:
            if part.clusters is None:
                yield f"Clusters of {part.name}, because its {part.kind} has no columns of clusters."
        elif part.ids is None:
            yield f"Clusters of {part.name}, because it has no ids of queries, or they only number the queries."
        elif not any(name in by_query for name in part.ids):
            yield f"Clusters of {part.name}, because clusters contains none of its query ids."


def _compare_clusters(parts: list[Part], by_query: Mapping[str, Any] | None) -> Iterable[Finding]:
    """Yield the clusters that several parts contain."""
    found: dict[str, set[Any]] = {}
    for part in parts:
        if part.clusters is not None:
            found[part.name] = set(part.clusters.tolist())
        elif by_query is not None and part.ids is not None:
            found[part.name] = {by_query[name] for name in part.ids if name in by_query}
    for first, second in itertools.combinations(found, 2):
        common = found[first] & found[second]
        if common:
            size = f"{len(common):,} of {pluralize(len(found[second]), 'cluster')}"
            examples = join_names(sorted(map(format_id, common)), most=3)
            text = (
                f"{size} also {agree(len(common), 'occur')} in {first} ({examples}), so the parts are not independent."
            )
            yield Finding("clusters", "info", second, text)
