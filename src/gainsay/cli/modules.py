"""Modules of the user's, imported so that the metrics that they define are known by name."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path


def import_modules(names: list[str]) -> None:
    """Import modules, each by its name or as the path of a file that ends in .py, or raise `ValueError`.

    Names are looked for in the current folder too, where no installed module bears them. A file becomes importable by
    its name from here on, so that what it defines can be sent to other processes.
    """
    for name in names:
        if name.endswith(".py"):
            module = _importable(Path(name))
        else:
            module = name
            if os.getcwd() not in sys.path:  # a command's path begins with the folder of the command
                sys.path.append(os.getcwd())
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module.partition(".")[0]:
                raise ValueError(f"--import {name}: it needs the module {error.name!r}, which is not there") from error
            raise ValueError(
                f"--import {name}: there is no module {module!r} to import; the path of a file ends in .py"
            ) from error
        except (Exception, SystemExit) as error:
            raise ValueError(f"--import {name}: {type(error).__name__}: {error}") from error


def _importable(path: Path) -> str:
    """Return the name by which a file can be imported, having seen to it that it can."""
    if not path.is_file():
        raise ValueError(f"--import {path}: there is no such file")
    if not path.stem.isidentifier():
        raise ValueError(f"--import {path}: a module's name has letters, digits and _ only; rename the file")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    found = find_spec(path.stem)  # a module that is loaded comes first, then the folder
    origin = None if found is None else found.origin
    if origin is None or Path(origin).resolve() != path.resolve():
        raise ValueError(f"--import {path}: its name is that of another module ({origin}); rename the file")
    return path.stem
