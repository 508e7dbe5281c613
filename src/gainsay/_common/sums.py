"""Weighted means of columns, the same to the last bit wherever they are computed."""

from __future__ import annotations

import numpy as np

from .typing import Floats


def sum_columns(values: Floats) -> Floats:
    """Return the sum of each column by repeatedly adding the two halves of the rows.

    The order depends only on the number of rows, and the error grows with its logarithm.
    """
    folded = None
    while len(values) > 1:
        half = len(values) // 2
        folded = np.add(values[:half], values[half : 2 * half], out=None if folded is None else folded[:half])
        if len(values) % 2:
            folded[0] += values[-1]
        values = folded
    total: Floats = values[0]
    return total


def scale_weights(weights: Floats) -> tuple[Floats, int]:
    """Return weights divided by a power of two, so that the largest is between 1/2 and 1, and its exponent.

    Their sums neither overflow nor lose digits. Means are the same to the last bit, because a power of two changes no
    digit.

    >>> scale_weights(np.array([3.0, 6.0]))
    (array([0.375, 0.75 ]), 3)
    """
    exponent = int(np.frexp(weights.max(initial=0.0))[1])
    with np.errstate(under="ignore"):  # Lost digits are below 2^-1022 of the largest weight.
        return np.ldexp(weights, -exponent), exponent


def compute_means(values: Floats, weights: Floats | None = None) -> Floats:
    """Return sum(w * v) / sum(w) over the rows, NaN if none has a positive weight.

    Equal weights are the same as no weights, and rows of weight 0 are left out, to the last bit.

    >>> compute_means(np.array([[1.0, 2.0], [4.0, 8.0], [9.0, 9.0]]), np.array([1.0, 2.0, 0.0]))
    array([3., 6.])
    """
    if weights is not None:
        values, weights = values[weights > 0], weights[weights > 0]
    if not len(values):
        return np.full(values.shape[1:], np.nan)
    if weights is None or (weights == weights[0]).all():
        return sum_columns(values) / len(values)
    scaled, _ = scale_weights(weights)
    with np.errstate(under="ignore"):
        products = scaled.reshape(-1, *[1] * (values.ndim - 1)) * values
    means: Floats = sum_columns(products) / sum_columns(scaled[:, None])[0]
    return means
