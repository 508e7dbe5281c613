"""Names for the array types that the modules hand to each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.integer[Any]]
"""Positions in the sorted list of distinct labels; the type is the narrowest that holds them."""
