"""Figures as inline SVG whose colours, like those of the page around it, follow the theme."""

from __future__ import annotations

import io
import re
import threading
import xml.etree.ElementTree as ET  # nosec B405
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib.style
from matplotlib import font_manager
from matplotlib.text import Text

from .._common.shown import printable
from ..drawing.palette import LIGHT, theme_named
from .plots.style import alt_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Picture", "Pictures", "theme_rules"]

_LOCK = threading.Lock()
"""Matplotlib reads its settings while it draws; they are set for one figure at a time."""

_SVG, _XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
_LINE = 0.18
"""Inches that a line of a title takes."""

_STAND_IN = "\u25af"
_SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "gainsay", "font.family": ["DejaVu Sans"]}


def theme_rules(theme: str) -> str:
    """Return the colours of a theme, ``"light"`` or ``"dark"``, as declarations of CSS."""
    return "".join(f"--{name}:{colour};" for name, colour in theme_named(theme).slots().items())


class Picture(NamedTuple):
    """What a picture found, in a sentence, and the picture as an `svg` element."""

    finding: str
    svg: str


class Pictures:
    """The pictures of one page: what they share, their styles, is collected here.

    Styles become classes, so that a page may forbid inline styles, and colours of the light theme become variables.

    Parameters
    ----------
    names : mapping of model to str, optional
        Short names: a text with one of them in it shows the whole name when pointed at.
    """

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        self._names = {short: printable(name) for name, short in (names or {}).items()}
        self._classes: dict[str, str] = {}
        self._count = 0
        self._variables = {colour: f"var(--{name})" for name, colour in LIGHT.slots().items()}

    def draw(self, plot: Callable[[], Axes]) -> Picture:
        """Return what `plot` draws, in the light theme, on a figure of its own.

        Its title is the `title` of the element and is not drawn: a page can write it above, in lines that fit.
        """
        with _LOCK, matplotlib.style.context(["default", _SETTINGS]):
            ax = plot()
            figure: Any = ax.figure
            title = _take_title(ax, figure)
            originals = _replace_missing_letters(figure)
            written = io.StringIO()
            figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
        self._count += 1
        root = ET.fromstring(written.getvalue())  # nosec B314 # Matplotlib has just written it
        return Picture(title, self._inline(root, title, alt_text(ax), originals))

    def rules(self) -> str:
        """Return the style sheet of all pictures drawn so far."""
        return "".join(f".{name}{{{style}}}\n" for style, name in self._classes.items())

    def _inline(self, root: ET.Element, title: str, alt: str, originals: dict[str, str]) -> str:
        prefix = f"p{self._count}-"
        used = set(re.findall(r"#(\w+)", " ".join(value for node in root.iter() for value in node.attrib.values())))
        for node in list(root.iter()):
            name = node.attrib.pop("id", None)
            if name in originals:
                next(node.iter(f"{_SVG}text")).text = originals[name]
            if name in used:
                node.set("id", f"{prefix}{name}")
            self._restyle(node, prefix)
            for child in list(node):
                if child.tag in (f"{_SVG}metadata", f"{_SVG}style") or not isinstance(child.tag, str):
                    node.remove(child)
        for node in list(root.iter("text")):
            words = "".join(node.itertext())
            full = [name for short, name in self._names.items() if short in words]
            if full:
                ET.SubElement(node, "title").text = "; ".join(full)
        width = float(root.attrib["viewBox"].split()[2])
        fresh = ET.Element("svg", {"viewBox": root.attrib["viewBox"], "role": "img", "class": _size_class(width)})
        fresh.set("aria-labelledby", f"{prefix}title {prefix}desc")
        ET.SubElement(fresh, "title", {"id": f"{prefix}title"}).text = title
        ET.SubElement(fresh, "desc", {"id": f"{prefix}desc"}).text = alt
        fresh.extend(list(root))
        return ET.tostring(fresh, encoding="unicode")

    def _restyle(self, node: ET.Element, prefix: str) -> None:
        """Turn one element of Matplotlib's into one of ours: plain names, classes, short numbers."""
        node.tag = node.tag.removeprefix(_SVG) if isinstance(node.tag, str) else node.tag
        node.text, node.tail = (node.text or "").strip() or None, None
        style = node.attrib.pop("style", "")
        if node.tag == "text":
            style = re.sub(r"font-family: [^;]*;? ?", "", style)
        style = re.sub(r"#[0-9a-f]{6}\b", lambda match: self._variables.get(match[0], match[0]), style)
        style = re.sub(r"url\(#(\w+)\)", rf"url(#{prefix}\1)", style).strip("; ")
        if style:
            node.set("class", self._classes.setdefault(style, f"s{len(self._classes)}"))
        for key, value in list(node.attrib.items()):
            if key == f"{_XLINK}href":
                node.set("href", f"#{prefix}{node.attrib.pop(key)[1:]}")
            elif key == "clip-path":
                node.set(key, re.sub(r"#(\w+)", rf"#{prefix}\1", value))
            elif key == "transform" and value.startswith("rotate(-0 "):
                del node.attrib[key]
            elif key in ("d", "x", "y", "transform", "width", "height", "points"):
                node.set(key, re.sub(r"\s+", " ", re.sub(r"-?\d+\.\d+", _short, value)).strip())


def _short(number: re.Match[str]) -> str:
    text = f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _size_class(width: float) -> str:
    return "picture wide" if width > 520 else "picture"


def _take_title(ax: Axes, figure: Figure) -> str:
    """Return the title on one line, and take it and the height of its lines from the figure."""
    title = ax.get_title(loc="left")
    ax.set_title("", loc="left")
    figure.set_figheight(figure.get_figheight() - _LINE * (1 + title.count("\n")))
    return title.replace("\n", " ")


def _replace_missing_letters(figure: Figure) -> dict[str, str]:
    """Put a stand-in for letters that Matplotlib's font lacks, which the reader's browser is likely to have.

    Returns what is to be put back into the SVG, by the id of the element.
    """
    font = font_manager.get_font(font_manager.findfont("DejaVu Sans"))
    originals = {}
    for number, text in enumerate(figure.findobj(Text)):
        assert isinstance(text, Text)
        words = text.get_text()
        drawn = "".join(one if one == "\n" or font.get_char_index(ord(one)) else _STAND_IN for one in words)
        if drawn != words:
            originals[f"letters_{number}"] = words
            text.set_gid(f"letters_{number}")
            text.set_text(drawn)
    return originals
