"""Discounted cumulated gain: DCG and NDCG."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._common.validation import validate_real
from ..ranking import compiled
from ..ranking.rows import ideal_rows, sums_at, table_of
from .base import METRICS, LabelStatistics, Metric, max_depth, origin_of
from .gains import (
    CANONICAL_BASES,
    DISCOUNTS_WITH_BASE,
    FUNCTIONS,
    MAX_EXPONENT,
    Discount,
    Gain,
    canonical_discount,
    canonical_gain,
    discounts,
    exponential,
    format_option,
    gains_of,
    magnitude,
    power,
    raised,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Floats
    from ..judgments import Judgments
    from ..ranking.compiled import Formula
    from ..ranking.rows import RankedRows


_SCALE_EXPONENT = 64
"""Huge gains are divided by this power of two, so that sums over as many documents are finite."""


@dataclass(frozen=True, eq=False, slots=True)
class DiscountedGains:
    """Gain by label code and discount by rank.

    If b^l overflows for some label (b is `base`), the table contains the labels, and `top` the exponent that scales
    the gains of each query: its highest label, or 0 if this label needs no scaling. Without overflow, `top` is not set.
    """

    table: Floats
    discount: Floats
    top: Floats | None = None
    base: float = 2.0

    def sums(self, rows: RankedRows, cutoffs: Sequence[int | None]) -> Floats:
        """Return DCG of each row at each cutoff, divided by b^top / (b - 1) if gains are scaled."""
        width = rows.codes.shape[1]
        depth = max_depth(cutoffs, width)
        if self.top is None:
            gains = rows.look_up(self.table, depth)
        else:
            gains = self.of(rows, width)
            gains = (gains if rows.tie_groups is None else rows.tie_groups.mean(gains))[:, :depth]
        return sums_at(gains * self.discount[:depth], cutoffs)

    def of(self, rows: RankedRows, depth: int) -> Floats:
        """Return the gain of the document at each of the first `depth` ranks, without averaging ties."""
        labels = np.take(self.table, rows.codes[:, :depth])
        if self.top is None:
            return labels  # The table contains gains.
        top = self.top[rows.queries, None]
        with np.errstate(under="ignore"):
            scaled = raised(self.base, labels - top) - raised(self.base, -top)
        own = np.where(top > 0, 0.0, labels)
        return np.where(top > 0, scaled, exponential(own) if self.base == 2 else power(own, self.base))


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
    gain : {"linear", "exponential", "power"}, table, mapping or function
        l, 2^l - 1, (b^l - 1)/(b - 1), a sequence indexed by label (LightGBM's `label_gain`), a mapping of label to
        gain, or a function that receives an array of distinct labels and returns the gain of each. The gain has
        no default, because libraries use the name NDCG for both.
    gain_base : float, optional
        Base b of the power gain, 1 or more. Each grade adds b times the increase of the grade below. Base 1 (the limit)
        is the linear gain and base 2 the exponential gain.
    discount : {"log2", "log", "jk", "reciprocal", "none"}, table or function
        1/log2(r+1), 1/log_b(r+1), 1/max(1, log_b r), 1/r, 1, a sequence of the discounts of ranks 1, 2, …, or a
        function that receives an array of ranks and returns the discount of each. Discounts must not be negative and
        not increase.
    base : float, default 2
        Base b of the logarithm for "log" and "jk".
    name : str, optional
        Name of a metric whose gain or discount is a function. Defaults to the name of the function, as in
        `ndcg(gain=squared)@10`. A lambda requires a name, and a metric with a lambda cannot be pickled.
    k, ties, empty, scores, weights
        See `Metric`.

    References
    ----------
    Järvelin & Kekäläinen 2002, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4).
    Burges et al. 2005, Learning to rank using gradient descent, ICML.

    Examples
    --------
    >>> import gainsay as gs
    >>> print(gs.DCG(gain="exponential", k=4))
    dcg_exp@4
    >>> print(gs.DCG(gain="power", gain_base=1.5, k=4), gs.DCG(gain="power", gain_base=2))
    dcg_power(gain_base=1.5)@4 dcg_exp
    >>> print(gs.DCG(gain=lambda labels: labels**2, discount=[1, 0.5, 0.25], name="dcg_squared", k=3))
    dcg_squared@3
    """

    gain: Any
    gain_base: float | None = None
    discount: Discount = "log2"
    base: float = 2.0
    name: str | None = None

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
        self._register_functions()

    def _canonical_gain(self) -> tuple[Gain, float | None]:
        """Return the canonical gain, and the base of a power gain unless it is 1 (linear) or 2 (exponential)."""
        gain = canonical_gain(self.gain)
        if gain != "power":
            if self.gain_base is not None:
                raise ValueError(
                    f"gain_base={self.gain_base!r} has no effect with gain={format_option('gain', gain)}, only with "
                    "gain='power'. Omit it."
                )
            return gain, None
        if self.gain_base is None:
            raise ValueError("gain='power' requires gain_base, for example gain_base=1.5 (1: linear, 2: exponential).")
        base = validate_real("gain_base", self.gain_base, 1.0)
        if base == np.inf:
            raise ValueError("gain_base must be finite, because otherwise only the highest grade counts.")
        return (CANONICAL_BASES[base], None) if base in CANONICAL_BASES else ("power", base)

    def _register_functions(self) -> None:
        """Register the metric by its `name`, or otherwise its functions by theirs."""
        functions = self._functions()
        if self.name is None:
            for option, function in functions.items():
                FUNCTIONS[option].add(self.option_text(option), function, origin_of(function))
            return
        if not isinstance(self.name, str):
            raise TypeError(f"name must be a string, got {self.name!r}.")
        if not functions:
            raise ValueError(f"name={self.name!r} requires a gain or discount that is a function. Omit it.")
        origin = (*origin_of(type(self)), *(part for function in functions.values() for part in origin_of(function)))
        METRICS.add(self.name, (type(self), self._name()[1]), origin)

    def _functions(self) -> dict[str, Any]:
        return {option: getattr(self, option) for option in ("gain", "discount") if callable(getattr(self, option))}

    def _name(self) -> tuple[str, Mapping[str, Any]]:
        if self.name is None:
            return super()._name()
        return self.name, {
            option: getattr(self, option) for option in ("gain", "gain_base", "discount", "base", "name")
        }

    def option_text(self, option: str) -> str:
        """Return the text of an option in the name of the metric."""
        if option in ("gain", "discount"):
            return format_option(option, getattr(self, option))
        return super().option_text(option)

    def value_range(self, judgments: Judgments) -> tuple[float, float]:
        """Return 0, and 1 for a ratio to the ideal. DCG has no upper bound.

        Negative gains have no bounds, because documents that were not retrieved may increase DCG above its
        ideal.

        Examples
        --------
        >>> import gainsay as gs
        >>> judgments = gs.Judgments([2, 0, 1], group=[3])
        >>> [metric.value_range(judgments) for metric in gs.parse_metrics(["ndcg_exp@10", "dcg_exp@10"])]
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
            if gains.top is not None:
                highest = judgments.levels[rows.codes[:, 0]]
                gains.top[rows.queries] = np.where(magnitude(highest, gains.base) > MAX_EXPONENT, highest, 0.0)
            ideal[rows.queries] = gains.sums(rows, cutoffs)
            if not self.is_ratio:
                has_gain[rows.queries, 0] = (gains.table != 0)[rows.codes].any(axis=1)
        # Negative labels may give an ideal below 0, which cannot normalize anything, as 0.
        return GainStatistics(empty=ideal <= 0 if self.is_ratio else ~has_gain, gains=gains, ideal=ideal)

    def score(self, rows: RankedRows, statistics: GainStatistics, cutoffs: Sequence[int | None]) -> Floats:
        """Return DCG at each cutoff."""
        return statistics.gains.sums(rows, cutoffs)

    def formula(self, statistics: GainStatistics, cutoffs: Sequence[int | None]) -> Formula | None:
        """Return the sum of gain times discount, or None if gains are scaled by query."""
        return (
            None
            if statistics.gains.top is not None
            else compiled.gains(statistics.gains.table, statistics.gains.discount)
        )

    is_ratio: ClassVar[bool] = False
    """Whether the sum is divided by the ideal of its query."""

    @property
    def is_sum_over_documents(self) -> bool:
        """Whether the value is a sum of gain times discount, which a subclass may change."""
        original = NDCG if isinstance(self, NDCG) else DCG
        attributes = ("subject", "bind", "score", "is_ratio", "_gains", "_finite")
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
        if self.gain not in ("exponential", "power"):
            return DiscountedGains(table_of(self._finite(gains_of(self.gain, levels))), discount)
        base = 2.0 if self.gain_base is None else self.gain_base
        if levels[0] < 0:
            formula = "2^l - 1" if base == 2 else "(b^l - 1)/(b - 1)"
            raise ValueError(
                f"{self} does not support negative labels (lowest: {levels[0]:g}), because the gain is {formula}. "
                "Use linear gain, or pass negative_labels='zero' to Judgments."
            )
        if magnitude(levels[-1:], base)[0] <= MAX_EXPONENT:
            return DiscountedGains(table_of(gains_of(self.gain, levels, self.gain_base)), discount)
        if not self.is_ratio:
            raise ValueError(
                f"{self} overflows, because {base:g}^{levels[-1]:g} - 1 is too large for a float. Use "
                f"{'ndcg_exp' if base == 2 else 'ndcg_power'}, which is a ratio and finite, or a gain table."
            )
        return DiscountedGains(table_of(levels), discount, np.zeros(judgments.queries), base)

    def _finite(self, gains: Floats) -> Floats:
        """Return gains with finite sums. The huge gains of a ratio are divided by a power of two, which is exact.

        Raise if that loses the digits of a small gain, or if the metric is not a ratio and would overflow.
        """
        largest = float(np.abs(gains).max(initial=0.0))
        if largest <= 2.0**MAX_EXPONENT:
            return gains
        if not self.is_ratio:
            raise ValueError(
                f"{self} overflows, because a gain of {largest:g} is too large to sum. Use ndcg_linear, which is a "
                "ratio and finite, or divide the labels."
            )
        with np.errstate(under="ignore"):
            scaled = np.ldexp(gains, -_SCALE_EXPONENT)
        if (np.ldexp(scaled, _SCALE_EXPONENT) != gains).any():
            smallest = float(np.abs(gains[gains != 0]).min())
            raise ValueError(
                f"{self} cannot sum gains of {largest:g} and of {smallest:g} in one float. Rescale the labels."
            )
        return scaled


@dataclass(frozen=True, kw_only=True)
class NDCG(DCG):
    """Normalized discounted cumulated gain: NDCG@k = DCG@k / IDCG@k.

    IDCG@k is the DCG of all judged documents of the query in ideal order, cut at k. Exponential and power gains are
    scaled by the highest label of the query, so that labels of 100 or 1000 give the exact ratio although b^l overflows.

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
    gain, gain_base, discount, base, name
        See `DCG`.
    k, ties, empty, scores, weights
        See `Metric`.

    Examples
    --------
    >>> import gainsay as gs
    >>> metric = gs.NDCG(gain="exponential", k=10, ties="order")
    >>> print(metric)
    ndcg_exp(ties=order)@10
    >>> gs.parse_metrics(str(metric)) == (metric,)
    True
    """

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        f"n{name}": options for name, options in DCG.names.items() if name.startswith("dcg")
    }

    is_ratio = True

    def score(self, rows: RankedRows, statistics: GainStatistics, cutoffs: Sequence[int | None]) -> Floats:
        """Return NDCG at each cutoff."""
        ideal = np.take(statistics.ideal, rows.queries, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return super().score(rows, statistics, cutoffs) / ideal

    def formula(self, statistics: GainStatistics, cutoffs: Sequence[int | None]) -> Formula | None:
        """Return the formula of DCG, divided by the ideal."""
        sums = super().formula(statistics, cutoffs)
        return None if sums is None else replace(sums, divisors=statistics.ideal)
