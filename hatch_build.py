"""Compile `src/gainwise/_kernel` into the wheel. Without a compiler, the wheel works without the core.

In an editable installation, the library is next to its source. It is not a Python module, so one wheel serves every
Python version. `HATCH_BUILD_NO_HOOKS=true`, an option of hatchling, builds a pure Python wheel for any platform.
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

PLACE = "gainwise/_kernel"
NAME = "_gainwise_kernel"
LIBRARY = f"{NAME}.dll" if sys.platform == "win32" else f"{NAME}.so"
FLAGS = {
    # Fused multiply-add instructions would give other bits.
    "unix": ["-std=c++17", "-O3", "-ffp-contract=off", "-fvisibility=hidden", "-g0", "-pthread"],
    "msvc": ["/std:c++17", "/O2", "/fp:precise", "/EHsc", "/MT"],  # MT: the C++ runtime may be missing on Windows
}


class CompiledCore(BuildHookInterface[Any]):
    """Hook that hatchling calls before and after it builds a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the core, and set the content and the platform of the wheel."""
        self.folder = Path(tempfile.mkdtemp())
        source = Path(self.root, "src", PLACE)
        editable_library = source / LIBRARY
        try:
            if version == "editable":
                editable_library.unlink(missing_ok=True)  # It may be older than the source.
            library = compile_core(source.glob("*.cpp"), self.folder)
            if version == "editable":
                shutil.copyfile(library, editable_library)
        except Exception as error:  # gainwise works without the core.
            self.app.display_warning(f"gainwise is built without its compiled core and uses NumPy: {error}")
            return
        if version != "editable":
            build_data["force_include"][str(library)] = f"{PLACE}/{LIBRARY}"
            build_data["pure_python"] = False
            platform = self.build_config.builder.get_best_matching_tag().split("-")[-1]
            build_data["tag"] = f"py3-none-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Delete the compiled files."""
        shutil.rmtree(self.folder, ignore_errors=True)


def compile_core(sources: Iterable[Path], folder: Path) -> Path:
    """Compile the sources with the compiler of this Python, or with CC and CXX, and return the library."""
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    class Library(build_ext):
        """Builds a plain library instead of a Python module."""

        def build_extensions(self) -> None:
            for extension in self.extensions:
                extension.extra_compile_args = FLAGS.get(self.compiler.compiler_type, FLAGS["unix"])
                extension.extra_link_args = [] if self.compiler.compiler_type == "msvc" else ["-pthread"]
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
