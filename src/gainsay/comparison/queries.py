"""Single queries: contradictions of two metrics, the largest differences of two models, and rankings of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._common.arrays import nearest
from .._common.sums import scale_weights
from .._common.validation import validate_integer
from ..metrics.gains import gains_of
from ..ranking.rows import RankedRows
from .attribution import group_grades, simplify_labels
from .estimates import ROUNDING
from .rankings import cast_scores, select_sums

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from .._common.typing import Bools, Floats, Integers
    from ..judgments import Judgments
    from ..metrics.base import Metric
    from ..metrics.dcg import DCG
    from .rankings import Rankings


def find_contradictory_queries(
    rankings: Rankings,
    models: tuple[str, str],
    values: Mapping[Metric, Floats],
    most: int = 10,
    spread: Mapping[Metric, Floats] | None = None,
) -> pd.DataFrame:
    """Return the queries that two metrics contradict each other on, the strongest contradictions first.

    `values` of the two metrics have shape (queries, 2) for the queries of `rankings.counted`. Queries with NaN are left
    out. `spread` is the standard deviation of the difference between repeats of recipes.

    Returns
    -------
    DataFrame
        One row per query with the columns

        - `query`, its id,
        - `contradiction strength`, the smaller of the two absolute differences times the relative weight of the query.
          Positive if the first metric prefers the first model.
        - `difference M` for both metrics, first model minus second,
        - `spread M` for recipes,
        - `labels X` for both models, the labels from rank 1 to the larger cutoff, of the first repeat for recipes,
        - `documents` and `top grades`, the number of judged documents and of those with the top grade,
        - `weight`.

    Examples
    --------
    >>> import gainsay as gs
    >>> judgments = gs.Judgments([5, 3, 3, 3, 0, 0, 0, 1, 0], qid=["q1"] * 7 + ["q2"] * 2)
    >>> models = {"A": [7, 3, 2, 1, 6, 5, 4, 1, 0], "B": [1, 7, 6, 5, 4, 3, 2, 1, 0]}
    >>> table = gs.compare(models, judgments, ["ndcg_jk", "ndcg_exp"]).queries("A", "B")
    >>> table[["query", "difference ndcg_jk", "difference ndcg_exp"]].round(3)
      query  difference ndcg_jk  difference ndcg_exp
    0    q1              -0.101                0.317
    >>> table.loc[0, ["labels A", "labels B"]].tolist()
    [(5, 0, 0, 0, 3, 3, 3), (3, 3, 3, 0, 0, 0, 5)]
    """
    import pandas as pd

    limit = validate_integer("most", most)
    first, second = values
    preferences = compute_preferences(rankings, values)
    strength = preferences.contradiction_strength
    chosen = np.argsort(-np.abs(strength), kind="stable")[:limit]
    chosen = chosen[strength[chosen] != 0]
    judgments, queries = rankings.judgments, preferences.queries[chosen]
    top = group_grades(judgments.levels).lowest[-1]
    cutoff = None if first.k is None or second.k is None else max(first.k, second.k)
    places = np.searchsorted(np.flatnonzero(rankings.counted), queries)
    rows = zip(values, preferences.differences, strict=True)
    columns: dict[str, Any] = {"query": judgments.query_ids[queries], "contradiction strength": strength[chosen]}
    columns |= {f"difference {metric}": differences[chosen] for metric, differences in rows}
    columns |= {f"spread {metric}": table[places] for metric, table in (spread or {}).items()}
    columns |= {f"labels {model}": rank_labels(rankings, model, queries, first, cutoff) for model in models}
    columns["documents"] = judgments.sizes[queries]
    columns["top grades"] = judgments.relevant(float(top))[queries]
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
    differences = np.stack([compute_difference(table[common]) for table in values.values()])
    leads = np.stack([d if metric.higher_is_better else -d for metric, d in zip(values, differences, strict=True)])
    smaller = np.where(leads[0] * leads[1] < 0, np.abs(differences).min(axis=0), 0.0)
    strength = np.sign(leads[0]) * smaller * scaled / (scaled.mean() or 1.0)
    return QueryPreferences(queries, differences, leads, weights, strength)


def compute_difference(values: Floats) -> Floats:
    """Return the difference of two columns, 0 if it is only rounding, and NaN if a value is missing."""
    difference = values[:, 0] - values[:, 1]
    return np.where(np.abs(difference) <= ROUNDING * np.nanmax(np.abs(values)), 0.0, difference)


def rank_labels(
    rankings: Rankings, model: str, queries: Integers, by: Metric, cutoff: int | None
) -> list[tuple[float, ...]]:
    """Return the labels of each query from rank 1 to the cutoff."""
    labels = np.array(simplify_labels(rankings.judgments.levels), dtype=object)
    codes = rankings.judgments.layout.codes
    return [tuple(labels[codes[at]]) for at in find_ranked_places(rankings, model, queries, by, cutoff)]


def find_ranked_places(
    rankings: Rankings, model: str, queries: Integers, by: Metric, cutoff: int | None
) -> list[Integers]:
    """Return the indices of the documents of each query in `Judgments.by_query`, from rank 1 to the cutoff.

    Documents of equal score are in the order of the input. Documents that were not retrieved are left out. A recipe is
    ranked by its first repeat.
    """
    judgments = rankings.judgments
    scores = cast_scores(judgments.by_query(rankings.repeat_scores(model)[0]), by)
    starts, places = judgments.layout.starts, []
    for start, stop in zip(starts[queries].tolist(), starts[queries + 1].tolist(), strict=True):
        own = scores[start:stop]
        order = np.argsort(-own, kind="stable")[:cutoff]
        places.append(start + order[own[order] > -np.inf])
    return places


def build_value_table(
    values: Mapping[str, Floats], models: Sequence[str], queries: Any, weights: Floats | None = None
) -> pd.DataFrame:
    """Return the values of every query and model, one column per metric. See `Comparison.frame`."""
    import pandas as pd

    index = pd.MultiIndex.from_product([pd.Index(queries), pd.Index(models)], names=["query", "model"])
    columns = {metric: np.asarray(table, dtype=np.float64).ravel() for metric, table in values.items()}
    if weights is not None:
        columns["weight" if "weight" not in columns else "query weight"] = np.repeat(weights, len(models))
    return pd.DataFrame(columns, index=index)


def find_largest_differences(
    pair: tuple[str, str],
    values: Mapping[str, Floats],
    queries: Any,
    weights: Floats | None,
    most: int,
    rankings: Rankings | None = None,
    by: Metric | None = None,
) -> pd.DataFrame:
    """Return the queries with the largest differences of two models. See `Comparison.largest_differences`.

    `values` are tables (queries, 2) by metric. With `rankings`, the result contains labels, ranked as by the metric
    `by`.
    """
    import pandas as pd

    limit, metric = validate_integer("most", most), next(iter(values))
    first = values[metric]
    scaled, _ = scale_weights(np.ones(len(first)) if weights is None else weights)
    difference = np.nan_to_num(compute_difference(first))
    size = np.abs(difference) * scaled
    chosen = np.argsort(-size, kind="stable")[:limit]
    chosen = chosen[size[chosen] > 0]
    columns: dict[str, Any] = {"query": np.asarray(queries)[chosen], f"difference {metric}": difference[chosen]}
    columns |= {f"{metric} {model}": first[chosen, place] for place, model in enumerate(pair)}
    columns |= {
        f"difference {name}": compute_difference(table)[chosen] for name, table in values.items() if name != metric
    }
    if rankings is not None and by is not None:
        places = np.flatnonzero(rankings.counted)[chosen]
        columns |= {f"labels {model}": rank_labels(rankings, model, places, by, by.k) for model in pair}
        columns["documents"] = rankings.judgments.sizes[places]
    if weights is not None:
        columns["weight"] = weights[chosen]
    return pd.DataFrame(columns)


def build_ranking(rankings: Rankings, place: int, model: str, metrics: Iterable[Metric]) -> pd.DataFrame:
    """Return the documents of the query at an index as a model ranks them. See `Comparison.ranking`.

    The first metric determines the order of equal scores.
    """
    import pandas as pd

    judgments, metrics = rankings.judgments, list(metrics)
    rows = slice(*judgments.layout.starts[place : place + 2].tolist())
    labels = judgments.by_query(judgments.labels)[rows]
    scores = judgments.by_query(rankings.repeat_scores(model)[0])[rows]
    order, tied = order_documents(scores, labels, metrics[0])
    ranks = pd.array(np.arange(1, len(order) + 1), dtype="Int64")
    ranks[scores[order] == -np.inf] = pd.NA
    columns: dict[str, Any] = {
        "rank": ranks,
        "document": rankings.documents_of(rows)[order],
        "label": simplify_labels(labels[order]),
        "score": scores[order],
        "tied": tied,
    }
    if judgments.judged is not None:
        columns["judged"] = judgments.by_query(judgments.judged)[rows][order]
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
    facts = metric.bind(judgments, (metric.k,))
    start, stop = judgments.layout.starts[place : place + 2].tolist()
    codes = judgments.layout.codes[start:stop]
    with np.errstate(over="ignore"):
        gain = gains_of(metric.gain, judgments.levels, metric.gain_base)[codes]
    order, _ = order_documents(scores, judgments.levels[codes], metric)
    rows = RankedRows(np.array([place]), codes[order][None], judgments.sizes[[place]])
    discounts = facts.gains.discount[: metric.k][: len(order)]
    discount = np.pad(discounts, (0, len(order) - len(discounts)))
    if metric.ties == "average":
        _, tie_group = np.unique(-cast_scores(scores, metric)[order], return_inverse=True)
        discount = (np.bincount(tie_group, discount) / np.bincount(tie_group))[tie_group]
    scale = 1.0
    if metric.is_ratio:
        scale = 0.0 if facts.empty[place, 0] else 1 / float(facts.ideal[place, 0])
    added = np.empty(len(order))
    added[order] = facts.gains.of(rows, len(order))[0] * discount * scale
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
