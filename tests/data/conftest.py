"""What the tests of readers share: the folder of public data sets, and files written on the spot."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data sets; tests that need it are skipped where it is absent."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("GAINSAY_SHARED_DATA", beside))
    if not folder.is_dir():
        pytest.skip("no shared data; set GAINSAY_SHARED_DATA to their folder")
    return folder


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """A function that writes text or bytes to a new file and returns its path."""

    def write(content: str | bytes, name: str = "file.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write
