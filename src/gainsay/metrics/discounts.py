"""What a rank is worth: a formula with a name, or a table or function of the user's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._common.arrays import nearest
from .._common.words import number_text
from .called import called, checked_name
from .registry import Registry

if TYPE_CHECKING:
    from .._common.typing import Floats

Function = Callable[["Floats"], Any]
Discount = Literal["log2", "log", "jk", "reciprocal", "none"] | tuple[float, ...] | Function

NAMED: tuple[str, ...] = ("log2", "log", "jk", "reciprocal", "none")

WITH_BASE = ("log", "jk")
"""Discounts that depend on the base of the logarithm."""


FUNCTIONS: Registry[Function] = Registry("discount", reserved=NAMED)
"""Discounts that are functions, by their names."""


def canonical_discount(discount: Any) -> Discount:
    """Return a discount as an immutable value: a name, a tuple of the discounts of ranks 1, 2, …, or a function.

    Accepts the text of a discount as it stands in a metric's name: a table, `1/0.5/0.25`, or the name of a function
    that some metric was made with.
    """
    if isinstance(discount, str):
        if discount in NAMED:
            return discount  # type: ignore[return-value]
        return FUNCTIONS[discount] if discount in FUNCTIONS else _from_text(discount)
    if callable(discount) and not isinstance(discount, type):
        function: Function = discount
        return function
    if isinstance(discount, Sequence | np.ndarray):
        table = np.array(discount, dtype=np.float64)
        if table.ndim != 1 or len(table) == 0:
            raise ValueError(f"discount must be a table of one number for each rank, got {discount!r}")
        _check_falling(table, "discount")
        return tuple(table.tolist())
    raise TypeError(
        f"discount must be one of {', '.join(map(repr, NAMED))}, a table of the discounts of ranks 1, 2, … or a "
        f"function of ranks, got {discount!r}"
    )


def discount_text(discount: Discount) -> str:
    """Return how a discount is written in a metric's name."""
    if isinstance(discount, str):
        return discount
    return checked_name("discount", discount) if callable(discount) else "/".join(map(number_text, discount))


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

    Raise where a table ends above `depth`, or a function does not return one finite number of at least 0 for each rank,
    none of them above the one before.
    """
    if isinstance(discount, tuple):
        if len(discount) < depth:
            raise ValueError(
                f"discount has entries for ranks 1 to {len(discount)}, but the metric looks at {depth} ranks: add the "
                "missing ones, or give a cutoff"
            )
        return np.array(discount[:depth])
    rank = np.arange(1, depth + 1, dtype=np.float64)
    if callable(discount):
        values = called("discount", discount, "rank", rank)
        _check_falling(values, f"discount {getattr(discount, '__name__', repr(discount))!r}")
        return values
    if discount == "none":
        return np.ones(depth)
    if discount == "reciprocal":
        return 1.0 / rank
    if discount == "jk":
        return 1.0 / np.maximum(1.0, _logarithm(rank, base))
    return 1.0 / _logarithm(rank + 1.0, base)


def _logarithm(values: Floats, base: float) -> Floats:
    return np.log2(values) if base == 2 else np.log(values) / np.log(base)


def _check_falling(values: Floats, what: str) -> None:
    """Raise where a discount is not finite, negative, 0 from the start, or rises."""
    bad = ~np.isfinite(values) | (values < 0)
    if bad.any():
        at = int(np.argmax(bad))
        raise ValueError(f"{what} must be finite and not negative, got {values[at]} for rank {at + 1}")
    if values[0] == 0:
        raise ValueError(f"{what} is 0 for rank 1: no rank would count")
    rises = np.diff(values) > 0
    if rises.any():
        at = int(np.argmax(rises)) + 1
        raise ValueError(
            f"{what} rises from {values[at - 1]:g} at rank {at} to {values[at]:g} at rank {at + 1}: a deeper rank must "
            "not be worth more, or the ideal order would not be that of the gains"
        )


def _from_text(text: str) -> Discount:
    try:
        table = [float(part) for part in text.split("/")]
    except ValueError:
        raise ValueError(
            f"discount must be one of {', '.join(map(repr, NAMED))} or a table such as '1/0.5/0.25' (discount of rank "
            f"1, 2, …), got {text!r}{nearest(text, (*NAMED, *FUNCTIONS))}; a function is known by its name once the "
            "module that makes a metric with it is imported"
        ) from None
    return canonical_discount(table)
