"""The code of README.md runs, its picture shows the verdict, and a release turns its links into absolute ones."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

import lightgbm as lgb
import numpy as np
import pytest
import sklearn
import xgboost as xgb

import gainsay as gs
from gainsay._common.palette import DARK, LIGHT
from gainsay.data import simulate

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
CODE = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)


@pytest.fixture(scope="module")
def parts():
    return simulate(60, seed=1, mean_length=20).split_queries(0.5, 0.25, 0.25, seed=1)


def run(beginning, given, replaced=".run()", by=".run()"):
    """Run the block of code that begins like this, and return its variables."""
    (code,) = [code for code in CODE if code.startswith(beginning)]
    exec(code.replace(replaced, by), given)
    return given


def test_lightgbm(parts, capfd):
    train, valid, _ = parts
    train_set = lgb.Dataset(train.features, train.labels, group=train.group, params={"verbosity": -1})
    valid_set = train_set.create_valid(valid.features, valid.labels, group=valid.group)
    booster = run("import lightgbm", {"train_set": train_set, "valid_set": valid_set})["booster"]
    assert 0 < booster.best_iteration < 1000
    names = {"ndcg_linear@10", "ndcg_exp@10", "map@10", "mrr"}
    assert set(booster.best_score["valid_0"]) == names
    scores = booster.predict(valid.features, num_iteration=booster.best_iteration)
    assert gs.evaluate(sorted(names), valid.judgments(), scores).mean == pytest.approx(booster.best_score["valid_0"])


def test_xgboost(parts, capfd):
    train, valid, _ = parts
    dtrain, dvalid = (xgb.DMatrix(part.features, label=part.labels, qid=part.qid) for part in (train, valid))
    booster = run("import xgboost", {"dtrain": dtrain, "dvalid": dvalid})["booster"]
    assert 0 <= booster.best_iteration < 1000
    scores = booster.predict(dvalid, iteration_range=(0, booster.best_iteration + 1))
    assert gs.evaluate("mrr", valid.judgments(), scores).mean["mrr"] == pytest.approx(booster.best_score)


def side_by_side():
    """Rankings of six documents, and which of two was preferred."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 4, (100, 6))
    second = rng.permuted(first, axis=1)
    ahead = (first - second) @ (1 / np.log2(np.arange(2, 8))) + rng.logistic(size=100)
    return {"a": first, "b": second, "preferred": np.where(ahead > 0, "a", "b")}


def test_scikit_learn(parts):
    train, _, _ = parts
    given = {"grid": {"n_estimators": [2], "verbose": [-1]}, "X": train.features, "y": train.labels, "qid": train.qid}
    with sklearn.config_context(enable_metadata_routing=True):
        assert 0 < run("from gainsay.sklearn", given)["search"].best_score_ < 1


def test_evaluate_and_compare(parts, tmp_path, monkeypatch):
    test = parts[2]
    monkeypatch.chdir(tmp_path)
    noise = np.random.default_rng(1).normal(size=(2, len(test.labels)))
    np.savetxt("scores_b.csv", test.labels + noise[1], header="score", comments="")
    Path("qrels.txt").write_text("1 0 a 2\n1 0 b 0\n2 0 a 1\n")
    for name in ("run", "run_a"):
        Path(f"{name}.txt").write_text("1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n")
    Path("run_b.txt").write_text("1 Q0 b 1 2.0 t\n2 Q0 a 1 1.0 t\n")
    given = {
        "labels": test.labels,
        "sizes": test.group,
        "scores": noise[0],
        "scores_a": test.labels + noise[0],
        "preferences": side_by_side(),
    }
    assert run("import gainsay", given)["comparison"].models == ("A", "B")


def test_experiment(parts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train, valid, test = parts
    given = {"X": train.features, "y": train.labels, "sizes": train.group, "valid": valid, "test": test}
    run("from gainsay import Experiment", given, ").run()", ", num_boost_round=3).run(progress=False)")
    assert len(given["result"].candidates) == 8


def test_every_block_of_code_is_run():
    assert len(CODE) == 5


class TestReadmeForAnIndex:
    """A package index has no other file of the project, so a release contains absolute links."""

    @pytest.fixture
    def absolute(self):
        path = ROOT / "tools" / "readme_for_index.py"
        if not path.exists():
            pytest.skip("needs a checkout")
        return runpy.run_path(str(path))["with_absolute_links"]

    def test_links_of_the_readme_lead_to_the_same_files(self, absolute):
        links = [
            re.findall(r"\]\(([^)]+)\)|src(?:set)?=\"([^\"]+)", text) for text in (TEXT, absolute(TEXT, "S", "v1"))
        ]
        assert len(links[0]) > 20
        for old, new in zip(*(map("".join, found) for found in links), strict=True):
            kind = "raw" if old.endswith((".png", ".svg")) else "blob"
            assert new == (old if old.startswith(("https:", "#")) else f"S/{kind}/v1/{old}")

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("[a](b.md#c) [`d`](./e)", "[a](S/blob/v1/b.md#c) [`d`](S/blob/v1/e)"),
            ("![a](b.png)", "![a](S/raw/v1/b.png)"),
            ("[![a](b.png)](c.md)", "[![a](S/raw/v1/b.png)](S/blob/v1/c.md)"),
            ("[a](#b) [c](mailto:d@e) [f](//g)", "[a](#b) [c](mailto:d@e) [f](//g)"),
            (
                "`[a](b)` ``[`c`](d)``\n```\n[e](f)\n```\n[g](h)",
                "`[a](b)` ``[`c`](d)``\n```\n[e](f)\n```\n[g](S/blob/v1/h)",
            ),
            ('<img src="a.png"> <a href="b">', '<img src="S/raw/v1/a.png"> <a href="S/blob/v1/b">'),
        ],
    )
    def test_only_links_are_changed(self, absolute, text, expected):
        assert absolute(text, "S", "v1") == expected
        assert absolute(expected.replace("S/", "https://s/"), "S", "v2") == expected.replace("S/", "https://s/")


@pytest.fixture(scope="module")
def picture():
    """The script that draws the picture, its comparison, and the values that it draws."""
    script = runpy.run_path(str(ROOT / "docs" / "verdict_picture.py"))
    comparison = script["compared"]()
    return script, comparison, script["content"](comparison)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("narrow", [False, True])
def test_stored_picture_is_the_output_of_its_script(picture, theme, narrow):
    script, _, content = picture
    path = ROOT / "docs" / "_static" / f"hero-{'narrow-' * narrow}{theme.name}.svg"
    assert path.read_text(encoding="utf-8") == script["draw"](content, theme, narrow)
    assert content["alt"] in TEXT
    assert f"docs/_static/{path.name}" in TEXT


@pytest.mark.parametrize("narrow", [False, True])
def test_picture_shows_the_numbers_of_the_verdict(picture, narrow):
    script, comparison, content = picture
    verdict = comparison.verdict
    drawn = ElementTree.fromstring(script["draw"](content, LIGHT, narrow))
    texts = [node.text or "" for node in drawn.iter("{http://www.w3.org/2000/svg}text")]
    for metric in verdict.metrics:
        for model, regret in verdict.regrets[metric].items():
            assert "best" in texts if not regret else f"\u2212{regret:.3f}" in texts
            worst = max(by[model] for by in verdict.regrets_upper.values())
            assert any(f"{np.ceil(1000 * worst) / 1000:.3f} behind" in text for text in texts)
    assert (verdict.kind, verdict.safe_choice) == ("genuine", "blend")
    assert 0.024 < verdict.safe_regret_upper <= 0.025


def test_picture_shows_a_query_in_the_order_of_the_scores(picture):
    script, comparison, content = picture
    judgments = comparison.rankings.judgments
    (index,) = np.flatnonzero(judgments.query_ids == script["shown_query"](comparison))
    rows = slice(*np.cumsum([0, *judgments.sizes])[index : index + 2])
    for model, grades in content["grades"].items():
        order = np.argsort(-comparison.rankings.scores[model][rows])[:10]
        assert grades == judgments.labels[rows][order].tolist()
