"""What a reader should know before trusting a verdict: ties, thin evidence, models that never differ."""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.typing import Bools, Floats
from .._common.words import confidence, count, listed
from ..evaluation.coverage import BECAME
from ..evaluation.evaluator import Evaluator
from ..metrics.judged import Judged
from .data import FEW_REPEATS, Panel, Queries
from .estimates import ROUNDING, Estimate
from .inference import MIN_QUERIES
from .labels import cluster_sums

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .._common.typing import Floats
    from ..judgments import Judgments, Unjudged
    from ..metrics.base import Metric


FEW = 100
"""Pairs that differ on fewer queries than this are flagged."""

HEAVY = 0.10
"""Weights are flagged of which the heaviest hundredth of the queries carries a larger share than this."""

LOPSIDED = 0.15
"""Skewness of a mean difference from which pairs are flagged: a one-sided test at level .05 then errs in about .07."""


@dataclass(frozen=True)
class Flag:
    """One reservation about a verdict.

    Attributes
    ----------
    code : str
        ``"left-out queries"``, ``"one model"``, ``"few queries"``, ``"few clusters"``, ``"uneven weights"``,
        ``"uneven clusters"``, ``"identical repeats"``, ``"few repeats"``, ``"tied winners"``, ``"identical models"``,
        ``"ignored pairs"``, ``"thin pairs"``, ``"lopsided pairs"`` or ``"uneven judging"``.
    message : str
        One sentence, with numbers.
    models : tuple of str
        The models concerned, where there are any.
    pairs : tuple of (str, str)
        The pairs of models concerned, where there are any.
    """

    code: str
    message: str
    models: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.message

    def to_dict(self) -> dict[str, Any]:
        """Return the flag as plain lists and strings."""
        return vars(self) | {"models": list(self.models), "pairs": [list(pair) for pair in self.pairs]}


def left_out_flags(counts: Queries) -> tuple[Flag, ...]:
    """Say how many queries of each metric are left out of what is said of both together.

    >>> print(*left_out_flags(Queries(any=30, own={"a": 30, "b": 18}, common=18)))
    The verdict is on the 18 queries on which both metrics have a value; left out are 12 more of a.
    """
    left_out = [f"{number:,} more of {metric}" for metric, number in counts.left_out.items() if number]
    if not left_out:
        return ()
    size = "one query" if counts.common == 1 else f"{counts.common:,} queries"
    text = f"The verdict is on the {size} on which both metrics have a value; left out are {listed(left_out)}."
    return (Flag("left-out queries", text),)


def find_flags(panel: Panel, estimated: Estimate, tied: dict[str, tuple[str, ...]], alpha: float) -> tuple[Flag, ...]:
    """Collect the reservations, the gravest first; `tied` has the models with the best mean under each metric."""
    flags = []
    if len(panel.models) == 1:
        flags.append(Flag("one model", "There is one model only, so nothing is compared.", panel.models))
    elif panel.queries < MIN_QUERIES:
        says = f"There is evidence from {count(panel.queries, 'query')} only: below {MIN_QUERIES} nothing is decided."
        flags.append(Flag("few queries", says))
    elif panel.units < MIN_QUERIES:
        size = f"{panel.queries:,} queries come in {count(panel.units, 'cluster')}"
        flags.append(Flag("few clusters", f"The {size} only: below {MIN_QUERIES} nothing is decided."))
    flags.extend(_weight_flags(panel))
    if panel.units < panel.queries and estimated.effective < panel.units / 2:
        uneven = f"{count(panel.units, 'cluster')} are so uneven that they are worth about {estimated.effective:,.0f}"
        flags.append(Flag("uneven clusters", f"The {uneven}: the largest ones decide."))
    flags.extend(_run_flags(panel, estimated))
    for metric, names in tied.items():
        if len(names) > 1:
            best = "lowest" if metric in panel.lower_is_better else "highest"
            tie = f"{listed(names)} share the {best} mean {metric}; {names[0]} stands for them, by name."
            flags.append(Flag("tied winners", tie, names))
    flags.extend(_pair_flags(panel, estimated, alpha))
    return tuple(flags)


def _run_flags(panel: Panel, estimated: Estimate) -> list[Flag]:
    """Say which recipes have repeats that are the same, and which have few."""
    if panel.repeats is None:
        return []
    flags = []
    few = tuple(
        name for name, repeats in zip(panel.models, panel.repeat_counts, strict=True) if 0 < repeats < FEW_REPEATS
    )
    same = tuple(
        name
        for name, repeats in zip(panel.models, panel.repeats, strict=True)
        if _repeats(repeats, estimated.tolerance)
    )
    if same:
        says = (
            f"Some repeats of {listed(same)} are the same on every query: what was to vary (such as a seed where neither "
            "queries nor features are sampled) has no effect, and how much another repeat would differ is not shown."
        )
        flags.append(Flag("identical repeats", says, same))
    if few:
        says = (
            f"{listed(few)} {'has' if len(few) == 1 else 'have'} fewer than {FEW_REPEATS} repeats: how much another repeat "
            "would differ is known badly, and only large leads are found."
        )
        flags.append(Flag("few repeats", says, few))
    return flags


def _repeats(repeats: Floats, tolerance: Floats) -> bool:
    """Whether two repeats have the same value on every query under every metric."""
    return any(
        bool((np.abs(repeats[:, :, first] - repeats[:, :, second]) <= tolerance[:, None]).all())
        for first, second in itertools.combinations(range(repeats.shape[2]), 2)
    )


def _weight_flags(panel: Panel) -> list[Flag]:
    """Say where few queries carry much of the weight: what a sample that misses some of them says is no warning."""
    if panel.weights is None:
        return []
    top, worth = heaviest_share(panel.weights), 1 / float((panel.weights**2).sum())
    if top <= HEAVY and worth >= panel.queries / 2:
        return []
    says = (
        f"The heaviest 1 % of the queries carry {100 * top:.0f} % of the weight, and all {panel.queries:,} are worth "
        f"about {worth:,.0f}: of heavy queries that the sample misses no number here knows. Better sample queries by "
        "their traffic and let each weigh 1."
    )
    return [Flag("uneven weights", says)]


def heaviest_share(weights: Floats) -> float:
    """Return what the heaviest hundredth of all queries carries of weights that sum to 1, a part of a query included.

    >>> round(heaviest_share(np.full(50, 0.02)), 12)
    0.01
    >>> round(heaviest_share(np.array([0.5, 0.3] + 198 * [0.2 / 198])), 12)
    0.8
    """
    size = len(weights) / 100
    whole = int(size)
    heaviest = -np.partition(-weights, whole)
    return float(heaviest[:whole].sum() + (size - whole) * heaviest[whole])


def _pair_flags(panel: Panel, estimated: Estimate, alpha: float) -> list[Flag]:
    # On a share of queries larger than this, none would be among these with a probability below alpha.
    unseen = 1 - alpha ** (1 / estimated.effective)
    support = estimated.support.min(axis=0)
    same = estimated.support.max(axis=0) == 0
    first, second = np.triu_indices(len(panel.models), 1)
    found, units = [], "queries" if panel.units == panel.queries else "clusters"
    for code, chosen, says in (
        (
            "identical models",
            same,
            "never differ: what holds for the one holds for the other, though they may differ on up to "
            f"{100 * unseen:.2g} % of all queries ({confidence(alpha)} confidence)",
        ),
        (
            "ignored pairs",
            ~same & (support < MIN_QUERIES),
            f"differ on fewer than {MIN_QUERIES} {units} under a metric, which then decides nothing between them",
        ),
        (
            "thin pairs",
            (support >= MIN_QUERIES) & (support < FEW),
            f"differ on fewer than {FEW} {units} under a metric: what it says of them is rough",
        ),
        (
            "lopsided pairs",
            (support >= FEW) & (lopsidedness(panel, may_be_lopsided(panel, estimated)) > LOPSIDED),
            f"owe their difference under a metric to few {units} with large ones: what it says of them is rough",
        ),
    ):
        here = chosen[first, second]
        pairs = tuple((panel.models[k], panel.models[j]) for k, j in zip(first[here], second[here], strict=True))
        if pairs:
            named = listed([f"{a} and {b}" for a, b in pairs], word="as well as")
            if len(pairs) > 3:
                named = f"{len(pairs)} of {len(first)} pairs of models"
            found.append(Flag(code, f"{named} {says}.", tuple(dict.fromkeys(itertools.chain(*pairs))), pairs))
    return found


def may_be_lopsided(panel: Panel, estimated: Estimate) -> Bools:
    """Return for which pairs of models `lopsidedness` has to be worked out, shape (models, models).

    |Σ e³| is at most max|e| · Σ e², so it is at most max|e| / √Σ e²: the largest weight times the widest difference
    there can be, by the standard error. That is far below what is flagged wherever there are many queries.
    """
    queries = panel.queries
    if panel.units < queries or estimated.repeats is not None or queries < 2:
        return np.ones(estimated.error.shape[1:], dtype=bool)
    heaviest = 1 / queries if panel.weights is None else panel.weights.max()
    widest = 2 * np.ptp(panel.values, axis=(1, 2))[:, None, None]
    root = estimated.error * np.sqrt((queries - 1) / queries)
    return np.asarray((heaviest * widest > 0.99 * LOPSIDED * root).any(axis=0))


def lopsidedness(panel: Panel, among: Bools | None = None) -> Floats:
    """Return for each pair of models how skewed the mean of their differences is, the larger one of the metrics.

    That is |Σ e³| / (Σ e²)^1.5 of e = w (d − mean), the differences d from their weighted mean. With equal weights it
    is the skewness of d over √n, the leading term of how far the normal limit is off (Edgeworth). Of queries in
    clusters e is summed within each. Shape (models, models), symmetric; 0 where a difference does not vary, and for
    other pairs than those of `among`, where that is given.
    """
    metrics, models, queries = panel.values.shape
    weights = np.full(queries, 1 / queries) if panel.weights is None else panel.weights
    rounding = ROUNDING * np.abs(panel.values).max()
    found = np.zeros((models, models))
    for k in range(models - 1):
        for j in range(k + 1, models):
            if among is not None and not among[k, j]:
                continue
            difference = panel.values[:, j] - panel.values[:, k]
            difference -= (difference @ weights)[:, None]
            difference[np.abs(difference) <= rounding] = 0.0
            difference *= weights
            if panel.clusters is not None and panel.units < queries:
                difference = cluster_sums(difference, panel.clusters)
            squares = difference * difference
            spread = squares.sum(axis=1) ** 1.5
            third = np.abs(np.einsum("mq,mq->m", squares, difference))
            skewness = np.divide(third, spread, out=np.zeros(metrics), where=spread > 0)
            found[k, j] = found[j, k] = skewness.max()
    return found


UNEVEN = 0.05
"""A model in question whose share of judged documents differs by more than this from another's is flagged."""


@dataclass(frozen=True)
class UnjudgedDocuments:
    """How much of what each model retrieved was judged.

    Attributes
    ----------
    shares : dict of metric name to dict of model to float
        The mean of `judged@k` over all queries, with the cutoffs and ties of the two primary metrics, on the rankings
        as they were; a query for which a model retrieved nothing counts 1.
    retrieved, unjudged : dict of model to int
        Documents that each model retrieved, and those of them that nobody judged.
    handling : {"irrelevant", "drop"}
        What became of the latter: they have label 0, or were dropped before the other metrics were computed.
    """

    shares: dict[str, dict[str, float]]
    retrieved: dict[str, int]
    unjudged: dict[str, int]
    handling: Unjudged

    def text(self, models: Sequence[str]) -> list[str]:
        """Return the sentences of a verdict, about these models."""
        if not any(self.unjudged.values()):
            return ["Every document that the models retrieved was judged."]
        return [
            *(f"{name} is {listed([f'{shares[model]:.3f} for {model}' for model in models])}."
              for name, shares in self.shares.items()),
            f"{self.became(models)}.",
        ]  # fmt: skip

    def became(self, models: Sequence[str]) -> str:
        """Return how many documents of these models nobody judged, and what became of them."""
        counts = [f"{self.unjudged[model]:,} of {self.retrieved[model]:,} for {model}" for model in models]
        return f"Retrieved documents that nobody judged were {BECAME[self.handling]}: {listed(counts)}"

    def of_recipes(self, recipes: Mapping[str, Sequence[str]], models: Sequence[str]) -> UnjudgedDocuments:
        """Return the same of recipes in place of their repeats: the mean share, and the documents of all repeats together."""
        repeats = {model: recipes.get(model, [model]) for model in models}
        return replace(
            self,
            shares={
                name: {model: sum(shares[repeat] for repeat in names) / len(names) for model, names in repeats.items()}
                for name, shares in self.shares.items()
            },
            retrieved={model: sum(self.retrieved[repeat] for repeat in names) for model, names in repeats.items()},
            unjudged={model: sum(self.unjudged[repeat] for repeat in names) for model, names in repeats.items()},
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON knows it."""
        return asdict(self)


def find_unjudged(
    judgments: Judgments, scores: Mapping[str, Floats], primary: Sequence[Metric], handling: Unjudged
) -> UnjudgedDocuments | None:
    """Count what nobody judged, with the cutoffs and ties of the primary metrics; None where that is not known.

    `judgments` are of all documents, the unjudged ones included; `scores` are -inf for what a model did not retrieve.
    """
    if judgments.judged is None:
        return None
    alike = [Judged(k=metric.k, ties=metric.ties, scores=metric.scores, weights=metric.weights) for metric in primary]
    evaluator = Evaluator(list(dict.fromkeys(alike)), judgments)
    means = {model: evaluator(values).mean for model, values in scores.items()}
    found = {model: values > -np.inf for model, values in scores.items()}
    return UnjudgedDocuments(
        shares={name: {model: means[model][name] for model in scores} for name in evaluator.names},
        retrieved={model: int(mask.sum()) for model, mask in found.items()},
        unjudged={model: int((mask & ~judgments.judged).sum()) for model, mask in found.items()},
        handling=handling,
    )


def uneven_judging(unjudged: UnjudgedDocuments, in_question: Sequence[str]) -> tuple[Flag, ...]:
    """Return a flag if the share of judged documents of a model in question differs clearly from another's.

    The other one need not be in question itself: it may be out of it by what nobody judged.
    """
    found = []
    for name, shares in unjudged.shares.items():
        others = [model for model in shares if model not in in_question]
        pairs = tuple(
            (one, other)
            for one, other in itertools.combinations([*in_question, *others], 2)
            if one in in_question and abs(shares[one] - shares[other]) > UNEVEN + ROUNDING
        )
        if not pairs:
            continue
        named = listed([f"{one} and {other} ({shares[one]:.3f}, {shares[other]:.3f})" for one, other in pairs])
        if len(pairs) > 3:
            named = f"a model in question and another in {len(pairs)} pairs"
        message = f"{name} differs by more than {UNEVEN:g} between {named}: {_REMEDY[unjudged.handling]}."
        found.append(Flag("uneven judging", message, tuple(dict.fromkeys(itertools.chain(*pairs))), pairs))
    return tuple(found)


_REMEDY = {
    "irrelevant": "the one with fewer judged documents may look worse than it is; see whether unjudged='drop' gives "
    "the same answer, or have the missing documents judged",
    "drop": "condensed lists may flatter the one with fewer judged documents; see whether unjudged='irrelevant' gives "
    "the same answer, or have the missing documents judged",
}
