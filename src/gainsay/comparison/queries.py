"""The queries on which two metrics pull hardest in opposite directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._common.arrays import nearest
from .._common.checks import check_whole
from ..judgments import scaled_weights
from ..metrics.dcg import DCG
from .attribution import grades_of, plain_labels
from .estimates import ROUNDING
from .rankings import as_read

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from .._common.typing import Bools, Floats, Integers
    from ..metrics.base import Metric
    from .rankings import Rankings


def find_contradictory_queries(
    rankings: Rankings,
    models: tuple[str, str],
    values: Mapping[Metric, Floats],
    most: int = 10,
    spread: Mapping[Metric, Floats] | None = None,
) -> pd.DataFrame:
    """Return the queries on which two metrics prefer different models, the strongest contradictions first.

    The pull of a query is min(abs(d1), abs(d2)) times its weight relative to the mean weight, where d1 and d2, the
    differences of the two models under the two metrics (those of a loss turned round), have opposite signs: the smaller
    of the two, for a query that one metric hardly minds contradicts little. It has the sign of d1: above 0 where the
    first metric prefers the first model, and the second metric the second. Differences within rounding are none.

    The two metrics have `values` of shape (queries, 2) on the queries that `rankings.counted` marks, NaN on those that
    one of them skips, which are left out. Of recipes `spread` says by how much the difference varies between repeats.

    Returns
    -------
    DataFrame
        One row per query. `query` is its id; `pull`; `difference M` for both metrics, first model minus second in the
        metric's own unit and sign; for both models `labels X`, a tuple of the labels from rank 1 down to the deeper of
        the two cutoffs (documents of equal score in the order of the input, documents that were not retrieved left
        out; of a recipe those of its first repeat); where one is a recipe `spread M`, by how much the difference varies
        from repeat to repeat; `documents` and `top grades`, how many documents are judged and how many of them have the
        top grade; `weight` of the query.

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

    limit = check_whole("most", most)
    first, second = values
    found = compute_preferences(rankings, models, values)
    queries, (one, other), weights, strength = (
        found.queries,
        found.differences,
        found.weights,
        found.contradiction_strength,
    )
    chosen = np.argsort(-np.abs(strength), kind="stable")[:limit]
    chosen = chosen[strength[chosen] != 0]
    judgments, shown = rankings.judgments, queries[chosen]
    top = grades_of(judgments.levels).lowest[-1]
    cutoff = None if first.k is None or second.k is None else max(first.k, second.k)
    columns: dict[str, Any] = {
        "query": judgments.query_ids[shown],
        "contradiction strength": strength[chosen],
        f"difference {first}": one[chosen],
        f"difference {second}": other[chosen],
    }
    places = np.searchsorted(np.flatnonzero(rankings.counted), shown)
    columns |= {f"spread {metric}": table[places] for metric, table in (spread or {}).items()}
    columns |= {f"labels {model}": ranked_labels(rankings, model, shown, first, cutoff) for model in models}
    columns |= {
        "documents": judgments.sizes[shown],
        "top grades": judgments.relevant(float(top))[shown],
        "weight": weights[chosen],
    }
    return pd.DataFrame(columns)


class QueryPreferences(NamedTuple):
    """What two metrics say of two models on every query that both have.

    Attributes
    ----------
    queries : ndarray of int, shape (n,)
        Their places among all queries.
    differences, leads : ndarray, shape (2, n)
        First model minus second under each metric, in its own unit and sign; and above 0 where it prefers the first.
    weights, contradiction_strength : ndarray, shape (n,)
        See `find_contradictory_queries`.
    """

    queries: Integers
    differences: Floats
    leads: Floats
    weights: Floats
    contradiction_strength: Floats


def compute_preferences(
    rankings: Rankings, models: tuple[str, str], values: Mapping[Metric, Floats]
) -> QueryPreferences:
    """Return which model each metric prefers on every query; parameters as of `find_contradictory_queries`."""
    common = ~np.isnan(np.concatenate(list(values.values()), axis=1)).any(axis=1)
    queries = np.flatnonzero(rankings.counted)[common]
    weights = rankings.weights[queries]
    scaled, _ = scaled_weights(weights)
    differences = np.stack([difference_of(table[common]) for table in values.values()])
    leads = np.stack([d if metric.higher_is_better else -d for metric, d in zip(values, differences, strict=True)])
    smaller = np.where(leads[0] * leads[1] < 0, np.abs(differences).min(axis=0), 0.0)
    strength = np.sign(leads[0]) * smaller * scaled / (scaled.mean() or 1.0)
    return QueryPreferences(queries, differences, leads, weights, strength)


def difference_of(values: Floats) -> Floats:
    """Return the difference of two columns, exactly 0 where only rounding tells them apart; NaN where there is none."""
    difference = values[:, 0] - values[:, 1]
    return np.where(np.abs(difference) <= ROUNDING * np.nanmax(np.abs(values)), 0.0, difference)


def ranked_labels(
    rankings: Rankings, model: str, queries: Integers, by: Metric, cutoff: int | None
) -> list[tuple[float, ...]]:
    """Return the labels of each query from rank 1 to the cutoff."""
    plain = np.array(plain_labels(rankings.judgments.levels), dtype=object)
    codes = rankings.judgments.layout.codes
    return [tuple(plain[codes[at]]) for at in find_ranked_places(rankings, model, queries, by, cutoff)]


def find_ranked_places(
    rankings: Rankings, model: str, queries: Integers, by: Metric, cutoff: int | None
) -> list[Integers]:
    """Return where the documents of each query stand in `Judgments.by_query`, from rank 1 to the cutoff.

    Documents of equal score in the order of the input, those that were not retrieved left out; of a recipe as its first
    repeat ranks them.
    """
    judgments = rankings.judgments
    scores = as_read(judgments.by_query(rankings.repeat_scores(model)[0]), by)
    starts, found = judgments.layout.starts, []
    for start, stop in zip(starts[queries].tolist(), starts[queries + 1].tolist(), strict=True):
        own = scores[start:stop]
        order = np.argsort(-own, kind="stable")[:cutoff]
        found.append(start + order[own[order] > -np.inf])
    return found


def build_value_table(
    values: Mapping[str, Floats], models: Sequence[str], queries: Any, weights: Floats | None = None
) -> pd.DataFrame:
    """Return the values of every query and model, one column per metric; see `Comparison.frame`."""
    import pandas as pd

    index = pd.MultiIndex.from_product([pd.Index(queries), pd.Index(models)], names=["query", "model"])
    columns = {metric: np.asarray(table, dtype=np.float64).ravel() for metric, table in values.items()}
    if weights is not None:
        name = "weight" if "weight" not in columns else "query weight"
        columns[name] = np.repeat(weights, len(models))
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
    """Return the queries on which two models differ most under the first metric; see `Comparison.largest_differences`.

    `values` has tables (queries, 2) by metric, NaN where it skips a query. With `rankings` there are the labels in the
    order in which `by` ranks the documents.
    """
    import pandas as pd

    limit, metric = check_whole("most", most), next(iter(values))
    first = values[metric]
    scaled, _ = scaled_weights(np.ones(len(first)) if weights is None else weights)
    difference = np.nan_to_num(difference_of(first))
    size = np.abs(difference) * scaled
    chosen = np.argsort(-size, kind="stable")[:limit]
    chosen = chosen[size[chosen] > 0]
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


def build_ranking(rankings: Rankings, place: int, model: str, metrics: Iterable[Metric]) -> pd.DataFrame:
    """Return the documents of the query at a place as a model ranks them; see `Comparison.ranking`.

    The first metric's rules for equal scores order the documents; those that are sums over documents say what each of
    these adds to them.
    """
    import pandas as pd

    judgments, listed = rankings.judgments, list(metrics)
    start = int(judgments.sizes[:place].sum())
    here = slice(start, start + int(judgments.sizes[place]))
    labels = judgments.by_query(judgments.labels)[here]
    scores = judgments.by_query(rankings.repeat_scores(model)[0])[here]
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
        _, tie_group = np.unique(-as_read(scores, metric)[order], return_inverse=True)
        discount = (np.bincount(tie_group, discount) / np.bincount(tie_group))[tie_group]
    of_document = np.empty(len(order))
    of_document[order] = discount
    of_document[scores == -np.inf] = 0.0
    scale = (0.0 if facts.empty[0, 0] else 1 / float(facts.ideal[0, 0])) if metric.is_ratio else 1.0
    return gain, scaled * of_document * scale


def find_query(query: Any, queries: Any) -> int:
    """Return at which place a query stands among ids; where it stands nowhere, the error says what it may be.

    >>> find_query(7, np.array([3, 7]))
    1
    >>> find_query("7", np.array([3, 7]))
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
