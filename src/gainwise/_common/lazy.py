"""pandas and SciPy, imported when they are first used. Importing them takes longer than a small comparison.

NumPy is among them for modules that the help of the command line imports.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["numpy", "pandas", "scipy", "special"]


class _Module:
    """A module that is imported when an attribute of it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)  # so that the next use does not call this method
        return value


if TYPE_CHECKING:
    import numpy
    import pandas
    import scipy
    from scipy import special
else:
    numpy, pandas, scipy, special = map(_Module, ("numpy", "pandas", "scipy", "scipy.special"))
