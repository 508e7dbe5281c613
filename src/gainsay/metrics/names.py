"""From the name of a metric to the metric: `name(option=value,…)@k`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from .._common.arrays import nearest
from ..metrics import (  # noqa: F401  # their metrics are known
    average_precision,
    cascade,
    dcg,
    graded_average_precision,
    judged,
    precision,
    r_precision,
    reciprocal_rank,
)
from .base import Metric
from .conventions import Convention, convention_named
from .registry import METRICS

if TYPE_CHECKING:
    from collections.abc import Mapping

MetricLike = str | Metric
"""A metric or its name."""

BUILT_IN: Mapping[str, type[Metric]] = {name: metric for name, (metric, _) in METRICS.items()}
"""The metrics that come with gainsay, by their names."""

KNOWN_ELSEWHERE = {
    "ap": "map",
    "rr": "mrr",
    "recip_rank": "mrr",
    "p": "precision",
    "pre": "precision",
    "r_precision": "rprec",
    "graded_ap": "gap",
    "success": "hit",
    "hit_rate": "hit",
    "ndcg_cut": "ndcg_linear",
    "ndcg1": "ndcg_jk",
    "ndcg2": "ndcg_exp",
    "ndcg_exponential": "ndcg_exp",
    "ndcg_burges": "ndcg_exp",
    "ndcg_lin": "ndcg_linear",
}
"""What other programs call a metric that has another name here."""

_GRAMMAR = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(\((?P<options>[^()]*)\))?(@(?P<k>[^@]*))?")


def parse_metrics(*metrics: MetricLike | Iterable[MetricLike], convention: str | None = None) -> tuple[Metric, ...]:
    """Return metrics from their names.

    Parameters
    ----------
    *metrics : str, Metric, or lists of them
        Names such as `"ndcg_exp@10"`, `"map@10"`, `"mrr"`, `"rbp(p=0.8)"`, `"ndcg_linear(ties=worst,empty=1)@5"`.
        Metrics that are already made are taken as they are.
    convention : str, optional
        Read the names as this library does: `"lightgbm"`, `"xgboost"`, `"catboost"`, `"sklearn"`, `"trec_eval"`,
        `"torchmetrics"` or `"ranx"`. Options that a name gives itself win. A bare `ndcg` then has the library's gain,
        and without a cutoff `"xgboost"` cuts ndcg, map and precision at 32, as XGBoost does.

    Returns
    -------
    tuple of Metric

    Raises
    ------
    ValueError
        For an unknown name, option or value (with the nearest one that exists), for bare `ndcg` and `dcg`, which do
        not say which gain, for options that contradict the name, and for a metric given twice. A metric of your own is
        known once the module that defines it has been imported.

    Examples
    --------
    >>> import gainsay as gs
    >>> [str(metric) for metric in gs.parse_metrics("ndcg_linear@10", "mrr")]
    ['ndcg_linear@10', 'mrr']
    >>> print(*gs.parse_metrics("map@10", convention="trec_eval"))
    map(ties=order,denominator=R)@10
    """
    library = None if convention is None else convention_named(convention)
    parsed = tuple(metric if isinstance(metric, Metric) else _parse(metric, library) for metric in _flatten(metrics))
    if not parsed:
        raise ValueError("metrics is empty: name at least one, for example 'ndcg_exp@10'")
    names = [str(metric) for metric in parsed]
    for at, (name, metric) in enumerate(zip(names, parsed, strict=True)):
        if name in names[:at]:
            other = "" if metric in parsed[:at] else ", once as it was before it was defined anew"
            raise ValueError(f"metrics names {name} twice{other}")
    return parsed


def _flatten(metrics: Any) -> list[MetricLike]:
    flat: list[MetricLike] = []
    for metric in metrics:
        if isinstance(metric, str | Metric):
            flat.append(metric)
        elif isinstance(metric, Iterable):
            flat.extend(_flatten(metric))
        else:
            raise TypeError(f"a metric must be a name such as 'ndcg_exp@10' or a Metric, got {metric!r}")
    return flat


def _parse(text: str, library: Convention | None) -> Metric:
    match = _GRAMMAR.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"cannot read the metric {text!r}: write name(option=value,…)@k, for example 'ndcg_exp@10'")
    name = match["name"]
    found = METRICS.get(name)
    if found is None:
        known = KNOWN_ELSEWHERE.get(name.lower()) or (name.lower() if name.lower() in METRICS else None)
        hint = f"; did you mean {known!r}?" if known else nearest(name, METRICS)
        raise ValueError(
            f"unknown metric {name!r} in {text!r}{hint} (known: {', '.join(sorted(METRICS))}; one of your own once the "
            "module that defines it is imported)"
        )
    metric, preset = found
    said = _options(text, match["options"], metric)
    for option, value in said.items():
        if option in preset and value != preset[option]:
            others = ", ".join(metric.names)
            raise ValueError(
                f"{text!r} contradicts itself: {name} says {option}={_shown(preset[option])}. Write "
                f"{next(iter(metric.names), name)}({option}={value}){f', or another of: {others}' if others else ''}"
            )
    options = {**(library.options(metric) if library else {}), **preset, **said}
    if match["k"] is not None:
        options["k"] = _cutoff(text, match["k"])
    needed = [field.name for field in fields(metric) if field.default is MISSING and field.name not in options]
    if "gain" in needed and library is not None and library.gain is not None:
        options["gain"] = library.gain
        needed.remove("gain")
    if needed:
        raise _incomplete(text, match, needed[0])
    try:
        made: Metric = metric(**options)
        return made
    except (ValueError, TypeError) as error:
        raise type(error)(f"{text!r}: {error}") from None


def _incomplete(text: str, match: re.Match[str], needed: str) -> ValueError:
    """Return the error for a name that leaves out an option which has no default."""
    name = match["name"]
    if needed == "gain" and "gain_base" in (match["options"] or ""):
        return ValueError(f"{text!r} has a gain_base but no gain: write {name}(gain=power,{match['options']})")
    if needed == "gain" and f"{name}_linear" in METRICS:
        rest = text.strip()[len(name) :]
        return ValueError(
            f"{text!r} does not say which {name.upper()}: take '{name}_linear{rest}' (gain l; scikit-learn, trec_eval, "
            f"CatBoost), '{name}_exp{rest}' (gain 2^l - 1; LightGBM, XGBoost) or '{name}_jk{rest}' (gain l, "
            "ranks 1 and 2 not discounted; Järvelin & Kekäläinen 2002), or give gain="
        )
    given = f",{match['options']}" if match["options"] else ""
    cutoff = "" if match["k"] is None else f"@{match['k']}"
    what = {"max_label": "the highest grade of the scale", "gain": "a gain"}.get(needed, needed)
    example = {"max_label": "4", "gain": "linear"}.get(needed, "…")
    return ValueError(f"{text!r} needs {what}: write {name}({needed}={example}{given}){cutoff}")


def _shown(value: Any) -> str:
    return str(getattr(value, "__name__", value))


def _options(text: str, options: str | None, metric: type[Metric]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if options is None or not options.strip():
        return given
    for part in options.split(","):
        option, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise ValueError(f"cannot read {part.strip()!r} in {text!r}: options are written option=value")
        if option not in metric.option_names():
            hint = f"; write the cutoff as @{value}" if option == "k" else nearest(option, metric.option_names())
            raise ValueError(f"unknown option {option!r} in {text!r}{hint} (known: {', '.join(metric.option_names())})")
        if option in given:
            raise ValueError(f"option {option!r} stands twice in {text!r}")
        given[option] = value if option in ("gain", "discount") else _value(value)
    return given


def _value(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _cutoff(text: str, cutoff: str) -> int:
    if not re.fullmatch(r"\s*0*[1-9][0-9]{0,17}\s*", cutoff):
        raise ValueError(f"the cutoff of {text!r} must be a whole number of at least 1, got {cutoff[:40]!r}")
    return int(cutoff)
