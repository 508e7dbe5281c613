"""Types of arrays, and types of arguments."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, SupportsFloat, TypeAlias

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.integer[Any]]
"""Positions in the sorted list of distinct labels, in the narrowest integer type."""


class Sparse(Protocol):
    """A matrix or an array of `scipy.sparse`."""

    def tocsr(self) -> Any: ...


class SparseMatrix(Protocol):
    """A matrix of `scipy.sparse.spmatrix`, whose stubs lack `tocsr`."""

    def getnnz(self) -> Any: ...


class Frame(Protocol):
    """A table of pandas, polars or pyarrow."""

    @property
    def columns(self) -> Any: ...

    def __getitem__(self, key: Any, /) -> Any: ...


class Collection(Protocol):
    """An array, Series or DataFrame of Dask."""

    def __dask_graph__(self) -> Any: ...


class Predictor(Protocol):
    """A model: an estimator or a booster."""

    def predict(self, features: Any, /) -> Any: ...


class TrainedModel(Predictor, Protocol):
    """The members that `lightgbm.Booster` and `xgboost.Booster` share."""

    @property
    def best_iteration(self) -> int: ...

    def save_model(self, path: str | Path, /) -> object: ...


Numbers: TypeAlias = npt.ArrayLike | Sequence[SupportsFloat | None]
"""Numbers: lists, arrays, Series of pandas and polars, arrays of pyarrow, decimals and fractions."""
Ids: TypeAlias = npt.ArrayLike | Sequence[Hashable]
"""Ids, which can be compared and hashed."""
Predicted: TypeAlias = Numbers | SparseMatrix | Sequence[SparseMatrix]
"""One score per document. LightGBM declares that `predict` may return sparse matrices, which raise an error."""
Weights: TypeAlias = Numbers | Mapping[Any, SupportsFloat]
"""Weights by position or by query id."""
Features: TypeAlias = npt.ArrayLike | Sparse | Frame
"""Features with one row per document."""
Partitions: TypeAlias = Collection | Sequence[object]
"""Data of a cluster: a Dask collection, or one Delayed or Future per partition."""

FilePath: TypeAlias = str | os.PathLike[str]
"""The path of a file."""
Scores: TypeAlias = Predicted | FilePath | Predictor
"""One score per document, a file of scores, or a model."""
Models: TypeAlias = Mapping[str, Scores | Sequence[Scores]] | Frame
"""Models by name. A configuration is a list of repeats."""
Listed: TypeAlias = FilePath | Mapping[Any, Mapping[Any, SupportsFloat]] | Frame
"""A TREC run or qrels: a file, scores or labels by query and document, or a table of them."""
OfQueries: TypeAlias = Ids | Mapping[Any, Hashable]
"""A label for each query, by position or by query id."""
Columns: TypeAlias = OfQueries | Mapping[str, OfQueries] | Frame
"""One column of labels, or several with names."""
