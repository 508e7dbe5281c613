"""Where results go, and what draws them, is tried before the work."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from tests.cli.shell import gainsay as run

from gainsay._common.outputs import check_output
from gainsay.harness import Comparison

root = pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")

LONG = "x" * 5000


def bad_paths(folder):
    (folder / "file").write_text("")
    (folder / "folder").mkdir()
    (folder / "nowhere").symlink_to(folder / "gone" / "r.html")
    (folder / "circle").symlink_to(folder / "circle")
    return {
        "a folder": (folder / "folder", IsADirectoryError, "is a folder; name a file in it"),
        "no folder": (folder / "none" / "r.html", FileNotFoundError, "there is no folder .*none'; make it"),
        "below a file": (folder / "file" / "r.html", NotADirectoryError, "file' is no folder; name another"),
        "a link to nowhere": (folder / "nowhere", FileNotFoundError, "there is no folder .*gone'; make it"),
        "a link to itself": (folder / "circle", OSError, "cannot be written: .*; name another"),
        "too long": (folder / LONG, OSError, "cannot be written: File name too long; name another"),
        "a null": (folder / "a\0b", ValueError, "is no name of a file"),
    }


CASES = ["a folder", "no folder", "below a file", "a link to nowhere", "a link to itself", "too long", "a null"]


class TestPaths:
    @pytest.mark.parametrize("case", CASES)
    def test_refused_in_one_line(self, case, tmp_path):
        path, error, message = bad_paths(tmp_path)[case]
        with pytest.raises(error, match=f"^path .*{message}") as raised:
            check_output("path", path)
        assert "\n" not in str(raised.value)

    def test_what_can_be_written_is_left_alone(self, tmp_path):
        (tmp_path / "there").write_text("old")
        (tmp_path / "link").symlink_to(tmp_path / "new")
        for name in ("there", "new", "link"):
            assert check_output("path", tmp_path / name) == tmp_path / name
        assert (tmp_path / "there").read_text() == "old"
        assert not (tmp_path / "new").exists()
        assert str(check_output("path", os.devnull)) == os.devnull

    @root
    def test_permissions(self, tmp_path):
        (tmp_path / "file").write_text("")
        (tmp_path / "file").chmod(0o444)
        with pytest.raises(PermissionError, match="may not be written; change its permissions"):
            check_output("path", tmp_path / "file")
        (tmp_path / "closed").mkdir(mode=0o555)
        with pytest.raises(PermissionError, match="its folder may not be written to"):
            check_output("path", tmp_path / "closed" / "r.html")

    def test_permissions_are_asked_for(self, tmp_path, monkeypatch):
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        with pytest.raises(PermissionError, match="its folder may not be written to"):
            check_output("path", tmp_path / "r.html")
        (tmp_path / "r.html").write_text("")
        with pytest.raises(PermissionError, match="may not be written; change its permissions"):
            check_output("path", tmp_path / "r.html")


@pytest.fixture
def idle(monkeypatch):
    """Let a comparison fail as soon as anything is worked out."""

    def work(*arguments, **options):
        raise AssertionError("the work was begun")

    comparison = Comparison({"x": np.zeros((40, 2)), "y": np.zeros((40, 2))}, ["a", "b"])
    monkeypatch.setattr("gainsay.comparison.findings.leaderboard_of", work)
    monkeypatch.setattr("gainsay.comparison.findings.pairs_of", work)
    monkeypatch.setattr("gainsay.comparison.findings.Verdict.of", work)
    return comparison


class TestFromPython:
    @pytest.mark.parametrize("method", ["to_html", "to_markdown", "to_json"])
    @pytest.mark.parametrize("case", CASES)
    def test_before_anything_is_worked_out(self, idle, method, case, tmp_path):
        path, error, message = bad_paths(tmp_path)[case]
        with pytest.raises(error, match=message):
            getattr(idle, method)(path)

    def test_the_work_is_begun_where_all_is_well(self, idle, tmp_path):
        for method in ("to_html", "to_markdown", "to_json"):
            with pytest.raises(AssertionError, match="the work was begun"):
                getattr(idle, method)(tmp_path / "report")


@pytest.fixture
def judged(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{rng.integers(0, 3)} qid:{query} 1:{rng.random():.3f}" for query in range(20) for _ in range(5)]
    (tmp_path / "data.txt").write_text("\n".join(lines) + "\n")
    np.save(tmp_path / "a.npy", rng.random(100))
    return ["compare", "--data", str(tmp_path / "data.txt"), str(tmp_path / "a.npy")]


class TestCommandLine:
    @pytest.mark.parametrize("option", ["--html", "--markdown"])
    @pytest.mark.parametrize("case", ["a folder", "no folder", "below a file", "too long"])
    def test_before_the_data_are_read(self, judged, option, case, tmp_path, monkeypatch):
        def read(*arguments):
            raise AssertionError("the data were read")

        monkeypatch.setattr("gainsay.cli.inputs.read_data", read)
        path, _, _ = bad_paths(tmp_path)[case]
        result = run(*judged, option, path)
        assert result.exit_code == 1
        assert result.stderr.startswith("gainsay: the ")
        assert result.stderr.count("\n") == 1
        assert not result.stdout

    def test_a_markdown_report(self, judged, tmp_path):
        result = run(*judged, "--markdown", tmp_path / "r.md")
        assert result.exit_code == 0, result.stderr
        head, _, question = (tmp_path / "r.md").read_text().splitlines()[:3]
        assert head.startswith("# ")
        assert question.startswith(r"Do ndcg\_linear@10 and ndcg\_exp@10 disagree")
        assert "Report: " in result.stderr

    def test_the_report_of_an_experiment_before_it_is_loaded(self, tmp_path, monkeypatch):
        monkeypatch.setattr("gainsay.experiment.Experiment.load", lambda directory: pytest.fail("it was loaded"))
        result = run("report", tmp_path, "-o", tmp_path / "none" / "r.html")
        assert result.exit_code == 1
        assert "there is no folder" in result.stderr
        (tmp_path / "report.html").mkdir()
        result = run("report", tmp_path)
        assert result.exit_code == 1
        assert "report.html is a folder, where an experiment keeps a file: remove it" in result.stderr

    def test_before_an_experiment_is_trained(self, tmp_path, monkeypatch):
        monkeypatch.setattr("gainsay.cli.demo.run", lambda *a, **o: pytest.fail("it was trained"))
        (tmp_path / "report.html").mkdir()
        result = run("demo", "--queries", 10, "--rounds", 1, "--directory", tmp_path)
        assert result.exit_code == 1
        assert "report.html is a folder, where an experiment keeps a file: remove it" in result.stderr


def without(package, code):
    """Run code in a process in which a package is not installed."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.modules[{package!r}] = None\n{code}"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


TINY = """
import gainsay as gs
c = gs.compare({'a': [2, 1, 1, 2], 'b': [1, 2, 2, 1]}, gs.Judgments([1, 0, 1, 0], group=[2, 2]), ['mrr', 'map'])
for call in CALLS:
    try:
        exec(call)
    except ImportError as error:
        print(error)
"""
MATPLOTLIB = "pictures need Matplotlib: pip install 'gainsay[report]'"
JINJA = "reports need Jinja2: pip install 'gainsay[report]'"


class TestAbsentPackages:
    @pytest.mark.parametrize(
        ("package", "said"),
        [
            (
                "matplotlib",
                {
                    "c.plot.regret()": MATPLOTLIB,
                    "import tempfile; print(c.to_html(tempfile.mkdtemp() + '/r.html').name)": "r.html",
                    "import gainsay.report.plots.labels": MATPLOTLIB,
                    "from gainsay.report.plots import plot_explain": MATPLOTLIB,
                    "print(len(c.to_markdown()) > 0 and len(c.to_json()) > 0)": "True",
                },
            ),
            ("jinja2", {"c.to_html('/tmp')": JINJA, "c.plot.regret(); print('drawn')": "drawn"}),
        ],
    )
    def test_one_line_that_names_the_extra(self, package, said):
        """All calls in one process: what a call has imported before it failed may not help the next."""
        code, out, err = without(package, TINY.replace("CALLS", repr(list(said))))
        assert (code, out.splitlines(), err) == (0, list(said.values()), "")

    @pytest.mark.parametrize(("package", "said"), [("jinja2", JINJA)])
    def test_on_the_command_line_before_the_data_are_read(self, package, said, tmp_path):
        (tmp_path / "data.txt").write_text("this is no data")
        arguments = ["gainsay", "compare", "--data", str(tmp_path / "data.txt"), "a.npy", "--html", "r.html"]
        code, out, err = without(package, f"sys.argv = {arguments!r}\nfrom gainsay.cli import main; main()")
        assert (code, out, err) == (1, "", f"gainsay: {said}\n")

    def test_an_experiment_says_so_before_it_trains_and_goes_on(self, tmp_path):
        arguments = ["gainsay", "demo", "--queries", "12", "--rounds", "1", "--directory", str(tmp_path / "kept")]
        code, out, err = without("jinja2", f"sys.argv = {arguments!r}\nfrom gainsay.cli import main; main()")
        assert code == 0, err
        assert err.startswith(f"no HTML report: {JINJA}\n")
        assert "behind the best" in out
        assert not (tmp_path / "kept" / "report.html").exists()
