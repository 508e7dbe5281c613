"""How data are divided: one split, or folds that take turns as test, valid and training data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._common.checks import check_whole
from ..data import RankingData
from ..data.features import is_sparse, parts_of
from ..data.ranking_data import same_features

Parts = Mapping[str, RankingData]
"""The data of an experiment, in parts that folds name."""


@dataclass(frozen=True)
class Fold:
    """Which parts of the data one training uses.

    Attributes
    ----------
    name : str
        Empty where there is one split only.
    train : tuple of str
        Parts to train on, joined.
    valid, test : str
        The part that rounds and candidates are chosen on, and the part that they are compared on.
    """

    name: str
    train: tuple[str, ...]
    valid: str
    test: str

    def training_data(self, parts: Parts) -> RankingData:
        """Return the parts to train on, joined."""
        train = [parts[name] for name in self.train]
        return train[0] if len(train) == 1 else RankingData.concatenate(train)

    def parts(self) -> tuple[str, ...]:
        """Return the names of all its parts."""
        return (*self.train, self.valid, self.test)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON knows it."""
        return {"name": self.name, "train": list(self.train), "valid": self.valid, "test": self.test}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Fold:
        """Return the fold that `to_dict` wrote."""
        return cls(str(stored["name"]), tuple(stored["train"]), str(stored["valid"]), str(stored["test"]))


def divided(
    train: RankingData | None,
    valid: RankingData | None,
    test: RankingData | None,
    folds: Sequence[RankingData] | None,
) -> tuple[Parts, tuple[Fold, ...]]:
    """Return the parts and folds of one division or of a rotation, whichever is given."""
    if folds is not None:
        if not (train is None and valid is None and test is None):
            raise ValueError("give either train, valid and test, or folds, not both")
        return rotation(folds)
    if train is None or valid is None or test is None:
        missing = [name for name, part in (("train", train), ("valid", valid), ("test", test)) if part is None]
        raise ValueError(f"{' and '.join(missing)} missing: give train, valid and test, or folds")
    parts = _prepared({"train": train, "valid": valid, "test": test})
    return parts, (Fold("", ("train",), "valid", "test"),)


def rotation(folds: Sequence[RankingData]) -> tuple[Parts, tuple[Fold, ...]]:
    """Return the parts and folds of LETOR's cross-validation: test on fold i, validate on fold i + 1, train on others.

    Raises
    ------
    ValueError
        For fewer than three folds.
    """
    if isinstance(folds, RankingData):
        raise TypeError("folds must be a sequence of RankingData, got a single one; divide it with k_folds(data, k)")
    count = len(folds)
    if count < 3:
        raise ValueError(f"folds must be at least three (one to test, one to validate, others to train), got {count}")
    names = [f"fold {number}" for number in range(1, count + 1)]
    parts = _prepared(dict(zip(names, folds, strict=True)))
    without = [name for name, part in parts.items() if part.weight is None]
    if without and len(without) < count:
        raise ValueError(f"{without[0]} has no weight but other folds have; give it ones, or drop the others' weights")
    made = []
    for i, name in enumerate(names):
        valid = names[(i + 1) % count]
        made.append(Fold(name, tuple(other for other in names if other not in (name, valid)), valid, name))
    return parts, tuple(made)


def k_folds(data: RankingData, k: int = 5, *, seed: int = 0) -> list[RankingData]:
    """Divide the queries of a data set at random into k parts of equal size, one query more or less.

    Parameters
    ----------
    data : RankingData
        What to divide; a query is never split.
    k : int
        How many parts, at least 3.
    seed : int
        Seed of the division.

    Raises
    ------
    ValueError
        Where there are fewer queries than parts.

    Examples
    --------
    >>> from gainsay.data import simulate
    >>> [len(fold.query_ids) for fold in k_folds(simulate(17, seed=1, mean_length=5), 5, seed=3)]
    [4, 4, 3, 3, 3]
    """
    k = check_whole("k_folds", k, 3)
    queries = len(data.query_ids)
    if queries < k:
        raise ValueError(f"{queries} queries cannot be divided into {k} folds")
    shuffled = np.random.default_rng(check_whole("seed", seed, 0)).permutation(queries)
    return [data.take_queries(np.sort(codes)) for codes in np.array_split(shuffled, k)]


def fingerprint(data: RankingData) -> str:
    """Return a digest of everything that training and evaluation see of the data."""
    digest = hashlib.sha256()
    for array in (*parts_of(data.features).values(), data.labels, data.qid, data.query_ids, data.weight):
        if array is None:
            digest.update(b"none")
            continue
        digest.update(f"{array.dtype.str} {array.shape};".encode())
        digest.update(np.ascontiguousarray(array).data.cast("B") if array.dtype.kind != "U" else array.tobytes())
    if data.feature_names is not None:
        known = {name: list(values) for name, values in (data.categories or {}).items()}
        digest.update(json.dumps([data.feature_names, known]).encode())
    return digest.hexdigest()


def _prepared(parts: Mapping[str, Any]) -> Parts:
    """Return the parts, checked against each other, with the rows of each query together and one code per category."""
    for name, part in parts.items():
        if not isinstance(part, RankingData):
            raise TypeError(
                f"{name} must be RankingData, got {type(part).__name__}; read files with gainsay.data.read_letor, "
                "make it from arrays or DataFrames with gainsay.RankingData(X, y, group=sizes) or qid=ids"
            )
    first = next(iter(parts))
    width = parts[first].features.shape[1]
    for name, part in parts.items():
        if part.features.shape[1] != width:
            raise ValueError(
                f"{name} has {part.features.shape[1]} features, but {first} has {width}: all parts need the same ones; "
                "read the files with features="
            )
    dense = [not is_sparse(part.features) for part in parts.values()]
    if any(dense) and not all(dense):
        names = list(parts)
        raise ValueError(
            f"the features of {names[dense.index(True)]} are dense and those of {names[dense.index(False)]} sparse: "
            "make all of one kind, since XGBoost takes what a sparse matrix does not hold for missing, not for 0"
        )
    alike = same_features(list(parts.values()), list(parts))
    return {name: replace(part.contiguous(), document_ids=None) for name, part in zip(parts, alike, strict=True)}
