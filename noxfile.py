"""The suite on every supported Python, and with the lowest and the newest versions of what it needs.

`nox` runs all sessions and skips each Python that is not installed. `nox -s oldest` runs one session. Options of pytest
follow `--`. The versions of Python and the lowest versions are those of pyproject.toml.
"""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import nox
from packaging.requirements import Requirement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PROJECT = nox.project.load_toml("pyproject.toml")
PYTHONS = nox.project.python_versions(PROJECT)
DEVELOPERS = nox.project.dependency_groups(PROJECT, "dev")
TESTS = nox.project.dependency_groups(PROJECT, "test")
"""What the tests themselves need; the rest of `dev` checks and documents. These come in new versions."""
OLDEST = (
    *("-n", "2", "-m", "not nightly", "--ignore=src"),
    # Old libraries use functions that newer versions of other libraries deprecate.
    *("-W", "ignore::DeprecationWarning"),
    # In NumPy 1, errstate of one thread may end errstate of another one.
    *("-W", "ignore:invalid value encountered:RuntimeWarning"),
    *("-W", "ignore:divide by zero encountered:RuntimeWarning"),
    *("--ignore=tests/report", "--ignore=tests/comparison/test_calibration.py"),  # versions hardly matter to them
    *("--ignore=tests/test_docs.py", "--ignore=tests/test_examples.py", "--ignore=tests/test_readme.py"),
    # LightGBM 4.3 and XGBoost 2.1 do not train with Dask 2024.12.
    "--ignore=tests/dask/test_cluster.py",
    # CatBoost 1.2 counts and predicts the rounds of continued models differently, and checks its data in another order.
    "--deselect=tests/training/test_iterations.py::test_catboost_counts_all_rounds_of_a_continued_model",
    "--deselect=tests/catboost/test_catboost.py::test_data_that_were_not_given",
    # CatBoost 1.2 reports an error of a callback as another type.
    "--deselect=tests/adapters/test_bad_inputs.py::test_a_catboost_training_quotes_the_error",
    # Versions of rich before 15 write an empty line before a line that replaces live lines.
    "--ignore=tests/training/test_display.py",
    # XGBoost 2.1 stores six digits of the best score of some of these trainings.
    "--deselect=tests/differential/test_returned_models.py::test_xgboost",
)
"""Options that leave out tests that cannot run with the lowest versions. Documentation uses the newest interfaces."""
EVALUATED = """
import gainsay as gs
gs.show_config()
assert gs.show_config("dicts")["kernel"] == {"path": "numpy", "reason": "none was built at installation"}
assert gs.evaluate(["mrr", "ndcg_exp@2"], gs.Judgments([0, 2], group=[2]), [1.0, 0.0]).mean["mrr"] == 0.5
"""
"""What an installation without compiler is asked."""

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


def install(session: nox.Session, *packages: str, **environment: str) -> None:
    """Install packages without compiling each module, most of which no test imports."""
    session.install("--no-compile", *packages, env=environment)


def run_tests(session: nox.Session, *options: str, **environment: str) -> None:
    """Run pytest with these options, followed by those of the command line."""
    session.run("pytest", *options, *session.posargs, env=environment)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the whole suite in random order, nightly tests included."""
    install(session, "--editable", ".[all,dask]", *DEVELOPERS)
    run_tests(session, "-n", "2", "-m", "nightly or not nightly", GAINSAY_TEST_ORDER="random")


@nox.session(python=PYTHONS[0])
def kernel_off(session: nox.Session) -> None:
    """Run the whole suite on NumPy's path, as it runs where no compiler was."""
    install(session, "--editable", ".[all,dask]", *DEVELOPERS)
    run_tests(session, "-n", "2", GAINSAY_KERNEL="0")


@nox.session(python=PYTHONS[0])
def no_compiler(session: nox.Session) -> None:
    """Install where no compiler is to be found, and evaluate."""
    install(session, ".", CC="no-compiler", CXX="no-compiler")
    session.chdir(session.create_tmp())
    session.run("python", "-W", "error", "-c", EVALUATED)


@nox.session(python=PYTHONS[0])
def package(session: nox.Session) -> None:
    """Build sdist and the wheel for any platform into `dist`, unpack the sdist elsewhere, and run its tests there."""
    install(session, "build", "twine")
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build", env={"HATCH_BUILD_NO_HOOKS": "true"})
    session.run("twine", "check", "--strict", *map(str, Path("dist").iterdir()))
    (source,) = Path("dist").glob("*.tar.gz")
    unpacked = Path(session.create_tmp()) / source.name.removesuffix(".tar.gz")
    shutil.rmtree(unpacked, ignore_errors=True)
    with tarfile.open(source) as archive:
        archive.extractall(unpacked.parent, filter="data")
    session.chdir(unpacked)
    install(session, "--editable", ".[all,dask]", *DEVELOPERS)
    run_tests(session, "-n", "2")


@nox.session(python=PYTHONS[0])
def oldest(session: nox.Session) -> None:
    """Run the suite, or the folders behind `--`, with the lowest versions that pyproject.toml allows."""
    install(
        session,
        "--editable",
        ".",
        *sorted({lowest(one) for one in needed("all", "catboost", "dask", "parquet")}),
        *TESTS,
    )
    run_tests(session, *OLDEST)


@nox.session(python=PYTHONS)
def newest(session: nox.Session) -> None:
    """Run the suite with the newest versions that there are."""
    install(session, "--upgrade", "--upgrade-strategy", "eager", "--editable", ".[all,dask]", *DEVELOPERS)
    run_tests(session, "-n", "2")


@nox.session(python=PYTHONS[0])
def oracles(session: nox.Session) -> None:
    """Compare twenty times as many random queries as usual with the other libraries, ranx included."""
    install(session, "--editable", ".[all,dask]", *DEVELOPERS, "ranx>=0.3.20")
    run_tests(session, "tests/differential", "--hypothesis-profile=long")


SANITIZERS = {
    "address": ("asan", {"ASAN_OPTIONS": "detect_leaks=0"}),  # Python leaves much to the system at its end
    "undefined": ("ubsan", {"UBSAN_OPTIONS": "print_stacktrace=1"}),
    "thread": ("tsan", {"TSAN_OPTIONS": "ignore_noninstrumented_modules=1"}),  # the other libraries are as they are
}
"""What watches over the compiled core while its tests run: its library, and what it must be told."""


@nox.session(python=PYTHONS[0])
@nox.parametrize("sanitizer", SANITIZERS)
def sanitizers(session: nox.Session, sanitizer: str) -> None:
    """Compile the core with a sanitizer of GCC, and run in it what calls the core."""
    install(session, "--editable", ".[lightgbm,experiment]", *TESTS, "pyarrow")
    library = Path(session.create_tmp()).resolve() / f"{sanitizer}.so"
    sources = map(str, Path("src/gainsay/_kernel").glob("*.cpp"))
    flags = ("-std=c++17", "-O1", "-g", "-ffp-contract=off", "-shared", "-fPIC", "-pthread")
    watch = (f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all", "-D_GLIBCXX_ASSERTIONS")
    session.run("g++", *flags, *watch, *sources, "-o", str(library), external=True)
    runtime, options = SANITIZERS[sanitizer]
    preloaded = session.run("g++", f"-print-file-name=lib{runtime}.so", external=True, silent=True)
    environment = {"LD_PRELOAD": str(preloaded).strip(), "GAINSAY_KERNEL": str(library), "OMP_NUM_THREADS": "1"}
    session.run(
        *("python", "-m", "pytest", "-p", "no:cacheprovider", "-m", "not posix and not nightly"),
        *("tests/evaluation/test_compiled.py", "tests/evaluation/test_evaluator.py"),
        "tests/test_corpus.py",
        env=environment | options,
    )
