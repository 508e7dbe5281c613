"""What a metric is: an immutable value whose name says everything, and a formula over ranked rows."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np

from .._common.arrays import nearest
from .._common.cached import cached_property
from .._common.checks import check_whole
from .._common.words import number_text
from ..ranking.layout import Ties
from .registry import METRICS, origin_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Bools, Floats
    from ..judgments import Judgments
    from ..ranking.formulas import Formula
    from ..ranking.rows import RankedRows

Scores = Literal["float64", "float32"]
Weights = Literal["query", "float32", "float32_mean", "ignore"]
Empty = float | Literal["skip"]


NO_RANK = 10**18
"""Cutoffs lie below: a name has room for so many digits, and an integer of 64 bits too."""

COMMON = ("k", "ties", "empty", "scores", "weights")
"""The options of all metrics, in the order in which they are written after those of one kind."""

_OF_PYTHON = {"__module__", "__qualname__", "__annotations__", "__slots__", "__firstlineno__", "__static_attributes__"}
HARMLESS = _OF_PYTHON | {"__dict__", "__weakref__", "__doc__", "__repr__", "_repr_html_", "formula", "meaning"}
"""What a class may have of its own without another number, and so without names of its own."""


@dataclass(frozen=True, eq=False)
class Facts:
    """What a metric needs to know of a data set before scores exist.

    `empty`, of shape (queries, 1 or cutoffs), marks queries without relevant documents.
    """

    empty: Bools


@dataclass(frozen=True, kw_only=True)
class Metric:
    """What all metrics share. Metrics are immutable values: they compare, hash, pickle and print by what they say.

    A metric of your own is a subclass with `names`, a `bind` and a `score`; `higher_is_better = False` makes it a loss.
    By being defined it is known to `parse_metrics`, and so wherever a metric is named. Defining the class anew in the
    same place (a notebook's cell run again) replaces it.

    Parameters
    ----------
    k : int or None
        Cutoff: only the first k ranks count. None takes all.
    ties : {"average", "order", "worst", "best"}
        Documents with equal scores: the exact expectation over all their orders (McSherry & Najork 2008), the order of
        the input, lowest label first, or highest label first.
    empty : 0.0, 1.0 or "skip"
        Value of a query without relevant documents; "skip" leaves it out of the mean (its own value is NaN).
    scores : {"float64", "float32"}
        Precision in which scores are compared: what differs only beyond 32 bits is a tie under "float32".
    weights : {"query", "float32", "float32_mean", "ignore"}
        Query weights as given, rounded to 32 bits (XGBoost), averaged over documents in 32 bits (LightGBM), or none.

    Raises
    ------
    TypeError
        Where a subclass changes what a metric is worth and has no `names` of its own, unless it is made with
        `abstract=True`, as a base for others.
    ValueError
        Where a subclass takes a name that another metric has.

    Examples
    --------
    >>> import gainsay as gs
    >>> class Halved(gs.NDCG):
    ...     names = {"ndcg_halved": {}, "ndcg_exp_halved": {"gain": "exponential"}}
    ...
    ...     def score(self, rows, facts, cutoffs):
    ...         return super().score(rows, facts, cutoffs) / 2
    >>> gs.evaluate(["ndcg_exp@2", "ndcg_exp_halved@2"], gs.Judgments([1, 0], group=[2]), [1, 0]).mean
    {'ndcg_exp@2': 1.0, 'ndcg_exp_halved@2': 0.5}
    """

    k: int | None = None
    ties: Ties = "average"
    empty: Empty = 0.0
    scores: Scores = "float64"
    weights: Weights = "query"

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """The names of the metric, each with the options that it stands for."""

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher value is a better one; a metric that is a loss says `higher_is_better = False`."""
        return True

    def __post_init__(self) -> None:
        if self.k is not None:
            self._set(k=check_whole("k", self.k))
            if self.k >= NO_RANK:
                raise ValueError(
                    f"k must be a whole number of at least 1 and below 10**18, got {self.k!r:.40}; leave it out where "
                    "all ranks count"
                )
        choice("ties", self.ties, get_args(Ties))
        choice("scores", self.scores, get_args(Scores))
        choice("weights", self.weights, get_args(Weights))
        if self.empty != "skip":
            if isinstance(self.empty, str) or self.empty not in (0, 1):
                raise ValueError(f"empty must be 0, 1 or 'skip', got {self.empty!r}")
            self._set(empty=float(self.empty))

    def __init_subclass__(cls, *, abstract: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        if {"bind", "score"} & vars(cls).keys() and "formula" not in vars(cls):
            cls.formula = Metric.formula  # type: ignore[method-assign]  # that of its base may be another
        if "names" in vars(cls):
            _register(cls)
        elif abstract:
            cls.names = {}
        else:
            _require_same_number(cls)
        if "__repr__" not in vars(cls):
            cls.__repr__ = Metric.__repr__  # type: ignore[method-assign]  # or dataclass writes one of its own

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        """Return the metric itself, which is immutable."""
        return self

    def _set(self, **options: Any) -> None:
        """Store the canonical form of options, while the value is being made."""
        for name, value in options.items():
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        return self._written

    @cached_property
    def _written(self) -> str:
        """The name, written once: that takes as long as evaluating thousands of documents."""
        cutoff = "" if self.k is None else f"@{self.k}"
        name, preset = self._name()
        options = ",".join(
            f"{field.name}={self.option_text(field.name)}"
            for field in fields(self)
            if field.name != "k" and getattr(self, field.name) != preset.get(field.name, field.default)
        )
        return f"{name}({options}){cutoff}" if options else f"{name}{cutoff}"

    def __repr__(self) -> str:
        """Return how the metric is made: the class, and the options that are not as by default."""
        own = sorted(fields(self), key=lambda field: field.name in COMMON)
        given = [
            f"{field.name}={self._literal(field.name)}" for field in own if getattr(self, field.name) != field.default
        ]
        return f"{type(self).__name__}({', '.join(given)})"

    def _literal(self, option: str) -> str:
        value = getattr(self, option)
        if callable(value):
            return getattr(value, "__name__", repr(value))
        return f"float({str(value)!r})" if isinstance(value, float) and not np.isfinite(value) else repr(value)

    def _repr_html_(self) -> str:
        """Return name, formula and all options."""
        from .._common.notebook import table_cell

        formula = (inspect.getdoc(type(self)) or "").partition("\n")[0]
        own = sorted(fields(self), key=lambda field: field.name in COMMON)
        texts = {
            field.name: "all ranks" if field.name == "k" and self.k is None else self.option_text(field.name)
            for field in own
        }
        return table_cell(str(self), ("option", "value"), list(texts.items()), formula)

    def _name(self) -> tuple[str, Mapping[str, Any]]:
        """Return the name that says most about this metric."""
        fitting = [
            (name, preset)
            for name, preset in self.names.items()
            if all(getattr(self, option) == value for option, value in preset.items())
        ]
        if not fitting:
            named = (
                f"none of its names, {', '.join(self.names)}, fits its options" if self.names else "its class has none"
            )
            raise TypeError(
                f"{self!r} has no name: {named}. Give {type(self).__name__} a name that fits all options, as in "
                f"names = {{{type(self).__name__.lower()!r}: {{}}}}"
            )
        return max(fitting, key=lambda item: len(item[1]))

    def option_text(self, option: str) -> str:
        """Return how the value of an option is written in the metric's name."""
        value = getattr(self, option)
        return value if isinstance(value, str) else number_text(value)

    @classmethod
    def option_names(cls) -> list[str]:
        """Return the options that may stand in the metric's name."""
        return [field.name for field in fields(cls) if field.name not in ("k", "name")]

    @property
    def is_sum_over_documents(self) -> bool:
        """Whether a difference of means can be split by document, exactly, as the built-in DCG family's can."""
        return False

    @property
    def meaning(self) -> str:
        """What a metric of your own is, from the first line of what is written in the code; empty for built-in ones."""
        cls = type(self)
        if origin_of(cls)[0].partition(".")[0] == __name__.partition(".")[0]:
            return ""
        own = inspect.cleandoc(vars(cls).get("__doc__") or "").partition("\n")[0]
        written = "" if own.startswith(f"{cls.__name__}(") else own  # a dataclass writes its signature there
        return written or f"A metric of your own: {'.'.join(origin_of(cls))}."

    def without_cutoff(self) -> Self:
        """Return the metric over all ranks: what metrics of one family share."""
        return replace(self, k=None)

    def subject(self, judgments: Judgments) -> Judgments:
        """Return what the metric reads of judgments: the labels, for all metrics but `Judged`."""
        return judgments

    def value_range(self, judgments: Judgments) -> tuple[float, float]:
        """Return between which values the metric lies on any query with labels such as these, whatever the scores.

        Infinite where there is no bound, as for metrics that do not say otherwise. Intervals of means end there, so it
        must not be narrower than what the metric can be.
        """
        return -np.inf, np.inf

    def bind(self, judgments: Judgments, cutoffs: Sequence[int | None]) -> Facts:
        """Work out, once per data set, what does not depend on scores; raise where the labels do not suit."""
        raise NotImplementedError

    def score(self, rows: RankedRows, facts: Any, cutoffs: Sequence[int | None]) -> Floats:
        """Return the value of each row at each cutoff, shape (rows, cutoffs); empty queries are settled elsewhere."""
        raise NotImplementedError

    def formula(self, facts: Any, cutoffs: Sequence[int | None]) -> Formula | None:
        """Return what `score` computes, where the compiled core computes the same, to the last bit; None elsewhere.

        No metric needs it: what has none is evaluated by its `score`.
        """
        return None


def _register(cls: type[Metric]) -> None:
    """Have a class go by its names: by all of them or by none."""
    names, origin = cls.names, origin_of(cls)
    if not isinstance(names, Mapping) or not names or not all(isinstance(preset, Mapping) for preset in names.values()):
        raise TypeError(
            f"{cls.__qualname__}.names must map each name to the options that it stands for, for example "
            f"{{{cls.__name__.lower()!r}: {{}}}}, got {names!r}"
        )
    for name in names:
        METRICS.check(name, origin)
    for name, preset in names.items():
        METRICS.add(name, (cls, preset), origin)


def _require_same_number(cls: type[Metric]) -> None:
    """Raise where a class without names of its own would give another number under the names of its base."""
    named = next(base for base in cls.__mro__[1:] if "names" in vars(base))
    known = {name for base in named.__mro__ for name in vars(base)} - HARMLESS
    changed = {name for name in known if inspect.getattr_static(cls, name) is not inspect.getattr_static(named, name)}
    options = {name for name in vars(cls).get("__annotations__", ()) if not name.startswith("_")}
    if changed | options:
        raise TypeError(
            f"{cls.__qualname__} has {', '.join(sorted(changed | options))} of its own but no names of its own: two "
            f"numbers would go by one name. Give it some, as in names = {{{cls.__name__.lower()!r}: {{}}}}; "
            "a base for other metrics is made with abstract=True"
        )


def made(metric: type[Metric], options: Mapping[str, Any]) -> Metric:
    """Return the metric of a pickle, made as the caller would."""
    return metric(**options)


def choice(option: str, value: object, known: Sequence[str]) -> None:
    """Raise `ValueError` with the nearest valid value unless `value` is one of `known`."""
    if value not in known:
        listed = ", ".join(map(repr, known))
        raise ValueError(f"{option} must be one of {listed}, got {value!r}{nearest(str(value), known)}")


def depth_of(cutoffs: Sequence[int | None], width: int) -> int:
    """Return how many ranks of `width` the cutoffs look at."""
    return min(width, max(width if k is None else k for k in cutoffs))
