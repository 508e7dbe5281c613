"""The guarantees of SECURITY.md."""

import ast
import contextlib
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import gainwise as gw
from gainwise.data import read_scores

SOURCE = Path(gw.__file__).parent
MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "subprocess", "code", "pty"}
CALLS = re.compile(
    r"(eval|exec|compile|__import__|os\.(system|popen|exec\w*|spawn\w*)|\w+\.(read_pickle|to_pickle|eval|query))"
)


def test_source_runs_no_code_from_files():
    """No module that runs code is imported, nothing is evaluated, and arrays are loaded without pickles."""
    nodes = ((path, node) for path in SOURCE.rglob("*.py") for node in ast.walk(ast.parse(path.read_text("utf-8"))))
    for path, node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [
                getattr(node, "module", None) or "",
                *(name.name for name in node.names if type(node) is ast.Import),
            ]
            assert not {name.partition(".")[0] for name in names} & MODULES
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            # re.compile compiles patterns, and tables of queries are the package's own.
            harmless = name == "re.compile" or name.startswith(("comparison.query", "self."))
            assert harmless or not CALLS.fullmatch(name), f"{path}, line {node.lineno}: {name}"
            options = {option.arg: ast.unparse(option.value) for option in node.keywords}
            assert options.get("allow_pickle", "False") == "False"
            assert "allow_pickle" in options or name not in ("np.load", "numpy.load")


class Opens:
    """An object whose unpickling creates a file."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (open, (str(self.mark), "w"))


class TestPickles:
    @pytest.mark.parametrize(
        ("name", "write"),
        [
            *((f"s{suffix}", np.save) for suffix in (".npy", ".npz")),
            *((f"s{suffix}", lambda file, array: np.savez(file, a=array)) for suffix in (".npy", ".npz")),
            ("s.npy", lambda file, array: file.write(pickle.dumps(array[0]))),
        ],
    )
    def test_in_arrays_are_not_opened(self, tmp_path, name, write):
        mark = tmp_path / "mark"
        with open(tmp_path / name, "wb") as file:
            write(file, np.array([Opens(mark)], dtype=object))
        with pytest.raises(ValueError, match="never loaded"):
            read_scores(tmp_path / name)
        assert not mark.exists()

    def test_in_the_schema_of_parquet_are_not_opened(self, tmp_path):
        """CVE-2023-47248: old versions unpickled the name of this Arrow extension type."""
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
