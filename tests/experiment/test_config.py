"""Experiments in TOML: the meaning of keys."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.experiment.helpers import SIMULATED, write_toml

from gainwise.data import read_letor, simulate
from gainwise.experiment import Experiment, k_folds

CANDIDATE = '[[candidates]]\nname = "lgb"\nlibrary = "lightgbm"\n'


def read(folder, text, **options):
    return Experiment.from_toml(write_toml(folder, f"{text}\n{CANDIDATE}"), **options)


@pytest.fixture
def letor(tmp_path):
    """Four small LETOR files and their data."""
    parts = []
    for number in range(1, 5):
        data = simulate(8, seed=number, mean_length=6, features=4)
        lines = [
            f"{label:g} qid:{number}{query} " + " ".join(f"{i + 1}:{np.float32(value)}" for i, value in enumerate(row))
            for label, query, row in zip(data.labels, data.qid, data.features, strict=True)
        ]
        (tmp_path / f"part{number}.txt").write_text("\n".join(lines) + "\n")
        parts.append(read_letor(tmp_path / f"part{number}.txt"))
    return parts


def test_defaults(tmp_path):
    experiment = read(tmp_path, f"[data]\n{SIMULATED}")
    plan = experiment.plan
    assert plan.names == ("ndcg_linear@10", "ndcg_exp@10", "map", "mrr")
    (candidate,) = plan.candidates
    assert (candidate.num_boost_round, candidate.early_stopping_rounds, candidate.seed) == (100, 0, 0)
    assert experiment.directory == tmp_path / "experiment-run"
    expected = simulate(30, seed=1, mean_length=8).split_queries(0.6, 0.2, 0.2, seed=1)
    for name, part in zip(("train", "valid", "test"), expected, strict=True):
        np.testing.assert_array_equal(experiment._parts[name].features, part.features)


def test_every_key(tmp_path):
    path = write_toml(
        tmp_path,
        f"""
        metrics = ["mrr", "map@5", "ndcg_exp@10"]
        primary = ["map@5", "mrr"]
        directory = "runs/ä"
        seed = 4
        alpha = 0.1
        margin = 0.01
        draws = 500
        num_boost_round = 7
        early_stopping_rounds = 3
        threads = 2
        [data]
        {SIMULATED}
        [[candidates]]
        params = {{num_leaves = [3, 5], monotone_constraints = [[1, 0]], feature_fraction = 0.5}}
        name = "lgb"
        library = "lightgbm"
        training_gain = ["linear", "exponential"]
        seed = [1, 2]
        num_boost_round = 9
        [[candidates]]
        name = "xgb"
        library = "xgboost"
        threads = 1
        early_stopping_rounds = 0
        """,
    )
    experiment = Experiment.from_toml(path)
    plan = experiment.plan
    assert plan.names == ("mrr", "map@5", "ndcg_exp@10")
    assert (plan.primary, plan.seed, plan.alpha, plan.margin, plan.draws) == (("map@5", "mrr"), 4, 0.1, 0.01, 500)
    assert experiment.directory == tmp_path / "runs" / "ä"
    assert Experiment.from_toml(path, tmp_path / "here").directory == tmp_path / "here"
    assert len(plan.candidates) == 9
    lgb, xgb = plan.candidates[0], plan.candidates[-1]
    assert lgb.name == "lgb num_leaves=3 gain=linear seed=1"
    assert lgb.params["monotone_constraints"] == [1, 0]
    assert (lgb.num_boost_round, lgb.early_stopping_rounds, lgb.seed, lgb.threads) == (9, 3, 1, 2)
    assert (xgb.num_boost_round, xgb.early_stopping_rounds, xgb.seed, xgb.threads) == (7, 0, 4, 1)


class TestData:
    def test_files(self, tmp_path, letor):
        text = "[data]\ntrain = ['part1.txt', 'part2.txt']\nvalid = 'part3.txt'\ntest = ['part4.txt']\nfeatures = 4"
        parts = read(tmp_path, text)._parts
        np.testing.assert_array_equal(parts["train"].labels, np.concatenate([letor[0].labels, letor[1].labels]))
        np.testing.assert_array_equal(parts["valid"].features, letor[2].features)
        assert len(parts["test"].query_ids) == 8

    def test_files_of_lightgbm(self, tmp_path):
        for name, value in (("a", 1), ("b", 2), ("c", 3)):
            (tmp_path / name).write_text(f"1 0:0.5\n0 1:{value}\n2 0:1\n")
            (tmp_path / f"{name}.query").write_text("2\n1\n")
        text = "[data]\ntrain = 'a'\nvalid = 'b'\ntest = 'c'\nformat = 'lightgbm'\nzero_based = true"
        assert read(tmp_path, text)._parts["train"].group.tolist() == [2, 1]

    def test_folds(self, tmp_path, letor):
        names = ", ".join(f"'part{number}.txt'" for number in range(1, 5))
        folds = read(tmp_path, f"[data]\nfolds = [{names}]").plan.folds
        assert [(fold.test, fold.valid) for fold in folds] == [
            (f"fold {number}", f"fold {number % 4 + 1}") for number in range(1, 5)
        ]
        assert folds[0].train == ("fold 3", "fold 4")

    @pytest.mark.parametrize(("line", "seed"), [("", 6), ("seed = 2", 2)])
    def test_k_folds_of_files(self, tmp_path, letor, line, seed):
        parts = read(tmp_path, f"seed = 6\n[data]\nfiles = 'part1.txt'\nk_folds = 3\n{line}")._parts
        expected = k_folds(letor[0], 3, seed=seed)
        assert [fold.query_ids.tolist() for fold in parts.values()] == [fold.query_ids.tolist() for fold in expected]

    def test_k_folds_of_simulated_data(self, tmp_path):
        parts = read(tmp_path, "[data]\nsimulate = {queries = 12, seed = 1}\nk_folds = 4")._parts
        assert [len(fold.query_ids) for fold in parts.values()] == [3, 3, 3, 3]


REPEATS = """
metrics = ["ndcg_linear@5", "ndcg_exp@5", "mrr"]
num_boost_round = 5
draws = 1000
candidates = [
    {name = "one", library = "lightgbm", params = {num_leaves = 7, feature_fraction = 0.8}},
    {name = "two", library = "xgboost", params = {subsample = 0.8}},
]
"""


def test_repeats_as_keys_and_as_arguments(tmp_path):
    line = 'repeats = {finalists = 3, keep = 1, baseline = "one"}'
    path = write_toml(tmp_path, f"{REPEATS}{line}\n[data]\n{SIMULATED}")
    plan = Experiment.from_toml(path).plan
    assert plan.repeats.model_dump() == {"count": 1, "finalists": 3, "keep": 1, "baseline": "one"}
    plan = Experiment.from_toml(path, repeats=4, vary="queries").plan
    assert (plan.repeats.number, plan.repeats.finalists, plan.vary) == (4, None, "queries")


def test_all_mistakes_are_reported_at_once(tmp_path):
    with pytest.raises(ValueError, match="alpha") as caught:
        read(tmp_path, f"seed = 'a'\nalpha = 7\n[data]\n{SIMULATED}")
    assert [re.sub(r".*toml: ", "", line).split()[0] for line in str(caught.value).split("\n")] == ["seed", "alpha"]


def test_examples(tmp_path):
    """The file of the examples, and the one of the documentation, which has no data."""
    path = Path(__file__).parents[2] / "examples" / "experiment.toml"
    assert len(Experiment.from_toml(path, tmp_path).plan.candidates) == 6
    guide = (path.parents[1] / "docs" / "reference" / "experiments.md").read_text(encoding="utf-8")
    text = re.search(r"```toml\n(.*?)```", guide, re.DOTALL)[1]
    with pytest.raises(FileNotFoundError, match=r"data\.train\[0\]"):
        Experiment.from_toml(write_toml(tmp_path, text))


@pytest.mark.slow
def test_reading_a_result_needs_no_training_library(done):
    code = (
        "import sys; sys.modules['lightgbm'] = sys.modules['xgboost'] = None\n"
        "from gainwise.experiment import Experiment\n"
        "print(Experiment.load(sys.argv[1]).verdict.kind)"
    )
    command = [sys.executable, "-c", code, str(done.directory)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == done.result.verdict.kind
