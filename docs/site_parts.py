"""Parts of the site that its Markdown files do not contain: cells, navigation, references, pictures, mathematics.

The Markdown contains no directives, so it is readable in the file view of a host. This extension adds them when the
site is built.
"""

from __future__ import annotations

import base64
import json
import os
import re
import sys
import tempfile
from html import unescape
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.errors import ExtensionError
from sphinx.ext.autosummary.generate import generate_autosummary_docs

import gainwise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

HERE = Path(__file__).parent
NOTEBOOKS = HERE.parent / "notebooks"
REPOSITORY_ONLY = re.compile(r"<!-- only in the repository -->\n.*?<!-- end -->\n", re.DOTALL)
SITE_ONLY = re.compile(r"<!-- only on the site: (.*?) -->", re.DOTALL)
EXECUTED = "\n[Page with outputs](../README.md)\n"
"""The line of a page whose blocks of Python are executed, unless the text before a block names a file for it."""
NOTEBOOK = """\
---
file_format: mystnb
kernelspec:
  name: python3
language_info:
  name: python
  pygments_lexer: ipython3
---
"""
FILE_NAME = re.compile(r"[Ss]ave .*as `[\w.-]+`:\s*\Z")
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
WITH_OUTPUT = re.compile(r"^<!-- with output -->\n(```sh\n(.*?)^```$)", re.MULTILINE | re.DOTALL)
CALL = """\
```{{code-cell}} python
:tags: [remove-input]

import subprocess as _subprocess

_command = "gainwise() {{ '{python}' -m gainwise \\"$@\\"; }}\\n" + {command!r}
_finished = _subprocess.run(["bash", "-c", _command], capture_output=True, text=True)
print(_finished.stdout, _finished.stderr, f"exit code {{_finished.returncode}}", sep="")
```"""
NAME = re.compile(r"(?<![\[`\w])`gw\.(\w+)`(?!`)")
PAGE = re.compile(r"\[([^\]]+)\]\(((?:\.\./)?[\w/]+)\.md\)")
PART = re.compile(r"^\*\*(.+?)\*\*", re.MULTILINE)
SECTIONS = ("get_started", "guides", "concepts", "reference", "background")
TERMS = re.compile(r"(?:^- \*\*.+?\*\*: .+\n(?:  .+\n)*)+", re.MULTILINE)
CARD_ROW = re.compile(r"^\| (\".+?) \| (.+?) \|$", re.MULTILINE)
NAMES = re.compile(r"(?:^- `[\w.]+`\n)+", re.MULTILINE)
NOTEBOOK_ROW = re.compile(r"^\| \[(.+?)\]\(\.\./notebooks/(\w+)\.ipynb\) \| (.+?) \|$", re.MULTILINE)
PICTURE = re.compile(r"^!\[(.+)\]\((\S+)-light\.svg\)$", re.MULTILINE)
LIBRARIES = {
    "api/catboost": "catboost",
    "api/dask": "dask",
    "api/report": "matplotlib",
    "guides/catboost": "catboost",
    "guides/mlflow": "mlflow",
    "guides/optuna": "optuna_integration",
}
"""Pages that need a library when they are built."""
MISSING = "This page is empty, because the site was built without `{}`."
NOT_EXECUTED = "\n```{{note}}\nThe site was built without `{}`, so the outputs of this page are missing.\n```\n"
TOGGLE = '<summary><span class="toctree-toggle"'  # a button of the navigation, which the theme does not name
HREF = re.compile(r'<(?:a|link|img|script)\b[^>]*?\b(?:href|src)="([^"]*)"')
ENTITY = re.compile(r"&(?!lt;|gt;|amp;)\w+;")  # of HTML, which XML does not define
ACCENTS = {"ˆ", "ˉ", "˜", "^", "¯", "~"}


def write_references(app: Sphinx) -> None:
    """Write a page for each name in the lists of the API pages, which `autosummary` would find in directives only."""
    folder = app.srcdir / "api" / "generated"
    with tempfile.TemporaryDirectory() as directory:
        for page in sorted((app.srcdir / "api").glob("*.md")):
            text = _complete_reference(f"api/{page.stem}", page.read_text(encoding="utf-8"))
            Path(directory, page.name).write_text(text, encoding="utf-8")
        generate_autosummary_docs(list(map(str, Path(directory).iterdir())), output_dir=folder, app=app)


def _complete_reference(docname: str, text: str) -> str:
    """Return a page of the API with its directives, or a note if its library is missing."""
    library = LIBRARIES.get(docname)
    if library is not None and find_spec(library) is None:
        return f"# gainwise.{docname[4:]}\n\n{MISSING.format(library)}\n"
    return _list_references(docname, text)


def add_directives(app: Sphinx, docname: str, source: list[str]) -> None:
    """Remove notes for the file view, and add the directives of this page."""
    if Path(app.env.doc2path(docname)).suffix != ".md":
        return
    text = SITE_ONLY.sub(r"\1", REPOSITORY_ONLY.sub("", source[0]))
    text = PICTURE.sub(_show_in_both_schemes, text)
    text = link_names(text)
    if docname.startswith("api/"):
        text = _complete_reference(docname, text)
    elif docname.endswith("/index"):
        text += list_pages(text)
    if docname == "index":
        text = _show_questions(text)
    if docname == "notebooks":
        text = _show_notebooks(app, text)
    if docname == "gallery":
        text += "\n" + _build_grid("1 1 2 2", [_build_picture_card(*picture) for picture in _read_pictures(app)])
    if docname == "reference/glossary":
        text = TERMS.sub(_define_terms, text)
    source[0] = execute(docname, text) if EXECUTED in text else text


def execute(docname: str, text: str) -> str:
    """Return a page whose blocks of Python are cells, or a note if its library is missing."""
    text = text.replace(EXECUTED, "")
    library = LIBRARIES.get(docname)
    if library is not None and find_spec(library) is None:
        title, line, rest = text.partition("\n")
        return title + line + NOT_EXECUTED.format(library) + rest

    def create_cell(block: re.Match[str]) -> str:
        is_file = FILE_NAME.search(text[: block.start()])
        return block[0] if is_file else block[0].replace("```python\n", "```{code-cell} python\n", 1)

    return NOTEBOOK + WITH_OUTPUT.sub(_call, CODE.sub(create_cell, text))


def _call(block: re.Match[str]) -> str:
    """Return a block of shell commands and a cell that shows what they print."""
    return f"{block[1]}\n\n{CALL.format(python=sys.executable, command=block[2])}"


def link_names(text: str) -> str:
    """Turn the names of the package in a text into links to their pages."""

    def link(name: re.Match[str]) -> str:
        public = name[1] in gainwise.__all__
        return f"{{py:obj}}`gw.{name[1]} <gainwise.{name[1]}>`" if public else name[0]

    blocks = CODE.findall(text)
    parts = (NAME.sub(link, part) for part in CODE.split(text))
    return "".join(map("".join, zip_longest(parts, blocks, fillvalue="")))


def list_pages(text: str) -> str:
    """Return the navigation of a section: the pages that its index links to. A bold term begins a part."""
    contents, parts = [], PART.split(text)
    for caption, part in zip(["", *parts[1::2]], parts[::2], strict=True):
        pages = [f"{' '.join(title.split())} <{page}>" for title, page in PAGE.findall(part)]
        if pages:
            options = [f":caption: {caption}"] * bool(caption)
            contents += ["", "```{toctree}", ":hidden:", *options, "", *pages, "```"]
    return "\n".join([*contents, ""])


def _show_questions(text: str) -> str:
    """Replace the table of the landing page by cards, and add the navigation of the site."""
    cards = [f":::{{grid-item-card}} {title}\n{content}\n:::\n" for title, content in CARD_ROW.findall(text)]
    pages = [f"{name.replace('_', ' ').capitalize()} <{name}/index>" for name in SECTIONS]
    toctree = "\n".join(["```{toctree}", ":hidden:", "", *pages, "Gallery <gallery>", "```", ""])
    return _replace_table(text, _build_grid("1 1 3 3", cards)) + "\n" + toctree


def _define_terms(terms: re.Match[str]) -> str:
    """Return a list of terms as a glossary."""
    defined = re.findall(r"^- \*\*(.+?)\*\*: (.+(?:\n  .+)*)", terms[0], re.MULTILINE)
    entries = (f"{term}\n    {' '.join(meaning.split())}\n" for term, meaning in defined)
    return "\n".join(["```{glossary}", *entries, "```", ""])


def _show_in_both_schemes(picture: re.Match[str]) -> str:
    """Return a picture that exists for a light and a dark page, and for phones."""
    text, path = picture.groups()
    widths = {"": ""}
    if (HERE / "_static" / f"{path.rpartition('/')[2]}-narrow-light.svg").exists():
        widths = {"": " wide-screen", "-narrow": " narrow-screen"}
    return "\n\n".join(
        f"```{{image}} {path}{width}-{scheme}.svg\n:class: only-{scheme}{shown}\n:alt: {text}\n```"
        for scheme in ("light", "dark")
        for width, shown in widths.items()
    )


def _list_references(docname: str, text: str) -> str:
    """Turn lists of names into tables with a link and the first sentence of each docstring."""
    title = re.match(r"# (gainwise\.\w+)", text)
    module = title[1] if title else "gainwise"
    introduction = f"```{{eval-rst}}\n.. automodule:: {module}\n   :no-members:\n```\n\n" if title else ""

    def summarize(names: re.Match[str]) -> str:
        listed = re.findall(r"`(.+)`", names[0])
        parent = "gainwise" if listed[0].startswith("gainwise.") else module
        rows = "".join(f"   {name.removeprefix('gainwise.')}\n" for name in listed)
        options = "   :toctree: generated\n   :nosignatures:\n"
        return f"```{{eval-rst}}\n.. currentmodule:: {parent}\n\n.. autosummary::\n{options}\n{rows}```\n"

    text = NAMES.sub(summarize, text)
    if introduction:
        text = re.sub(r"\A(# .*\n\n)", lambda heading: heading[1] + introduction, text)
    if docname == "api/index":
        text += "\n```{toctree}\n:hidden:\n:glob:\n\nlightgbm\nxgboost\ndata\ncomparison\n*\n```\n"
    return text


def _show_notebooks(app: Sphinx, text: str) -> str:
    """Replace the table of notebooks by cards with a picture of each."""
    first = {name: path for name, _, path in reversed(list(_read_pictures(app)))}
    rows = NOTEBOOK_ROW.findall(text)
    cards = [_build_card(title, f"notebooks/{name}", "doc", first[name], content) for title, name, content in rows]
    toctree = "\n".join(["```{toctree}", ":hidden:", "", *(f"notebooks/{name}" for _, name, _ in rows), "```", ""])
    return _replace_table(text, _build_grid("1 1 2 3", cards)) + "\n" + toctree


def _replace_table(text: str, replacement: str) -> str:
    """Replace the only table of a page."""
    return text.replace(text[text.index("| ") : text.rindex("|") + 1], replacement)


def _build_grid(columns: str, cards: list[str]) -> str:
    return "\n".join([f"::::{{grid}} {columns}", ":gutter: 3", "", *cards, "::::", ""])


def _build_card(title: str, link: str, kind: str, picture: str, content: str = "") -> str:
    options = [
        f":img-top: {picture}",
        f":img-alt: {title}",
        f":link: {link}",
        f":link-type: {kind}",
        ":class-card: picture",
    ]
    return "\n".join([f":::{{grid-item-card}} {title}", *options, "", content, ":::", ""])


def _build_picture_card(name: str, heading: str, path: str) -> str:
    return _build_card(heading, f"notebooks/{name}.html#{nodes.make_id(heading)}", "url", path)


def _read_pictures(app: Sphinx) -> Iterator[tuple[str, str, str]]:
    """Write the pictures of notebooks to files. Yield the notebook, the heading above the picture, and its path."""
    folder = HERE / "notebooks" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    for notebook in sorted(NOTEBOOKS.glob("*.ipynb")):
        app.env.note_dependency(str(notebook))
        heading = ""
        for number, cell in enumerate(json.loads(notebook.read_text(encoding="utf-8"))["cells"]):
            if cell["cell_type"] == "markdown":
                heading = ([heading, *re.findall(r"^#+ (.+)$", "".join(cell["source"]), re.MULTILINE)])[-1]
            for output in cell.get("outputs", []):
                if "image/png" in output.get("data", {}):
                    path = folder / f"{notebook.stem}_{number}.png"
                    path.write_bytes(base64.b64decode("".join(output["data"]["image/png"])))
                    yield notebook.stem, heading, f"/{path.relative_to(HERE).as_posix()}"


def name_pictures(app: Sphinx, doctree: nodes.document) -> None:
    """Give the pictures of cells an alternative text, which is the heading above them."""
    for picture in doctree.findall(nodes.image):
        section = picture.parent
        while section is not None and not isinstance(section, nodes.section):
            section = section.parent
        if not picture.get("alt") and section is not None:
            picture["alt"] = f"Picture: {section[0].astext()}"


def to_mathml(text: str, *, block: bool = False) -> str:
    """Return MathML in which an accent covers only its own letter.

    docutils puts the subscript of an accented letter below the letter and its accent, as of a sum.
    """
    markup = tex2mathml(text, as_block=block)
    tree = ET.fromstring(ENTITY.sub(lambda entity: unescape(entity[0]), markup))
    space = "{http://www.w3.org/1998/Math/MathML}"
    ET.register_namespace("", space[1:-1])
    for element in tree.iter(f"{space}munderover"):
        base, index, accent = element
        if accent.text in ACCENTS:
            covered = ET.Element(f"{space}mover", accent="true")
            covered.extend([base, accent])
            element.tag = f"{space}msub"
            element[:] = [covered, index]
    return ET.tostring(tree, encoding="unicode")


def visit_math(translator: Any, node: nodes.math) -> None:
    """Write inline mathematics as MathML, which browsers draw without a script."""
    translator.body.append(to_mathml(node.astext()))
    raise nodes.SkipNode


def visit_displaymath(translator: Any, node: nodes.math_block) -> None:
    """Write displayed mathematics as MathML."""
    translator.body.append(f'<div class="displaymath" tabindex="0">{to_mathml(node.astext(), block=True)}</div>')
    raise nodes.SkipNode


def finish_pages(app: Sphinx, error: Exception | None) -> None:
    """Correct what screen readers would read wrong, and raise an error if a link of the site leads nowhere."""
    if error is not None or app.builder.name != "html":
        return
    folder = Path(app.outdir)
    (folder / "_static" / "webpack-macros.html").unlink(missing_ok=True)  # a template of the theme
    pages = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.html")}
    names = {path: set(map(unescape, re.findall(r'\bid="([^"]+)"', text))) for path, text in pages.items()}
    broken = []
    for path, text in pages.items():
        finished = text.replace(TOGGLE, TOGGLE.replace("<summary>", '<summary aria-label="Subpages">', 1))
        finished = finished.replace("<th></th>", "<td></td>")  # the corner of a table of pandas
        for link in sorted(set(HREF.findall(text))):
            if _has_target(names, path, link):
                continue
            if path.is_relative_to(folder / "_modules") and "#" in link:
                # viewcode links back to the full name of an object, which can be documented under a shorter one.
                finished = finished.replace(f'"{link}"', f'"{link.partition("#")[0]}"')
            else:
                broken.append(f"{path.relative_to(folder)}: {link}")
        if finished != text:
            path.write_text(finished, encoding="utf-8")
    if broken:
        raise ExtensionError("Links lead nowhere. Correct them: " + ", ".join(broken[:20]))


def _has_target(names: dict[Path, set[str]], page: Path, link: str) -> bool:
    """Return whether a link of a page leads to a file, and to a name in it. Addresses are not opened."""
    target, _, name = unquote(unescape(link)).partition("#")
    if re.match("[a-z]+:|//", target):
        return True
    path = Path(os.path.normpath(page.parent / target.partition("?")[0])) if target else page
    return path.exists() if path not in names else not name or name in names[path]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the event handlers and the mathematics."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    app.connect("builder-inited", write_references)
    app.connect("source-read", add_directives)
    app.connect("doctree-read", name_pictures)
    app.connect("build-finished", finish_pages, priority=900)  # after all other files are written
    return {"parallel_read_safe": False}
