"""What SECURITY.md promises."""

from __future__ import annotations

import ast
import contextlib
import gzip
import json
import pickle
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gainsay as gs
from gainsay.data import read_lightgbm, read_scores
from gainsay.experiment import Experiment
from gainsay.experiment.candidates import grid

SOURCE = Path(gs.__file__).parent
TREES = {path.relative_to(SOURCE): ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


def calls(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


class TestNothingInAFileIsRun:
    def test_no_module_that_runs_code_or_commands_is_imported(self):
        refused = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "subprocess", "code", "pty"}
        for path, tree in TREES.items():
            for node in ast.walk(tree):
                names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                assert not {name.partition(".")[0] for name in names} & refused, path

    def test_nothing_is_evaluated_and_no_shell_is_started(self):
        refused = re.compile(
            r"(eval|exec|compile|__import__|os\.(system|popen|exec\w*|spawn\w*)|\w+\.(read_pickle|to_pickle|eval|query))"
        )
        for path, tree in TREES.items():
            for name, call in calls(tree):
                # re.compile compiles patterns, and tables of queries are our own
                harmless = name == "re.compile" or name.startswith(("comparison.query", "self."))
                assert harmless or not refused.fullmatch(name), f"{path}:{call.lineno} {name}"

    def test_arrays_are_never_loaded_with_pickles(self):
        for path, tree in TREES.items():
            for name, call in calls(tree):
                options = {option.arg: ast.unparse(option.value) for option in call.keywords}
                assert options.get("allow_pickle", "False") == "False", path
                if name in ("np.load", "numpy.load"):
                    assert options["allow_pickle"] == "False", path

    @pytest.mark.parametrize("write", [np.save, lambda path, array: np.savez(path, a=array)])
    @pytest.mark.parametrize("suffix", [".npy", ".npz"])
    def test_a_pickle_in_an_array_is_not_opened(self, tmp_path, write, suffix):
        mark = tmp_path / "mark"
        with open(tmp_path / f"scores{suffix}", "wb") as file:
            write(file, np.array([Opens(mark)], dtype=object))
        with pytest.raises(ValueError, match="Python objects, which are never loaded"):
            read_scores(tmp_path / f"scores{suffix}")
        assert not mark.exists()

    def test_a_bare_pickle_is_not_opened(self, tmp_path):
        mark = tmp_path / "mark"
        (tmp_path / "scores.npy").write_bytes(pickle.dumps(Opens(mark)))
        with pytest.raises(ValueError, match="Python objects, which are never loaded"):
            read_scores(tmp_path / "scores.npy")
        assert not mark.exists()

    def test_a_pickle_in_the_schema_of_parquet_is_not_opened(self, tmp_path):
        """CVE-2023-47248: the name of an extension type of Arrow that old versions unpickled."""
        pa = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        mark = tmp_path / "mark"
        about = {"name": "arrow.py_extension_type", "metadata": pickle.dumps(Opens(mark))}
        about = {f"ARROW:extension:{key}": value for key, value in about.items()}
        field = pa.field("a", pa.float64(), metadata=about)
        parquet.write_table(pa.table([pa.array([0.5])], schema=pa.schema([field])), tmp_path / "s.parquet")
        with contextlib.suppress(ValueError):
            assert read_scores(tmp_path / "s.parquet").tolist() == [0.5]
        assert not mark.exists()


class Opens:
    """An object whose unpickling creates a file."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (open, (str(self.mark), "w"))


class TestFilesThatUnfold:
    LIMIT = 10_000

    def stopped(self, path, **options):
        with pytest.raises(ValueError, match=rf"{re.escape(str(path))}.* max_bytes=10000") as found:
            read_scores(path, max_bytes=self.LIMIT, **options)
        assert "raise max_bytes" in str(found.value)

    def test_gzip(self, tmp_path):
        (tmp_path / "s.csv").write_bytes(gzip.compress(b"0\n" * 1_000_000))
        self.stopped(tmp_path / "s.csv")
        assert len(read_scores(tmp_path / "s.csv")) == 1_000_000

    @pytest.mark.parametrize(("name", "write"), [("s.npy", np.save), ("s.npz", np.savez_compressed)])
    def test_numpy(self, tmp_path, name, write):
        write(tmp_path / name, np.zeros(100_000))
        self.stopped(tmp_path / name)
        assert len(read_scores(tmp_path / name)) == 100_000

    def test_an_array_that_promises_more_than_there_is(self, tmp_path):
        np.save(tmp_path / "s.npy", np.zeros(3))
        content = (tmp_path / "s.npy").read_bytes().replace(b"(3,), }         ", b"(300000000,), }")
        (tmp_path / "s.npy").write_bytes(content)
        with pytest.raises(ValueError, match=r"s\.npy: (cut short|no file of NumPy arrays)"):
            read_scores(tmp_path / "s.npy")

    def test_parquet(self, tmp_path):
        pytest.importorskip("pyarrow")
        pd.DataFrame({"a": np.zeros(1_000_000)}).to_parquet(tmp_path / "s.parquet", compression="zstd")
        assert (tmp_path / "s.parquet").stat().st_size < self.LIMIT
        self.stopped(tmp_path / "s.parquet")
        assert len(read_scores(tmp_path / "s.parquet")) == 1_000_000

    def test_group_sizes_and_weights_of_more_rows_than_there_are(self, tmp_path):
        data = tmp_path / "d"
        data.write_bytes(b"1 1:1\n0 1:1\n")
        (tmp_path / "d.query").write_bytes(gzip.compress(b"1\n" * 1_000_000))
        with pytest.raises(ValueError, match=r"d\.query, line 3: more group sizes than the 2 documents of"):
            read_lightgbm(data)
        (tmp_path / "d.query").write_bytes(b"2\n")
        (tmp_path / "d.weight").write_bytes(gzip.compress(b"1\n" * 1_000_000))
        with pytest.raises(ValueError, match=r"d\.weight, line 3: more weights than the 2 documents of"):
            read_lightgbm(data)

    def test_one_long_query_id(self, tmp_path):
        """Ids stand in one array in which all take as much room as the longest: 10 MB of text would take 400 GB."""
        ids = b"".join(b"0 qid:%d\n" % number for number in range(2000))
        (tmp_path / "d").write_bytes(b"0 qid:" + b"x" * 100_000 + b" 1:1\n" + ids)
        with pytest.raises(ValueError, match="2001 query ids need 800400000 bytes, more than max_bytes=1000000"):
            gs.data.read_letor(tmp_path / "d", max_bytes=1_000_000)

    def test_grids(self):
        with pytest.raises(ValueError, match="make 1000000 candidates, more than 100000"):
            grid("a", "lightgbm", {f"p{place}": list(range(10)) for place in range(6)})

    def test_experiment_files(self, tmp_path):
        (tmp_path / "e.toml").write_bytes(b"a = 1 #" + b"x" * 2**20)
        with pytest.raises(ValueError, match=r"e\.toml: larger than 1048576 bytes"):
            Experiment.from_toml(tmp_path / "e.toml")
        (tmp_path / "e.toml").write_bytes(b"a = " + b"[" * 5000)
        with pytest.raises(ValueError, match=r"e\.toml: not TOML: .*nested too deeply"):
            Experiment.from_toml(tmp_path / "e.toml")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The directory of a finished experiment, nothing of it trained; not to be changed."""
    pytest.importorskip("pyarrow")
    from fuzz import experiment_parts

    directory = tmp_path_factory.mktemp("finished") / "run"
    shutil.copytree(experiment_parts._WHOLE, directory)
    return directory


class TestAnExperimentStaysInItsDirectory:
    @pytest.fixture
    def copy(self, finished, tmp_path):
        return shutil.copytree(finished, tmp_path / "copy")

    def unit(self, directory):
        return next((directory / "candidates").iterdir())

    def test_it_loads_as_it_is(self, copy):
        assert Experiment.load(copy).candidates == ("a",)

    @pytest.mark.parametrize(
        "name",
        ["/etc/passwd", "../../experiment.json", "model.txt/../../x", "sub/model.txt", "..", "C:\\model.txt", "\0"],
    )
    def test_names_in_a_manifest_are_never_paths(self, copy, name, monkeypatch):
        from gainsay.experiment.storage import sealed

        file = self.unit(copy) / "manifest.json"
        manifest = json.loads(file.read_text())
        del manifest["sha256"]
        manifest["files"][name] = manifest["files"].pop("arrays.npz")
        file.write_bytes(sealed(manifest))
        opened = []
        read = Path.read_bytes
        monkeypatch.setattr(Path, "read_bytes", lambda path: opened.append(path) or read(path))
        with (
            pytest.warns(UserWarning, match=r"arrays\.npz is not as it was written"),
            pytest.raises(RuntimeError, match="no candidate is finished"),
        ):
            Experiment.load(copy)
        assert {path.name for path in opened} <= {"experiment.json", "manifest.json", "all-rounds.txt", "arrays.npz"}
