"""A release requires its version as the tag, documented make targets exist, and the metric in CONTRIBUTING.md works."""

import os
import re
import subprocess
import sys
import tarfile
import textwrap
from pathlib import Path

import pytest

import gainwise as gw

ROOT = Path(__file__).parents[1]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
needs_sources = pytest.mark.skipif(not (ROOT / "src").is_dir(), reason="tests of a wheel have no sources")

COMPARED = """
import sys
sys.path[:0] = [{here!r}, {oracles!r}]
import numpy as np
import definitions, metric, plain
import gainwise as gw

rng = np.random.default_rng(3)
for k in (None, 1, 2, 5, 9):
    for ties in ("average", "order", "worst", "best"):
        for size in (1, 2, 4, 6):
            labels = rng.integers(0, 3, size)
            scores = rng.integers(0, 3, size) / 7
            found = gw.evaluate([metric.F1(k=k, ties=ties)], gw.Judgments(labels, group=[size]), scores).per_query
            query = labels.tolist(), scores.tolist()
            expected = definitions.expectation(plain.f1, *query, k)
            if ties != "average":
                expected = plain.f1(definitions.RANKINGS[ties](*query), query[0], k)
            np.testing.assert_allclose(found, [[expected]], rtol=1e-14, err_msg=f"{{k}} {{ties}} {{labels}} {{scores}}")
print("compared")
"""


def test_metric_of_contributing_equals_its_plain_definition(tmp_path):
    """Runs in another process, because the class registers its name."""
    metric, plain = (
        textwrap.dedent(code) for code in re.findall(r"^ *```python\n(.*?)^ *```$", CONTRIBUTING, re.M | re.S)
    )
    (tmp_path / "metric.py").write_text(metric, encoding="utf-8")
    (tmp_path / "plain.py").write_text(plain, encoding="utf-8")
    code = COMPARED.format(here=str(tmp_path), oracles=str(ROOT / "tests" / "oracles"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "compared\n", done.stderr


@needs_sources
@pytest.mark.posix
@pytest.mark.parametrize(
    ("tag", "accepted"), [(f"v{gw.__version__}", True), ("v9.9.9", False), (gw.__version__[:-1], False)]
)
def test_the_release_requires_that_the_tag_is_the_version(tag, accepted):
    release = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    (step,) = re.findall(r"name: Require that the tag.*?run: \|\n(.*?)\n\n", release, re.S)
    command = ["bash", "-e", "-c", textwrap.dedent(step)]
    environment = os.environ | {"GITHUB_REF_NAME": tag}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == accepted
    assert accepted or tag in done.stdout


def test_changelog_begins_with_unreleased_changes():
    headings = re.findall(
        r"^## \[([^]]+)\](?: - (\d{4}-\d\d-\d\d))?$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M
    )
    assert headings[0] == ("Unreleased", "")
    assert all(date for _, date in headings[1:])


def test_documented_make_targets_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    documented = re.findall(r"(?:^|`)make ([a-z]+)", CONTRIBUTING + README, re.M)
    assert documented
    assert set(documented) <= targets


@needs_sources
@pytest.mark.slow
def test_the_sdist_contains_what_its_tests_read(tmp_path):
    """The session `package` of nox runs all tests of the sdist."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, env=os.environ | {"HATCH_BUILD_NO_HOOKS": "true"}, check=True, capture_output=True)
    (source,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    unpacked = tmp_path / source.name.removesuffix(".tar.gz")
    tests = ("tests/test_kit.py", "tests/test_docs.py", "tests/test_readme.py", "tests/test_studies.py")
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow and not nightly", *tests]
    environment = os.environ | {"PYTHONPATH": str(unpacked / "src")}
    done = subprocess.run(
        [*command, "tests/comparison/test_calibration.py"],
        cwd=unpacked, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
