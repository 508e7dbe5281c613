"""Validation of output paths before long computations."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def validate_output(what: str, path: str | os.PathLike[str]) -> Path:
    """Return the path of an output file, or raise if it cannot be written.

    Nothing is created. Existing files will be overwritten. Messages start with `what`.

    >>> validate_output("path", "missing/report.html")
    Traceback (most recent call last):
    FileNotFoundError: path 'missing/report.html': directory 'missing' does not exist. Create it or choose another path.
    """
    output = Path(path)
    named = f"{what} {str(output)!r}"
    try:
        mode = os.stat(output).st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = None
    except OSError as error:  # The name is too long, or links form a circle.
        raise OSError(f"{named} cannot be written: {error.strerror}. Choose another path.") from None
    except ValueError as error:
        raise ValueError(f"{named} is not a valid path: {error}.") from None
    if mode is not None:
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(f"{named} is a directory. Add a file name.")
        if not os.access(output, os.W_OK):
            raise PermissionError(f"{named} is not writable. Change its permissions or choose another path.")
        return output
    folder = Path(os.path.realpath(output)).parent  # The target of a link may not exist yet.
    shown = folder if output.is_symlink() else output.parent
    if not folder.exists():
        raise FileNotFoundError(f"{named}: directory {str(shown)!r} does not exist. Create it or choose another path.")
    if not folder.is_dir():
        raise NotADirectoryError(f"{named}: {str(shown)!r} is not a directory. Choose another path.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{named}: its directory is not writable. Change its permissions or choose another path.")
    return output
