"""Whether queries are whole is seen where numbers and texts stand among the ids of one partition."""

import numpy as np
import pytest
from dask import delayed

from gainsay.dask import require_whole_queries


def ids(*values):
    return delayed(np.array(values, dtype=object))


@pytest.mark.parametrize("other", [np.array([2, 1]), np.array([1.0]), np.array([1, "b"], dtype=object)])
def test_a_number_beside_texts_is_the_number_it_is_elsewhere(other):
    with pytest.raises(ValueError, match=r"query 1 lies in partitions 0 and 1"):
        require_whole_queries([ids(1, "a"), delayed(other)])


def test_a_number_beside_one_of_more_than_64_bits():
    with pytest.raises(ValueError, match=r"query 5 lies in partitions 0 and 1"):
        require_whole_queries([ids(2**70, 5), delayed(np.array([5]))])


def test_a_number_is_not_the_text_that_spells_it():
    require_whole_queries([ids(1, "a"), ids("1", 2), delayed(np.array([3]))])
