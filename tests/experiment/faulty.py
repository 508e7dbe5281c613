"""Runs a small experiment with a fault at every step that touches the disk, one step after the other.

    python faulty.py FOLDER FAULT[,FAULT…] WHERE [EVERY]

A step is an event of the interpreter (a file opened for writing, renamed, removed, a folder made), an fsync, a write,
or the middle of one. FAULT is what happens there: `kill`, `full` (the disk, this once), `full from then on` or
`read-only` (likewise, until the end). WHERE the trainings run is `here` (one after the other), `side by side` (in two
threads, whose steps take turns in another order each time) or `elsewhere`, which copies the data to disk. Only every
EVERY-th step is tried, from another one on for each fault. Each attempt is a fork of this process, which itself never
trains, so that no time goes into imports. Prints one JSON document: for each fault the names of the steps, and what
each attempt found.
"""

from __future__ import annotations

import errno
import hashlib
import io
import itertools
import json
import os
import pickle
import shutil
import signal
import sys
from concurrent.futures import Executor, Future
from pathlib import Path

import filelock

from gainsay.data import simulate
from gainsay.experiment import Candidate, Experiment, storage, work
from gainsay.experiment import lightgbm_training as _lightgbm
from gainsay.experiment import xgboost_training as _xgboost
from gainsay.experiment.storage import Storage

EVENTS = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir"}
FRAMES = ("leaderboard", "curves", "best_rounds", "chosen", "choice_loss", "stopping_loss", "pairs")
ALREADY_IMPORTED = (filelock, _lightgbm, _xgboost)
RAISED = 3
"""Exit status of a run that ended with an error that a full disk explains."""


class Elsewhere(Executor):
    """Does each task at once, as another process would see it: pickled."""

    def submit(self, function, /, *arguments, **options):
        future = Future()
        function, arguments = pickle.loads(pickle.dumps((function, arguments)))
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


class Steps:
    """Counts steps in a folder, and lets the fault happen at one of them."""

    def __init__(self, folder, at, fault):
        self.folder, self.at, self.fault = str(folder), at, fault
        self.names = []
        self.count = itertools.count(1)

    def step(self, name):
        self.names.append(name)
        number = next(self.count)  # the next step may be another thread's
        here = number == self.at
        if here and self.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if here or (0 < self.at < number and self.fault in ("full from then on", "read-only")):
            if self.fault == "read-only":
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))
            if here or not name.startswith(("os.remove", "os.rmdir")):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def watch(self):
        """Count from now on."""
        opened = open
        os.fsync = lambda descriptor: self.step("fsync")
        storage.open = lambda *arguments, **options: Torn(opened(*arguments, **options), self)
        sys.addaudithook(self.hook)

    def hook(self, event, arguments):
        if event not in EVENTS or not isinstance(arguments[0], str):
            return
        path = arguments[0]
        if event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return
        if path.startswith(self.folder) or (event in ("os.remove", "os.rmdir") and not os.path.isabs(path)):
            self.step(f"{event} {Path(path).name}")


class Torn:
    """A file whose writes can end in the middle."""

    def __init__(self, file, steps):
        self.file, self.steps = file, steps

    def write(self, content):
        self.steps.step("write")
        half = len(content) // 2
        self.file.write(content[:half])
        self.file.flush()
        self.steps.step("half of a write")
        self.file.write(content[half:])

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __enter__(self):
        return self

    def __exit__(self, *about):
        self.file.close()


def experiment(directory):
    parts = simulate(40, seed=5, mean_length=8).split_queries(0.5, 0.25, 0.25, seed=5)
    candidates = [
        Candidate("first", "lightgbm", {"num_leaves": 3, "min_data_in_leaf": 2}),
        Candidate("broken", "lightgbm", {"objective": "lambdarank", "min_data_in_leaf": "x"}),
        Candidate("second", "xgboost", {"max_depth": 2}),
    ]
    return Experiment(
        candidates,
        *parts,
        metrics=["ndcg_linear@10", "ndcg_exp@10"],
        directory=directory,
        num_boost_round=3,
        draws=1000,
    )


def facts(result):
    """Return the result to the last digit."""
    found = {name: getattr(result, name).to_csv(float_format="%.17g") for name in FRAMES}
    return {**found, "verdict": result.verdict.to_dict(), "failed": list(result.failures)}


def contents(directory):
    """Return a digest of every file, of manifests without what differs from run to run."""
    found = {}
    for path in sorted(directory.rglob("*")):
        if path.name == ".lock" or path.is_dir():
            continue
        content = path.read_bytes()
        if path.name == "manifest.json":
            content = json.dumps(
                {k: v for k, v in json.loads(content).items() if k not in ("seconds", "sha256")}
            ).encode()
        if path.suffix == ".txt" and path.parent.name == "failures":
            content = content.splitlines()[-1]  # the lines above tell the way there
        found[str(path.relative_to(directory))] = hashlib.sha256(content).hexdigest()
    return found


def attempt(made, steps, where, told):
    """Run with a fault; note on the way what is finished. Returns the exit status."""
    save, train = Storage.save, work.train_candidate

    def noted_save(self, plan, unit, *rest):
        save(self, plan, unit, *rest)
        os.write(told, f"finished {unit}\n".encode())

    def noted_train(candidate, *rest):
        os.write(told, f"trained {candidate.name}\n".encode())
        return train(candidate, *rest)

    Storage.save, work.train_candidate = noted_save, noted_train
    os.fsync = lambda descriptor: None  # the system outlives what is killed here
    if steps is not None:
        steps.watch()
    try:
        executor, jobs = (Elsewhere(), None) if where == "elsewhere" else (None, 2 if where == "side by side" else 1)
        result = made.run(executor, progress=False, jobs=jobs)
    except OSError as error:
        wanted = (errno.ENOSPC, errno.EROFS)
        return (RAISED if error.errno in wanted else 1), f"{type(error).__name__}: {error}"
    return 0, facts(result) if steps is None else steps.names


def forked(made, steps, where):
    """Run in a child; return how it ended, what it returned, what it finished and what it trained."""
    reader, writer = os.pipe()
    answer = made.directory.with_name("answer.json")
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status, content = attempt(made, steps, where, writer)
            descriptor = os.open(answer, os.O_WRONLY | os.O_CREAT, 0o600)
            os.write(descriptor, json.dumps(content).encode())
        except BaseException as error:
            import traceback

            traceback.print_exception(error)
        finally:
            os._exit(status)
    os.close(writer)
    with io.FileIO(reader) as told:
        lines = told.readall().decode().splitlines()
    _, status = os.waitpid(child, 0)
    noted = {
        verb: [line.partition(" ")[2] for line in lines if line.startswith(verb)] for verb in ("finished", "trained")
    }
    content = json.loads(answer.read_text()) if answer.exists() else None
    return os.waitstatus_to_exitcode(status), content, noted


def main():
    folder, faults, where = Path(sys.argv[1]), *sys.argv[2:4]
    every = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    faults = faults.split(",")
    firsts = {fault: 1 + (place + 2) % len(faults) * every // len(faults) for place, fault in enumerate(faults)}
    found = {
        fault: tried(folder / fault.replace(" ", "-"), fault, where, first, every) for fault, first in firsts.items()
    }
    print(json.dumps(found, indent=1))


def tried(folder, fault, where, first, every):
    """Return the names of the steps, and what came of a fault at every so many-th."""
    directory = folder / "run"
    folder.mkdir(parents=True, exist_ok=True)
    made = experiment(directory)

    def fresh():
        shutil.rmtree(directory, ignore_errors=True)

    fresh()
    status, names, _ = forked(made, Steps(directory, 0, fault), where)
    assert status == 0, status
    whole = contents(directory)
    status, expected, noted = forked(made, None, "here")
    assert (status, noted["trained"]) == (0, ["broken"]), (status, noted)
    assert contents(directory) == whole
    found = []
    for at in range(first, len(names) + 1, every):
        fresh()
        status, about, before = forked(made, Steps(directory, at, fault), where)
        finished = set(before["finished"])
        ended, result, after = forked(made, None, "here")
        now = contents(directory)
        found.append(
            {
                "step": f"{at}: {names[at - 1]}",
                "status": status,
                "reached": status != 0 or len(about) >= at,
                "about": about,
                "resumed": ended,
                "same result": result == expected,
                "differing files": sorted(name for name in {*whole, *now} if whole.get(name) != now.get(name)),
                "trained twice": sorted(finished & set(after["trained"])),
            }
        )
    return {"steps": names, "attempts": found}


if __name__ == "__main__":
    main()
