"""Experiments in TOML: what they say, and what is said about wrong ones."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gainsay.data import read_letor, simulate
from gainsay.experiment import Experiment, k_folds
from gainsay.experiment.config import read_toml

SIMULATED = "simulate = {queries = 30, seed = 1, mean_length = 8, split = [0.6, 0.2, 0.2]}"
CANDIDATE = """
[[candidates]]
name = "lgb"
library = "lightgbm"
"""


@pytest.fixture
def write(tmp_path):
    """Write a TOML file and return its path."""

    def written(text, name="experiment.toml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return written


@pytest.fixture
def letor(tmp_path):
    """Four small LETOR files, and what they hold."""
    folder = tmp_path / "data"
    folder.mkdir()
    parts = []
    for number in range(1, 5):
        data = simulate(8, seed=number, mean_length=6, features=4)
        lines = [
            f"{label:g} qid:{number}{query} " + " ".join(f"{i + 1}:{np.float32(value)}" for i, value in enumerate(row))
            for label, query, row in zip(data.labels, data.qid, data.features, strict=True)
        ]
        (folder / f"part{number}.txt").write_text("\n".join(lines) + "\n")
        parts.append(read_letor(folder / f"part{number}.txt"))
    return parts


class TestWhatItSays:
    def test_the_least(self, write):
        path = write(f"[data]\n{SIMULATED}\n{CANDIDATE}")
        plan = Experiment.from_toml(path).plan
        assert plan.names == ("ndcg_linear@10", "ndcg_exp@10", "ndcg_jk@10", "map", "mrr")
        (candidate,) = plan.candidates
        assert (candidate.num_boost_round, candidate.early_stopping_rounds, candidate.seed) == (100, 0, 0)
        assert Experiment.from_toml(path).directory == path.parent / "experiment-run"

    def test_everything(self, write):
        path = write(f"""
            metrics = ["mrr", "map@5", "ndcg_exp@10"]
            primary = ["map@5", "mrr"]
            directory = "runs/ä"
            seed = 4
            alpha = 0.1
            rope = 0.01
            draws = 500
            num_boost_round = 7
            early_stopping_rounds = 3
            threads = 2
            [data]
            {SIMULATED}
            [[candidates]]
            name = "lgb"
            library = "lightgbm"
            training_gain = ["linear", "exponential"]
            params = {{num_leaves = [3, 5], monotone_constraints = [[1, 0]], feature_fraction = 0.5}}
            seed = [1, 2]
            num_boost_round = 9
            [[candidates]]
            name = "xgb"
            library = "xgboost"
            threads = 1
            early_stopping_rounds = 0
        """)
        experiment = Experiment.from_toml(path)
        plan = experiment.plan
        assert plan.names == ("mrr", "map@5", "ndcg_exp@10")
        assert (plan.primary, plan.seed, plan.alpha, plan.rope, plan.draws) == (("map@5", "mrr"), 4, 0.1, 0.01, 500)
        assert experiment.directory == path.parent / "runs" / "ä"
        assert len(plan.candidates) == 9
        lgb, xgb = plan.candidates[0], plan.candidates[-1]
        assert lgb.name == "lgb num_leaves=3 gain=linear seed=1"
        assert lgb.params["monotone_constraints"] == [1, 0]
        assert (lgb.num_boost_round, lgb.early_stopping_rounds, lgb.seed, lgb.threads) == (9, 3, 1, 2)
        assert (xgb.num_boost_round, xgb.early_stopping_rounds, xgb.seed, xgb.threads) == (7, 0, 4, 1)

    def test_directory_of_the_caller(self, write, tmp_path):
        path = write(f'directory = "there"\n[data]\n{SIMULATED}\n{CANDIDATE}')
        assert Experiment.from_toml(path, tmp_path / "here").directory == tmp_path / "here"

    def test_simulated_split(self, write):
        found = read_toml(write(f"[data]\n{SIMULATED}\n{CANDIDATE}"))
        expected = simulate(30, seed=1, mean_length=8).split_queries(0.6, 0.2, 0.2, seed=1)
        for name, part in zip(("train", "valid", "test"), expected, strict=True):
            np.testing.assert_array_equal(found[name].features, part.features)

    def test_files(self, write, letor):
        found = read_toml(
            write(f"""[data]
            train = ["data/part1.txt", "data/part2.txt"]
            valid = "data/part3.txt"
            test = ["data/part4.txt"]
            features = 4
            {CANDIDATE}""")
        )
        np.testing.assert_array_equal(found["train"].labels, np.concatenate([letor[0].labels, letor[1].labels]))
        np.testing.assert_array_equal(found["valid"].features, letor[2].features)
        assert len(found["test"].query_ids) == 8

    def test_files_of_lightgbm(self, write, tmp_path):
        for name in ("a", "b", "c"):
            (tmp_path / name).write_text("1 0:0.5\n0 1:2\n2 0:1\n")
            (tmp_path / f"{name}.query").write_text("2\n1\n")
        found = read_toml(
            write(f'[data]\ntrain = "a"\nvalid = "b"\ntest = "c"\nformat = "lightgbm"\nzero_based = true\n{CANDIDATE}')
        )
        assert found["train"].group.tolist() == [2, 1]

    def test_folds(self, write, letor):
        names = ", ".join(f'"data/part{number}.txt"' for number in range(1, 5))
        experiment = Experiment.from_toml(write(f"[data]\nfolds = [{names}]\n{CANDIDATE}"))
        assert [(fold.test, fold.valid) for fold in experiment.plan.folds] == [
            ("fold 1", "fold 2"),
            ("fold 2", "fold 3"),
            ("fold 3", "fold 4"),
            ("fold 4", "fold 1"),
        ]
        assert experiment.plan.folds[0].train == ("fold 3", "fold 4")

    @pytest.mark.parametrize(("line", "seed"), [("", 6), ("seed = 2", 2)])
    def test_k_folds_of_files(self, write, letor, line, seed):
        found = read_toml(write(f'seed = 6\n[data]\nfiles = "data/part1.txt"\nk_folds = 3\n{line}\n{CANDIDATE}'))
        expected = k_folds(letor[0], 3, seed=seed)
        assert [fold.query_ids.tolist() for fold in found["folds"]] == [fold.query_ids.tolist() for fold in expected]

    def test_k_folds_of_simulated_data(self, write):
        found = read_toml(write(f"[data]\nsimulate = {{queries = 12, seed = 1}}\nk_folds = 4\n{CANDIDATE}"))
        assert [len(fold.query_ids) for fold in found["folds"]] == [3, 3, 3, 3]


def data(text):
    return f"[data]\n{text}\n{CANDIDATE}"


def candidate(text):
    return f"[data]\n{SIMULATED}\n{CANDIDATE}[[candidates]]\nname = 'x'\nlibrary = 'lightgbm'\n{text}"


def top(text):
    return f"{text}\n[data]\n{SIMULATED}\n{CANDIDATE}"


WRONG = [
    (top("metrcs = ['mrr']"), "metrcs is not a known key; did you mean 'metrics'? (known: metrics, primary, "),
    (top("seed = '1'"), "seed must be a valid integer, got '1'"),
    (top("seed = -1"), "seed must be greater than or equal to 0, got -1"),
    (top("seed = true"), "seed must be a valid integer, got True"),
    (top("alpha = 0.5"), "alpha must be less than 0.5, got 0.5"),
    (top("rope = -0.1"), "rope must be greater than or equal to 0, got -0.1"),
    (top("num_boost_round = 0"), "num_boost_round must be greater than or equal to 1, got 0"),
    (top("metrics = ['ndgc_exp@10']"), "metrics: unknown metric 'ndgc_exp' in 'ndgc_exp@10'; did you mean 'ndcg_exp'"),
    (top("metrics = ['ndcg@10']"), "metrics: 'ndcg@10' does not say which NDCG"),
    (top("metrics = []"), "metrics needs 1 entry or more, got []"),
    (top("primary = ['mrr']"), "primary needs 2 entries or more, got ['mrr']"),
    ("x = [", "not TOML: "),
    (CANDIDATE, "data is missing"),
    (f"[data]\n{SIMULATED}", "candidates is missing"),
    (f"candidates = []\n[data]\n{SIMULATED}", "candidates needs 1 entry or more, got []"),
    (f"[data]\n{SIMULATED}\n[candidates]\nname = 'x'", "candidates must be a valid list, got {'name': 'x'}"),
    (data(""), "data: give one of train (with valid and test), folds, files, simulate; there is none of them"),
    (data(f"{SIMULATED}\nfolds = ['a', 'b', 'c']"), "there is folds and simulate"),
    (data("train = 'a'\nvalid = 'b'"), "data: test missing: train, valid and test go together"),
    (data("train = 'a'\nvalid = 'b'\ntest = 'c'"), "data.train[0]: there is no file "),
    (data("train = []\nvalid = 'b'\ntest = 'c'"), "data.train needs 1 entry or more, got []"),
    (data("folds = ['a', 'b']"), "data.folds needs 3 entries or more, got ['a', 'b']"),
    (data("folds = ['a', 'b', 3]"), "data.folds[2] must be a valid string, got 3"),
    (data("folds = ['a', 'b', 'c']\nk_folds = 3"), "data: k_folds divides files or simulate, not folds"),
    (data("files = 'a'"), "data: k_folds missing"),
    (data("files = 'a'\nk_folds = 2"), "data.k_folds must be greater than or equal to 3, got 2"),
    (
        data("format = 'lettor'\nfolds = ['a', 'b', 'c']"),
        "data.format must be 'letor' or 'lightgbm', got 'lettor'; did",
    ),
    (data(f"{SIMULATED}\nfeatures = 3"), "data: features describes files, and there are none beside simulate"),
    (data(f"{SIMULATED}\nseed = 3"), "data: seed divides queries into k_folds"),
    (data("simulate = {queries = 30, seed = 1}"), "data: simulate needs either split"),
    (data("simulate = {queries = 30, split = [0.6, 0.2, 0.2]}"), "data.simulate.seed is missing"),
    (
        data("simulate = {queries = 30, seed = 1, split = [0.2, 0.2, 0.3, 0.3]}"),
        "data.simulate.split needs 3 entries or",
    ),
    (data("simulate = {queries = 30, seed = 1, split = [0.6, 0.2, 0.3]}"), "data.simulate: fractions must be"),
    (
        data("simulate = {queries = 30, seed = 1, splits = [1]}"),
        "data.simulate.splits is not a known key; did you mean",
    ),
    (data("simulate = {queries = 3, seed = 1}\nk_folds = 5"), "data.k_folds: 3 queries cannot be divided into 5"),
    (
        candidate("training_gain = 'exp'"),
        "candidates[1].training_gain must be 'linear' or 'exponential' or a base of at least 1 such as 1.5, got 'exp'",
    ),
    (candidate("training_gain = ['linear', 'lin']"), "candidates[1].training_gain must be 'linear' or 'exponential'"),
    (candidate("training_gain = 0.5"), "candidates[1].training_gain must be at least 1, got 0.5"),
    (candidate("train_gain = 'linear'"), "candidates[1].train_gain is not a known key; did you mean 'training_gain'?"),
    (candidate("params = {num_leavs = 3}"), "candidates[1].params.num_leavs is not a parameter of LightGBM; did you"),
    (candidate("params = {seed = 3}"), "candidates[1].params.seed has no place among the parameters"),
    (candidate("params = {max_bin = []}"), "candidates[1].params.max_bin lists no value"),
    (candidate("params = {max_bin = 2020-01-01}"), "candidates[1].params.max_bin must be a number, a string"),
    (candidate("params = 3"), "candidates[1].params must be a valid dictionary, got 3"),
    (candidate("num_boost_round = 1.5"), "candidates[1].num_boost_round must be a valid integer, got 1.5"),
    (candidate("seed = 'a'"), "candidates[1].seed must be a whole number of at least 0, got 'a'"),
    (
        candidate("[[candidates]]\nname = 'y'\nlibrary = 'lightgmb'"),
        "candidates[2].library must be 'lightgbm' or 'xgboost', got 'lightgmb'; did you mean 'lightgbm'?",
    ),
    (candidate("[[candidates]]\nname = 'y'"), "candidates[2].library is missing"),
    (candidate("[[candidates]]\nname = 'x'\nlibrary = 'xgboost'"), "candidates[2].name: 'x' is also the name of candi"),
    (candidate("[[candidates]]\nname = ''\nlibrary = 'xgboost'"), "candidates[2].name is blank: ''"),
]


class TestWhatIsSaidOfWrongOnes:
    @pytest.mark.parametrize(("text", "message"), WRONG, ids=[message[:40] for _, message in WRONG])
    def test_key_and_value(self, write, text, message):
        path = write(text)
        with pytest.raises((ValueError, FileNotFoundError), match=re.escape(message)) as caught:
            Experiment.from_toml(path)
        assert str(caught.value).startswith(f"{path}: ")

    def test_all_mistakes_at_once(self, write):
        path = write(f"seed = 'a'\nalpha = 7\n[data]\n{SIMULATED}\n{CANDIDATE}")
        with pytest.raises(ValueError, match=r"seed must be a valid integer.*\n.*alpha must be less than"):
            Experiment.from_toml(path)

    def test_not_utf_8(self, tmp_path):
        (tmp_path / "a.toml").write_bytes(b"name = '\xff'")
        with pytest.raises(ValueError, match=r"a.toml: not TOML: "):
            Experiment.from_toml(tmp_path / "a.toml")

    def test_no_file(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            Experiment.from_toml(tmp_path / "none.toml")


class TestEndToEnd:
    def test_run_and_resume(self, write, facts):
        path = write(f"""
            metrics = ["ndcg_linear@5", "ndcg_exp@5"]
            num_boost_round = 3
            [data]
            {SIMULATED}
            {CANDIDATE}
            [[candidates]]
            name = "xgb"
            library = "xgboost"
        """)
        first = Experiment.from_toml(path).run(progress=False)
        assert facts(Experiment.from_toml(path).run(progress=False)) == facts(first)
        assert facts(Experiment.load(path.parent / "experiment-run")) == facts(first)

    def test_example(self, tmp_path):
        path = Path(__file__).parents[2] / "examples" / "experiment.toml"
        assert len(Experiment.from_toml(path, tmp_path).plan.candidates) == 6

    def test_documented_example(self, write):
        """The file in the documentation is read, as far as it names files that are not here."""
        from gainsay.experiment import config

        text = re.search(r"A small one::\n\n(.*?)\n\nFurther", config.__doc__, re.DOTALL)[1]
        with pytest.raises(FileNotFoundError, match=r"data.train\[0\]: there is no file .*train.txt.gz"):
            Experiment.from_toml(write(text))


def test_reading_a_result_needs_no_training_library(done):
    code = (
        "import sys; sys.modules['lightgbm'] = sys.modules['xgboost'] = sys.modules['pydantic'] = None\n"
        "from gainsay.experiment import Experiment\n"
        "print(Experiment.load(sys.argv[1]).verdict.kind)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, str(done.directory)], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == done.result.verdict.kind
