"""The command line: the program `gainsay`."""

from . import commands as commands
from .app import app, main

__all__ = ["app", "main"]
