"""The marks of metrics, as SVG and as characters: each has a shape of its own, so that colour never stands alone."""

from __future__ import annotations

from typing import Literal

from .palette import LIGHT

__all__ = ["INKS", "Role", "character", "mark"]

Role = Literal["first", "second", "third", "fourth"]
"""Whose mark it is: the first metric's (blue, a circle), the second's (orange, a diamond), any other one's (ink)."""

_PATHS: dict[Role, str] = {
    "second": "M0-1.27 1.27 0 0 1.27-1.27 0z",
    "third": "M0-1.15 1.1 .85-1.1 .85z",
    "fourth": "M-.9-.9H.9V.9H-.9z",
}
_CHARACTERS: dict[Role, tuple[str, str]] = {
    "first": ("●", "o"),
    "second": ("◆", "x"),
    "third": ("▲", "^"),
    "fourth": ("■", "#"),
}
INKS: dict[Role, str] = {"first": LIGHT.first, "second": LIGHT.second, "third": LIGHT.third, "fourth": LIGHT.third}
"""Colours where no style sheet says otherwise."""


def character(role: Role, ascii_only: bool = False) -> str:
    """Return a mark as a character.

    >>> character("first"), character("second", ascii_only=True)
    ('●', 'x')
    """
    return _CHARACTERS[role][ascii_only]


def mark(role: Role, x: float, y: float, size: float = 5.5, *, hollow: bool = False) -> str:
    """Return a mark as SVG, in colours that a style sheet may replace by its classes.

    >>> mark("first", 10, 20)
    '<circle class="gs-first" fill="#1b6ab3" cx="10" cy="20" r="5.5"/>'
    """
    if hollow:
        look = f'class="gs-line-{role} gs-hollow" fill="{LIGHT.face}" stroke="{INKS[role]}" stroke-width="2"'
    else:
        look = f'class="gs-{role}" fill="{INKS[role]}"'
    if role == "first":
        return f'<circle {look} cx="{x:g}" cy="{y:g}" r="{size:g}"/>'
    thin = ' vector-effect="non-scaling-stroke"' if hollow else ""
    place = f'transform="translate({x:g} {y:g}) scale({size:g})"'
    return f'<path {look} d="{_PATHS[role]}" {place}{thin}/>'
