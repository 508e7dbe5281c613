"""Find the definition that printed a number: `identify`.

The number may be part of a log. The text around it names the metric, the cutoff and the library.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.lazy import pandas as pd
from .._common.text import TextResult, agree, format_number, join_names, pluralize
from ..judgments import Judgments
from ..metrics.base import Metric
from ..metrics.conventions import CONVENTIONS
from ..metrics.names import BUILT_IN, OTHER_NAMES, parse_metric
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
    number : float, str or mapping of str to float
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
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[0], Judgments):
            first = (
                f"{type(pair[0]).__name__} first" if isinstance(pair, tuple | list) and pair else type(pair).__name__
            )
            raise TypeError(f"data[{name!r}] must be a pair of Judgments and scores, got {first}.")
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
        same = [number.name == self.numbers[0].name for number in self.numbers]
        matches = (
            [
                first,
                *(
                    next((x for x in definitions if first.fits(x, is_same)), None)
                    for definitions, is_same in zip(matching[1:], same[1:], strict=True)
                ),
            ]
            for first in matching[0]
        )
        return [tuple(found) for match in matches if len(found := [x for x in match if x is not None]) == len(match)]

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


# Numbers in lines of logs

_DIGITS = r"\d+\.\d*|\.\d+|\d+(?=\s*%|e[-+]?\d)"
_VALUE = re.compile(rf"(?<![\w.@])([-+]?(?:{_DIGITS})(?:e[-+]?\d+)?)(?!\w|\.\w)(\s*%)?", re.IGNORECASE)
_IN_PARENTHESES = re.compile(r"[^()]*\)")
"""The text after a value in parentheses, such as an option or an interval."""

_WHOLE = re.compile(r"(?:^|[:=\s])([-+]?\d+)()\s*$")
_CELL = re.compile(r"nan|[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?%?", re.IGNORECASE)
_DEVIATION = re.compile(r"(?:\s\+\s|(?<=\d)\+|±|\+/?[-−])\s*[\d.]+")
"""The standard deviation that cross-validation prints after a mean."""

_LEVEL = re.compile(r"(?<![\d.])\d+(?:\.\d+)?\s*%[-\s]*(?=(?:CI|confidence|credible|HDI)\b)", re.IGNORECASE)
"""The confidence level of an interval."""

_INTERVAL = re.compile(
    rf"((?<![\w.@])[-+]?(?:{_DIGITS})(?:e[-+]?\d+)?(?:[ \t]*%)?|[:=][ \t]*\d+)"  # the number
    r"[ \t,;]*(?:(?:CI|(?:confidence|credible) interval|HDI)[ \t]*(?:[:=][ \t]*)?)?"
    r"\[(?:[-+−–.,;:%\d\s]|(?<=\d)e|to\b|CI\b|(?:confidence|credible) interval\b|HDI\b)*\]",
    re.IGNORECASE,
)
"""A number and an interval in brackets behind it. Other brackets contain words, such as those of a progress bar."""

_CUTOFF = re.compile(
    r"(?:@|_at_|_|(?<!\d)\.|\btop[-_ ]?|\b(?:k|n|at|top_k|topk)\s*[=:]?\s*\[?|=\[?)([1-9]\d{0,8})(?![\d.]*\.\d)"
)

_GAIN = re.compile(r"\bN?DCG:(?:top=\d+;)?type=(Exp|Base)\b")
_GAINS = {"Exp": "exp", "Base": "linear"}
"""The gain of NDCG and DCG in the names of CatBoost."""

_SPREAD = re.compile(
    r"\b(?:std|stddev|stderr)_[\w@]*['\"]?\s*[:=]?\s*$|[-_](?:std|stdv|stddev|stderr)['\"]?\s*[:=]?\s*$"
)
"""The name of a standard deviation over folds, such as `std_test_ndcg` and `valid ndcg@10-stdv`."""

_PARENTHESES = re.compile(r"\([^()]*\)")
_OPTION = re.compile(r"\b(?!(?:k|n|top_?k)=)\w+=[^,()]*")
"""An option of a metric that is not its cutoff, such as `min_label=2`."""

_SIGNATURES = {
    "lightgbm": r"\w's \w+@?\d*",
    "xgboost": r"\w-(?:ndcg|map|pre)\b",
    "catboost": r":top=",
    "sklearn": r"\bn?dcg_score\b",
    "trec_eval": r"_cut_\d|\brecip_rank\b|\ball\s+[\d.]",
    "torchmetrics": r"\bRetrieval[A-Z]",
    "ranx": r"\bndcg_burges\b",
    "ignite": r"\((?:top_k=\[|top_k=\d+\):)",
    "keras_rs": r"(?:DCG|Mean\w+|AtK)\(k=",
    "recommenders": r"_at_k\(",
    "lenskit": r"[A-Za-z]\(n=",
}
"""Names of metrics and lines of logs that only one library writes."""

_SPELLINGS = {
    "average precision": "map",
    "reciprocal rank": "mrr",
    "expected reciprocal rank": "err",
    "rank-biased precision": "rbp",
    "discounted cumulative gain": "dcg",
    "normalized discounted cumulative gain": "ndcg",
    "hr": "hit",
}
_SPELLINGS |= {re.sub("[ -]", sign, name): metric for name, metric in _SPELLINGS.items() for sign in " _-"}

MIN_TOLERANCE = 1e-6
"""Relative. Libraries that compute in 32 bits print more digits than they have."""


@dataclass(frozen=True)
class PrintedNumber:
    """A number, half of its last digit, and what the text states: a name of a metric, a cutoff and a library.

    `unknown_name` is a name that is not that of a metric.
    """

    text: str
    value: float
    tolerance: float
    name: str | None = None
    k: int | None = None
    library: str | None = None
    percent: bool = False
    unknown_name: str = ""

    def allows(self, definition: Definition) -> bool:
        """Return whether the text may mean a metric: `ndcg` means every NDCG, and `ndcg_exp` only itself.

        Libraries may have their own default cutoff.
        """
        base, k = definition.base, definition.metric.k
        is_named = self.name is None or base == self.name or base.startswith(f"{self.name}_")
        return is_named and (self.k is None or self.k == k or bool(definition.library))

    def matches(self, value: float) -> bool:
        """Return whether a value prints as this number."""
        return abs(value - self.value) <= self.tolerance

    def as_percent(self) -> PrintedNumber | None:
        """Return the share of a number in percent without a sign, or None if it cannot be one."""
        if self.percent or not 1 < self.value <= 100 or self.name in ("dcg", "cg"):
            return None
        return replace(self, value=self.value / 100, tolerance=self.tolerance / 100, percent=True)

    @property
    def title(self) -> str:
        """The number as written, with the metric that the text names."""
        cutoff = "" if self.k is None else f"@{self.k}"
        return f"{self.name}{cutoff} {self.text}" if self.name else self.text


def _list_names() -> dict[str, str]:
    """Return the name here of each metric by its lowercase name in a text. Names of gainwise are exact."""
    names = {name: re.split("_", translated)[0] for name, translated in OTHER_NAMES.items()}
    for convention in CONVENTIONS.values():
        for own, printed in convention.prints.items():
            spelled = re.split(r"[@:({]|_\{", printed)[0].lower()
            names[spelled] = re.split(r"[_@(]", own)[0]
    names |= _SPELLINGS
    return names | {name: name for name in BUILT_IN}


def _find_library_name(text: str) -> str | None:
    """Return the library that a text names."""
    lower = text.lower()
    for library, convention in CONVENTIONS.items():
        if any(re.search(rf"\b{re.escape(name.lower())}\b", lower) for name in (library, convention.title)):
            return library
    return None


def _find_library(text: str) -> str | None:
    """Return the library that a text names, or whose log or names of metrics it contains."""
    signed = (library for library, pattern in _SIGNATURES.items() if re.search(pattern, text))
    return _find_library_name(text) or next(signed, None)


_NAMES = _list_names()
_NAME = re.compile(
    r"(?<![a-z])(?<!\bgm_)(?<!\bset_)(?<!\biprec_at_)"  # gm_map, set_map and iprec_at_recall_0.10 of trec_eval
    rf"(?:{'|'.join(map(re.escape, sorted(_NAMES, key=len, reverse=True)))})(?![a-z]|_gain|_rel\b|_mult_)"
    r"(?<!(?<![a-z])p(?![@_(]))(?<!(?<![a-z])p(?=_[a-z]))"  # A p without a cutoff or options is a probability.
)
"""A name of a metric, which is not a part of the name of another one."""

_NAMED_WHOLE = re.compile(rf"{_NAME.pattern}(?:@\d+-?)?['\"]?\s*[:=]\s*([01])()(?![\w.@%:]|\s*%|,\d)", re.IGNORECASE)
"""A value without decimals behind the name of a metric. LightGBM prints 1 for 1.0."""

_NOT_FINITE = re.compile(r"[:=]\s*[-+]?(?:nan|inf(?:inity)?)\b", re.IGNORECASE)


def _parse_number(digits: str, percent: bool, label: str, library: str | None) -> PrintedNumber:
    scale = 0.01 if percent else 1.0
    value = float(digits) * scale
    mantissa, _, exponent = digits.lower().partition("e")
    half = 0.5 * 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2])) * scale
    label = _NOT_FINITE.split(label)[-1]  # The name of another value.
    label = _PARENTHESES.sub(lambda options: _OPTION.sub("", options[0]), label)
    names = [] if _SPREAD.search(label) else list(_NAME.finditer(label.lower()))
    name = names[-1] if names else None
    cutoff, gain = None, _GAIN.search(label)
    if name is not None:
        cutoff = _CUTOFF.search(label, name.end()) or _CUTOFF.search(label[: name.start()])
    return PrintedNumber(
        f"{digits} %" if percent else digits,
        value,
        max(half * (1 + 1e-9), MIN_TOLERANCE * abs(value)),
        None if name is None else _NAMES[name[0]] + (f"_{_GAINS[gain[1]]}" if gain else ""),
        None if cutoff is None else int(cutoff[1]),
        library,
        percent,
        "" if names else _find_unknown_name(label),
    )


def _find_unknown_name(label: str) -> str:
    """Return the word that a text before a number gives it as a name, unless it is the name of a library.

    >>> [_find_unknown_name(label) for label in ("auc: ", "eval-auc:", "auc ", "gauc@10=", "LightGBM: ", "it is ")]
    ['auc', 'eval-auc', 'auc', 'gauc', '', '']
    >>> [_find_unknown_name(label) for label in ("{'val/loss': ", "bpref  all  ", "| loss | ")]
    ['val/loss', 'bpref', 'loss']
    """
    match = re.search(
        r"(?:^|[\s'\"])([^\W\d][\w./-]*(?:@\d+[-_]\w+)?)(?:@\d+)?['\"]?\s*[:=]\s*$", label
    ) or re.fullmatch(r"[\s,|│]*([^\W\d][\w./-]*(?:@\d+[-_]\w+)?)(?:@\d+)?(?:\s+all\b)?[\s|│]*", label)
    return "" if match is None or _find_library_name(match[1]) else match[1]


def parse_printed(number: Any) -> list[PrintedNumber]:
    """Return the numbers in a text, a mapping of names to numbers, or a number. Raise if there is no finite one.

    >>> [(n.value, n.name, n.k, n.library) for n in parse_printed("valid_0's ndcg@5: 0.59  valid_0's ndcg@10: 0.61")]
    [(0.59, 'ndcg', 5, 'lightgbm'), (0.61, 'ndcg', 10, 'lightgbm')]
    >>> [(n.value, n.name, n.k) for n in parse_printed("P_10 all 0.31") + parse_printed("81.84 %")]
    [(0.31, 'precision', 10), (0.8184, None, None)]
    >>> [(n.value, n.name, n.k) for n in parse_printed("best P@5 run, ndcg@10: 0.61")]
    [(0.61, 'ndcg', 10)]
    """
    texts = [] if isinstance(number, Mapping) else _read_table(_to_text(number))
    if isinstance(number, Mapping):
        texts = [f"{name}: {_to_text(value, f'number[{name!r}]')}" for name, value in number.items()]
    parsed = [entry for text in texts for entry in parse_printed(text)]
    if not texts and not isinstance(number, Mapping):
        text = _INTERVAL.sub(r"\1", _LEVEL.sub("", _DEVIATION.sub("", _to_text(number))))
        library, end = _find_library(text), 0
        values = sorted([*_VALUE.finditer(text), *_NAMED_WHOLE.finditer(text)], key=lambda match: match.start(1))
        outside = [match for match in values if not _IN_PARENTHESES.match(text, match.end())]
        for match in outside or list(_WHOLE.finditer(text)) or values:
            if math.isfinite(float(match[1])):
                parsed.append(_parse_number(match[1], bool(match[2]), text[end : match.start(1)], library))
            end = match.end()
    if not parsed:
        raise ValueError(
            f"number must contain a finite number, got {str(number)!r:.80}. Pass for example 'ndcg@10: 0.63'."
        )
    return list(dict.fromkeys(parsed))


def _read_table(text: str) -> list[str]:
    r"""Return the cells of a table, each with its name in the header, or nothing for another text.

    >>> _read_table("   ndcg@10  map@10\n0   0.6486   0.559")
    ['ndcg@10: 0.6486', 'map@10: 0.559']
    """
    header, *rows = [line for line in text.splitlines() if re.search(r"\w", line)] or [""]
    names = re.findall(r"[^\s|│,]+", header)
    if _VALUE.search(header) or sum(_NAME.search(name.lower()) is not None for name in names) < 2:
        return []
    table = []
    for row in rows:
        cells = re.findall(r"[^\s|│,]+", row)
        values = cells[-len(names) :]  # Without the number of the row.
        if len(cells) - len(names) not in (0, 1) or not all(_CELL.fullmatch(value) for value in values):
            return []
        table += [f"{name}: {value}" for name, value in zip(names, values, strict=True) if value.lower() != "nan"]
    return table


def select_searched(numbers: Sequence[PrintedNumber]) -> list[PrintedNumber]:
    """Return the numbers with known names, or all different numbers if there are none.

    Raise if two numbers of the same metric differ.

    >>> [n.text for n in select_searched(parse_printed("100% auc: 0.71  ndcg@10: 0.61  loss=0.52"))]
    ['0.61']
    >>> [n.text for n in select_searched(parse_printed({"auc": 0.71, "gauc": 0.71}))]
    ['0.71']
    """
    named = [number for number in numbers if number.name]
    searched = list(dict.fromkeys(replace(number, unknown_name="") for number in named or numbers))
    for position, entry in enumerate(searched):
        for earlier in searched[:position]:
            if (entry.name, entry.k) == (earlier.name, earlier.k) and entry.value != earlier.value:
                raise ValueError(
                    f"number must have one value per metric, got {earlier.title} and {entry.title}. Pass the part of "
                    "the text that describes these data."
                )
    return searched


def _to_text(number: Any, argument: str = "number") -> str:
    """Return a number with the digits of its shortest text, or a text unchanged."""
    if isinstance(number, str):
        return number
    if not isinstance(number, Real) or isinstance(number, bool):
        kinds = "a number, a text or a mapping of names to numbers" if argument == "number" else "a number or a text"
        raise TypeError(f"{argument} must be {kinds}, got {type(number).__name__}.")
    return str(number)
