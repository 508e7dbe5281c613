"""Names for the types of arrays: those that the modules hand to each other, and those that callers may pass."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol, SupportsFloat, TypeAlias

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.integer[Any]]
"""Positions in the sorted list of distinct labels; the type is the narrowest that holds them."""


class Sparse(Protocol):
    """A matrix or an array of `scipy.sparse`."""

    def tocsr(self) -> Any: ...


class Frame(Protocol):
    """A table of pandas, polars or pyarrow."""

    @property
    def columns(self) -> Any: ...

    def __getitem__(self, key: Any, /) -> Any: ...


class Collection(Protocol):
    """An array, Series or DataFrame of Dask."""

    def __dask_graph__(self) -> Any: ...


class Predictor(Protocol):
    """A model: an estimator, a booster or a function's home."""

    def predict(self, features: Any, /) -> Any: ...


Numbers: TypeAlias = npt.ArrayLike | Sequence[SupportsFloat | None]
"""One number each: lists, arrays, Series of pandas and polars, arrays of pyarrow, decimals and fractions."""
Ids: TypeAlias = npt.ArrayLike | Sequence[Hashable]
"""One id each: whatever can be compared and hashed."""
Weights: TypeAlias = Numbers | Mapping[Any, SupportsFloat]
"""Weights by place, or by the id of the query."""
Features: TypeAlias = npt.ArrayLike | Sparse | Frame
"""A row per document, a column per feature."""
Partitions: TypeAlias = Collection | Sequence[object]
"""Data of a cluster: a collection of Dask, or one Delayed or Future per partition."""

FilePath: TypeAlias = str | os.PathLike[str]
"""Where a file is."""
Scores: TypeAlias = Numbers | FilePath | Predictor
"""What a model says: one score per document, a file of them, or the model itself."""
Models: TypeAlias = Mapping[str, Scores | Sequence[Scores]] | Frame
"""Models by name; a recipe is a list of runs."""
Listed: TypeAlias = FilePath | Mapping[Any, Mapping[Any, SupportsFloat]] | Frame
"""A TREC run or qrels: a file, scores or labels by query and document, or a table of them."""
OfQueries: TypeAlias = Ids | Mapping[Any, Hashable]
"""A label for each query, by place or by the id of the query."""
Columns: TypeAlias = OfQueries | Mapping[str, OfQueries] | Frame
"""One such column of labels, or several with names."""
