"""Tables of a path of gains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._common.words import confidence
from ..comparison.gain_path import select_labelled_bases

if TYPE_CHECKING:
    import pandas as pd

    from ..comparison.gain_path import GainPath

MAX_SWAPS = 12
"""Pairs of models that change places in the table. The others are counted."""


def gains_tables(gains: GainPath) -> list[tuple[str, pd.DataFrame]]:
    """Return tables with captions: the highest mean by base, regrets at some bases, and models that change places."""
    names = gains.short_names
    sure = confidence(gains.alpha)
    leaders = gains.winners.assign(model=gains.winners["model"].map(names)).set_index("model").round(2)
    tables = [
        (f"Highest mean of {gains.metric}", leaders),
        (f"Difference to the best, {sure} band of all bases", _behind(gains, names)),
    ]
    if len(gains.swaps):
        shown = gains.swaps.head(MAX_SWAPS)
        shown = shown.assign(first=shown["first"].map(names), second=shown["second"].map(names)).set_index("first")
        rest = len(gains.swaps) - len(shown)
        more = f" ({rest} more pairs)" if rest else ""
        tables.append((f"Bases that reverse the order of two models, {sure} intervals{more}", shown.round(2)))
    return tables


def _behind(gains: GainPath, names: dict[str, str]) -> pd.DataFrame:
    """Return regret and band of every model at the bases that an axis labels. The best at the first base is on top."""
    import pandas as pd

    wanted = select_labelled_bases(gains.bases) if len(gains.bases) > 1 else list(gains.bases)
    places = sorted({int(np.abs(np.log(np.array(gains.bases) / base)).argmin()) for base in wanted})
    rows = {}
    for column in np.argsort(gains.regret[0], kind="stable").tolist():
        cells = {}
        for place in places:
            low, high = gains.lower[place, column], gains.upper[place, column]
            band = f"{low:.4f} to {high:.4f}" if np.isfinite(high) else f"{low:.4f} or more"
            cells[f"b = {gains.bases[place]:.3g}"] = f"{gains.regret[place, column]:.4f} ({band})"
        rows[names[gains.models[column]]] = cells
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("model")
