"""How far a number walks: the calls from one file of the package to another.

    python tools/walk.py [--only compare report pathless training]

Each is done twice in this process, and the second time is counted, when everything is imported. *Calls* are all calls
of a function whose nearest caller within the package stands in another file; *arrows* are the pairs of functions among
them, each counted once; *files* are those that take part. Generators are left out: each of their items would count.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import gainsay as gs

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

PACKAGE = str(Path(gs.__file__).parent)
MODELS, QUERIES, DOCUMENTS = 6, 200, 20


def walked(action: Callable[[], object]) -> Counter[tuple[str, str, str, str]]:
    """Return how often each function (file, name) of the package called one of another file (file, name)."""
    found: Counter[tuple[str, str, str, str]] = Counter()

    def called(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        resumed = code.co_flags & inspect.CO_GENERATOR
        if event != "call" or resumed or not code.co_filename.startswith(PACKAGE):
            return
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(PACKAGE):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != code.co_filename:
            names = (caller.f_code.co_filename, caller.f_code.co_name, code.co_filename, code.co_name)
            found[tuple(name.removeprefix(PACKAGE + "/") for name in names)] += 1  # type: ignore[index]

    action()
    sys.setprofile(called)
    try:
        action()
    finally:
        sys.setprofile(None)
    return found


def data() -> tuple[gs.Judgments, dict[str, np.ndarray]]:
    """Return judgments and the scores of the models."""
    rng = np.random.default_rng(0)
    labels = rng.choice(5, QUERIES * DOCUMENTS, p=[0.5, 0.2, 0.15, 0.1, 0.05])
    noise = rng.standard_normal((MODELS, len(labels)))
    scores = {f"model {place}": labels * (0.3 + 0.05 * place) + row for place, row in enumerate(noise)}
    return gs.Judgments(labels, group=[DOCUMENTS] * QUERIES), scores


def compare() -> Counter[tuple[str, str, str, str]]:
    """Walk from scores to a comparison."""
    judgments, scores = data()
    return walked(lambda: gs.compare(scores, judgments))


def report(**options: Any) -> Counter[tuple[str, str, str, str]]:
    """Walk from scores to a page."""
    judgments, scores = data()
    with tempfile.TemporaryDirectory() as folder:
        return walked(lambda: gs.compare(scores, judgments, **options).to_html(Path(folder) / "report.html"))


def pathless() -> Counter[tuple[str, str, str, str]]:
    """Walk from scores to a page without a path of gains, for the two metrics differ in their discount too."""
    return report(primary=("ndcg_jk@10", "ndcg_exp@10"))


def training() -> Counter[tuple[str, str, str, str]]:
    """Walk through ten rounds of LightGBM."""
    import lightgbm as lgb

    from gainsay.lightgbm import feval

    judgments, scores = data()
    sets = lgb.Dataset(np.stack(list(scores.values()), axis=1), judgments.labels, group=[DOCUMENTS] * QUERIES)
    params = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1}
    return walked(
        lambda: lgb.train(params, sets, 10, valid_sets=[sets], feval=feval(["ndcg_linear@10", "ndcg_exp@10"]))
    )


WALKS = {"compare": compare, "report": report, "pathless": pathless, "training": training}


def main() -> None:
    """Print what was walked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=WALKS, default=list(WALKS))
    parser.add_argument("--most", type=int, default=15, help="arrows shown")
    arguments = parser.parse_args()
    for name in arguments.only:
        found = WALKS[name]()
        files = {file for caller, _, callee, _ in found for file in (caller, callee)}
        print(f"{name}: {found.total()} calls, {len(found)} arrows, {len(files)} files")
        for (caller, function, callee, called), count in found.most_common(arguments.most):
            print(f"  {count:5} {caller}:{function} -> {callee}:{called}")


if __name__ == "__main__":
    main()
