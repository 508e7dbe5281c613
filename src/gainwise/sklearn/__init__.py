"""Rankers in searches and cross-validations of scikit-learn: a scorer with queries, and LightGBM's ranker with qid.

>>> from gainwise.sklearn import GroupedLGBMRanker, scorer

With `sklearn.set_config(enable_metadata_routing=True)` and `GroupKFold().set_split_request(groups="qid")` one keyword
is passed to split, fit and score. Pass it as
``GridSearchCV(GroupedLGBMRanker(), …, cv=…, scoring=scorer("ndcg_exp@10")).fit(X, y, qid=qid)``. Without metadata
routing, use a column `qid` of a frame X.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import sklearn  # noqa: F401
except ImportError as error:  # pragma: no cover - needs an environment without scikit-learn
    raise ImportError("gainwise.sklearn requires scikit-learn. Run: pip install scikit-learn") from error

from .scoring import scorer

if TYPE_CHECKING:
    from .ranker import GroupedLGBMRanker

__all__ = ["GroupedLGBMRanker", "scorer"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "GroupedLGBMRanker":  # the scorer needs no LightGBM
            from .ranker import GroupedLGBMRanker

            return GroupedLGBMRanker
        raise AttributeError(f"module 'gainwise.sklearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
