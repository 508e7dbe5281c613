"""Blue and orange are told apart by everybody: CIEDE2000 of the marks, as seen and under simulated deuteranopia."""

from __future__ import annotations

import numpy as np
import pytest

from gainsay.drawing.palette import DARK, LIGHT

DEUTERANOPIA = np.array(  # Machado, Oliveira & Fernandes 2009, severity 1, on linear RGB
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
)
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = TO_XYZ.sum(axis=1)


def linear(colour):
    values = np.array(list(bytes.fromhex(colour[1:]))) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIE L*a*b* of linear sRGB."""
    x, y, z = (TO_XYZ @ np.clip(rgb, 0, 1)) / WHITE
    x, y, z = (t ** (1 / 3) if t > (6 / 29) ** 3 else t / (3 * (6 / 29) ** 2) + 4 / 29 for t in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def ciede2000(one, other):
    """Sharma, Wu & Dalal 2005, equations (2) to (22)."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    g = (1 - np.sqrt(mean**7 / (mean**7 + 25.0**7))) / 2
    a1, a2 = (1 + g) * a1, (1 + g) * a2
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = h2 - h1
    if c1 * c2 == 0:
        turn = 0
    elif abs(turn) > 180:
        turn -= np.sign(turn) * 360
    dl, dc, dh = l2 - l1, c2 - c1, 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))
    lm, cm, hm = (l1 + l2) / 2, (c1 + c2) / 2, h1 + h2
    if c1 * c2 != 0:
        hm = hm / 2 if abs(h1 - h2) <= 180 else (hm + (360 if hm < 360 else -360)) / 2
    t = (
        1
        - 0.17 * np.cos(np.radians(hm - 30))
        + 0.24 * np.cos(np.radians(2 * hm))
        + 0.32 * np.cos(np.radians(3 * hm + 6))
        - 0.20 * np.cos(np.radians(4 * hm - 63))
    )
    sl = 1 + 0.015 * (lm - 50) ** 2 / np.sqrt(20 + (lm - 50) ** 2)
    sc, sh = 1 + 0.045 * cm, 1 + 0.015 * cm * t
    rotation = -np.sin(2 * np.radians(30 * np.exp(-(((hm - 275) / 25) ** 2)))) * 2 * np.sqrt(cm**7 / (cm**7 + 25.0**7))
    return np.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dh / sh) ** 2 + rotation * (dc / sc) * (dh / sh))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 0, 0), (50, -1, 2), 2.3669),
        ((50, 2.5, 0), (50, 0, -2.5), 4.3065),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
        ((90.8027, -2.0831, 1.4410), (91.1528, -1.6435, 0.0447), 1.4441),
    ],
)
def test_the_formula_gives_the_published_differences(one, other, expected):
    """Table 1 of Sharma, Wu & Dalal 2005."""
    assert ciede2000(one, other) == pytest.approx(expected, abs=5e-5)
    assert ciede2000(other, one) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("seen", [np.eye(3), DEUTERANOPIA], ids=["trichromat", "deuteranope"])
def test_marks_of_the_two_metrics_are_at_least_40_apart(theme, seen):
    first, second = (lab(seen @ linear(colour)) for colour in (theme.first, theme.second))
    assert ciede2000(first, second) >= 40


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_about_the_two_metrics_too_is_told_apart(theme):
    first, second = (lab(DEUTERANOPIA @ linear(colour)) for colour in (theme.first_text, theme.second_text))
    assert ciede2000(first, second) >= 40
