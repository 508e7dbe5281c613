"""Recognize the files of a dataset, check that it fits in memory, and split it into folds."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from cranfield import JUDGMENTS, read_cranfield

import gainwise as gw

PARTS = 5
LINES_TO_SAMPLE = 2_000
GIB = 2**30


class Dataset(NamedTuple):
    """Either the parts of a cross-validation, or one split into training, validation and test set.

    `counts` are the sizes of the files, and what was left out.
    """

    name: str
    parts: list[gw.RankingData]
    is_split: bool
    counts: Mapping[str, int] | None = None

    def make_fold(self, fold: int) -> tuple[gw.RankingData, gw.RankingData, gw.RankingData]:
        """Return the training, validation and test set of a fold."""
        if self.is_split:
            return self.parts[0], self.parts[1], self.parts[2]
        n = len(self.parts)
        train = [self.parts[(fold + i) % n] for i in range(2, n)]
        return gw.RankingData.concatenate(train), self.parts[(fold + 1) % n], self.parts[fold]

    @property
    def folds(self) -> int:
        """Number of folds."""
        return 1 if self.is_split else len(self.parts)


def find_runs(path: Path) -> list[tuple[str, Path, Path]]:
    """Return name, folder of runs, and qrels, if `path` contains TREC runs in a folder for each file of qrels."""
    runs = []
    for qrels in sorted(path.glob("qrels.*")) if path.is_dir() else []:
        name = qrels.name.removeprefix("qrels.").partition("-")[0].partition(".")[0]
        if (path / name).is_dir():
            runs.append((name, path / name, qrels))
    return runs


def read_dataset(path: Path, memory: float, seed: int) -> Dataset:
    """Read LETOR or LightGBM files.

    A folder with a training, validation and test file is one split (MSLR-WEB30K's `Fold1`, Istella, Yahoo). Other
    folders of three or more files are cross-validated with one part per file. A single file, and the collection
    Cranfield, are split at random into five parts.
    """
    if (path / JUDGMENTS).is_file():
        cranfield = read_cranfield(path)
        parts = cranfield.data.split_queries(*[1 / PARTS] * PARTS, seed=seed)
        return Dataset(path.name, list(parts), False, cranfield.counts)
    files = list_files(path)
    split = find_split(files)
    check_memory(split or files, memory, copies=1.5 if split else 2.5)
    if split:
        features = max(estimate_size(file)[1] for file in split)
        parts = [gw.data.read_letor(file, features=features) for file in split]
        return Dataset(path.name, [part.contiguous() for part in parts], True)
    queries = [Path(f"{file}.query") for file in files]
    if any(query.is_file() for query in queries):
        files = [file for file, query in zip(files, queries, strict=True) if query.is_file()]
        features = max(gw.data.read_lightgbm(file).features.shape[1] for file in files)
        data = gw.RankingData.concatenate([gw.data.read_lightgbm(file, features=features) for file in files])
    elif len(files) > 2:
        features = max(estimate_size(file)[1] for file in files)
        parts = [gw.data.read_letor(file, features=features).contiguous() for file in files]
        return Dataset(path.name, parts, False)
    else:
        data = gw.data.read_letor(files, shared_ids="separate")
    return Dataset(path.name, list(data.contiguous().split_queries(*[1 / PARTS] * PARTS, seed=seed)), False)


def list_files(path: Path) -> list[Path]:
    """Return the data files of a path."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise SystemExit(f"--data: {path} does not exist. Pass a file or a directory of LETOR files or TREC runs.")
    skipped = {".query", ".weight", ".md", ".pdf", ".json"}
    files = sorted(file for file in path.iterdir() if file.is_file() and file.suffix not in skipped)
    files = [file for file in files if file.name not in ("LICENSE", "README", "README.txt")]
    if not files:
        raise SystemExit(f"--data: {path} contains no data files.")
    return files


def find_split(files: list[Path]) -> list[Path]:
    """Return the training, validation and test file, or an empty list."""
    split = []
    for stems in (("train", "set1.train"), ("vali", "valid", "set1.valid"), ("test", "set1.test")):
        matching = [file for file in files if file.name.removesuffix(".gz").removesuffix(".txt") in stems]
        split += matching[:1]
    return split if len(split) == 3 else []


def estimate_size(path: Path) -> tuple[int, int]:
    """Estimate the number of rows from the first lines, and return the largest feature index in them."""
    with path.open("rb") as stream:
        is_gzip = stream.read(2) == b"\x1f\x8b"
        stream.seek(-4, 2)  # The end of a gzip file is its size after decompression.
        size = int.from_bytes(stream.read(), "little") if is_gzip else path.stat().st_size
    count, largest, length = 0, 0, 0
    with gzip.open(path) if is_gzip else path.open("rb") as stream:
        for line in itertools.islice(stream, LINES_TO_SAMPLE):
            count, length = count + 1, length + len(line)
            indices = [token.partition(b":")[0] for token in line.partition(b"#")[0].split()[1:]]
            largest = max([largest, *(int(index) for index in indices if index.isdigit())])
    return round(size / max(length / max(count, 1), 1)), largest


def check_memory(files: list[Path], memory: float, copies: float) -> None:
    """Stop if the tables of features do not fit."""
    sizes = [estimate_size(file) for file in files]
    width = max(features for _, features in sizes)
    needed = copies * 4 * width * sum(rows for rows, _ in sizes) / GIB
    if needed > memory:
        raise SystemExit(
            f"--data: the study needs about {needed:.1f} GiB for {sum(rows for rows, _ in sizes):,} documents with "
            f"{width} features, but --memory is {memory:g}. Pass one fold of the dataset or fewer files."
        )


def take_sample(dataset: Dataset, queries: int) -> Dataset:
    """Take the first queries of each part."""
    parts = [part.take_queries(range(min(queries, len(part.query_ids)))) for part in dataset.parts]
    return dataset._replace(parts=parts)
