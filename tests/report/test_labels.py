"""Places of names in pictures, held against the same rules written down one place at a time."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from gainsay.report.plots.labels import ems, label_points

SIZE = 8.5
BESIDE = [(10, 0), (-10, 0), (7, 5), (-7, 5), (7, -5), (-7, -5), (0, 8), (0, -8)]
BEARINGS = (20, -20, 160, -160, 50, -50, 130, -130, 5, -5, 175, -175, 75, -75, 105, -105)


def across(right, up):
    return "center" if abs(right) <= 0.3 * abs(up) else "left" if right > 0 else "right"


def along(right, up):
    return "center" if abs(up) <= 0.5 * abs(right) else "bottom" if up > 0 else "top"


def candidates(own, text):
    """All offsets in order, the box that the text would fill, and the line that would lead there."""
    lines = text.split("\n")
    wide, tall = SIZE * max(map(ems, lines)), 1.2 * SIZE * len(lines)

    def box(right, up):
        left = own[0] + right - wide * {"left": 0, "center": 0.5, "right": 1}[across(right, up)]
        low = own[1] + up - tall * {"bottom": 0, "center": 0.5, "top": 1}[along(right, up)]
        return Bbox.from_bounds(left, low, wide, tall)

    for right, up in BESIDE:
        yield (right, up), box(right, up), None
    for ring in range(22, 151, 8):
        for bearing in np.radians(BEARINGS):
            ahead = np.array([np.cos(bearing), np.sin(bearing)])
            yield tuple(ring * ahead), box(*(ring * ahead)), Path([own + 5 * ahead, own + ring * ahead])


def distance(box, point):
    return float(np.hypot(*np.maximum(np.maximum(box.min - point, point - box.max), 0)))


def has_room(box, leader, own, markers, frame, texts, leaders):
    others = [marker for marker in markers if np.hypot(*(marker - own)) > 5]
    nearest = min((distance(box, other) for other in others), default=np.inf)
    inside = frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1
    if not inside or nearest < (5 if leader is None else 7):
        return False
    if any(box.overlaps(text.padded(3)) for text in texts) or any(line.intersects_bbox(box) for line in leaders):
        return False
    if leader is None:
        return nearest >= 2 * distance(box, own)
    return not (
        any(leader.intersects_bbox(text.padded(1)) for text in texts)
        or any(leader.intersects_path(line) for line in leaders)
        or any(leader.intersects_bbox(Bbox([other - 4, other + 4])) for other in others)
    )


def arranged(markers, texts, frame, lines):
    """Who finds no place in one try comes first in the next; the fullest of four tries counts."""
    order, best = list(range(len(texts))), {}
    for _ in range(4):
        found = {}
        for number in order:
            boxes = [place[1] for place in found.values()]
            leaders = [place[2] for place in found.values() if place[2] is not None]
            own = markers[number]
            fewest = len(lines) + 1
            for place in candidates(own, texts[number]):
                if has_room(*place[1:], own, markers, frame, boxes, leaders):
                    crossed = sum(line.intersects_bbox(place[1], filled=False) for line in lines)
                    if crossed < fewest:
                        found[number], fewest = place, crossed
                    if crossed == 0:
                        break
        best = found if len(found) > len(best) else best
        order.sort(key=lambda number: number in found)
    return best


@pytest.mark.parametrize("seed", range(5))
def test_places_are_those_that_the_rules_give_one_by_one(seed):
    rng = np.random.default_rng(seed)
    points = rng.random((int(rng.integers(3, 15)), 2)) * [300, 200]
    texts = [
        "\n".join("x" * int(letters) for letters in rng.integers(1, 25, size=rng.integers(1, 3)))
        for _ in points[: rng.integers(2, 6)]
    ]
    barriers = [[tuple(end) for end in rng.random((2, 2)) * 300] for _ in range(2)]
    ax = Figure(figsize=(5, 4), dpi=72).add_axes((0.1, 0.1, 300 / 360, 200 / 288))  # a point is a pixel is a unit
    ax.set_xlim(0, 300)
    ax.set_ylim(0, 200)
    label_points(ax, points[: len(texts)].tolist(), texts, "black", around=points.tolist(), lines=barriers)

    to_points = ax.transData.transform
    expected = arranged(
        to_points(points),
        texts,
        Bbox(ax.get_window_extent().get_points()),
        [Path(to_points(line)) for line in barriers],
    )
    drawn = [note for note in ax.texts if isinstance(note, Annotation) and note.get_text()]
    assert [note.get_text() for note in drawn] == [texts[number] for number in expected]
    for note, (offset, _, _) in zip(drawn, expected.values(), strict=True):
        assert note.xyann == pytest.approx(offset, abs=1e-9)
        assert (note.get_ha(), note.get_va()) == (across(*offset), along(*offset))
    led = {note.xy for note in ax.texts if isinstance(note, Annotation) and not note.get_text()}
    assert led == {tuple(points[number]) for number, (_, _, leader) in expected.items() if leader is not None}
