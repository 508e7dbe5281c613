"""Unjudged documents: retrieved documents without a label, and whether some models have more of them than others."""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.words import listed
from ..evaluation.evaluator import HANDLING, Evaluator
from ..metrics.judged import Judged
from .flags import Flag

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .._common.typing import Floats
    from ..judgments import Judgments, Unjudged
    from ..metrics.base import Metric

UNEVEN = 0.05
"""A model in question whose share of judged documents differs by more than this from another's is flagged."""

ROUNDING = 1e-12
"""A difference of shares that exceeds the limit by no more than this does not exceed it."""


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
        return f"Retrieved documents that nobody judged were {HANDLING[self.handling]}: {listed(counts)}"

    def of_recipes(self, recipes: Mapping[str, Sequence[str]], models: Sequence[str]) -> UnjudgedDocuments:
        """Return the same of recipes in place of their runs: the mean share, and the documents of all runs together."""
        runs = {model: recipes.get(model, [model]) for model in models}
        return replace(
            self,
            shares={
                name: {model: sum(shares[run] for run in names) / len(names) for model, names in runs.items()}
                for name, shares in self.shares.items()
            },
            retrieved={model: sum(self.retrieved[run] for run in names) for model, names in runs.items()},
            unjudged={model: sum(self.unjudged[run] for run in names) for model, names in runs.items()},
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
