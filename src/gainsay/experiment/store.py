"""The directory of an experiment: what is finished stays finished, and what is damaged is recognised."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data._text import one_line
from .files import (
    DamagedError,
    checked,
    locked,
    read_frame,
    refuse_other,
    remove_partial,
    replace_file,
    sealed,
    sha256,
    to_parquet,
    unsealed,
)
from .finished import COLUMNS, Finished, check_finished, check_scores, curves_frame, scores_frame, test_frame
from .libraries import library_of
from .own_metrics import UndefinedMetricError
from .plan import FORMAT, Plan, Unit, differences, shortened
from .shared import PartsOnDisk
from .training import Trained

if TYPE_CHECKING:
    from .._common.typing import Floats
    from ..data import RankingData

CURVES, TEST, SCORES = "curves.parquet", "test.parquet", "scores.parquet"
MANIFEST, EXPERIMENT, SHARED = "manifest.json", "experiment.json", ".shared"
_FORMATS = {"lightgbm": "txt", "xgboost": "ubj"}


class Store:
    """Reads and writes the directory of an experiment.

    `experiment.json` holds the plan. Each unit has a folder below `candidates` with the model as it was trained
    (`all-rounds.txt` of LightGBM, `all-rounds.ubj` of XGBoost), `curves.parquet`, `test.parquet`, `scores.parquet` and,
    written last, `manifest.json` with the checksums of the others: a unit is finished where the manifest is there and
    everything agrees with it. Beside them lies what is compared, the model cut at its round: `model.txt` (`.ubj`), or
    `model@70.txt` and `model@83.txt` where two metrics have models of their own. `failures` holds what went wrong,
    `.shared` the copy of the data that other processes train from, for as long as they do; `.owner` says which process
    holds the lock.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def locked(self) -> AbstractContextManager[None]:
        """Keep other processes from running in the same directory."""
        return locked(self._file(".lock"), self._file(".owner"))

    def folder(self, unit: Unit) -> Path:
        """Return the folder of a unit."""
        return self._folder("candidates", unit.slug)

    def _folder(self, *names: str) -> Path:
        """Return a folder below the directory; a link on the way could lead out of it and is refused."""
        path = self.directory
        refuse_other(path, folder=True, follow=True)
        for name in names:
            path = path / name
            refuse_other(path, folder=True)
        return path

    def _file(self, *names: str) -> Path:
        """Return a file below the directory, likewise."""
        path = self._folder(*names[:-1]) / names[-1]
        refuse_other(path)
        return path

    # ------------------------------------------------------------------------------------------------------- the plan

    def read_plan(self) -> Plan | None:
        """Return the plan in the directory, None where there is none.

        Raises
        ------
        DamagedError
            Where it cannot be read.
        ValueError
            Where it is no plain file, another version of gainsay wrote it, or a metric is not defined now.
        """
        try:
            content = self._file(EXPERIMENT).read_bytes()
        except FileNotFoundError:
            return None
        try:
            document = unsealed(content)
        except ValueError as error:
            raise DamagedError(one_line(error)) from error
        self._check_format(document)
        try:
            return Plan.from_dict(document)
        except UndefinedMetricError as error:
            raise ValueError(f"{self.directory}: {one_line(error)}") from None
        except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
            raise DamagedError(one_line(error)) from error

    def _check_format(self, document: Mapping[str, Any]) -> None:
        """Raise where another version wrote a document; what it holds is whole and must not be taken for damaged."""
        found = document.get("format")
        if found != FORMAT:
            raise ValueError(
                f"{self.directory} was written by another version of gainsay (format {shortened(found)}, this one has "
                f"{FORMAT}): take another directory, or remove this one to train anew"
            )

    def write_plan(self, plan: Plan) -> None:
        """Write the plan."""
        replace_file(self.directory / EXPERIMENT, sealed(plan.to_dict()))

    # ------------------------------------------------------------------------------------------------------ the units

    def save(self, plan: Plan, unit: Unit, trained: Trained, seconds: float) -> None:
        """Write what came of a unit; it counts as finished once this has returned."""
        folder = self.folder(unit)
        (folder / MANIFEST).unlink(missing_ok=True)
        if folder.is_dir():
            remove_partial(folder)
        contents = {
            _all_rounds(unit): trained.model,
            CURVES: to_parquet(curves_frame(plan.metrics, trained)),
            TEST: to_parquet(test_frame(plan.metrics, trained)),
            SCORES: to_parquet(scores_frame(trained)),
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
        replace_file(folder / MANIFEST, sealed(manifest))
        self._failure_file(unit).unlink(missing_ok=True)

    def place_models(self, plan: Plan, unit: Unit, model: bytes, curves: Floats) -> None:
        """See to it that the models that are compared lie beside the whole one, and none that is not.

        They are no part of what makes a unit finished: the whole model has them, whatever the plan takes.
        """
        folder, suffix = self.folder(unit), _FORMATS[unit.candidate.library]
        rounds = plan.compared_rounds(curves)
        files = {f"model{f'@{number}' if len(rounds) > 1 else ''}.{suffix}": number for number in rounds}
        remove_partial(folder)
        there = {path.name: path for path in self._models(unit)}
        for name in there.keys() - files.keys():
            there[name].unlink()
        for name, number in files.items():
            content = library_of(unit.candidate.library).cut(model, number)
            if name not in there or there[name].read_bytes() != content:
                replace_file(folder / name, content)

    def _models(self, unit: Unit) -> list[Path]:
        """Return the files of models that are or were compared, which are not mistaken for what users put there."""
        folder, ours = self.folder(unit), re.compile(rf"model(@\d+)?\.{_FORMATS[unit.candidate.library]}")
        found = [path for path in folder.glob("model*") if ours.fullmatch(path.name)]
        for path in found:
            refuse_other(path)
        return found

    def load(self, plan: Plan, unit: Unit) -> Finished | None:
        """Return what came of a unit, None where it is not finished.

        Raises
        ------
        DamagedError
            Where a file is missing, cut off or changed.
        ValueError
            Where the folder is that of another experiment or version, or something is a link or no plain file.
        """
        folder = self.folder(unit)
        names = (_all_rounds(unit), CURVES, TEST, SCORES)
        for path in (self._failure_file(unit), *(folder / name for name in (*names, MANIFEST)), *self._models(unit)):
            refuse_other(path)
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
        listed = manifest.get("files", {})
        if not isinstance(listed, dict):
            raise DamagedError(f"{MANIFEST} lists {shortened(listed)}")
        if set(listed) != set(names):
            raise DamagedError(
                f"{MANIFEST} lists {one_line(', '.join(map(repr, listed)))} instead of {', '.join(names)}"
            )
        # Only these four names are opened, whatever a manifest may say.
        model, curves, test, scores = (checked(folder / name, listed[name]) for name in names)
        table = read_frame(TEST, test, [*COLUMNS, *plan.names])
        try:
            check_scores(scores, table)
        except Exception as error:  # pyarrow raises errors of many kinds
            raise DamagedError(f"{SCORES} cannot be read: {one_line(error)}") from error
        finished = Finished(read_frame(CURVES, curves, ["round", *plan.names]), table, manifest, model)
        try:
            check_finished(finished, plan.metrics)
        except ValueError as error:
            raise DamagedError(str(error)) from error
        return finished

    def scores(self, unit: Unit) -> bytes:
        """Return the file of scores of a finished unit.

        Raises
        ------
        RuntimeError
            Where it is gone or has changed since.
        """
        folder = self.folder(unit)
        try:
            return checked(folder / SCORES, self._manifest((folder / MANIFEST).read_bytes())["files"][SCORES])
        except (OSError, KeyError, ValueError, DamagedError) as error:
            raise RuntimeError(f"{folder}: the scores cannot be read ({error}); run the experiment again") from error

    def _manifest(self, content: bytes) -> dict[str, Any]:
        try:
            manifest = unsealed(content)
        except ValueError as error:
            raise DamagedError(f"{MANIFEST}: {one_line(error)}") from error
        self._check_format(manifest)
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
        return self._file("failures", f"{unit.slug}.txt")

    # ------------------------------------------------------------------------------------------------------- the data

    def share_data(self, parts: Mapping[str, RankingData]) -> PartsOnDisk:
        """Write the data for other processes to map into their memory."""
        shared = PartsOnDisk(self._folder(SHARED) / secrets.token_hex(6), tuple(parts))
        try:
            shared.write(parts)
        except BaseException:
            shared.remove()
            raise
        return shared

    def tidy(self) -> None:
        """Remove what runs that were killed have left and no later one would: half files, and copies of the data."""
        shutil.rmtree(self._folder(SHARED), ignore_errors=True)
        for folder in (self.directory, self._folder("failures")):
            remove_partial(folder)


def _all_rounds(unit: Unit) -> str:
    return f"all-rounds.{_FORMATS[unit.candidate.library]}"


def versions(library: str) -> dict[str, str]:
    """Return the versions that a result may depend on."""
    from .._common.version import __version__

    return {"gainsay": __version__, "numpy": np.__version__, library: library_of(library).version()}
