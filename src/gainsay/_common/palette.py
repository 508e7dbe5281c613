"""The colors of all pictures, in two themes."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Theme:
    """Colors, by default those of the light theme.

    Blue is the first metric, orange the second, gray any other. Every color comes with a marker or a sign.

    `tint` is the background of cells, `bar` the color of intervals, `rule` of lines between parts, `grid` of faint
    lines, `shade` of distinct areas, `hover` of the row under the pointer.
    """

    name: str = "light"
    face: str = "#ffffff"
    ink: str = "#1a1e24"
    muted: str = "#5d6672"
    rule: str = "#dfe3e8"
    grid: str = "#e6eaee"
    shade: str = "#f1f4f8"
    hover: str = "#e3e9f0"
    first: str = "#1b6ab3"
    second: str = "#d96400"
    third: str = "#4a525d"
    fourth: str = "#858e99"
    first_text: str = "#15599a"
    second_text: str = "#a84c00"
    first_tint: str = "#e3eefa"
    second_tint: str = "#fdebdc"
    first_bar: str = "#6397cb"
    second_bar: str = "#d9823c"

    def colours(self) -> dict[str, str]:
        """Return every color by its name in a style sheet."""
        return {name.replace("_", "-"): colour for name, colour in asdict(self).items() if name != "name"}


LIGHT = Theme()
DARK = Theme(
    name="dark",
    face="#14171c",
    ink="#e9ecef",
    muted="#9da7b3",
    rule="#333a43",
    grid="#2a313a",
    shade="#1e242c",
    hover="#2a323c",
    first="#5aa9f0",
    second="#f5953d",
    third="#b3bcc6",
    fourth="#737e8b",
    first_text="#7dbcf5",
    second_text="#f8ac66",
    first_tint="#17304a",
    second_tint="#402b17",
    first_bar="#4a80b3",
    second_bar="#b3743a",
)


def theme_named(theme: str) -> Theme:
    """Return the light or the dark theme, or raise an error for other names."""
    for candidate in (LIGHT, DARK):
        if theme == candidate.name:
            return candidate
    raise ValueError(f"theme must be 'light' or 'dark': got {theme!r}")
