"""Where results are to be written: tried before the work that makes them."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def check_output(what: str, path: str | os.PathLike[str]) -> Path:
    """Return the path of a file to be written, or raise where it is plain that it cannot be.

    Nothing is written or made. What is there already will be written anew. Messages begin with `what`, say what is in
    the way, and what to do.

    >>> check_output("path", "no such folder/report.html")
    Traceback (most recent call last):
    FileNotFoundError: path 'no such folder/report.html': there is no folder 'no such folder'; make it, or name another
    """
    given = Path(path)
    named = f"{what} {str(given)!r}"
    try:
        mode = os.stat(given).st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = None
    except OSError as error:  # a name too long, links in a circle
        raise OSError(f"{named} cannot be written: {error.strerror}; name another") from None
    except ValueError as error:
        raise ValueError(f"{named} is no name of a file: {error}") from None
    if mode is not None:
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(f"{named} is a folder; name a file in it")
        if not os.access(given, os.W_OK):
            raise PermissionError(f"{named} may not be written; change its permissions, or name another")
        return given
    folder = Path(os.path.realpath(given)).parent  # where a link points that has nothing at its end yet
    shown = folder if given.is_symlink() else given.parent
    if not folder.exists():
        raise FileNotFoundError(f"{named}: there is no folder {str(shown)!r}; make it, or name another")
    if not folder.is_dir():
        raise NotADirectoryError(f"{named}: {str(shown)!r} is no folder; name another")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{named}: its folder may not be written to; change its permissions, or name another")
    return given
