"""Colours in two themes, and what each of them stands for."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DARK", "LIGHT", "SHADES", "Theme", "theme_named"]

SHADES = 7
"""Shades on either side of zero in a diverging map."""


@dataclass(frozen=True)
class Theme:
    """Colours. Those that tell data apart are Okabe and Ito's; none stands alone without a marker or a sign.

    Attributes
    ----------
    name : str
        ``"light"`` or ``"dark"``.
    face, ink, muted, grid : str
        Background, text, secondary text and lines, faint lines.
    shade : str
        Of areas in which the metrics conflict.
    first, second, third : str
        The first and the second metric, and a third.
    zero, plus, minus : str
        Middle and ends of the diverging map; text in `ink` is legible on all of it.
    """

    name: str
    face: str
    ink: str
    muted: str
    grid: str
    shade: str
    first: str
    second: str
    third: str
    zero: str
    plus: str
    minus: str

    def diverging(self) -> list[str]:
        """Return 2 * SHADES + 1 colours from `minus` over `zero` to `plus`."""
        steps = range(-SHADES, SHADES + 1)
        return [_mixed(self.zero, self.plus if step > 0 else self.minus, abs(step) / SHADES) for step in steps]

    def slots(self) -> dict[str, str]:
        """Return every colour by the name it has in a style sheet."""
        names = ("face", "ink", "muted", "grid", "shade", "first", "second", "third")
        return {name: getattr(self, name) for name in names} | {
            f"d{place}": colour for place, colour in enumerate(self.diverging())
        }


LIGHT = Theme(
    name="light",
    face="#ffffff",
    ink="#1b1e23",
    muted="#5d6570",
    grid="#d9dde2",
    shade="#fbe8dc",
    first="#0072b2",
    second="#d55e00",
    third="#009e73",
    zero="#f7f7f8",
    plus="#3db394",
    minus="#d08bb3",
)
DARK = Theme(
    name="dark",
    face="#14171c",
    ink="#e9ebee",
    muted="#a3abb6",
    grid="#343a43",
    shade="#35251c",
    first="#56b4e9",
    second="#e69f00",
    third="#2fc79b",
    zero="#20242b",
    plus="#0a7356",
    minus="#8e4d74",
)


def theme_named(theme: str) -> Theme:
    """Return a theme by its name.

    Raises
    ------
    ValueError
        Unless it is ``"light"`` or ``"dark"``.
    """
    for known in (LIGHT, DARK):
        if theme == known.name:
            return known
    raise ValueError(f"theme must be 'light' or 'dark': got {theme!r}")


def _mixed(start: str, end: str, share: float) -> str:
    """Return the colour that lies a share of the way from one to another.

    >>> _mixed("#000000", "#ffffff", 0.5)
    '#808080'
    """
    pairs = zip(bytes.fromhex(start[1:]), bytes.fromhex(end[1:]), strict=True)
    return "#" + bytes(round(one + share * (other - one)) for one, other in pairs).hex()
