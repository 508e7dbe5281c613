"""The settings of an experiment: candidates, grids of them, and everything else that you pass to `Experiment`.

`ExperimentConfig` validates the arguments of `Experiment`, the keys of a TOML file and the content of
`experiment.json`. Its errors have one line per mistake.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar, get_args

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from .._common.arrays import nearest
from .._common.validation import validate_choice, validate_distinct, validate_name
from ..comparison.compare import DEFAULT_METRICS
from ..comparison.panel import validate_primary, validate_seed
from ..metrics.base import Metric
from ..metrics.binary import validate_without_judged
from ..metrics.dcg import CANONICAL_BASES
from ..metrics.names import parse_metric, parse_metrics


class StrictModel(BaseModel):
    """A model that takes types literally and rejects unknown keys."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


Model = TypeVar("Model", bound=StrictModel)


def _convert_number(value: Any) -> Any:
    """Return a NumPy scalar as Python's, and a float without a fraction as an integer."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


Integer = Annotated[int, BeforeValidator(_convert_number)]
Real = Annotated[float, BeforeValidator(_convert_number)]


def parse_config(model: type[Model], values: Any) -> Model:
    """Return the values as a model, or raise `ValueError` with one line for each mistake."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        mistakes = error.errors(include_url=False)
    raise ValueError("\n".join(dict.fromkeys(_format_mistake(model, mistake) for mistake in mistakes)))


def _format_mistake(model: type[BaseModel], mistake: Any) -> str:
    """Return a mistake that pydantic found in the words of other messages, with its place, such as `candidates[0]`."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in mistake["loc"] if part != "[key]"]
    place = "".join(parts).removeprefix(".").replace("repeats.count", "repeats")
    if mistake["type"] == "value_error":
        message = str(mistake["ctx"]["error"])
        return message if not place or message.startswith(place) else f"{place}: {message}"
    if mistake["type"] == "missing":
        return f"{place} is missing. Add it."
    if mistake["type"] == "extra_forbidden":
        *tables, key = mistake["loc"]
        for table in tables:
            if isinstance(table, str):
                kind = model.model_fields[table].annotation
                model = next(part for part in (kind, *get_args(kind)) if hasattr(part, "model_fields"))
        return f"{place} is not a known key{nearest(key, model.model_fields)}. Correct or remove it."
    rule = re.sub(r"^\w+ should | after validation, not \d+$| or instance of \w+$", "", mistake["msg"])
    rule = rule.replace("greater than or equal to", "at least").replace("less than or equal to", "at most")
    return f"{place} must {rule}, got {mistake['input']!r:.80}."


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
    raise ValueError(f"training_gain must be 'linear', 'exponential' or a base of at least 1, got {gain!r}{hint}.")


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
    ValueError: training_gain must be 'linear', 'exponential' or a base of at least 1, got 'exp'.
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
        values = dict(parse_config(CandidateValues, dict(vars(self))))
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
        The gain to train on, and the seed, as in `Candidate`. A list contains alternatives.
    **common
        Further arguments of `Candidate`, the same for all.

    Returns
    -------
    list of Candidate

    Raises
    ------
    ValueError
        If a list is empty, or there are more than 100,000 combinations.

    Examples
    --------
    >>> for candidate in grid("lgb", "lightgbm", {"num_leaves": [15, 31], "max_bin": 63}, training_gain="linear"):
    ...     print(candidate.name, candidate.params)
    lgb num_leaves=15 {'max_bin': 63, 'num_leaves': 15}
    lgb num_leaves=31 {'max_bin': 63, 'num_leaves': 31}
    """
    if not isinstance(params or {}, Mapping):
        raise TypeError(f"params must be a mapping of parameter to value, got {type(params).__name__}")
    params = params or {}
    axes = [_list_alternatives(f"params.{key}", value) for key, value in params.items()]
    axes += [_list_alternatives("training_gain", training_gain), _list_alternatives("seed", seed)]
    names = [*params, "gain", "seed"]
    count = math.prod(map(len, axes))
    if count > MAX_CANDIDATES:
        raise ValueError(f"params must make at most {MAX_CANDIDATES} candidates, got {count} candidates")
    candidates = []
    for values in itertools.product(*axes):
        cells = zip(names, values, axes, strict=True)
        varying = [f"{key}={_format_value(value)}" for key, value, axis in cells if len(axis) > 1]
        *point, gain, own_seed = values
        own_params = dict(zip(params, point, strict=True))
        full_name = " ".join([name, *varying])
        candidates.append(Candidate(full_name, library, own_params, training_gain=gain, seed=own_seed, **common))
    return candidates


def validate_candidates(candidates: Iterable[Any]) -> tuple[Candidate, ...]:
    """Return the candidates if there is at least one and their names are distinct, or raise."""
    if isinstance(candidates, Candidate) or not isinstance(candidates, Iterable):
        raise TypeError(f"candidates must be a list of Candidate, got {type(candidates).__name__}")
    candidates = tuple(candidates)
    for place, candidate in enumerate(candidates):
        if not isinstance(candidate, Candidate):
            raise TypeError(f"candidates[{place}] must be a Candidate, got {type(candidate).__name__}")
    if not candidates:
        raise ValueError("candidates is empty. Pass at least one, for example Candidate('lambdarank', 'lightgbm').")
    validate_distinct("names of candidates", [candidate.name for candidate in candidates], when_printed=True)
    return candidates


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
    return list(value)


def _format_value(value: Any) -> str:
    return json.dumps(value, separators=(",", ":")) if isinstance(value, list | tuple | bool) else str(value)


BALANCED = "balanced"

MAX_DRAWS, MAX_REPEATS = 10_000_000, 1000


def validate_stop_by(stop_by: Any, metrics: Sequence[Metric]) -> str:
    """Return "balanced" or the full name of one of the metrics, or raise `ValueError`."""
    name, names = str(stop_by), [BALANCED, *map(str, metrics)]
    if name not in names:
        with suppress(ValueError, TypeError):
            name = str(parse_metric(stop_by))
    validate_choice("stop_by", name, names)
    return name


class Repeats(StrictModel):
    """How often each candidate is trained.

    Attributes
    ----------
    count : int
        Repeats of each candidate. 1 trains every candidate once with its own seed.
    finalists : int or None
        Repeats of the finalists only. Every candidate is trained once first.
    keep : int
        Number of the best candidates on the validation set, by each primary metric, that are finalists.
    baseline : str or None
        Candidate that is always a finalist.
    """

    count: Integer = 1
    finalists: Annotated[Integer, Field(ge=3, le=MAX_REPEATS)] | None = None
    keep: Annotated[Integer, Field(ge=1)] = 3
    baseline: str | None = None

    @model_validator(mode="after")
    def _validate_together(self) -> Repeats:
        if self.count != 1 and not 3 <= self.count <= MAX_REPEATS:
            fix = "Use 5, or 10 for differences near 0.01."
            raise ValueError(f"repeats must be 1, or from 3 to {MAX_REPEATS}, got {self.count}. {fix}")
        if self.finalists is None and (self.keep != 3 or self.baseline is not None):
            raise ValueError("repeats.finalists is missing. Write {'finalists': 5} for five repeats of each finalist.")
        return self

    @property
    def number(self) -> int:
        """Repeats of each compared candidate."""
        return self.finalists or self.count


def _read_repeats(value: Any) -> Any:
    """Return a number of repeats as a table."""
    if isinstance(value, Mapping):
        return dict(value)
    return value if isinstance(value, Repeats) else {"count": value}


class ExperimentConfig(StrictModel):
    """The settings that Python, TOML files and `experiment.json` share. See `Experiment` for their meaning."""

    candidates: Annotated[Any, BeforeValidator(validate_candidates)]
    metrics: Annotated[Any, Field(validate_default=True)] = None
    primary: Any = None
    stop_by: Any = BALANCED
    seed: Seed = 0
    alpha: Annotated[Real, Field(gt=0, lt=0.5)] = 0.05
    margin: Annotated[Real, Field(ge=0)] = 0.0
    draws: Annotated[Integer, Field(ge=1, le=MAX_DRAWS)] = 10_000
    num_boost_round: Rounds = 100
    early_stopping_rounds: Patience = 0
    threads: Threads = 1
    repeats: Annotated[Repeats, BeforeValidator(_read_repeats)] = Repeats()
    vary: Literal["seed", "queries"] = "seed"

    @field_validator("metrics", "primary", "stop_by", mode="before")
    @classmethod
    def _validate_metric_names(cls, value: Any, info: ValidationInfo) -> Any:
        if info.field_name == "metrics":
            parsed = parse_metrics(DEFAULT_METRICS if value is None else value)
            validate_without_judged(parsed)
            return parsed
        metrics = info.data.get("metrics")
        if value is None or metrics is None:  # The metrics are invalid, which is reported.
            return value
        if info.field_name == "stop_by":
            return validate_stop_by(value, metrics)
        return validate_primary([str(metric) for metric in parse_metrics(value)], [str(metric) for metric in metrics])

    @model_validator(mode="after")
    def _validate_together(self) -> ExperimentConfig:
        validate_seed(self.seed, self.draws, self.alpha)
        if self.vary != "seed" and self.repeats.number == 1:
            raise ValueError(f"vary must be 'seed' without repeats, got {self.vary!r}. Pass repeats=5, for example.")
        if self.repeats.baseline is not None:
            validate_choice("repeats.baseline", self.repeats.baseline, [own.name for own in self.candidates])
        return self
