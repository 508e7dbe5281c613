"""Reasons to look at a candidate again: queries that lose most against the baseline, and unjudged documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.lazy import pandas as pd
from .._common.validation import validate_integer
from .flags import UnjudgedDocuments
from .ranked_models import validate_pair
from .single_queries import find_ranked_places

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_RANKS = 10
"""Documents of each ranking in a table of losses."""


def find_losses(comparison: Any, baseline: str, candidate: str, most: int = 20) -> pd.DataFrame:
    """Return the queries on which a candidate loses most against a baseline, the largest loss first.

    A loss is the difference of candidate and baseline under the primary metric with the larger loss, times the weight
    of the query. Queries without a loss are left out. For repeats, values are means, and rankings are those of the
    first repeat.

    Parameters
    ----------
    comparison : Comparison
        Models with their scores.
    baseline, candidate : str
        Two models.
    most : int, default 20
        Maximum number of queries.

    Returns
    -------
    DataFrame
        Columns are `query`, `text` (if the judgments have texts), `loss` (0 or more, times the weight), `difference M`
        of each primary metric (candidate minus baseline), and for each of the two models `documents MODEL` and `grades
        MODEL`, the ids and grades of its first ten documents as text with blanks, for CSV files.

    Raises
    ------
    ValueError
        If a model is unknown, both are the same, or the comparison was created without scores.

    Examples
    --------
    >>> import gainwise as gw
    >>> judgments = gw.Judgments([1, 0, 0, 1], qid=["q1", "q1", "q2", "q2"])
    >>> comparison = gw.compare({"old": [2, 1, 1, 2], "new": [1, 2, 1, 2]}, judgments)
    >>> find_losses(comparison, "old", "new")[["query", "loss", "grades old", "grades new"]].round(3)
      query   loss grades old grades new
    0    q1  0.369        1 0        0 1
    """
    rankings = comparison.rankings
    if rankings is None:
        raise ValueError(
            "losses requires the scores of the models, but this comparison was created from values. "
            "Use gainwise.compare(models, judgments)."
        )
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
        rows = find_ranked_places(rankings, model, places, by, MAX_RANKS)
        table[f"documents {model}"] = [" ".join(map(str, documents[row].tolist())) for row in rows]
        table[f"grades {model}"] = [" ".join(f"{grade:g}" for grade in labels[row].tolist()) for row in rows]
    return pd.DataFrame(table)


def describe_unjudged(unjudged: UnjudgedDocuments, baseline: str, candidates: Sequence[str]) -> list[str]:
    """Return a sentence for each candidate that retrieves more unjudged documents than the baseline.

    >>> unjudged = UnjudgedDocuments({"judged@10": {"old": 0.95, "new": 0.9}}, {}, {}, "irrelevant")
    >>> describe_unjudged(unjudged, "old", ["new"])[0][:77]
    'new retrieves more unjudged documents than old: judged@10 is 0.900 and 0.950.'
    """
    sentences = []
    for candidate in candidates:
        for name, shares in unjudged.shares.items():
            if round(shares[candidate], 3) < round(shares[baseline], 3):
                effect = "They count as irrelevant, so its value may be too low."
                if unjudged.handling == "drop":
                    effect = "They are removed from the lists, so its value may be too high."
                sentences.append(
                    f"{candidate} retrieves more unjudged documents than {baseline}: {name} is "
                    f"{shares[candidate]:.3f} and {shares[baseline]:.3f}. {effect}"
                )
                break
    return sentences
