"""What the trainings of one process have in common: judgments, and data sets as the libraries bin them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .files import canonical
from .libraries import library_of

if TYPE_CHECKING:
    from ..judgments import Judgments
    from .folds import Parts
    from .outcome import Follow
    from .plan import Unit

__all__ = ["CalledOffError", "Workbench"]


class CalledOffError(Exception):
    """The run that asked for a training has ended meanwhile."""


class Workbench:
    """Data for trainings that run one after the other or side by side in threads of this process.

    Each data set is binned once for all candidates that would bin it alike, and let go after the last of them.

    Parameters
    ----------
    parts : mapping of str to RankingData
        The data.
    units : sequence of Unit
        What will be trained; without, nothing is kept for later.
    follow : function, optional
        Asked at the start of every training whom to tell the values of each round.
    """

    def __init__(self, parts: Parts, units: Sequence[Unit] = (), follow: Follow | None = None) -> None:
        self.parts = parts
        self.follow: Follow = follow or (lambda unit: None)
        self._called_off = threading.Event()
        self._lock = threading.Lock()
        self._judgments: dict[str, Judgments] = {}
        self._keys = {unit.slug: self._key(unit) for unit in units}
        self._left = Counter(self._keys.values())
        self._binned: dict[bytes, _Binned] = {}

    def ordered(self, units: Iterable[Unit]) -> list[Unit]:
        """Return units such that those which share data follow each other."""
        places = {key: place for place, key in enumerate(dict.fromkeys(self._keys.values()))}
        return sorted(units, key=lambda unit: places[self._keys[unit.slug]])

    def call_off(self) -> None:
        """Have every training end at its next round, with an error."""
        self._called_off.set()

    def check(self) -> None:
        """Raise `CalledOffError` where trainings are called off."""
        if self._called_off.is_set():
            raise CalledOffError

    def judgments(self, part: str) -> Judgments:
        """Return the judgments of a part, the same to all who ask, for metrics are bound to them once."""
        with self._lock:
            if part not in self._judgments:
                self._judgments[part] = self.parts[part].judgments()
            return self._judgments[part]

    @contextmanager
    def binned(self, unit: Unit) -> Iterator[Any]:
        """Hand out training and validation data as the unit's library takes them."""
        key = self._keys.get(unit.slug, b"")
        with self._lock:
            shared = self._binned.setdefault(key, _Binned()) if key else _Binned()
        try:
            with shared.lock:
                self.check()
                if shared.data is None:
                    shared.data = library_of(unit.candidate.library).binned(unit.trained, *unit.data(self.parts))
            yield shared.data
        finally:
            with self._lock:
                self._left[key] -= 1
                if self._left[key] <= 0:
                    self._binned.pop(key, None)

    def _key(self, unit: Unit) -> bytes:
        """Return what is equal for units whose data are binned alike."""
        documents = sum(len(self.parts[name].labels) for name in unit.fold.train)
        about = library_of(unit.candidate.library).binning(unit.trained, documents)
        alone = about is None or unit.resampled
        return canonical([unit.candidate.library, unit.fold.name, unit.slug if alone else about])


class _Binned:
    """A data set that whoever comes first makes, while others wait."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.data: Any = None
