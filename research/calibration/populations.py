"""Simulated populations with known means, their samples, and the stored results of simulations.

A population contains the NDCG@10 of eight models on each query, with linear and with exponential gains. The models
prefer grades 0 to 4 differently: the first accepts anything fair, the last looks for excellent documents. They share
much of their noise, and rank nearly a third of the queries identically. A scenario then gives each query a probability,
such that the true means differ exactly as it states (exponential tilting). Samples are drawn with these probabilities,
so the truth is exact, and the values have the ties, skews and correlations of ranking metrics.

A *cell* is a scenario at one size. The rates of each cell are stored as soon as they are complete, so an interrupted
calibration continues.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root
from scipy.special import logsumexp

from gainwise import Comparison

Array = NDArray[np.float64]

MODELS = 8
NAMES = tuple(f"model {number}" for number in range(1, MODELS + 1))
ALPHA = 0.05
DRAWS = 1_000
METRICS = ("linear", "exponential")


def simulate_counts(queries: int, seed: int, cutoff: int = 10) -> tuple[Array, Array]:
    """Return the discounted counts of each grade for each model, and for the ideal ranking.

    The shapes are (queries, models, grades) and (queries, grades), for grades 1 to 4. Multiplied by gains, they are
    DCGs.
    """
    rng = np.random.default_rng(seed)
    documents = 24
    fair, excellent = np.array([0.0, 1.2, 2.1, 2.3, 2.5]), np.array([0.0, 0.5, 1.1, 2.6, 4.0])
    labels = rng.choice(5, size=(queries, documents), p=[0.52, 0.30, 0.13, 0.03, 0.02])
    absent = np.arange(documents) >= rng.integers(8, documents, size=(queries, 1), endpoint=True)
    labels[absent] = 0
    relevant = labels.any(axis=1)
    labels, absent = labels[relevant], absent[relevant]
    shared = rng.normal(scale=1.3, size=labels.shape)
    identical = rng.random(len(labels)) < 0.30
    counts = np.empty((len(labels), MODELS, 4))
    for model in range(MODELS):
        noise = rng.normal(scale=0.7, size=labels.shape)
        noise[identical] = 0.0
        preference = np.where(identical, 0.5, model / (MODELS - 1))[:, None]
        scores = (1 - preference) * fair[labels] + preference * excellent[labels] + shared + noise
        scores[absent] = -np.inf
        top = np.take_along_axis(labels, np.argsort(-scores, axis=1)[:, :cutoff], axis=1)
        counts[:, model] = _count_grades(top)
    return counts, _count_grades(-np.sort(-labels, axis=1)[:, :cutoff])


def _count_grades(ranked: Array) -> Array:
    """Return the sums of the discounts of each grade from 1 to 4, shape (…, grades)."""
    discount = 1 / np.log2(np.arange(2, ranked.shape[-1] + 2))
    return np.stack([(ranked == grade) @ discount for grade in range(1, 5)], axis=-1)


def simulate(queries: int, seed: int) -> Array:
    """Return NDCG@10 with linear and with exponential gains, shape (queries, 2, models)."""
    counts, ideal = simulate_counts(queries, seed)
    grades = np.arange(1.0, 5.0)
    return np.stack([counts @ gains / (ideal @ gains)[:, None] for gains in (grades, 2**grades - 1)], axis=1)


def find_probabilities(constraints: Array, tolerance: float) -> Array:
    """Return the probabilities of the rows for which all columns have mean 0.

    Among all such probabilities they are the nearest to equal ones, in relative entropy. They are proportional to
    exp(θ'h) for a row h, and θ minimizes log Σ exp(θ'h). This function is smooth and convex, so its gradient is 0
    there.
    """

    def compute_probabilities(theta: Array) -> Array:
        exponent = constraints @ theta
        return np.exp(exponent - logsumexp(exponent))

    def compute_gradient(theta: Any) -> Any:
        return compute_probabilities(theta) @ constraints

    def compute_hessian(theta: Any) -> Any:
        p = compute_probabilities(theta)
        centered = constraints - p @ constraints
        return (centered * p[:, None]).T @ centered

    start = np.zeros(constraints.shape[1])
    return compute_probabilities(root(compute_gradient, start, jac=compute_hessian, tol=tolerance).x)


def tilt(values: Array, truth: Array) -> Array:
    """Return the probabilities of the queries for which the means of the models differ as in `truth`."""
    differences = values[:, :, 1:] - values[:, :, :1] - (truth[:, 1:] - truth[:, :1])
    constraints = differences.reshape(len(values), -1)
    p = find_probabilities(constraints, 1e-13)
    if np.abs(p @ constraints).max() > 1e-9:
        raise ArithmeticError("Tilting did not converge. This population cannot have these true means.")
    return p


@dataclass(frozen=True)
class Scenario:
    """True means of all models under both metrics, up to a constant.

    `targets` contains the target rate of `genuine` by number of queries: a maximum if a model is best under both
    metrics, otherwise a minimum.
    """

    name: str
    linear: tuple[float, ...]
    exponential: tuple[float, ...]
    targets: dict[int, float] = field(default_factory=dict)

    @property
    def truth(self) -> Array:
        """True means, shape (2, models)."""
        return np.array([self.linear, self.exponential])

    @property
    def regret(self) -> Array:
        """Worst case of every model."""
        regret: Array = (self.truth.max(axis=1, keepdims=True) - self.truth).max(axis=0)
        return regret

    @property
    def has_common_best(self) -> bool:
        """Whether a model is best under both metrics, possibly tied with others."""
        return bool(self.regret.min() == 0)

    @property
    def has_clear_best(self) -> bool:
        """Whether one model is better than every other under both metrics, so `agree` is right."""
        second, first = np.sort(self.truth, axis=1)[:, -2:].T
        return self.has_common_best and bool((first > second).all())


def means(default: float, **own: float) -> tuple[float, ...]:
    """Return one mean per model: m1, m2, … or the default."""
    return tuple(own.get(f"m{number}", default) for number in range(1, MODELS + 1))


RAMP = tuple(np.linspace(0, 0.012, MODELS).tolist())
NULL = {1000: ALPHA, 3000: ALPHA}
SCENARIOS = (
    Scenario("all equal", means(0), means(0), NULL),
    Scenario("same best, ahead by .012", means(0, m1=0.012), means(0, m1=0.012), NULL),
    Scenario("two tie at the top", means(0, m1=0.012, m2=0.012), means(0, m1=0.012, m2=0.012), NULL),
    Scenario("linear's best ahead by .012, all tied on exponential", means(0, m1=0.012), means(0), NULL),
    Scenario(
        "a third ties both winners",
        means(-0.02, m1=0.012, m4=0.012, m8=0),
        means(-0.02, m8=0.012, m4=0.012, m1=0),
        NULL,
    ),
    Scenario(
        "a third ties both winners, crowded",
        means(0, m1=0.012, m2=0.012, m3=0.012, m4=0.012),
        means(0, m4=0.012, m6=0.012, m7=0.012, m8=0.012),
        NULL,
    ),
    Scenario(
        "different bests, ±.012",
        means(-0.02, m1=0.012, m8=0),
        means(-0.02, m8=0.012, m1=0),
        {1000: 0.75, 3000: 0.99},
    ),
    Scenario("different bests, ±.006", means(-0.02, m1=0.006, m8=0), means(-0.02, m8=0.006, m1=0), {3000: 0.74}),
    Scenario("ladder of 8, ±.012", RAMP[::-1], RAMP, {3000: 0.81}),
    Scenario(
        "compromise .0015 behind both",
        means(-0.02, m1=0.012, m4=0.0105, m8=0),
        means(-0.02, m8=0.012, m4=0.0105, m1=0),
    ),
)  # fmt: skip


def compare(values: Sequence[Any], seed: int, **options: Any) -> Comparison:
    """Return a comparison of the values of both metrics: tables, or a list with one array per model."""
    first = values[0]
    names = [f"model {k + 1}" for k in range(len(first) if isinstance(first, list) else first.shape[1])]
    by_metric = dict(zip(METRICS, values, strict=True))
    return Comparison(by_metric, names, alpha=ALPHA, seed=seed, **({"draws": DRAWS} | options))


def draw_rows(rng: np.random.Generator, probabilities: Array, number: int) -> NDArray[np.int64]:
    """Draw row numbers with these probabilities."""
    edges = np.cumsum(probabilities)
    return np.searchsorted(edges / edges[-1], rng.random(number))


class Cell(Protocol):
    """A scenario at one size."""

    @property
    def key(self) -> str:
        """A unique name."""

    def judge(self, seeds: Sequence[int], population: Array) -> dict[str, float]:
        """Return rates over one sample per seed."""


@dataclass
class Store:
    """Rates of cells in a JSON file, with a note about them for the page.

    A cell is complete if at least the required number of samples was drawn with the same seed. Delete the file to
    measure all cells again.
    """

    path: Path | None
    seed: int
    cells: dict[str, dict[str, Any]] = field(default_factory=dict)
    note: str = ""

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            content = json.loads(self.path.read_text(encoding="utf-8"))
            if content["seed"] == self.seed:
                self.cells, self.note = content["cells"], content.get("note", "")

    def is_complete(self, key: str, repetitions: int) -> bool:
        """Return whether a cell needs no further samples."""
        return key in self.cells and self.cells[key]["repetitions"] >= repetitions

    def add(self, key: str, repetitions: int, rates: dict[str, float]) -> None:
        """Add a cell, and write the file."""
        self.cells[key] = {"repetitions": repetitions, **rates}
        if self.path is not None:
            temporary = self.path.with_suffix(".part")
            content = {"seed": self.seed, "note": self.note, "cells": self.cells}
            temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            os.replace(temporary, self.path)

    def select(self, cells: Sequence[Any]) -> list[tuple[Any, dict[str, Any]]]:
        """Return the complete cells among these, with their rates."""
        return [(cell, self.cells[cell.key]) for cell in cells if cell.key in self.cells]


def draw_seeds(key: str, seed: int, repetitions: int) -> list[int]:
    """Return the seeds of a cell's samples. With more repetitions, the first seeds are the same."""
    words = np.frombuffer(key.encode(), dtype=np.uint8).tolist()
    return np.random.default_rng([seed, *words]).integers(2**63, size=repetitions).tolist()


_population: Array


def _initialize(queries: int, seed: int) -> None:
    global _population
    _population = simulate(queries, seed)


def _judge(cell: Cell, seeds: Sequence[int]) -> dict[str, float]:
    return cell.judge(seeds, _population)


def judge_cells(cells: Sequence[Cell], store: Store, repetitions: int, workers: int, population: int = 60_000) -> None:
    """Judge the cells that are not complete, and add them to the store.

    Results depend on the seed of the store and the number of repetitions, not on the number of workers.
    """
    tasks = {
        cell: draw_seeds(cell.key, store.seed, repetitions)
        for cell in cells
        if not store.is_complete(cell.key, repetitions)
    }
    # New processes read this variable before they load BLAS. More threads than processors would slow them down.
    os.environ["OMP_NUM_THREADS"] = "1"
    arguments = (population, store.seed)
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_initialize, initargs=arguments) as pool:
        futures = {pool.submit(_judge, cell, seeds): cell for cell, seeds in tasks.items()}
        for future in as_completed(futures):
            store.add(futures[future].key, repetitions, future.result())


def format_rate(rates: dict[str, float], name: str) -> str:
    """Return a rate with its standard error."""
    rate, n = rates[name], rates["repetitions"]
    return f"{rate:.3f} ± {np.sqrt(rate * (1 - rate) / n):.3f}"


def format_table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in [heads, ["---"] * len(heads), *rows])


def replace_section(page: Path, section: str, start: str, end: str) -> None:
    """Replace the section of a page from the line `start` to the line `end`, or append it."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    before, _, rest = text.partition(start)
    parts = (before, section, rest.partition(end)[2])
    page.write_text("\n\n".join(part.strip() for part in parts if part.strip()) + "\n", encoding="utf-8")


def print_section(section: str, page: Path | None, start: str, end: str) -> None:
    """Print a section, and write it to a page if there is one."""
    print(section)
    if page is not None:
        replace_section(page, section, start, end)
