"""How the documentation is built: sphinx-build -W --keep-going -b html docs docs/_build/html."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.domains.python import PyXRefRole

import gainwise

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).parent
ROOT = HERE.parent

project = "gainwise"
author = "The gainwise developers"
project_copyright = author
release = version = gainwise.__version__

sys.path.insert(0, str(HERE))
extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "site_parts",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "**.ipynb_checkpoints", "README.md"]
default_role = "py:obj"
smartquotes_action = "qe"  # --options keep their dashes
suppress_warnings = ["config.cache"]

# -- pages that are executed
for variable in ("OMP_NUM_THREADS", "OMP_THREAD_LIMIT"):  # deterministic trees, no busy waiting
    os.environ.setdefault(variable, "1")
nb_execution_mode = "auto"
nb_execution_in_temp = True
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_excludepatterns = ["notebooks/*"]  # stored with outputs
nb_merge_streams = True
nb_output_stderr = "remove"
copybutton_exclude = ".linenos, .gp, .go"
nb_ipywidgets_js: dict[str, Any] = {}
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# -- reference from docstrings
autosummary_generate = False  # The pages of the API contain lists instead of directives: see site_parts.py.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_attributes_as_param_list = True
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # only names in this table are links
numpydoc_xref_aliases = {
    **{name: f":class:`{name} <gainwise.{name}>`" for name in ("Comparison", "Judgments", "Metric", "RankingData")},
    **{name: f":class:`{name}`" for name in ("bool", "float", "int", "str")},
    **{name: f":class:`{name} <pandas.{name}>`" for name in ("DataFrame", "Series")},
    **{name: f"``{name}``" for name in ("None", "True", "False")},
    "array-like": ":data:`array-like <numpy.typing.ArrayLike>`",
    "boolean": ":class:`boolean <bool>`",
    "callable": "callable",
    "iterable": ":class:`iterable <collections.abc.Iterable>`",
    "mapping": ":class:`mapping <collections.abc.Mapping>`",
    "ndarray": ":class:`ndarray <numpy.ndarray>`",
    "path-like": ":class:`path-like <os.PathLike>`",
    "sequence": ":class:`sequence <collections.abc.Sequence>`",
}

# -- links to other projects. The inventories contain only the names in use, so the build needs no network.
intersphinx_mapping = {
    project: (address, f"inventories/{project}.txt")
    for project, address in {
        "lightgbm": "https://lightgbm.readthedocs.io/en/stable",
        "numpy": "https://numpy.org/doc/stable",
        "pandas": "https://pandas.pydata.org/docs",
        "python": "https://docs.python.org/3",
        "sklearn": "https://scikit-learn.org/stable",
        "xgboost": "https://xgboost.readthedocs.io/en/stable",
    }.items()
}

# -- HTML
html_theme = "pydata_sphinx_theme"
html_title = "gainwise"
html_baseurl = os.environ.get("SITE_URL", "")  # the address of the published site, for canonical links
html_static_path = ["_static"]
html_css_files = ["extra.css"]
html_js_files = ["contents.js"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_sidebars: dict[str, list[str]] = {"index": [], "gallery": []}
html_theme_options = {
    "logo": {"text": "gainwise"},
    "navigation_with_keys": False,
    "show_prev_next": True,
    "header_links_before_dropdown": 6,
    "show_nav_level": 2,
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


class ApiRole(PyXRefRole):
    """Text in single backquotes: a link if it is the name of an object, otherwise code.

    `.mean` does not contain the name of its object, so it is code.
    """

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the node."""
        if self.text.startswith("."):
            return [nodes.literal(self.rawtext, self.text, classes=["xref", "py"])], []
        return super().run()


def show_commands(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace the mark for commands with the help of every command."""
    if "<!-- commands -->" not in source[0]:
        return
    import typer

    from gainwise.cli.app import app as cli

    sections = []
    for name, command in sorted(typer.main.get_command(cli).commands.items()):  # type: ignore[attr-defined]
        tables: dict[str, list[str]] = {}
        for parameter in command.get_params(typer.Context(command)):
            if parameter.name == "help":
                continue
            name_column = ", ".join(f"`{option}`" for option in (parameter.opts + parameter.secondary_opts))
            if parameter.param_type_name == "argument":
                name_column = f"`{parameter.metavar or parameter.name}`"
            default = parameter.default
            hidden = default is None or default is False or default is ... or callable(default)
            suffix = "" if hidden else f" (default `{default}`)"
            row = f"| {name_column} | {(parameter.help or '').replace('|', chr(92) + '|')}{suffix} |"
            kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
            tables.setdefault(getattr(parameter, "rich_help_panel", None) or kind, []).append(row)
        examples = ["```sh", *(command.epilog or "").split("\n\n")[1:], "```", ""]
        sections.append("\n".join([f"### gainwise {name}", "", command.help, "", *examples]))
        sections += [f"| {title} | Description |\n|---|---|\n" + "\n".join(rows) for title, rows in tables.items()]
    source[0] = source[0].replace("<!-- commands -->", "\n\n".join(sections))


RESULTS = r"research/(?:benchmarks|calibration|studies/results)/\w+\.md"
SHOWN = re.compile(rf"<!-- shown in the built page -->\n.*\.\./({RESULTS})\).*\n<!-- end -->")
OUTSIDE = re.compile(rf"\]\(\.\./((?:\.\./)*)(notebooks/\w+\.ipynb|{RESULTS})\)")


def show_results(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace marked links to measured results with the results, without titles and with lower headings."""

    def text(link: re.Match[str]) -> str:
        path = ROOT / link[1]
        app.env.note_dependency(str(path))
        return re.sub(r"^#", "##", re.sub(r"\A# .*\n", "", path.read_text(encoding="utf-8")), flags=re.MULTILINE)

    source[0] = SHOWN.sub(text, source[0])


def link_to_pages(app: Sphinx, docname: str, source: list[str]) -> None:
    """Turn links to files outside this folder into links to the pages made from them."""

    def page(link: re.Match[str]) -> str:
        up, target = link.groups()
        if target.startswith(("research/benchmarks", "research/calibration")):
            target = f"background/{target.split('/')[1]}.md"
        return f"]({up}{target})"

    source[0] = OUTSIDE.sub(page, source[0])


def copy_notebooks(app: Sphinx) -> None:
    """Copy the executed notebooks to the pages."""
    target = HERE / "notebooks"
    target.mkdir(exist_ok=True)
    for notebook in sorted((HERE.parent / "notebooks").glob("*.ipynb")):
        copy = target / notebook.name
        if not copy.exists() or copy.read_bytes() != notebook.read_bytes():
            shutil.copyfile(notebook, copy)


def write_sample(app: Sphinx, error: Exception | None) -> None:
    """Write the sample report that the landing page links to."""
    if error is None and app.builder.name == "html" and find_spec("matplotlib") is not None:
        comparison = runpy.run_path(str(HERE / "verdict_picture.py"))["compare_rankers"]()
        data = "3,000 simulated queries, about 40 documents each, grades 0 to 4."
        comparison.to_html(Path(app.outdir) / "sample_report.html", title="Which of 3 rankers is best?", data=data)


def setup(app: Sphinx) -> None:
    """Register the roles and event handlers."""
    app.add_role_to_domain("py", "obj", ApiRole(), override=True)
    app.connect("builder-inited", copy_notebooks)
    app.connect("source-read", show_results)
    app.connect("source-read", show_commands)
    app.connect("build-finished", write_sample)
    app.connect("source-read", link_to_pages, priority=600)  # after show_results, which removes links
