"""Colors are distinct and legible, also with simulated deuteranopia."""

import numpy as np
import pytest

from gainwise._common.theme import DARK, LIGHT

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
    """Return CIE L*a*b* of linear sRGB."""
    x, y, z = (TO_XYZ @ np.clip(rgb, 0, 1)) / WHITE
    x, y, z = (t ** (1 / 3) if t > (6 / 29) ** 3 else t / (3 * (6 / 29) ** 2) + 4 / 29 for t in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


@THEMES
@pytest.mark.parametrize("seen", [np.eye(3), DEUTERANOPIA], ids=["trichromat", "deuteranope"])
def test_the_two_metrics_are_told_apart(theme, seen):
    """A CIE76 difference of 2.3 is just noticeable."""
    for pair in ((theme.first, theme.second), (theme.first_text, theme.second_text)):
        assert np.linalg.norm(np.subtract(*(lab(seen @ linear(colour)) for colour in pair))) >= 60


def contrast(one, other):
    light, dark = sorted((float(linear(colour) @ TO_XYZ[1]) for colour in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@THEMES
def test_text_and_marks_are_legible_on_the_background(theme):
    assert contrast(theme.ink, theme.face) >= 7
    assert contrast(theme.muted, theme.face) >= 4.5
    assert all(contrast(colour, theme.face) >= 3 for colour in (theme.first, theme.second, theme.third, theme.fourth))
    assert contrast(theme.third, theme.fourth) >= 1.8
    assert len(set(vars(theme).values())) == len(vars(theme))
