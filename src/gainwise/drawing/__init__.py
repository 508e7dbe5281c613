"""The look of all pictures, and the curves of a training. Requires Matplotlib."""

from __future__ import annotations

try:
    import matplotlib as _  # noqa: F401 # before anything here needs a part of it
except ImportError as error:
    raise ImportError("Pictures require Matplotlib. Run: pip install matplotlib") from error
