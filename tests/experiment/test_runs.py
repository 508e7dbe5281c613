"""Candidates trained several times: recipes, finalists, resampled queries, clusters, segments, the model to deploy."""

from __future__ import annotations

import json
import shutil
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.experiment.helpers import METRICS, balanced_by_hand, contents, facts, folder_of, predict, run

import gainsay as gs
from gainsay.data import RankingData
from gainsay.experiment import Candidate, Experiment, k_folds, work
from gainsay.experiment.runs import resample, seed_of

FIXED = Candidate("F", "lightgbm", {"num_leaves": 7})
RUNS = (1, 2, 3)


class TestSeeds:
    def test_depend_on_run_and_candidate_only(self):
        first, second = (Candidate(name, "lightgbm", seed=5) for name in "ab")
        assert seed_of(first, 0) == 5
        assert len({seed_of(one, run) for one in (first, second) for run in range(1, 100)}) == 198

    @pytest.mark.parametrize("vary", ["seed", "queries"])
    def test_a_run_is_the_training_with_its_seed(self, repeated, resampled, make, parts, tmp_path, vary):
        """A single run with the seeds of run 2, and its training queries, trains the same models."""
        result, directory = repeated if vary == "seed" else resampled
        for candidate in result.plan.candidates:
            seed = seed_of(candidate, 2)
            train = parts.train if vary == "seed" else resample(parts.train, seed)
            run(make(tmp_path / candidate.name, candidates=[replace(candidate, seed=seed)], train=train))
            stored = folder_of(directory, candidate.name, ".run-2" if vary == "seed" else ".sample-2")
            plain = folder_of(tmp_path / candidate.name, candidate.name)
            for path in [*plain.glob("all-rounds.*"), *plain.glob("*.npz")]:
                assert (stored / path.name).read_bytes() == path.read_bytes()
        assert result.run_values.loc["A"]["test mrr"].nunique() == 3


class TestComparison:
    def test_values_are_means_over_runs_each_at_its_own_round(self, repeated, parts):
        result, _ = repeated
        for column, name in enumerate(result.comparison.models):
            values = []
            for number in RUNS:
                curves = result.curves.query("candidate == @name and run == @number")
                balanced = balanced_by_hand(curves, name)
                assert result.compared.loc[name, "rounds"][number - 1] == balanced
                assert set(curves.query("compared")["round"]) == {balanced}
                scores = predict(result.load_model(name, run=number), parts.test)
                np.testing.assert_array_equal(
                    predict(result.load_model(name, 3, run=number), parts.test),
                    predict(result.load_model(name, 12, run=number), parts.test, 3),
                )
                values.append(gs.evaluate(METRICS, parts.test.judgments(), scores))
                row = result.run_values.loc[(name, number)]
                assert [row[f"test {metric}"] for metric in METRICS] == pytest.approx(list(values[-1].mean.values()))
            for place, metric in enumerate(METRICS):
                expected = np.mean([value.per_query[:, place] for value in values], axis=0)
                np.testing.assert_allclose(result.comparison.values[metric][:, column], expected, rtol=1e-14)

    def test_verdict_is_that_of_the_values_of_all_runs(self, repeated):
        result, _ = repeated
        of_runs, _ = result._compared_values()
        first, second = ([of_runs[name][metric] for name in "AB"] for metric in METRICS[:2])
        names = {"metric_names": METRICS[:2], "vary": "seed"}
        found = gs.Verdict.from_values(first, second, ["A", "B"], draws=1000, seed=3, **names)
        assert (found.kind, found.price_lower) == (result.verdict.kind, result.verdict.price_lower)
        assert (result.verdict.repeats, result.verdict.vary) == ({"A": 3, "B": 3}, "seed")
        assert "trained 3 times each" in result.summary()

    def test_tables_and_report(self, repeated, tmp_path):
        result, _ = repeated
        assert result.best_rounds.index.names == ["candidate", "run"]
        assert len(result.best_rounds) == 6
        valid = result.curves.query("metric == @METRICS[0]").groupby(["candidate", "run"])["value"].max()
        assert result.chosen.loc[METRICS[0], "valid"] == pytest.approx(valid.groupby("candidate").mean().max())
        found, means = result.comparison.attribution("A", "B"), result.leaderboard[METRICS[1]]
        assert found.difference[METRICS[1]] == pytest.approx(means["A"] - means["B"], abs=1e-12)
        assert found.spread[METRICS[1]] > 0
        assert result.comparison.to_html(tmp_path / "report.html").stat().st_size > 10_000
        assert json.loads(result.comparison.to_json())["models"] == ["A", "B"]


def test_other_numbers_of_runs_train_the_new_ones_only(repeated, make, recipes, tmp_path, trained):
    directory = shutil.copytree(repeated.directory, tmp_path / "copy")
    assert run(make(directory, candidates=recipes, runs=4)).verdict.repeats == {"A": 4, "B": 4}
    assert sorted(trained) == ["A (run 4)", "B (run 4)"]
    assert run(make(directory, candidates=recipes)).verdict.repeats == {}
    assert sorted(trained) == ["A", "A (run 4)", "B", "B (run 4)"]
    again = run(make(directory, candidates=recipes, runs=3))
    assert len(trained) == 4
    assert facts(again) == facts(Experiment.load(directory)) == facts(repeated.result)
    shutil.rmtree(folder_of(directory, "A", ".run-2"))
    assert facts(run(make(directory, candidates=recipes, runs=3))) == facts(repeated.result)
    assert trained[4:] == ["A (run 2)"]
    assert contents(repeated.directory).items() <= contents(directory).items()


def test_failure_of_one_run_removes_the_candidate(make, recipes, monkeypatch):
    train = work.train_candidate

    def fail(candidate, unit, *rest):
        if (unit.candidate.name, unit.run) == ("A", 2):
            raise ArithmeticError("as if it diverged")
        return train(candidate, unit, *rest)

    monkeypatch.setattr(work, "train_candidate", fail)
    result = run(make(candidates=recipes, runs=3))
    assert result.candidates == ("B",)
    assert result.failures["A"].startswith("A (run 2): Traceback")
    assert result.failures["A"].rstrip().endswith("as if it diverged")


class TestResampledQueries:
    def test_are_whole_queries_with_labels_and_weights(self, parts):
        weight = np.random.default_rng(1).uniform(1, 2, len(parts.train.query_ids))
        data = replace(parts.train, weight=weight)
        drawn = resample(data, seed=9)
        assert len(drawn.query_ids) == len(data.query_ids)
        codes = np.sort(np.random.default_rng(9).integers(50, size=50))  # with replacement
        for place, code in enumerate(codes):
            rows, own = drawn.qid == place, data.qid == code
            np.testing.assert_array_equal(drawn.features[rows], data.features[own])
            np.testing.assert_array_equal(drawn.labels[rows], data.labels[own])
            assert drawn.weight[place] == weight[code]

    def test_model_of_all_queries_and_the_shift(self, repeated, resampled, parts):
        """The model of all queries is run 1 of the same experiment with other seeds only."""
        result, _ = resampled
        scores = predict(result.load_model("A", run="full"), parts.test)
        full = gs.evaluate("mrr", parts.test.judgments(), scores).mean["mrr"]
        assert full == pytest.approx(repeated.result.run_values.loc[("A", 1), "test mrr"], rel=1e-12)
        found = result.shift.set_index(["candidate", "metric"]).loc[("A", "mrr")]
        assert found["full"] == pytest.approx(full, rel=1e-12)
        assert found["resampled"] == pytest.approx(result.run_values.loc["A"]["test mrr"].mean(), rel=1e-12)
        assert found["shift"] == found["full"] - found["resampled"]
        shift = result.shift.query("metric == @METRICS[1]")["shift"].mean()
        assert "resampled training queries" in result.verdict.text
        (note,) = result.comparison.notes
        assert f"{shift:+.4f}" in note


class TestFinalists:
    @pytest.fixture
    def many(self, recipes):
        params = [{"num_leaves": 3, "feature_fraction": 0.3}, {"num_leaves": 2, "feature_fraction": 0.2}]
        return [*recipes, *(Candidate(name, "lightgbm", its) for name, its in zip("CD", params, strict=True))]

    def test_are_chosen_on_validation_and_trained_anew(self, make, many, trained, tmp_path, parts):
        once = run(make(candidates=many))
        compared, best = once.curves[once.curves["compared"]], {"D"}
        for metric in METRICS[:2]:
            best.add(compared[compared["metric"] == metric].set_index("candidate")["value"].idxmax())
        trained.clear()
        directory, runs = tmp_path / "run", {"finalists": 3, "keep": 1, "baseline": "D"}
        result = run(make(directory, candidates=many, runs=runs))
        assert set(result.candidates) == best < set("ABCD")
        assert sorted(trained) == sorted([*"ABCD", *(f"{it} (run {number})" for it in best for number in RUNS)])
        assert result.finalists["finalist"].to_dict() == {name: name in best for name in "ABCD"}
        assert result._compared_values()[0]["D"]["mrr"].shape[1] == 3  # The first training is not counted.
        assert "baseline D" in result.summary()
        with pytest.raises(KeyError, match="was trained once"):
            result.load_model((set("ABCD") - best).pop(), run=1)
        turned = RankingData(parts.test.features, parts.test.labels[::-1], qid=parts.test.qid)
        assert run(make(candidates=many, runs=runs, test=turned)).candidates == result.candidates
        trained.clear()
        assert run(make(directory, candidates=many, runs=3)).candidates == ("A", "B", "C", "D")
        assert len(trained) == 3 * (4 - len(best))

    def test_on_resampled_queries(self, make, recipes, trained):
        """The training that shows the shift is new too, because the first was chosen for its luck."""
        experiment = make(candidates=recipes, runs={"finalists": 3, "keep": 1}, vary="queries")
        assert "2 candidates, 3 runs" in repr(experiment)
        result = run(experiment)
        for name in result.candidates:
            again = [f"{name} (run 1)", *(f"{name} (run {number} on resampled queries)" for number in RUNS)]
            assert sorted(it for it in trained if it.startswith(name)) == sorted([name, *again])
        assert set(result.shift["candidate"]) == set(result.candidates)


def test_folds_and_runs(make, recipes, parts, tmp_path):
    """A run of a recipe has one training per fold; each query has the value of its own fold."""
    folds = k_folds(RankingData.concatenate(parts), 3, seed=2)
    about = {"train": None, "valid": None, "test": None, "folds": folds, "candidates": recipes[:1]}
    result = run(make(tmp_path / "run", **about, num_boost_round=5, runs=3))
    values = result._compared_values()[0]["A"]["mrr"]
    for number in RUNS:
        each = []
        for place, fold in enumerate(folds, 1):
            scores = predict(result.load_model("A", run=number, fold=f"fold {place}"), fold)
            each.append(gs.evaluate("mrr", fold.judgments(), scores).per_query[:, 0])
        np.testing.assert_array_equal(values[:, number - 1], np.concatenate(each))
    assert result.best_rounds.index.names == ["candidate", "run", "fold"]
    assert "3 models in each run" in result.summary()
    with pytest.raises(KeyError, match="fold 1, run 1"):
        result.load_model("A", run=1)


def test_candidates_without_randomness_are_trained_once(make, recipes, trained):
    with pytest.warns(UserWarning, match="in 'F'"):
        experiment = make(candidates=[recipes[0], FIXED], runs=3)
    result = run(experiment)
    assert sorted(trained) == ["A (run 1)", "A (run 2)", "A (run 3)", "F"]
    assert result.verdict.repeats == {"A": 3, "F": 0}
    assert "in F, trained once" in result.summary()
    with warnings.catch_warnings(action="error"):
        assert len(list(make(candidates=[FIXED], runs=3, vary="queries").plan.units())) == 4


class TestClustersAndSegments:
    def test_by_id_by_position_and_in_columns(self, make, recipes, parts, tmp_path):
        ids = parts.test.query_ids.tolist()
        clusters = {name: f"session {place // 2}" for place, name in enumerate(ids)}
        kinds = {name: ("head", "tail")[place % 2] for place, name in enumerate(ids)}
        backwards, labels = dict(reversed(clusters.items())), list(clusters.values())
        for way in (clusters, backwards, labels, np.array(labels), pd.Series(backwards)):
            assert make(candidates=recipes, clusters=way).plan.clusters == tuple(labels)
        for way in ({"kind": kinds}, pd.DataFrame({"kind": kinds}), {"kind": list(kinds.values())}):
            assert make(candidates=recipes, segments=way).plan.segments == {"kind": tuple(kinds.values())}
        assert make(candidates=recipes, segments=kinds).plan.segments == {"segment": tuple(kinds.values())}
        plain = run(make(tmp_path / "run", candidates=recipes))
        result = run(make(tmp_path / "run", candidates=recipes, clusters=clusters, segments={"kind": kinds}))
        assert (plain.verdict.clusters, result.verdict.clusters) == (None, 13)
        assert result.comparison.segment_labels["kind"].tolist() == list(kinds.values())
        again = Experiment.load(tmp_path / "run")
        assert facts(again) == facts(result)
        assert again.comparison.segments.text == result.comparison.segments.text
