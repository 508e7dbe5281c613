"""Functions that several test modules of experiments share."""

import json
import pickle
import re
from concurrent.futures import Executor, Future

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb

from gainwise.experiment.plan import create_slug

METRICS = ("ndcg_linear@10", "ndcg_exp@10", "mrr")
FRAMES = ("leaderboard", "curves", "best_rounds", "compared")
SIMULATED = "simulate = {queries = 30, seed = 1, mean_length = 8, split = [0.6, 0.2, 0.2]}"


LABELS_OF_SHOPS = {"a": 0, "b": 3, "c": 0, "d": 3, "e": 1}


def make_shops(queries, seed, categories):
    """Return a frame whose category alone determines the label. The categories are in the given order."""
    rng = np.random.default_rng(seed)
    shop = rng.choice(list(categories), queries * 10)
    columns = {
        "query": np.repeat(np.arange(queries), 10),
        "grade": [LABELS_OF_SHOPS[name] for name in shop],
        "bm25": rng.normal(size=len(shop)).astype(np.float32),
        "shop": pd.Categorical(shop, categories=list(categories)),
    }
    return pd.DataFrame(columns)


class ByPickle(Executor):
    """Runs each task at once, pickled as another process would receive it."""

    def __init__(self):
        self.sizes = []

    def submit(self, function, /, *arguments, **options):
        future = Future()
        pickled = pickle.dumps((function, arguments))
        self.sizes.append(len(pickled))
        function, arguments = pickle.loads(pickled)
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


def run(experiment, executor=None, **options):
    return experiment.run(executor, progress=False, **options)


def facts(result):
    """Return a result to the last digit."""
    frames = {name: getattr(result, name).to_csv(float_format="%.17g") for name in FRAMES}
    frames["pairs"] = result.comparison.pairs.to_csv(float_format="%.17g")
    return {**frames, "verdict": json.dumps(result.verdict.to_dict()), "failed": list(result.failures)}


def contents(directory):
    """Return the content of every file, except for the lines of tracebacks that depend on how the run was started."""
    files = {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }
    return {
        name: content.splitlines()[-1] if name.startswith("failures") else content for name, content in files.items()
    }


def folder_of(directory, name, suffix=""):
    """Return the folder of a training; the suffix names its fold and repeat."""
    return directory / "candidates" / f"{create_slug(name)}{suffix}"


def predict(model, data, rounds=0):
    """Return scores from the library itself, by default with its own choice of rounds."""
    if isinstance(model, lgb.Booster):
        return model.predict(data.features, num_iteration=rounds or None, num_threads=1)
    return model.predict(xgb.DMatrix(data.features, nthread=1), iteration_range=(0, rounds))


def balanced_by_hand(curves, name, metrics=METRICS[:2]):
    """Return the first round whose larger distance from the best values of two metrics is smallest."""
    lines = [curves[(curves["candidate"] == name) & (curves["metric"] == metric)] for metric in metrics]
    lines = [dict(zip(line["round"], line["value"], strict=True)) for line in lines]
    worst = {number: max(max(line.values()) - line[number] for line in lines) for number in lines[0]}
    return min(worst, key=lambda number: (worst[number], number))


def trees(booster):
    """Return the trees without what the file contains about parameters."""
    if isinstance(booster, xgb.Booster):
        return booster.get_dump(with_stats=True)
    return re.search(r"Tree=0.*end of trees", booster.model_to_string(num_iteration=-1), re.DOTALL)[0]


def write_toml(folder, text):
    path = folder / "experiment.toml"
    path.write_text(text, encoding="utf-8")
    return path
