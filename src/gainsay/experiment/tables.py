"""The tables of an experiment's TOML file: which keys there are, and what is said about wrong ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from .._common.arrays import nearest
from .candidates import MOST_ROUNDS, MOST_SEED, MOST_THREADS
from .plan import MOST_DRAWS

try:
    from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
except ImportError as error:  # pragma: no cover - needs an environment without pydantic
    raise ImportError("experiments in TOML need pydantic: pip install 'gainsay[experiment]'") from error

MOST_QUERIES, MOST_FEATURES = 10**10, 10**7
"""What is above is no size; what is below may still be too much for this machine, which `config` looks at."""


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Files = Annotated[list[str], BeforeValidator(_as_list), Field(min_length=1)]
Rounds = Annotated[int, Field(le=MOST_ROUNDS)]
Seed = Annotated[int, Field(ge=0, le=MOST_SEED)]
Share = Annotated[float, Field(gt=0, lt=1)]


class _Table(BaseModel):
    """A table of the file: types are taken literally, and unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class SimulateTable(_Table):
    """`data.simulate`."""

    queries: Annotated[int, Field(ge=1, le=MOST_QUERIES)]
    seed: Seed
    split: Annotated[list[Share], Field(min_length=3, max_length=3)] | None = None
    features: Annotated[int, Field(ge=1, le=MOST_FEATURES)] = 30
    mean_length: Annotated[float, Field(ge=1)] = 120
    signal: float = 1.0


class DataTable(_Table):
    """`data`."""

    train: Files | None = None
    valid: Files | None = None
    test: Files | None = None
    folds: Annotated[list[str], Field(min_length=3)] | None = None
    files: Files | None = None
    k_folds: Annotated[int, Field(ge=3)] | None = None
    seed: Seed | None = None
    simulate: SimulateTable | None = None
    format: Literal["letor", "lightgbm"] = "letor"
    features: Annotated[int, Field(ge=1, le=MOST_FEATURES)] | None = None
    zero_based: bool = False
    shared_ids: Literal["refuse", "separate", "join"] = "refuse"
    clusters: str | None = None
    segments: str | None = None

    @model_validator(mode="after")
    def _one_source(self) -> DataTable:
        """Refuse keys that do not go together."""
        split = [key for key in ("train", "valid", "test") if getattr(self, key) is not None]
        sources = (["train"] if split else []) + [
            key for key in ("folds", "files", "simulate") if getattr(self, key) is not None
        ]
        if len(sources) != 1:
            found = " and ".join(sources) or "none of them"
            raise ValueError(f"give one of train (with valid and test), folds, files, simulate; there is {found}")
        if split and len(split) < 3:
            missing = [key for key in ("train", "valid", "test") if key not in split]
            raise ValueError(f"{' and '.join(missing)} missing: train, valid and test go together")
        if self.k_folds is not None and sources[0] not in ("files", "simulate"):
            raise ValueError(f"k_folds divides files or simulate, not {sources[0]}")
        if self.files is not None and self.k_folds is None:
            raise ValueError("k_folds missing: say into how many folds the queries of files are divided")
        if self.simulate is not None and (self.simulate.split is None) == (self.k_folds is None):
            raise ValueError("simulate needs either split = [0.6, 0.2, 0.2] or k_folds = 5 beside it")
        if self.seed is not None and self.k_folds is None:
            raise ValueError("seed divides queries into k_folds, and there is no such key")
        if self.simulate is not None and (
            given := self.model_fields_set & {"format", "features", "zero_based", "shared_ids"}
        ):
            raise ValueError(f"{', '.join(sorted(given))} describes files, and there are none beside simulate")
        if "shared_ids" in self.model_fields_set and self.format != "letor":
            raise ValueError("shared_ids is for letor files: those of lightgbm have no query ids")
        return self


class CandidateTable(_Table):
    """One of `candidates`. What may be one value or a list of them is left to `grid`, and values to `Candidate`."""

    name: str
    library: str
    params: dict[str, Any] = {}
    training_gain: Any = None
    num_boost_round: int | None = None
    early_stopping_rounds: int | None = None
    seed: Any = None
    threads: int | None = None


class ExperimentTable(_Table):
    """The file."""

    metrics: Annotated[list[str], BeforeValidator(_as_list), Field(min_length=1)] | None = None
    primary: Annotated[list[str], Field(min_length=2, max_length=2)] | None = None
    stop_by: str = "balanced"
    directory: str | None = None
    seed: Seed = 0
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    margin: Annotated[float, Field(ge=0)] = 0.0
    draws: Annotated[int, Field(ge=1, le=MOST_DRAWS)] = 10_000
    num_boost_round: Annotated[Rounds, Field(ge=1)] = 100
    early_stopping_rounds: Annotated[Rounds, Field(ge=0)] = 0
    threads: Annotated[int, Field(ge=1, le=MOST_THREADS)] = 1
    runs: Any = 1
    vary: Literal["seed", "queries"] = "seed"
    data: DataTable
    candidates: Annotated[list[CandidateTable], Field(min_length=1)]


_TABLES: dict[tuple[str, ...], type[_Table]] = {
    (): ExperimentTable,
    ("data",): DataTable,
    ("data", "simulate"): SimulateTable,
    ("candidates",): CandidateTable,
}


def read_table(document: Any) -> ExperimentTable:
    """Return the tables in a parsed TOML document.

    Raises
    ------
    ValueError
        For all that is wrong, one line a mistake, with key, value and the nearest valid one.
    """
    try:
        return ExperimentTable.model_validate(document)
    except ValidationError as error:
        lines = dict.fromkeys(_line(mistake) for mistake in error.errors(include_url=False))
        raise ValueError("\n".join(lines)) from None


def _line(mistake: Any) -> str:
    """Say in one line what pydantic found: where, what is wanted, what is there."""
    place, found, kind = _place(mistake["loc"]), _short(mistake["input"]), mistake["type"]
    if kind == "missing":
        return f"{place} is missing"
    if kind == "extra_forbidden":
        known = list(_TABLES[tuple(step for step in mistake["loc"][:-1] if isinstance(step, str))].model_fields)
        return f"{place} is not a known key{nearest(str(mistake['loc'][-1]), known)} (known: {', '.join(known)})"
    if kind == "literal_error":
        known = mistake["ctx"]["expected"].replace("'", "").split(" or ")
        return f"{place} must be {mistake['ctx']['expected']}, got {found}{nearest(str(mistake['input']), known)}"
    if kind in ("too_short", "too_long"):
        bound, limit = ("min_length", "or more") if kind == "too_short" else ("max_length", "or fewer")
        entries = mistake["ctx"][bound]
        return f"{place} needs {entries} {'entry' if entries == 1 else 'entries'} {limit}, got {found}"
    if kind == "value_error":
        return f"{place}: {mistake['ctx']['error']}"
    if mistake["msg"].startswith("Input should be "):
        return f"{place} must be {mistake['msg'].removeprefix('Input should be ')}, got {found}"
    return f"{place}: {mistake['msg']}, got {found}"


def _place(steps: Sequence[str | int]) -> str:
    """Return the path of a key as one would write it.

    >>> _place(("candidates", 2, "training_gain"))
    'candidates[2].training_gain'
    """
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return path.removeprefix(".")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
