"""How arrays become ranking data: features, labels and ids, checked against each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.arrays import is_missing, numbers, refuse_unready, vector
from .._common.names import check_text
from ._features import Categories, as_matrix, as_pandas, checked_categories, checked_names, matrix_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..judgments import Judgments


def check_finite(labels: Any) -> None:
    """Refuse labels that are missing; `Judgments` would name an option that it alone has."""
    values = numbers("labels", labels)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"labels must be finite, got {values[row]} in row {row}; drop unjudged documents")


def check_documents(judged: Judgments) -> None:
    """Refuse queries without documents, which have no row that could stand for them."""
    if judged.sizes.min() == 0:
        at = int(np.argmin(judged.sizes))
        raise ValueError(f"group must be at least 1; entry {at} is 0: leave out queries without documents")


def check_codes(judged: Judgments) -> None:
    """Refuse codes that do not number the queries in the order of their first rows, as `query_ids` does."""
    codes = judged.query_ids
    if codes.dtype.kind not in "iu":
        raise TypeError(f"qid must be integers where query_ids is given, got an array of {codes.dtype}; leave out one")
    wrong = codes != np.arange(judged.queries)
    if wrong.any():
        at = int(np.argmax(wrong))
        row = int(np.argmax(judged.query_of_rows == at))
        raise ValueError(
            f"qid must number the queries 0, 1, … in order of first appearance where query_ids is given, got "
            f"{codes[at]} in row {row}; without query_ids, qid may hold any ids"
        )


def checked_features(
    judged: Judgments, features: Any, names: Any, categories: Any
) -> tuple[Any, tuple[str, ...] | None, Categories | None]:
    """Return features as a matrix in the order of the labels, with their names and categories."""
    refuse_unready("features", features)
    features = judged.in_row_order("features", features)
    if hasattr(features, "columns"):
        if names is not None or categories:
            raise ValueError(
                "features is a DataFrame, which has names and categories of its own: rename its columns instead of "
                "giving feature_names, and make them categorical instead of giving categories"
            )
        frame = as_pandas(features, "features")
        features, categories = matrix_of(frame, list(frame.columns))
        names = [str(name) for name in frame.columns]
    matrix = as_matrix(features)
    if matrix.ndim != 2:
        raise ValueError(f"features must have shape (documents, features), got {matrix.shape}")
    if matrix.shape[0] != judged.documents:
        raise ValueError(
            f"features has {matrix.shape[0]} rows but there are {judged.documents} labels; give one row per document"
        )
    names = checked_names(names, matrix.shape[1])
    return matrix, names, checked_categories(categories, names, matrix)


def read_query_ids(ids: Any) -> NDArray[np.str_]:
    """Return ids of queries as text, or raise where one is missing."""
    given = vector("query_ids", ids)
    if given.dtype.kind not in "USiu":
        missing = next((place for place, one in enumerate(given) if is_missing(one) or one != one), None)
        if missing is not None:
            raise ValueError(f"query_ids has no id at {missing}; every query needs one")
    return given.astype(np.str_)


def checked_ids(texts: NDArray[np.str_], queries: int) -> NDArray[np.str_]:
    """Return ids of queries, or raise where they are not one writable text per query."""
    if len(texts) != queries:
        raise ValueError(f"query_ids must hold one id per query ({queries}), got {len(texts)}")
    _check_writable("query_ids", texts.tolist())
    return texts


def read_document_ids(judged: Judgments, ids: Any) -> tuple[str, ...]:
    """Return one text per row, or raise where ids are missing."""
    if isinstance(ids, str):
        raise TypeError(f"document_ids must be a sequence of ids, got the string {ids!r}")
    refuse_unready("document_ids", ids)
    ids = judged.in_row_order("document_ids", ids)
    listed = tuple(ids.to_pylist() if hasattr(ids, "to_pylist") else ids)
    if len(listed) != judged.documents:
        raise ValueError(f"document_ids must hold one id per row ({judged.documents}), got {len(listed)}")
    if set(map(type, listed)) != {str}:
        row = next((row for row, name in enumerate(listed) if is_missing(name) or name != name), None)
        if row is not None:
            raise ValueError(f"document_ids has no id in row {row}")
        listed = tuple(map(_text, listed))
    _check_writable("document_ids", listed)
    return listed


def _check_writable(name: str, ids: Sequence[str]) -> None:
    """Refuse ids that no table and no file takes, before anything is trained on them."""
    try:
        "".join(ids).encode()
    except UnicodeEncodeError:
        for place, text in enumerate(ids):
            check_text(f"{name}[{place}]", text)


def distinct_texts(what: str, ids: Iterable[Any]) -> NDArray[np.str_]:
    """Return ids as text, or raise where two of them are one text (1 and "1") or NumPy would cut them."""
    seen: dict[str, Any] = {}
    texts = []
    for name in ids:
        value = name.item() if isinstance(name, np.number | np.str_ | np.bytes_ | np.bool_) else name
        text = _text(value)
        cut = text.rstrip("\0")  # NumPy drops NUL at the end
        if cut in seen:
            raise ValueError(f"{what} has {seen[cut]!r} and {value!r}, which are one id as text; rename one of them")
        seen[cut] = value
        texts.append(text)
    return np.array(texts, dtype=np.str_)


def _text(name: Any) -> str:
    return name.decode("utf-8", "backslashreplace") if isinstance(name, bytes) else str(name)
