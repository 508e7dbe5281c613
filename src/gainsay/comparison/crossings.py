"""Where the means of models cross along a path: who leads from where to where, and which two change places."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from .._common.typing import Bools, Floats

FINE = 48
"""Steps between two bases, in which the means are interpolated."""


class Lead(NamedTuple):
    """From where to where a model leads."""

    model: int
    start: float
    stop: float


class Crossing(NamedTuple):
    """Where the second of two models overtakes the first, which is ahead below, and between which bases that may be."""

    first: int
    second: int
    base: float
    lower: float
    upper: float


def leads(bases: Floats, mean: Floats) -> list[Lead]:
    """Return which model has the largest mean from where to where, the means interpolated by cubic splines in log b.

    `mean` has shape (bases, models), with ascending bases; of models that tie, the first leads.
    """
    fine, between = _interpolated(bases, mean)
    winner = between.argmax(axis=1)
    starts = [0, *(np.flatnonzero(np.diff(winner)) + 1).tolist()]
    edges = [float(bases[0])]
    for start in starts[1:]:
        gap = between[[start - 1, start], winner[start]] - between[[start - 1, start], winner[start - 1]]
        edges.append(_zero(fine[start - 1], fine[start], gap))
    edges.append(float(bases[-1]))
    return [Lead(int(winner[start]), edges[at], edges[at + 1]) for at, start in enumerate(starts)]


def crossings(bases: Floats, difference: Floats, error: Floats, tolerance: Floats, critical: float) -> list[Crossing]:
    """Return every change of places of two models, by base, with the bases at which a band allows it.

    `difference` and `error`, (bases, models, models), and `tolerance`, (bases,), are those of an estimate whose rows
    are the bases. The band is ``difference ± critical · error``; where it holds 0 the two may change places. An
    interval that ends where the bases end may go on there.
    """
    first, second = np.triu_indices(difference.shape[1], 1)
    lead, size = difference[:, first, second], error[:, first, second]
    turns = (np.abs(lead) > tolerance[:, None]).any(axis=0) & (lead.min(axis=0) <= 0) & (lead.max(axis=0) >= 0)
    lead, size, first, second = lead[:, turns], size[:, turns], first[turns], second[turns]
    known = (np.isfinite(size) & (size > 0)).all(axis=0)
    fine, leads_there = _interpolated(bases, lead)
    _, sizes_there = _interpolated(bases, np.where(known, size, 1.0))
    inside = (np.abs(leads_there) <= critical * sizes_there) | ~known
    found = []
    for pair, models in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        own = leads_there[:, pair]
        sign = np.sign(own)
        for before, after in itertools.pairwise(np.flatnonzero(sign).tolist()):
            if sign[before] != sign[after]:
                base = _zero(fine[before], fine[after], own[[before, after]])
                ordered = models if sign[before] < 0 else models[::-1]
                found.append(Crossing(*ordered, base, *_around(fine, inside[:, pair], before, after)))
    return sorted(found, key=lambda crossing: (crossing.base, crossing.first, crossing.second))


def _around(fine: Floats, inside: Bools, start: int, stop: int) -> tuple[float, float]:
    """Return the ends of the stretch inside the band around two neighbours."""
    while start > 0 and inside[start]:
        start -= 1
    while stop < len(fine) - 1 and inside[stop]:
        stop += 1
    return float(fine[start]), float(fine[stop])


def runs_of(bases: Floats, within: Bools) -> list[tuple[float, float]]:
    """Return from which base to which a property holds without a gap.

    >>> import numpy as np
    >>> runs_of(np.array([1.0, 1.5, 2.0, 3.0]), np.array([True, True, False, True]))
    [(1.0, 1.5), (3.0, 3.0)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], within, [False]]).astype(int)))
    return [(float(bases[start]), float(bases[stop - 1])) for start, stop in edges.reshape(-1, 2)]


def _interpolated(bases: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return many bases, the given ones among them, and the values there."""
    if len(bases) == 1:
        return bases, values
    from scipy.interpolate import CubicSpline

    at = np.log(bases)
    fine = np.concatenate([*(np.linspace(a, b, FINE, endpoint=False) for a, b in itertools.pairwise(at)), at[-1:]])
    between: Floats = CubicSpline(at, values)(fine)
    between[::FINE] = values
    return np.exp(fine), between


def _zero(start: float, stop: float, gap: Floats) -> float:
    """Return where a difference between two near bases is 0, on the straight line."""
    share = gap[0] / (gap[0] - gap[1]) if gap[0] != gap[1] else 0.5
    return float(start + (stop - start) * share)
