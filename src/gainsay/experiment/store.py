"""The directory of an experiment: what is finished stays finished, and what is damaged is recognised."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import RankingData
from .files import canonical, from_parquet, locked, remove_partial, replace_file, sha256, to_parquet
from .plan import FORMAT, Plan, Unit, differences
from .training import Trained, library_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DamagedError", "Finished", "PartsOnDisk", "Store"]

CURVES, TEST, MANIFEST, EXPERIMENT = "curves.parquet", "test.parquet", "manifest.json", "experiment.json"
_MODELS = {"lightgbm": "model.txt", "xgboost": "model.ubj"}


class DamagedError(Exception):
    """What is in the directory is not what was written there; the message says what is wrong."""


@dataclass(frozen=True)
class Finished:
    """A finished unit as it lies in the directory.

    Attributes
    ----------
    curves : DataFrame
        One row per round: `round` and one column per metric, the means on valid.
    test : DataFrame
        For every round that some metric chooses, one row per query of test: `round`, `query` (its place), `query_id`,
        `weight` and one column per metric.
    manifest : dict
        Identity, checksums, versions.
    model : bytes
        In the library's own format.
    """

    curves: pd.DataFrame
    test: pd.DataFrame
    manifest: Mapping[str, Any]
    model: bytes


class Store:
    """Reads and writes the directory of an experiment.

    `experiment.json` holds the plan. Each unit has a folder below `candidates` with the model, `curves.parquet`,
    `test.parquet` and, written last, `manifest.json` with the checksums of the others: a unit is finished where the
    manifest is there and everything agrees with it. `failures` holds what went wrong, `data` the copy that other
    processes train from, for as long as they do.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def locked(self) -> AbstractContextManager[None]:
        """Keep other processes from running in the same directory."""
        return locked(self.directory / ".lock")

    def folder(self, unit: Unit) -> Path:
        """Return the folder of a unit."""
        return self.directory / "candidates" / unit.slug

    # ------------------------------------------------------------------------------------------------------- the plan

    def read_plan(self) -> Plan | None:
        """Return the plan in the directory, None where there is none.

        Raises
        ------
        DamagedError
            Where it cannot be read.
        """
        try:
            content = (self.directory / EXPERIMENT).read_bytes()
        except FileNotFoundError:
            return None
        try:
            document = _unsealed(content)
            if document["format"] != FORMAT:
                raise DamagedError(f"it has format {document['format']!r}, this version of gainsay reads {FORMAT}")
            return Plan.from_dict(document)
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedError(str(error)) from error

    def write_plan(self, plan: Plan) -> None:
        """Write the plan."""
        replace_file(self.directory / EXPERIMENT, _sealed(plan.to_dict()))

    # ------------------------------------------------------------------------------------------------------ the units

    def save(self, plan: Plan, unit: Unit, trained: Trained, seconds: float) -> None:
        """Write what came of a unit; it counts as finished once this has returned."""
        folder = self.folder(unit)
        (folder / MANIFEST).unlink(missing_ok=True)
        if folder.is_dir():
            remove_partial(folder)
        contents = {
            _MODELS[unit.candidate.library]: trained.model,
            CURVES: to_parquet(_curves_frame(plan.metrics, trained)),
            TEST: to_parquet(_test_frame(plan.metrics, trained)),
        }
        for name, content in contents.items():
            replace_file(folder / name, content)
        manifest = {
            "format": FORMAT,
            "identity": plan.identity(unit),
            "files": {name: {"bytes": len(content), "sha256": sha256(content)} for name, content in contents.items()},
            "valid_weight": trained.valid_weight,
            "seconds": round(seconds, 3),
            "versions": versions(unit.candidate.library),
        }
        replace_file(folder / MANIFEST, _sealed(manifest))
        self._failure_file(unit).unlink(missing_ok=True)

    def load(self, plan: Plan, unit: Unit) -> Finished | None:
        """Return what came of a unit, None where it is not finished.

        Raises
        ------
        DamagedError
            Where a file is missing, cut off or changed.
        ValueError
            Where the folder is that of another experiment.
        """
        folder = self.folder(unit)
        try:
            content = (folder / MANIFEST).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DamagedError(f"{MANIFEST}: {error}") from error
        manifest = self._manifest(content)
        changed = differences(manifest.get("identity"), plan.identity(unit))
        if changed:
            raise ValueError(f"{folder} holds another candidate of the same name: {'; '.join(changed)}")
        names = (_MODELS[unit.candidate.library], CURVES, TEST)
        listed = manifest.get("files", {})
        if set(listed) != set(names):
            raise DamagedError(f"{MANIFEST} lists {', '.join(map(repr, listed))} instead of {', '.join(names)}")
        # Only these three names are opened, whatever a manifest may say.
        model, curves, test = (_checked(folder / name, listed[name]) for name in names)
        return Finished(
            _table(CURVES, curves, ["round", *plan.metrics]),
            _table(TEST, test, ["round", "query", "query_id", "weight", *plan.metrics]),
            manifest,
            model,
        )

    def _manifest(self, content: bytes) -> dict[str, Any]:
        try:
            manifest = _unsealed(content)
        except ValueError as error:
            raise DamagedError(f"{MANIFEST}: {error}") from error
        if manifest.get("format") != FORMAT:
            raise DamagedError(
                f"{MANIFEST} has format {manifest.get('format')!r}, this version of gainsay reads {FORMAT}"
            )
        return manifest

    # --------------------------------------------------------------------------------------------------- the failures

    def save_failure(self, unit: Unit, text: str) -> None:
        """Write why a unit failed."""
        replace_file(self._failure_file(unit), text.encode(errors="backslashreplace"))

    def failure(self, unit: Unit) -> str | None:
        """Return why a unit failed when it was last tried, None where it did not."""
        try:
            return self._failure_file(unit).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def _failure_file(self, unit: Unit) -> Path:
        return self.directory / "failures" / f"{unit.slug}.txt"

    # ------------------------------------------------------------------------------------------------------- the data

    def share_data(self, parts: Mapping[str, RankingData]) -> PartsOnDisk:
        """Write the data for other processes to map into their memory."""
        self.forget_data()
        shared = PartsOnDisk(self.directory / "data", tuple(parts))
        shared.write(parts)
        return shared

    def forget_data(self) -> None:
        """Remove the copy of the data."""
        shutil.rmtree(self.directory / "data", ignore_errors=True)


class PartsOnDisk(Mapping[str, RankingData]):
    """Parts of the data as NumPy files; cheap to pickle, and read through the page cache that processes share."""

    _ARRAYS = ("features", "labels", "qid", "query_ids", "weight")

    def __init__(self, folder: Path, names: tuple[str, ...]) -> None:
        self._folder = folder
        self._names = names

    def write(self, parts: Mapping[str, RankingData]) -> None:
        """Write all parts."""
        for place, part in enumerate(parts.values()):
            folder = self._folder / str(place)
            folder.mkdir(parents=True)
            for name in self._ARRAYS:
                if getattr(part, name) is not None:
                    np.save(folder / f"{name}.npy", getattr(part, name), allow_pickle=False)

    def __getitem__(self, name: str) -> RankingData:
        folder = self._folder / str(self._names.index(name))
        arrays = {
            array: np.load(folder / f"{array}.npy", mmap_mode="r", allow_pickle=False)
            for array in self._ARRAYS
            if (folder / f"{array}.npy").exists()
        }
        return RankingData(**arrays)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def versions(library: str) -> dict[str, str]:
    """Return the versions that a result may depend on."""
    from .. import __version__

    return {"gainsay": __version__, "numpy": np.__version__, library: library_of(library).version()}


def _curves_frame(metrics: tuple[str, ...], trained: Trained) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(trained.curves, columns=list(metrics))
    frame.insert(0, "round", np.arange(1, len(frame) + 1))
    return frame


def _test_frame(metrics: tuple[str, ...], trained: Trained) -> pd.DataFrame:
    import pandas as pd

    weights = np.ones(len(trained.query_ids)) if trained.weights is None else trained.weights
    frames = []
    for number, values in trained.test.items():
        about = {"round": number, "query": np.arange(len(values)), "query_id": trained.query_ids, "weight": weights}
        frames.append(pd.DataFrame({**about, **dict(zip(metrics, values.T, strict=True))}))
    return pd.concat(frames, ignore_index=True)


def _sealed(document: Mapping[str, Any]) -> bytes:
    """Return a JSON document with a checksum of itself."""
    return canonical({**document, "sha256": sha256(canonical(document))})


def _unsealed(content: bytes) -> dict[str, Any]:
    """Return the document in what `_sealed` wrote; raise `ValueError` where it has changed."""
    document = json.loads(content)
    if not isinstance(document, dict):
        raise ValueError("it is not a JSON object")
    seal = document.pop("sha256", None)
    if seal != sha256(canonical(document)):
        raise ValueError("its checksum does not fit its content")
    return document


def _table(name: str, content: bytes, columns: list[str]) -> pd.DataFrame:
    try:
        frame = from_parquet(content)
    except Exception as error:  # pyarrow raises errors of many kinds
        raise DamagedError(f"{name} cannot be read: {error}") from error
    if list(frame.columns) != columns:
        raise DamagedError(f"{name} has the columns {', '.join(map(str, frame.columns))}")
    return frame


def _checked(path: Path, listed: Mapping[str, Any]) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DamagedError(f"{path.name} cannot be read: {error.strerror or error}") from error
    if {"bytes": len(content), "sha256": sha256(content)} != listed:
        raise DamagedError(f"{path.name} is not as it was written (it has {len(content)} bytes)")
    return content
