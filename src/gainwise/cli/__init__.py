"""The command line: the program `gainwise`. Importing a module of commands registers them."""

from . import compare, data, experiments, rankings  # noqa: F401
from .app import app, main

__all__ = ["app", "main"]
