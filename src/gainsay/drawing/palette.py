"""Colours in two themes, and what each of them stands for."""

from __future__ import annotations

from dataclasses import asdict, dataclass

__all__ = ["DARK", "LIGHT", "Theme", "theme_named"]


@dataclass(frozen=True)
class Theme:
    """Colours: blue is the first metric, orange the second, ink the rest; none stands without a marker or a sign.

    As marks the two are 60 apart in the light theme and 55 in the dark one (CIEDE2000, simulated deuteranopia). `rule`
    is for lines between parts, `grid` for faint ones, `shade` for areas that are set off, `hover` for what is pointed
    at.
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

    def colours(self) -> dict[str, str]:
        """Return every colour by the name that it has in a style sheet."""
        return {name.replace("_", "-"): colour for name, colour in asdict(self).items() if name != "name"}


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
)


def theme_named(theme: str) -> Theme:
    """Return the light or the dark theme; raise a ValueError for another name."""
    for known in (LIGHT, DARK):
        if theme == known.name:
            return known
    raise ValueError(f"theme must be 'light' or 'dark': got {theme!r}")
