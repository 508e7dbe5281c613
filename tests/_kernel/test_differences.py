import numpy as np
import pytest

from gainwise._kernel import differences
from gainwise._kernel.differences import find_largest_differences


@pytest.fixture(params=["compiled", "numpy"])
def _path(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(differences, "_find_core", lambda: None)
        monkeypatch.setattr(differences, "BLOCK", 7)
    elif differences._find_core() is None:
        pytest.skip("needs the compiled core")


@pytest.mark.parametrize("shape", [(0, 5), (1, 5), (2, 0), (2, 1), (3, 64), (20, 65), (7, 200)])
@pytest.mark.usefixtures("_path")
def test_each_row_is_compared_with_every_other_one(shape):
    rng = np.random.default_rng(shape[1])
    values = rng.integers(-3, 4, size=shape) + rng.normal(size=shape).round(1)
    scale = rng.uniform(size=(len(values), len(values))) * rng.integers(0, 2, size=(len(values), len(values)))
    scale = scale + scale.T
    found = find_largest_differences(values[:, ::-1], scale)
    for k, column in np.ndindex(shape):
        expected = max([0.0, *((values[:, column] - values[k, column]) * scale[k])])
        assert found[k, shape[1] - 1 - column] == expected
