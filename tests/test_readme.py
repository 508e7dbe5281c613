"""What README.md shows runs, its pictures are there, and its links lead somewhere."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from markdown_it import MarkdownIt
from matplotlib.image import imread

import gainsay as gs
from gainsay.data import simulate

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
CODE = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)


@pytest.fixture(scope="module")
def parts():
    return simulate(60, seed=1, mean_length=20).split_queries(0.5, 0.25, 0.25, seed=1)


def example(beginning):
    (found,) = [code for code in CODE if code.startswith(beginning)]
    return found


def test_lightgbm(parts, capfd):
    train, valid, _ = parts
    train_set = lgb.Dataset(train.features, train.labels, group=train.group, params={"verbosity": -1})
    valid_set = train_set.create_valid(valid.features, valid.labels, group=valid.group)
    given = {"train_set": train_set, "valid_set": valid_set}
    code = example("import lightgbm")
    assert len(code.splitlines()) <= 12
    exec(code, given)
    booster = given["booster"]
    assert 0 < booster.best_iteration < 1000
    names = {"ndcg_linear@10", "ndcg_exp@10", "map@10", "mrr"}
    assert set(booster.best_score["valid_0"]) == names
    scores = booster.predict(valid.features, num_iteration=booster.best_iteration)
    assert gs.evaluate(sorted(names), valid.judgments(), scores).mean == pytest.approx(booster.best_score["valid_0"])


def test_xgboost(parts, capfd):
    train, valid, _ = parts
    dtrain, dvalid = (xgb.DMatrix(part.features, label=part.labels, qid=part.qid) for part in (train, valid))
    given = {"dtrain": dtrain, "dvalid": dvalid}
    code = example("import xgboost")
    assert len(code.splitlines()) <= 12
    exec(code, given)
    booster = given["booster"]
    assert 0 <= booster.best_iteration < 1000
    scores = booster.predict(dvalid, iteration_range=(0, booster.best_iteration + 1))
    assert gs.evaluate("mrr", valid.judgments(), scores).mean["mrr"] == pytest.approx(booster.best_score)


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
    }
    exec(example("import gainsay"), given)
    assert given["comparison"].models == ("A", "B")


def test_experiment(parts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = example("from gainsay import Experiment").replace(").run()", ", num_boost_round=3).run(progress=False)")
    train, valid, test = parts
    given = {"X": train.features, "y": train.labels, "sizes": train.group, "valid": valid, "test": test}
    exec(code, given)
    assert len(given["result"].candidates) == 8


def test_all_code_is_tested():
    assert len(CODE) == 4


def test_links_lead_somewhere():
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)|src(?:set)?=\"([^\":]+)\"", TEXT):
        assert (ROOT / "".join(link)).exists(), link


class TestForAnIndex:
    """The text that a release packs: package indexes hold no other file of the project."""

    SOURCE = "https://example.org/gainsay"

    @pytest.fixture
    def absolute(self):
        path = ROOT / "tools" / "readme_for_index.py"
        if not path.exists():
            pytest.skip("needs a checkout")
        return runpy.run_path(str(path))["with_absolute_links"]

    @staticmethod
    def links(text):
        """Targets of links and pictures, as a reader of Markdown finds them."""
        inline = [token for block in MarkdownIt().parse(text) for token in block.children or ()]
        html = [part for block in MarkdownIt().parse(text) if block.type == "html_block" for part in [block.content]]
        attributes = re.findall(r'(?:src|srcset|href)="([^"]+)"', "".join(html))
        return [str(one.attrs[at]) for one in inline for at in ("href", "src") if at in one.attrs] + attributes

    def test_every_link_is_absolute_and_leads_to_the_same_file(self, absolute):
        before, after = self.links(TEXT), self.links(absolute(TEXT, self.SOURCE, "v1"))
        assert len(before) > 20
        for old, new in zip(before, after, strict=True):
            kind = "raw" if old.endswith(".png") else "blob"
            assert new == (old if old.startswith(("https:", "#")) else f"{self.SOURCE}/{kind}/v1/{old}")
            assert new.startswith(("https:", "#"))

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
    def test_what_is_a_link(self, absolute, text, expected):
        assert absolute(text, "S", "v1") == expected
        assert absolute(expected.replace("S/", "https://s/"), "S", "v2") == expected.replace("S/", "https://s/")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_are_small_and_of_their_theme(theme):
    path = ROOT / "docs" / "_static" / f"verdict-{theme}.png"
    assert path.stat().st_size < 150_000
    corner = imread(path)[0, 0, :3].mean()
    assert corner > 0.9 if theme == "light" else corner < 0.2


def test_the_verdict_is_the_one_that_the_script_finds():
    script = runpy.run_path(str(ROOT / "docs" / "verdict_picture.py"))
    shown = re.search(r"The verdict that belongs to this picture, in full: \*(.*?)\*", TEXT, flags=re.DOTALL)
    assert " ".join(shown.group(1).split()) == script["compared"]().verdict.text
