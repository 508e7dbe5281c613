"""Which column of a table of judgments or of a run is which, by the names that people give them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ._text import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

_QUERY = ("query_id", "qid", "topic_id", "topic", "query", "query_text", "query_string", "search_query", "search_term")
_TEXT = ("query_text", "query_string", "search_query", "search_term", "query")
_DOCUMENT = (
    *("document", "docno", "doc_id", "document_id", "doc", "corpus_id", "passage_id", "product_id", "item_id"),
    *("product", "item", "url"),
)
_TITLE = ("title", "doc_title", "document_title", "product_title", "item_title")
_VALUE = {
    "label": ("label", "relevance", "rel", "grade", "rating", "judgment", "judgement", "relevance_grade"),
    "score": ("score",),
}
"""Names of columns; case, blanks, `_` and `-` do not count. Where several are there, the first counts.

In PyTerrier's tables `query` is the text of the query `qid`, and `docid` a number within an index; `docno` is the id.
"""


class Roles(NamedTuple):
    """The columns of a table, by what they hold; `text` and `title` may be missing."""

    query: Any
    document: Any
    value: Any
    text: Any = None
    title: Any = None


class MissingColumnError(ValueError):
    """A table lacks a column; `found` says how many of the three that are needed it has."""

    def __init__(self, message: str, found: int) -> None:
        super().__init__(message)
        self.found = found


def roles_of(columns: Sequence[Any], value: str) -> Roles:
    """Return which column holds what; `value` is "label" for judgments, "score" for runs.

    A `ValueError` says where a column is missing, two have the same name, or two could be the label.

    >>> roles_of(["Query ID", "Query Text", "Doc ID", "Rating"], "label")
    Roles(query='Query ID', document='Doc ID', value='Rating', text='Query Text', title=None)
    """
    known: dict[str, Any] = {}
    for column in columns:
        name = _bare(str(column))
        if name in known and name in _WANTED[value]:
            raise ValueError(
                f"two columns are named alike, {_listed([known[name], column], ' and ')}: rename one of them"
            )
        known[name] = column
    wanted: dict[str, tuple[str, ...]] = {"query": _QUERY, "document": _DOCUMENT, value: _VALUE[value]}
    if value == "label" and "corpusid" in known and not any(_bare(name) in known for name in _VALUE["label"]):
        wanted["label"] = ("score",)  # as the collections of BEIR have it
    found = {role: [known[_bare(name)] for name in names if _bare(name) in known] for role, names in wanted.items()}
    for role, names in wanted.items():
        if not found[role]:
            others = ", ".join(name for name in names if name != role) or "nothing else"
            raise MissingColumnError(
                f"no column {role!r} (known too as {others}); it has {_listed(columns)}",
                sum(map(bool, found.values())),
            )
    if len(found[value]) > 1:
        raise ValueError(
            f"{_listed(found[value], ' and ')} could each be the {value}: leave out, or rename, all but one"
        )
    query = found["query"][0]
    texts = [known[_bare(name)] for name in _TEXT if _bare(name) in known and known[_bare(name)] != query]
    titles = [known[_bare(name)] for name in _TITLE if _bare(name) in known]
    return Roles(query, found["document"][0], found[value][0], next(iter(texts), None), next(iter(titles), None))


def _listed(columns: Sequence[Any], between: str = ", ") -> str:
    """Return names of columns for an error, no more of them than help."""
    return between.join(shown(str(column)) for column in columns[:20]) + (", …" if len(columns) > 20 else "")


def _bare(name: str) -> str:
    """Return a name without what people write differently in it.

    >>> _bare("Query ID"), _bare("query-id")
    ('queryid', 'queryid')
    """
    return re.sub(r"[\s_-]", "", name).lower()


_WANTED = {value: {_bare(name) for name in (*_QUERY, *_DOCUMENT, *_TITLE, *names)} for value, names in _VALUE.items()}
