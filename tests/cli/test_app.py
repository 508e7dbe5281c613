"""The command line: what it prints, what it reads, and what it says about bad input."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from tests.cli.shell import gainsay as run

import gainsay as gs
from gainsay.cli import inputs
from gainsay.data import read_letor, simulate, write_run

SPLIT = ", split = [0.5, 0.25, 0.25]"

PANEL = ["ndcg_linear@10", "ndcg_exp@10", "ndcg_jk@10", "map", "mrr"]


def outcome(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def data():
    return simulate(40, seed=11, mean_length=15)


@pytest.fixture(scope="module")
def letor(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("letor") / "valid.txt.gz"
    with gzip.open(path, "wt") as file:
        for label, query, row in zip(data.labels, data.qid, data.features, strict=True):
            values = " ".join(f"{at}:{value:.9g}" for at, value in enumerate(row.tolist(), start=1))
            file.write(f"{label:g} qid:{query} {values}\n")
    return path


@pytest.fixture(scope="module")
def scores(data):
    rng = np.random.default_rng(0)
    return {name: data.labels * share + rng.normal(size=len(data.labels)) for name, share in (("a", 1.0), ("b", 0.2))}


class TestCompare:
    def expected(self, data, models):
        return gs.compare(models, data.judgments(), PANEL)

    def test_score_files(self, data, letor, scores, tmp_path):
        np.save(tmp_path / "a.npy", scores["a"])
        np.savetxt(tmp_path / "b.csv", scores["b"])
        found = outcome("compare", "--data", letor, tmp_path / "a.npy", f"other={tmp_path / 'b.csv'}")
        expected = self.expected(data, {"a": scores["a"], "other": scores["b"]})
        assert found["winners"] == expected.winners
        for model in ("a", "other"):
            for metric in PANEL:
                ours = found["leaderboard"][model][metric]
                assert ours == pytest.approx(expected.leaderboard.loc[model, metric], rel=1e-12)
        assert found["verdict"]["kind"] == expected.verdict.kind

    def test_models_of_both_libraries(self, letor, tmp_path):
        data = read_letor(letor)
        first = lgb.train(
            {"objective": "lambdarank", "verbose": -1}, lgb.Dataset(data.features, data.labels, group=data.group), 3
        )
        first.save_model(tmp_path / "lgb.txt")
        dtrain = xgb.DMatrix(data.features, label=data.labels, qid=data.qid)
        second = xgb.train({"objective": "rank:ndcg"}, dtrain, 3)
        second.save_model(tmp_path / "xgb.json")
        found = outcome("compare", "--data", letor, tmp_path / "lgb.txt", tmp_path / "xgb.json")
        expected = self.expected(data, {"lgb": first.predict(data.features), "xgb": second.predict(dtrain)})
        assert found["leaderboard"]["lgb"]["mrr"] == pytest.approx(expected.leaderboard.loc["lgb", "mrr"], rel=1e-12)
        assert found["leaderboard"]["xgb"]["map"] == pytest.approx(expected.leaderboard.loc["xgb", "map"], rel=1e-12)

    def test_runs(self, tmp_path):
        qrels = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"x": 1, "y": 0}}
        runs = {"first": {"q1": {"a": 3.0, "n": 2.0}, "q2": {"y": 1.0}}, "second": {"q1": {"c": 1.0}, "q2": {"x": 1.0}}}
        (tmp_path / "qrels").write_text(
            "".join(f"{query} 0 {doc} {label}\n" for query, docs in qrels.items() for doc, label in docs.items())
        )
        for name, content in runs.items():
            write_run(content, tmp_path / f"{name}.txt")
        found = outcome("compare", "--qrels", tmp_path / "qrels", tmp_path / "first.txt", tmp_path / "second.txt")
        for name, content in runs.items():
            expected = gs.evaluate_run(PANEL, content, qrels, missing="zero").mean
            assert {metric: found["leaderboard"][name][metric] for metric in PANEL} == pytest.approx(
                expected, rel=1e-12
            )

    def test_condensed_runs(self, tmp_path):
        (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n")
        (tmp_path / "first").write_text("1 Q0 new 1 2.0 t\n1 Q0 a 2 1.0 t\n2 Q0 a 1 1.0 t\n")
        (tmp_path / "second").write_text("1 Q0 b 1 2.0 t\n1 Q0 a 2 1.0 t\n")
        arguments = ("compare", "--qrels", tmp_path / "qrels", tmp_path / "first", tmp_path / "second")
        metrics = ("-m", "ndcg_linear@10", "-m", "mrr")
        board = outcome(*arguments, *metrics)["leaderboard"]
        assert (board["first"]["mrr"], board["first"]["judged@10"]) == (0.75, 0.75)
        found = outcome(*arguments, *metrics, "--unjudged", "drop")
        assert (found["leaderboard"]["first"]["mrr"], found["holes"]["handling"]) == (1.0, "drop")
        said = run(*arguments, *metrics, "--unjudged", "drop").stdout
        assert "2 queries; unjudged documents dropped" in said
        assert "second: judged queries without results: 1 ('2'), counted, with nothing retrieved" in said

    def test_labels_cannot_be_condensed(self, letor, scores, tmp_path):
        path = tmp_path / "a.txt"
        np.savetxt(path, next(iter(scores.values())))
        result = run("compare", "--data", letor, path, "--unjudged", "drop")
        assert result.exit_code == 1
        assert "--unjudged drop needs to know which documents nobody judged" in result.stderr

    def test_a_report(self, letor, scores, tmp_path):
        np.save(tmp_path / "a.npy", scores["a"])
        np.save(tmp_path / "b.npy", scores["b"])
        result = run("compare", "--data", letor, tmp_path / "a.npy", tmp_path / "b.npy", "--html", tmp_path / "r.html")
        assert result.exit_code == 0, result.stderr
        assert "<h1" in (tmp_path / "r.html").read_text()

    def test_a_table(self, data, scores, tmp_path):
        frame = pd.DataFrame({"grade": data.labels, "topic": data.qid, **scores})
        frame.sample(frac=1, random_state=0).to_csv(tmp_path / "all.csv", index=False)
        found = outcome("compare", "--table", tmp_path / "all.csv", "--label", "grade", "--query", "topic")
        expected = self.expected(data, scores).leaderboard
        assert found["leaderboard"]["b"]["ndcg_exp@10"] == pytest.approx(expected.loc["b", "ndcg_exp@10"], rel=1e-12)

    @pytest.mark.parametrize("suffix", ["csv", "parquet", "npz"])
    def test_columns_of_one_file(self, data, letor, scores, tmp_path, suffix):
        path = tmp_path / f"all.{suffix}"
        frame = pd.DataFrame({"row": range(len(data.labels)), **scores})
        writers = {"csv": frame.to_csv, "parquet": frame.to_parquet, "npz": lambda file: np.savez(file, **scores)}
        writers[suffix](path)
        found = outcome("compare", "--data", letor, f"{path}:a", f"other={path}:b")
        expected = self.expected(data, {"a": scores["a"], "other": scores["b"]})
        assert found["models"] == ["a", "other"]
        for model in found["models"]:
            ours = found["leaderboard"][model]["ndcg_exp@10"]
            assert ours == pytest.approx(expected.leaderboard.loc[model, "ndcg_exp@10"], rel=1e-12)

    def test_a_file_with_a_colon_in_its_name(self, letor, scores, tmp_path):
        np.savetxt(tmp_path / "run:1.csv", scores["a"])
        np.savetxt(tmp_path / "run", scores["b"])
        assert outcome("compare", "--data", letor, tmp_path / "run:1.csv")["models"] == ["run:1"]

    def test_tables_for_people(self, letor, scores, tmp_path):
        for name, values in scores.items():
            np.save(tmp_path / f"{name}.npy", values)
        result = run(
            "compare", "--data", letor, tmp_path / "a.npy", tmp_path / "b.npy", "-m", "ndcg_linear@5", "-m", "mrr"
        )
        assert result.exit_code == 0
        first, advice = result.stdout.splitlines()[:2]
        assert first.startswith(("Yes", "No", "It "))
        assert re.search(r"(Choose|Take|sample:) a\b", advice)
        assert "behind the best" in result.stdout
        assert "random sample" not in result.stdout
        files = (tmp_path / "a.npy", tmp_path / "b.npy")
        arguments = ("compare", "--data", letor, *files, "-m", "ndcg_linear@5", "-m", "mrr")
        assert "The queries are the random sample and the models are fixed" in run(*arguments, "--text").stdout
        assert "Means over" in run(*arguments, "--all").stdout

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["compare", "x"], "give the judgments as one of --data, --qrels, --table and --labels"),
            (["compare", "--data", "LETOR"], "name at least one model"),
            (["compare", "--data", "LETOR", "no.npy"], "there is no file 'no.npy' (model 'no')"),
            (["compare", "--data", "LETOR", "a=LETOR", "a=LETOR"], "two models are named 'a'"),
            (["compare", "--data", "LETOR", "SHORT"], "model 'short' has 1 scores"),
            (["compare", "--data", "LETOR", "TWO"], "2 columns, name one with column= (on the command line FILE:COLU"),
            (["compare", "--data", "LETOR", "TWO:c"], "two.csv: no column 'c'; there are 'a', 'b'"),
            (["compare", "--data", "LETOR", "SHORT", "-m", "ndcg@10"], "does not say which NDCG"),
            (["compare", "--data", "LETOR", "SHORT", "-m", "ncdg_exp"], "did you mean 'ndcg_exp'?"),
            (["compare", "--table", "SHORT"], "short.csv has no column 'label'"),
            (
                ["compare", "--table", "SHORT", "a=x.npy"],
                "with --table the models are its columns (--score names them)",
            ),
            (["compare", "--data", "LETOR", "=SHORT"], "' is blank: ''; it stands in every table"),
        ],
    )
    def test_bad_input_ends_with_one_message(self, letor, tmp_path, arguments, message):
        (tmp_path / "short.csv").write_text("0.5\n")
        (tmp_path / "two.csv").write_text("a,b\n0.5,1\n")
        places = {"LETOR": str(letor), "SHORT": str(tmp_path / "short.csv"), "TWO": str(tmp_path / "two.csv")}
        for name, path in places.items():
            arguments = [argument.replace(name, path) for argument in arguments]
        result = run(*arguments)
        assert result.exit_code == 1
        assert message in result.stderr
        assert "Traceback" not in result.stderr

    def test_names_do_not_act_on_the_terminal(self, data, scores, tmp_path):
        frame = pd.DataFrame(
            {"label": data.labels, "query": data.qid, "ev\x1b[31mil\nname": scores["a"], "b": scores["b"]}
        )
        frame.to_parquet(tmp_path / "t.parquet")
        result = run("compare", "--table", tmp_path / "t.parquet")
        assert result.exit_code == 0, result.stderr
        assert "ev\ufffd[31mil name" in result.stdout
        assert "\x1b" not in result.stdout

    @pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
    def test_a_model_of_other_features(self, letor, library, tmp_path):
        """XGBoost would take features that are not there for missing, in silence."""
        data = read_letor(letor)
        wider, path = np.column_stack([data.features, data.labels]), tmp_path / "m.json"
        if library == "lightgbm":
            train = lgb.Dataset(wider, data.labels, group=data.group)
            lgb.train({"objective": "lambdarank", "verbose": -1}, train, 2).save_model(path)
        else:
            xgb.train({"objective": "rank:ndcg"}, xgb.DMatrix(wider, label=data.labels, qid=data.qid), 2).save_model(
                path
            )
        result = run("compare", "--data", letor, path)
        assert result.exit_code == 1
        assert "model 'm' was trained on 31 features, and the data have 30: where rows leave out zeros" in result.stderr
        assert run("compare", "--data", letor, path, "--features", 31).exit_code == 0

    def test_a_table_with_two_columns_of_one_name(self, tmp_path):
        pyarrow = pytest.importorskip("pyarrow")
        columns = [pyarrow.array([0, 1])] * 4
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(
            pyarrow.Table.from_arrays(columns, names=["label", "query", "a", "a"]), tmp_path / "t.parquet"
        )
        result = run("compare", "--table", tmp_path / "t.parquet")
        assert result.exit_code == 1
        assert "t.parquet has two columns 'a': rename one of them" in result.stderr

    def test_nan_scores_name_the_model(self, letor, scores, tmp_path):
        bad = scores["a"].copy()
        bad[3] = np.nan
        np.save(tmp_path / "diverged.npy", bad)
        result = run("compare", "--data", letor, tmp_path / "diverged.npy")
        assert result.exit_code == 1
        assert "model 'diverged'" in result.stderr
        assert "NaN" in result.stderr

    def test_a_malformed_file_names_its_line(self, tmp_path):
        path = tmp_path / "bad.txt"
        path.write_text("1 qid:1 1:0.5\n2 qid:1 1:oops\n")
        (tmp_path / "s.csv").write_text("1\n2\n")
        result = run("compare", "--data", path, tmp_path / "s.csv")
        assert result.exit_code == 1
        assert "line 2" in result.stderr
        assert "oops" in result.stderr


class TestScore:
    def test_as_trec_eval_has_it(self, tmp_path):
        """Tied documents stand in descending order of their names, so that b comes before a."""
        rows = ["1 Q0 a 1 2.0 t", "1 Q0 b 2 2.0 t", "1 Q0 c 3 1.0 t", "2 Q0 a 1 1.0 t", "3 Q0 a 1 1.0 t"]
        (tmp_path / "run").write_text("\n".join(rows))
        (tmp_path / "qrels").write_text("1 0 a 1\n1 0 c 2\n1 0 d 1\n2 0 a 0\n2 0 b 1\n")
        found = outcome("score", tmp_path / "run", tmp_path / "qrels", "-m", "map", "--convention", "trec_eval", "-q")
        (name,) = found["mean"]
        assert found["mean"][name] == pytest.approx((1 / 2 + 2 / 3) / 3 / 2)
        assert set(found["per_query"]) == {"1", "2"}

    def test_equals_the_golden_output_of_trec_eval(self, shared_data):
        folder = shared_data / "trec-eval"
        found = outcome(
            "score", folder / "results.test", folder / "qrels.test", "-m", "map", "--convention", "trec_eval", "-q"
        )
        assert f"{found['mean']['map(ties=order,denominator=R)']:.4f}" == "0.1785"
        assert set(found["per_query"]) == {"301", "302", "303"}

    def test_prints_a_table(self, tmp_path):
        (tmp_path / "run").write_text("1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n")
        (tmp_path / "qrels").write_text("1 0 a 0\n1 0 b 1\n2 0 b 1\n")
        result = run("score", tmp_path / "run", tmp_path / "qrels", "-m", "mrr", "-q")
        assert "0.5000" in result.stdout
        assert "Mean over 1 query\n" in result.stdout
        assert "0.2500" in run("score", tmp_path / "run", tmp_path / "qrels", "-m", "mrr", "-c").stdout

    def test_unjudged_documents(self, tmp_path):
        (tmp_path / "run").write_text("1 Q0 x 1 3.0 t\n1 Q0 a 2 2.0 t\n3 Q0 a 1 1.0 t\n")
        (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n")
        arguments = ("score", tmp_path / "run", tmp_path / "qrels", "-m", "mrr", "-m", "judged@10")
        found = outcome(*arguments, "-q")
        assert found["mean"] == {"mrr": 0.5, "judged@10": 0.5}
        assert found["per_query"] == {"1": {"mrr": 0.5, "judged@10": 0.5}}
        found = outcome(*arguments, "--unjudged", "drop")
        assert found["mean"] == {"mrr": 1.0, "judged@10": 0.5}
        assert found["coverage"] == {
            "retrieved": 2, "unjudged": 1, "handling": "drop", "not_retrieved": ["2"], "not_judged": ["3"],
            "missing": "skip",
        }  # fmt: skip
        said = run(*arguments, "--unjudged", "drop").stdout
        assert "unjudged: 1 of 2 retrieved documents, dropped (condensed lists)" in said
        assert "judged queries without results: 1 ('2'), left out" in said
        assert "queries of the run without judgments: 1 ('3'), left out" in said
        result = run(*arguments, "--unjudged", "keep")
        assert result.exit_code == 1
        assert "unjudged must be one of 'irrelevant', 'drop', got 'keep'" in result.stderr


class TestExplain:
    RANKING = "5,0,0,0,0,3,3,3,3,3"

    def test_labels_in_ranked_order(self):
        found = outcome("explain", "--labels", self.RANKING)
        assert round(found["conventions"]["lightgbm"]["ndcg_exp@10"], 2) == 0.89
        assert round(found["conventions"]["lightgbm"]["ndcg_jk@10"], 2) == 0.73
        assert (found["k"], found["queries"]) == (10, 1)
        called = [number for number in found["numbers"] if number["heading"] == "NDCG@10"]
        assert called[0]["printed_by"][:2] == ["LightGBM", "XGBoost"]
        assert len(called) == len({round(number["value"], 9) for number in called}) == 3

    def test_a_file(self, tmp_path):
        pd.DataFrame({"label": [1, 0], "score": [0.1, 0.2], "q": ["a", "a"]}).to_csv(tmp_path / "f.csv", index=False)
        assert outcome("explain", tmp_path / "f.csv", "-k", "1")["conventions"]["gainsay"]["mrr@1"] == 0.0
        found = outcome("explain", tmp_path / "f.csv", "--query", "q")["conventions"]["gainsay"]
        assert found["mrr@10"] == 0.5

    def test_begins_with_the_numbers_that_are_called_ndcg(self):
        lines = run("explain", "--labels", self.RANKING).stdout.splitlines()
        assert lines[0] == "One ranking, 3 numbers called NDCG@10"
        assert [line.split()[:3] for line in lines[2:5] if line[0] != " "] == [
            ["0.8946", "ndcg_exp@10", "LightGBM,"],
            ["0.8213", "ndcg_linear@10", "CatBoost,"],
        ]

    def test_fits_a_narrow_terminal(self):
        assert max(map(len, run("explain", "--labels", self.RANKING).stdout.splitlines())) <= 80

    def test_of_several_queries_numbers_are_means(self, tmp_path):
        table = pd.DataFrame({"label": [3, 1, 0, 2], "score": [1, 2, 2, 1], "q": ["a", "a", "b", "b"]})
        table.to_csv(tmp_path / "f.csv", index=False)
        assert ", means over 2 queries" in run("explain", tmp_path / "f.csv", "--query", "q").stdout.splitlines()[0]

    def test_needs_one_source(self):
        assert "give either a file or --labels" in run("explain").stderr

    @pytest.mark.parametrize("labels", ["", "3,a,1", "3,,1"])
    def test_labels_that_are_none(self, labels):
        assert "give numbers with commas between them" in run("explain", "--labels", labels).stderr


DEMO = ("demo", "--queries", 30, "--rounds", 4, "--seed", 5)


@pytest.fixture(scope="module")
def found():
    return outcome(*DEMO)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What a person sees of the demo, and where everything was kept."""
    folder = tmp_path_factory.mktemp("demo")
    result = run(*DEMO, "--directory", folder)
    assert result.exit_code == 0, result.stderr
    return result, folder


@pytest.mark.slow
class TestDemo:
    def test_own_data(self, letor):
        found = outcome("demo", "--train", letor, "--valid", letor, "--rounds", 3)
        assert found["rankers"] is None
        assert found["queries"] == 40
        assert len(found["leaderboard"]) == 8
        assert set(found["best_rounds"]) == set(found["leaderboard"])
        assert "no --test" in found["data"]

    def test_simulated_data(self, found):
        assert len(found["leaderboard"]) == 8
        assert found["verdict"]["kind"] in ("genuine", "agree", "immaterial", "unresolved")

    def test_for_people_a_second_run_tells_the_same(self, found, shown):
        result, _ = shown
        for metric, winner in found["winners"].items():
            if metric in found["verdict"]["metrics"]:
                assert f"{found['verdict']['means'][metric][winner]:.4f}" in result.stdout
        assert "behind the best" in result.stdout
        assert "Best round of each candidate under each metric" in result.stdout

    def test_three_rankers_come_first(self, found, shown):
        assert found["rankers"]["verdict"]["kind"] == "genuine"
        assert found["rankers"]["verdict"]["safe_choice"] == "blend"
        said = " ".join(shown[0].stdout.split())
        order = [
            "Three simulated rankers on 10,000 simulated queries, seed 5",
            "Yes: fair is best by linear gain, excellent by exponential.",
        ]
        order += ["Why: fair ranks", "Eight candidates, trained now. Data: simulated, 30 queries", "Now yours:"]
        places = [said.index(text) for text in order]
        assert places == sorted(places)

    def test_curves_and_one_report_of_both(self, shown):
        result, folder = shown
        lines = [line for line in result.stderr.splitlines() if line.startswith("[")]
        assert len(lines) == 8
        for number, line in enumerate(lines, start=1):
            assert re.match(rf"\[{number}/8\] (lgb|xgb) .*  ● 0\.\d{{4}} @\d+  ◆ 0\.\d{{4}} @\d+", line)
        page = (folder / "report.html").read_text("utf-8")
        rankers = page[page.index('<section id="rankers">') : page.index('<section id="full">')]
        assert "xgb exp (small trees)" in page[: page.index('<section id="rankers">')]
        assert all(f"<bdi>{name}</bdi>" in rankers for name in ("fair", "excellent", "blend"))
        assert "built to differ" in rankers
        assert "Data: simulated, 30 queries, seed 5." in page
        told = json.loads((folder / "report.json").read_text("utf-8"))
        assert told["also"]["rankers"]["verdict"]["kind"] == "genuine"
        assert not (folder / "rankers.html").exists()

    def test_train_needs_valid(self, letor):
        assert "give the data to choose rounds on as --valid" in run("demo", "--train", letor).stderr


class TestRun:
    TOML = """
        metrics = ["ndcg_linear@5", "ndcg_exp@5", "mrr"]
        num_boost_round = 4

        [data]
        simulate = {{ queries = 40, seed = 1, split = [0.5, 0.25, 0.25] }}

        [[candidates]]
        name = "lgb"
        library = "lightgbm"
        params = {{ num_leaves = 7 }}
        training_gain = {gains}
    """

    @pytest.fixture
    def experiment(self, tmp_path):
        path = tmp_path / "experiment.toml"
        path.write_text(self.TOML.format(gains='["linear", "exponential"]'))
        return path

    def test_trains_once_and_reads_the_rest_back(self, experiment, tmp_path):
        first = outcome("run", experiment, "--directory", tmp_path / "kept")
        models = {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").rglob("*") if path.is_file()}
        second = outcome("run", experiment, "--directory", tmp_path / "kept", "--jobs", 2)
        assert second == first
        assert set(first["best_rounds"]) == {"lgb gain=linear", "lgb gain=exponential"}
        assert {path: path.stat().st_mtime_ns for path in models if "candidates" in str(path)} == {
            path: time for path, time in models.items() if "candidates" in str(path)
        }

    def test_for_people(self, experiment):
        result = run("run", experiment)
        assert result.exit_code == 0, result.stderr
        assert "Best round of each candidate" in result.stdout

    def test_the_report_can_be_written_again(self, experiment, tmp_path):
        run("run", experiment, "--directory", tmp_path / "kept")
        first = (tmp_path / "kept" / "report.html").read_text()
        assert "What documents of each grade, at each rank, add" in first
        assert "Made from values alone" not in first
        (tmp_path / "again").mkdir()
        result = run("report", tmp_path / "kept", "--output", tmp_path / "again" / "report.html")
        assert result.exit_code == 0, result.stderr
        assert (tmp_path / "again" / "report.html").read_text() == first
        assert "lgb gain=linear" in first

    def test_folds(self, tmp_path):
        path = tmp_path / "folds.toml"
        path.write_text(self.TOML.format(gains='"linear"').replace("[data]", "[data]\nk_folds = 3").replace(SPLIT, ""))
        found = outcome("run", path, "--directory", tmp_path / "kept")
        assert set(found["best_rounds"]["lgb"]) == {"fold 1", "fold 2", "fold 3"}
        assert list(found["best_rounds"]["lgb"]["fold 1"]) == ["ndcg_linear@5", "ndcg_exp@5", "mrr"]
        table = run("run", path, "--directory", tmp_path / "kept").stdout
        assert re.search(r"candidate +fold +ndcg_linear@5", table)
        assert re.search(r"lgb +fold 1 +\d+", table)

    def test_what_is_not_finished_is_named(self, experiment, tmp_path):
        kept = tmp_path / "kept"
        run("run", experiment, "--directory", kept)
        (one, *_) = sorted((kept / "candidates").iterdir())
        shutil.rmtree(one)
        result = run("report", kept)
        assert result.exit_code == 0
        said = r"Not compared: lgb gain=\w+ \(.*not trained yet; run the experiment to go on\)"
        assert re.search(said, result.stderr)
        assert re.search(said, (kept / "report.html").read_text())

    def test_where_all_fail_each_says_why_on_one_line(self, tmp_path):
        path = tmp_path / "broken.toml"
        path.write_text(self.TOML.format(gains='"linear"').replace("num_leaves = 7", "num_leaves = 1"))
        result = run("run", path, "--directory", tmp_path / "kept")
        assert result.exit_code == 1
        assert "no candidate is finished: lgb: " in result.stderr
        assert "num_leaves" in result.stderr
        assert "Traceback" not in result.stderr

    def test_warnings_are_one_line(self, experiment, tmp_path):
        kept = tmp_path / "kept"
        run("run", experiment, "--directory", kept)
        next(kept.rglob("arrays.npz")).write_bytes(b"damaged")
        result = run("run", experiment, "--directory", kept)
        assert re.search(r"(?m)^gainsay: warning: .* has to be trained again$", result.stderr)
        assert ".py:" not in result.stderr

    def test_a_report_of_no_experiment(self, tmp_path):
        result = run("report", tmp_path)
        assert result.exit_code == 1
        assert "Traceback" not in result.stderr

    def test_a_wrong_key_is_named(self, tmp_path):
        path = tmp_path / "wrong.toml"
        path.write_text(self.TOML.format(gains='"exp"'))
        result = run("run", path)
        assert result.exit_code == 1
        assert "candidates[0].training_gain" in result.stderr
        assert "Traceback" not in result.stderr


def test_version():
    assert run("--version").stdout.strip() == gs.__version__


def test_what_runs_here(capsys):
    printed = run("--show-config").stdout
    gs.show_config()
    assert printed == capsys.readouterr().out


def test_the_command_is_installed():
    done = subprocess.run([sys.executable, "-m", "gainsay", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == gs.__version__


def test_tables_are_read_to_the_last_bit(tmp_path):
    """Older versions of pandas read a third of all decimal numbers one bit away unless asked not to."""
    texts = [
        f"{whole}.{part:017d}e{power}" for whole, part, power in np.random.default_rng(0).integers(0, 300, (2000, 3))
    ]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["score", *texts]))
    assert inputs.read_table(path)["score"].tolist() == [float(text) for text in texts]
