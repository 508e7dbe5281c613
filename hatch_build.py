"""Compiles `src/gainsay/_kernel` into the wheel; where there is no compiler, the wheel is complete without.

An editable installation has the library beside its source. It is no module of Python, so that one wheel serves every
version. `HATCH_BUILD_NO_HOOKS=true`, an option of hatchling, builds the wheel for any platform where a compiler is.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

if TYPE_CHECKING:
    from collections.abc import Iterable

PLACE = "gainsay/_kernel"
NAME = "_gainsay_kernel"
LIBRARY = f"{NAME}.dll" if sys.platform == "win32" else f"{NAME}.so"
FLAGS = {
    # The same bits on every machine: no product and sum become one instruction that rounds once.
    "unix": ["-std=c++17", "-O3", "-ffp-contract=off", "-fvisibility=hidden", "-g0", "-pthread"],
    "msvc": ["/std:c++17", "/O2", "/fp:precise", "/EHsc", "/MT"],  # MT: Windows has C++'s own library not everywhere
}


class CompiledCore(BuildHookInterface[Any]):
    """What hatchling calls before and after it builds a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and say what the wheel holds and where it runs."""
        self.folder = Path(tempfile.mkdtemp())
        source = Path(self.root, "src", PLACE)
        beside = source / LIBRARY
        try:
            if version == "editable":
                beside.unlink(missing_ok=True)  # of older source
            built = compiled(source.glob("*.cpp"), self.folder)
            if version == "editable":
                shutil.copyfile(built, beside)
        except Exception as error:  # whatever keeps it from being built: gainsay is whole without
            self.app.display_warning(f"gainsay is built without its compiled core, and computes in NumPy: {error}")
            return
        if version != "editable":
            build_data["force_include"][str(built)] = f"{PLACE}/{LIBRARY}"
            build_data["pure_python"] = False
            platform = self.build_config.builder.get_best_matching_tag().split("-")[-1]
            build_data["tag"] = f"py3-none-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Take away what was compiled."""
        shutil.rmtree(self.folder, ignore_errors=True)


def compiled(sources: Iterable[Path], folder: Path) -> Path:
    """Return the library that the compiler of this Python, or of CC and CXX, makes of the sources."""
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    class Library(build_ext):
        """Builds a plain library, which Python neither names nor initialises."""

        def build_extensions(self) -> None:
            for one in self.extensions:
                one.extra_compile_args = FLAGS.get(self.compiler.compiler_type, FLAGS["unix"])
                one.extra_link_args = [] if self.compiler.compiler_type == "msvc" else ["-pthread"]
            super().build_extensions()

        def get_ext_filename(self, fullname: str) -> str:
            return LIBRARY

        def get_export_symbols(self, ext: Extension) -> list[str]:
            return []

        def get_libraries(self, ext: Extension) -> list[str]:
            return []

    core = Extension(NAME, sorted(map(str, sources)), language="c++")
    command = Library(Distribution({"name": NAME, "ext_modules": [core]}))
    command.build_lib, command.build_temp = str(folder), str(folder / "objects")
    command.ensure_finalized()
    command.run()
    return folder / LIBRARY
