"""The program `gainwise`, also as `python -m gainwise`."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from ._common import __version__


def main() -> None:
    """Run the command line. The version is printed without importing it."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # A closed pipe ends the program, as it ends any other.
    if sys.argv[1:] == ["--version"]:
        print(__version__)
        return
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        import typer  # noqa: F401
    except ImportError:
        sys.exit("gainwise: The command line requires Typer. Run: pip install typer")
    from .cli import main as run

    run()


def _interrupt(*_: Any) -> None:
    """Raise KeyboardInterrupt. The second Ctrl-C ends the process at once, which every file on the disk survives."""
    signal.signal(signal.SIGINT, _exit)
    raise KeyboardInterrupt


def _exit(*_: Any) -> None:
    if sys.stderr.isatty():
        os.write(2, b"\x1b[?25h\n")  # A progress display hides the cursor.
    os._exit(130)


if __name__ == "__main__":
    main()
