"""Metrics on a Dask cluster: exact means over partitions, and curves of trained models by round.

>>> import dask.array as da
>>> from gainwise.dask import evaluate
>>> labels = da.from_array([3, 0, 1, 2, 0, 1], chunks=(4, 2))
>>> scores = da.from_array([0.3, 0.2, 0.1, 0.3, 0.5, 0.2], chunks=(4, 2))
>>> qid = da.from_array(["a", "a", "a", "a", "b", "b"], chunks=(4, 2))
>>> evaluate(["mrr", "precision@1"], labels, scores, qid=qid).mean
{'mrr': 0.75, 'precision@1': 0.5}

Each partition is evaluated on its worker in one task, and only sums are sent. All documents of a query must be in one
partition.
"""

from __future__ import annotations

try:
    import dask.array
    import dask.delayed  # noqa: F401
except ImportError as error:  # pragma: no cover - needs an environment without Dask
    raise ImportError("gainwise.dask requires Dask. Run: pip install 'dask[distributed,dataframe]'") from error

from .evaluation import ClusterCurves, ClusterEvaluation, evaluate, evaluate_rounds, validate_whole_queries

__all__ = ["ClusterCurves", "ClusterEvaluation", "evaluate", "evaluate_rounds", "validate_whole_queries"]
