"""Damage directories of experiments: loading gives the selected model or an error, and another run repairs them."""

from __future__ import annotations

import atexit
import functools
import random
import shutil
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from tests.experiment.helpers import contents
from tests.fuzz.trials import run_trials

from gainwise.data import simulate
from gainwise.experiment import Candidate, Experiment

_PARTS = simulate(20, seed=5, mean_length=5, features=3).split_queries(0.5, 0.25, 0.25, seed=5)
_CANDIDATES = [
    *(Candidate(f"lgb {leaves}", "lightgbm", {"num_leaves": leaves, "min_data_in_leaf": 1}) for leaves in (2, 4)),
    *(Candidate(f"xgb {depth}", "xgboost", {"max_depth": depth}) for depth in (1, 2)),
]


def make_experiment(directory: Path, repeats: int) -> Experiment:
    """Return a small experiment in a directory."""
    metrics = ["ndcg_linear@5", "ndcg_exp@5"]
    return Experiment(_CANDIDATES, *_PARTS, metrics, directory, num_boost_round=3, draws=1000, repeats=repeats)


@functools.cache
def run_once(repeats: int) -> tuple[Path, str, bytes]:
    """Return the directory of a complete experiment, and its selected candidate and model."""
    directory = Path(mkdtemp(prefix="gainwise-fuzz-"))
    atexit.register(shutil.rmtree, directory)
    result = make_experiment(directory / "run", repeats).run(progress=False)
    return directory / "run", result.selected, _save(result.load_model())


def damage(path: Path, rng: random.Random) -> str:
    """Delete, truncate or change a file, or replace it by a directory. Return what was done."""
    way = rng.choice(["deleted", "truncated", "flipped", "directory", "folder deleted"])
    content = path.read_bytes()
    if way == "folder deleted":
        shutil.rmtree(path.parent)
    elif way == "truncated":
        path.write_bytes(content[: rng.randrange(len(content))])
    elif way == "flipped":
        place = rng.randrange(len(content))
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << rng.randrange(8)]) + content[place + 1 :])
    else:
        path.unlink()
        if way == "directory":
            path.mkdir()
    return f"{path.name} {way}"


def check(seed: int) -> None:
    """Damage some files, load the experiment in both ways, and repair it."""
    rng = random.Random(seed)
    whole, selected, model = run_once(rng.choice([1, 3]))
    repeats = 3 if any("repeat" in path.name for path in whole.glob("candidates/*")) else 1
    with TemporaryDirectory(prefix="gainwise-fuzz-") as folder:
        directory = Path(shutil.copytree(whole, Path(folder, "run")))
        done = []
        for _ in range(rng.randint(1, 3)):
            files = [path for path in sorted(directory.rglob("*.*")) if path.is_file() and path.name != ".lock"]
            done.append(damage(rng.choice([path for path in files if path.parent != directory] or files), rng))
            if rng.random() < 0.3 and (directory / "selection.json").is_file():
                done.append(damage(directory / "selection.json", rng) if rng.random() < 0.5 else "")
            if not directory.exists():
                return
        for allow_incomplete in (False, True):
            try:
                result = Experiment.load(directory, allow_incomplete=allow_incomplete)
                loaded = result.selected, _save(result.load_model())
            except (RuntimeError, ValueError, FileNotFoundError) as error:
                loaded, message = (selected, model), str(error)
                if "not trained yet" in message and not any("folder deleted" in text for text in done):
                    raise
            assert loaded == (selected, model), done
        if rng.random() < 0.2 and not any("directory" in text for text in done):
            with warnings.catch_warnings(action="ignore"):
                make_experiment(directory, repeats).run(progress=False)
            assert contents(directory) == contents(whole), done


def _save(model: object) -> bytes:
    return model.model_to_string().encode() if hasattr(model, "model_to_string") else bytes(model.save_raw())  # type: ignore[attr-defined]


if __name__ == "__main__":
    run_trials("experiments", check)
