"""Names of metrics in letters, digits and underscores only, as trackers and databases want them, and the way back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, get_args

from .._common.arrays import nearest

if TYPE_CHECKING:
    from .base import Metric

Names = Literal["plain", "safe"]
"""How metrics are named where they are logged."""

_SIGNS = {".": "_dot_", "/": "_then_", ">": "_gives_", "-": "minus_", "+": "plus_"}
"""What stands in numbers and tables, and how it is written in a safe name."""

_PLAIN = re.compile(r"(?P<name>\w+)(\((?P<options>[^()]*)\))?(@(?P<k>\d+))?", re.ASCII)
_SAFE = re.compile(r"(?P<name>\w+?)(?P<options>(__[A-Za-z]\w*?_is_\w+?)?)(_at_(?P<k>\d+))?", re.ASCII)


def check_names(names: str) -> None:
    """Raise unless this is a way to name metrics."""
    if names not in get_args(Names):
        raise ValueError(f"names must be 'plain' or 'safe', got {names!r}{nearest(str(names), get_args(Names))}")


def safe_name(metric: Metric | str) -> str:
    """Return the name of a metric in letters, digits and underscores only: `[A-Za-z_][A-Za-z0-9_]*`.

    `@` becomes `_at_`, each option `__option_is_value`; in values `.`, `/`, `>`, `-` and `+` become `_dot_`, `_then_`,
    `_gives_`, `minus_` and `plus_`. `plain_name` reads it back, so that no two metrics have one safe name.

    Parameters
    ----------
    metric : Metric or str
        A metric, or its name as it prints itself.

    Raises
    ------
    ValueError
        For a name that would not read back as itself, as that of a metric of your own called `clicks_at_5`.

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
        raise ValueError(f"cannot write {plain!r} as a safe name: it is no name of a metric, as 'ndcg_exp@10' is")
    safe = match["name"]
    for option in (match["options"] or "").split(",") if match["options"] else ():
        name, _, value = option.partition("=")
        for sign, word in _SIGNS.items():
            value = value.replace(sign, word)
        safe += f"__{name}_is_{value}"
    safe += "" if match["k"] is None else f"_at_{match['k']}"
    if plain_name(safe) != plain:
        raise ValueError(
            f"names='safe' cannot write {plain!r}: {safe!r} would read back as {plain_name(safe)!r}; give the metric, "
            "or the function in its name, another name"
        )
    return safe


def plain_name(safe: str) -> str:
    """Return the name of a metric from its safe name; what is none comes back as it is."""
    match = _SAFE.fullmatch(safe)
    if match is None:
        return safe
    options = []
    for option in match["options"].split("__")[1:]:
        name, _, value = option.partition("_is_")
        for sign, word in _SIGNS.items():
            value = value.replace(word, sign)
        options.append(f"{name}={value}")
    listed = f"({','.join(options)})" if options else ""
    return f"{match['name']}{listed}" + ("" if match["k"] is None else f"@{match['k']}")


def safe_name_or_none(name: str) -> str | None:
    """Return the safe name of a metric; None where it has none, as a library's own metrics may."""
    try:
        return safe_name(name)
    except ValueError:
        return None
