"""`gainwise demo`: three numbers of one ranking, a genuine disagreement, and four trained candidates."""

import json
import re
import shlex

import numpy as np
import pytest
from sklearn.metrics import ndcg_score
from tests.cli.shell import gainwise, output_of

import gainwise as gw
from gainwise.cli import experiments

pytestmark = pytest.mark.slow


def test_genuine_with_any_seed():
    verdict = experiments.compare_rankers(2**31 - 1).verdict
    assert (verdict.kind, verdict.safe_choice) == ("genuine", "blend")


def test_the_numbers_of_one_ranking_are_those_of_the_definitions():
    numbers, grades = experiments.compute_numbers(), np.array(experiments.RANKING)
    ranks = np.arange(1, 11)
    by_jk = np.where(ranks < 2, 1, 1 / np.log2(np.maximum(ranks, 2)))
    assert numbers["ndcg_linear@10"] == pytest.approx(ndcg_score([grades], [-ranks]))
    assert numbers["ndcg_exp@10"] == pytest.approx(ndcg_score([2.0**grades - 1], [-ranks]))
    assert numbers["ndcg_jk@10"] == pytest.approx(grades @ by_jk / (np.sort(grades)[::-1] @ by_jk))


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """The result of the command, and the folder with the report."""
    folder = tmp_path_factory.mktemp("demo of mine")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiments, "RANKER_QUERIES", 3000)
        for name, number in (("TRAIN", 40), ("VALID", 30), ("TEST", 60)):
            patch.setattr(experiments, name, number)
        return gainwise("demo --rounds 2 --seed 5 --directory", folder), folder


class TestDemo:
    def test_has_three_parts_in_order(self, outputs):
        shown, folder = outputs
        assert shown.exit_code == 0
        parts = re.split(r"(?m)^(?=\d  |Next$)", shown.stdout)[1:]
        assert [part[:3].strip() for part in parts] == ["1", "2", "3", "Nex"]
        assert re.findall(r"0\.\d\d\b", parts[0]) == [
            f"{value:.2f}" for value in experiments.compute_numbers().values()
        ]
        assert all(name in parts[1] for name in ("fair", "blend", "excellent"))
        assert "60 test queries" in parts[2]
        content = json.loads((folder / "report.json").read_text("utf-8"))
        for metric in content["verdict"]["metrics"]:
            assert f"{content['verdict']['means'][metric][content['winners'][metric]]:.4f}" in parts[2]

    def test_trains_four_candidates(self, outputs):
        lines = [line for line in outputs[0].stderr.splitlines() if line.startswith("[")]
        assert len(lines) == 4
        for number, line in enumerate(lines, start=1):
            assert re.match(rf"\[{number}/4\] (lgb|xgb) gain=\w+  .* 0\.\d{{4}} @\d+ .* 0\.\d{{4}} @\d+", line)

    def test_the_report_begins_with_the_trained_candidates(self, outputs):
        folder = outputs[1]
        page = (folder / "report.html").read_text("utf-8")
        trained, definitions = page.split('<section id="definitions">')
        assert "lgb gain=exponential" in trained
        assert "seed 5" in trained
        assert all(f"<bdi>{name}</bdi>" in definitions for name in ("fair", "excellent", "blend"))
        content = json.loads((folder / "report.json").read_text("utf-8"))
        assert len(content["models"]) == 4
        assert content["appendices"]["definitions"]["verdict"]["safe_choice"] == "blend"

    def test_the_next_commands_work(self, outputs, files, tmp_path, monkeypatch):
        first, compare, run, callback = outputs[0].stdout.partition("Next\n")[2].splitlines()[:4]
        command = shlex.split(first)
        assert command[0] == "gainwise"
        assert gainwise("", *command[1:-1]).exit_code == 0  # without --open
        monkeypatch.chdir(tmp_path)
        labels = files.data.labels
        lines = zip(labels, files.data.qid, strict=True)
        (tmp_path / "valid.txt").write_text("".join(f"{label:g} qid:{query} 1:0\n" for label, query in lines))
        for name in ("old", "new"):
            np.savetxt(tmp_path / f"{name}.txt", labels + np.random.default_rng(len(name)).normal(size=len(labels)))
        output_of(compare.strip().partition("   ")[0].removeprefix("gainwise "))
        assert run.split()[:2] == ["gainwise", "run"]
        assert "callbacks=[gainwise.lightgbm.Curves()]" in callback
        assert gw.lightgbm.Curves
