"""`gainwise demo`: a genuine disagreement with any seed, and eight candidates."""

from __future__ import annotations

import json
import re

import pytest
from tests.cli.shell import gainwise

from gainwise.cli import experiments

pytestmark = pytest.mark.slow


def test_genuine_with_any_seed():
    verdict = experiments.compare_rankers(2**31 - 1).verdict
    assert (verdict.kind, verdict.safe_choice) == ("genuine", "blend")


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """The result of the command, and the folder with the report."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiments, "RANKER_QUERIES", 3000)
        return gainwise("demo --queries 30 --rounds 2 --seed 5 --directory", folder), folder


@pytest.mark.slow
class TestDemo:
    def test_trains_eight_candidates(self, outputs):
        shown, folder = outputs
        assert shown.exit_code == 0
        content = json.loads((folder / "report.json").read_text("utf-8"))["appendices"]["candidates"]
        for metric in content["verdict"]["metrics"]:
            assert f"{content['verdict']['means'][metric][content['winners'][metric]]:.4f}" in shown.stdout
        assert shown.stdout.index("blend") < shown.stdout.index("xgb max_depth=3 gain=exponential")
        lines = [line for line in shown.stderr.splitlines() if line.startswith("[")]
        assert len(lines) == 8
        for number, line in enumerate(lines, start=1):
            assert re.match(rf"\[{number}/8\] (lgb|xgb) .* 0\.\d{{4}} @\d+ .* 0\.\d{{4}} @\d+", line)

    def test_one_report_has_both(self, outputs):
        folder = outputs[1]
        page = (folder / "report.html").read_text("utf-8")
        rankers, candidates = page.split('<section id="candidates">')
        assert all(f"<bdi>{name}</bdi>" in rankers for name in ("fair", "excellent", "blend"))
        assert "xgb max_depth=3 gain=exponential" in candidates
        assert "seed 5" in page
        content = json.loads((folder / "report.json").read_text("utf-8"))
        assert content["verdict"]["safe_choice"] == "blend"
        assert len(content["appendices"]["candidates"]["models"]) == 8
