"""The queries on which two metrics pull hardest in opposite directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._common.checks import check_whole
from ..judgments import scaled_weights
from .contributions import grades_of, plain_labels
from .estimates import ROUNDING
from .rankings import as_read

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from .._common.typing import Floats, Integers
    from ..metrics.base import Metric
    from .rankings import Rankings


def contradictory_queries(
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
    one of them skips, which are left out. Of recipes `spread` says by how much the difference varies between runs.

    Returns
    -------
    DataFrame
        One row per query. `query` is its id; `pull`; `difference M` for both metrics, first model minus second in the
        metric's own unit and sign; for both models `labels X`, a tuple of the labels from rank 1 down to the deeper of
        the two cutoffs (documents of equal score in the order of the input, documents that were not retrieved left
        out; of a recipe those of its first run); where one is a recipe `spread M`, by how much the difference varies
        from run to run; `documents` and `top grades`, how many documents are judged and how many of them have the top
        grade; `weight` of the query.

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
    found = preferences(rankings, models, values)
    queries, (one, other), weights, pull = found.queries, found.differences, found.weights, found.pull
    chosen = np.argsort(-np.abs(pull), kind="stable")[:limit]
    chosen = chosen[pull[chosen] != 0]
    judgments, shown = rankings.judgments, queries[chosen]
    top = grades_of(judgments.levels).lowest[-1]
    cutoff = None if first.k is None or second.k is None else max(first.k, second.k)
    columns: dict[str, Any] = {
        "query": judgments.query_ids[shown],
        "pull": pull[chosen],
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


class Preferences(NamedTuple):
    """What two metrics say of two models on every query that both have.

    Attributes
    ----------
    queries : ndarray of int, shape (n,)
        Their places among all queries.
    differences, leads : ndarray, shape (2, n)
        First model minus second under each metric, in its own unit and sign; and above 0 where it prefers the first.
    weights, pull : ndarray, shape (n,)
        See `contradictory_queries`.
    """

    queries: Integers
    differences: Floats
    leads: Floats
    weights: Floats
    pull: Floats


def preferences(rankings: Rankings, models: tuple[str, str], values: Mapping[Metric, Floats]) -> Preferences:
    """Return which model each metric prefers on every query; parameters as of `contradictory_queries`."""
    common = ~np.isnan(np.concatenate(list(values.values()), axis=1)).any(axis=1)
    queries = np.flatnonzero(rankings.counted)[common]
    weights = rankings.weights[queries]
    scaled, _ = scaled_weights(weights)
    differences = np.stack([difference_of(table[common]) for table in values.values()])
    leads = np.stack([d if metric.higher_is_better else -d for metric, d in zip(values, differences, strict=True)])
    strength = np.where(leads[0] * leads[1] < 0, np.abs(differences).min(axis=0), 0.0)
    pull = np.sign(leads[0]) * strength * scaled / (scaled.mean() or 1.0)
    return Preferences(queries, differences, leads, weights, pull)


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
    return [tuple(plain[codes[at]]) for at in ranked_places(rankings, model, queries, by, cutoff)]


def ranked_places(rankings: Rankings, model: str, queries: Integers, by: Metric, cutoff: int | None) -> list[Integers]:
    """Return where the documents of each query stand in `Judgments.by_query`, from rank 1 to the cutoff.

    Documents of equal score in the order of the input, those that were not retrieved left out; of a recipe as its first
    run ranks them.
    """
    judgments = rankings.judgments
    scores = as_read(judgments.by_query(rankings.runs_of(model)[0]), by)
    starts, found = judgments.layout.starts, []
    for start, stop in zip(starts[queries].tolist(), starts[queries + 1].tolist(), strict=True):
        own = scores[start:stop]
        order = np.argsort(-own, kind="stable")[:cutoff]
        found.append(start + order[own[order] > -np.inf])
    return found
