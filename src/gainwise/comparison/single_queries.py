"""Queries on which metrics contradict each other or a candidate loses most, and the ranking of a query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .._common.arrays import nearest, scale_weights
from .._common.lazy import pandas as pd
from .._common.typing import Bools, Floats, Integers
from .._common.validation import validate_integer
from ..judgments import Judgments
from ..metrics.base import Metric, list_metric_columns
from ..metrics.dcg import DCG, gains_of
from ..ranking.rows import RankedRows
from .attribution import simplify_labels
from .estimates import ROUNDING
from .ranked_models import Rankings, cast_scores, select_sums, validate_pair

MAX_DOCUMENTS = 10
"""Documents of each ranking in a table of losses."""


def find_contradictory_queries(
    rankings: Rankings,
    models: tuple[str, str],
    values: Mapping[Metric, Floats],
    most: int = 10,
) -> pd.DataFrame:
    """Return the queries that two metrics contradict each other on, the strongest contradictions first.

    `values` of the two metrics have shape (queries, 2) for the queries of `rankings.counted`. Queries with NaN are left
    out.

    Returns
    -------
    DataFrame
        One row per query with the columns

        - `query`, its id,
        - `contradiction strength`, the smaller of the two absolute differences times the relative weight of the query.
          Positive if the first metric prefers the first model.
        - `difference M` for both metrics, first model minus second,
        - `labels X` for both models, the labels from rank 1 to the larger cutoff, of the first repeat,
        - `documents`, the number of judged documents,
        - `weight`.

    Examples
    --------
    >>> import gainwise as gw
    >>> judgments = gw.Judgments([5, 3, 3, 3, 0, 0, 0, 1, 0], qid=["q1"] * 7 + ["q2"] * 2)
    >>> models = {"A": [7, 3, 2, 1, 6, 5, 4, 1, 0], "B": [1, 7, 6, 5, 4, 3, 2, 1, 0]}
    >>> table = gw.compare(models, judgments, ["ndcg_jk", "ndcg_exp"]).queries("A", "B")
    >>> table[["query", "difference ndcg_jk", "difference ndcg_exp"]].round(3)
      query  difference ndcg_jk  difference ndcg_exp
    0    q1              -0.101                0.317
    >>> table.loc[0, ["labels A", "labels B"]].tolist()
    [(5, 0, 0, 0, 3, 3, 3), (3, 3, 3, 0, 0, 0, 5)]
    """
    first, second = values
    preferences = compute_preferences(rankings, values)
    strength = preferences.contradiction_strength
    chosen = np.argsort(-np.abs(strength), kind="stable")[: validate_integer("most", most)]
    chosen = chosen[strength[chosen] != 0]
    judgments, queries = rankings.judgments, preferences.queries[chosen]
    cutoff = None if first.k is None or second.k is None else max(first.k, second.k)
    columns: dict[str, Any] = {"query": judgments.query_ids[queries], "contradiction strength": strength[chosen]}
    for metric, differences in zip(values, preferences.differences, strict=True):
        columns[f"difference {metric}"] = differences[chosen]
    labels, codes = np.array(simplify_labels(judgments.levels), dtype=object), judgments.layout.codes
    for model in models:
        places = find_ranked_places(rankings, model, queries, first, cutoff)
        columns[f"labels {model}"] = [tuple(labels[codes[at]]) for at in places]
    columns["documents"] = judgments.sizes[queries]
    return pd.DataFrame(columns | {"weight": preferences.weights[chosen]})


class QueryPreferences(NamedTuple):
    """Preferences of two metrics between two models on every common query.

    Attributes
    ----------
    queries : ndarray of int, shape (n,)
        Indices among all queries.
    differences, leads : ndarray, shape (2, n)
        First model minus second under each metric, in its unit, and with the sign of losses reversed.
    weights, contradiction_strength : ndarray, shape (n,)
        See `find_contradictory_queries`.
    """

    queries: Integers
    differences: Floats
    leads: Floats
    weights: Floats
    contradiction_strength: Floats


def compute_preferences(rankings: Rankings, values: Mapping[Metric, Floats]) -> QueryPreferences:
    """Return which model each metric prefers on every query. See `find_contradictory_queries` for the parameters."""
    common = ~np.isnan(np.concatenate(list(values.values()), axis=1)).any(axis=1)
    queries = np.flatnonzero(rankings.counted)[common]
    weights = rankings.weights[queries]
    scaled, _ = scale_weights(weights)
    differences = np.stack([table[common, 0] - table[common, 1] for table in values.values()])
    largest = [np.abs(table[common]).max(initial=0.0) for table in values.values()]
    differences[np.abs(differences) <= ROUNDING * np.array(largest)[:, None]] = 0.0
    leads = np.stack([d if metric.higher_is_better else -d for metric, d in zip(values, differences, strict=True)])
    smaller = np.where(leads[0] * leads[1] < 0, np.abs(differences).min(axis=0), 0.0)
    strength = np.sign(leads[0]) * smaller * scaled / (scaled.mean() or 1.0)
    return QueryPreferences(queries, differences, leads, weights, strength)


def find_ranked_places(
    rankings: Rankings, model: str, queries: Integers, by: Metric, cutoff: int | None
) -> list[Integers]:
    """Return the indices of the documents of each query in `Judgments.by_query`, from rank 1 to the cutoff.

    Documents of equal score are in the order of the input. Documents that were not retrieved are left out. A
    configuration is ranked by its first repeat.
    """
    judgments = rankings.judgments
    scores = cast_scores(judgments.by_query(rankings.repeat_scores(model)[0]), by)
    starts, places = judgments.layout.starts, []
    for start, stop in zip(starts[queries].tolist(), starts[queries + 1].tolist(), strict=True):
        own = scores[start:stop]
        order = np.argsort(-own, kind="stable")[:cutoff]
        places.append(start + order[own[order] > -np.inf])
    return places


def find_losses(comparison: Any, baseline: str, candidate: str, most: int = 20) -> pd.DataFrame:
    """Return the queries on which a candidate loses most against a baseline. See `Comparison.losses`.

    `most` is the maximum number of queries.
    """
    rankings = comparison._require_rankings("losses")
    validate_pair(baseline, candidate, comparison.models)
    validate_integer("most", most, 1)
    columns = [comparison.models.index(model) for model in (candidate, baseline)]
    metrics = comparison.primary or comparison.metrics[:1]
    differences = {metric: np.subtract(*comparison.values[metric][:, columns].T) for metric in metrics}
    signs = [-1.0 if metric in comparison.lower_is_better else 1.0 for metric in metrics]
    gains = np.stack([sign * values for sign, values in zip(signs, differences.values(), strict=True)])
    weights = 1.0 if comparison._weights is None else comparison._weights
    loss = np.nan_to_num(np.fmax.reduce(-gains)) * weights
    chosen = np.argsort(-loss, kind="stable")[: min(most, np.count_nonzero(loss > 0))]
    judgments, places = rankings.judgments, np.flatnonzero(rankings.counted)[chosen]
    ids = judgments.query_ids[places]
    table: dict[str, Any] = {"query": ids}
    if judgments.texts:
        table["text"] = [judgments.texts.get(query, "") for query in ids.tolist()]
    table["loss"] = loss[chosen]
    table |= {f"difference {metric}": values[chosen] for metric, values in differences.items()}
    by = comparison.definitions[metrics[0]]
    documents, labels = judgments.documents_at(slice(None)), judgments.by_query(judgments.labels)
    for model in (baseline, candidate):
        rows = find_ranked_places(rankings, model, places, by, MAX_DOCUMENTS)
        table[f"documents {model}"] = [" ".join(map(str, documents[row].tolist())) for row in rows]
        table[f"grades {model}"] = [" ".join(f"{grade:g}" for grade in labels[row].tolist()) for row in rows]
    return pd.DataFrame(table)


def build_ranking(rankings: Rankings, place: int, model: str, metrics: Iterable[Metric]) -> pd.DataFrame:
    """Return the documents of the query at an index as a model ranks them. See `Comparison.ranking`.

    The first metric determines the order of equal scores.
    """
    judgments, metrics = rankings.judgments, list(metrics)
    rows = slice(*judgments.layout.starts[place : place + 2].tolist())
    labels = judgments.by_query(judgments.labels)[rows]
    ordering = judgments.column(metrics[0].column)
    scores = judgments.by_query(rankings.repeat_scores(model)[0])[rows]
    order, tied = order_documents(scores, ordering.by_query(ordering.labels)[rows], metrics[0])
    ranks = pd.array(np.arange(1, len(order) + 1), dtype="Int64")
    ranks[scores[order] == -np.inf] = pd.NA
    columns: dict[str, Any] = {
        "rank": ranks,
        "document": judgments.documents_at(rows)[order],
        "label": simplify_labels(labels[order]),
        "score": scores[order],
        "tied": tied,
    }
    if judgments.judged is not None:
        columns["judged"] = judgments.by_query(judgments.judged)[rows][order]
    for name in list_metric_columns(metrics):
        columns[name] = judgments.by_query(judgments.columns[name])[rows][order]
    for metric in select_sums(metrics):
        gain, added = _compute_contributions(metric, judgments, place, scores)
        columns |= {f"gain {metric}": gain[order], f"adds {metric}": added[order]}
    return pd.DataFrame(columns)


def order_documents(scores: Floats, labels: Floats, metric: Metric) -> tuple[Integers, Bools]:
    """Return the order of documents under a metric, and which of them share their score with another.

    If the metric averages over all orders of ties, equal scores are in the order of the input. Documents that were not
    retrieved are last.
    """
    cast = cast_scores(scores, metric)
    tie_breaker = {"worst": labels, "best": -labels}.get(metric.ties, np.zeros(len(labels)))
    order = np.lexsort((np.arange(len(cast)), tie_breaker, -cast))
    ranked = cast[order]
    same = (ranked[1:] == ranked[:-1]) & (ranked[1:] > -np.inf)
    return order, (np.append(same, False) | np.insert(same, 0, False))[: len(order)]


def _compute_contributions(metric: DCG, judgments: Judgments, place: int, scores: Floats) -> tuple[Floats, Floats]:
    """Return the gain of each document of one query, and its contribution: gain · discount / ideal.

    If the metric averages over orders of ties, tied documents share the mean discount of their ranks.
    """
    statistics = metric.bind(judgments, (metric.k,))
    codes = judgments.layout.codes[slice(*judgments.layout.starts[place : place + 2].tolist())]
    with np.errstate(over="ignore"):
        gain = gains_of(metric.gain, judgments.levels, metric.gain_base)[codes]
    order, _ = order_documents(scores, judgments.levels[codes], metric)
    rows = RankedRows(np.array([place]), codes[order][None], judgments.sizes[[place]])
    discount = statistics.gains.discount[: metric.k][: len(order)]
    discount = np.pad(discount, (0, len(order) - len(discount)))
    if metric.ties == "average":
        _, tie_group = np.unique(-cast_scores(scores, metric)[order], return_inverse=True)
        discount = (np.bincount(tie_group, discount) / np.bincount(tie_group))[tie_group]
    scale = 1.0
    if metric.is_ratio:
        scale = 0.0 if statistics.empty[place, 0] else 1 / float(statistics.ideal[place, 0])
    added = np.empty(len(order))
    added[order] = statistics.gains.of(rows, len(order))[0] * discount * scale
    added[scores == -np.inf] = 0.0
    return gain, added


def find_query(query: Any, queries: Any) -> int:
    """Return the index of a query id, or raise `ValueError` with similar ids. Numbers and their texts are equal.

    >>> find_query(7, np.array([3, 7])), find_query("7", np.array([3, 7]))
    (1, 1)
    """
    ids = np.asarray(queries).tolist()
    for place, name in enumerate(ids):
        if name == query or str(name) == str(query):
            return place
    similar = nearest(str(query), map(str, ids[:1000]))
    some = ", ".join(map(repr, ids[:3])) + (", …" if len(ids) > 3 else "")
    raise ValueError(f"There is no query {query!r}{similar} (ids: {some}).")
