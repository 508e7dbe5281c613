"""The data of a run, copied to disk for trainings in other processes; and by that, whether the run still goes on."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from ..data import RankingData
from ..data.features import from_parts, parts_of


class PartsOnDisk(Mapping[str, RankingData]):
    """Parts of the data as NumPy files; cheap to pickle, and read through the page cache that processes share.

    A worker may outlive the run that gave it work: the run was interrupted, or killed. It must then neither begin
    another training nor write into a directory that a later run may have taken over. So each run takes a folder of
    another name.
    """

    _ARRAYS = ("labels", "qid", "query_ids", "weight")
    _ABOUT = "features.json"

    def __init__(self, folder: Path, names: tuple[str, ...]) -> None:
        self._folder = folder
        self._names = names

    def write(self, parts: Mapping[str, RankingData]) -> None:
        """Write all parts, then open them."""
        for place, part in enumerate(parts.values()):
            folder = self._folder / str(place)
            folder.mkdir(parents=True)
            arrays = {name: getattr(part, name) for name in self._ARRAYS if getattr(part, name) is not None}
            for name, array in {**arrays, **parts_of(part.features)}.items():
                np.save(folder / f"{name}.npy", array, allow_pickle=False)
            about = {"feature_names": part.feature_names, "categories": part.categories}
            (folder / self._ABOUT).write_text(json.dumps(about), encoding="utf-8")
        self._mark.touch()

    @property
    def _mark(self) -> Path:
        return self._folder / "open"

    @property
    def are_open(self) -> bool:
        """Whether a training may begin."""
        return self._mark.exists()

    @property
    def are_there(self) -> bool:
        """Whether the run still waits for what a training that has begun comes to."""
        return self._folder.exists()

    def close(self) -> None:
        """Let no training begin any more; those that have begun may end."""
        self._mark.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove everything; what comes of trainings from now on is dropped."""
        self.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # there may be others
            self._folder.parent.rmdir()

    def __getitem__(self, name: str) -> RankingData:
        folder = self._folder / str(self._names.index(name))
        arrays = {path.stem: np.load(path, mmap_mode="r", allow_pickle=False) for path in sorted(folder.glob("*.npy"))}
        about = json.loads((folder / self._ABOUT).read_text(encoding="utf-8"))
        known = {name: arrays.pop(name) for name in self._ARRAYS if name in arrays}
        return RankingData(features=from_parts(arrays), **known, **about)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
