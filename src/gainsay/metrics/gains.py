"""Gains of labels and discounts of ranks: formulas with a name, tables and functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._common.arrays import nearest
from .._common.text import format_exact
from .base import NAME, Registry

if TYPE_CHECKING:
    from .._common.typing import Floats

Function = Callable[["Floats"], Any]
Gain = Literal["linear", "exponential", "power"] | tuple[float, ...] | tuple[tuple[float, float], ...] | Function
Discount = Literal["log2", "log", "jk", "reciprocal", "none"] | tuple[float, ...] | Function

GAINS = ("linear", "exponential", "power")
DISCOUNTS = ("log2", "log", "jk", "reciprocal", "none")
DISCOUNTS_WITH_BASE = ("log", "jk")

FUNCTIONS: Mapping[str, Registry[Function]] = {
    "gain": Registry("gain", reserved=GAINS),
    "discount": Registry("discount", reserved=DISCOUNTS),
}
"""Gains and discounts that are functions, by their names."""

MAX_EXPONENT = 960
"""Up to this exponent, 2**l summed over 2**63 documents is finite. Larger gains are scaled query by query."""

CANONICAL_BASES: Mapping[float, Gain] = {1.0: "linear", 2.0: "exponential"}
"""Bases of the power gain that have a name."""


def canonical_gain(gain: Any) -> Gain:
    """Return a gain as an immutable value: a name, a tuple indexed by label, one of (label, gain) pairs, or a function.

    Texts from the name of a metric are accepted: a table, `0/1/3/7` or `0>0/1>1/2>3`, or the name of a function that
    another metric uses.
    """
    if isinstance(gain, str):
        gain = _parse_text("gain", gain, GAINS, "'0/1/3/7' (gain of label 0, 1, …) or '0>0/1>1/4>15' (label>gain)")
    if isinstance(gain, str) or (callable(gain) and not isinstance(gain, type)):
        return gain  # type: ignore[return-value]
    if not isinstance(gain, Mapping | Sequence | np.ndarray):
        raise TypeError(
            "gain must be 'linear', 'exponential', 'power', a table or a mapping of label to gain, or a function of "
            f"labels, got {gain!r}."
        )
    items = list(gain.items() if isinstance(gain, Mapping) else gain)
    if not items:
        raise ValueError(f"gain must have at least one finite entry, got {gain!r}.")
    if all(isinstance(item, Sequence | np.ndarray) and len(item) == 2 for item in items):
        entries: Any = tuple(sorted((float(label), float(value)) for label, value in items))
        if len(dict(entries)) < len(entries):
            raise ValueError(f"gain must have one gain per label, got {gain!r}.")
    else:
        entries = tuple(float(item) for item in items)
    if not np.isfinite(entries).all():
        raise ValueError(f"gain must be finite, got {gain!r}.")
    return entries  # type: ignore[no-any-return]


def canonical_discount(discount: Any) -> Discount:
    """Return a discount as an immutable value: a name, a tuple of the discounts of ranks 1, 2, …, or a function.

    Texts from the name of a metric are accepted: a table, `1/0.5/0.25`, or the name of a function that another metric
    uses.
    """
    if isinstance(discount, str):
        discount = _parse_text("discount", discount, DISCOUNTS, "'1/0.5/0.25' (discount of rank 1, 2, …)")
    if isinstance(discount, str) or (callable(discount) and not isinstance(discount, type)):
        return discount  # type: ignore[return-value]
    if not isinstance(discount, Sequence | np.ndarray):
        raise TypeError(
            f"discount must be one of {', '.join(map(repr, DISCOUNTS))}, a table of the discounts of ranks 1, 2, … or "
            f"a function of ranks, got {discount!r}."
        )
    table = np.array(discount, dtype=np.float64)
    if table.ndim != 1 or len(table) == 0:
        raise ValueError(f"discount must be a table of one number for each rank, got {discount!r}.")
    _validate_discount(table, "discount")
    return tuple(table.tolist())


def _parse_text(option: str, text: str, names: Sequence[str], tables: str) -> Any:
    """Return the gain or discount in the name of a metric: a name, a function, numbers, or (label, gain) pairs."""
    if text in names:
        return text
    if text in FUNCTIONS[option]:
        return FUNCTIONS[option][text]
    parts = text.split("/")
    try:
        if option == "gain" and ">" in text:
            return [(float(label), float(gain)) for label, gain in (part.split(">") for part in parts)]
        return [float(part) for part in parts]
    except ValueError:
        raise ValueError(
            f"{option} must be one of {', '.join(map(repr, names))}, or a table such as {tables}, got {text!r}"
            f"{nearest(text, (*names, *FUNCTIONS[option]))}. Import the module that defines it if it is a function."
        ) from None


def format_option(option: str, value: Gain | Discount) -> str:
    """Return the text of a gain or discount in the name of a metric.

    Raise if the name of a metric cannot contain the name of a function.

    >>> format_option("gain", (0.0, 1.0, 3.5))
    '0/1/3.5'
    """
    if isinstance(value, str):
        return value
    if not callable(value):
        return "/".join(">".join(map(format_exact, item if isinstance(item, tuple) else (item,))) for item in value)
    name = getattr(value, "__name__", None)
    if not isinstance(name, str) or not re.fullmatch(NAME, name):
        kind = "a lambda" if name == "<lambda>" else f"an object without a name ({value!r})"
        raise ValueError(
            f"{option} is {kind}. Pass a name for the metric, as in name='ndcg_custom', or define it with def."
        )
    return name


def exponential(labels: Floats) -> Floats:
    """Return 2^l - 1 with full relative precision, also for fractions."""
    whole = np.exp2(labels) - 1.0
    if (labels == np.floor(labels)).all():
        return whole
    return np.where(np.abs(labels) < 1, np.expm1(labels * np.log(2.0)), whole)


def power(labels: Floats, base: float) -> Floats:
    """Return (b^l - 1)/(b - 1) for a base b above 1 with full relative precision, also for b near 1 and fractions.

    The limit for b = 1 is l, and b = 2 gives 2^l - 1. Grade 1 has gain 1 for every base, and each further grade adds b
    times the increase of the grade before.

    >>> import numpy as np
    >>> power(np.arange(5.0), 3.0)
    array([ 0.,  1.,  4., 13., 40.])
    >>> power(np.array([0.0, 1.0, 4.0]), 1 + 1e-12)
    array([0., 1., 4.])
    """
    growth = labels * np.log1p(base - 1.0)
    with np.errstate(over="ignore"):  # Callers reject or scale labels that overflow.
        gains = np.where(growth < np.log(2.0), np.expm1(growth), raised(base, labels) - 1.0) / (base - 1.0)
    return np.where(labels == 1, 1.0, gains)


def raised(base: float, exponents: Floats) -> Floats:
    """Return base ** exponents."""
    powers: Floats = np.exp2(exponents) if base == 2 else np.power(base, exponents)
    return powers


def magnitude(labels: Floats, base: float) -> Floats:
    """Return the approximate logarithm to base 2 of the power gain of large labels, which is l for base 2."""
    size: Floats = labels * np.log2(base) - np.log2(min(base - 1.0, 1.0))
    return size


def gains_of(gain: Gain, labels: Floats, gain_base: float | None = None) -> Floats:
    """Return the gain of each of the distinct, ascending labels. `gain_base` is the base of the power gain.

    Raise if a table has no entry for a label, or a function does not return one finite gain of at least 0 per label.
    """
    if gain == "linear":
        return labels
    if gain == "exponential":
        return exponential(labels)
    if gain == "power":
        assert gain_base is not None
        return power(labels, gain_base)
    if callable(gain):
        return _call_function("gain", gain, "label", labels)
    entries: dict[float, float] = dict(
        item if isinstance(item, tuple) else (float(label), item) for label, item in enumerate(gain)
    )
    missing = [label for label in labels.tolist() if label not in entries]
    if missing:
        raise ValueError(
            f"gain has no entry for label {format_exact(missing[0])}, only for "
            f"{', '.join(map(format_exact, entries))}. Add the missing labels."
        )
    return np.array([entries[label] for label in labels.tolist()])


def at_bases(labels: Floats, bases: Sequence[float]) -> list[Floats | None]:
    """Return the power gains of distinct labels above 0 at each base, or None for a base at which some overflow.

    >>> import numpy as np
    >>> at_bases(np.array([1.0, 2.0, 3.0]), [1.0, 3.0])
    [array([1., 2., 3.]), array([ 1.,  4., 13.])]
    """
    overflows = [base > 1 and len(labels) and magnitude(labels[-1:], base)[0] > MAX_EXPONENT for base in bases]
    return [
        None if overflow else gains_of(CANONICAL_BASES.get(base, "power"), labels, base)
        for base, overflow in zip(bases, overflows, strict=True)
    ]


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

    Raise if a table is shorter than `depth`, or a function does not return one finite, nonnegative and nonincreasing
    number per rank.
    """
    if isinstance(discount, tuple):
        if len(discount) < depth:
            raise ValueError(
                f"discount has entries for ranks 1 to {len(discount)}, but the metric needs {depth} ranks. Add the "
                "missing entries, or pass a cutoff."
            )
        return np.array(discount[:depth])
    rank = np.arange(1, depth + 1, dtype=np.float64)
    if callable(discount):
        values = _call_function("discount", discount, "rank", rank)
        _validate_discount(values, f"discount {getattr(discount, '__name__', repr(discount))!r}")
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


def _validate_discount(values: Floats, name: str) -> None:
    """Raise if a discount is not finite, negative, 0 for rank 1, or increasing."""
    invalid = ~np.isfinite(values) | (values < 0)
    if invalid.any():
        row = int(np.argmax(invalid))
        raise ValueError(f"{name} must be finite and not negative, got {values[row]} for rank {row + 1}.")
    if values[0] == 0:
        raise ValueError(f"{name} must not be 0 for rank 1, because then no rank counts.")
    increasing = np.diff(values) > 0
    if increasing.any():
        rank = int(np.argmax(increasing)) + 1
        raise ValueError(
            f"{name} must not increase, got {values[rank - 1]:g} for rank {rank} and {values[rank]:g} for rank "
            f"{rank + 1}. Otherwise the ideal order would not be the order of the gains."
        )


def _call_function(option: str, function: Function, argument: str, arguments: Floats) -> Floats:
    """Return the gains of labels or the discounts of ranks, or raise if a function does not return one for each."""
    name = f"{option} {getattr(function, '__name__', repr(function))!r}"
    first = f"{argument}s {', '.join(map(format_exact, arguments[:6].tolist()))}{', …' if len(arguments) > 6 else ''}"
    try:
        values = np.asarray(function(arguments.copy()), dtype=np.float64)
    except Exception as error:
        raise ValueError(
            f"{name} failed on the {first}: {type(error).__name__}: {error}. It must accept an array of {argument}s "
            "and return an array of the same length."
        ) from error
    if values.shape != arguments.shape:
        raise ValueError(
            f"{name} must return one number per {argument}, got shape {values.shape} for {len(arguments)} {argument}s "
            f"({first})."
        )
    invalid = ~np.isfinite(values) | (values < 0)
    if invalid.any():
        row = int(np.argmax(invalid))
        raise ValueError(
            f"{name} must return finite numbers of at least 0, got {values[row]} for {argument} "
            f"{format_exact(arguments[row])}."
        )
    if len(arguments) > 1:
        for row in (0, len(arguments) - 1):
            alone = _call_function(option, function, argument, arguments[row : row + 1])
            if not np.isclose(values[row], alone[0], rtol=1e-9, atol=0.0):
                raise ValueError(
                    f"{name} must depend on the {argument} only, but returned {values[row]:g} for {argument} "
                    f"{format_exact(arguments[row])} among others and {alone[0]:g} alone."
                )
    return values
