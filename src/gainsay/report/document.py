"""A comparison as one JSON document.

The document is one object. All keys are present unless stated otherwise, and missing values are null. Numbers that
are not finite (bounds from a single query) are null.

- ``gainsay``: version that wrote the document. ``schema``: 2, increased if a key changes its meaning or is removed.
- ``kernel``: "compiled" or "numpy", how this process evaluates metrics. Both give the same values.
- ``models``, ``metrics``: lists of names. ``primary``: the two metrics that may disagree, or null if
  there is a single metric. ``lower_is_better``: the metrics that are losses.
- ``missing``: list of sentences, one for each model that could not be compared.
- ``unjudged``: object of ``shares`` (by metric judged@k and model), ``retrieved`` and ``unjudged`` (by model), and
  ``handling``, or null without TREC runs. ``notes``: list of sentences about queries that only the runs or only the
  judgments contain. A share that is not a metric is also in ``leaderboard``, without rank.
- ``selected``: name of the model selected on a validation set, or null.
- ``queries``: number with a value under some metric. ``metric_queries``: the number for each metric.
- ``iterations``: object by model of ``used``, ``held``, ``reason`` for every booster: the boosting rounds used, the
  rounds of the model, and the reason (``best``, ``all``, ``given``).
- ``settings``: object of ``alpha``, ``margin``, ``draws``, ``seed``.
- ``leaderboard``: object by model of, for each metric M, ``M``, ``M rank``, ``M lower``, ``M upper``, ``M queries``.
- ``winners``: object by metric.
- ``verdict``: object, see `Verdict`. ``text`` is its paragraph.
- ``pairs``: list of objects, see `Comparison.pairs`: the 500 clearest conflicts and differences, if there are more.
  ``pairs_left_out``: how many pairs are left out. ``flags`` of a verdict have at most 50 pairs each, and
  ``pairs_left_out``.
- ``why``: object of ``pair`` (first, second), ``reason``, and ``attribution`` (see `Attribution.to_dict`, or null).
- ``contradictions``: object of ``count`` and ``queries``, the strongest of them: a list of objects, see
  `contradictory_queries`.
- ``against``: object, see `BaselineComparison.to_dict`: decisions about a baseline, or null without one.
- ``segments``: object, see `Segments.to_dict`, or null without them. ``gains``: object, see `GainPath.to_dict`, or null
  if the metrics are not two gains of one NDCG, or if the comparison is too large for a default path.
- ``sensitivity``: object, see `Sensitivity.to_dict`, or null if it was not computed.
- ``also``: other comparisons in the report, by name, each an object like this one, or null.
- ``curves``: list of objects ``candidate``, ``fold``, ``round``, ``metric``, ``value``. ``best_rounds``: list of
  objects, see `gainsay.report.rounds.best_rounds`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .._common.checks import check_whole
from .._common.outputs import check_output
from .._common.shown import plain
from .._common.version import __version__
from .._kernel.config import find_path
from .tables import MAX_PAIRS, select_clearest_pairs

if TYPE_CHECKING:
    import os

    import pandas as pd

    from ..comparison.comparison import Comparison
    from .content import Content

SCHEMA = 2

MAX_FLAG_PAIRS = 50
"""Pairs of models in a flag. There may be hundreds of thousands."""


def to_json(content: Content, path: str | os.PathLike[str] | None = None, *, queries: int = 50) -> str:
    """Return a comparison as JSON, and write it to `path` if there is one.

    Parameters
    ----------
    content : Content
        The report to write.
    path : path, optional
        The JSON file.
    queries : int
        How many contradictory queries to list.

    Raises
    ------
    OSError
        If the file cannot be written, which is checked first.
    ValueError
        If `queries` is negative.
    """
    queries = check_whole("queries", queries, 0)
    target = None if path is None else check_output("path", path)
    parts = (f"{_written(name)}: {_in_lines(value)}" for name, value in document(content, queries).items())
    text = "{\n" + ",\n".join(parts) + "\n}\n"
    if target is not None:
        target.write_bytes(text.encode("utf-8", "replace"))
    return text


def _in_lines(value: Any) -> str:
    """Return a value as JSON with one line per entry of a list or an object.

    Deeper levels are not indented: Python's indenting encoder is ten times slower than its C encoder.
    """
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(map(_written, value)) + "\n]"
    if isinstance(value, dict) and value:
        return "{\n" + ",\n".join(f"{_written(name)}: {_written(one)}" for name, one in value.items()) + "\n}"
    return _written(value)


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def document(content: Content, queries: int = 50) -> dict[str, Any]:
    """Return the document as plain dicts, lists, strings and numbers."""
    comparison = content.comparison
    both, curves = comparison.primary is not None, comparison.curves
    pair, attribution, rounds = content.pair, content.attribution, content.rounds
    table = None if content.queries is None else content.queries.table
    path = content.path
    found = {
        "gainsay": __version__,
        "schema": SCHEMA,
        "kernel": find_path().path,
        "models": list(comparison.models),
        "metrics": list(comparison.metrics),
        "primary": None if comparison.primary is None else list(comparison.primary),
        "lower_is_better": list(comparison.lower_is_better),
        "missing": list(comparison.missing),
        "unjudged": None if comparison.unjudged is None else comparison.unjudged.to_dict(),
        "notes": list(comparison.notes),
        "selected": comparison.selected,
        "queries": comparison.query_count,
        "metric_queries": comparison.metric_queries,
        "iterations": {name: iteration.to_dict() for name, iteration in comparison.iterations.items()},
        "settings": {name: getattr(comparison, name) for name in ("alpha", "margin", "draws", "seed")},
        "leaderboard": comparison.leaderboard.to_dict("index"),
        "winners": comparison.winners,
        "verdict": limit_flags(comparison.verdict.to_dict()) if both else None,
        "pairs": _select_pairs(comparison).to_dict("records") if both else None,
        "pairs_left_out": max(0, len(comparison.pairs) - MAX_PAIRS) if both else 0,
        "why": None
        if pair is None
        else {
            "pair": [pair.first, pair.second],
            "reason": pair.reason,
            "attribution": None if attribution is None else attribution.to_dict(),
        },
        "contradictions": None
        if table is None
        else {"count": len(table), "queries": table.head(queries).to_dict("records")},
        "against": None if content.against is None else content.against.to_dict(),
        "segments": _describe_segments(comparison) if comparison.segment_labels else None,
        "gains": None if path is None else path.to_dict(),
        "sensitivity": None if comparison.last_sensitivity is None else comparison.last_sensitivity.to_dict(),
        "also": {other.name: document(other.content, queries) for other in content.also} or None,
        "curves": None if curves is None else curves.to_dict("records"),
        "best_rounds": None if rounds is None else rounds.to_dict("records"),
    }
    whole: dict[str, Any] = plain(found)
    return whole


def _select_pairs(comparison: Comparison) -> pd.DataFrame:
    """Return all pairs in their order, or the clearest of many."""
    return comparison.pairs if len(comparison.pairs) <= MAX_PAIRS else select_clearest_pairs(comparison)


def _describe_segments(comparison: Comparison) -> dict[str, Any]:
    """Return the results of all segments, with few pairs in each flag."""
    segments = comparison.segments.to_dict()
    for segment in segments["segments"]:
        if segment["verdict"] is not None:
            limit_flags(segment["verdict"])
    return segments


def limit_flags(verdict: dict[str, Any]) -> dict[str, Any]:
    """Limit the pairs of models in the flags of a verdict, in place, and add how many are left out."""
    for flag in verdict["flags"]:
        flag["pairs_left_out"] = max(0, len(flag["pairs"]) - MAX_FLAG_PAIRS)
        flag["pairs"] = flag["pairs"][:MAX_FLAG_PAIRS]
    return verdict
