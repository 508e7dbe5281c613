"""Candidates: the models that an experiment trains, and grids of them."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, Literal

import numpy as np

from .._common.arrays import nearest
from .._common.validation import validate_name
from ..metrics.dcg import CANONICAL_BASES
from .validation import Integer, StrictModel, validate_model

# After the check of `validation` that pydantic is installed.
from pydantic import AfterValidator, BeforeValidator, Field  # isort: skip

Library = Literal["lightgbm", "xgboost"]
Gain = Literal["linear", "exponential"] | float

DEFAULT_OBJECTIVE = {"lightgbm": "lambdarank", "xgboost": "rank:ndcg"}
"""Only these objectives have a training gain."""

MAX_ROUNDS = 10_000_000
MAX_SEED = 2**31 - 1
"""Both libraries store seeds as signed 32-bit integers."""
MAX_CANDIDATES = 100_000

Rounds = Annotated[Integer, Field(ge=1, le=MAX_ROUNDS)]
Patience = Annotated[Integer, Field(ge=0, le=MAX_ROUNDS)]
Seed = Annotated[Integer, Field(ge=0, le=MAX_SEED)]
Threads = Annotated[Integer, Field(ge=1, le=4096)]
"""OpenMP ends the process if it cannot start its threads."""


def _validate_gain(gain: Any) -> Any:
    """Return a gain by its name if it has one, else as the base of a power gain."""
    names = ("linear", "exponential")
    if gain is None or gain in names:
        return gain
    if isinstance(gain, int | float | np.number) and not isinstance(gain, bool) and 1 <= gain < math.inf:
        return CANONICAL_BASES.get(float(gain), float(gain))
    hint = nearest(str(gain), names)
    raise ValueError(f"training_gain must be 'linear', 'exponential' or a base of at least 1, got {gain!r}{hint}")


class CandidateValues(StrictModel):
    """The fields of a candidate, which `Candidate` and the tables of a file share."""

    name: Annotated[str, AfterValidator(lambda name: validate_name("name", name))]
    library: Library
    params: Mapping[str, Any] = {}
    training_gain: Annotated[Any, BeforeValidator(_validate_gain)] = None
    num_boost_round: Rounds | None = None
    early_stopping_rounds: Patience | None = None
    seed: Seed | None = None
    threads: Threads | None = None


@dataclass(frozen=True)
class Candidate:
    """A model to train: a library, its parameters and the gain to train on.

    Parameters
    ----------
    name : str
        Name in all tables, unique in the experiment.
    library : {"lightgbm", "xgboost"}
        Library that trains the candidate.
    params : mapping of str to number, string, boolean or list of these
        Parameters of the library. The default objective is lambdarank or rank:ndcg.
    training_gain : {"linear", "exponential"} or float, default "exponential"
        Gain in the NDCG that lambdarank and rank:ndcg optimize. A number b is the base of ``(b^l − 1)/(b − 1)``.
        Other objectives take no gain.
    num_boost_round, early_stopping_rounds, seed, threads : int, optional
        Default to the values of the experiment.

    Raises
    ------
    ValueError, TypeError
        If a value is invalid.

    Notes
    -----
    The parameters are validated when you create an `Experiment`. Seed, threads, rounds, metrics and gain have their own
    arguments, and dart and gblinear are rejected, because these models cannot be cut at an earlier round.

    The gain becomes LightGBM's `label_gain` and XGBoost's `ndcg_exp_gain`. For another base XGBoost is trained on the
    gains as labels. Metrics always use the labels.

    Examples
    --------
    >>> Candidate("small", "lightgbm", {"num_leaves": 15}, training_gain="linear").params
    {'num_leaves': 15}
    >>> Candidate("wrong", "lightgbm", training_gain="exp")
    Traceback (most recent call last):
    ValueError: training_gain must be 'linear', 'exponential' or a base of at least 1, got 'exp'
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
        values = dict(validate_model(CandidateValues, dict(vars(self))))
        params = {key: _to_json_value(f"params.{key}", values["params"][key]) for key in sorted(values["params"])}
        if self.library == "lightgbm" and "objective" in params:
            params["objective"] = str(params["objective"]).lower()  # As LightGBM does.
        for name, value in {**values, "params": params}.items():
            object.__setattr__(self, name, value)
        default = DEFAULT_OBJECTIVE[self.library]
        if self.objective == default:
            object.__setattr__(self, "training_gain", self.training_gain or "exponential")
        elif self.training_gain is not None:
            fix = f"Only {default!r} optimizes an NDCG with a gain."
            raise ValueError(
                f"training_gain must be None for the objective {self.objective!r}, got {self.training_gain!r}. {fix}"
            )

    @property
    def objective(self) -> str:
        """Objective that is trained."""
        return str(self.params.get("objective", DEFAULT_OBJECTIVE[self.library]))

    def resolve(self, defaults: Mapping[str, int]) -> Candidate:
        """Return the candidate with these values for the fields that it has not set."""
        missing: dict[str, Any] = {name: value for name, value in defaults.items() if getattr(self, name) is None}
        return replace(self, **missing)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values."""
        return asdict(self)


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
        Beginning of all names. The varying values follow.
    library : {"lightgbm", "xgboost"}
        Library that trains the candidates.
    params : mapping, optional
        Parameters. A list contains alternatives. Put a parameter that is itself a list into another list:
        `{"monotone_constraints": [[1, 0, -1]]}`.
    training_gain, seed : value or list of values, optional
        See `Candidate`.
    **common
        Further arguments of `Candidate`, the same for all.

    Returns
    -------
    list of Candidate

    Raises
    ------
    ValueError
        If a list is empty or contains a value twice, or there are more than 100,000 combinations.

    Examples
    --------
    >>> for candidate in grid("lgb", "lightgbm", {"num_leaves": [15, 31], "max_bin": 63}, training_gain="linear"):
    ...     print(candidate.name, candidate.params)
    lgb num_leaves=15 {'max_bin': 63, 'num_leaves': 15}
    lgb num_leaves=31 {'max_bin': 63, 'num_leaves': 31}
    """
    if not isinstance(params or {}, Mapping):
        raise TypeError(f"params must be a mapping of parameter to value, got {type(params).__name__}")
    axes = {key: _list_alternatives(f"params.{key}", value) for key, value in (params or {}).items()}
    gains, seeds = _list_alternatives("training_gain", training_gain), _list_alternatives("seed", seed)
    count = math.prod(map(len, (*axes.values(), gains, seeds)))
    if count > MAX_CANDIDATES:
        raise ValueError(f"params must make at most {MAX_CANDIDATES} candidates, got {count} candidates")
    candidates = []
    for *values, gain, own_seed in itertools.product(*axes.values(), gains, seeds):
        point = dict(zip(axes, values, strict=True))
        varying = [(key, value) for key, value in point.items() if len(axes[key]) > 1]
        varying += [("gain", gain)] * (len(gains) > 1) + [("seed", own_seed)] * (len(seeds) > 1)
        full_name = " ".join([name, *(f"{key}={_format_value(value)}" for key, value in varying)])
        candidates.append(Candidate(full_name, library, point, training_gain=gain, seed=own_seed, **common))
    return candidates


def validate_candidates(candidates: Iterable[Any]) -> tuple[Candidate, ...]:
    """Return the candidates if there is at least one and their names are distinct, or raise."""
    if isinstance(candidates, Candidate) or not isinstance(candidates, Iterable):
        raise TypeError(f"candidates must be a list of Candidate, got {type(candidates).__name__}")
    by_name: dict[str, Candidate] = {}
    for place, candidate in enumerate(candidates):
        if not isinstance(candidate, Candidate):
            raise TypeError(f"candidates[{place}] must be a Candidate, got {type(candidate).__name__}")
        if candidate.name in by_name:
            raise ValueError(f"candidates[{place}] must have a unique name, got {candidate.name!r} twice")
        by_name[candidate.name] = candidate
    if not by_name:
        raise ValueError("candidates is empty. Pass at least one, for example Candidate('lambdarank', 'lightgbm').")
    return tuple(by_name.values())


def _to_json_value(place: str, value: Any) -> Any:
    """Return a value as JSON stores it, so that a candidate read back equals the original."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return [_to_json_value(f"{place}[{at}]", item) for at, item in enumerate(value)]
    if not isinstance(value, bool | int | float | str):
        raise TypeError(f"{place} must be a number, a string, a boolean or a list of these, got {value!r}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{place} must be finite, got {value!r}")
    return value


def _list_alternatives(place: str, value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        return [value]
    if not value:
        raise ValueError(f"{place} contains no value. Pass at least one.")
    for at, item in enumerate(value):
        if any(item == earlier and type(item) is type(earlier) for earlier in value[:at]):
            raise ValueError(f"{place} contains {item!r} twice")
    return list(value)


def _format_value(value: Any) -> str:
    return json.dumps(value, separators=(",", ":")) if isinstance(value, list | tuple | bool) else str(value)
