"""What is compared is what one gets: the reported numbers, `load_model`, the saved file and the command line agree."""

from __future__ import annotations

import json
import shutil

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from matplotlib import pyplot as plt
from typer.testing import CliRunner

import gainsay as gs
from gainsay.cli import app
from gainsay.experiment import Candidate, Experiment, k_folds, work
from gainsay.experiment.libraries import library_of
from gainsay.experiment.plan import check_each
from gainsay.experiment.rounds import balanced_round, best_rounds, check_stop_by, kept_rounds
from gainsay.experiment.serialization import slug
from gainsay.report.rounds import best_rounds as best_rounds_of

METRICS = ("ndcg_linear@10", "ndcg_exp@10", "mrr")
SUFFIX = {"lightgbm": "txt", "xgboost": "ubj"}
CANDIDATES = [
    Candidate("lgb", "lightgbm", {"num_leaves": 15}),
    Candidate("lgb bagged", "lightgbm", {"num_leaves": 7, "bagging_freq": 1, "bagging_fraction": 0.6}, seed=2),
    Candidate("lgb forest", "lightgbm", {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}),
    Candidate("xgb", "xgboost", {"max_depth": 2, "eta": 0.05, "lambdarank_pair_method": "mean"}),
    Candidate("xgb sampled", "xgboost", {"max_depth": 3, "subsample": 0.6, "num_parallel_tree": 2}, seed=4),
]


@pytest.fixture(scope="module")
def run(make, tmp_path_factory):
    """An experiment of 40 rounds whose two primary metrics choose different ones; not to be changed."""
    directory = tmp_path_factory.mktemp("artefacts") / "run"
    result = make(directory, candidates=CANDIDATES, metrics=METRICS, num_boost_round=40).run(progress=False)
    differ = result.best_rounds["ndcg_linear@10"] != result.best_rounds["ndcg_exp@10"]
    assert any(differ[[name for name in differ.index if name.startswith("lgb")]])
    assert any(differ[[name for name in differ.index if name.startswith("xgb")]])
    return result


@pytest.fixture(scope="module")
def folds(parts):
    return k_folds(parts.train, 3, seed=1)


@pytest.fixture(scope="module")
def folded(make, folds, tmp_path_factory):
    """The same with three folds."""
    directory = tmp_path_factory.mktemp("folds") / "run"
    without = {"train": None, "valid": None, "test": None}
    chosen = [CANDIDATES[0], CANDIDATES[3]]
    return make(directory, candidates=chosen, **without, folds=folds, num_boost_round=40).run(progress=False)


@pytest.fixture
def again(run, make, tmp_path, monkeypatch):
    """Return a function that runs a copy of the experiment with some things changed, and refuses to train."""
    shutil.copytree(run.directory, tmp_path / "copy")

    def trained(*arguments):
        raise AssertionError("nothing may be trained")

    monkeypatch.setattr(work, "train_candidate", trained)
    about = {"candidates": CANDIDATES, "metrics": METRICS, "num_boost_round": 40}
    return lambda **changes: make(tmp_path / "copy", **{**about, **changes}).run(progress=False)


def predicted(model, data):
    """Scores by the library's own defaults."""
    return model.predict(data.features if isinstance(model, lgb.Booster) else xgb.DMatrix(data.features))


def folder_of(result, name, fold=""):
    return result.directory / "candidates" / f"{slug(name)}{fold and '.' + fold.replace(' ', '-')}"


def saved(result, name, fold="", stem="model"):
    """The path of the file that is compared."""
    candidate = next(candidate for candidate in CANDIDATES if candidate.name == name)
    return folder_of(result, name, fold) / f"{stem}.{SUFFIX[candidate.library]}"


def as_letor(data, path):
    lines = [
        f"{label:g} qid:{query} " + " ".join(f"{at}:{float(value)!r}" for at, value in enumerate(row, 1))
        for label, query, row in zip(data.labels, data.query_ids[data.qid], data.features, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def command_line(data, models, path):
    """The means that `gainsay compare` prints."""
    given = [f"{name}={file}" for name, file in models.items()]
    metrics = [option for metric in METRICS for option in ("-m", metric)]
    file = as_letor(data, path)
    done = CliRunner().invoke(
        app, ["compare", "--data", str(file), "--features", str(data.features.shape[1]), *metrics, "--json", *given]
    )
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["leaderboard"]


class TestOneArtefact:
    """The report's mean, `load_model`, the saved file and `gainsay compare` are of one model, to the last bit."""

    def test_load_model_has_the_values_that_were_compared(self, run, parts):
        for at, name in enumerate(run.comparison.models):
            scores = predicted(run.load_model(name), parts.test)
            np.testing.assert_array_equal(scores, run.comparison.rankings.scores[name])
            values = gs.evaluate(METRICS, parts.test.judgments(), scores).per_query
            for place, metric in enumerate(METRICS):
                np.testing.assert_array_equal(values[:, place], run.comparison.values[metric][:, at])

    def test_command_line_has_the_means_of_the_leaderboard(self, run, parts, tmp_path):
        found = command_line(parts.test, {name: saved(run, name) for name in run.candidates}, tmp_path / "test.txt")
        for name in run.candidates:
            for metric in METRICS:
                assert found[name][metric] == run.leaderboard.loc[name, metric]

    def test_compare_has_them_too(self, run, parts):
        models = {name: run.load_model(name) for name in run.candidates}
        found = gs.compare(models, parts.test.judgments(), METRICS, features=parts.test.features, seed=3, draws=1000)
        for metric in METRICS:
            np.testing.assert_array_equal(found.values[metric], run.comparison.values[metric])
        assert found.verdict.to_dict() == run.verdict.to_dict()

    def test_saved_file_is_load_model(self, run):
        for name in run.candidates:
            loaded = run.load_model(name)
            if name.startswith("lgb"):
                assert loaded.model_to_string() == saved(run, name).read_text()
            else:
                assert bytes(loaded.save_raw("ubj")) == saved(run, name).read_bytes()

    def test_rounds_are_those_that_are_told(self, run):
        for name in run.candidates:
            (rounds,) = run.compared.loc[name, "rounds"]
            loaded = run.load_model(name)
            if name.startswith("lgb"):
                assert (loaded.current_iteration(), loaded.best_iteration) == (rounds, rounds)
            else:
                assert (loaded.num_boosted_rounds(), loaded.best_iteration) == (rounds, rounds - 1)

    def test_estimators_read_it_as_it_is(self, run, parts):
        ranker = xgb.XGBRanker()
        ranker.load_model(saved(run, "xgb"))
        np.testing.assert_array_equal(ranker.predict(parts.test.features), run.comparison.rankings.scores["xgb"])

    def test_before_every_metric_had_a_round_of_its_own(self, run, parts):
        """The numbers that stood in one row of a leaderboard were those of no model that one could have."""
        own = {name: set(run.best_rounds.loc[name, list(METRICS)]) for name in run.candidates}
        assert any(len(rounds) > 1 for rounds in own.values())
        whole = gs.evaluate(METRICS, parts.test.judgments(), predicted(run.load_model("lgb", 40), parts.test)).mean
        assert whole["ndcg_exp@10"] != run.leaderboard.loc["lgb", "ndcg_exp@10"]


class TestReport:
    """Beside the numbers of what is compared stands what each metric's own round would give."""

    def test_table_of_rounds(self, run):
        table = best_rounds_of(run.curves, METRICS[:2]).set_index("candidate")
        for name in run.candidates:
            (compared,) = run.compared.loc[name, "rounds"]
            assert table.loc[name, "compared"] == [compared]
            for metric in METRICS[:2]:
                line = run.curves.query("candidate == @name and metric == @metric").set_index("round")["value"]
                assert table.loc[name, f"round {metric}"] == run.best_rounds.loc[name, metric]
                assert table.loc[name, f"compared loss {metric}"] == line.max() - line[compared]
        worst = table[[f"compared loss {metric}" for metric in METRICS[:2]]].max(axis=1)
        elsewhere = table[[f"loss {metric}" for metric in METRICS[:2]]].min(axis=1)
        assert (worst <= elsewhere).all()  # a metric's own best round costs it nothing, and the other this much

    def test_says_which_numbers_are_of_which_round(self, run):
        text = run.comparison.to_markdown()
        assert "## When to stop" in text
        assert "Every other number here is of the candidates at the rounds at which they are compared" in text
        assert "| compared at round |" in text
        ax = run.comparison.plot.curves("lgb").ax
        (number,) = run.compared.loc["lgb", "rounds"]
        assert "compared here" in [entry.get_text() for entry in ax.get_legend().get_texts()]
        assert any(set(line.get_xdata()) == {number} and line.get_label() == "compared here" for line in ax.lines)
        plt.close(ax.figure)

    def test_what_the_balanced_round_costs(self, run, parts):
        rows = run.stopping_loss.set_index(["candidate", "metric", "stopped_by"])["loss"]
        for name in run.candidates:
            compared = gs.evaluate(METRICS, parts.test.judgments(), predicted(run.load_model(name), parts.test)).mean
            for metric in METRICS:
                own = predicted(run.load_model(name, metric), parts.test)
                expected = gs.evaluate(metric, parts.test.judgments(), own).mean[metric] - compared[metric]
                assert rows[name, metric, "balanced"] == pytest.approx(expected, abs=1e-12)


class TestFolds:
    def test_load_model_has_the_values_that_were_compared(self, folded, folds):
        for at, name in enumerate(folded.candidates):
            tables = []
            for number, test in enumerate(folds, 1):
                scores = predicted(folded.load_model(name, fold=f"fold {number}"), test)
                tables.append(gs.evaluate(METRICS, test.judgments(), scores).per_query)
            for place, metric in enumerate(METRICS):
                found = np.concatenate([table[:, place] for table in tables])
                np.testing.assert_array_equal(found, folded.comparison.values[metric][:, at])

    def test_command_line_has_the_means_of_each_fold(self, folded, folds, tmp_path):
        before = 0
        for number, test in enumerate(folds, 1):
            files = {name: saved(folded, name, f"fold {number}") for name in folded.candidates}
            found = command_line(test, files, tmp_path / "test.txt")
            rows = slice(before, before + len(test.query_ids))
            before = rows.stop
            values = {metric: table[rows] for metric, table in folded.comparison.values.items()}
            expected = gs.Comparison(values, folded.candidates, draws=1000).leaderboard
            for name in folded.candidates:
                assert {metric: found[name][metric] for metric in METRICS} == expected.loc[
                    name, list(METRICS)
                ].to_dict()

    def test_rounds_are_chosen_in_each_fold(self, folded, balanced):
        for name in folded.candidates:
            expected = tuple(
                balanced(folded.curves[folded.curves["fold"] == fold.name], name) for fold in folded.plan.folds
            )
            assert folded.compared.loc[name, "rounds"] == expected

    def test_each(self, folded, make, folds, monkeypatch, tmp_path):
        shutil.copytree(folded.directory, tmp_path / "copy")
        monkeypatch.setattr(work, "train_candidate", None)
        without = {"train": None, "valid": None, "test": None, "candidates": [CANDIDATES[0], CANDIDATES[3]]}
        result = make(tmp_path / "copy", **without, folds=folds, num_boost_round=40, stop_by="each").run(progress=False)
        models = [f"{name} by {metric}" for name in ("lgb", "xgb") for metric in METRICS[:2]]
        assert list(result.comparison.models) == models
        assert f"at rounds {', '.join(map(str, result.compared.loc[result.winners[METRICS[0]], 'rounds']))} (" in (
            result.summary()
        )
        assert result.comparison.to_html(tmp_path / "report.html").read_text().count("lgb by ndcg_exp@10") > 1
        for name, metric in ((name, metric) for name in ("lgb", "xgb") for metric in METRICS[:2]):
            at = models.index(f"{name} by {metric}")
            assert result.compared.iloc[at]["rounds"] == tuple(folded.best_rounds.loc[name, metric])
            tables = []
            for number, test in enumerate(folds, 1):
                scores = predicted(result.load_model(f"{name} by {metric}", fold=f"fold {number}"), test)
                tables.append(gs.evaluate(METRICS, test.judgments(), scores).per_query)
            for place, judge in enumerate(METRICS):
                found = np.concatenate([table[:, place] for table in tables])
                np.testing.assert_array_equal(found, result.comparison.values[judge][:, at])


class TestStopBy:
    """Another choice needs no training, and brings report, model and file along."""

    @pytest.mark.parametrize("stop_by", [*METRICS, gs.parse_metrics("mrr")[0]])
    def test_a_metric(self, run, again, parts, stop_by):
        result = again(stop_by=stop_by)
        for name in result.candidates:
            best = int(run.best_rounds.loc[name, str(stop_by)])
            assert result.compared.loc[name].to_dict() == {
                "candidate": name,
                "stop_by": str(stop_by),
                "rounds": (best,),
            }
            scores = predicted(result.load_model(name), parts.test)
            np.testing.assert_array_equal(scores, predicted(run.load_model(name, best), parts.test))
            np.testing.assert_array_equal(scores, result.comparison.rankings.scores[name])
            loader = {"lgb": lgb.Booster, "xgb": xgb.Booster}[name[:3]]
            np.testing.assert_array_equal(predicted(loader(model_file=saved(result, name)), parts.test), scores)
        assert Experiment.load(result.directory).leaderboard.equals(result.leaderboard)

    def test_each(self, run, again, parts):
        result = again(stop_by="each")
        best = run.best_rounds[list(METRICS[:2])]
        expected = []
        for name in run.candidates:
            rounds = dict.fromkeys(best.loc[name])
            expected += [f"{name} @{number}" for number in rounds] if len(rounds) > 1 else [name]
        assert list(result.comparison.models) == expected
        assert result.compared.index.tolist() == expected
        for at, (model, row) in enumerate(result.compared.iterrows()):
            stem = "model" if model == row["candidate"] else f"model@{row['rounds'][0]}"
            loader = {"lgb": lgb.Booster, "xgb": xgb.Booster}[model[:3]]
            loaded = [
                result.load_model(model),
                loader(model_file=saved(result, row["candidate"], stem=stem)),
                run.load_model(row["candidate"], row["stop_by"].partition(" and ")[0]),
            ]
            for booster in loaded:
                values = gs.evaluate(METRICS, parts.test.judgments(), predicted(booster, parts.test)).per_query
                for place, metric in enumerate(METRICS):
                    np.testing.assert_array_equal(values[:, place], result.comparison.values[metric][:, at])
        torn = next(name for name in run.candidates if best.loc[name].nunique() > 1)
        with pytest.raises(ValueError, match=rf"'{torn}' was compared at two rounds, as '{torn} @\d+' and '{torn} @\d"):
            result.load_model(torn)
        assert "as two models where they differ" in result.summary()
        assert "compared at round" in result.comparison.to_markdown()

    def test_no_file_stays_that_is_not_compared(self, run, again):
        again(stop_by="each")
        result = again(stop_by="balanced")
        for name in run.candidates:
            assert not list(folder_of(result, name).glob("model@*"))
            assert saved(result, name).read_bytes() == saved(run, name).read_bytes()

    def test_a_spoilt_file_is_mended(self, run, again):
        again()
        directory = again().directory
        path = directory / "candidates" / slug("xgb") / "model.ubj"
        path.write_bytes(b"spoilt")
        (path.parent / "model.ubj.mine").write_text("of the user")
        again()
        assert path.read_bytes() == saved(run, "xgb").read_bytes()
        assert (path.parent / "model.ubj.mine").read_text() == "of the user"

    def test_another_pair_of_metrics_has_another_balanced_round(self, again, balanced, run):
        result = again(primary=("mrr", "ndcg_exp@10"))
        for name in result.candidates:
            assert result.compared.loc[name, "rounds"] == (balanced(run.curves, name, ("mrr", "ndcg_exp@10")),)

    def test_of_load_model(self, run, parts):
        for name in run.candidates:
            for stop_by in METRICS:
                best = int(run.best_rounds.loc[name, stop_by])
                scores = predicted(run.load_model(name, stop_by), parts.test)
                np.testing.assert_array_equal(scores, predicted(run.load_model(name, best), parts.test))
            scores = predicted(run.load_model(name, "balanced"), parts.test)
            np.testing.assert_array_equal(scores, run.comparison.rankings.scores[name])

    @pytest.mark.parametrize(
        ("stop_by", "error", "message"),
        [
            ("each", ValueError, "stop_by='each' names no round"),
            (
                "ndcg_exp@5",
                ValueError,
                r"stop_by must be 'balanced', 'each' or one of the metrics, got 'ndcg_exp@5'; did",
            ),
            (0, ValueError, "stop_by must be .*at least 1, got 0"),
            (41, ValueError, "stop_by must be at most 40, the rounds of xgb: got 41"),
            (True, TypeError, "stop_by must be a whole number"),
        ],
    )
    def test_of_load_model_refuses(self, run, stop_by, error, message):
        with pytest.raises(error, match=message):
            run.load_model("xgb", stop_by)

    @pytest.mark.parametrize("stop_by", ["balance", "ndcg_exp@5", "", 3, ["mrr", "ndcg_exp@10"]])
    def test_refuses(self, make, stop_by):
        with pytest.raises(ValueError, match="stop_by must be 'balanced', 'each' or one of the metrics, got"):
            make(stop_by=stop_by)

    def test_full_name(self):
        assert check_stop_by("ndcg_exp@10", gs.parse_metrics(METRICS)) == "ndcg_exp@10"
        assert check_stop_by(gs.NDCG(gain="exponential", k=10), gs.parse_metrics(METRICS)) == "ndcg_exp@10"

    def test_names_that_each_would_make(self, make):
        names = [Candidate("a", "lightgbm"), Candidate("a @7", "lightgbm", {"num_leaves": 5})]
        make(candidates=names)
        with pytest.raises(ValueError, match="candidate 'a @7' is called like a model of candidate 'a'"):
            make(candidates=names, stop_by="each")
        check_each(["a", "b @7", "c by hand"])

    @pytest.mark.parametrize("stop_by", ["balanced", "each", "mrr"])
    def test_one_metric(self, make, stop_by):
        one = {"metrics": "mrr", "candidates": [Candidate("a", "lightgbm")]}
        result = make(**one, stop_by=stop_by).run(progress=False)
        assert result.compared.loc["a", "rounds"] == (int(result.best_rounds.loc["a", "mrr"]),)
        assert result.stopping_loss.empty
        assert "compared at its best round on valid by mrr" in result.summary()


class TestCommandLine:
    TOML = """
        metrics = ["ndcg_linear@5", "ndcg_exp@5", "mrr"]
        num_boost_round = 15
        {}
        [data]
        simulate = {{queries = 40, seed = 3, mean_length = 10, split = [0.6, 0.2, 0.2]}}
        [[candidates]]
        name = "a"
        library = "lightgbm"
        [[candidates]]
        name = "b"
        library = "xgboost"
    """

    def outcome(self, path, *options):
        done = CliRunner().invoke(app, ["run", str(path), "--json", *options])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    def test_key_and_option(self, tmp_path):
        path = tmp_path / "experiment.toml"
        path.write_text(self.TOML.format(""))
        first = self.outcome(path)
        assert first["stop_by"] == "balanced"
        path.write_text(self.TOML.format('stop_by = "mrr"'))
        second = self.outcome(path)
        assert {name: row["stop_by"] for name, row in second["compared"].items()} == {"a": "mrr", "b": "mrr"}
        assert [second["compared"][name]["rounds"] for name in "ab"] == [
            [second["best_rounds"][name]["mrr"]] for name in "ab"
        ]
        third = self.outcome(path, "--stop-by", "balanced")
        assert third == first

    def test_wrong_ones(self, tmp_path):
        path = tmp_path / "experiment.toml"
        path.write_text(self.TOML.format('stop_by = "ndcg_exp@10"'))
        done = CliRunner().invoke(app, ["run", str(path)])
        assert done.exit_code == 1
        said = "stop_by must be 'balanced', 'each' or one of the metrics, got 'ndcg_exp@10'; did you mean 'ndcg_exp@5'?"
        assert f"{path}: {said}" in done.output.replace("\n", " ")


class TestRounds:
    def test_balanced_is_the_smallest_worst_shortfall(self):
        """Against all rounds in plain Python; of equal ones the first."""
        rng = np.random.default_rng(4)
        for _ in range(300):
            curves = rng.integers(0, 6, (rng.integers(1, 9), rng.integers(2, 5))) / 8
            columns = rng.choice(curves.shape[1], 2, replace=False).tolist()
            worst = [max(max(curves[:, c]) - row[c] for c in columns) for row in curves]
            assert balanced_round(curves, columns) == 1 + worst.index(min(worst))
            assert balanced_round(curves, columns[:1]) == best_rounds(curves)[columns[0]]
            pairs = [(a, b) for a in range(curves.shape[1]) for b in range(a)]
            expected = {*best_rounds(curves), *(balanced_round(curves, pair) for pair in pairs)}
            assert kept_rounds(curves) == sorted(expected)

    def test_cuts_predict_as_the_whole_model_does_at_every_round(self, run, parts):
        for name in run.candidates:
            library = library_of("lightgbm" if name.startswith("lgb") else "xgboost")
            whole = saved(run, name, stem="all-rounds").read_bytes()
            predict = library.predictor(whole, parts.test, 1)
            for rounds in (1, 2, 17, 40):
                cut = library.load(library.cut(whole, rounds))
                np.testing.assert_array_equal(predicted(cut, parts.test), predict(slice(None), [rounds])[0])
