"""Folds of a cross-validation that do not keep queries whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import lightgbm as lgb


def check_whole_queries(dataset: lgb.Dataset) -> None:
    """Raise where rows were taken out of another data set such that one holds only some documents of a query.

    LightGBM makes a query of what is left of each: a metric then ranks fewer documents, which is easier.
    """
    rows, parent = dataset.used_indices, dataset.reference
    group = None if rows is None or parent is None else parent.get_group()
    if group is None:
        return
    sizes = np.asarray(group, dtype=np.int64)
    held = np.bincount(np.repeat(np.arange(len(sizes)), sizes)[rows], minlength=len(sizes))
    split = np.flatnonzero((held > 0) & (held != sizes))
    if len(split):
        first = split[0]
        raise ValueError(
            f"folds split queries: {len(split)} of the {np.count_nonzero(held)} queries of this one are not whole, the "
            f"first is query {first}, of which it holds {held[first]} of {sizes[first]} documents. Give lightgbm.cv "
            "folds=sklearn.model_selection.GroupKFold(5), to which it hands the queries as groups; it keeps queries "
            "whole by itself only where params['objective'] is the name of a ranking objective"
        )
