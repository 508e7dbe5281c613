"""The suite on every supported Python, and with the lowest and the newest versions of what it needs.

`nox` runs all sessions and leaves out each Python that is not installed; `nox -s oldest` runs one. Options of pytest go
behind `--`. The versions of Python and the lowest versions stand in pyproject.toml, nowhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import nox
from packaging.requirements import Requirement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PROJECT = nox.project.load_toml("pyproject.toml")
PYTHONS = nox.project.python_versions(PROJECT)
RUNS = ("arch", "hypothesis", "playwright", "polars", "pytest", "pytest-xdist", "pytrec-eval-terrier", "statsmodels")
"""What of the `test` extra the tests themselves need; the rest checks and documents. These come in new versions."""
OLDEST = (
    *("tests", "-n", "2"),
    *("-W", "ignore::DeprecationWarning"),  # what old libraries use and newer ones beside them have deprecated
    *("--ignore=tests/report", "--ignore=tests/comparison/test_calibration.py"),  # slow, and hardly touched by versions
    *("--ignore=tests/test_docs.py", "--ignore=tests/test_examples.py", "--ignore=tests/test_readme.py"),
    # LightGBM 4.3 has no eval_X
    "--deselect=tests/lightgbm/test_lightgbm.py::TestEarlyStopping::test_ranker",
    "--deselect=tests/lightgbm/test_lightgbm.py::TestEvery::test_in_the_ranker",
    "--deselect=tests/lightgbm/test_lightgbm.py::TestBadInput::test_no_group_in_an_estimator",
    "--deselect=tests/training/test_diverging.py::TestLightGBM::test_ranker",
    # LightGBM 4.3 and XGBoost 2.1 themselves do not train with a Dask as new as ours
    *("--ignore=tests/contracts/test_dask.py", "--deselect=tests/dask/test_dask.py::TestClusters"),
    "--deselect=tests/dask/test_dask.py::test_lightgbm_over_a_cluster",
)
"""What the oldest versions can run: no documentation, which shows the newest interfaces."""

nox.options.error_on_missing_interpreters = False
nox.options.reuse_venv = "yes"


def needed(*extras: str) -> Iterator[Requirement]:
    """Return the requirements of the package and of extras, those of extras that they name included."""
    listed: Iterable[str] = PROJECT["project"]["dependencies"]
    for extra in extras:
        listed = [*listed, *PROJECT["project"]["optional-dependencies"][extra]]
    for requirement in map(Requirement, listed):
        if requirement.name == PROJECT["project"]["name"]:
            yield from needed(*requirement.extras)
        else:
            yield requirement


def lowest(requirement: Requirement) -> str:
    """Return the requirement with its lower bound as the only version."""
    bounds = [bound.version for bound in requirement.specifier if bound.operator == ">="]
    if len(bounds) != 1:
        raise ValueError(f"pyproject.toml must give {requirement.name} one lower bound, got {requirement.specifier}")
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{requirement.name}{extras}=={bounds[0]}"


def run_tests(session: nox.Session, *options: str) -> None:
    """Run pytest with these options, or with those of the command line."""
    session.run("pytest", *(session.posargs or options), env={"OMP_NUM_THREADS": "1"})


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the whole suite."""
    session.install("--editable", ".[test]")
    run_tests(session, "-n", "2")


@nox.session(python=PYTHONS[0])
def oldest(session: nox.Session) -> None:
    """Run the suite with the lowest versions that pyproject.toml allows."""
    tools = [str(tool) for tool in needed("test") if tool.name in RUNS]
    session.install("--editable", ".", *sorted({lowest(one) for one in needed("all", "dask")}), *tools)
    run_tests(session, *OLDEST)


@nox.session(python=PYTHONS)
def newest(session: nox.Session) -> None:
    """Run the suite with the newest versions that there are."""
    session.install("--upgrade", "--upgrade-strategy", "eager", "--editable", ".[test]")
    run_tests(session, "-n", "2")


@nox.session(python=PYTHONS[0])
def oracles(session: nox.Session) -> None:
    """Compare twenty times as many random queries as usual with the other libraries, ranx included."""
    session.install("--editable", ".[test]", "ranx>=0.3.20")
    run_tests(session, "tests/differential", "--hypothesis-profile=long")
