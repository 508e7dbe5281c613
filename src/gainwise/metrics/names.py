"""Parsing of metric names, `name(option=value,…)@k`, and safe names of letters, digits and underscores."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, Literal

from .._common.arrays import nearest
from .._common.text import join_names
from .._common.validation import validate_choice, validate_ordered
from ..metrics import binary, cascade, dcg  # noqa: F401  # Registers their metrics.
from .base import METRICS, Metric
from .conventions import CONVENTIONS, Convention

if TYPE_CHECKING:
    from collections.abc import Mapping

MetricLike = str | Metric
"""A metric or its name."""

BUILT_IN: Mapping[str, type[Metric]] = {name: metric for name, (metric, _) in METRICS.items()}
"""The metrics of gainwise by their names."""

OTHER_NAMES = {
    "ap": "map",
    "rr": "mrr",
    "recip_rank": "mrr",
    "p": "precision",
    "pre": "precision",
    "r_precision": "rprec",
    "success": "hit",
    "hit_rate": "hit",
    "ndcg_cut": "ndcg_linear",
    "map_cut": "map",
    "ndcg1": "ndcg_jk",
    "ndcg2": "ndcg_exp",
    "ndcg_burges": "ndcg_exp",
}
"""Names in other programs, with the name here."""

_EXAMPLES = {"max_label": ("the highest grade of the scale", "4"), "gain": ("a gain", "linear")}
"""Required options in words, and an example."""

_GRAMMAR = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(\((?P<options>[^()]*)\))?(@(?P<k>[^@]*))?")

_OTHER_GRAMMAR = re.compile(
    r"(?P<name>[A-Za-z_]\w*?)(\((?P<options>[^()]*)\))?([_.@](?P<k>[0-9]+(,[0-9]+)*))?(?P<rest>_[A-Za-z]+)?", re.ASCII
)
"""A name with a cutoff elsewhere: ndcg_cut_10 in the output of trec_eval, ndcg_cut.10 as its option, ndcg@10_exp."""

Names = Literal["plain", "safe"]
"""The form of metric names in logs."""

_SIGNS = {".": "_dot_", "/": "_then_", ">": "_gives_", "-": "minus_", "+": "plus_"}
"""Characters of numbers and tables, with their text in safe names."""

_PLAIN = re.compile(r"(?P<name>\w+)(\((?P<options>[^()]*)\))?(@(?P<k>\d+))?", re.ASCII)
_SAFE = re.compile(r"(?P<name>\w+?)(?P<options>(__[A-Za-z]\w*?_is_\w+?)?)(_at_(?P<k>\d+))?", re.ASCII)


def parse_metrics(*metrics: MetricLike | Iterable[MetricLike], convention: str | None = None) -> tuple[Metric, ...]:
    """Return metrics from their names.

    Parameters
    ----------
    *metrics : str, Metric, or lists of them
        Names such as `"ndcg_exp@10"`, `"map@10"`, `"mrr"`, `"rbp(p=0.8)"`, `"ndcg_linear(ties=worst,empty=1)@5"`.
        Several cutoffs, as in `"ndcg_exp@1,3,5,10"`, are several metrics. `Metric` objects are returned unchanged.
    convention : str, optional
        Interpret the names as this library does: `"lightgbm"`, `"xgboost"`, `"catboost"`, `"sklearn"`, `"trec_eval"`,
        `"torchmetrics"`, `"ranx"`, `"ignite"`, `"keras_rs"`, `"recommenders"` or `"lenskit"`. Options in a name take
        precedence. A plain `ndcg` has the gain and the discount of the library.
        Without a cutoff, `"xgboost"` cuts ndcg, map and precision at 32, as XGBoost does.

    Returns
    -------
    tuple of Metric

    Raises
    ------
    ValueError
        If a name, option or value is unknown (with the nearest existing one), a name is ambiguous (`ndcg`, `dcg`), an
        option contradicts the name, or a metric is repeated. Custom metrics require that the module that defines them
        is imported.
    TypeError
        If a metric is neither a name nor a `Metric`, or `metrics` is a set, whose order differs between runs.

    See Also
    --------
    gainwise.evaluate : Compute metrics by name.
    gainwise.NDCG : Create a metric from options instead of a name.

    Examples
    --------
    >>> import gainwise as gw
    >>> [str(metric) for metric in gw.parse_metrics("ndcg_linear@5,10", "mrr")]
    ['ndcg_linear@5', 'ndcg_linear@10', 'mrr']
    >>> print(*gw.parse_metrics("map@10", convention="trec_eval"))
    map(ties=order,denominator=R)@10
    """
    if convention is not None:
        validate_choice("convention", convention, list(CONVENTIONS))
    library = None if convention is None else CONVENTIONS[convention]
    parsed: list[Metric] = []
    for metric in _flatten(metrics):
        parsed += [metric] if isinstance(metric, Metric) else _parse(metric, library)
    if not parsed:
        raise ValueError("metrics must name at least one metric, for example 'ndcg_exp@10', got none.")
    names = [str(metric) for metric in parsed]
    for position, name in enumerate(names):
        if name in names[:position]:
            raise ValueError(f"metrics contains {name} twice.")
    return tuple(parsed)


def parse_metric(metric: MetricLike) -> Metric:
    """Return one metric from its name.

    >>> parse_metric("ndcg_exp@1,3")
    Traceback (most recent call last):
    TypeError: metric must be a single metric, got 'ndcg_exp@1,3', which names 2.
    """
    if not isinstance(metric, str | Metric):
        raise TypeError(f"metric must be one name, such as 'ndcg_exp@10', or a Metric, got {metric!r}.")
    parsed = parse_metrics(metric)
    if len(parsed) > 1:
        raise TypeError(f"metric must be a single metric, got {metric!r}, which names {len(parsed)}.")
    return parsed[0]


def _flatten(metrics: Iterable[Any]) -> Iterator[MetricLike]:
    for metric in metrics:
        if isinstance(metric, str | Metric):
            yield metric
        elif isinstance(metric, Iterable):
            validate_ordered("metrics", metric)
            yield from _flatten(metric)
        else:
            remedy = " Wrap the function: gainwise.metric('name', function)." if callable(metric) else ""
            raise TypeError(f"a metric must be a name such as 'ndcg_exp@10' or a Metric, got {metric!r}.{remedy}")


def _parse(text: str, library: Convention | None) -> list[Metric]:
    """Return the metrics of one name, one for each cutoff."""
    parts = [part.strip() for part in re.split(r",(?=\s*[A-Za-z_])", text)]
    if len(parts) > 1 and all(map(_GRAMMAR.fullmatch, parts)):
        raise ValueError(
            f"metrics must be a list, got the string {text!r}. Pass a list, {parts}, or repeat the option."
        )
    match = _GRAMMAR.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            f"cannot parse the metric {text!r}{_suggest(text)}. Write name(option=value,…)@k, for example "
            "'ndcg_exp@10'."
        )
    name = match["name"]
    if name not in METRICS:
        raise ValueError(
            f"unknown metric {name!r} in {text!r}{_suggest(text)} (known: {join_names(sorted(METRICS), most=30)}). "
            "Import the module that defines it if it is a custom metric (--import on the command line)."
        )
    metric, preset = METRICS[name]
    own_options = _parse_options(text, match["options"], metric)
    for option, value in own_options.items():
        if option in preset and value != preset[option]:
            defaults = {**{field.name: field.default for field in fields(metric)}, "name": preset.get("name")}
            texts = {
                key: getattr(entry, "__name__", entry) for key, entry in preset.items() if entry != defaults.get(key)
            }
            remedy = ",".join(f"{key}={entry}" for key, entry in {**texts, option: value}.items())
            raise ValueError(
                f"{text!r} contradicts itself, because {name} has {option}={texts[option]}. Write "
                f"{next(iter(metric.names), name)}({remedy})."
            )
    options = {**(library.options(metric) if library else {}), **preset, **own_options}
    required = [field.name for field in fields(metric) if field.default is MISSING and field.name not in options]
    if "gain" in required and library is not None and library.gain is not None:
        options = {"discount": library.discount} | options | {"gain": library.gain}
        required.remove("gain")
    cutoffs = [{}] if match["k"] is None else [{"k": k} for k in _parse_cutoffs(text, match["k"])]
    if required:
        raise _missing_option(text, match, required[0])
    try:
        return [metric(**{**options, **cutoff}) for cutoff in cutoffs]
    except (ValueError, TypeError) as error:
        raise type(error)(f"{text!r}: {error}") from None


def _suggest(text: str) -> str:
    """Return the name here of a metric in another program or spelling, as a question, or an empty string.

    >>> [_suggest(name) for name in ("P_10", "ndcg_cut.5,10", "ndcg@10_exp", "auc")]
    [" (did you mean 'precision@10'?)", " (did you mean 'ndcg_linear@5,10'?)", " (did you mean 'ndcg_exp@10'?)", '']
    >>> _suggest("NDCG@10")
    " (did you mean 'ndcg_linear@10' or 'ndcg_exp@10'?)"
    """
    from difflib import get_close_matches  # Needed for errors only.

    match = _OTHER_GRAMMAR.fullmatch(text.strip())
    if match is None:
        return ""
    name = (match["name"] + (match["rest"] or "")).lower()
    name = OTHER_NAMES.get(name, name)
    similar = [name] if name in METRICS else get_close_matches(name, METRICS, n=1, cutoff=0.5)
    if not similar:
        return ""
    options = "" if match["options"] is None else f"({match['options']})"
    cutoff = "" if match["k"] is None else f"@{match['k']}"
    gains = ("_linear", "_exp") if f"{similar[0]}_linear" in METRICS else ("",)
    return f" (did you mean {' or '.join(repr(similar[0] + gain + options + cutoff) for gain in gains)}?)"


def _missing_option(text: str, match: re.Match[str], option: str) -> ValueError:
    """Return the error for a name without an option that has no default."""
    name = match["name"]
    if option == "gain" and "gain_base" in (match["options"] or ""):
        return ValueError(f"{text!r} has a gain_base but no gain. Write {name}(gain=power,{match['options']}).")
    if option == "gain" and f"{name}_linear" in METRICS:
        rest = text.strip()[len(name) :]
        return ValueError(
            f"{text!r} is ambiguous. Use '{name}_linear{rest}' (gain l: scikit-learn, trec_eval, CatBoost), "
            f"'{name}_exp{rest}' (gain 2^l - 1: LightGBM, XGBoost) or '{name}_jk{rest}' (gain l, ranks 1 and 2 not "
            "discounted: Järvelin & Kekäläinen 2002), or pass gain=."
        )
    description, example = _EXAMPLES.get(option, (option, "…"))
    others = f",{match['options']}" if match["options"] else ""
    cutoff = "" if match["k"] is None else f"@{match['k']}"
    return ValueError(f"{text!r} requires {description}. Write {name}({option}={example}{others}){cutoff}.")


def _parse_options(text: str, options: str | None, metric: type[Metric]) -> dict[str, Any]:
    parsed: dict[str, Any] = {}
    for part in options.split(",") if options and options.strip() else ():
        option, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise ValueError(f"cannot parse {part.strip()!r} in {text!r}. Write options as option=value.")
        if option not in metric.option_names():
            hint = f" (write the cutoff as @{value})" if option == "k" else nearest(option, metric.option_names())
            raise ValueError(f"unknown option {option!r} in {text!r}{hint} (known: {', '.join(metric.option_names())})")
        if option in parsed:
            raise ValueError(f"option {option!r} occurs twice in {text!r}.")
        parsed[option] = value
        if option not in ("gain", "discount", "column", "name"):
            with suppress(ValueError):
                parsed[option] = float(value)
    return parsed


def _parse_cutoffs(text: str, cutoffs: str) -> list[int]:
    parts = cutoffs.split(",")
    for part in parts:
        if not re.fullmatch(r"\s*0*[1-9][0-9]{0,17}\s*", part):
            hint = _suggest(text) if "_" in part else ""
            raise ValueError(f"the cutoff of {text!r} must be a whole number of at least 1, got {part[:40]!r}{hint}.")
    return [int(part) for part in parts]


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
    >>> from gainwise.metrics.names import plain_name, safe_name
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
