"""One ranking under every library's convention: why the same model has so many NDCGs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._common.arrays import numbers
from .._common.checks import check_whole
from ..judgments import Judgments, NegativeLabels
from ..metrics.conventions import CONVENTIONS
from ..metrics.names import parse_metrics
from .evaluator import Evaluator

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Ids, Numbers, Weights

_METRICS = ("ndcg_linear", "ndcg_exp", "ndcg_jk", "map", "mrr", "precision", "recall")


def explain(
    labels: Numbers,
    scores: Numbers,
    k: int = 10,
    *,
    group: Numbers | None = None,
    qid: Ids | None = None,
    weight: Weights | None = None,
    negative_labels: NegativeLabels = "refuse",
) -> pd.DataFrame:
    """Return what every library's convention makes of one ranking.

    Parameters
    ----------
    labels : array-like, shape (documents,)
        Relevance labels.
    scores : array-like, shape (documents,)
        The score of each document.
    k : int
        Cutoff.
    group, qid, weight, negative_labels
        As in `Judgments`, for more than one query; without them all documents belong to one.

    Returns
    -------
    DataFrame
        One row per convention (`gainsay`, our defaults, first). Columns: `calls NDCG` (which of the definitions the
        library means by the name), `NDCG@k` (what it prints under that name), the metrics at cutoff k, the options that
        lead there, and a note.

    Examples
    --------
    >>> import gainsay as gs
    >>> table = gs.explain(labels=[3, 3, 3, 3, 3, 0, 0, 0, 0, 5], scores=range(10, 0, -1))
    >>> table.loc[["lightgbm", "sklearn"], ["calls NDCG", "NDCG@10", "ndcg_linear@10", "ndcg_exp@10"]].round(3)
                 calls NDCG  NDCG@10  ndcg_linear@10  ndcg_exp@10
    convention
    lightgbm       ndcg_exp    0.628           0.864        0.628
    sklearn     ndcg_linear    0.864           0.864        0.628
    """
    k = check_whole("k", k)
    judgments = judgments_of(labels, group, qid, weight, negative_labels)
    return explain_judgments(judgments, scores, k)


def judgments_of(
    labels: Numbers,
    group: Numbers | None = None,
    qid: Ids | None = None,
    weight: Weights | None = None,
    negative_labels: NegativeLabels = "refuse",
) -> Judgments:
    """Return the judgments of documents that belong to one query where nothing else is said."""
    if group is None and qid is None:
        group = [len(numbers("labels", labels))]
    return Judgments(labels, group=group, qid=qid, weight=weight, negative_labels=negative_labels)


def explain_judgments(judgments: Judgments, scores: Numbers, k: int) -> pd.DataFrame:
    """Return what `explain` does, of judgments that are made already."""
    import pandas as pd

    names = [f"{name}@{k}" for name in _METRICS]
    if judgments.levels[0] < 0:
        names.remove(f"ndcg_exp@{k}")
    rows = {}
    for library in (None, *CONVENTIONS):
        metrics = parse_metrics(names, convention=library)
        values = dict(zip(names, Evaluator(metrics, judgments)(scores).mean.values(), strict=True))
        rows[library or "gainsay"] = {
            "calls NDCG": _called_ndcg(library),
            f"NDCG@{k}": values.get(f"{_called_ndcg(library)}@{k}", float("nan")),
            **values,
            "ties": metrics[0].ties,
            "empty": metrics[0].option_text("empty"),
            "scores": metrics[0].scores,
            "note": _note(library, judgments),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("convention")


def _called_ndcg(library: str | None) -> str:
    gain = CONVENTIONS[library].gain if library else None
    return {"linear": "ndcg_linear", "exponential": "ndcg_exp", None: "both, by name"}[gain]


def _note(library: str | None, judgments: Judgments) -> str:
    """Return the note of a convention; that on weights and empty queries only where there are such."""
    if library is None:
        return "ties averaged over all orders"
    if library in ("lightgbm", "xgboost"):
        slips = judgments.weights is not None and bool(np.any(judgments.relevant(np.nextafter(0.0, 1.0)) == 0))
        return CONVENTIONS[library].note if slips else ""
    return CONVENTIONS[library].note
