"""Numbers in lines of logs, with their precision, and the metric, the cutoff and the library that the line names."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

from ..metrics.conventions import CONVENTIONS
from ..metrics.names import BUILT_IN, OTHER_NAMES
from .definitions import Definition

_DIGITS = r"\d+\.\d*|\.\d+|\d+(?=\s*%|e[-+]?\d)"
_VALUE = re.compile(rf"(?<![\w.@])([-+]?(?:{_DIGITS})(?:e[-+]?\d+)?)(?![\w.])(\s*%)?", re.IGNORECASE)
_WHOLE = re.compile(r"(?:^|[:=\s])([-+]?\d+)()\s*$")
_DEVIATION = re.compile(r"(?:\s\+\s|±)\s*[\d.]+")
"""The standard deviation that cross-validation prints after a mean."""

_CUTOFF = re.compile(
    r"(?:@|_at_|[_.]|\btop[-_ ]?|\b(?:k|n|at|top_k|topk)\s*[=:]?\s*\[?|=\[?)([1-9]\d{0,8})(?![\d.]*\.\d)"
)

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
    "lenskit": r"\(n=",
}
"""Names of metrics and lines of logs that only one library writes."""

_SPELLINGS = {"average precision": "map", "reciprocal rank": "mrr", "discounted cumulative gain": "dcg", "hr": "hit"}
_SPELLINGS |= {f"normalized {name}": f"n{metric}" for name, metric in _SPELLINGS.items() if metric == "dcg"}

MIN_TOLERANCE = 1e-6
"""Relative. Libraries that compute in 32 bits print more digits than they have."""


@dataclass(frozen=True)
class PrintedNumber:
    """A number, half of its last digit, and what the text states: a name of a metric, a cutoff and a library."""

    text: str
    value: float
    tolerance: float
    name: str | None = None
    k: int | None = None
    library: str | None = None
    percent: bool = False

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
    names = {name: re.split("_", translated)[0] for name, translated in OTHER_NAMES.items() if len(name) > 2}
    for convention in CONVENTIONS.values():
        for own, printed in convention.prints.items():
            spelled = re.split(r"[@:({]|_\{", printed)[0].lower()
            names[spelled] = re.split(r"[_@(]", own)[0]
    names |= _SPELLINGS | {f"{letter}{sign}": "precision" for letter in "p" for sign in "@_"}
    return names | {name: name for name in BUILT_IN}


def _find_library(text: str) -> str | None:
    """Return the library that a text names, or whose log or names of metrics it contains."""
    lower = text.lower()
    for library, convention in CONVENTIONS.items():
        if any(re.search(rf"\b{re.escape(name.lower())}\b", lower) for name in (library, convention.title)):
            return library
    return next((library for library, pattern in _SIGNATURES.items() if re.search(pattern, text)), None)


_NAMES = _list_names()
_NAME = re.compile(rf"(?<![a-z])(?:{'|'.join(map(re.escape, sorted(_NAMES, key=len, reverse=True)))})(?![a-z]|_gain)")


def _parse_number(digits: str, percent: bool, label: str, library: str | None) -> PrintedNumber:
    scale = 0.01 if percent else 1.0
    value = float(digits) * scale
    mantissa, _, exponent = digits.lower().partition("e")
    half = 0.5 * 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2])) * scale
    names = list(_NAME.finditer(label.lower()))
    name = names[-1] if names else None
    cutoff = None
    if name is not None:
        start = name.end() - (name[0][-1] in "@_")
        cutoff = _CUTOFF.search(label, start) or _CUTOFF.search(label[: name.start()])
    return PrintedNumber(
        f"{digits} %" if percent else digits,
        value,
        max(half * (1 + 1e-9), MIN_TOLERANCE * abs(value)),
        None if name is None else _NAMES[name[0]],
        None if cutoff is None else int(cutoff[1]),
        library,
        percent,
    )


def parse_printed(number: Any) -> list[PrintedNumber]:
    """Return the numbers in a text, a mapping of names to numbers, or a number.

    Raise if there is none, one is not finite, or two numbers of the same metric differ.

    >>> [(n.value, n.name, n.k, n.library) for n in parse_printed("valid_0's ndcg@5: 0.59  valid_0's ndcg@10: 0.61")]
    [(0.59, 'ndcg', 5, 'lightgbm'), (0.61, 'ndcg', 10, 'lightgbm')]
    >>> [(n.value, n.name, n.k) for n in parse_printed("P_10 all 0.31") + parse_printed("81.84 %")]
    [(0.31, 'precision', 10), (0.8184, None, None)]
    """
    if isinstance(number, Mapping):
        parsed = [entry for name, value in number.items() for entry in parse_printed(f"{name}: {_to_text(value)}")]
    else:
        text = _DEVIATION.sub("", _to_text(number))
        library, end, parsed = _find_library(text), 0, []
        for match in list(_VALUE.finditer(text)) or list(_WHOLE.finditer(text)):
            if math.isfinite(float(match[1])):
                parsed.append(_parse_number(match[1], bool(match[2]), text[end : match.start()], library))
            end = match.end()
    if not parsed:
        raise ValueError(
            f"number must contain a finite number, got {str(number)!r:.80}. Pass for example 'ndcg@10: 0.63'."
        )
    for position, entry in enumerate(parsed):
        for earlier in parsed[:position]:
            if (entry.name, entry.k) == (earlier.name, earlier.k) and entry.value != earlier.value:
                raise ValueError(
                    f"number must have one value per metric, got {earlier.title} and {entry.title}. Pass the part of "
                    "the text that describes these data."
                )
    return list(dict.fromkeys(parsed))


def _to_text(number: Any) -> str:
    """Return a number with the digits of its shortest text, or a text unchanged."""
    if isinstance(number, str):
        return number
    if not isinstance(number, Real) or isinstance(number, bool):
        raise TypeError(
            f"number must be a number, a text or a mapping of names to numbers, got {type(number).__name__}."
        )
    return str(number)
