"""Experiments written down in TOML.

The file says what `Experiment` is given. Paths are relative to its folder. A small one::

    metrics = ["ndcg_linear@10", "ndcg_exp@10", "map", "mrr"]   # these four keys may be left out
    directory = "runs/first"        # by default named after the file: experiment.toml makes experiment-run
    num_boost_round = 300           # for candidates that do not say
    early_stopping_rounds = 50      # 0, the default: train all rounds

    [data]
    train = ["train.txt.gz"]        # several files are joined
    valid = ["vali.txt.gz"]
    test = ["test.txt.gz"]
    format = "letor"                # or "lightgbm", which looks for .query (and .weight) files
    features = 136                  # needed where the last features may be missing from a file

    [[candidates]]
    name = "lightgbm"
    library = "lightgbm"            # or "xgboost"
    training_gain = ["linear", 1.5, "exponential"]  # or a base; a list makes a candidate of each of its values,
    params = {learning_rate = 0.1, num_leaves = [15, 31, 63]}   # here two times three of them

Further keys at the top: `primary` (two of the metrics), `stop_by` ("balanced", "each" or a metric), `seed`, `alpha`,
`margin`, `draws`, `threads`; `runs` (5, or {finalists = 5, keep = 3, baseline = "a candidate"}) and `vary` ("seed" or
"queries") to train each candidate several times. Further keys of a candidate: `num_boost_round`,
`early_stopping_rounds`, `seed` (or a list of seeds), `threads`. See `Experiment` and `Candidate` for what they mean. A
parameter that is itself a list goes into another list.

`[data]` is one of:

* `train`, `valid`, `test`: files, as above;
* `folds = ["fold1.txt", "fold2.txt", …]`: one file a fold, which take turns: test on fold i, validate on fold i + 1,
  train on the others;
* `files = ["all.txt"]` with `k_folds = 5` and maybe `seed = 0`: queries divided at random into as many folds;
* `simulate = {queries = 1000, seed = 1, split = [0.6, 0.2, 0.2]}`, or the same with `k_folds = 5` beside it and no
  `split`. Further keys of `simulate`: `features`, `mean_length`, `signal`; see `gainsay.data.simulate`.

With files, `format`, `features` and `zero_based` are arguments of `gainsay.data.read_letor` or `read_lightgbm`, and so
is `shared_ids` of the former: where files that are joined have query ids in common, "separate" takes them for different
queries and "join" for the same; without it that is an error.

`clusters = "clusters.csv"` beside any of these names a CSV file with a line of names and two columns, the id of a query
of test and the label of its cluster (near duplicates, one session, one user). `segments = "segments.csv"` names one
whose further columns are kinds of queries, each of which is judged by itself. See `clusters` and `segments` of
`Experiment`.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._common.cpus import physical_memory
from ..data import RankingData, read_letor, read_lightgbm, simulate
from ..data.simulate import LONGEST
from ..data.text import one_line
from ..harness import DEFAULT_METRICS
from ..metrics.judged import refuse_judged
from ..metrics.names import parse_metrics
from .candidates import Candidate, grid
from .folds import k_folds
from .labels import cluster_file, segment_file
from .libraries import library_of
from .rounds import check_stop_by
from .runs import Runs
from .tables import CandidateTable, DataTable, ExperimentTable, SimulateTable, read_table

__all__ = ["read_toml"]

MAX_BYTES = 2**20
"""Limit on the file, in bytes: it is written by hand."""

MAX_KEY_PARTS = 64
"""Limit on the parts of a dotted key; the deepest that means anything has four."""


def read_toml(path: str | os.PathLike[str], directory: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Return the arguments of `Experiment` that a TOML file describes, the data read.

    Parameters
    ----------
    path : path
        The file.
    directory : path, optional
        Instead of the file's own.

    Raises
    ------
    ValueError
        For what is wrong with the file: one line a mistake, with its key and value.
    """
    source = Path(path)
    table = _validated(source)
    candidates = _candidates(source, table.candidates)
    for key in ("metrics", "primary"):
        with _prefixed(f"{source}: {key}: "):
            if getattr(table, key) is not None:
                refuse_judged(parse_metrics(getattr(table, key)))
    kept = directory if directory is not None else source.parent / (table.directory or f"{source.stem}-run")
    with _prefixed(f"{source}: "):
        check_stop_by(table.stop_by, parse_metrics(table.metrics or DEFAULT_METRICS))
        Runs.read(table.runs, table.vary, [candidate.name for candidate in candidates])
    arguments = table.model_dump(exclude={"candidates", "data", "directory"})
    labels = {
        key: read(_existing(source, table.data, key)[0])
        for key, read in (("clusters", cluster_file), ("segments", segment_file))
        if getattr(table.data, key) is not None
    }
    data = _data(source, table.data, table.seed)
    return {**arguments, "candidates": candidates, "directory": kept, **labels, **data}


def _validated(source: Path) -> ExperimentTable:
    with open(source, "rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"{source}: larger than {MAX_BYTES} bytes; this is no description of an experiment")
    with _prefixed(f"{source}: not TOML: "):
        text = content.decode().replace("\r\n", "\n")
        _refuse_long_keys(text)
        document = tomllib.loads(text)
    with _prefixed(f"{source}: "):
        return read_table(document)


def _refuse_long_keys(text: str) -> None:
    """Raise where a key has so many parts that tomllib, which takes the square of their number, would not return."""
    for number, line in enumerate(text.split("\n"), 1):
        pieces = re.split(r"[,=\[\]{}]", "".join(line.split()))  # blanks may stand around the dots of a key
        if not line.lstrip().startswith("#") and max(piece.count(".") for piece in pieces) >= MAX_KEY_PARTS:
            raise ValueError(f"a key of more than {MAX_KEY_PARTS} parts (at line {number})")


@contextmanager
def _prefixed(prefix: str) -> Iterator[None]:
    """Put file and key before the message of an error."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ValueError(f"{prefix}{_shown(str(error))}") from None
    except RecursionError:
        raise ValueError(f"{prefix}tables or lists are nested too deeply") from None
    except MemoryError:
        raise ValueError(f"{prefix}the memory of this machine does not suffice; ask for less data") from None


def _shown(message: str) -> str:
    """Return a message without the control characters that keys and values may hold, and of no more than ten lines."""
    lines = [one_line(line) for line in message.split("\n")]
    more = [f"and {len(lines) - 9} more"] if len(lines) > 10 else []
    return "\n".join(lines[:9] + more if more else lines)


def _candidates(source: Path, tables: Sequence[CandidateTable]) -> list[Candidate]:
    """Return the candidates of all tables, grids expanded."""
    made: list[Candidate] = []
    origin: dict[str, int] = {}
    for place, table in enumerate(tables):
        with _prefixed(f"{source}: candidates[{place}]."):
            grown = grid(**table.model_dump())
            for candidate in grown:
                library_of(candidate.library).check(candidate)
                if candidate.name in origin:
                    raise ValueError(
                        f"name: {candidate.name!r} is also the name of candidates[{origin[candidate.name]}]"
                    )
                origin[candidate.name] = place
        made += grown
    return made


def _data(source: Path, table: DataTable, seed: int) -> dict[str, Any]:
    """Return the arguments of `Experiment` that hold the data."""
    if table.simulate is not None:
        options = table.simulate.model_dump(exclude={"split"})
        with _prefixed(f"{source}: data.simulate: "):
            _refuse_more_than_memory(table.simulate)
            everything = simulate(**options)
            if table.simulate.split is not None:
                parts = everything.split_queries(*table.simulate.split, seed=table.simulate.seed)
                return dict(zip(("train", "valid", "test"), parts, strict=True))
        return _folds(source, everything, table, seed)
    paths = {key: _existing(source, table, key) for key in ("train", "valid", "test", "folds", "files")}
    if table.folds is not None:
        return {"folds": [_read([path], table) for path in paths["folds"]]}
    if table.files is not None:
        return _folds(source, _read(paths["files"], table), table, seed)
    return {key: _read(paths[key], table) for key in ("train", "valid", "test")}


def _refuse_more_than_memory(table: SimulateTable) -> None:
    """Raise where the features alone would not fit: trying would take the machine down rather than raise."""
    gigabytes = table.queries * min(table.mean_length, LONGEST) * table.features * 4 / 1e9
    memory = physical_memory()
    if memory is not None and gigabytes > memory / 1e9:
        raise ValueError(
            f"queries, mean_length and features make {gigabytes:,.0f} GB of data, and this machine has "
            f"{memory / 1e9:,.0f} GB of memory: make one of them smaller"
        )


def _folds(source: Path, everything: RankingData, table: DataTable, seed: int) -> dict[str, Any]:
    with _prefixed(f"{source}: data.k_folds: "):
        return {"folds": k_folds(everything, table.k_folds or 0, seed=seed if table.seed is None else table.seed)}


def _existing(source: Path, table: DataTable, key: str) -> list[Path]:
    """Return the paths under a key, seen from the folder of the TOML file."""
    found = getattr(table, key) or ()
    paths = [source.parent / name for name in ([found] if isinstance(found, str) else found)]
    for place, path in enumerate(paths):
        if not os.path.isfile(path):
            named = str(path) if str(path).isprintable() else repr(str(path))
            where = key if isinstance(found, str) else f"{key}[{place}]"
            raise FileNotFoundError(f"{source}: data.{where}: there is no file {named[:300]}")
    return paths


def _read(paths: Sequence[Path], table: DataTable) -> RankingData:
    options: dict[str, Any] = {"features": table.features, "zero_based": table.zero_based}
    try:
        if table.format == "letor":
            return read_letor(paths, **options, shared_ids=table.shared_ids)
        return RankingData.concatenate([read_lightgbm(path, **options) for path in paths])
    except MemoryError:
        listed = ", ".join(map(str, paths))
        raise ValueError(f"{listed}: the memory of this machine does not suffice; is `features` too large?") from None
