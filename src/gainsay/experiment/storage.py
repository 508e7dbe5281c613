"""The directory of an experiment: what is finished stays finished, and what is damaged is trained again."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.text import one_line
from .libraries import library_of
from .own_metrics import UndefinedMetricError
from .plan import FORMAT, Plan, Unit, differences, shortened
from .serialization import canonical_json, sha256
from .shared import PartsOnDisk
from .trainings import Archive, Training

if TYPE_CHECKING:
    from .._common.typing import Floats
    from ..data import RankingData

ARRAYS, MANIFEST, EXPERIMENT = "arrays.npz", "manifest.json", "experiment.json"
_SUFFIX = {"lightgbm": "txt", "xgboost": "ubj"}


class DamagedError(Exception):
    """What is in the directory is not what was written there; the message says what is wrong."""


class Storage:
    """Reads and writes the directory of an experiment.

    `experiment.json` holds the plan. Each unit has a folder below `candidates` with the model as it was trained
    (`all-rounds.txt` of LightGBM, `all-rounds.ubj` of XGBoost), `arrays.npz` (see `Training`) and, written last,
    `manifest.json` with the checksums of both: a unit is finished where all agree. Beside them lies what is compared,
    the model cut at its round: `model.txt` (`.ubj`), or `model@70.txt` and `model@83.txt`. `failures` holds tracebacks,
    `.shared` the data that other processes train from, for as long as they do.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes from running in the same directory; the system releases it when this one ends."""
        try:
            from filelock import FileLock, Timeout
        except ImportError as error:
            raise ImportError("an experiment needs filelock: pip install 'gainsay[experiment]'") from error
        self.directory.mkdir(parents=True, exist_ok=True)
        try:
            lock = FileLock(self.directory / ".lock").acquire(blocking=False)
        except Timeout:
            raise RuntimeError(
                f"{self.directory} is in use by another process: wait until it has ended, or take another directory"
            ) from None
        with lock:
            yield

    def folder(self, unit: Unit) -> Path:
        """Return the folder of a unit."""
        return self.directory / "candidates" / unit.slug

    def read_plan(self) -> Plan | None:
        """Return the plan in the directory, None where there is none; raise `DamagedError` where it cannot be read."""
        path = self.directory / EXPERIMENT
        if not path.exists():
            return None
        document = self._read_json(path)
        try:
            return Plan.from_dict(document)
        except UndefinedMetricError as error:
            raise ValueError(f"{self.directory}: {one_line(error)}") from None
        except (LookupError, TypeError, ValueError, ArithmeticError) as error:
            raise DamagedError(one_line(error)) from error

    def write_plan(self, plan: Plan) -> None:
        """Write the plan."""
        write_atomically(self.directory / EXPERIMENT, sealed(plan.to_dict()))

    def save(self, plan: Plan, unit: Unit, model: bytes, training: Training) -> None:
        """Write what came of a unit; it counts as finished once this has returned."""
        folder = self.folder(unit)
        (folder / MANIFEST).unlink(missing_ok=True)
        arrays = io.BytesIO()
        np.savez_compressed(arrays, **training.to_arrays())
        contents = {self._model_name(unit): model, ARRAYS: arrays.getvalue()}
        for name, content in contents.items():
            write_atomically(folder / name, content)
        manifest = {
            "format": FORMAT,
            "identity": plan.identity(unit),
            "files": {name: sha256(content) for name, content in contents.items()},
            "versions": training.versions,
        }
        write_atomically(folder / MANIFEST, sealed(manifest))
        self._failure_path(unit).unlink(missing_ok=True)

    def load(self, plan: Plan, unit: Unit) -> Training | None:
        """Return what came of a unit, None where it is not finished.

        Raises
        ------
        DamagedError
            Where a file is missing, cut off or changed.
        ValueError
            Where the folder is that of another experiment or version.
        """
        folder = self.folder(unit)
        if not (folder / MANIFEST).exists():
            return None
        manifest = self._read_json(folder / MANIFEST)
        changed = differences(manifest.get("identity"), plan.identity(unit))
        if changed:
            raise ValueError(f"{folder} holds another candidate of the same name: {'; '.join(changed)}")
        for name in (self._model_name(unit), ARRAYS):
            if sha256(_read(folder / name)) != manifest["files"].get(name):
                raise DamagedError(f"{name} is not as it was written")
        try:
            return Training.from_archive(unit.fold.name, Archive(folder / ARRAYS), manifest["versions"])
        except (RuntimeError, LookupError, TypeError, ValueError) as error:
            raise DamagedError(f"{ARRAYS} is not an archive of a training: {one_line(error)}") from error

    def model(self, unit: Unit) -> bytes:
        """Return the model of a finished unit with all its rounds, in the library's own format."""
        return _read(self.folder(unit) / self._model_name(unit))

    def place_models(self, plan: Plan, unit: Unit, curves: Floats) -> None:
        """Put the models that are compared beside the whole one, and remove those that no longer are."""
        folder, suffix = self.folder(unit), _SUFFIX[unit.candidate.library]
        rounds = plan.compared_rounds(curves)
        wanted = {f"model{f'@{number}' if len(rounds) > 1 else ''}.{suffix}": number for number in rounds}
        for path in folder.glob("model*"):
            if path.name not in wanted and re.fullmatch(rf"model(@\d+)?\.{suffix}", path.name):
                path.unlink()
        for name, number in wanted.items():
            content = library_of(unit.candidate.library).cut(self.model(unit), number)
            if not (folder / name).exists() or (folder / name).read_bytes() != content:
                write_atomically(folder / name, content)

    def save_failure(self, unit: Unit, text: str) -> None:
        """Write why a unit failed."""
        write_atomically(self._failure_path(unit), text.encode(errors="backslashreplace"))

    def failure(self, unit: Unit) -> str | None:
        """Return why a unit failed when it was last tried, None where it did not."""
        path = self._failure_path(unit)
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else None

    def share_data(self, parts: Mapping[str, RankingData]) -> PartsOnDisk:
        """Write the data for other processes to map into their memory."""
        shared = PartsOnDisk(self.directory / ".shared" / secrets.token_hex(6), tuple(parts))
        try:
            shared.write(parts)
        except BaseException:
            shared.remove()
            raise
        return shared

    def tidy(self) -> None:
        """Remove what runs that were killed have left: half files, and copies of the data."""
        shutil.rmtree(self.directory / ".shared", ignore_errors=True)
        for path in self.directory.rglob(".*.partial"):
            path.unlink(missing_ok=True)

    def _model_name(self, unit: Unit) -> str:
        return f"all-rounds.{_SUFFIX[unit.candidate.library]}"

    def _failure_path(self, unit: Unit) -> Path:
        return self.directory / "failures" / f"{unit.slug}.txt"

    def _read_json(self, path: Path) -> dict[str, Any]:
        """Return a document that `sealed` wrote, of this version of gainsay."""
        try:
            document = json.loads(_read(path))
            seal = document.pop("sha256")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise DamagedError(f"{path.name}: {one_line(error)}") from error
        if seal != sha256(canonical_json(document)):
            raise DamagedError(f"{path.name}: its checksum does not fit its content")
        if document.get("format") != FORMAT:
            raise ValueError(
                f"{self.directory} was written by another version of gainsay (format "
                f"{shortened(document.get('format'))}, this one has {FORMAT}): take another directory, or remove this "
                "one to train anew"
            )
        return dict(document)


def sealed(document: Mapping[str, Any]) -> bytes:
    """Return a JSON document with a checksum of itself."""
    return canonical_json({**document, "sha256": sha256(canonical_json(document))})


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DamagedError(f"{path.name} cannot be read: {error.strerror or error}") from error


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it is there with all its content or, after a crash, as it was before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.partial")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
