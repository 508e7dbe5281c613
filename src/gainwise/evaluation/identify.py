"""Find the definition that printed a number: `identify`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.text import TextResult, format_number, join_names, pluralize
from ..metrics.base import COMMON
from ..metrics.binary import BinaryMetric
from ..metrics.dcg import DCG
from ..metrics.names import parse_metric
from .definitions import (
    BASES,
    CUTOFFS,
    Definition,
    Sample,
    get_title,
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
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

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


_PLACES = {name.partition("(")[0]: place for place, name in reversed(list(enumerate(BASES)))}


@dataclass(frozen=True, eq=False)
class Candidate:
    """A definition on some data, its value, and its place: the simplest definitions come first."""

    definition: Definition
    sample: Sample
    value: float
    order: tuple[int, ...]

    def fits(self, other: Candidate) -> bool:
        """Return whether one program could have printed both numbers."""
        first, second = self.definition, other.definition
        if self.sample is not other.sample or first.library != second.library or first.offset != second.offset:
            return False
        if type(first.metric) is type(second.metric):
            return first.metric.without_cutoff() == second.metric.without_cutoff()
        same = (getattr(first.metric, option) == getattr(second.metric, option) for option in COMMON if option != "k")
        return bool(first.library) or all(same)

    def list_options(self) -> list[str]:
        """Return the options that matter on these data, in words."""
        metric, sample = self.definition.metric, self.sample
        parts = []
        if isinstance(metric, DCG):
            parts += [] if sample.is_binary else [f"{metric.option_text('gain')} gain"]
            parts += {"jk": ["no discount at ranks 1 and 2"], "none": ["no discount"]}.get(str(metric.discount), [])
        if isinstance(metric, BinaryMetric) and metric.min_label > 1:
            parts.append(f"labels of at least {metric.min_label:g} are relevant")
        parts += [text for value, text in _DENOMINATORS.items() if getattr(metric, "denominator", None) == value]
        parts += [_TIES[metric.ties]] if sample.has_ties else []
        if sample.has_empty(metric):
            weight = " with the weight 1" if self.definition.offset else ""
            empty: Any = 1.0 if self.definition.offset else metric.empty
            parts.append(f"queries without relevant documents {_EMPTY[empty]}{weight}")
        if sample.judgments.weights is not None and metric.weights == "ignore":
            parts.append("without weights")
        return [*parts, *filter(None, [sample.options])]


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

    The search covers the metrics of all libraries with a convention, the options of gainwise, and typical mistakes. A
    match shows that the number is consistent with a definition. It does not prove that a program used it.

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
    samples, others = _read_samples(judgments, scores, features, data or {})
    search = _Search(numbers, None if metric is None else parse_metric(metric), samples)
    return _summarize(search, search.find(lambda: [*others, *iter_mistakes(judgments, samples[0].scores)]))


def _read_samples(
    judgments: Judgments, scores: Any, features: Any, data: Mapping[str, tuple[Judgments, Any]]
) -> tuple[list[Sample], list[Sample]]:
    """Return the data, and the other data that the number may have been computed on."""
    if np.ndim(scores) == 1 and len(scores) != judgments.documents:
        raise ValueError(
            f"scores must have one entry per document, got {len(scores)} for {judgments.documents} documents. Check "
            "which rows are missing, because they may also explain the number."
        )
    prediction, others = read_predictions({"scores": scores}, judgments, features)["scores"], []
    for name, (part, values) in data.items():
        validate_judgments("identify(…, data={name: (judgments, scores)})", part, data=values)
        source = {name: scores if hasattr(scores, "predict") and np.ndim(values) != 1 else values}
        others.append(Sample(part, read_predictions(source, part, values)[name].scores, "", "the data", repr(name)))
    rounds = prediction.iteration
    if rounds is not None and rounds.used < rounds.held:
        final = read_predictions({"scores": scores}, judgments, features, rounds.held)["scores"].scores
        fits = f"all {rounds.held} rounds instead of {rounds.used}"
        others.append(Sample(judgments, final, "", "the iteration", fits))
    return list(iter_samples(judgments, prediction.scores)), others


class _Search:
    """The search for definitions that match all numbers, and the values that it computed."""

    def __init__(self, numbers: list[PrintedNumber], own: Metric | None, samples: list[Sample]) -> None:
        self.numbers = numbers
        self.own = own
        self.samples = samples
        self.title = join_names([number.title for number in numbers])
        self.values: list[set[float]] = [set() for _ in numbers]
        self.simple: list[Candidate] = []
        """The metrics of libraries and of gainwise, for the first number."""

    def find(self, load_mistakes: Callable[[], list[Sample]]) -> list[Match]:
        """Return the matches, the simplest first: of the stated library, of any definition, or after a mistake."""
        original, library = self.numbers, self.numbers[0].library
        for stage in (*(["simple"] if library else []), "all", "mistakes", "percent"):
            samples, found = self.samples, list[Match]()
            if stage == "mistakes":
                samples = load_mistakes()
            elif stage == "percent":
                if not all(number.may_be_percent for number in original):
                    break
                self.numbers = [number.as_percent() for number in original]
                samples = [replace(samples[0], check="the unit", fits="a share in percent")]
            for sample in samples:
                complete = stage == "percent" or (stage == "all" and sample is samples[0])
                found += self._find_in(sample, complete)
            if library is not None and stage != "all":
                first = {match[0].value for match in found if match[0].definition.library == get_title(library)}
                found = [match for match in found if match[0].value in first]
            if found:
                return sorted(found, key=lambda match: match[0].order)
        self.numbers = original
        return []

    def _find_in(self, sample: Sample, complete: bool) -> list[Match]:
        """Return the matches on these data."""
        matching: list[list[Candidate]] = []
        for number, known in zip(self.numbers, self.values, strict=True):
            orders = self._list_definitions(number, sample, complete)
            values = sample.evaluate(orders)
            known.update(round(value, 10) for value in values.values())
            candidates = [Candidate(key, sample, value, orders[key]) for key, value in values.items()]
            if number is self.numbers[0] and not sample.check:
                self.simple += [candidate for candidate in candidates if candidate.order[0] in (1, 2)]
            matching.append([candidate for candidate in candidates if number.matches(candidate.value)])
        return [match for match in product(*matching) if all(match[0].fits(other) for other in match[1:])]

    def _list_definitions(
        self, number: PrintedNumber, sample: Sample, complete: bool
    ) -> dict[Definition, tuple[int, ...]]:
        """Return definitions with their order: your own metric, libraries, defaults of gainwise, other options."""
        cutoffs: Sequence[int | None] = CUTOFFS if number.k is None else (number.k,)
        if number.name is not None and number.k is None:
            cutoffs = sorted(cutoffs, key=lambda k: k is not None)
        places = {k: place for place, k in enumerate(cutoffs)}
        sources: list[Iterable[Definition]] = [
            [] if self.own is None else [Definition(self.own)],
            iter_library_definitions(sample, cutoffs),
            iter_defaults(sample, cutoffs),
            iter_variants(sample, cutoffs) if complete else [],
        ]
        orders: dict[Definition, tuple[int, ...]] = {}
        for source, definitions in enumerate(sources):
            for definition in definitions:
                base, metric = definition.base, definition.metric
                if source == 0 or number.allows(base):
                    changes = str(metric).count("=") if source == 3 else 0
                    is_other = number.library is not None and definition.library != get_title(number.library)
                    place = places.get(metric.k, len(places)), _PLACES.get(base, len(_PLACES))
                    orders.setdefault(definition, (source, is_other, changes, *place, len(orders)))
        return orders

    @property
    def accidental(self) -> float:
        """The number of matches expected by accident: density of values × width, for all numbers together."""
        expected = 1.0
        for place, (number, values) in enumerate(zip(self.numbers, self.values, strict=True)):
            window = max(_WINDOW, _WINDOW * abs(number.value), number.tolerance)
            matches = sum(abs(value - number.value) <= window for value in values) * number.tolerance / window
            expected *= matches if place == 0 else matches / max(len(values), 1)
        return expected


def _summarize(search: _Search, matches: list[Match]) -> Identification:
    """Return the tables and the text of a search."""
    import pandas as pd

    lines: dict[tuple[float, ...], list[Match]] = {}
    for match in matches:
        lines.setdefault(tuple(round(candidate.value, 10) for candidate in match), []).append(match)
    shown = list(lines.values())[:MAX_LINES]
    rows = [
        (
            number,
            match[0].definition.library,
            ", ".join(candidate.definition.name for candidate in match),
            ", ".join(str(candidate.definition.metric) for candidate in match),
            match[0].value,
            match[0].sample.options,
            match[0].sample.sentence,
        )
        for number, line in enumerate(shown)
        for match in line
    ]
    target, excluded = search.numbers[0].value, {round(match[0].value, 10) for match in matches}
    distinct: dict[float, Candidate] = {}
    for near in sorted(search.simple, key=lambda entry: (abs(entry.value - target), entry.order)):
        distinct.setdefault(round(near.value, 10), near)
    nearest = [near for value, near in distinct.items() if value not in excluded][:MAX_NEAREST]
    steps = (
        [] if search.own is None else _find_steps(search.own, search.samples[0], (*[m[0] for m in matches], *nearest))
    )
    columns = ["line", "library", "name", "metric", "value", "options", "check"]
    near_rows = [
        (
            near.definition.library,
            near.definition.name,
            str(near.definition.metric),
            near.value,
            near.value - target,
            ", ".join(near.list_options()),
        )
        for near in nearest
    ]
    return Identification(
        pd.DataFrame(rows, columns=columns),
        pd.DataFrame(near_rows, columns=["library", "name", "metric", "value", "difference", "definition"]),
        pd.DataFrame(steps, columns=Step._fields),
        search.accidental,
        len(lines),
        "\n".join(_write(search, shown, len(lines), nearest, steps)),
    )


def _find_steps(own: Metric, sample: Sample, matches: Sequence[Candidate]) -> list[Step]:
    """Return the steps from your own metric to the first match, or to the nearest definition."""
    if not matches:
        return []
    match = matches[0]
    steps = decompose(own, match.definition.metric, sample.evaluate_one)
    rest = match.value - sample.evaluate_one(match.definition.metric)
    if match.sample is not sample:
        steps.append(Step("data", "", match.sample.fits or match.sample.options, rest))
    elif match.definition.offset:
        steps.append(Step("weight of queries without relevant documents", "own", "1", rest))
    return steps


def _name_line(line: list[Match]) -> str:
    """Return the names of definitions with the same value: those of libraries, or the simplest one."""
    texts = ["your " + line[0][0].definition.name] if line[0][0].order[0] == 0 else []
    names = {match[0].definition.library: match for match in reversed(line)}  # The simplest name of each library.
    owners: dict[str, list[str]] = {}
    for match in line:
        library = match[0].definition.library
        if library and names[library] is match:
            name = join_names([candidate.definition.name for candidate in match])
            owners.setdefault(name, []).append(f"{library}'" if library.endswith("s") else f"{library}'s")
    texts += [f"{join_names(libraries)} {name}" for name, libraries in owners.items()]
    same = " (the same number on these data)" if len(texts) > 1 or any(len(x) > 1 for x in owners.values()) else ""
    return join_names(texts or [join_names([candidate.definition.name for candidate in line[0]])], 4) + same


def _describe(line: list[Match]) -> str:
    """Return the options that all definitions of a line have in common."""
    common = [set(match[0].list_options()) for match in line]
    shared = [text for text in line[0][0].list_options() if all(text in texts for texts in common)]
    return f": {', '.join(shared)}" if shared else ""


def _write(
    search: _Search, lines: list[list[Match]], count: int, nearest: list[Candidate], steps: list[Step]
) -> Iterator[str]:
    """Yield the lines of the text."""
    target, be = search.numbers[0].value, "is" if len(search.numbers) == 1 else "are"
    if not lines:
        yield f"No definition that gainwise knows gives {search.title} on these data."
        low, high = min(search.values[0], default=0.0), max(search.values[0], default=0.0)
        if not low <= target <= high:
            yield f"All values of the search are between {format_number(low)} and {format_number(high)}."
    elif lines[0][0][0].sample.check:
        yield f"No definition gives {search.title} on these data as they are. {lines[0][0][0].sample.sentence}"
    verb = "may be" if search.accidental > MAX_ACCIDENTAL else f"{be} consistent with"
    if count > MAX_LINES:
        yield f"{search.title} matches {pluralize(count, 'value')} of different definitions. Pass more digits."
    for place, line in enumerate(lines):
        start = f"{search.title} {verb}" if place == 0 and count <= MAX_LINES else "or"
        yield f"{start} {_name_line(line)}{_describe(line)}."
    if search.own is not None:
        changes = "; ".join(_describe_step(step) for step in steps if step.effect)
        goal = "" if lines or not nearest else f" to {_name_line([(nearest[0],)])}"
        value = format_number(search.samples[0].evaluate_one(search.own))
        yield f"yours: {search.own} is {value}{f'. Changes{goal}: {changes}' if changes else ''}."
    for near in nearest[:1] if lines else nearest:
        difference = f"{format_number(near.value)} ({format_number(near.value - target, plus=True)})"
        yield f"next: {_name_line([(near,)])} is {difference}{_describe([(near,)])}."
    number = pluralize(sum(map(len, search.values)), "different value")
    yield f"matches expected by accident: {search.accidental:.2g}, among {number}."
    if len(search.samples[0].judgments.levels) == 1:
        yield "All labels are equal, so most definitions give the same number."


def _describe_step(step: Step) -> str:
    before = f" instead of {step.before}" if step.before else ""
    return f"{step.option} {step.after}{before} ({format_number(step.effect, plus=True)})"
