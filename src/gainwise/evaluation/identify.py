"""Find the definition that printed a number: `identify`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.text import TextResult, format_number, join_names, pluralize
from ..metrics.binary import BinaryMetric
from ..metrics.dcg import DCG
from ..metrics.names import parse_metric
from .definitions import (
    BASES,
    CUTOFFS,
    Definition,
    Sample,
    iter_defaults,
    iter_library_definitions,
    iter_mistakes,
    iter_samples,
    iter_variants,
)
from .evaluator import validate_judgments
from .explain import Step, decompose
from .prediction import read_predictions
from .printed_numbers import PrintedNumber, parse_numbers

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Features, Predictor, Scores
    from ..judgments import Judgments
    from ..metrics.base import Metric
    from ..metrics.names import MetricLike

MAX_LINES = 10
MAX_NEAREST = 5
MAX_ACCIDENTAL = 0.05
"""With more matches expected by accident, the text states that the definition may be the right one."""

_WINDOW = 0.05
"""Half the width of the interval in which the density of values is measured."""

_TIES = {
    "order": "ties in input order",
    "average": "ties averaged over all orders",
    "worst": "ties with the lowest label first",
    "best": "ties with the highest label first",
}
_EMPTY = {0.0: "count as 0", 1.0: "count as 1", "skip": "are left out"}
_DENOMINATORS = {
    "min_R_k": "divided by min(R, k)",
    "R": "divided by R",
    "hits": "divided by the hits",
    "min_k_n": "divided by min(k, n)",
}


@dataclass(frozen=True, eq=False)
class Candidate:
    """A definition on some data, its value, and its place: the simplest definitions come first."""

    definition: Definition
    sample: Sample
    value: float
    order: tuple[int, ...]

    @property
    def name(self) -> str:
        """The name in the library, or here."""
        return self.definition.printed or str(self.definition.metric)

    def fits(self, other: Candidate) -> bool:
        """Return whether one program could have printed both numbers."""
        first, second = self.definition, other.definition
        if (
            self.sample is not other.sample
            or first.library != second.library
            or bool(first.offset) != bool(second.offset)
        ):
            return False
        if type(first.metric) is type(second.metric):
            return first.metric.without_cutoff() == second.metric.without_cutoff()
        common = ("ties", "empty", "scores", "weights")
        return bool(first.library) or all(getattr(first.metric, x) == getattr(second.metric, x) for x in common)

    def describe(self) -> str:
        """Return the options that matter on these data, in words."""
        metric, judgments, parts = self.definition.metric, self.sample.judgments, []
        if isinstance(metric, DCG):
            parts += [f"{metric.gain} gain"] if not set(judgments.levels.tolist()) <= {0, 1} else []
            parts += {"jk": ["no discount at ranks 1 and 2"], "none": ["no discount"]}.get(str(metric.discount), [])
        if isinstance(metric, BinaryMetric) and metric.min_label > 1:
            parts.append(f"labels of at least {metric.min_label:g} are relevant")
        parts += [text for value, text in _DENOMINATORS.items() if getattr(metric, "denominator", None) == value]
        parts += [_TIES[metric.ties]] if self.sample.has_ties else []
        if self.definition.offset:
            parts.append("queries without relevant documents count as 1 with the weight 1")
        elif self.sample.has_empty(metric):
            parts.append(f"queries without relevant documents {_EMPTY[metric.empty]}")
        if judgments.weights is not None:
            parts.append("equal weights" if metric.weights == "ignore" else "weighted")
        return ", ".join([*parts, *([self.sample.options] if self.sample.options else [])])


Match = tuple[Candidate, ...]
"""One candidate for each number."""


@dataclass(frozen=True, repr=False, eq=False)
class Identification(TextResult):
    """The definitions that give a number on some data.

    Attributes
    ----------
    matches : DataFrame
        One row per matching definition, the simplest first: `line` (definitions with the same value have the same
        line), `library`, `name` (in the library), `metric` (the name for `evaluate`), `value`, `options` (further
        arguments) and `check` (the mistake, if the number fits only after one). At most ten lines.
    nearest : DataFrame
        The five nearest other definitions, with `difference` and `definition`.
    steps : DataFrame
        With `metric`, the changes from it to the first match, one option at a time: `option`, `before`, `after` and
        `effect`. The effects add up to the difference.
    accidental : float
        The number of matches that an unrelated number would have on average.
    lines : int
        The number of different values that match.
    text : str
        The result in words.
    """

    matches: pd.DataFrame
    nearest: pd.DataFrame
    steps: pd.DataFrame
    accidental: float
    lines: int
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Return the result as values for JSON."""
        return self._export(("matches", "nearest", "steps", "accidental", "lines", "text"))

    def _repr_html_(self) -> str:
        from .._common.theme import table_cell

        title, *notes = self.text.split("\n")
        columns = ["library", "name", "metric", "value", "options"]
        rows = self.matches[columns].head(MAX_LINES).assign(value=self.matches["value"].map(format_number))
        return table_cell(title, columns, rows.astype(str).itertuples(index=False), *notes)


def identify(
    number: float | str | Mapping[str, float | str],
    judgments: Judgments,
    scores: Scores | Predictor,
    *,
    features: Features | None = None,
    metric: MetricLike | None = None,
    data: Mapping[str, tuple[Judgments, Any]] | None = None,
) -> Identification:
    """Find the definitions that give a printed number on some data.

    The search covers the metrics of all libraries with a convention, the options of gainwise, and then typical mistakes.
    A match shows that the number is consistent with a definition. It does not prove that a program used it.

    Parameters
    ----------
    number : float, str or mapping of str to float
        A number, a line of a log such as ``"valid_0's ndcg@20: 0.6357"``, or values by name. A metric, a cutoff and a
        library in the text restrict the search. Several numbers must all match. Half of the last digit is the
        tolerance, so pass all digits.
    judgments : Judgments
        Relevance labels.
    scores : array-like of float, path or model
        The score of each document, or a model with a `predict` method, which requires `features`.
    features : array-like, sparse matrix, DataFrame or RankingData, optional
        Features for a model.
    metric : str or Metric, optional
        Your own definition. The result contains the difference to the match in parts that add up.
    data : mapping of name to (Judgments, scores), optional
        Other data that the number may have been computed on, such as the training data. With a model, features
        replace the scores.

    Returns
    -------
    Identification
        `matches`, `nearest`, `steps`, `accidental`, `text` and `to_dict()`.

    Raises
    ------
    ValueError
        If there is no finite number, two numbers of the same metric differ, or the number of scores is wrong.
    TypeError
        If `judgments` is not a Judgments object.

    Notes
    -----
    For the matches expected by accident, the density of all searched values around the number is multiplied by the
    width of the tolerance. Mistakes are searched only if no correct definition matches.

    Examples
    --------
    >>> import gainwise as gw
    >>> judgments = gw.Judgments([3, 0, 1, 0, 0, 2, 0, 1], group=[5, 3])
    >>> result = gw.identify("NDCG@2 = 0.7106", judgments, [3, 2, 2, 1, 1, 1, 3, 2], metric="ndcg_linear@2")
    >>> result.matches[["library", "name", "metric"]].head(1).squeeze().tolist()
    ['LightGBM', 'ndcg@2', 'ndcg_exp(ties=order,empty=1,weights=float32_mean)@2']
    """
    numbers = parse_numbers(number)
    validate_judgments("identify(number, judgments, scores)", judgments, number=number, scores=scores)
    own = None if metric is None else parse_metric(metric)
    search = _Search(numbers, own)
    samples, others = _read_samples(judgments, scores, features, data or {})
    matches = search.find(samples, lambda: [*others, *iter_mistakes(judgments, samples[0].scores)])
    return _summarize(search, matches, samples[0])


def _read_samples(
    judgments: Judgments, scores: Any, features: Any, data: Mapping[str, tuple[Judgments, Any]]
) -> tuple[list[Sample], list[Sample]]:
    """Return the data, and the other data that the number may have been computed on."""
    is_model = hasattr(scores, "predict")
    if (
        not is_model
        and hasattr(scores, "__len__")
        and not isinstance(scores, str)
        and len(scores) != judgments.documents
    ):
        raise ValueError(
            f"scores must have one entry per document, got {len(scores)} for {judgments.documents} documents. Check which "
            "rows are missing, because they may also explain the number."
        )
    prediction = read_predictions({"scores": scores}, judgments, features)["scores"]
    others = []
    for name, (part, values) in data.items():
        validate_judgments("data={name: (judgments, scores)}", part, **{name: values})
        source = {name: scores if is_model and np.ndim(values) != 1 else values}
        check = f"Check the data, because the number fits {name!r}."
        others.append(Sample(part, read_predictions(source, part, values)[name].scores, check=check))
    rounds = prediction.iteration
    if rounds is not None and rounds.used < rounds.held:
        final = read_predictions({"scores": scores}, judgments, features, rounds.held)["scores"].scores
        check = f"Check the iteration, because the number fits {rounds.held} rounds and not the best {rounds.used}."
        others.append(Sample(judgments, final, check=check))
    return list(iter_samples(judgments, prediction.scores)), others


class _Search:
    """The search for definitions that match all numbers, with every value that it computed."""

    def __init__(self, numbers: list[PrintedNumber], own: Metric | None) -> None:
        self.numbers = numbers
        self.own = own
        self.values: list[set[float]] = [set() for _ in numbers]
        self.simple: list[list[Candidate]] = [[] for _ in numbers]

    def find(self, samples: list[Sample], mistakes: Any) -> list[Match]:
        """Return the matches, the simplest first: of the stated library, of any definition, or after a mistake."""
        stages: list[Any] = [lambda: (samples, False), lambda: (samples, True), lambda: (mistakes(), False)]
        for stage, load in enumerate(stages):
            library = stage != 1 and any(number.library for number in self.numbers)
            if stage == 0 and not library:
                continue
            tried, complete = load()
            found: list[Match] = []
            for sample in tried:
                found += self._find_in(sample, complete and sample is samples[0], library)
            if found:
                return sorted(found, key=lambda match: match[0].order)
        scaled = [replace(x, value=x.value / 100, tolerance=x.tolerance / 100, percent=True) for x in self.numbers]
        if all(x.value > 1 and not x.percent for x in self.numbers):
            percent = _Search(scaled, self.own)
            found = percent.find(
                [replace(samples[0], check="Check the unit, because the number fits a share in percent.")], list
            )
            self.values = [first | second for first, second in zip(self.values, percent.values, strict=True)]
            return found
        return []

    def _find_in(self, sample: Sample, complete: bool, library_only: bool) -> list[Match]:
        matching: list[list[Candidate]] = []
        for place, number in enumerate(self.numbers):
            definitions = self._list_definitions(number, sample, complete, library_only)
            values = sample.evaluate(definitions)
            candidates = [Candidate(d, sample, v, definitions[d]) for d, v in values.items()]
            self.values[place] |= {round(value, 10) for value in values.values()}
            if not sample.check:
                self.simple[place] += [entry for entry in candidates if entry.order[0] < 3]
            matching.append([entry for entry in candidates if number.matches(entry.value)])
        return [match for match in product(*matching) if all(match[0].fits(other) for other in match[1:])]

    def _list_definitions(
        self, number: PrintedNumber, sample: Sample, complete: bool, library_only: bool
    ) -> dict[Definition, tuple[int, ...]]:
        """Return definitions with their order: your own metric, libraries, defaults of gainwise, other options."""
        cutoffs = CUTOFFS if number.k is None else (number.k,)
        if number.name is not None and number.k is None:
            cutoffs = (None, *(k for k in CUTOFFS if k is not None))
        judgments, library = sample.judgments, number.library
        sources: list[Iterable[Definition]] = [
            [] if self.own is None or library_only else [Definition(self.own)],
            (
                d
                for d in iter_library_definitions(judgments, cutoffs)
                if not (library_only and library) or d.is_of(library)
            ),
            [] if library_only else iter_defaults(judgments, cutoffs),
            iter_variants(judgments, cutoffs) if complete else [],
        ]
        orders: dict[Definition, tuple[int, ...]] = {}
        for source, definition in ((at, definition) for at, group in enumerate(sources) for definition in group):
            metric = definition.metric
            if source == 0 or number.allows(str(metric)):
                base = next((at for at, name in enumerate(BASES) if name.startswith(definition.base)), len(BASES))
                place = cutoffs.index(metric.k) if metric.k in cutoffs else len(cutoffs)
                changes = str(metric).count("=")
                orders.setdefault(definition, (source, changes if source == 3 else 0, place, base, changes))
        return orders

    @property
    def accidental(self) -> float:
        """The number of matches expected by accident: density of values × width, for all numbers together."""
        expected = 1.0
        for place, (number, values) in enumerate(zip(self.numbers, self.values, strict=True)):
            window = max(_WINDOW, _WINDOW * abs(number.value), number.tolerance)
            near = sum(abs(value - number.value) <= window for value in values)
            matches = near / (2 * window) * (2 * number.tolerance)
            expected *= matches if place == 0 else matches / max(len(values), 1)
        return expected


def _summarize(search: _Search, matches: list[Match], sample: Sample) -> Identification:
    """Return the tables and the text of a search on these data."""
    import pandas as pd

    lines: dict[tuple[float, ...], list[Match]] = {}
    for match in matches:
        lines.setdefault(tuple(round(entry.value, 10) for entry in match), []).append(match)
    shown = list(lines.values())[:MAX_LINES]
    rows = [
        {
            "line": number,
            "library": match[0].definition.library,
            "name": ", ".join(entry.name for entry in match),
            "metric": ", ".join(str(entry.definition.metric) for entry in match),
            "value": match[0].value,
            "options": match[0].sample.options,
            "check": match[0].sample.check,
        }
        for number, line in enumerate(shown)
        for match in line
    ]
    nearest = _find_nearest(search, {round(match[0].value, 10) for match in matches})
    steps = [] if search.own is None or not matches else _explain_difference(search.own, matches[0][0], sample)
    return Identification(
        pd.DataFrame(rows, columns=["line", "library", "name", "metric", "value", "options", "check"]),
        pd.DataFrame(
            [
                {
                    "library": near.definition.library,
                    "name": near.name,
                    "metric": str(near.definition.metric),
                    "value": near.value,
                    "difference": near.value - search.numbers[0].value,
                    "definition": near.describe(),
                }
                for near in nearest
            ],
            columns=["library", "name", "metric", "value", "difference", "definition"],
        ),
        pd.DataFrame(steps, columns=Step._fields),
        search.accidental,
        len(lines),
        "\n".join(_write(search, shown, len(lines), nearest, steps, sample)),
    )


def _find_nearest(search: _Search, excluded: set[float]) -> list[Candidate]:
    """Return the nearest definitions of libraries and of gainwise with other values, for the first number."""
    target, distinct = search.numbers[0].value, dict[float, Candidate]()
    for candidate in sorted(search.simple[0], key=lambda entry: (abs(entry.value - target), entry.order)):
        distinct.setdefault(round(candidate.value, 10), candidate)
    return [entry for value, entry in distinct.items() if value not in excluded][:MAX_NEAREST]


def _explain_difference(own: Metric, match: Candidate, sample: Sample) -> list[Step]:
    """Return the steps from your own metric on these data to a match."""

    def evaluate(metric: Metric) -> float:
        return next(iter(sample.evaluate([Definition(metric)]).values()), float("nan"))

    steps = decompose(own, match.definition.metric, evaluate)
    rest = match.value - evaluate(match.definition.metric)
    if match.sample is not sample or match.definition.offset:
        after = match.sample.check or match.sample.options or "queries without relevant documents have the weight 1"
        steps.append(Step("data" if match.sample is not sample else "weights", "", after, rest))
    return steps


def _name_line(line: list[Match]) -> str:
    """Return the names of definitions with the same value: those of libraries, or the simplest one."""
    first = [match[0] for match in line]
    libraries: dict[str, list[str]] = {}
    for match in line:
        if match[0].definition.library:
            names = libraries.setdefault(join_names([entry.name for entry in match]), [])
            names += [match[0].definition.library] if match[0].definition.library not in names else []
    texts = [f"your {first[0].name}"] if first[0].order[0] == 0 else []
    for name, owners in libraries.items():
        possessive = [f"{library}'s" for library in owners]
        texts.append(f"{join_names(possessive)} {name}")
    return join_names(texts or [join_names([entry.name for entry in line[0]])], 4)


def _write(
    search: _Search, lines: list[list[Match]], count: int, nearest: list[Candidate], steps: list[Step], sample: Sample
) -> Iterator[str]:
    """Yield the lines of the text."""
    numbers = join_names([number.title for number in search.numbers])
    verb = "are" if len(search.numbers) > 1 else "is"
    if not lines:
        yield f"No definition that gainwise knows gives {numbers} on these data. The nearest are:"
    elif count > MAX_LINES:
        yield f"{numbers} {verb} consistent with {pluralize(count, 'different definition')}. Pass more digits. The simplest are:"
    elif lines[0][0][0].sample.check:
        yield f"No definition gives {numbers} on these data as they are. {lines[0][0][0].sample.check}"
    uncertain = "may be" if search.accidental > MAX_ACCIDENTAL else f"{verb} consistent with"
    for place, line in enumerate(lines):
        same = " (the same number on these data)" if len({match[0].name for match in line}) > 1 else ""
        start = (
            f"{numbers} {uncertain} {_name_line(line)}{same}"
            if place == 0 and count <= MAX_LINES
            else f"  or {_name_line(line)}"
        )
        yield f"{start}: {line[0][0].describe() or 'no further option matters'}."
    if search.own is not None:
        own = next(iter(sample.evaluate([Definition(search.own)]).values()), float("nan"))
        changes = "; ".join(_describe_step(step) for step in steps)
        yield f"yours: {search.own} is {format_number(own)}{f'. Changes: {changes}' if changes else ''}."
    for near in nearest if not lines else nearest[:1]:
        difference = format_number(near.value - search.numbers[0].value, plus=True)
        yield f"{'next: ' if lines else '  '}{_name_line([(near,)])} is {format_number(near.value)} ({difference}): {near.describe()}."
    yield f"Matches expected by accident: {search.accidental:.2g}, among {sum(map(len, search.values)):,} different values."
    if len(sample.judgments.levels) == 1:
        yield "All labels are equal, so the number does not depend on the scores and hardly identifies a definition."


def _describe_step(step: Step) -> str:
    change = f"{step.option} {step.before} → {step.after}" if step.before else step.after.removesuffix(".")
    return f"{change} ({format_number(step.effect, plus=True)})"
