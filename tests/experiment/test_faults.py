"""Faults: killed or out of disk at any step, damaged at any place, files swapped, a clock that jumps."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from gainsay.experiment import Experiment
from gainsay.experiment.serialization import slug

FAULTY = Path(__file__).with_name("faulty.py")
EVERY = 1 if os.environ.get("GAINSAY_ALL_FAULTS") else 15
"""In the suite only every so many-th step is tried; set GAINSAY_ALL_FAULTS for all of them.

A file takes seven steps: each fault meets one of these after the other, in the middle of a write too.
"""
KILLED = -getattr(signal, "SIGKILL", 9)
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
FAULTS = {"kill": {KILLED}, "full": {0, 3}, "full from then on": {0, 3}, "read-only": {0, 3}}
"""What happens at a step, and how a process may end then."""
LIMIT = 900
"""Seconds after which a process that hangs fails the test; machines that are busy take long."""


def folder_of(directory, name):
    return directory / "candidates" / slug(name)


@pytest.mark.posix
@pytest.mark.slow
class TestEveryStep:
    @pytest.mark.parametrize(
        "where", ["here", *(pytest.param(where, marks=pytest.mark.repeated) for where in ("side by side", "elsewhere"))]
    )
    def test_ends_with_the_same_result(self, tmp_path, where):
        """A fault that is survived (status 0) is one in a step that may fail, such as tidying up.

        Threads side by side may make a folder twice, and then not: the last steps are not always reached there.
        """
        command = [sys.executable, str(FAULTY), str(tmp_path), ",".join(FAULTS), where, str(EVERY)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False, env=environment)
        assert ended.returncode == 0, ended.stderr
        reports = json.loads(ended.stdout)
        assert list(reports) == list(FAULTS)
        for fault, status in FAULTS.items():
            report = reports[fault]
            assert len(report["steps"]) > 60
            assert len(report["attempts"]) >= len(report["steps"]) // EVERY
            for found in report["attempts"]:
                about = {key: found[key] for key in ("resumed", "same result", "differing files", "trained twice")}
                expected = {"resumed": 0, "same result": True, "differing files": [], "trained twice": []}
                assert about == expected, (fault, found["step"])
                assert found["reached"] or where == "side by side", (fault, found["step"])
                assert found["status"] in status or not found["reached"], (fault, found["step"], found["about"])


class TestRealDisk:
    @pytest.fixture
    def small_disk(self, tmp_path):
        """A disk of 32 KiB, which holds some of the candidates but not all."""
        folder = tmp_path / "disk"
        folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(folder)]
        try:
            mounted = subprocess.run(mount, capture_output=True, check=False)
        except FileNotFoundError:
            pytest.skip("there is no mount")
        if mounted.returncode:
            pytest.skip("a disk can be mounted by root only, outside most containers")
        yield folder
        subprocess.run(["umount", "--lazy", str(folder)], check=True)

    def test_full(self, done, make, small_disk, facts):
        with pytest.raises(OSError, match="No space left on device") as caught:
            make(small_disk / "run").run(progress=False)
        assert "left; the others are in" in caught.value.__notes__[0]
        assert not list(small_disk.rglob("*.partial"))
        remount = ["mount", "-o", "remount,size=8m", str(small_disk)]
        subprocess.run(remount, check=True)
        assert facts(make(small_disk / "run").run(progress=False)) == facts(done.result)

    def test_read_only(self, done, make, small_disk, facts):
        subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
        shutil.copytree(done.directory, small_disk / "run")
        subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
        assert facts(Experiment.load(small_disk / "run")) == facts(done.result)
        with pytest.raises(OSError, match="Read-only file system"):
            make(small_disk / "run").run(progress=False)

    @pytest.mark.posix
    @pytest.mark.skipif(ROOT, reason="root may write everywhere")
    def test_without_permission(self, make, tmp_path):  # pragma: no cover - not as root
        tmp_path.chmod(0o500)
        with pytest.raises(PermissionError):
            make(tmp_path / "run").run(progress=False)


@pytest.mark.slow
class TestFlippedBits:
    def test_any_bit_of_any_file_is_noticed(self, done, copy, facts):
        """What cannot be read is left out with a warning; what is read is as it was."""
        rng = random.Random(0)
        expected = facts(done.result)["curves"].splitlines()
        seen = set()
        of_one = [folder_of(copy, f"{library} gain=linear") for library in ("lgb", "xgb")]
        for path in sorted(path for folder in (copy, *of_one) for path in folder.glob("*.*")):
            if path.name == ".lock" or path.stem == "model":  # a run makes these from all-rounds
                continue
            whole = path.read_bytes()
            for place in [0, len(whole) - 1, *(rng.randrange(len(whole)) for _ in range(3))]:
                flipped = bytearray(whole)
                flipped[place] ^= 1 << rng.randrange(8)
                path.write_bytes(flipped)
                name = path.relative_to(copy)
                if path.name == "experiment.json":
                    with pytest.raises(ValueError, match=r"experiment\.json cannot be read"):
                        Experiment.load(copy)
                else:
                    with pytest.warns(UserWarning, match="has to be trained again") as caught:
                        result = Experiment.load(copy)
                    assert len(caught) == 1, name
                    assert path.parent.name in str(caught[0].message), name
                    assert len(result.candidates) == 3, name
                    assert set(result.curves.to_csv(float_format="%.17g", index=False).splitlines()) <= {
                        line.partition(",")[2] for line in expected
                    }
            path.write_bytes(whole)
            seen.add(path.name)
        assert seen == {
            *("experiment.json", "manifest.json", "all-rounds.txt", "all-rounds.ubj"),
            "arrays.npz",
        }
        assert facts(Experiment.load(copy)) == facts(done.result)


class TestSwapped:
    @pytest.mark.parametrize("name", ["all-rounds.txt", "arrays.npz"])
    def test_one_file_of_two_candidates(self, done, copy, make, facts, trained, name):
        one, other = (folder_of(copy, f"lgb gain={gain}") / name for gain in ("linear", "exponential"))
        contents = one.read_bytes(), other.read_bytes()
        assert contents[0] != contents[1]
        one.write_bytes(contents[1])
        other.write_bytes(contents[0])
        with pytest.warns(UserWarning, match=rf"{name} is not as it was written") as caught:
            result = make(copy).run(progress=False)
        assert len(caught) == 2
        assert trained == ["lgb gain=linear", "lgb gain=exponential"]
        assert facts(result) == facts(done.result)

    def test_two_whole_folders(self, copy, make):
        one, other = (folder_of(copy, f"lgb gain={gain}") for gain in ("linear", "exponential"))
        one.rename(copy / "aside")
        other.rename(one)
        (copy / "aside").rename(other)
        difference = r"another candidate of the same name: .*name was 'lgb gain=exponential', is 'lgb gain=linear'"
        with pytest.raises(ValueError, match=difference):
            make(copy).run(progress=False)
        with pytest.raises(ValueError, match=difference):
            Experiment.load(copy)


class TestClock:
    def test_jumps(self, done, make, tmp_path, facts, monkeypatch):
        real, calls = time.time, []

        def jumping():
            calls.append(None)
            return real() + 1e9 * (len(calls) % 3 - 1)

        monkeypatch.setattr(time, "time", jumping)
        assert facts(make(tmp_path / "run").run(progress=False)) == facts(done.result)
        assert facts(Experiment.load(tmp_path / "run")) == facts(done.result)

    def test_files_from_another_time(self, done, copy, make, facts, trained):
        for place, path in enumerate(copy.rglob("*")):
            os.utime(path, times=(4e9 * (place % 2),) * 2)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert facts(make(copy).run(progress=False)) == facts(done.result)
        assert trained == []
