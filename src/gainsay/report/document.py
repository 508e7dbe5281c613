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
- ``appendices``: other comparisons in the report, by name, each an object like this one, or null.
- ``curves``: list of objects ``candidate``, ``fold``, ``round``, ``metric``, ``value``. ``best_rounds``: list of
  objects, see `gainsay.report.content.best_rounds`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .._common import __version__
from .._common.text import plain
from .._common.validation import validate_integer, validate_output
from .._kernel.config import find_path
from .tables import MAX_PAIRS

if TYPE_CHECKING:
    import os

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
    queries = validate_integer("queries", queries, 0)
    target = None if path is None else validate_output("path", path)
    document = build_document(content, queries)
    text = "{\n" + ",\n".join(f"{_encode(key)}: {_encode_lines(value)}" for key, value in document.items()) + "\n}\n"
    if target is not None:
        target.write_bytes(text.encode("utf-8", "replace"))
    return text


def _encode_lines(value: Any) -> str:
    """Return a value as JSON with one line per entry of a list or an object.

    Deeper levels are not indented: Python's indenting encoder is ten times slower than its C encoder.
    """
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(map(_encode, value)) + "\n]"
    if isinstance(value, dict) and value:
        return "{\n" + ",\n".join(f"{_encode(key)}: {_encode(item)}" for key, item in value.items()) + "\n}"
    return _encode(value)


def _encode(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def build_document(content: Content, queries: int = 50) -> dict[str, Any]:
    """Return the document as plain dicts, lists, strings and numbers."""
    comparison, pair = content.comparison, content.pair
    document = {
        "gainsay": __version__,
        "schema": SCHEMA,
        "kernel": find_path().path,
        "primary": comparison.primary,
        "lower_is_better": comparison.lower_is_better,
        "missing": comparison.missing,
        "verdict": None,
        "pairs": None,
        "pairs_left_out": 0,
        "segments": None,
        "selected": None,
        **comparison.to_dict(MAX_PAIRS),
        "settings": {name: getattr(comparison, name) for name in ("alpha", "margin", "draws", "seed")},
        "why": None if pair is None else {"pair": pair[:2], "reason": pair.reason, "attribution": content.attribution},
        "contradictions": None,
        "against": content.against,
        "gains": content.path,
        "sensitivity": comparison.last_sensitivity,
        "appendices": {part.name: build_document(part.content, queries) for part in content.appendices} or None,
        "curves": None if comparison.curves is None else comparison.curves.to_dict("records"),
        "best_rounds": None if content.rounds is None else content.rounds.to_dict("records"),
    }
    if comparison.primary is not None:
        limit_flags(document["verdict"])
        document["pairs_left_out"] = len(comparison.pairs) - len(document["pairs"])
    for segment in (document["segments"] or {"segments": ()})["segments"]:
        if segment["verdict"] is not None:
            limit_flags(segment["verdict"])
    if content.queries is not None and pair is not None:
        strongest = comparison.queries(pair.first, pair.second, most=max(1, queries)).head(queries)
        document["contradictions"] = {"count": content.queries.contradictory, "queries": strongest.to_dict("records")}
    plain_document: dict[str, Any] = plain(document)
    return plain_document


def limit_flags(verdict: dict[str, Any]) -> None:
    """Limit the pairs of models in the flags of a verdict, in place, and add how many are left out."""
    for flag in verdict["flags"]:
        flag["pairs_left_out"] = max(0, len(flag["pairs"]) - MAX_FLAG_PAIRS)
        flag["pairs"] = flag["pairs"][:MAX_FLAG_PAIRS]
