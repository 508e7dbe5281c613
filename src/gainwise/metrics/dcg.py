"""Discounted cumulated gain: DCG and NDCG, with gains of labels and discounts of ranks.

Both can be formulas with a name, tables and functions.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from .._common.arrays import nearest
from .._common.text import format_exact
from .._common.validation import NAME, validate_real
from ..ranking import compiled
from ..ranking.rows import ideal_rows, sums_at, table_of
from .base import LabelStatistics, Metric, Registry, max_depth, origin_of

if TYPE_CHECKING:
    from .._common.typing import Floats
    from ..judgments import Judgments
    from ..ranking.compiled import Formula
    from ..ranking.rows import RankedRows

Function = Callable[["Floats"], Any]
Gain = (
    Literal["linear", "exponential", "binary", "power"] | tuple[float, ...] | tuple[tuple[float, float], ...] | Function
)
Discount = Literal["log2", "log", "jk", "reciprocal", "none"] | tuple[float, ...] | Function

GAINS = ("linear", "exponential", "binary", "power")
DISCOUNTS = ("log2", "log", "jk", "reciprocal", "none")
DISCOUNTS_WITH_BASE = ("log", "jk")

FUNCTIONS: Mapping[str, Registry[Function]] = {
    "gain": Registry("gain", reserved=GAINS),
    "discount": Registry("discount", reserved=DISCOUNTS),
}
"""Gains and discounts that are functions, by their names."""

MAX_GAIN = 2.0**960
"""The sum of this gain over 2**63 documents is finite."""

CANONICAL_BASES: Mapping[float, Gain] = {1.0: "linear", 2.0: "exponential"}
"""Bases of the power gain that have a name."""


@dataclass(frozen=True, eq=False, slots=True)
class DiscountedGains:
    """Gain by label code and discount by rank."""

    table: Floats
    discount: Floats

    def sums(self, rows: RankedRows, cutoffs: Sequence[int | None]) -> Floats:
        """Return DCG of each row at each cutoff."""
        depth = max_depth(cutoffs, rows.width)
        return sums_at(rows.look_up(self.table, depth) * self.discount[:depth], cutoffs)

    def of(self, rows: RankedRows, depth: int) -> Floats:
        """Return the gain of the document at each of the first `depth` ranks, without averaging ties."""
        return np.take(self.table, rows.codes[:, :depth])


@dataclass(frozen=True, eq=False)
class GainStatistics(LabelStatistics):
    """Gains and discounts, and the ideal DCG by query and cutoff."""

    gains: DiscountedGains
    ideal: Floats


@dataclass(frozen=True, kw_only=True)
class DCG(Metric):
    """Discounted cumulated gain: DCG@k = sum over ranks r <= k of gain(label at r) * discount(r).

    Without a discount, it is the cumulated gain CG of Järvelin & Kekäläinen 2002: `cg` and `cg_exp`.

    Parameters
    ----------
    gain : {"linear", "exponential", "binary", "power"}, table, mapping or function
        l, 2^l - 1, 1 for a label above 0, (b^l - 1)/(b - 1), a sequence indexed by label (LightGBM's `label_gain`), a
        mapping of label to gain, or a function that receives an array of distinct labels and returns the gain of each.
        The gain has no default, because libraries use the name NDCG for both.
    gain_base : float, optional
        Base b of the power gain, 1 or more. Each grade adds b times the increase of the grade below. Base 1 (the limit)
        is the linear gain and base 2 the exponential gain.
    discount : {"log2", "log", "jk", "reciprocal", "none"}, table or function
        1/log2(r+1), 1/log_b(r+1), 1/max(1, log_b r), 1/r, 1, a sequence of the discounts of ranks 1, 2, …, or a
        function that receives an array of ranks and returns the discount of each. Discounts must not be negative and
        not increase.
    base : float, default 2
        Base b of the logarithm for "log" and "jk".
    k, ties, empty, scores, weights, column, name
        See `Metric`. The name of a function is part of the metric's name, as in `ndcg(gain=squared)@10`. A lambda
        requires `name`, and a metric with a lambda cannot be pickled.

    See Also
    --------
    gainwise.NDCG : The same sum, divided by that of the ideal order.

    References
    ----------
    Järvelin & Kekäläinen 2002, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4).
    Burges et al. 2005, Learning to rank using gradient descent, ICML.

    Examples
    --------
    >>> import gainwise as gw
    >>> print(gw.DCG(gain="exponential", k=4))
    dcg_exp@4
    >>> print(gw.DCG(gain="power", gain_base=1.5, k=4), gw.DCG(gain="power", gain_base=2))
    dcg_power(gain_base=1.5)@4 dcg_exp
    >>> print(gw.DCG(gain=lambda labels: labels**2, discount=[1, 0.5, 0.25], name="dcg_squared", k=3))
    dcg_squared@3
    """

    gain: Any
    gain_base: float | None = None
    discount: Discount = "log2"
    base: float = 2.0

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "dcg": {},
        "dcg_linear": {"gain": "linear"},
        "dcg_exp": {"gain": "exponential"},
        "dcg_power": {"gain": "power"},
        "dcg_jk": {"gain": "linear", "discount": "jk"},
        "cg": {"gain": "linear", "discount": "none"},
        "cg_exp": {"gain": "exponential", "discount": "none"},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        gain, gain_base = self._canonical_gain()
        discount = canonical_discount(self.discount)
        base = validate_real("base", self.base, 1.0)
        if base in (1, np.inf):
            raise ValueError(f"base must be finite and above 1, because it is the base of a logarithm, got {base:g}.")
        if discount in ("log2", "log"):
            discount = "log2" if base == 2 else "log"
        if base != 2 and discount not in DISCOUNTS_WITH_BASE:
            raise ValueError(f"base={base:g} has no effect with discount={discount!r}. Omit it.")
        self._set(gain=gain, gain_base=gain_base, discount=discount, base=base)
        self._register_name()
        for option, function in self._functions().items() if self.name is None else ():
            FUNCTIONS[option].add(self.option_text(option), function, origin_of(function))

    def _canonical_gain(self) -> tuple[Gain, float | None]:
        """Return the canonical gain, and the base of a power gain unless it is 1 (linear) or 2 (exponential)."""
        gain = canonical_gain(self.gain)
        if gain != "power":
            if self.gain_base is not None:
                raise ValueError(f"gain_base={self.gain_base!r} has no effect without gain='power'. Omit it.")
            return gain, None
        if self.gain_base is None:
            raise ValueError("gain='power' requires gain_base, for example gain_base=1.5 (1: linear, 2: exponential).")
        base = validate_real("gain_base", self.gain_base, 1.0)
        if base == np.inf:
            raise ValueError("gain_base must be finite, because otherwise only the highest grade counts.")
        return (CANONICAL_BASES[base], None) if base in CANONICAL_BASES else ("power", base)

    def _functions(self) -> dict[str, Any]:
        return {option: getattr(self, option) for option in ("gain", "discount") if callable(getattr(self, option))}

    def option_text(self, option: str) -> str:
        """Return the text of an option in the name of the metric.

        Raise if it is a function whose name the name of a metric cannot contain.

        >>> NDCG(gain=(0, 1, 3.5)).option_text("gain")
        '0/1/3.5'
        """
        value = getattr(self, option)
        if isinstance(value, tuple):
            return "/".join(">".join(map(format_exact, item if isinstance(item, tuple) else (item,))) for item in value)
        if not callable(value):
            return super().option_text(option)
        name = getattr(value, "__name__", None)
        if not isinstance(name, str) or not re.fullmatch(NAME, name):
            kind = "a lambda" if name == "<lambda>" else f"an object without a name ({value!r})"
            raise ValueError(
                f"{option} is {kind}. Pass a name for the metric, as in name='ndcg_custom', or define it with def."
            )
        return name

    def value_range(self, judgments: Judgments) -> tuple[float, float]:
        """Return 0, and 1 for a ratio to the ideal. DCG has no upper bound.

        Negative gains have no bounds, because documents that were not retrieved may increase DCG above its
        ideal.

        Examples
        --------
        >>> import gainwise as gw
        >>> judgments = gw.Judgments([2, 0, 1], group=[3])
        >>> [metric.value_range(judgments) for metric in gw.parse_metrics(["ndcg_exp@10", "dcg_exp@10"])]
        [(0.0, 1.0), (0.0, inf)]
        """
        gains = judgments.levels if isinstance(self.gain, str) else gains_of(self.gain, judgments.levels)
        if gains.min() < 0:
            return -np.inf, np.inf
        return 0.0, 1.0 if self.is_ratio else np.inf

    def bind(self, judgments: Judgments, cutoffs: Sequence[int | None]) -> GainStatistics:
        """Compute gains, discounts and ideals, or raise if the gain does not support the labels."""
        gains = self._gains(judgments, cutoffs)
        levels, queries = len(judgments.levels), judgments.queries
        by_label = gains.table[:levels]
        by = None if (np.diff(by_label) >= 0).all() else np.argsort(np.argsort(by_label, kind="stable"))
        ideal = np.zeros((queries, len(cutoffs)))
        has_gain = np.zeros((queries, 1), dtype=bool)
        for block in judgments.layout.blocks:
            rows = ideal_rows(block, levels, by)
            ideal[rows.queries] = gains.sums(rows, cutoffs)
            if not self.is_ratio:
                has_gain[rows.queries, 0] = (gains.table != 0)[rows.codes].any(axis=1)
        # Negative labels may give an ideal below 0, which cannot normalize anything, as 0.
        return GainStatistics(empty=ideal <= 0 if self.is_ratio else ~has_gain, gains=gains, ideal=ideal)

    def score(self, rows: RankedRows, statistics: GainStatistics, cutoffs: Sequence[int | None]) -> Floats:
        """Return DCG or NDCG at each cutoff."""
        sums = statistics.gains.sums(rows, cutoffs)
        if not self.is_ratio:
            return sums
        with np.errstate(divide="ignore", invalid="ignore"):
            return sums / np.take(statistics.ideal, rows.queries, axis=0)

    def formula(self, statistics: GainStatistics, cutoffs: Sequence[int | None]) -> Formula | None:
        """Return the sum of gain times discount, divided by the ideal if it is a ratio."""
        divisors = statistics.ideal if self.is_ratio else 1.0
        return compiled.sum_of_gains(statistics.gains.table, statistics.gains.discount, divisors)

    is_ratio: ClassVar[bool] = False
    """Whether the sum is divided by the ideal of its query."""

    @property
    def is_sum_over_documents(self) -> bool:
        """Whether the value is a sum of gain times discount, which a subclass may change."""
        original = NDCG if isinstance(self, NDCG) else DCG
        attributes = ("subject", "bind", "score", "is_ratio", "_gains")
        cls = type(self)
        return all(inspect.getattr_static(cls, name) is inspect.getattr_static(original, name) for name in attributes)

    @property
    def meaning(self) -> str:
        """The description of a custom metric, or of the functions of a built-in metric."""
        parts = []
        for option, function in self._functions().items():
            first = (inspect.getdoc(function) or "").partition("\n")[0]
            parts.append(f"{option} {'.'.join(origin_of(function))}{f' ({first})' if first else ''}")
        kind = "NDCG" if isinstance(self, NDCG) else "DCG"
        return super().meaning or (f"{kind} with {' and '.join(parts)}." if parts else "")

    def _gains(self, judgments: Judgments, cutoffs: Sequence[int | None]) -> DiscountedGains:
        """Return gains and discounts for the labels, or raise if the gain does not support them."""
        levels = judgments.levels
        depth = max((max_depth(cutoffs, block.width) for block in judgments.layout.blocks), default=1)
        discount = discounts(self.discount, self.base, depth)
        if self.gain in ("exponential", "power") and levels[0] < 0:
            formula = "2^l - 1" if self.gain == "exponential" else "(b^l - 1)/(b - 1)"
            raise ValueError(
                f"{self} does not support negative labels (lowest: {levels[0]:g}), because the gain is {formula}. "
                "Use linear gain, or pass negative_labels='zero' to Judgments."
            )
        gains = gains_of(self.gain, levels, self.gain_base)
        too_large = np.abs(gains) > MAX_GAIN
        if too_large.any():
            label = levels[too_large].max()
            query = judgments.query_of_row(int(np.argmax(judgments.labels == label)))
            raise ValueError(
                f"labels must have gains of at most 2^960 for {self}, because larger ones overflow, got label "
                f"{label:g} (query {query}). Divide the labels, or pass your own gain."
            )
        return DiscountedGains(table_of(gains), discount)


@dataclass(frozen=True, kw_only=True)
class NDCG(DCG):
    """Normalized discounted cumulated gain: NDCG@k = DCG@k / IDCG@k.

    IDCG@k is the DCG of all judged documents of the query in ideal order, cut at k. With gains that are not negative,
    NDCG is between 0 and 1. Choose the gain by what your labels mean: linear gain rewards many fair results,
    exponential gain a single excellent one.

    =============  ==================  ===================  ====================================================
    name           gain                discount             called NDCG by
    =============  ==================  ===================  ====================================================
    ndcg_linear    l                   1/log2(r+1)          scikit-learn, trec_eval, torchmetrics, CatBoost
    ndcg_exp       2^l - 1             1/log2(r+1)          LightGBM, XGBoost, CatBoost `type=Exp`
    ndcg_power     (b^l - 1)/(b - 1)   1/log2(r+1)          the family of the two above: b = 1 and b = 2
    ndcg_jk        l                   1/max(1, log_b r)    Järvelin & Kekäläinen 2002
    =============  ==================  ===================  ====================================================

    Parameters
    ----------
    gain, gain_base, discount, base
        See `DCG`.
    k, ties, empty, scores, weights, column, name
        See `Metric`. `empty` determines the value of a query without relevant documents, whose IDCG is 0.

    See Also
    --------
    gainwise.DCG : The sum before the division, and the options of gain and discount.
    gainwise.parse_metrics : Create metrics from names such as ``ndcg_exp@10``.
    gainwise.disagreement_bound : How far linear and exponential NDCG can disagree on given labels.

    References
    ----------
    Järvelin & Kekäläinen 2002, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4).
    Burges et al. 2005, Learning to rank using gradient descent, ICML.

    Examples
    --------
    >>> import gainwise as gw
    >>> metric = gw.NDCG(gain="exponential", k=10, ties="order")
    >>> print(metric)
    ndcg_exp(ties=order)@10
    >>> gw.parse_metrics(str(metric)) == (metric,)
    True
    """

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        f"n{name}": options for name, options in DCG.names.items() if name.startswith("dcg")
    }

    is_ratio = True


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
            "gain must be 'linear', 'exponential', 'binary', 'power', a table or a mapping of label to gain, or a "
            f"function of labels, got {gain!r}."
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


def has_exponential_gain(levels: Floats) -> bool:
    """Return whether the exponential gain supports these labels, which are ascending."""
    return bool(levels[0] >= 0 and levels[-1] <= np.log2(MAX_GAIN))


def exponential(labels: Floats) -> Floats:
    """Return 2^l - 1 with full relative precision, also for fractions."""
    with np.errstate(over="ignore"):  # Callers reject gains that overflow.
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
    with np.errstate(over="ignore"):  # Callers reject gains that overflow.
        powers = np.exp2(labels) if base == 2 else np.power(base, labels)
        gains = np.where(growth < np.log(2.0), np.expm1(growth), powers - 1.0) / (base - 1.0)
    return np.where(labels == 1, 1.0, gains)


def gains_of(gain: Gain, labels: Floats, gain_base: float | None = None) -> Floats:
    """Return the gain of each of the distinct, ascending labels. `gain_base` is the base of the power gain.

    Raise if a table has no entry for a label, or a function does not return one finite gain of at least 0 per label.
    """
    if gain == "linear":
        return labels
    if gain == "exponential":
        return exponential(labels)
    if gain == "binary":
        return (labels > 0).astype(np.float64)
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
    gains = [gains_of(CANONICAL_BASES.get(base, "power"), labels, base) for base in bases]
    return [None if (values > MAX_GAIN).any() else values for values in gains]


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
    values = np.asarray(function(arguments.copy()), dtype=np.float64)
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
