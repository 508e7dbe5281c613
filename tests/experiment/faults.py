"""Runs a small experiment with a fault at each call that changes the disk, then resumes it.

A call is an audit event (a file is opened for writing, renamed or removed, a folder is made), an fsync, a write, or the
middle of a write. Each attempt forks a process that never trains, because OpenMP does not support a fork after use.
"""

import builtins
import errno
import itertools
import json
import os
import shutil
import signal
import sys
import traceback
import warnings
from pathlib import Path

from tests.experiment.helpers import ByPickle, contents, facts

from gainwise.data import simulate
from gainwise.experiment import Candidate, Experiment

EVENTS = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir"}
FAULTS = {"kill": None, "full once": errno.ENOSPC, "full": errno.ENOSPC, "read-only": errno.EROFS}
REJECTED = 3
"""Exit status of a run that ended with the injected error."""


class Calls:
    """Counts the calls that change a folder, and injects faults at one of them or from there on."""

    def __init__(self, folder, fault, position):
        self.folder, self.fault, self.position = str(folder), fault, position
        self.names, self.numbers = [], itertools.count(1)

    def call(self, name):
        self.names.append(name)
        number = next(self.numbers)  # another thread may make the next call
        lasting = 0 < self.position < number and self.fault in ("full", "read-only")
        if number != self.position and not lasting:
            return
        if self.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if not (lasting and self.fault == "full" and name.startswith(("os.remove", "os.rmdir"))):
            raise OSError(FAULTS[self.fault], os.strerror(FAULTS[self.fault]))

    def watch(self):
        real_open = open

        def torn_open(path, mode="r", *arguments, **options):
            file = real_open(path, mode, *arguments, **options)
            return TornFile(file, self) if "w" in mode and str(path).startswith(self.folder) else file

        builtins.open = torn_open
        os.fsync = lambda descriptor: self.call("fsync")
        sys.addaudithook(self.audit)

    def audit(self, event, arguments):
        if event not in EVENTS or not isinstance(arguments[0], str):
            return
        path = arguments[0]
        if event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return
        if path.startswith(self.folder) or (event in ("os.remove", "os.rmdir") and not os.path.isabs(path)):
            self.call(f"{event} {Path(path).name}")


class TornFile:
    """A file whose writes can end in the middle."""

    def __init__(self, file, calls):
        self.file, self.calls = file, calls

    def write(self, content):
        self.calls.call("write")
        half = len(content) // 2
        self.file.write(content[:half])
        self.file.flush()
        self.calls.call("half of a write")
        self.file.write(content[half:])

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()


def experiment(directory):
    parts = simulate(40, seed=5, mean_length=8).split_queries(0.5, 0.25, 0.25, seed=5)
    candidates = [
        Candidate("first", "lightgbm", {"num_leaves": 3, "min_data_in_leaf": 2}),
        Candidate("broken", "lightgbm", {"objective": "lambdarank", "min_data_in_leaf": "x"}),
        Candidate("second", "xgboost", {"max_depth": 2}),
    ]
    metrics = ["ndcg_linear@10", "ndcg_exp@10"]
    return Experiment(candidates, *parts, metrics=metrics, directory=directory, num_boost_round=3, draws=1000)


def attempt(prepared, executor, calls=None):
    """Run in a child process. Return its exit status, and the result or the names of the calls."""
    answer = prepared.directory.with_name("answer.json")
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.fsync = lambda descriptor: None
            warnings.simplefilter("error")
            written = os.open(answer, os.O_WRONLY | os.O_CREAT)
            if calls is not None:
                calls.watch()
            pool, jobs = (ByPickle(), None) if executor == "pickle" else (None, executor)
            result = prepared.run(pool, False, jobs=jobs, allow_incomplete=True)
            os.write(written, json.dumps(facts(result) if calls is None else calls.names).encode())
            status = 0
        except OSError as error:
            status = REJECTED if error.errno in FAULTS.values() else 1
        finally:
            if status == 1:
                traceback.print_exc()
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status, json.loads(answer.read_text() or "null") if answer.exists() else None


def inject_everywhere(folder, executor, every):
    """Write a report to `report.json`: for each fault the names of the calls and the outcome of each attempt."""
    directory = Path(folder) / "run"
    prepared = experiment(directory)
    status, names = attempt(prepared, executor, Calls(directory, "", 0))
    whole = contents(directory)
    _, expected = attempt(prepared, None)
    report = {"status": status, "calls": names, "unchanged": contents(directory) == whole, "attempts": []}
    for offset, fault in enumerate(FAULTS):
        for position in range(1 + offset * every // len(FAULTS), len(names) + 1, every):
            shutil.rmtree(directory, ignore_errors=True)
            status, _ = attempt(prepared, executor, Calls(directory, fault, position))
            partial = [path.name for path in directory.rglob("*.partial")]
            finished = {path: path.stat().st_ino for path in directory.glob("candidates/*/manifest.json")}
            resumed, result = attempt(prepared, None)
            differing = {name for name, _ in contents(directory).items() ^ whole.items()}
            outcome = {
                "fault": f"{fault} at {position}: {names[position - 1]}",
                "status": status,
                "partial": partial if fault.startswith("full") else [],
                "resumed": resumed,
                "same result": result == expected,
                "differing files": sorted(differing),
                "trained twice": [path.parent.name for path, inode in finished.items() if path.stat().st_ino != inode],
            }
            report["attempts"].append(outcome)
    (Path(folder) / "report.json").write_text(json.dumps(report, indent=1))
