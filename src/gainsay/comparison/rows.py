"""Comparisons row by row: every query and model, the queries on which two models differ most, one ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.arrays import nearest
from .._common.checks import check_whole
from ..judgments import scaled_weights
from ..metrics.dcg import DCG
from .contradictions import difference_of, ranked_labels
from .contributions import plain_labels
from .rankings import as_read

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from .._common.typing import Bools, Floats, Integers
    from ..metrics.base import Metric
    from .rankings import Rankings

__all__ = ["largest_differences", "one_ranking", "per_query", "place_of"]


def per_query(
    values: Mapping[str, Floats], models: Sequence[str], queries: Any, weights: Floats | None = None
) -> pd.DataFrame:
    """Return the values of every query and model, one column per metric; see `Findings.frame`."""
    import pandas as pd

    index = pd.MultiIndex.from_product([pd.Index(queries), pd.Index(models)], names=["query", "model"])
    columns = {metric: np.asarray(table, dtype=np.float64).ravel() for metric, table in values.items()}
    if weights is not None:
        name = "weight" if "weight" not in columns else "query weight"
        columns[name] = np.repeat(weights, len(models))
    return pd.DataFrame(columns, index=index)


def largest_differences(
    pair: tuple[str, str],
    values: Mapping[str, Floats],
    queries: Any,
    weights: Floats | None,
    most: int,
    rankings: Rankings | None = None,
    by: Metric | None = None,
) -> pd.DataFrame:
    """Return the queries on which two models differ most under the first metric; see `Findings.largest_differences`.

    `values` has tables (queries, 2) by metric, NaN where it skips a query. With `rankings` there are the labels in the
    order in which `by` ranks the documents.
    """
    import pandas as pd

    limit, metric = check_whole("most", most), next(iter(values))
    first = values[metric]
    scaled, _ = scaled_weights(np.ones(len(first)) if weights is None else weights)
    difference = np.nan_to_num(difference_of(first))
    pull = np.abs(difference) * scaled
    chosen = np.argsort(-pull, kind="stable")[:limit]
    chosen = chosen[pull[chosen] > 0]
    columns: dict[str, Any] = {"query": np.asarray(queries)[chosen], f"difference {metric}": difference[chosen]}
    columns |= {f"{metric} {model}": first[chosen, place] for place, model in enumerate(pair)}
    columns |= {f"difference {name}": difference_of(table)[chosen] for name, table in values.items() if name != metric}
    if rankings is not None and by is not None:
        shown = np.flatnonzero(rankings.counted)[chosen]
        columns |= {f"labels {model}": ranked_labels(rankings, model, shown, by, by.k) for model in pair}
        columns["documents"] = rankings.judgments.sizes[shown]
    if weights is not None:
        columns["weight"] = weights[chosen]
    return pd.DataFrame(columns)


def one_ranking(rankings: Rankings, place: int, model: str, metrics: Iterable[Metric]) -> pd.DataFrame:
    """Return the documents of the query at a place as a model ranks them; see `Findings.ranking`.

    The first metric's rules for equal scores order the documents; those that are sums over documents say what each of
    these adds to them.
    """
    import pandas as pd

    judgments, listed = rankings.judgments, list(metrics)
    start = int(judgments.sizes[:place].sum())
    here = slice(start, start + int(judgments.sizes[place]))
    labels = judgments.by_query(judgments.labels)[here]
    scores = judgments.by_query(rankings.runs_of(model)[0])[here]
    order, tied = order_of(scores, labels, listed[0])
    retrieved = scores[order] > -np.inf
    ranks = pd.array(np.arange(1, len(order) + 1), dtype="Int64")
    ranks[~retrieved] = pd.NA
    columns: dict[str, Any] = {
        "rank": ranks,
        "document": rankings.documents_of(here)[order],
        "label": plain_labels(labels[order]),
        "score": scores[order],
        "tied": tied,
    }
    if judgments.judged is not None:
        columns["judged"] = judgments.by_query(judgments.judged)[here][order]
    alone = type(judgments)(labels, group=[len(labels)], negative_labels="allow") if len(labels) else None
    for metric in listed:
        if isinstance(metric, DCG) and metric.is_sum_over_documents:
            gain, added = (labels, labels) if alone is None else _added(metric, alone, scores, labels)
            columns |= {f"gain {metric}": gain[order], f"adds {metric}": added[order]}
    return pd.DataFrame(columns)


def order_of(scores: Floats, labels: Floats, metric: Metric) -> tuple[Integers, Bools]:
    """Return documents from rank 1 on as a metric orders them, and which of these share their score with another.

    Where a metric takes the mean over all orders of equal scores, these stand in the order of the input. Documents
    that were not retrieved come last.
    """
    read = as_read(scores, metric)
    among = {"worst": labels, "best": -labels}.get(metric.ties, np.zeros(len(labels)))
    order = np.lexsort((np.arange(len(read)), among, -read))
    ranked = read[order]
    same = (ranked[1:] == ranked[:-1]) & (ranked[1:] > -np.inf)
    return order, (np.append(same, False) | np.insert(same, 0, False))[: len(order)]


def _added(metric: DCG, alone: Any, scores: Floats, labels: Floats) -> tuple[Floats, Floats]:
    """Return the gain of each document of one query, and what it adds to a metric: gain · discount / ideal.

    Of documents of equal score each has the mean discount of their ranks, where the metric takes the mean over orders.
    """
    facts = metric.bind(alone, (metric.k,))
    gain = facts.gains.table[np.searchsorted(alone.levels, labels)]
    if facts.gains.top is not None:  # the table holds labels, and sums are divided by two to the power of the highest
        top = float(facts.gains.top[0])
        with np.errstate(over="ignore"):
            scaled, gain = np.exp2(gain - top) - np.exp2(-top), np.exp2(gain) - 1
    else:
        scaled = gain
    order, _ = order_of(scores, labels, metric)
    held = facts.gains.discount[: metric.k][: len(order)]
    discount = np.pad(held, (0, len(order) - len(held)))
    if metric.ties == "average":
        _, run = np.unique(-as_read(scores, metric)[order], return_inverse=True)
        discount = (np.bincount(run, discount) / np.bincount(run))[run]
    of_document = np.empty(len(order))
    of_document[order] = discount
    of_document[scores == -np.inf] = 0.0
    scale = (0.0 if facts.empty[0, 0] else 1 / float(facts.ideal[0, 0])) if metric.is_ratio else 1.0
    return gain, scaled * of_document * scale


def place_of(query: Any, queries: Any) -> int:
    """Return at which place a query stands among ids; where it stands nowhere, the error says what it may be.

    >>> place_of(7, np.array([3, 7]))
    1
    >>> place_of("7", np.array([3, 7]))
    Traceback (most recent call last):
    ValueError: there is no query '7'; did you mean 7 (a number, not text)? (there are 3, 7)
    """
    known = np.asarray(queries).tolist()
    wanted = query.item() if isinstance(query, np.generic) else query
    for place, one in enumerate(known):
        if one == wanted and isinstance(one, str) == isinstance(wanted, str):
            return place
    alike = [one for one in known if str(one) == str(wanted)]
    if alike:
        kinds = "text, not a number" if isinstance(alike[0], str) else "a number, not text"
        hint = f"; did you mean {alike[0]!r} ({kinds})?"
    else:
        hint = nearest(str(wanted), [str(one) for one in known[:1000]])
    some = ", ".join(map(repr, known[:3])) + (", …" if len(known) > 3 else "")
    raise ValueError(f"there is no query {wanted!r}{hint} (there are {some})")
