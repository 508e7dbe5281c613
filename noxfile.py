#!/usr/bin/env python3
# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""Run the tests on every supported Python, and with the lowest and the newest versions of all dependencies.

`nox` runs all sessions and skips Pythons that are not installed. `nox -s oldest` runs one session. Options of pytest
follow `--`. Versions of Python and lowest versions are those of pyproject.toml.
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
"""Dependencies of the tests, in new versions. The rest of `dev` is for checks and documentation."""
OLDEST = (
    *("-n", "2", "-m", "not nightly", "--ignore=src"),
    # Old libraries use functions that newer versions of other libraries deprecate.
    *("-W", "ignore::DeprecationWarning"),
    # In NumPy 1, errstate of one thread may end errstate of another one.
    *("-W", "ignore:invalid value encountered:RuntimeWarning"),
    *("-W", "ignore:divide by zero encountered:RuntimeWarning"),
    # CatBoost 1.2 was compiled with another version of NumPy, which NumPy states at its first import.
    *("-W", "ignore:numpy.ufunc size changed:RuntimeWarning"),
    *("--ignore=tests/report", "--ignore=tests/comparison/test_calibration.py"),  # They hardly depend on versions.
    *("--ignore=tests/test_docs.py", "--ignore=tests/test_examples.py", "--ignore=tests/test_readme.py"),
    "--ignore=tests/test_docs_blocks.py",
    # LightGBM 4.3 and XGBoost 2.1 do not train with Dask 2024.12.
    "--ignore=tests/dask/test_cluster.py",
    # CatBoost 1.2 counts and predicts the rounds of continued models differently, and checks its data in another order.
    "--deselect=tests/training/test_iterations.py::test_catboost_counts_all_rounds_of_a_continued_model",
    "--deselect=tests/catboost/test_catboost.py::test_data_that_were_not_given",
    # Versions of rich before 15 write an empty line before a line that replaces live lines.
    "--ignore=tests/training/test_display.py",
    # XGBoost 2.1 stores six digits of the best score of some of these trainings.
    "--deselect=tests/differential/test_returned_models.py::test_xgboost",
)
"""Options that leave out tests that cannot run with the lowest versions. Documentation uses the newest interfaces."""
EVALUATION_WITHOUT_CORE = """
import gainwise as gw
gw.show_config()
assert gw.show_config("dicts")["kernel"] == {"path": "numpy", "reason": "none was built at installation"}
assert gw.evaluate(["mrr", "ndcg_exp@2"], gw.Judgments([0, 2], group=[2]), [1.0, 0.0]).mean["mrr"] == 0.5
"""

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_missing_interpreters = False
nox.options.reuse_venv = "yes"


def list_requirements(*extras: str) -> Iterator[Requirement]:
    """Yield the requirements of the package and of extras, including nested extras."""
    texts: Iterable[str] = PROJECT["project"]["dependencies"]
    for extra in extras:
        texts = [*texts, *PROJECT["project"]["optional-dependencies"][extra]]
    for requirement in map(Requirement, texts):
        if requirement.name == PROJECT["project"]["name"]:
            yield from list_requirements(*requirement.extras)
        else:
            yield requirement


def pin_lowest(requirement: Requirement) -> str:
    """Return the requirement with its lower bound as the exact version."""
    bounds = [bound.version for bound in requirement.specifier if bound.operator == ">="]
    if len(bounds) != 1:
        raise ValueError(
            f"pyproject.toml must have one lower bound of {requirement.name}, got {requirement.specifier}."
        )
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{requirement.name}{extras}=={bounds[0]}"


def install(session: nox.Session, *packages: str, **environment: str) -> None:
    """Install packages without compiling their modules, because tests import only some of them."""
    session.install("--no-compile", *packages, env=environment)


def run_tests(session: nox.Session, *options: str, **environment: str) -> None:
    """Run pytest with these options, followed by those of the command line."""
    session.run("pytest", *options, *session.posargs, env=environment)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run all tests in random order, including nightly tests."""
    install(session, "--editable", ".[all,dask]", *DEVELOPERS)
    run_tests(session, "-n", "2", "-m", "nightly or not nightly", GAINWISE_TEST_ORDER="random")


@nox.session(python=PYTHONS[0])
def kernel_off(session: nox.Session) -> None:
    """Run all tests without the compiled core."""
    install(session, "--editable", ".[all,dask]", *DEVELOPERS)
    run_tests(session, "-n", "2", GAINWISE_KERNEL="0")


@nox.session(python=PYTHONS[0])
def no_compiler(session: nox.Session) -> None:
    """Install without a compiler, and evaluate."""
    install(session, ".", CC="no-compiler", CXX="no-compiler")
    session.chdir(session.create_tmp())
    session.run("python", "-W", "error", "-c", EVALUATION_WITHOUT_CORE)


@nox.session(python=PYTHONS[0])
def package(session: nox.Session) -> None:
    """Build the sdist and a pure Python wheel in `dist`, and run the tests of the unpacked sdist."""
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
def wheel(session: nox.Session) -> None:
    """Build the wheel with the compiled core, and run all tests on it, outside the source tree."""
    install(session, "build")
    folder = Path(session.create_tmp()).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    session.run("python", "-m", "build", "--wheel", "--outdir", str(folder))
    (built,) = folder.glob("*.whl")
    install(session, f"{built}[all,dask]", *DEVELOPERS)
    session.run("python", "-c", "import gainwise as gw; assert gw.show_config('dicts')['kernel']['path'] == 'compiled'")
    names = session.run("git", "ls-files", "--", ":!src", external=True, silent=True).splitlines()
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(name, folder / name)
    session.chdir(folder)
    run_tests(session, "-n", "2", "tests")


@nox.session(python=PYTHONS)
def smoke(session: nox.Session) -> None:
    """Install with the command and LightGBM, and evaluate, identify and compare models."""
    install(session, ".[cli,lightgbm,report]")
    session.run("python", "-W", "error::SyntaxWarning", "tests/smoke.py")


@nox.session(python=PYTHONS[0])
def types(session: nox.Session) -> None:
    """Check five examples with mypy and pyright, which read the types of the installed package."""
    install(session, ".[all]", "mypy", "pyright[nodejs]", "pandas-stubs", "scipy-stubs")
    folder = session.create_tmp()  # pyright would also import from src.
    scripts = [f"{name}.py" for name in ("compare_table", "revenue", "ship_a_model", "train_lightgbm", "train_xgboost")]
    for script in scripts:
        shutil.copy(f"examples/{script}", folder)
    session.chdir(folder)
    session.run("mypy", "--config-file=", "--strict", *scripts)
    session.run("pyright", *scripts)


@nox.session(python=PYTHONS[-1])
def prereleases(session: nox.Session) -> None:
    """Run all tests with the newest versions of NumPy and XGBoost, including pre-releases."""
    install(session, "--editable", ".[all,dask]", *DEVELOPERS)
    install(session, "--upgrade", "--pre", "numpy", "xgboost")
    run_tests(session, "-n", "2")


@nox.session(python=PYTHONS[0])
def oldest(session: nox.Session) -> None:
    """Run the tests, or the directories after `--`, with the lowest versions in pyproject.toml."""
    install(
        session,
        "--editable",
        ".",
        *sorted({pin_lowest(requirement) for requirement in list_requirements("all", "catboost", "dask")}),
        *TESTS,
    )
    run_tests(session, *OLDEST)


@nox.session(python=PYTHONS)
def newest(session: nox.Session) -> None:
    """Run the tests with the newest versions."""
    install(session, "--upgrade", "--upgrade-strategy", "eager", "--editable", ".[all,dask]", *DEVELOPERS)
    run_tests(session, "-n", "2")


@nox.session(python=PYTHONS[0])
def oracles(session: nox.Session) -> None:
    """Compare twenty times as many random queries as usual with the other libraries, including ranx."""
    install(session, "--editable", ".[all,dask]", *DEVELOPERS, "ranx>=0.3.20")
    run_tests(session, "tests/differential", "--hypothesis-profile=long")


SANITIZERS = {
    # Python does not free all memory at its exit. Without the second option, a file that promises an array larger than
    # the memory ends the process instead of raising MemoryError.
    "address": ("asan", {"ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1"}),
    "undefined": ("ubsan", {"UBSAN_OPTIONS": "print_stacktrace=1"}),
    # Other libraries are not instrumented.
    "thread": ("tsan", {"TSAN_OPTIONS": "ignore_noninstrumented_modules=1:allocator_may_return_null=1"}),
}
"""Runtime library and options of each sanitizer of the compiled core."""


@nox.session(python=PYTHONS[0])
@nox.parametrize("sanitizer", list(SANITIZERS))
def sanitizers(session: nox.Session, sanitizer: str) -> None:
    """Compile the core with a sanitizer of GCC, and run the tests that call the core."""
    install(session, "--editable", ".[lightgbm,experiment,cli,parquet]", *TESTS)
    library = Path(session.create_tmp()).resolve() / f"{sanitizer}.so"
    sources = map(str, Path("src/gainwise/_kernel").glob("*.cpp"))
    flags = ("-std=c++17", "-O1", "-g", "-ffp-contract=off", "-shared", "-fPIC", "-pthread")
    checks = (f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all", "-D_GLIBCXX_ASSERTIONS")
    session.run("g++", *flags, *checks, *sources, "-o", str(library), external=True)
    runtime, options = SANITIZERS[sanitizer]
    # Without libstdc++, the sanitizer ends the process when another library throws an exception of C++.
    preloaded = (
        session.run("g++", f"-print-file-name={name}.so", external=True, silent=True)
        for name in (f"lib{runtime}", "libstdc++")
    )
    environment = {
        "LD_PRELOAD": " ".join(map(str.strip, preloaded)),
        "GAINWISE_KERNEL": str(library),
        "OMP_NUM_THREADS": "1",
    }
    session.run(
        *("python", "-m", "pytest", "-p", "no:cacheprovider"),
        *("-m", "not posix and not nightly", "-k", "not trainings and not experiments"),
        *("tests/evaluation/test_compiled.py", "tests/evaluation/test_evaluator.py"),
        *("tests/_kernel/test_differences.py", "tests/test_corpus.py"),
        env=environment | options,
    )


if __name__ == "__main__":
    nox.main()
