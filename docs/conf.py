"""How the documentation is built: sphinx-build -W --keep-going -b html docs docs/_build/html."""

from __future__ import annotations

import os
import re
import runpy
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.domains.python import PyXRefRole

import gainsay

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).parent
ROOT = HERE.parent

project = "gainsay"
author = "The gainsay developers"
project_copyright = author
release = version = gainsay.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "**.ipynb_checkpoints"]
default_role = "py:obj"
smartquotes_action = "qe"  # --options keep their dashes
suppress_warnings = ["config.cache"]

# Pages about libraries that may be missing are built all the same: a note says so, and their cells are not executed.
OPTIONAL = {"catboost": "howto/catboost.md", "mlflow": "howto/mlflow.md", "optuna_integration": "howto/optuna.md"}
missing = [library for library in OPTIONAL if find_spec(library) is None]
for library in missing:
    tags.add(f"without_{library}")  # type: ignore[name-defined]  # noqa: F821
for library, module in {"catboost": "catboost", "dask": "dask", "matplotlib": "report"}.items():
    if find_spec(library) is None:
        exclude_patterns += [f"api/{module}.md", f"api/generated/gainsay.{module}.*"]

# -- pages that are executed
for variable in ("OMP_NUM_THREADS", "OMP_THREAD_LIMIT"):  # the same trees whatever the machine, and no busy waiting
    os.environ.setdefault(variable, "1")
nb_execution_mode = "auto"
nb_execution_in_temp = True
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_excludepatterns = ["notebooks/*", *(OPTIONAL[library] for library in missing)]  # notebooks: as stored
nb_merge_streams = True
nb_output_stderr = "remove"
copybutton_exclude = ".linenos, .gp, .go"
nb_ipywidgets_js: dict[str, Any] = {}
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "substitution"]
myst_substitutions = runpy.run_path(str(ROOT / "studies" / "page.py"))["read_figures"]()
myst_heading_anchors = 3

# -- reference from docstrings
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_attributes_as_param_list = True

# -- HTML
html_theme = "pydata_sphinx_theme"
html_title = "gainsay"
html_static_path = ["_static"]
html_css_files = ["extra.css"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
pages = ("index", "tutorial", "scale", "benchmarks", "gallery", "metric_names", "coming_from", "cli", "glossary")
html_sidebars: dict[str, list[str]] = {page: [] for page in pages}
html_theme_options = {
    "logo": {"text": "gainsay"},
    "navigation_with_keys": False,
    "show_prev_next": False,
    "header_links_before_dropdown": 7,
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def visit_math(translator: Any, node: nodes.math) -> None:
    """Write inline mathematics as MathML, which browsers draw without a script."""
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def visit_displaymath(translator: Any, node: nodes.math_block) -> None:
    """Write displayed mathematics as MathML."""
    translator.body.append(f'<div class="displaymath">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


class ApiRole(PyXRefRole):
    """What stands in single backquotes: a link where it is the name of something, else code.

    Of `.mean` it is not said whose it is, so it is code.
    """

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the node."""
        if self.text.startswith("."):
            return [nodes.literal(self.rawtext, self.text, classes=["xref", "py"])], []
        return super().run()


def show_commands(app: Sphinx, docname: str, source: list[str]) -> None:
    """Describe every command of the command line, as it describes itself, in place of the mark for it."""
    if "<!-- commands -->" not in source[0]:
        return
    import typer

    from gainsay.cli.app import app as cli

    described = []
    for name, command in sorted(typer.main.get_command(cli).commands.items()):  # type: ignore[attr-defined]
        rows = []
        for parameter in command.params:
            called = ", ".join(f"`{option}`" for option in (parameter.opts + parameter.secondary_opts))
            if parameter.param_type_name == "argument":
                called = f"`{parameter.metavar or parameter.name}`"
            default = parameter.default
            told = default is None or default is False or default is ... or callable(default)
            usual = "" if told else f" (default `{default}`)"
            rows.append(f"| {called} | {(parameter.help or '').replace('|', chr(92) + '|')}{usual} |")
        words = "\n\n".join(part.replace("\n", " ") for part in (command.help or "").split("\n\n"))
        described.append(
            "\n".join(
                [
                    *(f"### gainsay {name}", "", words, ""),
                    *("```sh", *(command.epilog or "").split("\n\n")[1:], "```", ""),
                    *("| option | what it does |", "|---|---|", *rows),
                ]
            )
        )
    source[0] = source[0].replace("<!-- commands -->", "\n\n".join(described))


SHOWN = re.compile(r"<!-- shown in the built page -->\n.*/((?:benchmarks|calibration)/\w+\.md)\).*\n<!-- end -->")
OUTSIDE = re.compile(r"\]\(\.\./((?:\.\./)*)(notebooks/\w+\.ipynb|(?:benchmarks|calibration)/\w+\.md)\)")


def show_results(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace the marked links to measured results by the results, without titles, headings one level lower."""

    def text(link: re.Match[str]) -> str:
        path = ROOT / link[1]
        app.env.note_dependency(str(path))
        return re.sub(r"^#", "##", re.sub(r"\A# .*\n", "", path.read_text(encoding="utf-8")), flags=re.MULTILINE)

    source[0] = SHOWN.sub(text, source[0])


def link_to_pages(app: Sphinx, docname: str, source: list[str]) -> None:
    """Turn links to files outside this folder, which a checkout needs, into links to the pages made of them."""

    def page(link: re.Match[str]) -> str:
        up, target = link.groups()
        if target.startswith("benchmarks"):
            target = "benchmarks.md"
        if target.startswith("calibration"):
            target = "explanation/verdict.md#how-often-it-is-wrong"
        return f"]({up}{target})"

    source[0] = OUTSIDE.sub(page, source[0])


def copy_notebooks(app: Sphinx) -> None:
    """Put the executed notebooks among the pages."""
    target = HERE / "notebooks"
    target.mkdir(exist_ok=True)
    for notebook in sorted((HERE.parent / "notebooks").glob("*.ipynb")):
        copy = target / notebook.name
        if not copy.exists() or copy.read_bytes() != notebook.read_bytes():
            shutil.copyfile(notebook, copy)


def write_sample(app: Sphinx, error: Exception | None) -> None:
    """Write the sample report that the first page links to, made by this version."""
    if error is None and app.builder.name == "html" and "api/report" in app.env.found_docs:
        compared = runpy.run_path(str(HERE / "verdict_picture.py"))["compared"]
        compared().to_html(Path(app.outdir) / "sample_report.html")


def setup(app: Sphinx) -> None:
    """Register what is above."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    app.add_role_to_domain("py", "obj", ApiRole(), override=True)
    app.connect("builder-inited", copy_notebooks)
    app.connect("source-read", show_results)
    app.connect("source-read", show_commands)
    app.connect("build-finished", write_sample)
    app.connect("source-read", link_to_pages, priority=600)  # what is shown first is no link any more
