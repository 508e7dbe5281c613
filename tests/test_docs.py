"""Stored notebooks are executed, links lead to files, pages are short, and no output contains a path of a machine."""

import json
import os
import re
import subprocess
from pathlib import Path
from pkgutil import resolve_name

import pytest

import gainwise as gw

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PAGES = [path for path in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in path.parts]
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)|src(?:set)?=\"([^\":]+)\"")
MAX_WORDS = {
    "docs/get_started/*.md": 600,
    "docs/guides/*.md": 700,
    "docs/concepts/*.md": 1_200,
    "docs/reference/*.md": 1_200,
    "docs/background/*.md": 1_800,
    "CONTRIBUTING.md": 1_200,
    "CHANGELOG.md": 400,
}
HOSTS = {
    "creativecommons.org", "purl.org", "www.w3.org", "matplotlib.org",  # namespaces and metadata of pictures
    "keepachangelog.com", "semver.org", "ir-measur.es",
    "lightgbm.readthedocs.io", "xgboost.readthedocs.io",
    "docs.python.org", "numpy.org", "pandas.pydata.org", "scikit-learn.org",
    "example.com", "example.org",
}  # fmt: skip
"""The only hosts that files of the project may name."""
DEPLOYMENTS = "../../../deployments/github-pages"
"""The page of the host that lists the addresses of the published site, relative to a file in docs/."""
MACHINE_PATH = re.compile(r"(?<![\w.])/(home|root|tmp|work|Users|opt)/")


def test_notebooks_and_pages_exist():
    assert len(NOTEBOOKS) >= 4
    assert len(PAGES) > 10


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "api").glob("*.md")), ids=lambda path: path.stem)
def test_names_of_the_reference_exist(page):
    text = page.read_text("utf-8")
    module = "gainwise" if page.stem == "index" else f"gainwise.{page.stem}"
    names = re.findall(r"^- `([\w.]+)`$", text, re.MULTILINE)
    assert names
    for name in names:
        resolve_name(name if name.startswith("gainwise.") else f"{module}.{name}")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_with_its_outputs(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    outputs = [output for cell in code for output in cell["outputs"]]
    displayed = [(kind, "".join(value)) for output in outputs for kind, value in output.get("data", {}).items()]
    printed = ["".join(output.get("text", [])) for output in outputs]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert sum(kind == "image/png" for kind, _ in displayed) >= 3
    for text in (*printed, *(value for kind, value in displayed if kind.startswith("text/"))):
        assert not MACHINE_PATH.search(text)


@pytest.fixture(scope="module")
def tracked():
    """Return the files of a checkout without build outputs, and their folders."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs a checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = {Path(name) for name in listed.split("\0") if name}
    return files | {folder for file in files for folder in file.parents}


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda path: str(path.relative_to(ROOT))
)
def test_links_lead_to_tracked_files(page, tracked):
    for link in map("".join, LINK.findall(page.read_text(encoding="utf-8"))):
        if link == DEPLOYMENTS:
            continue
        assert Path(os.path.relpath(page.parent / link, ROOT)) in tracked, link


def test_addresses_name_only_known_hosts(tracked):
    for path in tracked:
        if (ROOT / path).is_file():
            hosts = re.findall(rb"https?://([A-Za-z0-9][\w.-]*\w)", (ROOT / path).read_bytes())
            assert {host.decode() for host in hosts} <= HOSTS, path


@pytest.mark.parametrize(("pages", "limit"), MAX_WORDS.items(), ids=list(MAX_WORDS))
def test_pages_are_short(pages, limit):
    for page in sorted(ROOT.glob(pages)):
        text = re.sub(r"```.*?```|\$\$.*?\$\$|\$[^$]+\$|{{.*?}}", "x", page.read_text(encoding="utf-8"), flags=re.S)
        assert len(text.split()) <= limit, page.name


def test_documentation_is_short():
    pages = [page for page in PAGES if "generated" not in page.parts]
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= 23_000


@pytest.mark.parametrize("words", ["It depends on the ", "is better than ", "Choose", "Safest", "No choice yet"])
def test_tables_of_the_verdict_use_the_words_of_the_output(words):
    sources = "".join(
        path.read_text(encoding="utf-8") for path in (Path(gw.__file__).parent / "comparison").glob("*.py")
    )
    assert words in sources
    for page in ("README.md", "docs/concepts/verdict.md"):
        assert words in (ROOT / page).read_text(encoding="utf-8")


def test_reference_lists_every_public_name():
    listed = re.findall(r"^- `(\w+)`$", (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(gw.__all__)


def test_measured_results_are_part_of_the_built_pages():
    start, end = "<!-- shown in the built page -->", "<!-- end -->"
    included = re.compile(rf"{start}\n\[.+\]\((?:\.\./)+research/((?:\w+/)+\w+\.md)\)\n{end}")
    names = [name for page in PAGES for name in included.findall(page.read_text(encoding="utf-8"))]
    results = [
        f"{name}/{path.name}"
        for name in ("benchmarks", "calibration", "studies/results")
        for path in (ROOT / "research" / name).glob("*.md")
    ]
    assert sorted(names) == sorted(results)
