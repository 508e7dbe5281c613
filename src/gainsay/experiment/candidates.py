"""Candidates: what is trained, and grids of them."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, get_args

import numpy as np

from .._common.arrays import nearest
from .._common.checks import check_real, check_whole
from .._common.names import check_name
from ..metrics.gains import CANONICAL_BASES

Library = Literal["lightgbm", "xgboost"]
Gain = Literal["linear", "exponential"] | float

DEFAULT_OBJECTIVE = {"lightgbm": "lambdarank", "xgboost": "rank:ndcg"}
"""These are also the only objectives that have a training gain."""

MOST_ROUNDS = 10_000_000
"""More is a slip of the keyboard, like the other two."""

MOST_THREADS = 4096
"""OpenMP ends the process where it cannot start as many."""

MOST_SEED = 2**31 - 1
"""Both libraries take 32 bits with sign."""

MOST_CANDIDATES = 100_000
"""A grid of more is a mistake, and would not fit into memory."""

_LIGHTGBM_ROUNDS = (
    "num_iterations num_iteration n_iter num_tree num_trees num_round num_rounds nrounds num_boost_round n_estimators "
    "max_iter"
)
_SET_ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    "lightgbm": {
        "give seed instead": "seed random_seed random_state",
        "give threads instead": "num_threads num_thread nthread nthreads n_jobs",
        "give num_boost_round instead": _LIGHTGBM_ROUNDS,
        "give early_stopping_rounds instead": (
            "early_stopping_round early_stopping_rounds early_stopping n_iter_no_change"
        ),
        "the metrics are those of the experiment": "metric metrics metric_types",
        "give training_gain instead": "label_gain",
        "write objective": "objective_type app application loss",
        "write boosting": "boosting_type boost",
    },
    "xgboost": {
        "give seed instead": "seed random_state",
        "give threads instead": "nthread n_jobs",
        "give num_boost_round instead": "num_boost_round n_estimators num_round",
        "give early_stopping_rounds instead": "early_stopping_rounds",
        "the metrics are those of the experiment": "eval_metric disable_default_eval_metric",
        "give training_gain instead": "ndcg_exp_gain",
    },
}
"""Parameters of the libraries that have a place outside `params`, by what to do instead."""

_NO_ROUND_TO_CHOOSE = {
    ("lightgbm", "boosting", "dart"): "later rounds of dart change earlier trees",
    ("xgboost", "booster", "dart"): "later rounds of dart change earlier trees",
    ("xgboost", "booster", "gblinear"): "a linear booster cannot predict as of an earlier round",
}

_DROPOUT = {"xgboost": ("rate_drop", "one_drop"), "lightgbm": ()}
"""Parameters that drop trees in training, whatever the booster is called."""

_ANY_CASE = {"lightgbm": ("boosting", "objective", "data_sample_strategy"), "xgboost": ()}
"""Parameters whose values the library reads as if they were written small; here they are."""


@dataclass(frozen=True)
class Candidate:
    """One model to train: a library, its parameters, and the gain that it is trained on.

    Parameters
    ----------
    name : str
        What it is called in every table; unique in its experiment.
    library : {"lightgbm", "xgboost"}
        Who trains it.
    params : mapping of str to number, string, boolean or list of these
        The library's own parameters. The objective is lambdarank or rank:ndcg unless one is given. What has a place of
        its own (seed, threads, rounds, metrics, gain) is refused here, and so are boosters whose earlier rounds cannot
        be taken back: dart (dropout), gblinear.
    training_gain : {"linear", "exponential"} or float, optional
        The gain in the NDCG that lambdarank and rank:ndcg optimise: l, 2^l − 1, or (b^l − 1)/(b − 1) for a base b of 1
        (linear) or more; 2 is exponential. It becomes LightGBM's `label_gain` and XGBoost's `ndcg_exp_gain`; on another
        base XGBoost trains by taking the gain for a label, and metrics keep to the labels. By default exponential, as
        in both libraries; no other objective takes it.
    num_boost_round : int, optional
        Boosting rounds; by default those of the experiment.
    early_stopping_rounds : int, optional
        Stop once no metric has improved on valid for this many rounds; 0: train all rounds. By default as the
        experiment says.
    seed, threads : int, optional
        By default those of the experiment.

    Raises
    ------
    ValueError, TypeError
        For what is not as said; the message begins with the argument.

    Examples
    --------
    >>> Candidate("small", "lightgbm", {"num_leaves": 15}, training_gain="linear").params
    {'num_leaves': 15}
    >>> Candidate("wrong", "lightgbm", {"n_estimators": 15})
    Traceback (most recent call last):
    ValueError: params.n_estimators has no place among the parameters of a candidate: give num_boost_round instead
    """

    name: str
    library: Library
    params: Mapping[str, Any] = field(default_factory=dict)
    training_gain: Gain | None = None
    num_boost_round: int | None = None
    early_stopping_rounds: int | None = None
    seed: int | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"name must be a string, got {self.name!r}")
        check_name("name", self.name)
        _check_choice("library", self.library, get_args(Library))
        object.__setattr__(self, "params", _checked_params(self.library, self.params))
        if self.training_gain is not None:
            object.__setattr__(self, "training_gain", _checked_gain(self.training_gain))
        for argument, least, most in (
            ("num_boost_round", 1, MOST_ROUNDS),
            ("early_stopping_rounds", 0, MOST_ROUNDS),
            ("seed", 0, MOST_SEED),
            ("threads", 1, MOST_THREADS),
        ):
            if getattr(self, argument) is not None:
                whole = check_whole(argument, getattr(self, argument), least)
                check_most(argument, whole, most)
                object.__setattr__(self, argument, whole)
        if self._has_gain():
            object.__setattr__(self, "training_gain", self.training_gain or "exponential")
        elif self.training_gain is not None:
            raise ValueError(
                f"training_gain has no meaning for the objective {self.objective!r}, got {self.training_gain!r}: "
                f"only {DEFAULT_OBJECTIVE[self.library]!r} optimises an NDCG with a gain; leave one of them out"
            )

    @property
    def objective(self) -> str:
        """The objective that is trained."""
        return str(self.params.get("objective", DEFAULT_OBJECTIVE[self.library]))

    def _has_gain(self) -> bool:
        return self.objective == DEFAULT_OBJECTIVE[self.library]

    def resolved(self, *, num_boost_round: int, early_stopping_rounds: int, seed: int, threads: int) -> Candidate:
        """Return the candidate with these values where it says nothing itself."""
        defaults: dict[str, Any] = {
            "num_boost_round": num_boost_round,
            "early_stopping_rounds": early_stopping_rounds,
            "seed": seed,
            "threads": threads,
        }
        return replace(self, **{name: value for name, value in defaults.items() if getattr(self, name) is None})

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON knows it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Candidate:
        """Return the candidate that `to_dict` wrote."""
        return cls(**{known.name: stored[known.name] for known in fields(cls)})


def grid(
    name: str,
    library: Library,
    params: Mapping[str, Any] | None = None,
    *,
    training_gain: Gain | Sequence[Gain] | None = None,
    seed: int | Sequence[int] | None = None,
    **common: Any,
) -> list[Candidate]:
    """Return a candidate for every combination of the listed values.

    Parameters
    ----------
    name : str
        How all names begin; what varies follows.
    library : {"lightgbm", "xgboost"}
        Who trains them.
    params : mapping, optional
        Parameters; a list or tuple holds alternatives. A parameter that is itself a list goes into another one:
        `{"monotone_constraints": [[1, 0, -1]]}`.
    training_gain, seed : value or list of values, optional
        See `Candidate`.
    **common
        Further arguments of `Candidate`, for all.

    Raises
    ------
    ValueError
        For an empty list or one that holds a value twice, for more than 100 000 combinations, and for what `Candidate`
        refuses.

    Examples
    --------
    >>> for candidate in grid("lgb", "lightgbm", {"num_leaves": [15, 31], "max_bin": 63}, training_gain="linear"):
    ...     print(candidate.name, candidate.params)
    lgb num_leaves=15 {'max_bin': 63, 'num_leaves': 15}
    lgb num_leaves=31 {'max_bin': 63, 'num_leaves': 31}
    """
    if not isinstance(params or {}, Mapping):
        raise TypeError(f"params must be a mapping of parameter to value, got {type(params).__name__}")
    axes = {f"params.{key}": _alternatives(f"params.{key}", value) for key, value in (params or {}).items()}
    axes |= {"gain": _alternatives("training_gain", training_gain), "seed": _alternatives("seed", seed)}
    count = math.prod(map(len, axes.values()))
    if count > MOST_CANDIDATES:
        raise ValueError(f"params and the other lists make {count} candidates, more than {MOST_CANDIDATES}")
    made = []
    for values in itertools.product(*axes.values()):
        point = dict(zip(axes, values, strict=True))
        varying = [f"{axis.removeprefix('params.')}={_text(point[axis])}" for axis in axes if len(axes[axis]) > 1]
        gain, chosen_seed = point.pop("gain"), point.pop("seed")
        chosen = {key.removeprefix("params."): value for key, value in point.items()}
        made.append(
            Candidate(" ".join([name, *varying]), library, chosen, training_gain=gain, seed=chosen_seed, **common)
        )
    return made


def check_given_once(library: str, candidate: Candidate, main_names: Mapping[str, str]) -> None:
    """Raise `ValueError` where a parameter is given by two of its names, of which the library takes either."""
    given: dict[str, str] = {}
    for name in candidate.params:
        first = given.setdefault(main_names.get(name, name), name)
        if first != name:
            raise ValueError(f"params.{first} and params.{name} are one parameter of {library}: leave out one of them")


def check_most(argument: str, value: int, most: int) -> None:
    """Raise `ValueError` where a number is larger than `most`."""
    if value > most:
        raise ValueError(f"{argument} must be at most {most}, got {value}")


def check_names(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Return the candidates if there are any and their names are distinct, or raise."""
    found: dict[str, Candidate] = {}
    for place, candidate in enumerate(candidates):
        if not isinstance(candidate, Candidate):
            raise TypeError(f"candidates[{place}] must be a Candidate, got {type(candidate).__name__}")
        if candidate.name in found:
            raise ValueError(f"candidates[{place}] is called {candidate.name!r} like another one: names must be unique")
        found[candidate.name] = candidate
    if not found:
        raise ValueError("candidates is empty: give at least one, for example Candidate('lambdarank', 'lightgbm')")
    return tuple(found.values())


def _check_choice(argument: str, value: Any, known: tuple[str, ...], others: str = "") -> None:
    if value not in known:
        listed = f"{' or '.join(map(repr, known))}{others and f' {others}'}"
        raise ValueError(f"{argument} must be {listed}, got {value!r}{nearest(str(value), known)}")


def _checked_gain(gain: Any) -> Gain:
    """Return a gain by its name where it has one, else the base of a power gain."""
    if isinstance(gain, str):
        _check_choice("training_gain", gain, ("linear", "exponential"), "or a base of at least 1 such as 1.5")
        return gain  # type: ignore[return-value]
    base = check_real("training_gain", gain, 1.0)
    if not math.isfinite(base):
        raise ValueError(f"training_gain must be finite, got {gain!r}")
    return CANONICAL_BASES.get(base, base)  # type: ignore[return-value]


def _checked_params(library: str, params: Any) -> dict[str, Any]:
    if not isinstance(params, Mapping):
        raise TypeError(f"params must be a mapping of parameter to value, got {type(params).__name__}")
    checked = {}
    for key in params:
        if not isinstance(key, str):
            raise TypeError(f"params must have strings as keys, got {key!r}")
    for key in sorted(params):
        for remedy, names in _SET_ELSEWHERE[library].items():
            if key in names.split():
                raise ValueError(f"params.{key} has no place among the parameters of a candidate: {remedy}")
        value = _plain(f"params.{key}", params[key])
        if key in _ANY_CASE[library] and isinstance(value, str):
            value = value.lower()
        reason = _NO_ROUND_TO_CHOOSE.get((library, key, value)) if isinstance(value, str) else None
        if key in _DROPOUT[library] and value:
            reason = _NO_ROUND_TO_CHOOSE[library, "booster", "dart"]
        if reason:
            raise ValueError(f"params.{key} must not be {value!r}: {reason}, so none can be chosen on valid")
        checked[key] = value
    return checked


def _plain(place: str, value: Any) -> Any:
    """Return a value as JSON keeps it, so that a candidate read back equals the one written."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return [_plain(f"{place}[{at}]", item) for at, item in enumerate(value)]
    if not isinstance(value, bool | int | float | str):
        raise TypeError(f"{place} must be a number, a string, a boolean or a list of these, got {value!r}")
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        raise ValueError(f"{place} must be finite, got {value!r}") from None
    return value


def _alternatives(place: str, value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        return [value]
    if not value:
        raise ValueError(f"{place} lists no value: give at least one")
    for at, item in enumerate(value):
        if any(item == other and type(item) is type(other) for other in value[:at]):
            raise ValueError(f"{place} lists {item!r} twice")
    return list(value)


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":")) if isinstance(value, list | tuple | bool) else str(value)
