"""The directory: what is damaged or foreign is recognised, and nothing is written outside."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gainsay.experiment import Candidate, Experiment
from gainsay.experiment.candidates import grid
from gainsay.experiment.folds import Fold
from gainsay.experiment.serialization import slug
from gainsay.experiment.storage import Storage, sealed, write_atomically


def folder_of(directory, name):
    return directory / "candidates" / slug(name)


class TestResume:
    def test_nothing_is_trained_twice(self, done, copy, make, trained, facts):
        assert facts(make(copy).run(progress=False)) == facts(done.result)
        assert trained == []

    def test_load_needs_no_training_data(self, done, copy, facts):
        result = Experiment.load(copy)
        assert facts(result) == facts(done.result)
        assert result.directory == copy

    def test_load_of_an_empty_directory(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="holds no experiment"):
            Experiment.load(tmp_path)

    def test_load_of_one_that_was_interrupted(self, copy):
        (folder_of(copy, "lgb gain=linear") / "manifest.json").unlink()
        result = Experiment.load(copy)
        assert result.candidates == ("lgb gain=exponential", "xgb gain=linear", "xgb gain=exponential")
        assert "not trained yet" in result.failures["lgb gain=linear"]

    def test_load_before_anything_is_finished(self, copy):
        shutil.rmtree(copy / "candidates")
        with pytest.raises(RuntimeError, match="no candidate is finished"):
            Experiment.load(copy)

    def test_more_candidates(self, copy, make, candidates, trained):
        more = [Candidate("new", "lightgbm", {"num_leaves": 3}), *candidates]
        result = make(copy, candidates=more).run(progress=False)
        assert trained == ["new"]
        assert result.candidates == tuple(candidate.name for candidate in more)
        assert Experiment.load(copy).candidates == result.candidates

    def test_fewer_candidates_and_all_again(self, done, copy, make, candidates, trained, facts):
        assert make(copy, candidates=candidates[2:]).run(progress=False).candidates == (
            "xgb gain=linear",
            "xgb gain=exponential",
        )
        assert facts(make(copy).run(progress=False)) == facts(done.result)
        assert trained == []

    def test_another_level_needs_no_training(self, copy, make, trained):
        assert make(copy, alpha=0.1).run(progress=False).verdict.alpha == 0.1
        assert trained == []
        assert Experiment.load(copy).verdict.alpha == 0.1


class TestForeign:
    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"metrics": ["ndcg_linear@10", "ndcg_exp@5"]}, "metrics was .*ndcg_exp@10.*, is .*ndcg_exp@5"),
            ({"seed": 4}, "seed was 3, is 4.*candidate 'lgb gain=linear': seed was 3, is 4"),
            ({"num_boost_round": 13}, "candidate 'lgb gain=linear': num_boost_round was 12, is 13"),
            ({"threads": 2}, "candidate 'lgb gain=linear': threads was 1, is 2"),
            (
                {"candidates": grid("lgb", "lightgbm", {"num_leaves": 9}, training_gain=["linear", "exponential"])},
                "candidate 'lgb gain=linear': params.num_leaves was 7, is 9",
            ),
        ],
    )
    def test_is_refused_and_left_as_it_is(self, done, copy, make, changes, message):
        before = contents(copy)
        with pytest.raises(ValueError, match=message):
            make(copy, **changes).run(progress=False)
        assert contents(copy) == before

    def test_other_data(self, copy, make, parts):
        with pytest.raises(ValueError, match=r"holds another experiment: the data of test are others\. Take another"):
            make(copy, test=parts.test.take_queries(range(20))).run(progress=False)

    def test_other_division(self, copy, make, parts):
        with pytest.raises(ValueError, match="were divided into test, train, valid, now into fold 1, fold 2, fold 3"):
            make(copy, train=None, valid=None, test=None, folds=list(parts)).run(progress=False)

    def test_candidate_that_is_in_the_directory_but_not_in_the_plan(self, copy, make, candidates):
        """Left out and taken in again with other parameters: its own manifest gives it away."""
        make(copy, candidates=candidates[1:]).run(progress=False)
        changed = Candidate("lgb gain=linear", "lightgbm", {"num_leaves": 9}, training_gain="linear")
        with pytest.raises(ValueError, match=r"another candidate of the same name: candidate.params.num_leaves was 7"):
            make(copy, candidates=[changed]).run(progress=False)

    def test_other_version_is_warned_of(self, copy, make, candidates, monkeypatch):
        monkeypatch.setattr("gainsay.experiment.lightgbm_training.version", lambda: "99.0")
        with pytest.warns(UserWarning, match=r"lgb gain=linear was trained by lightgbm .*, this is 99.0"):
            make(copy, candidates=candidates[:1]).run(progress=False)


def contents(directory):
    return {
        path.relative_to(directory): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path):
    path.write_bytes(b"")


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def remove(path):
    path.unlink()


def replace_by_folder(path):
    path.unlink()
    path.mkdir()


class TestDamage:
    @pytest.mark.parametrize("name", ["all-rounds.txt", "arrays.npz", "manifest.json"])
    @pytest.mark.parametrize("damage", [cut, empty, flip, remove])
    def test_is_seen_and_mended(self, done, copy, make, trained, facts, name, damage):
        damage(folder_of(copy, "lgb gain=exponential") / name)
        if (name, damage) == ("manifest.json", remove):  # that is how an unfinished one looks
            result = make(copy).run(progress=False)
        else:
            with pytest.warns(UserWarning, match=rf"{name}.*lgb gain=exponential has to be trained again"):
                result = make(copy).run(progress=False)
        assert trained == ["lgb gain=exponential"]
        assert facts(result) == facts(done.result)

    @pytest.mark.parametrize("name", ["../../../secret", "/etc/hostname", "..", "model.txt/../../x"])
    def test_a_manifest_cannot_lead_outside(self, copy, name):
        (copy.parent / "secret").write_text("x")
        folder = folder_of(copy, "lgb gain=linear")
        resealed(folder, lambda manifest: manifest["files"].update({name: manifest["files"].pop("all-rounds.txt")}))
        with pytest.warns(UserWarning, match="all-rounds.txt is not as it was written"):
            Experiment.load(copy)

    def test_nor_can_the_name_of_a_fold(self, done):
        unit = replace(next(done.result.plan.units()), fold=Fold("../../x/", (), "valid", "test"))
        assert Storage(done.directory).folder(unit).parent == done.directory / "candidates"

    @pytest.mark.parametrize("damage", [cut, empty, flip])
    def test_experiment_json(self, done, copy, make, trained, facts, damage):
        damage(copy / "experiment.json")
        with pytest.raises(ValueError, match=r"experiment.json cannot be read"):
            Experiment.load(copy)
        with pytest.warns(UserWarning, match=r"experiment.json is written anew"):
            assert facts(make(copy).run(progress=False)) == facts(done.result)
        assert trained == []

    @pytest.mark.parametrize("number", [1, 2, 3, 99])
    def test_another_format_is_refused_and_left_as_it_is(self, copy, make, number):
        """Format 1 had every metric at a round of its own, format 2 knew of one run only."""
        document = json.loads((copy / "experiment.json").read_text())
        del document["sha256"]
        (copy / "experiment.json").write_bytes(sealed({**document, "format": number}))
        before = contents(copy)
        said = rf"copy was written by another version of gainsay \(format {number}, this one has 4\): take another"
        for way in (Experiment.load, lambda directory: make(directory).run(progress=False)):
            with pytest.raises(ValueError, match=said):
                way(copy)
        assert contents(copy) == before

    def test_another_format_of_one_candidate(self, copy, make):
        resealed(folder_of(copy, "lgb gain=linear"), lambda manifest: manifest.update(format=1))
        with pytest.raises(ValueError, match=r"another version of gainsay \(format 1, this one has 4\)"):
            make(copy).run(progress=False)

    def test_what_writes_that_never_ended_left_is_removed(self, done, copy, make):
        folder = folder_of(copy, "lgb gain=linear")
        (folder / ".model.txt.abc.partial").write_text("half")
        (folder / "manifest.json").unlink()
        make(copy).run(progress=False)
        assert sorted(path.name for path in folder.iterdir()) == [
            "all-rounds.txt",
            "arrays.npz",
            "manifest.json",
            "model.txt",
        ]


def resealed(folder, change):
    """Change a manifest as somebody would who knows how it is sealed."""
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["sha256"]
    change(manifest)
    (folder / "manifest.json").write_bytes(sealed(manifest))


class TestWriting:
    def test_no_pickle_and_nothing_else(self, done):
        assert {path.name for path in done.directory.rglob("*") if path.is_file()} == {
            ".lock",
            "experiment.json",
            "manifest.json",
            "all-rounds.txt",
            "all-rounds.ubj",
            "model.txt",
            "model.ubj",
            "arrays.npz",
        }

    def test_manifest_comes_last(self, make, tmp_path, monkeypatch):
        order = []
        original = os.replace
        monkeypatch.setattr(os, "replace", lambda a, b: (order.append(Path(b).name), original(a, b))[1])
        make(tmp_path / "run", candidates=[Candidate("a", "lightgbm")]).run(progress=False)
        written = ["all-rounds.txt", "arrays.npz", "manifest.json"]
        assert order == ["experiment.json", *written, "model.txt"]

    def test_a_failed_write_leaves_the_old_file(self, tmp_path, monkeypatch):
        write_atomically(tmp_path / "a", b"old")

        def full(descriptor):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            write_atomically(tmp_path / "a", b"new")
        assert [path.name for path in tmp_path.iterdir()] == ["a"]
        assert (tmp_path / "a").read_bytes() == b"old"

    def test_a_full_disk_ends_the_run_and_says_how_to_go_on(self, done, make, tmp_path, monkeypatch, facts):
        written = []
        original = os.fsync

        def full_after_some(descriptor):
            written.append(descriptor)
            if len(written) > 6:  # within the second candidate
                raise OSError(28, "No space left on device")
            original(descriptor)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full_after_some)
            with pytest.raises(OSError, match="No space left") as caught:
                make(tmp_path / "run").run(progress=False, jobs=1)
        assert "trainings are left" in caught.value.__notes__[0]
        assert "Run the same again" in caught.value.__notes__[0]
        assert Experiment.load(tmp_path / "run").candidates == ("lgb gain=linear",)
        assert facts(make(tmp_path / "run").run(progress=False)) == facts(done.result)

    def test_manifest_says_what_it_stems_from(self, done):
        manifest = json.loads((folder_of(done.directory, "xgb gain=linear") / "manifest.json").read_text())
        assert manifest["identity"]["candidate"]["params"] == {"max_depth": 3, "subsample": 0.8}
        assert manifest["identity"]["data"] == dict(done.result.plan.data)
        assert set(manifest["versions"]) == {"gainsay", "numpy", "xgboost"}


HOSTILE = [
    "../../etc/passwd",
    "a/b\\c",
    "..",
    "x" * 300,
    "Ünïcödé 模型 🚀",
    "模型",
    "con",
    "a\nb\x00c",
    "  padded  ",
    "Same",
    "same",
    "$(rm -rf /)",
    "-rf",
]


class TestNames:
    def test_are_safe_and_distinct(self):
        slugs = [slug(name) for name in HOSTILE]
        assert len(set(slugs)) == len(HOSTILE)
        assert all(0 < len(text) < 80 and set(text) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for text in slugs)
        assert not any(text.startswith("-") for text in slugs)

    def test_work_from_end_to_end(self, make, tmp_path, facts):
        hostile = [
            Candidate(name, "lightgbm", {"num_leaves": leaves}, num_boost_round=1)
            for leaves, name in enumerate(HOSTILE, 3)
        ]
        result = make(tmp_path / "run", candidates=hostile).run(progress=False)
        assert result.candidates == tuple(HOSTILE)
        assert [path.name for path in tmp_path.iterdir()] == ["run"]
        assert len(list((tmp_path / "run" / "candidates").iterdir())) == len(HOSTILE)
        assert facts(Experiment.load(tmp_path / "run")) == facts(result)


OUTLIVED = """
import os, signal, sys, time
from pathlib import Path
from gainsay.experiment.storage import Storage

reader, writer = os.pipe()
with Storage(Path(sys.argv[1])).lock():
    child = os.fork()
    if child == 0:
        os.close(1)  # whoever reads what the owner prints must not wait for the child
        os.write(writer, b"x")
        time.sleep(60)
    else:
        os.read(reader, 1)
        print(child, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


class TestLock:
    def test_two_runs_at_once(self, copy, make):
        with (
            Storage(copy).lock(),
            pytest.raises(RuntimeError, match="is in use by another process: wait until it has ended"),
        ):
            make(copy).run(progress=False)
        make(copy).run(progress=False)

    def test_released_after_an_error(self, tmp_path):
        with pytest.raises(KeyError), Storage(tmp_path).lock():
            raise KeyError
        with Storage(tmp_path).lock():
            pass

    @pytest.mark.posix
    def test_a_forked_child_does_not_keep_it(self, tmp_path):
        """Else a worker that outlives a killed run would lock the directory for ever."""
        owner = subprocess.run(
            [sys.executable, "-c", OUTLIVED, str(tmp_path)], stdout=subprocess.PIPE, text=True, check=False
        )
        assert owner.returncode == -signal.SIGKILL
        child = int(owner.stdout)
        try:
            with Storage(tmp_path).lock():
                os.kill(child, 0)  # it lives
        finally:
            os.kill(child, signal.SIGKILL)


class TestTemporary:
    def test_a_run_without_directory_leaves_nothing(self, done, make, tmp_path, monkeypatch, facts):
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        assert facts(make().run(progress=False)) == facts(done.result)
        assert list(tmp_path.iterdir()) == []
