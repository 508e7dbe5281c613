"""Colours in two themes, and what each of them stands for."""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["DARK", "LIGHT", "SHADES", "Theme", "theme_named"]

SHADES = 7
"""Shades on either side of zero in a diverging map."""


@dataclass(frozen=True)
class Theme:
    """Colours: blue is the first metric, orange the second, ink the rest; none stands without a marker or a sign.

    As marks the two are 60 apart in the light theme and 55 in the dark one (CIEDE2000, simulated deuteranopia).

    Attributes
    ----------
    name : str
        ``"light"`` or ``"dark"``.
    face, ink, muted, rule, grid : str
        Background, text, secondary text and lines, lines between parts, faint lines.
    shade, hover : str
        Of rows and areas that are set off, and of what is pointed at.
    first, second, third : str
        Marks of the first and the second metric, and of anything else.
    first_text, second_text : str
        Text about the first and the second metric.
    zero, plus, minus : str
        Middle and ends of the diverging map; text in `ink` is legible on all of it.
    """

    name: str
    face: str
    ink: str
    muted: str
    rule: str
    grid: str
    shade: str
    hover: str
    first: str
    second: str
    third: str
    first_text: str
    second_text: str
    zero: str
    plus: str
    minus: str

    def diverging(self) -> list[str]:
        """Return 2 * SHADES + 1 colours from `minus` over `zero` to `plus`."""
        steps = range(-SHADES, SHADES + 1)
        return [_mixed(self.zero, self.plus if step > 0 else self.minus, abs(step) / SHADES) for step in steps]

    def slots(self) -> dict[str, str]:
        """Return every colour by the name it has in a style sheet."""
        return self.colours() | {f"d{place}": colour for place, colour in enumerate(self.diverging())}

    def colours(self) -> dict[str, str]:
        """Return the colours other than those of the diverging map, by the names that they have in a style sheet."""
        known = (field.name for field in fields(self) if field.name not in ("name", "zero", "plus", "minus"))
        return {name.replace("_", "-"): getattr(self, name) for name in known}


LIGHT = Theme(
    name="light",
    face="#ffffff",
    ink="#1a1e24",
    muted="#5d6672",
    rule="#dfe3e8",
    grid="#eceff2",
    shade="#f1f4f8",
    hover="#e3e9f0",
    first="#1b6ab3",
    second="#e06c00",
    third="#4a525d",
    first_text="#15599a",
    second_text="#a84c00",
    zero="#f7f8f9",
    plus="#7db1e3",
    minus="#f2ab6b",
)
DARK = Theme(
    name="dark",
    face="#14171c",
    ink="#e9ecef",
    muted="#9da7b3",
    rule="#333a43",
    grid="#242a31",
    shade="#1e242c",
    hover="#2a323c",
    first="#5aa9f0",
    second="#f5953d",
    third="#b3bcc6",
    first_text="#7dbcf5",
    second_text="#f8ac66",
    zero="#20252c",
    plus="#1f5486",
    minus="#84490f",
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
