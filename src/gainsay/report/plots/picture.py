"""The result of every plot: a picture that notebooks display and that can be saved or extended."""

from __future__ import annotations

import base64
import io
import re
import warnings
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._common.validation import validate_output

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Picture", "draw_and_save", "embedded"]

SHARP = 2
"""Pixels of the image per pixel of the notebook, for screens with a high resolution."""


class Picture:
    """A drawn picture: the last line of a notebook's cell shows it, `save` writes it to a file.

    The methods of `comparison.plot` return it. Use its Matplotlib axes to change the picture or to add to it.

    Attributes
    ----------
    ax : Axes
        The axes of the picture.
    alt : str
        Text alternative: the content of the picture in words and numbers. Files and notebooks contain it.
    """

    def __init__(self, ax: Axes, alt: str) -> None:
        self.ax, self.alt = ax, alt

    @property
    def figure(self) -> Figure:
        """The figure that the axes are part of."""
        return self.ax.figure.canvas.figure

    @property
    def title(self) -> str:
        """The finding of the picture as a sentence."""
        return self.ax.get_title(loc="left").replace("\n", " ")

    def save(self, path: str | os.PathLike[str], *, dpi: float = 150) -> Path:
        """Write the whole figure to a file. The extension selects the format: .png, .svg, .pdf or another one.

        PNG, SVG and PDF files also contain the title and the text alternative.

        Parameters
        ----------
        path : path
            The file. An existing file is replaced.
        dpi : float
            Dots per inch of an image.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        ValueError
            If Matplotlib does not support the extension.
        OSError
            If the file cannot be written.
        """
        target = validate_picture_path(path)
        described = _DESCRIPTION.get(target.suffix.lower())
        metadata = {"Title": self.title, described: self.alt} if described else None
        self.figure.savefig(target, dpi=dpi, metadata=metadata)
        return target

    def to_svg(self) -> str:
        """Return the whole figure as deterministic SVG text that uses the fonts of the viewer."""
        from matplotlib import rc_context

        written = io.StringIO()
        with rc_context({"svg.fonttype": "none", "svg.hashsalt": "gainsay"}):
            look: dict[str, Any] = {"transparent": True, "bbox_inches": "tight", "pad_inches": 0.05}
            self.figure.savefig(written, format="svg", metadata={"Date": None}, **look)
        return re.sub(r"'DejaVu Sans'[^;\"]*", "Inter, system-ui, sans-serif", written.getvalue())

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the picture for notebooks, except for figures of pyplot, which pyplot displays itself."""
        data: dict[str, Any] = {"text/plain": repr(self)}
        figure = self.figure
        if figure.canvas.manager is not None:
            return data, {}
        written = io.BytesIO()
        figure.savefig(written, format="png", dpi=SHARP * 96, metadata={"Software": None})
        data["image/png"] = base64.b64encode(written.getvalue()).decode("ascii")
        width, height = (round(96 * inches) for inches in figure.get_size_inches())
        return data, {"image/png": {"width": width, "height": height, "alt": self.alt}}

    def __repr__(self) -> str:
        return f"<Picture: {self.title}>"


_DESCRIPTION = {".png": "Description", ".svg": "Description", ".pdf": "Subject"}
"""The metadata field of the text alternative in each format."""


def validate_picture_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a picture. Raise if the picture cannot be written there."""
    from matplotlib.backend_bases import FigureCanvasBase

    target = Path(path)
    extensions = FigureCanvasBase.get_supported_filetypes()
    if target.suffix.lower().removeprefix(".") not in extensions:
        raise ValueError(
            f"path {str(target)!r} must end in an extension of a picture: {', '.join(sorted(extensions))}."
        )
    return validate_output("path", target)


def embedded(draw: Callable[[str], Picture]) -> str:
    """Return HTML with a picture in both themes, without its title."""
    sources = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # The browser of the reader has more fonts.
        for theme in ("light", "dark"):
            picture = draw(theme)
            title = escape(picture.title)
            picture.ax.set_title("", loc="left")
            content = base64.b64encode(picture.to_svg().encode()).decode("ascii")
            sources.append(f"data:image/svg+xml;base64,{content}")
    alt = f"{title}. {escape(picture.alt)}"
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{title}"><picture>'
        f'<source media="screen and (prefers-color-scheme: dark)" srcset="{sources[1]}">'
        f'<img src="{sources[0]}" alt="{alt}"></picture></div>'
    )


def draw_and_save(path: str | os.PathLike[str] | None, draw: Callable[[], Picture]) -> Picture:
    """Return the picture that `draw` makes, and save it if a path is given. An invalid path raises before drawing."""
    if path is None:
        return draw()
    validate_picture_path(path)
    picture = draw()
    picture.save(path)
    return picture
