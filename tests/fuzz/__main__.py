"""Fuzz a reader: `python -m tests.fuzz letor [directory of the corpus] [options of libFuzzer]`."""

from __future__ import annotations

import importlib
import resource
import sys
import tempfile
import warnings
from pathlib import Path

import atheris

MEMORY = 4 * 2**30
"""Address space of the process in bytes. libFuzzer stops at 2 GiB of resident memory."""


def main() -> None:
    """Import the harness with instrumentation, write its seeds and tokens, and start libFuzzer."""
    if len(sys.argv) < 2:
        folder = Path(__file__).parent
        harnesses = sorted(path.stem for path in folder.glob("[a-z]*.py") if "SEEDS = " in path.read_text("utf-8"))
        sys.exit(f"usage: python -m tests.fuzz HARNESS [CORPUS] [-option=value …]\nharnesses: {', '.join(harnesses)}")
    name, *rest = sys.argv[1:]
    with atheris.instrument_imports(include=["gainwise", "tomllib", "numpy.lib"]):
        harness = importlib.import_module(f"tests.fuzz.{name}")
        ignored = importlib.import_module("gainwise").GainLabelsWarning  # Random labels may look like amounts.
    options = [option for option in rest if option.startswith("-")]
    folders = [Path(folder) for folder in rest if not folder.startswith("-")]
    work = Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    corpus = folders[0] if folders else work / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(harness.SEEDS):
        (corpus / f"seed-{number}").write_bytes(seed)
    dictionary = work / "tokens.dict"
    quoted = ("".join(f"\\x{byte:02x}" for byte in token) for token in harness.TOKENS)
    dictionary.write_text("".join(f'"{token}"\n' for token in quoted))
    files = work / "files"
    files.mkdir()
    limits = ["-rss_limit_mb=2048", "-timeout=300", "-max_len=4096", f"-dict={dictionary}"]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", ignored)
    atheris.Setup([sys.argv[0], *limits, *options, str(corpus)], lambda content: harness.check(content, files))
    atheris.Fuzz()


main()
