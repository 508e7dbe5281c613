"""Fixtures that several test modules share."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import hypothesis
import numpy as np
import pytest

import gainsay as gs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.context import BaseContext
    from types import ModuleType

# What decides whether a change may land is decided by the same examples each time; other runs look for new ones.
hypothesis.settings.register_profile("gainsay", deadline=None, derandomize="GAINSAY_SAME_EXAMPLES" in os.environ)
hypothesis.settings.register_profile("long", deadline=None, max_examples=2000)
hypothesis.settings.load_profile("gainsay")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip on Windows what only POSIX systems can do."""
    if sys.platform == "win32":
        for item in items:
            if item.get_closest_marker("posix"):
                item.add_marker(pytest.mark.skip(reason="forks or signals of POSIX systems"))


def _load(path: Path) -> ModuleType:
    """Import a helper module by its place: with importlib import mode, test folders are not on the path."""
    spec = importlib.util.spec_from_file_location(f"gainsay_tests_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DEFINITIONS = _load(Path(__file__).parent / "oracles" / "definitions.py")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of data sets that have licences of their own; the tests on them are skipped where it is absent."""
    beside_checkout = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("GAINSAY_SHARED_DATA", beside_checkout))
    if not folder.is_dir():
        pytest.skip("data of others, which are not part of gainsay: set GAINSAY_SHARED_DATA (see CONTRIBUTING.md)")
    return folder


@pytest.fixture(scope="session")
def definitions() -> ModuleType:
    """The metrics in plain Python."""
    return DEFINITIONS


@pytest.fixture(scope="session")
def every_metric() -> list[gs.Metric]:
    """All metrics that have a definition in plain Python, without a cutoff, at 1, at 10 and at 200, for all ties."""
    return [
        replace(metric, k=k, ties=ties)  # type: ignore[arg-type]
        for metric in gs.parse_metrics(list(DEFINITIONS.METRICS))
        for k in (None, 1, 10, 200)
        for ties in ("average", "order", "worst", "best")
    ]


class Grouped(NamedTuple):
    """Labels and scores of many queries."""

    labels: np.ndarray[Any, Any]
    scores: np.ndarray[Any, Any]
    sizes: np.ndarray[Any, Any]

    @property
    def judgments(self) -> gs.Judgments:
        return gs.Judgments(self.labels, group=self.sizes)

    def queries(self) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
        """Labels and scores of each query."""
        ends = np.cumsum(self.sizes)
        for end, size in zip(ends, self.sizes, strict=True):
            yield self.labels[end - size : end], self.scores[end - size : end]


@pytest.fixture(scope="session")
def grouped() -> Callable[..., Grouped]:
    """Make random queries whose scores are full of ties."""

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
    """Starts processes that have imported everything already, which takes each process of `spawn` seconds."""
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    from multiprocessing import forkserver

    context = multiprocessing.get_context("forkserver")
    libraries = [
        "distributed.nanny",
        "distributed.worker",
        "lightgbm",
        "pyarrow.parquet",
        "scipy.stats",
        "xgboost.dask",
    ]
    context.set_forkserver_preload([*libraries, "gainsay.dask", "gainsay.experiment.work", "gainsay.xgboost"])
    forkserver.ensure_running()  # or distributed would have it load other modules
    return context


@pytest.fixture(scope="session")
def cluster_of(processes: BaseContext) -> Any:
    """Return a context manager: a Dask cluster of so many worker processes, and its client."""
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")

    @contextmanager
    def started(workers: int, **config: Any) -> Iterator[Any]:
        method = {"distributed.worker.multiprocessing-method": processes.get_start_method()}
        with (
            dask.config.set({**method, **config}),
            distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client

    return started


@pytest.fixture
def screen() -> Any:
    """A small terminal to see what was written to it; see `drawing/screen.py`."""
    return _load(Path(__file__).parent / "drawing" / "screen.py").Screen
