"""`gainsay gate`: one sentence, JSON and an exit code, for what `Comparison.against` decides."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from tests.cli.shell import gainsay

import gainsay as gs
from gainsay.data import write_run

METRICS = ["ndcg_linear@10", "ndcg_exp@10"]


run = partial(gainsay, "gate")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Labels, sizes and scores of a production model, a better, a worse and an equal one."""
    folder = tmp_path_factory.mktemp("gate")
    rng = np.random.default_rng(0)
    sizes = rng.integers(5, 20, 300)
    labels = rng.integers(0, 4, sizes.sum())
    noise = rng.normal(size=len(labels))
    models = {
        "old": labels + 2 * noise,
        "better": labels + 1.5 * noise,
        "worse": labels + 4 * noise,
        "equal": labels + 2 * rng.normal(size=len(labels)),
    }
    np.save(folder / "labels.npy", labels)
    np.save(folder / "group.npy", sizes)
    for name, scores in models.items():
        np.save(folder / f"{name}.npy", scores)
    table = pd.DataFrame({"query": np.repeat(np.arange(300), sizes), "label": labels, **models})
    table.to_csv(folder / "all.csv", index=False)
    return folder, sizes, labels, models


def arrays(folder, candidate, *more):
    judged = ("--labels", folder / "labels.npy", "--group", folder / "group.npy")
    return run(*judged, "--baseline", folder / "old.npy", "--candidate", folder / f"{candidate}.npy", *more)


@pytest.mark.parametrize(
    ("candidate", "code", "starts"),
    [("better", 0, "Ship better:"), ("worse", 3, "Do not ship worse:"), ("equal", 4, "Undecided about equal:")],
)
def test_sentence_code_and_json_are_those_of_against(files, tmp_path, candidate, code, starts):
    folder, sizes, labels, models = files
    found = arrays(folder, candidate, "--rope", 0.002, "--json", tmp_path / "gate.json")
    assert found.exit_code == code, found.stderr
    assert found.stdout.startswith(starts)
    assert found.stdout.count("\n") == 1
    content = json.loads((tmp_path / "gate.json").read_text())
    scores = {name: models[name] for name in ("old", candidate)}
    expected = gs.compare(scores, gs.Judgments(labels, group=sizes), METRICS).against("old", 0.002)
    assert (content["schema"], content["exit_code"], content["decision"]) == (1, code, expected.decisions[candidate])
    assert content["metrics"] == json.loads(json.dumps(expected.to_dict()["candidates"][candidate]["metrics"]))
    assert content["sentence"] == found.stdout.strip() == expected.sentence(candidate)
    assert (content["baseline"], content["candidate"], content["rope"]) == ("old", candidate, 0.002)


def test_a_table_of_columns_and_json_to_the_terminal(files):
    folder, *_ = files
    found = run("--table", folder / "all.csv", "--baseline", "old", "--candidate", "better", "--json", "-", "-m", "map")
    assert found.exit_code == 0, found.stderr
    content = json.loads(found.stdout)
    assert (content["decision"], list(content["metrics"])) == ("ship", ["map"])


def test_runs(tmp_path):
    rng = np.random.default_rng(1)
    qrels, runs = tmp_path / "qrels.txt", {"a": [], "b": []}
    lines = []
    for query in range(60):
        labels = rng.integers(0, 3, 8)
        lines += [f"{query} 0 d{at} {label}" for at, label in enumerate(labels)]
        for name, noise in (("a", 3), ("b", 0.1)):
            runs[name] += [(str(query), f"d{at}", label + noise * rng.normal()) for at, label in enumerate(labels)]
    qrels.write_text("\n".join(lines) + "\n")
    for name, table in runs.items():
        write_run(pd.DataFrame(table, columns=["query", "document", "score"]), tmp_path / f"{name}.txt")
    found = run("--qrels", qrels, "--baseline", tmp_path / "a.txt", "--candidate", f"new={tmp_path / 'b.txt'}")
    assert (found.exit_code, found.stdout.startswith("Ship new: against a ")) == (0, True)


@pytest.fixture(scope="module")
def recipes(files):
    """Labels with a fixed model, and three runs each of two recipes, as arrays and as columns."""
    folder, sizes, labels, models = files
    rng = np.random.default_rng(5)
    found = {"old": models["old"]}
    for name, spread in (("A", 1.0), ("B", 3.0)):
        found[name] = [labels + spread * rng.normal(size=len(labels)) for _ in range(3)]
        for number, scores in enumerate(found[name], 1):
            np.save(folder / f"{name}{number}.npy", scores)
    columns = {f"{name}{k}": scores for name in "AB" for k, scores in enumerate(found[name], 1)}
    query = np.repeat(np.arange(300), sizes)
    table = {"query": query, "label": labels, "session": query // 2, "old": models["old"], **columns}
    pd.DataFrame(table).to_csv(folder / "recipes.csv", index=False)
    return folder, gs.Judgments(labels, group=sizes), found


class TestRecipes:
    """Several runs of the baseline, of the candidate, or of both."""

    @pytest.mark.parametrize(("baseline", "candidate"), [("old", "A"), ("A", "old"), ("B", "A"), ("A", "B")])
    def test_are_decided_as_by_against(self, recipes, baseline, candidate):
        folder, judgments, scores = recipes

        def given(name, end):
            if isinstance(scores[name], list):
                start = "" if end == "" else f"{folder}/"
                return f"{name}=" + ",".join(f"{start}{name}{k}{end}" for k in (1, 2, 3))
            return name if end == "" else folder / f"{name}{end}"

        chosen = {name: scores[name] for name in (baseline, candidate)}
        expected = gs.compare(chosen, judgments, METRICS, vary="seed").against(baseline)
        for judged, end in (
            (("--labels", folder / "labels.npy", "--group", folder / "group.npy"), ".npy"),
            (("--table", folder / "recipes.csv"), ""),
        ):
            models = ("--baseline", given(baseline, end), "--candidate", given(candidate, end))
            found = run(*judged, *models, "--vary", "seed", "--json", "-")
            content = json.loads(found.stdout)
            assert (content["baseline"], content["candidate"]) == (baseline, candidate)
            assert content["sentence"] == expected.sentence(candidate)
            assert (content["runs"], content["vary"]) == (expected.runs, "seed")

    def test_clusters(self, recipes):
        folder, *_ = recipes
        models = ("--baseline", "old", "--candidate", "A=A1,A2,A3")
        found = run("--table", folder / "recipes.csv", *models, "--clusters", "session", "--json", "-")
        assert json.loads(found.stdout)["clusters"] == 150

    def test_what_is_wrong_is_said(self, recipes):
        folder, *_ = recipes
        old = ("--table", folder / "recipes.csv", "--baseline", "old")
        for candidate, message in (
            ("A1,A2,A3", "'A1,A2,A3' lists several runs: name the recipe, as NAME=FILE,FILE,FILE"),
            ("A=A1,A2", "model 'A' has 2 runs"),
            ("A=A1,A2,A9", "has no column 'A9'"),
        ):
            found = run(*old, "--candidate", candidate)
            assert (found.exit_code, found.stdout) == (1, "")
            assert message in found.stderr


class TestBadInput:
    """Never one of the three codes that mean something."""

    def refused(self, found, message):
        assert found.exit_code == 1
        assert message in found.stderr
        assert found.stdout == ""

    def test_files_and_settings(self, files, tmp_path):
        folder, *_ = files
        self.refused(arrays(folder, "old"), "name two different models")
        self.refused(arrays(folder, "nobody"), "there is no file")
        self.refused(arrays(folder, "better", "--rope", -1), "rope must be a finite difference of means, 0 or more")
        self.refused(arrays(folder, "better", "--json", tmp_path / "no" / "x.json"), "there is no folder")
        self.refused(arrays(folder, "better", *(f"-m{it}" for it in (*METRICS, "map"))), "one metric or two, got 3")
        alone = run(
            "--labels", folder / "labels.npy", "--baseline", folder / "old.npy", "--candidate", folder / "worse.npy"
        )
        self.refused(alone, "--labels and --group belong together")
        none = run("--baseline", folder / "old.npy", "--candidate", folder / "better.npy")
        self.refused(none, "give the judgments as one of --data, --qrels, --table and --labels")

    def test_sizes_that_do_not_fit(self, files, tmp_path):
        folder, *_ = files
        np.save(tmp_path / "group.npy", [3, 4])
        judged = ("--labels", folder / "labels.npy", "--group", tmp_path / "group.npy")
        found = run(*judged, "--baseline", folder / "old.npy", "--candidate", folder / "better.npy")
        self.refused(found, "--group")

    def test_a_model_has_nothing_to_predict_from(self, files, tmp_path):
        folder, *_ = files
        (tmp_path / "model.txt").write_text("tree\nversion=v4\n")
        judged = ("--labels", folder / "labels.npy", "--group", folder / "group.npy")
        found = run(*judged, "--baseline", folder / "old.npy", "--candidate", tmp_path / "model.txt")
        self.refused(found, "model")

    def test_a_missing_option_is_a_wrong_call(self):
        assert run("--baseline", "a.npy").exit_code == 2


def test_compare_reads_labels_and_sizes_too(files):
    folder, sizes, labels, models = files
    judged = ("--labels", folder / "labels.npy", "--group", folder / "group.npy")
    found = gainsay("compare", *judged, folder / "old.npy", "--json")
    expected = gs.compare({"old": models["old"]}, gs.Judgments(labels, group=sizes)).leaderboard
    assert json.loads(found.stdout)["leaderboard"]["old"]["map"] == expected.loc["old", "map"]
