"""Queries on which a candidate loses most against a baseline."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .._common.validation import validate_integer
from .ranked_models import validate_pair
from .single_queries import find_ranked_places

MAX_RANKS = 10
"""Documents of each ranking in a table of losses."""


def find_losses(comparison: Any, baseline: str, candidate: str, most: int = 20) -> pd.DataFrame:
    """Return the queries on which a candidate loses most against a baseline. See `Comparison.losses`.

    `most` is the maximum number of queries.
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
