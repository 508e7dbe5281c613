"""The queries on which two metrics pull hardest in opposite directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.checks import check_whole
from ..judgments import scaled_weights
from .contributions import grades_of, plain_label
from .resampling import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from .._common.typing import Floats, Integers
    from ..metrics.base import Metric
    from .rankings import Rankings


def contradictory_queries(
    rankings: Rankings, models: tuple[str, str], values: Mapping[Metric, Floats], most: int = 10
) -> pd.DataFrame:
    """Return the queries on which two metrics prefer different models, the strongest contradictions first.

    The pull of a query is min(abs(d1), abs(d2)) times its weight relative to the mean weight, where d1 and d2, the
    differences of the two models under the two metrics (those of a loss turned round), have opposite signs: the smaller
    of the two, for a query that one metric hardly minds contradicts little. It has the sign of d1: above 0 where the
    first metric prefers the first model, and the second metric the second. Differences within rounding are none.

    Parameters
    ----------
    rankings : Rankings
        Scores and judgments.
    models : tuple of two str
        The two models.
    values : mapping of two metrics to arrays, shape (counted queries, 2)
        The values of the two models on the queries that `rankings.counted` marks; those that one of the metrics skips,
        NaN, are left out.
    most : int
        How many queries to return at most.

    Returns
    -------
    DataFrame
        One row per query. `query` is its id; `pull`; `difference M` for both metrics, first model minus second in the
        metric's own unit and sign; for
        both models `labels X`, a tuple of the labels from rank 1 down to the deeper of the two cutoffs (documents of
        equal score in the order of the input, documents that were not retrieved left out); `documents` and
        `top grades`, how many documents are judged and how many of them have the top grade; `weight` of the query.

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

    rankings.check_pair(*models)
    limit = check_whole("most", most)
    first, second = metrics = tuple(values)
    common = ~np.isnan(np.concatenate(list(values.values()), axis=1)).any(axis=1)
    queries = np.flatnonzero(rankings.counted)[common]
    weights = rankings.weights[queries]
    scaled, _ = scaled_weights(weights)
    one, other = (_difference(table[common]) for table in values.values())
    prefers, against = (d if metric.higher_is_better else -d for metric, d in zip(metrics, (one, other), strict=True))
    strength = np.where(prefers * against < 0, np.minimum(np.abs(one), np.abs(other)), 0.0)
    pull = np.sign(prefers) * strength * scaled / (scaled.mean() or 1.0)
    chosen = np.argsort(-np.abs(pull), kind="stable")[:limit]
    chosen = chosen[pull[chosen] != 0]
    judgments, shown = rankings.judgments, queries[chosen]
    top = grades_of(judgments.levels).lowest[-1]
    cutoff = None if None in (first.k, second.k) else max(metric.k for metric in metrics if metric.k is not None)
    columns: dict[str, Any] = {
        "query": judgments.query_ids[shown],
        "pull": pull[chosen],
        f"difference {first}": one[chosen],
        f"difference {second}": other[chosen],
    }
    columns |= {f"labels {model}": _ranked_labels(rankings, model, shown, first, cutoff) for model in models}
    columns |= {
        "documents": judgments.sizes[shown],
        "top grades": judgments.relevant(float(top))[shown],
        "weight": weights[chosen],
    }
    return pd.DataFrame(columns)


def _difference(values: Floats) -> Floats:
    """Return the difference of two columns, exactly 0 where only rounding tells them apart."""
    difference = values[:, 0] - values[:, 1]
    return np.where(np.abs(difference) > ROUNDING * np.abs(values).max(), difference, 0.0)


def _ranked_labels(
    rankings: Rankings, model: str, queries: Integers, by: Metric, cutoff: int | None
) -> np.ndarray[Any, Any]:
    """Return the labels of each query from rank 1 to the cutoff, an array of tuples."""
    labels = [plain_label(level) for level in rankings.judgments.levels.tolist()]
    found = np.empty(len(queries), dtype=object)
    for rows in rankings.ranked(model, by, ties="order", among=queries) if len(queries) else ():
        for row, place in zip(*np.nonzero(rows.queries[:, None] == queries), strict=True):
            codes = rows.codes[row, :cutoff]
            found[place] = tuple(labels[code] for code in codes[codes < len(labels)].tolist())
    return found
