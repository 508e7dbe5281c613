"""What a shell sees: the command `gainsay`."""

from . import deciding as deciding
from . import gains as gains
from . import metrics as metrics
from .app import app, main

__all__ = ["app", "main"]
