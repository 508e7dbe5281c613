"""Runs the tests on each mutant, in a process forked after the tests were collected."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import traceback
from collections import defaultdict
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import pytest
from mutant import ROOT, Mutant, MutantImporter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PACKAGES = ("metrics", "ranking", "comparison", "evaluation")
OTHERS = ("oracles", "test_judgments.py", "test_bad_inputs_judgments.py", "differential")
TESTS = (
    *(f"{place}/{name}" for name in PACKAGES for place in ("tests", "src/gainwise")),
    *(f"tests/{name}" for name in OTHERS),
)
SLOW = ("test_calibration.py", "test_any_floats_and_codes", "test_returned_models.py")
REWRITTEN = "ignore::pytest.PytestAssertRewriteWarning"
OPTIONS = ("-q", "-s", "--continue-on-collection-errors", "-W", REWRITTEN)
WITHOUT = ("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov")
CPU_SECONDS, MEMORY = 30, 8 << 30
OUTCOMES = {0: "survived", 1: "killed", 3: "broken", 4: "untested"}


class FastTests:
    """A pytest plugin that skips slow tests and gives properties few and fixed examples."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Select tests and settings."""
        import hypothesis

        items[:] = [item for item in items if not any(slow in item.nodeid for slow in SLOW)]
        for item in items:
            test = getattr(item, "obj", None)
            if getattr(test, "is_hypothesis_test", False):
                test = getattr(test, "__func__", test)
                settings = getattr(test, "_hypothesis_internal_use_settings", None) or hypothesis.settings.default
                test._hypothesis_internal_use_settings = hypothesis.settings(
                    settings,
                    max_examples=min(settings.max_examples, 40),
                    derandomize=True,
                    database=None,
                    phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
                    suppress_health_check=list(hypothesis.HealthCheck),
                )


class Trials(FastTests):
    """A pytest plugin that runs the collected tests on each mutant."""

    def __init__(self, mutants: Sequence[Mutant], out: Path, jobs: int, budget: float) -> None:
        self.mutants, self.out, self.jobs, self.budget = mutants, out, jobs, budget
        self.failed = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Store the name of the first test that fails."""
        if report.failed:
            self.failed = self.failed or report.nodeid

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Measure the tests on the unchanged code, then fork once per mutant."""
        file = self.out.with_suffix(".baseline.json")
        if not file.exists():
            pid = self._fork(partial(self._measure, session.items, file))
            if os.waitpid(pid, 0)[1]:
                raise RuntimeError("The tests do not run on the unchanged code.")
        self.baseline = json.loads(file.read_text())
        failing, seconds = self.baseline["failing"], sum(self.baseline["seconds"].values())
        passed = {item.nodeid: item for item in session.items if item.nodeid not in failing}
        print(f"{len(passed)} tests pass in {seconds:.0f} s. Excluded because they fail: {failing}", flush=True)
        running: dict[int, tuple[Mutant, Path]] = {}
        with self.out.open("a") as out:
            for number, mutant in enumerate(self.mutants):
                if len(running) == self.jobs:
                    self._record(out, running)
                note = self.out.with_suffix(f".note{number}")
                tests = [passed[name] for name in self._list_tests(mutant) if name in passed]
                running[self._fork(partial(self._try, mutant, tests, note))] = mutant, note
            while running:
                self._record(out, running)
        return True

    def _fork(self, work: Callable[[], None]) -> int:
        """Fork. The child does its work without output, and always exits."""
        pid = os.fork()
        if pid:
            return pid
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(null, stream)
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(3)
        os._exit(0)

    def _record(self, out: TextIO, running: dict[int, tuple[Mutant, Path]]) -> None:
        """Wait for a child, and write the outcome of its mutant."""
        pid, status, usage = os.wait4(-1, 0)
        mutant, note = running.pop(pid)
        outcome = OUTCOMES.get(os.waitstatus_to_exitcode(status), "timeout")
        details = json.loads(note.read_text()) if note.exists() else {}
        note.unlink(missing_ok=True)
        cpu = round(usage.ru_utime + usage.ru_stime, 2)
        out.write(json.dumps({**asdict(mutant), "outcome": outcome, "cpu": cpu, **details}) + "\n")
        out.flush()

    def _measure(self, items: list[pytest.Item], file: Path) -> None:
        """Measure the time of each test, whether it fails, and the lines it reaches."""
        import coverage

        files = sorted({str(ROOT / mutant.file) for mutant in self.mutants})
        recorder = coverage.Coverage(data_file=None, config_file=False, include=files)
        recorder.start()
        seconds, failing = {}, []
        for item, next_item in zip(items, [*items[1:], None], strict=True):
            recorder.switch_context(item.nodeid)
            self.failed, start = "", time.process_time()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=next_item)
            seconds[item.nodeid] = time.process_time() - start
            if self.failed:
                failing.append(item.nodeid)
        recorder.stop()
        data = recorder.get_data()
        lines = {
            str(Path(name).relative_to(ROOT)): {
                line: [test for test in tests if test] for line, tests in data.contexts_by_lineno(name).items()
            }
            for name in data.measured_files()
        }
        file.write_text(json.dumps({"seconds": seconds, "failing": failing, "lines": lines}))

    def _list_tests(self, mutant: Mutant) -> list[str]:
        """Return the tests that reach the statement, the fastest first, within the budget.

        The lines of a fixture are recorded for the first test that uses it, so the other tests of its file follow.
        """
        lines, seconds = self.baseline["lines"].get(mutant.file, {}), self.baseline["seconds"]
        tests = {test for line in mutant.find_statement() for test in lines.get(str(line), [])}
        files = {test.split("::")[0] for test in tests}
        near = [test for test in seconds if test.split("::")[0] in files]
        return self._select(sorted(near, key=lambda test: (test not in tests, seconds[test], test)), seconds)

    def _list_files(self, mutant: Mutant) -> list[str]:
        """Return the test file of the module, those of its package, then the others, within the budget."""
        *_, package, name = Path(mutant.file).parts
        own = f"tests/{package}/test_{name}"
        seconds: defaultdict[str, float] = defaultdict(float)
        for test, duration in self.baseline["seconds"].items():
            seconds[test.split("::")[0]] += duration
        nearest = sorted(seconds, key=lambda file: (file != own, Path(file).parent.name != package, seconds[file]))
        return self._select(nearest, seconds)

    def _select(self, names: list[str], seconds: dict[str, float]) -> list[str]:
        """Return the first names within the budget, but at least one."""
        selected, total = [], 0.0
        for name in names:
            total += seconds[name]
            if selected and total > self.budget:
                break
            selected.append(name)
        return selected

    def _try(self, mutant: Mutant, tests: list[pytest.Item], note: Path) -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        self.failed = ""
        if not mutant.replace_function():
            note.write_text(json.dumps({"imported": True}))
            os._exit(self._import_again(mutant))
        if not tests:
            os._exit(4)
        for item, next_item in zip(tests, [*tests[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=next_item)
            if self.failed:
                note.write_text(json.dumps({"by": self.failed}))
                os._exit(1)
        os._exit(0)

    def _import_again(self, mutant: Mutant) -> int:
        """Import the package with the change, collect the tests again, and run them."""
        for name in [name for name in sys.modules if name.split(".")[0] in ("gainwise", "tests")]:
            del sys.modules[name]
        sys.meta_path.insert(0, MutantImporter(mutant))
        arguments = ["-x", *OPTIONS, *WITHOUT, *self._list_files(mutant)]
        return 0 if pytest.main(arguments, plugins=[FastTests()]) == 0 else 1


def run(mutants: list[Mutant], out: Path, jobs: int, budget: float, tests: Sequence[str] = TESTS) -> int:
    """Run the tests on each mutant, and append one line of JSON per mutant to `out`."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT / "src"))
    return int(pytest.main([*OPTIONS, *WITHOUT, *tests], plugins=[Trials(mutants, out, jobs, budget)]))
