"""One Dask cluster for the whole session."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def cluster(cluster_of):
    """The client of a cluster of two worker processes."""
    with cluster_of(2) as client:
        yield client
