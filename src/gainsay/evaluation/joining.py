"""Qrels and runs on the same documents: rows of several listings brought together by query and document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._common.arrays import twice
from ..judgments import Grouped
from .encoding import Encoded, Names, encode
from .listings import Listing, Value, fast_listing, listing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Bools, Floats, Integers


class Source(NamedTuple):
    """Qrels or a run as a caller passed it; see `listing`."""

    name: str
    data: Any
    value: Value
    empty: bool = False


class Joined(NamedTuple):
    """All documents that are judged or that a run retrieved for judged queries, those of a query together."""

    listings: list[Listing]
    queries: Grouped
    """In the order of the qrels."""
    labels: Floats
    """NaN where the qrels do not have the document."""
    scores: list[Floats]
    """Of each run; -inf where it did not retrieve the document."""
    documents: Names
    texts: dict[str, str]
    """What was asked, by the id of the query; the qrels have the first word."""
    titles: Any
    """The titles of the documents, empty where there is none; None where there are none at all."""


def join(sources: Sequence[Source], skip: bool = False) -> Joined:
    """Return qrels, which come first, and runs on the same documents.

    Documents to which a run gives equal scores stand by id, descending (trec_eval's order of ties). `skip` leaves out
    queries for which the first run retrieved nothing, unless that is so for all.
    """
    try:
        return _joined([fast_listing(one.data, one.value) or listing(*one) for one in sources], skip)
    except (ValueError, TypeError, OSError):
        pass  # the readers of lines word what is wrong, and with the first source that something is wrong with
    return _joined([listing(*one) for one in sources], skip)


def _joined(listings: list[Listing], skip: bool) -> Joined:
    """Return listings as `join` does; raise where a document stands twice in a query."""
    documents = encode([one.documents for one in listings])
    if any(twice(one.query * documents.limit + codes) for one, codes in zip(listings, documents.codes, strict=True)):
        raise ValueError("a document stands twice in a query")
    judged, *retrieved = listings
    asked = _asked(judged, retrieved[0] if skip else None)
    place = {query: at for at, (query, there) in enumerate(zip(judged.ids, asked, strict=True)) if there}
    rows, keys = [], []  # of each listing: which of its rows count, and their query and document as one number
    for one, codes in zip(listings, documents.codes, strict=True):
        query = np.array([place.get(query, -1) for query in one.ids], dtype=np.int64)[one.query]
        kept = np.flatnonzero(query >= 0)
        rows.append(kept)
        keys.append(query[kept] * documents.limit + codes[kept])
    distinct, places = np.unique(np.concatenate(keys), return_inverse=True)
    slots = np.split(places, np.cumsum([len(part) for part in keys])[:-1])
    labels = _spread(judged.values[rows[0]], slots[0], len(distinct), np.nan)
    scores = [
        _spread(one.values[kept], slot, len(distinct), -np.inf)
        for one, kept, slot in zip(retrieved, rows[1:], slots[1:], strict=True)
    ]
    query, document = np.divmod(distinct, documents.limit)
    order = _order_of_ties(query, document, scores, documents)
    sizes = np.bincount(query, minlength=len(judged.ids))[asked]
    texts = {query: text for one in listings[::-1] for query, text in one.texts.items() if query in place}
    titles = _titles(listings, rows, slots, len(distinct))
    found = [score[order] for score in scores]
    queries, names = Grouped(list(place), sizes), Names(document[order], documents.ids)
    return Joined(listings, queries, labels[order], found, names, texts, None if titles is None else titles[order])


def _titles(listings: list[Listing], rows: list[Integers], slots: list[Integers], size: int) -> Any:
    """Return the title that the first listing that has one gives each document; None where none has any."""
    if all(one.titles is None for one in listings):
        return None
    titles = np.full(size, "", dtype=object)
    for one, kept, slot in zip(listings[::-1], rows[::-1], slots[::-1], strict=True):
        if one.titles is not None:
            given = one.titles[kept]
            there = given != ""
            titles[slot[there]] = given[there]
    return titles


def _asked(judged: Listing, run: Listing | None) -> Bools:
    """Return which judged queries count: all, or those for which a run retrieved something, if there are any."""
    if run is not None:
        there = set(run.ids)
        asked = np.array([query in there for query in judged.ids])
        if asked.any():
            return asked
    return np.ones(len(judged.ids), dtype=bool)


def _spread(values: Floats, slots: Integers, size: int, other: float) -> Floats:
    """Return an array with values in their slots and another everywhere else."""
    spread = np.full(size, other)
    spread[slots] = values
    return spread


def _order_of_ties(query: Integers, document: Integers, scores: list[Floats], documents: Encoded) -> Integers:
    """Return the order in which documents of a query with equal scores stand by id, descending.

    Ids are looked at only where that decides something: sorting a million of them takes longer than all else here.
    """
    tied = np.zeros(len(query), dtype=bool)
    for score in scores:
        tied[_tied(query, score)] = True
    order = np.arange(len(query))
    there = np.flatnonzero(tied)
    if len(there):
        distinct, inverse = np.unique(document[there], return_inverse=True)
        rank = np.empty(len(distinct), dtype=np.int64)
        rank[documents.descending(distinct)] = np.arange(len(distinct))
        order[there] = there[np.lexsort((rank[inverse], query[there]))]
    return order


def _tied(query: Integers, scores: Floats) -> Integers:
    """Return the documents that share their score with another of their query, read in 32 bits as some metrics do."""
    retrieved = np.flatnonzero(scores > -np.inf)
    with np.errstate(over="ignore"):
        narrow = scores[retrieved].astype(np.float32) + np.float32(0)  # -0.0 and 0.0 are one score
    keys = (query[retrieved] << 32) | narrow.view(np.uint32)
    order = np.argsort(keys)
    same = np.flatnonzero(keys[order[1:]] == keys[order[:-1]])
    return retrieved[order[np.concatenate((same, same + 1))]]
