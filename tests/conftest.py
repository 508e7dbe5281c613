"""Fixtures that several test modules share."""

from __future__ import annotations

import os

# Two processes of tests share the processors. Idle threads of a library must not keep them busy. Libraries read these
# variables when they are loaded, so they are set before the first import.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # The processes that tests start would compile every module again.

import multiprocessing
import random
import sys
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import hypothesis
import numpy as np
import pytest
from tests.oracles import definitions as plain_python
from tests.training.screen import Screen

import gainwise as gw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.context import BaseContext
    from types import ModuleType

ROOT = Path(__file__).parents[1]
ORDER = "GAINWISE_TEST_ORDER"
"""Environment variable: `random` or the seed of an earlier random order. Tests run in their usual order without it."""
if os.environ.get(ORDER) == "random":
    os.environ[ORDER] = str(random.SystemRandom().randrange(10**6))  # The processes of pytest-xdist use the same seed.

# .ci/run uses the same random examples each time. Other runs look for new ones.
hypothesis.settings.register_profile("gainwise", deadline=None, derandomize="GAINWISE_SAME_EXAMPLES" in os.environ)
hypothesis.settings.register_profile("long", deadline=None, max_examples=2000)
hypothesis.settings.load_profile("gainwise")


def pytest_report_header() -> str:
    """Show the seed of a random order."""
    return f"{ORDER}={os.environ[ORDER]}" if ORDER in os.environ else ""


@pytest.hookimpl(tryfirst=True)  # before pytest selects tests by their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests of POSIX systems on Windows. Shuffle files, their classes and their tests if a random order is set."""
    for item in items:
        if sys.platform == "win32" and item.get_closest_marker("posix"):
            item.add_marker(pytest.mark.skip(reason="forks or signals of POSIX systems"))
    if ORDER in os.environ:
        keys: defaultdict[object, float] = defaultdict(random.Random(os.environ[ORDER]).random)
        items.sort(key=lambda item: (keys[item.path], keys[item.path, getattr(item, "cls", None)], keys[item.nodeid]))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of datasets with separate licenses. Without it, tests of these datasets are skipped."""
    beside_checkout = ROOT.resolve().parent / "shared" / "data"
    folder = Path(os.environ.get("GAINWISE_SHARED_DATA", beside_checkout))
    if not folder.is_dir():
        pytest.skip("data of others, which are not part of gainwise: set GAINWISE_SHARED_DATA (see CONTRIBUTING.md)")
    return folder


@pytest.fixture(scope="session")
def trec_dl(shared_data: Path) -> Path:
    """The folder of runs and qrels of TREC Deep Learning 2019 and 2020."""
    if not (shared_data / "trec-dl").is_dir():
        pytest.skip("data of others, which are not part of gainwise: GAINWISE_SHARED_DATA has no trec-dl")
    return shared_data / "trec-dl"


@pytest.fixture(scope="session")
def definitions() -> ModuleType:
    """The metrics in plain Python."""
    return plain_python


@pytest.fixture(scope="session")
def every_metric() -> list[gw.Metric]:
    """All metrics that have a definition in plain Python, without a cutoff, at 1, at 10 and at 200, for all ties."""
    return [
        replace(metric, k=k, ties=ties)  # type: ignore[arg-type]
        for metric in gw.parse_metrics(list(plain_python.METRICS))
        for k in (None, 1, 10, 200)
        for ties in ("average", "order", "worst", "best")
        if ties != "average" or "hits" not in str(metric)
    ]


class Grouped(NamedTuple):
    """Labels and scores of many queries."""

    labels: np.ndarray[Any, Any]
    scores: np.ndarray[Any, Any]
    sizes: np.ndarray[Any, Any]

    @property
    def judgments(self) -> gw.Judgments:
        return gw.Judgments(self.labels, group=self.sizes)

    def queries(self) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
        """Labels and scores of each query."""
        ends = np.cumsum(self.sizes)
        for end, size in zip(ends, self.sizes, strict=True):
            yield self.labels[end - size : end], self.scores[end - size : end]


@pytest.fixture(scope="session")
def grouped() -> Callable[..., Grouped]:
    """Return a function that makes random queries with many ties."""

    def make(
        seed: int,
        *,
        queries: int = 60,
        longest: int = 25,
        grades: int = 5,
        distinct_scores: int = 6,
        every_nth_empty: int | None = 7,
        not_retrieved: bool = False,
    ) -> Grouped:
        """Sizes 1 to `longest`, labels 0 to `grades` - 1, scores that are multiples of 1/7 (not exact in binary)."""
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, longest + 1, queries)
        sizes[:2] = 1, longest
        query = np.repeat(np.arange(queries), sizes)
        labels = rng.integers(0, grades, len(query)).astype(np.float64)
        if every_nth_empty is not None:
            labels[query % every_nth_empty == every_nth_empty - 1] = 0
        scores = rng.integers(-(distinct_scores // 2), distinct_scores - distinct_scores // 2, len(query)) / 7
        if not_retrieved:
            scores[scores == scores.min()] = -np.inf
        return Grouped(labels, scores, sizes)

    return make


@pytest.fixture(scope="session")
def processes() -> BaseContext:
    """Start processes by forking one that has imported the libraries, because `spawn` takes seconds for imports."""
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    from multiprocessing import forkserver

    context = multiprocessing.get_context("forkserver")
    libraries = ["distributed.nanny", "distributed.worker", "lightgbm", "scipy.stats", "xgboost.dask"]
    context.set_forkserver_preload([*libraries, "gainwise.dask", "gainwise.experiment", "gainwise.xgboost"])
    forkserver.ensure_running()  # Otherwise distributed would replace the list of modules.
    return context


@contextmanager
def _local_cluster(processes: BaseContext, workers: int, **config: Any) -> Iterator[Any]:
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    method = {"distributed.worker.multiprocessing-method": processes.get_start_method()}
    with (
        dask.config.set({**method, **config}),
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
    ):
        yield cluster


@pytest.fixture(scope="session")
def cluster(processes: BaseContext) -> Iterator[Any]:
    """A Dask cluster of two worker processes for all tests that do not end or exhaust its workers."""
    with _local_cluster(processes, 2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster: Any) -> Iterator[Any]:
    """A client of the cluster. Dask computes on the cluster while tests of the module run, and locally afterwards."""
    with cluster.get_client() as client:
        yield client


@pytest.fixture(scope="session")
def cluster_of(processes: BaseContext) -> Any:
    """Return a context manager for a separate Dask cluster with this number of workers, and its client."""

    @contextmanager
    def started(workers: int, **config: Any) -> Iterator[Any]:
        with _local_cluster(processes, workers, **config) as cluster, cluster.get_client() as client:
            yield client

    return started


@pytest.fixture
def screen() -> Any:
    """A small terminal that records its output."""
    return Screen
