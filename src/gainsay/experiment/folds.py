"""Folds: one division of the data, or parts that take turns as training, validation and test data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from .._common.validation import validate_integer
from ..data import RankingData
from ..data.features import is_sparse, parts_of
from ..data.ranking_data import same_features
from .config import StrictModel

Parts = Mapping[str, RankingData]
"""The data of an experiment, in parts that folds name."""


class Fold(StrictModel):
    """The parts of the data that one training uses.

    Attributes
    ----------
    name : str
        Empty if there is one division only.
    train : tuple of str
        Parts to train on, concatenated.
    valid, test : str
        Part to choose rounds and candidates on, and part to compare on.
    """

    name: str
    train: Annotated[tuple[str, ...], Field(strict=False)]
    valid: str
    test: str

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of all its parts."""
        return (*self.train, self.valid, self.test)


class FeatureColumns(StrictModel):
    """The columns of the features: how many, whether they are sparse, and the names and categories, if any."""

    number: int
    sparse: bool
    names: Annotated[tuple[str, ...], Field(strict=False)] | None
    categories: dict[str, Annotated[tuple[Any, ...], Field(strict=False)]] | None

    @classmethod
    def from_data(cls, data: RankingData) -> FeatureColumns:
        """Return the columns of a dataset."""
        categories = None if data.categories is None else dict(data.categories)
        columns, sparse = data.features.shape[1], is_sparse(data.features)
        return cls(number=columns, sparse=sparse, names=data.feature_names, categories=categories)

    def validate_kind(self, argument: str, data: RankingData) -> None:
        """Raise `ValueError` if data have another number of features, or are sparse and these are not."""
        number = data.features.shape[1]
        if number != self.number:
            fix = "If you read files, pass features= to the reader."
            raise ValueError(f"{argument} must have {self.number} features, as the training data, got {number}. {fix}")
        if is_sparse(data.features) != self.sparse:
            kind, other_kind = ("sparse", "dense") if self.sparse else ("dense", "sparse")
            raise ValueError(f"The features of {argument} must be {kind}, as in the training data, got {other_kind}.")

    def align(self, argument: str, data: RankingData, *, new_categories: bool = False) -> RankingData:
        """Return data with the codes of these categories, or raise `ValueError` if the columns differ.

        Names are compared if both have names. With `new_categories`, categories that these columns lack follow theirs.
        """
        self.validate_kind(argument, data)
        if not (self.categories or data.categories) and None in (self.names, data.feature_names):
            return replace(data, feature_names=self.names)
        reference = RankingData(
            np.zeros((1, self.number)), [0], group=[1], feature_names=self.names, categories=self.categories
        )
        data = same_features([reference, data], ["the training data", argument])[1]
        for name, values in ({} if new_categories else self.categories or {}).items():
            codes = data.features[:, (data.feature_names or ()).index(name)]
            if (codes >= len(values)).any():
                new = (data.categories or {})[name][int(codes[codes >= len(values)][0])]
                fix = "Make it a missing value, or refit with data that contain it."
                raise ValueError(f"{argument} must have trained categories, got {new!r} of feature {name!r}. {fix}")
        return data if new_categories else replace(data, categories=self.categories)


def divide(
    train: RankingData | None,
    valid: RankingData | None,
    test: RankingData | None,
    folds: Sequence[RankingData] | None,
) -> tuple[Parts, tuple[Fold, ...]]:
    """Return the parts and folds of one division, or of a rotation."""
    if folds is not None:
        if not (train is None and valid is None and test is None):
            raise ValueError("Pass either train, valid and test, or folds, not both.")
        return rotate(folds)
    if train is None or valid is None or test is None:
        missing = [name for name, part in (("train", train), ("valid", valid), ("test", test)) if part is None]
        raise ValueError(f"{' and '.join(missing)} missing. Pass train, valid and test, or folds.")
    parts = _prepare_parts({"train": train, "valid": valid, "test": test})
    return parts, (Fold(name="", train=("train",), valid="valid", test="test"),)


def rotate(folds: Sequence[RankingData]) -> tuple[Parts, tuple[Fold, ...]]:
    """Return the parts and folds of LETOR's cross-validation: test on fold i, validate on fold i + 1, train on others.

    Raises
    ------
    ValueError
        If there are fewer than three folds, or some have weights and others not.
    """
    if isinstance(folds, RankingData):
        raise TypeError("folds must be a sequence of RankingData, got a single one. Use k_folds(data, k).")
    count = len(folds)
    if count < 3:
        raise ValueError(f"folds must have at least three entries (test, validation, training), got {count}")
    names = [f"fold {number}" for number in range(1, count + 1)]
    parts = _prepare_parts(dict(zip(names, folds, strict=True)))
    unweighted = [name for name, part in parts.items() if part.weight is None]
    if unweighted and len(unweighted) < count:
        raise ValueError(f"{unweighted[0]} has no weight, but other folds have. Use weights in all folds or in none.")
    rotated = []
    for i, name in enumerate(names):
        valid = names[(i + 1) % count]
        train = tuple(part for part in names if part not in (name, valid))
        rotated.append(Fold(name=name, train=train, valid=valid, test=name))
    return parts, tuple(rotated)


def k_folds(data: RankingData, k: int = 5, *, seed: int = 0) -> list[RankingData]:
    """Divide the queries of a dataset at random into k parts of equal size.

    Parameters
    ----------
    data : RankingData
        Dataset to divide. A query is never split.
    k : int, default 5
        Number of parts, at least 3. Sizes differ by one query at most.
    seed : int, default 0
        Seed of the division.

    Returns
    -------
    list of RankingData

    Raises
    ------
    ValueError
        If there are fewer queries than parts.

    Examples
    --------
    >>> from gainsay.data import simulate
    >>> [len(fold.query_ids) for fold in k_folds(simulate(17, seed=1, mean_length=5), 5, seed=3)]
    [4, 4, 3, 3, 3]
    """
    k = validate_integer("k_folds", k, 3)
    queries = len(data.query_ids)
    if queries < k:
        raise ValueError(f"{queries} queries cannot be divided into {k} folds")
    shuffled = np.random.default_rng(validate_integer("seed", seed, 0)).permutation(queries)
    return [data.take_queries(np.sort(codes)) for codes in np.array_split(shuffled, k)]


def compute_fingerprint(data: RankingData) -> str:
    """Return a digest of everything in the data that training and evaluation use."""
    digest = hashlib.sha256()
    for array in (*parts_of(data.features).values(), data.labels, data.qid, data.query_ids, data.weight):
        if array is None:
            digest.update(b"none")
            continue
        digest.update(f"{array.dtype.str} {array.shape};".encode())
        digest.update(np.ascontiguousarray(array).data.cast("B") if array.dtype.kind != "U" else array.tobytes())
    if data.feature_names is not None:
        categories = {name: list(values) for name, values in (data.categories or {}).items()}
        digest.update(json.dumps([data.feature_names, categories]).encode())
    return digest.hexdigest()


def validate_data(name: str, data: Any) -> None:
    """Raise unless this is a dataset whose weights fit into the 32-bit floats of both libraries."""
    if not isinstance(data, RankingData):
        raise TypeError(
            f"{name} must be RankingData, got {type(data).__name__}. Use gainsay.RankingData(X, y, qid=query_ids), "
            "gainsay.data.from_frame(frame, label=…, query=…) or gainsay.data.read_letor(path)."
        )
    if data.weight is None or not data.weight.any():
        return
    limits = np.finfo(np.float32)
    smallest, largest = data.weight[data.weight > 0].min(), data.weight.max()
    if largest > limits.max or smallest < limits.tiny:
        raise ValueError(
            f"{name} has a weight of {largest if largest > limits.max else smallest:g}, but LightGBM and XGBoost use "
            f"32-bit floats ({limits.tiny:.0e} to {limits.max:.0e}). Multiply all weights by the same number."
        )


def _prepare_parts(parts: Mapping[str, Any]) -> Parts:
    """Validate the parts, and return them with adjacent rows for each query and one code per category."""
    for name, part in parts.items():
        validate_data(name, part)
    columns = FeatureColumns.from_data(next(iter(parts.values())))
    for name, part in parts.items():
        columns.validate_kind(name, part)
    aligned = same_features(list(parts.values()), list(parts))
    return {name: replace(part.contiguous(), document_ids=None) for name, part in zip(parts, aligned, strict=True)}
