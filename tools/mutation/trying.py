"""Tries the tests on each mutant, in a process forked after the tests were collected."""

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
from mutant import ROOT, Changed, Mutant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PACKAGES = ("metrics", "ranking", "comparison", "evaluation")
OTHERS = ("oracles", "test_judgments.py", "test_bad_inputs_judgments.py", "differential/test_invariants.py")
TESTS = (
    *(f"{place}/{name}" for name in PACKAGES for place in ("tests", "src/gainsay")),
    *(f"tests/{name}" for name in OTHERS),
)
SLOW = ("test_calibration.py", "test_any_floats_and_codes")
REWRITTEN = "ignore::pytest.PytestAssertRewriteWarning"
OPTIONS = ("-q", "-s", "--continue-on-collection-errors", "-W", REWRITTEN)
WITHOUT = ("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov")
CPU_SECONDS, MEMORY = 30, 8 << 30
OUTCOMES = {0: "survived", 1: "killed", 3: "broken", 4: "untested"}


class Quick:
    """A pytest plugin that leaves out the slow tests and gives those of hypothesis few examples, always the same."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Choose tests and settings."""
        import hypothesis

        items[:] = [item for item in items if not any(slow in item.nodeid for slow in SLOW)]
        for item in items:
            test = getattr(item, "obj", None)
            if getattr(test, "is_hypothesis_test", False):
                test = getattr(test, "__func__", test)
                usual = getattr(test, "_hypothesis_internal_use_settings", None) or hypothesis.settings.default
                test._hypothesis_internal_use_settings = hypothesis.settings(
                    usual,
                    max_examples=min(usual.max_examples, 40),
                    derandomize=True,
                    database=None,
                    phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
                    suppress_health_check=list(hypothesis.HealthCheck),
                )


class Trials(Quick):
    """A pytest plugin that runs the collected tests on each mutant."""

    def __init__(self, mutants: Sequence[Mutant], out: Path, jobs: int, budget: float) -> None:
        self.mutants, self.out, self.jobs, self.budget = mutants, out, jobs, budget
        self.failed = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the name of the first test that fails."""
        if report.failed:
            self.failed = self.failed or report.nodeid

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Measure the tests on the code as it is, then fork once per mutant."""
        file = self.out.with_suffix(".baseline.json")
        if not file.exists():
            pid = self._fork(partial(self._measure, session.items, file))
            if os.waitpid(pid, 0)[1]:
                raise RuntimeError("the tests could not be run on the code as it is")
        self.facts = json.loads(file.read_text())
        failing, seconds = self.facts["failing"], sum(self.facts["seconds"].values())
        passed = {item.nodeid: item for item in session.items if item.nodeid not in failing}
        print(f"{len(passed)} tests pass in {seconds:.0f} s; left out, for they fail: {failing}", flush=True)
        running: dict[int, tuple[Mutant, Path]] = {}
        with self.out.open("a") as out:
            for number, mutant in enumerate(self.mutants):
                if len(running) == self.jobs:
                    self._record(out, running)
                note = self.out.with_suffix(f".note{number}")
                tests = [passed[name] for name in self._reaching(mutant) if name in passed]
                running[self._fork(partial(self._try, mutant, tests, note))] = mutant, note
            while running:
                self._record(out, running)
        return True

    def _fork(self, work: Callable[[], None]) -> int:
        """Fork; the child does its work in silence, and ends whatever happens."""
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
        """Wait for a child, and write down what became of its mutant."""
        pid, status, usage = os.wait4(-1, 0)
        mutant, note = running.pop(pid)
        outcome = OUTCOMES.get(os.waitstatus_to_exitcode(status), "timeout")
        told = json.loads(note.read_text()) if note.exists() else {}
        note.unlink(missing_ok=True)
        cpu = round(usage.ru_utime + usage.ru_stime, 2)
        out.write(json.dumps({**asdict(mutant), "outcome": outcome, "cpu": cpu, **told}) + "\n")
        out.flush()

    def _measure(self, items: list[pytest.Item], file: Path) -> None:
        """Find out how long each test takes, which fail, and which lines each reaches."""
        import coverage

        watched = sorted({str(ROOT / mutant.file) for mutant in self.mutants})
        reached = coverage.Coverage(data_file=None, config_file=False, include=watched)
        reached.start()
        seconds, failing = {}, []
        for item, following in zip(items, [*items[1:], None], strict=True):
            reached.switch_context(item.nodeid)
            self.failed, started = "", time.process_time()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            seconds[item.nodeid] = time.process_time() - started
            if self.failed:
                failing.append(item.nodeid)
        reached.stop()
        data = reached.get_data()
        lines = {
            str(Path(name).relative_to(ROOT)): {
                line: [test for test in tests if test] for line, tests in data.contexts_by_lineno(name).items()
            }
            for name in data.measured_files()
        }
        file.write_text(json.dumps({"seconds": seconds, "failing": failing, "lines": lines}))

    def _reaching(self, mutant: Mutant) -> list[str]:
        """Return the tests that reach the statement, the quickest first, as many as the budget allows.

        What a fixture reaches counts for the first test that uses it; so the other tests of the same files follow.
        """
        lines, took = self.facts["lines"].get(mutant.file, {}), self.facts["seconds"]
        tests = {test for line in mutant.statement() for test in lines.get(str(line), [])}
        files = {test.split("::")[0] for test in tests}
        near = [test for test in took if test.split("::")[0] in files]
        return self._affordable(sorted(near, key=lambda test: (test not in tests, took[test], test)), took)

    def _files(self, mutant: Mutant) -> list[str]:
        """Return the module's own file of tests, its neighbours', then the others, as many as the budget allows."""
        *_, package, name = Path(mutant.file).parts
        own = f"tests/{package}/test_{name}"
        took: defaultdict[str, float] = defaultdict(float)
        for test, seconds in self.facts["seconds"].items():
            took[test.split("::")[0]] += seconds
        nearest = sorted(took, key=lambda file: (file != own, Path(file).parent.name != package, took[file]))
        return self._affordable(nearest, took)

    def _affordable(self, names: list[str], took: dict[str, float]) -> list[str]:
        """Return the first of the names, as many as the budget allows, one at least."""
        chosen, spent = [], 0.0
        for name in names:
            spent += took[name]
            if chosen and spent > self.budget:
                break
            chosen.append(name)
        return chosen

    def _try(self, mutant: Mutant, tests: list[pytest.Item], note: Path) -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        self.failed = ""
        if not mutant.swap():
            note.write_text(json.dumps({"anew": True}))
            os._exit(self._import_anew(mutant))
        if not tests:
            os._exit(4)
        for item, following in zip(tests, [*tests[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                note.write_text(json.dumps({"by": self.failed}))
                os._exit(1)
        os._exit(0)

    def _import_anew(self, mutant: Mutant) -> int:
        """Import the package with the change, collect the tests again, and run them."""
        for name in [name for name in sys.modules if name.split(".")[0] in ("gainsay", "tests")]:
            del sys.modules[name]
        sys.meta_path.insert(0, Changed(mutant))
        return 0 if pytest.main(["-x", *OPTIONS, *WITHOUT, *self._files(mutant)], plugins=[Quick()]) == 0 else 1


def run(mutants: list[Mutant], out: Path, jobs: int, budget: float, tests: Sequence[str] = TESTS) -> int:
    """Try the tests on each mutant; append one line of JSON each to `out`."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT / "src"))
    return int(pytest.main([*OPTIONS, *WITHOUT, *tests], plugins=[Trials(mutants, out, jobs, budget)]))
