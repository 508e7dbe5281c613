"""Candidates trained several times: recipes, finalists, resampled queries, clusters, segments, the model to deploy."""

import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.comparison.tables import verdict_of
from tests.experiment.helpers import METRICS, balanced_by_hand, contents, facts, folder_of, predict, run

import gainwise as gw
from gainwise.data import RankingData
from gainwise.experiment import Candidate, Experiment, k_folds
from gainwise.experiment.plan import compute_seed, resample

pytestmark = pytest.mark.slow

FIXED = Candidate("F", "lightgbm", {"num_leaves": 7})
REPEATS = (1, 2, 3)


class TestSeeds:
    def test_depend_on_repeat_and_candidate_only(self):
        first, second = (Candidate(name, "lightgbm", seed=5) for name in "ab")
        assert compute_seed(first, 0) == 5
        assert (
            len({compute_seed(candidate, repeat) for candidate in (first, second) for repeat in range(1, 100)}) == 198
        )

    @pytest.mark.parametrize("vary", ["seed", "queries"])
    def test_a_repeat_is_the_training_with_its_seed(self, repeated, resampled, make, parts, tmp_path, vary):
        """A single training with the seeds of repeat 2, and its training queries, trains the same models."""
        result, directory = repeated if vary == "seed" else resampled
        for candidate in result.plan.candidates:
            seed = compute_seed(candidate, 2)
            train = parts.train if vary == "seed" else resample(parts.train, seed)
            run(make(tmp_path / candidate.name, candidates=[replace(candidate, seed=seed)], train=train))
            stored = folder_of(directory, candidate.name, ".repeat-2" if vary == "seed" else ".sample-2")
            plain = folder_of(tmp_path / candidate.name, candidate.name)
            for path in [*plain.glob("all-rounds.*"), *plain.glob("*.npz")]:
                assert (stored / path.name).read_bytes() == path.read_bytes()
        assert result.repeat_values.loc["A"]["test mrr"].nunique() == 3


class TestComparison:
    def test_values_are_means_over_repeats_each_at_its_own_round(self, repeated, parts):
        result, _ = repeated
        for column, name in enumerate(result.comparison.models):
            values = []
            for number in REPEATS:
                curves = result.curves.query("candidate == @name and repeat == @number")
                balanced = balanced_by_hand(curves, name)
                assert result.compared.loc[name, "rounds"][number - 1] == balanced
                assert set(curves.query("compared")["round"]) == {balanced}
                scores = predict(result.load_model(name, repeat=number), parts.test)
                np.testing.assert_array_equal(
                    predict(result.load_model(name, 3, repeat=number), parts.test),
                    predict(result.load_model(name, 12, repeat=number), parts.test, 3),
                )
                values.append(gw.evaluate(METRICS, parts.test.judgments(), scores))
                row = result.repeat_values.loc[(name, number)]
                assert [row[f"test {metric}"] for metric in METRICS] == pytest.approx(list(values[-1].mean.values()))
            for place, metric in enumerate(METRICS):
                expected = np.mean([value.per_query[:, place] for value in values], axis=0)
                np.testing.assert_allclose(result.comparison.values[metric][:, column], expected, rtol=1e-14)

    def test_verdict_is_that_of_the_values_of_all_repeats(self, repeated):
        result, _ = repeated
        of_repeats = result.comparison.repeats
        first, second = ([of_repeats[name][metric] for name in "AB"] for metric in METRICS[:2])
        names = {"names": METRICS[:2], "vary": "seed"}
        found = verdict_of(first, second, ["A", "B"], draws=1000, seed=3, **names)
        assert (found.kind, found.price_lower) == (result.verdict.kind, result.verdict.price_lower)
        assert (result.verdict.repeats, result.verdict.vary) == ({"A": 3, "B": 3}, "seed")
        assert "trained 3 times each" in result.summary()


def test_other_numbers_of_repeats_train_the_new_ones_only(repeated, make, recipes, tmp_path, trained):
    directory = shutil.copytree(repeated.directory, tmp_path / "copy")
    assert run(make(directory, candidates=recipes, repeats=4)).verdict.repeats == {"A": 4, "B": 4}
    assert sorted(trained) == ["A (repeat 4)", "B (repeat 4)"]
    assert run(make(directory, candidates=recipes)).verdict.repeats == {}
    assert sorted(trained) == ["A", "A (repeat 4)", "B", "B (repeat 4)"]
    again = run(make(directory, candidates=recipes, repeats=3))
    assert len(trained) == 4
    assert facts(again) == facts(Experiment.load(directory)) == facts(repeated.result)
    shutil.rmtree(folder_of(directory, "A", ".repeat-2"))
    assert facts(run(make(directory, candidates=recipes, repeats=3))) == facts(repeated.result)
    assert trained[4:] == ["A (repeat 2)"]
    assert contents(repeated.directory).items() <= contents(directory).items()


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

    def test_are_stated(self, resampled):
        assert "resampled training queries" in resampled.result.verdict.text
        assert "resampled queries" in resampled.result.comparison.notes[0]


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
        directory, repeats = tmp_path / "run", {"finalists": 3, "keep": 1, "baseline": "D"}
        result = run(make(directory, candidates=many, repeats=repeats))
        assert set(result.candidates) == best < set("ABCD")
        assert sorted(trained) == sorted([*"ABCD", *(f"{it} (repeat {number})" for it in best for number in REPEATS)])
        assert result.finalists["finalist"].to_dict() == {name: name in best for name in "ABCD"}
        assert "finalists are the best on the validation set by" in result.summary()
        assert result.comparison.repeats["D"]["mrr"].shape[1] == 3  # The first training is not counted.
        assert result.comparison.searched == 4 > len(result.comparison.models)
        assert "baseline D" in result.summary()
        with pytest.raises(KeyError, match="was trained once"):
            result.load_model((set("ABCD") - best).pop(), repeat=1)
        turned = RankingData(parts.test.features, parts.test.labels[::-1], qid=parts.test.qid)
        assert run(make(candidates=many, repeats=repeats, test=turned)).candidates == result.candidates
        trained.clear()
        assert run(make(directory, candidates=many, repeats=3)).candidates == ("A", "B", "C", "D")
        assert len(trained) == 3 * (4 - len(best))


def test_folds_and_repeats(make, recipes, parts, tmp_path):
    """A repeat of a recipe has one training per fold; each query has the value of its own fold."""
    folds = k_folds(RankingData.concatenate(parts), 3, seed=2)
    about = {"train": None, "valid": None, "test": None, "folds": folds, "candidates": recipes[:1]}
    result = run(make(tmp_path / "run", **about, num_boost_round=5, repeats=3))
    values = result.comparison.repeats["A"]["mrr"]
    for number in REPEATS:
        each = []
        for place, fold in enumerate(folds, 1):
            scores = predict(result.load_model("A", repeat=number, fold=f"fold {place}"), fold)
            each.append(gw.evaluate("mrr", fold.judgments(), scores).per_query[:, 0])
        np.testing.assert_array_equal(values[:, number - 1], np.concatenate(each))
    assert result.best_rounds.index.names == ["candidate", "repeat", "fold"]
    assert "3 models in each repeat" in result.summary()
    for folder in (tmp_path / "run" / "candidates").glob("*.repeat-3*"):
        shutil.rmtree(folder)
    with pytest.raises(RuntimeError, match=r"A: its folder is missing, .* was completed, 3 of 9 trainings$"):
        Experiment.load(tmp_path / "run")
    (tmp_path / "run" / "selection.json").unlink()
    with pytest.raises(RuntimeError, match=r"finished: A: not trained yet, 3 of 9 trainings$"):
        Experiment.load(tmp_path / "run")


def test_identical_repeats_are_one_fixed_model(make, recipes, tmp_path):
    """Another seed has no effect, which is detected after training."""
    result = run(make(tmp_path / "run", candidates=[recipes[0], FIXED], repeats=3))
    assert (result.identical, result.verdict.repeats) == (("F",), {"A": 3, "F": 0})
    assert "repeats of F" in result.summary()
    assert len(result.repeat_values.loc["F"]) == 1
    assert result.load_model("F").model_to_string() == result.load_model("F", repeat=1).model_to_string()
    assert facts(Experiment.load(tmp_path / "run")) == facts(result)
    alone = run(make(candidates=[FIXED]))
    assert result.leaderboard.loc["F", list(METRICS)].equals(alone.leaderboard.loc["F", list(METRICS)])
    assert len(make(candidates=[FIXED], repeats=3, vary="queries").plan.list_units()) == 3


def test_clusters_and_segments_by_id_by_position_and_in_columns(make, recipes, parts, tmp_path):
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
    assert result.comparison._segment_labels["kind"].tolist() == list(kinds.values())
    again = Experiment.load(tmp_path / "run")
    assert facts(again) == facts(result)
    assert again.comparison.segments.text == result.comparison.segments.text
