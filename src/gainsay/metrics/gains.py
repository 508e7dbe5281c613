"""What a document of a given label is worth: linear, exponential, between the two, or a table or function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._common.arrays import nearest
from .._common.words import number_text
from .called import called, checked_name
from .registry import Registry

if TYPE_CHECKING:
    from .._common.typing import Floats

Function = Callable[["Floats"], Any]
Gain = Literal["linear", "exponential", "power"] | tuple[float, ...] | tuple[tuple[float, float], ...] | Function

NAMED = ("linear", "exponential", "power")

FUNCTIONS: Registry[Function] = Registry("gain", reserved=NAMED)
"""Gains that are functions, by their names."""

LARGEST_EXPONENT = 960
"""2**l summed over 2**63 documents stays finite up to here; above, gains are scaled query by query."""

CANONICAL_BASES: Mapping[float, Gain] = {1.0: "linear", 2.0: "exponential"}
"""At these bases the power gain has a name of its own."""


def canonical_gain(gain: Any) -> Gain:
    """Return a gain as an immutable value: a name, a tuple indexed by label, one of (label, gain) pairs, or a function.

    Accepts the text of a gain as it stands in a metric's name: a table, `0/1/3/7` or `0>0/1>1/2>3`, or the name of a
    function that some metric was made with.
    """
    if isinstance(gain, str):
        if gain in NAMED:
            return gain  # type: ignore[return-value]
        return FUNCTIONS[gain] if gain in FUNCTIONS else _from_text(gain)
    if callable(gain) and not isinstance(gain, type):
        function: Function = gain
        return function
    if isinstance(gain, Mapping):
        return _finite(tuple(sorted((float(label), float(value)) for label, value in gain.items())), gain)
    if isinstance(gain, Sequence | np.ndarray):
        items = list(gain)
        if items and all(isinstance(item, Sequence | np.ndarray) and len(item) == 2 for item in items):
            return canonical_gain(_mapping(items))
        return _finite(tuple(float(item) for item in items), gain)
    raise TypeError(
        "gain must be 'linear', 'exponential', 'power', a table or a mapping of label to gain, or a function of "
        f"labels, got {gain!r}"
    )


def gain_text(gain: Gain) -> str:
    """Return how a gain is written in a metric's name."""
    if isinstance(gain, str):
        return gain
    if callable(gain):
        return checked_name("gain", gain)
    return "/".join(">".join(map(number_text, item)) if isinstance(item, tuple) else number_text(item) for item in gain)


def exponential(labels: Floats) -> Floats:
    """Return 2^l - 1, to full relative precision for fractions too."""
    whole = np.exp2(labels) - 1.0
    if (labels == np.floor(labels)).all():
        return whole
    return np.where(np.abs(labels) < 1, np.expm1(labels * np.log(2.0)), whole)


def power(labels: Floats, base: float) -> Floats:
    """Return (b^l - 1)/(b - 1) for a base b above 1, to full relative precision for b near 1 and for fractions too.

    The limit for b = 1 is l, and b = 2 gives 2^l - 1. A document of grade 1 is worth 1 whatever the base, and each
    further grade adds b times what the one before added.

    >>> import numpy as np
    >>> power(np.arange(5.0), 3.0)
    array([ 0.,  1.,  4., 13., 40.])
    >>> power(np.array([0.0, 1.0, 4.0]), 1 + 1e-12)
    array([0., 1., 4.])
    """
    growth = labels * np.log1p(base - 1.0)
    with np.errstate(over="ignore"):  # where it matters, larger labels are refused or scaled beforehand
        gains = np.where(growth < np.log(2.0), np.expm1(growth), raised(base, labels) - 1.0) / (base - 1.0)
    return np.where(labels == 1, 1.0, gains)


def raised(base: float, exponents: Floats) -> Floats:
    """Return base ** exponents."""
    found: Floats = np.exp2(exponents) if base == 2 else np.power(base, exponents)
    return found


def magnitude(labels: Floats, base: float) -> Floats:
    """Return about the logarithm to base 2 of the power gain of large labels: l itself for base 2."""
    size: Floats = labels * np.log2(base) - np.log2(min(base - 1.0, 1.0))
    return size


def gains_of(gain: Gain, labels: Floats, gain_base: float | None = None) -> Floats:
    """Return the gain of each label; labels are distinct and ascend. `gain_base` is for the power gain.

    Raise where a table has no entry for a label, or a function does not return one finite gain of at least 0 for each.
    """
    if gain == "linear":
        return labels
    if gain == "exponential":
        return exponential(labels)
    if gain == "power":
        assert gain_base is not None
        return power(labels, gain_base)
    if callable(gain):
        return called("gain", gain, "label", labels)
    entries: dict[float, float] = dict(
        item if isinstance(item, tuple) else (float(at), item) for at, item in enumerate(gain)
    )
    missing = [label for label in labels.tolist() if label not in entries]
    if missing:
        known = ", ".join(number_text(label) for label in entries)
        raise ValueError(
            f"gain has no entry for label {number_text(missing[0])}; it has entries for {known}: add the missing labels"
        )
    return np.array([entries[label] for label in labels.tolist()])


def at_bases(labels: Floats, bases: Sequence[float]) -> list[Floats | None]:
    """Return the power gain of each label at each base, that of distinct labels above 0; None where some overflow.

    >>> import numpy as np
    >>> at_bases(np.array([1.0, 2.0, 3.0]), [1.0, 3.0])
    [array([1., 2., 3.]), array([ 1.,  4., 13.])]
    """

    def at(base: float) -> Floats | None:
        if base > 1 and len(labels) and magnitude(labels[-1:], base)[0] > LARGEST_EXPONENT:
            return None
        return gains_of(CANONICAL_BASES.get(base, "power"), labels, base)

    return [at(base) for base in bases]


def _from_text(text: str) -> Gain:
    try:
        parts = text.split("/")
        if ">" in text:
            return canonical_gain(_mapping([tuple(map(float, part.split(">"))) for part in parts]))
        return canonical_gain(tuple(map(float, parts)))
    except ValueError:
        raise ValueError(
            "gain must be 'linear', 'exponential', 'power', a table such as '0/1/3/7' (gain of label 0, 1, …) or a "
            f"mapping such as '0>0/1>1/4>15' (label>gain), got {text!r}{nearest(text, (*NAMED, *FUNCTIONS))}; a "
            "function is known by its name once the module that makes a metric with it is imported"
        ) from None


def _mapping(pairs: list[Any]) -> dict[Any, Any]:
    """Return (label, gain) pairs as a mapping, or raise where a label has two gains."""
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise ValueError(f"gain must give each label once, got {pairs!r}")
    return mapping


def _finite(entries: Any, original: Any) -> Gain:
    flat = np.array(entries, dtype=float).ravel()
    if len(flat) == 0 or not np.isfinite(flat).all():
        raise ValueError(f"gain must hold at least one entry, all of them finite, got {original!r}")
    return entries  # type: ignore[no-any-return]
