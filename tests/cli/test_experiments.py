"""`gainwise run` and `gainwise report`: an experiment from a file."""

import re
import shutil

import pytest
from tests.cli.shell import gainwise, json_of, output_of

pytestmark = pytest.mark.slow

TOML = """
    metrics = ["ndcg_linear@5", "ndcg_exp@5", "mrr"]
    num_boost_round = 4

    [data]
    simulate = {{ queries = 40, seed = 1{split} }}
    {folds}

    [[candidates]]
    name = "lgb"
    library = "lightgbm"
    params = {{ num_leaves = {leaves} }}
    training_gain = {gains}
"""


def write(path, *, split=", split = [0.5, 0.25, 0.25]", folds="", leaves=7, gains='"linear"'):
    path.write_text(TOML.format(split=split, folds=folds, leaves=leaves, gains=gains))
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The file of an experiment, its directory, and the printed text. Tests do not change them."""
    folder = tmp_path_factory.mktemp("run")
    path = write(folder / "experiment.toml", gains='["linear", "exponential"]')
    return path, folder / "kept", gainwise("run", path, "--directory", folder / "kept")


@pytest.fixture
def copied(trained, tmp_path):
    path, kept, _ = trained
    shutil.copytree(kept, tmp_path / "kept")
    return path, tmp_path / "kept"


def test_trains_once_and_reads_the_rest_back(trained):
    path, kept, shown = trained
    assert shown.exit_code == 0
    models = {file: file.stat().st_mtime_ns for file in (kept / "candidates").rglob("*") if file.is_file()}
    content = json_of("run --jobs 2", path, "--directory", kept)
    assert models == {file: file.stat().st_mtime_ns for file in models}
    assert {rounds["candidate"] for rounds in content["best_rounds"]} == {"lgb gain=linear", "lgb gain=exponential"}
    for rounds in content["best_rounds"]:
        assert re.search(rf"{rounds['ndcg_linear@5']} +{rounds['ndcg_exp@5']} +{rounds['mrr']}", shown.stdout)


def test_the_report_can_be_written_again(trained, tmp_path):
    _, kept, _ = trained
    first = (kept / "report.html").read_text()
    assert '<section id="full">' in first
    output_of("report", kept, "--output", tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == first


def test_folds(tmp_path):
    path = write(tmp_path / "folds.toml", split="", folds="k_folds = 3")
    content = json_of("run", path, "--directory", tmp_path / "kept")["best_rounds"]
    assert [rounds["fold"] for rounds in content] == ["fold 1", "fold 2", "fold 3"]
    assert list(content[0]) == ["candidate", "fold", "ndcg_linear@5", "ndcg_exp@5", "mrr"]
    shown = output_of("run", path, "--directory", tmp_path / "kept")
    assert re.search(rf"lgb +fold 1 +{content[0]['ndcg_linear@5']}", shown)


def test_names_what_is_not_finished(copied):
    _, kept = copied
    shutil.rmtree(min((kept / "candidates").iterdir()))
    result = gainwise("report", kept)
    assert result.exit_code == 1
    assert re.search(r"is not complete.*lgb gain=\w+ \(.*its folder is missing.*allow.incomplete", result.stderr)
    result = gainwise("report", kept, "--allow-incomplete")
    assert result.exit_code == 0
    assert re.search(r"lgb gain=\w+ \(.*its folder is missing", result.stderr)
    assert re.search(r"lgb gain=\w+ \(.*its folder is missing", (kept / "report.html").read_text())


def test_names_why_each_failed_on_one_line(tmp_path):
    path = write(tmp_path / "broken.toml", leaves=1)
    result = gainwise("run", path, "--directory", tmp_path / "kept")
    assert result.exit_code == 1
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("gainwise: ")]
    assert "lgb: " in line
    assert "num_leaves" in line
    assert "Traceback" not in result.stderr


def test_warnings_are_one_line(copied):
    path, kept = copied
    next(kept.rglob("arrays.npz")).write_bytes(b"damaged")
    result = gainwise("run", path, "--directory", kept)
    assert re.search(r"(?m)^gainwise: warning: .* trained again$", result.stderr)
    assert ".py:" not in result.stderr
