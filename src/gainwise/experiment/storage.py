"""The directory of an experiment: finished trainings are kept, damaged ones are trained again."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from .._common.typing import Floats
from .._common.validation import prefix_errors
from ..data import RankingData
from ..data.ranking_data import from_parts, parts_of
from .config import Candidate
from .plan import ExperimentPlan, Unit, create_slug, find_differences
from .trainers import get_trainer

FORMAT = 8
"""Version of the files in the directory."""

ARRAYS, MANIFEST, EXPERIMENT, SELECTION = "arrays.npz", "manifest.json", "experiment.json", "selection.json"
SUFFIXES = {"lightgbm": "txt", "xgboost": "ubj"}
UNTRAINED, LOST = "not trained yet", "its folder is missing, although the run was completed"
ROW_ARRAYS = ("labels", "qid", "query_ids", "weight")
"""The fields of `RankingData` that `SharedParts` contain, next to the features."""


STORED = ("curves", "rounds", "test", "weights", "valid_weight", "query_ids")
"""The fields of a `Training` that an archive contains as they are."""


class DamagedError(Exception):
    """A file in the directory differs from the file that was written."""


@dataclass(frozen=True)
class Archive:
    """The arrays of an `.npz` file, read on access because the arrays of all candidates may not fit into memory."""

    path: Path

    def __getitem__(self, name: str) -> Any:
        with np.load(self.path, allow_pickle=False) as archive:
            return archive[name]


@dataclass(frozen=True, eq=False, kw_only=True)
class Training:
    """A candidate trained once on a fold.

    Attributes
    ----------
    fold : str
        Name of the fold.
    curves : ndarray, shape (rounds, metrics)
        Means on the validation set.
    rounds : ndarray of int, shape (stored rounds,)
        The rounds of `test`, ascending.
    test : ndarray, shape (stored rounds, queries, metrics)
        Values of all metrics for each test query.
    weights, query_ids : ndarray, shape (queries,)
        Weights and ids of the test queries.
    valid_weight : ndarray, shape (metrics,)
        Weight of all validation queries with a value, which is the weight of this fold in averages.
    documents : Archive or mapping of str to ndarray, shape (documents,)
        Test documents: "label", "query" (its position), and "score 7" after round 7, for the stored rounds. "columns"
        has the shape (columns of the metrics, documents).
    versions : mapping of str to str
        Versions of the packages that the training may depend on.
    model : str
        SHA-256 of the model with all its rounds.
    """

    fold: str
    curves: Floats
    rounds: Any
    test: Floats
    weights: Floats
    valid_weight: Floats
    query_ids: Any = ()
    documents: Archive | Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    model: str = ""

    def read_documents(self) -> dict[str, Any]:
        """Return all arrays of `documents`."""
        return {
            name: self.documents[name]
            for name in ("label", "query", "columns", *(f"score {number}" for number in self.rounds))
        }


class Storage:
    """Read and write the directory of an experiment.

    The directory may be a symbolic link. Everything inside must be regular files and directories.

    Notes
    -----
    `experiment.json` contains the plan. Each unit has a directory in `candidates` with the trained model
    (`all-rounds.txt` or `all-rounds.ubj`), `arrays.npz` (see `Training`) and `manifest.json` with the checksums of
    both, which is written last. The compared model, cut at its round, is `model.txt` (`.ubj`). `refits` contains models
    that were trained on all data, each with a manifest. `selection.json` names the selected candidate, with the
    checksums of its models. `failures` contains tracebacks, and `.shared` the data for other processes while they
    train.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def lock(self) -> contextlib.AbstractContextManager[Any]:
        """Keep other processes from using the directory. The system releases the lock when this process ends."""
        self.directory.mkdir(parents=True, exist_ok=True)
        try:
            return FileLock(self.directory / ".lock").acquire(blocking=False)
        except Timeout:
            raise RuntimeError(f"{self.directory} is in use by another process. Use another directory.") from None

    def get_folder(self, unit: Unit) -> Path:
        """Return the directory of a unit."""
        return self.directory / "candidates" / unit.slug

    def read_plan(self) -> ExperimentPlan | None:
        """Return the plan in the directory, or None. Raise `DamagedError` if it cannot be read."""
        document = self.read_document(EXPERIMENT)
        if document is None:
            return None
        with prefix_errors(f"{self.directory}: ", TypeError):
            return ExperimentPlan.from_document(document)

    def read_document(self, name: str) -> dict[str, Any] | None:
        """Return the content of a JSON file, or None without the file. Raise `DamagedError` if it cannot be read."""
        path = self.directory / name
        return self._read_json(path) if path.exists() else None

    def write_document(self, name: str, document: Mapping[str, Any]) -> None:
        """Write a JSON file, from which `read_document` returns the document."""
        self._write(self.directory / name, seal(document))

    def save(self, plan: ExperimentPlan, unit: Unit, model: bytes, training: Training) -> None:
        """Write the result of a unit, which is finished once this has returned."""
        arrays = io.BytesIO()
        stored = {name: getattr(training, name) for name in STORED}
        np.savez_compressed(arrays, **stored, **training.read_documents())
        contents = {name_model(unit.candidate, "all-rounds"): model, ARRAYS: arrays.getvalue()}
        self._save(self.get_folder(unit), contents, unit=plan.describe_unit(unit), versions=training.versions)
        self._get_failure_path(unit).unlink(missing_ok=True)

    def _save(self, folder: Path, contents: Mapping[str, bytes], **record: Any) -> None:
        """Write files, and then a manifest with a record and their checksums."""
        (folder / MANIFEST).unlink(missing_ok=True)
        for name, content in contents.items():
            self._write(folder / name, content)
        files = {name: compute_sha256(content) for name, content in contents.items()}
        self._write(folder / MANIFEST, seal({"files": files, **record}))

    def save_refit(self, candidate: Candidate, model: bytes, record: Mapping[str, Any]) -> None:
        """Write a model that was trained on all data, and how it was trained."""
        self._save(self._get_refit_folder(candidate), {name_model(candidate): model}, refit=record)

    def load_refit(self, candidate: Candidate) -> tuple[bytes, dict[str, Any]] | None:
        """Return a model that was trained on all data, and how it was trained, or None. Errors are those of `load`."""
        files = self._read_files(self._get_refit_folder(candidate), name_model(candidate))
        return None if files is None else (files[1][name_model(candidate)], files[0]["refit"])

    def _get_refit_folder(self, candidate: Candidate) -> Path:
        return self.directory / "refits" / create_slug(candidate.name)

    def load(self, plan: ExperimentPlan, unit: Unit) -> Training | None:
        """Return the result of a unit, or None if it is not finished.

        Raises
        ------
        DamagedError
            If a file is missing, truncated or changed.
        ValueError
            If the directory contains another experiment or version.
        """
        folder, model = self.get_folder(unit), name_model(unit.candidate, "all-rounds")
        files = self._read_files(folder, model, ARRAYS)
        if files is None:
            return None
        manifest = files[0]
        changes = find_differences(manifest.get("unit"), plan.describe_unit(unit))
        if changes:
            raise ValueError(f"{folder} contains another candidate of the same name: {', '.join(changes)}")
        archive = Archive(folder / ARRAYS)
        stored = {name: archive[name] for name in STORED}
        details = {"versions": manifest["versions"], "model": manifest["files"][model]}
        return Training(fold=unit.fold.name, documents=archive, **details, **stored)

    def read_model(self, unit: Unit) -> bytes:
        """Return the model of a unit with all its rounds. Raise `DamagedError` if it is missing or changed."""
        name = name_model(unit.candidate, "all-rounds")
        files = self._read_files(self.get_folder(unit), name)
        if files is None:
            raise DamagedError(f"it is missing in {self.directory}")
        return files[1][name]

    def _read_files(self, folder: Path, *names: str) -> tuple[dict[str, Any], dict[str, bytes]] | None:
        """Return the manifest in a folder and the content of files with its checksums, or None without a manifest."""
        if not (folder / MANIFEST).exists():
            return None
        manifest = self._read_json(folder / MANIFEST)
        contents = {name: self._read(folder / name) for name in names}
        for name, content in contents.items():
            if compute_sha256(content) != manifest["files"].get(name):
                raise DamagedError(f"{name} does not have its checksum")
        return manifest, contents

    def write_compared_model(self, plan: ExperimentPlan, unit: Unit, curves: Floats) -> None:
        """Write the compared model next to the whole one."""
        path = self.get_folder(unit) / name_model(unit.candidate)
        content = get_trainer(unit.candidate.library).cut(self.read_model(unit), plan.choose_round(curves))
        with contextlib.suppress(DamagedError):
            if self._read(path) == content:
                return
        self._write(path, content)

    def save_failure(self, unit: Unit, text: str) -> None:
        """Write the traceback of a unit."""
        self._write(self._get_failure_path(unit), text.encode(errors="backslashreplace"))

    def describe_unfinished(self, unit: Unit) -> str:
        """Return why a unit without a manifest is not finished: the traceback of its last attempt, or a sentence."""
        path = self._get_failure_path(unit)
        if path.exists():
            return path.read_text("utf-8", errors="replace")
        if self.get_folder(unit).exists():
            return f"{MANIFEST} is missing, because the training was interrupted or the file was lost"
        return LOST if (self.directory / SELECTION).exists() else UNTRAINED  # A new plan removes the selection.

    @contextlib.contextmanager
    def share_data(self, parts: Mapping[str, RankingData]) -> Iterator[SharedParts]:
        """Write the data for other processes, which map them into memory, and remove them at the end."""
        shared = SharedParts(self.directory / ".shared" / secrets.token_hex(6))
        try:
            shared.write(parts)
            yield shared
        finally:
            shared.remove()

    def remove_leftovers(self) -> None:
        """Remove partial files and copies of the data that killed runs have left."""
        shutil.rmtree(self.directory / ".shared", ignore_errors=True)
        for path in self.directory.rglob(".*.partial"):
            path.unlink(missing_ok=True)

    def _get_failure_path(self, unit: Unit) -> Path:
        return self.directory / "failures" / f"{unit.slug}.txt"

    def _read_json(self, path: Path) -> dict[str, Any]:
        """Return a document that `seal` has written in this format."""
        try:
            document = json.loads(self._read(path))
            is_intact = document.pop("sha256") == compute_sha256(create_canonical_json(document))
            found = document.pop("format")
        except (ValueError, LookupError, TypeError, AttributeError):
            is_intact = False
        if not is_intact:
            raise DamagedError(f"{path.name} does not have its checksum")
        if found != FORMAT:
            problem = f"{self.directory} must have format {FORMAT}, got format {found} of another version"
            raise ValueError(f"{problem}. Use another directory, or remove this one.")
        return dict(document)

    def _read(self, path: Path) -> bytes:
        """Return the content of a file, or raise `DamagedError`."""
        try:
            return path.read_bytes()
        except OSError as error:
            raise DamagedError(f"{path.name} cannot be read: {error.strerror or error}") from error

    def _write(self, path: Path, content: bytes) -> None:
        """Write a file so that it has all its content or, after a crash, its former content."""
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


@dataclass(frozen=True)
class SharedParts:
    """Parts of the data as NumPy files, which are cheap to pickle and share memory between processes.

    A worker may outlive its run. It must then neither start a training nor write into a directory that a later run may
    use. So each run has a folder of another name, and a missing folder means that the run has ended.
    """

    folder: Path

    def write(self, parts: Mapping[str, RankingData]) -> None:
        """Write all parts, and allow trainings to start."""
        for name, part in parts.items():
            folder = self.folder / create_slug(name)
            folder.mkdir(parents=True)
            arrays = {name: getattr(part, name) for name in ROW_ARRAYS if getattr(part, name) is not None}
            arrays |= {f"column.{name}": values for name, values in part.columns.items()}
            for name, array in {**arrays, **parts_of(part.features)}.items():
                np.save(folder / f"{name}.npy", array, allow_pickle=False)
            columns = {"feature_names": part.feature_names, "categories": part.categories}
            (folder / "features.json").write_text(json.dumps(columns), encoding="utf-8")
        (self.folder / "open").touch()

    def read(self, name: str) -> RankingData:
        """Return a part, whose arrays are mapped into memory."""
        folder = self.folder / create_slug(name)
        arrays = {path.stem: np.load(path, mmap_mode="r", allow_pickle=False) for path in sorted(folder.glob("*.npy"))}
        columns = json.loads((folder / "features.json").read_text(encoding="utf-8"))
        rows = {name: arrays.pop(name) for name in ROW_ARRAYS if name in arrays}
        further = {name.removeprefix("column."): arrays.pop(name) for name in list(arrays) if "column." in name}
        return RankingData(features=from_parts(arrays), columns=further, **rows, **columns)

    @property
    def are_open(self) -> bool:
        """Whether a training may start."""
        return (self.folder / "open").exists()

    @property
    def exist(self) -> bool:
        """Whether the run still waits for the results of trainings that have started."""
        return self.folder.exists()

    def close(self) -> None:
        """Let no further training start. The ones that have started may finish."""
        (self.folder / "open").unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove everything. Results of trainings are dropped from now on."""
        self.close()
        shutil.rmtree(self.folder.parent, ignore_errors=True)  # The lock excludes other runs.


def name_model(candidate: Candidate, stem: str = "model") -> str:
    """Return the name of a model file."""
    return f"{stem}.{SUFFIXES[candidate.library]}"


def compute_sha256(content: bytes) -> str:
    """Return the digest of some bytes."""
    return hashlib.sha256(content).hexdigest()


def create_canonical_json(document: Any) -> bytes:
    """Return JSON text that is the same for equal documents."""
    return json.dumps(document, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False).encode()


def seal(document: Mapping[str, Any]) -> bytes:
    """Return a JSON document with its format and its checksum."""
    document = {"format": FORMAT, **document}
    return create_canonical_json({**document, "sha256": compute_sha256(create_canonical_json(document))})
