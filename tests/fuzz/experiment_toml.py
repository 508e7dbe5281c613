"""`gainwise.experiment.experiment_file.read_toml`; nothing is simulated, for that takes as long as the file says."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

from gainwise.data import simulate
from gainwise.experiment import experiment_file

from .oracle import attempt

_DATA = b'[data]\ntrain = "a.txt"\nvalid = "a.txt"\ntest = ["a.txt"]\n'
_SIMULATED = b"[data]\nsimulate = {queries = 9, seed = 1, split = [0.4, 0.3, 0.3]}\n"
SEEDS = (
    b'metrics = ["ndcg_linear@10", "mrr"]\n' + _DATA + b'[[candidates]]\nname = "a"\nlibrary = "lightgbm"\n'
    b'training_gain = ["linear", "exponential"]\nparams = {num_leaves = [7, 15], learning_rate = 0.1}\n',
    b'primary = ["map", "mrr"]\nseed = 1\nalpha = 0.01\nmargin = 0.1\ndraws = 5000\nthreads = 2\ndirectory = "x"\n'
    + _SIMULATED
    + b'[[candidates]]\nname = "b"\nlibrary = "xgboost"\nseed = [1, 2]\nparams.max_depth = 3\n',
    b'[data]\nfolds = ["a.txt", "a.txt", "a.txt"]\nfeatures = 2\nzero_based = true\n[[candidates]]\nname = "c"\n'
    b'library = "lightgbm"\nnum_boost_round = 3\nearly_stopping_rounds = 2\n',
    b'[data]\nfiles = "a.txt"\nk_folds = 3\nformat = "letor"\n[[candidates]]\nname = "c"\nlibrary = "lightgbm"\n',
    b"a = " + b"[" * 3000,
    b"a." * 1500 + b"b = 1",
)
TOKENS = (
    *(b"[[candidates]]\n", b"library = ", b"name = ", b"params", b"training_gain", b"simulate", b"k_folds = 3"),
    *(b"metrics = ", b"ndcg(gain=0/1)", b"err(max_label=4)", b"@10", b"1979-05-27T07:32:00Z", b"inf", b"nan", b'"""'),
    *(b'"\\u0000"', b"objective", b"[1, 2, 3]", b"99999999999999999999", b'"../a.txt"', b"monotone_constraints"),
)


def check(content: bytes, folder: Path) -> None:
    """Read the arguments of an experiment, or raise a ValueError. A missing data file is an OSError."""
    path = folder / "experiment.toml"
    path.write_bytes(content)
    (folder / "a.txt").write_bytes(b"".join(b"%d qid:%d 1:%d\n" % (row % 3, row // 3, row) for row in range(27)))
    with patch.object(experiment_file, "simulate", lambda *_, **__: simulate(9, 1, features=2, mean_length=3)):
        attempt(lambda: experiment_file.read_toml(path), path, folder / "a.txt", lines=False, permitted=(OSError,))
