"""The sections of a report between its chart and its details.

To add one, write a function from `Content` to a `Section`, or None where there is nothing to show, and put it into
`SECTIONS`; its figure is HTML made by a function of `gainsay.drawing`, whose classes stand in ``report.css``. Tables
that belong to it come into `gainsay.report.full.details`. Nothing else changes: heading, link, order and Markdown
follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .further import gains_part, other_part, segments_part
from .queries import queries_section
from .stopping import stopping_section
from .why import why_section

if TYPE_CHECKING:
    from collections.abc import Callable

    from .content import Content
    from .section import Section

SECTIONS: tuple[Callable[[Content], Section | None], ...] = (
    why_section,
    queries_section,
    segments_part,
    gains_part,
    stopping_section,
)
"""In order."""


def sections(content: Content) -> tuple[Section, ...]:
    """Return the sections for which there are data, or for which something was asked."""
    own = [found for make in SECTIONS if (found := make(content)) is not None]
    return (*own, *map(other_part, content.also))
