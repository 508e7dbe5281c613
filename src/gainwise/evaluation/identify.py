"""Find the definition that printed a number: `identify`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.lazy import pandas as pd
from .._common.text import TextResult, agree, format_number, join_names, pluralize
from ..judgments import Judgments
from ..metrics.base import Metric
from ..metrics.conventions import CONVENTIONS
from ..metrics.names import parse_metric
from .definitions import (
    BASES,
    CUTOFFS,
    Definition,
    Sample,
    iter_definitions,
    iter_library_definitions,
    iter_mistakes,
    iter_samples,
)
from .evaluator import validate_judgments
from .explain import Step, decompose
from .groups import AlignedScores
from .prediction import read_predictions
from .printed_numbers import PrintedNumber, parse_printed, select_searched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .._common.typing import Features, Predictor, Scores
    from ..metrics.names import MetricLike

MAX_LINES = 10
MAX_NEAREST = 5
MAX_ACCIDENTAL = 0.05
"""With more matches expected by accident, the text states that the definition may be the right one."""

_WINDOW = 0.05
"""Half the width of the interval in which the density of values is measured."""

_PLACES = {name.partition("(")[0]: place for place, name in reversed(list(enumerate(BASES)))}


Match = tuple[Definition, ...]
"""One definition for each number."""


@dataclass(frozen=True, repr=False, eq=False)
class Identification(TextResult):
    """The definitions that give a number on some data.

    Attributes
    ----------
    matches : DataFrame
        One row per matching definition, the simplest first: `line` (definitions with the same value have the same
        line), `library`, `name` (in the library), `metric` (the name for `evaluate`), `value`, `difference` to the
        number, `definition` (in words), `options` (further arguments) and `check` (the mistake that leads to the
        number). At most ten lines. For several numbers, `value` and `difference` belong to the first one.
    nearest : DataFrame
        The five nearest definitions of libraries and of gainwise with other values, in the same columns.
    steps : DataFrame
        With `metric`, the changes from it to the first match, one option at a time: `option`, `before`, `after` and
        `effect`. The effects add up to the difference. Of several numbers, the one with the same cutoff is explained.
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

    def _repr_html_(self) -> str:
        from .._common.theme import table_cell

        title, *notes = self.text.split("\n")
        rows = self.matches[["library", "name", "metric", "value"]].head(MAX_LINES).astype(str)
        return table_cell(title, ("library", "name", "metric", "value"), rows.itertuples(index=False), *notes)


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
    number : float, str, or mapping or Series of str to float
        A number, a line of a log such as ``"valid_0's ndcg@20: 0.6357"``, or values by name. A metric, a cutoff and a
        library in the text restrict the search. Several numbers must all match. If at least one number has the name
        of a known metric, the search leaves out the numbers without one, and `text` lists them. If no number has, it
        ignores the names. Half of the last digit is the tolerance, so pass all digits.
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
        If a finite number is missing, two searched numbers of the same metric differ, a score is NaN, or the number
        of scores is wrong.
    TypeError
        If `judgments` is not a Judgments object.

    See Also
    --------
    gainwise.explain : List the values of all libraries for one ranking.
    gainwise.evaluate : Compute metrics as a library does, with `convention=`.

    Notes
    -----
    For the matches expected by accident, the density of all searched values around the number is multiplied by the
    width of the tolerance. Mistakes are searched only if no correct definition matches.

    Examples
    --------
    >>> import gainwise as gw
    >>> judgments = gw.Judgments([3, 0, 1, 0, 0, 2, 0, 1], group=[5, 3])
    >>> result = gw.identify("NDCG@2 = 0.5455", judgments, [3, 2, 2, 1, 1, 1, 3, 2], metric="ndcg_linear@2")
    >>> print(result.text.splitlines()[1])
    yours: ndcg_linear@2 is 0.5765. Changes: gain linear → exponential (−0.0103); ties average → order (−0.0207).
    >>> result.matches.loc[0, "metric"]
    'ndcg_exp(ties=order,empty=1,weights=float32_mean)@2'
    """
    validate_judgments("identify(number, judgments, scores)", judgments, number=number, scores=scores)
    printed = parse_printed(number)
    numbers = select_searched(printed)
    if not isinstance(data, Mapping | None):
        raise TypeError(f"data must map names to pairs of Judgments and scores, got {type(data).__name__}.")
    samples, others = _read_samples(judgments, scores, features, data or {})
    search = _Search(numbers, printed, None if metric is None else parse_metric(metric), samples)
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
    prediction, others = read_predictions({"scores": scores}, judgments, features)[0]["scores"], []
    for name, pair in data.items():
        is_pair = isinstance(pair, tuple | list) and len(pair) == 2
        if not is_pair or not isinstance(pair[0], Judgments):
            given = f"{type(pair[0]).__name__} first" if is_pair else type(pair).__name__
            raise TypeError(f"data[{name!r}] must be a pair of Judgments and scores, got {given}.")
        part, values = pair
        source = {name: scores if hasattr(scores, "predict") and np.ndim(values) != 1 else values}
        others.append(Sample(part, read_predictions(source, part, values)[0][name].scores, "", "the data", repr(name)))
    AlignedScores(judgments, prediction.scores).validate()
    rounds = prediction.iteration
    if rounds is not None and rounds.used < rounds.held:
        final = read_predictions({"scores": scores}, judgments, features, all_rounds=True)[0]["scores"].scores
        fits = f"all {rounds.held} rounds instead of {rounds.used}"
        others.append(Sample(judgments, final, "", "the iteration", fits))
    return list(iter_samples(judgments, prediction.scores)), others


@dataclass(eq=False)
class _Search:
    """The search for definitions that match all numbers, and the values that it computed.

    `printed` are all numbers of the text. `own` is your metric. `simple` are the metrics of libraries and of gainwise,
    for the first number.
    """

    numbers: list[PrintedNumber]
    printed: list[PrintedNumber]
    own: Metric | None
    samples: list[Sample]
    simple: list[Definition] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.title = join_names([number.title for number in self.numbers])
        self.values: list[set[float]] = [set() for _ in self.numbers]

    def find(self, load_mistakes: Callable[[], list[Sample]]) -> list[Match]:
        """Return the matches, the simplest first: of the stated library, of any definition, or after a mistake."""
        original, library = self.numbers, self.numbers[0].library
        for stage in (*(["simple"] if library else []), "all", "mistakes", "percent"):
            samples = self.samples
            if stage == "mistakes":
                samples = load_mistakes()
            elif stage == "percent":
                shares = [share for share in (number.as_percent() for number in original) if share is not None]
                if len(shares) < len(original):
                    break
                self.numbers = shares
                samples = [replace(samples[0], check="the unit", fits="a share in percent")]
            complete = stage in ("all", "percent")
            found = [m for sample in samples for m in self._find_in(sample, complete and sample is samples[0])]
            if library is not None and stage != "all":
                first = {match[0].value for match in found if match[0].library == library}
                found = [match for match in found if match[0].value in first]
            if found:
                return sorted(found, key=lambda match: self._order(match[0]))
        self.numbers = original
        return []

    def _list_cutoffs(self, number: PrintedNumber) -> Sequence[int | None]:
        if number.k is not None:
            return (number.k,)
        return CUTOFFS if number.name is None else sorted(CUTOFFS, key=lambda k: k is not None)

    def _find_in(self, sample: Sample, complete: bool) -> list[Match]:
        """Return the matches on these data."""
        matching: list[list[Definition]] = []
        own = [] if self.own is None else [Definition(self.own, 0)]
        for number, known in zip(self.numbers, self.values, strict=True):
            cutoffs = self._list_cutoffs(number)
            definitions = [*iter_library_definitions(sample, cutoffs), *iter_definitions(sample, cutoffs, complete)]
            evaluated = sample.evaluate(definition for definition in (*own, *definitions) if number.allows(definition))
            known.update(round(definition.value, 10) for definition in evaluated)
            if number is self.numbers[0] and not sample.check:
                self.simple += [definition for definition in evaluated if definition.source in (1, 2)]
            matching.append([definition for definition in evaluated if number.matches(definition.value)])
        matches = (self._complete(first, matching[1:]) for first in matching[0])
        return [match for match in matches if match is not None]

    def _complete(self, first: Definition, matching: list[list[Definition]]) -> Match | None:
        """Return a match with the definitions of the further numbers that the same program could have printed."""
        match = [first]
        for number, definitions in zip(self.numbers[1:], matching, strict=True):
            has_same_name = number.name == self.numbers[0].name
            fitting = next((definition for definition in definitions if first.fits(definition, has_same_name)), None)
            if fitting is None:
                return None
            match.append(fitting)
        return tuple(match)

    def _order(self, definition: Definition) -> tuple[Any, ...]:
        """Return a sort key: source, stated library, number of options, frequency of the cutoff and of the metric."""
        number = self.numbers[0]
        cutoffs, k, source = list(self._list_cutoffs(number)), definition.metric.k, definition.source
        changes = str(definition.metric).count("=") if source == 3 else 0
        place, base = cutoffs.index(k) if k in cutoffs else len(cutoffs), _PLACES.get(definition.base, len(_PLACES))
        return source, definition.library != (number.library or definition.library), changes, place, base

    @property
    def accidental(self) -> float:
        """The number of matches expected by accident: density of values × width, for all numbers together."""
        expected = 1.0
        for place, (number, values) in enumerate(zip(self.numbers, self.values, strict=True)):
            window = max(_WINDOW, _WINDOW * abs(number.value), number.tolerance)
            matches = sum(abs(value - number.value) <= window for value in values) * number.tolerance / window
            expected *= matches if place == 0 else matches / max(len(values), 1)
        return expected

    def list_nearest(self, matches: list[Match]) -> list[Match]:
        """Return the nearest definitions of libraries and of gainwise with other values, for the first number."""
        excluded, distinct = {round(match[0].value, 10) for match in matches}, dict[float, Definition]()
        distance = {definition: abs(definition.value - self.numbers[0].value) for definition in self.simple}
        for definition in sorted(self.simple, key=lambda entry: (round(distance[entry], 10), self._order(entry))):
            if round(definition.value, 10) not in excluded:
                distinct.setdefault(round(definition.value, 10), definition)
        nearest: list[Match] = [(definition,) for definition in distinct.values()]
        return nearest[:MAX_NEAREST]

    def pick_alike(self, match: Match) -> Definition:
        """Return the definition that is most similar to your own metric: of its class, with its cutoff and its name."""
        if self.own is None:
            return match[0]
        own = Definition(self.own, 0)
        return max(
            match, key=lambda x: (type(x.metric) is type(own.metric), x.metric.k == own.metric.k, x.base == own.base)
        )

    def list_steps(self, definition: Definition) -> list[Step]:
        """Return the steps from your own metric to a definition."""
        if self.own is None:
            return []
        sample = self.samples[0]
        steps = decompose(self.own, definition.metric, sample.evaluate_one)
        rest = definition.value - sample.evaluate_one(definition.metric)
        if definition.sample is not sample:
            steps.append(Step("data", "", definition.sample.fits or definition.sample.options, rest))
        elif definition.offset:
            steps.append(Step("weight of queries without relevant documents", "own", "1", rest))
        return steps


def _summarize(search: _Search, matches: list[Match]) -> Identification:
    """Return the tables and the text of a search."""
    lines: dict[tuple[float, ...], list[Match]] = {}
    for match in matches:
        lines.setdefault(tuple(round(definition.value, 10) for definition in match), []).append(match)
    shown, nearest = list(lines.values())[:MAX_LINES], [[match] for match in search.list_nearest(matches)]
    steps = [step for line in (shown or nearest)[:1] for step in search.list_steps(search.pick_alike(line[0]))]
    return Identification(
        _build_table(shown, search.numbers[0].value),
        _build_table(nearest, search.numbers[0].value),
        pd.DataFrame(steps, columns=Step._fields),
        search.accidental,
        len(lines),
        "\n".join(_write(search, shown, len(lines), nearest, steps)),
    )


def _build_table(lines: list[list[Match]], target: float) -> pd.DataFrame:
    """Return one row per match."""
    rows = [
        (
            number,
            CONVENTIONS[match[0].library].title if match[0].library else "",
            ", ".join(definition.name for definition in match),
            ", ".join(str(definition.metric) for definition in match),
            match[0].value,
            match[0].value - target,
            ", ".join(match[0].list_options()),
            match[0].sample.options,
            match[0].sample.sentence,
        )
        for number, line in enumerate(lines)
        for match in line
    ]
    columns = ["line", "library", "name", "metric", "value", "difference", "definition", "options", "check"]
    return pd.DataFrame(rows, columns=columns)


def _name_line(line: list[Match]) -> str:
    """Return the names of definitions with the same value: those of libraries, or the simplest one."""
    texts = ["your " + line[0][0].name] if line[0][0].source == 0 else []
    names = {match[0].library: match for match in reversed(line)}  # The simplest name of each library.
    owners: dict[str, list[str]] = {}
    for match in line:
        library = match[0].library
        if library and names[library] is match:
            title = CONVENTIONS[library].title
            name = join_names([definition.name for definition in match])
            owners.setdefault(name, []).append(f"{title}'" if title.endswith("s") else f"{title}'s")
    texts += [f"{join_names(libraries)} {name}" for name, libraries in owners.items()]
    same = " (the same number on these data)" if len(texts) > 1 or any(len(x) > 1 for x in owners.values()) else ""
    return join_names(texts or [join_names([definition.name for definition in line[0]])], 4) + same


def _describe(line: list[Match]) -> str:
    """Return the options that all definitions of a line have in common, as far as their metrics have them."""
    first = line[0][0]
    alike = [x for match in line for x in match if x is match[0] or type(x.metric) is type(first.metric)]
    shared = [text for text in first.list_options() if all(text in x.list_options() for x in alike)]
    return f": {', '.join(shared)}" if shared else ""


def _describe_unused(printed: list[PrintedNumber]) -> Iterator[str]:
    """Yield a sentence about names that the search did not use, or about numbers that it left out."""
    if not any(number.name for number in printed):
        unknown = list(dict.fromkeys(repr(number.unknown_name) for number in printed if number.unknown_name))
        if unknown:
            yield f"The search ignored {join_names(unknown)}, because no known metric has such a name."
        return
    other = [f"{x.unknown_name!r} ({x.text})" for x in printed if not x.name and x.unknown_name]
    if other:
        yield f"The search left out {join_names(other, len(other))}, because no known metric has such a name."
    unnamed = [x.text for x in printed if not x.name and not x.unknown_name]
    if unnamed:
        have = "it has" if len(unnamed) == 1 else "they have"
        yield f"The search left out {join_names(unnamed, len(unnamed))}, because {have} no name."


def _write(
    search: _Search, lines: list[list[Match]], count: int, nearest: list[list[Match]], steps: list[Step]
) -> Iterator[str]:
    """Yield the lines of the text."""
    target, be = search.numbers[0].value, agree(len(search.numbers), "are")
    yield from _describe_unused(search.printed)
    if not lines:
        yield f"None of the searched definitions gives {search.title} on these data."
        low, high = min(search.values[0], default=np.nan), max(search.values[0], default=np.nan)
        if not search.values[0]:
            yield "The search has no definition of this name with a value on these data."
        elif not low <= target <= high:
            yield f"All values of the search are between {format_number(low)} and {format_number(high)}."
    elif lines[0][0][0].sample.check:
        yield f"None of the definitions gives {search.title} on these data. {lines[0][0][0].sample.sentence}"
    if count > MAX_LINES:
        yield f"{search.title} matches {pluralize(count, 'value')} of different definitions. Pass more digits."
    verb = "may be" if search.accidental > MAX_ACCIDENTAL else f"{be} consistent with"
    first = f"For example, {search.title} {verb}" if count > MAX_LINES else f"{search.title} {verb}"
    for place, line in enumerate(lines):
        yield f"{'or' if place else first} {_name_line(line)}{_describe(line)}."
    if search.own is not None:
        changes = [f"{step} ({format_number(step.effect, plus=True)})" for step in steps if step.effect]
        goal = "" if lines or not nearest else f" to {_name_line(nearest[0])}"
        goal = f" to {search.pick_alike(lines[0][0]).name}" if lines and len(search.numbers) > 1 else goal
        value = format_number(search.samples[0].evaluate_one(search.own))
        yield f"yours: {search.own} is {value}{f'. Changes{goal}: ' if changes else ''}{'; '.join(changes)}."
    for line in nearest[:1] if lines else nearest:
        near = line[0][0].value
        difference = f"{format_number(near)} ({format_number(near - target, plus=True)})"
        yield f"{'next' if lines else 'nearest'}: {_name_line(line)} is {difference}{_describe(line)}."
    number = pluralize(sum(map(len, search.values)), "different value")
    expected = f"{search.accidental:.2g}" if search.accidental < MAX_LINES else f"{search.accidental:.0f}"
    yield f"matches expected by accident: {expected}, among {number}."
    if len(search.samples[0].judgments.levels) == 1:
        yield "All labels are equal, so most definitions give the same number."
