"""Ranking data: readers of LETOR, LightGBM, TREC and score files, DataFrames, and simulated datasets.

Importing this package imports NumPy only. Functions that accept or return DataFrames import pandas.
"""

from __future__ import annotations

from .letor import read_letor, read_lightgbm
from .ranking_data import RankingData, from_frame
from .simulate import simulate, simulate_rankers
from .tables import read_scores
from .trec import read_qrels, read_run, write_run

__all__ = [
    "RankingData",
    "from_frame",
    "read_letor",
    "read_lightgbm",
    "read_qrels",
    "read_run",
    "read_scores",
    "simulate",
    "simulate_rankers",
    "write_run",
]
