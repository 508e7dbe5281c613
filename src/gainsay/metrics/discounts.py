"""What a rank is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from .._common.typing import Floats

Discount = Literal["log2", "log", "jk", "reciprocal", "none"]

NAMED: tuple[str, ...] = ("log2", "log", "jk", "reciprocal", "none")

WITH_BASE = ("log", "jk")
"""Discounts that depend on the base of the logarithm."""


def discounts(discount: Discount, base: float, depth: int) -> Floats:
    """Return the discount of ranks 1 to `depth`.

    ===========  ============================  ===================================================
    name         discount of rank r            source
    ===========  ============================  ===================================================
    log2         1 / log2(r + 1)               Burges et al. 2005
    log          1 / log_b(r + 1)              the same with another base, which cancels in NDCG
    jk           1 / max(1, log_b r)           Järvelin & Kekäläinen 2002: none above rank b
    reciprocal   1 / r                         CatBoost's `Position`
    none         1                             cumulated gain
    ===========  ============================  ===================================================
    """
    rank = np.arange(1, depth + 1, dtype=np.float64)
    if discount == "none":
        return np.ones(depth)
    if discount == "reciprocal":
        return 1.0 / rank
    if discount == "jk":
        return 1.0 / np.maximum(1.0, _logarithm(rank, base))
    return 1.0 / _logarithm(rank + 1.0, base)


def _logarithm(values: Floats, base: float) -> Floats:
    return np.log2(values) if base == 2 else np.log(values) / np.log(base)
