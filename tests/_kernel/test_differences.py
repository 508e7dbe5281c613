import numpy as np
import pytest

from gainwise._kernel import differences
from gainwise._kernel.config import Library
from gainwise._kernel.differences import count_larger, find_largest_differences


@pytest.fixture(params=["compiled", "numpy"])
def _path(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(differences, "find_library", lambda: Library(None, "turned off"))
        monkeypatch.setattr(differences, "BLOCK", 7)
        monkeypatch.setattr(differences, "ROW_BLOCK", 3)
    elif differences.find_library().library is None:
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


@pytest.mark.parametrize("shape", [(0, 5), (1, 5), (2, 0), (3, 8), (20, 65), (4, 70_000)])
@pytest.mark.usefixtures("_path")
def test_larger_numbers_are_counted(shape):
    values = np.random.default_rng(shape[1]).integers(-2, 3, size=shape)
    values[:, : shape[1] // 2] = np.sort(values[:, : shape[1] // 2], axis=0)
    for margin, typed in ((0, values.astype(np.int16)), (0.0, values.astype(float)), (1.5, values.astype(float))):
        found = count_larger(np.asfortranarray(typed), margin)
        for k, own in enumerate(values.tolist()):
            for j, other in enumerate(values.tolist()):
                assert found[k, j] == sum(higher > lower + margin for higher, lower in zip(other, own, strict=True))
