"""Candidates trained several times: recipes, finalists, resampled queries, and which run to ship."""

from __future__ import annotations

import json
import signal
import warnings

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from typer.testing import CliRunner

import gainsay as gs
from gainsay.cli import app
from gainsay.data import RankingData
from gainsay.experiment import Candidate, Experiment, k_folds, work
from gainsay.experiment.runs import resample, seed_of
from gainsay.experiment.storage import Storage

RANDOM = {"num_leaves": 7, "feature_fraction": 0.6}
A = Candidate("A", "lightgbm", RANDOM, "linear")
B = Candidate("B", "xgboost", {"max_depth": 3, "subsample": 0.7}, "exponential")
FIXED = Candidate("F", "lightgbm", {"num_leaves": 7})
RUNS = (1, 2, 3)


@pytest.fixture(scope="module")
def repeated(make, tmp_path_factory):
    """Two candidates, three runs each; not to be changed."""
    directory = tmp_path_factory.mktemp("runs") / "run"
    return make(directory, candidates=[A, B], runs=3).run(progress=False), directory


@pytest.fixture(scope="module")
def resampled(make, tmp_path_factory):
    """The same on resampled queries."""
    directory = tmp_path_factory.mktemp("samples") / "run"
    return make(directory, candidates=[A, B], runs=3, vary="queries").run(progress=False), directory


def predicted(model, features):
    return model.predict(features) if isinstance(model, lgb.Booster) else model.predict(xgb.DMatrix(features))


class TestSeeds:
    def test_differ_by_run_and_candidate_and_not_by_how_many_runs_there_are(self):
        first, second = (Candidate(name, "lightgbm", seed=5) for name in "ab")
        assert seed_of(first, 0) == 5
        assert len({seed_of(one, run) for one in (first, second) for run in range(1, 100)}) == 198

    def test_a_run_is_the_training_with_its_seed(self, repeated, make, tmp_path):
        """An experiment of one run whose candidates have the seeds of run 2 trains the same models."""
        result, directory = repeated
        plan = result.plan
        seeded = [
            Candidate(it.name, it.library, it.params, it.training_gain, seed=seed_of(it, 2)) for it in plan.candidates
        ]
        make(tmp_path / "run", candidates=seeded).run(progress=False)
        for candidate in plan.candidates:
            (unit,) = [unit for unit in plan.compared_units(candidate) if unit.run == 2]
            kept = Storage(directory).folder(unit)
            (plain,) = (tmp_path / "run").glob(f"candidates/{candidate.name.lower()}-*")
            for path in plain.glob("*.npz"):
                assert (kept / path.name).read_bytes() == path.read_bytes()
            models = [next(folder.glob("all-rounds.*")).read_bytes() for folder in (kept, plain)]
            assert models[0] == models[1]

    def test_models_differ(self, repeated):
        result, _ = repeated
        for name in "AB":
            assert result.run_values.loc[name]["test mrr"].nunique() == 3


class TestComparison:
    def test_values_are_means_over_runs_each_at_its_own_round(self, repeated, parts, metrics, balanced):
        result, _ = repeated
        for column, name in enumerate(result.comparison.models):
            values = []
            for run in RUNS:
                curves = result.curves.query("candidate == @name and run == @run")
                number = balanced(curves, name)
                assert result.compared.loc[name, "rounds"][run - 1] == number
                assert set(curves.query("compared")["round"]) == {number}
                scores = predicted(result.load_model(name, run=run), parts.test.features)
                values.append(gs.evaluate(metrics, parts.test.judgments(), scores))
                row = result.run_values.loc[(name, run)]
                assert [row[f"test {metric}"] for metric in metrics] == pytest.approx(list(values[-1].mean.values()))
            for place, metric in enumerate(metrics):
                expected = np.mean([value.per_query[:, place] for value in values], axis=0)
                np.testing.assert_allclose(result.comparison.values[metric][:, column], expected, rtol=1e-14)

    def test_speaks_of_recipes(self, repeated):
        result, _ = repeated
        assert result.verdict.runs == {"A": 3, "B": 3}
        assert "The models are recipes, trained 3 times each" in result.summary()
        assert result.verdict.vary == "seed"
        assert "Each run of a candidate is compared at one round" in result.summary()

    def test_means_and_errors_are_those_of_the_function(self, repeated, metrics):
        result, _ = repeated
        of_runs, _ = result._compared_values()
        first, second = ([of_runs[name][metric] for name in "AB"] for metric in metrics[:2])
        found = gs.Verdict.from_values(
            first, second, ["A", "B"], draws=1000, seed=3, metric_names=metrics[:2], vary="seed"
        )
        assert found.kind == result.verdict.kind
        assert found.price_lower == result.verdict.price_lower

    def test_best_rounds_and_losses(self, repeated, metrics):
        result, _ = repeated
        assert result.best_rounds.index.names == ["candidate", "run"]
        assert len(result.best_rounds) == 6
        row = result.chosen.loc[metrics[0]]
        valid = result.curves.query("metric == @metrics[0]").groupby(["candidate", "run"])["value"].max()
        assert row["valid"] == pytest.approx(valid.groupby("candidate").mean().max())

    def test_differences_are_taken_apart_in_the_mean_over_runs(self, repeated, metrics):
        result, _ = repeated
        found = result.comparison.attribution("A", "B")
        means = result.comparison.leaderboard[metrics[1]]
        assert found.difference[metrics[1]] == pytest.approx(means["A"] - means["B"], abs=1e-12)
        assert found.spread[metrics[1]] > 0

    def test_pictures_reports_and_the_rest_of_the_result(self, repeated, tmp_path):
        result, _ = repeated
        assert result.comparison.to_html(tmp_path / "report.html").stat().st_size > 10_000
        assert json.loads(result.comparison.to_json())["models"] == ["A", "B"]


class TestFolders:
    def test_one_for_each_run(self, repeated):
        _, directory = repeated
        names = sorted(path.name.partition(".")[2] for path in directory.glob("candidates/*"))
        assert names == ["run-1", "run-1", "run-2", "run-2", "run-3", "run-3"]

    def test_more_runs_train_the_new_ones_only(self, repeated, make, tmp_path, trained, facts):
        result, directory = repeated
        more = make(directory, candidates=[A, B], runs=4).run(progress=False)
        assert sorted(trained) == ["A (run 4)", "B (run 4)"]
        assert more.verdict.runs == {"A": 4, "B": 4}
        trained.clear()
        again = make(directory, candidates=[A, B], runs=3).run(progress=False)
        assert trained == []
        assert facts(again) == facts(result) == facts(Experiment.load(directory))

    def test_one_run_stands_beside_them(self, repeated, make, trained):
        _, directory = repeated
        single = make(directory, candidates=[A, B]).run(progress=False)
        assert sorted(trained) == ["A", "B"]
        assert single.verdict.runs == {}
        make(directory, candidates=[A, B], runs=3).run(progress=False)  # as it was

    def test_without_a_directory(self, repeated, make, facts):
        assert facts(make(candidates=[A, B], runs=3).run(progress=False)) == facts(repeated[0])


class TestFailures:
    def test_of_one_run_take_the_candidate_out(self, make, monkeypatch):
        original = work.train_candidate

        def failing(candidate, unit, *rest):
            if (unit.candidate.name, unit.run) == ("A", 2):
                raise ArithmeticError("as if it diverged")
            return original(candidate, unit, *rest)

        monkeypatch.setattr(work, "train_candidate", failing)
        result = make(candidates=[A, B], runs=3).run(progress=False)
        assert result.candidates == ("B",)
        assert result.failures["A"].startswith("A (run 2): Traceback")
        assert result.failures["A"].rstrip().endswith("as if it diverged")


class TestWhichToShip:
    def test_several_and_none_is_named(self, repeated, metrics):
        result, _ = repeated
        best = result.run_values.loc["A"][f"valid {metrics[0]}"].idxmax()
        with pytest.raises(ValueError, match=rf"'A' was trained 3 times: .* without a look at test: .*run={best}, the"):
            result.load_model("A")

    @pytest.mark.parametrize("run", [0, 4, -1, "best", "full", 1.5])
    def test_no_such_run(self, repeated, run):
        with pytest.raises((ValueError, TypeError), match="run must be"):
            repeated[0].load_model("A", run=run)

    def test_other_rounds_of_a_run(self, repeated, parts):
        result, directory = repeated
        (unit,) = [unit for unit in result.plan.compared_units(result.plan.candidates[0]) if unit.run == 2]
        whole = lgb.Booster(model_file=next(Storage(directory).folder(unit).glob("all-rounds.txt")))
        scores = predicted(result.load_model("A", 3, run=2), parts.test.features)
        np.testing.assert_array_equal(scores, whole.predict(parts.test.features, num_iteration=3))

    def test_the_one_on_all_queries(self, repeated, resampled, parts):
        """It is run 1 of the same experiment with other seeds only."""
        result, _ = resampled
        with pytest.raises(ValueError, match="or run='full', trained on all training queries but not compared"):
            result.load_model("A")
        model = result.load_model("A", run="full")
        plain, _ = repeated
        scores = predicted(model, parts.test.features)
        mean = gs.evaluate("mrr", parts.test.judgments(), scores).mean["mrr"]
        assert mean == pytest.approx(plain.run_values.loc[("A", 1), "test mrr"], rel=1e-12)
        found = result.shift.set_index(["candidate", "metric"]).loc[("A", "mrr")]
        assert found["full"] == pytest.approx(mean, rel=1e-12)
        assert found["resampled"] == pytest.approx(result.run_values.loc["A"]["test mrr"].mean(), rel=1e-12)
        assert found["shift"] == found["full"] - found["resampled"]


class TestResampledQueries:
    def test_whole_queries_with_labels_and_weights(self, parts):
        weight = np.random.default_rng(1).uniform(1, 2, len(parts.train.query_ids))
        data = RankingData(parts.train.features, parts.train.labels, qid=parts.train.qid, weight=weight)
        drawn = resample(data, seed=9)
        assert len(drawn.query_ids) == len(data.query_ids)
        codes = np.sort(np.random.default_rng(9).integers(50, size=50))  # with replacement
        for place, code in enumerate(codes):
            rows, own = drawn.qid == place, data.qid == code
            np.testing.assert_array_equal(drawn.features[rows], data.features[own])
            np.testing.assert_array_equal(drawn.labels[rows], data.labels[own])
            assert drawn.weight[place] == weight[code]

    def test_models_are_trained_on_them(self, resampled, parts, make, tmp_path):
        result, directory = resampled
        for candidate in result.plan.candidates:
            (unit,) = [unit for unit in result.plan.compared_units(candidate) if unit.run == 3]
            seed = seed_of(candidate, 3)
            seeded = Candidate(candidate.name, candidate.library, candidate.params, candidate.training_gain, seed=seed)
            where = tmp_path / candidate.name
            make(where, candidates=[seeded], train=resample(parts.train, seed)).run(progress=False)
            (plain,) = where.glob("candidates/*")
            kept = Storage(directory).folder(unit)
            assert next(kept.glob("all-rounds.*")).read_bytes() == next(plain.glob("all-rounds.*")).read_bytes()

    def test_text_speaks_of_them_and_of_the_shift(self, resampled, metrics):
        result, _ = resampled
        shift = result.shift.query("metric == @metrics[1]")["shift"].mean()
        assert "trained 3 times each on resampled training queries" in result.verdict.text
        (note,) = result.comparison.notes
        assert f"{metrics[1]} by {shift:+.4f}, from" in note


class TestFinalists:
    MANY = (A, B, Candidate("C", "lightgbm", {"num_leaves": 3, "feature_fraction": 0.3}),
            Candidate("D", "lightgbm", {"num_leaves": 2, "feature_fraction": 0.2}))  # fmt: skip

    def test_are_chosen_on_valid_and_trained_anew(self, make, metrics, trained, balanced, tmp_path):
        once = make(candidates=self.MANY).run(progress=False)
        best = set()
        for metric in metrics[:2]:
            rows = once.curves[once.curves["compared"] & (once.curves["metric"] == metric)]
            valid = rows.set_index("candidate")["value"].to_dict()
            best.add(max(valid, key=valid.__getitem__))
        trained.clear()
        directory = tmp_path / "run"
        result = make(directory, candidates=self.MANY, runs={"finalists": 3, "keep": 1, "baseline": "D"}).run(
            progress=False
        )
        assert set(result.candidates) == best | {"D"} < set("ABCD")
        assert sorted(trained) == sorted(
            ["A", "B", "C", "D", *(f"{it} (run {run})" for it in best | {"D"} for run in RUNS)]
        )
        assert result.finalists["finalist"].to_dict() == {name: name in best | {"D"} for name in "ABCD"}
        assert all(value.shape[1] == 3 for value in result._compared_values()[0]["D"].values())  # the first not counted
        assert "beside the baseline D" in result.summary()
        left = (set("ABCD") - best - {"D"}).pop()
        with pytest.raises(KeyError, match=rf"'{left}' was trained once to choose finalists and is none"):
            result.load_model(left, run=1)
        trained.clear()
        assert make(directory, candidates=self.MANY, runs=3).run(progress=False).candidates == ("A", "B", "C", "D")
        assert len(trained) == 3 * (4 - len(result.candidates))

    def test_whatever_test_holds(self, make, parts):
        runs = {"finalists": 3, "keep": 1}
        turned = RankingData(parts.test.features, parts.test.labels[::-1], qid=parts.test.qid)
        chosen = [
            make(candidates=self.MANY, runs=runs, test=test).run(progress=False).candidates
            for test in (parts.test, turned)
        ]
        assert chosen[0] == chosen[1]

    def test_on_resampled_queries(self, make, trained):
        """The training that tells the shift is a new one too, for the first was chosen for its luck."""
        runs = {"finalists": 3, "keep": 1}
        experiment = make(candidates=[A, B], runs=runs, vary="queries")
        assert "2 candidates, 3 runs" in repr(experiment)
        result = experiment.run(progress=False)
        for name in result.candidates:
            again = [f"{name} (run 1)", *(f"{name} (run {run} on resampled queries)" for run in RUNS)]
            assert sorted(it for it in trained if it.startswith(name)) == sorted([name, *again])
        assert set(result.shift["candidate"]) == set(result.candidates)

    def test_with_folds(self, make, parts):
        with pytest.raises(ValueError, match=r"with folds the queries that would choose the finalists are the ones"):
            make(train=None, valid=None, test=None, folds=list(parts), runs={"finalists": 3})


class TestFolds:
    def test_and_runs(self, make, parts, metrics, tmp_path):
        """Run r of a recipe is as many trainings as there are folds; each query has the value of its own fold."""
        folds = k_folds(RankingData.concatenate(parts), 3, seed=2)
        given = {"train": None, "valid": None, "test": None, "folds": folds, "candidates": [A], "num_boost_round": 5}
        result = make(tmp_path / "run", **given, runs=3).run(progress=False)
        values = result._compared_values()[0]["A"]["mrr"]
        for run in RUNS:
            each = []
            for number, fold in enumerate(folds, 1):
                scores = predicted(result.load_model("A", run=run, fold=f"fold {number}"), fold.features)
                each.append(gs.evaluate("mrr", fold.judgments(), scores).per_query[:, 0])
            np.testing.assert_array_equal(values[:, run - 1], np.concatenate(each))
        assert result.best_rounds.index.names == ["candidate", "run", "fold"]
        assert "the average of 3 models in each run, trained on overlapping queries" in result.summary()
        with pytest.raises(KeyError, match=r"fold 1, run 1"):
            result.load_model("A", run=1)


class TestSeedsWithoutEffect:
    def test_are_said_and_not_trained(self, make, trained):
        with pytest.warns(UserWarning, match=r"another seed changes nothing in 'F'.* trained once, .*vary='queries'"):
            experiment = make(candidates=[A, FIXED], runs=3)
        result = experiment.run(progress=False)
        assert sorted(trained) == ["A (run 1)", "A (run 2)", "A (run 3)", "F"]
        assert result.verdict.runs == {"A": 3, "F": 0}
        assert "Another seed changes nothing in F, trained once and compared as a fixed model" in result.summary()
        assert result.load_model

    def test_of_all(self, make):
        with pytest.raises(ValueError, match=r"runs=3 would train the same models 3 times, .*feature_fraction"):
            make(candidates=[FIXED], runs=3)

    def test_matter_to_resampled_queries(self, make):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            experiment = make(candidates=[FIXED], runs=3, vary="queries")
        assert len(list(experiment.plan.units())) == 4


class TestRefused:
    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"runs": 2}, r"runs must be 1, or from 3 to 1000, got 2: from fewer than three trainings nobody can tell"),
            ({"runs": 0}, r"runs must be"),
            ({"runs": 2.5}, r"runs must be"),
            ({"runs": "5"}, r"runs must be"),
            ({"runs": {"finalists": 1}}, r"runs\['finalists'\] must be at least 3, got 1"),
            ({"runs": {"finalists": 2}}, r"runs\['finalists'\] must be 1, or from 3"),
            ({"runs": {"finalist": 5}}, r"runs has the key 'finalist'.*did you mean 'finalists'"),
            ({"runs": {"keep": 5}}, r"runs says nothing of finalists"),
            ({"runs": {"finalists": 5, "keep": 0}}, r"runs\['keep'\] must be"),
            (
                {"runs": {"finalists": 5, "baseline": "Z"}},
                r"runs\['baseline'\] names 'Z', which is no candidate \(known: ",
            ),
            ({"runs": 3, "vary": "data"}, r"vary must be 'seed' or 'queries', got 'data'"),
            ({"vary": "queries"}, r"vary='queries' needs several runs: give runs=5, say"),
        ],
    )
    def test_arguments(self, make, changes, said):
        with pytest.raises((ValueError, TypeError), match=said):
            make(candidates=[A, B], **changes)


TOML = """
metrics = ["ndcg_linear@10", "ndcg_exp@10"]
num_boost_round = 5
draws = 1000
runs = {finalists = 3, keep = 1, baseline = "one"}
[data]
simulate = {queries = 60, mean_length = 10, seed = 5, split = [0.5, 0.25, 0.25]}
[[candidates]]
name = "one"
library = "lightgbm"
params = {num_leaves = 7, feature_fraction = 0.8}
[[candidates]]
name = "two"
library = "xgboost"
params = {subsample = 0.8}
"""


class TestToml:
    @pytest.fixture
    def file(self, tmp_path):
        path = tmp_path / "experiment.toml"
        path.write_text(TOML)
        return path

    def test_finalists(self, file):
        runs = Experiment.from_toml(file).plan.runs
        assert (runs.count, runs.finalists, runs.keep, runs.baseline, runs.vary) == (3, True, 1, "one", "seed")

    def test_arguments_go_before_the_file(self, file):
        runs = Experiment.from_toml(file, runs=4, vary="queries").plan.runs
        assert (runs.count, runs.finalists, runs.vary) == (4, False, "queries")

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("runs = 2", r"experiment.toml: runs must be 1, or from 3"),
            ('runs = {finalists = 3, baseline = "x"}', r"runs\['baseline'\] names 'x', which is no candidate"),
            ('runs = 3\nvary = "all"', r"vary must be 'seed' or 'queries', got 'all'"),
            ("runs = true", r"runs must be"),
        ],
    )
    def test_mistakes(self, file, line, said):
        file.write_text(TOML.replace('runs = {finalists = 3, keep = 1, baseline = "one"}', line))
        with pytest.raises((ValueError, TypeError), match=said):
            Experiment.from_toml(file)

    def test_command_line(self, file):
        command = ["run", str(file), "--vary", "queries", "--json", "--runs"]
        done = CliRunner().invoke(app, [*command, "3"])
        assert done.exit_code == 0, done.output
        told = json.loads(done.stdout)
        assert len(told["runs"]) == 6
        assert {row["candidate"] for row in told["shift"]} == {"one", "two"}
        wrong = CliRunner().invoke(app, [*command, "two"])
        assert wrong.exit_code == 1
        assert "runs must be a whole number, got 'two'" in wrong.output


class TestClusters:
    def labels(self, parts):
        return {name: f"session {place // 2}" for place, name in enumerate(parts.test.query_ids.tolist())}

    def test_by_id_by_place_and_from_a_file(self, make, parts, tmp_path, facts):
        labels = self.labels(parts)
        backwards = dict(reversed(labels.items()))
        ways = [labels, backwards, list(labels.values()), np.array(list(labels.values())), pd.Series(backwards)]
        made = [make(candidates=[A, B], clusters=clusters).plan.clusters for clusters in ways]
        assert set(made) == {tuple(labels.values())}
        plain, clustered = (
            make(tmp_path / "run", candidates=[A, B], clusters=it).run(progress=False) for it in (None, labels)
        )
        assert (plain.verdict.clusters, clustered.verdict.clusters) == (None, 13)
        assert facts(Experiment.load(tmp_path / "run")) == facts(clustered)

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            (lambda labels: dict(list(labels.items())[1:]), r"clusters has no label for 1 query of test: '"),
            (lambda labels: list(labels.values())[1:], r"clusters has 24 labels for 25 queries of test: give one each"),
            (lambda labels: [*list(labels.values())[1:], None], r"clusters has no label for query '.*', got None"),
            (lambda labels: pd.Series(labels).iloc[1:], r"clusters has 24 labels for 25 queries"),
            (
                lambda labels: pd.array([*list(labels)[1:], pd.NA]),
                r"clusters has no label for query '.*', got <NA>",
            ),
        ],
    )
    def test_mistakes(self, make, parts, changed, said):
        with pytest.raises(ValueError, match=said):
            make(candidates=[A], clusters=changed(self.labels(parts)))

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("query,cluster\n1,a\n1,b\n", r"clusters.csv: query '1' has a label twice, again in line 3"),
            ("query\n1\n", r"clusters.csv: query ids and labels are wanted, .* found one column"),
            ("query,a,b\n1,1,1\n", r"clusters.csv: one column beside that of query ids is wanted, found a, b"),
            ("", r"clusters.csv: not CSV"),
            ("query,cluster\n99,a\n", r"clusters has no label for 15 queries of test"),
        ],
    )
    def test_files(self, tmp_path, text, said):
        (tmp_path / "clusters.csv").write_text(text)
        file = tmp_path / "experiment.toml"
        file.write_text(TOML.replace("[data]", '[data]\nclusters = "clusters.csv"'))
        with pytest.raises(ValueError, match=said):
            Experiment.from_toml(file)

    def test_in_toml(self, tmp_path):
        file = tmp_path / "experiment.toml"
        file.write_text(TOML.replace("[data]", '[data]\nclusters = "clusters.csv"'))
        with pytest.raises(FileNotFoundError, match=r"data\.clusters: there is no file"):
            Experiment.from_toml(file)
        ids = Experiment.from_toml(_without_clusters(file))._parts["test"].query_ids
        (tmp_path / "clusters.csv").write_text(
            "query,cluster\n" + "".join(f"{name},s{place % 3}\n" for place, name in enumerate(ids))
        )
        file.write_text(TOML.replace("[data]", '[data]\nclusters = "clusters.csv"'))
        assert Experiment.from_toml(file).plan.clusters == tuple(f"s{place % 3}" for place in range(len(ids)))


def _without_clusters(file):
    file.write_text(TOML)
    return file


class TestSegments:
    def test_by_id_and_in_columns(self, make, parts, tmp_path, facts):
        ids = parts.test.query_ids.tolist()
        kind = {name: ("head", "tail")[place % 2] for place, name in enumerate(ids)}
        ways = [{"kind": kind}, pd.DataFrame({"kind": kind}), {"kind": list(kind.values())}]
        assert all(make(candidates=[A], segments=it).plan.segments == {"kind": tuple(kind.values())} for it in ways)
        assert make(candidates=[A], segments=kind).plan.segments == {"segment": tuple(kind.values())}
        result = make(tmp_path / "run", candidates=[A, B], segments={"kind": kind}).run(progress=False)
        assert result.comparison.segment_labels["kind"].tolist() == list(kind.values())
        again = Experiment.load(tmp_path / "run")
        assert again.comparison.segments.text == result.comparison.segments.text

    def test_mistakes_are_said_before_the_training(self, make, parts):
        with pytest.raises(ValueError, match=r"segments 'kind' has no label for 25 queries of test"):
            make(candidates=[A], segments={"kind": {"nobody": "x"}})
        folds = [parts.train, parts.valid, parts.test]
        labels = [str(place % 51) for place in range(sum(len(fold.query_ids) for fold in folds))]
        with pytest.raises(ValueError, match=r"segments hold 51 distinct labels"):
            make(candidates=[A], train=None, valid=None, test=None, folds=folds, segments=labels)


KILLED = """
import itertools, os, signal
from gainsay.data import simulate
from gainsay.experiment import Candidate, Experiment
from gainsay.experiment.storage import Storage

calls, save = itertools.count(1), Storage.save

def killed(*arguments):
    if next(calls) == number:
        os.kill(os.getpid(), signal.SIGKILL)
    save(*arguments)

Storage.save = killed
parts = simulate(100, seed=5, mean_length=20).split_queries(0.5, 0.25, 0.25, seed=5)
candidates = [Candidate("A", "lightgbm", {"num_leaves": 7, "feature_fraction": 0.6}, "linear"),
              Candidate("B", "xgboost", {"max_depth": 3, "subsample": 0.7}, "exponential")]
Experiment(candidates, *parts, metrics=["ndcg_linear@10", "ndcg_exp@10", "mrr"], directory=directory,
           num_boost_round=12, seed=3, draws=1000, runs=3).run(progress=False)
"""


@pytest.mark.posix
@pytest.mark.slow
def test_killed_and_then_the_same(repeated, make, tmp_path, facts, trained, processes):
    result, whole = repeated
    directory = tmp_path / "run"
    process = processes.Process(target=exec, args=(KILLED, {"directory": str(directory), "number": 3}))
    process.start()
    process.join(120)
    assert process.exitcode == -signal.SIGKILL
    again = make(directory, candidates=[A, B], runs=3).run(progress=False)
    assert 4 <= len(trained) < 6
    assert facts(again) == facts(result)
    for path in whole.glob("candidates/*.run-[123]/*.npz"):
        assert (directory / path.relative_to(whole)).read_bytes() == path.read_bytes()
