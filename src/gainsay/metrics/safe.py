"""Safe names of metrics, which consist of letters, digits and underscores, as trackers and databases require."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, get_args

from .._common.arrays import nearest

if TYPE_CHECKING:
    from .base import Metric

Names = Literal["plain", "safe"]
"""The form of metric names in logs."""

_SIGNS = {".": "_dot_", "/": "_then_", ">": "_gives_", "-": "minus_", "+": "plus_"}
"""Characters of numbers and tables, with their text in safe names."""

_PLAIN = re.compile(r"(?P<name>\w+)(\((?P<options>[^()]*)\))?(@(?P<k>\d+))?", re.ASCII)
_SAFE = re.compile(r"(?P<name>\w+?)(?P<options>(__[A-Za-z]\w*?_is_\w+?)?)(_at_(?P<k>\d+))?", re.ASCII)


def validate_names(names: str) -> None:
    """Raise unless `names` is "plain" or "safe"."""
    if names not in get_args(Names):
        raise ValueError(f"names must be 'plain' or 'safe', got {names!r}{nearest(str(names), get_args(Names))}")


def safe_name(metric: Metric | str) -> str:
    """Return the name of a metric with letters, digits and underscores only: `[A-Za-z_][A-Za-z0-9_]*`.

    `@` becomes `_at_` and each option `__option_is_value`. In values, `.`, `/`, `>`, `-` and `+` become `_dot_`,
    `_then_`, `_gives_`, `minus_` and `plus_`. `plain_name` restores the name, so different metrics have different safe
    names.

    Parameters
    ----------
    metric : Metric or str
        A metric or its name.

    Raises
    ------
    ValueError
        If the name could not be restored, such as a custom metric named `clicks_at_5`.

    Examples
    --------
    >>> from gainsay.metrics.safe import plain_name, safe_name
    >>> safe_name("ndcg_exp@10"), safe_name("mrr")
    ('ndcg_exp_at_10', 'mrr')
    >>> safe_name("rbp(ties=worst,p=0.95)@20")
    'rbp__ties_is_worst__p_is_0_dot_95_at_20'
    >>> plain_name("rbp__ties_is_worst__p_is_0_dot_95_at_20")
    'rbp(ties=worst,p=0.95)@20'
    """
    plain = str(metric)
    match = _PLAIN.fullmatch(plain)
    if match is None:
        raise ValueError(f"{plain!r} has no safe name, because it is not the name of a metric such as 'ndcg_exp@10'.")
    safe = match["name"]
    for option in (match["options"] or "").split(",") if match["options"] else ():
        name, _, value = option.partition("=")
        for sign, word in _SIGNS.items():
            value = value.replace(sign, word)
        safe += f"__{name}_is_{value}"
    safe += "" if match["k"] is None else f"_at_{match['k']}"
    if plain_name(safe) != plain:
        raise ValueError(
            f"{plain!r} has no safe name, because {safe!r} would be restored as {plain_name(safe)!r}. Rename the "
            "metric, or the function in its name."
        )
    return safe


def plain_name(safe: str) -> str:
    """Return the name of a metric from its safe name. Other names are returned unchanged."""
    match = _SAFE.fullmatch(safe)
    if match is None:
        return safe
    options = []
    for option in match["options"].split("__")[1:]:
        name, _, value = option.partition("_is_")
        for sign, word in _SIGNS.items():
            value = value.replace(word, sign)
        options.append(f"{name}={value}")
    options_text = f"({','.join(options)})" if options else ""
    return f"{match['name']}{options_text}" + ("" if match["k"] is None else f"@{match['k']}")


def safe_name_or_none(name: str) -> str | None:
    """Return the safe name of a metric, or None if it has none, as the built-in metrics of a library."""
    try:
        return safe_name(name)
    except ValueError:
        return None
