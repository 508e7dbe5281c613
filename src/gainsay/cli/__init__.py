"""What a shell sees: the command `gainsay`."""

from .app import app, main

__all__ = ["app", "main"]
