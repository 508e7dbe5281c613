"""Damaged, swapped and foreign files in the directory of an experiment are detected."""

import json
import random
import shutil
import warnings

import numpy as np
import pytest
from tests.experiment.helpers import contents, facts, folder_of, predict, run

from gainwise.data import simulate
from gainwise.experiment import Candidate, Experiment, grid
from gainwise.experiment.storage import seal

pytestmark = pytest.mark.slow

FILES = {"experiment.json", "selection.json", "manifest.json", "arrays.npz", "all-rounds.txt", "all-rounds.ubj"}


def load_rest(directory, lost="lgb gain=linear"):
    """Return why a candidate cannot be loaded. The others can be, and none of them is selected in its place."""
    with pytest.raises(RuntimeError, match="is not complete") as caught:
        Experiment.load(directory)
    assert lost in str(caught.value)
    selected = json.loads((directory / "selection.json").read_text())["candidate"]
    rest = Experiment.load(directory, allow_incomplete=True)
    assert lost not in rest.candidates
    assert list(rest.failures) == list(rest.missing) == list(caught.value.failures) == [lost]
    if selected == lost:
        with pytest.raises(RuntimeError, match="No candidate is selected"):
            rest.load_model()
    else:
        assert rest.selected == selected
    return rest.missing[lost]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A small experiment as a function of its directory, its result and its directory."""
    parts = simulate(16, seed=5, mean_length=5, features=2).split_queries(0.5, 0.25, 0.25, seed=5)
    candidates = [
        Candidate("lgb", "lightgbm", {"num_leaves": 2, "min_data_in_leaf": 1}),
        Candidate("xgb", "xgboost", {"max_depth": 1}),
    ]

    def make(directory):
        return Experiment(candidates, *parts, ["ndcg_exp@5", "mrr"], directory, num_boost_round=2, draws=1000)

    directory = tmp_path_factory.mktemp("small") / "run"
    return make, run(make(directory)), directory


def damaged(content, places):
    """Yield None (missing), truncated content, and content with a flipped bit: in a sample of bytes or in each."""
    yield from (None, b"", content[: len(content) // 2], content[:-1])
    rng = random.Random(0)
    step = max(1, len(content) // places) if places else 1
    sample = [min(start + rng.randrange(step), len(content) - 1) for start in range(0, len(content), step)]
    for place in {0, *sample, len(content) - 1}:
        flipped = bytearray(content)
        flipped[place] ^= 1 << rng.randrange(8)
        yield bytes(flipped)


@pytest.mark.parametrize("places", [8, pytest.param(None, marks=pytest.mark.nightly)])
def test_every_flipped_bit_and_every_truncation_is_noticed_and_mended(small, tmp_path, places):
    make, expected, whole = small
    directory = shutil.copytree(whole, tmp_path / "copy")
    stored = [path for path in sorted(directory.rglob("*.*")) if path.name != ".lock" and path.stem != "model"]
    assert {path.name for path in stored} == FILES
    for path in stored:
        content = path.read_bytes()
        for damage in damaged(content, places):
            if damage is not None:
                path.write_bytes(damage)
            elif path.suffix != ".json":  # A directory without these is unfinished.
                path.unlink()
            else:
                continue
            if path.name == "experiment.json":
                with pytest.raises(ValueError, match=r"experiment\.json cannot be read"):
                    Experiment.load(directory)
                continue
            if path.name == "selection.json":
                with pytest.raises(RuntimeError, match="No candidate is selected"):
                    Experiment.load(directory, allow_incomplete=True).predict(None)
                continue
            (name,) = {"lgb", "xgb"} - {path.parent.name.partition("-")[0]}
            load_rest(directory, lost=path.parent.name.partition("-")[0])
            result = Experiment.load(directory, allow_incomplete=True)
            expected_curves = expected.curves[expected.curves["candidate"] == name].reset_index(drop=True)
            assert result.curves.equals(expected_curves)
        with warnings.catch_warnings(record=True, action="always") as caught:
            assert facts(run(make(directory))) == facts(expected)
        assert [path.name in str(warning.message) for warning in caught] == [True] * (path.name != "selection.json")
        assert contents(directory) == contents(whole)


def test_stored_files_are_known_and_contain_no_pickle(done):
    manifest = json.loads((folder_of(done.directory, "xgb gain=linear") / "manifest.json").read_text())
    assert set(manifest["versions"]) == {"gainwise", "numpy", "xgboost"}
    names = {path.name for path in done.directory.rglob("*") if path.is_file()}
    assert names == FILES | {".lock", "model.txt", "model.ubj"}


def test_folders_of_two_candidates_swapped(copy, make):
    first, second = (folder_of(copy, f"lgb gain={gain}") for gain in ("linear", "exponential"))
    first.rename(copy / "aside")
    second.rename(first)
    (copy / "aside").rename(second)
    for attempt in (lambda: run(make(copy)), lambda: Experiment.load(copy)):
        with pytest.raises(ValueError, match="of the same") as caught:
            attempt()
        assert "was 'lgb gain=exponential', is 'lgb gain=linear'" in str(caught.value)


def test_models_that_are_compared_are_mended(done, copy, make):
    folder = folder_of(copy, "xgb gain=linear")
    (folder / "model.ubj").write_bytes(b"spoilt")
    (folder / "model.ubj.mine").write_text("of the user")
    (folder / ".model.ubj.abc.partial").write_text("half")
    run(make(copy))
    (folder / "model.ubj.mine").unlink()  # and it is still there
    assert contents(copy) == contents(done.directory)


def reseal(path, change):
    """Change a document and update its checksum."""
    document = json.loads(path.read_text())
    del document["sha256"]
    change(document)
    path.write_bytes(seal(document))


class TestForeign:
    @pytest.mark.parametrize("name", ["experiment.json", "manifest.json"])
    def test_other_formats_are_rejected_and_left_as_they_are(self, copy, make, name):
        path = copy / name if name == "experiment.json" else folder_of(copy, "lgb gain=linear") / name
        reseal(path, lambda document: document.update(format=99))
        before = contents(copy)
        for attempt in (Experiment.load, lambda directory: run(make(directory))):
            with pytest.raises(ValueError, match="got format 99 of another version") as caught:
                attempt(copy)
            assert str(copy) in str(caught.value)
            assert "\n" not in str(caught.value)
        assert contents(copy) == before

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"metrics": ["ndcg_linear@10", "ndcg_exp@5"]}, ["metrics was", "ndcg_exp@10", "ndcg_exp@5"]),
            ({"seed": 4}, ["seed was 3, is 4", "candidate 'lgb gain=linear'.seed was 3, is 4"]),
            ({"num_boost_round": 13}, ["candidate 'lgb gain=linear'.num_boost_round was 12, is 13"]),
            ({"threads": 2}, ["candidate 'lgb gain=linear'.threads was 1, is 2"]),
            (
                {"candidates": grid("lgb", "lightgbm", {"num_leaves": 9}, training_gain=["linear", "exponential"])},
                ["candidate 'lgb gain=linear'.params.num_leaves was 7, is 9"],
            ),
            (lambda parts: {"test": parts.test.take_queries(range(20))}, ["the data of test differ"]),
            (
                lambda parts: {"train": None, "valid": None, "test": None, "folds": list(parts)},
                ["parts of the data was ['test', 'train', 'valid'], is ['fold 1', 'fold 2', 'fold 3']"],
            ),
        ],
    )
    def test_other_experiments_are_rejected_and_left_as_they_are(self, copy, make, parts, changes, words):
        before = contents(copy)
        with pytest.raises(ValueError, match="contains another experiment") as caught:
            run(make(copy, **(changes(parts) if callable(changes) else changes)))
        assert all(word in str(caught.value) for word in words)
        assert contents(copy) == before

    def test_directory_may_be_a_link(self, done, copy, make, tmp_path, trained):
        (tmp_path / "link").symlink_to(copy, target_is_directory=True)
        assert facts(run(make(tmp_path / "link"))) == facts(Experiment.load(tmp_path / "link")) == facts(done.result)
        assert trained == []

    def test_candidate_in_the_directory_but_not_in_the_plan(self, copy, make, candidates):
        """The candidate is left out, and included again with other parameters: its own manifest is different."""
        run(make(copy, candidates=candidates[1:]))
        changed = Candidate("lgb gain=linear", "lightgbm", {"num_leaves": 9}, training_gain="linear")
        with pytest.raises(ValueError, match=r"params\.num_leaves was 7"):
            run(make(copy, candidates=[changed]))

    def test_other_version_of_a_library_is_a_warning(self, copy, make, candidates, monkeypatch):
        monkeypatch.setattr("lightgbm.__version__", "99.0")
        with pytest.warns(UserWarning, match=r"this is 99\.0"):
            run(make(copy, candidates=candidates[:1]))


class TestNames:
    HOSTILE = (
        *("../../etc/passwd", "a/b\\c", "..", "x" * 300, "Ünïcödé 模型 🚀", "模型", "con", "a\nb\x00c", "  padded  "),
        *("Same", "same", "$(rm -rf /)", "-rf"),
    )

    def test_folders_of_hostile_names_are_safe_and_distinct(self, make, tmp_path):
        hostile = [
            Candidate(name, "lightgbm", {"num_leaves": leaves}, num_boost_round=1)
            for leaves, name in enumerate(self.HOSTILE, 3)
        ]
        result = run(make(tmp_path / "run", candidates=hostile))
        assert result.candidates == self.HOSTILE
        assert [path.name for path in tmp_path.iterdir()] == ["run"]
        folders = [path.name for path in (tmp_path / "run" / "candidates").iterdir()]
        assert len(folders) == len(self.HOSTILE)
        assert all(len(name) < 80 and set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for name in folders)
        assert not any(name.startswith("-") for name in folders)
        assert facts(Experiment.load(tmp_path / "run")) == facts(result)


class TestResume:
    def test_unfinished_candidates_are_failures(self, copy):
        (folder_of(copy, "lgb gain=linear") / "manifest.json").unlink()
        assert "manifest.json is missing" in load_rest(copy)
        shutil.rmtree(folder_of(copy, "lgb gain=linear"))
        assert load_rest(copy) == "lgb gain=linear: its folder is missing, although the run was completed"
        (copy / "selection.json").unlink()
        with pytest.raises(RuntimeError, match=r"lgb gain=linear \(lgb gain=linear: not trained yet\)"):
            Experiment.load(copy)
        shutil.rmtree(copy / "candidates")
        with pytest.raises(RuntimeError, match="candidate is finished: lgb gain=linear: not trained yet"):
            Experiment.load(copy)

    def test_more_and_fewer_candidates(self, done, copy, make, candidates, trained):
        more = [Candidate("new", "lightgbm", {"num_leaves": 3}), *candidates]
        assert run(make(copy, candidates=more)).candidates == tuple(candidate.name for candidate in more)
        assert trained == ["new"]
        assert run(make(copy, candidates=candidates[2:])).candidates == ("xgb gain=linear", "xgb gain=exponential")
        loaded, again = Experiment.load(copy), run(make(copy))
        assert loaded.candidates == ("xgb gain=linear", "xgb gain=exponential")
        assert facts(again) == facts(Experiment.load(copy)) == facts(done.result)
        assert (trained, loaded.directory) == (["new"], copy)

    def test_without_a_directory_models_stay_in_memory(self, done, make, parts, tmp_path, monkeypatch):
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        result = run(make())
        assert facts(result) == facts(done.result)
        assert list(tmp_path.iterdir()) == []
        pair = result.candidates[0], result.candidates[2]
        assert repr(result.comparison.attribution(*pair)) == repr(done.result.comparison.attribution(*pair))
        scores = result.comparison.rankings.scores["xgb gain=linear"]
        np.testing.assert_array_equal(predict(result.load_model("xgb gain=linear"), parts.test), scores)
