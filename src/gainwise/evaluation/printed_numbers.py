"""Numbers in a text, such as a line of a log, with the metric, the cutoff and the library that the text names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

from .._common.arrays import index_of
from ..metrics.conventions import CONVENTIONS
from ..metrics.names import BUILT_IN, OTHER_NAMES
from .definitions import Definition

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
    if library == "lightgbm" and digits in ("0", "1"):  # LightGBM omits the zeros of six digits.
        half = MIN_TOLERANCE
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
    word = r"([^\W\d][\w./-]*(?:@\d+[-_]\w+)?)(?:@\d+)?"
    match = re.search(rf"(?:^|[\s'\"]){word}['\"]?\s*[:=]\s*$", label)
    match = match or re.fullmatch(rf"[\s,|│]*{word}(?:\s+all\b)?[\s|│]*", label)
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
    if isinstance(number, Mapping) or index_of(number) is not None:
        texts = [f"{name}: {_to_text(value, f'number[{name!r}]')}" for name, value in number.items()]
    else:
        texts = _read_table(_to_text(number)) or [_to_text(number)]
    parsed = [entry for text in texts for entry in _parse_text(text)]
    if not parsed:
        raise ValueError(
            f"number must contain a finite number, got {str(number)!r:.80}. Pass for example 'ndcg@10: 0.63'."
        )
    return list(dict.fromkeys(parsed))


def _parse_text(text: str) -> Iterator[PrintedNumber]:
    text = _INTERVAL.sub(r"\1", _LEVEL.sub("", _DEVIATION.sub("", text)))
    library, end = _find_library(text), 0
    values = sorted([*_VALUE.finditer(text), *_NAMED_WHOLE.finditer(text)], key=lambda match: match.start(1))
    outside = [match for match in values if not _IN_PARENTHESES.match(text, match.end())]
    for match in outside or list(_WHOLE.finditer(text)) or values:
        if math.isfinite(float(match[1])):
            yield _parse_number(match[1], bool(match[2]), text[end : match.start(1)], library)
        end = match.end()


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
        several = ", or a mapping or Series of names to numbers" if argument == "number" else ""
        raise TypeError(f"{argument} must be a number or a text{several}, got {type(number).__name__}.")
    return str(number)
