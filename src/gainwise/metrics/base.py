"""Metrics as immutable values with a name: their base class, metrics of functions, and the registry of names."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeVar, get_args

import numpy as np

from .._common import cached_property
from .._common.text import format_exact, pluralize
from .._common.validation import NAME, validate_choice, validate_column, validate_flag, validate_integer
from ..ranking.rows import Ties

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from .._common.typing import Bools, Floats, Integers
    from ..judgments import Judgments
    from ..ranking.compiled import Formula
    from ..ranking.rows import RankedRows

Scores = Literal["float64", "float32"]
Weights = Literal["query", "float32", "float32_mean", "ignore"]
Empty = float | Literal["skip"]
QueryFunction = Callable[..., Any]

COMMON = ("k", "ties", "empty", "scores", "weights")
"""The options of all metrics. They follow the other options in a repr."""


T = TypeVar("T")

Origin = tuple[str, ...]
"""Module and qualified name of a class or function. A new definition with the same origin replaces the old one."""


class Registry(dict[str, T], Generic[T]):
    """Values by name, with their origins. `kind` is the type of values in words. `reserved` names cannot be added."""

    def __init__(self, kind: str, reserved: Collection[str] = ()) -> None:
        super().__init__()
        self._kind = kind
        self._reserved = reserved
        self._origins: dict[str, Origin] = {}

    def validate(self, name: str, origin: Origin) -> None:
        """Raise `ValueError` if a name is invalid, built in, or used by another origin."""
        if not re.fullmatch(NAME, name):
            raise ValueError(
                f"the name of a {self._kind} must consist of letters, digits and _ and not start with a digit, got "
                f"{name!r}."
            )
        owner = self._origins.get(name, origin)
        if name in self._reserved or (owner != origin and is_built_in(owner)):
            raise ValueError(f"{name!r} is the name of a built-in {self._kind}. Choose another name.")
        if owner != origin:
            raise ValueError(
                f"the {self._kind} name {name!r} is used by {'.'.join(owner)}, so {'.'.join(origin)} cannot have it. "
                "Choose another name."
            )

    def add(self, name: str, value: T, origin: Origin) -> None:
        """Add a value, or replace the one with the same origin. See `validate`."""
        self.validate(name, origin)
        self[name], self._origins[name] = value, origin


METRICS: Registry[tuple[type[Any], Mapping[str, Any]]] = Registry("metric")
"""The class and the options of each metric name."""


def origin_of(thing: Any) -> Origin:
    """Return module and qualified name of a class or function, or of the type of any other object.

    >>> origin_of(origin_of)
    ('gainwise.metrics.base', 'origin_of')
    """
    while isinstance(thing, partial):
        thing = thing.func
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return str(getattr(named, "__module__", "")), str(named.__qualname__)


def is_built_in(origin: Origin) -> bool:
    """Return whether a class or function is part of gainwise."""
    return origin[0].partition(".")[0] == __name__.partition(".")[0]


@dataclass(frozen=True, eq=False)
class LabelStatistics:
    """Values of a dataset that a metric computes once, because they do not depend on scores.

    `empty`, of shape (queries, 1 or cutoffs), marks queries without relevant documents.
    """

    empty: Bools


@dataclass(frozen=True, kw_only=True)
class Metric:
    """Base class of all metrics, which are immutable values: equal options make equal metrics.

    A custom metric is a subclass with `names`, `bind` and `score`. `higher_is_better = False` makes it a loss. The
    definition registers its names with `parse_metrics`, so you can use them wherever metrics are named. Running the
    same notebook cell again replaces the class.

    Parameters
    ----------
    k : int, optional
        Cutoff: only the first k ranks count. Defaults to all ranks.
    ties : {"average", "order", "worst", "best"}, default "average"
        How to rank documents with equal scores: the exact mean over all their orders (McSherry & Najork 2008), the
        order of the input, lowest label first, or highest label first.
    empty : {0.0, 1.0, "skip"}, default 0.0
        Value of a query without relevant documents. "skip" makes it NaN and excludes it from the mean.
    scores : {"float64", "float32"}, default "float64"
        Precision of the comparison of scores. With "float32", scores that are equal in 32 bits are ties.
    weights : {"query", "float32", "float32_mean", "ignore"}, default "query"
        Query weights as passed, rounded to 32 bits (XGBoost), averaged over documents in 32 bits (LightGBM), or none.
    column : str, optional
        Column of the judgments to use as labels (see `columns` of `Judgments`). Defaults to the labels.
    name : str, optional
        Short name, such as "revenue" for `cg(column=revenue)`. It replaces the formula and the column in the name of
        the metric. The cutoff and the options above, except `column`, are still appended if they are not the defaults.

    Raises
    ------
    TypeError
        If a subclass has no `names`, unless it is a base class with `abstract=True`.
    ValueError
        If a subclass uses the name of another metric.

    Examples
    --------
    >>> import gainwise as gw
    >>> class Halved(gw.NDCG):
    ...     names = {"ndcg_halved": {}, "ndcg_exp_halved": {"gain": "exponential"}}
    ...
    ...     def score(self, rows, statistics, cutoffs):
    ...         return super().score(rows, statistics, cutoffs) / 2
    >>> gw.evaluate(["ndcg_exp@2", "ndcg_exp_halved@2"], gw.Judgments([1, 0], group=[2]), [1, 0]).mean
    {'ndcg_exp@2': 1.0, 'ndcg_exp_halved@2': 0.5}
    """

    k: int | None = None
    ties: Ties = "average"
    empty: Empty = 0.0
    scores: Scores = "float64"
    weights: Weights = "query"
    column: str | None = None
    name: str | None = None

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """The names of the metric, each with its options."""

    @property
    def higher_is_better(self) -> bool:
        """Whether higher values are better. A loss sets `higher_is_better = False`."""
        return True

    def __post_init__(self) -> None:
        if self.k is not None:
            self._set(k=validate_integer("k", self.k))
            if self.k >= 10**18:  # Cutoffs fit into 64 bits.
                raise ValueError(
                    f"k must be a whole number of at least 1 and below 10**18, got {self.k!r:.40}. Omit it to count "
                    "all ranks."
                )
        validate_choice("ties", self.ties, get_args(Ties))
        validate_choice("scores", self.scores, get_args(Scores))
        validate_choice("weights", self.weights, get_args(Weights))
        if self.empty != "skip":
            if isinstance(self.empty, str) or self.empty not in (0, 1):
                raise ValueError(f"empty must be 0, 1 or 'skip', got {self.empty!r}")
            self._set(empty=float(self.empty))
        if self.column is not None:
            validate_column("column", self.column)
        self._register_name()

    def __init_subclass__(cls, *, abstract: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        if {"bind", "score"} & vars(cls).keys() and "formula" not in vars(cls):
            cls.formula = Metric.formula  # type: ignore[method-assign]  # The formula of the base class computes other values.
        if "names" in vars(cls):
            _register(cls)
        elif abstract:
            cls.names = {}
        elif any(not name.startswith("__") for name in vars(cls)):  # Otherwise, cloudpickle adds the attributes later.
            raise TypeError(
                f"{cls.__qualname__} has no names, so its name would be ambiguous. Define names = "
                f"{{{cls.__name__.lower()!r}: {{}}}}, or pass abstract=True."
            )
        if "__repr__" not in vars(cls):
            cls.__repr__ = Metric.__repr__  # type: ignore[method-assign]  # Otherwise, dataclass would generate one.

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        """Return the metric itself, which is immutable."""
        return self

    def _functions(self) -> dict[str, Any]:
        """Return the options that are functions."""
        return {}

    def _register_name(self) -> None:
        """Register the metric by its short name, which a later metric may use again, as in a notebook."""
        if self.name is None:
            return
        if not isinstance(self.name, str):
            raise TypeError(f"name must be a string, got {self.name!r}.")
        self._set(name=self.name.removesuffix(f"@{self.k}"))
        if self.name in {"k", *self.option_names()}:
            raise ValueError(f"name must not be that of an option, got {self.name!r}. Choose another name.")
        functions = [part for function in self._functions().values() for part in origin_of(function)]
        origin = (*origin_of(type(self)), *functions) if functions else ("the option name",)
        METRICS.add(self.name, (type(self), self._name()[1]), origin)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a call, which registers functions in the process that reads it."""
        options = {field.name: getattr(self, field.name) for field in fields(self) if field.init}
        return partial(type(self), **options), ()

    def _set(self, **options: Any) -> None:
        """Store the canonical form of options during initialization."""
        vars(self).update(options)

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        """The name. It is cached because formatting takes as long as evaluating thousands of documents."""
        return self._format(*self._name())

    @property
    def definition(self) -> str:
        """The name with the formula next to the short name, so that other processes can parse it.

        >>> import gainwise as gw
        >>> clicks = gw.RR(column="clicked", k=10, name="clicks")
        >>> print(clicks, clicks.definition)
        clicks@10 mrr(column=clicked,name=clicks)@10
        """
        is_short = self.name is not None and not self._functions()
        return self._format(*self._find_class_name()) if is_short else self._text

    def _format(self, name: str, preset: Mapping[str, Any]) -> str:
        """Return a name with the options that are not part of it."""
        cutoff = "" if self.k is None else f"@{self.k}"
        options = ",".join(
            f"{field.name}={self.option_text(field.name)}"
            for field in fields(self)
            if field.name != "k" and getattr(self, field.name) != preset.get(field.name, field.default)
        )
        return f"{name}({options}){cutoff}" if options else f"{name}{cutoff}"

    def __repr__(self) -> str:
        """Return the class and the options that differ from their defaults."""
        ordered = sorted(fields(self), key=lambda field: field.name in COMMON)
        options = [
            f"{field.name}={self._literal(field.name)}"
            for field in ordered
            if getattr(self, field.name) != field.default
        ]
        return f"{type(self).__name__}({', '.join(options)})"

    def _literal(self, option: str) -> str:
        value = getattr(self, option)
        if callable(value):
            return getattr(value, "__name__", repr(value))
        return f"float({str(value)!r})" if isinstance(value, float) and not np.isfinite(value) else repr(value)

    def _name(self) -> tuple[str, Mapping[str, Any]]:
        """Return the short name, or otherwise that of the class, and the options that it stands for."""
        if self.name is None:
            return self._find_class_name()
        return self.name, {field.name: getattr(self, field.name) for field in fields(self) if field.name not in COMMON}

    def _find_class_name(self) -> tuple[str, Mapping[str, Any]]:
        """Return the name of the class with the most options that match, and these options."""
        matching = [
            (name, preset)
            for name, preset in self.names.items()
            if all(getattr(self, option) == value for option, value in preset.items())
        ]
        if not matching:
            raise TypeError(
                f"{self!r} has no name, because none of {list(self.names)} matches its options. Add a name without "
                f"options to {type(self).__name__}, as in names = {{{type(self).__name__.lower()!r}: {{}}}}."
            )
        return max(matching, key=lambda item: len(item[1]))

    def option_text(self, option: str) -> str:
        """Return the text of an option in the name of the metric."""
        value = getattr(self, option)
        return value if isinstance(value, str) else format_exact(value)

    @classmethod
    def option_names(cls) -> list[str]:
        """Return the options that the name of the metric can contain."""
        return [field.name for field in fields(cls) if field.name != "k"]

    @property
    def is_sum_over_documents(self) -> bool:
        """Whether differences of means can be attributed exactly to documents, as for the built-in DCG family."""
        return False

    @property
    def has_mean_over_ties(self) -> bool:
        """Whether the metric supports ``ties="average"``, as all built-in ones but ``map(denominator=hits)`` do.

        Override it in a metric that does not. This metric then has no value in random order.
        """
        return True

    @property
    def meaning(self) -> str:
        """The first line of the docstring of a custom metric, empty for built-in metrics."""
        cls = type(self)
        if is_built_in(origin_of(cls)):
            return ""
        line = inspect.cleandoc(vars(cls).get("__doc__") or "").partition("\n")[0]
        if not line or line.startswith(f"{cls.__name__}("):  # The docstring that dataclass generates.
            return f"A custom metric: {'.'.join(origin_of(cls))}."
        return line

    def without_cutoff(self) -> Self:
        """Return the metric over all ranks."""
        return replace(self, k=None)

    def change(self, **options: Any) -> Self:
        """Return the metric with other options, and without its short name if that stands for another formula."""
        has_function = any(callable(options.get(option, function)) for option, function in self._functions().items())
        if not has_function and not options.keys() <= set(COMMON):
            options = {"name": None, **options}
        return replace(self, **options)

    def list_columns(self) -> list[str]:
        """Return the names of the columns that the metric uses."""
        return [] if self.column is None else [self.column]

    def subject(self, judgments: Judgments) -> Judgments:
        """Return the judgments that the metric reads, which differ for `Judged` only."""
        return judgments

    def value_range(self, judgments: Judgments) -> tuple[float, float]:
        """Return the lowest and the highest possible value on any query with such labels.

        Bounds are infinite by default. Confidence intervals of means end there, so bounds must not be too narrow.
        """
        return -np.inf, np.inf

    def bind(self, judgments: Judgments, cutoffs: Sequence[int | None]) -> LabelStatistics:
        """Compute everything that does not depend on scores, or raise if the metric does not support the labels."""
        raise NotImplementedError

    def score(self, rows: RankedRows, statistics: Any, cutoffs: Sequence[int | None]) -> Floats:
        """Return the value of each row at each cutoff, shape (rows, cutoffs). Values of empty queries are ignored."""
        raise NotImplementedError

    def formula(self, statistics: Any, cutoffs: Sequence[int | None]) -> Formula | None:
        """Return the formula for the compiled core, which computes the same bits as `score`.

        None, which is always correct, evaluates the metric by `score`.
        """
        return None


def _register(cls: type[Metric]) -> None:
    """Register all names of a class, or none if one is invalid."""
    names, origin = cls.names, origin_of(cls)
    if not isinstance(names, Mapping) or not names or not all(isinstance(preset, Mapping) for preset in names.values()):
        raise TypeError(
            f"{cls.__qualname__}.names must map each name to its options, for example "
            f"{{{cls.__name__.lower()!r}: {{}}}}, got {names!r}."
        )
    for name in names:
        METRICS.validate(name, origin)
    for name, preset in names.items():
        METRICS.add(name, (cls, preset), origin)


@dataclass(frozen=True, kw_only=True)
class FunctionMetric(Metric, abstract=True):
    """A function of the labels and scores of one query. Use `metric` to create it.

    Parameters
    ----------
    name : str
        Its name.
    function : callable
        `function(labels, scores)` returns a number.
    higher_is_better : bool
        False for a loss.
    columns : tuple of str
        Columns of the judgments that the function receives after the scores.
    weights, column
        See `Metric`.
    """

    name: str
    function: QueryFunction
    columns: tuple[str, ...] = ()
    higher_is_better: bool = True
    empty: Empty = "skip"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(higher_is_better=validate_flag("higher_is_better", self.higher_is_better))
        for column in self.columns:
            validate_column("columns", column)
        for field in fields(self):
            is_ignored = field.name in ("k", "ties", "empty", "scores")
            if is_ignored and getattr(self, field.name) != field.default:
                raise ValueError(
                    f"{field.name} has no effect on {self.name}, a function that receives all documents of a query. "
                    "Implement it in the function."
                )
        METRICS.add(self.name, (type(self), self._name()[1]), origin_of(self.function))

    def _functions(self) -> dict[str, Any]:
        return {"function": self.function}

    def list_columns(self) -> list[str]:
        """Return the names of the columns that the metric and its function use."""
        return [*super().list_columns(), *self.columns]

    def _register_name(self) -> None:
        pass  # The name is registered with the function.

    def _name(self) -> tuple[str, Mapping[str, Any]]:
        own = ("name", "function", "columns", "higher_is_better", "empty")
        return self.name, {option: getattr(self, option) for option in own}

    def __repr__(self) -> str:
        """Return the call that creates the metric."""
        direction = "" if self.higher_is_better else ", higher_is_better=False"
        columns = f", columns={self.columns}" if self.columns else ""
        return f"metric({self.name!r}, {self._literal('function')}{columns}{direction})"

    @property
    def has_mean_over_ties(self) -> bool:
        """False, because the function itself handles ties."""
        return False

    @property
    def meaning(self) -> str:
        """The first line of the docstring of the function."""
        first = (inspect.getdoc(self.function) or "").partition("\n")[0]
        return first or f"A custom function: {'.'.join(origin_of(self.function))}."

    @classmethod
    def option_names(cls) -> list[str]:
        """Return the options that the name of the metric can contain."""
        return ["weights", "column"]

    def values(self, arguments: Sequence[Floats], sizes: Integers, query_ids: np.ndarray[Any, Any]) -> Floats:
        """Return the value of each query, NaN for queries without documents. Documents are contiguous by query.

        `arguments` are the labels, the scores, and the columns of the metric.

        Raise if the function raises or does not return a finite number. The message names the query.
        """
        values = np.full(len(sizes), np.nan)
        ends = np.cumsum(sizes)
        for query in np.flatnonzero(sizes).tolist():
            documents = slice(int(ends[query] - sizes[query]), int(ends[query]))
            values[query] = self._value([argument[documents].copy() for argument in arguments], query_ids[query])
        return values

    def _value(self, arguments: Sequence[Floats], query: Any) -> float:
        """Return the value of a query. `arguments` are copies, because the function may sort them in place."""
        place = f"query {query!s} ({pluralize(len(arguments[0]), 'document')})"
        try:
            value = self.function(*arguments)
        except Exception as error:
            raise ValueError(f"metric {self.name!r} failed on {place}: {type(error).__name__}: {error}.") from error
        if not isinstance(value, Real | np.bool_):
            shape = f" of shape {np.shape(value)}" if isinstance(value, np.ndarray) else f", {value!r}"
            raise ValueError(
                f"metric {self.name!r} must return one number, got {type(value).__name__}{shape} for {place}."
            )
        if not np.isfinite(float(value)):
            raise ValueError(f"metric {self.name!r} must return a finite number, got {value} for {place}.")
        return float(value)


def metric(
    name: str,
    function: QueryFunction,
    *,
    columns: Sequence[str] = (),
    higher_is_better: bool = True,
) -> FunctionMetric:
    """Define a metric by a function of the labels and scores of one query.

    The name is registered, so you can use it wherever metrics are named, for example in `evaluate` and early stopping.
    To get a metric of gainwise by its name, use `parse_metrics`.

    Parameters
    ----------
    name : str
        Letters, digits and `_`, different from the names of other metrics. Running the same notebook cell again
        replaces the function.
    function : callable
        `function(labels, scores) -> float` receives two float64 arrays with the documents of one query in input order.
        A document that was judged but not retrieved has the score -inf. Queries without documents are excluded.
    columns : sequence of str, optional
        Columns of the judgments that the function receives after the scores, in this order. NaN is a missing value.
    higher_is_better : bool, default True
        False for a loss, which early stopping minimizes.

    Returns
    -------
    FunctionMetric
        It can be pickled if the function can be imported, which requires `def` at the top level of a module.

    Raises
    ------
    ValueError
        If another metric has the name. During evaluation, if the function raises or does not return a finite number.
        The message names the query.

    See Also
    --------
    gainwise.Metric : Base class of metrics with options.

    Notes
    -----
    The function is called for each query in one thread, so it is slow. Define a subclass of `Metric` if speed matters.
    The function handles cutoffs and ties itself. Query weights are applied to its values.

    Examples
    --------
    >>> import gainwise as gw
    >>> def worst_gap(labels, scores):
    ...     return float(labels.max() - labels[scores.argmax()])
    >>> gap = gw.metric("worst_gap", worst_gap, higher_is_better=False)
    >>> gw.evaluate([gap, "mrr"], gw.Judgments([3, 0, 0, 2], group=[2, 2]), [1, 2, 1, 2]).mean
    {'worst_gap': 1.5, 'mrr': 0.75}
    """
    return FunctionMetric(name=name, function=function, columns=tuple(columns), higher_is_better=higher_is_better)


def list_metric_columns(metrics: Iterable[Metric]) -> list[str]:
    """Return the names of the columns that metrics use, each once."""
    return list(dict.fromkeys(name for metric in metrics for name in metric.list_columns()))


def max_depth(cutoffs: Sequence[int | None], width: int) -> int:
    """Return the number of ranks of `width` that the cutoffs include."""
    return min(width, max(width if k is None else k for k in cutoffs))
