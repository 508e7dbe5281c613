"""Checks of data before training: findings with their place, consequence and fix."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._common.arrays import nearest
from .._common.text import TextResult, join_names, pluralize
from .._common.validation import validate_choice, validate_ordered
from ..data.leaks import QueryRows, describe_shared_queries, find_shared_queries
from .findings import CHECKS, CODES, LIBRARIES, Finding, Severity, describe, find_contradictory_rows
from .parts import Part, read_part

if TYPE_CHECKING:
    import pandas as pd

Library = Literal["lightgbm", "xgboost", "catboost"]

SEVERITIES = ("error", "warning", "info")


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
        import pandas as pd

        columns = ["severity", "code", "part", "text", "rows"]
        return pd.DataFrame([[getattr(found, name) for name in columns] for found in self.findings], columns=columns)

    def reaches(self, severity: str) -> bool:
        """Return whether a finding has at least this severity."""
        validate_choice("severity", severity, SEVERITIES)
        return any(SEVERITIES.index(found.severity) <= SEVERITIES.index(severity) for found in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as values for JSON."""
        return self._export(["findings", "not_checked"])

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
    clusters : str or mapping of query id to cluster, optional
        Column of DataFrames with clusters of queries such as users, or the cluster of each query.
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
    for code in ignored - set(CODES):
        raise ValueError(f"ignore must name codes of findings, got {code!r}{nearest(str(code), CODES)}.")
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
        findings += [found for function in CHECKS for found in function(part, used)]
        if part.features is None or part.zero_is_missing:
            not_checked.append(f"Features of {part.name}, because its {part.kind} does not contain them as passed.")
    readable = [part for part in parts if not part.error]
    by_query = clusters if isinstance(clusters, Mapping) else None
    findings += [*_compare_parts(readable, not_checked), *_compare_clusters(readable, by_query)]
    findings += find_contradictory_rows(readable)
    findings = [found for found in findings if found.code not in ignored]
    findings.sort(key=lambda found: SEVERITIES.index(found.severity))
    return Check(tuple(findings), tuple(not_checked))


def _compare_parts(parts: list[Part], not_checked: list[str]) -> Iterable[Finding]:
    """Yield leaks and equal ids of every two parts."""
    all_keys = {part.name: part.keys for part in parts}
    for first, second in itertools.combinations(parts, 2):
        keys, other_keys = all_keys[first.name], all_keys[second.name]
        has_same_columns = (first.features is None) == (second.features is None) and first.names == second.names
        if keys is None or other_keys is None or not has_same_columns:
            reason = "because it requires the same features in both, or ids of queries and documents"
            not_checked.append(f"Leaks between {first.name} and {second.name}, {reason}.")
            # Different keys for all rows leave the comparison of ids.
            keys = np.arange(len(first.labels), dtype=np.uint64)
            other_keys = np.arange(len(second.labels), dtype=np.uint64) + np.uint64(len(keys))
        shared = find_shared_queries(
            QueryRows(keys, first.queries, first.ids), QueryRows(other_keys, second.queries, second.ids)
        )
        ids = second.ids or range(len(second.sizes))
        sentences = describe_shared_queries(shared, first.name, second.name, ids)
        cases: tuple[tuple[str, Severity, Any, str], ...] = (
            (
                "leak",
                "error",
                shared.leaks,
                f"Values on {second.name} are too high. Remove them from one of the parts.",
            ),
            ("same ids", "warning", shared.same_ids, "Give different queries different ids."),
        )
        for code, severity, places, fix in cases:
            if len(places):
                rows = np.flatnonzero(np.isin(second.queries, places))
                yield describe(code, severity, second, f"{sentences.pop(0)} {fix}", rows)


def _compare_clusters(parts: list[Part], by_query: Mapping[Any, Any] | None) -> Iterable[Finding]:
    """Yield the clusters that several parts contain."""
    found: dict[str, set[Any]] = {}
    for part in parts:
        if part.clusters is not None:
            found[part.name] = set(part.clusters.tolist())
        elif by_query is not None and part.ids is not None:
            texts = {str(name): cluster for name, cluster in by_query.items()}
            found[part.name] = {texts[name] for name in part.ids if name in texts}
    for first, second in itertools.combinations(found, 2):
        common = found[first] & found[second]
        if common:
            size = f"{len(common):,} of {pluralize(len(found[second]), 'cluster')}"
            examples = join_names(sorted(map(str, common)), most=3)
            text = f"{size} also occur in {first} ({examples}), so the parts are not independent."
            yield Finding("clusters", "info", second, text)
